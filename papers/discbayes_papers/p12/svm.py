"""The support vector machine with a Gaussian kernel that P12 compares with."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from time import perf_counter

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from discbayes.data import Encoded
from discbayes.evaluation.result_store import Result
from discbayes.evaluation.tasks import Task
from discbayes_papers.p12.shared import N_SPLITS, QUICK, SETS, p12_part
from discbayes_papers.parts import stratified_sample

SVM = "SVM"
MAX_TRAIN, MAX_CHOOSING, N_FOLDS = 10_000, 2_000, 3
# P12 has C = 1 and γ of 0.005, 0.01 and 0.05
GRID = {"svc__C": (1.0, 10.0), "svc__gamma": (0.005, 0.01, 0.02, 0.05)}


def svm_tasks(quick: bool) -> list[Task]:
    """One machine for each split."""
    names = (QUICK,) if quick else SETS
    return [
        Task(name, fold, (SVM,), 0, support_vectors)
        for name in names
        for fold in range(N_SPLITS.get(name, 1))
    ]


def support_vectors(task: Task) -> Iterator[Result]:
    """Accuracy, the number of support vectors, and the numbers in them."""
    part, started = p12_part(task.data, task.fold), perf_counter()
    machine = fit_machine(task.data, task.fold)
    seconds = perf_counter() - started
    found = machine[-1]
    figures = {
        "accuracy": float((machine.predict(part.test_codes.T) == part.test_y).mean()),
        "n_test": part.n_test,
        "support_vectors": len(found.support_),
        "parameters": found.support_vectors_.size,
        "C": found.C,
        "gamma": found.gamma,
    }
    yield task.result(SVM, figures, seconds)


@lru_cache(maxsize=1)
def fit_machine(name: str, fold: int) -> Pipeline:
    """A scaler and a machine that take codes, with C and γ by cross-validation."""
    data = p12_part(name, fold).data
    few, machine = _some(data, MAX_CHOOSING), make_pipeline(StandardScaler(), SVC())
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    search = GridSearchCV(machine, GRID, cv=folds, refit=False).fit(few.codes.T, few.classes)
    most = _some(data, MAX_TRAIN)
    return machine.set_params(**search.best_params_).fit(most.codes.T, most.classes)


def _some(data: Encoded, most: int) -> Encoded:
    """The rows, or a stratified sample if there are more than so many."""
    if data.n_samples <= most:
        return data
    return data.take(stratified_sample(data.classes, most, np.random.default_rng(0)))
