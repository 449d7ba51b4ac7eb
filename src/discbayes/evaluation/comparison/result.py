"""The result of a comparison: metrics of each fold, tables, plots, and the page of them."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discbayes._files import replace_file
from discbayes.data.frames import make_frame
from discbayes.evaluation.baseline_pipelines import MAX_ROWS
from discbayes.evaluation.comparison.cells import FAILED
from discbayes.evaluation.comparison.pictures import pictures
from discbayes.evaluation.judging import FIGURES, SIZES, message_kind
from discbayes.evaluation.machine import provenance
from discbayes.evaluation.method_names import BASELINES, RECIPES, SORTS, method_name, short_name
from discbayes.evaluation.result_blocks import Block, ResultTable, Text, as_html, as_text
from discbayes.evaluation.result_page import page
from discbayes.evaluation.result_store import Result
from discbayes.evaluation.statistics import paired_t

TITLES = {
    "accuracy": "accuracy %",
    "log_loss": "log loss",
    "brier": "Brier",
    "ece": "ECE",
    "parameters": "parameters",
    "fit_seconds": "fit s",
    "predict_seconds": "predict s",
}
BEST = "*"
WORSE = "▼"
NEITHER = "\N{FIGURE SPACE}"
SAMPLED = "†"
ALPHA = 0.05
SAME = 1e-12  # means that differ by less are equal


def metrics_of(missing: Sequence[int]) -> tuple[str, ...]:
    """Return the metrics of a cell, given the percentages of missing test cells."""
    with_missing = [f"{metric}@{share}" for share in missing for metric in ("accuracy", "log_loss")]
    return (*FIGURES, *with_missing, *SIZES, "n_train")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The cross-validated metrics of several methods on one table; printed, it is a table.

    Parameters
    ----------
    name : str
        The name of the data.
    methods : tuple of str
        Tags of recipes and names of baselines as they were given; ``ranked`` has the best first.
    results : tuple of Result
        The metrics of each method on each fold.
    posteriors : mapping of str to ndarray
        P(class | row) of each method for held-out rows; NaN where it failed.
    codes, classes : ndarray
        The class of each row, as a position in ``classes``.
    n_features, n_folds : int
        The number of columns and folds.
    missing : tuple of int
        Percentages of missing test cells.
    seed : int
        The seed of folds, masks and methods.
    sort : str
        The metric by which tables are sorted.

    Examples
    --------
    >>> from discbayes import compare, load_dataset
    >>> iris = load_dataset("iris")
    >>> found = compare(iris.X, iris.y, ["NB-MAP"], ["lr"], cv=3, name="iris")
    >>> found.ranked
    ['lr', 'NB-MAP']
    """

    name: str
    methods: tuple[str, ...]
    results: tuple[Result, ...]
    posteriors: Mapping[str, np.ndarray]
    codes: np.ndarray
    classes: np.ndarray
    n_features: int
    n_folds: int
    missing: tuple[int, ...]
    seed: int
    sort: str = "log_loss"

    # ---- metrics

    def figures(self, metric: str, method: str) -> np.ndarray:
        """Return a metric of a method for each fold.

        Parameters
        ----------
        metric : str
            Such as "accuracy", "log_loss" or, with missing cells, "accuracy@30".
        method : str
            A tag or the name of a baseline.

        Returns
        -------
        ndarray of shape (n_folds,)
            NaN where the method failed.

        Examples
        --------
        >>> from discbayes import compare, load_dataset
        >>> iris = load_dataset("iris")
        >>> found = compare(iris.X, iris.y, ["NB-MAP"], ["lr"], cv=3, name="iris")
        >>> found.figures("accuracy", "NB-MAP").shape
        (3,)
        """
        values = np.full(self.n_folds, np.nan)
        for result in self.results:
            if result.recipe == method:
                values[result.fold] = result[metric]
        return values

    def mean(self, metric: str, method: str) -> float:
        """Return the mean of a metric over the folds in which the method did not fail.

        Parameters
        ----------
        metric : str
            Such as "accuracy", "log_loss" or, with missing cells, "accuracy@30".
        method : str
            A tag or the name of a baseline.

        Returns
        -------
        float
            NaN if it failed in all.

        Examples
        --------
        >>> from discbayes import compare, load_dataset
        >>> iris = load_dataset("iris")
        >>> found = compare(iris.X, iris.y, ["NB-MAP"], ["lr"], cv=3, name="iris")
        >>> round(found.mean("accuracy", "NB-MAP"), 2)
        0.95
        """
        values = self.figures(metric, method)
        return math.nan if np.isnan(values).all() else float(np.nanmean(values))

    def deviation(self, metric: str, method: str) -> float:
        """Return the standard deviation of a metric over the folds.

        Parameters
        ----------
        metric : str
            Such as "accuracy", "log_loss" or, with missing cells, "accuracy@30".
        method : str
            A tag or the name of a baseline.

        Returns
        -------
        float
            NaN if there are fewer than two values.

        Examples
        --------
        >>> from discbayes import compare, load_dataset
        >>> iris = load_dataset("iris")
        >>> found = compare(iris.X, iris.y, ["NB-MAP"], ["lr"], cv=3, name="iris")
        >>> 0 < found.deviation("accuracy", "NB-MAP") < 0.1
        True
        """
        values = self.figures(metric, method)
        values = values[~np.isnan(values)]
        return float(values.std(ddof=1)) if values.size > 1 else math.nan

    @property
    def ranked(self) -> list[str]:
        """The methods, best first; those that failed in some fold are last."""

        def place(method: str) -> tuple[bool, float]:
            mean = self.mean(self.sort, method)
            failed = bool(np.isnan(self.figures(self.sort, method)).any())
            if math.isnan(mean):
                return failed, math.inf
            return failed, mean if _is_loss(self.sort) else -mean

        return sorted(self.methods, key=place)

    def marks(self, metric: str) -> dict[str, str]:
        """Mark the best methods, and those that are worse than the best by the corrected t-test.

        Parameters
        ----------
        metric : str
            Such as "accuracy" or "log_loss".

        Returns
        -------
        dict of str to str
            By method: "*" for the best, "▼" for worse, otherwise a space.

        Examples
        --------
        >>> from discbayes import compare, load_dataset
        >>> iris = load_dataset("iris")
        >>> found = compare(iris.X, iris.y, ["NB-MAP"], ["lr"], cv=3, name="iris")
        >>> found.marks("log_loss")["lr"]
        '*'
        """
        figures = {method: self.figures(metric, method) for method in self.ranked}
        complete = {m: values for m, values in figures.items() if not np.isnan(values).any()}
        if not complete:
            return dict.fromkeys(self.methods, NEITHER)
        sign = -1.0 if _is_loss(metric) else 1.0
        best = max(complete, key=lambda method: sign * complete[method].mean())
        return {m: self._mark(figures[m], complete[best], sign) for m in self.methods}

    def _mark(self, values: np.ndarray, best: np.ndarray, sign: float) -> str:
        both = ~np.isnan(values)
        if both.all() and sign * (best.mean() - values.mean()) <= SAME:
            return BEST
        if both.sum() < 2:
            return NEITHER
        ratio = 1.0 / (self.n_folds - 1)
        test = paired_t(best[both], values[both], larger_is_better=sign > 0, test_train_ratio=ratio)
        return WORSE if test.p < ALPHA else NEITHER

    def note(self, method: str) -> str:
        """Return the warnings of a method or how it failed, and in how many folds if not in all.

        Of messages that differ in numbers and values only, the first is shown.

        Parameters
        ----------
        method : str
            A tag or the name of a baseline.

        Returns
        -------
        str
            Empty if there was nothing to report.

        Examples
        --------
        >>> from discbayes import compare, load_dataset
        >>> iris = load_dataset("iris")
        >>> found = compare(iris.X, iris.y, ["NB-MAP"], ["lr"], cv=3, name="iris")
        >>> found.note("lr")
        ''
        """
        messages: dict[str, list[str]] = {}
        for result in self.results:
            if result.recipe == method and result.note:
                messages.setdefault(message_kind(result.note), []).append(result.note)
        some = f"of {self.n_folds} folds"
        return "; ".join(
            texts[0] if len(texts) == self.n_folds else f"{texts[0]} ({len(texts)} {some})"
            for texts in messages.values()
        )

    # ---- frames

    def rows(self, library: bool | str = "auto") -> Any:
        """Return all metrics as a frame: a row for each method and fold.

        Parameters
        ----------
        library : {"auto", True, "pandas", "polars", "pyarrow"}
            The kind of frame; by default the first of these libraries that is installed.

        Returns
        -------
        frame
            Columns fold, method, the metrics, and note.

        Examples
        --------
        >>> from discbayes import compare, load_dataset
        >>> iris = load_dataset("iris")
        >>> found = compare(iris.X, iris.y, ["NB-MAP"], ["lr"], cv=3, name="iris")
        >>> len(found.rows())
        6
        """
        columns = {
            "fold": np.array([r.fold for r in self.results]),
            "method": np.array([r.recipe for r in self.results], dtype=object),
            **{m: np.array([r[m] for r in self.results]) for m in metrics_of(self.missing)},
            "note": np.array([r.note for r in self.results], dtype=object),
        }
        return make_frame(columns, library)

    def summary(self, library: bool | str = "auto") -> Any:
        """Return means and standard deviations as a frame: a row for each method, best first.

        Parameters
        ----------
        library : {"auto", True, "pandas", "polars", "pyarrow"}
            The kind of frame; by default the first of these libraries that is installed.

        Returns
        -------
        frame
            Columns method, means, deviations (``_sd``), marks, and note.

        Examples
        --------
        >>> from discbayes import compare, load_dataset
        >>> iris = load_dataset("iris")
        >>> found = compare(iris.X, iris.y, ["NB-MAP"], ["lr"], cv=3, name="iris")
        >>> found.summary()["method"].to_list()
        ['lr', 'NB-MAP']
        """
        columns = {name: np.array(values) for name, values in self._summary().items()}
        return make_frame(columns, library)

    def _summary(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {"method": self.ranked}
        for metric in metrics_of(self.missing):
            columns[metric] = [self.mean(metric, method) for method in self.ranked]
            columns[f"{metric}_sd"] = [self.deviation(metric, method) for method in self.ranked]
        words = {BEST: "best", WORSE: "worse", NEITHER: ""}
        for metric in FIGURES:
            marks = self.marks(metric)
            columns[f"{metric}_mark"] = [words[marks[method]] for method in self.ranked]
        columns["note"] = [self.note(method) for method in self.ranked]
        return columns

    # ---- tables and pages

    def tables(self) -> list[Block]:
        """Return the tables: metrics, metrics with missing cells, and notes.

        Returns
        -------
        list of blocks
            What ``print`` shows.

        Examples
        --------
        >>> from discbayes import compare, load_dataset
        >>> iris = load_dataset("iris")
        >>> found = compare(iris.X, iris.y, ["NB-MAP"], ["lr"], cv=3, name="iris")
        >>> found.tables()[0].header[:3]
        ['method', 'tag', 'accuracy %']
        """
        found: list[Block] = [self._table()]
        if self.missing:
            found += [self._missing_table("accuracy"), self._missing_table("log_loss")]
        return [*found, *self._notes()]

    def _notes(self) -> list[ResultTable]:
        """Return warnings and failures, and which methods had them."""
        by_note: dict[str, list[str]] = {}
        for method in self.ranked:
            by_note.setdefault(self.note(method), []).append(method)
        rows = [
            [", ".join(map(short_name, methods)), note] for note, methods in by_note.items() if note
        ]
        return [ResultTable("Notes", ["method", "note"], rows, left=2)] if rows else []

    def blocks(self) -> list[Block]:
        """Return the content of the page: what was compared, tables and plots.

        Returns
        -------
        list of blocks
            Texts, tables and plots.

        Examples
        --------
        >>> from discbayes import compare, load_dataset
        >>> iris = load_dataset("iris")
        >>> found = compare(iris.X, iris.y, ["NB-MAP"], ["lr"], cv=3, name="iris")
        >>> found.blocks()[0].text
        '# iris: methods side by side'
        """
        title = Text(f"# {self._title}")
        return [title, Text(self._what()), *self.tables(), *pictures(self)]

    @property
    def _title(self) -> str:
        return f"{self.name}: methods side by side"

    def _what(self) -> str:
        return (
            f"{self.codes.size:,} rows, {self.n_features} columns, {self.classes.size} classes."
            f" {self.n_folds} stratified folds (seed {self.seed}); all that is learned, the"
            " preparation of columns included, is learned from the training rows of a fold. Times"
            " are those of one thread."
        )

    def _table(self) -> ResultTable:
        marks = {metric: self.marks(metric) for metric in FIGURES}
        rows = []
        for method in self.ranked:
            cells = [self._cell(m, method, marks.get(m, {}).get(method, "")) for m in TITLES]
            rows.append([*self._labels(method), *cells])
        return _with_best("", ["method", "tag", *TITLES.values()], rows, self._legend())

    def _missing_table(self, metric: str) -> ResultTable:
        """Return a metric with more and more cells of the test rows missing."""
        keys = [metric, *(f"{metric}@{share}" for share in self.missing)]
        marks = {key: self.marks(key) for key in keys}
        rows = []
        for method in self.ranked:
            means = {key: _short(metric, self.mean(key, method)) for key in keys}
            cells = [f"{mean}{marks[key][method]}" for key, mean in means.items()]
            rows.append([*self._labels(method), *cells])
        header = ["method", "tag", "complete", *(f"{share} %" for share in self.missing)]
        title = f"{TITLES[metric]} with cells of the test rows missing at random"
        return _with_best(title, header, rows, "")

    def _labels(self, method: str) -> list[str]:
        """Return the name of a method, marked if it learned from a sample, and its tag."""
        name = method_name(method)
        return [f"{name} {SAMPLED}" if self._is_sampled(method) else name, method]

    def _is_sampled(self, method: str) -> bool:
        sizes = self.figures("n_train", method) + self.figures("n_test", method)
        return bool((sizes < self.codes.size).any())

    def _cell(self, metric: str, method: str, mark: str) -> str:
        mean = self.mean(metric, method)
        if math.isnan(mean):
            return "failed" if metric == "accuracy" else "–"
        spread = f" ± {_short(metric, self.deviation(metric, method))}" if metric in SORTS else ""
        return f"{_short(metric, mean)}{spread}{mark}"

    def _legend(self) -> str:
        text = (
            f"Mean ± standard deviation over {self.n_folds} folds, sorted by"
            f" {TITLES[self.sort].rstrip(' %')}. {BEST} the best; {WORSE} worse than the best by"
            f" the corrected resampled t-test (Nadeau and Bengio 2003; one-sided, {ALPHA:.0%}, not"
            " corrected for the number of methods). ECE: expected calibration error."
        )
        if any(map(self._is_sampled, self.methods)):
            text += f" {SAMPLED} learned from a sample of at most {MAX_ROWS:,} training rows."
        words = {**RECIPES, **BASELINES}
        explained = "; ".join(
            f"{short_name(method)}: {words[method]}" for method in self.methods if method in words
        )
        return f"{text}\nMethods. {explained}." if explained else text

    def __repr__(self) -> str:
        return as_text(self.tables())

    def _repr_html_(self) -> str:
        return as_html(self.tables(), lambda picture: "")

    def write(self, table: str | Path, html: str | Path) -> None:
        """Write the table as CSV, and the page as HTML.

        Parameters
        ----------
        table : path
            The CSV file.
        html : path
            The HTML file.

        Examples
        --------
        >>> found.write("table.csv", "compare.html")  # doctest: +SKIP
        """
        text = io.StringIO(newline="")
        columns = self._summary()
        csv.writer(text, lineterminator="\n").writerows(
            [list(columns), *zip(*columns.values(), strict=True)]
        )
        replace_file(table, text.getvalue())
        replace_file(html, page(self._title, self.blocks(), f"{provenance()}."))

    @property
    def failed(self) -> list[str]:
        """The methods that failed in some fold."""
        return list(dict.fromkeys(r.recipe for r in self.results if r.note.startswith(FAILED)))


def _is_loss(metric: str) -> bool:
    return not metric.startswith("accuracy")


def _with_best(title: str, header: list[str], rows: list[list[str]], note: str) -> ResultTable:
    best = {
        (at, place)
        for at, row in enumerate(rows)
        for place, cell in enumerate(row)
        if cell.endswith(BEST)
    }
    return ResultTable(title, header, rows, note, left=2, strong=frozenset(best))


def _short(metric: str, value: float) -> str:
    """Format a metric."""
    if math.isnan(value):
        return "–"
    if metric.startswith("accuracy"):
        return f"{100 * value:.2f}"
    if metric == "parameters":
        return f"{value:,.0f}"
    if metric.endswith("seconds"):
        return f"{value:.3f}" if value < 10 else f"{value:.1f}"
    return f"{value:.3f}"
