"""The log-joint of rows, their missing values marginalized exactly, and the posterior it gives.

Everything here works on codes (see ``discbayes.data.domain``) and returns one row per sample. The
rows decide how a log-joint is computed: complete rows add up their cells; on forests one upward
pass of messages marginalizes the missing values; elsewhere variable elimination does (``exact``);
beyond the limit of exact inference, importance sampling estimates it (``sampling``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discbayes._memory import require_memory
from discbayes._settings import is_integer, require_integer
from discbayes.engine import parallel_map, row_blocks
from discbayes.inference.exact import CELLS_PER_SECOND, add_missing, largest_component
from discbayes.inference.plans import blank_rows, network_plan
from discbayes.inference.sampling import estimate_rows
from discbayes.kernels import forest, joint, marginals
from discbayes.network import CPTs, Layout

MAX_CELLS = 100_000_000
ESTIMATE, RAISE = BEYOND = ("estimate", "raise")
MIN_POSTERIOR_ERROR = 1e-6


@dataclass(frozen=True)
class InferenceOptions:
    """The limits of exact inference, and what happens beyond them.

    Parameters
    ----------
    max_cells : int
        Cells that marginalizing the missing values of a row may compute; a thousand million take
        about a second.
    beyond_max_cells : "raise", "estimate" or int
        Rows that need more are an error, or are estimated by importance sampling: with a warning,
        or by this number of draws for each class, with a warning where that is not reliable.
    seed : int
        Seed of the draws.
    n_jobs : int or None
        Number of threads.
    """

    max_cells: int = MAX_CELLS
    beyond_max_cells: str | int = RAISE
    seed: int = 0
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        require_integer("max_cells", self.max_cells, 1)
        beyond = self.beyond_max_cells
        if not is_integer(beyond, 1) and not (isinstance(beyond, str) and beyond in BEYOND):
            raise ValueError(
                f'beyond_max_cells={beyond!r} must be "estimate", "raise", or a whole number of'
                " draws of at least 1"
            )

    @property
    def n_draws(self) -> int | None:
        """The number of draws that was asked for; None for the default number."""
        return None if isinstance(self.beyond_max_cells, str) else int(self.beyond_max_cells)


class TooManyCellsError(ValueError):
    """Marginalizing the missing values of a row exactly would need more than ``max_cells`` cells.

    Parameters
    ----------
    size : float
        Cells that the row needs.
    features : list of int
        Positions of the missing features that cost most together.
    limit : int
        The number of cells allowed.
    names : list of str, optional
        Names of all features, for the message.

    Examples
    --------
    >>> from discbayes import TooManyCellsError
    >>> print(TooManyCellsError(2e9, [0, 2], 1000, ["a", "b", "c"]))
    marginalizing the missing values exactly needs 2e+09 cells, about 2 seconds, over 2 columns...
    """

    def __init__(
        self, size: float, features: list[int], limit: int, names: list[str] | None = None
    ):
        self.size = size
        self.features = features
        self.limit = limit
        labels = [names[i] if names else f"feature {i}" for i in features]
        shown = ", ".join(labels[:12]) + (" …" if len(labels) > 12 else "")
        super().__init__(
            f"marginalizing the missing values exactly needs {size:.3g} cells, about"
            f" {max(size / CELLS_PER_SECOND, 0.001):.2g} seconds, over {len(labels)} columns"
            f" ({shown}), above max_cells={limit:,}. Raise max_cells, use a structure with fewer"
            " parents, fill in some of these columns, or set beyond_max_cells='estimate' to"
            " estimate the answer by sampling."
        )


def log_joint(
    cpts: CPTs,
    codes: np.ndarray,
    options: InferenceOptions | None = None,
    error: np.ndarray | None = None,
) -> np.ndarray:
    """Return log P(c, observed values) of every row and class, shape ``(n_samples, n_classes)``.

    Parameters
    ----------
    cpts : CPTs
        The structure and the tables.
    codes : array of shape (n_features, n_samples)
        Codes of the rows; a code of at least ``cards[i]`` is a missing value of feature ``i``.
    options : InferenceOptions, optional
        Limits of exact inference, and threads.
    error : array of shape (n_samples, n_classes), optional
        The relative standard errors of rows that are estimated by draws are written there; the
        others are left as they are.

    Returns
    -------
    array of shape (n_samples, n_classes)
        The log-joint.
    """
    options = options or InferenceOptions()
    codes = np.ascontiguousarray(codes)  # kernels are compiled for this order only
    n_samples = codes.shape[1]
    require_memory(
        16 * n_samples * cpts.n_classes,
        f"the probabilities of {n_samples:,} rows and {cpts.n_classes:,} classes",
        "take fewer rows at a time (predict_batches)",
    )
    incomplete = np.zeros(n_samples, np.bool_)
    if not joint.incomplete_rows(codes, cpts.cards, incomplete):
        states = cpts.layout.parent_codes(codes)
        return _add_cells(cpts.layout, cpts.log_prior, cpts.log_theta, codes, states, options)
    rows = np.flatnonzero(incomplete)
    if cpts.structure.is_forest:
        return _pass_messages(cpts, codes, rows, options)
    out = observed_sums(cpts, codes, options.n_jobs)
    oversized = add_missing(cpts, codes, rows, options.max_cells, options.n_jobs, out)
    if oversized.rows.size and options.beyond_max_cells == RAISE:
        worst = int(oversized.cells.argmax())
        row = oversized.rows[worst]
        features, _ = largest_component(cpts, codes[:, row : row + 1])
        raise TooManyCellsError(float(oversized.cells[worst]), features, options.max_cells)
    if oversized.rows.size:
        estimate_rows(
            cpts, codes, oversized.rows, options.max_cells, options.n_draws, options.seed,
            options.n_jobs, out, error,
        )  # fmt: skip
    return out


def observed_sums(cpts: CPTs, codes: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Return the sum of the prior and of the families without a missing value, of all rows."""
    plan = network_plan(cpts)
    n_samples = codes.shape[1]
    states = cpts.layout.parent_codes(codes)
    out = np.empty((n_samples, cpts.n_classes))

    def one(block: slice) -> None:
        joint.observed_log_joint(
            codes, states, block.start, block.stop, plan.layout, plan.cpts.log_prior,
            plan.cpts.log_theta, out[block],
        )  # fmt: skip

    work = codes.size * (1 + cpts.n_classes / 2)
    parallel_map(one, row_blocks(n_samples, 2048), n_jobs, work=work)
    return out


