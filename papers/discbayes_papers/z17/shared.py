"""What the experiments of Z17 share: its data sets, rounds of two folds, and a gap as a value like
any other.

Every recipe is learned on each half of the rows and tested on the other, in several rounds. From
the class of every row in every round come bias and variance; a line of the results is a data set
and a recipe.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from time import process_time
from typing import Any, NamedTuple, TypeVar

import numpy as np

from discbayes.counts import count
from discbayes.data import Encoded, FrameEncoder
from discbayes.evaluation.bias_variance import bias_variance
from discbayes.evaluation.metrics import rmse
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.network import CPTs
from discbayes.recipes import parse
from discbayes_papers.experiment import read_records
from discbayes_papers.learning import FittedParts, learn_structure, learn_tables, shares
from discbayes_papers.parts import Part, Split, SplitRows, load_rows, two_folds

STORE = "z17"
T = TypeVar("T")
METRICS = (
    "bias", "variance", "error", "rmse", "n_rows", "rounds", "iterations", "at_limit",
    "count_seconds", "search_seconds", "fit_seconds",
)  # fmt: skip

# From small to large, by the number of cells.
SETS = (
    "iris", "corral", "glass2", "zoo", "glass", "wine", "balance-scale", "lymphography",
    "hepatitis", "heart", "cleve", "diabetes", "pima", "breast", "vote", "breast10", "australian",
    "crx", "car", "flare", "ionosphere", "sonar", "mofn-3-7-10", "cmc", "vehicle", "german",
    "soybean-large", "abalone", "segment", "shuttle-small", "nursery", "waveform-21", "hypothyroid",
    "sick", "chess", "pendigits", "satimage", "poker-hand-train", "spambase", "letter", "shuttle",
    "adult", "usps", "mnist14", "kddcup10",
)  # fmt: skip
# The same rows, a part of them, or the same rows with other columns: these do not count beside the
# other one.
SAME = {
    "pima": "diabetes", "breast10": "breast", "shuttle-small": "shuttle", "australian": "crx",
    "heart": "cleve", "glass2": "glass",
}  # fmt: skip
BIG = (
    "nursery",
    "pendigits",
    "poker-hand-train",
    "letter",
    "shuttle",
    "adult",
    "mnist14",
    "kddcup10",
)
QUICK = ("iris", "corral", "wine")

N_ROUNDS, ONE_ROUND = 5, ("mnist14", "kddcup10")
LIMIT, LOWER_LIMIT = 10_000, 1_000  # iterations
# Ends at the lower limit on all sets; of the largest has one round and fewer iterations.
SLOWEST, SHORT_LIMIT = "E", 100
SHORT = (
    "poker-hand-train",
    "spambase",
    "letter",
    "shuttle",
    "adult",
    "usps",
    "mnist14",
    "kddcup10",
)
# above 4,000 rows
LOWER = ("abalone", "shuttle-small", "waveform-21", "satimage", "spambase", "usps", *BIG)

STRUCTURES = {"NB": "NB", "TAN": "TAN", "KDB1": "KDB-1"}  # as tags and in the paper
_LEFT_OUT = ", ".join(f"not {name} beside {other}" for name, other in SAME.items())


def distinct(names: Sequence[str]) -> list[str]:
    """Those that count."""
    return [name for name in names if name not in SAME]


# ---- published figures


def read_groups(file: str, *key: str) -> dict[tuple[str, ...], list[dict[str, str]]]:
    """Read the lines of a published table by some of its columns."""
    found: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for line in read_records(file):
        found.setdefault(tuple(line[name] for name in key), []).append(line)
    return found


def read_counts(file: str, *key: str) -> dict[tuple[str, ...], tuple[tuple[int, int, int], ...]]:
    """Read wins, draws and losses of w by some columns: NB, TAN and KDB-1."""
    return {
        group: tuple((int(one["wins"]), int(one["draws"]), int(one["losses"])) for one in lines)
        for group, lines in read_groups(file, *key).items()
    }


# ---- learning


def value_part(rows: SplitRows, split: Split) -> Part:
    """A split where gaps, and values that the training rows do not have, are one more value of
    their column.
    """
    train, test = split
    encoder = FrameEncoder("mdlp", n_jobs=1)
    fitted = encoder.fit_transform(rows.X[train], rows.y[train])
    codes = np.ascontiguousarray(encoder.transform(rows.X[test]))
    missing = fitted.cards[:, None]  # the code of a gap, which becomes that of the value
    more = (fitted.codes == missing).any(axis=1) | (codes == missing).any(axis=1)
    features = (
        replace(v, missing_value=bool(m)) for v, m in zip(fitted.domain.features, more, strict=True)
    )
    data = Encoded(fitted.codes, replace(fitted.domain, features=tuple(features)), fitted.y)
    known = {label: code for code, label in enumerate(encoder.classes_.tolist())}
    y = np.array([known.get(label, -1) for label in rows.y[test].tolist()])
    return Part(data, count(data, 1), codes, y)


class Fit(NamedTuple):
    """Tables, iterations, whether they ended at the limit, and seconds of the processor: counting,
    search, fit.
    """

    tables: CPTs
    iterations: int
    at_limit: bool
    seconds: tuple[float, float, float]


Learn = Callable[[Part, Sequence[str], int], Iterator[tuple[str, Fit]]]


def learn_all(part: Part, tags: Sequence[str], max_iter: int) -> Iterator[tuple[str, Fit]]:
    """A fit for each recipe; those of one structure find it once."""
    counting, _ = timed(partial(count, part.data, 1))
    found: dict[str, tuple[float, FittedParts]] = {}
    for tag in tags:
        recipe = parse(tag)
        if recipe.structure_tag not in found:
            found[recipe.structure_tag] = timed(partial(learn_structure, part, recipe.structure))
        searching, structure = found[recipe.structure_tag]
        fitting, learned = timed(
            partial(learn_tables, part, structure.value, z17_learner(tag, max_iter))
        )
        yield (
            tag,
            Fit(
                learned.value,
                len(learned.history),
                bool(learned.warned),
                (counting, searching, fitting),
            ),
        )


def z17_learner(tag: str, max_iter: int) -> Any:
    """The parameter learner of a tag with the solver and the end of Z17."""
    learner = parse(tag).parameters
    if not hasattr(learner, "solver"):
        return learner
    return learner.set_params(solver="lbfgs", max_iter=max_iter, tol=0.0)


def timed(function: Callable[[], T]) -> tuple[float, T]:
    """Seconds of the processor, which other work on the machine does not change, and what the
    function gives.
    """
    started = process_time()
    value = function()
    return process_time() - started, value


# ---- rounds


def round_tasks(letters: Sequence[str], quick: bool, names: Sequence[str] = SETS) -> list[Task]:
    """All structures with these parameters, on all data sets, from small to large."""
    tags = tuple(f"{structure}-{letter}" for structure in STRUCTURES for letter in letters)
    return [
        Task(name, 0, tags, 0, all_rounds, _options(name, quick, SLOWEST in letters))
        for name in (QUICK if quick else names)
    ]


def _options(name: str, quick: bool, is_slow: bool) -> dict[str, int]:
    if quick:
        return {"rounds": 2, "max_iter": 50}
    if is_slow and name in SHORT:
        return {"rounds": 1, "max_iter": SHORT_LIMIT}
    return {
        "rounds": 1 if name in ONE_ROUND else N_ROUNDS,
        "max_iter": LOWER_LIMIT if is_slow or name in LOWER else LIMIT,
    }


def all_rounds(task: Task) -> Iterator[Result]:
    """Learn and test the recipes on both halves of each round."""
    return test_rounds(task, learn_all)


def test_rounds(task: Task, learn: Learn) -> Iterator[Result]:
    """The same with any way to learn what the task names."""
    rows, rounds, max_iter = (
        load_rows(task.data, complete=False),
        task.options["rounds"],
        task.options["max_iter"],
    )
    labels = rows.labels
    _warm_up(learn, task.recipes)
    kept = {tag: _Tested(rounds, labels.size) for tag in task.recipes}
    for place in range(rounds):
        for train, test in two_folds(rows, place):
            part = value_part(rows, (train, test))
            known = np.unique(labels[train])
            for tag, fit in learn(part, task.recipes, max_iter):
                kept[tag].add(place, test, known, part, fit)
    for tag, tested in kept.items():
        yield task.result(tag, tested.figures(labels), tested.total_seconds)


@lru_cache(maxsize=8)
def _warm_up(learn: Learn, tags: tuple[str, ...]) -> None:
    """Learn them once on few rows, as the first time includes what is compiled."""
    rows = load_rows("iris", complete=False)
    list(learn(value_part(rows, two_folds(rows, 0)[0]), tags, 3))


class _Tested:
    """The classes of all rows in all rounds, and what the fits took."""

    def __init__(self, rounds: int, n_rows: int):
        self.classes = np.empty((rounds, n_rows), np.int16)
        self.square = 0.0
        self.fits: list[tuple[float, ...]] = []

    def add(self, place: int, test: np.ndarray, known: np.ndarray, part: Part, fit: Fit) -> None:
        """Test a fit on the rows of its other half; ``known`` are the classes of its own."""
        posterior = shares(fit.tables, part.test_codes)
        self.classes[place, test] = known[posterior.argmax(axis=1)]
        self.square += rmse(posterior, part.test_y) ** 2 * part.n_test
        self.fits.append((fit.iterations, fit.at_limit, *fit.seconds))

    @property
    def total_seconds(self) -> float:
        """Seconds of the processor over all fits."""
        return sum(sum(fit[2:]) for fit in self.fits)

    def figures(self, labels: np.ndarray) -> dict[str, float]:
        """What ``METRICS`` names; iterations and seconds are means over the fits."""
        rounds, n_rows = self.classes.shape
        found = bias_variance(self.classes, labels)
        spread = {"bias": found.bias, "variance": found.variance} if rounds > 1 else {}
        means = np.mean(self.fits, axis=0).tolist()
        return spread | {
            "error": found.error,
            "rmse": math.sqrt(self.square / (rounds * n_rows)),
            "n_rows": n_rows,
            "rounds": rounds,
            **dict(zip(METRICS[-5:], means, strict=True)),
        }


# ---- reading results


def figures(
    store: Store, metric: str, tags: Sequence[str], names: Sequence[str]
) -> dict[str, list[float]]:
    """The figures of each data set that all of these recipes have, by its name."""
    nothing = Result("", 0, "", 0)
    found = {
        name: [store.results.get((name, 0, tag, 0), nothing)[metric] for tag in tags]
        for name in names
    }
    return {name: values for name, values in found.items() if not any(map(math.isnan, values))}


def with_errors(store: Store, tags: Sequence[str], names: Sequence[str]) -> list[str]:
    """The data sets on which each of these recipes has some error: geometric means are over
    them.
    """
    return [
        name for name, errors in figures(store, "error", tags, names).items() if min(errors) > 0
    ]


def training_seconds(
    store: Store, tags: Sequence[str], names: Sequence[str]
) -> dict[str, list[float]]:
    """Seconds for counting, search and fit together, by data set."""
    parts = [figures(store, f"{part}_seconds", tags, names) for part in ("count", "search", "fit")]
    return {name: np.sum([part[name] for part in parts], axis=0).tolist() for name in parts[0]}


def present(store: Store, letters: Mapping[str, str]) -> dict[str, str]:
    """The parameterisations that have any result: tables and pictures leave the others out."""
    found = {result.recipe.rsplit("-", 1)[1] for result in store}
    return {name: letter for name, letter in letters.items() if letter in found}


def progress_note(store: Store, letters: Sequence[str]) -> str:
    """How many of the runs there are."""
    tags = {f"{structure}-{letter}" for structure in STRUCTURES for letter in letters}
    done = sum(result.recipe in tags for result in store)
    return (
        f"{done} of {len(tags) * len(SETS)} runs are there (a run is a data set with a recipe, all"
        " rounds)."
    )
