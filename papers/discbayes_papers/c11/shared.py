"""What the experiments of C11 share: its data sets, its classifiers, one accuracy for each set, the
signed-rank tests.

A result is of a whole data set: the folds of one draw together, which is what C11 compares. The
seed is the draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from time import process_time

import numpy as np

from discbayes.counts import count
from discbayes.data import FrameEncoder
from discbayes.evaluation.metrics import binomial_error
from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.statistics import Wilcoxon, wilcoxon, win_draw_loss
from discbayes.evaluation.tasks import Task
from discbayes.recipes import parse
from discbayes.search import SpanningTree
from discbayes_papers.c11 import others
from discbayes_papers.experiment import read_records
from discbayes_papers.figures import beside
from discbayes_papers.learning import learn_structure, learn_tables, shares
from discbayes_papers.parts import (
    Part,
    Split,
    SplitRows,
    load_rows,
    make_part,
    published_splits,
)

# Table 1, in its order: the features with the class among them, the classes, and the rows that are
# tested, which are all of them in cross-validation. Breast is without its sample number.
TABLE_1 = {
    "australian": (15, 2, 690), "breast": (10, 2, 683), "chess": (37, 2, 1066),
    "cleve": (14, 2, 296), "corral": (7, 2, 128), "crx": (16, 2, 653), "diabetes": (9, 2, 768),
    "flare": (11, 2, 1066), "german": (21, 2, 1000), "glass": (10, 7, 214), "glass2": (10, 2, 163),
    "heart": (14, 2, 270), "hepatitis": (20, 2, 80), "iris": (5, 3, 150), "letter": (17, 26, 5000),
    "lymphography": (19, 4, 148), "mofn-3-7-10": (11, 2, 1024), "pima": (9, 2, 768),
    "satimage": (37, 6, 2000), "segment": (20, 7, 770), "shuttle-small": (10, 7, 1934),
    "soybean-large": (36, 19, 562), "vehicle": (19, 4, 846), "vote": (17, 2, 435),
    "waveform-21": (22, 3, 4700),
}  # fmt: skip
SETS = tuple(TABLE_1)
# by a split that was published
FIXED = ("chess", "letter", "mofn-3-7-10", "satimage", "shuttle-small", "waveform-21")
# From the quickest to the slowest, so that a run that is interrupted has done most of it.
BY_SIZE = (
    "iris", "corral", "hepatitis", "glass2", "lymphography", "glass", "heart", "cleve",
    "mofn-3-7-10", "vote", "breast", "waveform-21", "diabetes", "pima", "crx", "australian",
    "flare", "german", "vehicle", "soybean-large", "segment", "chess", "shuttle-small", "satimage",
    "letter",
)  # fmt: skip
QUICK = ("iris", "corral")

# Table 2. CART stands for C4.5; J48 of Weka was run outside the library (`weka.py`).
PROPOSED = ("TAN-fCLL-OFE", "GHC2-fCLL-OFE", "TAN-aCLL-OFE")
NETWORKS = (*PROPOSED, "GHC2-LL-OFE", "TAN-LL-OFE", "TAN-LL-ELR")
OTHERS = tuple(others.FIT)
# Not in the paper's tables: no edges of negative weight, and the interaction term alone (footnote
# 2).
VARIANTS = {
    "forest-fCLL-OFE": SpanningTree(score="fcll", min_weight=0.0),
    "TAN-interaction-OFE": SpanningTree(score="interaction"),
}
ALL_ROWS = "@all"  # after a recipe: cut points of all rows, not of the training rows

METRICS = ("accuracy", "n_test")
STORE = "c11"


# ---- runs


def tasks_of(
    data: Iterable[str],
    recipes: Sequence[str],
    seeds: Iterable[int] = (0,),
    suffixes: Sequence[str] = ("",),
) -> list[Task]:
    """Recipes on whole data sets, for each draw; a published split is one draw."""
    return [
        Task(
            name,
            0,
            tuple(f"{recipe}{suffix}" for recipe in recipes),
            seed,
            run_set,
            {"suffix": suffix},
        )
        for name in data
        for seed in seeds
        for suffix in suffixes
        if seed == 0 or name not in FIXED
    ]


def run_set(task: Task) -> Iterator[Result]:
    """The accuracy of each recipe on all test rows of a data set, and the processor time to learn
    and to answer.
    """
    parts = set_parts(task.data, task.seed, task.options["suffix"])
    n_test = sum(part.n_test for part in parts)
    for recipe in task.recipes:
        tag = recipe.removesuffix(task.options["suffix"])
        _warm_up(tag)
        started = process_time()
        right = sum(int((answers(tag, part, task.seed) == part.test_y).sum()) for part in parts)
        yield task.result(
            recipe, {"accuracy": right / n_test, "n_test": n_test}, process_time() - started
        )


def answers(tag: str, part: Part, seed: int = 0) -> np.ndarray:
    """The class of each test row by a classifier that was learned from the training rows."""
    if tag in OTHERS or tag in others.SETTINGS:
        return others.answers(tag, part, seed)
    recipe = parse(tag.replace(tag.rsplit("-", 1)[0], "TAN")) if tag in VARIANTS else parse(tag)
    structure = learn_structure(part, VARIANTS.get(tag, recipe.structure), seed).value
    return shares(
        learn_tables(part, structure, recipe.parameters, seed).value, part.test_codes
    ).argmax(axis=1)


@cache
def _warm_up(tag: str) -> None:
    """Compile what a classifier needs, so that this is not part of its time."""
    answers(tag, set_parts("iris", 0)[0])


def set_parts(name: str, seed: int, suffix: str = "") -> list[Part]:
    """The splits of a data set."""
    rows = load_rows(name)
    make = cut_on_all_rows if suffix == ALL_ROWS else make_part
    return [make(rows, split) for split in published_splits(rows, seed)]


def cut_on_all_rows(rows: SplitRows, split: Split) -> Part:
    """A split in which the test rows have a say in the cut points."""
    train, test = split
    everything = FrameEncoder("mdlp", n_jobs=1).fit_transform(rows.X, rows.y)
    data = everything.take(train)
    return Part(
        data,
        count(data, 1),
        np.ascontiguousarray(everything.codes[:, test]),
        everything.classes[test],
    )


# ---- figures


def read_pairs(file: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Read published tests: Z and the one-sided p by pair; p = 0 stands for "<0.01"."""
    return {
        (one["better"], one["worse"]): (float(one["z"]), float(one["p"]))
        for one in read_records(file)
    }


