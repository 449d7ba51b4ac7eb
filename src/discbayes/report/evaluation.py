"""The evaluation of a classifier on given rows: metrics, confusion matrix, classes, curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

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
from discbayes.evaluation.metrics import binomial_error
from discbayes.evaluation.quality import TEST, Quality
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
_ROWS = "rows of this report"
_UNKNOWN_CLASSES = "classes that are unknown to the model"


def evaluation_html(clf: PosteriorClassifier, X: Any, y: Any, rows_are: str = "") -> str:
    """Return the section on rows and their true classes; ``rows_are`` is what they are known to be.

    A row of a class that is unknown to the model counts as an error. Missing values in ``y``, and
    labels of which the model knows none, are refused.
    """
    rows = clf.encode(X)
    classifier = clf.calibrated_posterior()
    posterior = classifier.posterior(rows)
    codes = class_codes(clf, y, len(posterior))
    names = clf.domain_.target.labels
    quality = Quality(names, posterior, codes, rows=rows_are or _ROWS)
    charts = curves_html(posterior, codes, names)
    baseline = quality.metrics["base rate"]
    if isinstance(classifier, CalibratedPosterior):  # a pool has codes for each of its members
        charts += missing_charts(missing_curve(classifier, rows, codes), baseline, codes.size)
    return tables_html(quality, _introduction(clf, codes, y, rows_are)) + charts_html(charts)


def quality_of(clf: PosteriorClassifier, X: Any, y: Any, rows_are: str = "") -> Quality:
    """Return the quality of the predictions of rows, as the section on them has it."""
    posterior = clf.calibrated_posterior().posterior(clf.encode(X))
    codes = class_codes(clf, y, len(posterior))
    return Quality(clf.domain_.target.labels, posterior, codes, rows=rows_are or _ROWS)


def tables_html(quality: Quality, note: str = "") -> str:
    """Return the sentence on the accuracy, a note, the metrics, the confusions and the classes."""
    sentence = quality.sentence[0].upper() + quality.sentence[1:]
    return (
        f'<p class="lead">{escaped(sentence)}.</p>{note}{_metrics(quality)}{_confusions(quality)}'
        f"{_class_table(quality)}"
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


def _introduction(clf: PosteriorClassifier, codes: np.ndarray, y: Any, rows_are: str) -> str:
    names = clf.domain_.target.labels
    n_trained = getattr(clf, "n_samples_seen_", None)
    if rows_are == TEST:
        text = (
            f"These are metrics of {codes.size:,} test rows, which were held out: the model was"
            " learned from other rows."
        )
    else:
        rows = count_of(codes.size, "row")
        as_many = ", as many as there were training rows" if codes.size == n_trained else ""
        text = (
            f"These are metrics of the {rows} that this report was made with{as_many}. If these"
            " are training rows, or rows by which the model was chosen, the metrics are"
            " optimistic: new rows will be predicted less well."
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


def _metrics(quality: Quality) -> str:
    """Return the metrics of all rows, as a list."""
    found, notes = quality.metrics, quality.notes
    error = binomial_error(found["accuracy"], quality.n_rows)
    low, high = quality.accuracy_interval()
    notes["accuracy"] = (
        f"± {100 * error:.1f}, its standard error;"
        f" {100 * low:.1f} to {100 * high:.1f} with 90 % confidence"
    )
    shares = ("base rate", "accuracy", "balanced accuracy")
    texts = {name: (per_cent if name in shares else number)(found[name]) for name in found}
    entries = [("rows", f"<b>{quality.n_rows:,}</b>")]
    entries += [
        (name, f"<b>{text}</b><small>{escaped(notes[name])}</small>")
        for name, text in texts.items()
        if np.isfinite(found[name])
    ]
    return definitions_html("key-figures", entries)


# ---- confusions


def _confusions(quality: Quality) -> str:
    counts, names = quality.confusions, quality.labels
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


def _class_table(quality: Quality) -> str:
    found = quality.classes
    rows = [
        (name_html(name), f"{values[0]:,.0f}", *map(number, values[1:]))
        for name, values in zip(quality.labels, found, strict=True)
    ]
    means = [
        np.nanmean(column) if np.isfinite(column).any() else np.nan for column in found[:, 1:].T
    ]
    rows.append(("mean", f"{found[:, 0].sum():,.0f}", *map(number, means)))
    header = ("class", "rows", "precision", "recall", "F1", "AUC", "average precision")
    note = "AUC and average precision are of each class against the others."
    return table_html("Class by class", header, rows, foot=1, note=note)
