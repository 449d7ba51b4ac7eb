"""Questions and answers about one case: what is known of it, what to ask next, and when to end.

The dialogue goes to the error stream, so that the standard output holds the result alone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discbayes._text import printable, shortened
from discbayes.classifier import BayesNetClassifier
from discbayes.cli.answers import choices, is_numbered, value_of
from discbayes.cli.console import UserError
from discbayes.costs import cheapest
from discbayes.data import Variable
from discbayes.data.domain import MISSING_LABEL
from discbayes.explanations.wording import probability_in_words, values_in_words

INVITATION = (
    "Answer with a value or its number; nothing or ? if you do not know it; back, why or stop."
)
NOT_KNOWN = ("", "?")
NOTHING = 1e-9  # a smaller gain, in nats, is none
LONGEST_NAME, LONGEST_VALUE, LINE = 80, 60, 100
SHOWN_CLASSES, REASONS = 4, 5


class Ended(Exception):
    """The dialogue is over; the text says why."""


@dataclass(frozen=True)
class Question:
    """A column to ask for, and what its value is expected to bring."""

    variable: Variable
    worth: str


@dataclass
class Case:
    """What is known of one case.

    Parameters
    ----------
    model : BayesNetClassifier
    known : mapping
        Values by column that were there before the first question.
    costs, prices : array, mapping or None
        What mistakes cost and what it costs to ask.
    answers : list of (column, value)
        In the order in which they were given; None stands for "not known".
    """

    model: BayesNetClassifier
    known: Mapping[str, Any]
    costs: np.ndarray | None = None
    prices: Mapping[str, float] | None = None
    answers: list[tuple[str, Any]] = field(default_factory=list)

    @property
    def row(self) -> dict[str, Any]:
        """The values that are known, by column."""
        return {**self.known, **{name: value for name, value in self.answers if value is not None}}

    def posterior(self) -> np.ndarray:
        """P(class | what is known)."""
        return self.model.predict_proba(self.row)[0]

    def decision(self, posterior: np.ndarray) -> int:
        """The place of the most probable class, or of the cheapest decision where there are
        costs.
        """
        return int(
            posterior.argmax() if self.costs is None else cheapest(posterior[None], self.costs)[0]
        )

    def question(self) -> Question:
        """The best of the columns that were not asked for yet; the end where none is worth it."""
        found = self.model.value_of_information(self.row, costs=self.costs, prices=self.prices)
        asked = {name for name, _ in self.answers}
        best = next((place for place, name in enumerate(found.names) if name not in asked), None)
        if best is None:
            raise Ended("there is nothing left to ask")
        net, saved = found.net_gain, found.cost_gain
        if net is not None and saved is not None and net[best] <= 0:
            left = [
                gain for name, gain in zip(found.names, saved, strict=True) if name not in asked
            ]
            raise Ended(
                "no question is worth its price"
                if any(left)
                else "no question alone would save anything"
            )
        if net is None and found.gain[best] <= NOTHING:
            raise Ended("no question that is left would tell more")
        worth = (
            f"would take {_share(found.share[best])} of the doubt"
            if net is None
            else f"would save {net[best]:.3g}"
        )
        domain = self.model.network_.domain
        return Question(domain.features[domain.position(found.names[best])], worth)


# ---- the dialogue


def converse(case: Case, sure: float | None, most: int | None) -> str:
    """Ask until it is enough, and say why it was."""
    say(INVITATION, likely(case))
    try:
        while True:
            _check_enough(case, sure, most)
            said = _ask(case, case.question())
            say(said, likely(case))
    except Ended as end:
        return str(end)


def _check_enough(case: Case, sure: float | None, most: int | None) -> None:
    if sure is not None and case.posterior().max() >= sure:
        raise Ended(f"sure enough (P ≥ {sure:g})")
    if most is not None and len(case.answers) >= most:
        raise Ended(f"{most} questions were asked" if most != 1 else "one question was asked")


def _ask(case: Case, question: Question) -> str:
    """One question, asked again until the answer is one; what the answer was taken for."""
    variable = question.variable
    say("", *_lines(len(case.answers) + 1, question))
    while True:
        text = _read()
        if text == "why":
            say(why(case))
        elif text != "back":
            try:
                case.answers.append(
                    (variable.name, None if text in NOT_KNOWN else value_of(variable, text))
                )
                return _taken(case, variable)
            except UserError as error:
                say(str(error))
        elif case.answers:
            return f"taken back: {_name(case.answers.pop()[0])}"
        else:
            say("there is no answer to take back")


def _read() -> str:
    """A line of what is typed, with a prompt where someone types it."""
    if sys.stdin is not None and sys.stdin.isatty():
        print("> ", end="", file=sys.stderr, flush=True)
    line = "" if sys.stdin is None else sys.stdin.readline()
    if not line:
        raise Ended("the answers have ended")
    text = line.strip()
    if text == "stop":
        raise Ended("stopped")
    return text


def say(*lines: str) -> None:
    """Lines of the dialogue."""
    for line in lines:
        print(printable(line), file=sys.stderr, flush=True)


# ---- texts


def _lines(number: int, question: Question) -> list[str]:
    """The question: the column, and what can be answered."""
    variable = question.variable
    head = f"{number}. {_name(variable.name)}"
    labels, missing = (
        [_value(label) for label in choices(variable)],
        [MISSING_LABEL] * variable.reads_missing,
    )
    if variable.cuts is not None:
        return [f"{head}: a number ({question.worth})", f"   {', '.join([*labels, *missing])}"]
    if is_numbered(variable):
        labels = [f"{place}) {label}" for place, label in enumerate(labels, 1)]
    labels += missing
    together = "   ".join(labels)
    return [
        f"{head} ({question.worth})",
        *(f"   {line}" for line in ([together] if len(together) < LINE else labels)),
    ]


def _share(share: float) -> str:
    return f"{share:.0%}" if share >= 0.01 else "less than 1%"


def _taken(case: Case, variable: Variable) -> str:
    """The last answer, as the network understands it."""
    network = case.model.network_
    code = int(case.model.encode(case.row)[network.domain.position(variable.name), 0])
    texts = [*values_in_words(variable), f"{variable.name} is not known"]
    return shortened(texts[code], LONGEST_NAME + LONGEST_VALUE)


def _name(name: str) -> str:
    return shortened(name, LONGEST_NAME)


def likely(case: Case) -> str:
    """The most probable classes, with their probabilities."""
    posterior, target = case.posterior(), case.model.network_.domain.target
    order = np.argsort(-posterior, kind="stable")
    shown = [f"{_value(target.labels[k])} {posterior[k]:.1%}" for k in order[:SHOWN_CLASSES]]
    if order.size > SHOWN_CLASSES:
        shown.append(
            f"{order.size - SHOWN_CLASSES} others {posterior[order[SHOWN_CLASSES:]].sum():.1%}"
        )
    return f"{_name(target.name)}: {', '.join(shown)}"


def outcome(case: Case, reason: str) -> str:
    """The decision, how sure it is, and why."""
    domain, posterior = case.model.network_.domain, case.posterior()
    decision = case.decision(posterior)
    lines = [
        (
            f"decision: {_value(domain.target.labels[decision])} (P ="
            f" {probability_in_words(posterior, decision)})"
        ),
        f"ended: {reason}",
    ]
    if case.costs is not None:
        lines.insert(1, f"expected cost: {posterior @ case.costs[:, decision]:.4g}")
    return printable("\n".join([*lines, likely(case), "", why(case)]))


def _value(label: str) -> str:
    return shortened(label, LONGEST_VALUE)


def why(case: Case) -> str:
    """The contributions of what is known to the decision."""
    decision = case.model.classes_.tolist()[case.decision(case.posterior())]
    return case.model.explain(case.row).text(0, decision, REASONS)
