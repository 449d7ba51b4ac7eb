"""A saved model at work on a table: columns matched by name, posteriors out."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from discbayes.classifier import BayesNetClassifier
from discbayes.cli.console import UserError, listed
from discbayes.cli.file_tables import STANDARD, STANDARD_INPUT, has_known_ending, standard_input
from discbayes.cli.input_tables import InputTable
from discbayes.cli.spelling import matched
from discbayes.data import Domain
from discbayes.engine import Progress
from discbayes.io import ModelFileError, load
from discbayes.io.model import load_bytes


def load_model(path: str) -> BayesNetClassifier:
    """Read a model file, or a model from the standard input."""
    if path == STANDARD:
        return load_bytes(standard_input(), STANDARD_INPUT)
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


def text_columns(domain: Domain) -> set[str]:
    """The columns whose values are text: they are read as text, even where all of them look like
    numbers.
    """
    features = domain.features
    return {
        v.name for v in features if v.values and all(isinstance(value, str) for value in v.values)
    }


def features_of(
    domain: Domain, source: InputTable, ignored: Collection[str], progress: Progress
) -> Any:
    """The columns of the model, in its order and with its spelling of labels, whatever else the
    table holds.
    """
    columns, wanted = source.table.column_names, domain.names
    lacking = [name for name in wanted if name not in set(columns)]
    if lacking:
        way_out = (
            ""
            if source.hint
            else "; what is not known may be left empty, but its column must be there"
        )
        raise UserError(
            f"{source.name} lacks {len(lacking)} of the model's columns:"
            f" {listed(lacking)}{source.hint or way_out}"
        )
    known = {*wanted, *ignored, domain.target.name}
    surplus = [name for name in columns if name not in known]
    if surplus:
        progress.stage(f"ignoring columns that the model does not know: {listed(surplus)}")
    if [name for name in columns if name in set(wanted)] != wanted:
        progress.stage("the columns stand in another order than in the model: matched by name")
    return _respelled(domain, source.table.select(wanted))


def _respelled(domain: Domain, table: Any) -> Any:
    text = text_columns(domain)
    for place, variable in enumerate(domain.features):
        if variable.name in text:
            table = table.set_column(
                place, variable.name, matched(table.column(place), variable.values)
            )
    return table


def posterior(model: BayesNetClassifier, X: Any, args: Namespace) -> np.ndarray:
    """P(class | what is known of the row), with the options of the command line in force."""
    set_options(model, args)
    return model.predict_proba(X)


def set_options(model: BayesNetClassifier, args: Namespace) -> None:
    """Put the options of the command line that a saved model can follow in force."""
    given = {name: getattr(args, name, None) for name in ("unknown", "n_draws", "n_jobs")}
    model.set_params(**{name: value for name, value in given.items() if value is not None})
