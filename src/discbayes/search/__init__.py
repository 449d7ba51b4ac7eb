"""Structure learners: from data and counts to a structure."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from discbayes.counts import Counts
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.network import Structure
from discbayes.search.annealing import Annealing
from discbayes.search.branching import Branching
from discbayes.search.fixed import FixedStructure, NaiveBayes
from discbayes.search.greedy import GreedyEdges
from discbayes.search.hillclimb import HillClimb
from discbayes.search.kdb import KDB
from discbayes.search.markov_blanket import MarkovBlanketClimb
from discbayes.search.ordering import OrderBased
from discbayes.search.superparent import SuperParent
from discbayes.search.tree import SpanningTree


class StructureLearner(Protocol):
    """The protocol of structure learners."""

    def learn(self, data: Encoded, counts: Counts, context: Context) -> Structure:
        """Return a structure over the features of the data."""
        ...


# What each name stands for: a class with its defaults, or with the settings of that name.
STRUCTURES: dict[str, Callable[[], StructureLearner]] = {
    "nb": NaiveBayes,
    "tan": SpanningTree,
    "tan-fcll": partial(SpanningTree, score="fcll"),
    "tan-acll": partial(Branching, score="acll"),
    "kdb": KDB,
    "ghc": HillClimb,
    "blanket": MarkovBlanketClimb,
    "greedy": GreedyEdges,
    "superparent": SuperParent,
    "order": OrderBased,
    "anneal": Annealing,
}

__all__ = [
    "KDB",
    "STRUCTURES",
    "Annealing",
    "Branching",
    "FixedStructure",
    "GreedyEdges",
    "HillClimb",
    "MarkovBlanketClimb",
    "NaiveBayes",
    "OrderBased",
    "SpanningTree",
    "StructureLearner",
    "SuperParent",
]
