"""`check`: everything that is worth knowing of a table before `fit`, at once."""

from __future__ import annotations

import csv as csv_module
import io
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np

from discbayes._files import replace_file
from discbayes._lazy_imports import is_installed, need
from discbayes._text import count_of, listed, nearest_first, text_table
from discbayes.checking.column_scan import MAX_KEYS
from discbayes.checking.findings import (
    LEAK,
    NOTE,
    PROBLEM,
    READING,
    SUSPICION,
    CheckedColumn,
    Finding,
    check_column,
    class_findings,
    duplicate_columns,
    facts_of,
    leaking_columns,
    number_findings,
    row_findings,
    text_findings,
)
from discbayes.checking.reading_plan import ReadingPlan, plan_reading
from discbayes.checking.table_scan import TableScan, arrow_of, scan_file, scan_frame
from discbayes.data.frames import make_frame
from discbayes.engine import Progress
from discbayes.evaluation.result_blocks import CODE, Block, ResultTable, Text
from discbayes.evaluation.result_page import page
from discbayes.streams.csv_format import CsvFormat, bare_numbers, parse_date_column, parse_numbers
from discbayes.streams.file_sources import line_with, list_files, read_whole

_HEADINGS = {
    READING: "How it is read",
    PROBLEM: "To settle before learning",
    SUSPICION: "To look at",
    NOTE: "Good to know",
}
_TOGETHER = 2  # findings of one kind from which on they are one line
_MAX_LINES = 40  # columns in a text
_COLUMNS = ("column", "holds", "what fit does", "advice", "example", "missing", "values")
_TARGET = "class"  # the name of labels that have none


