"""The default beside the classifiers that people use on tables: complete rows, and values that are
missing at test and in training, for no reason and for a reason.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from time import process_time  # one thread each: what else the machine does is left out
from typing import Any

import numpy as np

from discbayes._lazy_imports import leaf
from discbayes.data.table import Table
from discbayes.evaluation.baseline_pipelines import MAX_ROWS
from discbayes.evaluation.baselines import stratified_sample
from discbayes.evaluation.judging import class_places, distinct
from discbayes.evaluation.metrics import measures
from discbayes.evaluation.missing_masks import (
    cell_masks,
    choose_cause,
    missing_by_another,
    missing_by_value,
)
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.statistics import friedman, rank_table, win_draw_loss
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment
from discbayes_papers.ours import manifest
from discbayes_papers.ours.contenders import (
    CONTENDERS,
    PACKAGES,
    Contender,
    names_of,
    warmed_up,
)
from discbayes_papers.ours.manifest import DEVELOPMENT, DISTINCT, LARGE, SAMPLED
from discbayes_papers.parts import N_FOLDS, SplitRows, folds

FIGURES = ("accuracy", "log_loss", "ece")
METRICS = (*FIGURES, "n_test", "n_train", "fit_seconds", "predict_seconds")
QUICK = ("cleve", "german")  # two of the development sets
LONGEST_NOTE = 200
FAILED = "failed: "
# seeds of random numbers, each a hundred apart as folds are added to them
TEST_CELLS = 1100
TRAIN_CELLS = 1200
SAMPLE = 1300
CAUSE = 1400


# ---- folds and scenarios


@dataclass(frozen=True, eq=False)
class Fold:
    """The training and test rows of a fold, and the random numbers that belong to it."""

    rows: SplitRows
    number: int
    table: Table
    train: np.ndarray
    test: np.ndarray

    def generator(self, purpose: int) -> np.random.Generator:
        """Random numbers of the data set, the fold and a purpose."""
        return self.rows.generator(purpose + self.number)

    def sampled(self) -> np.ndarray:
        """At most 10,000 of the training rows, every class with its share."""
        if self.train.size <= MAX_ROWS:
            return self.train
        labels = self.rows.labels[self.train]
        return self.train[stratified_sample(labels, MAX_ROWS, self.generator(SAMPLE))]


@lru_cache(maxsize=1)
def load_fold(name: str, number: int) -> Fold:
    """A fold of a data set, rows with missing values included."""
    table, y = manifest.load_table(name)
    rows = SplitRows(name, np.zeros(0), y, None)
    train, test = folds(rows, N_FOLDS, 0)[number]
    return Fold(rows, number, table, train, test)


Removal = Callable[[Fold, Table, np.random.Generator], np.ndarray]


def at_random(fold: Fold, rows: Table, rng: np.random.Generator, share: int) -> np.ndarray:
    """Each cell is missing with the same probability, in per cent."""
    (mask,) = cell_masks((rows.n_rows, len(rows.names)), [share], rng)
    return mask


def by_another(fold: Fold, rows: Table, rng: np.random.Generator) -> np.ndarray:
    """Cells are missing by the value of one column, the same in all rows of the fold."""
    train = fold.table.take(fold.sampled())
    return missing_by_another(train, rows, choose_cause(train, fold.generator(CAUSE)), rng)


def by_value(fold: Fold, rows: Table, rng: np.random.Generator) -> np.ndarray:
    """Cells are missing by their own value."""
    return missing_by_value(fold.table.take(fold.sampled()), rows, rng)


@dataclass(frozen=True)
class Scenario:
    """Which cells are removed from training and test rows.

    ``large`` tells that it is run on the large data sets too, ``all_rows`` that methods of ours
    learn from all training rows.
    """

    title: str
    train: Removal | None = None
    test: Removal | None = None
    large: bool = False
    all_rows: bool = False


SCENARIOS = {
    "complete": Scenario("complete rows", large=True),
    "mcar-30": Scenario(
        "30 % of the test cells missing", test=partial(at_random, share=30), large=True
    ),
    "mcar-10": Scenario("10 % of the test cells missing", test=partial(at_random, share=10)),
    "mcar-50": Scenario("50 % of the test cells missing", test=partial(at_random, share=50)),
    "mar": Scenario("test cells missing by another column", test=by_another),
    "mnar": Scenario("cells missing by their value, training and test", by_value, by_value),
    "train-30": Scenario("30 % of the training cells missing", partial(at_random, share=30)),
    "all-rows": Scenario("complete rows, all training rows", large=True, all_rows=True),
}


# ---- running


def tasks(quick: bool) -> list[Task]:
    """One method on one fold in each task, the small data sets first."""
    return [
        Task(name, fold, recipes, 0, judged)
        for name in (QUICK if quick else DISTINCT)
        for fold in range(1 if quick else N_FOLDS)
        for recipes in (_recipes(method, name) for method in CONTENDERS)
    ]


def _recipes(method: str, data: str) -> tuple[str, ...]:
    return tuple(key(method, scenario) for scenario in SCENARIOS if is_run(scenario, method, data))


def is_run(scenario: str, method: str, data: str) -> bool:
    """Whether a method is run in a scenario on a data set."""
    if SCENARIOS[scenario].all_rows:
        return CONTENDERS[method].ours and data in SAMPLED
    return SCENARIOS[scenario].large or data not in LARGE


def key(method: str, scenario: str) -> str:
    """The name of a method in a scenario, as results are stored.

    >>> key("lightgbm", "mcar-30")
    'lightgbm@mcar-30'
    """
    return f"{method}@{scenario}"


def judged(task: Task) -> Iterator[Result]:
    """The figures of a method on a fold."""
    return figures_of(task, CONTENDERS)


def figures_of(task: Task, contenders: Mapping[str, Contender]) -> Iterator[Result]:
    """The figures of one of some methods; scenarios with the same training rows share a fit."""
    method = contenders[task.recipes[0].partition("@")[0]]
    fold = load_fold(task.data, task.fold)
    wanted = [SCENARIOS[recipe.partition("@")[2]] for recipe in task.recipes]
    for training in dict.fromkeys((scenario.train, scenario.all_rows) for scenario in wanted):
        sharing = {
            recipe: scenario
            for recipe, scenario in zip(task.recipes, wanted, strict=True)
            if (scenario.train, scenario.all_rows) == training
        }
        yield from _fitted(task, method, fold, sharing)


def _fitted(
    task: Task, method: Contender, fold: Fold, sharing: Mapping[str, Scenario]
) -> Iterator[Result]:
    """Fit a method once, and judge it in some scenarios."""
    first = next(iter(sharing.values()))
    chosen = fold.train if first.all_rows else fold.sampled()
    rows = _removed(fold, chosen, first.train, TRAIN_CELLS)
    # before anything is caught: a library that is not installed ends the run
    warmed_up(method, bool(rows.missing_counts().any()))
    estimator = method.make()
    with _Notes() as notes:
        started = process_time()
        estimator.fit(rows, fold.rows.y[chosen])
    sizes = {"n_train": chosen.size, "fit_seconds": process_time() - started}
    for recipe, scenario in sharing.items():
        figures: dict[str, float] = {}
        later = _Notes()
        if not notes.failed:
            with later:
                test = _removed(fold, fold.test, scenario.test, TEST_CELLS)
                figures = _figures(estimator, test, fold.rows.y[fold.test]) | sizes
        seconds = sizes["fit_seconds"] + figures.get("predict_seconds", 0.0)
        yield task.result(recipe, figures, seconds, notes.text or later.text)


def _removed(fold: Fold, chosen: np.ndarray, removal: Removal | None, seed: int) -> Table:
    rows = fold.table.take(chosen)
    if removal is None:
        return rows
    return rows.with_missing(removal(fold, rows, fold.generator(seed)))


def _figures(estimator: Any, rows: Table, y: np.ndarray) -> dict[str, float]:
    started = process_time()
    shares = estimator.predict_proba(rows)
    seconds = process_time() - started
    found = measures(shares, class_places(estimator, y))
    figures = {name: found[name] for name in FIGURES}
    return figures | {"n_test": y.size, "predict_seconds": seconds}


class _Notes(warnings.catch_warnings):
    """Collects warnings, and an error as well: a run of days goes on without one result."""

    def __init__(self) -> None:
        super().__init__(record=True)
        self.failed = False
        self.text = ""
        self._caught: list[warnings.WarningMessage] = []

    def __enter__(self) -> _Notes:  # type: ignore[override]
        self._caught = super().__enter__() or []
        warnings.simplefilter("always")
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:  # type: ignore[override]
        super().__exit__(kind, error, trace)
        self.failed = isinstance(error, Exception)
        messages = [str(warning.message) for warning in self._caught]
        if self.failed:
            messages = [f"{FAILED}{type(error).__name__}: {error}"]
        self.text = "; ".join(distinct(messages))[:LONGEST_NOTE]
        return self.failed


# ---- figures of the store


class Figures:
    """The stored results by data set and method, for quick means over folds."""

    def __init__(self, store: Collection[Result]):
        self._results: dict[tuple[str, str], list[Result]] = defaultdict(list)
        for result in store:
            if result.measured:
                self._results[result.data, result.recipe].append(result)
        self.failed = [result for result in store if result.note.startswith(FAILED)]

    def methods(self, scenario: str, n_folds: int = N_FOLDS) -> list[str]:
        """The methods that were run on as many data sets of a scenario as any other."""
        of_each = self._sets_of_each(scenario, n_folds)
        most = max(map(len, of_each.values()), default=0)
        return [method for method, names in of_each.items() if 0 < len(names) == most]

    def sets(self, scenario: str, n_folds: int = N_FOLDS) -> list[str]:
        """The data sets on which every one of these methods has all of its folds."""
        recipes = [key(method, scenario) for method in self.methods(scenario, n_folds)]
        return self.complete_sets(recipes, n_folds)

    def partial(self, scenario: str, n_folds: int = N_FOLDS) -> dict[str, list[str]]:
        """The other methods, and the data sets on which they and all of these were run."""
        whole, everywhere = self.methods(scenario, n_folds), self.sets(scenario, n_folds)
        return {
            method: [name for name in everywhere if name in names]
            for method, names in self._sets_of_each(scenario, n_folds).items()
            if method not in whole
        }

    def _sets_of_each(self, scenario: str, n_folds: int) -> dict[str, list[str]]:
        """The data sets on which each method of a scenario has all of its folds."""
        recipes = {method: key(method, scenario) for method in CONTENDERS}
        return {method: self.complete_sets([recipe], n_folds) for method, recipe in recipes.items()}

    def complete_sets(self, recipes: Sequence[str], n_folds: int) -> list[str]:
        """The data sets on which methods, by the names in the store, have all of their folds."""
        return [
            name
            for name in DISTINCT
            if recipes
            and all(len(self._results.get((name, recipe), ())) == n_folds for recipe in recipes)
        ]

    def mean(self, metric: str, data: str, method: str, scenario: str) -> float:
        """The mean over the folds, weighted by their test rows."""
        results = self._results[data, key(method, scenario)]
        weights = [result["n_test"] for result in results]
        return float(np.average([result[metric] for result in results], weights=weights))

    def table(
        self, metric: str, scenario: str, names: Sequence[str], methods: Sequence[str]
    ) -> np.ndarray:
        """The means: data sets in rows, methods in columns."""
        return np.array(
            [[self.mean(metric, name, method, scenario) for method in methods] for name in names]
        )


# ---- the page

GROUPS = {
    "all data sets": lambda name: True,
    "the data sets of development": lambda name: name in DEVELOPMENT,
    "the other data sets": lambda name: name not in DEVELOPMENT,
}
JUDGED = {"accuracy": "accuracy", "log_loss": "log loss"}


def page(store: Store) -> list[Block]:
    """Means, ranks, tests, diagrams and every data set, scenario by scenario."""
    found = Figures(store)
    n_folds = 1 + max((result.fold for result in store), default=0)
    blocks: list[Block] = []
    for scenario in SCENARIOS:
        names = found.sets(scenario, n_folds)
        if len(names) > 1 and not SCENARIOS[scenario].all_rows:
            blocks += _scenario(found, scenario, names, n_folds)
    if not blocks:
        return [Text("There are no data sets yet on which all methods were run.")]
    return [*blocks, *_all_rows(found, n_folds), *_failures(found)]


def _scenario(found: Figures, scenario: str, names: Sequence[str], n_folds: int) -> list[Block]:
    methods = found.methods(scenario, n_folds)
    groups = {title: [name for name in names if belongs(name)] for title, belongs in GROUPS.items()}
    groups = {title: members for title, members in groups.items() if members}
    references = [method for method in methods if CONTENDERS[method].reference]
    pictures = []
    if SCENARIOS[scenario].large and len(methods) > 1:
        pictures = [_diagram(found, scenario, metric, names, methods) for metric in JUDGED]
    tables = [*JUDGED, "fit_seconds"] if scenario == "complete" else [*JUDGED]
    title = SCENARIOS[scenario].title
    return [
        Text(f"## {title[0].upper()}{title[1:]}"),
        *(_means(found, scenario, *group, methods) for group in groups.items()),
        *(_against(found, scenario, groups, methods, one) for one in references),
        *_of_a_part(found, scenario, methods, n_folds),
        *pictures,
        *(_sets(found, scenario, metric, names, methods) for metric in tables),
    ]


def _of_a_part(
    found: Figures, scenario: str, methods: Sequence[str], n_folds: int
) -> list[ResultTable]:
    """The methods that were run on a part of the data sets, each beside the others on its part."""
    return [
        _means(found, scenario, f"{len(names)} data sets with {CONTENDERS[method].name}", names,
               [*methods, method])
        for method, names in found.partial(scenario, n_folds).items()
        if len(names) > 1
    ]  # fmt: skip


def _means(
    found: Figures, scenario: str, title: str, names: Sequence[str], methods: Sequence[str]
) -> ResultTable:
    """Means and ranks of the methods, and their times beside."""
    tables = {
        metric: found.table(metric, scenario, names, methods)
        for metric in (*FIGURES, "fit_seconds", "predict_seconds")
    }
    ranks = {metric: _ranks(metric, tables[metric]).mean(axis=0) for metric in JUDGED}
    means = {metric: tables[metric].mean(axis=0) for metric in FIGURES}
    rows = []
    for at in np.argsort(ranks["log_loss"], kind="stable"):
        judged_by = [
            text
            for metric in JUDGED
            for text in (_text(metric, means[metric][at]), f"{ranks[metric][at]:.2f}")
        ]
        times = [
            _text(metric, np.median(tables[metric][:, at]))
            for metric in ("fit_seconds", "predict_seconds")
        ]
        name = CONTENDERS[methods[at]].name
        rows.append([name, methods[at], *judged_by, _text("ece", means["ece"][at]), *times])
    header = ["method", "tag"]
    header += [text for title_ in JUDGED.values() for text in (title_, "rank")]
    header += ["ECE", "fit s", "predict s"]
    lacking = [name for name in DISTINCT if is_run(scenario, methods[0], name)]
    belongs = GROUPS.get(title, GROUPS["all data sets"])
    lacking = [name for name in lacking if name not in names and belongs(name)]
    note = f"Means over {len(names)} data sets, and mean ranks among the {len(methods)} methods."
    if lacking:
        note += f" Not run on {', '.join(lacking)}."
    note += " Times are medians over the data sets of the processor time of a fold, one thread."
    return ResultTable(f"{SCENARIOS[scenario].title}: {title}", header, rows, note, left=2)


def _ranks(metric: str, table: np.ndarray) -> np.ndarray:
    return rank_table(table, larger_is_better=metric == "accuracy")


def _text(metric: str, value: float) -> str:
    if metric == "accuracy":
        return f"{100 * value:.2f}"
    if metric.endswith("seconds"):
        return f"{value:.3g}"
    return f"{value:.4f}" if metric == "log_loss" else f"{value:.3f}"


def _against(
    found: Figures,
    scenario: str,
    groups: Mapping[str, Sequence[str]],
    methods: Sequence[str],
    reference: str,
) -> ResultTable:
    """Wins, draws and losses of a method of ours against the others."""
    rows = []
    for other in (method for method in methods if method != reference):
        cells = []
        for metric in JUDGED:
            for names in groups.values():
                pair = found.table(metric, scenario, names, (reference, other))
                larger = metric == "accuracy"
                test = win_draw_loss(pair[:, 0], pair[:, 1], larger_is_better=larger)
                cells.append(f"{test.wins}/{test.draws}/{test.losses} ({test.p:.2g})")
        rows.append([CONTENDERS[other].name, *cells])
    header = ["", *(f"{title}, {group}" for title in JUDGED.values() for group in groups)]
    title = (
        f"{SCENARIOS[scenario].title}: {CONTENDERS[reference].name} against the others,"
        " wins/draws/losses (p of the sign test)"
    )
    return ResultTable(title, header, rows)


def _diagram(
    found: Figures, scenario: str, metric: str, names: Sequence[str], methods: Sequence[str]
) -> Picture:
    table = found.table(metric, scenario, names, methods)
    test = friedman(table, larger_is_better=metric == "accuracy")
    ranks = dict(zip(names_of(methods), test.ranks.tolist(), strict=True))

    def draw() -> Any:
        return leaf("plot").critical_difference_diagram(ranks, len(names)).figure

    title = (
        f"Mean ranks in {JUDGED[metric]}, {SCENARIOS[scenario].title}: Friedman F = {test.f:.1f},"
        f" p = {test.p:.1g}; bars join what does not differ"
    )
    return Picture(f"{metric}-{scenario}", title, draw)


def _sets(
    found: Figures, scenario: str, metric: str, names: Sequence[str], methods: Sequence[str]
) -> ResultTable:
    table = found.table(metric, scenario, names, methods)
    title = JUDGED.get(metric, "seconds to fit")
    return ResultTable(
        f"{SCENARIOS[scenario].title}, data set by data set: {title}",
        ["data", *names_of(methods)],
        [
            [_marked(name), *(_text(metric, value) for value in table[at])]
            for at, name in enumerate(names)
        ],
        "† one of the data sets of development.",
    )


def _marked(name: str) -> str:
    return f"{name} †" if name in DEVELOPMENT else name


def _all_rows(found: Figures, n_folds: int) -> list[Block]:
    """The methods of ours, with all training rows where there are more than 10,000."""
    scenario = "all-rows"
    methods = found.methods(scenario, n_folds)
    sampled = found.sets(scenario, n_folds)
    names = [
        name for name in found.sets("complete", n_folds) if name not in SAMPLED or name in sampled
    ]
    if not methods or not sampled:
        return []
    rows = []
    for title, belongs in GROUPS.items():
        members = [name for name in names if belongs(name)]
        for method in methods:
            values = [
                [
                    found.mean(metric, name, method, scenario if name in sampled else "complete")
                    for metric in JUDGED
                ]
                for name in members
            ]
            means = np.mean(values, axis=0)
            cells = [_text(metric, mean) for metric, mean in zip(JUDGED, means, strict=True)]
            rows.append([title, str(len(members)), CONTENDERS[method].name, *cells])
    note = (
        f"Learned from all training rows of a fold; the tables above have {MAX_ROWS:,} at most,"
        f" which matters on {', '.join(sampled)}."
    )
    header = ["", "data sets", "method", *JUDGED.values()]
    return [ResultTable("Ours with all training rows", header, rows, note, left=3)]


def _failures(found: Figures) -> list[Block]:
    if not found.failed:
        return []
    rows = [[r.data, str(r.fold + 1), r.recipe, r.note] for r in found.failed]
    return [ResultTable("Failed", ["data", "fold", "method", "note"], rows, left=4)]


EXPERIMENT = Experiment(
    name="scenarios",
    paper="ours",
    where="",
    title="The default beside boosting, forests and other peers, complete and with missing values",
    tasks=tasks,
    page=page,
    metrics=METRICS,
    packages=PACKAGES,
)
