"""Rows to learn from and rows to test on: at random, by groups of rows, or in the order of time."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold

from discbayes._settings import float_or_nan
from discbayes._text import listed
from discbayes.cli import options
from discbayes.cli.console import UserError, complain
from discbayes.cli.input_tables import InputTable, as_text
from discbayes.data.folds import stratified_folds
from discbayes.data.targets import classes_and_codes

Split = tuple[np.ndarray, np.ndarray]  # the training rows, and the test rows


def add_splitting(parser: ArgumentParser) -> Any:
    """Add the columns by which rows are kept together, or in order; return their group."""
    group = parser.add_argument_group("test rows")
    one = group.add_mutually_exclusive_group()
    together = "rows of one value, such as a patient, are all trained on or all tested on"
    options.add(one, "--groups COLUMN", f"{together}; the column is not a feature")
    order = "test on rows that are later by this column of dates or numbers than those trained on"
    options.add(one, "--time COLUMN", f"{order}; the column is not a feature")
    return group


def test_size(text: str) -> float:
    """Parse the share of the rows that are held out."""
    share = float_or_nan(text)
    if not 0 < share < 1:
        raise ArgumentTypeError(f"{text!r} is not a share of the rows between 0 and 1, such as 0.3")
    return share


def read_groups(source: InputTable, column: str | None) -> np.ndarray | None:
    """Return the group of each row as a number; None if no column is named."""
    if column is None:
        return None
    source.require([column], "--groups")
    values = as_text(source.table, [column]).column(column).to_pylist()
    _require_known(values, column, "--groups")
    return np.unique(np.array(values, dtype=str), return_inverse=True)[1]


def read_times(source: InputTable, column: str | None) -> np.ndarray | None:
    """Return the rank of each row in time, equal for equal times; None if no column is named."""
    if column is None:
        return None
    source.require([column], "--time")
    values = source.table.column(column).to_pylist()
    _require_known(values, column, "--time")
    texts = [value for value in values if isinstance(value, str)]
    if texts:
        raise UserError(
            f"--time {column}: the column holds text, {texts[0]!r:.40} for example, whose order"
            " may not be that of time: write dates as 2024-01-31, or give a column of numbers"
        )
    return np.unique(np.array(values, dtype=object), return_inverse=True)[1]


def _require_known(values: list[Any], column: str, option: str) -> None:
    missing = [number for number, value in enumerate(values, 1) if value is None]
    if missing:
        raise UserError(
            f"{option} {column}: the column is empty in row {listed(missing, 5)}; fill it, or"
            " leave those rows out"
        )


def cross_validation_splits(data: Any, args: Namespace) -> list[Split]:
    """Return the training rows and the test rows of each fold, of all repeats."""
    if getattr(data, "times", None) is not None:
        return _splits_in_time(data.times, args.cv)
    seeds = range(args.seed, args.seed + (getattr(args, "repeats", None) or 1))
    if getattr(data, "groups", None) is not None:
        return [split for seed in seeds for split in _group_folds(data, args.cv, seed)]
    codes = _codes_of(data, args.cv)
    splits = []
    for seed in seeds:
        # those of `discbayes compare`
        fold = stratified_folds(codes, args.cv, np.random.default_rng(seed))
        splits += [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(args.cv)]
    return splits


def _codes_of(data: Any, n_folds: int) -> np.ndarray:
    """Return the class of each row; warn of a class that is not in all folds."""
    data.require_rows(n_folds)
    classes, codes = classes_and_codes(data.y.values.astype(str))
    sizes = np.bincount(codes)
    if sizes.min() < n_folds:
        rare = (
            f"{str(classes[sizes.argmin()])!r}, has {sizes.min()} rows, fewer than the {n_folds}"
            " folds"
        )
        complain("warning", f"The least populated class, {rare}: it is not tested in all of them")
    return codes


def _group_folds(data: Any, n_folds: int, seed: int) -> list[Split]:
    n_groups = np.unique(data.groups).size
    if n_groups < n_folds:
        raise UserError(
            f"--groups: {n_groups} groups cannot be split into {n_folds} folds; --cv {n_groups} can"
        )
    codes = classes_and_codes(data.y.values.astype(str))[1]
    folds = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    return list(folds.split(codes, codes, data.groups))


def _splits_in_time(times: np.ndarray, n_folds: int) -> list[Split]:
    """Return folds that follow each other: each is tested with all rows before it learned from."""
    ordered = np.sort(times)
    starts = [part[0] for part in np.array_split(ordered, n_folds + 1)[1:] if part.size]
    borders = [*np.unique(starts).tolist(), np.inf]
    splits = [
        (np.flatnonzero(times < first), np.flatnonzero((times >= first) & (times < last)))
        for first, last in pairwise(borders)
    ]
    splits = [split for split in splits if all(part.size for part in split)]
    if not splits:
        raise UserError("--time: all rows have the same time, so that none is later than another")
    return splits


def hold_out(data: Any, args: Namespace) -> Split:
    """Return the training rows and the test rows of ``--test-size``."""
    n_rows, rng = len(data.y), np.random.default_rng(args.seed)
    if data.times is not None:
        border = np.sort(data.times)[int(np.floor(n_rows * (1 - args.test_size)))]
        is_test = data.times >= border
    elif data.groups is not None:
        is_test = _groups_of_size(data.groups, args.test_size, rng)
    else:
        codes = classes_and_codes(data.y.values.astype(str))[1]
        order = np.lexsort((rng.random(n_rows), codes))
        steps = np.floor(rng.random() + args.test_size * np.arange(n_rows + 1))
        is_test = np.empty(n_rows, dtype=bool)
        is_test[order] = np.diff(steps) > 0  # of each class its share, to a row
    is_test &= np.array([label is not None for label in data.y.values])  # no class to test with
    split = np.flatnonzero(~is_test), np.flatnonzero(is_test)
    if not all(part.size for part in split):
        raise UserError(
            f"--test-size {args.test_size:g} of {n_rows} rows leaves none to learn from, or none to"
            " test on"
        )
    return split


def _groups_of_size(groups: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return which rows are in groups that hold about a share of all rows, drawn at random."""
    sizes = np.bincount(groups)
    drawn = rng.permutation(sizes.size)
    total = np.cumsum(sizes[drawn])
    n_drawn = int(np.abs(total - share * groups.size).argmin()) + 1
    return np.isin(groups, drawn[: min(n_drawn, sizes.size - 1)])