@dataclass(frozen=True)
class TableCheck:
    """The findings of one reading of a table.

    It prints as text and shows itself as HTML in a notebook.

    Parameters
    ----------
    name : str
        The table in messages.
    n_rows : int
        The number of rows.
    target : str or None
        The column with the classes.
    findings : tuple of Finding
        What is worth saying.
    columns : tuple of CheckedColumn
        The columns, and what ``fit`` does with them.
    csv_format : CsvFormat
        How the table is read.
    missing_values : tuple of str
        Texts that stand for a missing value, beside those that are always read so.
    command : str
        The command line that fits a model to the table as it should be read; empty for a frame.
    python : str
        The same in Python.
    assumptions : tuple of str
        What reading the table assumes.
    source, labels : object
        The table, and its labels where it has no column of them: ``read`` reads them.

    Examples
    --------
    >>> from discbayes import check, load_dataset
    >>> wine = load_dataset("wine")
    >>> found = check(wine.X, wine.y)
    >>> found.n_rows, found.kinds
    (178, [])
    """

    name: str
    n_rows: int
    target: str | None
    findings: tuple[Finding, ...]
    columns: tuple[CheckedColumn, ...]
    csv_format: CsvFormat
    missing_values: tuple[str, ...]
    command: str
    python: str
    assumptions: tuple[str, ...]
    source: Any = None
    labels: Any = None

    @property
    def kinds(self) -> list[str]:
        """The kinds of the findings, each once."""
        return list(dict.fromkeys(finding.kind for finding in self.findings))

    @property
    def drop(self) -> list[str]:
        """The columns that should be left out."""
        return [column.name for column in self.columns if column.advice == "drop"]

    @property
    def categorical(self) -> list[str]:
        """The columns whose numbers are labels."""
        return [column.name for column in self.columns if column.advice == "categorical"]

    def read(self) -> tuple[Any, Any]:
        """Read the table as the ready command line does.

        Columns that should be left out are left out, and so are rows without a class; marks of
        missing values are missing; numbers as people write them are numbers.

        Returns
        -------
        X : frame
            The features: a pandas frame, or an arrow table if pandas is not installed.
        y : ndarray or None
            The classes; None if the target is not known.

        Examples
        --------
        >>> import pandas as pd
        >>> from discbayes import check
        >>> raw = pd.DataFrame({"price": ["1.234,50 €", "k.A.", "12,00 €"], "y": ["a", "b", "a"]})
        >>> X, y = check(raw, "y").read()
        >>> X["price"].tolist(), y.tolist()
        ([1234.5, nan, 12.0], ['a', 'b', 'a'])
        """
        pa, compute = need("pyarrow"), need("pyarrow.compute")
        table = self._table()
        y = None
        if self.target is not None:
            labels = table.column(self.target)
            known = compute.is_valid(labels)
            table, labels = table.filter(known), labels.filter(known)
            y = np.array(
                labels.to_pylist(), dtype=object if pa.types.is_string(labels.type) else None
            )
        left = [name for name in table.column_names if name not in {self.target, *self.drop}]
        table = table.select(left)
        return (table.to_pandas() if is_installed("pandas") else table), y

    def _table(self) -> Any:
        """Return all columns, with numbers as numbers."""
        text = {*self.categorical, *([self.target] if self.target is not None else [])}
        how = replace(
            self.csv_format,
            missing_values=(*self.csv_format.missing_values, *self.missing_values),
            types=dict.fromkeys(text, "string"),
        )
        if isinstance(self.source, (str, Path, bytes)):
            return read_whole(self.source, how)
        return _clean(_with_labels(arrow_of(self.source), self.labels, self.target), how)

    def to_frame(self, library: bool | str = "auto") -> Any:
        """Return a row for each column: what it holds, and what ``fit`` does with it.

        Parameters
        ----------
        library : str, default="auto"
            "pandas", "polars" or "pyarrow".

        Returns
        -------
        frame
            The columns.

        Examples
        --------
        >>> from discbayes import check, load_dataset
        >>> iris = load_dataset("iris")
        >>> check(iris.X, iris.y).to_frame()["holds"].tolist()
        ['numbers', 'numbers', 'numbers', 'numbers', 'classes']
        """
        found = _kinds_by_column(self.findings)
        data: dict[str, Any] = {
            name: np.array([getattr(column, field) for column in self.columns])
            for name, field in zip(_COLUMNS, _FIELDS, strict=True)
        }
        data["findings"] = np.array([found.get(column.name, "") for column in self.columns])
        return make_frame(data, library)

    # ---- text and HTML

    @property
    def text(self) -> str:
        """All of it as text."""
        parts = [f"{self._title()}\n{self._verdict()}"]
        for level, heading in _HEADINGS.items():
            lines = list(_lines(self.findings, level))
            if lines:
                parts.append("\n".join([heading, *(f"  {line}" for line in lines)]))
        rows = [_cells(column) for column in self.columns[:_MAX_LINES]]
        more = len(self.columns) - len(rows)
        table = text_table(_COLUMNS, rows, left=5)
        parts.append(table + (f"\n… and {more} more columns" if more else ""))
        if self.command:
            parts.append(f"Ready command line\n  {self.command}\n  {self._more()}")
        indented = "\n".join(f"  {line}" for line in self.python.splitlines())
        parts.append(f"In Python\n{indented}")
        return "\n\n".join(parts)

    @property
    def html(self) -> str:
        """All of it as one HTML page without scripts."""
        return page(f"{self.name}: check", list(self._blocks()), "discbayes check")

    def _blocks(self) -> Iterator[Block]:
        yield Text(f"# {self._title()}\n\n{self._verdict()}")
        if self.command:
            yield Text(f"## Ready command line\n\n{CODE}{self.command}\n\n{self._more()}")
        yield Text(f"## In Python\n\n{indent(self.python, CODE)}")
        for level, heading in _HEADINGS.items():
            rows = [_finding_cells(group) for group in _groups(self.findings, level)]
            if rows:
                yield ResultTable(heading, ("what", "where", "finding"), rows, left=3)
        yield ResultTable("Columns", _COLUMNS, [_cells(column) for column in self.columns], left=5)

    def save(self, path: str | Path) -> None:
        """Write the HTML page to a file.

        Parameters
        ----------
        path : str or Path
            The file.

        Examples
        --------
        >>> import tempfile
        >>> from discbayes import check, load_dataset
        >>> iris = load_dataset("iris")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     check(iris.X, iris.y).save(f"{folder}/iris.html")
        """
        replace_file(path, self.html.encode())

    def _more(self) -> str:
        """Return what may be added to the ready command line."""
        groups = [each.name for each in self.columns if each.holds == "repeated identifier"]
        together = f" {_option('--groups', groups[0])}" if len(groups) == 1 else ""
        return (
            f"`--test-size 0.3 --report report.html{together}` at its end holds out test rows, and"
            " writes a report to look at and to send"
        )

    def _title(self) -> str:
        target = "" if self.target is None else f", target {self.target!r}"
        columns = count_of(len(self.columns), "column")
        return f"{self.name}: {count_of(self.n_rows, 'row')}, {columns}{target}"

    def _verdict(self) -> str:
        numbers = Counter(finding.level for finding in self.findings)
        if not numbers[PROBLEM] and not numbers[SUSPICION]:
            return "Nothing stands in the way of learning from it."
        parts = []
        if numbers[PROBLEM]:
            parts.append(f"{count_of(numbers[PROBLEM], 'thing')} to settle")
        if numbers[SUSPICION]:
            parts.append(f"{count_of(numbers[SUSPICION], 'thing')} to look at")
        ready = "" if not self.command else "; the ready command line settles what can be settled"
        return f"{' and '.join(parts)}{ready}."

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<TableCheck: {self._title()}; {listed(self.kinds, 8, str)}>"

    def _repr_html_(self) -> str:
        return self.html


