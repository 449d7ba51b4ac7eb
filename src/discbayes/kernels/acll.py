"""The approximate conditional log likelihood (C11 Eq. 12) of pairs of features, both directions
from one table.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel


@helper
def _worth(n, rest, more, alpha, beta):
    """What ``n`` rows of a class add, when the other classes have ``rest`` of them; ``more``
    smooths both.
    """
    if n <= 0.0:
        return 0.0
    return n * (alpha * np.log(n + more) + beta * np.log(max(0.0, rest) + more))


@helper
def _sum_worths(joint, size, n_classes, more, alpha, beta):
    """The worth of all cells of a margin with the class."""
    total = 0.0
    for k in range(size):
        whole = 0.0
        for c in range(n_classes):
            whole += joint[k * n_classes + c]
        for c in range(n_classes):
            n = joint[k * n_classes + c]
            total += _worth(n, whole - n, more, alpha, beta)
    return total


@kernel
def pair_gains(cells, starts, card_a, cards_b, n_classes, alpha, beta, strength, out):
    """What the edges A → B and B → A add to the score, for A with each of several B.

    A family is worth Σ worth(n(parent, child, c)) − Σ worth(n(parent, c)): the logarithms of the
    cells are the same in both directions.
    """
    widest = 0
    for b in cards_b:
        widest = max(widest, b)
    with_a = np.empty(card_a * n_classes)
    with_b = np.empty(widest * n_classes)
    alone = np.empty(n_classes)
    for k in range(cards_b.size):
        card_b = cards_b[k]
        table = cells[starts[k] : starts[k] + card_a * card_b * n_classes]
        with_a[:] = 0.0
        with_b[:] = 0.0
        alone[:] = 0.0
        for a in range(card_a):
            for b in range(card_b):
                for c in range(n_classes):
                    n = table[(a * card_b + b) * n_classes + c]
                    with_a[a * n_classes + c] += n
                    with_b[b * n_classes + c] += n
                    alone[c] += n
        joint = _sum_worths(table, card_a * card_b, n_classes, strength, alpha, beta)
        more_a, more_b = strength * card_a, strength * card_b
        out[k, 0] = (
            joint
            - _sum_worths(with_a, card_a, n_classes, more_b, alpha, beta)
            - _sum_worths(with_b, card_b, n_classes, strength, alpha, beta)
            + _sum_worths(alone, 1, n_classes, more_b, alpha, beta)
        )
        out[k, 1] = (
            joint
            - _sum_worths(with_b, card_b, n_classes, more_a, alpha, beta)
            - _sum_worths(with_a, card_a, n_classes, strength, alpha, beta)
            + _sum_worths(alone, 1, n_classes, more_a, alpha, beta)
        )
