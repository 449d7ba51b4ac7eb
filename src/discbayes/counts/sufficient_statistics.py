"""Sufficient statistics of a network: all counts that a learner needs, in place of the rows.

Statistics of different rows add up, and without weights they are exact in any order. So a model
that is learned from them is the same however the rows were divided.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from discbayes.counts.contingency import Counts, FamilyCounts, count, count_families
from discbayes.counts.pairs import PairCounts, count_pairs
from discbayes.data.domain import Domain
from discbayes.data.growing_domain import difference, moved_codes
from discbayes.data.rows import Rows
from discbayes.network import Layout, Structure, reduce_states

MAX_CELLS = 100_000_000  # of all counts together: 800 MB


@dataclass(frozen=True, eq=False)
class SufficientStatistics(Rows):
    """Counts of the class, of each feature, and of all pairs or the families of a structure.

    Parameters
    ----------
    domain : Domain
        The domain of the rows.
    rows : ndarray
        The number of rows of each class, without weights.
    counts : Counts
        Counts of the class and of each feature with it.
    pairs : PairCounts or None
        Counts of pairs, for searches that score single edges.
    families : FamilyCounts or None
        Counts of the families of a known structure.
    weighted : bool
        Whether rows had weights: then counts need not be whole.
    fixed_classes : bool
        Whether there are no other classes than these.
    """

    domain: Domain
    rows: np.ndarray
    counts: Counts
    pairs: PairCounts | None = None
    families: FamilyCounts | None = None
    weighted: bool = False
    fixed_classes: bool = False

    @classmethod
    def of_pairs(cls, data: Rows, n_jobs: int | None = None) -> SufficientStatistics:
        """Count every pair of features."""
        _refuse_too_many(pair_cells(data.domain), data.domain)
        features = cls.of_features(data, n_jobs)
        return replace(features, pairs=count_pairs(data, features.counts, n_jobs))

    @classmethod
    def of_families(
        cls, data: Rows, structure: Structure, n_jobs: int | None = None
    ) -> SufficientStatistics:
        """Count the families of a structure."""
        layout = Layout.of(structure, data)
        _refuse_too_many(layout.size, data.domain)
        features = cls.of_features(data, n_jobs)
        return replace(features, families=count_families(data, layout, features.counts, n_jobs))

    @classmethod
    def of_features(cls, data: Rows, n_jobs: int | None = None) -> SufficientStatistics:
        """Count the features alone."""
        return cls(data.domain, data.class_rows, count(data, n_jobs), weighted=data.weighted)

    def with_rows(self, data: Rows, n_jobs: int | None = None) -> SufficientStatistics:
        """Add the counts of more rows, whose domain may have grown."""
        if self.pairs is not None:
            new = self.of_pairs(data, n_jobs)
        elif self.families is not None:
            new = self.of_families(data, self.families.layout.structure, n_jobs)
        else:
            new = self.of_features(data, n_jobs)
        return self.grown(data.domain) + replace(new, fixed_classes=self.fixed_classes)

    # ---- as learners see data

    @property
    def n_samples(self) -> int:
        """The number of rows that were counted."""
        return int(self.rows.sum())

    @property
    def class_rows(self) -> np.ndarray:
        """The number of rows of each class, without weights."""
        return self.rows

    @property
    def statistics(self) -> SufficientStatistics:
        """These counts: they are there in place of the rows."""
        return self

    def _refuse(self, *arguments: Any, **options: Any) -> Any:
        raise ValueError("the rows were counted and are not kept: learn from the rows themselves")

    n_missing = n_blocks = fits_in_memory = property(_refuse)
    blocks = in_memory = map_reduce = keep = _refuse
    changed = without_zero_weights = without_fold = _refuse

    def families_of(self, layout: Layout) -> FamilyCounts:
        """Return the counts of the families of a structure, stored or from pairs."""
        if self.families is not None and self.families.layout.structure == layout.structure:
            return self.families
        cells = np.empty(layout.size)
        for i, group in enumerate(layout.structure.parents):
            table = self._family(i, group)
            if group and layout.states is not None:  # pairs are by value, and a parent by state
                table = table.reshape(len(table), -1)
                table = reduce_states(table, layout.states_of(group[0]), np.add)
            layout.table(cells, i)[...] = table.reshape(layout.shapes[i])
        return FamilyCounts(layout, self.counts.class_count, cells)

    def _family(self, child: int, parents: tuple[int, ...]) -> np.ndarray:
        if not parents:
            return self.counts.feature(child)
        if self.pairs is None or len(parents) > 1:
            names = self.domain.names
            raise ValueError(
                f"there are no counts of {names[child]!r} with"
                f" {', '.join(repr(names[p]) for p in parents)}: the structure was another one when"
                " the rows were counted, so begin with a new classifier"
            )
        return self.pairs.table(parents[0], child)

    def all_pairs(self) -> PairCounts:
        """Return the counts of all pairs of features; an error if they were not counted."""
        if self.pairs is None:
            raise ValueError(
                "there are no counts of pairs of columns: the structure was another one when the"
                " rows were counted, so begin with a new classifier"
            )
        return self.pairs

    @cached_property
    def coarse(self) -> SufficientStatistics:
        """The counts of states: these if all columns have one resolution."""
        states = self.domain.states
        if states is None:
            return self
        domain, n_classes = self.domain.coarse, self.n_classes
        counts = self.counts.by_state(states)
        pairs = families = None
        if self.pairs is not None:
            tables = [
                _of_states(self.pairs.table(a, b), states[a], states[b])
                for a, b in combinations(range(len(states)), 2)
            ]
            pairs = PairCounts(domain.cards, n_classes, _in_one(tables))
        if self.families is not None:
            # parents are counted by state already
            tables = [
                reduce_states(self.families.table(i), at, np.add) for i, at in enumerate(states)
            ]
            layout = Layout(self.families.layout.structure, domain.cards, n_classes)
            families = FamilyCounts(layout, self.families.class_count, _in_one(tables))
        return replace(self, domain=domain, counts=counts, pairs=pairs, families=families)

    # ---- adding, growing, weighing

    def __add__(self, other: SufficientStatistics) -> SufficientStatistics:
        differs = difference(self.domain, other.domain)
        if differs:
            raise ValueError(f"the domains differ, so that counts cannot be added: {differs}")
        if (self.pairs is None, self.families is None) != (
            other.pairs is None,
            other.families is None,
        ):
            raise ValueError(
                f"these counts cannot be added: they are of {self._kind} here and of {other._kind}"
                " there"
            )
        return SufficientStatistics(
            self.domain,
            self.rows + other.rows,
            self.counts + other.counts,
            None if self.pairs is None or other.pairs is None else self.pairs + other.pairs,
            (
                None
                if self.families is None or other.families is None
                else self.families + other.families
            ),
            self.weighted or other.weighted,
            self.fixed_classes and other.fixed_classes,
        )

    @property
    def _kind(self) -> str:
        if self.pairs is not None:
            return "all pairs of columns"
        return "single columns" if self.families is None else "the families of a given structure"

    def grown(self, domain: Domain) -> SufficientStatistics:
        """Return the counts in a domain that has all values of this one, and maybe more."""
        if difference(self.domain, domain) is None:
            return self
        moves = [
            moved_codes(old, new)
            for old, new in zip(self.domain.features, domain.features, strict=True)
        ]
        classes = moved_codes(self.domain.target, domain.target)
        return replace(
            self,
            domain=domain,
            rows=_spread(self.rows, [classes], (domain.n_classes,)),
            counts=_grown_counts(self.counts, domain, moves, classes),
            pairs=None if self.pairs is None else _grown_pairs(self.pairs, domain, moves, classes),
            families=(
                None
                if self.families is None
                else _grown_families(self.families, domain, moves, classes)
            ),
        )

    def with_class_weights(self, by_class: np.ndarray) -> SufficientStatistics:
        """Return the counts with each weight multiplied by the weight of its class."""
        counts = self.counts
        pairs = self.pairs
        families = self.families
        class_count = counts.class_count * by_class
        return replace(
            self,
            counts=Counts(counts.cards, class_count, _times(counts.cells, by_class)),
            pairs=None if pairs is None else replace(pairs, cells=_times(pairs.cells, by_class)),
            families=(
                None
                if families is None
                else FamilyCounts(families.layout, class_count, _times(families.cells, by_class))
            ),
            weighted=True,
        )


def _of_states(table: np.ndarray, states_a: np.ndarray, states_b: np.ndarray) -> np.ndarray:
    """Return a pair table by state."""
    by_b = reduce_states(table, states_b, np.add)
    return reduce_states(by_b.swapaxes(0, 1), states_a, np.add).swapaxes(0, 1)


def _in_one(tables: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([table.ravel() for table in tables]) if tables else np.zeros(0)


def _times(cells: np.ndarray, by_class: np.ndarray) -> np.ndarray:
    """Multiply cells, class innermost, by a number for each class."""
    return (cells.reshape(-1, by_class.size) * by_class).ravel()


def _spread(table: np.ndarray, moves: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """Copy a table into a larger one, with new positions along each axis."""
    larger = np.zeros(shape, table.dtype)
    larger[np.ix_(*moves)] = table
    return larger


def _grown_counts(
    counts: Counts, domain: Domain, moves: list[np.ndarray], classes: np.ndarray
) -> Counts:
    n_classes = domain.n_classes
    parts = [
        _spread(counts.feature(i), [move, classes], (variable.card, n_classes)).ravel()
        for i, (variable, move) in enumerate(zip(domain.features, moves, strict=True))
    ]
    return Counts(
        domain.cards, _spread(counts.class_count, [classes], (n_classes,)), np.concatenate(parts)
    )


def _grown_pairs(
    pairs: PairCounts, domain: Domain, moves: list[np.ndarray], classes: np.ndarray
) -> PairCounts:
    cards, n_classes = domain.cards, domain.n_classes
    _refuse_too_many(pair_cells(domain), domain)
    larger = PairCounts(cards, n_classes, np.zeros(pair_cells(domain)))
    for a, b in combinations(range(cards.size), 2):
        larger.table(a, b)[np.ix_(moves[a], moves[b], classes)] = pairs.table(a, b)
    return larger


def _grown_families(
    families: FamilyCounts, domain: Domain, moves: list[np.ndarray], classes: np.ndarray
) -> FamilyCounts:
    layout = Layout(families.layout.structure, domain.cards, domain.n_classes, domain.states)
    _refuse_too_many(layout.size, domain)
    cells = np.zeros(layout.size)
    # where the states that children see move to: any of the values of a state will do
    above = [
        layout.states_of(p)[move[np.unique(families.layout.states_of(p), return_index=True)[1]]]
        for p, move in enumerate(moves)
    ]
    for i, group in enumerate(layout.structure.parents):
        layout.table(cells, i)[np.ix_(*(above[p] for p in group), moves[i], classes)] = (
            families.table(i)
        )
    return FamilyCounts(
        layout, _spread(families.class_count, [classes], (domain.n_classes,)), cells
    )


def pair_cells(domain: Domain) -> int:
    """Return the number of cells of all pairs."""
    cards = domain.cards.tolist()
    return (sum(cards) ** 2 - sum(card**2 for card in cards)) // 2 * domain.n_classes


def _refuse_too_many(n_cells: int, domain: Domain) -> None:
    if n_cells <= MAX_CELLS:
        return
    widest = sorted(domain.features, key=lambda variable: -variable.card)[:3]
    listed = ", ".join(f"{variable.name!r} ({variable.card:,})" for variable in widest)
    raise ValueError(
        f"the counts to keep would have {n_cells:,} cells, above the limit of {MAX_CELLS:,}; the"
        f" widest columns are {listed}: group their values, leave columns out, or use 'nb', which"
        " counts no pairs"
    )
