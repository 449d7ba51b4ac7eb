"""The approximate conditional log likelihood (C11 Eq. 12) of pairs of features.

Both directions of an edge are scored from one table.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel


@helper
def _term(n, rest, more, alpha, beta):
    """Return the term of ``n`` rows of a class and ``rest`` rows of the other classes.

    ``more`` is added to both counts, for smoothing.
    """
    if n <= 0.0:
        return 0.0
    return n * (alpha * np.log(n + more) + beta * np.log(max(0.0, rest) + more))


@helper
def _sum_terms(joint, size, n_classes, more, alpha, beta):
    """Return the sum of the terms of all cells of a marginal table with the class."""
    total = 0.0
    for k in range(size):
        whole = 0.0
        for c in range(n_classes):
            whole += joint[k * n_classes + c]
        for c in range(n_classes):
            n = joint[k * n_classes + c]
            total += _term(n, whole - n, more, alpha, beta)
    return total


@kernel
def pair_gains(cells, starts, card_a, cards_b, n_classes, alpha, beta, strength, out):
    """Compute the gains of the edges A → B and B → A, for A with each of several B.

    The score of a family is Σ term(n(parent, child, c)) − Σ term(n(parent, c)). The first sum does
    not depend on the direction.
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
        joint = _sum_terms(table, card_a * card_b, n_classes, strength, alpha, beta)
        more_a, more_b = strength * card_a, strength * card_b
        out[k, 0] = (
            joint
            - _sum_terms(with_a, card_a, n_classes, more_b, alpha, beta)
            - _sum_terms(with_b, card_b, n_classes, strength, alpha, beta)
            + _sum_terms(alone, 1, n_classes, more_b, alpha, beta)
        )
        out[k, 1] = (
            joint
            - _sum_terms(with_b, card_b, n_classes, more_a, alpha, beta)
            - _sum_terms(with_a, card_a, n_classes, strength, alpha, beta)
            + _sum_terms(alone, 1, n_classes, more_a, alpha, beta)
        )
