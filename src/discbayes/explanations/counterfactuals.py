"""Counterfactuals: the smallest set of changes of known values that leads to another decision.

All sets of one change and all sets of two are tried, and all larger ones as long as there are not
too many: up to 20 million pairs and a million sets of three or more, fewer where each takes long
because of many missing values in a network that is not a forest. The best of them has the fewest
changes possible (``proven``), and the largest probability of the decision among all sets of that
size. Beyond those numbers a beam search adds change to change, and removes what is not needed: it
finds small sets, not always the smallest. A set of three that is found after all pairs were tried
is still proven to have the fewest changes.

Missing values stay missing, and no value changes to "missing". A row that is impossible in every
class, by probabilities of zero, is not an answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discbayes._settings import require_integer
from discbayes.calibration import CalibratedPosterior
from discbayes.data import Variable
from discbayes.data.domain import cut_texts
from discbayes.data.frames import make_frame
from discbayes.data.mappings import positions
from discbayes.data.table import Table
from discbayes.explanations.changes import Changes
from discbayes.explanations.wording import class_position, probability_in_words
from discbayes.inference import RAISE, elimination_cells

ALTERNATIVES = 4


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """The smallest change of a row that leads to another decision.

    Parameters
    ----------
    labels : ndarray
        The classes.
    label_before : label
        The decision for the row.
    posterior_before : ndarray
        P(c | x observed) of the row.
    target : label or None
        The decision to reach; None for any other than that of the row.
    max_changes : int
        The size of the largest sets of changes in the search.
    proven : bool
        Whether there is no smaller set of changes; if none was found, whether none of up to
        ``max_changes`` is enough.
    label_after : label or None
        The decision for the row with the changes; None if none were found.
    posterior_after : ndarray or None
        P(c | x observed) of the row with the changes.
    changes : list of (name, from, to)
        The columns that change, with their values as text: intervals for numeric columns.
    numbers : list of (number, nearest)
        For each change of a numeric column, the number in the row and what is nearest to it in the
        new interval, as text ("below 100"); None for other columns.
    alternatives : tuple of Counterfactual
        Other sets of the same size, the most probable decision first; fine intervals of one coarse
        interval, and values of one group, are not told apart.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
    >>> found = clf.counterfactual(iris.X.iloc[[60]], keep="petal width (cm)")
    >>> found.label_before, found.label_after, len(found.changes), found.proven
    ('versicolor', 'setosa', 2, True)
    """

    labels: np.ndarray
    label_before: Any
    posterior_before: np.ndarray
    target: Any
    max_changes: int
    proven: bool
    label_after: Any = None
    posterior_after: np.ndarray | None = None
    changes: list[tuple[str, str, str]] = field(default_factory=list)
    numbers: list[tuple[float, str] | None] = field(default_factory=list)
    alternatives: tuple[Counterfactual, ...] = ()

    @property
    def found(self) -> bool:
        """Whether a set of changes leads to the decision."""
        return self.posterior_after is not None

    def to_frame(self, library: bool | str = "auto") -> Any:
        """Return a frame with a row for each change.

        Parameters
        ----------
        library : str or bool, default="auto"
            Frame library ("pandas", "polars" or "pyarrow"); the first that is installed by default.

        Returns
        -------
        frame
            "choice" is 0 for the best set and counts the alternatives from 1; the others are
            "column", "from", "to", "nearest", "decision" and "probability".

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
        >>> found = clf.counterfactual(iris.X.iloc[[60]], keep="petal width (cm)")
        >>> found.to_frame("pandas")["to"].tolist()[:2]
        ['>= 3.35', '< 2.45']
        """
        lines = []
        for choice, other in enumerate([self, *self.alternatives]):
            after = (str(other.label_after), other.probability)
            for change, number in other._pairs():
                lines.append((choice, *change, None if number is None else number[1], *after))
        names = ("choice", "column", "from", "to", "nearest", "decision", "probability")
        kinds: dict[str, type] = {"choice": int, "probability": float}
        columns: dict[str, np.ndarray] = {
            name: np.array([line[k] for line in lines], kinds.get(name, object))
            for k, name in enumerate(names)
        }
        return make_frame(columns, library)

    @property
    def probability(self) -> float:
        """The probability of the decision after the changes; NaN where there is none."""
        if self.posterior_after is None:
            return float("nan")
        return float(self.posterior_after[self._place(self.label_after)])

    def text(self) -> str:
        """Return the changes as text.

        Returns
        -------
        str
            The text.

        Examples
        --------
        >>> from discbayes import BayesNetClassifier, load_dataset
        >>> iris = load_dataset("iris")
        >>> clf = BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y)
        >>> found = clf.counterfactual(iris.X.iloc[[60]], keep="petal width (cm)")
        >>> print(found.text().splitlines()[0])
        now: versicolor with the probability 0.921
        """
        before = probability_in_words(self.posterior_before, self._place(self.label_before))
        lines = [f"now: {self.label_before} with the probability {before}"]
        if self.posterior_after is None:
            return "\n".join([*lines, self._nothing()])
        if not self.changes:
            return "\n".join([*lines, "that is the decision asked for: nothing has to change"])
        lines.append(f"{self._size()} to {self._outcome()}:")
        lines += [f"  {_in_words(*change, number)}" for change, number in self._pairs()]
        if self.alternatives:
            lines.append("others of that size:")
            lines += [f"  {other._briefly()}: {other._outcome()}" for other in self.alternatives]
        return "\n".join(lines)

    def _nothing(self) -> str:
        wanted = "another decision" if self.target is None else str(self.target)
        changes = "1 change" if self.max_changes == 1 else f"up to {self.max_changes} changes"
        if self.proven:
            return f"no set of {changes} of known values leads to {wanted}"
        return f"no set of {changes} that leads to {wanted} was found; not all of them were tried"

    def _outcome(self) -> str:
        assert self.posterior_after is not None
        place = self._place(self.label_after)
        probability = probability_in_words(self.posterior_after, place)
        return f"{self.label_after} with the probability {probability}"

    def _size(self) -> str:
        lead = "1 change leads" if len(self.changes) == 1 else f"{len(self.changes)} changes lead"
        if self.proven:
            return lead.replace(" lead", ", the fewest possible, lead")
        return lead.replace(" lead", " (fewer may be enough) lead")

    def _briefly(self) -> str:
        """Return the new values in one line."""
        pairs = self._pairs()
        return ", ".join(f"{name} to {_sign(after, number)}" for (name, _, after), number in pairs)

    def _pairs(self) -> list[tuple[tuple[str, str, str], tuple[float, str] | None]]:
        return list(zip(self.changes, self.numbers, strict=True))

    def _place(self, label: Any) -> int:
        return int(self.labels.tolist().index(label))

    def __repr__(self) -> str:
        return self.text()


def _in_words(name: str, before: str, after: str, number: tuple[float, str] | None) -> str:
    """Return the text of one change.

    >>> _in_words("glucose", "[127, 155)", "< 100", (130.0, "below 100"))
    'glucose from [127, 155) to < 100 (now 130, then below 100)'
    """
    if number is None:
        return f"{name} from {before} to {after}"
    before, after = _sign(before, number), _sign(after, number)
    return f"{name} from {before} to {after} (now {number[0]:.10g}, then {number[1]})"


def _sign(text: str, number: tuple[float, str] | None) -> str:
    """Return the text of an interval with a sign for "at least"; other values unchanged."""
    return text if number is None else text.replace(">=", "≥")


def counterfactual(
    beliefs: CalibratedPosterior,
    codes: np.ndarray,
    row: Table,
    target: Any = None,
    keep: Any = (),
    max_changes: int = 5,
) -> Counterfactual:
    """Return the smallest change of one row, which is given as codes and as it was read."""
    require_integer("max_changes", max_changes, 1)
    wanted = None if target is None else class_position(beliefs.labels, target, "target")
    now = int(beliefs.decisions(codes)[0])
    changes = Changes(beliefs, codes, now, wanted, _fixed(keep, beliefs.network.domain.names))
    label, before = beliefs.labels.tolist()[now], beliefs.posterior(codes)[0]
    start = Counterfactual(beliefs.labels, label, before, target, int(max_changes), proven=True)
    if wanted == now:
        return replace(start, label_after=label, posterior_after=before)
    sets, excluded = changes.search(start.max_changes)
    smaller = min(start.max_changes, changes.n_features)
    if len(sets):
        smaller = sets.shape[1] - 1
    start = replace(start, proven=excluded >= smaller and not _is_estimated(beliefs, codes))
    results = _results(start, changes, _by_state(changes, sets)[: 1 + ALTERNATIVES], row)
    return replace(results[0], alternatives=tuple(results[1:])) if results else start


def _fixed(keep: Any, names: list[str]) -> np.ndarray:
    """Return which columns must not change."""
    listed = [keep] if isinstance(keep, str) or not isinstance(keep, Iterable) else list(keep)
    fixed = np.zeros(len(names), dtype=bool)
    fixed[positions(listed, names, "keep names")] = True
    return fixed


def _is_estimated(beliefs: CalibratedPosterior, codes: np.ndarray) -> bool:
    """Return whether the row is beyond exact inference, so that draws estimate its posterior."""
    network = beliefs.network
    if network.beyond_max_cells == RAISE or network.structure.is_forest:
        return False
    cells = elimination_cells(network.parameters, codes)
    return cells > network.inference_options.max_cells


def _by_state(changes: Changes, sets: np.ndarray) -> np.ndarray:
    """Return the first set of those that change the same columns to the same states."""
    variables = changes.beliefs.network.domain.features
    states = np.array([variables[i].states[code] for i, code in changes.moves.T.tolist()], int)
    columns = np.concatenate([changes.moves[0][sets], states[sets]], axis=1)
    return sets[np.sort(np.unique(columns, axis=0, return_index=True)[1])]


def _results(
    start: Counterfactual, changes: Changes, sets: np.ndarray, row: Table
) -> list[Counterfactual]:
    """Return a result for each set of moves."""
    if not len(sets):
        return []
    rows, features = changes.rows(sets), changes.beliefs.network.domain.features
    labels, posteriors = changes.beliefs.labels.tolist(), changes.beliefs.posterior(rows)
    decisions = changes.beliefs.decisions(rows)
    results = []
    for k, moves in enumerate(sets):
        texts, numbers = [], []
        for i, code in changes.moves[:, moves].T.tolist():
            variable, own = features[i], int(changes.codes[i, 0])
            texts.append((variable.name, variable.labels[own], variable.labels[code]))
            numbers.append(_number(variable, own, code, row, i))
        after = {"label_after": labels[decisions[k]], "posterior_after": posteriors[k]}
        results.append(replace(start, changes=texts, numbers=numbers, **after))
    return results


def _number(
    variable: Variable, before: int, after: int, row: Table, position: int
) -> tuple[float, str] | None:
    """Return the number in the row, and those nearest to it in the new interval."""
    if variable.cuts is None:
        return None
    own = float(row.cells(position, np.array([0]))[0])
    return own, nearest_numbers(variable.cuts, before, after)


def nearest_numbers(cuts: tuple[float, ...], before: int, after: int) -> str:
    """Return the text of the numbers in one interval that are nearest to another.

    >>> [nearest_numbers((100.0, 127.0), *pair) for pair in ((2, 0), (2, 1), (0, 1), (0, 2))]
    ['below 100', 'just below 127', '100 or just above', '127 or more']
    """
    texts = cut_texts(cuts)
    if after < before:
        return f"{'just ' if after else ''}below {texts[after]}"
    return f"{texts[after - 1]} or {'just above' if after < len(cuts) else 'more'}"
