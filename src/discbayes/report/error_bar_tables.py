"""The section of a report on error bars: how sure probabilities are, and edges found again."""

from __future__ import annotations

from typing import Any

import numpy as np

from discbayes.report.markup import escaped, name_html, per_cent, table_html

MAX_EDGES = 40
LEVEL = 0.9


def error_bars_html(bars: Any, X: Any = None) -> str:
    """Return the intervals of the class without any value, how wide those of rows are, and edges.

    Parameters
    ----------
    bars : ErrorBars
        The error bars, of the classifier of the report.
    X : optional
        Rows, as in the report.
    """
    parts = [_classes(bars)]
    if X is not None:
        parts.insert(0, _widths(bars, X))
    if bars.kind == "bootstrap":
        parts.append(_edges(bars))
    lead = f"From {len(bars.draws):,} draws by {bars.kind}."
    return f'<p class="lead">{escaped(lead)}</p>{"".join(parts)}'


def _classes(bars: Any) -> str:
    now = bars.classifier.predict_proba({})[0]
    low, high = (end[0] for end in bars.interval({}, LEVEL))
    labels = bars.classifier.domain_.target.labels
    rows = [
        [name_html(label), *map(per_cent, ends)]
        for label, *ends in zip(labels, now, low, high, strict=True)
    ]
    return table_html(
        "Probabilities without any value", ["class", "probability", "from", "to"], rows,
        note="90 % intervals.", left=1,
    )  # fmt: skip


def _widths(bars: Any, X: Any) -> str:
    low, high = bars.interval(X, LEVEL)
    best = bars.classifier.predict_proba(X).argmax(axis=1)
    at = np.arange(best.size)
    width = (high - low)[at, best]
    text = (
        "The 90 % interval of the probability of the decision is"
        f" {100 * np.median(width):.1f} percentage points wide in the median row, and"
        f" {100 * np.quantile(width, 0.9):.1f} in one of ten or wider; in"
        f" {100 * (low[at, best] > 0.5).mean():.1f} % of the rows all of it is above one half."
    )
    return f"<p>{escaped(text)}</p>"


def _edges(bars: Any) -> str:
    shares = bars.edge_shares()
    target = bars.classifier.domain_.target.name
    either = {
        edge: share + shares.get(edge[::-1], 0.0)
        for edge, share in shares.items()
        if target not in edge or bars.classifier.network_.class_parents
    }
    order = sorted(either, key=lambda edge: (-either[edge], -shares[edge]))
    own = set(bars.classifier.network_.edges(with_class=True))
    rows = [
        [
            name_html(edge[0]), name_html(edge[1]), per_cent(shares[edge]), per_cent(either[edge]),
            "yes" if edge in own else "–",
        ]
        for edge in order[:MAX_EDGES]
    ]  # fmt: skip
    if not rows:
        return ""
    note = "How many of the networks learned from redrawn rows have each edge."
    if len(order) > MAX_EDGES:
        note += f" The {MAX_EDGES} most frequent of {len(order):,} edges."
    head = ["parent", "child", "found", "in either direction", "in the network"]
    return table_html("Edges found again", head, rows, note=note, left=2)
