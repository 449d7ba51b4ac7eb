"""Slow and obvious answers, by enumeration over all states, that the kernels are compared with."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.special import logsumexp

from discbayes.network import CPTs, Layout, Structure


def random_structure(rng, n_features, max_parents=3, drop_class=True):
    """A random acyclic structure; the class is dropped as a parent here and there."""
    order = rng.permutation(n_features)
    parents = [()] * n_features
    for place, i in enumerate(order):
        k = int(rng.integers(0, min(place, max_parents) + 1))
        parents[i] = (
            tuple(int(p) for p in rng.choice(order[:place], size=k, replace=False)) if k else ()
        )
    children = rng.random(n_features) < 0.8 if drop_class else np.ones(n_features, bool)
    return Structure(tuple(parents), tuple(children.tolist()))


def random_forest(rng, n_features):
    return random_structure(rng, n_features, max_parents=1)


def random_states(rng, cards):
    """States of the values of each feature: one, the values themselves, or any number between."""
    found = []
    for card in cards:
        n_states = int(rng.choice([1, rng.integers(1, card + 1), card]))
        states = np.concatenate([np.arange(n_states), rng.integers(0, n_states, card - n_states)])
        found.append(np.sort(states) if rng.random() < 0.7 else rng.permutation(states))
    return tuple(found)


def random_tables(rng, structure, cards, n_classes, normalized=True, zeros=False, states=None):
    """Random tables; features that do not depend on the class have equal columns."""
    layout = Layout(structure, np.asarray(cards, np.int64), n_classes, states)
    flat = np.empty(layout.size)
    for i in range(structure.n_features):
        table = rng.gamma(0.7, size=layout.shapes[i]) + 1e-3
        if zeros and layout.shapes[i][-2] > 1:
            table[rng.random(table.shape) < 0.2] = 0.0
            table[..., 0, :] += 0.1
        if not structure.class_children[i]:
            table[...] = table[..., :1]
        if normalized:
            table /= table.sum(axis=-2, keepdims=True)
        layout.table(flat, i)[...] = table
    prior = rng.gamma(2.0, size=n_classes)
    prior = prior / prior.sum() if normalized else prior
    with np.errstate(divide="ignore"):
        return CPTs(layout, np.log(prior), np.log(flat))


def one_resolution(tables):
    """The same network with tables by the values of parents, not by their states."""
    parts = [np.zeros(0)]
    for i, parents in enumerate(tables.structure.parents):
        table = tables.log_table(i)
        for axis, p in enumerate(parents):
            table = np.take(table, tables.layout.states_of(p), axis=axis)
        parts.append(table.ravel())
    layout = Layout(tables.structure, tables.cards, tables.n_classes)
    return CPTs(layout, tables.log_prior, np.concatenate(parts))


def full_joint(tables):
    """P(x_0, ..., x_n-1, c) as one dense array, not normalised."""
    return np.exp(full_log_joint(tables))


def full_log_joint(tables):
    """The logarithm of that, which holds numbers of any size."""
    n = tables.structure.n_features
    joint = np.empty([*(int(card) for card in tables.cards), tables.n_classes])
    for state in product(*(range(size) for size in joint.shape)):
        c = state[-1]
        value = tables.log_prior[c]
        for i in range(n):
            parents = tuple(
                tables.layout.states_of(p)[state[p]] for p in tables.structure.parents[i]
            )
            value += tables.log_table(i)[(*parents, state[i], c)]
        joint[state] = value
    return joint


def selected(joint, cards, row):
    """The part of the joint that agrees with the observed values of a row; missing features keep
    their axis.
    """
    return joint[
        tuple(int(x) if x < card else slice(None) for x, card in zip(row, cards, strict=True))
    ]


def log_joint(tables, codes):
    """Log P(c, x observed) of every row by summing the dense joint."""
    joint = full_log_joint(tables)
    out = np.empty((codes.shape[1], tables.n_classes))
    for m, row in enumerate(codes.T):
        part = selected(joint, tables.cards, row)
        out[m] = logsumexp(part.reshape(-1, tables.n_classes), axis=0)
    return out


def every_pattern(rng, cards):
    """One random row for every subset of missing features."""
    cards = np.asarray(cards)
    patterns = np.array(list(product([False, True], repeat=cards.size)))
    values = (rng.random(patterns.shape) * cards).astype(np.uint8)
    return np.ascontiguousarray(np.where(patterns, cards, values).astype(np.uint8).T)
