"""The page of ``discbayes evaluate``: the quality of a learning method on rows that it predicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discbayes.evaluation.quality import Quality
from discbayes.report.evaluation import curves_html, tables_html
from discbayes.report.markup import charts_html, definitions_html, escaped, table_html
from discbayes.report.page import Report, document


def make_evaluation_page(
    title: str,
    quality: Quality,
    facts: Mapping[str, str],
    folds: tuple[Sequence[str], Sequence[Sequence[str]]] | None = None,
) -> Report:
    """Return a page with the metrics of some predicted rows.

    Parameters
    ----------
    title : str
        The title.
    quality : Quality
        The predicted rows.
    facts : mapping of str to str
        How the rows were predicted: data, method, folds.
    folds : pair of a header and rows, optional
        The metrics of each fold.

    Returns
    -------
    Report
        The page, with the same look as the report of a model.

    Examples
    --------
    >>> import numpy as np
    >>> quality = Quality(["no", "yes"], np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1]))
    >>> make_evaluation_page("Evaluation", quality, {"Data": "two rows"}).html[:15]
    '<!doctype html>'
    """
    curves = curves_html(quality.shares, quality.codes, quality.labels)
    sections = {"evaluation": ("Evaluation", tables_html(quality) + charts_html(curves))}
    if folds is not None:
        header, rows = folds
        cells = [[escaped(cell) for cell in row] for row in rows]
        sections["folds"] = ("Folds", table_html("Metrics of each fold", header, cells))
    listed = definitions_html("facts", ((name, escaped(text)) for name, text in facts.items()))
    head = f'<p class="kicker">Evaluation</p><h1>{escaped(title)}</h1>{listed}'
    return Report(document(title, head, sections, {}, ""))
