"""The cheapest questionnaire: which column to ask for next, and when to stop, two steps ahead.

With p(c) = P(c | answers), the cost of stopping is that of the best decision, min_d Σ_c p(c)
cost[c, d]. Asking for v and deciding then costs price[v] + Σ_a P(a) · (cost of stopping after a);
two steps ahead, each answer a may be followed by one more question, if that is cheaper:

    price[v] + Σ_a P(a) · min(stop after a, min_w price[w] + Σ_b P(b | a) · stop after a and b).

The column of the least cost is asked for if that is below the cost of stopping. After its answer
all of this begins anew, so that there may be more than two questions. Two columns that are
informative only together are found, three are not.

Where no two answers change the decision, more of them may. So before stopping, all that is missing
is drawn: knowing everything saves S, and has the information I about the class. A column with the
information I_v counts for S·I_v / I, and is asked for if that is more than its price.

P(a | answers, c) is that of the network, and in a log pool that of its generative network; the
posterior after an answer follows from it, exactly within ``max_cells``. To look two steps ahead
takes a log-joint for each pair of values. So the first step is exact for all columns, and the
second one is taken for those that save most alone, or tell most about the class where none saves
anything (``N_CANDIDATES``), and after the answers where most is at stake (``N_ANSWERS``).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from scipy.special import entr

from discbayes._text import shortened
from discbayes.calibration import CalibratedPosterior
from discbayes.costs import DecisionCosts, cheapest
from discbayes.data import Variable
from discbayes.data.frames import make_frame
from discbayes.explanations.same_decision import DecisionDraws

N_CANDIDATES = 8
N_ANSWERS = 8
N_DRAWS = 200  # of what everything together tells
MIN_GAIN = 1e-9  # a smaller one is rounding
MIN_SHARE = 1e-12  # of an answer that can come
_MAX_LABEL = 60  # characters
_LINE = 24  # of the flow chart
_INDENT = 28
_WIDTH = 900


@dataclass(frozen=True)
class Question:
    """A column to ask for: its position, and what asking is expected to save, prices included."""

    feature: int
    gain: float


@dataclass(frozen=True, eq=False)
class Lookahead:
    """The choice of the next question.

    Parameters
    ----------
    posterior : CalibratedPosterior
        The posterior of rows that are codes.
    costs : DecisionCosts
        The costs of decisions.
    prices : ndarray of shape (n_columns,)
        The price of each column.
    """

    posterior: CalibratedPosterior
    costs: DecisionCosts
    prices: np.ndarray

    def question(
        self, codes: np.ndarray, excluded: frozenset[int] = frozenset()
    ) -> Question | None:
        """Return the best question of one row of codes; None if it costs more than it saves."""
        shares = self.posterior.posterior(codes)[0]
        now = float((shares @ self.costs.matrix).min())
        left = self.askable(codes, self.at_stake(shares), excluded)
        if not left:
            return None
        read = self.posterior.readings(codes)[-1]
        alone, told, joints = self._one_step(read, shares, left)
        order = np.lexsort((np.arange(len(left)), -told, (alone + self.prices[left]).round(12)))
        # what tells most may be worth most after another answer
        chosen = [*order[:N_CANDIDATES], *np.argsort(-told, kind="stable")[:N_CANDIDATES]]
        others = [left[k] for k in dict.fromkeys(chosen)]
        best = Question(-1, MIN_GAIN)
        for k in order[:N_CANDIDATES].tolist():
            gain = now - self._two_steps(read, left[k], joints[k], others)
            if gain > best.gain * (1 + 1e-9):
                best = Question(left[k], gain)
        if best.feature >= 0:
            return best
        return self._beyond(codes, shares, left, told, excluded)

    def _beyond(
        self,
        codes: np.ndarray,
        shares: np.ndarray,
        left: list[int],
        told: np.ndarray,
        excluded: frozenset[int],
    ) -> Question | None:
        """Return the question that pays in the long run, by its part of all information."""
        draws = DecisionDraws(self.posterior, self.prices.size, None, N_DRAWS)
        rows = draws.completed(codes, np.random.default_rng(0))
        unknown = sorted(excluded)
        rows[unknown] = self._cards[unknown, None]
        after = self.posterior.posterior(rows)
        saved = (shares @ self.costs.matrix).min() - (after @ self.costs.matrix).min(axis=1).mean()
        entropy = float(entr(shares).sum())
        in_all = entropy - entr(after).sum(axis=1).mean()
        if saved <= 0 or in_all <= 0:
            return None
        information = entropy + told  # of each column
        gains = saved * np.minimum(information / in_all, 1.0) - self.prices[left]
        best = int(gains.round(12).argmax())
        return Question(left[best], float(gains[best])) if gains[best] > MIN_GAIN else None

    def at_stake(self, shares: np.ndarray) -> float:
        """Return what it would save to know the class: no question saves more."""
        matrix = self.costs.matrix
        return float((shares @ matrix).min() - shares @ matrix.min(axis=1))

    def askable(
        self, codes: np.ndarray, at_stake: float, excluded: frozenset[int] = frozenset()
    ) -> list[int]:
        """Return the features whose price is less than what is at stake."""
        return [
            i
            for i in range(self.prices.size)
            if codes[i, 0] >= self._cards[i] > 1
            and i not in excluded
            and self.prices[i] < at_stake - MIN_GAIN
        ]

    def chances(self, codes: np.ndarray, feature: int) -> np.ndarray:
        """Return the probability of each answer to a question."""
        read = self.posterior.readings(codes)[-1]
        given = self._given_class(*_with_values(read, [feature], self._cards))
        return np.asarray(given @ self.posterior.posterior(codes)[0])

    @property
    def _cards(self) -> np.ndarray:
        return self.posterior.network.domain.cards

    def _one_step(
        self, read: np.ndarray, shares: np.ndarray, left: list[int]
    ) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """Return the cost after each question, its information, and P(value, c)."""
        rows, starts = _with_values(read, left, self._cards)
        given = self._given_class(rows, starts)
        joint = given * shares
        after = np.add.reduceat((joint @ self.costs.matrix).min(axis=1), starts)
        total = joint.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(joint > 0, joint * np.log(joint / total), 0.0)
        told = np.add.reduceat(terms.sum(axis=1), starts).round(12)
        return after, told, np.split(joint, starts[1:])

    def _two_steps(
        self, read: np.ndarray, feature: int, joint: np.ndarray, candidates: list[int]
    ) -> float:
        """Return the cost of asking for a feature, and then for the best one or for none."""
        matrix = self.costs.matrix
        stop = (joint @ matrix).min(axis=1)
        others = [i for i in candidates if i != feature]
        at_stake = stop - joint @ matrix.min(axis=1)
        order = np.argsort(-at_stake, kind="stable")[:N_ANSWERS]
        followed = np.sort(order[at_stake[order] > MIN_SHARE])
        if not others or not followed.size:
            return float(self.prices[feature] + stop.sum())
        rows, starts = _with_values(read, others, self._cards)
        n_rows = rows.shape[1]
        tried = np.tile(rows, followed.size)
        tried[feature] = np.repeat(followed, n_rows)
        all_starts = (n_rows * np.arange(followed.size)[:, None] + starts).ravel()
        given = self._given_class(tried, all_starts)
        both = given * np.repeat(joint[followed], n_rows, axis=0)
        least = (both @ matrix).min(axis=1)
        then = np.add.reduceat(least, all_starts).reshape(followed.size, -1)
        then += joint[followed].sum(axis=1, keepdims=True) * self.prices[others]
        stop[followed] = np.minimum(stop[followed], then.min(axis=1))
        return float(self.prices[feature] + stop.sum())

    def _given_class(self, rows: np.ndarray, starts: np.ndarray) -> np.ndarray:
        """Return P(value | known, c) of the values that rows have, which start at some rows."""
        log_joint = self.posterior.networks[-1].log_joint_of(rows)
        top = np.maximum.reduceat(log_joint, starts)
        sizes = np.diff(np.append(starts, len(log_joint)))
        with np.errstate(invalid="ignore"):
            found = np.exp(log_joint - np.repeat(top, sizes, axis=0))
        found = np.nan_to_num(found, nan=1.0)  # a class that is impossible
        return np.asarray(found / np.repeat(np.add.reduceat(found, starts), sizes, axis=0))


def _with_values(
    read: np.ndarray, features: list[int], cards: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return a row with each value of each feature, and where the features start."""
    sizes = cards[features]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    rows = np.repeat(read, int(sizes.sum()), axis=1)
    places = np.arange(rows.shape[1])
    rows[np.repeat(features, sizes), places] = places - np.repeat(starts, sizes)
    return rows, starts


