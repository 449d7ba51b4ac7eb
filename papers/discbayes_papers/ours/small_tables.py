"""Small tables in which few rows are positive: is a model better than the base rate?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.metrics import roc_auc_score

from discbayes.data.table import Table
from discbayes.evaluation.metrics import log_loss
from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment
from discbayes_papers.ours import manifest
from discbayes_papers.ours.contenders import CONTENDERS, PACKAGES, warmed_up
from discbayes_papers.ours.manifest import DEVELOPMENT
from discbayes_papers.parts import SplitRows

# Five of the sets of development, five others: with 150 rows of a class, and enough of the others.
SETS = (
    "german", "segment", "chess", "spambase", "satimage",
    "cmc", "flare", "abalone", "sick", "waveform-21",
)  # fmt: skip
BASE = "base"
METHODS = ("discbayes", "TAN-E-G+T", "lr", "lightgbm")
N_DRAWS = 3  # of each data set
MIN_ROWS, MAX_ROWS = 200, 1_000
MIN_SHARE, MAX_SHARE = 0.05, 0.08
MAX_TEST_ROWS = 5_000
MIN_POSITIVE = 150  # rows of the class that is positive
DRAWS = 2000  # seed
METRICS = ("auc", "log_loss", "n_train", "n_test", "share", "fit_seconds", "predict_seconds")


# ---- draws


@dataclass(frozen=True, eq=False)
class Draw:
    """The training and test rows of a draw, and which rows of the data set are positive."""

    table: Table
    positive: np.ndarray
    train: np.ndarray
    test: np.ndarray


def draw_rows(name: str, number: int) -> Draw:
    """Draw a small table from a data set; the same name and number give the same rows."""
    table, y = manifest.load_table(name)
    rng = SplitRows(name, np.zeros(0), y, None).generator(DRAWS + number)
    positive = positive_rows(y)
    share = rng.uniform(MIN_SHARE, MAX_SHARE)
    # at least as many rows are left for testing
    most = min(MAX_ROWS, rows_of_share(positive.sum(), (~positive).sum(), share) // 2)
    n_train = round(float(np.exp(rng.uniform(np.log(MIN_ROWS), np.log(most)))))
    return Draw(table, positive, *split_rows(positive, n_train, share, rng))


def positive_rows(y: np.ndarray) -> np.ndarray:
    """Mark the rows of the rarest class with enough rows; of equally rare ones the first.

    >>> y = np.array(["a"] * 150 + ["b"] * 149 + ["c"] * 200)
    >>> int(positive_rows(y).sum())
    150
    """
    labels, counts = np.unique(y, return_counts=True)
    enough = np.where(counts >= MIN_POSITIVE, counts, y.size + 1)
    return y == labels[enough.argmin()]


def rows_of_share(n_positive: int, n_negative: int, share: float) -> int:
    """How many rows with a share of positive ones there are before one kind runs out.

    >>> rows_of_share(100, 300, 0.5), rows_of_share(100, 1500, 0.25)
    (200, 400)
    """
    return int(min(n_positive / share, n_negative / (1.0 - share)))


def split_rows(
    positive: np.ndarray, n_train: int, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw training and test rows with the same share of positive ones, in random order."""
    ones = rng.permutation(np.flatnonzero(positive))
    zeros = rng.permutation(np.flatnonzero(~positive))
    n_ones = round(n_train * share)
    n_zeros = n_train - n_ones
    n_test = min(MAX_TEST_ROWS, rows_of_share(ones.size - n_ones, zeros.size - n_zeros, share))
    more = round(n_test * share)
    train = np.concatenate([ones[:n_ones], zeros[:n_zeros]])
    test = np.concatenate([ones[n_ones : n_ones + more], zeros[n_zeros:][: n_test - more]])
    return rng.permutation(train), rng.permutation(test)


# ---- running


def tasks(quick: bool) -> list[Task]:
    """Every method on every draw."""
    names = ("german", "segment") if quick else SETS
    n_draws = 1 if quick else N_DRAWS
    return [
        Task(name, number, (*METHODS, BASE), 0, judged)
        for name in names
        for number in range(n_draws)
    ]


