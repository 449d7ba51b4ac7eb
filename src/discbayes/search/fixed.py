"""Structures that are not searched for: naive Bayes, and whatever the user gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn.base import BaseEstimator

from discbayes.counts import Counts
from discbayes.data.domain import Encoded
from discbayes.engine import Context
from discbayes.network import Structure
from discbayes.search.constraints import read_structure


class NaiveBayes(BaseEstimator):
    """No edges between features: given the class they are independent."""

    supports_blocks = True

    def learn(self, data: Encoded, counts: Counts, context: Context) -> Structure:
        """The structure without edges."""
        return Structure.naive(data.n_features)


class FixedStructure(BaseEstimator):
    """A structure that is known: a ``Structure``, or edges ``(parent, child)`` between columns.

    Parameters
    ----------
    structure : Structure or iterable of edges
        Edges name columns, or give their positions. Edges that leave the class (by the name of the
        target) say whose parent it is; without such edges it is a parent of every feature.

    Examples
    --------
    >>> FixedStructure([("age", "weight")])
    FixedStructure(structure=[('age', 'weight')])
    """

    supports_blocks = True

    def __init__(self, structure: Structure | Iterable[Any]):
        self.structure = structure

    def learn(self, data: Encoded, counts: Counts, context: Context) -> Structure:
        """The given structure, checked against the columns of the data."""
        return read_structure(data, self.structure, "given")