def _add_cells(
    layout: Layout,
    log_prior: np.ndarray,
    log_theta: np.ndarray,
    codes: np.ndarray,
    states: np.ndarray,
    options: InferenceOptions,
) -> np.ndarray:
    """Return the log-joint of complete rows: the prior, and one cell of each table."""
    n_samples, n_classes = codes.shape[1], layout.n_classes
    out = np.empty((n_samples, n_classes))

    def one(block: slice) -> None:
        joint.complete_log_joint(
            codes, states, block.start, block.stop, layout.offsets, layout.parent_start,
            layout.parent_index, layout.parent_stride, log_prior, log_theta, out[block],
        )  # fmt: skip

    work = codes.size * (1 + n_classes / 2)
    parallel_map(one, row_blocks(n_samples, 2048), options.n_jobs, work=work)
    return out


def _pass_messages(
    cpts: CPTs, codes: np.ndarray, rows: np.ndarray, options: InferenceOptions
) -> np.ndarray:
    """Return the log-joint on a forest; ``rows`` have missing values.

    Padded tables give the families without a missing value, as for complete rows. Messages add the
    others; where they need numbers beyond the range of a double, on the log scale.
    """
    plan = network_plan(cpts)
    tree = plan.forest
    assert tree is not None
    states = cpts.layout.parent_codes(codes)
    out = _add_cells(tree.padded, cpts.log_prior, tree.padded_log_theta, codes, states, options)

    def one(block: slice) -> None:
        here = rows[block]
        beyond = np.zeros(here.size, np.bool_)
        with np.errstate(divide="ignore"):
            forest.marginalize_missing(codes, states, here, tree.arrays, tree.tables, out, beyond)
        if beyond.any():
            marginals.add_log_sums(codes, states, here[beyond], tree.arrays, tree.logs, out)

    work = rows.size * tree.arrays.upward.size * cpts.n_classes * 10
    parallel_map(one, row_blocks(rows.size, 1024), options.n_jobs, work=work)
    return out


def posterior(log_joint: np.ndarray, fallback: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """Return P(c | x) from a log-joint, which is overwritten.

    Rows that are impossible in every class get ``fallback``.
    """

    def one(block: slice) -> None:
        rows = log_joint[block]
        joint.center_rows(rows, np.empty(rows.shape[0]))
        np.exp(rows, out=rows)
        joint.normalize_rows(rows, fallback)

    parallel_map(one, row_blocks(log_joint.shape[0]), n_jobs, work=log_joint.size * 4)
    return log_joint


def log_marginal(log_joint: np.ndarray) -> np.ndarray:
    """Return log P(observed values) from a log-joint: its sum over the classes, as logarithm."""
    rows = log_joint.copy()
    top = np.empty(rows.shape[0])
    total = np.empty(rows.shape[0])
    joint.center_rows(rows, top)
    joint.sum_rows(np.exp(rows), total)
    with np.errstate(divide="ignore"):
        return np.where(np.isfinite(top), top + np.log(np.maximum(total, 1e-300)), -np.inf)


def log_partition(cpts: CPTs, options: InferenceOptions | None = None) -> float:
    """Return the log of the sum of exp(log-joint) over all rows and classes.

    It is zero for normalized tables.
    """
    if cpts.is_normalized:
        return 0.0
    return float(log_marginal(log_joint(cpts, blank_rows(cpts, 1), options))[0])


def posterior_error(posterior: np.ndarray, relative: np.ndarray) -> np.ndarray:
    """Return the standard error of a posterior, given the relative errors of the joint.

    First order, with classes taken as independent. An estimate states no error below
    ``MIN_POSTERIOR_ERROR``: classes of almost no probability can be off by more than their draws
    show, as these may have missed what little there is. Rows without any error are exact.
    """
    variance = (posterior * relative) ** 2
    others = variance.sum(axis=1, keepdims=True) - variance
    least = np.where(relative.any(axis=1, keepdims=True), MIN_POSTERIOR_ERROR**2, 0.0)
    return np.sqrt((1 - posterior) ** 2 * variance + posterior**2 * others + least)
