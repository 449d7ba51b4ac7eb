"""Decisions of the least expected cost: for a class, or for an action such as "refer"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes._settings import float_or_nan
from discbayes._text import listed

_TIE = 1e-12  # costs that differ by less, relative to their parts, are equal


@dataclass(frozen=True, eq=False)
class DecisionCosts:
    """The costs of each decision where each class is true.

    Parameters
    ----------
    matrix : ndarray of shape (n_classes, n_decisions)
        A row for each true class, a column for each decision.
    decisions : ndarray of shape (n_decisions,)
        The classes, and then the actions that are none of them.
    """

    matrix: np.ndarray
    decisions: np.ndarray

    @classmethod
    def of(cls, costs: Any, classes: np.ndarray) -> DecisionCosts:
        """Read costs as users write them.

        Parameters
        ----------
        costs : array of shape (n_classes, n_classes), frame, mapping or DecisionCosts
            The costs in the order of the classes, or ``{truth: {decision: cost}}``, where all else
            costs nothing. A decision of a mapping or a frame that is not a class is an action; it
            has a cost for every class.
        classes : ndarray
            The class labels.

        Examples
        --------
        >>> costs = {"sick": {"well": 10, "refer": 2}, "well": {"sick": 1, "refer": 2}}
        >>> found = DecisionCosts.of(costs, np.array(["sick", "well"]))
        >>> found.decisions.tolist()
        ['sick', 'well', 'refer']
        >>> found.matrix
        array([[ 0., 10.,  2.],
               [ 1.,  0.,  2.]])
        """
        if isinstance(costs, cls):
            return costs
        labels = classes.tolist()
        # a pandas frame, with classes as its labels
        if hasattr(costs, "index") and hasattr(costs, "columns"):
            costs = costs.to_dict("index")
        actions: list[Any] = []
        if isinstance(costs, Mapping):
            actions = _actions(costs, labels)
            cells = _from_mapping(costs, labels, actions)
        else:
            cells = np.array(costs, dtype=object)
        decisions = [*labels, *actions]
        if cells.shape != (len(labels), len(decisions)):
            raise ValueError(
                f"costs has the shape {cells.shape} for {len(labels)} classes: it needs a row for"
                " each true class and a column for each decision, in the order of classes_, or"
                " {truth: {decision: cost}}, which also names actions that are not classes"
            )
        matrix = [
            [_number(cells[i, j], t, d) for j, d in enumerate(decisions)]
            for i, t in enumerate(labels)
        ]
        return cls(np.array(matrix), _with_actions(classes, actions))

    def decide(self, posterior: np.ndarray) -> np.ndarray:
        """Return the decision of the least expected cost in each row, the first of equal ones."""
        return self.decisions[cheapest(posterior, self.matrix)]


def cost_matrix(costs: Any, classes: np.ndarray) -> np.ndarray:
    """Return costs as a matrix: a row for each true class, a column for each decision.

    Parameters
    ----------
    costs : array of shape (n_classes, n_classes), frame, mapping or DecisionCosts
        As in ``DecisionCosts.of``.
    classes : ndarray
        The class labels.

    Examples
    --------
    >>> cost_matrix({"sick": {"well": 10}, "well": {"sick": 1}}, np.array(["sick", "well"]))
    array([[ 0., 10.],
           [ 1.,  0.]])
    """
    return DecisionCosts.of(costs, classes).matrix


def _with_actions(classes: np.ndarray, actions: list[Any]) -> np.ndarray:
    """Return the classes and the actions in one array."""
    if not actions:
        return classes
    decisions = [*classes.tolist(), *actions]
    if all(isinstance(decision, str) for decision in decisions):
        return np.array(decisions)
    found = np.empty(len(decisions), dtype=object)
    found[:] = decisions
    return found


def _actions(costs: Mapping[Any, Any], labels: list[Any]) -> list[Any]:
    """Return the decisions that are not classes; refuse one without a cost for every class.

    A class that is misspelled seldom has one.
    """
    for truth, decisions in costs.items():
        if not isinstance(decisions, Mapping):
            raise ValueError(
                f"costs[{truth!r}]={decisions!r} must be a mapping: write {{truth: {{decision:"
                " cost}}"
            )
    unknown = [truth for truth in costs if truth not in labels]
    if unknown:
        raise ValueError(
            f"costs names a class {unknown[0]!r}, which is none of the classes {listed(labels, 20)}"
        )
    named = dict.fromkeys(decision for decisions in costs.values() for decision in decisions)
    actions = [decision for decision in named if decision not in labels]
    for action in actions:
        without = [label for label in labels if action not in costs.get(label, {})]
        if without:
            raise ValueError(
                f"costs names a class {action!r}, which is none of the classes"
                f" {listed(labels, 20)}; an action needs a cost for every class, and {action!r} has"
                f" none where {without[0]!r} is true"
            )
    return actions


def _from_mapping(
    costs: Mapping[Any, Mapping[Any, Any]], labels: list[Any], actions: list[Any]
) -> np.ndarray:
    """Return the cells of ``{truth: {decision: cost}}``."""
    decisions = [*labels, *actions]
    cells = np.zeros((len(labels), len(decisions)), dtype=object)
    for truth, given in costs.items():
        for decision, cost in given.items():
            cells[labels.index(truth), decisions.index(decision)] = cost
    return cells


def _number(cost: Any, truth: Any, decision: Any) -> float:
    """Return a cost as a finite number."""
    number = float_or_nan(cost)
    if not np.isfinite(number):
        raise ValueError(
            f"costs says {cost!r} for deciding {decision!r} where {truth!r} is true: it must be a"
            " finite number, a large one for what must not happen"
        )
    return number


def cheapest(posterior: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Return the decision of the least expected cost in each row, the first of equal ones.

    >>> posterior = np.array([[0.2, 0.8], [0.05, 0.95], [0.5, 0.5]])
    >>> cheapest(posterior, np.array([[0.0, 10.0], [1.0, 0.0]]))
    array([0, 1, 0])
    """
    expected = posterior @ costs
    scale = posterior @ np.abs(costs)
    best = expected.argmin(axis=1)[:, None]
    lowest = np.take_along_axis(expected, best, axis=1)
    # rounding errors are relative to the terms of the sums, which may cancel
    tolerance = _TIE * np.maximum(scale, np.take_along_axis(scale, best, axis=1))
    return (expected - lowest <= tolerance).argmax(axis=1)