# ---- the tree


@dataclass(eq=False)
class QuestionNode:
    """What is known after some answers: a question to ask, or the decision.

    Parameters
    ----------
    codes : ndarray of shape (n_features, 1)
        The answers as codes.
    share : float
        The probability of getting here.
    decision : int
        The position of the best decision.
    cost : float
        Its expected cost.
    at_stake : float
        What it would save to know the class.
    probability : float
        The probability of the most probable class.
    question : Question or None
        The question; None where the decision is made.
    answers : dict of int to QuestionNode
        What follows each answer that can come.
    is_cut_off : bool
        Whether the tree ends here because it has as many questions as it may have.
    """

    codes: np.ndarray
    share: float
    decision: int
    cost: float
    at_stake: float
    probability: float
    question: Question | None = None
    answers: dict[int, QuestionNode] = field(default_factory=dict)
    is_cut_off: bool = True

    @classmethod
    def of(cls, lookahead: Lookahead, codes: np.ndarray, share: float) -> QuestionNode:
        """Return what is known after some answers."""
        shares = lookahead.posterior.posterior(codes)
        decision = int(cheapest(shares, lookahead.costs.matrix)[0])
        cost = float((shares @ lookahead.costs.matrix)[0, decision])
        at_stake = lookahead.at_stake(shares[0])
        return cls(codes, share, decision, cost, at_stake, float(shares.max()))

    def expand(self, lookahead: Lookahead) -> None:
        """Look for the best question, and for what follows each of its answers."""
        self.is_cut_off = False
        self.question = lookahead.question(self.codes)
        if self.question is None:
            return
        feature = self.question.feature
        for code, share in enumerate(lookahead.chances(self.codes, feature).tolist()):
            if share > MIN_SHARE:
                codes = self.codes.copy()
                codes[feature] = code
                self.answers[code] = QuestionNode.of(lookahead, codes, self.share * share)

    def is_same_decision(self, other: QuestionNode) -> bool:
        """Return whether both are the same decision, and not questions."""
        if self.question is not None or other.question is not None:
            return False
        return (self.decision, self.is_cut_off) == (other.decision, other.is_cut_off)

    def joined(self, other: QuestionNode) -> QuestionNode:
        """Return the decision after either answer, with its mean cost and probability."""
        share = self.share + other.share
        own = self.share / share
        cost = own * self.cost + (1 - own) * other.cost
        probability = own * self.probability + (1 - own) * other.probability
        return replace(self, share=share, cost=cost, probability=probability)


