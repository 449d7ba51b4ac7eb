"""The start of a fit: a name, or finite tables of the same network."""

from __future__ import annotations

from collections.abc import Sequence
from reprlib import repr as repr_short
from typing import Any

import numpy as np

from discbayes._settings import require_choice
from discbayes.network import CPTs, Layout, absorb_class

STARTS = ("generative", "zeros")


def check_start(given: Any) -> None:
    """Raise an error if a start is neither a known name nor tables."""
    if not isinstance(given, CPTs):
        require_choice("start", given, STARTS)


def begin_at(given: Any, generative: CPTs, names: Sequence[str]) -> CPTs:
    """Return the tables where a fit starts: the generative ones, zeros, or given ones."""
    own = generative.class_table
    if isinstance(given, CPTs):
        if own is not None or given.class_table is not None:
            raise ValueError(
                "a fit starts at given tables where the class has no parents: here, or in the"
                ' start, it has: use start="generative" or "zeros"'
            )
        return start_tables(given, generative.layout, names)
    return generative if given == "generative" else zeros_like(generative)


def zero_tables(layout: Layout) -> CPTs:
    """Return zeros in the place of log P(c) and log θ."""
    return CPTs(layout, np.zeros(layout.n_classes), np.zeros(layout.size))


def zeros_like(tables: CPTs) -> CPTs:
    """Return tables of the same structure with zeros in the place of logarithms."""
    own = tables.class_table
    if own is None:
        return zero_tables(tables.layout)
    features = zero_tables(own.features.layout)
    return absorb_class(features, own.parents, np.zeros_like(own.log_table))


def start_tables(given: Any, layout: Layout, names: Sequence[str]) -> CPTs:
    """Return given tables; an error names the first difference if they do not fit the layout.

    Parameters
    ----------
    given : CPTs
        The tables to start from.
    layout : Layout
        The layout of the tables to learn: structure, numbers of values and of classes.
    names : sequence of str
        The names of the columns, for messages.

    Returns
    -------
    CPTs
        The given tables.
    """
    if not isinstance(given, CPTs):
        raise TypeError(
            f"start={repr_short(given)} is neither the name of a start nor CPTs, as"
            " clf.network_.parameters of a fitted classifier"
        )
    _check_structure(given, layout, names)
    _check_sizes(given, layout, names)
    _check_finite(given, names)
    return given


def _check_structure(given: CPTs, layout: Layout, names: Sequence[str]) -> None:
    mine, theirs = layout.structure, given.structure
    if theirs.n_features != mine.n_features:
        raise ValueError(
            f"the start has {theirs.n_features} columns and the data {mine.n_features}"
        )
    for i, name in enumerate(names):
        if theirs.parents[i] != mine.parents[i]:
            has, needs = (_listed(groups[i], names) for groups in (theirs.parents, mine.parents))
            raise ValueError(
                f"the start is of another structure: there the parents of {name!r} are {has}, here"
                f" {needs}"
                + (
                    ", and the order counts"
                    if set(theirs.parents[i]) == set(mine.parents[i])
                    else ""
                )
            )
        if theirs.class_children[i] != mine.class_children[i]:
            where = "there, but not here" if theirs.class_children[i] else "here, but not there"
            raise ValueError(
                f"the start is of another structure: {name!r} depends on the class {where}"
            )


def _check_sizes(given: CPTs, layout: Layout, names: Sequence[str]) -> None:
    if given.n_classes != layout.n_classes:
        raise ValueError(f"the start has {given.n_classes} classes and the data {layout.n_classes}")
    for i in np.flatnonzero(given.cards != layout.cards).tolist():
        raise ValueError(
            f"the start has {given.cards[i]} values of {names[i]!r} and the data {layout.cards[i]}:"
            " it must come from data with the same values and the same cuts"
        )
    if not given.layout.has_states(layout.states):
        raise ValueError(
            "the start has other coarse intervals than the data: it must come from data with the"
            " same cuts"
        )


def _check_finite(given: CPTs, names: Sequence[str]) -> None:
    """Raise an error for a probability of zero, −∞; NaN and +∞ cannot occur in tables."""
    never = "and no gradient leads away from there: smooth it, as MaximumAPosteriori() does"
    for i, name in enumerate(names):
        zeros = int(np.isneginf(given.log_table(i)).sum())
        if zeros:
            raise ValueError(
                f"the start gives {name!r} a probability of zero (log θ = -inf, {zeros} times),"
                f" {never}"
            )
    for c in np.flatnonzero(np.isneginf(given.log_prior)).tolist():
        raise ValueError(
            f"the start gives class number {c} a probability of zero (log P = -inf), {never}"
        )


def _listed(parents: Sequence[int], names: Sequence[str]) -> str:
    return ", ".join(repr(names[p]) for p in parents) or "none but the class"
