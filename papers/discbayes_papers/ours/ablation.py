"""Each part of the default left out in turn: what does it contribute?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from discbayes import (
    KDB,
    BayesNetClassifier,
    EqualFrequencyDiscretizer,
    HierarchicalSmoothing,
    LevelWeightedCCBN,
    TwoResolutionDiscretizer,
)
from discbayes.calibration import POOL_EXPONENT
from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.statistics import win_draw_loss
from discbayes.evaluation.tasks import Task
from discbayes.parameters.hierarchical import BackoffLevels
from discbayes_papers.experiment import Experiment
from discbayes_papers.ours import scenarios
from discbayes_papers.ours.contenders import Contender
from discbayes_papers.ours.manifest import DEVELOPMENT
from discbayes_papers.ours.scenarios import SCENARIOS, Figures, key

JUDGED_IN = ("complete", "mcar-30")
QUICK = ("cleve", "german")
N_FOLDS_RUN = 2  # of the five: a fold of all variants takes minutes
CHOOSING = "discbayes.classifier.choosing"
LEVELS = "discbayes.parameters.level_weights"


class ChangedDefault:
    """The default with other settings, or with parts of it replaced while it is fitted.

    Parts are replaced by the place where they are looked up.
    """

    def __init__(self, replaced: Mapping[str, Any], settings: Mapping[str, Any]):
        self._replaced = replaced
        self._classifier = BayesNetClassifier(n_jobs=1, random_state=0, **settings)

    def fit(self, X: Any, y: Any) -> ChangedDefault:
        """Fit with the parts replaced."""
        with ExitStack() as replacements:
            for place, part in self._replaced.items():
                replacements.enter_context(patch(place, part))
            self._classifier.fit(X, y)
        self.classes_ = self._classifier.classes_
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes."""
        return self._classifier.predict_proba(X)


def _changed(name: str, replaced: Mapping[str, Any] | None = None, **settings: Any) -> Contender:
    return Contender(name, partial(ChangedDefault, replaced or {}, settings), ours=True)


class _OptimisticSmoothing(HierarchicalSmoothing):
    """Levels that rows read with themselves in the counts."""

    def levels(self, *arguments: Any, **options: Any) -> BackoffLevels:
        """Learn levels that do not change if a row is left out."""
        found = super().levels(*arguments, **options)
        return replace(found, left_out=[np.zeros_like(change) for change in found.left_out])


def _with_shared_weights(**settings: Any) -> LevelWeightedCCBN:
    return LevelWeightedCCBN(**settings).set_params(weight_penalty=1e9)


def _unsmoothed(bandwidth: str) -> dict[str, Any]:
    settings: dict[str, Any] = {bandwidth: 0.0}
    smoothing = partial(HierarchicalSmoothing, **settings)
    return {
        f"{CHOOSING}.LevelWeightedCCBN": partial(LevelWeightedCCBN, **settings),
        f"{CHOOSING}.HierarchicalSmoothing": smoothing,
        "discbayes.classifier.fitting.HierarchicalSmoothing": smoothing,
    }


DEFAULT = "default"
VARIANTS = {
    DEFAULT: _changed("the default"),
    "no-edges": _changed("no edges", structure="nb"),
    "one-parent": _changed("one parent at most", structure=KDB(1, score="loo", selective=True)),
    "generative": _changed(
        "all weights one (generative)",
        structure=KDB(2, score="loo", selective=True),
        parameters="hierarchy",
        discretizer=TwoResolutionDiscretizer(min_states=8),
        missing="available",
        calibrate="temperature",
    ),
    "shared-weights": _changed(
        "weights that all features share only",
        {f"{CHOOSING}.LevelWeightedCCBN": _with_shared_weights},
    ),
    "no-free": _changed("no free parameters", {f"{CHOOSING}.PENALTIES": ()}),
    "optimistic": _changed(
        "levels not read leave-one-out", {f"{LEVELS}.HierarchicalSmoothing": _OptimisticSmoothing}
    ),
    "unsmoothed": _changed("no smoothing over neighboring intervals", _unsmoothed("bandwidth")),
    "alone": _changed(
        "parents' intervals without the counts of those beside them",
        _unsmoothed("parent_bandwidth"),
    ),
    "quantiles": _changed(
        "coarse intervals: eight quantiles", discretizer=TwoResolutionDiscretizer(8)
    ),
    "mdlp": _changed("one resolution: MDLP", discretizer="mdlp"),
    "ef8": _changed("one resolution: eight quantiles", discretizer=EqualFrequencyDiscretizer(8)),
    "no-pool": _changed("no pool with generative estimates", calibrate="temperature"),
    "fixed-exponent": _changed(
        "exponent of the pool not learned", {"discbayes.calibration.EXPONENTS": (POOL_EXPONENT,)}
    ),
    "marginalized": _changed("missing values never evidence", missing="available"),
    "evidence": _changed("missing values always evidence", missing="value"),
}


