"""Accuracy and log loss of a classifier when more and more features are missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from discbayes._text import count_of, shortened
from discbayes.calibration import CalibratedPosterior
from discbayes.charts.chart import Axis, Chart, Dots, Guide, Line
from discbayes.charts.evaluation_charts import missing_values_chart, with_missing_values
from discbayes.evaluation.metrics import accuracy, log_loss
from discbayes.inference import TooManyCellsError
from discbayes.report.markup import escaped, number, per_cent
from discbayes.report.svg import chart_html

PERCENTAGES = tuple(range(0, 100, 10))
# Marginalization is slow with several parents, so that fewer rows are used there.
_MAX_TREE_ROWS, _MAX_OTHER_ROWS = 2000, 200
_MAX_REASON = 240  # characters


@dataclass(frozen=True)
class MissingCurve:
    """Accuracy and log loss by the fraction of features that are missing.

    ``stopped`` is the reason why a curve ends early.
    """

    n_rows: int
    fractions: list[float] = field(default_factory=list)
    accuracies: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    stopped: str = ""


def missing_curve(
    classifier: CalibratedPosterior, codes: np.ndarray, truth: np.ndarray
) -> MissingCurve:
    """Evaluate a classifier on rows from which features are removed at random, with a fixed seed.

    Parameters
    ----------
    classifier : CalibratedPosterior
        What predicts.
    codes : array of shape (n_features, n_rows)
        The rows; of many rows a random sample is used.
    truth : array of shape (n_rows,)
        The codes of their classes.
    """
    rng = np.random.default_rng(0)
    n_features = codes.shape[0]
    is_tree = classifier.network.structure.max_parents <= 1
    max_rows = _MAX_TREE_ROWS if is_tree else _MAX_OTHER_ROWS
    rows = np.sort(rng.permutation(truth.size)[:max_rows])
    codes, truth = codes[:, rows], truth[rows]
    # The smallest percentage for each number of missing features: few features have few steps.
    by_count = {round(share / 100 * n_features): share for share in reversed(PERCENTAGES)}
    counts = sorted(by_count)
    incomplete = with_missing_values(
        classifier.network, codes, [by_count[count] for count in counts], rng
    )
    curve = MissingCurve(rows.size)
    for count, given in zip(counts, incomplete, strict=True):
        try:
            posterior = classifier.exact.posterior(given)
        except TooManyCellsError as error:
            return replace(curve, stopped=str(error))
        curve.fractions.append(count / n_features)
        curve.accuracies.append(accuracy(posterior, truth))
        curve.losses.append(log_loss(posterior, truth))
    return curve


def missing_charts(curve: MissingCurve, baseline: float, n_given: int) -> list[str]:
    """Return charts of accuracy and log loss against the share of missing features.

    Parameters
    ----------
    curve : MissingCurve
        What is drawn.
    baseline : float
        The accuracy of always predicting the most frequent class.
    n_given : int
        The number of rows of which the curve may use some only.
    """
    ended = ""
    if curve.stopped:
        reason = shortened(curve.stopped, _MAX_REASON)
        ended = f" The curve ends where marginalization takes too much: {reason}."
    if len(curve.fractions) < 2:
        return [f'<p class="note">There are no curves with missing values.{escaped(ended)}</p>']
    sample = f" of the {n_given:,}" if curve.n_rows < n_given else ""
    caption = (
        f"In {count_of(curve.n_rows, 'row')}{sample}, features are removed at random, once, with a"
        " fixed seed, and the classifier marginalizes them. The dotted line is always predicting"
        f" the most frequent class.{ended}"
    )
    xs = [100 * fraction for fraction in curve.fractions]
    accuracies = [per_cent(value) for value in curve.accuracies]
    losses = [number(value) for value in curve.losses]
    chart = missing_values_chart(xs, {"": [100 * value for value in curve.accuracies]})
    guide = Guide((0, 100 * baseline), (100, 100 * baseline), f"baseline: {per_cent(baseline)}")
    chart = replace(chart, y=replace(chart.y, limits=(0.0, 100.0)), marks=(guide, *chart.marks))
    # from zero on, since a log loss has no natural maximum
    loss_axis = Axis("log loss", (0.0, max(curve.losses)))
    loss_chart = Chart(
        "Log loss with missing values", chart.x, loss_axis, (Line(xs, curve.losses),)
    )
    same = "The same rows, from which the same features are removed."
    return [
        chart_html(_with_values(chart, "Accuracy", accuracies), caption),
        chart_html(_with_values(loss_chart, "Log loss", losses), same),
    ]


def _with_values(chart: Chart, name: str, texts: Sequence[str]) -> Chart:
    """Add a dot to each point of the last line, with its value as a tooltip, and the summary."""
    line = chart.marks[-1]
    assert isinstance(line, Line)
    percentages = [f"{x:.0f} %" for x in line.x]
    titles = [f"{x} missing: {text}" for x, text in zip(percentages, texts, strict=True)]
    values = ", ".join(f"{text} at {x}" for x, text in zip(percentages, texts, strict=True))
    return replace(
        chart,
        marks=(*chart.marks, Dots(line.x, line.y, titles=titles)),
        summary=f"{name} against the share of missing features: {values}",
    )
