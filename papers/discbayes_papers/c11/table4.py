"""C11 Table 4: networks by aCLL and fCLL against trees, nearest neighbours, support vector
machines, regression.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from discbayes.evaluation.result_blocks import Block, ResultTable
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.c11 import others, shared, weka
from discbayes_papers.experiment import Experiment

TOLERANCE = 1.0  # of Z: other folds move it by as much
# Z and p; 0 is "<0.01".
PUBLISHED = shared.read_pairs("c11/table4.csv")
RECIPES = (*shared.PROPOSED, *shared.OTHERS)
# Another draw of the folds, of all but SVM2, which takes longest.
DRAWS = range(2)
DRAWN = ("1-NN", "3-NN", "5-NN", "CART", "LogR", "SVMG", "SVM")
# Single settings and ends stand beside the column of the paper that they may be.
SETTINGS = {name: name.partition(",")[0] for name in others.SETTINGS}
# Minutes of processor time for each setting, or more.
NOT_RUN = dict.fromkeys(SETTINGS, ("letter",)) | {others.NEWTON: ("letter", "satimage")}


def tasks(quick: bool) -> list[Task]:
    """All classifiers on all sets, then with cut points of all rows, with single settings, and on
    other draws of the folds.
    """
    data, draws = (shared.QUICK, 2) if quick else (shared.BY_SIZE, len(DRAWS))
    first = [
        task
        for cuts in ("", shared.ALL_ROWS)
        for task in shared.tasks_of(data, RECIPES, suffixes=(cuts,))
    ]
    settings = [
        task
        for name in SETTINGS
        for task in shared.tasks_of([one for one in data if one not in NOT_RUN[name]], [name])
    ]
    return [
        *first,
        *settings,
        *(
            task
            for seed in range(1, draws)
            for name in DRAWN
            for task in shared.tasks_of(data, [name], [seed])
        ),
    ]


def page(store: Store) -> list[Block]:
    """Z and p of each pair beside the published ones, what moves them, and the accuracies."""
    tests = shared.signed_ranks(store, PUBLISHED, TOLERANCE)
    j48 = weka.table("c11/weka_j48.csv", weka.PAIRS_J48, "Weka 3.6.14 with J48, its C4.5")
    accuracies = shared.accuracy_table(store, RECIPES)
    return [
        *shared.state(store, RECIPES), *tests, _draws(store), _settings(store), j48, accuracies,
    ]  # fmt: skip


def _draws(store: Store) -> ResultTable:
    """How far Z moves with the draw of the folds."""
    rows = []
    drawn = {pair: z for pair, (z, _) in PUBLISHED.items() if pair[1] in DRAWN}
    for pair, published in drawn.items():
        z, of_means = shared.z_over_draws(store, pair, DRAWS)
        found = [z[0], median(z), min(z), max(z), of_means] if z else []
        cells = [f"{one:.2f}" for one in found] or ["–"] * 5
        rows.append([shared.pair_name(pair), str(len(z)), *cells, f"{published:.2f}"])
    header = ["better – worse", "draws", "first", "median", "least", "largest", "Z of means", "C11"]
    return ResultTable("Other draws of the folds, cut points of the training rows", header, rows)


def _settings(store: Store) -> ResultTable:
    """Z of the networks against single settings of the kernel, and another end of the fit."""
    found = shared.figures(store)
    rows = []
    for name, column in ({column: column for column in SETTINGS.values()} | SETTINGS).items():
        sets = [
            one
            for one in shared.SETS
            if one not in NOT_RUN.get(name, ("letter",))
            and all((one, tag) in found for tag in (name, column))
        ]
        rows.append([name, str(len(sets)), *_against(found, name, column, sets)])
    header = ["against", "sets", *shared.PROPOSED, "accuracy, %", "as in the column"]
    note = (
        "Z of the first draw on all sets but letter and, at the maximum, satimage (in brackets C11,"
        " on all); the last columns are means over these sets. The first lines are the columns of"
        " the tables above."
        " Weka's own setting is C = 1, γ = 0.01."
    )
    return ResultTable("Settings of the kernel, and the end of the fit", header, rows, note)


def _against(
    found: dict[tuple[str, str], float], name: str, column: str, sets: Sequence[str]
) -> list[str]:
    """Z of each network beside C11's, and the mean accuracies of a setting and of its column."""
    if not sets:
        return ["–"] * (len(shared.PROPOSED) + 2)
    cells = []
    for network in shared.PROPOSED:
        kept = {key: value for key, value in found.items() if key[0] in sets}
        test = shared.compare_pair(kept, (network, name))
        theirs = f"({PUBLISHED[network, column][0]:.2f})"
        cells.append("–" if test is None else f"{test.z:.2f} {theirs}")
    means = [100 * sum(found[one, tag] for one in sets) / len(sets) for tag in (name, column)]
    return [*cells, *(f"{mean:.2f}" for mean in means)]


EXPERIMENT = Experiment(
    name="c11-table4",
    paper="C11",
    where="Table 4",
    title="Networks by aCLL and fCLL against other classifiers",
    tasks=tasks,
    page=page,
    metrics=shared.METRICS,
    store=shared.STORE,
)