@dataclass(frozen=True, eq=False, repr=False)
class Questionnaire:
    """A tree of questions that asks as long as that is expected to save more than it costs.

    ``clf.questionnaire`` makes it, and ``discbayes.explanations.questionnaire`` defines it.

    Parameters
    ----------
    classifier : BayesNetClassifier
        The fitted classifier.
    lookahead : Lookahead
        The choice of the next question.
    root : QuestionNode
        The first question.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier("tan", "map").fit(iris.X, iris.y)
    >>> clf.questionnaire(prices=0.03)
    petal width (cm)?
      < 0.8: setosa (100 %)
      [0.8, 1.75): versicolor (90 %)
      >= 1.75: virginica (97 %)
    """

    classifier: Any
    lookahead: Lookahead
    root: QuestionNode

    @property
    def n_questions(self) -> int:
        """The number of questions in the tree."""
        return sum(node.question is not None for node in self._nodes())

    def _nodes(self) -> Iterator[QuestionNode]:
        stack = [self.root]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(node.answers.values())

    def text(self) -> str:
        """Return the tree as text: a line for each answer.

        Returns
        -------
        str
            The text.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "map").fit(iris.X, iris.y)
        >>> clf.questionnaire(prices=0.03).text().splitlines()[0]
        'petal width (cm)?'
        """
        lines = [("  " * depth) + text for depth, text, _ in self._lines()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text()

    def _lines(self) -> Iterator[tuple[int, str, bool]]:
        """Yield the depth and the text of each line, and whether it is a question."""
        yield 0, self._says(self.root), self.root.question is not None
        yield from self._below(self.root, 1)

    def _below(self, node: QuestionNode, depth: int) -> Iterator[tuple[int, str, bool]]:
        for label, child in self._branches(node):
            yield depth, f"{label}: {self._says(child)}", child.question is not None
            yield from self._below(child, depth + 1)

    def _branches(self, node: QuestionNode) -> list[tuple[str, QuestionNode]]:
        """Return the answers of a node; those that lead to the same decision are one."""
        if node.question is None:
            return []
        variable = self._variable(node.question.feature)
        groups: list[tuple[list[int], QuestionNode]] = []
        for code, child in node.answers.items():
            fitting = (
                place
                for place, (codes, first) in enumerate(groups)
                if first.is_same_decision(child)
                and (variable.cuts is None or codes[-1] == code - 1)
            )
            place = next(fitting, None)
            if place is None:
                groups.append(([code], child))
            else:
                codes, first = groups[place]
                groups[place] = ([*codes, code], first.joined(child))
        return [(_answer(variable, codes), child) for codes, child in groups]

    def _variable(self, feature: int) -> Variable:
        return self.lookahead.posterior.network.domain.features[feature]

    def _says(self, node: QuestionNode) -> str:
        """Return the question, or the decision with the probability of the class."""
        if node.question is not None:
            return f"{shortened(self._variable(node.question.feature).name, _MAX_LABEL)}?"
        decision = shortened(str(self.lookahead.costs.decisions[node.decision]), _MAX_LABEL)
        notes = ["cut off"] * node.is_cut_off
        if node.decision < self.lookahead.posterior.labels.size:
            notes.insert(0, f"{100 * node.probability:.0f} %")
        return f"{decision} ({', '.join(notes)})" if notes else decision

    def to_dot(self) -> str:
        """Return the tree in the DOT language of Graphviz.

        Returns
        -------
        str
            A directed graph.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "map").fit(iris.X, iris.y)
        >>> clf.questionnaire(prices=0.03).to_dot().splitlines()[1]
        '  n0 [label="petal width (cm)?", shape=box];'
        """
        lines = ["digraph questionnaire {"]
        names = iter(range(1 << 30))

        def add(node: QuestionNode) -> str:
            name = f"n{next(names)}"
            shape = "box" if node.question is not None else "ellipse"
            lines.append(f"  {name} [label={_quoted(self._says(node))}, shape={shape}];")
            for label, child in self._branches(node):
                lines.append(f"  {name} -> {add(child)} [label={_quoted(label)}];")
            return name

        add(self.root)
        return "\n".join([*lines, "}"])

    def to_svg(self) -> str:
        """Return the tree drawn as a flow chart that goes from the top left downwards.

        Returns
        -------
        str
            An SVG picture, as notebooks show it.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "map").fit(iris.X, iris.y)
        >>> clf.questionnaire(prices=0.03).to_svg()[:4]
        '<svg'
        """
        lines = list(self._lines())
        parts: list[str] = []
        above: dict[int, int] = {}  # by depth, the height of the last question
        for row, (depth, text, asks) in enumerate(lines):
            x, y = 10 + depth * _INDENT, 20 + row * _LINE
            if depth:
                start = above[depth - 1] + 8
                path = f"M{x - _INDENT + 8} {start}V{y - 4}H{x - 4}"
                parts.append(f'<path d="{path}" fill="none" stroke="#888"/>')
            above[depth] = y
            weight = ' font-weight="bold"' if asks else ""
            parts.append(f'<text x="{x}" y="{y}"{weight}>{escape(text)}</text>')
        height = 20 + len(lines) * _LINE
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"'
            f' width="{_WIDTH}" height="{height}" font-family="sans-serif" font-size="13"'
            f' role="img" aria-label="flow chart of a questionnaire">{"".join(parts)}</svg>'
        )

    def _repr_html_(self) -> str:
        return self.to_svg()

    def follow(self, X: Any) -> list[tuple[list[str], Any]]:
        """Return which columns are asked for in each row, and the decisions.

        Where an answer is missing, and where the tree was cut off, the next best question is
        looked for.

        Parameters
        ----------
        X : frame, array or list of rows
            The rows, of which the questionnaire sees what it asks for.

        Returns
        -------
        list of tuple
            The columns in the order in which they are asked for, and the decision.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "map").fit(iris.X, iris.y)
        >>> clf.questionnaire(prices=0.03).follow(iris.X[:1])
        [(['petal width (cm)'], 'setosa')]
        """
        codes = self.classifier.encode(X)
        names = self.lookahead.posterior.network.domain.names
        decisions = self.lookahead.costs.decisions.tolist()
        ended = (self._follow(codes[:, m]) for m in range(codes.shape[1]))
        return [([names[i] for i in asked], decisions[end]) for asked, end in ended]

    def _follow(self, row: np.ndarray) -> tuple[list[int], int]:
        """Return the features that are asked for in one row of codes, and the decision."""
        node = self.root
        asked: list[int] = []
        while node.question is not None:
            feature = node.question.feature
            asked.append(feature)
            after = node.answers.get(int(row[feature]))
            if after is None:  # the answer is missing, or could not come
                codes = node.codes.copy()
                codes[feature] = row[feature]
                return self._follow_on(row, asked, codes)
            node = after
        return (
            self._follow_on(row, asked, node.codes) if node.is_cut_off else (asked, node.decision)
        )

    def _follow_on(
        self, row: np.ndarray, asked: list[int], codes: np.ndarray
    ) -> tuple[list[int], int]:
        """Go on where the tree ends."""
        codes = codes.copy()
        while (question := self._next_question(codes, frozenset(asked))) is not None:
            asked.append(question.feature)
            codes[question.feature] = row[question.feature]
        return asked, QuestionNode.of(self.lookahead, codes, 0.0).decision

    def _next_question(self, codes: np.ndarray, asked: frozenset[int]) -> Question | None:
        """Return the best question of one row of codes, which is remembered."""
        key = codes.tobytes(), asked
        if key not in self._found:
            cards = self._cards
            excluded = frozenset(i for i in asked if codes[i, 0] >= cards[i])
            self._found[key] = self.lookahead.question(codes, excluded)
        return self._found[key]

    @cached_property
    def _found(self) -> dict[tuple[bytes, frozenset[int]], Question | None]:
        return {}

    @property
    def _cards(self) -> np.ndarray:
        return self.lookahead.posterior.network.domain.cards

    def evaluate(self, X: Any, y: Any, library: bool | str = "auto") -> Any:
        """Compare the questionnaire with asking for everything, on rows of known classes.

        Parameters
        ----------
        X : frame, array or list of rows
            Rows that the classifier has not learned from.
        y : sequence of labels
            Their classes.
        library : {"auto", "pandas", "polars", "pyarrow"}, default="auto"
            The frame library; by default the first that is installed.

        Returns
        -------
        frame
            A row for the questionnaire and one for everything: the mean number of questions, the
            accuracy, the mean price of the questions, the mean cost of the decisions, and the sum
            of both.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "map").fit(iris.X[::2], iris.y[::2])
        >>> found = clf.questionnaire(prices=0.03).evaluate(iris.X[1::2], iris.y[1::2], "pandas")
        >>> found["questions"].round(1).tolist()
        [1.4, 4.0]
        """
        codes, costs = self.classifier.encode(X), self.lookahead.costs
        posterior, prices = self.lookahead.posterior, self.lookahead.prices
        classes = posterior.network.class_codes(y, codes.shape[1])
        known = self.root.codes[: prices.size, 0] < posterior.network.domain.cards[: prices.size]
        rest = [np.flatnonzero(~known).tolist()] * classes.size
        # evidence before the first question is on all rows, whose values go with it
        evidence = self.root.codes[prices.size :].repeat(classes.size, axis=1)
        whole = np.vstack([codes, evidence])
        ended = [self._follow(codes[:, m]) for m in range(classes.size)]
        ways = [
            ([asked for asked, _ in ended], np.array([end for _, end in ended])),
            (rest, cheapest(posterior.posterior(whole), costs.matrix)),
        ]
        paid = np.array([np.mean([prices[asked].sum() for asked in way]) for way, _ in ways])
        wrong = np.array([costs.matrix[classes, decided].mean() for _, decided in ways])
        columns = {
            "asks for": np.array(["questionnaire", "everything"], dtype=object),
            "questions": np.array([np.mean([len(asked) for asked in way]) for way, _ in ways]),
            "accuracy": np.array([(decided == classes).mean() for _, decided in ways]),
            "price": paid,
            "cost of decisions": wrong,
            "cost": paid + wrong,
        }
        return make_frame(columns, library)


