"""Training as curves: the history of a classifier, and a path over λ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discbayes.charts.traces import stages
from discbayes.charts.training_charts import stage_chart
from discbayes.paths import MarginPath
from discbayes.plot.rendering import draw_chart
from discbayes.plot.style import BLUE, GREEN, ORANGE, new_axes, panels, plain, right_axes


def history(thing: Any, ax: Any = None) -> Any:
    """Plot the training history, from structure search to the last iteration of the parameters.

    Several stages have a panel each, one below the other, in ``ax.child_axes``. A search that
    weights single edges is drawn as their weights, the largest first; other searches by the score
    after each step, with a line for each run and a marker for each kind of move; settings by their
    score on held-out rows; optimizers by their objective, with the relative gap to the optimum
    where it is known. What held-out rows chose is not drawn.

    Parameters
    ----------
    thing : BayesNetClassifier or list of dict
        A fitted classifier, or its ``history_``.
    ax : Axes, optional
        The axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes with the plot.

    Examples
    --------
    >>> from discbayes import BayesNetClassifier, load_dataset
    >>> iris = load_dataset("iris")
    >>> ax = history(BayesNetClassifier("tan", "hybrid").fit(iris.X, iris.y))
    >>> [panel.get_title() for panel in ax.child_axes]
    ['3 edges', '6 iterations']
    """
    if not isinstance(thing, Sequence):
        check_is_fitted(thing)
        thing = thing.history_
    charts = [chart for chart in map(stage_chart, stages(thing)) if chart is not None]
    if not charts:
        raise ValueError(
            "the history is empty: this fit had no search and no iterations, so there is nothing to"
            " draw"
        )
    ax = new_axes(ax, (6.4, 0.6 + 2.3 * len(charts)))
    axes = [ax]
    if len(charts) > 1:
        axes = panels(ax, [1] * len(charts), 0.26 if len(charts) == 2 else 0.16)
    for chart, panel in zip(charts, axes, strict=True):
        draw_chart(chart, panel, has_title=True)
    return ax


def margin_path(path: MarginPath, ax: Any = None) -> Any:
    """Plot negative log likelihood, slack and accuracy against λ (P13 Figure 1).

    The axes are divided into two panels, ``ax.child_axes``, one below the other. λ is on a scale of
    powers of two, with zero one step to the left of the smallest.

    Parameters
    ----------
    path : MarginPath
        The path to plot.
    ax : Axes, optional
        The axes to draw on; new ones by default.

    Returns
    -------
    Axes
        The axes with the plot.

    Examples
    --------
    >>> from discbayes import load_dataset
    >>> from discbayes.paths import margin_path as fitted_path
    >>> iris = load_dataset("iris")
    >>> path = fitted_path(iris.X, iris.y, [0.0, 1.0])
    >>> margin_path(path).child_axes[1].get_xlabel()
    'λ: from generative to discriminative'
    """
    ax = new_axes(ax, (6.4, 5.2))
    upper, lower = panels(ax, (1, 1), 0.06)
    at, labels = _positions(path.lams)
    upper.plot(at, -path.log_likelihood, "o-", color=BLUE, markersize=4)
    upper.set_ylabel("negative log likelihood\nof a row", color=BLUE)
    other = right_axes(upper)
    other.plot(at, path.slack, "s--", color=ORANGE, markersize=4)
    other.set_ylabel("slack of a row (dashed)", color=ORANGE)
    other.set_ylim(bottom=0)
    upper.set_xticks(at, [])
    upper.spines["top"].set_visible(False)
    lower.plot(at, 100 * path.accuracy, "^-", color=GREEN, markersize=4)
    lower.set_ylabel("accuracy,\n% of training rows")
    lower.set_xlabel("λ: from generative to discriminative")
    lower.set_xticks(at, labels)
    lower.set_xlim(upper.get_xlim())
    plain(lower)
    return ax


def _positions(lams: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the position of each λ on a scale of powers of two, and its text."""
    positive = lams > 0
    at = np.full(lams.size, np.log2(lams[positive]).min(initial=0.0) - 1.0)
    at[positive] = np.log2(lams[positive])
    return at, [f"{lam:g}" for lam in lams]
