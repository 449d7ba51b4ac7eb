"""Random 1-trees, one per class: the synthetic problem of Pernkopf & Bilmes (2010), section 6.4.

Their text fixes the sizes (25,000 rows of class 1 from its tree; for each of the four other classes
6,250 rows from that same tree and 6,250 from its own) and leaves two points open, which are read
here as follows: a random tree attaches each feature, in random order, to one of those before it; a
row of probabilities is uniform numbers, normalized.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.utils import check_scalar

RandomState = int | np.random.Generator | None
Sample = tuple[np.ndarray, np.ndarray]  # rows, and their classes


def require_counts(minimum: int = 1, **counts: int) -> None:
    """Raise an error that names the first count that is not a whole number from a minimum on."""
    for name, count in counts.items():
        check_scalar(count, name, Integral, min_val=minimum)


@dataclass(frozen=True, eq=False)
class RandomTree:
    """A distribution of features of which each has one parent, but for the first in ``order``.

    ``tables[feature]`` has a row for each value of the parent; the root's rows are all the same.
    """

    order: np.ndarray
    parents: np.ndarray  # parents[order[0]] is order[0]: a root that is drawn from row 0
    tables: np.ndarray  # (n_features, n_values, n_values)

    def sample(self, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Rows drawn from root to leaves, shape (n_samples, n_features)."""
        X = np.zeros((n_samples, len(self.order)), dtype=np.int64)
        # the last value takes what rounding leaves
        cumulative = self.tables.cumsum(axis=2)[:, :, :-1]
        for feature in self.order:
            rows = cumulative[feature][X[:, self.parents[feature]]]
            X[:, feature] = (rng.random((n_samples, 1)) >= rows).sum(axis=1)
        return X

    def log_prob(self, X: np.ndarray) -> np.ndarray:
        """The log probability of each row of ``X``."""
        features = np.arange(X.shape[1])
        return np.log(self.tables[features, X[:, self.parents], X]).sum(axis=1)


def random_tree(n_features: int, n_values: int, rng: np.random.Generator) -> RandomTree:
    """A tree and its probabilities, drawn at random."""
    order = rng.permutation(n_features)
    parents = np.empty(n_features, dtype=np.int64)
    parents[order[0]] = order[0]
    parents[order[1:]] = order[rng.integers(np.arange(1, n_features))]
    tables = rng.random((n_features, n_values, n_values))
    tables[order[0]] = tables[order[0], 0]
    return RandomTree(order, parents, tables / tables.sum(axis=2, keepdims=True))


@dataclass(frozen=True, eq=False)
class RandomTrees:
    """A tree per class; all classes but the first borrow half of their rows from its tree.

    Examples
    --------
    >>> from discbayes.datasets.trees import random_trees
    >>> truth = random_trees(n_features=5, random_state=0)
    >>> X, y = truth.sample(12_000, random_state=1)
    >>> right = truth.log_joint(X).argmax(axis=1) == y
    >>> bool(right.mean() > 1 / 3)  # what always answering class 0 would give
    True
    """

    trees: tuple[RandomTree, ...]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.trees)

    def sample(self, n_samples: int, random_state: RandomState = None) -> Sample:
        """Rows and classes in random order; the shares of the classes are fixed, not drawn."""
        require_counts(n_samples=n_samples)
        rng = np.random.default_rng(random_state)
        others = np.arange(1, self.n_classes)
        tree_of = np.concatenate([[0], np.zeros_like(others), others])
        class_of = np.concatenate([[0], others, others])
        shares = np.concatenate([[len(others)], np.ones(2 * len(others))])
        sizes = _split_sizes(n_samples, shares)
        X = np.vstack(
            [self.trees[tree].sample(n, rng) for tree, n in zip(tree_of, sizes, strict=True)]
        )
        shuffled = rng.permutation(n_samples)
        return X[shuffled], np.repeat(class_of, sizes)[shuffled]

    def log_joint(self, X: np.ndarray) -> np.ndarray:
        """Log P(c, x) of the true model, shape (n_samples, n_classes)."""
        first, *rest = (tree.log_prob(X) for tree in self.trees)
        unit = -np.log(3.0 * (self.n_classes - 1))  # the share of one group of rows
        mixed = [np.logaddexp(first, own) + unit for own in rest]
        return np.column_stack([first - np.log(3.0), *mixed])


def _split_sizes(total: int, weights: np.ndarray) -> np.ndarray:
    """Return whole numbers in proportion to the weights that add up to ``total``."""
    # rounded ends, not sizes, so that the sizes add up
    ends = np.rint(total * np.cumsum(weights) / weights.sum()).astype(np.int64)
    return np.diff(ends, prepend=0)


def random_trees(
    n_features: int = 10,
    n_classes: int = 5,
    n_values: int = 10,
    random_state: RandomState = None,
) -> RandomTrees:
    """Draw the trees and probabilities of P10 section 6.4."""
    require_counts(n_features=n_features, n_values=n_values)
    require_counts(2, n_classes=n_classes)
    rng = np.random.default_rng(random_state)
    return RandomTrees(tuple(random_tree(n_features, n_values, rng) for _ in range(n_classes)))
