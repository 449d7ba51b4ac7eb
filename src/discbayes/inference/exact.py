"""Missing values of rows marginalized exactly, on any structure, within a limit on the work.

Most rows are done by one pass over blocks of rows (``kernels.row_elimination``). The others are
taken one by one: a row whose messages would not fit in the workspace is *conditioned* on some of
its missing features, that is, each combination of their states becomes a row of its own, and the
results are summed; a row whose numbers leave the range of a double is done on the log scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from weakref import WeakKeyDictionary

import numpy as np

from discbayes.engine import parallel_map, row_blocks, worker_count
from discbayes.inference.lumps import lumped_tables
from discbayes.inference.state_tables import WORKSPACE, Tables, base_states, make_tables
from discbayes.kernels.row_elimination import (
    DONE,
    OUT_OF_RANGE,
    TOO_LARGE,
    eliminate_rows,
    plan_components,
    row_costs,
)
from discbayes.kernels.row_factors import take_rows
from discbayes.network import CPTs

MAX_LIGHT_CELLS = 20_000.0  # of a row that gains nothing by lumps
MAX_BLOCK_CELLS = 1e6  # of a row that is done with others in a block
LIGHT_BLOCK = 1024  # rows, whose bounds depend on the row number alone
HEAVY_BLOCK = 8
MIN_GAIN = 0.5  # logarithm of the factor by which conditioning on one feature must reduce memory
CELLS_PER_SECOND = 1e9

# kept as long as the tables live, and not pickled with them
_tables: WeakKeyDictionary[CPTs, dict[str, list[Tables]]] = WeakKeyDictionary()
# by scale: how the entries of values become that of a state, and whether they are logarithms
_SCALES = {
    "sum": (np.add, False),
    "logs": (np.logaddexp, True),
    "max": (np.maximum, False),
    "max of logs": (np.maximum, True),
}


@dataclass(frozen=True)
class Oversized:
    """Rows that need more cells than allowed, and how many they need."""

    rows: np.ndarray
    cells: np.ndarray


@dataclass(frozen=True)
class RowSums:
    """The part of families with missing values in the log-joint of rows, and its cost."""

    sums: np.ndarray  # by row and class, on the log scale
    status: np.ndarray
    cells: np.ndarray  # of all steps


def elimination_tables(cpts: CPTs, scale: str, n_jobs: int | None) -> Tables:
    """Return the tables for sums or maxima, or for those on the log scale (``_SCALES``).

    They are made at the first call, and have workspace for so many threads.
    """
    kept = _tables.setdefault(cpts, {})
    if scale not in kept:
        groups = [(base_states(cpts), np.arange(cpts.n_classes))]
        with np.errstate(divide="ignore"):
            kept[scale] = make_tables(cpts, groups, *_SCALES[scale])
    (tables,) = kept[scale]
    tables.shared.add_parts(worker_count(n_jobs))
    return tables


def _lumped(cpts: CPTs, n_jobs: int | None) -> list[Tables]:
    """Return the tables of groups of classes, or an empty list if they do not pay."""
    kept = _tables.setdefault(cpts, {})
    if "lumps" not in kept:
        kept["lumps"] = lumped_tables(cpts) or []
    if kept["lumps"]:
        kept["lumps"][0].shared.add_parts(worker_count(n_jobs))
    return kept["lumps"]


def add_missing(
    cpts: CPTs, codes: np.ndarray, rows: np.ndarray, max_cells: float, n_jobs: int | None,
    out: np.ndarray,
) -> Oversized:  # fmt: skip
    """Add to the log-joint what the families with missing values give, in the given rows.

    Rows beyond ``max_cells`` are left as they are, and returned.
    """
    tables = elimination_tables(cpts, "sum", n_jobs)
    status = np.empty(rows.size, np.int64)
    # lumps are made for the first row that may gain by them; most networks have none
    may_lump = _tables[cpts].get("lumps", [tables])
    limit = min(max_cells, MAX_LIGHT_CELLS if may_lump else MAX_BLOCK_CELLS)

    def one(block: slice) -> None:
        here = rows[block]
        status[block] = _run(tables, rows_of(cpts, codes, here), limit, here, out)[0]

    work = rows.size * codes.shape[0] * cpts.n_classes * 5
    parallel_map(one, row_blocks(rows.size, LIGHT_BLOCK), n_jobs, work=work)
    if not status.any():
        return Oversized(rows[:0], np.zeros(0))
    models = _lumped(cpts, n_jobs) or [tables]
    status, cells = _add_heavy(models, cpts, codes, rows, status, max_cells, n_jobs, out)
    beyond = status == OUT_OF_RANGE
    if beyond.any():
        logs = [elimination_tables(cpts, "logs", n_jobs)]
        status[beyond], cells[beyond] = _add_heavy(
            logs, cpts, codes, rows[beyond], status[beyond], max_cells, n_jobs, out
        )
    return Oversized(rows[status == TOO_LARGE], cells[status == TOO_LARGE])


def _add_heavy(
    models: list[Tables], cpts: CPTs, codes: np.ndarray, rows: np.ndarray, status: np.ndarray,
    max_cells: float, n_jobs: int | None, out: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Add the sums of the rows that are not done yet; return status and cells of all rows."""
    status = status.copy()
    cells = np.zeros(rows.size)
    wanted = OUT_OF_RANGE if models[0].arrays.on_logs else TOO_LARGE
    left = np.flatnonzero(status == wanted)
    for block in row_blocks(left.size, LIGHT_BLOCK):
        at = left[block]
        found = _sum_heavy(models, rows_of(cpts, codes, rows[at]), max_cells, n_jobs)
        status[at], cells[at] = found.status, found.cells
        done = found.status == DONE
        out[rows[at[done]]] += found.sums[done]
    return status, cells


