"""Synthetic data: the papers' examples and two classics of Breiman.

Every ``make_...`` function returns ``(X, y)``: integer codes from 0 for categories, floats for
measurements, and integer classes from 0. ``random_state`` is a seed, a ``numpy.random.Generator``,
or None for fresh randomness.

P10 is Pernkopf & Bilmes (2010), Z17 is Zaidi et al. (2017).
"""

from __future__ import annotations

import numpy as np

from discbayes.datasets.trees import RandomState, Sample, random_trees, require_counts

# Segments in the order top, upper left, upper right, middle, lower left, lower right, bottom.
_LED_DIGITS = "1110111 0010010 1011101 1011011 0111010 1101011 1101111 1010010 1111111 1111011"
LED_PATTERNS = np.array([[int(bit) for bit in digit] for digit in _LED_DIGITS.split()])

_WAVE_PEAKS = np.array([7, 15, 11])
_WAVE_PAIRS = np.array([[0, 1], [0, 2], [1, 2]])  # which two waves a class mixes


def draw_from_joint(joint: np.ndarray, n_samples: int, rng: np.random.Generator) -> Sample:
    """Draw rows from a joint table, whose first axis is the class and the others the features."""
    require_counts(n_samples=n_samples)
    cells = rng.choice(joint.size, size=n_samples, p=joint.ravel())
    y, *features = np.unravel_index(cells, joint.shape)
    return np.column_stack(features), y


def three_feature_joint() -> np.ndarray:
    """P(c, x1, x2, x3) of P10 section 3, shape (2, 2, 2, 2).

    X1 is uniform; X2 copies X1 half of the time and is uniform otherwise. X3 copies X2 with
    probability 0.5, is uniform with 0.2, and with 0.3 copies X1 in class 0 and its negation in
    class 1. So X2 and X3 depend on each other strongly, but only X1 and X3 together tell the
    classes apart.

    Examples
    --------
    >>> from discbayes.datasets.generators import three_feature_joint
    >>> joint = three_feature_joint()
    >>> round(float(joint.max(axis=0).sum()), 4)  # what the best classifier gets right
    0.65
    """
    same, uniform = np.eye(2), np.full((2, 2), 0.5)
    p_x1_x2 = 0.5 * (0.5 * same + 0.5 * uniform)
    copies_x1 = np.stack([same, 1.0 - same])  # [c, x1, x3]
    p_x3 = 0.3 * copies_x1[:, :, None, :] + 0.5 * same[None, None] + 0.2 * 0.5
    return 0.5 * p_x1_x2[None, :, :, None] * p_x3


def make_three_feature(n_samples: int = 1000, *, random_state: RandomState = None) -> Sample:
    """Draw from P10's example of three binary features that needs a discriminative structure.

    Parameters
    ----------
    n_samples : int, default=1000
        The number of rows.
    random_state : int, Generator or None
        Seed of the draw.

    Returns
    -------
    X : ndarray of int, shape (n_samples, 3)
        The features.
    y : ndarray of int, shape (n_samples,)
        The classes.

    Examples
    --------
    >>> from discbayes.datasets import make_three_feature
    >>> X, y = make_three_feature(5, random_state=0)
    >>> X.shape, y.shape
    ((5, 3), (5,))
    """
    return draw_from_joint(three_feature_joint(), n_samples, np.random.default_rng(random_state))


def random_joint(n_features: int, n_classes: int, random_state: RandomState = None) -> np.ndarray:
    """Draw a joint distribution of a class and binary features, uniform on the simplex."""
    require_counts(n_classes=n_classes, n_features=n_features)
    cells = np.ones(n_classes * 2**n_features)
    joint = np.random.default_rng(random_state).dirichlet(cells)
    return joint.reshape(n_classes, *[2] * n_features)


def make_random_distribution(
    n_samples: int = 100_000,
    *,
    n_features: int = 10,
    n_classes: int = 2,
    random_state: RandomState = None,
) -> Sample:
    """Draw a joint distribution at random, then rows from it (P10 section 6.3).

    P10 only mentions "random distributions". Here the joint table over the class and binary
    features is uniform on the simplex of all such tables, which has dependencies of every order.

    Parameters
    ----------
    n_samples : int, default=100000
        The number of rows.
    n_features : int, default=10
        The number of binary features; the table has ``n_classes * 2**n_features`` cells.
    n_classes : int, default=2
        The number of classes.
    random_state : int, Generator or None
        Seed of both draws.

    Returns
    -------
    X : ndarray of int, shape (n_samples, n_features)
        The features.
    y : ndarray of int, shape (n_samples,)
        The classes.

    Examples
    --------
    >>> from discbayes.datasets import make_random_distribution
    >>> X, y = make_random_distribution(100, n_features=12, random_state=0)
    >>> X.shape
    (100, 12)
    """
    rng = np.random.default_rng(random_state)
    return draw_from_joint(random_joint(n_features, n_classes, rng), n_samples, rng)


