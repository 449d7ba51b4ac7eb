"""How DATA is read: found in the file, taken from the model, or given by options."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from discbayes._text import listed, some_of
from discbayes.checking.findings import (
    LEAK,
    PROBLEM,
    SIMILAR_CLASSES,
    SUSPICION,
    TOO_MANY_TEXTS,
    Finding,
    check_column,
    class_findings,
    facts_of,
    leaking_columns,
)
from discbayes.checking.reading_plan import ReadingPlan, plan_reading
from discbayes.checking.table_scan import TableScan, scan_file
from discbayes.cli.console import complain
from discbayes.cli.options import csv_format
from discbayes.streams.csv_format import CsvFormat
from discbayes.streams.file_sources import CSV, format_of, has_known_ending, list_files
from discbayes.streams.text_detection import detect_layout


def find_format(args: Namespace, source: str | bytes, text: Collection[str]) -> CsvFormat:
    """Return how CSV text is read, and report in one line what was assumed.

    Columns of text that ``fit`` would refuse are added to those that are left out, with a note.

    Parameters
    ----------
    args : Namespace
        The parsed options; ``stored_format`` is that of the model, if there is one. The format is
        kept in them as ``csv``.
    source : str or bytes
        A file, a folder, or CSV text.
    text : collection of str
        The columns that are read as text.
    """
    if not is_csv(source):
        return csv_format(args)
    stored = getattr(args, "stored_format", None)
    if stored is not None:
        args.csv = _like_model(stored, args, source)
        return csv_format(args)
    scan = scan_file(source, csv_format(args), args.data)
    texts = (*text, *getattr(args, "drop", ()))
    plan = plan_reading(scan, csv_format(args), args.decimal, texts)
    args.csv = plan.csv
    _tell(args, scan, plan)
    is_learning = hasattr(args, "drop") and getattr(args, "model", None) is None
    if is_learning and args.target in scan.names:
        _check_columns(args, scan, plan)
    return csv_format(args)


def is_csv(source: str | bytes) -> bool:
    """Return whether a source is CSV text or a file, or a folder of files, of it."""
    if isinstance(source, bytes):
        return True
    files = list_files(source)
    return has_known_ending(files[0]) and format_of(files[0]) is CSV


def _tell(args: Namespace, scan: TableScan, plan: ReadingPlan) -> None:
    """Report what was assumed, without what the options set."""
    assumed = plan.assumptions(scan)
    if assumed:
        args.progress.stage(f"read as {', '.join(assumed)}; `discbayes check` tells more")


def _check_columns(args: Namespace, scan: TableScan, plan: ReadingPlan) -> None:
    """Leave out columns of text that fit would refuse, and say what else a check would tell."""
    settled = {args.target, getattr(args, "weights", None), *args.drop, *args.categorical}
    settled |= {getattr(args, "groups", None), getattr(args, "time", None)}
    refused: dict[str, str] = {}
    told: list[tuple[str, str]] = []
    for column in scan.columns:
        if column.name in settled or column.name in scan.repeated_names:
            continue
        checked, findings = check_column(facts_of(scan, plan, column), scan.n_rows)
        if checked.fit == TOO_MANY_TEXTS:
            refused[column.name] = checked.holds
        else:
            told += [(each.kind, column.name) for each in findings if _is_told(each)]
    told += [("mixed numbers", name) for name in plan.mixed if name not in settled]
    if scan.sample is not None:
        target = scan.column(args.target)
        labels = class_findings(target, scan.n_rows, Counter())
        told += [(each.kind, args.target) for each in labels if each.kind == SIMILAR_CLASSES]
        marks = facts_of(scan, plan, target).marks
        if marks:
            told.append((f"class {listed(marks, 3)} may be a missing-value mark", args.target))
        known = {*settled, *refused}
        told += [(LEAK, name) for name in leaking_columns(scan, args.target) if name not in known]
    if refused and len(refused) < len(scan.names) - 1:
        args.drop = (*args.drop, *refused)
        which = some_of([f"{name!r} ({what})" for name, what in refused.items()], 5)
        complain(
            "note", f"left out {which}: too many different texts; --categorical keeps a column"
        )
    if told:
        which = some_of([f"{name!r} ({kind})" for kind, name in told], 5)
        args.progress.stage(f"{which}: `discbayes check` says what may be done")


def _is_told(finding: Finding) -> bool:
    """Return whether learning goes on with what was found, without a word on it."""
    return finding.level in (PROBLEM, SUSPICION) and finding.kind not in ("date", "empty column")


def _like_model(stored: CsvFormat, args: Namespace, source: Any) -> CsvFormat:
    """Return the format of the model, with the options and the layout of this file."""
    known = csv_format(args)
    first = source if isinstance(source, bytes) else list_files(source)[0]
    layout = detect_layout(first, known.encoding, stored.encoding or "cp1252")
    delimiter = known.delimiter or layout.delimiter or stored.delimiter
    marks = dict.fromkeys((*stored.missing_values, *args.na_values))
    encoding = None if layout.encoding == "utf-8" else layout.encoding
    if stored.delimiter not in (None, delimiter) or stored.encoding != encoding:
        args.progress.stage(
            f"{args.data} is {layout.encoding} text with {delimiter!r} between cells, other than"
            " the training file"
        )
    return replace(
        stored,
        delimiter=delimiter,
        encoding=encoding,
        missing_values=tuple(marks),
        decimal=args.decimal or stored.decimal,
        skips_ragged=args.skip_ragged or stored.skips_ragged,
    )


def stored_format(args: Namespace) -> CsvFormat | None:
    """Return how the training file was read, to be kept with the model; None if it was not CSV."""
    found: CsvFormat | None = getattr(args, "csv", None)
    if found is None:
        return None
    return replace(
        found,
        # what is usual is left out, so that models of equal rows have equal bytes
        delimiter=None if found.delimiter == "," else found.delimiter,
        types={},
        missing_values=tuple(found.missing_values),
        dropped=tuple(args.drop),
    )
