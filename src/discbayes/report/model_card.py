"""The model card: what the caller says of the model, its data, and its metrics by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from discbayes._text import count_of, listed
from discbayes.classifier.predicting import PosteriorClassifier
from discbayes.data.labels import is_missing
from discbayes.data.table_reader import as_frame
from discbayes.evaluation.quality import Quality
from discbayes.report.evaluation import quality_of
from discbayes.report.heading import Heading
from discbayes.report.markup import name_html, number, per_cent, table_html

MAX_GROUPS = 12
_N_RANGES = 4  # of a column of many numbers
_MISSING = "(missing)"
_OTHERS = "(others)"
_FIRST = "Intended use"
_HEADER = ("group", "rows", "accuracy", "90 % interval", "balanced", "log loss", "AUC", "ECE")


def card_html(
    model: PosteriorClassifier,
    heading: Heading,
    X: Any = None,
    y: Any = None,
    by: Any = None,
    rows_are: str = "",
) -> str:
    """Return the model card; an empty text if nothing is said for it.

    Parameters
    ----------
    model : BayesNetClassifier or BayesNetEnsemble
        The model.
    heading : Heading
        What the caller says. The entries "Data" and "Metrics" are written here if they are not
        given.
    X, y : optional
        Rows and their labels, for the metrics.
    by : str or sequence, optional
        The name of a column of ``X``, or a value for each row: metrics are listed for each group.
    rows_are : str, default=""
        What the rows are known to be.
    """
    if by is not None and X is None:
        raise ValueError(f"by={by!r:.60} needs rows and their labels, to measure each group")
    if not heading.card and by is None:
        return ""
    quality = None if X is None else quality_of(model, X, y, rows_are)
    card = {_FIRST: heading.card[_FIRST]} if _FIRST in heading.card else {}
    card["Data"] = _data(model, heading)
    if quality is not None:
        card["Metrics"] = _metrics(quality)
    html = Heading(card={**card, **heading.card}).card_html()
    if quality is not None and by is not None:
        html += _groups_html(quality, group_names(by, X, quality.codes.size))
    button = "Print the model card alone"
    return f'{html}<button type="button" class="quiet" id="print-card" hidden>{button}</button>'


def _data(model: PosteriorClassifier, heading: Heading) -> str:
    """Return what the model was learned from, in words."""
    n_rows = getattr(model, "n_samples_seen_", None)
    rows = "" if n_rows is None else f"{count_of(n_rows, 'training row')}, "
    domain = model.domain_
    source = f"{heading.source}: " if heading.source else ""
    columns = count_of(len(domain.features), "column")
    return f"{source}{rows}{columns}; classes {listed(domain.target.labels, 8, str)}"


def _metrics(quality: Quality) -> str:
    found = quality.metrics
    sentence = quality.sentence[0].upper() + quality.sentence[1:]
    names = [name for name in ("log loss", "AUC", "ECE") if np.isfinite(found[name])]
    more = ", ".join(f"{name} {number(found[name])}" for name in names)
    return f"{sentence}. {more[0].upper()}{more[1:]}."


# ---- groups


def group_names(by: Any, X: Any, n_rows: int) -> list[str]:
    """Return the group of each row, of at most `MAX_GROUPS` and two more.

    A column of many numbers is cut into four ranges of about equally many rows; of many texts the
    most frequent ones are kept apart.

    >>> group_names([1.0, 2.0, None, 2.0], None, 4)
    ['1', '2', '(missing)', '2']
    """
    values = _values(by, X)
    if len(values) != n_rows:
        raise ValueError(f"by has {count_of(len(values), 'value')} for {count_of(n_rows, 'row')}")
    known = [value for value in values if not is_missing(value)]
    numeric = all(isinstance(value, (int, float)) for value in known)
    if numeric and len(set(known)) > MAX_GROUPS:
        return _ranges(values, known)
    names = [_MISSING if is_missing(value) else _name(value) for value in values]
    kept = {name for name, _ in Counter(names).most_common(MAX_GROUPS)}
    return [name if name in kept or name == _MISSING else _OTHERS for name in names]


def _values(by: Any, X: Any) -> list[Any]:
    if not isinstance(by, str):
        return by.to_list() if hasattr(by, "to_list") else np.asarray(by, dtype=object).tolist()
    frame = as_frame(X)
    if frame is None:
        raise ValueError(f"by={by!r} is the name of a column, but the rows are not a frame")
    if by not in frame.columns:
        raise ValueError(f"by={by!r} is not a column of the rows: {listed(frame.columns, 8)}")
    return frame.get_column(by).to_list()


def _name(value: Any) -> str:
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if is_whole else str(value)


def _ranges(values: Sequence[Any], known: Sequence[Any]) -> list[str]:
    """Return the range of each number."""
    numbers = np.array(known, dtype=float)
    inner = np.unique(np.quantile(numbers, np.arange(1, _N_RANGES) / _N_RANGES))
    labels = [f"below {inner[0]:.4g}"]
    labels += [f"{low:.4g} to {high:.4g}" for low, high in pairwise(inner)]
    labels.append(f"{inner[-1]:.4g} and more")
    return [
        _MISSING if is_missing(value) else labels[int(np.searchsorted(inner, value, "right"))]
        for value in values
    ]


def _groups_html(quality: Quality, names: Sequence[str]) -> str:
    """Return a table of the metrics of each group."""
    groups = np.array(names, dtype=object)
    rows = []
    for name in sorted(set(names), key=_order):
        part = groups == name
        some = Quality(quality.labels, quality.shares[part], quality.codes[part])
        found, (low, high) = some.metrics, some.accuracy_interval()
        shares = (per_cent(found["accuracy"]), f"{100 * low:.1f} to {100 * high:.1f}")
        rest = [per_cent(found["balanced accuracy"])]
        rest += [number(found[key]) for key in ("log loss", "AUC", "ECE")]
        rows.append([name_html(name), f"{some.n_rows:,}", *shares, *rest])
    note = (
        f"Of the {quality.n_rows:,} {quality.rows}. Groups differ by chance too, small ones the"
        " most: see the intervals. Balanced is the mean share of the classes that are recognized."
    )
    return table_html("Metrics by group", _HEADER, rows, note=note)


def _order(name: str) -> tuple[bool, bool, float, str]:
    """Return the place of a group: numbers and ranges in their order, then names, then the rest."""
    words = name.removeprefix("below ").split()
    try:
        first = float(words[0]) - (0.5 if name.startswith("below ") else 0.0)
    except (ValueError, IndexError):
        return name in (_MISSING, _OTHERS), True, 0.0, name
    return False, False, first, name
