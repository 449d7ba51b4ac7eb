"""A saved model at work on the rows of a table: columns are matched by name, labels by spelling."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discbayes._lazy_imports import need
from discbayes._text import listed
from discbayes.classifier import BayesNetClassifier, BayesNetEnsemble
from discbayes.classifier.predicting import PosteriorClassifier
from discbayes.cli.console import STANDARD, STANDARD_INPUT, UserError, complain
from discbayes.cli.console_encoding import read_standard_input
from discbayes.cli.input_tables import (
    InputTable,
    as_text,
    has_known_ending,
    matched,
    open_source,
)
from discbayes.cli.options import LIMITS, given
from discbayes.data import Domain
from discbayes.data.labels import is_missing
from discbayes.engine import Progress
from discbayes.io import ModelFileError, load
from discbayes.io.model import load_bytes


def load_model(args: Namespace) -> Any:
    """Read MODEL, and give it the options of the command line that concern prediction."""
    model = _load(args.model)
    args.stored_format = model.csv_format_
    model.set_params(columns="by-name")
    return model.set_params(**given(args, ("unknown", *LIMITS, "n_jobs")))


def require_network(model: PosteriorClassifier, what: str, path: str, way_out: str = "") -> None:
    """Refuse an ensemble for what needs one network."""
    if isinstance(model, BayesNetEnsemble):
        raise UserError(
            f"{path} holds an ensemble of {len(model.members_)} networks, and {what} needs one: fit"
            f" without --ensemble{way_out}"
        )


def _load(path: str) -> BayesNetClassifier | BayesNetEnsemble:
    if path == STANDARD:
        return load_bytes(read_standard_input(), STANDARD_INPUT)
    if not Path(path).exists():
        raise UserError(f"{path}: no such file")
    try:
        return load(path)
    except ModelFileError as error:
        if has_known_ending(path):
            raise UserError(
                f"{path} is a table, not a model that fit has written: MODEL comes before DATA"
            ) from error
        raise


def read_rows(
    model: PosteriorClassifier,
    args: Namespace,
    target: str | None = None,
    weights: str | None = None,
) -> tuple[InputTable, Any]:
    """Read DATA; return it with all its columns, and the columns of the model alone."""
    domain = model.domain_
    text = text_columns(domain) if target is None else {target, *text_columns(domain)}
    source = open_source(args, text)
    ignored = [name for name in (target, weights) if name is not None] + known_dropped(args)
    return source, features_of(domain, source, ignored, args.progress)


def known_dropped(args: Namespace) -> list[str]:
    """Return the columns that were left out at fit, which need no warning."""
    return [] if args.stored_format is None else list(args.stored_format.dropped)


def text_columns(domain: Domain) -> set[str]:
    """Return the columns with text values, which are read as text even if they look numeric."""
    return {
        variable.name
        for variable in domain.features
        if variable.values and all(isinstance(value, str) for value in variable.values)
    }


def features_of(
    domain: Domain, source: InputTable, ignored: Collection[str], progress: Progress
) -> Any:
    """Return the columns of the model, in its order and with its spelling of labels.

    Parameters
    ----------
    domain : Domain
        The domain of the model.
    source : InputTable
        The table, which may have further columns.
    ignored : collection of str
        Columns that are expected beside the features; others are reported.
    progress : Progress
        The progress display.
    """
    columns, wanted = source.table.column_names, domain.columns
    lacking = [name for name in wanted if name not in set(columns)]
    if len(lacking) == len(wanted):
        raise UserError(
            f"{source.name} has none of the model's columns: {listed(lacking)}{source.hint}"
        )
    if lacking:
        progress.stage(
            f"{source.name} lacks {len(lacking)} of the model's {len(wanted)} columns, which are"
            f" unknown in every row: {listed(lacking)}"
        )
    known = {*wanted, *ignored, domain.target.name}
    surplus = [name for name in columns if name not in known]
    if surplus:
        progress.stage(f"ignoring columns that the model does not know: {listed(surplus)}")
    in_order = [name for name in columns if name in set(wanted)]
    if in_order != [name for name in wanted if name in set(columns)]:
        progress.stage("the columns are in another order than in the model: matched by name")
    present = [name for name in wanted if name in set(columns)]
    table, text = source.table.select(present), text_columns(domain)
    for place, name in enumerate(present):
        if name in text:
            known_labels = domain.features[domain.position(name)].values
            table = table.set_column(place, name, matched(table.column(place), known_labels))
    return table


def matched_labels(source: InputTable, target: str, known: list[str]) -> list[Any]:
    """Return the class of every row, in the spelling of the model."""
    column = as_text(source.table, [target]).column(target)
    labels: list[Any] = matched(column, known).to_pylist()
    return labels


def classes_of(model: PosteriorClassifier, source: InputTable, target: str) -> np.ndarray:
    """Return the class of every row; raise an error for a class that the model does not know."""
    source.require([target], "the target")
    labels = model.domain_.target.labels
    found = matched_labels(source, target, labels)
    codes = {label: code for code, label in enumerate(labels)}
    odd = [number for number, label in enumerate(found, 1) if label not in codes]
    if odd:
        first = found[odd[0] - 1]
        what = "no class" if first is None else f"the class {first!r}"
        raise UserError(
            f"row {odd[0]} of {source.name} has {what} in column {target!r}, and {len(odd)} rows in"
            f" all have none of the model's classes, {listed(labels)}: leave those rows out, or"
            " name the column with the classes by --target"
        )
    return model.classes_[[codes[label] for label in found]]


def labeled_rows(
    model: PosteriorClassifier, source: InputTable, X: Any, target: str
) -> tuple[Any, np.ndarray]:
    """Return the rows that have a class, with their classes; report how many have none."""
    source.require([target], "the target")
    known = source.table.column(target).is_valid()
    n_missing = len(known) - (known.to_numpy().sum() if len(known) else 0)
    if n_missing:
        complain("note", f"{n_missing} of {len(known)} rows have no class: they are left out")
        X = X.filter(known)
        source = replace(source, table=source.table.filter(known))
    return X, classes_of(model, source, target)


# ---- single rows


def select_rows(X: Any, numbers: list[int], name: str) -> Any:
    """Return rows of a table by number; the first row below the header is 1."""
    beyond = [number for number in numbers if number > X.num_rows]
    if beyond:
        raise UserError(
            f"{name} has {X.num_rows} rows, so there is no row {beyond[0]} (the first is 1)"
        )
    return X.take([number - 1 for number in numbers])


def warn_unseen(
    model: PosteriorClassifier, rows: Any, numbers: list[int]
) -> list[tuple[int, str, Any]]:
    """Warn of the first value that was never seen in training, or refuse it if the model does so.

    Parameters
    ----------
    model : PosteriorClassifier
        The model.
    rows : pyarrow.Table
        The features.
    numbers : list of int
        The number of each row in messages.

    Returns
    -------
    unseen : list of (position, column, value)
        All such values.
    """
    found = _unseen_values(model, rows)
    if found:
        row, name, value = min(found, key=lambda one: one[0])
        text = (
            f"row {numbers[row]} has {value!r} in column {name!r}, which was never seen in training"
        )
        if model.unknown == "error":
            raise UserError(f"{text}; --unknown marginalize treats it as missing")
        complain("warning", f"{text}: such values are treated as missing")
    return found


def _all_columns(rows: Any, names: list[str]) -> Any:
    """Return a table with all columns of the model; those that it lacks are missing."""
    for name in names:
        if name not in rows.column_names:
            rows = rows.append_column(name, need("pyarrow").nulls(rows.num_rows))
    return rows.select(names)


def _unseen_values(model: Any, rows: Any) -> list[tuple[int, str, Any]]:
    """List values that are not in the domain of their column; any number is in some interval."""
    network = model.members_[0].network_ if isinstance(model, BayesNetEnsemble) else model.network_
    found = list[tuple[int, str, Any]]()
    there = set(rows.column_names)
    codes = network.encode(_all_columns(rows, model.domain_.columns))
    for place, variable in enumerate(model.domain_.features):
        if variable.cuts is None and variable.name in there:
            column = rows.column(variable.name)
            odd = (codes[place] >= variable.card) & column.is_valid().to_numpy()
            cells = ((int(row), column[int(row)].as_py()) for row in np.flatnonzero(odd))
            found += [(row, variable.name, value) for row, value in cells if not is_missing(value)]
    return found
