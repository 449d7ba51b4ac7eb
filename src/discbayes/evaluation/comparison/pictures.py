"""The plots of a comparison: metrics with intervals, curves over missing cells, reliability."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from discbayes._lazy_imports import leaf, need
from discbayes.evaluation.method_names import DEFAULT_METHOD, short_name
from discbayes.evaluation.result_blocks import Picture

if TYPE_CHECKING:
    from discbayes.evaluation.comparison import Comparison

ACROSS = 2  # diagrams side by side
MAX_DIAGRAMS = 4
N_BINS = 10


def pictures(found: Comparison) -> list[Picture]:
    """Return the plots of the page of a comparison."""
    title = (
        "Accuracy and log loss: the folds, and their mean with its 95 % interval, which takes"
        " account of training rows that folds share (Nadeau and Bengio 2003)"
    )
    drawn = [Picture("dots", title, lambda: _dots(found))]
    if found.missing:
        title = "Accuracy with cells of the test rows missing at random"
        drawn.append(Picture("missing", title, lambda: _curves(found)))
    kept = _posteriors(found)
    if kept:
        title = (
            "How often the most probable class is right against its probability, of the default"
            " and the methods with the best log loss; bars: shares of the test rows"
        )
        drawn.append(Picture("reliability", title, lambda: _reliability(kept)))
    return drawn


def _dots(found: Comparison) -> Any:
    accuracies = {short_name(m): 100 * found.figures("accuracy", m) for m in found.ranked}
    losses = {short_name(m): found.figures("log_loss", m) for m in found.ranked}
    bounds = {"accuracy, %": (0, 100), "log loss": (0, np.inf)}
    return leaf("plot").fold_dots({"accuracy, %": accuracies, "log loss": losses}, bounds=bounds)


def _curves(found: Comparison) -> Any:
    shares = [0.0, *(share / 100 for share in found.missing)]
    keys = ["accuracy", *(f"accuracy@{share}" for share in found.missing)]
    rates = {
        short_name(method): [found.mean(key, method) for key in keys] for method in found.ranked
    }
    known = {method: values for method, values in rates.items() if not np.isnan(values).all()}
    figure, ax = need("matplotlib.pyplot").subplots(figsize=(7.6, 4.2), layout="constrained")
    leaf("plot").missing_curves(shares, known, ax=ax)
    ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def _posteriors(found: Comparison) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the held-out posteriors and classes of the default and the best other methods."""
    kept = {}
    for method in sorted(found.ranked, key=lambda method: method != DEFAULT_METHOD):
        posterior = found.posteriors[method].astype(np.float64)
        rows = ~np.isnan(posterior[:, 0])
        if rows.any():
            kept[short_name(method)] = posterior[rows], found.codes[rows]
    return dict(list(kept.items())[:MAX_DIAGRAMS])


def _reliability(kept: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Any:
    across = min(ACROSS, len(kept))
    down = -(-len(kept) // across)
    pyplot, size = need("matplotlib.pyplot"), (3.1 * across, 3.0 * down)
    figure, axes = pyplot.subplots(down, across, figsize=size, layout="constrained", squeeze=False)
    for ax, (method, (shares, codes)) in zip(axes.flat, kept.items(), strict=False):
        leaf("plot").reliability_diagram(shares, codes, n_bins=N_BINS, ax=ax)
        ax.get_legend().remove()
        ax.set_title(method, fontsize=10)
        ax.set(xlabel="", ylabel="", xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
        ax.label_outer()
    for ax in axes.flat[len(kept) :]:
        ax.set_visible(False)
    figure.supxlabel("probability of the most probable class", fontsize=10)
    figure.supylabel("how often it is right", fontsize=10)
    return figure
