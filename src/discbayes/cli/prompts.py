"""Questions about one case and the answers that people type: the dialogue of ``discbayes ask``.

The dialogue goes to the error stream, so that the standard output holds the result alone.

The values of a categorical column are numbered from 1, and an answer is such a number or the value
itself. Where values are whole numbers themselves there is no numbering, so that 2 is unambiguous.
A value that reads like a command of the dialogue can be put in quotes.

What is not a value may be evidence of another kind: ``40..60``, ``40..`` and ``..60`` are ranges,
``a | b`` is one of several values, ``not a`` and ``not a | b`` are none of them, and
``a=0.8 | b=0.2`` are the likelihoods of all values.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from discbayes._settings import float_or_nan
from discbayes._text import listed, nearest_first, printable, shortened
from discbayes.classifier import BayesNetClassifier
from discbayes.cli.console import UserError
from discbayes.cli.input_tables import canonical, matcher
from discbayes.costs import DecisionCosts, cheapest
from discbayes.data import Between, Evidence, Likelihood, Not, OneOf, Variable
from discbayes.data.domain import MISSING_LABEL
from discbayes.explanations.wording import probability_in_words, values_in_words

INVITATION = "Answer with a value or its number; Enter or ? if it is not known; back, why or stop."
NOT_KNOWN = ("", "?")
MIN_GAIN = 1e-9  # nats; a smaller one is rounding
MAX_NAME = 80  # characters
MAX_VALUE = 60
MAX_LINE = 100
SHOWN_CLASSES = 4
SHOWN_REASONS = 5
_YES_NO = {"yes": "True", "y": "True", "no": "False", "n": "False"}
_QUOTES = ("'", '"')
# of these a comma can only be a decimal one; 1,234 may be a thousand
_DECIMAL_COMMA = re.compile(r"[+-]?(\d+,(\d{1,2}|\d{4,})|0,\d+)")


class Ended(Exception):
    """The dialogue is over; the text gives the reason."""


@dataclass
class Case:
    """The known values of one case.

    Parameters
    ----------
    model : BayesNetClassifier
        The fitted classifier.
    known : mapping
        Values by column that were there before the first question.
    costs : DecisionCosts, optional
        The costs of decisions.
    prices : mapping, optional
        The price of asking, by column.
    answers : list of (column, value)
        In the order in which they were given; None stands for "not known".
    """

    model: BayesNetClassifier
    known: Mapping[str, Any]
    costs: DecisionCosts | None = None
    prices: Mapping[str, float] | None = None
    answers: list[tuple[str, Any]] = field(default_factory=list)

    @property
    def row(self) -> dict[str, Any]:
        """The known values by column."""
        return {**self.known, **{name: value for name, value in self.answers if value is not None}}

    def posterior(self) -> np.ndarray:
        """Return P(class | known values)."""
        return self.model.predict_proba(self.row)[0]

    def decision(self, posterior: np.ndarray) -> int:
        """Return the index of the most probable class or, with costs, of the cheapest decision.

        Actions that are not classes come after these.
        """
        if self.costs is None:
            return int(posterior.argmax())
        return int(cheapest(posterior[None], self.costs.matrix)[0])

    def question(self) -> tuple[Variable, str]:
        """Return the best column that was not asked for yet, and the benefit of its value.

        Raise `Ended` if none is worth it.
        """
        asked = {name for name, _ in self.answers}
        if self.costs is not None:
            return self._paid_question(asked)
        found = self.model.value_of_information(self.row)
        left = [place for place, name in enumerate(found.names) if name not in asked]
        if not left:
            raise Ended("there is nothing left to ask")
        best = left[0]
        domain = self.model.network_.domain
        variable = domain.features[domain.position(found.names[best])]
        if found.gain[best] <= MIN_GAIN:
            raise Ended("no remaining column is informative")
        share = found.share[best]
        percent = f"{share:.0%}" if share >= 0.01 else "less than 1%"
        return variable, f"reduces the expected entropy by {percent}"

    def _paid_question(self, asked: set[str]) -> tuple[Variable, str]:
        """Return the best question two steps ahead; raise `Ended` if none is worth its price."""
        found = self.model.next_question(self.row, self.costs, self.prices or 0.0, sorted(asked))
        domain = self.model.network_.domain
        if found is not None:
            name, gain = found
            return domain.features[domain.position(name)], f"would save {gain:.3g}"
        if set(domain.names) <= asked | set(self.row):
            raise Ended("there is nothing left to ask")
        raise Ended("no question is worth its price" if self.prices else "no question would help")


# ---- the dialogue


def converse(case: Case, min_probability: float | None, max_questions: int | None) -> str:
    """Ask until a stopping rule holds, and return the reason."""
    tell(INVITATION, class_probabilities(case))
    try:
        while True:
            _check_stopping(case, min_probability, max_questions)
            tell(_ask(case, *case.question()), class_probabilities(case))
    except Ended as end:
        return str(end)


def _check_stopping(case: Case, min_probability: float | None, max_questions: int | None) -> None:
    if min_probability is not None and case.posterior().max() >= min_probability:
        raise Ended(f"sure enough (P ≥ {min_probability:g})")
    if max_questions is not None and len(case.answers) >= max_questions:
        asked = "one question was" if max_questions == 1 else f"{max_questions} questions were"
        raise Ended(f"{asked} asked")


def _ask(case: Case, variable: Variable, benefit: str) -> str:
    """Ask until the answer is valid, and return how the answer was understood."""
    tell("", *_question_lines(len(case.answers) + 1, variable, benefit))
    while True:
        text = _read_answer()
        if text == "why":
            tell(reasons(case))
        elif text != "back":
            try:
                value = None if text in NOT_KNOWN else value_of(variable, text)
            except UserError as error:
                tell(str(error))
                continue
            case.answers.append((variable.name, value))
            return _understood(case, variable)
        elif case.answers:
            return f"taken back: {_name(case.answers.pop()[0])}"
        else:
            tell("there is no answer to take back")


def _read_answer() -> str:
    """Read a line, with a prompt if the standard input is a terminal."""
    if sys.stdin is not None and sys.stdin.isatty():
        print("> ", end="", file=sys.stderr, flush=True)
    line = "" if sys.stdin is None else sys.stdin.readline()
    if not line:
        raise Ended("the answers have ended")
    text = line.strip()
    if text == "stop":
        raise Ended("stopped")
    return text


def tell(*lines: str) -> None:
    """Print lines of the dialogue to the error stream."""
    for line in lines:
        print(printable(line), file=sys.stderr, flush=True)


def _question_lines(number: int, variable: Variable, benefit: str) -> list[str]:
    """Format a question: the column, and its possible answers."""
    head = f"{number}. {_name(variable.name)}"
    labels = [_value(label) for label in choices(variable)]
    missing = [MISSING_LABEL] * variable.reads_missing
    if variable.cuts is not None:
        if variable.coarse_cuts is not None:  # fine intervals, too many to be read
            labels = [f"{labels[0]}, …, {labels[-1]} ({len(labels)} intervals)"]
        return [f"{head}: a number ({benefit})", f"   {', '.join([*labels, *missing])}"]
    if is_numbered(variable):
        labels = [f"{place}) {label}" for place, label in enumerate(labels, 1)]
    labels += missing
    one_line = "   ".join(labels)
    lines = [one_line] if len(one_line) < MAX_LINE else labels
    return [f"{head} ({benefit})", *(f"   {line}" for line in lines)]


def _understood(case: Case, variable: Variable) -> str:
    """Return the last answer as the network encodes it."""
    answer = case.answers[-1][1]
    if isinstance(answer, Evidence):
        return shortened(f"{variable.name} {answer}", MAX_NAME + MAX_VALUE)
    network = case.model.network_
    row = {variable.name: answer}
    code = int(case.model.encode(row)[network.domain.position(variable.name), 0])
    texts = [*values_in_words(variable), f"{variable.name} is not known"]
    return shortened(texts[code], MAX_NAME + MAX_VALUE)


_name = partial(shortened, width=MAX_NAME)
_value = partial(shortened, width=MAX_VALUE)


def class_probabilities(case: Case) -> str:
    """Return the most probable classes with their probabilities as a line of text."""
    posterior = case.posterior()
    target = case.model.network_.domain.target
    order = np.argsort(-posterior, kind="stable")
    shown = [f"{_value(target.labels[k])} {posterior[k]:.1%}" for k in order[:SHOWN_CLASSES]]
    others = order[SHOWN_CLASSES:]
    if others.size:
        shown.append(f"{others.size} others {posterior[others].sum():.1%}")
    return f"{_name(target.name)}: {', '.join(shown)}"


def outcome(case: Case, reason: str) -> str:
    """Return the result as text: the decision, its probability and the reasons for it."""
    posterior = case.posterior()
    decision = case.decision(posterior)
    labels = case.model.network_.domain.target.labels
    if decision < len(labels):
        probability = probability_in_words(posterior, decision)
        lines = [f"decision: {_value(labels[decision])} (P = {probability})"]
    else:
        assert case.costs is not None
        lines = [f"decision: {_value(str(case.costs.decisions[decision]))}"]
    if case.costs is not None:
        lines.append(f"expected cost: {posterior @ case.costs.matrix[:, decision]:.4g}")
    lines += [f"ended: {reason}", class_probabilities(case), "", reasons(case)]
    return printable("\n".join(lines))


def reasons(case: Case) -> str:
    """Return the contributions of the known values to the decision as text.

    Where the decision is an action, they are those to the most probable class.
    """
    posterior, classes = case.posterior(), case.model.classes_.tolist()
    decision = case.decision(posterior)
    shown = classes[decision if decision < len(classes) else int(posterior.argmax())]
    return case.model.explain(case.row).text(0, shown, SHOWN_REASONS)


# ---- answers


def choices(variable: Variable) -> list[str]:
    """Return the values that can be given: not "(missing)" and "(never observed)"."""
    known = len(variable.values) if variable.cuts is None else len(variable.cuts) + 1
    return variable.labels[:known]


def is_numbered(variable: Variable) -> bool:
    """Return whether values are numbered: labels that do not look like such numbers are."""
    labels = choices(variable)
    # a label such as 2 would be ambiguous beside the number 2
    numbers = {str(number) for number in range(1, len(labels) + 1)}
    return variable.cuts is None and not numbers & {canonical(label) for label in labels}


def value_of(variable: Variable, text: str, numbers: bool = True) -> Any:
    """Return the value or the evidence of a column that a text means.

    A text that means neither raises a `UserError`.

    Parameters
    ----------
    variable : Variable
        The column.
    text : str
        The text as typed.
    numbers : bool, default=True
        Whether the number of a value stands for the value.

    Examples
    --------
    >>> color = Variable("color", "categorical", ("blue", "red"))
    >>> [value_of(color, text) for text in ("2", "red", "RED", "'red'")]
    ['red', 'red', 'red', 'red']
    >>> value_of(Variable("size", "numeric", cuts=(2.5,)), "3")
    3.0
    >>> value_of(Variable("size", "numeric", cuts=(2.5,)), "3..")
    Between(low=3.0, high=None, inclusive='both')
    """
    text = text.strip()
    try:
        return _one_value(variable, text, numbers)
    except UserError:
        found = _evidence(variable, text, numbers)
        if found is None:
            raise
    try:
        found.likelihood(variable)
    except ValueError as error:
        raise UserError(str(error)) from error
    return found


def _evidence(variable: Variable, text: str, numbers: bool) -> Evidence | None:
    """Return the evidence that a text means; None if it has none of the forms."""
    if text.lower().startswith("not "):
        return Not(*_alternatives(variable, text[4:], numbers))
    if "|" not in text:
        return _range(text)
    weighed = [part.rpartition("=") for part in text.split("|")]
    weights = [float_or_nan(weight) for _, _, weight in weighed]
    try:
        if all(map(math.isfinite, weights)):
            values = [_one_value(variable, label.strip(), numbers) for label, _, _ in weighed]
            if variable.cuts is not None:
                values = [label.strip() for label, _, _ in weighed]
            return Likelihood(dict(zip(values, weights, strict=True)))
    except ValueError as error:
        raise UserError(str(error)) from error
    return OneOf(*_alternatives(variable, text, numbers))


def _alternatives(variable: Variable, text: str, numbers: bool) -> list[Any]:
    """Return the values and ranges of a text in which they are separated by bars."""
    parts = [part.strip() for part in text.split("|")]
    return [_range(part) or _one_value(variable, part, numbers) for part in parts]


def _range(text: str) -> Between | None:
    """Return the range that a text such as ``40..60`` is; None if it is none."""
    low, dots, high = text.partition("..")
    first = float_or_nan(low) if low.strip() else None
    last = float_or_nan(high) if high.strip() else None
    if not dots or any(end is not None and math.isnan(end) for end in (first, last)):
        return None
    try:
        return Between(first, last)
    except ValueError as error:
        raise UserError(str(error)) from error


def _one_value(variable: Variable, text: str, numbers: bool) -> Any:
    """Return the value of a column that a text means; raise a `UserError` if there is none."""
    if text == MISSING_LABEL and variable.reads_missing:
        return math.nan  # a value of the column, unlike an answer that is not known
    if variable.cuts is not None:
        return _number(variable, variable.cuts, text)
    labels = choices(variable)
    if numbers and text.isdecimal() and is_numbered(variable) and text not in labels:
        if not 1 <= int(text) <= len(labels):
            raise UserError(
                f"{text} is not the number of a value of {variable.name!r}: they go from 1 to"
                f" {len(labels)}"
            )
        return variable.values[int(text) - 1]
    place = _position(labels, text)
    if place is None:
        raise UserError(
            f"{text!r} is not a value of {variable.name!r}; its values are"
            f" {listed(nearest_first(text, labels))}"
        )
    return variable.values[place]


def _number(variable: Variable, cuts: Sequence[float], text: str) -> float:
    """Return the number that a text is; for the label of an interval, a number inside it."""
    labels = choices(variable)
    if cuts and text in labels:
        place = labels.index(text)
        return float(cuts[place - 1]) if place else math.nextafter(cuts[0], -math.inf)
    number = float_or_nan(text)
    if _DECIMAL_COMMA.fullmatch(text):
        number = float(text.replace(",", "."))
    if "_" in text or not math.isfinite(number):
        raise UserError(
            f"{text!r} is not a number, and {variable.name!r} takes numbers such as 1234.5, without"
            " a unit"
        )
    return number


def _position(labels: Sequence[str], text: str) -> int | None:
    """Return the position of the label that a text means; None if there is none.

    A label is matched exactly, then by the boolean or number that it stands for, then as an answer
    of yes or no, and last without regard to case if that is unambiguous.
    """
    bare = text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in _QUOTES else text
    match = matcher(labels)
    found = next((match(given) for given in (text, bare) if match(given) in labels), None)
    if found is None:
        found = {canonical(label): label for label in labels}.get(_YES_NO.get(text.lower(), ""))
    if found is None:
        alike = [label for label in labels if label.casefold() == bare.casefold()]
        found = alike[0] if len(alike) == 1 else None
    return labels.index(found) if found in labels else None
