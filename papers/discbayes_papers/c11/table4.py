"""C11 Table 4: networks by aCLL and fCLL against trees, nearest neighbours, support vector
machines, regression.
"""

from __future__ import annotations

from discbayes.evaluation.result_blocks import Block
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.c11 import shared
from discbayes_papers.experiment import Experiment

TOLERANCE = 1.0  # of Z: other folds move it by as much
# Z and p; 0 is "<0.01".
ROWS = {
    "TAN-fCLL-OFE": "3.00 0 2.25 0.01 2.16 0.02 2.07 0.02 0.43 0.33 0.61 0.27 0.21 0.42 1.80 0.04",
    "GHC2-fCLL-OFE": "3.00 0 2.35 0 2.20 0.01 2.19 0.01 0.39 0.35 0.74 0.23 0.11 0.45 1.65 0.05",
    "TAN-aCLL-OFE": (
        "2.26 0.01 1.34 0.09 1.17 0.12 1.31 0.09 -0.40 0.35 -0.29 0.38 -0.55 0.29 1.37 0.09"
    ),
}


def read_pairs(
    rows: dict[str, str], others: tuple[str, ...]
) -> dict[tuple[str, str], tuple[float, float]]:
    """Z and p by pair; "-" is none.

    >>> read_pairs({"TAN": "- - 2.13 0.02"}, ("NB", "SVM"))
    {('TAN', 'SVM'): (2.13, 0.02)}
    """
    pairs = {}
    for first, text in rows.items():
        figures = text.split()
        for place, second in enumerate(others):
            z, p = figures[2 * place : 2 * place + 2]
            if z != "-":
                pairs[first, second] = float(z), float(p)
    return pairs


PUBLISHED = read_pairs(ROWS, shared.OTHERS)
RECIPES = (*shared.PROPOSED, *shared.OTHERS)


def tasks(quick: bool) -> list[Task]:
    """All classifiers on all sets, then with cut points of all rows."""
    data = shared.QUICK if quick else shared.BY_SIZE
    return [
        task
        for cuts in ("", shared.ALL_ROWS)
        for task in shared.tasks_of(data, RECIPES, suffixes=(cuts,))
    ]


def page(store: Store) -> list[Block]:
    """Z and p of each pair beside the published ones, and the accuracies."""
    tests = shared.signed_ranks(store, PUBLISHED, TOLERANCE)
    return [*shared.state(store, RECIPES), *tests, shared.accuracy_table(store, RECIPES)]


DEVIATIONS = (
    "**Partly confirmed.** Networks by fCLL are better than trees and than the nearest neighbour,"
    " with Z as in the paper (2.76 and 2.80 against CART, 2.49 and 2.57 against 1-NN). Against"
    " three and five neighbours they are ahead by less, and support vector machines and logistic"
    " regression are not behind them: with a Gaussian kernel they are significantly better (Z ="
    " −2.78 and −2.91, published 0.21 and 0.11).\n\nWhat part of this is fCLL itself: it does not"
    " reach here what the paper reports against the likelihood either, and the first draw of folds"
    " is an unlucky one for it (c11-table3). aCLL, which does not share that, has Z near the paper"
    " against SVM and SVM2, but is behind it too against the Gaussian kernel (−3.00, published"
    " −0.55) and logistic regression (−0.05, published 1.37). So these two are better here than in"
    " the paper; why was not found. On mofn-3-7-10, chess, letter and segment, where the Gaussian"
    " kernel is 6 to 9 points ahead of fCLL, it is no matter of folds.\n\nCut points of all rows,"
    " as in the paper as far as one can tell, do not change that: fCLL comes nearer to three"
    " neighbours (Z = 1.32) and to the Gaussian kernel (−2.18), and is further from the nearest"
    " neighbour (1.92) and from logistic regression (−1.16).\n\nCART is not C4.5; its Z are near"
    " those of the paper all the same."
)

EXPERIMENT = Experiment(
    name="c11-table4",
    paper="C11",
    where="Table 4",
    title="Networks by aCLL and fCLL against other classifiers",
    tasks=tasks,
    page=page,
    metrics=shared.METRICS,
    store=shared.STORE,
    protocol=shared.PROTOCOL + "\n\n" + shared.OTHERS_PROTOCOL,
    deviations=DEVIATIONS,
)
