"""``discbayes datasets``: list the data sets, or write one of them to a file."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from discbayes._text import text_table
from discbayes.cli import options
from discbayes.cli.input_tables import dataset_table, named_dataset
from discbayes.cli.outputs import check_table, write_table
from discbayes.datasets import list_datasets

SUMMARY = "list the data sets that are known by name, or write one of them to a file"
EXAMPLES = """examples:
  discbayes datasets
  discbayes datasets iris -o iris.csv

Without a file name the data go to stdout as CSV. The environment variable DISCBAYES_DATA adds a
folder of data sets. openml:NAME downloads one of OpenML; no other name leaves this machine."""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = options.adder(parser)
    add("NAME", "the data set to write", nargs="?")
    add("-o, --output FILE", "CSV or Parquet by its ending (default: CSV to stdout)")


def finish(parser: ArgumentParser, args: Namespace) -> None:
    """Refuse a file without a data set to write to it."""
    if args.output is not None and args.name is None:
        parser.error("-o needs the NAME of the data set to write")


def run(args: Namespace) -> None:
    """List, or write."""
    if args.name is None:
        print(_listing())
        return
    check_table(args.output, [args.name])
    data = named_dataset(args.name)
    args.progress.stage(f"{data!r}, target {data.target!r}")
    write_table(dataset_table(data), args.output)


def _listing() -> str:
    rows = [
        [info.name, info.source, str(info.n_rows), str(info.n_features), str(info.n_classes)]
        for info in list_datasets()
    ]
    return text_table(["name", "source", "rows", "features", "classes"], rows, left=2)
