"""Rows without a label: used, left out, or given labels by self-training."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.preprocessing import OrdinalEncoder
from sklearn.semi_supervised import SelfTrainingClassifier

from discbayes import BayesNetClassifier
from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import runs_text
from discbayes_papers.parts import load_rows

DATA = ("vote", "breast10", "vehicle", "german", "segment", "chess")
CHOSE = ("wine", "glass", "australian", "iris", "heart", "cleve")  # how weights are chosen
SHARES = (5, 10, 30)  # per cent of the training rows that keep their label
DRAWS = 20
PARAMETERS = ("map", "hybrid")
WAYS = ("labeled rows", "all rows", "self-training")
METRICS = ("log_loss", "accuracy", "weight")
LEAST = 1e-10  # probability in a log loss
TOLERANCE = 0.01  # nats by which unlabeled rows may do harm in the mean


def tag_of(share: int, parameters: str, way: str) -> str:
    """Return the name under which a method is stored."""
    return f"{share} %, TAN-{parameters}, {way}"


def tasks(quick: bool) -> list[Task]:
    """Each draw of a training part and of its labels; early draws of all sets come first."""
    data, n_draws = (DATA[:1], 2) if quick else (DATA, DRAWS)
    chose = () if quick else CHOSE
    return [
        Task(name, 0, tags_of(WAYS if name in DATA else WAYS[:2]), draw, work)
        for names in (data, chose)
        for draw in range(n_draws)
        for name in names
    ]


def tags_of(ways: Sequence[str]) -> tuple[str, ...]:
    """Return all tags of some ways."""
    return tuple(tag_of(s, p, way) for s in SHARES for p in PARAMETERS for way in ways)


def work(task: Task) -> Iterator[Result]:
    """Learn from two thirds of the rows, some of them labeled, and test on the others."""
    rows = load_rows(task.data)
    rng = rows.generator(task.seed)
    order = rng.permutation(len(rows.y))
    n_test = len(order) // 3
    test, train = order[:n_test], order[n_test:]
    for tag in task.recipes:
        share, learner, way = tag.split(", ")
        labels = rows.y[train].astype(object)
        labels[~labeled(labels, int(share.split()[0]) / 100)] = None
        started = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model, X = _fitted(rows.X, train, labels, learner[4:], way)
        figures = _judged(model, X[test], rows.y[test])
        yield task.result(tag, figures, perf_counter() - started)


def labeled(labels: np.ndarray, share: float) -> np.ndarray:
    """Mark the first rows of each class, two at least: the rows are in a random order."""
    kept = np.zeros(labels.size, bool)
    for label in np.unique(labels.astype(str)):
        places = np.flatnonzero(labels.astype(str) == label)
        kept[places[: max(2, round(share * places.size))]] = True
    return kept


def _fitted(
    X: np.ndarray, train: np.ndarray, labels: np.ndarray, parameters: str, way: str
) -> tuple[Any, np.ndarray]:
    """Return the fitted model, and the table that it takes rows of."""
    if way != "self-training":
        how = "use" if way == "all rows" else "drop"
        model = BayesNetClassifier("tan", parameters, unlabeled=how, random_state=0)
        return model.fit(X[train], labels), X
    base = BayesNetClassifier("tan", parameters, random_state=0)
    if X.dtype.kind not in "fiu":  # it checks that its input is numbers
        base.set_params(categorical="all")
        X = OrdinalEncoder().fit_transform(X)
    there = np.array([label is not None for label in labels])
    names = np.unique(labels[there].astype(str))
    codes = np.full(labels.size, -1)
    codes[there] = np.searchsorted(names, labels[there].astype(str))
    model = SelfTrainingClassifier(base).fit(X[train], codes)
    model.label_names = names
    return model, X


def _judged(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    shares = model.predict_proba(X)
    names = getattr(model, "label_names", None)
    known = [str(name) for name in (model.classes_ if names is None else names)]
    place = {label: k for k, label in enumerate(known)}
    codes = np.array([place[str(label)] for label in y.tolist()])
    own = np.maximum(shares[np.arange(codes.size), codes], LEAST)
    history = getattr(model, "history_", [{}])
    return {
        "log_loss": float(-np.log(own).mean()),
        "accuracy": float((shares.argmax(axis=1) == codes).mean()),
        "weight": float(history[0].get("weight", 0.0)) if history else 0.0,
    }


def page(store: Store) -> Sequence[Block]:
    """Mean log loss and accuracy of each way, and how often unlabeled rows were used."""
    found = defaultdict(list)
    for result in store:
        found[result.data, result.recipe].append(result)
    return [
        Text(f"Stored: {runs_text(store, tasks(False))}."),
        *(_table(found, parameters) for parameters in PARAMETERS),
        _summary(found, DATA, "Change of the mean log loss by rows without a label"),
        _summary(found, CHOSE, "The same on the sets by which the rule was chosen"),
    ]


def _table(found: dict[tuple[str, str], list[Result]], parameters: str) -> ResultTable:
    rows = []
    for data in DATA:
        for share in SHARES:
            runs = [found[data, tag_of(share, parameters, way)] for way in WAYS]
            if not all(runs):
                continue
            losses = [np.mean([run["log_loss"] for run in some]) for some in runs]
            rates = [np.mean([run["accuracy"] for run in some]) for some in runs]
            used = np.mean([run["weight"] > 0 for run in runs[1]])
            cells = [f"{a:.3f}, {100 * b:.1f}" for a, b in zip(losses, rates, strict=True)]
            rows.append([data, f"{share} %", *cells, f"{100 * used:.0f} %", str(len(runs[0]))])
    title = f"Log loss (nats) and accuracy (%) of TAN with {parameters!r} parameters"
    return ResultTable(title, ["data set", "labels", *WAYS, "used in", "draws"], rows, left=2)


def _summary(
    found: dict[tuple[str, str], list[Result]], names: Sequence[str], title: str
) -> ResultTable:
    """The mean change of the log loss by unlabeled rows, and the worst one of a set and share."""
    rows = []
    for parameters in PARAMETERS:
        changes, used = [], []
        for data, share in product(names, SHARES):
            one, two = (
                {run.seed: run for run in found[data, tag_of(share, parameters, way)]}
                for way in WAYS[:2]
            )
            if one and one.keys() == two.keys():
                change = [two[draw]["log_loss"] - one[draw]["log_loss"] for draw in one]
                changes.append(float(np.mean(change)))
                used.append(float(np.mean([run["weight"] > 0 for run in two.values()])))
        if changes:
            worse = sum(change > TOLERANCE for change in changes)
            least, largest = min(changes), max(changes)
            figures = [f"{np.mean(changes):+.4f}", f"{least:+.4f}", f"{largest:+.4f}"]
            drawn = f"{100 * np.mean(used):.0f} %"
            rows.append([parameters, drawn, *figures, f"{worse} of {len(changes)}"])
    columns = [
        "parameters",
        "used in",
        "mean",
        "best",
        "worst",
        f"worse by more than {TOLERANCE:g}",
    ]
    return ResultTable(title, columns, rows)


EXPERIMENT = Experiment(
    name="unlabeled",
    paper="ours",
    where="",
    title="Rows without a label: used, left out, or labeled by self-training",
    tasks=tasks,
    page=page,
    metrics=METRICS,
)
