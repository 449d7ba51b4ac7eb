"""The pieces of a comparison: one method on one fold of one table.

The table is written to a file once, and every process reads it from there; numbers are mapped, not
copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import quote

import joblib
import numpy as np

from discbayes._files import replace_file
from discbayes.data.table import Table
from discbayes.evaluation.judging import Judged, estimator_of, judge, warm_up
from discbayes.evaluation.missing_masks import cell_masks
from discbayes.evaluation.result_store import Result
from discbayes.evaluation.tasks import Task

LONGEST_NOTE = 300
FAILED = "failed: "


@dataclass(frozen=True, eq=False)
class Setup:
    """The inputs that all methods share: rows, classes, folds, percentages of missing cells."""

    table: Table
    y: np.ndarray
    classes: np.ndarray
    folds: np.ndarray
    missing: tuple[int, ...]
    categorical: Any
    seed: int

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return int(self.folds.max()) + 1

    def split(self, fold: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the training and the test rows of a fold."""
        return np.flatnonzero(self.folds != fold), np.flatnonzero(self.folds == fold)

    def masks(self, fold: int) -> dict[int, np.ndarray]:
        """Return which cells of the test rows to remove, by the percentage."""
        shape = int(np.count_nonzero(self.folds == fold)), len(self.table.names)
        # of the fold, so that all methods lose the same cells
        rng = np.random.default_rng([self.seed, 1 + fold])
        return dict(zip(self.missing, cell_masks(shape, self.missing, rng), strict=True))


@lru_cache(maxsize=1)
def load_setup(path: str, fingerprint: str) -> Setup:
    """Read a setup; the fingerprint keeps it apart from an earlier file at the same path."""
    return joblib.load(path, mmap_mode="r")


def posterior_file(folder: str | Path, fold: int, method: str) -> Path:
    """Return the path of the posterior of a cell."""
    return Path(folder) / f"{fold}-{quote(method, safe='+= ')}.npy"


def run_cell(task: Task) -> Iterator[Result]:
    """Fit a method to the training rows of a fold and evaluate it; errors become its note.

    Options of the task: ``path`` and ``fingerprint`` of the setup, and the folder ``posterior``.
    """
    (method,) = task.recipes
    setup = load_setup(task.options["path"], task.options["fingerprint"])
    started = perf_counter()
    try:
        found, classes, n_rows = _judged(setup, task.fold, method)
    except Exception as error:  # of whatever kind: the other methods go on
        note = f"{FAILED}{type(error).__name__}: {error}"
        yield task.result(method, {}, perf_counter() - started, _shortened(note))
        return
    _keep_posterior(
        posterior_file(task.options["posterior"], task.fold, method), setup, classes, found.shares
    )
    figures = found.figures | {"n_train": n_rows}
    yield task.result(method, figures, perf_counter() - started, _shortened(found.warned))


def _judged(setup: Setup, fold: int, method: str) -> tuple[Judged, np.ndarray, int]:
    """Return the metrics, the classes of the fitted method, and the number of training rows."""
    train, test = setup.split(fold)
    _warm_up(method, setup.seed, bool(setup.table.missing_mask().any()))
    estimator = estimator_of(method, setup.seed).set_params(categorical=setup.categorical)
    rows = setup.table.take(test)
    masked = {share: rows.with_missing(mask) for share, mask in setup.masks(fold).items()}
    found = judge(estimator, setup.table, setup.y, train, test, masked)
    return found, estimator.classes_, getattr(estimator, "n_rows_", train.size)


@cache
def _warm_up(method: str, seed: int, with_missing: bool) -> None:
    with suppress(Exception):  # the folds report what is wrong with the method
        warm_up(estimator_of(method, seed), with_missing)


def _keep_posterior(path: Path, setup: Setup, classes: np.ndarray, shares: np.ndarray) -> None:
    """Store the posterior over all classes, zero for those without training rows."""
    full = np.zeros((shares.shape[0], setup.classes.size), np.float32)
    full[:, np.searchsorted(setup.classes, classes)] = shares
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, lambda file: np.save(file, full))


def _shortened(note: str) -> str:
    text = " ".join(note.split())
    return text if len(text) <= LONGEST_NOTE else f"{text[: LONGEST_NOTE - 1]}…"
