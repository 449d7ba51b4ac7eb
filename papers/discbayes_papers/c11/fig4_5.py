"""C11 Figures 4 and 5: accuracies of the proposed networks against those of all other
classifiers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from discbayes._lazy_imports import leaf, need
from discbayes.evaluation.metrics import binomial_error
from discbayes.evaluation.result_blocks import Block, Picture, ResultTable
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.statistics import win_draw_loss
from discbayes.evaluation.tasks import Task
from discbayes_papers.c11 import shared
from discbayes_papers.experiment import Experiment

UPRIGHT = ("TAN-fCLL-OFE", "GHC2-fCLL-OFE")
FIGURE_4 = ("TAN-aCLL-OFE", "GHC2-LL-OFE", "TAN-LL-OFE", "TAN-LL-ELR")
FIGURE_5 = shared.OTHERS
RECIPES = (*shared.NETWORKS, *shared.OTHERS)
SIDE = 2.5  # of a panel, in inches


def tasks(quick: bool) -> list[Task]:
    """All classifiers on all sets."""
    return shared.tasks_of(shared.QUICK if quick else shared.BY_SIZE, RECIPES)


def page(store: Store) -> list[Block]:
    """Scatter plots, the points above and below the diagonal, and the accuracies."""
    found = shared.figures(store)
    pictures = [
        Picture(
            name,
            f"{title}; above the diagonal, the network at the left is better",
            partial(draw, store, across),
        )
        for name, title, across in (
            ("fig4", "Figure 4: networks by fCLL against other networks", FIGURE_4),
            ("fig5", "Figure 5: networks by fCLL against other classifiers", FIGURE_5),
        )
        if all(len(shared.columns(found, (up, tag))[0]) for up in UPRIGHT for tag in across)
    ]
    return [
        *shared.state(store, RECIPES),
        *pictures,
        _counts(store),
        shared.accuracy_table(store, RECIPES),
    ]


def _counts(store: Store) -> ResultTable:
    found = shared.figures(store)
    rows = []
    for tag in (*FIGURE_4, *FIGURE_5):
        pairs = [shared.columns(found, (up, tag)) for up in UPRIGHT]
        tests = [win_draw_loss(*both) if both[0] else None for both in pairs]
        rows.append(
            [
                tag,
                *(
                    "–" if test is None else f"{test.wins}/{test.draws}/{test.losses}"
                    for test in tests
                ),
            ]
        )
    return ResultTable("Sets above, on and below the diagonal", ["against", *UPRIGHT], rows)


def draw(store: Store, across: Sequence[str]) -> Any:
    """A panel for each pair, with crosses of one binomial standard error."""
    found, n_test = (shared.figures(store, metric) for metric in ("accuracy", "n_test"))
    size = (SIDE * min(4, len(across)), SIDE * len(UPRIGHT) * len(across) / min(4, len(across)))
    figure, grid = need("matplotlib.pyplot").subplots(
        len(UPRIGHT) * (len(across) // 4), 4, figsize=size, layout="constrained"
    )
    pairs = [
        (tag, up)
        for first in range(0, len(across), 4)
        for up in UPRIGHT
        for tag in across[first : first + 4]
    ]
    for pair, axes in zip(pairs, grid.flat, strict=True):
        both = shared.columns(found, pair)
        rows = shared.columns(n_test, pair)
        errors = tuple(100 * binomial_error(a, n) for a, n in zip(both, rows, strict=True))
        percent = [[100 * value for value in column] for column in both]
        leaf("plot").scatter_losses(*percent, pair, errors=errors, ax=axes)
    return figure


EXPERIMENT = Experiment(
    name="c11-fig4-5",
    paper="C11",
    where="Figures 4 and 5",
    title="Accuracies of networks by fCLL against those of other classifiers",
    tasks=tasks,
    page=page,
    metrics=shared.METRICS,
    store=shared.STORE,
)
