"""Rows to learn from: features, classes and weights, as the options choose them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discbayes.cli import options
from discbayes.cli.sources import Labels, Source, open_source, text_labels
from discbayes.cli.spelling import as_text
from discbayes.engine import Progress


@dataclass(frozen=True)
class Training:
    """Features as an arrow table, a label for every row, and weights where there are any."""

    X: Any
    y: Labels
    weight: np.ndarray | None

    def take(self, rows: np.ndarray) -> Training:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return Training(self.X.take(rows), self.y.take(rows), weight)


def require_target(parser: ArgumentParser, args: Namespace) -> None:
    """Files do not say which column is the class."""
    if args.target is None and Path(args.data).exists():
        parser.error(f"--target is needed: which column of {args.data} holds the classes?")


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
    no_features = {target, args.weights, *args.drop}
    args.categorical = tuple(name for name in args.categorical if name not in no_features)  # the target is one anyway
    return Training(source.without(no_features), labels, weight)


def read_weights(source: Source, column: str | None) -> np.ndarray | None:
    """The weights of the rows; None where no column is named."""
    if column is None:
        return None
    source.require([column], "--weights")
    return source.numbers(column)
