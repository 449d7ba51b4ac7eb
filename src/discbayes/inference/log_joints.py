"""The log-joint of rows, gaps summed out exactly, and what follows from it at once: posterior and
likelihood.

Everything here works on codes (see ``discbayes.data.domain``) and returns one row per sample. Three
ways lead to a log-joint, and the rows decide: complete rows read their cells; on forests one upward
pass sums the gaps out; elsewhere they are eliminated, rows with the same gaps together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discbayes._memory import require_memory
from discbayes.engine import parallel_map, row_blocks
from discbayes.inference.forest_plan import Padded, forest_plan
from discbayes.inference.missing_patterns import MissingPattern, blank_rows, group_by_missing
from discbayes.kernels import elimination, forest, joint, marginals, weighting
from discbayes.network import CPTs

MAX_FACTOR_SIZE = 1 << 22


@dataclass(frozen=True)
class InferenceOptions:
    """How far exact inference may go, and what happens beyond.

    ``max_factor_size`` is the number of cells of the largest intermediate factor. Where a row needs
    more it is an error, or, with ``n_draws``, estimated by that many draws for each class
    (likelihood weighting, seeded by ``seed``).
    """

    max_factor_size: int = MAX_FACTOR_SIZE
    n_draws: int | None = None
    seed: int = 0
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_factor_size", "n_draws"):
            value = getattr(self, name)
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not (whole and value >= 1) and not (name == "n_draws" and value is None):
                raise ValueError(f"{name}={value!r} must be a whole number of at least 1")


class FactorTooLargeError(ValueError):
    """Exact inference would need a factor above ``max_factor_size``."""

    def __init__(
        self, size: float, features: list[int], limit: int, names: list[str] | None = None
    ):
        self.size, self.features, self.limit = size, features, limit
        labels = [names[i] if names else f"feature {i}" for i in features]
        shown = ", ".join(labels[:12]) + (" …" if len(labels) > 12 else "")
        super().__init__(
            f"summing out the missing values exactly needs a factor of {size:.3g} cells over"
            f" {len(labels)} columns ({shown}), above max_factor_size={limit:,}. Raise"
            " max_factor_size, use a structure with fewer parents, fill in some of these columns,"
            " or set n_draws to estimate the answer by sampling."
        )


def log_joint(
    tables: CPTs, codes: np.ndarray, effort: InferenceOptions | None = None
) -> np.ndarray:
    """Log P(c, x observed) of every row and class, shape ``(n_samples, n_classes)``."""
    return log_joint_and_error(tables, codes, effort)[0]


def log_joint_and_error(
    tables: CPTs, codes: np.ndarray, effort: InferenceOptions | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """The log-joint, and its standard error where rows had to be estimated by draws (``None`` if
    none was).
    """
    effort = effort or InferenceOptions()
    # kernels are compiled for no other order
    codes, n_samples = np.ascontiguousarray(codes), codes.shape[1]
    require_memory(
        16 * n_samples * tables.n_classes,
        f"the probabilities of {n_samples:,} rows and {tables.n_classes:,} classes",
        "take fewer rows at a time (predict_batches)",
    )
    flags = np.zeros(n_samples, np.bool_)
    joint.incomplete_rows(codes, tables.cards, flags)
    if not flags.any():
        return _complete(tables, codes, effort), None
    if tables.structure.is_forest:
        return _on_forest(tables, codes, flags, effort), None
    out = np.empty((n_samples, tables.n_classes))
    whole, incomplete = np.flatnonzero(~flags), np.flatnonzero(flags)
    if whole.size:
        out[whole] = _complete(tables, np.ascontiguousarray(codes[:, whole]), effort)
    out[incomplete], gap_error = _by_elimination(tables, codes, incomplete, effort)
    if gap_error is None:
        return out, None
    error = np.zeros_like(out)
    error[incomplete] = gap_error
    return out, error


def _complete(tables: CPTs | Padded, codes: np.ndarray, effort: InferenceOptions) -> np.ndarray:
    layout = tables.layout
    out = np.empty((codes.shape[1], tables.n_classes))

    def one(block: slice) -> None:
        joint.complete_log_joint(
            codes, block.start, block.stop, layout.offsets, layout.parent_start, layout.parent_index,
            layout.parent_stride, tables.log_prior, tables.log_theta, out[block],
        )  # fmt: skip

    parallel_map(
        one,
        row_blocks(codes.shape[1], 2048),
        effort.n_jobs,
        work=codes.size * (1 + tables.n_classes / 2),
    )
    return out


def _on_forest(
    tables: CPTs, codes: np.ndarray, flags: np.ndarray, effort: InferenceOptions
) -> np.ndarray:
    """Families without a gap from padded tables, as for complete rows; then the gaps of the rows
    that have some.

    Rows whose sums need numbers beyond the range of a double have their gaps summed out on the log
    scale.
    """
    plan, rows = forest_plan(tables), np.flatnonzero(flags)
    out = _complete(plan.padded, codes, effort)

    def one(block: slice) -> None:
        here = rows[block]
        beyond = np.zeros(here.size, np.bool_)
        with np.errstate(divide="ignore"):
            forest.marginalize_missing(
                codes, here, plan.upward, plan.parent, plan.child_start, plan.child_index, tables.cards,
                tables.layout.offsets, plan.starts, tables.smallest, tables.theta, tables.shifts, tables.is_normalized,
                out, beyond,
            )  # fmt: skip
        if beyond.any():
            marginals.add_log_sums(
                codes, here[beyond], plan.downward, plan.parent, plan.child_start, plan.child_index, tables.cards,
                tables.layout.offsets, plan.starts, plan.places, tables.log_theta, out,
            )  # fmt: skip

    work = rows.size * plan.upward.size * tables.n_classes * 10
    parallel_map(one, row_blocks(rows.size, 1024), effort.n_jobs, work=work)
    return out


def _by_elimination(
    tables: CPTs, codes: np.ndarray, rows: np.ndarray, effort: InferenceOptions
) -> tuple[np.ndarray, np.ndarray | None]:
    gaps = group_by_missing(codes, rows, tables.cards)
    result = run_elimination(tables, codes, gaps, elimination.SUM, effort)
    out, error = np.empty_like(result.log_joint), None
    if result.too_large.any():
        error = np.zeros_like(out)
        _estimate(tables, codes, gaps, result, effort, error)
    out[gaps.place] = result.log_joint
    if error is not None:
        error[gaps.place] = error.copy()
    return out, error


@dataclass(frozen=True)
class Eliminated:
    """What elimination gives, in the row order of the groups."""

    log_joint: np.ndarray
    filled: np.ndarray
    classes: np.ndarray
    too_large: np.ndarray


def run_elimination(
    tables: CPTs,
    codes: np.ndarray,
    gaps: MissingPattern,
    mode: int,
    effort: InferenceOptions,
    classes: np.ndarray | None = None,
    uniforms: np.ndarray | None = None,
) -> Eliminated:
    """Eliminate the gaps of every group; in modes ``MAX`` and ``DRAW`` also choose values for
    them.
    """
    layout, n_rows = tables.layout, gaps.rows.size
    codes = np.ascontiguousarray(codes)
    out = np.empty((n_rows, tables.n_classes))
    filled = np.full((n_rows if mode != elimination.SUM else 0, codes.shape[0]), -1, np.int64)
    chosen = np.full(n_rows, -1, np.int64) if classes is None else classes.astype(np.int64)
    draws = np.empty((0, 0)) if uniforms is None else uniforms
    too_large = np.zeros(gaps.n_groups)
    order = np.array(tables.structure.order, np.int64)

    def one(groups: np.ndarray) -> None:
        with np.errstate(divide="ignore"):
            elimination.eliminate_groups(
                codes, gaps.rows, gaps.start, groups, order, tables.cards, layout.offsets, layout.parent_start,
                layout.parent_index, layout.parent_stride, tables.log_prior, tables.log_theta, tables.theta,
                tables.smallest, tables.shifts, tables.is_normalized, float(effort.max_factor_size), mode, draws,
                chosen, filled, out, too_large,
            )  # fmt: skip

    parts = np.array_split(np.arange(gaps.n_groups), min(max(gaps.n_groups, 1), 64))
    work = n_rows * codes.shape[0] * tables.n_classes * 20
    parallel_map(one, parts, effort.n_jobs, work=work)
    if too_large.any() and (mode != elimination.SUM or effort.n_draws is None):
        raise _too_large(tables, codes, gaps, too_large, effort, every=mode != elimination.SUM)
    return Eliminated(out, filled, chosen, too_large)


def _too_large(
    tables: CPTs,
    codes: np.ndarray,
    gaps: MissingPattern,
    too_large: np.ndarray,
    effort: InferenceOptions,
    every: bool,
) -> FactorTooLargeError:
    group = int(too_large.argmax())
    layout = tables.layout
    missing = codes[:, gaps.rows[gaps.start[group]]] >= tables.cards
    needed = _needed(tables, missing, every)
    _, features, cards, _, scope_start, scopes = elimination.make_plan(
        missing, needed, tables.cards, layout.parent_start, layout.parent_index
    )
    sizes = np.empty(scope_start.size - 1)
    elimination.bucket_sizes(scope_start, scopes, cards, tables.n_classes, sizes)
    worst = int(sizes.argmax())
    columns = sorted(features[scopes[scope_start[worst] : scope_start[worst + 1]]].tolist())
    return FactorTooLargeError(float(sizes[worst]), columns, effort.max_factor_size)


def _needed(tables: CPTs, missing: np.ndarray, every: bool) -> np.ndarray:
    layout = tables.layout
    order = np.array(tables.structure.order, np.int64)
    return elimination.relevant_missing(
        missing, order, layout.parent_start, layout.parent_index, tables.is_normalized, every
    )


def _estimate(
    tables: CPTs,
    codes: np.ndarray,
    gaps: MissingPattern,
    result: Eliminated,
    effort: InferenceOptions,
    error: np.ndarray,
) -> None:
    """Estimate by draws the rows of every group that was too large."""
    if not tables.is_normalized:
        raise ValueError(
            "these tables are not normalised, so gaps cannot be drawn from them; raise"
            " max_factor_size instead of setting n_draws"
        )
    layout = tables.layout
    order = np.array(tables.structure.order, np.int64)

    def one(position: int) -> None:
        row = int(gaps.rows[position])
        x = codes[:, row].astype(np.int64)
        missing = x >= tables.cards
        seed = np.uint64((effort.seed * 0x9E3779B97F4A7C15 + row * 0xD1342543DE82EF95 + 1) % 2**64)
        # the generator wraps around, of which plain Python would warn
        with np.errstate(over="ignore"):
            weighting.weighted_log_joint(
                x, missing, _needed(tables, missing, False), order, tables.cards, layout.offsets, layout.parent_start,
                layout.parent_index, layout.parent_stride, tables.log_prior, tables.log_theta, tables.theta,
                int(effort.n_draws or 0), seed, result.log_joint[position], error[position],
            )  # fmt: skip

    large = np.flatnonzero(result.too_large)
    positions = [p for g in large for p in range(gaps.start[g], gaps.start[g + 1])]
    parallel_map(one, positions, effort.n_jobs)


def posterior(log_joint: np.ndarray, fallback: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """P(c | x) from a log-joint, which is overwritten; rows that are impossible in every class get
    ``fallback``.
    """

    def one(block: slice) -> None:
        rows = log_joint[block]
        joint.center_rows(rows, np.empty(rows.shape[0]))
        np.exp(rows, out=rows)
        joint.normalize_rows(rows, fallback)

    parallel_map(one, row_blocks(log_joint.shape[0]), n_jobs, work=log_joint.size * 4)
    return log_joint


def log_marginal(log_joint: np.ndarray) -> np.ndarray:
    """Log P(x observed) from a log-joint: the sum over the classes, on the log scale."""
    rows = log_joint.copy()
    top, total = np.empty(rows.shape[0]), np.empty(rows.shape[0])
    joint.center_rows(rows, top)
    joint.sum_rows(np.exp(rows), total)
    with np.errstate(divide="ignore"):
        return np.where(np.isfinite(top), top + np.log(np.maximum(total, 1e-300)), -np.inf)


def log_partition(tables: CPTs, effort: InferenceOptions | None = None) -> float:
    """The log of the sum of exp(log-joint) over all rows and classes: zero for normalised
    tables.
    """
    if tables.is_normalized:
        return 0.0
    return float(log_marginal(log_joint(tables, blank_rows(tables, 1), effort))[0])


def posterior_error(posterior: np.ndarray, relative: np.ndarray) -> np.ndarray:
    """The standard error of a posterior whose classes have these relative errors (first order,
    classes independent).
    """
    spread = (posterior * relative) ** 2
    others = spread.sum(axis=1, keepdims=True) - spread
    return np.sqrt(((1 - posterior) ** 2) * spread + posterior**2 * others)
