"""Conditional probability tables in one flat array, and the conventions of all arrays.

=============  =========================  ==================================================
array          shape                      meaning
=============  =========================  ==================================================
``codes``      (n_features, n_rows)       values as codes; ``codes[i] >= cards[i]`` is missing
``cards``      (n_features,)              number of values of each feature
``log_prior``  (n_classes,)               log P(c)
``log_theta``  (size,)                    log P(x_i | parents, c) of all tables, one after the
                                          other
``log_joint``  (n_rows, n_classes)        log P(c, observed values)
=============  =========================  ==================================================

The table of feature ``i`` with parents ``p1 .. pk`` has the shape ``(n_states[p1], ...,
n_states[pk], card[i], n_classes)``: the class is innermost, so that one look-up reads all classes.
A feature that does not depend on the class has the same numbers in every class column. The same
layout holds counts and log θ.

A feature has two resolutions where its children do not tell all of its values apart: they see the
*state* of a value, a union of values. With one resolution a state is a value, and ``n_states`` is
``cards``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from discbayes._arrays import WithArrays
from discbayes._memory import require_memory
from discbayes._text import count_of
from discbayes.kernels.network_arrays import LayoutArrays
from discbayes.kernels.states import map_to_states
from discbayes.kernels.table_rows import row_totals
from discbayes.network.structure import Structure

if TYPE_CHECKING:
    from discbayes.network.class_parents import ClassTable

NORMALIZED_TOLERANCE = 1e-9
MIN_LOG_THETA = -700.0  # the exponential of less has lost digits, or is zero
MAX_CELLS = 2**40  # of one table: far above any memory, far below the end of the integers
# measured while generative estimates are computed: counts, log θ, and temporary arrays
CELL_BYTES = 48
MAX_AXES = getattr(np, "MAXDIMS", 64)  # of an array: numpy 1 has 32


@dataclass(frozen=True, eq=False)
class Layout(WithArrays):
    """Where the cells of every table are in the flat array.

    The cell of a row in the table of feature ``i`` for class ``c`` is ``offsets[i] + Σ
    state[p]·stride[p] + codes[i]·n_classes + c``, the sum over the parents ``p``. With one
    resolution the state of a parent is its code.

    Parameters
    ----------
    structure : Structure
        The parents of each feature.
    cards : ndarray of int
        Number of values of each feature.
    n_classes : int
        Number of classes.
    states : tuple of ndarray of int, optional
        For each feature the state of each of its values, as its children see it. States are
        numbered from 0, and each of them occurs. None for one resolution, where every value is a
        state of its own.

    Examples
    --------
    >>> layout = Layout(Structure(((), (0,))), np.array([2, 3]), 2)
    >>> layout.shapes, layout.offsets.tolist()
    ([(2, 2), (2, 3, 2)], [0, 4, 16])
    >>> states = (np.array([0, 0, 1]), np.arange(3))
    >>> Layout(Structure(((), (0,))), np.array([3, 3]), 2, states).shapes
    [(3, 2), (2, 3, 2)]
    """

    structure: Structure
    cards: np.ndarray
    n_classes: int
    states: tuple[np.ndarray, ...] | None = None

    def __post_init__(self) -> None:
        if len(self.cards) != self.structure.n_features:
            raise ValueError(
                f"the structure has {self.structure.n_features} features and the data"
                f" {len(self.cards)}: they are not of the same table"
            )
        if self.states is not None:
            _check_states(self.states, self.cards)

    @classmethod
    def of(cls, structure: Structure, data: Any) -> Layout:
        """Return the layout of the tables of a structure over some rows.

        Parameters
        ----------
        structure : Structure
            The parents of each feature.
        data : Rows
            The rows, whose domain tells values and states.

        Returns
        -------
        Layout
            The layout.

        Examples
        --------
        >>> from discbayes.data import FrameEncoder
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> Layout.of(Structure.naive(1), data).shapes
        [(2, 2)]
        """
        return cls(structure, data.cards, data.n_classes, data.domain.states)

    @classmethod
    def of_class(cls, n_classes: int) -> Layout:
        """Return the layout of P(c), with the class as the only feature.

        Parameters
        ----------
        n_classes : int
            Number of classes.

        Returns
        -------
        Layout
            One feature of so many values, and one class.

        Examples
        --------
        >>> Layout.of_class(3).shapes
        [(3, 1)]
        """
        return cls(Structure.naive(1), np.array([n_classes]), 1)

    @cached_property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shape of each table."""
        cards, n_states = self.cards.tolist(), self.n_states.tolist()
        return [
            (*(n_states[p] for p in group), cards[i], self.n_classes)
            for i, group in enumerate(self.structure.parents)
        ]

    @cached_property
    def n_states(self) -> np.ndarray:
        """The number of states of each feature, as its children see it; ``cards`` if one each."""
        if self.states is None:
            return self.cards
        return np.array([state.max() + 1 for state in self.states], np.int64)

    @cached_property
    def state_start(self) -> np.ndarray:
        """Where the values of each feature start in ``state_of``, and where the last end."""
        return np.concatenate([[0], np.cumsum(self.cards, dtype=np.int64)]).astype(np.int64)

    @cached_property
    def state_of(self) -> np.ndarray:
        """The states of all values of all features, one feature after the other."""
        states = self.states or [np.arange(card) for card in self.cards]
        return np.concatenate([*states, np.zeros(0, np.int64)]).astype(np.int64)

    def states_of(self, feature: int) -> np.ndarray:
        """Return the state of every value of a feature.

        Parameters
        ----------
        feature : int
            Position of the feature.

        Returns
        -------
        ndarray of shape (card,)
            The states; the values themselves with one resolution.

        Examples
        --------
        >>> Layout(Structure.naive(1), np.array([3]), 2).states_of(0)
        array([0, 1, 2])
        """
        return self.state_of[self.state_start[feature] : self.state_start[feature + 1]]

    def parent_codes(self, codes: np.ndarray) -> np.ndarray:
        """Return the codes that tables read of parents: the state of each value.

        Parameters
        ----------
        codes : ndarray of shape (n_features, n_samples)
            Codes of rows; a code of at least ``cards[i]`` is missing.

        Returns
        -------
        ndarray of shape (n_features, n_samples)
            The states, ``n_states[i]`` where a value is missing. With one resolution they are
            ``codes`` itself.

        Examples
        --------
        >>> layout = Layout(Structure.naive(1), np.array([3]), 2, (np.array([0, 0, 1]),))
        >>> layout.parent_codes(np.array([[0, 1, 2, 3]], np.uint8))
        array([[0, 0, 1, 2]], dtype=uint8)
        """
        if self.states is None:
            return codes
        found = np.empty(codes.shape, codes.dtype)
        map_to_states(
            np.ascontiguousarray(codes), self.state_start, self.state_of, self.n_states, found
        )
        return found

    def has_states(self, states: tuple[np.ndarray, ...] | None) -> bool:
        """Return whether children see these states, as another layout or a domain has them.

        Parameters
        ----------
        states : tuple of ndarray, or None
            The states of all features.

        Returns
        -------
        bool
            Whether all of them are the same.

        Examples
        --------
        >>> Layout(Structure.naive(1), np.array([2]), 2).has_states((np.array([0, 1]),))
        True
        """
        if states is None or self.states is None:
            return all(np.array_equal(s, np.arange(s.size)) for s in states or self.states or ())
        return len(states) == len(self.states) and all(map(np.array_equal, states, self.states))

    @cached_property
    def by_state(self) -> Layout:
        """The layout of tables in which the own axis of a feature is by state too."""
        return (
            self if self.states is None else Layout(self.structure, self.n_states, self.n_classes)
        )

    @cached_property
    def offsets(self) -> np.ndarray:
        """The first cell of each table, and the number of cells at the end."""
        sizes = [math.prod(shape) for shape in self.shapes]
        largest = max(sizes, default=0)
        if largest > MAX_CELLS:
            i = sizes.index(largest)
            raise ValueError(
                f"the table of feature {i} would have {largest:.3g} cells, as it has"
                f" {len(self.shapes[i]) - 2} parents"
            )
        widest = max(self.shapes, key=len, default=())
        if len(widest) > MAX_AXES:
            i = self.shapes.index(widest)
            raise ValueError(
                f"feature {i} has {len(widest) - 2} parents, and a table can have"
                f" at most {MAX_AXES - 2}"
            )
        self.require()
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)

    def require(self, names: Sequence[str] | None = None, cell_bytes: int = CELL_BYTES) -> None:
        """Raise an error if the tables cannot be learned in memory.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the features, for the message.
        cell_bytes : int
            Bytes that learning takes for each cell.

        Examples
        --------
        >>> Layout(Structure.naive(2), np.array([2, 3]), 2).require(["a", "b"])
        """
        sizes = [math.prod(shape) for shape in self.shapes]
        total, largest = sum(sizes), max(sizes, default=0)
        if not largest:
            return
        i = sizes.index(largest)
        name = f"feature {i}" if names is None else repr(names[i])
        parents, card = len(self.shapes[i]) - 2, int(self.cards[i])
        require_memory(
            total * cell_bytes,
            f"tables of {total:,} cells, of which that of {name} has {largest:,} ({card:,} values, "
            f"{count_of(parents, 'parent')}, {count_of(self.n_classes, 'class', 'es')}),",
            "use a structure of fewer parents (k, max_table_size), let children see intervals and"
            ' groups of values (discretizer="two-resolution"), or leave columns out',
        )

    @cached_property
    def parent_start(self) -> np.ndarray:
        """Where the parents of each feature start in the parent arrays, and where the last end."""
        lengths = [len(group) for group in self.structure.parents]
        return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)

    @cached_property
    def parent_index(self) -> np.ndarray:
        """The parents of all features, one after the other."""
        return np.array([p for group in self.structure.parents for p in group], dtype=np.int64)

    @cached_property
    def parent_stride(self) -> np.ndarray:
        """The number of cells between two successive values of each parent."""
        strides = [
            math.prod(shape[k + 1 :]) for shape in self.shapes for k in range(len(shape) - 2)
        ]
        return np.array(strides, dtype=np.int64)

    def arrays(self) -> LayoutArrays:
        """Return the record of arrays that kernels take.

        Returns
        -------
        LayoutArrays
            The topological order, ``cards``, states, ``offsets`` and the parent arrays.

        Examples
        --------
        >>> Layout(Structure(((1,), ())), np.array([2, 3]), 2).arrays().order
        array([1, 0])
        """
        return LayoutArrays(
            np.array(self.structure.order, np.int64),
            self.cards,
            self.n_states,
            self.offsets,
            self.parent_start,
            self.parent_index,
            self.parent_stride,
        )

    @property
    def size(self) -> int:
        """The number of cells of all tables."""
        return int(self.offsets[-1])

    def table(self, flat: np.ndarray, feature: int) -> np.ndarray:
        """Return the table of one feature as a view on ``flat``.

        Parameters
        ----------
        flat : ndarray of shape (size,)
            Numbers of all tables.
        feature : int
            Position of the feature.

        Returns
        -------
        ndarray
            The table, class innermost.

        Examples
        --------
        >>> Layout(Structure.naive(2), np.array([2, 1]), 2).table(np.arange(6.0), 0)
        array([[0., 1.],
               [2., 3.]])
        """
        return flat[self.offsets[feature] : self.offsets[feature + 1]].reshape(self.shapes[feature])

    def pool_columns(self, flat: np.ndarray, how: Callable[..., np.ndarray] = np.sum) -> np.ndarray:
        """Return the numbers, pooled over the classes for features that do not depend on them.

        Parameters
        ----------
        flat : ndarray of shape (size,)
            Numbers of all tables, such as counts.
        how : callable, default=numpy.sum
            How columns are pooled: ``numpy.sum`` or ``numpy.mean``.

        Returns
        -------
        ndarray of shape (size,)
            The numbers; every class column of such a feature has the pooled ones.

        Examples
        --------
        >>> Layout(Structure(((),), (False,)), np.array([1]), 2).pool_columns(np.array([1.0, 2.0]))
        array([3., 3.])
        """
        pooled = flat.copy()
        for i, depends in enumerate(self.structure.class_children):
            if not depends:
                table = self.table(pooled, i)
                table[...] = how(table, axis=-1, keepdims=True)
        return pooled

    def row_totals(self, flat: np.ndarray) -> np.ndarray:
        """Return for every cell the sum over the values of its feature, by parents and class.

        Parameters
        ----------
        flat : ndarray of shape (size,)
            Numbers of all tables.

        Returns
        -------
        ndarray of shape (size,)
            The sums.

        Examples
        --------
        >>> Layout(Structure.naive(1), np.array([2]), 1).row_totals(np.array([1.0, 3.0]))
        array([4., 4.])
        """
        totals = np.empty(self.size)
        row_totals(flat, self.offsets, self.cards, self.n_classes, totals)
        return totals


