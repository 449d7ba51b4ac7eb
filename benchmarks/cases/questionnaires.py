"""How many questions questionnaires ask, and what they lose, against asking for everything."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

from sklearn.base import clone

from discbayes import BayesNetClassifier
from suite.data import TRIED, parts
from suite.measure import Row, of

FIVE = ("breast-cancer", "chess", "german", "vote", "wine")
PRICE = 0.003  # of an answer, where a mistake costs 1
LEARNERS = {
    "default": BayesNetClassifier(random_state=0),
    "TAN-E-G+T": BayesNetClassifier("tan", "hybrid", random_state=0),
}
WORDS = {"default": "default", "TAN-E-G+T": "TAN"}


def run(smoke: bool) -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for learner in LEARNERS:
            yield from of(learner, *_questionnaires(learner, smoke))


def _questionnaires(learner: str, smoke: bool) -> Iterator[Row]:
    """Questions and accuracy, against asking for everything."""
    for name in TRIED[1:] if smoke else FIVE:
        X, rest, y, labels = parts(name, 0.4)
        n_rows = 5 if smoke else 200
        clf = clone(LEARNERS[learner]).fit(X, y)
        tree = clf.questionnaire(prices=PRICE, max_questions=3 if smoke else 30)
        found = tree.evaluate(rest[:n_rows], labels[:n_rows], "pandas")
        questions, everything = found["questions"].tolist()
        accuracy, whole = found["accuracy"].tolist()
        what = f"questionnaire, {name}, {WORDS[learner]}"
        limit = everything / 3
        yield Row(f"{what}: questions", questions, "", f"<= {limit:.3g}", questions <= limit,
                  peer=everything, ratio=questions / everything)  # fmt: skip
        yield Row(f"{what}: accuracy", accuracy, "", f">= {whole - 0.01:.3f}",
                  accuracy >= whole - 0.01 - 1e-9, peer=whole)  # fmt: skip