def _sum_heavy(
    models: list[Tables], taken: np.ndarray, max_cells: float, n_jobs: int | None
) -> RowSums:
    """Return the sums of rows by tables that share the classes among them."""
    sums = np.zeros((len(taken), sum(tables.classes.size for tables in models)))
    costs = [_dry_run(tables, taken) for tables in models]
    cells = np.sum([cost[:, 0] for cost in costs], axis=0)
    status = np.where(cells > max_cells, TOO_LARGE, DONE)
    for tables, cost in zip(models, costs, strict=True):
        part = np.zeros((len(taken), tables.classes.size))
        direct = np.flatnonzero((status == DONE) & (cost[:, 1] <= WORKSPACE))
        status[direct] = run_all(tables, taken[direct], n_jobs, part, direct)
        for r in np.flatnonzero((status == DONE) & (cost[:, 1] > WORKSPACE)):
            allowed = max_cells - cells[r] + cost[r, 0]
            needed, status[r] = _condition(tables, taken[r], allowed, n_jobs, part[r])
            cells[r] += needed - cost[r, 0]
        sums[:, tables.classes] = part
    return RowSums(sums, status, cells)


def run_all(
    tables: Tables, taken: np.ndarray, n_jobs: int | None, out: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Add the sums of rows that fit in the workspace to ``out[rows]``; return their status."""
    status = np.empty(rows.size, np.int64)

    def one(block: slice) -> None:
        status[block] = _run(tables, taken[block], np.inf, rows[block], out)[0]

    parallel_map(one, row_blocks(rows.size, HEAVY_BLOCK), n_jobs)
    return status


def rows_of(cpts: CPTs, codes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the codes of some rows as elimination takes them, features innermost."""
    taken = np.empty((rows.size, codes.shape[0]), np.int32)
    take_rows(codes, rows, cpts.cards, taken)
    return taken


def _run(
    tables: Tables, taken: np.ndarray, max_cells: float, rows: np.ndarray, out: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Add the sums of rows within the limit to ``out``; return status and costs of all."""
    status = np.empty(rows.size, np.int64)
    costs = np.empty((rows.size, 2))
    with tables.shared.workspace() as part, np.errstate(divide="ignore"):
        eliminate_rows(taken, rows, tables.arrays, *part, max_cells, out, status, costs)
    return status, costs


def _dry_run(tables: Tables, taken: np.ndarray, keeps_all: bool = False) -> np.ndarray:
    """Return the cells of each row in all, and those of its messages at once."""
    costs = np.empty((len(taken), 2))
    with tables.shared.workspace() as part:
        row_costs(taken, tables.arrays, part.scratch, keeps_all, costs)
    return costs


def _condition(
    tables: Tables, row: np.ndarray, max_cells: float, n_jobs: int | None, out: np.ndarray
) -> tuple[float, int]:
    """Add the sum over a row that is conditioned on some features; return its cells and status."""
    rows, cells = condition_row(tables, row, max_cells)
    if cells > max_cells:
        return cells, TOO_LARGE
    sums = np.zeros((len(rows), out.size))
    status = run_all(tables, rows, n_jobs, sums, np.arange(len(rows)))
    if (status == OUT_OF_RANGE).any():
        return cells, OUT_OF_RANGE
    out += np.logaddexp.reduce(sums, axis=0)
    return cells, DONE


def condition_row(
    tables: Tables, row: np.ndarray, max_cells: float, keeps_all: bool = False
) -> tuple[np.ndarray, float]:
    """Return a row for each combination of the states of some features, and the cells of all.

    There are none if they need more than ``max_cells``.
    """
    fixed, cells = _choose_features(tables, row, max_cells, keeps_all)
    if cells > max_cells:
        return row[None][:0], cells
    combinations = np.array(list(product(*(range(tables.arrays.states[i]) for i in fixed))))
    rows = np.repeat(row[None], len(combinations), axis=0)
    rows[:, fixed] = tables.arrays.cards[fixed] + 1 + combinations
    return rows, cells


def _choose_features(
    tables: Tables, row: np.ndarray, max_cells: float, keeps_all: bool
) -> tuple[list[int], float]:
    """Return features whose states, once known, let the messages of a row fit in the workspace.

    Each is the one that costs least: the growth of the cells in all, for what it saves of those at
    once. Returns the cells of all combinations of states as well.
    """
    arrays = tables.arrays
    row = row.copy()
    (total, at_once), n_combinations = _dry_run(tables, row[None], keeps_all)[0], 1.0
    fixed: list[int] = []
    while at_once > WORKSPACE and total * n_combinations <= max_cells:
        missing = np.flatnonzero((row == arrays.cards) & (arrays.states > 1))
        tried = np.repeat(row[None], missing.size, axis=0)
        tried[np.arange(missing.size), missing] += 1
        costs = np.maximum(_dry_run(tables, tried, keeps_all), 1.0)
        gain = np.log(at_once / costs[:, 1])
        growth = np.log(arrays.states[missing] * costs[:, 0] / total)
        price = np.where(growth <= 0, -gain, growth / np.maximum(gain, 1e-9))
        allowed = gain >= min(MIN_GAIN, gain.max())
        best = int(np.argmin(np.where(allowed, price, np.inf)))
        feature = int(missing[best])
        fixed.append(feature)
        row[feature] += 1
        n_combinations *= float(arrays.states[feature])
        total, at_once = costs[best]
    return fixed, total * n_combinations


def largest_component(
    cpts: CPTs, codes: np.ndarray, every: bool = False
) -> tuple[list[int], float]:
    """Return the missing features that cost most together in one row, and their cells.

    ``codes`` has one column. ``every`` counts features that do not matter to the class as well.
    """
    cells, component = _components(cpts, codes, every)
    if not cells.size:
        return [], 0.0
    worst = int(cells.argmax())
    return np.flatnonzero(component == worst).tolist(), float(cells[worst])


def elimination_cells(cpts: CPTs, codes: np.ndarray, every: bool = False) -> float:
    """Return the number of cells that the elimination of the missing values of one row computes."""
    return float(_components(cpts, codes, every)[0].sum())


def _components(cpts: CPTs, codes: np.ndarray, every: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells of the components of one row, and the component of each feature, or −1."""
    tables = elimination_tables(cpts, "sum", None)
    taken = rows_of(cpts, np.ascontiguousarray(codes), np.arange(1))
    component = np.full(cpts.cards.size, -1, np.int64)
    cells = np.zeros(cpts.cards.size)
    with tables.shared.workspace() as part:
        n_components = plan_components(taken, tables.arrays, part.scratch, every, component, cells)
    return cells[:n_components], component
