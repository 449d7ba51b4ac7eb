"""What Z17 proposes and does not try: one weight for several cells (levels 1 to 3), and backing
off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from discbayes.counts import count_families
from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Result, Store
from discbayes.evaluation.statistics import (
    critical_difference,
    friedman,
    geometric_mean,
    p_text,
    win_draw_loss,
)
from discbayes.evaluation.tasks import Task
from discbayes.parameters import MaximumAPosteriori
from discbayes.parameters.fits import back_off, seen_cells
from discbayes_papers.experiment import Experiment
from discbayes_papers.parts import Part
from discbayes_papers.z17 import shared
from discbayes_papers.z17.table4 import NAMES

LEVELS = {"W1": "1: feature", "W2": "2: value", "W3": "3: value, class", "W": "4: cell"}
BACKED = " backed off"
FITTED = (*LEVELS, "D")
SETS = tuple(name for name in shared.SETS if name not in shared.ONE_ROUND)
# levels 2 and 3 need many iterations
ONE_ROUND = ("poker-hand-train", "letter", "shuttle", "adult")
WITH_PARENTS = ("TAN", "KDB1")
TAGS = (
    *(f"{structure}-{letter}" for structure in shared.STRUCTURES for letter in ("M", *FITTED)),
    *(f"{structure}-{letter}{BACKED}" for structure in WITH_PARENTS for letter in FITTED),
)


def tasks(quick: bool) -> list[Task]:
    """All levels, and what backing off makes of them; the generative parameters too."""
    return [_with_levels(task) for task in shared.round_tasks((), quick, SETS)]


def _with_levels(task: Task) -> Task:
    rounds = 1 if task.data in ONE_ROUND else task.options["rounds"]
    return replace(task, recipes=TAGS, work=all_rounds, options={**task.options, "rounds": rounds})


def all_rounds(task: Task) -> Iterator[Result]:
    """Learn and test on both halves of each round."""
    return shared.test_rounds(task, learn_levels)


def learn_levels(
    part: Part, tags: Sequence[str], max_iter: int
) -> Iterator[tuple[str, shared.Fit]]:
    """Fits with and without backing off; both come from one."""
    fitted = list(dict.fromkeys(tag.removesuffix(BACKED) for tag in tags))
    for tag, fit in shared.learn_all(part, fitted, max_iter):
        families = count_families(part.data, fit.tables.layout, part.counts, 1)
        seen, generative = seen_cells(part.data, families), MaximumAPosteriori("m", 1.0)
        if tag in tags:
            yield tag, fit
        if tag + BACKED in tags:
            yield (
                tag + BACKED,
                fit._replace(tables=back_off(fit.tables, families, seen, generative, False)),
            )


# ---- page


def page(store: Store) -> list[Block]:
    """The levels against one another and against the generative parameters; then backing off."""
    done = f"{len(store)} of {len(TAGS) * len(SETS)} runs are there."
    return (
        [Text(done), _means(store), _ranks(store), _against(store), _backing(store)]
        if len(store)
        else [Text(done)]
    )


def _figures(store: Store, metric: str, tags: Sequence[str], names: Sequence[str]) -> np.ndarray:
    return np.array(list(shared.figures(store, metric, tags, shared.distinct(names)).values()))


def _means(store: Store) -> ResultTable:
    rows = []
    for structure, (group, names), metric in product(shared.STRUCTURES, _GROUPS, ("error", "rmse")):
        tags = [f"{structure}-{letter}" for letter in ("M", *LEVELS)]
        found = _figures(store, metric, tags, shared.with_errors(store, tags, names))
        cells = (
            [f"{100 * geometric_mean(column):.2f}" for column in found.T]
            if found.size
            else ["–"] * 5
        )
        rows.append([shared.STRUCTURES[structure], group, NAMES[metric], str(len(found)), *cells])
    note = "Sets on which one of them has no error are left out."
    return ResultTable(
        "Geometric means, %",
        ["", "sets", "", "n", "generative", *LEVELS.values()],
        rows,
        note,
        left=3,
    )


def _ranks(store: Store) -> ResultTable:
    rows = []
    for structure, (group, names), metric in product(shared.STRUCTURES, _GROUPS, ("error", "rmse")):
        found = _figures(
            store, metric, [f"{structure}-{letter}" for letter in ("M", *LEVELS)], names
        )
        if len(found) < 2:
            continue
        test = friedman(found, larger_is_better=False)
        ranks = [f"{rank:.2f}" for rank in test.ranks]
        difference = f"{critical_difference(len(ranks), test.n):.2f}"
        rows.append(
            [shared.STRUCTURES[structure], group, NAMES[metric], *ranks, p_text(test.p), difference]
        )
    header = ["", "sets", "", "generative", *LEVELS.values(), "p", "critical difference"]
    return ResultTable(
        "Mean ranks, 1 being the best", header, rows, "p is that of Iman and Davenport.", left=3
    )


def _against(store: Store) -> ResultTable:
    rows = []
    for structure, metric, (group, names) in product(shared.STRUCTURES, NAMES, _GROUPS):
        if group == "big" and metric in ("bias", "variance"):
            continue
        cells = []
        for letter, other in product(LEVELS, ("M", "W")):
            found = _figures(
                store, metric, [f"{structure}-{letter}", f"{structure}-{other}"], names
            )
            if letter != other:
                cells.append(_counts(found))
        rows.append([shared.STRUCTURES[structure], group, NAMES[metric], *cells])
    pairs = [
        (a, b) for a, b in product("1234", ("generative", "level 4")) if (a, b) != ("4", "level 4")
    ]
    header = ["", "sets", "", *(f"{a} against {b}" for a, b in pairs)]
    note = "In bold where the two-sided sign test has p of at most 0.05."
    return ResultTable("Wins/draws/losses of the levels", header, rows, note, left=3)


def _backing(store: Store) -> ResultTable:
    rows = []
    for letter, structure, metric in product(FITTED, WITH_PARENTS, ("error", "rmse")):
        tag = f"{structure}-{letter}"
        found = _figures(store, metric, [tag + BACKED, tag], SETS)
        change = f"{100 * float(np.mean(found[:, 0] - found[:, 1])):+.3f}" if found.size else "–"
        name = f"level {LEVELS[letter]}" if letter in LEVELS else "d"
        rows.append([name, shared.STRUCTURES[structure], NAMES[metric], _counts(found), change])
    note = "Wins are those of backing off; the change is in points, negative where it is better."
    header = ["parameters", "", "", "backed off against not", "mean change"]
    return ResultTable("Backing off", header, rows, note, left=3)


def _counts(found: np.ndarray) -> str:
    if not found.size:
        return "–"
    result = win_draw_loss(*found.T, larger_is_better=False)
    text = f"{result.wins}/{result.draws}/{result.losses}"
    return f"**{text}**" if result.p <= 0.05 else text


_GROUPS = (("all", SETS), ("big", tuple(name for name in shared.BIG if name in SETS)))

LESS = f"Here {', '.join(ONE_ROUND)} have one round as well, and mnist14 and kddcup10 were not run."


EXPERIMENT = Experiment(
    name="z17-levels",
    paper="ours",
    where="the levels of Z17 5.4",
    title="Weights for features, values and cells",
    tasks=tasks,
    page=page,
    metrics=shared.METRICS,
)
