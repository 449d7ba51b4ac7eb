"""The evaluation of a classifier on given rows: metrics, confusion matrix, classes, curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from discbayes._text import count_of, shortened, some_of
from discbayes.calibration import CalibratedPosterior
from discbayes.charts.chart import N_SERIES
from discbayes.charts.evaluation_charts import (
    Curve,
    precision_recall_chart,
    precision_recall_curves,
    reliability_chart,
    roc_chart,
    roc_curves,
)
from discbayes.classifier.predicting import PosteriorClassifier
from discbayes.data.targets import label_array
from discbayes.evaluation.metrics import binomial_error, measures
from discbayes.report.markup import (
    charts_html,
    definitions_html,
    escaped,
    framed,
    name_html,
    number,
    per_cent,
    table_html,
)
from discbayes.report.missing_curve import missing_charts, missing_curve
from discbayes.report.svg import chart_html

MAX_CLASSES = 30  # of a confusion matrix; with more, the most frequent confusions are listed
_MAX_CLASSES_WITH_PERCENT = 8  # of a confusion matrix
_MAX_CONFUSIONS = 30
_MAX_LABELS = 5
_SHADES = 8
_UNKNOWN_CLASSES = "classes that are unknown to the model"


def evaluation_html(clf: PosteriorClassifier, X: Any, y: Any) -> str:
    """Return the section on rows and their true classes.

    A row of a class that is unknown to the model counts as an error. Missing values in ``y``, and
    labels of which the model knows none, are refused.
    """
    rows = clf.encode(X)
    classifier = clf.calibrated_posterior()
    posterior = classifier.posterior(rows)
    codes = class_codes(clf, y, len(posterior))
    names = clf.domain_.target.labels
    baseline = np.bincount(codes + 1)[1:].max() / codes.size
    charts = curves_html(posterior, codes, names)
    if isinstance(classifier, CalibratedPosterior):  # a pool has codes for each of its members
        charts += missing_charts(missing_curve(classifier, rows, codes), baseline, codes.size)
    return (
        _introduction(codes, y, names)
        + _metrics(posterior, codes, baseline)
        + _confusions(posterior, codes, names)
        + _class_table(posterior, codes, names)
        + charts_html(charts)
    )


def curves_html(posterior: np.ndarray, codes: np.ndarray, names: Sequence[str]) -> list[str]:
    """Return the charts of reliability, and of ROC and precision-recall where a class has them."""
    reliability = chart_html(
        reliability_chart(posterior, codes),
        "On the diagonal, decisions given 80 % are right in 80 % of the rows; below it the model"
        " is overconfident. Bars are the share of rows. The expected calibration error (ECE) is the"
        " mean distance, weighted by rows.",
    )
    curves = roc_curves(posterior, codes, names)
    if not curves:
        return [reliability]
    note = _positive_class(curves, codes, names)
    precisions = precision_recall_chart(precision_recall_curves(posterior, codes, names))
    return [
        reliability,
        chart_html(roc_chart(curves), f"{note} Numbers are areas under the curves."),
        chart_html(precisions, f"{note} Numbers are average precisions."),
    ]


def _positive_class(curves: Sequence[Curve], codes: np.ndarray, names: Sequence[str]) -> str:
    if len(names) == 2 and len(curves) == 1:
        is_tie = np.sum(codes == 0) == np.sum(codes == 1)
        which = "the second one" if is_tie else "the rarer one in these rows"
        return f"The positive class is {shortened(curves[0].name, 40)}, {which}."
    if len(curves) <= N_SERIES:
        return "Each class against the others."
    return (
        f"Each of {len(curves)} classes against the others: their mean, and the class of the"
        " smallest area."
    )


def class_codes(clf: PosteriorClassifier, y: Any, n_rows: int) -> np.ndarray:
    """Return the position of the class of each row in ``classes_``, −1 for unknown classes.

    Labels may also be the text of a class: a class 1 is found as "1".
    """
    labels = label_array(y, n_rows).tolist()
    known = clf.classes_.tolist()
    position = {str(label): code for code, label in enumerate(known)}
    position |= {label: code for code, label in enumerate(known)}
    codes = np.array([position.get(label, -1) for label in labels])
    if (codes < 0).all():
        raise ValueError(
            "no class in y is one of the model's: y holds"
            f" {some_of(sorted(map(repr, set(labels))), _MAX_LABELS)}, the model knows"
            f" {some_of(sorted(map(repr, known)), _MAX_LABELS)}. Is y the right column?"
        )
    return codes


def _introduction(codes: np.ndarray, y: Any, names: Sequence[str]) -> str:
    text = (
        f"These are metrics of the {count_of(codes.size, 'row')} that this report was made with. If"
        " the model was learned from them, or chosen by them, they are optimistic: new rows will"
        " be predicted less well."
    )
    n_unknown = int(np.sum(codes < 0))
    if n_unknown:
        labels = label_array(y, None).tolist()
        unknown = {str(label) for label, code in zip(labels, codes, strict=True) if code < 0}
        shown = some_of([shortened(name, 40) for name in sorted(unknown)], _MAX_LABELS)
        text += (
            f" {count_of(n_unknown, 'row')} of {_UNKNOWN_CLASSES} ({shown})"
            f" {'counts' if n_unknown == 1 else 'count'} as errors."
        )
    n_absent = len(names) - np.unique(codes[codes >= 0]).size
    if n_absent:
        text += (
            f" {count_of(n_absent, 'class', 'es')} of the model {'is' if n_absent == 1 else 'are'}"
            " not in these rows."
        )
    return f'<p class="note">{escaped(text)}</p>'


def _metrics(posterior: np.ndarray, codes: np.ndarray, baseline: float) -> str:
    """Return the metrics of all rows, as a list."""
    found = measures(posterior, codes)
    error = binomial_error(found["accuracy"], codes.size)
    metrics = (
        ("rows", f"{codes.size:,}", ""),
        ("accuracy", per_cent(found["accuracy"]), f"± {100 * error:.1f}, its standard error"),
        ("baseline", per_cent(baseline), "accuracy of always predicting the most frequent class"),
        ("log loss", number(found["log_loss"]), "mean of −log P(true class)"),
        ("Brier score", number(found["brier"]), "squared error over all classes, from 0 to 2"),
        ("ECE", number(found["ece"]), "expected calibration error"),
    )
    entries = [
        (term, f"<b>{value}</b>{f'<small>{note}</small>' if note else ''}")
        for term, value, note in metrics
    ]
    return definitions_html("key-figures", entries)


# ---- confusions


def confusion_counts(posterior: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the number of rows by true class and decision; the last row is of unknown classes.

    >>> confusion_counts(np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]), np.array([0, 0, -1]))
    array([[1, 1], [0, 0], [0, 1]])
    """
    n_classes = posterior.shape[1]
    counts = np.zeros((n_classes + 1, n_classes), dtype=np.int64)
    np.add.at(counts, (codes, posterior.argmax(axis=1)), 1)  # -1 is the last row
    return counts