_FIELDS = ("name", "holds", "fit", "advice", "example", "n_missing", "n_distinct")


def _kinds_by_column(findings: Sequence[Finding]) -> dict[str, str]:
    """Return the kinds of findings of each column, in one text."""
    found: dict[str, list[str]] = {}
    for finding in findings:
        if finding.column is not None:
            found.setdefault(finding.column, []).append(finding.kind)
    return {name: ", ".join(kinds) for name, kinds in found.items()}


def _cells(column: CheckedColumn) -> tuple[str, ...]:
    texts = (column.name, column.holds, column.fit, column.advice, column.example)
    more = "+" if column.n_distinct >= MAX_KEYS else ""
    return (*texts, f"{column.n_missing:,}", f"{column.n_distinct:,}{more}")


def _groups(findings: Sequence[Finding], level: str) -> list[list[Finding]]:
    """Return the findings of a level; several of one kind are together."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.level == level:
            groups.setdefault(finding.kind, []).append(finding)
    together = []
    for group in groups.values():
        together += [group] if len(group) > _TOGETHER else [[finding] for finding in group]
    return together


def _parts(group: Sequence[Finding]) -> tuple[str, str, str, str]:
    first = group[0]
    if len(group) == 1:
        return first.kind, first.column or "", first.text, first.way_out
    names = [finding.column for finding in group if finding.column is not None]
    way_out = first.way_out
    if first.column is not None and way_out.endswith(f" {first.column}"):
        way_out = way_out[: -len(first.column)] + list_argument(names)
    return first.kind, listed(names, 8, str), f"{first.column}: {first.text}", way_out


def _finding_cells(group: Sequence[Finding]) -> tuple[str, str, str]:
    kind, where, text, way_out = _parts(group)
    return kind, where, f"{text}; {way_out}" if way_out else text


def _lines(findings: Sequence[Finding], level: str) -> Iterator[str]:
    for group in _groups(findings, level):
        kind, where, text, way_out = _parts(group)
        place = f" in {where}" if where else ""
        yield f"{kind}{place}: {text}{f'; {way_out}' if way_out else ''}"


# ---- making a check


def check(X: Any, y: Any = None) -> TableCheck:
    """Read a table once, and tell everything about it that matters before ``fit``.

    Parameters
    ----------
    X : path, frame, array or list of rows
        A file (CSV, Parquet, Arrow), a folder of files, or a table in memory. CSV text may have
        any of the usual encodings, delimiters and ways to write numbers.
    y : str, or sequence of labels, optional
        The name of the column with the classes, or the classes.

    Returns
    -------
    TableCheck
        What was found, as text, HTML and a frame, a ready command line, and ``read()``.

    See Also
    --------
    BayesNetClassifier.fit : Learn from the table.

    Examples
    --------
    >>> from discbayes import check
    >>> raw = [["P1", "3,5", "yes"], ["P2", "k.A.", "no"], ["P3", "4,25", "yes"]] * 20
    >>> found = check([[*row, k] for k, row in enumerate(raw)])
    >>> found.kinds
    ['decimal comma', 'missing-value mark', 'identifier']
    """
    if isinstance(X, (str, Path)):
        if y is not None and not isinstance(y, str):
            raise TypeError(f"y={y!r} must be the name of the column of {X} with the classes")
        return check_file(X, str(X), y)
    labels = None if y is None or isinstance(y, str) else y
    target = y if isinstance(y, str) else None
    if labels is not None:
        target = str(getattr(labels, "name", None) or _TARGET)
    table = _with_labels(arrow_of(X), labels, target)
    scan = scan_frame(table)
    return _checked(scan, plan_of(scan, CsvFormat(), target), target, X, labels)


def check_file(
    source: str | Path | bytes,
    name: str,
    target: str | None = None,
    given: CsvFormat | None = None,
    decimal: str | None = None,
    progress: Progress | None = None,
) -> TableCheck:
    """Check a file, a folder or CSV text.

    Parameters
    ----------
    source : path or bytes
        What is read.
    name : str
        The table in messages.
    target : str, optional
        The column with the classes.
    given : CsvFormat, optional
        What is given of the format.
    decimal : str, optional
        The character before decimals, if it is given.
    progress : Progress, optional
        The display.
    """
    given = given or CsvFormat()
    scan = scan_file(source, given, name, progress)
    plan = plan_of(scan, given, target, decimal)
    return _checked(scan, plan, target, source, None, decimal)


def plan_of(
    scan: TableScan,
    given: CsvFormat,
    target: str | None,
    decimal: str | None = None,
    categorical: Sequence[str] = (),
) -> ReadingPlan:
    """Return how a table that was scanned is read."""
    texts = (*categorical, *([target] if target is not None else []))
    return plan_reading(scan, given, decimal, texts)


def _checked(
    scan: TableScan,
    plan: ReadingPlan,
    target: str | None,
    source: Any,
    labels: Any,
    decimal: str | None = None,
) -> TableCheck:
    if not scan.n_rows:
        raise ValueError(f"{scan.name} has no rows")
    if target is not None and target not in scan.names:
        near = listed(nearest_first(target, scan.names))
        raise ValueError(
            f"{scan.name} has no column {target!r} (the target); its columns are"
            f" {near}{header_hint(source, scan, target)}"
        )
    findings = [*text_findings(scan, plan), *number_findings(scan, plan)]
    columns = []
    marks: dict[str, tuple[str, ...]] = {}  # of each column
    for column in scan.columns:
        facts = facts_of(scan, plan, column)
        if column.name == target:
            missing = Counter({mark: column.words[mark][0] for mark in facts.marks})
            findings += class_findings(column, scan.n_rows, missing)
            marks[column.name] = facts.marks
            columns.append(_target_column(column, missing, scan.n_rows))
            continue
        checked, found = check_column(facts, scan.n_rows)
        marks[column.name] = tuple(column.words) if checked.advice == "missing" else facts.marks
        columns.append(checked)
        findings += found
    columns = _compare(scan, target, columns, findings)
    findings += row_findings(scan)
    all_marks = dict.fromkeys(mark for some in marks.values() for mark in some)
    missing_values = tuple(mark for mark in all_marks if not _is_value(mark, scan, marks))
    check = TableCheck(
        scan.name,
        scan.n_rows,
        target,
        tuple(findings),
        tuple(columns),
        plan.csv,
        missing_values,
        "",
        "",
        tuple(plan.assumptions(scan)),
        source,
        labels,
    )
    command = _command(check, scan, plan, decimal) if isinstance(source, (str, Path)) else ""
    return replace(check, command=command, python=_python(check))


def header_hint(source: Any, scan: TableScan, target: str) -> str:
    """Return a hint at a header that is not the first line, as titles of exports stand before it.

    >>> title = b"Ward 3;;\\n;;\\nage;note;sick\\n54;a;no\\n"
    >>> header_hint(title, scan_file(title, CsvFormat(), "export.csv"), "sick")
    '; line 3 has it: remove the lines before, so that the names of the columns come first'
    """
    if not isinstance(source, (str, Path, bytes)) or scan.csv is None:
        return ""
    file = source if isinstance(source, bytes) else next(iter(list_files(source)))
    line = line_with(file, scan.csv, target)
    if line is None or line == 1:
        return ""
    before = "the line" if line == 2 else "the lines"
    return (
        f"; line {line} has it: remove {before} before, so that the names of the columns come first"
    )


def _target_column(column: Any, missing: Counter[str], n_rows: int) -> CheckedColumn:
    n_missing = n_rows - column.n_present + missing.total()
    n_classes = column.n_distinct - len(missing)
    fit = f"the target: {count_of(n_classes, 'class', 'es')}"
    return CheckedColumn(column.name, "classes", n_missing, n_classes, column.first[:30], fit)


def _compare(
    scan: TableScan, target: str | None, columns: list[CheckedColumn], findings: list[Finding]
) -> list[CheckedColumn]:
    """Add what only shows beside other columns: duplicates, and columns that tell the class."""
    twins = duplicate_columns(scan)
    leaks = {} if target is None or scan.sample is None else leaking_columns(scan, target)
    drops = {column.name for column in columns if column.advice == "drop"}
    for name in scan.names:
        if name == target or name in drops:
            continue
        way_out = f"leave it out with --drop {name}"
        if name in twins and twins[name] not in drops | {target}:
            text = f"it holds the same as {twins[name]!r} in every row"
            findings.append(Finding("duplicate column", PROBLEM, text, name, way_out))
            drops.add(name)
        elif name in leaks:
            text = (
                f"it decides the class of {leaks[name]:.1%} of the rows by itself: was it known"
                " before the class?"
            )
            findings.append(Finding(LEAK, SUSPICION, text, name, way_out))
            drops.add(name)
    return [
        replace(column, advice="drop") if column.name in drops else column for column in columns
    ]


def _is_value(mark: str, scan: TableScan, marks: dict[str, tuple[str, ...]]) -> bool:
    """Return whether a mark of one column is a value of another one."""
    return any(
        mark in column.values and mark not in marks.get(column.name, ()) for column in scan.columns
    )


# ---- the ready command line


def list_argument(names: Sequence[str]) -> str:
    """Return names as one argument of the command line.

    >>> print(list_argument(["age", "city, country"]))
    'age,"city, country"'
    """
    return shlex.quote(_joined(names))


def _joined(names: Sequence[str]) -> str:
    text = io.StringIO()
    csv_module.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def _option(flag: str, value: str) -> str:
    """Return an option with its value; one that begins with a dash would look like an option."""
    quoted = shlex.quote(value)
    return f"{flag}={quoted}" if value.startswith("-") else f"{flag} {quoted}"


def _command(check: TableCheck, scan: TableScan, plan: ReadingPlan, decimal: str | None) -> str:
    words = ["discbayes fit", shlex.quote(check.name)]
    if check.target is not None:
        words.append(_option("--target", check.target))
    csv = plan.csv
    if csv.encoding is not None:
        words.append(_option("--encoding", csv.encoding))
    if scan.layout is not None and csv.delimiter not in (None, ","):
        words.append(_option("--delimiter", "\\t" if csv.delimiter == "\t" else str(csv.delimiter)))
    sign = decimal or _needed_decimal(plan)
    if sign is not None:
        words.append(_option("--decimal", sign))
    lists = {
        "--na-values": check.missing_values,
        "--drop": check.drop,
        "--categorical": check.categorical,
    }
    words += [_option(flag, _joined(names)) for flag, names in lists.items() if names]
    if scan.ragged.n_rows:
        words.append("--skip-ragged")
    return " ".join([*words, "-o model.json"])


def _needed_decimal(plan: ReadingPlan) -> str | None:
    """Return the character before decimals that an option must name, if columns agree on one."""
    signs = set(plan.decimals.values())
    if plan.ambiguous and not signs:
        return "," if plan.csv.delimiter == ";" else "."
    return "," if signs == {","} else None


def _python(check: TableCheck) -> str:
    if isinstance(check.source, (str, Path)):
        target = "" if check.target is None else f", {check.target!r}"
        source = f"{str(check.source)!r}{target}"
    else:
        source = "X" if check.target is None else "X, y"
    settings = f"categorical={check.categorical!r}" if check.categorical else ""
    return (
        "import discbayes\n"
        f"X, y = discbayes.check({source}).read()\n"
        f"clf = discbayes.BayesNetClassifier({settings}).fit(X, y)"
    )


# ---- tables in memory


def _with_labels(table: Any, labels: Any, target: str | None) -> Any:
    """Return a table with the labels as its last column."""
    if labels is None:
        return table
    values = labels.to_list() if hasattr(labels, "to_list") else list(labels)
    values = [None if value is None or value != value else value for value in values]
    return table.append_column(target, need("pyarrow").array(values))


def _clean(table: Any, how: CsvFormat) -> Any:
    """Return a table in memory, with marks of missing values as missing and texts as numbers."""
    pa, compute = need("pyarrow"), need("pyarrow.compute")
    marks = pa.array(how.missing_values, pa.string())
    for place, name in enumerate(table.column_names):
        column = table.column(place)
        if pa.types.is_dictionary(column.type) and pa.types.is_string(column.type.value_type):
            column = column.cast(pa.string())
        if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
            continue
        texts = column.cast(pa.string())
        texts = compute.if_else(compute.is_in(texts, value_set=marks), None, texts)
        if how.types.get(name) != "string":
            texts = _numbers(texts, how, name)
        table = table.set_column(place, name, texts)
    return table


def _numbers(texts: Any, how: CsvFormat, name: str) -> Any:
    """Return texts as numbers if all of them are; else as they are."""
    pa, compute = need("pyarrow"), need("pyarrow.compute")
    if name in how.numbers:
        return parse_numbers(texts, how.numbers[name], name)
    if name in how.dates:
        return parse_date_column(texts, how.dates[name], name)
    try:
        return compute.cast(
            compute.replace_substring(bare_numbers(texts), how.decimal, "."), "double"
        )
    except pa.ArrowInvalid:
        return texts
