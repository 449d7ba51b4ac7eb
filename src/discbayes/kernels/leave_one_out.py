"""The leave-one-out likelihood of families, whose tables back off to the class alone.

A cell with count n, in a line of parents' values and a class with the total t, is read by each of
its rows as (n − 1 + m·p) / (t − 1 + m), where p is the estimate without the parents, again without
the row. The strength m is that of the largest likelihood.
"""

from __future__ import annotations

import numpy as np

from discbayes.kernels._compile import helper, kernel


@helper
def _log_likelihood(table, below, n_lines, card, n_classes, m):
    """Return Σ n·log p of a table of lines, if ``below`` is the estimate that it backs off to."""
    value = 0.0
    for line in range(n_lines):
        for c in range(n_classes):
            total = 0.0
            for x in range(card):
                total += table[(line * card + x) * n_classes + c]
            rest = max(total - 1.0, 0.0) + m
            for x in range(card):
                n = table[(line * card + x) * n_classes + c]
                if n > 0.0:
                    share = (max(n - 1.0, 0.0) + m * below[x * n_classes + c]) / rest
                    value += n * np.log(max(share, 1e-300))
    return value


@helper
def _best_strength(table, below, n_lines, card, n_classes, strengths):
    """Return the largest likelihood and its strength."""
    best, chosen = -np.inf, strengths[0]
    for m in strengths:
        value = _log_likelihood(table, below, n_lines, card, n_classes, m)
        if value > best:
            best, chosen = value, m
    return best, chosen


@helper
def chain_likelihood(table, n_lines, card, n_classes, strengths, alone, below):
    """Return the likelihood of a feature given the class, and given its parents as well.

    ``alone`` and ``below`` are scratch space for the values of the feature in each class.
    """
    total = 0.0
    for k in range(card * n_classes):
        alone[k] = 0.0
    for line in range(n_lines):
        for k in range(card * n_classes):
            alone[k] += table[line * card * n_classes + k]
            total += table[line * card * n_classes + k]
    for x in range(card):
        n = 0.0
        for c in range(n_classes):
            n += alone[x * n_classes + c]
        # what a class without rows of the value backs off to is not read by any row
        for c in range(n_classes):
            below[x * n_classes + c] = (max(n - 1.0, 0.0) + 1.0 / card) / max(total, 1.0)
    of_class, m = _best_strength(alone, below, 1, card, n_classes, strengths)
    if n_lines == 1:
        return of_class, of_class
    for c in range(n_classes):
        in_class = 0.0
        for x in range(card):
            in_class += alone[x * n_classes + c]
        rest = max(in_class - 1.0, 0.0) + m
        for x in range(card):
            k = x * n_classes + c
            below[k] = (max(alone[k] - 1.0, 0.0) + m * below[k]) / rest
    return of_class, _best_strength(table, below, n_lines, card, n_classes, strengths)[0]


@kernel
def family_likelihood(table, strengths):
    """Return the leave-one-out likelihood of a table (parent values, values, classes)."""
    n_lines, card, n_classes = table.shape
    scratch = np.empty((2, card * n_classes))
    flat = np.ascontiguousarray(table).reshape(table.size)
    return chain_likelihood(flat, n_lines, card, n_classes, strengths, scratch[0], scratch[1])[1]


@kernel
def pair_gains(cells, starts, card_a, cards_b, n_classes, strengths, out):
    """Compute the gains of the edges A → B and B → A, for A with each of several B."""
    widest = card_a
    for b in cards_b:
        widest = max(widest, b)
    scratch, turned = np.empty((2, widest * n_classes)), np.empty(card_a * widest * n_classes)
    for k in range(cards_b.size):
        card_b = cards_b[k]
        table = cells[starts[k] : starts[k] + card_a * card_b * n_classes]
        for a in range(card_a):
            for b in range(card_b):
                for c in range(n_classes):
                    turned[(b * card_a + a) * n_classes + c] = table[
                        (a * card_b + b) * n_classes + c
                    ]
        alone, given = chain_likelihood(
            table, card_a, card_b, n_classes, strengths, scratch[0], scratch[1]
        )
        out[k, 0] = given - alone
        alone, given = chain_likelihood(
            turned, card_b, card_a, n_classes, strengths, scratch[0], scratch[1]
        )
        out[k, 1] = given - alone