def reduce_states(table: np.ndarray, states: np.ndarray, reduce: np.ufunc) -> np.ndarray:
    """Return a table whose own axis, that before the class, is by state.

    Parameters
    ----------
    table : ndarray of shape (..., card, n_classes)
        The table of one feature.
    states : ndarray of shape (card,)
        The state of each value; each state occurs.
    reduce : ufunc
        How the entries of values become that of a state: ``numpy.add``, for example.

    Returns
    -------
    ndarray of shape (..., n_states, n_classes)
        The table.

    Examples
    --------
    >>> reduce_states(np.array([[1], [2], [4]]), np.array([0, 1, 0]), np.add).tolist()
    [[5], [2]]
    """
    order = np.argsort(states, kind="stable")
    starts = np.searchsorted(states[order], np.arange(states.max() + 1))
    return np.asarray(reduce.reduceat(table.take(order, axis=-2), starts, axis=-2))


def _check_states(states: tuple[np.ndarray, ...], cards: np.ndarray) -> None:
    """Raise an error unless there is a state for each value, and each state occurs."""
    if len(states) != len(cards):
        raise ValueError(f"there are states of {len(states)} features, and {len(cards)} features")
    if _all_occur(states, cards):
        return
    for i, (state, card) in enumerate(zip(states, cards, strict=True)):
        found = np.unique(state)
        if state.shape != (card,) or not np.array_equal(found, np.arange(found.size)):
            raise ValueError(
                f"the states of feature {i} must be one number for each of its {card} values, from"
                f" 0 on without a gap, not {state!r}"
            )


