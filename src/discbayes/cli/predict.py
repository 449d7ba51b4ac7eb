"""``discbayes predict``: classes, and their probabilities, for the rows of a table."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

import numpy as np

from discbayes._lazy_imports import need
from discbayes.classifier import BayesNetClassifier
from discbayes.cli import options
from discbayes.cli.batch_input import add_memory, in_passes, shares_of_batches
from discbayes.cli.input_tables import open_source
from discbayes.cli.models import features_of, load_model, posterior, set_options, text_columns
from discbayes.cli.outputs import check_table, write_batches, write_table
from discbayes.data.frames import refuse_lone_surrogates

SUMMARY = "predict the class of every row of a table; missing values are summed out exactly"
EXAMPLES = """examples:
  discbayes predict model.json new.csv
  discbayes predict model.json new.csv --proba -o predictions.parquet"""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL", help="a model file that fit has written")
    parser.add_argument("data", metavar="DATA", help=options.DATA_OR_FOLDER)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="CSV or Parquet by its ending (default: CSV to stdout)",
    )
    parser.add_argument("--proba", action="store_true", help="add the probability of every class")
    options.add_unknown(parser)
    options.add_draws(parser)
    options.add_effort(parser)
    add_memory(parser)
    options.add_reading(parser)


def run(args: Namespace) -> None:
    """Read, predict, write."""
    check_table(args.output, [args.model, args.data])
    progress = options.progress(args)
    model = load_model(args.model)
    refuse_lone_surrogates(
        {model.network_.domain.target.name: model.classes_}, "no file of a table can hold it"
    )
    if in_passes(args):
        set_options(model, args)
        batches = shares_of_batches(model, args, progress)
        answers = (_answers(model, shares, args.proba) for shares in batches)
        write_batches(answers, args.output, model.network_.domain.target.labels)
        return
    domain = model.network_.domain
    source = open_source(args.data, options.reading(args), text_columns(domain), progress)
    X = features_of(domain, source, (), progress)
    progress.stage(f"predicting {X.num_rows} rows")
    write_table(_answers(model, posterior(model, X, args), args.proba), args.output)


def _answers(model: BayesNetClassifier, shares: np.ndarray, with_shares: bool) -> Any:
    """A column of predicted classes and, if asked for, one of probabilities for each class."""
    pa, target = need("pyarrow"), model.network_.domain.target
    predicted = model.classes_[shares.argmax(axis=1)]
    columns = [pa.array(predicted.tolist())]
    headings = [target.name]
    if with_shares:
        columns += [pa.array(column) for column in shares.T]
        headings += [f"P({label})" for label in target.labels]
    return pa.table(columns, names=headings)
