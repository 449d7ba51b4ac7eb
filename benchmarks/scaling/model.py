"""A model of what a pass over the rows costs: terms that follow from the code, with constants
fitted to measurements.

Symbols: n rows in B blocks, N features of v values, C classes, and w, the numbers that C classes
take up in a gradient (two, or a multiple of four). A term is a number of elementary steps, and its
constant their time in nanoseconds.

=====================
========================================================================================= work
steps =====================
========================================================================================= features
n·N: a cell of a table for each value of each row pairs                  n·N for bit sets; for each
pair (v−1)²·n/64 words of two bit sets, or n rows of a loop where
                       that is less (``counts/pair_runs.py`` chooses); and B times the cells of
                       all pair tables
families               n·N·(1 + k) look-ups of a feature with its k parents; B times the cells
extensions             n·N rows of a loop; B times the cells, of v³·C each
preparing              n·N·(1 + k): cells of each row, equal rows joined, lists of unusual cells
evaluation             n·N·u·s forth and back, u the share of cells that are not the usual ones of
their features and s
                       the stretches of eight numbers that w has; n·w exponentials; n; B times the
                       cells
DFE pass               n·N·C products, n·C logarithms, n·N cells that change
greedy step            n·C·K for K = N·(N − 1) candidates, n·K, and n·N·C: what the network so far
says of each row =====================
=========================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import nnls

from discbayes.counts.pair_runs import CELL_COST, ROW_COST, WORD_COST
from discbayes.data.row_blocks import ROWS_OF_BLOCK
from discbayes.kernels.entries import padded_width
from scaling.results import Line

NANO = 1e-9


@dataclass(frozen=True)
class Size:
    """Rows, the values of each feature, and classes."""

    rows: float
    cards: tuple[int, ...]
    classes: int

    @classmethod
    def even(cls, rows: float, features: int, values: int, classes: int) -> Size:
        """All features have the same number of values."""
        return cls(rows, (values,) * features, classes)

    @property
    def features(self) -> int:
        return len(self.cards)

    @property
    def blocks(self) -> int:
        return max(1, -(-int(self.rows) // ROWS_OF_BLOCK))

    @property
    def width(self) -> int:
        return padded_width(self.classes)

    def cells(self, k: int) -> int:
        """Of the tables of all features, each with the k before it as parents."""
        cards = np.array(self.cards, float)
        products = [np.prod(cards[max(0, i - k) : i + 1]) for i in range(cards.size)]
        return int(sum(products)) * self.classes

    @cached_property
    def pair_cells(self) -> float:
        """Of the tables of all pairs."""
        cards = np.array(self.cards, float)
        return float((cards.sum() ** 2 - (cards**2).sum()) / 2 * self.classes)

    @property
    def unusual(self) -> float:
        """About the share of cells, of a feature and its parent, that are not the most frequent one
        of its table.
        """
        cards = np.array(self.cards, float)
        return float(np.clip(1 - 2 / np.maximum(cards * np.roll(cards, 1), 2), 0, 1).mean())

    @cached_property
    def pair_steps(self) -> tuple[float, float]:
        """The words of bit sets, and the rows of loops, over all pairs: for each pair what is
        expected to be less.
        """
        cards = np.array(self.cards, float)
        kept, words = np.maximum(cards - 1, 1), self.rows / 64 + self.classes / 2 * self.blocks
        bits = np.outer(kept, kept)
        by_bits = bits * (words * WORD_COST + self.blocks * self.classes * CELL_COST)
        by_loop = self.rows * ROW_COST + np.outer(cards, cards) * self.classes * self.blocks
        upper = np.triu(np.ones_like(bits, bool), 1)
        chosen = upper & (by_bits < by_loop)
        return float(bits[chosen].sum() * words), float((upper & ~chosen).sum() * self.rows)


Terms = Callable[[Size], Sequence[float]]


def _pairs(size: Size) -> Sequence[float]:
    words, looped = size.pair_steps
    return size.rows * size.features, words, looped, size.blocks * size.pair_cells


def _families(k: int) -> Terms:
    return lambda size: (size.rows * size.features * (1 + k), size.blocks * size.cells(k))


def _extensions(size: Size) -> Sequence[float]:
    cells = size.cells(2) * size.features / max(1, size.features - 2)
    return size.rows * size.features, size.blocks * cells


def _evaluation(size: Size) -> Sequence[float]:
    read = size.rows * size.features * size.unusual * -(-size.width // 8)
    return read, size.rows * size.width, size.rows, size.blocks * size.cells(1)


def _dfe(size: Size) -> Sequence[float]:
    return (
        size.rows * size.features * size.classes,
        size.rows * size.classes,
        size.rows * size.features,
    )


def _greedy(size: Size) -> Sequence[float]:
    candidates = size.features * (size.features - 1)
    return (
        size.rows * candidates * size.classes,
        size.rows * candidates,
        size.rows * size.features * size.classes,
    )


def terms_of(work: str) -> Terms:
    """The terms of a kind of work, by its name or by how it begins."""
    return TERMS[work] if work in TERMS else TERMS[work.split(",")[0]]


TERMS: dict[str, Terms] = {
    "features": _families(0),
    "pairs": _pairs,
    "families, one parent": _families(1),
    "families, two parents": _families(2),
    "extensions": _extensions,
    "preparing": lambda size: (size.rows * size.features * 2,),
    "evaluation": _evaluation,
    "DFE pass": _dfe,
    "greedy step": _greedy,
}
NAMES: dict[str, tuple[str, ...]] = {
    "features": ("n·N", "B·cells"),
    "pairs": ("n·N", "words", "loop rows", "B·cells"),
    "families, one parent": ("n·N·2", "B·cells"),
    "families, two parents": ("n·N·3", "B·cells"),
    "extensions": ("n·N", "B·cells"),
    "preparing": ("n·N·2",),
    "evaluation": ("n·N·u·s", "n·w", "n", "B·cells"),
    "DFE pass": ("n·N·C", "n·C", "n·N"),
    "greedy step": ("n·C·K", "n·K", "n·N·C"),
}


@dataclass(frozen=True)
class Work:
    """One kind of work: its constants in nanoseconds, and how far off the model is where it was
    fitted.
    """

    name: str
    constants: tuple[float, ...]
    error: float

    def seconds(self, size: Size) -> float:
        """The time of one pass on one thread."""
        return NANO * float(np.dot(self.constants, terms_of(self.name)(size)))

    @property
    def terms(self) -> tuple[str, ...]:
        """What the constants are of."""
        return NAMES[self.name] if self.name in NAMES else NAMES[self.name.split(",")[0]]


def fitted(name: str, lines: Sequence[Line]) -> Work:
    """Constants, none below zero, for which the relative errors have the least squares."""
    sizes = [
        Size.even(line.rows, line.features or 0, line.values or 0, line.classes or 0)
        for line in lines
    ]
    taken = np.array([line.time for line in lines])
    steps = np.array([terms_of(name)(size) for size in sizes]) * NANO
    constants = nnls(steps / taken[:, None], np.ones(taken.size))[0]
    error = np.sqrt(np.mean((steps @ constants / taken - 1) ** 2))
    return Work(name, tuple(constants.tolist()), float(error))


def exponent(lines: Sequence[Line], by: str) -> float:
    """The slope of log seconds over the log of one of the sizes, among lines that differ in that
    one only.
    """
    x, y = [float(getattr(line, by)) for line in lines], [line.time for line in lines]
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
