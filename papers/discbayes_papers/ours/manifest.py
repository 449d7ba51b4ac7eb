"""All data sets, five folds each: our recipes and what users would pick instead, complete and with
gaps at test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from discbayes.classifier import BayesNetClassifier
from discbayes.data.table import Table
from discbayes.data.table_reader import read_table
from discbayes.evaluation.judging import ALL, FIGURES, SIZES, estimator_of, judge
from discbayes.evaluation.missing_masks import missing_masks
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.statistics import rank_table
from discbayes.evaluation.tasks import Task
from discbayes_papers.parts import N_FOLDS, SplitRows, folds, load_any

STORE = "manifest"
MISSING = 30  # per cent of the features of each test row
N_DRAWS = 1000  # for rows with gaps whose exact sums would take too long
# test rows with gaps for KDB2: each has a sum of its own, which takes 10 ms there
FEW = {"kddcup10": 3_000}
METRICS = (*FIGURES, f"accuracy@{MISSING}", f"log_loss@{MISSING}", *SIZES)

# By size, so that a run that is not finished lacks the largest. Of sets that share rows one is
# here: diabetes (pima is the same), breast (breast10 adds the sample number), shuttle
# (shuttle-small is its beginning), crx (australian are the same applications), cleve (heart are
# rows of it), glass (glass2 are two of its classes).
DISTINCT = (
    "iris", "zoo", "corral", "lymphography", "wine", "hepatitis", "glass", "cleve", "balance-scale",
    "vote", "diabetes", "breast", "ionosphere", "car", "crx", "flare", "cmc", "german", "sonar",
    "mofn-3-7-10", "vehicle", "soybean-large", "abalone", "segment", "chess", "sick", "hypothyroid",
    "nursery", "waveform-21", "spambase", "poker-hand-train", "satimage", "pendigits", "letter",
    "adult", "shuttle", "usps", "mnist14", "kddcup10",
)  # fmt: skip
# Choices of the default (columns, smoothing, weights, structures, calibration) look at these ten
# sets alone; the other 29 judge them. Eight of the ten had already been looked at by prototypes;
# cleve stands for small clinical tables, adult for large ones with missing values.
DEVELOPMENT = (
    "cleve", "german", "vehicle", "segment", "chess", "nursery", "spambase", "satimage", "letter",
    "adult",
)  # fmt: skip
# Sets of 5,000 rows and more, on which the slower experiments are not run, and those of them whose
# folds have more than the 10,000 training rows that peers learn from.
LARGE = (
    "nursery", "waveform-21", "poker-hand-train", "satimage", "pendigits", "letter", "adult",
    "shuttle", "usps", "mnist14", "kddcup10",
)  # fmt: skip
SAMPLED = ("nursery", "poker-hand-train", "letter", "adult", "shuttle", "mnist14", "kddcup10")
GENERATIVE = (
    "NB-MAP",
    "NB-LAPLACE",
    "TAN-MAP",
    "TAN-OFE",
    "TAN-LAPLACE",
    "KDB2-LAPLACE",
    "TAN-LAPLACE+T",
)
DISCRIMINATIVE = (
    "NB-D-R",
    "TAN-D-R",
    "NB-E-G",
    "TAN-E-G",
    "TAN-E-G penalty=1",
    "TAN-D-G",
    "TAN-W3-G",
    "KDB2-E-G",
)
SLOWER = ("TAN-CR-LAPLACE", "TAN-CR-E-G", "TAN-E-G+T", "TAN-MLBNSVM lam=1 gamma=5")
RECIPES = (*GENERATIVE, *DISCRIMINATIVE, *SLOWER)
PEERS = ("cnb", "tree", "knn", "lr", "hgb", "svm")


def tasks(methods: Sequence[str], quick: bool) -> list[Task]:
    """Every method on every fold, the small data sets first."""
    names = ("iris", "corral") if quick else DISTINCT
    return [
        Task(name, fold, tuple(methods), 0, judged)
        for name in names
        for fold in range(2 if quick else N_FOLDS)
    ]


def judged(task: Task) -> Iterator[Result]:
    """The figures of each method on one fold."""
    table, y = load_table(task.data)
    rows = SplitRows(task.data, np.zeros(0), y, None)
    train, test = folds(rows, N_FOLDS, task.seed)[task.fold]
    (mask,) = missing_masks(test.size, len(table.names), [MISSING], rows.generator(1 + task.fold))
    few = np.sort(rows.generator(100 + task.fold).permutation(test.size)[: FEW.get(task.data)])
    for method in task.recipes:
        some = few if method.startswith("KDB2") else ALL
        masked = {MISSING: table.take(test[some]).with_missing(mask[some])}
        figures, warned, _ = judge(
            _patient(estimator_of(method)), table, y, train, test, masked, some
        )
        yield task.result(
            method, figures, figures["fit_seconds"] + figures["predict_seconds"], warned[:200]
        )


def _patient(estimator: Any) -> Any:
    """A network estimates what it cannot sum out, as that of some rows of mnist14 with two parents
    each and gaps.
    """
    return (
        estimator.set_params(beyond_max_cells=N_DRAWS)
        if isinstance(estimator, BayesNetClassifier)
        else estimator
    )


@lru_cache(maxsize=1)
def load_table(name: str) -> tuple[Table, np.ndarray]:
    """The columns of a data set, gaps and all, and its classes."""
    data = load_any(name)
    return read_table(data.X), data.y


# ---- figures


def complete_sets(store: Store, methods: Sequence[str]) -> list[str]:
    """The data sets on which every method has all of its folds."""
    found = {result.key for result in store}
    wanted = [(fold, method, 0) for fold in range(N_FOLDS) for method in methods]
    return [name for name in DISTINCT if all((name, *rest) in found for rest in wanted)]


def figures(store: Store, metric: str, names: Sequence[str], methods: Sequence[str]) -> np.ndarray:
    """The means over the folds: data sets in rows, methods in columns."""
    return np.array([[store.mean(metric, name, method) for method in methods] for name in names])


def ranks(store: Store, metric: str, names: Sequence[str], methods: Sequence[str]) -> np.ndarray:
    """Ranks among the methods on each data set; 1 is the best."""
    return rank_table(
        figures(store, metric, names, methods), larger_is_better=metric.startswith("accuracy")
    )


def lacking(names: Sequence[str]) -> str:
    """Which data sets are not there yet."""
    left = [name for name in DISTINCT if name not in names]
    return f" Not run on {', '.join(left)}." if left else ""
