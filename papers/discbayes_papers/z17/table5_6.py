"""Z17 Tables 5 and 6: whose likelihood is better after 5, 10 and 50 iterations?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from discbayes.evaluation.result_blocks import Block, ResultTable, Text
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.statistics import WinDrawLoss
from discbayes_papers.experiment import Experiment
from discbayes_papers.figures import BETTER, WORSE, beside_store
from discbayes_papers.z17 import curves, e_code, shared
from discbayes_papers.z17.table4 import TOLERANCE, chance, marked_counts

AFTER = (5, 10, 50)
# Wins, draws and losses of w against d (Table 5) and e (Table 6), by structure: NB, TAN, KDB-1.
PUBLISHED = shared.read_counts("z17/table5_6.csv", "against", "sets", "after")
TABLES = {"d": "Table 5", "e": "Table 6"}
NOTE = (
    f"`w`: wins/draws/losses of w, where a difference of at most {curves.DRAW:g} for each row is a"
    " draw; `p` is that of the two-sided sign test; `all`: the same with every difference counted."
    f" All of Z17's p-values are below 0.001. {BETTER} and {WORSE}: the share of wins is more than"
    f" {TOLERANCE:g} above or below that of Z17."
)


def page(store: Store) -> list[Block]:
    """Counts from both starts beside the published ones, and those of SciPy's solver."""
    tables = [_table(store, against, start) for start, against in product(curves.STARTS, TABLES)]
    simulated = e_code.page(beside_store(store, e_code.EXPERIMENT.rows))[1:]
    return [
        Text(curves.progress_note(store)),
        *tables,
        _chance(store),
        _by_scipy(store),
        *simulated,
    ]


def _table(store: Store, against: str, start: str) -> ResultTable:
    rows = []
    for group, after in product(("all", "big"), AFTER):
        names = shared.distinct(shared.BIG if group == "big" else shared.SETS)
        cells = []
        for structure, published in zip(
            shared.STRUCTURES, PUBLISHED[against, group, str(after)], strict=True
        ):
            found = curves.pairs(store, structure, start, against, names)
            cells += [*_cells(found, after, published), "/".join(map(str, published))]
        rows.append([group, str(after), *cells])
    header = [
        "sets",
        "after",
        *(f"{s} {part}" for s in shared.STRUCTURES.values() for part in ("w", "p", "all", "Z17")),
    ]
    return ResultTable(
        f"w against {against}, from {start} ({TABLES[against]})", header, rows, NOTE, left=2
    )


def _cells(found: curves.Pairs, after: int, published: Sequence[int]) -> list[str]:
    every = curves.wins(found, after, draw=0.0)
    return [
        *marked_counts(curves.wins(found, after), published),
        "–" if every is None else _counts(every),
    ]


def _counts(found: WinDrawLoss) -> str:
    return f"{found.wins}/{found.draws}/{found.losses}"


def _chance(store: Store) -> ResultTable:
    rows = []
    for start, against, after in product(curves.STARTS, TABLES, AFTER):
        cells = []
        for structure, counts in zip(
            shared.STRUCTURES, PUBLISHED[against, "big", str(after)], strict=True
        ):
            found = curves.pairs(store, structure, start, against, shared.BIG)
            cells.append(chance(curves.wins(found, after, draw=0.0), counts))
        rows.append([start, against, str(after), *cells])
    header = ["start", "against", "after", *shared.STRUCTURES.values()]
    title = "Big sets: may the wins and losses be those of Z17 by chance?"
    note = "Two-sided p of Fisher's exact test, ours with every difference counted."
    return ResultTable(title, header, rows, note, left=3)


def _by_scipy(store: Store) -> ResultTable:
    rows = []
    for start, against, after in product(curves.STARTS, TABLES, AFTER):
        found = [
            curves.wins(curves.pairs(store, structure, start, against, shared.BIG, solver), after)
            for structure in shared.STRUCTURES
            for solver in ("", curves.SCIPY)
        ]
        cells = ["–" if one is None else _counts(one) for one in found]
        rows.append([start, against, str(after), *cells])
    header = [
        "start",
        "against",
        "after",
        *(f"{s}{x}" for s in shared.STRUCTURES.values() for x in ("", curves.SCIPY)),
    ]
    return ResultTable(
        "Big sets: our solver and SciPy's L-BFGS-B, that of Z17", header, rows, left=2
    )


EXPERIMENT = Experiment(
    name="z17-table5-6",
    paper="Z17",
    where="Tables 5 and 6, appendix D",
    title=(
        "Weights against unconstrained parameters and normalised tables: the likelihood after some"
        " iterations"
    ),
    tasks=curves.tasks,
    page=page,
    metrics=curves.METRICS,
    store=curves.STORE,
)
