"""Data sets that a rule makes: every combination of the inputs, and the class that follows.

Each function returns ``Columns``; nothing here is random but the training part of ``mofn``.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from discbayes.datasets.dataset import Columns
from discbayes.datasets.trees import RandomState

_LINES = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]]
_SQUARES = [
    f"{row}-{column}-square"
    for row in ("top", "middle", "bottom")
    for column in ("left", "middle", "right")
]
_MONK_CARDS = (3, 3, 2, 3, 4, 2)


def combinations(*cards: int) -> np.ndarray:
    """Return all combinations of values ``0 .. card - 1``, the last column changing fastest."""
    return np.indices(cards).reshape(len(cards), -1).T


def text(values: np.ndarray) -> np.ndarray:
    """Integers or booleans as an object array of text, one string object per distinct value."""
    distinct, codes = np.unique(np.asarray(values).astype(np.int64), return_inverse=True)
    return np.array([str(value) for value in distinct.tolist()], dtype=object)[codes.ravel()]


def categories(names: list[str], X: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of an integer matrix as named columns of text."""
    return {name: text(column) for name, column in zip(names, X.T, strict=True)}


def labels(y: np.ndarray) -> np.ndarray:
    """Integer classes as text."""
    return text(y).astype(str)


def corral() -> Columns:
    """MLC++'s corral: the class is (A0 and A1) or (B0 and B1).

    ``Correlated`` equals the class on the first 64 rows (the 32 combinations, twice) and runs
    through both values on the other 64, so it agrees with the class in three rows of four.
    """
    five = combinations(2, 2, 2, 2, 2)
    agreeing = np.column_stack([five, _corral_class(five)])
    X = np.vstack([agreeing, agreeing, combinations(2, 2, 2, 2, 2, 2)])
    names = ["A0", "A1", "B0", "B1", "Irrelevant", "Correlated"]
    return Columns(categories(names, X), labels(_corral_class(X)))


def _corral_class(X: np.ndarray) -> np.ndarray:
    return (X[:, 0] & X[:, 1]) | (X[:, 2] & X[:, 3])


def mofn(*, random_state: RandomState = 0) -> Columns:
    """Make MLC++'s mofn-3-7-10: are at least 3 of the bits 2 to 8 set?

    300 rows are drawn uniformly to train on; all 1,024 are there to test on.
    """
    every = combinations(*[2] * 10)
    drawn = np.random.default_rng(random_state).integers(len(every), size=300)
    X = np.vstack([every[drawn], every])
    names = [f"Bit-{bit}" for bit in range(10)]
    return Columns(categories(names, X), labels(X[:, 2:9].sum(axis=1) >= 3), split=(300, 1024))


def monks(problem: int) -> Columns:
    """The 432 robots of the MONK's problems, with the class that the rule gives (no noise)."""
    X = combinations(*_MONK_CARDS) + 1
    names = [f"a{position}" for position in range(1, 7)]
    return Columns(categories(names, X), labels(_monk_class(problem, X)))


def _monk_class(problem: int, X: np.ndarray) -> np.ndarray:
    _, a2, _, a4, a5, _ = X.T
    if problem == 1:
        return (X[:, 0] == a2) | (a5 == 1)
    if problem == 2:
        return (X == 1).sum(axis=1) == 2
    return ((a5 == 3) & (a4 == 1)) | ((a5 != 4) & (a2 != 3))


def tic_tac_toe() -> Columns:
    """The 958 boards at which a game that x opens can end; positive where x has won.

    A filled board is such an end exactly when the numbers of moves fit: x has moved once more than
    o where x won or the board is full, as often where o won, and never have both won.
    """
    boards = combinations(*[3] * 9)  # 0 is x, 1 is o, 2 is blank
    x_won, o_won = _has_line(boards == 0), _has_line(boards == 1)
    n_x, n_o = (boards == 0).sum(axis=1), (boards == 1).sum(axis=1)
    won_by_x = x_won & ~o_won & (n_x == n_o + 1)
    won_by_o = o_won & ~x_won & (n_x == n_o)
    drawn = ~x_won & ~o_won & (n_x == 5) & (n_o == 4)
    ends = won_by_x | won_by_o | drawn
    marks = np.array(["x", "o", "b"], dtype=object)[boards[ends]]
    y = np.where(won_by_x[ends], "positive", "negative")
    return Columns(dict(zip(_SQUARES, marks.T, strict=True)), y)


def _has_line(taken: np.ndarray) -> np.ndarray:
    return np.any(np.all(taken[:, _LINES], axis=2), axis=1)


def balance_scale() -> Columns:
    """Make balance-scale: which side goes down, L, R or B for neither?

    Weights and distances go from 1 to 5.
    """
    X = combinations(5, 5, 5, 5) + 1
    torque = np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3])
    names = ["-".join(pair) for pair in product(("left", "right"), ("weight", "distance"))]
    features = {name: column.astype(np.float64) for name, column in zip(names, X.T, strict=True)}
    return Columns(features, np.array(["B", "L", "R"])[torque])  # -1 indexes the last label
