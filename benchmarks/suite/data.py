"""Data of the cases: drawn from a random network, or real and coded by our own discretiser on the
training rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from discbayes.data import Encoded, FrameEncoder
from discbayes.datasets import load_dataset
from suite.measure import Skip

FEW_ROWS, FEW_COLUMNS = 600, 12  # of a data set where a case is only tried
# Small sets of the library and of DISCBAYES_DATA, and those of them that a case is tried on.
TEN = (
    *("australian", "breast-cancer", "car", "chess", "diabetes"),
    *("german", "segment", "tic-tac-toe", "vehicle", "vote"),
)
TRIED = ("breast-cancer", "wine")


@dataclass(frozen=True)
class Coded:
    """Codes in rows, training part first; ``encoded`` is the training part in the library's own
    layout.
    """

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


def sample_tan(
    n_rows: int, n_features: int, n_values: int, n_classes: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
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


@dataclass(frozen=True)
class Parts:
    """Rows as they come from the files, for training and for judging what was learned."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray


@cache
def coded(
    name: str, missing: str = "available", published: bool = False, smoke: bool = False
) -> Coded:
    """Codes of a data set, which are those of the training rows; what mnist14 is split by is what
    was published.
    """
    parts = raw(name, published or name == "mnist14", smoke, as_frame=False)
    encoder = FrameEncoder("mdlp", missing=missing, n_jobs=-1)
    encoded = encoder.fit_transform(parts.X, parts.y)
    codes = np.hstack([encoded.codes, encoder.transform(parts.X_test)])
    y = np.concatenate([encoded.classes, encoder.transform_y(parts.y_test)])
    return Coded(np.ascontiguousarray(codes.T), y, parts.y.size, encoded)


def raw(name: str, published: bool, smoke: bool, as_frame: bool) -> Parts:
    """A data set of DISCBAYES_DATA: two thirds of every class are for training, or what the
    published split has.

    There are few rows and columns of it where a case is only tried.
    """
    try:
        data = load_dataset(name, source="files", as_frame=as_frame)
    except LookupError:
        raise Skip(f"DISCBAYES_DATA has no {name}") from None
    X, y, published_rows = data.X, data.y, _published(data.split, data.n_rows)
    if smoke:
        few = _stratified(y, FEW_ROWS / data.n_rows)
        columns = np.unique(np.linspace(0, X.shape[1] - 1, FEW_COLUMNS).astype(int))
        X, y, published_rows = (
            (X.iloc[few, columns] if as_frame else X[few][:, columns]),
            y[few],
            published_rows[few],
        )
    train = published_rows if published and data.split else _stratified(y, 2 / 3)
    return Parts(X[train], y[train], X[~train], y[~train])


def parts(name: str, share: float, seed: int = 0) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    """Training rows and a share of others, and the classes of both."""
    try:
        data = load_dataset(name)
    except LookupError:
        raise Skip(f"DISCBAYES_DATA has no {name}") from None
    return tuple(
        train_test_split(data.X, data.y, test_size=share, random_state=seed, stratify=data.y)
    )


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


def with_missing(X: np.ndarray, share: float) -> np.ndarray:
    """Float values with some cells missing, anywhere."""
    missing = np.random.default_rng(0).random(X.shape) < share
    return np.where(missing, np.nan, X)
