"""How good a classifier is on rows that someone gives: figures, confusions, classes, curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from discbayes.classifier import BayesNetClassifier
from discbayes.data.targets import label_array
from discbayes.evaluation.metrics import binomial_error, measures
from discbayes.report.curves import (
    missing_charts,
    missing_curve,
    precision_chart,
    reliability_chart,
    roc_chart,
)
from discbayes.report.markup import charts_html, framed, name_html, number, per_cent, table_html
from discbayes.report.text import count_of, escaped, shortened

MAX_CLASSES = 30  # of a confusion matrix; with more, the most frequent confusions are listed
_ROOMY = 8  # classes up to which each cell of the matrix has its per cent too
_MAX_CONFUSIONS = 30
_SHADES = 8
_STRANGE = "classes that the model has never seen"


def evaluation_html(clf: BayesNetClassifier, X: Any, y: Any) -> str:
    """The section on some rows and their true classes.

    A row of a class that the model has never seen counts as wrong; gaps in ``y``, and labels of
    which the model knows none, are refused.
    """
    cells = clf.encode(X)
    codes = class_codes(clf, y, cells.shape[1])
    beliefs, names = clf.calibrated_posterior(), clf.network_.domain.target.labels
    shares = beliefs.posterior(cells)
    usual = np.bincount(codes + 1)[1:].max() / codes.size
    charts = [
        reliability_chart(shares, codes),
        roc_chart(shares, codes, names),
        precision_chart(shares, codes, names),
    ]
    charts += missing_charts(missing_curve(beliefs, cells, codes), usual, codes.size)
    return "".join(
        (
            _words(codes, y, names),
            _figures(shares, codes, usual),
            _confusions(shares, codes, names),
            _class_table(shares, codes, names),
            charts_html(charts),
        )
    )


def class_codes(clf: BayesNetClassifier, y: Any, n_rows: int) -> np.ndarray:
    """The place of the class of each row in ``classes_``, −1 for one that the model has never seen.

    The text of a label will do: a class 1 is also known as "1".
    """
    labels = label_array(y, n_rows).tolist()
    known = clf.classes_.tolist()
    place = {str(label): code for code, label in enumerate(known)} | {
        label: code for code, label in enumerate(known)
    }
    codes = np.array([place.get(label, -1) for label in labels])
    if (codes < 0).all():
        raise ValueError(
            f"no class in y is one of the model's: y holds {_listed(set(labels))}, the model knows"
            f" {_listed(known)}. Is y the right column?"
        )
    return codes


def _listed(labels: Any, most: int = 5) -> str:
    shown = sorted(map(repr, labels))
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")


def _words(codes: np.ndarray, y: Any, names: Sequence[str]) -> str:
    text = (
        f"These are figures of the {count_of(codes.size, 'row')} that this page was made with. If"
        " the model was learned from them, or chosen by them, they are optimistic: new rows will"
        " be predicted less well."
    )
    strange = int(np.sum(codes < 0))
    if strange:
        found = {
            str(label)
            for label, code in zip(label_array(y, None).tolist(), codes, strict=True)
            if code < 0
        }
        listed = ", ".join(shortened(name, 40) for name in sorted(found)[:5])
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        text += (
            f" {count_of(strange, 'row')} of {_STRANGE} ({listed}{more}) "
            f"{'counts' if strange == 1 else 'count'} as wrong."
        )
    lacking = len(names) - np.unique(codes[codes >= 0]).size
    if lacking:
        text += (
            f" {count_of(lacking, 'class', 'es')} of the model {'is' if lacking == 1 else 'are'}"
            " not in these rows."
        )
    return f'<p class="note">{escaped(text)}</p>'


def _figures(shares: np.ndarray, codes: np.ndarray, usual: float) -> str:
    """The figures of all rows, as a list."""
    found = measures(shares, codes)
    error = binomial_error(found["accuracy"], codes.size)
    entries = (
        ("rows", f"{codes.size:,}", ""),
        ("accuracy", per_cent(found["accuracy"]), f"± {100 * error:.1f}, its standard error"),
        ("most frequent class", per_cent(usual), "the accuracy of always deciding for it"),
        ("log loss", number(found["log_loss"]), "the mean of −log P(true class)"),
        ("Brier score", number(found["brier"]), "squared error over all classes, from 0 to 2"),
        ("calibration error", number(found["ece"]), "how far probabilities are from what happens"),
    )
    cells = "".join(
        f"<div><dt>{term}</dt><dd><b>{value}</b>{f'<small>{note}</small>' if note else ''}</dd></div>"
        for term, value, note in entries
    )
    return f'<dl class="key-figures">{cells}</dl>'


# ---- confusions


def confusion_counts(shares: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The number of rows by true class and decision; the last line is of classes that the model has
    never seen.

    >>> confusion_counts(np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]), np.array([0, 0, -1]))
    array([[1, 1], [0, 0], [0, 1]])
    """
    n_classes = shares.shape[1]
    truth = np.where(codes < 0, n_classes, codes)
    places = truth * n_classes + shares.argmax(axis=1)
    return np.bincount(places, minlength=(n_classes + 1) * n_classes).reshape(
        n_classes + 1, n_classes
    )


