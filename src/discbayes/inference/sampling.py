"""Estimates of the log-joint by importance sampling, for rows beyond the limit of exact inference.

``kernels.importance`` has the method. An estimate comes with its standard error, by class, and with
a warning: one for a call, which names the number of rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np

from discbayes._text import count_of
from discbayes.engine import parallel_map
from discbayes.inference.plans import network_plan, restrict_to_row
from discbayes.kernels import importance
from discbayes.kernels.elimination_plan import relevant_features
from discbayes.network import CPTs

N_DRAWS = 500  # for each class: with the mini-buckets, a row takes about a tenth of a second
MAX_MINI_BUCKET = 20_000  # values of the features of one mini-bucket
# cells of features that depend on each other, up to which they are exact beside those that are not
MAX_EXACT_CELLS = 4_000_000
# a class whose log-joint is further below the largest one has hardly a part in the posterior
MAX_DISTANCE = 10.0


class _Estimated(NamedTuple):
    """The numbers that a warning names."""

    n_rows: int
    n_unreliable: int
    max_cells: int
    n_draws: int | None


_collected: ContextVar[list[_Estimated] | None] = ContextVar("_collected", default=None)


class EstimateWarning(UserWarning):
    """Warning that predictions are estimates, with a standard error, or not reliable.

    It is a ``UserWarning`` of its own so that it can be silenced alone:
    ``warnings.simplefilter("ignore", discbayes.EstimateWarning)``.

    Examples
    --------
    >>> issubclass(EstimateWarning, UserWarning)
    True
    """


def estimate_rows(
    cpts: CPTs,
    codes: np.ndarray,
    rows: np.ndarray,
    max_cells: int,
    n_draws: int | None,
    seed: int,
    n_jobs: int | None,
    out: np.ndarray,
    error: np.ndarray | None,
) -> None:
    """Write the log-joint of the given rows to ``out``, and the relative standard errors.

    The draws of a row depend on its values and on ``seed``: neither other rows nor threads change
    them. ``n_draws`` is None for the default; who asks for a number knows that it is an estimate,
    and is warned where it is not reliable only. Features with two resolutions are drawn by state,
    in the network of what agrees with the row.
    """
    relative = np.zeros_like(out) if error is None else error
    effective = np.empty(out.shape)
    limits = np.array(
        [
            min(MAX_MINI_BUCKET, max(1, max_cells // cpts.n_classes)),
            min(MAX_EXACT_CELLS, max_cells),
        ],
        float,
    )

    def one(row: int) -> None:
        x, cards = codes[:, row], cpts.cards
        plan = network_plan(cpts)
        if cpts.layout.states is not None:
            restricted = restrict_to_row(cpts, x)
            x, cards = np.where(x < cards, 0, restricted.cards), restricted.cards
            plan = network_plan(restricted)
        # of a feature with one value nothing is unknown
        x = np.where(cards == 1, 0, x).astype(np.int64)
        missing = x >= cards
        needed = relevant_features(missing, plan.layout, not cpts.is_normalized)
        estimate = importance.Estimate(out[row], relative[row], effective[row])
        # the generator wraps around, of which plain Python would warn
        with np.errstate(over="ignore"):
            importance.estimate_row(
                x, missing, needed, plan.layout, plan.cpts, limits, n_draws or N_DRAWS,
                np.uint64(seed), estimate,
            )  # fmt: skip

    parallel_map(one, rows.tolist(), n_jobs)
    near = out[rows] >= out[rows].max(axis=1, keepdims=True) - MAX_DISTANCE
    few = (near & (effective[rows] < importance.FEW_DRAWS)).any(axis=1)
    with one_warning():
        collected = _collected.get()
        assert collected is not None
        collected.append(_Estimated(rows.size, int(few.sum()), max_cells, n_draws))


@contextmanager
def one_warning() -> Iterator[None]:
    """Give one warning for all estimates within, at the end of the outermost such context."""
    if _collected.get() is not None:
        yield
        return
    collected: list[_Estimated] = []
    token = _collected.set(collected)
    try:
        yield
    finally:
        _collected.reset(token)
    if collected:
        _warn(collected)


def _warn(collected: list[_Estimated]) -> None:
    n_rows = sum(one.n_rows for one in collected)
    n_unreliable = sum(one.n_unreliable for one in collected)
    max_cells, n_draws = collected[0].max_cells, collected[0].n_draws
    if n_draws is not None and not n_unreliable:
        return
    steps = " (of all steps together)" if len(collected) > 1 else ""
    text = (
        f"{count_of(n_rows, 'row')}{steps} would need more than max_cells={max_cells:,} to"
        " marginalize the missing values exactly; their probabilities are estimates by"
        f" importance sampling ({n_draws or N_DRAWS:,} draws for each class)"
    )
    if n_unreliable:
        text += (
            f", not reliable in {count_of(n_unreliable, 'row')} (fewer than"
            f" {importance.FEW_DRAWS:.0f} effective draws)"
        )
    text += (
        ". A larger max_cells makes them exact, and a number of draws as beyond_max_cells more"
        " precise; beyond_max_cells='raise' refuses such rows"
    )
    warnings.warn(text, EstimateWarning, stacklevel=2)
