"""How many questions questionnaires ask, and what they lose, against asking for everything.

The price of an answer is chosen on training rows, as someone would who may ask for a third of the
columns: of some prices, with which questionnaires of two thirds of these rows ask for no more in
the other third, that of the highest accuracy there. Where few columns take few values, the
largest accuracy that any questions can have is there beside it.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import train_test_split

from discbayes import BayesNetClassifier, load_dataset
from discbayes.data import FrameEncoder
from suite.data import TEN, TRIED, parts
from suite.measure import Row, noted, of

SETS = (*TEN, "wine")
MAX_ROWS = 200  # to be asked about
PRICES = (0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.003, 0.002, 0.001)  # where a mistake costs 1
SHARE = 1 / 3  # of the columns that may be asked for
MAX_COLUMNS = 9  # of which all questionnaires are compared
MULTIPLIERS = np.geomspace(1e-3, 0.5, 16)  # prices for the bound
LEARNERS = {"default": BayesNetClassifier(random_state=0)}


def run(smoke: bool) -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name in TRIED[1:] if smoke else SETS:
            yield from of("default", *_questionnaire(name, smoke))


def _questionnaire(name: str, smoke: bool) -> Iterator[Row]:
    """Questions and accuracy on rows that the classifier has not learned from."""
    X, rest, y, labels = parts(name, 0.4)
    n_rows, prices = (5, PRICES[:2]) if smoke else (MAX_ROWS, PRICES)
    price = chosen_price(X, y, prices, n_rows)
    clf = clone(LEARNERS["default"]).fit(X, y)
    found = _asked(clf, price, rest[:n_rows], labels[:n_rows])
    questions, columns = found["questions"].tolist()
    accuracy, whole = found["accuracy"].tolist()
    most, least = columns * SHARE, whole - 0.01
    yield Row(
        f"{name}: questions", questions, "", f"<= {most:.3g}", questions <= most, columns,
        questions / columns,
    )  # fmt: skip
    yield Row(f"{name}: accuracy", accuracy, "", f">= {least:.3g}", accuracy >= least - 1e-9, whole)
    yield noted(f"{name}: price", price, unit="")
    if columns <= MAX_COLUMNS and not smoke:
        yield noted(f"{name}: any questions", best_accuracy(name, most), unit="")


def _asked(clf: Any, price: float, X: Any, y: Any) -> Any:
    return clf.questionnaire(prices=price, max_questions=30).evaluate(X, y, "pandas")


def chosen_price(X: Any, y: np.ndarray, prices: tuple[float, ...], n_rows: int) -> float:
    """The price whose questions are few enough and lose least, on a third of training rows."""
    X, rest, y, labels = train_test_split(X, y, test_size=1 / 3, random_state=0, stratify=y)
    clf = clone(LEARNERS["default"]).fit(X, y)
    best, chosen = -1.0, prices[0]
    for price in prices:
        found = _asked(clf, price, rest[:n_rows], labels[:n_rows])
        if found["questions"][0] > SHARE * X.shape[1]:
            break
        if found["accuracy"][0] > best:
            best, chosen = found["accuracy"][0], price
    return chosen


def best_accuracy(name: str, n_questions: float) -> float:
    """The largest accuracy of any questions, of so many on average, on all rows of a data set.

    It is an upper bound: the questions and decisions may know the classes of all rows, which are
    coded by MDLP. With a price for each question, the best one after each set of answers is that
    of dynamic programming; the accuracy it has and what its questions cost is a bound at any price.
    """
    data = load_dataset(name)
    encoded = FrameEncoder("mdlp").fit_transform(data.X, data.y)
    codes, cards = encoded.codes, encoded.cards
    counts = np.zeros((*(cards + 1), encoded.n_classes))  # with missing values
    np.add.at(counts, (*codes, encoded.classes), 1.0 / codes.shape[1])
    return min(_value(counts, price) + price * n_questions for price in MULTIPLIERS.tolist())


def _value(counts: np.ndarray, price: float) -> float:
    """The largest accuracy less what questions cost, from the shares of answers and classes."""
    n_columns = counts.ndim - 1
    values: dict[frozenset[int], np.ndarray] = {}
    for n_known in range(n_columns, -1, -1):
        for known in itertools.combinations(range(n_columns), n_known):
            others = tuple(i for i in range(n_columns) if i not in known)
            shares = counts.sum(axis=others, keepdims=True)
            best = shares.max(axis=-1)
            for i in others:
                after = values[frozenset({*known, i})].sum(axis=i, keepdims=True)
                best = np.maximum(best, after - price * shares.sum(axis=-1))
            values[frozenset(known)] = best
    return float(values[frozenset()].item())
