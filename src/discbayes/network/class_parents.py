"""Networks in which the class has parents: P(c | parents) as a table of its own, and absorbed.

Inference, and all that is built on it, reads networks in which the class has no parents. A class
with parents becomes one of them: its table is multiplied into that of one of its parents, the host,
which gets the other parents of the class as parents of its own. The product of all tables stays as
it is, so that every answer is that of the network. The tables are no longer normalized, which is
nothing special to inference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discbayes._arrays import WithArrays
from discbayes.network.cpts import NORMALIZED_TOLERANCE, CPTs, Layout
from discbayes.network.structure import Structure


@dataclass(frozen=True, eq=False)
class ClassTable(WithArrays):
    """The table of a class that has parents, and the tables of the features.

    Parameters
    ----------
    parents : tuple of int
        The parents of the class, by position.
    log_table : ndarray of shape (n_states of the parents ..., n_classes)
        log P(c | parents).
    features : CPTs
        The tables of the features, before that of the class was absorbed. Its prior is not used.
    """

    parents: tuple[int, ...]
    log_table: np.ndarray
    features: CPTs

    def __post_init__(self) -> None:
        shape = (*self.features.layout.n_states[list(self.parents)], self.features.n_classes)
        if not self.parents or self.log_table.shape != shape:
            raise ValueError(
                f"the table of the class has the shape {self.log_table.shape}, where its parents"
                f" need {shape}"
            )

    @property
    def is_normalized(self) -> bool:
        """Whether each distribution of the class and of the features sums to one."""
        with np.errstate(over="ignore"):
            of_class = np.exp(self.log_table).sum(axis=-1)
            totals = self.features.layout.row_totals(np.exp(self.features.log_theta))
        return all((abs(sums - 1) < NORMALIZED_TOLERANCE).all() for sums in (of_class, totals))


def absorb_class(features: CPTs, parents: Sequence[int], log_table: np.ndarray) -> CPTs:
    """Return a network of the same distribution in which the class has no parents.

    Parameters
    ----------
    features : CPTs
        The tables of the features; the prior is not used.
    parents : sequence of int
        The parents of the class, by position: at least one.
    log_table : ndarray of shape (n_states of the parents ..., n_classes)
        log P(c | parents).

    Returns
    -------
    CPTs
        The tables, with all tables as they were given in ``class_table``.

    Examples
    --------
    >>> layout = Layout(Structure(((),), (False,)), np.array([2]), 2)
    >>> features = CPTs(layout, np.zeros(2), np.log([0.9, 0.9, 0.1, 0.1]))
    >>> cpts = absorb_class(features, (0,), np.log([[0.5, 0.5], [0.8, 0.2]]))
    >>> np.exp(cpts.log_table(0)).round(2).tolist()
    [[0.45, 0.45], [0.08, 0.02]]
    """
    own = ClassTable(tuple(parents), log_table, features)
    structure, layout = features.structure, features.layout
    host, added = _host(structure, own.parents)
    group = structure.parents[host]
    wider = Structure(
        (*structure.parents[:host], (*group, *added), *structure.parents[host + 1 :]),
        tuple(flag or i == host for i, flag in enumerate(structure.class_children)),
    )
    absorbed = Layout(wider, layout.cards, layout.n_classes, layout.states)
    table = features.log_table(host)
    table = table.reshape(*table.shape[:-2], *(1,) * len(added), *table.shape[-2:])
    table = table + _aligned(own, host, (*group, *added))
    tables = [features.log_table(i).ravel() for i in range(structure.n_features)]
    tables[host] = table.ravel()
    prior = np.zeros(layout.n_classes)
    return CPTs(absorbed, prior, np.concatenate(tables), class_table=own)


def absorbed_cells(layout: Layout, parents: Sequence[int]) -> int:
    """Return the number of cells of the table that a table of the class is absorbed in.

    Parameters
    ----------
    layout : Layout
        The layout of the tables of the features.
    parents : sequence of int
        The parents of the class, by position: at least one.
    """
    host, added = _host(layout.structure, parents)
    return math.prod(layout.shapes[host]) * math.prod(layout.n_states[list(added)].tolist())


def _host(structure: Structure, parents: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Return the parent whose table absorbs that of the class, and the parents that it gets."""
    host = max(parents, key=structure.order.index)
    # earlier in the order than the host, so that no cycle is closed
    return host, tuple(p for p in parents if p != host and p not in structure.parents[host])


def _aligned(own: ClassTable, host: int, group: Sequence[int]) -> np.ndarray:
    """Return the table of the class with the axes of that of the host."""
    axes = [p for p in (*group, host) if p in own.parents]
    table = own.log_table.transpose([*map(own.parents.index, axes), len(axes)])
    # the host has its values on its own axis, of which the class sees the states
    table = table.take(own.features.layout.states_of(host), axis=-2)
    sizes = iter(table.shape)
    shape = [next(sizes) if p in own.parents else 1 for p in (*group, host)]
    return table.reshape(*shape, table.shape[-1])