def _confusions(posterior: np.ndarray, codes: np.ndarray, names: Sequence[str]) -> str:
    counts = confusion_counts(posterior, codes)
    if len(names) > MAX_CLASSES:
        return _frequent_confusions(counts, names)
    rows = [_matrix_row(name, counts[c], c, len(names)) for c, name in enumerate(names)]
    if counts[-1].any():
        rows.append(_matrix_row(_UNKNOWN_CLASSES, counts[-1], -1, len(names)))
    has_percent = len(names) <= _MAX_CLASSES_WITH_PERCENT
    head = "".join(f'<th scope="col">{name_html(name, 14)}</th>' for name in names)
    return framed(
        "Confusion matrix",
        '<thead><tr><th scope="col" class="text">true'
        f" class</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody>",
        "confusion" if has_percent else "confusion many",
        "A row for each true class, a column for each"
        f" decision{'; percentages are of the row' if has_percent else ''}.",
    )


def _matrix_row(name: str, counts: np.ndarray, truth: int, n_classes: int) -> str:
    total = int(counts.sum())
    cells = "".join(
        _matrix_cell(int(count), total, c == truth, n_classes) for c, count in enumerate(counts)
    )
    return f'<tr><th scope="row" class="text">{name_html(name, 24)}</th>{cells}</tr>'


