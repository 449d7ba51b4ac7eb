"""Informations and local scores as the papers write them, cell by cell, as an oracle of edge
scores.
"""

from __future__ import annotations

from math import log, pi

import numpy as np

ALPHA, BETA, LAMBDA = (pi**2 + 6) / 24, (pi**2 - 18) / 24, pi**2 / 6


def table_of(data, features):
    """Counts of some features and the class, by adding row after row; rows with a gap are left
    out.
    """
    table = np.zeros((*data.cards[list(features)], data.n_classes))
    weight = np.ones(data.n_samples) if data.weight is None else data.weight
    for m in range(data.n_samples):
        cell = tuple(int(data.codes[i, m]) for i in features)
        if all(code < data.cards[i] for code, i in zip(cell, features, strict=True)):
            table[(*cell, data.y[m])] += weight[m]
    return table


def entropy(table, *axes):
    """H of the variables on these axes of a table of counts."""
    others = tuple(axis for axis in range(table.ndim) if axis not in axes)
    share = table.sum(axis=others).ravel() / table.sum()
    return -sum(x * log(x) for x in share if x > 0)


def informations(table):
    """I(A;B|C) and I(A;B) of the three axes, from entropies."""
    conditional = (
        entropy(table, 0, 2) + entropy(table, 1, 2) - entropy(table, 2) - entropy(table, 0, 1, 2)
    )
    return conditional, entropy(table, 0) + entropy(table, 1) - entropy(table, 0, 1)


def log_likelihood(data, child, parents, class_parent):
    """Σ n log(n / its total), cell by cell."""
    table = table_of(data, (*parents, child))
    if not class_parent:
        table = table.sum(axis=-1, keepdims=True)
    total = table.sum(axis=-2, keepdims=True)
    return sum(
        n * log(n / t)
        for n, t in zip(table.ravel(), np.broadcast_to(total, table.shape).ravel(), strict=True)
        if n
    )


def second_term(data, child, parents):
    """C11 Eq. 24 without the factor −βλ: Σ N_ijck (log(N_ijck / N_ij*k) − log(N_ijc / N_ij*))."""
    table = table_of(data, (*parents, child))
    found = 0.0
    for cell in np.ndindex(*table.shape):
        *j, k, c = cell
        if table[cell] > 0:
            row = table[tuple(j)]
            found += table[cell] * (
                log(table[cell] / row[k].sum()) - log(row[:, c].sum() / row.sum())
            )
    return found


def family_by_formula(name, data, child, parents, class_parent):
    """The local scores of METHODS section 2, on complete rows."""
    n_rows = data.n_samples if data.weight is None else data.weight.sum()
    likelihood = log_likelihood(data, child, parents, class_parent)
    told = second_term(data, child, parents) if class_parent else 0.0
    cells = (
        np.prod(data.cards[list(parents)])
        * (data.cards[child] - 1)
        * (data.n_classes if class_parent else 1)
    )
    return {
        "ll": likelihood,
        "cmi": likelihood / n_rows,
        "mdl": likelihood - 0.5 * log(n_rows) * cells,
        "fcll": (ALPHA + BETA) * likelihood - BETA * LAMBDA * told,
        "interaction": -BETA * LAMBDA * told,
        "residual": told / n_rows,
        "acll": acll_by_formula(table_of(data, (*parents, child)), class_parent),
    }[name]


def acll_by_formula(table, class_parent, strength=0.5):
    """The local part of C11 Eq. 12: raw counts outside the logarithm, smoothed θ inside; 1 − c is
    all other classes.
    """
    found, card = 0.0, table.shape[-2]
    for cell in np.ndindex(*table.shape):
        *j, k, c = cell
        row = table[tuple(j)]
        others = row.sum(axis=1) - row[:, c]
        theta = (row[k, c] + strength) / (row[:, c].sum() + strength * card)
        dual = (others[k] + strength) / (others.sum() + strength * card)
        if not class_parent:
            theta = dual = (row[k].sum() + strength) / (row.sum() + strength * card)
        found += table[cell] * ((ALPHA + BETA) * log(theta) - BETA * log(theta / dual))
    return found
