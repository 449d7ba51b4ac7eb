"""P13 Table 1: accuracy of ML, MCL, MM and ML-BN-SVM parameters."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from discbayes.evaluation.metrics import accuracy
from discbayes.evaluation.result_blocks import Block, ResultTable
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.inference import InferenceOptions, log_joint
from discbayes.network import CPTs
from discbayes_papers.draws import draws_of
from discbayes_papers.experiment import Experiment, Figures, read_figures
from discbayes_papers.figures import beside, beside_store, figure_text, how_many
from discbayes_papers.p13.draws import ALWAYS, SMALL, TAN, drawn
from discbayes_papers.p13.draws import STORE as DRAWS_STORE
from discbayes_papers.p13.shared import (
    LARGER,
    METHODS,
    QUICK,
    SETS,
    STOPPING,
    Fitted,
    fit,
    mean,
    n_splits,
    p13_part,
    p13_tasks,
)
from discbayes_papers.parts import Part

METRICS = (
    "accuracy", "train_accuracy", "log_likelihood", "train_log_likelihood", "n_test", "lam",
    "gamma", "iterations", "gap", "chosen_on", "lowest_log", "choosing_seconds", "fit_seconds",
)  # fmt: skip
STRUCTURES = ("TAN", "NB")
# methods that end earlier, and at which tolerances
ENDING, EARLY = ("MCL", "MM"), ("0.01", "0.001", "0.0001")
PENALIZED = {"MCL": "penalty=1", "MM": "lam=0.1 penalty=0.1"}  # the parameters "cl" and "mm"
TOLERANCE = 1.5
ALIKE = ("MM", "Linear SVM", "SVM")  # the same on flare in P13, with their intervals
NAIVE = "Accuracy in per cent, naive Bayes, of which P13 prints no figures"
EARLIER = (
    "They end when an iteration changes the mean by less than `tol`; λ is that of the first table."
    " This looks at test rows, and chooses nothing. The relative likelihood is that of training"
    " rows (p13-fig3)."
)
STOPPED = (
    "Convergence: as in the first table. Cross-tuning: after the number of iterations that does"
    " best on five folds of the training rows. Held-out: at the iteration that is best on one of"
    " these folds, learned from the other four. λ is that of the first table. Penalty: to"
    ' convergence, as the library\'s parameters "cl" (a penalty of 1 towards even tables) and "mm"'
    " (0.1, λ = 0.1). No test row has a part in any of it. Means over the sets of up to 5,000 rows."
)

# Accuracy and the half width of its 95 % interval for the columns.
COLUMNS = (*METHODS, "Linear SVM", "SVM")
PUBLISHED, WIDTHS = read_figures("p13/table1.csv"), read_figures("p13/table1_widths.csv")


# ---- runs


def tasks(quick: bool) -> list[Task]:
    """All methods with TAN and NB, and MCL and MM that end earlier: with TAN at larger tolerances,
    on smaller sets with both by held-out training rows.
    """
    cells = product(QUICK if quick else SETS, STRUCTURES)
    return [
        task
        for name, structure in cells
        for task in p13_tasks(learn_and_test, [name], recipes_of(structure, name))
    ]


def recipes_of(structure: str, name: str) -> list[str]:
    """The recipes of a structure on a set."""
    every = [f"{structure}-{words}" for words in METHODS.values()]
    if structure == "TAN":
        every += [early(method, tol) for method in ENDING for tol in EARLY]
    if name not in LARGER:
        every += [one for method in ENDING for one in list(stopped(method, structure).values())[1:]]
    return every


def stopped(method: str, structure: str = "TAN") -> dict[str, str]:
    """The recipe of a method for each way to end its fits, convergence first, and a penalty."""
    recipe = f"{structure}-{METHODS[method]}"
    ends = {"convergence": recipe} | {word: f"{recipe} {word}" for word in STOPPING}
    return ends | {"penalty": f"{recipe} {PENALIZED[method]}"}


def early(method: str, tol: str) -> str:
    """TAN with a method that ends at another tolerance; λ is chosen at the usual one."""
    return f"TAN-{METHODS[method]} tol={tol}"


def learn_and_test(task: Task) -> Iterator[Result]:
    """Accuracy and likelihood on training and test rows."""
    part = p13_part(task)
    for recipe in task.recipes:
        fitted = fit(task, recipe)
        yield task.result(recipe, figures(part, fitted), fitted.seconds, fitted.learned.warned)


def figures(part: Part, fitted: Fitted) -> dict[str, float]:
    """What ``METRICS`` names; likelihoods are natural logarithms, for each row."""
    tables, history, choice = fitted.learned.value, fitted.learned.history, fitted.choice
    rate, likelihood = _judged(tables, part, test=True)
    train_rate, train_likelihood = _judged(tables, part, test=False)
    return {
        "accuracy": rate,
        "train_accuracy": train_rate,
        "log_likelihood": likelihood,
        "train_log_likelihood": train_likelihood,
        "n_test": part.n_test,
        **choice.numbers,
        "iterations": max((line.get("iteration", 0) for line in history), default=0),
        "gap": history[-1].get("gap", math.nan) if history else math.nan,
        "chosen_on": choice.n_rows,
        "lowest_log": float(min(tables.log_prior.min(), tables.log_theta.min())),
        "choosing_seconds": fitted.choosing_seconds,
        "fit_seconds": fitted.learned.seconds,
    }


def _judged(tables: CPTs, part: Part, test: bool) -> tuple[float, float]:
    """Accuracy, and the mean of log P(y, x) over the rows whose class is known to the tables."""
    codes, y = (part.test_codes, part.test_y) if test else (part.data.codes, part.data.classes)
    scores, known = log_joint(tables, codes, InferenceOptions(n_jobs=1)), y >= 0
    return accuracy(scores, y), float(scores[known, y[known]].mean())


# ---- the page


def rates(store: Store, recipes: Mapping[str, str]) -> Figures:
    """The mean over the splits in per cent, by data set and column, where all splits are there."""
    found: Figures = {}
    for column, recipe in recipes.items():
        for name in store.data():
            values = store.values("accuracy", data=name, recipe=recipe)
            if len(values) == n_splits(name):
                found[name, column] = 100 * mean(values)
    return found


def of_structure(structure: str) -> dict[str, str]:
    """The recipe of each method."""
    return {method: f"{structure}-{words}" for method, words in METHODS.items()}


def page(store: Store) -> list[Block]:
    """Ours beside the published figures, how many agree, NB, and what MCL and MM are that end
    earlier.
    """
    named = list(dict.fromkeys([*SETS, *store.data()]))
    tan, naive = (rates(store, of_structure(structure)) for structure in STRUCTURES)
    return [
        *how_many(store, tasks(quick=False)),
        beside(
            "Accuracy in per cent, TAN",
            tan,
            PUBLISHED,
            [*named, "TIMIT"],
            COLUMNS,
            TOLERANCE,
            corner="data",
        ),
        *beyond(store, tan),
        agreement(tan),
        replace(beside(NAIVE, naive, {}, named, tuple(METHODS), TOLERANCE, corner="data"), note=""),
        *ended_by_held_out(store),
        *ended_earlier(store),
    ]


def beyond(store: Store, ours: Figures) -> list[Block]:
    """The figures that are marked over draws of the folds; MCL and MM that end early as well, and
    the most frequent class.
    """
    keys = [
        (data, TAN[method])
        for (data, method), figure in ours.items()
        if abs(figure - PUBLISHED.get((data, method), math.nan)) > TOLERANCE
    ]
    title = "Marked figures of small sets, over draws of the five folds"
    return [*draws_of(drawn(store), keys, title), *constant(store)]


def constant(store: Store) -> list[Block]:
    """What naming the most frequent class is right on, beside P13's figures that are all alike."""
    rows = []
    for data in SMALL:
        found = [
            100 * one["accuracy"]
            for one in beside_store(store, DRAWS_STORE).where(data=data, recipe=ALWAYS)
        ]
        if found:
            theirs = [f"{PUBLISHED[data, c]:.2f} ± {WIDTHS[data, c]:.2f}" for c in ALIKE]
            rows.append([data, figure_text(mean(found)), *theirs])
    title = "Accuracy (%) of naming the most frequent class, and figures of P13"
    header = ["data", "most frequent class", *(f"{c} in P13" for c in ALIKE)]
    return [ResultTable(title, header, rows)] if rows else []


