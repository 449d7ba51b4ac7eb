"""Components of missing values in fixed rows: their sums given tables, and expected counts.

A fit evaluates the same rows again and again. So their components of missing values, the distinct
ones among them and the plans to marginalize these are found once (``kernels/components.py``,
``kernels/component_plans.py``). Given tables, each distinct component has one sum for each class,
which rows read like a cell of a table.

Where features have two resolutions, what a missing feature says to its children is its state. Then
there is a second table of each family, for when the feature is missing, with the sums over the
values of each state; these tables come after all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from discbayes.engine import parallel_map
from discbayes.kernels import component_plans, components, expectation, states
from discbayes.kernels.expectation import ComponentCells, Marginals
from discbayes.kernels.network_arrays import LayoutArrays
from discbayes.network import Layout

MAX_CELLS = 1 << 25  # of the products of one component, classes included
MAX_PARTS, PART_CELLS = 8, 1 << 25  # of the components, and of the gradients of all parts together
# nanoseconds: a part with less work, for each cell of its gradient, is not worth a gradient
PART_WORK, CELL_WORK = 1e5, 8.0
FIRST_PLANS = 1 << 12  # numbers


@dataclass(frozen=True)
class TableMarginals:
    """The sums of components given tables: on the scale of probabilities, and their logarithms."""

    marginals: Marginals
    on_logs: Marginals | None  # for the components that need the log scale, if any
    log_theta: np.ndarray  # of all tables


class ComponentSums:
    """The distinct components of missing values of some rows, and their sums given tables.

    Parameters
    ----------
    codes : ndarray of shape (n_features, n_samples)
        The rows; a code of ``cards[i]`` or more is missing.
    layout : Layout
        Where the cells of the tables are.
    normalized : bool
        Whether the tables are normalized: then missing values without observed descendants sum to
        one and are left out.
    names : sequence of str
        The names of the features, for messages.
    max_cells : float, optional
        The number of cells, classes included, that the products of one component may have;
        ``MAX_CELLS`` by default. A larger component is an error.

    Attributes
    ----------
    row_start, cells : ndarray
        The components of row ``m`` are ``cells[row_start[m]:row_start[m + 1]]``.
    n_cells : int
        The number of distinct components.
    """

    def __init__(
        self,
        codes: np.ndarray,
        layout: Layout,
        normalized: bool,
        names: list[str],
        max_cells: float | None = None,
    ):
        self.layout = layout
        self._by_state = layout.by_state
        self._n_state_cells = 0 if layout.states is None else self._by_state.size
        limit = MAX_CELLS if max_cells is None else max_cells
        rows = np.flatnonzero((codes >= layout.cards[:, None]).any(axis=0))
        lists = _empty_lists(codes[:, rows], layout.cards)
        components.find_components(
            codes, layout.parent_codes(codes), rows, layout.arrays(), self._state_arrays(),
            layout.n_classes, not normalized, lists,
        )  # fmt: skip
        self.n_cells, n_patterns = (int(n) for n in lists.counts)
        self.row_start = np.zeros(codes.shape[1] + 1, np.int64)
        self.row_start[1 + rows] = np.diff(lists.row_start)
        self.row_start = self.row_start.cumsum()
        self.cells = lists.cells[: self.row_start[-1]].copy()
        base_start = lists.base_start[: self.n_cells + 1].copy()
        bases = lists.bases[: base_start[-1]].copy()
        family_start = lists.family_start[: n_patterns + 1]
        families = lists.families[: family_start[-1]]
        tables = families >> 1
        if self._n_state_cells:
            tables = tables + layout.cards.size * (families & 1)
        n_tables = layout.cards.size * (2 if self._n_state_cells else 1)
        self._used = np.bincount(tables, minlength=n_tables) > 0
        cells, starts, plans = self._make_plans(family_start, families, limit)
        if cells.max(initial=0.0) * layout.n_classes > limit:
            worst = int(cells.argmax())
            of_worst = families[family_start[worst] : family_start[worst + 1]]
            missing = [names[family >> 1] for family in of_worst if family & 1]
            raise _too_large(missing, cells.max() * layout.n_classes, limit)
        self._arrays = ComponentCells(base_start, bases, starts, plans)
        self._wide = -(-layout.n_classes // 4) * 4
        self._n_theta = (layout.size + self._n_state_cells) // layout.n_classes * self._wide
        n_messages = plans[starts[:-1] + 2]
        self._slot = int(n_messages.max(initial=0)) * self._wide
        # nanoseconds: of a product of cells forth and back, and of each component
        self._work = (8.0 * cells * self._wide / 4 + 100.0)[bases[base_start[:-1]]]
        self._parts = self._divide()

    def _make_plans(
        self, family_start: np.ndarray, families: np.ndarray, max_cells: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the cells of the products of each pattern, where its plan begins, and plans."""
        layout, by_state = self.layout, self._state_arrays()
        n_patterns = family_start.size - 1
        cells, starts = np.zeros(n_patterns), np.zeros(n_patterns + 1, np.int64)
        plans: list[np.ndarray] = []
        done, size = 0, FIRST_PLANS
        while done < n_patterns:
            buffer = np.empty(size, np.int64)
            before = done
            own_starts = np.zeros(n_patterns + 1, np.int64)
            done = component_plans.write_plans(
                family_start, families, layout.arrays(), by_state, layout.n_classes,
                max_cells / layout.n_classes, before, own_starts, cells, buffer,
            )  # fmt: skip
            first = starts[before]
            starts[before : done + 1] = first + own_starts[before : done + 1]
            if done > before:
                plans.append(buffer[: starts[done] - first].copy())
            size *= 2
        return cells, starts, np.concatenate(plans) if plans else np.empty(0, np.int64)

    def _state_arrays(self) -> LayoutArrays:
        """Return where the tables of missing features are, behind the others if they differ."""
        arrays = self._by_state.arrays()
        if not self._n_state_cells:
            return arrays
        return arrays._replace(offsets=arrays.offsets + self.layout.size)

    @property
    def _offsets(self) -> np.ndarray:
        """The first cell of each table, those of missing features after the others."""
        if not self._n_state_cells:
            return self.layout.offsets
        return np.concatenate([self.layout.offsets, self._state_arrays().offsets[1:]])

    @property
    def _state_maps(self) -> tuple[Any, ...]:
        """The arrays of the layout that kernels of states take."""
        layout = self.layout
        return (
            layout.offsets, layout.cards, layout.state_start, layout.state_of, layout.n_states,
            layout.n_classes, self._used[layout.cards.size :], self._by_state.offsets,
        )  # fmt: skip

    @property
    def work(self) -> float:
        """The approximate time of the sums and of the expected counts in nanoseconds."""
        return float(self._work.sum())

    @property
    def nbytes(self) -> int:
        """The bytes of the stored arrays."""
        kept = (self.row_start, self.cells, self._used, self._work, *self._arrays)
        return sum(array.nbytes for array in kept)

    def _divide(self) -> list[tuple[int, int]]:
        """Return ranges of components of about equal work, which depend on the data alone."""
        n_own = self._n_theta + self._slot + 1
        enough = PART_WORK + CELL_WORK * n_own
        n_parts = max(1, int(min(self.work / enough, PART_CELLS / n_own, MAX_PARTS)))
        wanted = self.work * np.arange(1, n_parts) / n_parts
        inner = np.searchsorted(np.cumsum(self._work), wanted)
        return list(pairwise([0, *inner.tolist(), self.n_cells]))

    def log_sums(
        self, log_theta: np.ndarray, out: np.ndarray, n_jobs: int | None = None
    ) -> TableMarginals:
        """Write the logarithm of the sum of each component and class.

        Parameters
        ----------
        log_theta : ndarray
            Logarithms of the entries of the tables, in the layout.
        out : ndarray of shape (n_cells, at least n_classes)
            Where the logarithms are written; further columns are left alone.
        n_jobs : int, optional
            The number of threads.

        Returns
        -------
        TableMarginals
            What ``add_expected_counts`` needs.
        """
        layout, n_parts = self.layout, len(self._parts)
        if self._n_state_cells:
            by_state = np.zeros(self._n_state_cells)
            states.log_sum_states(log_theta, *self._state_maps, by_state)
            log_theta = np.concatenate([log_theta, by_state])
        shifts = np.zeros(self._used.size)
        sums, in_logs = np.empty(self.n_cells * self._wide), np.zeros(self.n_cells, np.bool_)
        values = np.empty(self._n_theta + n_parts * self._slot)
        expectation.scale_tables(
            log_theta, self._offsets, self._used, layout.n_classes, self._wide, shifts, values
        )
        linear = Marginals(values, sums, in_logs)
        self._sum(linear, False, shifts, out, n_jobs)
        if not in_logs.any():
            return TableMarginals(linear, None, log_theta)
        logs = np.zeros_like(values)
        spread = logs[: self._n_theta].reshape(-1, self._wide)
        spread[:, : layout.n_classes] = log_theta.reshape(-1, layout.n_classes)
        on_logs = Marginals(logs, sums, in_logs)
        self._sum(on_logs, True, shifts, out, n_jobs)
        return TableMarginals(linear, on_logs, log_theta)

    def _sum(
        self,
        marginals: Marginals,
        on_logs: bool,
        shifts: np.ndarray,
        out: np.ndarray,
        n_jobs: int | None,
    ) -> None:
        def one(part: int) -> None:
            slot = self._n_theta + part * self._slot
            expectation.sum_components(
                self._arrays, *self._parts[part], marginals, slot, self._wide, on_logs, shifts,
                self.layout.n_classes, out,
            )  # fmt: skip

        parallel_map(one, range(len(self._parts)), n_jobs, self.work / 3)

    def add_expected_counts(
        self,
        sums: TableMarginals,
        residual: np.ndarray,
        into: np.ndarray,
        n_jobs: int | None = None,
    ) -> None:
        """Add Σ residual · P(cell | observed values, c) over the components to each cell.

        Parameters
        ----------
        sums : TableMarginals
            The result of ``log_sums``.
        residual : ndarray of shape (n_cells, at least n_classes)
            A factor for each component and class, as the gradient with respect to its logarithm.
        into : ndarray
            What is added to, in the layout of the tables.
        n_jobs : int, optional
            The number of threads.
        """
        max_card = int(self.layout.cards.max(initial=1))

        def one(part: int) -> np.ndarray:
            adjoint = np.zeros(self._n_theta + self._slot)
            slot = self._n_theta + part * self._slot
            for marginals, on_logs in ((sums.marginals, False), (sums.on_logs, True)):
                if marginals is not None:
                    expectation.add_expected(
                        self._arrays, *self._parts[part], marginals, slot, self._wide, on_logs,
                        self.layout.n_classes, max_card, residual, self._n_theta, adjoint,
                    )  # fmt: skip
            return adjoint[: self._n_theta]

        n_classes, size = self.layout.n_classes, self.layout.size
        by_state = np.zeros(self._n_state_cells)
        cells, state_cells = into.reshape(-1, n_classes), by_state.reshape(-1, n_classes)
        for share in parallel_map(one, range(len(self._parts)), n_jobs, self.work):
            found = share.reshape(-1, self._wide)[:, :n_classes]
            cells += found[: len(cells)]
            state_cells += found[len(cells) :]
        if self._n_state_cells:
            log_theta = sums.log_theta
            states.share_states(
                log_theta[:size], log_theta[size:], *self._state_maps, by_state, into
            )


def _empty_lists(codes: np.ndarray, cards: np.ndarray) -> components.ComponentLists:
    """Return arrays that are as long as the lists of components can become.

    A family is in one component of a row at most, so that there are no more than features.
    """
    n_features, n_rows = codes.shape
    n_components = int((codes >= cards[:, None]).sum())
    return components.ComponentLists(
        np.empty(n_rows + 1, np.int64),
        np.empty(n_components, np.int64),
        np.empty(n_components + 1, np.int64),
        np.empty(n_rows * n_features + n_components, np.int64),
        np.empty(n_components + 1, np.int64),
        np.empty(n_rows * n_features, np.int64),
        np.zeros(2, np.int64),
    )


def _too_large(missing: list[str], cells: float, limit: float) -> ValueError:
    """Return an error that names the columns of a component that needs too much memory."""
    shown = ", ".join(map(repr, missing[:12]))
    return ValueError(
        f"a row has missing values in {shown}{' …' if len(missing) > 12 else ''}; to marginalize"
        f" them while learning takes {cells:.3g} cells, above {limit:,}. Learn with"
        ' missing="drop" or missing="value", or use a structure with fewer parents'
    )
