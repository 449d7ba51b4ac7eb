"""What the experiments of P12 share: data and splits, how λ is chosen, and how runs of annealing
are summed up.

A recipe is a tag, such as ``TAN-SA-MM-ML``, and perhaps a word on what its task sets besides:
``TAN-SA-MM-ML D=0.5``. The seed of a result is the number of the run of annealing, its fold the
number of the split.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from textwrap import shorten
from typing import Any

import numpy as np

from discbayes.counts import count
from discbayes.evaluation.result_blocks import ResultTable
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.objectives import Margin
from discbayes.recipes import Recipe, parse
from discbayes.scores.sample import SampleScore
from discbayes.scoring import CountingScorer
from discbayes.search.tuning import SCALES
from discbayes_papers.experiment import Figures
from discbayes_papers.figures import figure_text
from discbayes_papers.learning import METRICS as USUAL
from discbayes_papers.learning import FittedParts, judged, learn_structure, learn_tables
from discbayes_papers.parts import Part, Split, SplitRows, load_part, published_splits, thinned

STORE = "p12"
METRICS = (*USUAL, "score", "score_lam", "lam", "support_vectors", "C", "gamma")
MNIST, SPAM, USPS, OTHER_USPS = "mnist14", "spambase", "usps", "usps-11000"
SETS, QUICK = (SPAM, MNIST, USPS), "wine"
# of Tables 1 and 2; the third is the set of 11,000 images, which cannot be had
COLUMNS = (MNIST, SPAM)
N_SPLITS = {SPAM: 5}
N_RUNS = 10
MAX_ROWS = {MNIST: 6000, USPS: 1500}  # by which λ is chosen; elsewhere all training rows do
ANNEALED = ("TAN-SA-CR", "TAN-SA-MM")
STRUCTURES = ("NB", "TAN-CMI", "TAN-HC-CR", "TAN-HC-MM", *ANNEALED)
TOLERANCE = 1.0
EARLY = "MM tuned"  # fits that end after the number of iterations that held-out rows find best
HELD_OUT = "MM held-out"  # at the iteration that is best on a fold that is not learned from
STOPPING = {EARLY: "cross-tuning", HELD_OUT: "held-out"}
NOTE = 60  # characters of a warning that are kept


# ---- data


def p12_splits(rows: SplitRows, seed: int = 0) -> list[Split]:
    """The published split, or several that are drawn in the published sizes."""
    return [published_splits(rows, draw)[0] for draw in range(N_SPLITS.get(rows.name, 1))]


def p12_part(name: str, fold: int) -> Part:
    """One split of a data set."""
    return load_part(name, fold, 0, p12_splits)


def p12_tasks(quick: bool) -> list[Task]:
    """All structures, each with ML and MM parameters; the runs that the tables and Figures 2 and 3
    share.
    """
    names, n_runs = ((QUICK,), 2) if quick else (SETS, N_RUNS)
    return [
        Task(name, fold, recipes_of(structure, name), run, learn)
        for name in names
        for structure in (*STRUCTURES[:4], *reversed(ANNEALED))
        for run in range(n_runs if structure in ANNEALED else 1)
        for fold in range(N_SPLITS.get(name, 1))
    ]


def recipes_of(structure: str, name: str) -> tuple[str, ...]:
    """ML and MM parameters, and MM parameters that end early: on small data with all structures.

    >>> recipes_of("TAN-HC-CR", "mnist14"), recipes_of("NB", "mnist14")
    (('TAN-HC-CR-ML', 'TAN-HC-CR-MM'), ('NB-ML', 'NB-MM', 'NB-MM tuned'))
    >>> recipes_of("NB", "spambase")
    ('NB-ML', 'NB-MM', 'NB-MM tuned', 'NB-MM held-out')
    """
    early = [EARLY, HELD_OUT]
    if name not in (SPAM, QUICK):
        early = [EARLY] if structure in STRUCTURES[:2] else []
    return tuple(f"{structure}-{words}" for words in ("ML", "MM", *early))


# ---- learning


def learn(task: Task) -> Iterator[Result]:
    """A structure, and the tables of each recipe with it; options of the task are settings of the
    search.
    """
    part = p12_part(task.data, task.fold)
    recipes = {label: parse(label.split()[0]) for label in task.recipes}
    found, lam = find_structure(task, next(iter(recipes.values())))
    about = {"score": _score_of(found), "score_lam": lam}
    for label, recipe in recipes.items():
        chosen = (
            table_scale(task.data, task.fold, recipe.structure_tag)
            if recipe.parameters_tag == "MM"
            else math.nan
        )
        tables = learn_tables(part, found.value, table_learner(label, chosen))
        figures = judged(part, found, tables) | about | {"lam": chosen}
        note = shorten(tables.warned, NOTE, placeholder=" …")
        yield task.result(label, figures, found.seconds + tables.seconds, note)


def find_structure(task: Task, recipe: Recipe) -> tuple[FittedParts, float]:
    """The structure of a recipe, and λ of its score; NaN if that is no margin."""
    learner, lam = recipe.structure, math.nan
    if recipe.structure_tag.endswith("-MM"):
        lam = score_scale(task.data, task.fold)
        learner.set_params(score=Margin(lam))
    learner.set_params(**task.options)
    return learn_structure(p12_part(task.data, task.fold), learner, task.seed), lam


def _score_of(found: FittedParts) -> float:
    """The score of the rows that a search ended with; NaN if it had none."""
    last = found.history[-1] if found.history else {}
    return last["score"] if "abandoned" in last or "temperature" in last else math.nan


def table_learner(label: str, lam: float) -> Any:
    """The parameters of a recipe, with λ of the margin."""
    recipe = parse(label.split()[0])
    ends = [stopping for words, stopping in STOPPING.items() if label.endswith(words)]
    early = {"stopping": ends[0]} if ends else {}
    return recipe.parameters.set_params(**({} if math.isnan(lam) else {"lam": lam}), **early)


@cache
def score_scale(name: str, fold: int) -> float:
    """λ of the score: that whose greedy search finds the structure of the best rate, by other folds
    than its own.
    """
    part = part_to_choose(name, fold)
    rate, rates = SampleScore("cr", evaluation=5).checked(), []
    for lam in SCALES:
        found = learn_structure(part, parse("TAN-HC-MM-ML").structure.set_params(score=Margin(lam)))
        rates.append(
            CountingScorer(part.data, rate, found.value, np.random.default_rng(1), 1).reported()
        )
    return SCALES[int(np.argmax(rates))]


@cache
def table_scale(name: str, fold: int, structure_tag: str) -> float:
    """λ of MM parameters by five folds of the training rows: one for naive Bayes, and that of
    TAN-CMI for all trees.
    """
    if structure_tag not in ("NB", "TAN-CMI"):
        return table_scale(name, fold, "TAN-CMI")
    recipe, part = parse(f"{structure_tag}-MM"), part_to_choose(name, fold)
    structure = learn_structure(p12_part(name, fold), recipe.structure).value
    history = learn_tables(part, structure, recipe.parameters).history
    rates = [line["held_out"] for line in history if "held_out" in line]
    # the learner goes from the largest to the smallest
    return sorted(SCALES, reverse=True)[int(np.argmax(rates))]


def part_to_choose(name: str, fold: int) -> Part:
    """Training rows of a split, or a stratified part of them, by which λ is chosen."""
    data = p12_part(name, fold).data
    data = thinned(data, MAX_ROWS.get(name, data.n_samples))
    return Part(data, count(data, 1), data.codes[:, :0], data.classes[:0])


# ---- pages


@dataclass(frozen=True)
class Runs:
    """Figures of a recipe on a data set, means over the splits; the best run is that with the best
    score.
    """

    best: float
    median: float
    least: float
    largest: float
    n_runs: int
    n_splits: int


def runs_of(store: Store, metric: str, data: str, recipe: str, scale: float = 1.0) -> Runs:
    """What is stored of a recipe; NaN and 0 if that is nothing."""
    splits: dict[int, list[Result]] = {}
    for result in store.where(data=data, recipe=recipe):
        if not math.isnan(result[metric]):
            splits.setdefault(result.fold, []).append(result)
    if not splits:
        return Runs(math.nan, math.nan, math.nan, math.nan, 0, 0)
    rows = [
        [f([result[metric] for result in found]) for f in (np.median, min, max)]
        for found in splits.values()
    ]
    best = [max(found, key=_score)[metric] for found in splits.values()]
    median, least, largest = scale * np.mean(rows, axis=0)
    n_runs = min(len(found) for found in splits.values())
    return Runs(
        scale * float(np.mean(best)),
        float(median),
        float(least),
        float(largest),
        n_runs,
        len(splits),
    )


def _score(result: Result) -> float:
    return -math.inf if math.isnan(result["score"]) else result["score"]


def accuracy(store: Store, data: str, recipe: str) -> Runs:
    """Accuracy in per cent."""
    return runs_of(store, "accuracy", data, recipe, 100.0)


def best_accuracies(store: Store, parameters: str, names: Iterable[str] = SETS) -> Figures:
    """The accuracy of the best run in per cent, by structure and data set."""
    cells = [(structure, name) for structure in STRUCTURES for name in names]
    return {
        (structure, name): accuracy(store, name, f"{structure}-{parameters}").best
        for structure, name in cells
    }


def annealing_table(store: Store, parameters: str, published: Figures) -> ResultTable:
    """Best run, median and range of annealing, beside the published best run."""
    rows = []
    for name in store_sets(store):
        for structure in ANNEALED:
            runs = accuracy(store, name, f"{structure}-{parameters}")
            figures = (
                runs.best,
                runs.median,
                runs.least,
                runs.largest,
                published.get((structure, name), math.nan),
            )
            rows.append(
                [name, structure, *map(figure_text, figures), f"{runs.n_runs} × {runs.n_splits}"]
            )
    head = [
        "data",
        "structure",
        "best by score",
        "median",
        "least",
        "largest",
        "published best",
        "runs × splits",
    ]
    note = (
        "With several splits, means over them. The best run is that with the best score on the"
        " training rows."
    )
    return ResultTable(
        f"Runs of annealing, {parameters} parameters, accuracy in per cent",
        head,
        rows,
        note,
        left=2,
    )


def store_sets(store: Store) -> list[str]:
    """The data sets that are there, in our order; all if there are none."""
    found = store.data()
    return [name for name in (*SETS, QUICK) if name in found] or list(SETS)


def difference_table(
    store: Store, title: str, pairs: Mapping[str, tuple[str, str]], note: str = ""
) -> ResultTable:
    """What the first recipe of a pair has more than the second, medians of runs, in points, by data
    set.
    """
    names = store_sets(store)
    rows = []
    for text, (first, second) in pairs.items():
        gaps = [
            accuracy(store, name, first).median - accuracy(store, name, second).median
            for name in names
        ]
        rows.append([text, *("–" if math.isnan(gap) else f"{gap:+.2f}" for gap in gaps)])
    return ResultTable(title, ["", *names], rows, note)


def other_usps(parameters: str, ours: Figures, p13: Figures, p12: Figures) -> ResultTable:
    """Our figures on usps, beside P13's on the same images, and P12's on others."""
    rows = []
    for structure in (row for row, name in ours if name == USPS):
        theirs = p13.get((structure, USPS), math.nan), p12.get((structure, OTHER_USPS), math.nan)
        rows.append([structure, *map(figure_text, (ours[structure, USPS], *theirs))])
    head = ["", "ours, 9,298 images", "P13, 9,298 images", "P12, 11,000 other images"]
    return ResultTable(f"usps with {parameters} parameters, accuracy in per cent", head, rows)