# ---- running


def tasks(quick: bool) -> list[Task]:
    """One variant on one fold in each task, the small data sets first."""
    return [
        Task(name, fold, tuple(key(variant, scenario) for scenario in JUDGED_IN), 0, judged)
        for fold in range(1 if quick else N_FOLDS_RUN)
        for name in (QUICK if quick else DEVELOPMENT)
        for variant in VARIANTS
    ]


def judged(task: Task) -> Iterator[Result]:
    """The figures of a variant on a fold."""
    return scenarios.figures_of(task, VARIANTS)


# ---- the page


def page(store: Store) -> list[Block]:
    """How much worse the default is without each of its parts, scenario by scenario."""
    blocks: list[Block] = [
        _differences(found, scenario, names, n_folds)
        for scenario in JUDGED_IN
        for found, names, n_folds in [_of_most_sets(store, scenario)]
        if len(names) > 1
    ]
    return blocks or [Text("There are no data sets yet on which all variants were run.")]


def _of_most_sets(store: Store, scenario: str) -> tuple[Figures, list[str], int]:
    """The results of so many folds that all variants have on the most data sets."""
    recipes = [key(variant, scenario) for variant in VARIANTS]
    tried = []
    for n_folds in range(1, N_FOLDS_RUN + 1):
        found = Figures([result for result in store if result.fold < n_folds])
        tried.append((found, found.complete_sets(recipes, n_folds), n_folds))
    return max(tried, key=lambda each: (len(each[1]), each[2]))


def _differences(found: Figures, scenario: str, names: Sequence[str], n_folds: int) -> ResultTable:
    tables = {
        metric: found.table(metric, scenario, names, list(VARIANTS))
        for metric in ("accuracy", "log_loss")
    }
    rows = []
    for at, variant in enumerate(VARIANTS.values()):
        accuracy, loss = tables["accuracy"][:, at], tables["log_loss"][:, at]
        cells = [f"{100 * accuracy.mean():.2f}", f"{loss.mean():.4f}", "", ""]
        if at:
            away = 100 * (accuracy - tables["accuracy"][:, 0]).mean()
            cells[0] = f"{away:+.2f}"
            cells[1] = f"{(loss - tables['log_loss'][:, 0]).mean():+.4f}"
            cells[2:] = [_wins(tables[metric], at, metric == "accuracy") for metric in tables]
        rows.append([variant.name, *cells])
    header = ["left out or changed", "accuracy", "log loss", "wins, accuracy", "wins, log loss"]
    note = (
        f"Means over {len(names)} data sets of development ({', '.join(names)}), fold"
        f" {' and '.join(map(str, range(1, n_folds + 1)))} of five: of the default as they are, of"
        " the variants as differences to it. Wins, draws and losses of the default, and the p of"
        " the sign test."
    )
    return ResultTable(SCENARIOS[scenario].title, header, rows, note)


def _wins(table: np.ndarray, variant: int, larger_is_better: bool) -> str:
    test = win_draw_loss(table[:, 0], table[:, variant], larger_is_better=larger_is_better)
    return f"{test.wins}/{test.draws}/{test.losses} ({test.p:.2g})"


EXPERIMENT = Experiment(
    name="ablation",
    paper="ours",
    where="",
    title="Each part of the default left out in turn",
    tasks=tasks,
    page=page,
    metrics=scenarios.METRICS,
)
