"""Choice of the scale λ of the margin by cross-validation of the whole search."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from discbayes.counts import count
from discbayes.data.domain import Encoded
from discbayes.data.folds import Folds
from discbayes.data.row_blocks import FoldAndClass
from discbayes.data.rows import Rows
from discbayes.engine import Context, Interrupts, parallel_map
from discbayes.inference import InferenceOptions, log_joint
from discbayes.network import CPTs
from discbayes.objectives import ClassificationRate, Margin
from discbayes.scoring.refitting_scorer import without_learner_warnings
from discbayes.search.base import Run

if TYPE_CHECKING:
    from discbayes.search.sampled import SampleSearch

SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
N_FOLDS = 5
# cells of the data up to which searches run side by side, each with memory of its own
SMALL = 2_000_000
TIE = 1e-9  # rates that differ by less are equal


@dataclass(frozen=True)
class _Trial:
    """The weight of a fold that is classified correctly after a search on the other folds."""

    right: float
    evaluations: int


def tuned_margin(search: SampleSearch, run: Run) -> Margin:
    """Return the margin with the λ of the best held-out accuracy of the search.

    Of equal ones it is the smallest. Each row is held out once; the folds are stratified, and equal
    for all λ. With one class, or too few rows for the folds, it is the default.
    """
    if not _can_be_tuned(
        run.data.map_reduce(_class_rows, add, n_jobs=run.n_jobs), search.evaluation
    ):
        return Margin()
    run.context.progress.stage("margin: λ by cross-validation")
    rng = run.rng.spawn(1)[0]  # the search after this draws the same numbers as with a given λ
    rows = _FoldedRows(run.data, rng, run.n_jobs)
    seed = int(rng.integers(2**63))
    # a search that trains has threads of its own
    aside = rows.are_few and not search._score().refits

    def trial(what: tuple[float, int]) -> _Trial:
        run.check()
        with run.one_of_several():
            return _try(search, run, rows, *what, seed, 1 if aside else run.n_jobs)

    jobs = list(product(SCALES, range(N_FOLDS)))
    with without_learner_warnings():
        trials = parallel_map(trial, jobs, run.n_jobs if aside else 1)
    right = np.array([trial.right for trial in trials]).reshape(len(SCALES), N_FOLDS).sum(axis=1)
    rates = right / run.counts.class_count.sum()
    chosen = int(np.flatnonzero(rates >= rates.max() - TIE)[0])
    run.step(
        None, rates[chosen], sum(trial.evaluations for trial in trials), stage="lambda",
        lam=SCALES[chosen], rates=dict(zip(SCALES, rates.tolist(), strict=True)),
    )  # fmt: skip
    return Margin(SCALES[chosen])


def _class_rows(data: Encoded, n_jobs: int | None) -> np.ndarray:
    """Count the rows of each class in a block, without those of weight zero."""
    counted = None if data.weight is None else (data.weight != 0).astype(float)
    return np.bincount(data.classes, counted, minlength=data.n_classes)


def _can_be_tuned(class_rows: np.ndarray, evaluation: Any) -> bool:
    """Return whether all folds have rows, and enough of them for the folds of the score."""
    n = int(class_rows.sum())
    inner = 1 if isinstance(evaluation, str) else int(evaluation)
    return n >= N_FOLDS and n - -(-n // N_FOLDS) >= inner and int(np.count_nonzero(class_rows)) > 1


class _FoldedRows:
    """Rows with a weight above zero, and their folds."""

    def __init__(self, data: Rows, rng: np.random.Generator, n_jobs: int | None):
        self._data = data.without_zero_weights()
        self._folds = Folds.draw(self._data, N_FOLDS, rng, n_jobs)
        self._by_fold = self._data.changed(FoldAndClass(self._folds))

    @property
    def are_few(self) -> bool:
        """Whether several searches may run at the same time."""
        data = self._data
        return data.n_blocks == 1 and data.n_features * data.n_samples <= SMALL

    def rest(self, fold: int) -> Rows:
        """Return the rows of all other folds."""
        return self._data.without_fold(self._folds, fold)

    def right(self, tables: CPTs, fold: int, n_jobs: int | None) -> float:
        """Return the weight of the rows of a fold that are classified correctly."""
        return float(self._by_fold.map_reduce(_right_in, add, (tables, fold), n_jobs))


def _right_in(data: Encoded, n_jobs: int | None, tables: CPTs, fold: int) -> float:
    """Return that weight for a block whose class codes stand for fold and class."""
    folds, y = np.divmod(data.classes, tables.n_classes)
    held_out = replace(data, y=y).take(folds == fold)
    scores = log_joint(tables, held_out.codes, InferenceOptions(n_jobs=n_jobs))
    return ClassificationRate().value(scores, held_out.classes, held_out.weight)


def _try(
    search: SampleSearch,
    run: Run,
    rows: _FoldedRows,
    lam: float,
    fold: int,
    seed: int,
    n_jobs: int | None,
) -> _Trial:
    settings = {
        **search.get_params(deep=False),
        "score": Margin(lam),
        "random_state": seed,
        "callback": None,
    }
    again, rest = type(search)(**settings), rows.rest(fold)
    context, counts = (
        Context(np.random.default_rng(seed), n_jobs, interrupts=Interrupts(0)),
        count(rest, n_jobs),
    )
    inner = Run(again, rest, counts, context, outer=run)
    again._search(inner)  # not learn: when the time is over the whole run ends, not this search
    tables = again._score().parameters.learn(rest, counts, inner.structure, context)
    return _Trial(rows.right(tables, fold, n_jobs), inner.evaluations)
