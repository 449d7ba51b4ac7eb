"""What turning a dial does."""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes._leaves import need
from discbayes.paths import MarginPath

INK = ("#4a6fa5", "#b3741a", "#3d7a4f")


def margin_path(path: MarginPath, axes: Any = None) -> Any:
    """Negative log likelihood and slack of a row, and the classification rate, against λ (P13 Figure 1).

    ``axes`` are two of matplotlib, one above the other; new ones by default. Zero stands at the left of the powers of
    two, one step further.
    """
    pyplot = need("matplotlib.pyplot")
    if axes is None:
        _, axes = pyplot.subplots(2, 1, sharex=True, figsize=(6.4, 5.2), layout="constrained")
    upper, lower = axes
    at, labels = _places(path.lams)
    (first,) = upper.plot(at, -path.log_likelihood, "o-", color=INK[0], markersize=4)
    upper.set_ylabel("negative log likelihood\nof a row", color=INK[0])
    other = upper.twinx()
    (second,) = other.plot(at, path.slack, "s--", color=INK[1], markersize=4)
    other.set_ylabel("slack of a row", color=INK[1])
    other.set_ylim(bottom=0)
    upper.legend([first, second], ["negative log likelihood", "slack"], loc="upper center", frameon=False)
    lower.plot(at, 100 * path.accuracy, "^-", color=INK[2], markersize=4)
    lower.set_ylabel("classification rate, %")
    lower.set_xlabel("λ: from generative to discriminative")
    lower.set_xticks(at, labels)
    for axis in (upper, other, lower):
        axis.spines["top"].set_visible(False)
    return upper.figure


def _places(lams: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Where each λ stands on a scale of powers of two, and what is written there."""
    positive = lams > 0
    at = np.full(lams.size, np.log2(lams[positive]).min(initial=0.0) - 1.0)
    at[positive] = np.log2(lams[positive])
    return at, [f"{lam:g}" for lam in lams]
