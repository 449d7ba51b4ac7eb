"""What a posterior looks like against the truth, drawn: reliability, ROC and PR curves, and what
gaps cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

from discbayes.calibration import CalibratedPosterior
from discbayes.evaluation.metrics import (
    accuracy,
    calibration_bins,
    expected_calibration_error,
    log_loss,
)
from discbayes.evaluation.missing_masks import missing_masks
from discbayes.inference import FactorTooLargeError
from discbayes.report.markup import chart_html, name_html, number, per_cent
from discbayes.report.svg import N_SERIES, Axis, Chart
from discbayes.report.text import count_of, escaped, shortened

MAX_POINTS = 200  # of a curve
GAP_SHARES = tuple(range(0, 100, 10))
_GRID = 101  # places at which curves are averaged
# rows that gaps are made in: summing them out is slow beyond one parent
_TREE_ROWS, _OTHER_ROWS = 2000, 200


# ---- reliability


def reliability_chart(shares: np.ndarray, codes: np.ndarray) -> str:
    """How often the decision is right, by the probability that it was given."""
    confidence, right, rows = calibration_bins(shares, codes)
    error = expected_calibration_error(shares, codes)
    chart = Chart(
        f"Reliability diagram: expected calibration error {number(error)}",
        Axis.shares("probability of the decision"),
        Axis.shares("rows where it is right"),
    )
    chart.guide(0, 0, 1, 1, "as it should be")
    chart.line(confidence, right)
    chart.dots(
        confidence,
        right,
        titles=[
            f"probability {per_cent(p)}, right {per_cent(r)}, {count_of(round(n), 'row')}"
            for p, r, n in zip(confidence, right, rows, strict=True)
        ],
        sizes=(2 + 5 * np.sqrt(rows / rows.max())).tolist(),
    )
    return chart_html(
        "Reliability",
        chart.svg(),
        "On the diagonal, decisions given 80 % are right in 80 % of the rows; below it the model"
        " is too sure. Larger dots stand for more rows. The mean distance, by rows, is"
        f" {number(error)}.",
    )


# ---- ROC and precision-recall


@dataclass(frozen=True)
class Curve:
    """A curve, what it is of, and the area below it."""

    name: str
    x: np.ndarray
    y: np.ndarray
    area: float

    @property
    def legend(self) -> str:
        """Name and area, as HTML."""
        return f"{name_html(self.name, 24)} {number(self.area)}"


def roc_curves(shares: np.ndarray, codes: np.ndarray, names: Sequence[str]) -> list[Curve]:
    """For each class that some rows have and others do not: hits among its rows against false
    alarms among the rest.
    """
    found = []
    for c in split_classes(codes, len(names)):
        false, hits, _ = roc_curve(codes == c, shares[:, c])
        found.append(Curve(names[c], false, hits, float(auc(false, hits))))
    return found


def precision_curves(shares: np.ndarray, codes: np.ndarray, names: Sequence[str]) -> list[Curve]:
    """For each such class: which share of the rows that are given it have it, against the share
    that is found.
    """
    found = []
    for c in split_classes(codes, len(names)):
        precision, recall, _ = precision_recall_curve(codes == c, shares[:, c])
        area = float(average_precision_score(codes == c, shares[:, c]))
        last = np.count_nonzero(recall < 1) + 1  # beyond, nothing more is found
        found.append(Curve(names[c], recall[::-1][:last], precision[::-1][:last], area))
    return found


def split_classes(codes: np.ndarray, n_classes: int) -> list[int]:
    """The classes that some rows have and some have not; with two classes the rarer one, the second
    of equal ones.

    >>> split_classes(np.array([0, 0, 1, 2]), 4), split_classes(np.array([0, 0, 1]), 2)
    ([0, 1, 2], [1])
    """
    rows = np.bincount(codes[codes >= 0], minlength=n_classes)
    split = [c for c in range(n_classes) if 0 < rows[c] < codes.size]
    if n_classes == 2 and len(split) == 2:
        return [0 if rows[0] < rows[1] else 1]
    return split


def mean_curve(curves: Sequence[Curve], steps: bool) -> Curve:
    """The mean of curves at even places of x; the area is the mean of theirs."""
    grid = np.linspace(0.0, 1.0, _GRID)
    heights = [
        _height_after(curve, grid) if steps else np.interp(grid, curve.x, curve.y)
        for curve in curves
    ]
    return Curve(
        "mean of the classes",
        grid,
        np.mean(heights, axis=0),
        float(np.mean([c.area for c in curves])),
    )


def _height_after(curve: Curve, grid: np.ndarray) -> np.ndarray:
    """The height of the step that ends at or after each place."""
    # less what rounding may have added
    heights: np.ndarray = curve.y[np.searchsorted(curve.x, grid - 1e-9)]
    return heights


def thinned(x: np.ndarray, y: np.ndarray, most: int = MAX_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """So many points of a curve at most, evenly along it; both ends stay.

    >>> thinned(np.arange(5.0), np.zeros(5), 3)[0]
    array([0., 2., 4.])
    """
    if x.size <= most:
        return x, y
    way = np.cumsum(np.abs(np.diff(x, prepend=x[0])) + np.abs(np.diff(y, prepend=y[0])))
    kept = np.unique(np.searchsorted(way, np.linspace(0.0, way[-1], most)))
    kept[-1] = x.size - 1
    return x[kept], y[kept]


def roc_chart(shares: np.ndarray, codes: np.ndarray, names: Sequence[str]) -> str:
    """ROC curves; an empty text where no class can have one."""
    curves = roc_curves(shares, codes, names)
    x, y = Axis.shares("false alarms"), Axis.shares("hits")
    return _curve_chart(
        "ROC",
        curves,
        x,
        y,
        False,
        f"{_positive(curves, codes, names)} Numbers are areas under the curves.",
    )


def precision_chart(shares: np.ndarray, codes: np.ndarray, names: Sequence[str]) -> str:
    """Precision-recall curves; an empty text where no class can have one."""
    curves = precision_curves(shares, codes, names)
    x, y = Axis.shares("recall"), Axis.shares("precision")
    note = f"{_positive(curves, codes, names)} Numbers are average precisions."
    return _curve_chart("Precision and recall", curves, x, y, True, note)


def _positive(curves: Sequence[Curve], codes: np.ndarray, names: Sequence[str]) -> str:
    if len(names) == 2 and len(curves) == 1:
        rarer = (
            "the second one"
            if np.sum(codes == 0) == np.sum(codes == 1)
            else "the rarer one in these rows"
        )
        return f"The positive class is {shortened(curves[0].name, 40)}, {rarer}."
    if len(curves) <= N_SERIES:
        return "Each class against the others."
    return (
        f"Each of {len(curves)} classes against the others: their mean, and the class of the"
        " smallest area."
    )


def _curve_chart(
    title: str, curves: Sequence[Curve], x: Axis, y: Axis, steps: bool, caption: str
) -> str:
    if not curves:
        return ""
    if len(curves) > N_SERIES:
        curves = [mean_curve(curves, steps), min(curves, key=lambda curve: curve.area)]
    areas = ", ".join(f"{shortened(curve.name, 40)} {number(curve.area)}" for curve in curves)
    chart = Chart(f"{title} curves: {areas}", x, y)
    if not steps:
        chart.guide(0, 0, 1, 1, "by chance")
    for series, curve in enumerate(curves, 1):
        chart.line(
            *thinned(curve.x, curve.y),
            series,
            f"{shortened(curve.name, 40)}: {number(curve.area)}",
            steps,
        )
    return chart_html(title, chart.svg(), caption, [curve.legend for curve in curves])


# ---- gaps


@dataclass(frozen=True)
class MissingCurve:
    """Accuracy and log loss where so much of each row is hidden; ``stopped`` says why the curve
    ends early.
    """

    shares: list[float]
    accuracies: list[float]
    losses: list[float]
    n_rows: int
    stopped: str = ""


def missing_curve(
    beliefs: CalibratedPosterior, cells: np.ndarray, codes: np.ndarray
) -> MissingCurve:
    """Hide more and more cells of some rows, drawn with a fixed seed, and judge what is said of the
    rest.
    """
    rng = np.random.default_rng(0)
    cards, n_features = beliefs.network.domain.cards, cells.shape[0]
    most = _TREE_ROWS if beliefs.network.structure.max_parents <= 1 else _OTHER_ROWS
    rows = np.sort(rng.permutation(codes.size)[:most])
    cells, codes = cells[:, rows], codes[rows]
    wanted = {round(share / 100 * n_features): share for share in reversed(GAP_SHARES)}
    hidden = sorted(wanted.items())
    masks = missing_masks(rows.size, n_features, [share for _, share in hidden], rng)
    found = MissingCurve([], [], [], rows.size)
    for (count, _), mask in zip(hidden, masks, strict=True):
        try:
            said = beliefs.posterior(np.where(mask.T, cards[:, None], cells).astype(cells.dtype))
        except FactorTooLargeError as error:
            return MissingCurve(found.shares, found.accuracies, found.losses, rows.size, str(error))
        found.shares.append(count / n_features)
        found.accuracies.append(accuracy(said, codes))
        found.losses.append(log_loss(said, codes))
    return found


def missing_charts(curve: MissingCurve, usual: float, n_given: int) -> list[str]:
    """Accuracy, and log loss, against the share of features that are hidden; ``usual`` is the share
    of one class.
    """
    ended = (
        f" The curve ends where that takes too much: {shortened(curve.stopped, 240)}."
        if curve.stopped
        else ""
    )
    if len(curve.shares) < 2:
        return [f'<p class="note">There are no curves with features hidden.{escaped(ended)}</p>']
    rows = (
        f"{count_of(curve.n_rows, 'row')}{f' of the {n_given:,}' if curve.n_rows < n_given else ''}"
    )
    drawn = (
        f"In {rows}, features drawn at random are hidden, one draw with a fixed seed, and the"
        " classifier sums them out."
    )
    chart = Chart(
        "Accuracy against the share of hidden features: "
        + _pairs(curve.shares, map(per_cent, curve.accuracies)),
        Axis.shares("features hidden"),
        Axis.shares("accuracy"),
    )
    chart.guide(0, usual, 1, usual, f"always the most frequent class: {per_cent(usual)}")
    _through(chart, curve.shares, curve.accuracies, [per_cent(value) for value in curve.accuracies])
    loss = Chart(
        "Log loss against the share of hidden features: "
        + _pairs(curve.shares, map(number, curve.losses)),
        Axis.shares("features hidden"),
        Axis.over("log loss", 0.0, max(curve.losses)),
    )
    _through(loss, curve.shares, curve.losses, [number(value) for value in curve.losses])
    return [
        chart_html(
            "Accuracy with missing features",
            chart.svg(),
            f"{drawn} The dotted line is always deciding for the most frequent class.{ended}",
        ),
        chart_html(
            "Log loss with missing features",
            loss.svg(),
            "The same rows with the same features hidden.",
        ),
    ]


def _through(chart: Chart, xs: Sequence[float], ys: Sequence[float], texts: Sequence[str]) -> None:
    chart.line(xs, ys)
    chart.dots(
        xs,
        ys,
        titles=[f"{per_cent(x, 0)} hidden: {text}" for x, text in zip(xs, texts, strict=True)],
    )


def _pairs(shares: Sequence[float], texts: Iterable[str]) -> str:
    return ", ".join(
        f"{text} at {per_cent(share, 0)}" for share, text in zip(shares, texts, strict=True)
    )
