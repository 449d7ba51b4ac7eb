"""``discbayes predict``: classes, and their probabilities, for the rows of a table."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

import numpy as np

from discbayes._lazy_imports import need
from discbayes.classifier.predicting import PosteriorClassifier
from discbayes.cli import options
from discbayes.cli.batch_input import predict_batches, reads_batches
from discbayes.cli.models import load_model, read_rows
from discbayes.cli.outputs import check_table, write_batches, write_table
from discbayes.data.frames import refuse_lone_surrogates

SUMMARY = "predict the class of every row; missing values are marginalized exactly"
EXAMPLES = """examples:
  discbayes predict model.json new.csv
  discbayes predict model.json new.csv --proba -o predictions.parquet"""


def configure(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = options.adder(parser)
    options.add_model(parser)
    add("DATA", options.DATA_OR_FOLDER)
    add("-o, --output FILE", "CSV, Parquet or Arrow by its ending (default: CSV to stdout)")
    add("--proba", "add the probability of every class")
    options.add_unknown(parser)
    options.add_limits(parser)
    options.add_effort(parser)
    options.add_memory(parser)
    options.add_reading(parser)


def run(args: Namespace) -> None:
    """Read, predict, write."""
    check_table(args.output, [args.model, args.data])
    model = load_model(args)
    domain = model.domain_
    refuse_lone_surrogates({domain.target.name: model.classes_}, "no file of a table can hold it")
    if reads_batches(args):
        batches = predict_batches(model, args)
        tables = (_predictions(model, probabilities, args.proba) for probabilities in batches)
        write_batches(tables, args.output, domain.target.labels)
        return
    _, X = read_rows(model, args)
    args.progress.stage(f"predicting {X.num_rows} rows")
    write_table(_predictions(model, model.predict_proba(X), args.proba), args.output)


def _predictions(model: PosteriorClassifier, probabilities: np.ndarray, proba: bool) -> Any:
    """Return a table of the predicted classes and, with --proba, of the probability of each."""
    pa, target = need("pyarrow"), model.domain_.target
    predicted = model.classes_[probabilities.argmax(axis=1)]
    names = [target.name]
    arrays = [pa.array(predicted.tolist())]
    if proba:
        names += [f"P({label})" for label in target.labels]
        arrays += [pa.array(column) for column in probabilities.T]
    return pa.table(arrays, names=names)
