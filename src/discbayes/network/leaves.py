"""Observed leaves: evidence about a variable as a child that depends on nothing else.

Evidence with the likelihoods λ(v) of the values of a feature, or of the classes, multiplies its
table by λ. That is what a child with P(observation | v) = λ(v) does where it is observed. So exact
inference on the network with these leaves answers evidence of any kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discbayes.network.cpts import CPTs, Layout
from discbayes.network.graph import CLASS
from discbayes.network.structure import Structure


def add_leaves(cpts: CPTs, leaves: Sequence[tuple[int, np.ndarray]]) -> CPTs:
    """Return a network with more features, each of which is a leaf.

    Parameters
    ----------
    cpts : CPTs
        The network.
    leaves : sequence of (int, ndarray of shape (n_values, card))
        The parent of each leaf, ``CLASS`` (−1) for the class, and the probability of each value of
        the leaf given each value of the parent. The leaf sees these values, also where other
        children see states.

    Returns
    -------
    CPTs
        The tables; the leaves are the last features.

    Examples
    --------
    >>> from discbayes.network import CPTs, Layout, Structure
    >>> layout = Layout(Structure.naive(1), np.array([2]), 2)
    >>> cpts = CPTs(layout, np.log([0.5, 0.5]), np.log([0.9, 0.2, 0.1, 0.8]))
    >>> add_leaves(cpts, [(0, np.array([[1.0, 0.5], [0.0, 0.5]]))]).structure.parents
    ((), (0,))
    """
    layout, structure = cpts.layout, cpts.structure
    parents = [parent for parent, _ in leaves]
    groups = tuple(() if parent == CLASS else (parent,) for parent in parents)
    larger = Structure(
        structure.parents + groups,
        structure.class_children + tuple(parent == CLASS for parent in parents),
    )
    states = layout.states
    refined = set() if states is None else set(parents) - {CLASS}
    if states is not None:
        kept = [np.arange(s.size) if i in refined else s for i, s in enumerate(states)]
        states = (*kept, *(np.arange(len(shares)) for _, shares in leaves))
    cards = np.append(layout.cards, [len(shares) for _, shares in leaves]).astype(np.int64)
    tables = [_by_value(cpts, i, refined).ravel() for i in range(structure.n_features)]
    with np.errstate(divide="ignore"):
        tables += [_leaf_table(parent, np.log(shares), cpts.n_classes) for parent, shares in leaves]
    wider = Layout(larger, cards, cpts.n_classes, states)
    return replace(cpts, layout=wider, log_theta=np.concatenate([*tables, np.zeros(0)]))


def _by_value(cpts: CPTs, feature: int, refined: set[int]) -> np.ndarray:
    """Return the table of a feature, with some parents by value instead of by state."""
    table = cpts.log_table(feature)
    for axis, parent in enumerate(cpts.structure.parents[feature]):
        if parent in refined:
            table = table.take(cpts.layout.states_of(parent), axis=axis)
    return table


def _leaf_table(parent: int, logs: np.ndarray, n_classes: int) -> np.ndarray:
    if parent == CLASS:
        return logs.ravel()
    return np.repeat(logs.T.ravel(), n_classes)
