"""Pictures that compare methods: what is drawn, and that names can be read."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from discbayes.evaluation.metrics import calibration_bins, expected_calibration_error
from discbayes.evaluation.statistics import critical_difference, groups_alike

matplotlib = pytest.importorskip("matplotlib", reason="pictures are the extra `plot`")
matplotlib.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402

from discbayes.plot import (  # noqa: E402
    critical_difference_diagram,
    missing_curves,
    reliability_diagram,
    scatter_losses,
)
from discbayes.plot.style import ORANGE  # noqa: E402

TAGS = (
    "NB-ML",
    "NB-CL",
    "TAN-CMI-ML",
    "TAN-CMI-CL",
    "TAN-OMI-CR-ML",
    "TAN-OMI-CR-CL",
    "TAN-HC-MM-MM",
    "TAN-MLBNSVM",
    "KDB1-W",
    "KDB1-D",
    "HistGradientBoosting",
    "logistic regression",
    "RBF SVM",
    "k-NN",
    "decision tree",
    "CategoricalNB",
    "2-TREE-SUPERPARENT-CL",
    "KDB2-D",
    "TAN-SA-CR-ML",
    "A1DE",
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def mean_ranks(n_methods: int, n: int = 36, spread: float = 1.0) -> dict[str, float]:
    rng = np.random.default_rng(n_methods)
    figures = rng.normal(size=(n, n_methods)) + spread * np.linspace(0, 1.5, n_methods)
    ranks = figures.argsort(axis=1).argsort(axis=1).mean(axis=0) + 1
    return dict(zip(TAGS[:n_methods], ranks.tolist(), strict=True))


def bars_of(ax) -> list[tuple[float, float, float]]:
    """Beginning, end and height of each bar of a critical-difference diagram."""
    thick = [line for line in ax.lines if line.get_color() == ORANGE]
    return [(*line.get_xdata(), line.get_ydata()[0]) for line in thick]


@pytest.mark.parametrize(
    "n_methods, spread", [(2, 1.0), (5, 1.0), (14, 0.0), (14, 1.0), (20, 1.0), (20, 4.0)]
)
def test_names_do_not_overlap(n_methods, spread):
    ax = critical_difference_diagram(mean_ranks(n_methods, spread=spread), 36)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    page = ax.figure.bbox
    assert all(
        box.x0 >= 0 and box.y0 >= 0 and box.x1 <= page.x1 and box.y1 <= page.y1 for box in boxes
    )


def test_critical_difference_diagram():
    ranks = mean_ranks(14)
    ax = critical_difference_diagram(ranks, 36, 0.1)
    texts = [text.get_text() for text in ax.texts]
    assert all(
        any(name in text and f"{rank:.2f}" in text for text in texts)
        for name, rank in ranks.items()
    )
    difference = critical_difference(14, 36, 0.1)
    assert f"critical difference {difference:.2f} (36 data sets, α = 0.1)" in texts
    groups = groups_alike(ranks, difference)
    assert [bar[:2] for bar in bars_of(ax)] == [
        (ranks[group[0]], ranks[group[-1]]) for group in groups
    ]


def test_bars_do_not_touch():
    bars = bars_of(critical_difference_diagram(mean_ranks(20, spread=2.0), 60))
    assert len(bars) > 3
    for (first, last, level), (other_first, other_last, other_level) in combinations(bars, 2):
        assert level != other_level or last < other_first or other_last < first


def test_methods_that_all_differ_have_no_bar():
    ax = critical_difference_diagram({"a": 1.0, "b": 2.0, "c": 3.0}, 100)
    assert bars_of(ax) == []
    with pytest.raises(ValueError, match="two methods"):
        critical_difference_diagram({"a": 1.0}, 10)


def test_missing_curves():
    shares = [0.0, 0.3, 0.6, 0.9]
    rates = {tag: np.linspace(0.9, 0.3, 4) - 0.01 * place for place, tag in enumerate(TAGS[:12])}
    ax = missing_curves(shares, rates)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(rates)
    for line, values in zip(ax.lines, rates.values(), strict=True):
        np.testing.assert_allclose(line.get_xdata(), [0, 30, 60, 90])
        np.testing.assert_allclose(line.get_ydata(), 100 * values)
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in ax.lines}
    assert len(looks) == 12


def test_reliability_diagram():
    rng = np.random.default_rng(0)
    shares, codes = rng.dirichlet(np.ones(3), 300), rng.integers(3, size=300)
    ax = reliability_diagram(shares, codes, n_bins=10)
    confidence, right, rows = calibration_bins(shares, codes, n_bins=10)
    np.testing.assert_allclose(ax.lines[1].get_xdata(), confidence)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), right)
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], rows / 300)
    lefts = np.array([bar.get_x() for bar in ax.patches])
    assert np.all((lefts <= confidence) & (confidence <= lefts + 0.1))
    error = expected_calibration_error(shares, codes, n_bins=10)
    assert f"expected calibration error {error:.3f}" in [
        text.get_text() for text in ax.get_legend().get_texts()
    ]


@pytest.mark.parametrize("log", [False, True])
def test_scatter_losses(log):
    a, b = np.array([0.1, 0.2, 0.4]), np.array([0.1, 0.3, 0.2])
    ax = scatter_losses(a, b, ("NB", "NB-W"), log=log, errors=([0.01] * 3, [0.02] * 3))
    np.testing.assert_allclose(ax.collections[-1].get_offsets(), np.column_stack([a, b]))
    assert ax.get_xlim() == ax.get_ylim()
    np.testing.assert_allclose(ax.lines[0].get_xdata(), ax.lines[0].get_ydata())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("NB", "NB-W")
    assert ax.get_xscale() == ("log" if log else "linear")
    ax.figure.canvas.draw()


def test_figures_that_cannot_be_drawn():
    with pytest.raises(ValueError, match=r"shape \(2,\) and \(1,\)"):
        scatter_losses([1, 2], [1], ("a", "b"))
    with pytest.raises(ValueError, match="positive"):
        scatter_losses([0, 2], [1, 1], ("a", "b"), log=True)


def test_axes_that_are_given_are_used():
    _, axes = plt.subplots(2, 2)
    upper, lower = axes
    shares, codes = np.array([[0.8, 0.2], [0.6, 0.4]]), np.array([0, 1])
    assert critical_difference_diagram(mean_ranks(5), 36, ax=upper[0]) is upper[0]
    assert missing_curves([0, 0.5], {"NB": [0.9, 0.8]}, ax=upper[1]) is upper[1]
    assert reliability_diagram(shares, codes, ax=lower[0]) is lower[0]
    assert scatter_losses([1, 1], [1, 1], ("a", "b"), ax=lower[1]) is lower[1]
