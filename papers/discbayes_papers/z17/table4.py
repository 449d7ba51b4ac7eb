"""Z17 Table 4: is a network better after its weights were learned discriminatively?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import fisher_exact

from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.statistics import WinDrawLoss, p_text, win_draw_loss
from discbayes.evaluation.tasks import Task
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import BETTER, WORSE
from discbayes_papers.z17 import shared

LETTERS = ("M", "W")
# Wins, draws and losses of w against the generative parameters, by structure: NB, TAN, KDB-1.
PUBLISHED = shared.read_counts("z17/table4.csv", "sets", "metric")
PRINTED_P = {
    key: tuple(one["p"] for one in lines)
    for key, lines in shared.read_groups("z17/table4.csv", "sets", "metric").items()
}
NAMES = {"bias": "bias", "variance": "variance", "error": "0-1 loss", "rmse": "RMSE"}
CORRECTED = "corrected bias"
TOLERANCE = 0.15  # of the share of wins, where a draw is half a win


def tasks(quick: bool) -> list[Task]:
    """Generative parameters and weights."""
    return shared.round_tasks(LETTERS, quick)


def page(store: Store) -> list[Block]:
    """Counts beside the published ones, then the figures behind them."""
    every = [_figures(store, metric, digits) for metric, digits in (("error", 2), ("rmse", 2))]
    return [Text(shared.progress_note(store, LETTERS)), *_counts(store), _chance(store), *every]


def _counts(store: Store) -> list[Block]:
    rows = []
    for group, metric in [("all", CORRECTED), *PUBLISHED]:
        key = (group, "bias" if metric == CORRECTED else metric)
        cells = []
        for structure, counts, p in zip(
            shared.STRUCTURES, PUBLISHED[key], PRINTED_P[key], strict=True
        ):
            ours = compare(store, group, metric, structure)
            cells += [*marked_counts(ours, counts), "/".join(map(str, counts)), p]
        rows.append([group, NAMES.get(metric, metric), *cells])
    header = [
        "sets",
        "",
        *(
            f"{name} {part}"
            for name in shared.STRUCTURES.values()
            for part in ("w", "p", "Z17", "p")
        ),
    ]
    note = (
        f"Wins/draws/losses of w. {BETTER} and {WORSE}: the share of wins is more than"
        f" {TOLERANCE:g} above or below that of Z17 (a draw is half a win). p is that of the"
        " two-sided sign test without draws. A lower figure wins, in bias and variance too."
        " Corrected bias stands beside the bias of Z17, see below."
    )
    return [ResultTable("w against generative parameters", header, rows, note, left=2)]


def compare(store: Store, group: str, metric: str, structure: str) -> WinDrawLoss | None:
    """W against the generative parameters, on the sets that count and have both."""
    names = shared.distinct(shared.BIG if group == "big" else shared.SETS)
    tags = [f"{structure}-W", f"{structure}-M"]
    found = (
        corrected_bias(store, tags, names)
        if metric == CORRECTED
        else shared.figures(store, metric, tags, names)
    )
    if not found:
        return None
    weighted, generative = np.array(list(found.values())).T
    return win_draw_loss(weighted, generative, larger_is_better=False)


def corrected_bias(
    store: Store, tags: Sequence[str], names: Sequence[str]
) -> dict[str, list[float]]:
    """Bias² without what it owes to the small number of rounds: variance / (rounds − 1) (Kohavi and
    Wolpert 1996).
    """
    bias, variance, rounds = (
        shared.figures(store, metric, tags, names) for metric in ("bias", "variance", "rounds")
    )
    return {
        name: [
            b - v / (r - 1) for b, v, r in zip(values, variance[name], rounds[name], strict=True)
        ]
        for name, values in bias.items()
        if name in variance
    }


def marked_counts(ours: WinDrawLoss | None, published: Sequence[int]) -> list[str]:
    """Wins, draws and losses with a mark where they are far from the published ones, and p."""
    if ours is None:
        return ["–", "–"]
    counts = (ours.wins, ours.draws, ours.losses)
    off = _share(counts) - _share(published)
    mark = "" if abs(off) <= TOLERANCE else f" {BETTER if off > 0 else WORSE}"
    return ["/".join(map(str, counts)) + mark, p_text(ours.p)]


def chance(ours: WinDrawLoss | None, published: Sequence[int]) -> str:
    """Two-sided p of Fisher's exact test on wins and losses, ours against the published ones."""
    if ours is None:
        return "–"
    return p_text(fisher_exact([[ours.wins, ours.losses], [published[0], published[2]]]).pvalue)


def _chance(store: Store) -> ResultTable:
    rows = [
        [
            "big",
            NAMES[metric],
            *(
                chance(compare(store, "big", metric, structure), counts)
                for structure, counts in zip(
                    shared.STRUCTURES, PUBLISHED["big", metric], strict=True
                )
            ),
        ]
        for group, metric in PUBLISHED
        if group == "big"
    ]
    title = "Big sets: may the wins and losses be those of Z17 by chance?"
    note = "Two-sided p of Fisher's exact test; draws are left out."
    return ResultTable(title, ["sets", "", *shared.STRUCTURES.values()], rows, note, left=2)


def _share(counts: Sequence[int]) -> float:
    return (counts[0] + 0.5 * counts[1]) / sum(counts)


def _figures(store: Store, metric: str, digits: int) -> ResultTable:
    tags = [f"{structure}-{letter}" for structure in shared.STRUCTURES for letter in LETTERS]
    found = {tag: shared.figures(store, metric, [tag], shared.SETS) for tag in tags}
    rows = [
        [
            name,
            *(
                f"{100 * found[tag][name][0]:.{digits}f}" if name in found[tag] else "–"
                for tag in tags
            ),
        ]
        for name in shared.SETS
    ]
    header = ["", *(f"{name}{mark}" for name in shared.STRUCTURES.values() for mark in ("", " w"))]
    return ResultTable(f"{NAMES[metric]}, %", header, rows)


EXPERIMENT = Experiment(
    name="z17-table4",
    paper="Z17",
    where="Table 4, section 7.5",
    title="Weights learned discriminatively against generative parameters",
    tasks=tasks,
    page=page,
    metrics=shared.METRICS,
    store=shared.STORE,
)
