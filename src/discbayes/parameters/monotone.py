"""Monotone columns: the posterior odds of the second class never fall, or never rise, in them.

Let x be a column with values in an order, y the class of two, and e what is observed of all other
columns, with any missing values. There are two places of a column in which its tables decide how
the odds P(1 | x, e) / P(0 | x, e) change with x:

- The class is the only parent of x, and x has no children. Then the odds are P(1, e) / P(0, e)
  times P(x | 1) / P(x | 0), and the first factor does not depend on x. So they never fall, for
  every e, if and only if the likelihood ratio P(x | 1) / P(x | 0) never falls.
- x is a parent of the class, has no parents, and no other children. Then P(c, x, e) is P(x) times
  the sum over h of w(h)·P(c | x, h), where h are the values of the other parents, and the weights
  w(h) ≥ 0, which depend on c, do not depend on x. If P(1 | x, h) never falls in x for every h, the
  sum of the second class never falls, that of the first never rises, and so the odds never fall.

The estimates are those of largest likelihood among such tables, from counts n(x, c) that the
virtual observations are part of. In both places they come from the isotonic regression ψ of the
shares n(x, 1) / n(x) with the weights n(x) = n(x, 0) + n(x, 1). A parent of the class has
P(1 | x, h) = ψ. A child has P(x | 1) = n(x)·ψ(x) / n(1) and P(x | 0) = n(x)·(1 − ψ(x)) / n(0),
which sum to one since the regression keeps the weighted mean (Dykstra, Kochar and Robertson, 1995).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from discbayes.data.domain import Domain, Variable
from discbayes.network import Structure

MAX_ROUNDS, TOLERANCE = 1000, 1e-12  # of projections in turn, where several axes are monotone


def read_monotone(monotone: Any) -> dict[str, int]:
    """Return the directions of monotone columns; raise an error if they are not +1 or −1.

    >>> read_monotone({"age": 1})
    {'age': 1}
    """
    if monotone is None:
        return {}
    if not isinstance(monotone, Mapping):
        raise ValueError(f"monotone={monotone!r} must be a dict of columns and +1 or -1")
    for name, direction in monotone.items():
        if isinstance(direction, bool) or direction not in (1, -1):
            raise ValueError(f"monotone: the direction of {name!r} is {direction!r}, not +1 or -1")
    return {str(name): int(direction) for name, direction in monotone.items()}


def monotone_positions(
    directions: Mapping[str, int], domain: Domain, structure: Structure
) -> dict[int, int]:
    """Return the directions by position; refuse columns where tables cannot guarantee them.

    Parameters
    ----------
    directions : mapping of str to int
        The monotone columns.
    domain : Domain
        The columns and the classes.
    structure : Structure
        The structure that the tables are for.
    """
    if directions and domain.n_classes != 2:
        raise ValueError(
            f"monotone columns are for two classes, and {domain.target.name!r} has"
            f" {domain.n_classes}"
        )
    found = {}
    for name, direction in directions.items():
        if name not in domain.names:
            raise ValueError(f"monotone names {name!r}, which is not a column")
        position = domain.position(name)
        _require_order(domain.features[position])
        _require_place(position, domain, structure)
        found[position] = direction
    return found


def _require_order(variable: Variable) -> None:
    values = variable.values
    numbers = all(isinstance(v, (int, float, np.number, np.bool_)) for v in values)
    in_order = variable.ordered or (numbers and list(values) == sorted(values))
    if variable.cuts is None and not in_order:
        raise ValueError(
            f"monotone: the values of {variable.name!r} have no order, as those of numeric, ordered"
            " and boolean columns do"
        )


def _require_place(position: int, domain: Domain, structure: Structure) -> None:
    """Refuse a column that has edges to other columns."""
    names, name = domain.names, domain.names[position]
    others = [names[p] for p in structure.parents[position]]
    others += [names[i] for i in structure.children[position]]
    if others:
        raise ValueError(
            f"monotone: {name!r} has an edge with {others[0]!r}, so that its tables alone do not"
            f" decide how the odds change with it: learn a structure in which the class is its only"
            f" neighbor, as with forbidden=[({name!r}, '*'), ('*', {name!r})]"
        )


def monotone_child(counts: np.ndarray, direction: int, n_ordered: int) -> np.ndarray:
    """Return P(x | c) with a monotone likelihood ratio.

    Parameters
    ----------
    counts : ndarray of shape (card, 2)
        The counts, with virtual observations.
    direction : {1, -1}
        Whether the ratio never falls, or never rises.
    n_ordered : int
        The number of values that have an order; one more is "missing" as a value.

    Returns
    -------
    ndarray of shape (card, 2)
        The table.

    Examples
    --------
    >>> monotone_child(np.array([[2.0, 2.0], [1.0, 3.0], [3.0, 1.0]]), 1, 3).round(2).tolist()
    [[0.33, 0.33], [0.33, 0.33], [0.33, 0.33]]
    """
    totals, own = counts.sum(axis=1), counts.sum(axis=0)
    if not own.all():  # nothing is known of one of the classes: the ratio is constant
        shares = totals / totals.sum() if totals.any() else np.full(totals.size, 1 / totals.size)
        return np.repeat(shares[:, None], 2, axis=1)
    fitted = counts.copy()
    fitted[:n_ordered] = totals[:n_ordered, None] * _shares(counts[:n_ordered], direction)
    return np.asarray(fitted / fitted.sum(axis=0))


def monotone_class(counts: np.ndarray, directions: Sequence[int]) -> np.ndarray:
    """Return P(c | parents) in which P(1 | parents) is monotone along some axes.

    Parameters
    ----------
    counts : ndarray of shape (n_states of the parents ..., 2)
        The counts, with virtual observations.
    directions : sequence of {1, -1, 0}
        The direction of each axis; 0 for an axis that is free.

    Returns
    -------
    ndarray of the same shape
        The table.

    Examples
    --------
    >>> counts = np.array([[3.0, 1.0], [4.0, 0.0], [0.0, 4.0]])
    >>> monotone_class(counts, [1])[:, 1].round(3).tolist()
    [0.125, 0.125, 1.0]
    """
    axes = [axis for axis, direction in enumerate(directions) if direction]
    flips = tuple(axis for axis, direction in enumerate(directions) if direction < 0)
    turned = np.flip(counts, flips)
    totals = turned.sum(axis=-1)
    raw = np.divide(turned[..., 1], totals, out=np.full(totals.shape, 0.5), where=totals > 0)
    weights = np.maximum(totals, 1e-9 * max(float(totals.max(initial=0.0)), 1e-300))
    found = _project(raw, weights, axes)
    for axis in axes:  # what rounding, or the last digits of rounds, left
        found = np.maximum.accumulate(found, axis=axis)
    found = np.clip(found, 0.0, 1.0)
    return np.flip(np.stack([1 - found, found], axis=-1), flips)


def _project(raw: np.ndarray, weights: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """Return the isotonic regression along some axes, by Dykstra's projections in turn."""
    found = raw
    away = [np.zeros_like(raw) for _ in axes]
    for _ in range(MAX_ROUNDS if len(axes) > 1 else 1):
        before = found
        for k, axis in enumerate(axes):
            moved = found + away[k]
            found = _along(moved, weights, axis)
            away[k] = moved - found
        if np.abs(found - before).max(initial=0.0) < TOLERANCE:
            break
    return found


def _along(raw: np.ndarray, weights: np.ndarray, axis: int) -> np.ndarray:
    lines = np.moveaxis(raw, axis, -1)
    found = np.empty(lines.shape)
    for at in np.ndindex(lines.shape[:-1]):
        line_weights = np.moveaxis(weights, axis, -1)[at]
        found[at] = isotonic_regression(lines[at], sample_weight=line_weights)
    return np.moveaxis(found, -1, axis)


def _shares(counts: np.ndarray, direction: int) -> np.ndarray:
    """Return the isotonic shares of the classes for each value."""
    return monotone_class(counts, [direction])
