"""Data sets cut into training and test rows, coded by what the training rows alone say."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from discbayes.counts import Counts, count
from discbayes.data import Encoded, FrameEncoder
from discbayes.data.folds import stratified_folds
from discbayes.datasets import Dataset, load_dataset
from discbayes.evaluation.baselines import stratified_sample

N_FOLDS = 5
Split = tuple[np.ndarray, np.ndarray]

# Sets with a split that was published by its sizes only: so many rows of a seeded stratified draw
# are for training.
DRAWN = {"segment": 1540, "spambase": 2301}


@dataclass(frozen=True, eq=False)
class SplitRows:
    """The rows of a data set, features in columns; if that is fixed, how many of the first ones are
    for training.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    n_train: int | None

    @property
    def labels(self) -> np.ndarray:
        """The classes as numbers."""
        return np.unique(self.y, return_inverse=True)[1]

    def generator(self, seed: int) -> np.random.Generator:
        """Random numbers of this data set: pima and diabetes, which are the same rows, are cut
        differently.
        """
        return np.random.default_rng([seed, zlib.crc32(self.name.encode())])


@lru_cache(maxsize=2)
def load_rows(name: str, complete: bool = True) -> SplitRows:
    """A data set, without its rows with gaps if only complete ones are wanted.

    A column that has no value at all (TBG of hypothyroid and sick) is left out before rows are.
    """
    data = load_any(name, as_frame=False)
    gaps = np.array(data.X != data.X, dtype=bool)
    if data.X.dtype.kind == "O":
        gaps |= np.array([[value is None for value in row] for row in data.X])
    columns = ~gaps.all(axis=0)
    kept = ~np.asarray(gaps[:, columns].any(axis=1)) if complete else np.ones(data.n_rows, bool)
    n_train = None if data.split is None else int(kept[data.split[0]].sum())
    return SplitRows(name, data.X[kept][:, columns], data.y[kept], n_train)


def load_any(name: str, as_frame: bool = True) -> Dataset:
    """The version of DISCBAYES_DATA, in whose order the stored results have their rows, or another
    where it is not.

    The names are those of the papers' data sets, so OpenML may be asked for what is not here.
    """
    for where in ({"source": "files"}, {}):
        try:
            return load_dataset(name, as_frame=as_frame, **where)
        except LookupError:
            continue
    return load_dataset(f"openml:{name}", as_frame=as_frame)


# ---- splits: functions of rows and a seed


def published_splits(rows: SplitRows, seed: int = 0) -> list[Split]:
    """The published split, a drawn one of the published size, or five stratified folds (P10,
    C11).
    """
    everything = np.arange(len(rows.y))
    if rows.n_train is not None:
        return [(everything[: rows.n_train], everything[rows.n_train :])]
    if rows.name in DRAWN:
        train = stratified_sample(rows.labels, DRAWN[rows.name], rows.generator(seed))
        return [(everything[train], everything[~train])]
    return five_folds(rows, seed)


def five_folds(rows: SplitRows, seed: int = 0) -> list[Split]:
    """Five stratified folds of all rows."""
    return folds(rows, N_FOLDS, seed)


def two_folds(rows: SplitRows, seed: int = 0) -> list[Split]:
    """Two stratified folds of all rows; every seed is another round (Z17)."""
    return folds(rows, 2, seed)


def folds(rows: SplitRows, n_folds: int, seed: int) -> list[Split]:
    """Stratified folds: each is the test part once."""
    fold = stratified_folds(rows.labels, n_folds, rows.generator(seed))
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(n_folds)]


# ---- parts


@dataclass(frozen=True, eq=False)
class Part:
    """Training rows as codes, and test rows by the same codes; −1 is a class that the training rows
    do not have.
    """

    data: Encoded
    counts: Counts
    test_codes: np.ndarray
    test_y: np.ndarray

    @property
    def n_test(self) -> int:
        """The number of test rows."""
        return len(self.test_y)


@lru_cache(maxsize=2)
def load_part(
    name: str,
    fold: int,
    seed: int = 0,
    splits: Callable[[SplitRows, int], list[Split]] = published_splits,
    discretizer: Any = "mdlp",
    missing: str = "drop",
) -> Part:
    """One split of a data set; ``missing="drop"`` leaves rows with gaps out, in training and in
    test.

    Folds of one data set are asked for one after another, so the last ones are kept.
    """
    rows = load_rows(name, complete=missing == "drop")
    return make_part(rows, splits(rows, seed)[fold], discretizer, missing)


def make_part(
    rows: SplitRows, split: Split, discretizer: Any = "mdlp", missing: str = "drop"
) -> Part:
    """The rows of a split, with cut points and values of the training rows."""
    train, test = split
    encoder = FrameEncoder(discretizer, missing=missing, n_jobs=1)
    data = encoder.fit_transform(rows.X[train], rows.y[train])
    codes = np.ascontiguousarray(encoder.transform(rows.X[test]))
    place = {label: code for code, label in enumerate(encoder.classes_.tolist())}
    y = np.array([place.get(label, -1) for label in rows.y[test].tolist()])
    return Part(data, count(data, 1), codes, y)


def with_missing(part: Part, numbers: Sequence[int], draw: int) -> Iterator[np.ndarray]:
    """The test rows with so many features missing, drawn for each row; a larger number holds those
    of a smaller one.
    """
    n_features, n_rows = part.test_codes.shape
    places = np.tile(np.arange(n_features, dtype=np.int16)[:, None], n_rows)
    places = np.random.default_rng(draw).permuted(places, axis=0)
    for n in numbers:
        yield np.where(places < n, part.data.cards[:, None], part.test_codes).astype(
            part.test_codes.dtype
        )


def one_part(data: Encoded, n_parts: int) -> Encoded:
    """One of so many stratified parts of the rows."""
    if n_parts == 1:
        return data
    return data.take(stratified_folds(data.classes, n_parts, np.random.default_rng(0)) == 0)


def thinned(data: Encoded, limit: int) -> Encoded:
    """A stratified part of the rows, if there are more than so many."""
    return one_part(data, -(-data.n_samples // limit))
