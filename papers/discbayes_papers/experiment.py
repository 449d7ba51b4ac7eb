"""What an experiment says of itself, in one declaration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discbayes.evaluation.result_blocks import Block
from discbayes.evaluation.result_store import Store
from discbayes.evaluation.tasks import Task
from discbayes_papers.learning import METRICS

# The papers, as they are cited.
PAPERS = {
    "P10": (
        "Pernkopf and Bilmes (2010), Efficient heuristics for discriminative structure learning of"
        " Bayesian network classifiers, JMLR 11"
    ),
    "P12": (
        "Pernkopf and Wohlmayr (2012), Stochastic margin-based structure learning of Bayesian"
        " network classifiers, Pattern Recognition"
    ),
    "C11": (
        "Carvalho, Roos, Oliveira and Myllymäki (2011), Discriminative learning of Bayesian"
        " networks via factorized conditional log-likelihood, JMLR 12"
    ),
    "Z17": (
        "Zaidi, Webb, Carman, Petitjean, Buntine, Hynes and De Sterck (2017), Efficient parameter"
        " learning of Bayesian network classifiers, Machine Learning"
    ),
    "P13": (
        "Peharz, Tschiatschek and Pernkopf (2013), The most generative maximum margin Bayesian"
        " networks, ICML"
    ),
    "ours": "An experiment of this project",
}


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
        What the page shows: our figures beside the published ones. It must cope with a store that
        is not full.
    metrics : tuple of str
        What a run measures.
    store : str
        The name of the file of results; experiments that share runs share it. The name of the
        experiment by default.
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
