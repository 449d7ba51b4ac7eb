"""Data of the cases: drawn from a random network, or real and coded by our own discretiser on the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from discbayes.data import Encoded, FrameEncoder
from discbayes.datasets import load_dataset
from suite.measure import Skip


@dataclass(frozen=True)
class Coded:
    """Codes in rows, training part first; ``encoded`` is the training part in the library's own layout."""

    X: np.ndarray
    y: np.ndarray
    n_train: int
    encoded: Encoded

    @property
    def train(self) -> tuple[np.ndarray, np.ndarray]:
        return self.X[: self.n_train], self.y[: self.n_train]

    @property
    def X_test(self) -> np.ndarray:
        return self.X[self.n_train :]


def sample_tan(n_rows: int, n_features: int, n_values: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a random tree-augmented naive Bayes network, as C-ordered int32."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    X = np.zeros((n_rows, n_features), dtype=np.int32)
    for j in range(n_features):
        parent = X[:, rng.integers(j)] if j else np.zeros(n_rows, dtype=np.int32)
        shared = rng.normal(size=(1, n_values, n_values))
        own = rng.normal(size=(n_classes, n_values, n_values))
        cumulated = np.exp(shared + 2 / np.sqrt(n_features) * own).cumsum(axis=2)
        cumulated /= cumulated[:, :, -1:]
        X[:, j] = (rng.random(n_rows)[:, None] > cumulated[y, parent]).sum(axis=1)
    return X, y


@cache
def coded(name: str, missing: str = "available", published: bool = False) -> Coded:
    """A data set of DISCBAYES_DATA: two thirds of every class are for training, or what the published split has."""
    try:
        data = load_dataset(name, source="files", as_frame=False)
    except LookupError:
        raise Skip(f"DISCBAYES_DATA has no {name}") from None
    train = _published(data.split, data.n_rows) if published or name == "mnist14" else _stratified(data.y, 2 / 3)
    encoder = FrameEncoder("mdlp", missing=missing, n_jobs=-1)
    encoded = encoder.fit_transform(data.X[train], data.y[train])
    codes = np.hstack([encoded.codes, encoder.transform(data.X[~train])])
    y = np.concatenate([encoded.classes, encoder.transform_y(data.y[~train])])
    return Coded(np.ascontiguousarray(codes.T), y, int(train.sum()), encoded)


def _published(split: tuple[slice, slice] | None, n_rows: int) -> np.ndarray:
    train = np.zeros(n_rows, dtype=bool)
    train[split[0] if split else slice(None)] = True
    return train


def _stratified(y: np.ndarray, share: float) -> np.ndarray:
    """A mask with this share of every class, at least one row of each."""
    rng, mask = np.random.default_rng(0), np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        mask[rows[: max(1, round(share * len(rows)))]] = True
    return mask


def with_gaps(X: np.ndarray, share: float) -> np.ndarray:
    """Float values with some cells missing, anywhere."""
    gaps = np.random.default_rng(0).random(X.shape) < share
    return np.where(gaps, np.nan, X)
