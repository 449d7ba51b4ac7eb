"""Decisions of the least expected cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discbayes._settings import float_or_nan
from discbayes._text import listed

_TIE = 1e-12  # costs that differ by less, relative to their parts, are equal


def cost_matrix(costs: Any, classes: np.ndarray) -> np.ndarray:
    """Return costs as a matrix: a row for each true class, a column for each decision.

    Parameters
    ----------
    costs : array of shape (n_classes, n_classes), frame or mapping
        The costs in the order of the classes, or ``{truth: {decision: cost}}``, where all else
        costs nothing.
    classes : ndarray
        The class labels.

    Examples
    --------
    >>> cost_matrix({"sick": {"well": 10}, "well": {"sick": 1}}, np.array(["sick", "well"]))
    array([[ 0., 10.],
           [ 1.,  0.]])
    """
    labels = classes.tolist()
    # a pandas frame, with classes as its labels
    if hasattr(costs, "index") and hasattr(costs, "columns"):
        costs = costs.to_dict("index")
    if isinstance(costs, Mapping):
        cells = _from_mapping(costs, labels)
    else:
        cells = np.array(costs, dtype=object)
    if cells.shape != (len(labels), len(labels)):
        raise ValueError(
            f"costs has the shape {cells.shape} for {len(labels)} classes: it needs a row for each"
            " true class and a column for each decision, in the order of classes_, or {truth:"
            " {decision: cost}}"
        )
    return np.array(
        [[_number(cells[i, j], t, d) for j, d in enumerate(labels)] for i, t in enumerate(labels)]
    )


def _from_mapping(costs: Mapping[Any, Any], labels: list[Any]) -> np.ndarray:
    """Return the cells of ``{truth: {decision: cost}}``."""
    cells = np.zeros((len(labels), len(labels)), dtype=object)
    position = {label: k for k, label in enumerate(labels)}
    for truth, decisions in costs.items():
        if not isinstance(decisions, Mapping):
            raise ValueError(
                f"costs[{truth!r}]={decisions!r} must be a mapping: write {{truth: {{decision:"
                " cost}}"
            )
        unknown = [label for label in (truth, *decisions) if label not in position]
        if unknown:
            raise ValueError(
                f"costs names a class {unknown[0]!r}, which is none of the classes"
                f" {listed(labels, 20)}"
            )
        for decision, cost in decisions.items():
            cells[position[truth], position[decision]] = cost
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
