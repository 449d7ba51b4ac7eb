"""The scale λ of the margin, chosen by cross-validation of the whole search."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from discbayes.counts import count
from discbayes.data.domain import Encoded
from discbayes.data.folds import stratified_folds
from discbayes.engine import Context, parallel_map
from discbayes.inference import Effort, log_joint
from discbayes.objectives import ClassificationRate, Margin
from discbayes.scores.trained import quietly
from discbayes.search.base import Run

if TYPE_CHECKING:
    from discbayes.search.sampled import SampleSearch

SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
N_FOLDS = 5
SMALL = 2_000_000  # cells of the data up to which searches run side by side, each with memory of its own
TIE = 1e-9  # rates that differ by less are equal


@dataclass(frozen=True)
class _Trial:
    """How much weight of a fold is classified right after a search with λ on the others, and what that took."""

    right: float
    evaluations: int


def tuned_margin(search: SampleSearch, run: Run) -> Margin:
    """The margin with the λ under which the search classifies most of the rows that are held out right.

    Of equal ones it is the smallest. Each row is held out once; the rows are in stratified folds, the same for all λ.
    Where cross-validation says nothing, with one class or with too few rows for the folds, it is the default.
    """
    data = run.data if run.data.weight is None else run.data.take(run.data.weight != 0)
    if not _can_be_tuned(data, search.evaluation):
        return Margin()
    run.context.progress.stage("margin: λ by cross-validation")
    rng = run.rng.spawn(1)[0]  # so that the search goes on as if λ had been given
    folds = stratified_folds(data.classes, N_FOLDS, rng)
    seed = int(rng.integers(2**63))
    aside = data.codes.size <= SMALL and not search._score().trained  # a search that trains has threads of its own

    def trial(what: tuple[float, int]) -> _Trial:
        run.check()
        with run.one_of_several():
            return _try(search, run, data, folds == what[1], what[0], seed, 1 if aside else run.n_jobs)

    jobs = list(product(SCALES, range(N_FOLDS)))
    with quietly():
        trials = parallel_map(trial, jobs, run.n_jobs if aside else 1)
    right = np.array([trial.right for trial in trials]).reshape(len(SCALES), N_FOLDS).sum(axis=1)
    rates = right / (data.n_samples if data.weight is None else data.weight.sum())
    chosen = int(np.flatnonzero(rates >= rates.max() - TIE)[0])
    run.step(
        None, rates[chosen], sum(trial.evaluations for trial in trials), stage="lambda", lam=SCALES[chosen],
        rates=dict(zip(SCALES, rates.tolist(), strict=True)),
    )  # fmt: skip
    return Margin(SCALES[chosen])


def _can_be_tuned(data: Encoded, evaluation: Any) -> bool:
    """Whether all folds have rows, and the score its own folds among the rest of them."""
    n = data.n_samples
    inner = 1 if isinstance(evaluation, str) else int(evaluation)
    return n >= N_FOLDS and n - -(-n // N_FOLDS) >= inner and len(set(data.classes.tolist())) > 1


def _try(
    search: SampleSearch, run: Run, data: Encoded, held_out: np.ndarray, lam: float, seed: int, n_jobs: int | None
) -> _Trial:
    rest, test = data.take(~held_out), data.take(held_out)
    settings = {**search.get_params(deep=False), "score": Margin(lam), "random_state": seed, "callback": None}
    again = type(search)(**settings)
    context, counts = Context(np.random.default_rng(seed), n_jobs), count(rest, n_jobs)
    inner = Run(again, rest, counts, context, outer=run)
    again._search(inner)  # not learn: when the time is over the whole run ends, not this search
    tables = again._score().parameters.learn(rest, counts, inner.structure, context)
    scores = log_joint(tables, test.codes, Effort(n_jobs=n_jobs))
    right = ClassificationRate().value(scores, test.classes, test.weight)
    return _Trial(right, inner.evaluations)
