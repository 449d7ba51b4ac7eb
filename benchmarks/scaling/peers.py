"""What scikit-learn can do with rows that do not fit in memory: its learners of parts, with
encoding written by hand.

Categories are numbered by a dictionary, and numbers are cut at quantiles, both as the first batch
has them; gaps and values that it does not have are one more value of the column.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import CategoricalNB

from suite.measure import N_JOBS

BATCH = 1 << 16
TARGET = "y"


def batches(folder: Path) -> Iterator[pa.RecordBatch]:
    """The rows of all files, in order."""
    for path in sorted(folder.glob("*.parquet")):
        yield from pq.ParquetFile(path).iter_batches(BATCH)


class Encoding:
    """The columns of a batch, and what their values are as codes.

    ``bins`` has the number of intervals of each numeric column.
    """

    def __init__(self, batch: pa.RecordBatch, bins: dict[str, int]):
        self.names = [name for name in batch.schema.names if name != TARGET]
        self.classes = pc.unique(batch.column(TARGET)).sort()
        self._known: dict[str, Any] = {}
        for name in self.names:
            column = batch.column(name)
            self._known[name] = (
                _edges(column, bins[name]) if name in bins else pc.unique(column.drop_null())
            )
        self.cards = np.array([len(known) + (name in bins) for name, known in self._known.items()])

    def codes(self, batch: pa.RecordBatch) -> np.ndarray:
        """One row for each row of the batch."""
        out = np.empty((batch.num_rows, len(self.names)), np.uint8)
        for at, name in enumerate(self.names):
            out[:, at] = self._column(batch.column(name), self._known[name], int(self.cards[at]))
        return out

    def target(self, batch: pa.RecordBatch) -> np.ndarray:
        """The numbers of the classes."""
        return np.asarray(pc.index_in(batch.column(TARGET), self.classes))

    @staticmethod
    def _column(column: pa.Array, known: Any, other: int) -> np.ndarray:
        if isinstance(known, np.ndarray):
            values = _floats(column)
            return np.where(np.isnan(values), other, np.searchsorted(known, values, "right"))
        return np.asarray(pc.index_in(column, known).fill_null(other))


def _floats(column: pa.Array) -> np.ndarray:
    return column.cast(pa.float64()).to_numpy(zero_copy_only=False)


def _edges(column: pa.Array, n_bins: int) -> np.ndarray:
    """The inner borders of intervals with about as many values each; no two are the same."""
    return np.unique(np.nanquantile(_floats(column), np.linspace(0, 1, n_bins + 1)[1:-1]))


class Peer(ABC):
    """A learner of parts with its encoding."""

    model: Any
    encoding: Encoding

    @abstractmethod
    def fit(self, folder: Path, bins: dict[str, int]) -> Peer:
        """Learn batch by batch."""

    def inputs(self, codes: np.ndarray) -> Any:
        """Codes as the model takes them."""
        return codes

    def predict_batches(self, folder: Path) -> Iterator[np.ndarray]:
        """Probabilities, batch by batch."""
        for batch in batches(folder):
            yield self.model.predict_proba(self.inputs(self.encoding.codes(batch)))

    @property
    def classes(self) -> list[str]:
        """The labels in the order of the probabilities."""
        return self.encoding.classes.to_pylist()


class NaiveBayes(Peer):
    """``CategoricalNB.partial_fit``."""

    def fit(self, folder: Path, bins: dict[str, int]) -> Peer:
        for at, batch in enumerate(batches(folder)):
            if at == 0:
                self.encoding = Encoding(batch, bins)
                self.model = CategoricalNB(min_categories=self.encoding.cards + 1)
            numbers = np.arange(len(self.encoding.classes))
            self.model.partial_fit(self.encoding.codes(batch), self.encoding.target(batch), numbers)
        return self


class Regression(Peer):
    """Logistic regression by ``SGDClassifier.partial_fit`` on indicators of all values.

    Of the settings that were tried on 300,000 rows (the default; α of 1e-4, 1e-5 and 1e-6; with
    averaging or without; three rules for the steps) this has the best log loss on other rows, after
    one epoch as after five. From the second epoch on codes are read from a file, as ours are.
    """

    def __init__(self, epochs: int):
        self.epochs = epochs
        self.model = SGDClassifier(
            loss="log_loss",
            alpha=1e-6,
            learning_rate="constant",
            eta0=0.01,
            average=True,
            n_jobs=N_JOBS,
            random_state=0,
        )

    def fit(self, folder: Path, bins: dict[str, int]) -> Peer:
        with TemporaryFile() as file:
            sizes = []
            for at, batch in enumerate(batches(folder)):
                if at == 0:
                    self.encoding = Encoding(batch, bins)
                codes, y = self.encoding.codes(batch), self.encoding.target(batch)
                self._learn(codes, y)
                if self.epochs > 1:
                    np.save(file, codes)
                    np.save(file, y)
                    sizes.append(y.size)
            for _ in range(1, self.epochs):
                file.seek(0)
                for _ in sizes:
                    self._learn(np.load(file), np.load(file))
        return self

    def _learn(self, codes: np.ndarray, y: np.ndarray) -> None:
        self.model.partial_fit(self.inputs(codes), y, np.arange(len(self.encoding.classes)))

    def inputs(self, codes: np.ndarray) -> sparse.csr_matrix:
        """An indicator for each value of each column."""
        starts = np.concatenate([[0], np.cumsum(self.encoding.cards + 1)])
        columns = (codes + starts[:-1]).astype(np.int32)
        ends = np.arange(0, columns.size + 1, columns.shape[1], dtype=np.int32)
        shape = (len(codes), int(starts[-1]))
        return sparse.csr_matrix((np.ones(columns.size), columns.ravel(), ends), shape=shape)
