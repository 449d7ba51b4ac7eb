"""P10 Figure 13: accuracy on handwritten digits with features missing at test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np

from discbayes.evaluation.result_blocks import Block, Picture, ResultTable
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.tasks import Task
from discbayes.network import CPTs
from discbayes.parameters import MaximumConditionalLikelihood
from discbayes.recipes import parse
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import draw_curves, figure_text, how_many
from discbayes_papers.learning import learn_structure, learn_tables
from discbayes_papers.p10.orders import n_right
from discbayes_papers.p10.shared import QUICK
from discbayes_papers.parts import load_part, with_missing

DATA, N_FEATURES = "mnist14", 196
MISSING = tuple(range(0, 200, 20))  # features of 196
METRICS = (*(f"missing_{n}" for n in MISSING), "n_test")
EARLY = "NB-CL max_iter=10"
PARAMETERS = ("NB-ML", "NB-CL", EARLY, "TAN-CR-ML")  # Figure 13(b), and a fit that ends early
STRUCTURES = ("TAN-CMI-ML", "TAN-OMI-CR-ML")  # further ones for Figure 13(a)
N_DRAWS, N_DRAWS_STRUCTURES, N_QUICK = 100, 10, 2
FIGURES = {
    "structures": ("NB-ML", *STRUCTURES, "TAN-CR-ML"),
    "parameters": PARAMETERS,
}


def tasks(quick: bool) -> list[Task]:
    """One draw of missing features after the other."""
    data, n_draws = (QUICK[-1], N_QUICK) if quick else (DATA, N_DRAWS)
    return [
        Task(
            data,
            0,
            PARAMETERS + (STRUCTURES if draw < N_DRAWS_STRUCTURES else ()),
            draw,
            lose_features,
        )
        for draw in range(n_draws)
    ]


def lose_features(task: Task) -> Iterator[Result]:
    """The accuracy of each classifier with so many features missing, the same ones for all."""
    part = load_part(task.data, task.fold)
    numbers = [n * part.data.n_features // N_FEATURES for n in MISSING]
    codes = list(with_missing(part, numbers, task.seed))
    for tag in task.recipes:
        tables, started = fitted(task.data, tag), perf_counter()
        rates = [n_right(tables, some, part.test_y) / part.n_test for some in codes]
        figures = dict(zip(METRICS, (*rates, part.n_test), strict=True))
        yield task.result(tag, figures, perf_counter() - started)


@lru_cache(maxsize=8)
def fitted(data: str, tag: str) -> CPTs:
    """The tables of a recipe, learned once."""
    part = load_part(data, 0)
    recipe = parse(tag.partition(" ")[0])
    learner: Any = MaximumConditionalLikelihood(max_iter=10) if tag == EARLY else recipe.parameters
    return learn_tables(part, learn_structure(part, recipe.structure).value, learner).value


# ---- the page


def page(store: Store) -> list[Block]:
    """A table and a picture for each half of the figure."""
    blocks: list[Block] = how_many(store, tasks(False))
    for name, tags in FIGURES.items():
        rates = {tag: rates_of(store, tag) for tag in tags}
        blocks.append(_table(name, rates))
        if all(map(len, rates.values())):
            title = (
                "Accuracy with features missing at test, one standard deviation shaded: different"
                f" {name}."
            )
            blocks.append(_picture(name, title, rates))
    return blocks


def rates_of(store: Store, tag: str) -> np.ndarray:
    """Accuracies in per cent, an array (draws, numbers of missing features)."""
    found = store.where(recipe=tag)
    return 100 * np.array([[one[metric] for metric in METRICS[:-1]] for one in found])


def _table(name: str, rates: Mapping[str, np.ndarray]) -> ResultTable:
    rows = []
    for place, n in enumerate(MISSING):
        cells = (
            f"{figure_text(found[:, place].mean())} ± {figure_text(found[:, place].std())}" if len(found) else "–"
            for found in rates.values()
        )  # fmt: skip
        rows.append([str(n), *cells])
    draws = ", ".join(f"{tag} {len(found)}" for tag, found in rates.items())
    note = f"Mean and standard deviation over draws of missing features; draws: {draws}."
    return ResultTable(f"Accuracy (%), different {name}", ("missing features", *rates), rows, note)


def _picture(name: str, title: str, rates: Mapping[str, np.ndarray]) -> Picture:
    means, spreads = (
        {tag: f(found, axis=0) for tag, found in rates.items()} for f in (np.mean, np.std)
    )
    labels = ("missing features (of 196)", "classification rate, %")
    return Picture(name, title, lambda: draw_curves(MISSING, means, labels, spreads))


PROTOCOL = f"""The 10,000 test rows of mnist14 (196 features) lose features at random: in each draw every row its own,
the same ones for all classifiers; those of a larger number hold those of a smaller one. They are summed out exactly.
As in P10 there are {N_DRAWS} draws, and {N_DRAWS_STRUCTURES} for TAN-CMI-ML and TAN-OMI-CR-ML. NB-CL is cross-tuned
(it ends after 47 iterations), and beside it is a fit that ends after ten."""
DEVIATIONS = """P10 prints a figure without numbers, and says of it that results are similar to those on speech: a
discriminative structure with ML parameters is better than discriminative parameters where features are missing, and
better than the generative structure TAN-CMI.

The first holds. TAN-CR-ML is the best of its figure even with nothing missing, by 0.9 points over NB-CL, and its lead
grows: 2 points with 20 features missing, 14 with 100. NB-CL loses much faster than the other two: with 60 missing 1.6
of its eight points over NB-ML are left, from 80 on it is worse than NB-ML, by 25 points in the end. Ending it earlier
costs little with nothing missing (92.1 against 92.7), and it is then better than NB-ML up to 80. TAN-CR-ML stays
above NB-ML throughout, by 9 points with nothing missing and by 1 with 180.

The second holds only while fewer than 80 of the 196 features are missing. From 80 on TAN-CMI-ML is above TAN-CR-ML,
from 100 on above TAN-OMI-CR-ML as well, by up to 2.2 points, many standard deviations. Probably edges that were
chosen for what they add to all other features say less when many of these are gone. Which structures P10's Figure
13(a) compares is not said in its text; ours are TAN-CMI, TAN-OMI-CR and TAN-CR, beside NB."""

EXPERIMENT = Experiment(
    "p10-fig13", "P10", "Figure 13", "Features missing at test on handwritten digits",
    tasks, page, METRICS, protocol=PROTOCOL, deviations=DEVIATIONS,
)  # fmt: skip
