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
from discbayes.cli.answers import choices, is_numbered, one_row, value_of
from discbayes.cli.console import UserError
from discbayes.costs import cheapest
from discbayes.data import Variable

WORDS = "the number of a value or the value; nothing or ? if you do not know; back, why, stop"
NOT_KNOWN = ("", "?")
NOTHING = 1e-9  # a smaller gain, in nats or in the unit of costs, is none
LONGEST_NAME, LONGEST_VALUE, LINE = 80, 60, 100
SHOWN_CLASSES = 4


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
    def row(self) -> Any:
        """The case as a table of one row."""
        given = {name: value for name, value in self.answers if value is not None}
        return one_row(self.model.network_.domain, {**self.known, **given})

    def posterior(self) -> np.ndarray:
        """P(class | what is known)."""
        return self.model.predict_proba(self.row)[0]

    def decision(self, posterior: np.ndarray) -> int:
        """The place of the most probable class, or of the cheapest decision where there are costs."""
        return int(posterior.argmax() if self.costs is None else cheapest(posterior[None], self.costs)[0])

    def question(self) -> Question:
        """The best of the columns that were not asked for yet; the end where none is worth it."""
        found = self.model.value_of_information(self.row, costs=self.costs, prices=self.prices)
        asked = {name for name, _ in self.answers}
        best = next((place for place, name in enumerate(found.names) if name not in asked), None)
        if best is None:
            raise Ended("there is nothing left to ask")
        if self.costs is not None and found.net_gain[best] <= NOTHING:
            raise Ended("no question is worth its price")
        if self.costs is None and found.gain[best] <= NOTHING:
            raise Ended("no question that is left would tell more")
        domain = self.model.network_.domain
        worth = (
            f"worth {found.net_gain[best]:.3g}" if self.costs is not None else f"{found.share[best]:.0%} of the doubt"
        )
        return Question(domain.features[domain.position(found.names[best])], worth)


# ---- the dialogue


def converse(case: Case, sure: float | None, most: int | None) -> str:
    """Ask until it is enough, and say why it was."""
    say(f"Answer with {WORDS}.", likely(case))
    try:
        while True:
            _check_enough(case, sure, most)
            _ask(case, case.question())
            say(likely(case))
    except Ended as end:
        return str(end)


def _check_enough(case: Case, sure: float | None, most: int | None) -> None:
    if sure is not None and case.posterior().max() >= sure:
        raise Ended(f"sure enough (P ≥ {sure:g})")
    if most is not None and len(case.answers) >= most:
        raise Ended(f"{most} questions were asked" if most != 1 else "one question was asked")


def _ask(case: Case, question: Question) -> None:
    """One question, asked again until the answer is one."""
    variable = question.variable
    say("", *_lines(len(case.answers) + 1, question))
    while True:
        text = _read()
        if text == "back":
            if case.answers:
                say(f"taken back: {_name(case.answers.pop()[0])}")
                return
            say("there is no answer to take back")
        elif text == "why":
            say(why(case, 5))
        elif text in NOT_KNOWN:
            case.answers.append((variable.name, None))
            return
        else:
            try:
                case.answers.append((variable.name, value_of(variable, text)))
                return
            except UserError as error:
                say(str(error))


def _read() -> str:
    """A line of what is typed, with a prompt where someone types it."""
    if sys.stdin.isatty():
        print("> ", end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
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
    labels = [shortened(label, LONGEST_VALUE) for label in choices(variable)]
    if variable.cuts is not None:
        return [f"{head}: a number ({question.worth})", f"   it counts as {', '.join(labels)}"]
    if is_numbered(variable):
        labels = [f"{place}) {label}" for place, label in enumerate(labels, 1)]
    together = "   ".join(labels)
    return [
        f"{head} ({question.worth})",
        *(f"   {label}" for label in ([together] if len(together) < LINE else labels)),
    ]


def _name(name: str) -> str:
    return shortened(name, LONGEST_NAME)


def likely(case: Case) -> str:
    """The most probable classes, with their probabilities."""
    posterior, labels = case.posterior(), case.model.network_.domain.target.labels
    order = np.argsort(-posterior, kind="stable")
    shown = [f"{shortened(labels[place], LONGEST_VALUE)} {posterior[place]:.1%}" for place in order[:SHOWN_CLASSES]]
    if order.size > SHOWN_CLASSES:
        shown.append(f"{order.size - SHOWN_CLASSES} others {posterior[order[SHOWN_CLASSES:]].sum():.1%}")
    return ", ".join(shown)


def why(case: Case, most: int) -> str:
    """The contributions of what is known to the decision."""
    decision = case.model.classes_[case.decision(case.posterior())]
    return str(case.model.explain(case.row).text(0, label=decision, most=most))