def _all_occur(states: tuple[np.ndarray, ...], cards: np.ndarray) -> bool:
    """Return whether states are right, all features at once, which is quick."""
    sizes = np.array([state.size if state.ndim == 1 else 0 for state in states], np.int64)
    if not sizes.size or not sizes.all() or not np.array_equal(sizes, cards):
        return False
    found, start = np.concatenate(states), np.cumsum(sizes) - sizes
    if found.dtype.kind not in "iu" or found.min() < 0:
        return False
    n_states = np.maximum.reduceat(found, start) + 1
    if (n_states > sizes).any():
        return False
    first = np.cumsum(n_states) - n_states
    return bool(np.bincount(found + np.repeat(first, sizes), minlength=n_states.sum()).all())


@dataclass(frozen=True, eq=False)
class CPTs(WithArrays):
    """The parameters of a network: its conditional probability tables, normalized or not.

    Parameters
    ----------
    layout : Layout
        Where each cell is.
    log_prior : ndarray of shape (n_classes,)
        The table of the class, log P(c) where all tables are normalized.
    log_theta : ndarray of shape (layout.size,)
        All cells log P(x_i | parents, c).
    prior_offset : ndarray of shape (n_classes,), optional
        A discriminative prior is more than the class frequencies: what it has besides their
        logarithms. None for generative estimates.
    class_table : ClassTable, optional
        The table of a class that has parents, which is absorbed in the others
        (``discbayes.network.class_parents``). None if the class has no parents.

    Examples
    --------
    >>> layout = Layout(Structure.naive(1), np.array([2]), 2)
    >>> cpts = CPTs(layout, np.log([0.5, 0.5]), np.log([0.9, 0.2, 0.1, 0.8]))
    >>> cpts.is_normalized, cpts.n_parameters
    (True, 3)
    """

    layout: Layout
    log_prior: np.ndarray
    log_theta: np.ndarray
    prior_offset: np.ndarray | None = None
    class_table: ClassTable | None = None

    def __post_init__(self) -> None:
        if self.log_prior.shape != (self.layout.n_classes,) or self.log_theta.shape != (
            self.layout.size,
        ):
            raise ValueError(
                f"the tables have {self.log_prior.size} classes and {self.log_theta.size} cells"
                f" where the structure needs {self.layout.n_classes} and {self.layout.size}"
            )
        if not ((self.log_prior < np.inf).all() and (self.log_theta < np.inf).all()):
            raise ValueError("the tables contain NaN or infinite probabilities")
        offset = self.prior_offset
        if offset is not None and not (
            offset.shape == self.log_prior.shape and np.isfinite(offset).all()
        ):
            raise ValueError(
                f"the offset of the prior must be one finite number for each class, not {offset!r}"
            )

    @property
    def structure(self) -> Structure:
        """The structure that the tables belong to."""
        return self.layout.structure

    @property
    def cards(self) -> np.ndarray:
        """The number of values of each feature."""
        return self.layout.cards

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.layout.n_classes

    def learned_with(self, class_weight: np.ndarray) -> CPTs:
        """Return the tables with the offset of a prior that was learned discriminatively.

        Parameters
        ----------
        class_weight : ndarray of shape (n_classes,)
            Weight of the training rows of each class.

        Returns
        -------
        CPTs
            The tables; ``prior_offset`` is log prior − log share of each class.

        Examples
        --------
        >>> layout = Layout(Structure.naive(1), np.array([1]), 2)
        >>> cpts = CPTs(layout, np.log([0.5, 0.5]), np.zeros(2))
        >>> cpts.learned_with(np.array([3.0, 1.0])).prior_offset.round(2)
        array([-0.41,  0.69])
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            offset = self.log_prior - np.log(class_weight / class_weight.sum())
        return replace(self, prior_offset=np.where(np.isfinite(offset), offset, 0.0))

    def with_prior(self, log_prior: np.ndarray) -> CPTs:
        """Return the tables for other class frequencies: the odds change as the frequencies do.

        Parameters
        ----------
        log_prior : ndarray of shape (n_classes,)
            Logarithms of the new class probabilities.

        Returns
        -------
        CPTs
            The tables with the new prior.

        Examples
        --------
        >>> layout = Layout(Structure.naive(1), np.array([1]), 2)
        >>> cpts = CPTs(layout, np.log([0.5, 0.5]), np.zeros(2))
        >>> np.exp(cpts.with_prior(np.log([0.9, 0.1])).log_prior).round(2)
        array([0.9, 0.1])
        """
        if self.prior_offset is not None:
            log_prior = log_prior + self.prior_offset
            log_prior = log_prior - np.logaddexp.reduce(log_prior)
        return replace(self, log_prior=log_prior)

    def log_table(self, feature: int) -> np.ndarray:
        """Return the table of log θ of one feature, class innermost.

        Parameters
        ----------
        feature : int
            Position of the feature.

        Returns
        -------
        ndarray
            A view on ``log_theta``.

        Examples
        --------
        >>> layout = Layout(Structure.naive(1), np.array([1]), 2)
        >>> CPTs(layout, np.log([0.5, 0.5]), np.zeros(2)).log_table(0)
        array([[0., 0.]])
        """
        return self.layout.table(self.log_theta, feature)

    @cached_property
    def is_normalized(self) -> bool:
        """Whether every distribution sums to one, as those over unobserved leaves then do."""
        with np.errstate(over="ignore"):
            totals = self.layout.row_totals(np.exp(self.log_theta))
            prior = np.exp(self.log_prior).sum()
        return bool(
            abs(prior - 1) < NORMALIZED_TOLERANCE
            and (np.abs(totals - 1) < NORMALIZED_TOLERANCE).all()
        )

    @cached_property
    def by_state(self) -> CPTs:
        """The network of the states: P(state of x_i | states of the parents, c).

        Entries of the values of a state are summed up. It is all that a missing feature needs,
        since its children see states only. With one resolution it is the network itself.
        """
        layout = self.layout
        if layout.states is None:
            return self
        tables = [
            reduce_states(self.log_table(i), layout.states_of(i), np.logaddexp).ravel()
            for i in range(self.structure.n_features)
        ]
        found = CPTs(layout.by_state, self.log_prior, np.concatenate([*tables, np.zeros(0)]))
        # sums of sums may round to the other side of the tolerance
        vars(found)["is_normalized"] = self.is_normalized
        return found

    @cached_property
    def shifts(self) -> np.ndarray:
        """Logarithm by which each table is scaled down off the log scale; zero if normalized."""
        if self.is_normalized:
            return np.zeros(self.structure.n_features)
        tops = [self.log_table(i).max() for i in range(self.structure.n_features)]
        return np.where(np.isfinite(tops), tops, 0.0)

    @cached_property
    def _scaled(self) -> np.ndarray:
        """Log θ − shift."""
        return self.log_theta - np.repeat(self.shifts, np.diff(self.layout.offsets))

    @cached_property
    def theta(self) -> np.ndarray:
        """The tables exp(log θ − shift); ``smallest`` shows which of them lose entries."""
        return np.exp(self._scaled)

    @cached_property
    def smallest(self) -> np.ndarray:
        """The smallest positive entry of each table of ``theta``: how fast products can shrink.

        It is zero where the range of a table exceeds that of a double: its entries have to be read
        from ``log_theta``.
        """
        lost = np.isfinite(self.log_theta) & (self._scaled < MIN_LOG_THETA)
        positive = np.where(lost, 0.0, np.where(self.theta > 0, self.theta, 1.0))
        return (
            np.minimum.reduceat(positive, self.layout.offsets[:-1])
            if positive.size
            else np.empty(0)
        )

    @property
    def n_parameters(self) -> int:
        """The number of free parameters of a normalized network of this structure."""
        return sum(self._free(i) for i in range(self.structure.n_features)) + self.n_classes - 1

    def _free(self, feature: int) -> int:
        *parents, card, n_classes = self.layout.shapes[feature]
        rows = math.prod(parents) * (n_classes if self.structure.class_children[feature] else 1)
        return rows * (card - 1)
