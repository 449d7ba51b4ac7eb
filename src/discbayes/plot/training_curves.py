"""The training history of a classifier, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from discbayes.charts.traces import stages
from discbayes.charts.training_charts import stage_chart
from discbayes.plot.rendering import draw_chart
from discbayes.plot.style import new_axes, panels


def history(thing: Any, ax: Any = None) -> Any:
    """Plot the training history, from structure search to the last iteration of the parameters.

    Several stages have a panel each, one below the other, in ``ax.child_axes``. A search that
    weights single edges is drawn as their weights, the largest first; other searches by the score
    after each step, with a line for each run and a marker for each kind of move; settings by their
    score on held-out rows; optimizers by their objective, with the relative gap to the optimum
    where it is known.

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
    >>> ax = history(BayesNetClassifier().fit(iris.X, iris.y))
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
