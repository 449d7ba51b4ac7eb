"""Parameterizations: maps from a vector of unconstrained parameters to tables, and gradients.

====  =================  ==============================================  ==========
name  class              numbers in the tables                           normalized
====  =================  ==============================================  ==========
e     ``Softmax``        β − log Σ exp β in each row of a table          yes
      ``AbsorbedClass``  as ``Softmax``, of a class that has parents     no
      ``Subnormalized``  as ``Softmax``, − s²/2 with a slack s per row   no
d     ``Direct``         the parameters themselves                       no
w     ``Weights``        w · log θ, with log θ fixed and w by level      no
      ``Plain``          the parameters, rows that sum to one at most    no
====  =================  ==============================================  ==========

In ``d`` a family cell that was not seen with any class has no parameter: it keeps a given value. In
``w`` that holds for a weight none of whose cells was seen; otherwise a weight applies to all of its
cells, seen or not.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from discbayes.kernels import projection
from discbayes.kernels import softmax_tables as kernels
from discbayes.kernels.quasi_newton import dot
from discbayes.network import CPTs, Layout, Structure, absorb_class

LEVELS = (1, 2, 3, 4)
MIN_SLACK = 0.1  # of a row at the start: at zero the gradient with respect to it is zero, too


class Numbers(NamedTuple):
    """A value for each class and for each cell of the tables: log P(c) and log θ, or a gradient."""

    prior: np.ndarray
    cells: np.ndarray

    def dot(self, other: Numbers) -> float:
        """Return the sum of products; of counts with log θ it is the log likelihood."""
        return float(dot(self.prior, other.prior) + dot(self.cells, other.cells))

    def plus(self, other: Numbers, factor: float = 1.0) -> Numbers:
        """Return the sum with a multiple of others."""
        return Numbers(self.prior + factor * other.prior, self.cells + factor * other.cells)

    def add(self, other: Numbers) -> None:
        """Add others to these, in place."""
        self.prior[:] += other.prior
        self.cells[:] += other.cells


class FreeCells(NamedTuple):
    """Cells with a parameter of their own for each class, and these parameters.

    Two classes have one parameter for both. Cell 0 is the class by itself; those of the tables
    follow, numbered without the class.
    """

    cells: np.ndarray
    free: np.ndarray  # by cell and class


class Parameterization(Protocol):
    """The protocol of parameterizations."""

    layout: Layout
    normalized: bool
    size: int
    n_prior: int  # the first parameters are those of the class
    repeats: float  # table entries per parameter, as a penalty counts them
    # cells with parameters of their own, if parameters are the values in the tables
    own: FreeCells | None

    def start(self, tables: CPTs) -> np.ndarray:
        """Return the parameters that give these tables, or the nearest ones."""
        ...

    def numbers(self, free: np.ndarray) -> Numbers:
        """Return log P(c) and log θ, or the values in their place."""
        ...

    def pull_back(self, free: np.ndarray, numbers: Numbers, gradient: Numbers) -> np.ndarray:
        """Return the gradient with respect to the parameters, given these and their tables."""
        ...

    def tables(self, free: np.ndarray) -> CPTs:
        """Return the tables of the parameters."""
        ...


class Softmax:
    """Normalized tables, θ = exp(β) / Σ exp(β) in each row of a table: ``e`` of Z17, P10 4.2.

    The classes come first in β, then the cells in the order of the layout. A feature that does not
    depend on the class has one column of parameters, which all of its class columns share.
    """

    normalized, repeats = True, 1.0
    own: FreeCells | None = None

    def __init__(self, layout: Layout):
        self.layout, self.n_prior = layout, layout.n_classes
        self._class = Layout.of_class(layout.n_classes)
        self._slots = _slots(layout)
        self._n_softmax = (
            layout.n_classes + layout.size
            if self._slots is None
            else int(self._slots.max(initial=-1)) + 1
        )
        self.size = self._n_softmax

    def start(self, tables: CPTs) -> np.ndarray:
        """Return the parameters that give these tables, which must be finite."""
        if not (np.isfinite(tables.log_prior).all() and np.isfinite(tables.log_theta).all()):
            raise ValueError(
                "the start has probabilities of zero, from which a gradient cannot lead away:"
                " smooth them"
            )
        if self._slots is None:
            return np.concatenate([tables.log_prior, tables.log_theta])
        free = np.empty(self._n_softmax)
        free[self._slots] = np.concatenate([tables.log_prior, tables.log_theta])
        return free

    def numbers(self, free: np.ndarray) -> Numbers:
        """Return log P(c) and log θ."""
        layout, alone = self.layout, self._class
        n_classes = layout.n_classes
        every = free if self._slots is None else free[self._slots]
        numbers = Numbers(np.empty(n_classes), np.empty(layout.size))
        kernels.log_softmax(every[:n_classes], alone.offsets, alone.cards, 1, numbers.prior)
        kernels.log_softmax(
            every[n_classes:], layout.offsets, layout.cards, n_classes, numbers.cells
        )
        return numbers

    def pull_back(self, free: np.ndarray, numbers: Numbers, gradient: Numbers) -> np.ndarray:
        """Return the gradient with respect to the parameters, given these and their tables."""
        layout, alone = self.layout, self._class
        n_classes = layout.n_classes
        every = np.empty(n_classes + layout.size)
        kernels.softmax_gradient(
            gradient.prior, numbers.prior, alone.offsets, alone.cards, 1, every[:n_classes]
        )
        kernels.softmax_gradient(
            gradient.cells,
            numbers.cells,
            layout.offsets,
            layout.cards,
            n_classes,
            every[n_classes:],
        )
        return every if self._slots is None else np.bincount(self._slots, every, self._n_softmax)

    def gathered(self, numbers: Numbers) -> np.ndarray:
        """Return the sums of the values that each parameter determines."""
        every = np.concatenate(numbers)
        return every if self._slots is None else np.bincount(self._slots, every, self._n_softmax)

    def tables(self, free: np.ndarray) -> CPTs:
        """Return the tables of the parameters."""
        return CPTs(self.layout, *self.numbers(free))


class AbsorbedClass:
    """Normalized tables of a class that has parents and of the features, as inference reads them.

    The tables are those of ``Softmax``, with P(c | parents) in the place of P(c). Its parameters
    come first, a row of them for each combination of values of the parents. The layout is that of
    the network in which the table of the class is multiplied into that of one of its parents
    (``absorb_class``), so that a log-joint of these tables is that of the whole network.
    """

    normalized, repeats = False, 1.0  # the absorbed tables are not: their product is
    own: FreeCells | None = None

    def __init__(self, layout: Layout):
        above = layout.structure.class_parents
        plain = Structure(layout.structure.parents, layout.structure.class_children)
        features = Layout(plain, layout.cards, layout.n_classes, layout.states)
        self._features = Softmax(features)
        self._parents = above
        self._shape = (*layout.n_states[list(above)], layout.n_classes)
        self.n_prior = math.prod(self._shape)
        self.size = self.n_prior + self._features.size - self._features.n_prior
        # the tables are numbered, and the numbers are absorbed: where each cell comes from
        none, flat = np.zeros(features.n_classes), np.zeros(self._shape)
        cells = CPTs(features, none, np.arange(float(features.size)))
        numbered = absorb_class(cells, above, flat)
        self.layout = numbered.layout
        self._from = numbered.log_theta.astype(np.int64)
        numbers = 1.0 + np.arange(float(self.n_prior)).reshape(self._shape)
        found = absorb_class(CPTs(features, none, np.zeros(features.size)), above, numbers)
        self._absorbed = np.flatnonzero(found.log_theta)
        self._from_class = found.log_theta[self._absorbed].astype(np.int64) - 1

    def start(self, tables: CPTs) -> np.ndarray:
        """Return the parameters that give these tables, which must be finite."""
        own = tables.class_table
        if own is None:
            raise ValueError("the start has no table of the class given its parents")
        if not np.isfinite(own.log_table).all():
            raise ValueError(
                "the start has probabilities of zero, from which a gradient cannot lead away:"
                " smooth them"
            )
        features = replace(own.features, log_prior=np.zeros(self.layout.n_classes))
        return np.concatenate(
            [own.log_table.ravel(), self._features.start(features)[self._features.n_prior :]]
        )

    def numbers(self, free: np.ndarray) -> Numbers:
        """Return the values of the absorbed tables: zeros in the place of log P(c)."""
        cells = self._feature_cells(free)[self._from]
        cells[self._absorbed] += self._of_class(free).ravel()[self._from_class]
        return Numbers(np.zeros(self.layout.n_classes), cells)

    def pull_back(self, free: np.ndarray, numbers: Numbers, gradient: Numbers) -> np.ndarray:
        """Return the gradient with respect to the parameters, given these and their tables."""
        n_features = self._features.layout.size
        slopes = np.bincount(self._from_class, gradient.cells[self._absorbed], self.n_prior)
        slopes = slopes.reshape(self._shape)
        shares = np.exp(self._of_class(free))
        of_class = slopes - shares * slopes.sum(axis=-1, keepdims=True)
        none = np.zeros(self.layout.n_classes)
        own = Numbers(none, self._feature_cells(free))
        cells = np.bincount(self._from, gradient.cells, n_features)
        back = self._features.pull_back(self._padded(free), own, Numbers(none, cells))
        return np.concatenate([of_class.ravel(), back[self._features.n_prior :]])

    def tables(self, free: np.ndarray) -> CPTs:
        """Return the tables of the parameters."""
        features = CPTs(
            self._features.layout,
            np.full(self.layout.n_classes, -np.log(self.layout.n_classes)),
            self._feature_cells(free),
        )
        return absorb_class(features, self._parents, self._of_class(free))

    def _padded(self, free: np.ndarray) -> np.ndarray:
        """Return the parameters of the features, after zeros for a class without parents."""
        return np.concatenate([np.zeros(self._features.n_prior), free[self.n_prior :]])

    def _feature_cells(self, free: np.ndarray) -> np.ndarray:
        return self._features.numbers(self._padded(free)).cells

    def _of_class(self, free: np.ndarray) -> np.ndarray:
        values = free[: self.n_prior].reshape(self._shape)
        return np.asarray(values - np.logaddexp.reduce(values, axis=-1, keepdims=True))


class Subnormalized(Softmax):
    """Tables whose rows sum to one at most, without a constraint: log θ = β − log Σ exp β − s²/2.

    The slack s is an unconstrained parameter of each row of a class child without a covering
    parent; the rows of all other tables sum to one. P13's problem (11) has an optimum among these
    tables: Algorithm 1 moves what another row lacks to the covering parent, and so on up to a row
    with a slack or to P(c), at no loss of likelihood. The slacks come last in the vector of
    parameters.
    """

    normalized = False

    def __init__(self, layout: Layout):
        super().__init__(layout)
        rows = _slack_rows(layout)
        self._n_slacks = int(rows.max(initial=-1)) + 1
        self._with_slack = np.flatnonzero(rows >= 0)
        self._row = rows[self._with_slack]
        self.size += self._n_slacks

    def start(self, tables: CPTs) -> np.ndarray:
        """Return the parameters of finite tables; slacks are at least ``MIN_SLACK``."""
        totals = np.ones(self._n_slacks)
        totals[self._row] = self.layout.row_totals(np.exp(tables.log_theta))[self._with_slack]
        slacks = np.sqrt(-2.0 * np.log(np.clip(totals, np.finfo(float).tiny, 1.0)))
        return self.with_slack(np.concatenate([super().start(tables), slacks]))

    def with_slack(self, free: np.ndarray) -> np.ndarray:
        """Raise slacks to at least ``MIN_SLACK``, so that a fit can start there."""
        slacks = np.maximum(np.abs(free[self._n_softmax :]), MIN_SLACK)
        return np.concatenate([free[: self._n_softmax], slacks])

    def numbers(self, free: np.ndarray) -> Numbers:
        """Return log P(c) and log θ."""
        numbers, slacks = super().numbers(free[: self._n_softmax]), free[self._n_softmax :]
        numbers.cells[self._with_slack] -= (0.5 * slacks**2)[self._row]
        return numbers

    def pull_back(self, free: np.ndarray, numbers: Numbers, gradient: Numbers) -> np.ndarray:
        """Return the gradient with respect to the parameters, given these and their tables."""
        slacks, cells = free[self._n_softmax :], numbers.cells.copy()
        cells[self._with_slack] += (0.5 * slacks**2)[self._row]
        back = super().pull_back(free, Numbers(numbers.prior, cells), gradient)
        return np.concatenate([back, -slacks * self._row_sums(gradient)])

    def gathered(self, numbers: Numbers) -> np.ndarray:
        """Return the sums of the values that each parameter, or the slack of a row, determines."""
        return np.concatenate([super().gathered(numbers), self._row_sums(numbers)])

    def _row_sums(self, numbers: Numbers) -> np.ndarray:
        return np.bincount(self._row, numbers.cells[self._with_slack], self._n_slacks)


class _Affine:
    """Values that are offset + factor · parameter; without a parameter, the offset."""

    normalized, repeats = False, 1.0
    own: FreeCells | None = None

    def __init__(self, layout: Layout, offset: Numbers, factor: Numbers, slots: np.ndarray):
        self.layout = layout
        self._offset, self._factor = np.concatenate(offset), np.concatenate(factor)
        self._slots = slots
        self._free = np.flatnonzero(slots >= 0)
        self._taken = slots[self._free]
        self.size = int(slots.max(initial=-1)) + 1
        self.n_prior = int(slots[: layout.n_classes].max(initial=-1)) + 1
        self._plain = bool(self._free.size == slots.size == self.size)

    def numbers(self, free: np.ndarray) -> Numbers:
        """Return the values in the place of log P(c) and log θ."""
        every = self._offset.copy()
        if self._plain:
            every += self._factor * free
        else:
            every[self._free] += self._factor[self._free] * free[self._taken]
        return Numbers(every[: self.layout.n_classes], every[self.layout.n_classes :])

    def pull_back(self, free: np.ndarray, numbers: Numbers, gradient: Numbers) -> np.ndarray:
        """Return the gradient with respect to the parameters."""
        every = np.concatenate(gradient) * self._factor
        return every if self._plain else np.bincount(self._taken, every[self._free], self.size)

    def start(self, tables: CPTs) -> np.ndarray:
        """Return the parameters nearest to the tables: exact if each cell has its own."""
        wanted = np.concatenate([tables.log_prior, tables.log_theta]) - self._offset
        return _nearest(wanted[self._free], self._factor[self._free], self._taken, self.size)

    def tables(self, free: np.ndarray) -> CPTs:
        """Return the tables of the parameters."""
        return CPTs(self.layout, *self.numbers(free))


class Plain(_Affine):
    """A parameter for each class and cell, constrained to tables whose rows sum to one at most."""

    def __init__(self, layout: Layout):
        zero, one = (
            Numbers(np.full(layout.n_classes, x), np.full(layout.size, x)) for x in (0.0, 1.0)
        )
        super().__init__(layout, zero, one, own_slots(layout))
        self._class = Layout.of_class(layout.n_classes)

    def project(self, free: np.ndarray) -> np.ndarray:
        """Return the nearest point whose tables have rows that sum to one at most."""
        alone, layout = self._class, self.layout
        numbers = self.numbers(free)
        inside = Numbers(np.empty_like(numbers.prior), np.empty_like(numbers.cells))
        projection.project_rows(numbers.prior, alone.offsets, alone.cards, 1, inside.prior)
        projection.project_rows(
            numbers.cells, layout.offsets, layout.cards, layout.n_classes, inside.cells
        )
        found = np.empty(self.size)
        found[self._slots] = np.concatenate(inside)
        return found


class Direct(_Affine):
    """Parameters in the place of log P(c) and log θ: ``d`` of Z17.

    With naive Bayes that is logistic regression. With two classes only their difference matters, so
    that there is one parameter for both, added to one and subtracted from the other. What cancels,
    and cells that were not seen, stay as in ``around``.
    """

    def __init__(self, layout: Layout, seen: np.ndarray, around: CPTs):
        slots = np.where(
            np.concatenate([np.ones(layout.n_classes, bool), seen]), own_slots(layout), -1
        )
        factor = np.ones(slots.size)
        if layout.n_classes == 2:
            pairs = slots.reshape(-1, 2)
            tied = pairs[:, 0] == pairs[:, 1]  # a feature that does not depend on the class cancels
            slots = np.where(tied | (pairs[:, 0] < 0), -1, pairs[:, 0]).repeat(2)
            factor = np.tile([-1.0, 1.0], slots.size // 2)
            self.repeats = 2.0
        zero = Numbers(np.zeros(layout.n_classes), np.zeros(layout.size))
        offset = zero
        if layout.n_classes == 2 or not seen.all():
            offset = Numbers(around.log_prior.copy(), around.log_theta.copy())
            if layout.n_classes != 2:
                offset.prior[:] = 0.0
                offset.cells[seen] = 0.0
        at = layout.n_classes
        super().__init__(layout, offset, Numbers(factor[:at], factor[at:]), _packed(slots))
        self.own = _own(self._slots.reshape(-1, layout.n_classes))


class Weights(_Affine):
    """Weights on fixed log θ: ``w`` of Z17, w = 1 being the generative tables.

    ``level`` is what has a weight of its own: 1 a feature, 2 a value, 3 a value in a class, 4 a
    cell. A weight none of whose cells was seen cannot be learned: it is the one nearest to
    ``around``.
    """

    def __init__(
        self, layout: Layout, seen: np.ndarray, generative: CPTs, around: CPTs, level: int = 4
    ):
        at, slots = layout.n_classes, _level_slots(layout, level)
        factor = np.concatenate([generative.log_prior, generative.log_theta])
        self._seen = np.concatenate([np.ones(at, bool), seen])
        learned = (np.bincount(slots, self._seen) > 0)[slots]
        kept = _nearest(
            np.concatenate([around.log_prior, around.log_theta]), factor, slots, slots.max() + 1
        )[slots]
        offset = np.where(learned, 0.0, kept * factor)
        super().__init__(
            layout,
            Numbers(offset[:at], offset[at:]),
            Numbers(factor[:at], factor[at:]),
            _packed(np.where(learned, slots, -1)),
        )

    def start(self, tables: CPTs) -> np.ndarray:
        """Return the weights nearest to the tables in seen cells: others may be backed off."""
        wanted = np.concatenate([tables.log_prior, tables.log_theta])[self._seen]
        return _nearest(wanted, self._factor[self._seen], self._slots[self._seen], self.size)


def _nearest(wanted: np.ndarray, factor: np.ndarray, slots: np.ndarray, size: int) -> np.ndarray:
    """Return parameters whose products with the factors are nearest to values (least squares)."""
    share = np.bincount(slots, factor * wanted, size)
    return share / np.maximum(np.bincount(slots, factor**2, size), np.finfo(float).tiny)


def _own(slots: np.ndarray) -> FreeCells:
    """Return the cells whose slots differ by class; with two classes, those with a slot."""
    free = slots[:, :1] if slots.shape[1] == 2 else slots
    cells = np.flatnonzero(
        (slots[:, 0] >= 0) & ((slots.shape[1] == 2) | (slots[:, 0] != slots[:, -1]))
    )
    return FreeCells(cells, free[cells])


def own_slots(layout: Layout) -> np.ndarray:
    """Number the parameters of classes and cells; equal class columns share theirs."""
    slots = _slots(layout)
    return np.arange(layout.n_classes + layout.size) if slots is None else slots


def _slack_rows(layout: Layout) -> np.ndarray:
    """Number the rows of class children without a covering parent; −1 for cells of others."""
    parts, structure = [np.empty(0, np.int64)], layout.structure
    n_rows = 0
    for i, (*parents, card, n_classes) in enumerate(layout.shapes):
        rows = np.full((math.prod(parents), 1, n_classes), -1)
        if structure.class_children[i] and structure.covering_parent(i) is None:
            rows = n_rows + np.arange(rows.size).reshape(rows.shape)
            n_rows += rows.size
        parts.append(rows.repeat(card, axis=1).ravel())
    return np.concatenate(parts)


def _packed(slots: np.ndarray) -> np.ndarray:
    """Renumber slots consecutively."""
    used = np.zeros(slots.max(initial=-1) + 2, np.int64)
    used[slots + 1] = 1
    used[0] = 0
    return np.where(slots >= 0, np.cumsum(used)[slots + 1] - 1, -1)


def _level_slots(layout: Layout, level: int) -> np.ndarray:
    """Return the number of the weight of each class and cell."""
    if level == 4:
        return own_slots(layout)
    n_classes = layout.n_classes
    parts = [np.zeros(n_classes, np.int64) if level == 1 else np.arange(n_classes)]
    free = 1 if level == 1 else n_classes
    for shape, depends in zip(layout.shapes, layout.structure.class_children, strict=True):
        card = shape[-2]
        by_class = level == 3 and depends
        own = np.zeros((card, n_classes), np.int64)
        if level >= 2:
            own += np.arange(card)[:, None] * (n_classes if by_class else 1)
        if by_class:
            own += np.arange(n_classes)
        parts.append(free + np.broadcast_to(own, shape).ravel())
        free += int(own.max(initial=-1)) + 1
    return np.concatenate(parts)


def _slots(layout: Layout) -> np.ndarray | None:
    """Return the number of the parameter of each class and cell; None if each has its own."""
    if all(layout.structure.class_children):
        return None
    parts, free = [np.arange(layout.n_classes)], layout.n_classes
    for size, depends in zip(np.diff(layout.offsets), layout.structure.class_children, strict=True):
        repeats = 1 if depends else layout.n_classes
        parts.append(free + np.repeat(np.arange(size // repeats), repeats))
        free += size // repeats
    return np.concatenate(parts)