def make_random_tree(
    n_samples: int = 75_000,
    *,
    n_features: int = 10,
    n_classes: int = 5,
    n_values: int = 10,
    random_state: RandomState = None,
) -> Sample:
    """Draw a random 1-tree for each class, then rows from them (P10 section 6.4).

    A third of the rows are class 0, drawn from its tree. The other classes share the rest evenly;
    half of the rows of each are drawn from its own tree and half from the tree of class 0, "for
    confusion". To draw training and test rows from the same trees, or to score with the true model,
    use ``discbayes.datasets.trees.random_trees``.

    Parameters
    ----------
    n_samples : int, default=75000
        The number of rows.
    n_features, n_classes, n_values : int
        The size of the problem; every feature has ``n_values`` values.
    random_state : int, Generator or None
        Seed of trees and rows.

    Returns
    -------
    X : ndarray of int, shape (n_samples, n_features)
        The features.
    y : ndarray of int, shape (n_samples,)
        The classes.

    Examples
    --------
    >>> from discbayes.datasets import make_random_tree
    >>> import numpy as np
    >>> X, y = make_random_tree(1200, n_features=5, random_state=0)
    >>> np.bincount(y).tolist()
    [400, 200, 200, 200, 200]
    """
    rng = np.random.default_rng(random_state)
    return random_trees(n_features, n_classes, n_values, rng).sample(n_samples, rng)


def make_conditioned_logistic(
    n_samples: int = 10_000, *, alpha: float = 1.0, random_state: RandomState = None
) -> Sample:
    """Draw from a logistic model of three binary features, ill conditioned for large alpha.

    The model is that of Z17 5.5.1:
    ``P(y = 1 | x) = 1 / (1 + exp(-(10**alpha * x1 + x2 + 10**-alpha * x3)))``, with uniform
    features. (The paper's formula lacks the ``1 +``.)

    Parameters
    ----------
    n_samples : int, default=10000
        The number of rows.
    alpha : float, default=1.0
        0 makes the features count alike; Z17 goes up to 1.
    random_state : int, Generator or None
        Seed of the draw.

    Returns
    -------
    X : ndarray of int, shape (n_samples, 3)
        The features.
    y : ndarray of int, shape (n_samples,)
        The classes.

    Examples
    --------
    >>> from discbayes.datasets import make_conditioned_logistic
    >>> X, y = make_conditioned_logistic(100, alpha=0.5, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 3), [0, 1])
    """
    require_counts(n_samples=n_samples)
    rng = np.random.default_rng(random_state)
    X = rng.integers(2, size=(n_samples, 3))
    score = X @ np.array([10.0**alpha, 1.0, 10.0**-alpha])
    return X, (rng.random(len(X)) < 1.0 / (1.0 + np.exp(-score))).astype(np.int64)


def make_led(
    n_samples: int = 1000,
    *,
    n_irrelevant: int = 0,
    noise: float = 0.1,
    random_state: RandomState = None,
) -> Sample:
    """Draw digits on a seven-segment display with noisy segments (Breiman et al. 1984).

    Parameters
    ----------
    n_samples : int, default=1000
        The number of rows.
    n_irrelevant : int, default=0
        Columns of coin flips to append; the classic has 17.
    noise : float, default=0.1
        The probability that a segment shows the opposite. At 0.1 the best classifier gets 74 %
        right.
    random_state : int, Generator or None
        Seed of the draw.

    Returns
    -------
    X : ndarray of int, shape (n_samples, 7 + n_irrelevant)
        The features.
    y : ndarray of int, shape (n_samples,)
        The classes.

    Examples
    --------
    >>> from discbayes.datasets import make_led
    >>> X, y = make_led(3, noise=0.0, random_state=0)
    >>> y.tolist(), X[0].tolist()
    ([8, 6, 5], [1, 1, 1, 1, 1, 1, 1])
    """
    if not 0.0 <= noise <= 1.0:
        raise ValueError(f"noise is a probability; got {noise}")
    require_counts(n_samples=n_samples)
    require_counts(0, n_irrelevant=n_irrelevant)
    rng = np.random.default_rng(random_state)
    y = rng.integers(10, size=n_samples)
    wrong = rng.random((n_samples, 7)) < noise
    coins = rng.integers(2, size=(n_samples, n_irrelevant))
    return np.hstack([LED_PATTERNS[y] ^ wrong, coins]), y


def make_waveform(
    n_samples: int = 5000, *, n_noise: int = 0, random_state: RandomState = None
) -> Sample:
    """Draw noisy mixtures of two of three triangular waves (Breiman et al. 1984).

    Parameters
    ----------
    n_samples : int, default=5000
        The number of rows.
    n_noise : int, default=0
        Columns of pure noise to append; the 40-feature version has 19.
    random_state : int, Generator or None
        Seed of the draw.

    Returns
    -------
    X : ndarray of float, shape (n_samples, 21 + n_noise)
        The features.
    y : ndarray of int, shape (n_samples,)
        The classes.

    Examples
    --------
    >>> from discbayes.datasets import make_waveform
    >>> X, y = make_waveform(100, n_noise=19, random_state=0)
    >>> X.shape
    (100, 40)
    """
    require_counts(n_samples=n_samples)
    require_counts(0, n_noise=n_noise)
    rng = np.random.default_rng(random_state)
    y = rng.integers(3, size=n_samples)
    waves = np.maximum(6.0 - np.abs(np.arange(1, 22) - _WAVE_PEAKS[:, None]), 0.0)
    first, second = waves[_WAVE_PAIRS[y].T]
    share = rng.random((n_samples, 1))
    X = rng.normal(size=(n_samples, 21 + n_noise))
    X[:, :21] += share * first + (1.0 - share) * second
    return X, y
