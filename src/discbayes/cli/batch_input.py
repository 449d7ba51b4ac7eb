"""Files that are read in batches: folders, large files, and any file with a memory limit."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discbayes.classifier.predicting import PosteriorClassifier
from discbayes.cli.console import STANDARD, UserError, complain
from discbayes.cli.input_tables import InputTable, as_text, delimiter_hint
from discbayes.cli.models import features_of, known_dropped, text_columns
from discbayes.cli.options import MAX_WHOLE_FILE, csv_format
from discbayes.cli.reading import find_format
from discbayes.engine import Progress
from discbayes.streams import Throughput, bytes_of, csv_types
from discbayes.streams.batches import Batch, Limits
from discbayes.streams.file_sources import FileRange, FileSource

# options that read DATA in batches, whatever its size
_BATCH_OPTIONS = ("memory", "workers", "cluster")


def reads_batches(args: Namespace) -> bool:
    """Return whether DATA is read in batches."""
    path = Path(args.data)
    given = [name for name in _BATCH_OPTIONS if getattr(args, name, None) is not None]
    if path.exists():
        return bool(given) or path.is_dir() or path.stat().st_size > MAX_WHOLE_FILE
    if given and args.data == STANDARD:
        raise UserError(
            f"--{given[0]}: rows are read twice, which the standard input cannot be: write them to"
            " a file"
        )
    if given:
        raise UserError(
            f"--{given[0]} is for files and folders, and there is no {args.data!r}: leave it out"
            " for a data set"
        )
    return False


class TransformedFiles:
    """A source of batches: files, each batch of which is transformed by a function.

    Parameters
    ----------
    args : Namespace
        The parsed options, with ``data`` and the CSV format.
    types : dict of str to str
        The arrow types of CSV columns that are not inferred.
    transform : callable
        From the arrow table of a batch to another one.

    Attributes
    ----------
    share : float or None
        The share of the bytes that has been read, if it is known.
    """

    once = False
    share: float | None = None

    def __init__(self, args: Namespace, types: dict[str, str], transform: Callable[[Any], Any]):
        self._files = FileSource([args.data], replace(csv_format(args), types=types))
        self._transform = transform
        self.name = self._files.name
        self.paths = self._files.paths
        self._part: FileRange | None = None

    def lengths(self) -> list[int] | None:
        """Return the number of rows of each file, if the files store it."""
        return self._files.lengths()

    def part(self, lengths: list[int], first: int, last: int) -> TransformedFiles:
        """Return a source of some of the rows."""
        some = copy(self)
        some._part = self._files.part(lengths, first, last)
        return some

    def batches(self, limits: Limits) -> Iterator[Batch]:
        """Yield the rows, file by file."""
        for batch in (self._part or self._files).batches(limits):
            self.share = batch.share
            yield replace(batch, frame=self._transform(batch.frame))


def fit_batches(args: Namespace, model: Any) -> None:
    """Fit a model on files that are read in two passes."""
    text = {args.target, *args.categorical}
    find_format(args, args.data, text)
    dropped = {*args.drop} - {args.target, args.weights}
    target = args.target
    notes = ["rows without a class are left out; `discbayes predict` can answer them later"]

    def selected(table: Any) -> Any:
        kept = [name for name in table.column_names if name not in dropped]
        return _labeled(as_text(table.select(kept), text), target, notes)

    _check_columns(args)
    not_features = {args.target, args.weights, *dropped}
    categorical = [name for name in args.categorical if name not in not_features]
    cluster = args.workers if args.cluster is None else args.cluster
    model.set_params(memory=args.memory, cluster=cluster, categorical=categorical or "auto")
    source = TransformedFiles(args, dict.fromkeys(text, "string"), selected)
    model.fit(source, args.target, args.weights)


def _labeled(table: Any, target: str, notes: list[str]) -> Any:
    """Return the rows that have a class; warn once that others are left out."""
    labels = table.column(target)
    if not labels.null_count:
        return table
    if notes:
        complain("note", notes.pop())
    return table.filter(labels.is_valid())


def _check_columns(args: Namespace) -> None:
    """Raise an error for columns that the first rows do not have, before all rows are read."""
    files = TransformedFiles(args, {}, lambda table: table)
    first = next(files.batches(Limits(bytes_of(args.memory))), None)
    if first is None:
        raise UserError(f"{args.data} has no rows")
    hint = delimiter_hint(args.data, csv_format(args))
    source = InputTable(args.data, first.frame, hint=hint)
    source.require_roles(args.target, args)
    source.without({args.target, args.weights, *args.drop})


def rows_in_batches(
    model: PosteriorClassifier, args: Namespace
) -> Iterator[tuple[InputTable, Any]]:
    """Yield each batch of rows with all its columns, and with those of the model alone."""
    domain = model.domain_
    text = text_columns(domain)
    hint = delimiter_hint(args.data, csv_format(args))
    throughput = Throughput("predicting", args.progress)
    files = TransformedFiles(args, csv_types(domain), lambda table: as_text(table, text))
    progress = args.progress
    for batch in files.batches(Limits(bytes_of(args.memory))):
        source = InputTable(args.data, batch.frame, hint=hint)
        yield source, features_of(domain, source, args.keep or (), progress)
        progress = Progress()  # the columns are reported once, with the first batch
        throughput.add(batch.frame.num_rows, files.share)
    throughput.end()


def predict_batches(model: PosteriorClassifier, args: Namespace) -> Iterator[np.ndarray]:
    """Yield the probabilities of the classes, batch by batch in the order of the rows."""
    domain = model.domain_
    text = text_columns(domain)
    find_format(args, args.data, text)
    hint = delimiter_hint(args.data, csv_format(args))
    notes = [args.progress]  # the columns are reported once, with the first batch

    def features(table: Any) -> Any:
        source = InputTable(args.data, as_text(table, text), hint=hint)
        return features_of(
            domain, source, known_dropped(args), notes.pop() if notes else Progress()
        )

    model.set_params(memory=args.memory)
    throughput = Throughput("predicting", args.progress)
    source = TransformedFiles(args, csv_types(domain), features)
    for probabilities in model.predict_batches(source, "predict_proba"):
        yield probabilities
        throughput.add(len(probabilities), source.share)
    throughput.end()