def agreement(ours: Figures) -> ResultTable:
    """How many sets are near the published figures."""
    rows = [
        _agreement_row(method, [key for key in ours if key[1] == method], ours)
        for method in METHODS
    ]
    rows.append(_agreement_row("all cells", list(ours), ours))
    head = (
        "",
        "sets",
        f"within {TOLERANCE:g}",
        f"at most {TOLERANCE:g} below",
        "in P13's interval",
        "mean difference",
    )
    note = "P13's intervals are of 95 %, from its five folds or from the number of test rows."
    return ResultTable("How many agree with P13", head, rows, note)


def _agreement_row(title: str, keys: Sequence[tuple[str, str]], ours: Figures) -> list[str]:
    away = {key: ours[key] - PUBLISHED[key] for key in keys if key in PUBLISHED}
    counts = (
        len(away),
        sum(abs(value) <= TOLERANCE for value in away.values()),
        sum(value >= -TOLERANCE for value in away.values()),
        sum(abs(away[key]) <= WIDTHS[key] for key in away),
    )
    return [title, *map(str, counts), figure_text(mean(list(away.values())))]


def ends(method: str) -> dict[str, str]:
    """The recipe of a method for each tolerance, its own last."""
    return {tol: early(method, tol) for tol in EARLY} | {"0.000001": of_structure("TAN")[method]}


