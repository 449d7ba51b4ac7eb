"""Structure learners: from data and counts to a structure."""

from typing import Protocol

from discbayes.counts import Counts
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.network import Structure
from discbayes.search.fixed import FixedStructure, NaiveBayes
from discbayes.search.kdb import KDB
from discbayes.search.tree import SpanningTree


class StructureLearner(Protocol):
    """What the classifier asks of a structure learner."""

    def learn(self, data: Encoded, counts: Counts, context: Context) -> Structure:
        """A structure over the features of the data."""
        ...


STRUCTURES = {"nb": NaiveBayes, "tan": SpanningTree, "kdb": KDB}

__all__ = ["KDB", "STRUCTURES", "FixedStructure", "NaiveBayes", "SpanningTree", "StructureLearner"]
