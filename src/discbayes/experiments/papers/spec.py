"""What an experiment says of itself, and how published figures stand beside ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from discbayes.experiments.blocks import Block, Table
from discbayes.experiments.learning import METRICS
from discbayes.experiments.store import Store
from discbayes.experiments.tasks import Task

# The papers, as they are cited.
PAPERS = {
    "P10": "Pernkopf and Bilmes (2010), Efficient heuristics for discriminative structure learning of Bayesian network "
    "classifiers, JMLR 11",
    "P12": "Pernkopf and Wohlmayr (2012), Stochastic margin-based structure learning of Bayesian network classifiers, "
    "Pattern Recognition",
    "C11": "Carvalho, Roos, Oliveira and Myllymäki (2011), Discriminative learning of Bayesian networks via factorized "
    "conditional log-likelihood, JMLR 12",
    "Z17": "Zaidi, Webb, Carman, Petitjean, Buntine, Hynes and De Sterck (2017), Efficient parameter learning of "
    "Bayesian network classifiers, Machine Learning",
    "P13": "Peharz, Tschiatschek and Pernkopf (2013), The most generative maximum margin Bayesian networks, ICML",
    "ours": "an experiment of this project",
}
WORSE, BETTER = "▼", "▲"


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper.

    Attributes
    ----------
    name, paper, where, title : str
        ``p10-table7``, ``P10``, ``Table 7``, and what it shows.
    tasks : function of ``quick``
        What is to be run; with ``quick`` a small part of it, for trying out.
    page : function of the store
        What the page shows: our figures beside the published ones. It must cope with a store that is not full.
    metrics : tuple of str
        What a run measures.
    store : str
        The name of the file of results; experiments that share runs share it. The name of the experiment by default.
    protocol, deviations : str
        How it was done, and why figures differ from the published ones; both are part of the page.
    """

    name: str
    paper: str
    where: str
    title: str
    tasks: Callable[[bool], Sequence[Task]]
    page: Callable[[Store], Sequence[Block]]
    metrics: tuple[str, ...] = METRICS
    store: str = ""
    protocol: str = ""
    deviations: str = ""

    @property
    def rows(self) -> str:
        """The name of its file of results."""
        return self.store or self.name


def beside(
    title: str,
    ours: Mapping[tuple[str, str], float],
    published: Mapping[tuple[str, str], float],
    rows: Sequence[str],
    columns: Sequence[str],
    tolerance: float | Mapping[str, float],
    digits: int = 2,
    larger_is_better: bool = True,
    corner: str = "",
) -> Table:
    """Our figures with the published ones in brackets; where ours is further off than the tolerance, a mark says how.

    The tolerance is one number, or one for each row.

    >>> table = beside("", {("iris", "NB"): 93.0}, {("iris", "NB"): 94.5}, ["iris"], ["NB"], tolerance=1.0)
    >>> table.rows
    [['iris', '93.00 (94.50) ▼']]
    """

    def cell(row: str, column: str) -> str:
        mine, theirs = ours.get((row, column), math.nan), published.get((row, column), math.nan)
        text = "–" if math.isnan(mine) else f"{mine:.{digits}f}"
        if math.isnan(theirs):
            return text
        allowed = tolerance[row] if isinstance(tolerance, Mapping) else tolerance
        return f"{text} ({theirs:.{digits}f}){_mark(mine - theirs, allowed, larger_is_better)}"

    cells = [[row, *(cell(row, column) for column in columns)] for row in rows]
    limit = "the tolerance of the row" if isinstance(tolerance, Mapping) else f"{tolerance:g}"
    note = (
        f"Ours (published). {WORSE}: worse than the published figure by more than {limit}; {BETTER}: better by more "
        "than that."
    )
    return Table(title, [corner, *columns], cells, note)


def _mark(difference: float, tolerance: float, larger_is_better: bool) -> str:
    if not abs(difference) > tolerance:
        return ""
    return f" {BETTER if (difference > 0) == larger_is_better else WORSE}"
