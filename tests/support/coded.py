"""Coded rows that are drawn at random, for tests of counts, learners and searches."""

from __future__ import annotations

import numpy as np

from discbayes.data.domain import Domain, Encoded, Variable, code_dtype

MIXED = [1, 2, 9, 3, 2]


WIDE = [300, 2, 1, 4]  # 16-bit codes


def encoded(rng, cards, n_classes, n_rows, gaps=0.0, weighted=False, linked=False):
    """Random data; with ``linked`` each column copies the one before, or the class, half of the
    time.
    """
    codes = np.array([rng.integers(card, size=n_rows) for card in cards]).reshape(
        len(cards), n_rows
    )
    y = rng.integers(n_classes, size=n_rows)
    if linked:
        for i, card in enumerate(cards):
            source = codes[i - 1] if i % 3 else y
            codes[i] = np.where(rng.random(n_rows) < 0.5, source % card, codes[i])
    codes = np.where(rng.random(codes.shape) < gaps, np.array(cards)[:, None], codes)
    weight = rng.choice([0.0, 0.25, 1.0, 2.5], size=n_rows) if weighted else None
    return Encoded(
        codes.astype(code_dtype(max(cards))),
        domain_of(cards, n_classes),
        y.astype(np.int32),
        weight,
    )


def domain_of(cards, n_classes):
    features = [
        Variable(f"x{i}", "categorical", tuple(range(card))) for i, card in enumerate(cards)
    ]
    return Domain(tuple(features), Variable("y", "categorical", tuple(range(n_classes))))


def rows_of(data, rows):
    weight = None if data.weight is None else data.weight[rows]
    return Encoded(np.ascontiguousarray(data.codes[:, rows]), data.domain, data.y[rows], weight)
