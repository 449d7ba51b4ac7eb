"""Rows to learn from: features, classes and weights, as the options choose them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes._text import listed
from discbayes.cli.console import UserError, complain
from discbayes.cli.input_tables import InputTable, as_text, is_read, name_of, open_source
from discbayes.cli.splits import read_groups, read_times
from discbayes.data.table import looks_numeric
from discbayes.kernels._compile import is_kept
from discbayes.kernels.counting import count_family

# more distinct values, most of them once or with decimals, are not taken for classes
MANY_CLASSES = 50


class TargetLabels:
    """The class of every row as text, with the name of its column, which the model stores."""

    def __init__(self, name: str, values: np.ndarray):
        self.name = name
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: np.ndarray) -> TargetLabels:
        """Return the labels of some rows."""
        return TargetLabels(self.name, self.values[rows])


@dataclass(frozen=True)
class Training:
    """Rows with their classes: features as an arrow table, labels, and weights if there are any.

    Groups and times, if there are any, are for splitting the rows.
    """

    X: Any
    y: TargetLabels
    weight: np.ndarray | None
    groups: np.ndarray | None = None
    times: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> Training:
        """Return some of the rows."""
        of_rows = [self.weight, self.groups, self.times]
        parts = [None if values is None else values[rows] for values in of_rows]
        return Training(self.X.take(rows), self.y.take(rows), *parts)

    def require_rows(self, n_folds: int) -> None:
        """Raise an error if there are fewer rows than folds."""
        n_rows = len(self.y)
        if n_rows < n_folds:
            raise UserError(
                f"{n_rows} rows cannot be split into {n_folds} folds; --cv {n_rows} can"
            )


def require_target(parser: ArgumentParser, args: Namespace) -> None:
    """End with an error if DATA is a file and --target does not name the column of the classes."""
    if args.target is None and is_read(args.data):
        parser.error(f"--target is needed: which column of {name_of(args.data)} holds the classes?")


def load_training(args: Namespace) -> Training:
    """Read DATA, and separate features, classes and weights."""
    text = {*args.categorical, *([args.target] if args.target else [])}
    source = open_source(args, text)
    target = args.target or source.target or ""
    source.require_roles(target, args)
    weight = read_weights(source, args.weights)
    column = as_text(source.table, [target]).column(target)
    labels = TargetLabels(target, np.array(column.to_pylist(), dtype=object))
    kept = _rows_to_learn_from(labels, args)
    _check_classes(labels)
    if not is_kept(count_family):
        args.progress.stage(
            "the first run on a machine compiles code, which takes up to a minute; later ones"
            " do not"
        )
    groups, times = (getattr(args, name, None) for name in ("groups", "time"))
    not_features = {target, args.weights, groups, times, *args.drop}
    # the target is categorical anyway
    args.categorical = tuple(name for name in args.categorical if name not in not_features)
    splitting = read_groups(source, groups), read_times(source, times)
    training = Training(source.without(not_features), labels, weight, *splitting)
    return training if kept.size == len(labels) else training.take(kept)


def _rows_to_learn_from(labels: TargetLabels, args: Namespace) -> np.ndarray:
    """Return the rows that have a class, and others if --unlabeled says what becomes of them.

    Those that are left out are named. They are refused if most rows are such, or if that is asked
    for.
    """
    missing = np.array([label is None for label in labels.values], dtype=bool)
    given = getattr(args, "unlabeled", None)
    if not missing.any() or given in ("drop", "use"):
        return np.arange(len(labels))
    rows = listed((np.flatnonzero(missing) + 1).tolist(), 5)
    text = (
        f"column {labels.name!r} (the target) is empty in {missing.sum()} of {len(labels)} rows"
        f" (row {rows}; the first row below the header is 1)"
    )
    if given == "error" or 2 * missing.sum() >= len(labels):
        way_out = (
            ", or use --unlabeled drop or --unlabeled use" if hasattr(args, "unlabeled") else ""
        )
        raise UserError(
            f"{text}: is --target right? Remove those rows to learn from the others{way_out}"
        )
    complain("note", f"{text}: they are left out; `discbayes predict` can answer them later")
    return np.flatnonzero(~missing)


def _check_classes(labels: TargetLabels) -> None:
    """Raise an error for a column that does not hold classes."""
    classes = set(labels.values) - {None}
    if len(classes) > MANY_CLASSES and (
        2 * len(classes) > len(labels) or any(map(_has_decimals, classes))
    ):
        raise UserError(
            f"column {labels.name!r} (the target) holds {len(classes)} different values in"
            f" {len(labels)} rows, {labels.values[0]!r:.60} for example: these are not classes, but"
            " numbers or names. Group them into a few classes first, or give another --target"
        )


def _has_decimals(label: str) -> bool:
    return "." in label and looks_numeric(label) and not float(label).is_integer()


def read_weights(source: InputTable, column: str | None) -> np.ndarray | None:
    """Return the weights of the rows; None if no column is named."""
    if column is None:
        return None
    source.require([column], "--weights")
    return source.numbers(column)
