"""Figures of Weka 3.6.14, C11's own platform: made outside the library, and read from files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median

import numpy as np

from discbayes.evaluation.result_blocks import ResultTable
from discbayes.evaluation.statistics import wilcoxon
from discbayes_papers.experiment import read_records

Draws = dict[int, dict[str, dict[str, float]]]  # accuracy by draw, data set and classifier
NOTE = (
    "Made outside the library: rows classified correctly in Weka 3.6.14, with its supervised"
    " Discretize on the whole file, its TAN and HillClimber and fCLL added"
    " (`papers/discbayes_papers/c11/weka.csv`, `weka_j48.csv`). LL is Weka's score ENTROPY, BAYES"
    " its default. A published split is the same in every draw."
)
# Published Z of Tables 3 and 4; None where C11 has no such pair.
PAIRS: dict[tuple[str, str], float | None] = {
    ("TAN-fCLL", "TAN-LL"): 2.13,
    ("GHC2-fCLL", "GHC2-LL"): 2.26,
    ("TAN-fCLL", "GHC2-LL"): 2.13,
    ("GHC2-fCLL", "TAN-LL"): 2.21,
    ("TAN-fCLL", "TAN-BAYES"): None,
    ("GHC2-fCLL", "GHC2-BAYES"): None,
}
PAIRS_J48: dict[tuple[str, str], float | None] = {
    ("TAN-fCLL", "J48"): 3.00,
    ("GHC2-fCLL", "J48"): 3.00,
    ("TAN-LL", "J48"): None,
}
LOSING = ("segment", "vote", "vehicle")


def read_draws(file: str) -> Draws:
    """Read accuracies; a set with one draw, its published split, belongs to all of them."""
    found: Draws = defaultdict(dict)
    for line in read_records(file):
        names = [name for name in line if name not in ("data", "draw", "test_rows")]
        rows = int(line["test_rows"])
        found[int(line["draw"])][line["data"]] = {name: int(line[name]) / rows for name in names}
    everywhere = {data: of for data, of in found[1].items() if data not in found[2]}
    return {draw: everywhere | sets for draw, sets in sorted(found.items())}


def table(file: str, pairs: dict[tuple[str, str], float | None], title: str) -> ResultTable:
    """Z of each pair over the draws: the first, median, least and largest, and Z of the means."""
    draws = read_draws(file)
    rows = []
    for (better, worse), published in pairs.items():
        z = [_z([*sets.values()], better, worse) for sets in draws.values()]
        means = [
            {name: float(np.mean([sets[data][name] for sets in draws.values()])) for name in of}
            for data, of in draws[1].items()
        ]
        figures = [z[0], median(z), min(z), max(z), _z(means, better, worse)]
        theirs = "" if published is None else f"{published:.2f}"
        rows.append([f"{better} – {worse}", *(f"{each:.2f}" for each in figures), theirs])
    header = ["better – worse", "first", "median", "least", "largest", "Z of means", "published"]
    text = f"{title}: Z over {len(draws)} draws, {len(draws[1])} sets"
    return ResultTable(text, header, rows, NOTE)


def _z(sets: Sequence[dict[str, float]], better: str, worse: str) -> float:
    return float(wilcoxon([one[better] for one in sets], [one[worse] for one in sets]).z)


def losing_sets() -> ResultTable:
    """The sets on which fCLL loses in nearly all draws."""
    draws = read_draws("c11/weka.csv")
    rows = []
    for data in LOSING:
        fcll, ll = (
            np.array([sets[data][name] for sets in draws.values()])
            for name in ("TAN-fCLL", "TAN-LL")
        )
        lost = f"{int((fcll < ll).sum())} of {len(draws)}"
        rows.append([data, f"{100 * fcll.mean():.2f}", f"{100 * ll.mean():.2f}", lost])
    title = "Weka 3.6.14: sets that fCLL loses"
    return ResultTable(title, ["data set", "TAN-fCLL", "TAN-LL", "lost draws"], rows)
