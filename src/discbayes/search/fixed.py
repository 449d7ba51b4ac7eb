"""Structures that are not searched for: naive Bayes, and structures that are given."""

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
    """Naive Bayes: features are independent given the class.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> BayesNetClassifier(NaiveBayes()).fit(iris.X, iris.y).structure_.n_edges
    0
    """

    statistics_needed = "features"
    supports_blocks = True

    def learn(self, data: Encoded, counts: Counts, context: Context) -> Structure:
        """Return the structure without edges.

        Parameters
        ----------
        data : Encoded or RowBlocks
            The rows.
        counts : Counts
            Counts of the class and of each feature.
        context : Context
            Threads, randomness, interrupts, and where steps are recorded.

        Returns
        -------
        Structure
            No edges between features.

        Examples
        --------
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.engine import Context
        >>> data = FrameEncoder().fit_transform([["x", "x"], ["x", "x"], ["y", "y"]], [0, 1, 0])
        >>> NaiveBayes().learn(data, count(data), Context()).parents
        ((), ())
        """
        return Structure.naive(data.n_features)


class FixedStructure(BaseEstimator):
    """A known structure: a ``Structure``, or edges ``(parent, child)`` between columns.

    Parameters
    ----------
    structure : Structure or iterable of edges
        Edges name columns, or give their positions. Edges that leave the class (by the name of the
        target) name its children; without such edges it is a parent of every feature.

    Examples
    --------
    >>> FixedStructure([("age", "weight")])
    FixedStructure(structure=[('age', 'weight')])
    """

    statistics_needed = "families"
    supports_blocks = True

    def __init__(self, structure: Structure | Iterable[Any]):
        self.structure = structure

    def learn(self, data: Encoded, counts: Counts, context: Context) -> Structure:
        """Return the given structure, checked against the columns of the data.

        Parameters
        ----------
        data : Encoded or RowBlocks
            The rows.
        counts : Counts
            Counts of the class and of each feature.
        context : Context
            Threads, randomness, interrupts, and where steps are recorded.

        Returns
        -------
        Structure
            The given structure.

        Examples
        --------
        >>> from discbayes.counts import count
        >>> from discbayes.data import FrameEncoder
        >>> from discbayes.engine import Context
        >>> data = FrameEncoder().fit_transform([["x", "x"], ["x", "x"], ["y", "y"]], [0, 1, 0])
        >>> FixedStructure([(0, 1)]).learn(data, count(data), Context()).parents
        ((), (0,))
        """
        return read_structure(data, self.structure, "given")
