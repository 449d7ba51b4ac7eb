"""Charts of a posterior against the true classes.

Reliability, ROC and precision-recall curves, and accuracy with missing values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

from discbayes._text import count_of, shortened
from discbayes.bayesnet import BayesNet
from discbayes.charts.chart import N_SERIES, Axis, Bars, Chart, Dots, Guide, Line, Values
from discbayes.evaluation.metrics import N_BINS, calibration_bins, expected_calibration_error
from discbayes.evaluation.missing_masks import missing_masks

_GRID = 101  # values of x at which curves are averaged
_MAX_NAME = 40  # characters


# ---- reliability


def reliability_chart(
    posterior: np.ndarray,
    codes: np.ndarray,
    weight: np.ndarray | None = None,
    n_bins: int = N_BINS,
) -> Chart:
    """Describe how often the most probable class is right, by its probability.

    Bars are the rows of each bin.
    """
    confidence, right, rows = calibration_bins(posterior, codes, weight, n_bins)
    error = expected_calibration_error(posterior, codes, weight, n_bins)
    # the bars stand at the middles of the bins, the points at the means of their rows
    bins = np.searchsorted(np.arange(1, n_bins) / n_bins, confidence)
    titles = [
        f"probability {p:.1%}, right {r:.1%}, {count_of(round(n), 'row')}".replace("%", " %")
        for p, r, n in zip(confidence, right, rows, strict=True)
    ]
    name = "expected calibration error"
    middles, shares = (bins + 0.5) / n_bins, rows / rows.sum()
    bars = Bars(middles, shares, 0.9 / n_bins, "share of rows", titles, is_muted=True)
    return Chart(
        "Reliability",
        Axis.fractions("probability of the most probable class"),
        Axis.fractions("rows where it is right"),
        (
            Guide((0, 0), (1, 1), "perfectly calibrated"),
            bars,
            Line(confidence, right, name=name, note=f"{error:.3f}"),
            Dots(confidence, right, titles=titles),
        ),
        summary=f"Reliability diagram: {name} {error:.3f}",
    )


# ---- ROC and precision-recall


@dataclass(frozen=True)
class Curve:
    """A curve of one class, or a mean of several, and the area below it."""

    name: str
    x: np.ndarray
    y: np.ndarray
    area: float


def roc_curves(posterior: np.ndarray, codes: np.ndarray, names: Sequence[str]) -> list[Curve]:
    """Return the ROC curve of each class that some rows have and others do not."""
    curves = []
    for c in evaluable_classes(codes, len(names)):
        false_positive_rate, true_positive_rate, _ = roc_curve(codes == c, posterior[:, c])
        area = float(auc(false_positive_rate, true_positive_rate))
        curves.append(Curve(names[c], false_positive_rate, true_positive_rate, area))
    return curves


def precision_recall_curves(
    posterior: np.ndarray, codes: np.ndarray, names: Sequence[str]
) -> list[Curve]:
    """Return the precision-recall curve of each class that some rows have and others do not."""
    curves = []
    for c in evaluable_classes(codes, len(names)):
        precision, recall, _ = precision_recall_curve(codes == c, posterior[:, c])
        area = float(average_precision_score(codes == c, posterior[:, c]))
        last = np.count_nonzero(recall < 1) + 1  # lower thresholds add false positives only
        curves.append(Curve(names[c], recall[::-1][:last], precision[::-1][:last], area))
    return curves


def evaluable_classes(codes: np.ndarray, n_classes: int) -> list[int]:
    """Return the classes that some rows have and others do not.

    Of two classes, whose curves mirror each other, only the rarer one is returned, the second if
    they are equally frequent.

    >>> evaluable_classes(np.array([0, 0, 1, 2]), 4), evaluable_classes(np.array([0, 0, 1]), 2)
    ([0, 1, 2], [1])
    """
    rows = np.bincount(codes[codes >= 0], minlength=n_classes)
    found = [c for c in range(n_classes) if 0 < rows[c] < codes.size]
    if n_classes == 2 and len(found) == 2:
        return [0 if rows[0] < rows[1] else 1]
    return found


def mean_curve(curves: Sequence[Curve], has_steps: bool) -> Curve:
    """Return the mean of curves on a grid of x; its area is the mean of their areas."""
    grid = np.linspace(0.0, 1.0, _GRID)
    heights = [
        # the step that ends at or after x, with a tolerance for rounding
        curve.y[np.searchsorted(curve.x, grid - 1e-9)]
        if has_steps
        else np.interp(grid, curve.x, curve.y)
        for curve in curves
    ]
    area = float(np.mean([curve.area for curve in curves]))
    return Curve("mean of the classes", grid, np.mean(heights, axis=0), area)


def roc_chart(curves: Sequence[Curve]) -> Chart:
    """Describe ROC curves, with the diagonal of a random decision."""
    axes = Axis.fractions("false positive rate"), Axis.fractions("true positive rate")
    return _curve_chart("ROC", curves, axes, False, Guide((0, 0), (1, 1), "by chance"))


def precision_recall_chart(curves: Sequence[Curve]) -> Chart:
    """Describe precision-recall curves, which are step functions."""
    axes = Axis.fractions("recall"), Axis.fractions("precision")
    return _curve_chart("Precision and recall", curves, axes, True)


def _curve_chart(
    title: str, curves: Sequence[Curve], axes: tuple[Axis, Axis], has_steps: bool, *guides: Guide
) -> Chart:
    if len(curves) > N_SERIES:
        curves = [mean_curve(curves, has_steps), min(curves, key=lambda curve: curve.area)]
    areas = ", ".join(f"{shortened(curve.name, _MAX_NAME)} {curve.area:.3f}" for curve in curves)
    lines = [
        Line(curve.x, curve.y, series, curve.name, f"{curve.area:.3f}", has_steps)
        for series, curve in enumerate(curves, 1)
    ]
    return Chart(title, *axes, (*guides, *lines), summary=f"{title} curves: {areas}")


# ---- missing values


def with_missing_values(
    network: BayesNet, codes: np.ndarray, percentages: Sequence[float], rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield the codes with these percentages of each row replaced by missing values, at random."""
    missing_code = network.domain.cards.astype(codes.dtype)[:, None]
    for mask in missing_masks(codes.shape[1], codes.shape[0], list(percentages), rng):
        yield np.where(mask.T, missing_code, codes)


def missing_values_chart(percentages: Values, accuracies: Mapping[str, Values]) -> Chart:
    """Describe the accuracies of methods against the share of missing features, in per cent."""
    lines = [
        Line(percentages, values, series, name, has_dots=True)
        for series, (name, values) in enumerate(accuracies.items(), 1)
    ]
    return Chart(
        "Accuracy with missing values",
        Axis("missing features", unit="%"),
        Axis("accuracy", unit="%"),
        tuple(lines),
    )
