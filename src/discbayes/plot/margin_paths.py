"""What turning a dial does."""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes.paths import MarginPath
from discbayes.plot.style import BLUE, GREEN, ORANGE, new_axes, panels, plain, right_axes


def margin_path(path: MarginPath, ax: Any = None) -> Any:
    """Negative log likelihood and slack of a row, and the classification rate, against λ (P13
    Figure 1).

    The axes are divided into two, ``ax.child_axes``, one below the other. Zero stands at the left
    of the powers of two, one step further.
    """
    ax = new_axes(ax, (6.4, 5.2))
    upper, lower = panels(ax, (1, 1), 0.06)
    at, labels = _places(path.lams)
    upper.plot(at, -path.log_likelihood, "o-", color=BLUE, markersize=4)
    upper.set_ylabel("negative log likelihood\nof a row", color=BLUE)
    other = right_axes(upper)
    other.plot(at, path.slack, "s--", color=ORANGE, markersize=4)
    other.set_ylabel("slack of a row (dashed)", color=ORANGE)
    other.set_ylim(bottom=0)
    upper.set_xticks(at, [])
    upper.spines["top"].set_visible(False)
    lower.plot(at, 100 * path.accuracy, "^-", color=GREEN, markersize=4)
    lower.set_ylabel("classification rate,\n% of training rows")
    lower.set_xlabel("λ: from generative to discriminative")
    lower.set_xticks(at, labels)
    lower.set_xlim(upper.get_xlim())
    plain(lower)
    return ax


def _places(lams: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Where each λ stands on a scale of powers of two, and what is written there."""
    positive = lams > 0
    at = np.full(lams.size, np.log2(lams[positive]).min(initial=0.0) - 1.0)
    at[positive] = np.log2(lams[positive])
    return at, [f"{lam:g}" for lam in lams]
