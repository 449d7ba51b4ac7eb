"""How many questions questionnaires ask, and what they lose, against asking for everything."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from sklearn.base import clone

from discbayes import BayesNetClassifier
from suite.data import TEN, TRIED, parts
from suite.measure import Row, of

SETS = (*TEN, "wine")
MAX_ROWS = 200  # to be asked about
PRICE = 0.003  # of an answer, where a mistake costs 1
LEARNERS = {"default": BayesNetClassifier(random_state=0)}


def run(smoke: bool) -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name in TRIED[1:] if smoke else SETS:
            yield from of("default", *_questionnaire(name, smoke))


def _questionnaire(name: str, smoke: bool) -> Iterator[Row]:
    """Questions and accuracy on rows that the classifier has not learned from."""
    X, rest, y, labels = parts(name, 0.4)
    n_rows = 5 if smoke else MAX_ROWS
    clf = clone(LEARNERS["default"]).fit(X, y)
    tree = clf.questionnaire(prices=PRICE, max_questions=3 if smoke else 30)
    found = tree.evaluate(rest[:n_rows], labels[:n_rows], "pandas")
    questions, columns = found["questions"].tolist()
    accuracy, whole = found["accuracy"].tolist()
    most, least = columns / 3, whole - 0.01
    yield Row(
        f"{name}: questions", questions, "", f"<= {most:.3g}", questions <= most, columns,
        questions / columns,
    )  # fmt: skip
    yield Row(f"{name}: accuracy", accuracy, "", f">= {least:.3g}", accuracy >= least - 1e-9, whole)