def ended_earlier(store: Store) -> list[Block]:
    """MCL and MM with TAN at several tolerances: how many sets agree with P13, and each set."""
    found = {method: ends(method) for method in ENDING}
    return [
        _by_end("MCL and MM with TAN that end earlier", "tol", store, "TAN", found, EARLIER),
        _each_set("Accuracy in per cent of MCL and MM that end at these tolerances", store, found),
    ]


def ended_by_held_out(store: Store) -> list[Block]:
    """MCL and MM that end by held-out training rows: sums for both structures, each set for TAN."""
    blocks: list[Block] = [
        _by_end(
            f"MCL and MM with {structure} that end by held-out training rows",
            "ends by",
            store,
            structure,
            {method: stopped(method, structure) for method in ENDING},
            STOPPED,
        )
        for structure in STRUCTURES
    ]
    title = "Accuracy in per cent of MCL and MM with TAN that end by held-out training rows"
    return [*blocks, _each_set(title, store, {method: stopped(method) for method in ENDING})]


def names_with(store: Store, ends: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The sets on which all recipes of several ways to end a fit are there."""
    found = [rates(store, recipes) for recipes in ends.values()]
    keys = [
        (one, end) for one, recipes in zip(found, ends.values(), strict=True) for end in recipes
    ]
    return [name for name in store.data() if all((name, end) in one for one, end in keys)]


def _by_end(
    title: str,
    corner: str,
    store: Store,
    structure: str,
    ends: Mapping[str, Mapping[str, str]],
    note: str,
) -> ResultTable:
    """How many sets agree with P13, and how good and how likely tables are, for each end."""
    names = names_with(store, ends)
    rows = []
    for method, recipes in ends.items():
        for end, recipe in recipes.items():
            found = rates(store, {method: recipe})
            kept = {(name, method): found[name, method] for name in names}
            agree = _agreement_row(method, list(kept), kept)
            several = [
                [v for name in names for v in store.values(metric, data=name, recipe=recipe)]
                for metric in ("iterations", "train_accuracy")
            ]
            ratios = [
                r for name in names for r in relative(store, name, f"{structure}-P13ML", recipe)
            ]
            near = [agree[1], agree[2], agree[3], agree[5]] if structure == "TAN" else [agree[1]]
            rows.append(
                [
                    method,
                    end,
                    *near,
                    figure_text(mean(list(kept.values()))),
                    figure_text(100 * mean(several[1])),
                    figure_text(mean(several[0]), 0),
                    figure_text(mean(ratios)),
                ]
            )
    near = [f"within {TOLERANCE:g}", f"at most {TOLERANCE:g} below", "mean difference"]
    compared = near if structure == "TAN" else []  # P13 prints no figures of naive Bayes
    more = ["accuracy", "on training rows", "iterations", "relative likelihood"]
    return ResultTable(title, ["", corner, "sets", *compared, *more], rows, note, left=2)


def _each_set(title: str, store: Store, ends: Mapping[str, Mapping[str, str]]) -> ResultTable:
    """The accuracy of each set for each end, after that of P13."""
    found = {method: rates(store, recipes) for method, recipes in ends.items()}
    columns = [c for method, recipes in ends.items() for c in (f"{method} in P13", *recipes)]
    rows = [
        [
            name,
            *(
                figure_text(value)
                for method, recipes in ends.items()
                for value in (
                    PUBLISHED.get((name, method), math.nan),
                    *(found[method][name, end] for end in recipes),
                )
            ),
        ]
        for name in names_with(store, ends)
    ]
    return ResultTable(title, ["data", *columns], rows)


def relative(
    store: Store, name: str, ml: str, recipe: str, metric: str = "train_log_likelihood"
) -> list[float]:
    """LL(ML) / LL(recipe) in per cent, for each split of a set that has both."""
    best = {result.fold: result[metric] for result in store.where(data=name, recipe=ml)}
    found = [
        (best.get(one.fold, math.nan), one[metric]) for one in store.where(data=name, recipe=recipe)
    ]
    return [100 * a / b for a, b in found if not math.isnan(a / b)]


EXPERIMENT = Experiment(
    name="p13-table1",
    paper="P13",
    where="Table 1",
    title="Accuracy of ML, MCL, MM and ML-BN-SVM parameters (TAN and naive Bayes)",
    tasks=tasks,
    page=page,
    metrics=METRICS,
)
