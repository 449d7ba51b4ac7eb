"""Z17 Figures 4, 5, 7, 8, 10 and 11: losses and times of w, d and e against one another, and their
geometric means.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np

from discbayes._lazy_imports import leaf, need
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable, Text
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.statistics import geometric_mean, p_text, win_draw_loss
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment
from discbayes_papers.z17 import shared
from discbayes_papers.z17.table4 import NAMES

LETTERS = {"w": "W", "d": "D", "e": "E"}
GROUPS = {"all": shared.SETS, "big": shared.BIG}
FIGURES = {"NB": "Figure 4", "TAN": "Figure 7", "KDB1": "Figure 10"}
SMALLEST_SECONDS = 1e-5


def tasks(quick: bool) -> list[Task]:
    """All parameterisations; the slowest, e, last."""
    return [
        task
        for letters in (("M", "W"), ("D",), ("E",))
        for task in shared.round_tasks(letters, quick)
    ]


def page(store: Store) -> list[Block]:
    """Geometric means, wins between the parameterisations, and a picture for each structure."""
    note = shared.progress_note(store, ("M", *LETTERS.values()))
    tables = [_means(store), _wins(store)] if len(store) else []
    return [
        Text(note),
        *tables,
        *(block for structure in shared.STRUCTURES for block in _picture(store, structure)),
    ]


# ---- tables


def _means(store: Store) -> ResultTable:
    rows, letters = [], shared.present(store, LETTERS)
    for structure, (group, names), metric in product(
        shared.STRUCTURES, GROUPS.items(), ("error", "rmse")
    ):
        base, n, cells = "–", 0, []
        for letter in letters.values():
            tags = [f"{structure}-M", f"{structure}-{letter}"]
            kept = shared.with_errors(store, tags, shared.distinct(names))
            found = np.array(list(shared.figures(store, metric, tags, kept).values()))
            if not found.size:
                cells.append("–")
                continue
            means = [geometric_mean(column) for column in found.T]
            if not n:
                base, n = f"{means[0]:.4f}", len(kept)
            fewer = "" if len(kept) == n else f" ({len(kept)})"
            cells.append(f"{means[1] / means[0]:.3f}{fewer}")
        rows.append([shared.STRUCTURES[structure], group, NAMES[metric], str(n), base, *cells])
    header = ["", "sets", "", "n", "generative", *letters]
    note = (
        "Relative to the generative parameters on the same sets, whose number is in brackets where"
        " it is another than n. Sets on which one of the two has no error are left out."
    )
    return ResultTable("Geometric means (Figures 5, 8 and 11 of Z17)", header, rows, note, left=4)


def _wins(store: Store) -> ResultTable:
    rows, letters = [], shared.present(store, LETTERS)
    pairs = list(combinations(letters, 2))
    for structure, (group, names), metric in product(
        shared.STRUCTURES, GROUPS.items(), ("error", "rmse")
    ):
        cells = []
        for pair in pairs:
            tags = [f"{structure}-{LETTERS[letter]}" for letter in pair]
            found = np.array(
                list(shared.figures(store, metric, tags, shared.distinct(names)).values())
            )
            if found.size:
                result = win_draw_loss(*found.T, larger_is_better=False)
                apart = np.abs(found[:, 0] - found[:, 1]).max()
                cells += [
                    f"{result.wins}/{result.draws}/{result.losses}",
                    p_text(result.p),
                    f"{100 * apart:.2f}",
                ]
            else:
                cells += ["–"] * 3
        rows.append([shared.STRUCTURES[structure], group, NAMES[metric], *cells])
    header = [
        "",
        "sets",
        "",
        *(cell for a, b in pairs for cell in (f"{a} against {b}", "p", "largest, points")),
    ]
    return ResultTable(
        "Wins/draws/losses, and the largest difference on one set", header, rows, left=3
    )


# ---- pictures


def _picture(store: Store, structure: str) -> list[Block]:
    others = _others(store)
    tags = [f"{structure}-{LETTERS[letter]}" for letter in ("w", *others)]
    if not others or not shared.figures(store, "error", tags, shared.distinct(shared.SETS)):
        return []
    title = (
        f"{shared.STRUCTURES[structure]}: {' and '.join(others)} against w; a point above the"
        f" diagonal is a set on which w is better, big sets are orange ({FIGURES[structure]} of"
        " Z17)"
    )
    return [Picture(structure.lower(), title, partial(_draw, store, structure))]


def _others(store: Store) -> list[str]:
    return [letter for letter in shared.present(store, LETTERS) if letter != "w"]


def _draw(store: Store, structure: str) -> Any:
    plot = leaf("plot.comparison")
    others = _others(store)
    figure, panels = need("matplotlib.pyplot").subplots(
        len(others), 3, figsize=(10.2, 3.4 * len(others)), squeeze=False, layout="constrained"
    )
    for (row, against), (column, metric) in product(
        enumerate(others), enumerate(("error", "rmse", "seconds"))
    ):
        tags = [f"{structure}-{LETTERS[letter]}" for letter in ("w", against)]
        found = _values(store, metric, tags)
        w, other = np.array(list(found.values())).T
        unit = {"seconds": "training seconds"}.get(metric) or NAMES[metric]
        labels = (f"w: {unit}", f"{against}: {unit}")
        panel = plot.scatter_losses(
            w, other, labels, log=metric == "seconds", ax=panels[row, column]
        )
        big = np.array([name in shared.BIG for name in found])
        panel.scatter(w[big], other[big], s=20, color=leaf("plot.style").COLORS[1], zorder=4)
    return figure


def _values(store: Store, metric: str, tags: list[str]) -> dict[str, list[float]]:
    names = shared.distinct(shared.SETS)
    if metric != "seconds":
        return shared.figures(store, metric, tags, names)
    found = shared.training_seconds(store, tags, names)
    return {
        name: [max(value, SMALLEST_SECONDS) for value in values] for name, values in found.items()
    }


EXPERIMENT = Experiment(
    name="z17-scatter",
    paper="Z17",
    where="Figures 4, 5, 7, 8, 10 and 11, sections 7.1 to 7.3",
    title="Losses of weights, unconstrained parameters and normalised tables",
    tasks=tasks,
    page=page,
    metrics=shared.METRICS,
    store=shared.STORE,
)
