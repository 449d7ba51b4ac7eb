"""Findings about a table: its text, its columns, its rows and its classes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from discbayes._text import count_of, listed
from discbayes.checking import column_scan as kinds
from discbayes.checking.column_scan import MAX_KEYS, MAX_VALUES, ColumnScan
from discbayes.checking.reading_plan import (
    ENCODINGS,
    ReadingPlan,
    holds_dates,
    is_mark,
    order_of,
    shown_delimiter,
)
from discbayes.checking.table_scan import TableScan
from discbayes.data.variables import MANY_NUMBERS, MAX_MARKS, TEXT_VALUES
from discbayes.streams.file_sources import FALSE, TRUE

READING = "reading"  # how the text is read
PROBLEM = "problem"  # what fit refuses, or would learn wrongly
SUSPICION = "suspicion"  # what only a person can tell
NOTE = "note"
_MIN_IDENTIFIERS = 20
_FEW_ROWS = 5  # of a class
_SMALL = 20  # distinct whole numbers that may be codes
_STRANGE_NUMBERS = (9999, 999, 99999, 999999, -9, -99, -999, -9999, -99999)
_MIN_LEAK_ROWS = 50
_PURE = 0.995
TOO_MANY_TEXTS = "refused: too many texts"
LEAK = "gives the class away"
SIMILAR_CLASSES = "similar classes"
_IDENTIFIER = re.compile(
    r"(^|[^a-z])(id|ids|nr|no|num|nummer|number|key|uuid|guid|index|idx|lfd)([^a-z]|$)"
)
_CAMEL_IDENTIFIER = re.compile(r"[a-z](ID|Id|Nr|No)$")
# names of what rows are about, where a value has several rows; "number of visits" is not one
_GROUP = re.compile(r"(^|[^a-z])(id|ids|uuid|guid)([^a-z]|$)")
_MIN_GROUPS = 50
_ROWS_OF_GROUP = 20  # at most, on average


@dataclass(frozen=True)
class Finding:
    """Something that is worth saying of a table.

    Parameters
    ----------
    kind : str
        What it is, in one or two words: "encoding", "identifier", "date", ...
    level : {"reading", "problem", "suspicion", "note"}
        How the text is read; what ``fit`` refuses or would learn wrongly; what only a person can
        tell; or what is good to know.
    text : str
        The finding in a sentence.
    column : str, optional
        The column that it is about.
    way_out : str
        What to do about it; empty if nothing needs to be done.

    Examples
    --------
    >>> from discbayes import check
    >>> X = [[float(number), 1.0] for number in range(8)]
    >>> [(finding.kind, finding.column) for finding in check(X, list("abababab")).findings]
    [('small integers', 'x0'), ('constant column', 'x1'), ('rare class', 'class')]
    """

    kind: str
    level: str
    text: str
    column: str | None = None
    way_out: str = ""


@dataclass(frozen=True)
class CheckedColumn:
    """A column, what it holds, and what ``fit`` does with it.

    Parameters
    ----------
    name : str
        The name.
    holds : str
        What it holds: "numbers", "categories", "dates", "identifier", ...
    n_missing, n_distinct : int
        The number of rows without a value, and of distinct values.
    example : str
        A value.
    fit : str
        What ``fit`` does with it as it is.
    advice : str
        What the ready command line does with it: "", "drop" or "categorical".

    Examples
    --------
    >>> from discbayes import check
    >>> X = [[float(number), "red"] for number in range(8)]
    >>> [(column.name, column.holds) for column in check(X, list("abababab")).columns]
    [('x0', 'whole numbers'), ('x1', 'one value'), ('class', 'classes')]
    """

    name: str
    holds: str
    n_missing: int
    n_distinct: int
    example: str
    fit: str
    advice: str = ""


def text_findings(scan: TableScan, plan: ReadingPlan) -> Iterator[Finding]:
    """Yield what was found of CSV text as such."""
    layout = scan.layout
    if layout is not None:
        encoding = ENCODINGS.get(layout.encoding, layout.encoding)
        if layout.encoding != "utf-8":
            example = f": {layout.example!r:.60}, for example" if layout.example else ""
            yield Finding("encoding", READING, f"the text is {encoding}, not UTF-8{example}")
        elif layout.has_mark:
            yield Finding("byte order mark", READING, "the text is UTF-8 with a byte order mark")
        if plan.csv.delimiter is not None and plan.csv.delimiter != ",":
            sign = shown_delimiter(plan.csv.delimiter)
            yield Finding("delimiter", READING, f"cells are separated by {sign}")
    commas = [name for name, sign in plan.decimals.items() if sign == ","]
    if commas:
        text = f"decimals follow a comma in {listed(commas, 5)}"
        yield Finding("decimal comma", READING, text)
    if scan.ragged.n_rows:
        yield Finding(
            "ragged rows",
            PROBLEM,
            scan.ragged.describe(),
            way_out="correct them, or leave them out with --skip-ragged",
        )
    if scan.repeated_names:
        for name in scan.repeated_names:
            places = [str(k) for k, each in enumerate(scan.names, 1) if each == name]
            text = f"columns {', '.join(places[:5])} have the same name, {name!r}"
            way_out = "rename them in the first line of the file: fit refuses them"
            yield Finding("repeated names", PROBLEM, text, way_out=way_out)


def number_findings(scan: TableScan, plan: ReadingPlan) -> Iterator[Finding]:
    """Yield what was found of numbers that are written in a way of their own."""
    for name, how in plan.csv.numbers.items():
        column = scan.column(name)
        if how.thousands:
            sign = how.thousands[0]
            example = _plain_spaces(_grouped_example(column))
            text = f"{sign!r} stands between thousands: {example!r}, for example"
            text = text.replace(repr(sign), repr(_plain_spaces(sign)))
            yield Finding("thousands", READING, text, name)
        if how.unit:
            example = _plain_spaces(column.first)
            text = f"numbers have the sign {how.unit!r}, which is left out: {example!r}"
            yield Finding("percent" if how.unit in "%‰" else "currency", READING, text, name)
        if how.marks:
            rows = sum(column.words[mark][0] for mark in how.marks)
            text = (
                f"{listed(how.marks, 5)} among numbers is a missing value ({count_of(rows, 'row')})"
            )
            yield Finding("missing-value mark", READING, text, name)
    for name in plan.ambiguous:
        example = scan.column(name).first
        text = f"{example!r} may be a decimal or a thousand, and no other number tells"
        yield Finding(
            "ambiguous numbers", PROBLEM, text, name, "say which with --decimal , or --decimal ."
        )
    for name in plan.mixed:
        column = scan.column(name)
        some = [*map(repr, list(column.values)[:3])]
        text = f"numbers are written in several ways: {', '.join(some)}"
        yield Finding("mixed numbers", PROBLEM, text, name, "write them in one way")


def _plain_spaces(text: str) -> str:
    """Return a text with spaces that are not broken as spaces, which read better than escapes."""
    return text.replace("\u00a0", " ").replace("\u202f", " ")


def _grouped_example(column: ColumnScan) -> str:
    grouped = (value for value in column.values if re.search(r"\d[.,'’ \u00a0\u202f]\d{3}", value))
    return next(grouped, column.first)


# ---- columns


@dataclass(frozen=True)
class ColumnFacts:
    """A column with what the reading plan makes of it."""

    scan: ColumnScan
    is_number: bool
    is_date: bool
    marks: tuple[str, ...]
    n_repeats: int = 0  # rows that repeat an earlier one as a whole

    @property
    def n_present(self) -> int:
        """The number of rows with a value that is not a mark of a missing one."""
        return self.scan.n_present - sum(self.scan.words[mark][0] for mark in self.marks)

    @property
    def n_distinct(self) -> int:
        """The number of distinct values that are not marks of missing ones."""
        return self.scan.n_distinct - len(self.marks)

    @property
    def is_boolean(self) -> bool:
        """Whether all values are true or false, in words."""
        return 0 < len(self.scan.values) <= 6 and set(self.scan.values) <= {*TRUE, *FALSE}

    @property
    def is_whole(self) -> bool:
        """Whether all values are whole numbers."""
        return self.is_number and self.scan.numbers[kinds.WHOLE] == self.scan.n_numbers


def facts_of(scan: TableScan, plan: ReadingPlan, column: ColumnScan) -> ColumnFacts:
    """Return a column with what the reading plan makes of it."""
    words = list(column.words)
    all_marks = len(words) < MAX_VALUES and all(map(is_mark, words))
    is_date = column.name in scan.typed_dates or holds_dates(column)
    held_back = {*plan.ambiguous, *plan.mixed}
    is_number = (
        not is_date
        and column.n_numbers > 0
        and column.name not in held_back
        and all_marks
        and column.n_words <= column.n_numbers
    )
    if is_number or is_date:
        marks = tuple(words)
    else:
        marks = tuple(word for word in words if _marks_missing(column, word))
    return ColumnFacts(column, is_number, is_date, marks, scan.n_duplicate_rows)


def _marks_missing(column: ColumnScan, word: str) -> bool:
    """Return whether a word among others stands for a missing value; most values never do."""
    if len(column.words) >= MAX_VALUES or 2 * column.words[word][0] > column.n_present:
        return False
    others = [value for value in column.values if value != word]
    if word.strip() in ("-", "–", "—"):
        # beside a plus, or one other value only, it is a value
        return len(others) > 1 and not any(value.strip() == "+" for value in others)
    return is_mark(word, among_numbers=False)


def check_column(facts: ColumnFacts, n_rows: int) -> tuple[CheckedColumn, list[Finding]]:
    """Return a column with what fit does with it, and its findings."""
    column = facts.scan
    found: list[Finding] = []
    report = _Reporter(column.name, found)
    if facts.marks and not facts.is_number:
        rows = sum(column.words[mark][0] for mark in facts.marks)
        marks = listed(facts.marks, 5)
        if facts.is_date:
            text = f"{marks} among dates is a missing value ({count_of(rows, 'row')})"
            report("missing-value mark", READING, text)
        else:
            text = f"{marks} probably marks a missing value ({count_of(rows, 'row')})"
            report("missing-value mark", PROBLEM, text, "name it with --na-values")
    verdict = _judge(facts, report)
    missing = n_rows - facts.n_present
    example = " ".join(column.first.split())
    shown = example if len(example) <= 30 else f"{example[:29]}…"
    checked = CheckedColumn(
        column.name,
        verdict.holds,
        missing,
        facts.n_distinct,
        shown,
        verdict.fit,
        verdict.advice,
    )
    return checked, found


class _Verdict(NamedTuple):
    """The content of a column, the way fit treats it, and an advice."""

    holds: str
    fit: str
    advice: str = ""


def _judge(facts: ColumnFacts, report: _Reporter) -> _Verdict:
    """Return what a column holds, and report what is worth knowing."""
    column = facts.scan
    drop = f"leave it out with --drop {column.name}"
    if facts.n_present == 0:
        report("empty column", PROBLEM, "no row has a value", drop)
        return _Verdict("nothing", "not used: it is empty", "drop")
    if facts.n_distinct == 1:
        report("constant column", NOTE, f"all values are {column.first!r:.60}", drop)
        return _Verdict("one value", "not used: it has one value", "drop")
    if facts.is_date:
        return _check_dates(facts, report, drop)
    if _is_identifier(facts):
        text = f"a different value in every row, such as {column.first!r:.60}"
        report("identifier", PROBLEM, text, drop)
        return _Verdict("identifier", _kept_fit(facts), "drop")
    if _is_group(facts):
        text = (
            f"{facts.n_distinct:,} values in {facts.n_present:,} rows name what a row is about;"
            f" --groups {column.name} keeps rows of one together in tests"
        )
        report("repeated identifier", PROBLEM, text, drop)
        return _Verdict("repeated identifier", _kept_fit(facts), "drop")
    if facts.is_boolean:
        return _Verdict("true or false", "two values")
    if facts.is_number:
        return _check_number(facts, report)
    if _is_free_text(facts):
        text = (
            f"{facts.n_distinct:,} different texts in {facts.n_present:,} rows, such as"
            f" {column.first!r:.60}"
        )
        report("free text", PROBLEM, text, drop)
        return _Verdict("free text", _text_fit(facts), "drop")
    return _check_words(facts, report)


class _Reporter:
    """Adds findings of one column to a list."""

    def __init__(self, column: str, found: list[Finding]):
        self._column = column
        self._found = found

    def __call__(self, kind: str, level: str, text: str, way_out: str = "") -> None:
        self._found.append(Finding(kind, level, text, self._column, way_out))


def _check_dates(facts: ColumnFacts, report: _Reporter, drop: str) -> _Verdict:
    column = facts.scan
    order = order_of(column)
    if column.dates and order is None:
        why = "dates are written in several ways"
        if len(column.dates) == 1 and column.day_beyond == (False, False):
            why = f"{column.first!r} is a date whose day and month cannot be told apart"
        report("date", PROBLEM, why, f"write dates as year-month-day, or {drop}")
        return _Verdict("dates", "refused: unclear dates", "drop")
    written = "" if order is None else f" ({order})"
    text = (
        f"{column.first!r} is a date{written}: year, month, weekday, hour and days since 2000"
        " become columns"
    )
    report("date", NOTE, text, "--dates drop leaves dates out")
    return _Verdict("dates", "year, month, weekday, days")


def _is_identifier(facts: ColumnFacts) -> bool:
    column = facts.scan
    if facts.n_present < _MIN_IDENTIFIERS:
        return False
    unique = facts.n_present - facts.n_repeats <= facts.n_distinct <= facts.n_present or (
        column.n_distinct >= MAX_KEYS and (column.rising or not facts.is_number)
    )
    if not unique:
        return False
    if facts.is_number:
        return facts.is_whole and (_is_running(facts) or _is_named_identifier(column.name))
    return not _reads_like_text(column)


def _is_running(facts: ColumnFacts) -> bool:
    """Return whether whole numbers that differ rise from row to row, or have no gaps."""
    ends = sorted(facts.scan.extremes)
    return facts.scan.rising or (len(ends) > 1 and ends[-1] - ends[0] + 1 == facts.n_distinct)


def _is_group(facts: ColumnFacts) -> bool:
    """Return whether a column names what rows are about, such as a patient with several rows."""
    name = facts.scan.name
    is_named = bool(_GROUP.search(name.lower())) or name.endswith(("ID", "Id"))
    return (
        is_named
        and _MIN_GROUPS < facts.n_distinct < facts.n_present <= _ROWS_OF_GROUP * facts.n_distinct
        and (facts.is_whole or (not facts.is_number and not _reads_like_text(facts.scan)))
    )


def _kept_fit(facts: ColumnFacts) -> str:
    """Return what fit does with an identifier that is not left out."""
    return "numbers, in intervals" if facts.is_number else _text_fit(facts)


def _is_named_identifier(name: str) -> bool:
    return bool(_IDENTIFIER.search(name.lower()) or _CAMEL_IDENTIFIER.search(name))


def _reads_like_text(column: ColumnScan) -> bool:
    present = max(1, column.n_present)
    return column.n_spaced > 0.3 * present or column.n_characters > 25 * present


def _is_free_text(facts: ColumnFacts) -> bool:
    is_beyond = facts.scan.n_distinct >= MAX_KEYS  # of which no more are counted
    return facts.n_distinct > TEXT_VALUES and (2 * facts.n_distinct > facts.n_present or is_beyond)


def _text_fit(facts: ColumnFacts) -> str:
    return TOO_MANY_TEXTS if facts.n_distinct > TEXT_VALUES else "categories"


def _check_number(facts: ColumnFacts, report: _Reporter) -> _Verdict:
    column = facts.scan
    strange = _strange_number(facts)
    if strange is not None:
        value, rows, near = strange
        text = (
            f"{value:g} in {count_of(rows, 'row')}, far from the other numbers (next: {near:g}),"
            " may mark a missing value"
        )
        report("suspicious number", SUSPICION, text, f"if so, name it with --na-values {value:g}")
    if column.n_leading_zeros and (column.width or -1) > 1:
        text = f"numbers with leading zeros, such as {_zero_example(column)!r}, are labels"
        report("leading zeros", PROBLEM, text, f"keep them with --categorical {column.name}")
        return _Verdict("labels", "numbers, in intervals; zeros are lost", "categorical")
    if facts.is_whole and set(column.values) <= {"0", "1", *facts.marks}:
        report("0/1 code", NOTE, "the numbers 0 and 1 are kept as two values")
        return _Verdict("0 or 1", "two values")
    if facts.is_whole and facts.n_distinct <= _SMALL:
        text = f"{facts.n_distinct} different whole numbers, which may be codes"
        report("small integers", NOTE, text, f"if they are labels, --categorical {column.name}")
        return _Verdict("whole numbers", "numbers, in intervals")
    return _Verdict("numbers", "numbers, in intervals")


def _zero_example(column: ColumnScan) -> str:
    return next((value for value in column.values if value.startswith("0")), column.first)


def _strange_number(facts: ColumnFacts) -> tuple[float, int, float] | None:
    """Return a number such as 999 that is far from all others, its rows, and the next number."""
    ordered = sorted(facts.scan.extremes)
    if len(ordered) < 3 or facts.n_distinct < 5:
        return None
    for value, near, rest in ((ordered[-1], ordered[-2], ordered[0]), (*ordered[:2], ordered[-1])):
        rows = facts.scan.extremes[value]
        far = abs(value) >= 2 * max(abs(near), abs(rest) if value < 0 else 0)
        beyond = far if value > 0 else near >= 0
        if value in _STRANGE_NUMBERS and rows >= 2 and beyond:
            return value, rows, near
    return None


def _check_words(facts: ColumnFacts, report: _Reporter) -> _Verdict:
    column = facts.scan
    fit = f"{facts.n_distinct:,} categories"
    words = {word: seen for word, seen in column.words.items() if word not in facts.marks}
    few = 0 < len(words) <= min(MAX_MARKS, column.n_distinct // 4)
    if column.n_numbers and column.n_distinct >= MANY_NUMBERS and few:
        word = next(iter(words))
        text = (
            f"all values are numbers, except {listed(words)} (row {words[word][1]} has {word!r}):"
            " each number is a category"
        )
        way_out = "if these are missing values, name them with --na-values"
        report("words among numbers", PROBLEM, text, way_out)
        return _Verdict("numbers and words", fit, "missing")
    similar = _similar(set(column.values) - set(facts.marks))
    if similar:
        report("similar values", SUSPICION, _told_similar(similar), "write them in one way")
    if facts.n_distinct > TEXT_VALUES:
        text = f"{facts.n_distinct:,} different texts: few rows have each of them"
        report("many values", NOTE, text, "join them into fewer")
    return _Verdict("categories", fit)


def _similar(values: Iterable[str]) -> list[list[str]]:
    """Return the values that differ by case or spaces only, together."""
    groups: dict[str, list[str]] = defaultdict(list)
    for value in values:
        groups[" ".join(value.casefold().split())].append(value)
    return [sorted(group) for group in groups.values() if len(group) > 1]


def _told_similar(groups: Sequence[list[str]]) -> str:
    shown = "; ".join(", ".join(map(repr, group)) for group in sorted(groups)[:3])
    more = "; …" if len(groups) > 3 else ""
    return f"{shown}{more} differ by case or spaces only, and are different values"


# ---- columns together, rows, classes


def duplicate_columns(scan: TableScan) -> dict[str, str]:
    """Return columns that hold the same in every row as one before them, with that one."""
    groups: dict[tuple[int, int], list[str]] = defaultdict(list)
    for column in scan.columns:
        if column.n_distinct > 1:
            groups[column.fingerprint, column.n_distinct].append(column.name)
    return {name: names[0] for names in groups.values() for name in names[1:]}


def leaking_columns(scan: TableScan, target: str) -> dict[str, float]:
    """Return columns that give the class away, with the share of rows that they decide.

    Some of the rows are looked at, from all over the table. A column gives the class away if nearly
    all rows with the same value have the same class, or if numbers in rising order do not change
    the class more often than there are classes.
    """
    names = scan.names
    labels = scan.sample.column(names.index(target))
    codes = labels.combine_chunks().dictionary_encode()
    y = codes.indices.fill_null(-1).to_numpy()
    shares = np.bincount(y[y >= 0]) if (y >= 0).any() else np.zeros(1)
    if (y >= 0).sum() < _MIN_LEAK_ROWS or shares.size < 2 or shares.max() > 0.98 * shares.sum():
        return {}
    found = {}
    for place, column in enumerate(scan.columns):
        if column.name != target and column.n_distinct > 1:
            purity = _purity(scan.sample.column(place), y, column)
            if purity >= _PURE:
                found[column.name] = purity
    return found


def _purity(texts: Any, y: np.ndarray, column: ColumnScan) -> float:
    """Return the share of rows whose class follows from their value."""
    coded = texts.combine_chunks().dictionary_encode()
    places = coded.indices.fill_null(-1).to_numpy()
    used = (places >= 0) & (y >= 0)
    n_values, n_rows = len(coded.dictionary), int(used.sum())
    if n_rows < max(_MIN_LEAK_ROWS, 0.5 * y.size):
        return 0.0
    if 10 * n_values > n_rows:
        return _separation(coded, places[used], y[used], column)
    table = np.zeros((n_values, int(y.max()) + 1))
    np.add.at(table, (places[used], y[used]), 1)
    return float(table.max(axis=1).sum() / n_rows)


def _separation(coded: Any, places: np.ndarray, y: np.ndarray, column: ColumnScan) -> float:
    """Return 1 if numbers in rising order have each class in one run, else 0."""
    if column.n_numbers < column.n_present:
        return 0.0
    values = [float(_plain(text)) for text in coded.dictionary.to_pylist()]
    numbers = np.array(values)[places]
    order = np.lexsort((y, numbers))
    ordered = y[order]
    runs = 1 + int(np.count_nonzero(np.diff(ordered)))
    return float(runs == np.unique(y).size)


def _plain(text: str) -> str:
    """Return a number with a decimal point and nothing else; the order of a column stays right."""
    digits = re.sub(r"[^0-9eE+.,-]", "", text.replace("\u2212", "-"))
    if "," in digits and "." in digits:
        thousands = min(",.", key=digits.rfind)
        digits = digits.replace(thousands, "")
    digits = digits.replace(",", ".")
    whole, _, end = digits.rpartition(".")
    return f"{whole.replace('.', '')}.{end}" if whole else digits or "nan"


def row_findings(scan: TableScan) -> Iterator[Finding]:
    """Yield what was found of rows."""
    if scan.n_duplicate_rows:
        among = (
            f" of the first {scan.n_compared_rows:,}" if scan.n_compared_rows < scan.n_rows else ""
        )
        text = f"{count_of(scan.n_duplicate_rows, 'row')}{among} repeat an earlier one"
        yield Finding(
            "duplicate rows", NOTE, text, way_out="if cases were exported twice, remove the copies"
        )


def class_findings(column: ColumnScan, n_rows: int, missing: Counter[str]) -> Iterator[Finding]:
    """Yield what was found of the classes."""
    name = column.name
    unlabeled = n_rows - column.n_present + missing.total()
    if unlabeled:
        text = f"{count_of(unlabeled, 'row')} of {n_rows:,} have no class"
        way_out = "fit leaves them out; predict can answer them later"
        yield Finding("unlabeled rows", PROBLEM, text, name, way_out)
    classes = {value: rows for value, rows in column.values.items() if value not in missing}
    if len(classes) > MAX_VALUES or (len(classes) > 50 and 2 * len(classes) > column.n_present):
        text = f"{column.n_distinct:,} different values are not classes"
        yield Finding("too many classes", PROBLEM, text, name, "group them first")
        return
    if len(classes) < 2:
        text = f"there is one class only: {listed(classes)}"
        yield Finding("one class", PROBLEM, text, name, "name another column with --target")
        return
    similar = _similar(classes)
    if similar:
        text = _told_similar(similar).replace("values", "classes")
        yield Finding(SIMILAR_CLASSES, PROBLEM, text, name, "write them in one way")
    rare = {value: rows for value, rows in classes.items() if rows < _FEW_ROWS}
    if rare:
        shown = listed(rare, 5, lambda value: f"{value!r} ({rare[value]})")
        text = f"classes with fewer than {_FEW_ROWS} rows: {shown}"
        yield Finding("rare class", NOTE, text, name, "join them with others, or expect little")
