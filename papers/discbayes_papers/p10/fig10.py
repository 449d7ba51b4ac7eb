"""P10 Figure 10: accuracy on rows drawn from random trees, one for each class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from discbayes.datasets.trees import RandomTrees, random_trees
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.recipes import parse
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import draw_curves, figure_text, how_many
from discbayes_papers.learning import FittedParts, learn_structure, learn_tables
from discbayes_papers.p10.orders import difference_text, n_right, sizes_of
from discbayes_papers.parts import Part, SplitRows, make_part

METRICS = ("accuracy", "n_test", "edges", "search_seconds", "fit_seconds")
TRUTH = "true model"
STRUCTURES = ("NB", "TAN-CMI", "TAN-OMI-CR", "TAN-CR")
GENERATIVE, TRAINED = (
    tuple(f"{structure}-{tables}" for structure in STRUCTURES) for tables in ("ML", "CL")
)
SIZES, N_ROWS, N_RUNS, N_RUNS_TRAINED = (5, 10, 15, 20, 25, 30), 75_000, 20, 1
QUICK_SIZES, QUICK_ROWS, N_QUICK = (3, 4), 600, 2


def tasks(quick: bool) -> list[Task]:
    """One run of each size, then the next of each; discriminative parameters last."""
    sizes, n_rows, n_runs = (QUICK_SIZES, QUICK_ROWS, N_QUICK) if quick else (SIZES, N_ROWS, N_RUNS)
    options = {"n_rows": n_rows}
    return [
        Task(name_of(size), 0, recipes, seed, work, options)
        for recipes, n in (((TRUTH, *GENERATIVE), n_runs), (TRAINED, N_RUNS_TRAINED))
        for seed in range(n)
        for size in sizes
    ]


def name_of(size: int) -> str:
    """The data of so many features."""
    return f"trees-{size}"


def work(task: Task) -> Iterator[Result]:
    """The accuracy of each recipe on rows of the same trees, and that of the model that they were
    drawn from.
    """
    size, n_rows = int(task.data.partition("-")[2]), task.options["n_rows"]
    trees, rows, part = draw(size, n_rows, task.seed)
    for tag in task.recipes:
        if tag == TRUTH:
            right = int((trees.log_joint(rows.X[n_rows:]).argmax(axis=1) == rows.y[n_rows:]).sum())
            yield task.result(tag, {"accuracy": right / n_rows, "n_test": n_rows}, np.nan)
        else:
            yield learned(task, part, tag)


def learned(task: Task, part: Part, tag: str) -> Result:
    """The line of a recipe."""
    recipe = parse(tag)
    found: FittedParts = learn_structure(part, recipe.structure, task.seed)
    tables = learn_tables(part, found.value, recipe.parameters, task.seed)
    figures = {
        "accuracy": n_right(tables.value, part.test_codes, part.test_y) / part.n_test,
        "n_test": part.n_test,
        "edges": found.value.n_edges,
        "search_seconds": found.seconds,
        "fit_seconds": tables.seconds,
    }
    return task.result(tag, figures, found.seconds + tables.seconds)


@lru_cache(maxsize=1)
def draw(n_features: int, n_rows: int, seed: int) -> tuple[RandomTrees, SplitRows, Part]:
    """Random trees, as many training as test rows from them, and the rows as codes."""
    rng = np.random.default_rng([seed, n_features])
    trees = random_trees(n_features, random_state=rng)
    samples = [trees.sample(n_rows, rng) for _ in range(2)]
    rows = SplitRows(
        name_of(n_features),
        np.vstack([X for X, _ in samples]),
        np.concatenate([y for _, y in samples]),
        n_rows,
    )
    split = np.arange(n_rows), np.arange(n_rows, 2 * n_rows)
    return trees, rows, make_part(rows, split, None)


# ---- the page


Found = dict[tuple[int, str], dict[int, float]]


def page(store: Store) -> list[Block]:
    """Means, whether discriminative structures are better, and the figure."""
    sizes, shown = sizes_of(store, SIZES), (TRUTH, *GENERATIVE)
    found: Found = {
        (size, tag): accuracies(store, size, tag) for size in sizes for tag in (*shown, *TRAINED)
    }
    blocks = [
        *how_many(store, tasks(False)),
        _table(found, sizes),
        differences_table(found, sizes),
        gains_table(found, sizes),
    ]
    if all(found[size, tag] for size in sizes for tag in shown):
        means = {
            tag: [float(np.mean(list(found[size, tag].values()))) for size in sizes]
            for tag in shown
        }
        labels = ("features", "classification rate, %")
        title = "Accuracy on rows of random trees, the mean over runs."
        blocks.append(Picture("accuracy", title, lambda: draw_curves(sizes, means, labels)))
    return blocks


def accuracies(store: Store, size: int, tag: str) -> dict[int, float]:
    """Accuracies in per cent by run."""
    return {one.seed: 100 * one["accuracy"] for one in store.where(data=name_of(size), recipe=tag)}


def _table(found: Found, sizes: Sequence[int]) -> ResultTable:
    tags, rows = (TRUTH, *GENERATIVE), []
    for size in sizes:
        cells = [list(found[size, tag].values()) for tag in tags]
        spread = [(float(np.mean(cell)), float(np.std(cell))) if cell else None for cell in cells]
        texts = [
            f"{figure_text(pair[0])} ± {figure_text(pair[1])}" if pair else "–" for pair in spread
        ]
        rows.append([str(size), str(len(cells[0])), *texts])
    return ResultTable(
        "Accuracy (%), mean and standard deviation over runs", ("features", "runs", *tags), rows
    )


def differences_table(found: Found, sizes: Sequence[int]) -> ResultTable:
    """One-sided paired t-tests between discriminative structures and TAN-CMI, and between the two
    of them.
    """
    pairs = (
        ("TAN-OMI-CR-ML", "TAN-CMI-ML"),
        ("TAN-CR-ML", "TAN-CMI-ML"),
        ("TAN-CR-ML", "TAN-OMI-CR-ML"),
    )
    rows = [
        [str(size), *(_tested(found[size, a], found[size, b]) for a, b in pairs)] for size in sizes
    ]
    head = ("features", *(f"{a.removesuffix('-ML')} − {b.removesuffix('-ML')}" for a, b in pairs))
    return ResultTable(
        "Mean difference, and p of the one-sided paired t-test in its direction", head, rows
    )


def _tested(a: dict[int, float], b: dict[int, float]) -> str:
    both = sorted(set(a) & set(b))
    return difference_text([a[seed] for seed in both], [b[seed] for seed in both], 2)


def gains_table(found: Found, sizes: Sequence[int]) -> ResultTable:
    """What discriminative parameters add, on the runs that have them."""
    rows = []
    for size in sizes:
        both = [
            (found[size, ml], found[size, cl]) for ml, cl in zip(GENERATIVE, TRAINED, strict=True)
        ]
        gains = [
            [trained[seed] - plain[seed] for seed in trained if seed in plain]
            for plain, trained in both
        ]
        rows.append(
            [
                str(size),
                str(len(gains[0])),
                *(f"{np.mean(gain):+.2f}" if gain else "–" for gain in gains),
            ]
        )
    head = ("features", "runs", *STRUCTURES)
    return ResultTable(
        "Accuracy of CL parameters less that of ML parameters, in points", head, rows
    )


EXPERIMENT = Experiment(
    name="p10-fig10",
    paper="P10",
    where="Figure 10",
    title="Accuracy on rows of random trees",
    tasks=tasks,
    page=page,
    metrics=METRICS,
)
