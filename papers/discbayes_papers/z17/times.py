"""Z17 Figures 6, 9, 12 and 20 to 22: training times and iterations, and whether they differ."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy as np

from discbayes._lazy_imports import leaf
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable, Text
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.statistics import (
    Friedman,
    critical_difference,
    friedman,
    geometric_mean,
    p_text,
)
from discbayes_papers.experiment import Experiment
from discbayes_papers.z17 import shared
from discbayes_papers.z17.scatter import GROUPS, LETTERS, tasks

FIGURES = {"NB": "Figure 20", "TAN": "Figure 21", "KDB1": "Figure 22"}
PUBLISHED = {"d": "almost 2", "e": "10 or more"}  # times as long as w, in the words of 7.1 and 7.2
MEASURES = {"seconds": "training time", "iterations": "iterations"}


def page(store: Store) -> list[Block]:
    """Geometric means of times and iterations, then ranks."""
    blocks: list[Block] = [Text(shared.progress_note(store, ("M", *LETTERS.values())))]
    if not len(store):
        return blocks
    return [*blocks, _means(store), _ranks(store), *_pictures(store)]


def _table(
    store: Store, measure: str, tags: list[str], group: str = "all"
) -> dict[str, list[float]]:
    names = shared.distinct(GROUPS[group])
    if any(tag.endswith(f"-{shared.SLOWEST}") for tag in tags):  # which ends early on these
        names = [name for name in names if name not in shared.SHORT]
    if measure == "seconds":
        return shared.training_seconds(store, tags, names)
    return shared.figures(store, measure, tags, names)


def _means(store: Store) -> ResultTable:
    rows, present = [], shared.present(store, LETTERS)
    for structure, group, measure in product(shared.STRUCTURES, GROUPS, MEASURES):
        found = _table(store, measure, [f"{structure}-M", f"{structure}-W"], group)
        if not found:
            continue
        timed = measure == "seconds"
        base, mine = (geometric_mean(column) for column in np.array(list(found.values())).T)
        generative = f"{1000 * base:.2f}" if timed else ""
        first = f"{1000 * mine:.1f}" if timed else f"{mine:.0f}"
        ratios = [
            _ratio(
                _table(store, measure, [f"{structure}-W", f"{structure}-{letter}"], group),
                len(found),
            )
            for name, letter in present.items()
            if name != "w"
        ]
        rows.append(
            [
                shared.STRUCTURES[structure],
                group,
                MEASURES[measure],
                str(len(found)),
                generative,
                first,
                *ratios,
            ]
        )
    others = [f"{letter} / w" for letter in present if letter != "w"]
    header = ["", "sets", "", "n", "generative, ms", "w (ms or number)", *others]
    note = (
        "Seconds of the processor for one fit: counting, search and parameters. Z17 on time: d "
        f"{PUBLISHED['d']}, e {PUBLISHED['e']}."
    )
    return ResultTable("Geometric means (Figures 6, 9 and 12 of Z17)", header, rows, note, left=3)


def _ratio(found: dict[str, list[float]], n: int) -> str:
    """How many times that of w the other takes, and on how many sets if these are fewer."""
    if not found:
        return "–"
    w, other = (geometric_mean(column) for column in np.array(list(found.values())).T)
    return f"{other / w:.2f}" + ("" if len(found) == n else f" ({len(found)})")


def _friedman(store: Store, structure: str, measure: str) -> Friedman | None:
    letters = shared.present(store, LETTERS).values()
    found = _table(store, measure, [f"{structure}-{letter}" for letter in letters])
    return (
        friedman(list(found.values()), larger_is_better=False)
        if len(found) > 1 and len(letters) > 1
        else None
    )


def _ranks(store: Store) -> ResultTable:
    rows = []
    for structure, measure in product(shared.STRUCTURES, MEASURES):
        found = _friedman(store, structure, measure)
        if found is None:
            continue
        ranks = [f"{rank:.2f}" for rank in found.ranks]
        difference = f"{critical_difference(len(ranks), found.n):.2f}"
        name = f"{shared.STRUCTURES[structure]}, {MEASURES[measure]}"
        rows.append(
            [name, str(found.n), *ranks, f"{found.chi2:.1f}", p_text(found.p_chi2), difference]
        )
    note = (
        "Mean ranks, 1 being the quickest, with Friedman's χ²; ranks that are less than the"
        " critical difference apart do not differ (Nemenyi, 5 %)."
    )
    return ResultTable(
        "Ranks",
        ["", "sets", *shared.present(store, LETTERS), "χ²", "p", "critical difference"],
        rows,
        note,
    )


def _pictures(store: Store) -> list[Block]:
    return [
        Picture(
            f"{structure.lower()}-{measure}",
            f"{shared.STRUCTURES[structure]}: mean ranks in {MEASURES[measure]}"
            f" ({FIGURES[structure]} of Z17)",
            partial(_draw, store, structure, measure),
        )
        for structure, measure in product(shared.STRUCTURES, MEASURES)
        if _friedman(store, structure, measure) is not None
    ]


def _draw(store: Store, structure: str, measure: str) -> Any:
    found = _friedman(store, structure, measure)
    assert found is not None
    names = [
        f"{shared.STRUCTURES[structure]} {letter}" for letter in shared.present(store, LETTERS)
    ]
    ranks = dict(zip(names, found.ranks.tolist(), strict=True))
    return leaf("plot.comparison").critical_difference_diagram(ranks, found.n).figure


EXPERIMENT = Experiment(
    name="z17-times",
    paper="Z17",
    where="Figures 6, 9, 12 and 20 to 22, appendix C",
    title=(
        "Training times and iterations of weights, unconstrained parameters and normalised tables"
    ),
    tasks=tasks,
    page=page,
    metrics=shared.METRICS,
    store=shared.STORE,
)