def _matrix_cell(count: int, total: int, right: bool, n_classes: int) -> str:
    """Return a cell, shaded by its share of the row; with many classes zeros are left out."""
    share = count / total if total else 0.0
    kind = f"{'right' if right else 'wrong'} shade-{min(_SHADES, int(np.ceil(share * _SHADES)))}"
    if n_classes <= _MAX_CLASSES_WITH_PERCENT:
        percent = per_cent(share, 0) if total else "–"
        return f'<td class="{kind}">{count:,}<small>{percent}</small></td>'
    if not count:
        return f'<td class="{kind}"></td>'
    return f'<td class="{kind}" title="{per_cent(share)} of the row">{count:,}</td>'


def _frequent_confusions(counts: np.ndarray, names: Sequence[str]) -> str:
    """Return the most frequent pairs of a true class and another decision."""
    wrong, totals = counts.copy(), counts.sum(axis=1)
    np.fill_diagonal(wrong, 0)
    known = [*names, _UNKNOWN_CLASSES]
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MAX_CONFUSIONS]
    pairs = [divmod(int(cell), len(names)) for cell in order if wrong.flat[cell]]
    if not pairs:
        return '<p class="note">Every decision is right: there are no confusions.</p>'
    rows = []
    for i, j in pairs:
        share = per_cent(wrong[i, j] / totals[i])
        rows.append((name_html(known[i]), name_html(names[j]), f"{wrong[i, j]:,}", share))
    n_kinds = count_of(int(np.count_nonzero(wrong)), "kind")
    note = f"{len(pairs)} of {n_kinds}, among {len(names)} classes."
    header = ("true class", "decision", "rows", "of the class")
    return table_html("The most frequent confusions", header, rows, left=2, note=note)


# ---- classes


def class_metrics(posterior: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return rows, precision, recall, F1 and the area under the ROC curve of each class.

    A metric that is undefined is NaN.

    >>> class_metrics(np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]), np.array([0, 1, 1])).round(2)
    array([[1.  , 0.5 , 1.  , 0.67, 1.  ],
           [2.  , 1.  , 0.5 , 0.67, 1.  ]])
    """
    counts = confusion_counts(posterior, codes)
    right = counts.diagonal()
    n_rows, n_decided = counts[:-1].sum(axis=1), counts.sum(axis=0)
    with np.errstate(invalid="ignore"):
        precision, recall = right / n_decided, right / n_rows
        f1 = 2 * right / (n_decided + n_rows)
    areas = [
        roc_auc_score(codes == c, posterior[:, c]) if 0 < rows < codes.size else np.nan
        for c, rows in enumerate(n_rows)
    ]
    return np.column_stack((n_rows, precision, recall, f1, areas))


def _class_table(posterior: np.ndarray, codes: np.ndarray, names: Sequence[str]) -> str:
    found = class_metrics(posterior, codes)
    rows = [
        (name_html(name), f"{values[0]:,.0f}", *map(number, values[1:]))
        for name, values in zip(names, found, strict=True)
    ]
    means = [
        np.nanmean(column) if np.isfinite(column).any() else np.nan for column in found[:, 1:].T
    ]
    rows.append(("mean", f"{found[:, 0].mean():,.1f}", *map(number, means)))
    header = ("class", "rows", "precision", "recall", "F1", "AUC")
    return table_html(
        "Class by class", header, rows, foot=1, note="AUC is of each class against the others."
    )