def build_questionnaire(
    classifier: Any, lookahead: Lookahead, codes: np.ndarray, max_questions: int
) -> Questionnaire:
    """Return the tree after some answers, grown where most is at stake."""
    root = QuestionNode.of(lookahead, codes, 1.0)
    waiting = [(-root.at_stake, 0, root)]
    n_questions = n_seen = 0
    while waiting and n_questions < max_questions:
        node = heapq.heappop(waiting)[2]
        node.expand(lookahead)
        n_questions += node.question is not None
        for child in node.answers.values():
            n_seen += 1
            heapq.heappush(waiting, (-child.share * child.at_stake, n_seen, child))
    # what is sure, or has nothing left to ask, is not cut off
    for _, _, node in waiting:
        node.is_cut_off = bool(lookahead.askable(node.codes, node.at_stake))
    return Questionnaire(classifier, lookahead, root)


def _answer(variable: Variable, codes: list[int]) -> str:
    """Return what some values of a column are called; adjacent intervals are one.

    >>> _answer(Variable("size", "numeric", cuts=(1.0, 2.5, 7.0)), [1, 2])
    '[1, 7)'
    """
    if variable.cuts is None or codes[-1] > len(variable.cuts):
        return shortened(" | ".join(variable.labels[code] for code in codes), _MAX_LABEL)
    ends = variable.cuts[max(0, codes[0] - 1) : codes[0]] + variable.cuts[codes[-1] : codes[-1] + 1]
    if not ends:
        return "any value"
    joined = Variable(variable.name, variable.kind, cuts=ends)
    return joined.labels[int(codes[0] > 0)]


def _quoted(text: str) -> str:
    """Return a text as a quoted identifier of the DOT language."""
    backslash, quote = "\\", '"'
    return quote + text.replace(backslash, backslash * 2).replace(quote, backslash + quote) + quote