def _confusions(shares: np.ndarray, codes: np.ndarray, names: Sequence[str]) -> str:
    counts = confusion_counts(shares, codes)
    if len(names) > MAX_CLASSES:
        return _frequent_confusions(counts, names)
    rows = [_matrix_row(name, counts[place], place, len(names)) for place, name in enumerate(names)]
    if counts[-1].any():
        rows.append(_matrix_row(_STRANGE, counts[-1], -1, len(names)))
    roomy = len(names) <= _ROOMY
    head = "".join(f'<th scope="col">{name_html(name, 14)}</th>' for name in names)
    return framed(
        "Confusion matrix",
        '<thead><tr><th scope="col" class="text">true'
        f" class</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody>",
        "confusion" if roomy else "confusion many",
        "A row for each true class, a column for each"
        f" decision{'; per cent are of the row' if roomy else ''}.",
    )


def _matrix_row(name: str, counts: np.ndarray, place: int, n_classes: int) -> str:
    total = int(counts.sum())
    cells = "".join(
        _matrix_cell(int(count), total, k == place, n_classes) for k, count in enumerate(counts)
    )
    return f'<tr><th scope="row" class="text">{name_html(name, 24)}</th>{cells}</tr>'


def _matrix_cell(count: int, total: int, right: bool, n_classes: int) -> str:
    """A cell, shaded by its share of the row; one without rows stays empty where there are many
    classes.
    """
    share = count / total if total else 0.0
    kind = f"{'right' if right else 'wrong'} shade-{min(_SHADES, int(np.ceil(share * _SHADES)))}"
    if n_classes <= _ROOMY:
        return f'<td class="{kind}">{count:,}<small>{per_cent(share, 0) if total else "–"}</small></td>'
    if not count:
        return f'<td class="{kind}"></td>'
    return f'<td class="{kind}" title="{per_cent(share)} of the row">{count:,}</td>'


def _frequent_confusions(counts: np.ndarray, names: Sequence[str]) -> str:
    """The most frequent pairs of a true class and another decision."""
    wrong, totals = counts.copy(), counts.sum(axis=1)
    np.fill_diagonal(wrong, 0)
    known = [*names, _STRANGE]
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MAX_CONFUSIONS]
    pairs = [divmod(int(place), len(names)) for place in order if wrong.flat[place]]
    if not pairs:
        return (
            '<p class="note">Every decision is right, so that there are no confusions to list.</p>'
        )
    rows = [
        (
            name_html(known[i]),
            name_html(names[j]),
            f"{wrong[i, j]:,}",
            per_cent(wrong[i, j] / totals[i]),
        )
        for i, j in pairs
    ]
    note = (
        f"{len(pairs)} of {count_of(int(np.count_nonzero(wrong)), 'kind')}, among {len(names)}"
        " classes."
    )
    header = ("true class", "decision", "rows", "of the class")
    return table_html("The most frequent confusions", header, rows, left=2, note=note)


# ---- classes


def class_figures(shares: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """For each class: rows, precision, recall, F1 and the area under the ROC curve; NaN where there
    is no such number.

    >>> class_figures(np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]), np.array([0, 1, 1])).round(2)
    array([[1.  , 0.5 , 1.  , 0.67, 1.  ],
           [2.  , 1.  , 0.5 , 0.67, 1.  ]])
    """
    counts = confusion_counts(shares, codes)
    hits, truly, decided = counts.diagonal(), counts[:-1].sum(axis=1), counts.sum(axis=0)
    with np.errstate(invalid="ignore"):
        precision, recall, f1 = hits / decided, hits / truly, 2 * hits / (decided + truly)
    areas = [
        roc_auc_score(codes == c, shares[:, c]) if 0 < rows < codes.size else np.nan
        for c, rows in enumerate(truly)
    ]
    return np.column_stack((truly, precision, recall, f1, areas))


def _class_table(shares: np.ndarray, codes: np.ndarray, names: Sequence[str]) -> str:
    found = class_figures(shares, codes)
    rows = [
        (name_html(name), f"{line[0]:,.0f}", *map(number, line[1:]))
        for name, line in zip(names, found, strict=True)
    ]
    means = [
        np.nanmean(column) if np.isfinite(column).any() else np.nan for column in found[:, 1:].T
    ]
    rows.append(("mean", f"{found[:, 0].mean():,.1f}", *map(number, means)))
    header = ("class", "rows", "precision", "recall", "F1", "AUC")
    return table_html(
        "Class by class", header, rows, foot=1, note="AUC is of each class against the others."
    )
