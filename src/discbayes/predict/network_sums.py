"""The log-joint of coded rows by numpy alone: cells of tables, and variable elimination.

The families of a row without a missing value add one cell each. Of the others, those that share
missing columns belong together: such a component is the same in many rows, and its missing columns
are eliminated one by one in all of these rows at once. All sums are of logarithms, so that tables
of any range, and zero probabilities, are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush

import numpy as np

from discbayes._text import listed
from discbayes.data.domain import Domain
from discbayes.network.structure import Structure

MAX_ROW_CELLS = 1 << 27  # that a row may take, with those of the classes: some seconds
MAX_FACTOR_CELLS = 1 << 24  # of one factor of a row
_CHUNK_CELLS = 1 << 18  # of a factor of several rows, which fits in a cache
_SUMS_TO_ONE = 1e-12

Axes = tuple[int, ...]


@dataclass(frozen=True)
class _Component:
    """Missing features that families join, and these families."""

    features: Axes
    families: Axes


@dataclass(frozen=True)
class _Elimination:
    """One step: the factors that hold a feature, the axes of their product, and its own axis."""

    factors: tuple[int, ...]
    axes: Axes
    place: int


class NetworkSums:
    """The tables of a network, as log-joints need them.

    Parameters
    ----------
    domain : Domain
        The columns and the classes.
    structure : Structure
        The parents of each column.
    log_prior : ndarray of shape (n_classes,)
        The table of the class.
    tables : sequence of ndarray of shape (n_states of the parents ..., card, n_classes)
        The logarithms of the tables.
    """

    def __init__(
        self,
        domain: Domain,
        structure: Structure,
        log_prior: np.ndarray,
        tables: Sequence[np.ndarray],
    ):
        self.domain = domain
        self.log_prior = log_prior
        self.cards = domain.cards
        self.structure = structure
        coarse = domain.coarse.cards
        self._n_states = coarse.tolist()
        self._states = domain.states
        # a parent with one state tells nothing, and would be an axis
        self.parents = [tuple(p for p in g if coarse[p] > 1) for g in structure.parents]
        self.tables = [
            table.reshape(*(self._n_states[p] for p in group), *table.shape[-2:])
            for table, group in zip(tables, self.parents, strict=True)
        ]
        self.children: list[list[int]] = [[] for _ in self.parents]
        for child, group in enumerate(self.parents):
            for parent in group:
                self.children[parent].append(child)
        self._rank = np.argsort(np.array(structure.order, dtype=np.int64))

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.log_prior.size

    @cached_property
    def _is_normalized(self) -> list[bool]:
        """Whether the distributions of each table sum to one."""
        with np.errstate(over="ignore"):
            return [
                bool((np.abs(np.exp(table).sum(axis=-2) - 1) < _SUMS_TO_ONE).all())
                for table in self.tables
            ]

    @cached_property
    def _by_state(self) -> list[np.ndarray]:
        """The tables with their own axis by state, which is all that children see."""
        return [self._table_by_state(table, i) for i, table in enumerate(self.tables)]

    def _table_by_state(self, table: np.ndarray, i: int) -> np.ndarray:
        if self._states is None or self._n_states[i] == table.shape[-2]:
            return table
        states = self._states[i]
        groups = [log_sum(table[..., states == state, :], -2) for state in range(self._n_states[i])]
        return np.stack(groups, axis=-2)

    @cached_property
    def _plans(self) -> dict[_Component, list[_Elimination]]:
        return {}

    def with_likelihoods(self, likelihoods: Mapping[int, np.ndarray]) -> NetworkSums:
        """Return the network with the likelihoods of the values of some columns multiplied in."""
        found = copy(self)  # which shares all that is known of the other tables
        found.tables = list(self.tables)
        is_normalized = list(self._is_normalized)
        by_state = list(self._by_state)
        for i, likelihood in likelihoods.items():
            with np.errstate(divide="ignore"):
                found.tables[i] = self.tables[i] + np.log(likelihood)[:, None]
            is_normalized[i] = False
            by_state[i] = self._table_by_state(found.tables[i], i)
        vars(found).update(_is_normalized=is_normalized, _by_state=by_state, _plans=self._plans)
        return found

    def with_prior(self, log_prior: np.ndarray) -> NetworkSums:
        """Return the network with another table of the class."""
        found = copy(self)
        found.log_prior = log_prior
        return found

    def log_joint(self, codes: np.ndarray) -> np.ndarray:
        """Return log P(c, observed values) of rows.

        Parameters
        ----------
        codes : ndarray of shape (n_features, n_samples)
            The codes; the number of values of a column stands for a missing value.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The log-joint.
        """
        # of one value there is nothing to sum up
        codes = np.where(self.cards[:, None] == 1, 0, codes).astype(np.int64)
        missing = codes >= self.cards[:, None]
        states = self._states_of(codes, missing)
        out = np.tile(self.log_prior, (codes.shape[1], 1))
        for i, group in enumerate(self.parents):
            known = ~(missing[i] | missing[list(group)].any(axis=0))
            rows = np.flatnonzero(known)
            if rows.size:
                out[rows] += self._cells(i, codes, states, rows)
        for component, rows in self._components(missing):
            self._add_sums(component, codes, states, rows, out)
        return out

    def _states_of(self, codes: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """Return what the children see of the values that are there."""
        if self._states is None:
            return codes
        seen = np.zeros_like(codes)
        for i, states in enumerate(self._states):
            seen[i] = np.where(missing[i], 0, states[np.where(missing[i], 0, codes[i])])
        return seen

    def _cells(self, i: int, codes: np.ndarray, states: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the cells of a family that is observed, of some rows."""
        place = np.zeros(rows.size, dtype=np.int64)
        for parent in self.parents[i]:
            place = place * self._n_states[parent] + states[parent, rows]
        place = place * int(self.cards[i]) + codes[i, rows]
        return self.tables[i].reshape(-1, self.n_classes)[place]

    # ---- missing values

    def _components(self, missing: np.ndarray) -> Iterator[tuple[_Component, np.ndarray]]:
        """Yield the components of missing values, each with its rows."""
        incomplete = np.flatnonzero(missing.any(axis=0))
        if not incomplete.size:
            return
        packed = np.packbits(missing[:, incomplete], axis=0).T
        _, first, inverse = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(inverse.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(inverse.ravel(), minlength=first.size))
        found: dict[_Component, list[np.ndarray]] = {}
        for number, end in enumerate(ends.tolist()):
            start = ends[number - 1] if number else 0
            rows = incomplete[order[start:end]]
            for component in self._split(np.flatnonzero(missing[:, rows[0]]).tolist()):
                found.setdefault(component, []).append(rows)
        for component, parts in found.items():
            yield component, np.concatenate(parts)

    def _split(self, missing: list[int]) -> list[_Component]:
        """Return the components of missing features, without those that sum to one."""
        left = set(missing)
        barren: set[int] = set()
        for i in sorted(missing, key=lambda i: -int(self._rank[i])):
            if self._is_normalized[i] and barren.issuperset(self.children[i]):
                barren.add(i)
        left -= barren
        found = []
        while left:
            features: set[int] = set()
            families: set[int] = set()
            reached = [min(left)]
            left.discard(reached[0])
            while reached:
                i = reached.pop()
                features.add(i)
                for family in (i, *self.children[i]):
                    if family in barren or family in families:
                        continue
                    families.add(family)
                    more = [j for j in (family, *self.parents[family]) if j in left]
                    left.difference_update(more)
                    reached += more
            found.append(_Component(tuple(sorted(features)), tuple(sorted(families))))
        return found

    def _add_sums(
        self,
        component: _Component,
        codes: np.ndarray,
        states: np.ndarray,
        rows: np.ndarray,
        out: np.ndarray,
    ) -> None:
        """Add the families of a component, with its features marginalized, to some rows."""
        steps = self._plan(component)
        largest = max(self._size(step.axes) for step in steps)
        chunk = max(1, _CHUNK_CELLS // largest)
        for start in range(0, rows.size, chunk):
            here = rows[start : start + chunk]
            factors = [self._factor(i, component, codes, states, here) for i in component.families]
            axes = [self._missing_axes(i, component.features) for i in component.families]
            for step in steps:
                product = sum(_spread(factors[k], axes[k], step.axes) for k in step.factors)
                assert isinstance(product, np.ndarray)
                factors.append(log_sum(product, 1 + step.place))
                axes.append(step.axes[: step.place] + step.axes[step.place + 1 :])
            used = {k for step in steps for k in step.factors}
            for k, factor in enumerate(factors):
                if k not in used:  # no axis is left
                    out[here] += factor

    def _missing_axes(self, family: int, features: Axes) -> Axes:
        missing = set(features)
        return tuple(sorted(i for i in (*self.parents[family], family) if i in missing))

    def _factor(
        self,
        i: int,
        component: _Component,
        codes: np.ndarray,
        states: np.ndarray,
        rows: np.ndarray,
    ) -> np.ndarray:
        """Return the table of a family for the observed values of rows.

        Its axes are the rows (one, if no value is observed), the missing features, the classes.
        """
        group = (*self.parents[i], i)
        axes = self._missing_axes(i, component.features)
        table = self._by_state[i] if i in axes else self.tables[i]
        observed = [place for place, feature in enumerate(group) if feature not in axes]
        table = table.transpose(*observed, *map(group.index, axes), len(group))
        if not observed:
            return table[None]
        places = [codes[i, rows] if group[k] == i else states[group[k], rows] for k in observed]
        return table[tuple(places)]

    def _size(self, axes: Axes) -> int:
        return math.prod(self._n_states[i] for i in axes) * self.n_classes

    def _plan(self, component: _Component) -> list[_Elimination]:
        """Return the steps of a component: the feature of the smallest product comes first."""
        if component not in self._plans:
            self._plans[component] = self._made_plan(component)
        return self._plans[component]

    def _made_plan(self, component: _Component) -> list[_Elimination]:
        axes = [self._missing_axes(i, component.features) for i in component.families]
        holding: dict[int, set[int]] = {i: set() for i in component.features}
        for k, group in enumerate(axes):
            for i in group:
                holding[i].add(k)

        def product(i: int) -> Axes:
            return tuple(sorted({j for k in holding[i] for j in axes[k]}))

        sizes = {i: self._size(product(i)) for i in component.features}
        queue = [(size, i) for i, size in sizes.items()]
        heapify(queue)
        steps = []
        total = 0
        while queue:
            size, i = heappop(queue)
            if sizes.get(i) != size:
                continue  # it has changed, and stands elsewhere in the queue
            total += size
            if size > MAX_FACTOR_CELLS or total > MAX_ROW_CELLS:
                self._refuse(component)
            group = product(i)
            factors = tuple(sorted(holding[i]))
            steps.append(_Elimination(factors, group, group.index(i)))
            del sizes[i]
            axes.append(tuple(j for j in group if j != i))
            for j in axes[-1]:
                holding[j] = holding[j].difference(factors) | {len(axes) - 1}
                sizes[j] = self._size(product(j))
                heappush(queue, (sizes[j], j))
        return steps

    def _refuse(self, component: _Component) -> None:
        names = [self.domain.features[i].name for i in component.features]
        raise ValueError(
            f"marginalizing the missing values of {len(names)} columns ({listed(names, 12, str)})"
            f" exactly takes more than {MAX_ROW_CELLS:,} cells, or one factor of more than"
            f" {MAX_FACTOR_CELLS:,}: discbayes.predict does not estimate such rows; predict them"
            " with discbayes.load, or fill in some of these columns"
        )


def log_sum(logs: np.ndarray, axis: int) -> np.ndarray:
    """Return the logarithm of the sum of exponentials along an axis; that of nothing is −∞.

    >>> log_sum(np.array([[-1.0, -1.0], [-np.inf, -np.inf]]), 1).round(3)
    array([-0.307,   -inf])
    """
    top = logs.max(axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(logs - top).sum(axis=axis)) + top.squeeze(axis))


def _spread(factor: np.ndarray, axes: Axes, product: Axes) -> np.ndarray:
    """Return a factor with the axes of a product, which has its axes and others."""
    sizes = iter(factor.shape[1:-1])
    shape = [next(sizes) if axis in axes else 1 for axis in product]
    return factor.reshape(factor.shape[0], *shape, factor.shape[-1])
