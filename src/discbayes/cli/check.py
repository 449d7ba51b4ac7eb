"""``discbayes check``: what a table holds, how it is read, and the command line that fits it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from discbayes.checking.table_check import TableCheck, check_file
from discbayes.cli import options
from discbayes.cli.console import STANDARD, UserError
from discbayes.cli.console_encoding import read_standard_input
from discbayes.cli.input_tables import is_read, name_of
from discbayes.cli.outputs import check_output, is_standard, write_bytes

SUMMARY = "check a table before learning: how it is read, and what fit would do with its columns"
EXAMPLES = """examples:
  discbayes check patients.csv
  discbayes check patients.csv --target diagnosis
  discbayes check export.csv --target diagnosis -o check.html

The table is read once, within bounded memory. The last lines are a command line that reads it as it
should be read. Nothing is changed."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = options.adder(parser)
    add("DATA", "a CSV, Parquet or Arrow file, a folder of them, or - (CSV from stdin)")
    add("--target COLUMN", "the column with the classes")
    add("-o, --output FILE", "write an HTML page, if the name ends with .html, or the text")
    options.add_reading(parser)


def run(args: Namespace) -> None:
    """Check, and print or write what was found."""
    check_output(args.output, [args.data])
    if not is_read(args.data):
        raise UserError(f"{args.data}: no such file")
    source = read_standard_input() if args.data == STANDARD else args.data
    given = options.csv_format(args)
    found = check_file(
        source, name_of(args.data), args.target, given, args.decimal, progress=args.progress
    )
    if args.output is None or is_standard(args.output):
        print(found.text)
    else:
        write_bytes(_content(found, args.output), args.output)


def _content(found: TableCheck, path: str) -> bytes:
    is_page = Path(path).suffix.lower() in (".html", ".htm")
    return found.html.encode() if is_page else f"{found.text}\n".encode()
