"""What the tables of P10 share: the 25 data sets, how they are tested, and the averages over
them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from textwrap import shorten

from discbayes.evaluation.metrics import weighted_mean
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.recipes import parse
from discbayes_papers.experiment import Figures
from discbayes_papers.figures import beside_store
from discbayes_papers.learning import classify, learn_structure
from discbayes_papers.parts import N_FOLDS, load_part

# The 25 sets of Friedman et al. (1997) in the order of P10's Table 6, by the names that they have
# here, and the rows that are tested: all of them in cross-validation. Ten features are listed for
# breast, so it is the version with the sample number.
TESTED = {
    "australian": 690, "breast10": 683, "chess": 1066, "cleve": 296, "corral": 128, "crx": 653,
    "diabetes": 768, "flare": 1066, "german": 1000, "glass": 214, "glass2": 163, "heart": 270,
    "hepatitis": 80, "iris": 150, "letter": 5000, "lymphography": 148, "mofn-3-7-10": 1024,
    "pima": 768, "shuttle-small": 1934, "vote": 435, "satimage": 2000, "segment": 770,
    "soybean-large": 562, "vehicle": 846, "waveform-21": 4700,
}  # fmt: skip
FRIEDMAN = tuple(TESTED)
FIXED = (
    "chess",
    "letter",
    "mofn-3-7-10",
    "shuttle-small",
    "satimage",
    "segment",
    "waveform-21",
    "usps",
    "mnist14",
)
# From the quickest to the slowest, so that a run that is interrupted has done most of it.
BY_SIZE = (
    "iris", "corral", "glass2", "glass", "diabetes", "pima", "breast10", "mofn-3-7-10",
    "lymphography", "heart", "cleve", "hepatitis", "shuttle-small", "flare", "vote", "crx",
    "australian", "waveform-21", "german", "vehicle", "segment", "chess", "soybean-large", "letter",
    "satimage",
)  # fmt: skip
QUICK = ("iris", "corral")
STORE, TRAINED_STORE = "p10-table7", "p10-table7-crcl"
STRUCTURES = (
    "NB", "TAN-CMI", "TAN-SuperParent", "TAN-OMI-CR", "TAN-OMI-CRCL", "TAN-CR",
    "2-tree-SuperParent", "2-tree-OMI-CR", "2-tree-CR",
)  # fmt: skip
# its search trains every candidate, and takes longer than all others together
TRAINED = "TAN-OMI-CRCL"
TUNED = "tuned"  # as many iterations as cross tuning finds for naive Bayes
RANDOM = "TAN-RO-CR-ML"
LARGE = ("usps", "mnist14")
NOTE = 60  # characters of a warning that are kept


def n_folds(data: str) -> int:
    """One for a split that was published, else five."""
    return 1 if data in FIXED else N_FOLDS


def tasks_of(
    data: Iterable[str],
    structures: Sequence[str],
    parameters: Sequence[str] = ("ML", "CL"),
    seed: int = 0,
) -> list[Task]:
    """Each structure with each way to learn parameters on all folds; a structure is found once."""
    return [
        Task(name, fold, tuple(f"{structure}-{tables}" for tables in parameters), seed, work)
        for name in data
        for fold in range(n_folds(name))
        for structure in structures
    ]


def work(task: Task) -> Iterator[Result]:
    """The usual work, timed when its functions are compiled; warnings are shortened, as most are
    the same.
    """
    for structure in dict.fromkeys(parse(tag).structure_tag for tag in task.recipes):
        _warm_up(structure)
    for result in classify(task):
        yield replace(result, note=shorten(result.note, NOTE, placeholder=" …"))


@cache
def _warm_up(structure: str) -> None:
    """Learn a structure of a small set, once in a process."""
    learn_structure(load_part("iris", 0), parse(structure).structure)


def accuracies(runs: Iterable[Result], seed: int = 0) -> Figures:
    """Accuracy in per cent by data set and recipe, where all folds are there; another seed is
    another draw of folds.
    """
    found = defaultdict(list)
    for result in runs:
        if result.seed == seed:
            found[result.data, result.recipe].append((100.0 * result["accuracy"], result["n_test"]))
    return {
        key: weighted_mean(*zip(*runs, strict=True))
        for key, runs in found.items()
        if len(runs) == n_folds(key[0])
    }


def accuracies_of(store: Store, *others: str) -> Figures:
    """Return the accuracies of a store and of others in the same folder; its own count first."""
    found: Figures = {}
    for other in others:
        found |= accuracies(beside_store(store, other))
    return found | accuracies(store)


def trained_tag(tag: str, iterations: int | str) -> str:
    """Return the tag of a search that trains each candidate for some iterations.

    >>> trained_tag("TAN-OMI-CRCL-ML", 5)
    'TAN-OMI-CRCL-ML, iterations=5'
    """
    return f"{tag}, iterations={iterations}"


def trained_runs(store: Store) -> list[Result]:
    """Return the runs of OMI-CRCL whose candidates are cross-tuned, under the tags of P10.

    They are in a file of results of their own, beside that of a store.
    """
    end = trained_tag("", TUNED)
    return [
        replace(run, recipe=run.recipe.removesuffix(end))
        for run in beside_store(store, TRAINED_STORE)
        if run.recipe.endswith(end)
    ]


def summary(figures: Figures, recipes: Iterable[str]) -> Figures:
    """Return the average over the 25 sets, column "UCI", and the accuracies on digits."""
    found: Figures = {}
    for tag in recipes:
        found[tag, "UCI"] = average(figures, tag)
        found |= {(tag, data): figures.get((data, tag), math.nan) for data in LARGE}
    return found


def random_orders(store: Store) -> Figures:
    """What p10-table8 has of random orders: the mean, and the orders that are worst and best on the
    training rows.
    """
    return {
        (result.data, f"{RANDOM} ({name})"): 100.0 * result[metric]
        for result in beside_store(store, "p10-table8").where(recipe=RANDOM, seed=0)
        for name, metric in (("mean", "accuracy"), ("min", "at_least"), ("max", "at_largest"))
    }


def average(figures: Mapping[tuple[str, str], float], column: str) -> float:
    """The mean of a column over the 25 sets, each counting by the rows tested (footnote 4); NaN if
    one is missing.
    """
    values = [figures.get((data, column), math.nan) for data in FRIEDMAN]
    return (
        math.nan if any(map(math.isnan, values)) else weighted_mean(values, list(TESTED.values()))
    )