def judged(task: Task) -> Iterator[Result]:
    """The figures of each method on one draw."""
    drawn = draw_rows(task.data, task.fold)
    train, test = drawn.table.take(drawn.train), drawn.table.take(drawn.test)
    y = drawn.positive.astype(int)
    for method in task.recipes:
        estimator = _estimator(method, bool(train.missing_counts().any()))
        started = process_time()
        estimator.fit(_matrix(method, train), y[drawn.train])
        fitted = process_time()
        shares = estimator.predict_proba(_matrix(method, test))
        done = process_time()
        figures = {
            "auc": float(roc_auc_score(y[drawn.test], shares[:, 1])),
            "log_loss": log_loss(shares, y[drawn.test]),
            "n_train": drawn.train.size,
            "n_test": drawn.test.size,
            "share": float(y[drawn.train].mean()),
            "fit_seconds": fitted - started,
            "predict_seconds": done - fitted,
        }
        yield task.result(method, figures, done - started)


def _estimator(method: str, with_missing: bool) -> Any:
    if method == BASE:
        return DummyClassifier(strategy="prior")
    warmed_up(CONTENDERS[method], with_missing)
    return CONTENDERS[method].make()


def _matrix(method: str, rows: Table) -> Any:
    """The base rate needs no columns, and scikit-learn's estimator knows no tables of ours."""
    return np.zeros((rows.n_rows, 1)) if method == BASE else rows


# ---- the page


def page(store: Store) -> list[Block]:
    """Means over the data sets, and each of them."""
    methods = [method for method in (*METHODS, BASE) if store.where(recipe=method)]
    names = [name for name in SETS if _is_complete(store, name, methods)]
    if BASE not in methods or not names:
        return [Text("There are no data sets yet on which all methods were run.")]
    groups = {
        "all": names,
        "of development": [name for name in names if name in DEVELOPMENT],
        "others": [name for name in names if name not in DEVELOPMENT],
    }
    summaries = [
        _summary(store, title, members, methods) for title, members in groups.items() if members
    ]
    return [*summaries, *(_sets(store, metric, names, methods) for metric in ("auc", "log_loss"))]


def _is_complete(store: Store, name: str, methods: Sequence[str]) -> bool:
    there = {(result.recipe, result.fold) for result in store.where(data=name)}
    draws = {fold for _, fold in there}
    return bool(there) and all((method, fold) in there for method in methods for fold in draws)


def _name(method: str) -> str:
    return "base rate" if method == BASE else CONTENDERS[method].name


def _summary(store: Store, title: str, names: Sequence[str], methods: Sequence[str]) -> ResultTable:
    rows = []
    for method in methods:
        figures = {
            metric: np.mean([_mean(store, metric, name, method) for name in names])
            for metric in ("auc", "log_loss", "fit_seconds")
        }
        worse = sum(_n_worse(store, name, method) for name in names)
        worse_sets = sum(
            _mean(store, "log_loss", name, method) > _mean(store, "log_loss", name, BASE)
            for name in names
        )
        rows.append(
            [
                _name(method),
                method,
                f"{figures['auc']:.4f}",
                f"{figures['log_loss']:.4f}",
                str(worse),
                str(worse_sets),
                f"{figures['fit_seconds']:.3g}",
            ]
        )
    n_draws = len({(result.data, result.fold) for result in store if result.data in names})
    header = ["method", "tag", "AUC", "log loss", "draws worse than the base rate"]
    header += ["sets worse than the base rate", "fit s"]
    note = f"Means over the data sets of the means over their draws: {n_draws} draws in all."
    return ResultTable(f"Data sets: {title} ({len(names)})", header, rows, note, left=2)


def _mean(store: Store, metric: str, name: str, method: str) -> float:
    return float(np.mean(store.values(metric, data=name, recipe=method)))


def _n_worse(store: Store, name: str, method: str) -> int:
    """In how many draws of a data set the log loss is worse than that of the base rate."""
    base = {result.fold: result["log_loss"] for result in store.where(data=name, recipe=BASE)}
    found = store.where(data=name, recipe=method)
    return sum(result["log_loss"] > base[result.fold] for result in found)


def _sets(store: Store, metric: str, names: Sequence[str], methods: Sequence[str]) -> ResultTable:
    rows = []
    for name in names:
        marked = f"{name} †" if name in DEVELOPMENT else name
        sizes = sorted(int(value) for value in store.values("n_train", data=name, recipe=BASE))
        means = [f"{_mean(store, metric, name, method):.4f}" for method in methods]
        rows.append([marked, ", ".join(map(str, sizes)), *means])
    title = {"auc": "AUC", "log_loss": "log loss"}[metric]
    header = ["data", "training rows", *map(_name, methods)]
    note = "† one of the data sets of development."
    return ResultTable(f"Data set by data set: {title}", header, rows, note, left=2)


EXPERIMENT = Experiment(
    name="small-tables",
    paper="ours",
    where="",
    title="Small and unbalanced tables",
    tasks=tasks,
    page=page,
    metrics=METRICS,
    packages=PACKAGES,
)
