"""Data sets: the columns as read, what ``load_dataset`` returns, and a line of the list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discbayes.data.frames import take_rows

Split = tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Columns:
    """A data set as every source delivers it, before it becomes a frame or an array.

    A numeric feature is a float64 array with NaN for missing values, any other an object array of
    text with None for them. The first ``split[0]`` rows are the training part, the last
    ``split[1]`` the test part.
    """

    features: dict[str, np.ndarray]
    y: np.ndarray
    target: str = "class"
    split: Split = None

    @property
    def categorical(self) -> list[str]:
        """The names of the columns that hold categories."""
        return [name for name, values in self.features.items() if values.dtype == object]


@dataclass(frozen=True)
class DatasetInfo:
    """A line of ``list_datasets``: what is known of a data set without loading it."""

    name: str
    source: str
    n_rows: int
    n_features: int
    n_classes: int
    split: Split = None
    description: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table, its classes, and the published split into training and test rows.

    Parameters
    ----------
    name : str
        The name it was loaded under.
    X : DataFrame, Table or ndarray
        The features; numbers are float64, categories are text.
    y : ndarray of str, shape (n_rows,)
        The class of every row.
    feature_names : list of str
        The columns of ``X`` in order.
    categorical : list of str
        Those of them that are categories.
    target : str
        What the class is called.
    split : tuple of two slices, or None
        The training rows and the test rows; None where cross-validation is meant.
    source : str
        ``"embedded"``, ``"files"``, ``"cache"`` or ``"openml"``.
    description : str
        Where the data come from, and what to know about them.

    Examples
    --------
    >>> from discbayes.datasets import load_dataset
    >>> data = load_dataset("corral")
    >>> data
    Dataset('corral', 128 rows, 6 features, 2 classes, source='embedded')
    >>> data.categorical
    ['A0', 'A1', 'B0', 'B1', 'Irrelevant', 'Correlated']
    """

    name: str
    X: Any
    y: np.ndarray
    feature_names: list[str]
    categorical: list[str]
    target: str
    split: tuple[slice, slice] | None
    source: str
    description: str

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.y)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return len(self.feature_names)

    @cached_property
    def classes(self) -> np.ndarray:
        """The classes that occur, sorted."""
        return np.unique(self.y)

    @property
    def X_train(self) -> Any:
        """The features of the training rows."""
        return take_rows(self.X, self._part(0))

    @property
    def y_train(self) -> np.ndarray:
        """The classes of the training rows."""
        return self.y[self._part(0)]

    @property
    def X_test(self) -> Any:
        """The features of the test rows."""
        return take_rows(self.X, self._part(1))

    @property
    def y_test(self) -> np.ndarray:
        """The classes of the test rows."""
        return self.y[self._part(1)]

    def _part(self, which: int) -> slice:
        if self.split is None:
            raise ValueError(
                f"data set {self.name!r} has no fixed split: use cross-validation on X and y"
            )
        return self.split[which]

    def __repr__(self) -> str:
        size = f"{self.n_rows} rows, {self.n_features} features, {len(self.classes)} classes"
        return f"Dataset({self.name!r}, {size}, source={self.source!r})"
