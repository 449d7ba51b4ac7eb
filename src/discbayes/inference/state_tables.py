"""Tables of a network as elimination takes them (``kernels.network_arrays.StateTables``).

The array of the tables ends in workspace for several threads, since a kernel reads all factors,
tables or messages, from one array. A thread takes one part of it and gives it back.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from threading import Lock
from typing import NamedTuple

import numpy as np

from discbayes._arrays import starts_of
from discbayes.kernels._vectors import SIZE
from discbayes.kernels.network_arrays import StateTables
from discbayes.kernels.row_factors import RowScratch, make_scratch
from discbayes.network import CPTs, reduce_states

WORKSPACE = 1 << 22  # numbers, 32 MB, for each thread; no page of it is used before it is needed


class EliminationPart(NamedTuple):
    """The array of tables and workspace, where the part of one thread is, and its scratch."""

    numbers: np.ndarray
    begin: int
    end: int
    scratch: RowScratch


class SharedNumbers:
    """The numbers of one or more sets of tables, and workspace behind them.

    Parameters
    ----------
    numbers : ndarray
        The numbers of all tables.
    n_features : int
        The number of features of a row.
    width : int
        The largest width of a class axis.
    """

    def __init__(self, numbers: np.ndarray, n_features: int, width: int):
        self._numbers = numbers
        self._n_features = n_features
        self._width = width
        self._free: SimpleQueue[EliminationPart] = SimpleQueue()
        self._n_parts = 0
        self._lock = Lock()

    def add_parts(self, n_parts: int) -> None:
        """Make workspace for so many threads, unless there is enough."""
        # a model file may ask for any number of threads; those beyond the cores wait for a part
        n_parts = min(n_parts, os.cpu_count() or 1)
        with self._lock:
            if n_parts <= self._n_parts:
                return
            size = self._numbers.size
            larger = np.empty(size + n_parts * WORKSPACE)
            larger[:size] = self._numbers
            free: SimpleQueue[EliminationPart] = SimpleQueue()
            for part in range(n_parts):
                begin = size + part * WORKSPACE
                scratch = make_scratch(self._n_features, self._width)
                free.put(EliminationPart(larger, begin, begin + WORKSPACE, scratch))
            self._numbers, self._free = larger[:size], free
            self._n_parts = n_parts

    @contextmanager
    def workspace(self) -> Iterator[EliminationPart]:
        """Take a part of the workspace as long as the context lasts."""
        free = self._free
        part = free.get()
        try:
            yield part
        finally:
            free.put(part)


@dataclass(frozen=True)
class Tables:
    """State tables of some classes of a network, and the array that their numbers are in."""

    arrays: StateTables
    classes: np.ndarray
    shared: SharedNumbers


def base_states(cpts: CPTs) -> list[np.ndarray]:
    """Return the state of every value, which is the only one of a feature without children."""
    return [
        cpts.layout.states_of(i) if children else np.zeros(cpts.cards[i], np.int64)
        for i, children in enumerate(cpts.structure.children)
    ]


def make_tables(
    cpts: CPTs,
    groups: Sequence[tuple[Sequence[np.ndarray], np.ndarray]],
    reduce: np.ufunc = np.add,
    on_logs: bool = False,
) -> list[Tables]:
    """Return tables for groups of classes, each with the states of the values of every feature.

    ``reduce`` gives the entry of a state of a missing feature from those of its values: their sum,
    or the largest; ``on_logs`` is for tables of logarithms.
    """
    parts: list[np.ndarray] = []
    arrays = [
        _add_group(cpts, states, classes, reduce, on_logs, parts) for states, classes in groups
    ]
    width = max(group.width for group in arrays)
    shared = SharedNumbers(np.concatenate([*parts, np.zeros(0)]), cpts.cards.size, width)
    return [
        Tables(group, classes, shared) for group, (_, classes) in zip(arrays, groups, strict=True)
    ]


def _add_group(
    cpts: CPTs,
    states: Sequence[np.ndarray],
    classes: np.ndarray,
    reduce: np.ufunc,
    on_logs: bool,
    parts: list[np.ndarray],
) -> StateTables:
    """Append the tables of some classes to ``parts``, and return where they are."""
    structure = cpts.structure
    width = classes.size if classes.size <= 2 else -(-classes.size // SIZE) * SIZE
    n_states = np.array([int(state.max()) + 1 for state in states], np.int64)
    begins: dict[str, list[int]] = {"observed": [], "missing": []}
    strides: dict[str, list[int]] = {"observed": [], "missing": []}
    at = sum(part.size for part in parts)
    for i, parents in enumerate(structure.parents):
        table = cpts.layout.table(cpts.log_theta if on_logs else cpts.theta, i)
        for axis, p in enumerate(parents):
            if not np.array_equal(states[p], cpts.layout.states_of(p)):
                # of the values of a state any will do
                values = np.unique(states[p], return_index=True)[1]
                table = table.take(cpts.layout.states_of(p)[values], axis=axis)
        observed = np.full((*table.shape[:-1], width), -np.inf if on_logs else 0.0)
        observed[..., : classes.size] = table[..., classes]
        found = {"observed": observed}
        if not np.array_equal(states[i], np.arange(states[i].size)):
            found["missing"] = reduce_states(observed, states[i], reduce)
        for kind in ("observed", "missing"):
            if kind in found:
                begins[kind].append(at)
                parts.append(found[kind].ravel())
                at += parts[-1].size
            else:  # both tables are one
                begins[kind].append(begins["observed"][i])
            shape = found.get(kind, observed).shape
            strides[kind] += [int(np.prod(shape[k + 1 :])) for k in range(len(parents))]
    return StateTables(
        np.array(structure.order, np.int64),
        cpts.cards.astype(np.int64),
        n_states,
        starts_of([state.size for state in states]),
        np.concatenate([*states, np.zeros(0, np.int64)]).astype(np.int64),
        starts_of([len(group) for group in structure.parents]),
        np.array([p for group in structure.parents for p in group], np.int64),
        starts_of([len(group) for group in structure.children]),
        np.array([j for group in structure.children for j in group], np.int64),
        np.array(begins["observed"], np.int64),
        np.array(strides["observed"], np.int64),
        np.array(begins["missing"], np.int64),
        np.array(strides["missing"], np.int64),
        cpts.smallest,
        np.zeros(cpts.cards.size) if on_logs else cpts.shifts,
        classes.size,
        width,
        on_logs,
        cpts.is_normalized,
    )
