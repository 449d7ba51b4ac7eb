"""Z17 Figures 13 to 19: how fast the parameterisations converge, and how long others take to be
where w is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from discbayes._lazy_imports import leaf, need
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable, Text
from discbayes.evaluation.result_store import Store
from discbayes_papers.experiment import Experiment
from discbayes_papers.z17 import curves, shared

BIGGEST = ("kddcup10", "mnist14", "shuttle", "adult")
SAMPLE = ("nursery", "pendigits", "poker-hand-train", "letter", "satimage", "spambase")
REACH = (5, 10)  # iterations after which the others are followed until they are as low
PUBLISHED = {"d": 10, "e": 15}  # more iterations for what w has after five, on average (7.4)
LEAST, MOST = -10, 25  # iterations in the histograms


def page(store: Store) -> list[Block]:
    """Curves, histograms, and the figures of the big sets one by one."""
    blocks: list[Block] = [Text(curves.progress_note(store))]
    if not len(store):
        return blocks
    figures = {
        "zeros": ("Figure 13", "Figure 19"),
        "generative estimates": ("Figure 14", "Figure 18"),
    }
    for start, (four, six) in figures.items():
        for label, names, figure in (("big", BIGGEST, four), ("sample", SAMPLE, six)):
            title = f"NLL after each iteration, from {start} ({figure} of Z17, on our data)"
            blocks.append(
                Picture(
                    f"{label}-{start.split()[0]}", title, partial(_draw_curves, store, names, start)
                )
            )
    caption = (
        "Iterations beyond the fifth that d and e need for what w has there (Figures 15 to 17 of"
        " Z17)"
    )
    return [
        *blocks,
        _reach(store),
        Picture("reach", caption, partial(_draw_reach, store)),
        *_big(store),
    ]


# ---- iterations to reach w


def _reached(store: Store, structure: str, start: str, against: str, after: int) -> dict[str, int]:
    found = curves.pairs(store, structure, start, against, shared.distinct(shared.SETS))
    return {name: curves.iterations_to_reach(w, other, after) for name, (w, other) in found.items()}


def _reach(store: Store) -> ResultTable:
    rows = []
    for start, against, after, structure in product(
        curves.STARTS, PUBLISHED, REACH, shared.STRUCTURES
    ):
        found = np.array(list(_reached(store, structure, start, against, after).values()))
        published = f"about {PUBLISHED[against]}" if after == REACH[0] else ""
        figures = _summary(found, curves.N_ITER - after) if found.size else ["–"] * 5
        rows.append(
            [
                start,
                against,
                str(after),
                shared.STRUCTURES[structure],
                str(found.size),
                *figures,
                published,
            ]
        )
    header = [
        "start",
        "against",
        "after",
        "",
        "sets",
        "w ahead",
        "w behind",
        "not seen",
        "median",
        "mean",
        "Z17 mean",
    ]
    note = (
        "Where w is behind, the iterations are those of w, and negative. Fits were followed for"
        f" {curves.N_ITER} iterations: what was not reached by then is `not seen`, and counts as"
        " one more than there were."
    )
    return ResultTable(
        "Iterations that d and e need for what w has after 5 or 10", header, rows, note, left=4
    )


def _summary(found: np.ndarray, most: int) -> list[str]:
    counts = (int((found > 0).sum()), int((found < 0).sum()), int((abs(found) > most).sum()))
    return [*map(str, counts), f"{np.median(found):g}", f"{found.mean():.1f}"]


def _big(store: Store) -> list[Block]:
    header = ["", "against", "start", *shared.BIG]
    rows = []
    for structure, against, start in product(shared.STRUCTURES, PUBLISHED, curves.STARTS):
        found = _reached(store, structure, start, against, REACH[0])
        cells = [str(found[name]) if name in found else "–" for name in shared.BIG]
        rows.append([shared.STRUCTURES[structure], against, start, *cells])
    title = "The same for the big sets, after 5 iterations"
    return [
        ResultTable(
            title, header, rows, f"{curves.N_ITER - REACH[0] + 1} stands for more.", left=3
        ),
        _values(store),
    ]


def _values(store: Store) -> ResultTable:
    rows = []
    for name, structure, start in product(shared.BIG, shared.STRUCTURES, curves.STARTS):
        tags = [f"{structure}-{letter}{curves.STARTS[start]}" for letter in curves.LETTERS.values()]
        found = [curves.curve(store, name, tag) for tag in tags]
        if any(one is None for one in found):
            continue
        cells = [f"{one[after]:.4f}" for after in (5, 10, 50) for one in found if one is not None]
        seconds = [f"{1000 * store.mean('seconds_per_iteration', name, tag):.1f}" for tag in tags]
        rows.append([name, shared.STRUCTURES[structure], start, *cells, *seconds])
    header = ["", "", "start", *(f"{p} {n}" for n, p in product((5, 10, 50), curves.LETTERS)), *(
        f"{p} ms" for p in curves.LETTERS
    )]  # fmt: skip
    note = "The last three columns are milliseconds of the processor for one iteration."
    return ResultTable(
        "NLL for each row after 5, 10 and 50 iterations, big sets", header, rows, note, left=3
    )


# ---- pictures


def _draw_curves(store: Store, names: Sequence[str], start: str) -> Any:
    colours = leaf("plot.style").COLORS
    shape = (len(names), len(shared.STRUCTURES))
    figure, panels = need("matplotlib.pyplot").subplots(
        *shape, figsize=(8.4, 1.6 * len(names) + 0.5), layout="constrained"
    )
    for (row, name), (column, structure) in product(enumerate(names), enumerate(shared.STRUCTURES)):
        panel = panels[row, column]
        for (letter, tag), colour in zip(curves.LETTERS.items(), colours, strict=False):
            found = curves.curve(store, name, f"{structure}-{tag}{curves.STARTS[start]}")
            if found is not None:
                panel.plot(
                    range(1, found.size + 1), found, color=colour, label=letter, linewidth=1.4
                )
        panel.set(xscale="log")
        panel.set_title(f"{name}, {shared.STRUCTURES[structure]}", fontsize=8)
        panel.tick_params(labelsize=7)
    panels[0, 0].legend(*panels[0, 0].get_legend_handles_labels(), frameon=False, fontsize=9)
    figure.supxlabel("iteration (the first is the start)", fontsize=9)
    figure.supylabel("NLL for each row", fontsize=9)
    return figure


def _draw_reach(store: Store) -> Any:
    colours = leaf("plot.style").COLORS
    shape = (len(curves.STARTS), len(shared.STRUCTURES))
    figure, panels = need("matplotlib.pyplot").subplots(
        *shape, figsize=(9.6, 5.2), sharex=True, layout="constrained"
    )
    for (row, start), (column, structure) in product(
        enumerate(curves.STARTS), enumerate(shared.STRUCTURES)
    ):
        panel = panels[row, column]
        found = [
            list(_reached(store, structure, start, against, REACH[0]).values())
            for against in PUBLISHED
        ]
        shown = [np.clip(values, LEAST, MOST) for values in found]
        panel.hist(
            shown,
            bins=np.arange(LEAST - 0.5, MOST + 3, 3),
            color=list(colours[1:3]),
            label=list(PUBLISHED),
        )
        panel.axvline(0, color="black", linewidth=0.6)
        panel.set_title(f"{shared.STRUCTURES[structure]}, from {start}", fontsize=9)
    panels[0, 0].legend(frameon=False)
    figure.supxlabel(f"iterations (those beyond {LEAST} and {MOST} stand at the ends)", fontsize=9)
    figure.supylabel("data sets", fontsize=9)
    return figure


EXPERIMENT = Experiment(
    name="z17-convergence",
    paper="Z17",
    where="Figures 13 to 19, section 7.4, appendix B",
    title="How fast weights, unconstrained parameters and normalised tables converge",
    tasks=curves.tasks,
    page=page,
    metrics=curves.METRICS,
    store=curves.STORE,
)
