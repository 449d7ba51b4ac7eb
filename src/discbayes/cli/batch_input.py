"""Files that are read in passes, batch by batch: folders, large files, and whatever is given a
limit of memory.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discbayes._lazy_imports import need
from discbayes.classifier import BayesNetClassifier
from discbayes.cli import options
from discbayes.cli.console import UserError
from discbayes.cli.file_tables import STANDARD, csv_input, delimiter_hint, has_known_ending
from discbayes.cli.input_tables import InputTable
from discbayes.cli.models import features_of, text_columns
from discbayes.cli.spelling import as_text
from discbayes.engine import Progress
from discbayes.streams import Throughput, bytes_of, csv_types
from discbayes.streams.batches import Batch
from discbayes.streams.file_sources import GAPS, CsvFormat, FileRange, FileSource
from discbayes.streams.limits import Limits

LARGE = 1 << 28  # bytes of a file that is not read as a whole
# options of which each says that DATA is read in batches
_IN_PASSES = ("memory", "workers", "cluster")


def add_memory(parser: ArgumentParser) -> None:
    """How much memory rows may take."""
    parser.add_argument(
        "--memory",
        type=memory,
        metavar="SIZE",
        help=(
            "read DATA in batches, within a limit such as 2GB; without it folders and files above "
            f"{LARGE >> 20} MiB are read so within 512 MiB"
        ),
    )


def add_cluster(parser: ArgumentParser) -> None:
    """Who works on the rows."""
    group = parser.add_argument_group(
        "cluster", "Work is shared; the model is the same. DATA is read in batches."
    )
    one = group.add_mutually_exclusive_group()
    one.add_argument(
        "--workers", type=options.at_least(1), metavar="N", help="start N processes on this machine"
    )
    one.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help=(
            "the Dask scheduler, such as tcp://10.0.0.5:8786, of a cluster whose machines have"
            " discbayes; they read Parquet and Arrow files themselves if they see them (without"
            " calibration: --calibrate none)"
        ),
    )


def memory(text: str) -> int:
    """A number of bytes, such as 500MB or 2GB."""
    try:
        return bytes_of(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def in_passes(args: Namespace) -> bool:
    """Whether DATA is read in batches."""
    path, asked = (
        Path(args.data),
        [name for name in _IN_PASSES if getattr(args, name, None) is not None],
    )
    if path.exists():
        return bool(asked) or path.is_dir() or path.stat().st_size > LARGE
    if asked and args.data == STANDARD:
        raise UserError(
            f"--{asked[0]}: rows are read twice, which the standard input cannot be: write them to"
            " a file"
        )
    if asked:
        raise UserError(
            f"--{asked[0]} is for files and folders, and there is no {args.data!r}: leave it out"
            " for a data set"
        )
    return False


class ChangedSource:
    """Files of which every batch is changed by a function before it is used.

    ``share`` is how much of them has been read, if that is known.
    """

    once = False
    share: float | None = None

    def __init__(self, args: Namespace, types: dict[str, str], change: Callable[[Any], Any]):
        reading = options.reading(args)
        csv = CsvFormat(reading.delimiter, (*GAPS, *reading.na_values), types, reading.decimal)
        self._files, self._change = FileSource([args.data], csv), change
        self.name, self.paths = self._files.name, self._files.paths
        self._part: FileRange | None = None

    def lengths(self) -> list[int] | None:
        """The number of rows of each file, if they say it."""
        return self._files.lengths()

    def part(self, lengths: list[int], first: int, last: int) -> ChangedSource:
        """Some of the rows."""
        some = copy(self)
        some._part = self._files.part(lengths, first, last)
        return some

    def batches(self, limits: Limits) -> Iterator[Batch]:
        """The rows, file by file."""
        need("pyarrow")
        for batch in (self._part or self._files).batches(limits):
            self.share = batch.share
            yield replace(batch, frame=self._change(batch.frame))


# ---- learning


def fit_in_passes(args: Namespace, model: BayesNetClassifier) -> None:
    """Learn from files that are read twice."""
    text = {args.target, *args.categorical}
    dropped = {*args.drop} - {args.target, args.weights}

    def chosen(table: Any) -> Any:
        return as_text(
            table.drop_columns([name for name in table.column_names if name in dropped]), text
        )

    _check_columns(args)
    no_features = {args.target, args.weights, *dropped}
    categorical = [name for name in args.categorical if name not in no_features]
    cluster = args.workers if args.cluster is None else args.cluster
    model.set_params(memory=args.memory, cluster=cluster, categorical=categorical or "auto")
    source = ChangedSource(args, dict.fromkeys(text, "string"), chosen)
    model.fit(source, args.target, args.weights)


def _check_columns(args: Namespace) -> None:
    """Refuse columns that the first rows do not have, before all rows are read."""
    first = next(
        ChangedSource(args, {}, lambda table: table).batches(Limits(bytes_of(args.memory))), None
    )
    if first is None:
        raise UserError(f"{args.data} has no rows")
    source = InputTable(args.data, first.frame, hint=_hint(args))
    source.require([args.target], "the target")
    source.require(args.categorical, "--categorical")
    source.require(args.drop, "--drop")
    if args.weights is not None:
        source.require([args.weights], "--weights")
    source.without({args.target, args.weights, *args.drop})


def _hint(args: Namespace) -> str:
    given = (
        csv_input(args.data) if has_known_ending(args.data) and Path(args.data).is_file() else None
    )
    return "" if given is None else delimiter_hint(given, options.reading(args))


# ---- predicting


def shares_of_batches(
    model: BayesNetClassifier, args: Namespace, progress: Progress
) -> Iterator[np.ndarray]:
    """The probabilities of the classes, batch by batch in the order of the rows."""
    domain = model.network_.domain
    text, hint, notes = text_columns(domain), _hint(args), [progress]

    def known(table: Any) -> Any:
        said = notes.pop() if notes else Progress()  # what is to say of the columns is said once
        return features_of(domain, InputTable(args.data, as_text(table, text), hint=hint), (), said)

    model.set_params(memory=args.memory)
    pace, source = Throughput("predicting", progress), ChangedSource(args, csv_types(domain), known)
    for shares in model.predict_batches(source, "predict_proba"):
        yield shares
        pace.add(len(shares), source.share)
    pace.end()
