"""Rows to learn from: features, classes and weights, as the options choose them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes.cli import options
from discbayes.cli.console import UserError
from discbayes.cli.input_tables import (
    InputTable,
    LabelSettings,
    is_read,
    named,
    open_source,
    text_labels,
)
from discbayes.cli.spelling import as_text
from discbayes.data.table import looks_numeric
from discbayes.engine import Progress
from discbayes.kernels._cache import is_kept
from discbayes.kernels.counting import count_family

# more than these, with a new one in most rows or with decimals, are hardly classes
MANY_CLASSES = 50


@dataclass(frozen=True)
class Training:
    """Features as an arrow table, a label for every row, and weights where there are any."""

    X: Any
    y: LabelSettings
    weight: np.ndarray | None

    def take(self, rows: np.ndarray) -> Training:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return Training(self.X.take(rows), self.y.take(rows), weight)


def require_target(parser: ArgumentParser, args: Namespace) -> None:
    """Files do not say which column is the class."""
    if args.target is None and is_read(args.data):
        parser.error(f"--target is needed: which column of {named(args.data)} holds the classes?")


def load_training(args: Namespace, progress: Progress) -> Training:
    """Read DATA and part its columns."""
    text = {*args.categorical, *([args.target] if args.target else [])}
    source = open_source(args.data, options.reading(args), text, progress)
    target = args.target or source.target or ""
    source.require([target], "the target")
    source.require(args.categorical, "--categorical")
    source.require(args.drop, "--drop")
    weight = read_weights(source, args.weights)
    labels = text_labels(as_text(source.table, [target]), target)
    _check_classes(labels)
    if not is_kept(count_family):
        progress.stage(
            "the first run on a machine compiles code, which takes up to a minute; later ones"
            " do not"
        )
    no_features = {target, args.weights, *args.drop}
    # the target is one anyway
    args.categorical = tuple(name for name in args.categorical if name not in no_features)
    return Training(source.without(no_features), labels, weight)


def _check_classes(labels: LabelSettings) -> None:
    """Refuse rows without a class, and columns that are no classes: numbers to predict, or
    names.
    """
    gaps = [number for number, label in enumerate(labels.values, 1) if label is None]
    if gaps:
        rows = f"row {', '.join(map(str, gaps[:5]))}{', …' if len(gaps) > 5 else ''}"
        raise UserError(
            f"column {labels.name!r} (the target) is empty in {len(gaps)} of {len(labels)} rows"
            f" ({rows}; the first row below the header is 1): take those rows out of the file to"
            " learn from, and predict them later"
        )
    classes = set(labels.values)
    if len(classes) > MANY_CLASSES and (
        2 * len(classes) > len(labels) or any(map(_has_decimals, classes))
    ):
        raise UserError(
            f"column {labels.name!r} (the target) holds {len(classes)} different values in"
            f" {len(labels)} rows, {labels.values[0]!r:.60} for example: these are no classes, but"
            " numbers or names. Cut them into a few ranges or groups first, or give another"
            " --target"
        )


def _has_decimals(label: str) -> bool:
    return "." in label and looks_numeric(label) and not float(label).is_integer()


def read_weights(source: InputTable, column: str | None) -> np.ndarray | None:
    """The weights of the rows; None where no column is named."""
    if column is None:
        return None
    source.require([column], "--weights")
    return source.numbers(column)
