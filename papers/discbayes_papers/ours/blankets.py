"""Learned networks in which the class may have parents, beside trees and the default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from discbayes import BayesNetClassifier
from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.statistics import win_draw_loss
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment
from discbayes_papers.ours import scenarios
from discbayes_papers.ours.contenders import CONTENDERS, Contender
from discbayes_papers.ours.manifest import DEVELOPMENT, DISTINCT
from discbayes_papers.ours.scenarios import GROUPS, SCENARIOS, Figures, key
from discbayes_papers.parts import N_FOLDS

JUDGED_IN = ("complete", "mcar-30")
QUICK = ("iris", "wine")
DEFAULT = "discbayes"  # which is stored with the scenarios


def _ours(name: str, *learners: str) -> Contender:
    return Contender(
        name, partial(BayesNetClassifier, *learners, n_jobs=1, random_state=0), ours=True
    )


METHODS = {
    "BLANKET-MAP": _ours("blanket, generative", "blanket", "map"),
    "BLANKET-E-G+T": _ours("blanket, hybrid", "blanket", "hybrid"),
    "TAN-MAP": _ours("TAN, generative", "tan", "map"),
    "TAN-E-G+T": CONTENDERS["TAN-E-G+T"],  # stored with the scenarios too
    DEFAULT: CONTENDERS[DEFAULT],
}
NAMES = {tag: method.name for tag, method in METHODS.items()} | {"TAN-E-G+T": "TAN, hybrid"}
RUN_HERE = ("BLANKET-MAP", "BLANKET-E-G+T", "TAN-MAP")
PAIRS = (("BLANKET-MAP", "TAN-MAP"), ("BLANKET-E-G+T", "TAN-E-G+T"), ("BLANKET-E-G+T", DEFAULT))


def tasks(quick: bool) -> list[Task]:
    """One method on one fold in each task, the small data sets first."""
    return [
        Task(name, fold, tuple(key(method, scenario) for scenario in JUDGED_IN), 0, judged)
        for name in (QUICK if quick else DISTINCT)
        for fold in range(1 if quick else N_FOLDS)
        for method in RUN_HERE
    ]


def judged(task: Task) -> Iterator[Result]:
    """The figures of a method on a fold."""
    return scenarios.figures_of(task, METHODS)


def page(store: Store) -> list[Block]:
    """Means, wins and losses, and every data set; other methods are those of the scenarios."""
    others = Store(store.path.with_name("scenarios.csv"), scenarios.METRICS)
    found = Figures([*store, *others])
    n_folds = 1 + max((result.fold for result in store), default=0)
    blocks: list[Block] = []
    for scenario in JUDGED_IN:
        names = found.complete_sets([key(method, scenario) for method in METHODS], n_folds)
        if len(names) > 1:
            title = SCENARIOS[scenario].title
            blocks += [
                Text(f"## {title[0].upper()}{title[1:]}"),
                _means(found, scenario, names),
                _wins(found, scenario, names),
                *(_sets(found, scenario, metric, names) for metric in ("accuracy", "log_loss")),
            ]
    return blocks or [Text("There are no data sets yet on which all methods were run.")]


def _means(found: Figures, scenario: str, names: Sequence[str]) -> ResultTable:
    rows = []
    for title, belongs in GROUPS.items():
        members = [name for name in names if belongs(name)]
        tables = {
            metric: found.table(metric, scenario, members, list(METHODS))
            for metric in ("accuracy", "log_loss", "fit_seconds")
            if members
        }
        for at, name in enumerate(NAMES.values() if members else ()):
            rows.append(
                [
                    f"{title} ({len(members)})",
                    name,
                    f"{100 * tables['accuracy'][:, at].mean():.2f}",
                    f"{tables['log_loss'][:, at].mean():.4f}",
                    f"{np.median(tables['fit_seconds'][:, at]):.3g}",
                ]
            )
    lacking = [name for name in DISTINCT if name not in names]
    note = "Times are medians over the data sets of the processor time of a fold, one thread."
    note += f" Not run on {', '.join(lacking)}." if lacking else ""
    header = ["data sets", "method", "accuracy", "log loss", "fit s"]
    return ResultTable(f"{SCENARIOS[scenario].title}: means", header, rows, note, left=2)


def _wins(found: Figures, scenario: str, names: Sequence[str]) -> ResultTable:
    rows = []
    for pair in PAIRS:
        cells = []
        for metric in ("accuracy", "log_loss"):
            table = found.table(metric, scenario, names, pair)
            larger = metric == "accuracy"
            test = win_draw_loss(table[:, 0], table[:, 1], larger_is_better=larger)
            cells.append(f"{test.wins}/{test.draws}/{test.losses} ({test.p:.2g})")
        rows.append([" against ".join(NAMES[tag] for tag in pair), *cells])
    title = f"{SCENARIOS[scenario].title}: wins/draws/losses (p of the sign test)"
    return ResultTable(title, ["", "accuracy", "log loss"], rows)


def _sets(found: Figures, scenario: str, metric: str, names: Sequence[str]) -> ResultTable:
    table: Any = found.table(metric, scenario, names, list(METHODS))
    text = "{:.4f}" if metric == "log_loss" else "{:.2f}"
    table = table if metric == "log_loss" else 100 * table
    rows = [
        [f"{name} †" if name in DEVELOPMENT else name, *map(text.format, table[at])]
        for at, name in enumerate(names)
    ]
    title = f"{SCENARIOS[scenario].title}, data set by data set: {metric.replace('_', ' ')}"
    note = "† one of the data sets of development of the default."
    return ResultTable(title, ["data", *NAMES.values()], rows, note)


EXPERIMENT = Experiment(
    name="blankets",
    paper="ours",
    where="",
    title="Learned networks in which the class may have parents, beside trees and the default",
    tasks=tasks,
    page=page,
    metrics=scenarios.METRICS,
)