def figures(store: Store, metric: str = "accuracy", seed: int = 0) -> dict[tuple[str, str], float]:
    """What was measured in one draw, by data set and recipe; a published split belongs to every
    draw.

    Accuracies are made whole numbers of right rows over all rows again, so that equal differences
    stay equal.
    """
    found = {
        (one.data, one.recipe): one
        for one in store
        if one.seed == (0 if one.data in FIXED else seed)
    }
    if metric != "accuracy":
        return {key: one[metric] for key, one in found.items()}
    return {
        key: round(one["accuracy"] * one["n_test"]) / one["n_test"] for key, one in found.items()
    }


def columns(found: Mapping[tuple[str, str], float], pair: Sequence[str]) -> tuple[list[float], ...]:
    """The figures of two recipes on those of the 25 sets that have both."""
    sets = [name for name in SETS if all((name, recipe) in found for recipe in pair)]
    return tuple([found[name, recipe] for name in sets] for recipe in pair)


def z_over_draws(
    store: Store, pair: Sequence[str], draws: Iterable[int], suffix: str = ""
) -> tuple[list[float], float]:
    """Z of a pair in each draw that has all sets, and Z of the accuracies averaged over them."""
    tags = [f"{tag}{suffix}" for tag in pair]
    found = [columns(figures(store, seed=seed), tags) for seed in draws]
    full = np.array([both for both in found if len(both[0]) == len(SETS)])  # (draws, 2, sets)
    if not len(full):
        return [], math.nan
    return [wilcoxon(*both).z for both in full], wilcoxon(*full.mean(axis=0)).z


