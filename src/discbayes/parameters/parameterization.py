"""Parameterisations: maps from a vector of free numbers to the numbers in tables, and the way back of a gradient."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discbayes.kernels import gradient as kernels
from discbayes.network import Layout, Tables


class Numbers(NamedTuple):
    """One number for each class and one for each cell of the tables: log P(c) and log θ, or a gradient."""

    prior: np.ndarray
    cells: np.ndarray


class Softmax:
    """Normalised tables, θ = exp(β) / Σ exp(β) in each row of a table: ``e`` of Z17, P10 4.2.

    The classes come first in β, then the cells in the order of the layout. A feature that does not depend on the class
    has one column of free numbers, which all of its class columns share.
    """

    normalized = True

    def __init__(self, layout: Layout):
        self.layout = layout
        self._slots = _slots(layout)
        self.size = layout.n_classes + layout.size if self._slots is None else int(self._slots.max(initial=-1)) + 1

    def start(self, tables: Tables) -> np.ndarray:
        """The free numbers that give these tables, which must be finite."""
        if not (np.isfinite(tables.log_prior).all() and np.isfinite(tables.log_theta).all()):
            raise ValueError("the start has probabilities of zero, from which a gradient cannot lead away: smooth them")
        if self._slots is None:
            return np.concatenate([tables.log_prior, tables.log_theta])
        free = np.empty(self.size)
        free[self._slots] = np.concatenate([tables.log_prior, tables.log_theta])
        return free

    def numbers(self, free: np.ndarray) -> Numbers:
        """Log P(c) and log θ."""
        n_classes, layout = self.layout.n_classes, self.layout
        every = free if self._slots is None else free[self._slots]
        numbers = Numbers(np.empty(n_classes), np.empty(layout.size))
        kernels.log_softmax(every[:n_classes], *_alone(n_classes), numbers.prior)
        kernels.log_softmax(every[n_classes:], layout.offsets, layout.cards, n_classes, numbers.cells)
        return numbers

    def pull_back(self, numbers: Numbers, gradient: Numbers) -> np.ndarray:
        """The gradient with respect to the free numbers, at the point that gave ``numbers``."""
        n_classes, layout = self.layout.n_classes, self.layout
        every = np.empty(n_classes + layout.size)
        kernels.softmax_gradient(gradient.prior, numbers.prior, *_alone(n_classes), every[:n_classes])
        kernels.softmax_gradient(
            gradient.cells, numbers.cells, layout.offsets, layout.cards, n_classes, every[n_classes:]
        )
        return every if self._slots is None else np.bincount(self._slots, every, self.size)

    def tables(self, free: np.ndarray) -> Tables:
        """The tables that the free numbers stand for."""
        return Tables(self.layout, *self.numbers(free))


def _alone(n_classes: int) -> tuple[np.ndarray, np.ndarray, int]:
    """The layout of the class, as a feature by itself: offsets, cards and the number of columns."""
    return np.array([0, n_classes]), np.array([n_classes]), 1


def _slots(layout: Layout) -> np.ndarray | None:
    """Which free number stands behind each class and cell; ``None`` where each has its own."""
    if all(layout.structure.class_children):
        return None
    parts, free = [np.arange(layout.n_classes)], layout.n_classes
    for size, depends in zip(np.diff(layout.offsets), layout.structure.class_children, strict=True):
        repeats = 1 if depends else layout.n_classes
        parts.append(free + np.repeat(np.arange(size // repeats), repeats))
        free += size // repeats
    return np.concatenate(parts)
