"""Hierarchical smoothing: each table backs off to the same table with one parent fewer.

With the parents p₁ … p_k of a feature in their order, level l is its distribution given the class
and the first l parents. A level is smoothed towards the one below it::

    p_l(x | u, c) = (n(x, u, c) + m_l·p_(l−1)(x | u', c)) / (n(u, c) + m_l)

where u are the values of the first l parents, and u' those of the first l − 1.

Below level 0 is P(x), whatever the class. The strength m of each feature and level is the one of
largest leave-one-out likelihood, which counts give in closed form: the counts of a row are those
without itself. It is the empirical Bayes form of hierarchical Dirichlet smoothing (Petitjean et al.
2018). Counts of a numeric feature are spread over neighboring intervals when they are read,
and those of an ordered one over neighboring values. In the same way the counts of numeric and
ordered parents' values count, with less weight, for their neighbors: n(x, u, c) is the sum of
weight(v, u)·n(x, v, c) over all v, where the weight of u itself is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from sklearn.base import BaseEstimator

from discbayes._arrays import starts_of
from discbayes.counts import Counts, FamilyCounts, count_families
from discbayes.data.domain import Domain, Variable
from discbayes.data.rows import Rows
from discbayes.engine import Context, parallel_map
from discbayes.kernels.backoff_levels import LevelCounts, smooth_levels
from discbayes.kernels.entries import padded_width
from discbayes.kernels.level_tables import FreeStates, LevelArrays, OwnArrays
from discbayes.network import CPTs, Layout, Structure
from discbayes.parameters.block_scores import OwnCells
from discbayes.parameters.configurations import Configurations

STRENGTHS = (3.0, 10.0, 30.0, 100.0, 300.0)
BANDWIDTH = 1.5  # intervals, if there are as many as USUAL_INTERVALS
PARENT_BANDWIDTH = 0.4  # coarse intervals, or values of an ordered parent
USUAL_INTERVALS = 32
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class BackoffLevels:
    """The levels of all features: what tables are made of, and what leaving a row out changes.

    Parameters
    ----------
    layout : Layout
        Where the cells of the tables are.
    log_prior : ndarray of shape (n_classes,)
        The logarithms of the class shares, smoothed.
    flat : ndarray
        The numbers of all levels, one after the other, the classes of each cell padded by zeros.
    n_lines : list of ndarray
        For each feature the number of lines of each level.
    left_out : list of ndarray
        For each feature what is added to the values in the class of a row if the row is left out of
        the counts: an array ``(cells, levels)``.
    own : list of ndarray
        For each feature these cells, in which there are rows of their class, as positions in its
        table. A feature that does not depend on the class has none.
    strengths : list of list of float
        The strength m of each feature and level.
    observed : Configurations
        The cells that occur in any class.
    usual : ndarray of int
        The most frequent cell of each feature, as its number among those that occur.
    """

    layout: Layout
    log_prior: np.ndarray
    flat: np.ndarray
    n_lines: list[np.ndarray]
    left_out: list[np.ndarray]
    own: list[np.ndarray]
    strengths: list[list[float]]
    observed: Configurations
    usual: np.ndarray

    @cached_property
    def level_of(self) -> np.ndarray:
        """The number of parents of each level, the levels of one feature after the other."""
        return np.concatenate([np.zeros(0, np.int64), *(np.arange(n.size) for n in self.n_lines)])

    @cached_property
    def feature_of(self) -> np.ndarray:
        """The feature of each level."""
        return np.repeat(np.arange(len(self.n_lines)), [n.size for n in self.n_lines])

    @cached_property
    def begin(self) -> np.ndarray:
        """Where the numbers of each level start, and where the last end."""
        return _begin(self.layout, self.n_lines)

    @cached_property
    def values(self) -> list[list[np.ndarray]]:
        """For each feature and level an array ``(lines, card, n_classes)``.

        It has log p₀, and for the levels above the logarithm of the ratio to the level below.
        """
        n_classes, width = self.layout.n_classes, self.width
        levels = (self.flat[a:b].reshape(-1, width) for a, b in pairwise(self.begin.tolist()))
        return [
            [next(levels)[:, :n_classes].reshape(n, card, n_classes) for n in lines.tolist()]
            for lines, card in zip(self.n_lines, self.layout.cards.tolist(), strict=True)
        ]

    @property
    def width(self) -> int:
        """The number of values that the classes of a cell take up in memory."""
        return padded_width(self.layout.n_classes)

    @cached_property
    def whole(self) -> Configurations:
        """All cells of the tables."""
        return Configurations.all_of(self.layout)

    @cached_property
    def distinct(self) -> tuple[Configurations, list[np.ndarray]]:
        """Configurations of which each has a table of its own, and which of them each one reads.

        Those that do not occur read what they have in common: the values of all parents but the
        last.
        """
        layout, start = self.layout, self.observed.whole_start
        used_lines = self.observed.used_lines.copy()
        reads = []
        for i, group in enumerate(self.values):
            used = used_lines[start[i] : start[i + 1]]
            line = np.arange(used.size)
            rest = np.flatnonzero(~used)
            if rest.size and len(group) > 1:
                common = rest // (used.size // len(group[-2]))
                _, first, of = np.unique(common, return_index=True, return_inverse=True)
                line[rest] = rest[first][of]
            used[line] = True
            reads.append((np.cumsum(used) - 1)[line])
        cells = np.repeat(used_lines, np.repeat(layout.cards, np.diff(start)))
        return Configurations.some_of(layout, cells), reads

    @cached_property
    def _single_values(self) -> np.ndarray:
        return self.flat.astype(np.float32)

    @cached_property
    def own_arrays(self) -> OwnArrays:
        """The changes by leaving rows out, as kernels take them."""
        nothing = np.zeros(0, np.int64)
        return OwnArrays(
            starts_of([len(cells) for cells in self.own]),
            np.concatenate([nothing, *(cells % self.layout.n_classes for cells in self.own)]),
            starts_of([left_out.size for left_out in self.left_out]),
            np.concatenate([np.zeros(0), *map(np.ravel, self.left_out)]),
        )

    def own_cells(self, observed_only: bool) -> OwnCells:
        """Return the cells to which rows add something; with those that occur only, or with all."""
        layout, n_classes = self.layout, self.layout.n_classes
        starts = self.own_arrays.start
        cells = np.concatenate([np.zeros(0, np.int64), *self.own])
        cells += np.repeat(layout.offsets[:-1], np.diff(starts))
        if not observed_only:
            return OwnCells(starts, cells)
        place = self.observed.position[cells // n_classes]
        return OwnCells(starts, place * n_classes + cells % n_classes, self.usual)

    @cached_property
    def _free_states(self) -> np.ndarray:
        """Whether each state of each line that is used has free cells, in features with the class.

        It has if it occurs, and both of two states have.
        """
        observed, layout = self.observed, self.layout
        feature = np.repeat(np.arange(layout.cards.size), np.diff(observed.start))
        n_states = layout.n_states.astype(np.int64)[feature]
        line = np.repeat(np.arange(feature.size), np.diff(observed.cell_start))
        state = layout.state_of[layout.state_start[feature[line]] + observed.cell_value]
        occurs = np.zeros(int(n_states.sum()), bool)
        occurs[starts_of(n_states)[line] + state] = True
        depends = np.array(layout.structure.class_children, bool)
        of_two = n_states == 2  # one alone would have half the freedom
        return (occurs | np.repeat(of_two, n_states)) & np.repeat(depends[feature], n_states)

    @cached_property
    def _free_places(self) -> np.ndarray:
        """The number of the free cells of each state of each line that is used; −1 for none."""
        return np.where(self._free_states, np.cumsum(self._free_states) - 1, -1)

    def free_like(self, other: BackoffLevels) -> np.ndarray:
        """Return which free cell is that of each one of other levels; −1 for none.

        It is of the same state, and of the same values of the parents that both have.
        """
        places = self._free_places
        n_states = [levels.layout.n_states.astype(np.int64) for levels in (self, other)]
        found = []
        at = [0, 0]
        for i, parents in enumerate(other.layout.structure.parents):
            size = [
                int(levels.observed.start[i + 1] - levels.observed.start[i]) * int(n[i])
                for levels, n in zip((self, other), n_states, strict=True)
            ]
            own = places[at[0] : at[0] + size[0]]
            wanted = np.full(size[1], -1)
            before = self.layout.structure.parents[i]
            n_lines = self.n_lines[i][-1], other.n_lines[i][-1]
            if (
                n_states[0][i] == n_states[1][i]
                and parents[: len(before)] == before
                and n_lines[1] % n_lines[0] == 0
            ):
                table = np.full((n_lines[0], n_states[0][i]), -1)
                table[self._lines(i)] = own.reshape(-1, n_states[0][i])
                wanted = table[other._lines(i) // (n_lines[1] // n_lines[0])].ravel()
            found.append(wanted[other._free_states[at[1] : at[1] + size[1]]])
            at = [at[0] + size[0], at[1] + size[1]]
        return np.concatenate([np.zeros(0, np.int64), *found])

    def _lines(self, feature: int) -> np.ndarray:
        """Return the lines of a feature that occur."""
        observed = self.observed
        return np.asarray(observed.numbers[observed.start[feature] : observed.start[feature + 1]])

    def free_cells(self, configurations: Configurations) -> FreeStates:
        """Return which states of which lines have free cells."""
        n_states = self.layout.n_states.astype(np.int64)
        start = starts_of(np.diff(configurations.start) * n_states)
        if configurations is self.observed:
            return FreeStates(start, self._free_places)
        each = np.repeat(n_states, np.diff(configurations.whole_start))
        place = np.full(each.sum(), -1)
        place[np.repeat(self.observed.used_lines, each)] = self._free_places
        return FreeStates(start, place[np.repeat(configurations.used_lines, each)])

    def arrays(self, configurations: Configurations, single: bool = False) -> LevelArrays:
        """Return the levels as kernels take them, for tables of some cells.

        With ``single`` they have single precision.
        """
        layout = self.layout
        rest = [lines[-1] // lines for lines in self.n_lines]
        return LevelArrays(
            layout.cards,
            starts_of([lines.size for lines in self.n_lines]),
            self.begin,
            np.concatenate([np.zeros(0, np.int64), *rest]),
            self._single_values if single else self.flat,
            layout.state_start,
            layout.state_of,
            layout.n_states.astype(np.int64),
            configurations.start,
            configurations.numbers,
            configurations.cell_start,
            configurations.cell_value,
        )

    def tables(self) -> CPTs:
        """Return the tables of the highest level: the smoothed generative estimates."""
        log_theta = np.empty(self.layout.size)
        for i, group in enumerate(self.values):
            table = self.layout.table(log_theta, i).reshape(-1, *self.layout.shapes[i][-2:])
            table[...] = 0.0
            for level in group:
                table += np.repeat(level, len(table) // len(level), axis=0)
        return CPTs(self.layout, self.log_prior, log_theta)


class HierarchicalSmoothing(BaseEstimator):
    """Generative estimates that back off to fewer parents, as far as the data ask for it.

    Parameters
    ----------
    strengths : sequence of float, default=(3, 10, 30, 100, 300)
        The numbers of virtual observations to choose from, for each feature and level, by the
        leave-one-out likelihood.
    bandwidth : float, default=1.5
        The standard deviation by which counts of a numeric feature are spread over neighboring
        intervals, and those of ordered categories over neighboring values: in intervals, and in
        32nds of the rows between them, whichever spreads less. So an interval with many rows keeps
        its counts. 0 for no spreading.
    parent_bandwidth : float, default=0.4
        The same for the values of numeric and ordered parents, as their children see them: in
        coarse intervals. A value keeps its own counts whole. 0 for no spreading.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, HierarchicalSmoothing, load_dataset
    >>> iris = load_dataset("iris")
    >>> clf = BayesNetClassifier("tan", HierarchicalSmoothing()).fit(iris.X, iris.y)
    >>> round(float(clf.score(iris.X, iris.y)), 2)
    0.99
    """

    learns_from_counts = True
    supports_blocks = True
    prior_is_shares = True
    uses_unlabeled = True
    missing = "available"
    uses_two_resolutions = True

    def __init__(
        self,
        strengths: Sequence[float] = STRENGTHS,
        bandwidth: float = BANDWIDTH,
        parent_bandwidth: float = PARENT_BANDWIDTH,
    ):
        self.strengths = strengths
        self.bandwidth = bandwidth
        self.parent_bandwidth = parent_bandwidth

    def learn(self, data: Rows, counts: Counts, structure: Structure, context: Context) -> CPTs:
        """Learn the tables of a structure.

        Parameters
        ----------
        data : Rows
            The rows.
        counts : Counts
            Counts of the class and of each feature.
        structure : Structure
            The structure.
        context : Context
            Threads.

        Returns
        -------
        CPTs
            The conditional probability tables.

        Examples
        --------
        >>> from discbayes import HierarchicalSmoothing
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.engine import Context
        >>> from discbayes.network import Structure
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> learner = HierarchicalSmoothing()
        >>> tables = learner.learn(data, count(data), Structure.naive(1), Context())
        >>> np.exp(tables.log_table(0)).round(2)
        array([[0.53, 0.22],
               [0.47, 0.78]])
        """
        return self.levels(data, counts, structure, context.n_jobs).tables()

    def levels(
        self,
        data: Rows,
        counts: Counts,
        structure: Structure,
        n_jobs: int | None = None,
        observed_only: bool = False,
    ) -> BackoffLevels:
        """Learn the levels that the tables of a structure are made of.

        Parameters
        ----------
        data : Rows
            The rows.
        counts : Counts
            Counts of the class and of each feature.
        structure : Structure
            The structure.
        n_jobs : int, optional
            The number of threads.
        observed_only : bool, default=False
            Whether parents' values that do not occur together have the level below, whatever rows
            are near.

        Returns
        -------
        BackoffLevels
            The levels.

        Examples
        --------
        >>> from discbayes import HierarchicalSmoothing
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.network import Structure
        >>> data = FrameEncoder().fit_transform([["red"], ["blue"], ["red"]], [1, 0, 1])
        >>> HierarchicalSmoothing().levels(data, count(data), Structure.naive(1)).strengths
        [[3.0]]
        """
        self._check()
        layout = Layout.of(structure, data)
        families = count_families(data, layout, counts, n_jobs)
        # a row is left out with its weight, of a row that weighs more with one observation
        rows = np.maximum(data.class_rows, 1)
        left_out = np.minimum(counts.class_count / rows, 1.0)

        n_lines = [_n_lines(shape) for shape in layout.shapes]
        begin, width = _begin(layout, n_lines), padded_width(layout.n_classes)
        first = starts_of([lines.size for lines in n_lines])
        flat = np.zeros(begin[-1])
        strengths = np.sort(np.asarray(self.strengths, float))[::-1].copy()

        def one(i: int) -> _Chain:
            used = np.zeros(0, np.int64)
            # what does not depend on the class is no news of it, and an empty cell has no row
            if structure.class_children[i]:
                used = np.flatnonzero(families.table(i))
            chain = _Chain(np.empty((used.size, n_lines[i].size)), used, np.empty(n_lines[i].size))
            wanted = np.full(n_lines[i][-1], not observed_only)
            own = self._counts_of(data.domain, families, counts.feature(i), i, wanted, left_out)
            smooth_levels(
                own, strengths, begin[first[i] : first[i + 1]], width, used, flat, chain.left_out,
                chain.strengths,
            )  # fmt: skip
            return chain

        chains = parallel_map(one, range(structure.n_features), n_jobs, work=50.0 * layout.size)
        shares = counts.class_count + 1.0 / data.n_classes
        observed, usual = _observed(layout, families)
        return BackoffLevels(
            layout,
            np.log(shares / shares.sum()),
            flat,
            n_lines,
            [chain.left_out for chain in chains],
            [chain.own for chain in chains],
            [chain.strengths.tolist() for chain in chains],
            observed,
            usual,
        )

    def _counts_of(
        self,
        domain: Domain,
        families: FamilyCounts,
        alone: np.ndarray,
        feature: int,
        wanted: np.ndarray,
        left_out: np.ndarray,
    ) -> LevelCounts:
        """Return the counts of a feature, as the kernel takes them."""
        structure, table = families.layout.structure, families.table(feature)
        near = [self._near(domain.features[p].coarse) for p in structure.parents[feature]]
        spread = self._spread(domain, feature, alone)
        pooled = not structure.class_children[feature]
        if pooled:
            alone, table = _same_in_classes(alone), _same_in_classes(table)
        return LevelCounts(
            np.ascontiguousarray(alone),
            np.ascontiguousarray(table).reshape(-1, *alone.shape),
            _n_lines(families.layout.shapes[feature]),
            np.concatenate([np.zeros(0), *(each.ravel() for each in near if each is not None)]),
            starts_of([0 if each is None else each.size for each in near]),
            np.zeros((0, 0)) if spread is None else spread,
            left_out,
            wanted,
            pooled,
        )

    def _check(self) -> None:
        strengths = np.asarray(self.strengths, float)
        if strengths.ndim != 1 or not strengths.size or not (strengths > 0).all():
            raise ValueError(f"strengths={self.strengths!r} must be positive numbers")
        if not np.isfinite(strengths).all():
            raise ValueError("strengths must be finite numbers")
        for name in ("bandwidth", "parent_bandwidth"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise ValueError(f"{name}={value!r} must be a finite number that is at least 0")

    def _spread(self, domain: Domain, feature: int, counts: np.ndarray) -> np.ndarray | None:
        """Return where the counts of each interval or ordered value go; None to themselves."""
        variable = domain.features[feature]
        n_intervals = _n_ordered(variable)
        if n_intervals < 3 or not self.bandwidth:
            return None
        by_value = counts.sum(axis=1)[:n_intervals]
        rank = (by_value.cumsum() - by_value / 2) / max(by_value.sum(), TINY)
        place = np.arange(n_intervals)
        apart = np.maximum(
            np.abs(place[:, None] - place), USUAL_INTERVALS * np.abs(rank[:, None] - rank)
        )
        near = np.exp(-0.5 * (apart / self.bandwidth) ** 2)
        spread = np.eye(variable.card)  # "missing" is not a neighbor
        spread[:n_intervals, :n_intervals] = near / near.sum(axis=1, keepdims=True)
        return spread

    def _near(self, parent: Variable) -> np.ndarray | None:
        """Return how much the counts of each value of a parent count for each; None for no other.

        The rows do not sum to one: a value keeps its counts.
        """
        n_ordered = _n_ordered(parent)
        if n_ordered < 3 or not self.parent_bandwidth:
            return None
        place = np.arange(n_ordered)
        near = np.eye(parent.card)
        near[:n_ordered, :n_ordered] = np.exp(
            -0.5 * ((place[:, None] - place) / self.parent_bandwidth) ** 2
        )
        return near


@dataclass(frozen=True)
class _Chain:
    """What leaving a row out changes in the levels of one feature, and their strengths."""

    left_out: np.ndarray
    own: np.ndarray
    strengths: np.ndarray


def _n_lines(shape: tuple[int, ...]) -> np.ndarray:
    """Return the number of lines of each level of a table."""
    return np.cumprod([1, *shape[:-2]], dtype=np.int64)


def _begin(layout: Layout, n_lines: Sequence[np.ndarray]) -> np.ndarray:
    """Return where the numbers of each level start, and where the last end."""
    cells = [lines * card for lines, card in zip(n_lines, layout.cards.tolist(), strict=True)]
    return starts_of(
        np.concatenate([np.zeros(0, np.int64), *cells]) * padded_width(layout.n_classes)
    )


def _observed(layout: Layout, families: FamilyCounts) -> tuple[Configurations, np.ndarray]:
    """Return the cells that occur, and the most frequent one of each feature among them."""
    n_features = layout.structure.n_features
    by_cell = [families.table(i).sum(axis=-1).ravel() for i in range(n_features)]
    start = starts_of([cells.size for cells in by_cell])
    usual = start[:-1] + np.array([np.argmax(cells) for cells in by_cell], np.int64)
    used = np.concatenate([np.zeros(0), *by_cell]) > 0
    used[usual] = True  # also if there are no rows
    observed = Configurations.some_of(layout, used)
    return observed, observed.position[usual]


def _n_ordered(variable: Variable) -> int:
    """Return how many values have neighbors, from the first on."""
    return len(variable.values) if variable.ordered else len(variable.cuts or ()) + 1


def _same_in_classes(counts: np.ndarray) -> np.ndarray:
    """Return the counts of all classes in the column of each."""
    return np.broadcast_to(counts.sum(axis=-1, keepdims=True), counts.shape)