def compare_pair(found: Mapping[tuple[str, str], float], pair: Sequence[str]) -> Wilcoxon | None:
    """Whether the first of two recipes is better, if there are any sets to tell by."""
    first, second = columns(found, pair)
    return wilcoxon(first, second) if first != second else None


def signed_ranks(
    store: Store, published: Mapping[tuple[str, str], tuple[float, float]], tolerance: float
) -> list[Block]:
    """The tests of all pairs, with cut points of the training rows and with those of all rows."""
    found = figures(store)
    of_all = {
        (name, tag.removesuffix(ALL_ROWS)): one
        for (name, tag), one in found.items()
        if tag.endswith(ALL_ROWS)
    }
    recipes = {recipe for pair in published for recipe in pair}
    return [
        _signed_ranks(
            f"Signed-rank tests over {_full(cells, recipes)} sets, {title}",
            cells,
            published,
            tolerance,
        )
        for title, cells in (
            ("cut points of the training rows", found),
            ("cut points of all rows", of_all),
        )
    ]


def _full(found: Mapping[tuple[str, str], float], recipes: Iterable[str]) -> int:
    """The number of sets on which all recipes were run."""
    return sum(all((name, recipe) in found for recipe in recipes) for name in SETS)


def _signed_ranks(
    title: str,
    found: Mapping[tuple[str, str], float],
    published: Mapping[tuple[str, str], tuple[float, float]],
    tolerance: float,
) -> ResultTable:
    """Z of each pair beside the published one, then both p, and how often the first is better,
    equal and worse.
    """
    tests = {pair: compare_pair(found, pair) for pair in published}
    ours = {(pair_name(pair), "Z"): test.z for pair, test in tests.items() if test is not None}
    theirs = {(pair_name(pair), "Z"): z for pair, (z, _) in published.items()}
    table = beside(
        title,
        ours,
        theirs,
        [pair_name(pair) for pair in published],
        ["Z"],
        tolerance,
        corner="better – worse",
    )
    rows = [
        [*row, *_rest(found, pair, tests[pair], published[pair][1])]
        for row, pair in zip(table.rows, published, strict=True)
    ]
    return replace(table, header=[*table.header, "p", "better/equal/worse"], rows=rows)


def pair_name(pair: Sequence[str]) -> str:
    """Both names."""
    return " – ".join(pair)


def _rest(
    found: Mapping[tuple[str, str], float], pair: Sequence[str], test: Wilcoxon | None, p: float
) -> list[str]:
    theirs = "" if math.isnan(p) else f" ({'<0.01' if p == 0 else f'{p:.2f}'})"
    if test is None:
        return [f"–{theirs}", "–"]
    counts = win_draw_loss(*columns(found, pair))
    return [f"{test.p:.3f}{theirs}", f"{counts.wins}/{counts.draws}/{counts.losses}"]


def accuracy_table(store: Store, recipes: Sequence[str]) -> ResultTable:
    """Accuracies in per cent with the binomial standard error, and their mean over the sets that
    all recipes have.
    """
    found, rows = figures(store), figures(store, "n_test")

    def cell(name: str, recipe: str) -> str:
        key = name, recipe
        if key not in found:
            return "–"
        return f"{100 * found[key]:.2f} ± {100 * binomial_error(found[key], rows[key]):.2f}"

    cells = [[name, *(cell(name, recipe) for recipe in recipes)] for name in SETS]
    full = [name for name in SETS if all((name, recipe) in found for recipe in recipes)]
    means = [
        f"{np.mean([100 * found[name, recipe] for name in full]):.2f}" if full else "–"
        for recipe in recipes
    ]
    return ResultTable(
        "Accuracy, %",
        ["", *recipes],
        [*cells, [f"mean of {len(full)} sets", *means]],
        "± one binomial standard error.",
    )


def state(store: Store, recipes: Sequence[str]) -> list[Block]:
    """A line that says how much of the runs is there, if not all."""
    found = figures(store)
    n = sum((name, recipe) in found for name in SETS for recipe in recipes)
    wanted = len(SETS) * len(recipes)
    return (
        []
        if n == wanted
        else [
            Text(f"{n} of {wanted} runs are there; tests and means are of the sets that have both.")
        ]
    )
