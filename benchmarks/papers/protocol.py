"""The protocol that the papers share: data sets, splits, cut points of the training rows, accuracy on the others."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from discbayes.counts import Counts, count
from discbayes.data import Encoded, FrameEncoder
from discbayes.data.folds import stratified_folds
from discbayes.datasets import load_dataset
from discbayes.engine import Context
from discbayes.inference import log_joint
from discbayes.network import Structure
from discbayes.parameters import MaximumLikelihood

N_FOLDS = 5

# The 25 sets of Friedman et al. (1997) in P10's order, by the names of the manifest. They list ten features for breast,
# so it is the version with the sample number.
FRIEDMAN = (
    "australian", "breast10", "chess", "cleve", "corral", "crx", "diabetes", "flare", "german", "glass", "glass2",
    "heart", "hepatitis", "iris", "letter", "lymphography", "mofn-3-7-10", "pima", "shuttle-small", "vote", "satimage",
    "segment", "soybean-large", "vehicle", "waveform-21",
)  # fmt: skip

# Sets with a split that was published by its sizes only: so many rows of a seeded stratified draw are for training.
DRAWN = {"segment": 1540, "spambase": 2301}


@dataclass(frozen=True)
class Rows:
    """The complete rows of a data set, features in columns, and where the published split is, if there is one."""

    name: str
    X: np.ndarray
    y: np.ndarray
    n_train: int | None

    def splits(self, seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
        """Training rows and test rows: the published split, a drawn one, or five stratified folds.

        The name is part of the seed, so that pima and diabetes, which are the same rows, are cut differently.
        """
        everything = np.arange(len(self.y))
        if self.n_train is not None:
            return [(everything[: self.n_train], everything[self.n_train :])]
        labels = np.unique(self.y, return_inverse=True)[1]
        rng = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        if self.name in DRAWN:
            train = _stratified(labels, DRAWN[self.name], rng)
            return [(everything[train], everything[~train])]
        fold = stratified_folds(labels, N_FOLDS, rng)
        return [(everything[fold != f], everything[fold == f]) for f in range(N_FOLDS)]

    def weight(self) -> int:
        """The number of rows that are tested: all of them in cross-validation (P10's averages are weighted by it)."""
        return sum(len(test) for _, test in self.splits())


@cache
def complete_rows(name: str) -> Rows:
    """A data set of DISCBAYES_DATA without its rows with gaps."""
    data = load_dataset(name, source="files", as_frame=False)
    kept = np.ones(data.n_rows, bool)
    if data.X.dtype.kind in "fO":
        kept = ~np.array([[value is None or value != value for value in row] for row in data.X]).any(axis=1)
    n_train = None if data.split is None else int(kept[data.split[0]].sum())
    return Rows(name, data.X[kept], data.y[kept], n_train)


@dataclass(frozen=True)
class Part:
    """Training rows as codes, and test rows by the same codes."""

    data: Encoded
    counts: Counts
    test_codes: np.ndarray
    test_y: np.ndarray

    def learn(self, learner: Any, seed: int = 0, n_jobs: int | None = 1) -> Structure:
        """The structure that a learner finds in the training rows."""
        return learner.learn(self.data, self.counts, Context(np.random.default_rng(seed), n_jobs))

    def right(self, structure: Structure, parameters: Any = None) -> int:
        """The number of test rows classified right, with ML parameters if no others are given."""
        tables = (parameters or MaximumLikelihood()).learn(self.data, self.counts, structure, Context())
        return int((log_joint(tables, self.test_codes).argmax(axis=1) == self.test_y).sum())


def parts(rows: Rows, seed: int = 0, *, discretizer: Any = "mdlp", cut_on: str = "train") -> Iterator[Part]:
    """The data set in each of its splits; cut points are of the training rows, or of all rows (``cut_on="all"``)."""
    for train, test in rows.splits(seed):
        encoder = FrameEncoder(discretizer, n_jobs=1)
        if cut_on == "all":
            everything = encoder.fit_transform(rows.X, rows.y)
            data, codes = everything.take(train), everything.codes[:, test]
        else:
            data = encoder.fit_transform(rows.X[train], rows.y[train])
            codes = encoder.transform(rows.X[test])
        place = {label: code for code, label in enumerate(encoder.classes_.tolist())}
        y = np.array([place.get(label, -1) for label in rows.y[test].tolist()])  # a class that was not there: wrong
        yield Part(data, count(data, 1), np.ascontiguousarray(codes), y)


def weighted_mean(accuracy: list[float], weight: list[float]) -> float:
    """The average of a table of P10: data sets count by the rows that were tested."""
    return float(np.average(accuracy, weights=weight))


def _stratified(labels: np.ndarray, n_train: int, rng: np.random.Generator) -> np.ndarray:
    """A mask of so many rows, with every class at its share as nearly as whole rows allow."""
    order = rng.permutation(labels.size)
    order = order[np.argsort(labels[order], kind="stable")]
    mask = np.zeros(labels.size, bool)
    mask[order[np.floor((np.arange(n_train) + rng.random()) * labels.size / n_train).astype(int)]] = True
    return mask


def with_gaps(part: Part, numbers: Sequence[int], draw: int) -> Iterator[np.ndarray]:
    """The test rows with so many features missing, drawn for each row; a larger number holds those of a smaller one."""
    n_features, n_rows = part.test_codes.shape
    places = np.tile(np.arange(n_features, dtype=np.int16)[:, None], n_rows)
    places = np.random.default_rng(draw).permuted(places, axis=0)
    for n in numbers:
        yield np.where(places < n, part.data.cards[:, None], part.test_codes).astype(part.test_codes.dtype)
