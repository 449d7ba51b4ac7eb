"""``discbayes predict``: classes, and their probabilities, for the rows of a table."""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from discbayes._lazy_imports import need
from discbayes.classifier.error_bars import ErrorBars
from discbayes.classifier.predicting import PosteriorClassifier
from discbayes.cli import options
from discbayes.cli.batch_input import predict_batches, reads_batches, rows_in_batches
from discbayes.cli.console import UserError
from discbayes.cli.input_tables import InputTable
from discbayes.cli.models import load_model, read_rows, require_network
from discbayes.cli.outputs import check_table, is_standard, write_batches, write_table
from discbayes.data.frames import free_name, refuse_lone_surrogates
from discbayes.streams.file_sources import format_of

SUMMARY = "predict the class of every row; missing values are marginalized exactly"
EXAMPLES = """examples:
  discbayes predict model.json new.csv --keep Patient-ID
  discbayes predict model.json new.csv --keep all --why 3 -o answers.csv
  discbayes predict model.json new.csv --proba -o answers.parquet
  discbayes predict model.json new.csv

Without options the answer is one column, the class of each row. With --keep, --why or --interval it
has the number of each row (the first below the header is 1), the class and its probability.
--interval 90 adds its ends from the counts that models of --parameters map keep. A reason such
as "glucose >= 155: +1.3" is what the value adds to the log odds of the class. Probabilities in CSV
are rounded to four decimals; --full-precision, Parquet and Arrow files have all digits."""
DIGITS = 4
ALL = "all"
BLOCK_ROWS = 1000  # contributions to all classes take memory
COMMON = (
    "--output",
    "--keep",
    "--why",
    "--proba",
)  # options of the short help


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = options.adder(parser)
    options.add_model(parser)
    add("DATA", options.DATA_OR_FOLDER)
    add("-o, --output FILE", "CSV, Parquet or Arrow by its ending (default: CSV to stdout)")
    add("--keep LIST", "columns of DATA to copy, such as an identifier; all for all", options.names)
    add("--why N", "add the N values that contribute most to each decision", options.at_least(1))
    add("--proba", "add the probability of every class")
    percent = options.positive("number above 0 and below 100, such as 90", math.nextafter(100, 0))
    add("--interval PERCENT", "add the interval that holds the probability so often", percent)
    add("--full-precision", "do not round probabilities in CSV")
    options.add_unknown(parser)
    options.add_limits(parser)
    options.add_effort(parser)
    options.add_memory(parser)
    options.add_reading(parser)


def run(args: Namespace) -> None:
    """Read, predict, write."""
    check_table(args.output, [args.model, args.data])
    model = load_model(args)
    target = model.domain_.target
    refuse_lone_surrogates({target.name: model.classes_}, "no file of a table can hold it")
    in_batches = reads_batches(args)
    args.error_bars = _error_bars(model, args)
    with_rows = args.keep or args.why or args.interval
    if in_batches and not with_rows:
        tables = (_answers(model, shares, args) for shares in predict_batches(model, args))
        write_batches(tables, args.output, target.labels)
        return
    if in_batches:
        # texts of later batches are not known yet: a quote among them stands for what may come
        write_batches(_tables(model, args, rows_in_batches(model, args)), args.output, ['"'])
        return
    source, X = read_rows(model, args)
    args.progress.stage(f"predicting {X.num_rows} rows")
    if with_rows:
        write_table(next(_tables(model, args, iter([(source, X)]))), args.output)
    else:
        write_table(_answers(model, model.predict_proba(X), args), args.output)


def _tables(model: Any, args: Namespace, parts: Iterator[tuple[InputTable, Any]]) -> Iterator[Any]:
    """Yield kept columns, answers and reasons, for each part of the rows."""
    pa, first = need("pyarrow"), 1
    for source, X in parts:
        shares = model.predict_proba(X)
        answers = _answers(model, shares, args, with_top=True)
        if args.interval:
            answers = _with_interval(answers, shares.argmax(axis=1), X, args)
        kept = _kept(source, answers.column_names, args)
        row = free_name("row", [*kept, *answers.column_names])
        columns = {row: pa.array(np.arange(first, first + X.num_rows)), **kept}
        columns |= dict(zip(answers.column_names, answers.columns, strict=True))
        if args.why:
            columns |= _reasons(model, X, args.why)
        yield pa.table(columns)
        first += X.num_rows


def _kept(source: InputTable, taken: list[str], args: Namespace) -> dict[str, Any]:
    """Return the columns of --keep; one with the name of an answer is called "NAME in DATA"."""
    known = source.table.column_names
    wanted = args.keep or ()
    if wanted == (ALL,) and ALL not in known:
        wanted = tuple(known)
    source.require(wanted, "--keep")
    names = [free_name(f"{name} in DATA", known) if name in taken else name for name in wanted]
    return dict(zip(names, (source.table.column(name) for name in wanted), strict=True))


def _answers(
    model: PosteriorClassifier, probabilities: np.ndarray, args: Namespace, with_top: bool = False
) -> Any:
    """Return a table of the predicted classes and of probabilities, as the options ask for."""
    pa, target = need("pyarrow"), model.domain_.target
    best = probabilities.argmax(axis=1)
    shown = _rounded(probabilities, args)
    names = [target.name]
    arrays = [pa.array(model.classes_[best].tolist())]
    if with_top:
        names.append(free_name("probability", names))
        arrays.append(pa.array(shown[np.arange(best.size), best]))
    if args.proba:
        names += [f"P({label})" for label in target.labels]
        arrays += [pa.array(column) for column in shown.T]
    return pa.table(arrays, names=names)


def _error_bars(model: Any, args: Namespace) -> ErrorBars | None:
    """Return the error bars of --interval, from the counts in the model file."""
    if args.interval is None:
        return None
    require_network(model, "--interval", args.model)
    try:
        return cast("ErrorBars", model.dirichlet())
    except ValueError as error:
        raise UserError(
            f"--interval needs a model that keeps its counts: fit with --structure tan (or nb, kdb)"
            f" --parameters map, whose tables have known error bars. {args.model}: {error}"
        ) from error


def _with_interval(answers: Any, best: np.ndarray, X: Any, args: Namespace) -> Any:
    """Return answers with the interval of the probability beside it."""
    pa = need("pyarrow")
    ends = args.error_bars.interval(X, args.interval / 100)
    for place, (name, end) in enumerate(zip(("low", "high"), ends, strict=True), 2):
        column = pa.array(_rounded(end, args)[np.arange(best.size), best])
        answers = answers.add_column(place, free_name(name, answers.column_names), column)
    return answers


def _rounded(probabilities: np.ndarray, args: Namespace) -> np.ndarray:
    """Round what people read; files of numbers for programs have all digits."""
    is_csv = is_standard(args.output) or format_of(args.output).name == "csv"
    return probabilities.round(DIGITS) if is_csv and not args.full_precision else probabilities


def _reasons(model: Any, X: Any, most: int) -> dict[str, Any]:
    """Return the strongest reasons of each decision, a column for each rank."""
    pa = need("pyarrow")
    texts: list[list[str]] = []
    for start in range(0, X.num_rows, BLOCK_ROWS):
        found = model.explain(X.slice(start, BLOCK_ROWS))
        texts += [found.reasons(row, most=most) for row in range(found.n_rows)]
    filled = [[*reasons, *[None] * (most - len(reasons))] for reasons in texts]
    columns = zip(*filled, strict=True) if filled else [()] * most
    return {
        f"why {rank}": pa.array(list(column), pa.string()) for rank, column in enumerate(columns, 1)
    }
