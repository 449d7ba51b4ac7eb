"""The rows of a fit behind one protocol: a table in memory, or rows that are read in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from discbayes.classifier.fitting import FitPlan, read_columns, table_columns
from discbayes.data import Encoded, FrameEncoder
from discbayes.data.folds import MAX_KEYS, KeyedBatches, in_batches
from discbayes.data.frame_encoder import complete_rows
from discbayes.data.row_blocks import RowBlocks, RowsInMemory
from discbayes.data.row_keys import table_keys
from discbayes.data.rows import Rows
from discbayes.data.table import Table
from discbayes.data.targets import Labels, weight_array
from discbayes.engine import DaskEngine, Progress, active_client, connected_client
from discbayes.streams import (
    ClusterCodes,
    DiskCodes,
    KeyFile,
    WithoutHeldOut,
    bytes_of,
    encode_rows,
    is_dask,
    is_source,
    open_rows,
)

_KEY_BYTES = 128  # of a distinct key and of all that is known of its rows, as folds are assigned

NO_ROWS = np.zeros(0, np.int64)
# The rows to learn from, and a function that returns the codes of those that are held out.
Split = tuple[Rows, Callable[[], np.ndarray]]


@dataclass(frozen=True)
class UnlabeledRows:
    """Rows without a label, and their weights; those without any value are counted only."""

    table: Table
    weight: np.ndarray | None
    n_unlabeled: int
    n_labeled: int


class TrainingRows(Protocol):
    """The rows of a fit: encoded all together, then once without each fold of calibration.

    An ensemble encodes them once for each of its members.

    Attributes
    ----------
    columns : dict
        ``n_features_in_`` and ``feature_names_in_``, known once the rows were encoded.
    max_keys : int
        The number of distinct keys that may be kept in memory as folds are assigned.
    unlabeled : UnlabeledRows or None
        Rows without a label, which are set aside; None if there are none.
    """

    columns: dict[str, Any]
    max_keys: int
    unlabeled: UnlabeledRows | None

    def encode(self, encoder: FrameEncoder, progress: Progress) -> AbstractContextManager[Rows]:
        """Fit the encoder, and give the codes of all rows as the learners of the plan take them."""

    def encode_without(
        self,
        rows: np.ndarray,
        weight: np.ndarray,
        encoder: FrameEncoder,
        progress: Progress,
        omitted: np.ndarray = NO_ROWS,
    ) -> AbstractContextManager[Split]:
        """Fit the encoder, and give codes, without the given weight of the given rows.

        Rows that are ``omitted`` are not learned from, either, and not given.
        """

    def keys(self) -> KeyedBatches:
        """Return a function that goes over the keys of all rows, by which folds are assigned."""

    def close(self) -> None:
        """Remove what was kept to read the rows once more."""


@contextmanager
def open_training_rows(X: Any, y: Any, sample_weight: Any, plan: FitPlan) -> Iterator[TrainingRows]:
    """Open the rows of a fit, and connect to the cluster that works on them, if there is one."""
    cluster = plan.cluster
    if cluster is None and is_dask(X):
        cluster = active_client()
    with ExitStack() as opened:
        engine = None
        if cluster is not None:
            client = opened.enter_context(connected_client(cluster))
            engine = DaskEngine(client, memory=bytes_of(plan.memory))
        rows_of = StreamedRows if is_source(X) else TableRows
        yield opened.enter_context(closing(rows_of(X, y, sample_weight, plan, engine)))


class TableRows:
    """The rows of a table in memory."""

    max_keys = MAX_KEYS

    def __init__(
        self, X: Any, y: Any, sample_weight: Any, plan: FitPlan, engine: DaskEngine | None
    ):
        self._table = plan.encoder.read_new(X)
        self.columns = table_columns(X)
        self._y = y
        self._sample_weight = sample_weight
        self.unlabeled: UnlabeledRows | None = None
        if plan.unlabeled != "error":
            self._set_aside(plan.encoder.missing)
        self._kept = self._table  # the rows that count
        self._plan = plan
        self._engine = engine

    def _set_aside(self, missing_values: str) -> None:
        """Set the rows without a label aside."""
        table, weight = self._table, self._sample_weight
        labels = Labels.of(self._y, table.n_rows)
        missing = ~labels.is_there
        if not missing.any():
            return
        if missing.all():
            raise ValueError(f"no label in {missing.size} rows: at least one row must have one")
        if weight is not None:
            weight = weight_array(weight, table.n_rows)
        self._y, self._table = labels.there(), table.take(~missing)
        counts = missing & ~table.missing_mask().all(axis=0)
        complete = complete_rows(table, missing_values)
        if complete is not None:
            counts &= complete
        self._sample_weight = None if weight is None else weight[~missing]
        of_rows = None if weight is None else weight[counts]
        n_missing = int(missing.sum())
        self.unlabeled = UnlabeledRows(
            table.take(counts), of_rows, n_missing, missing.size - n_missing
        )

    @contextmanager
    def encode(self, encoder: FrameEncoder, progress: Progress) -> Iterator[Rows]:
        """Fit the encoder, and give the codes of all rows as the learners of the plan take them."""
        progress.stage("reading and discretizing")
        self._data = encoder.fit_transform(self._table, self._y, self._sample_weight)
        self._classes = encoder.classes_
        holds_out = self._plan.calibration is not None or self.unlabeled is not None
        if encoder.kept_rows_ is not None and holds_out:
            self._kept = self._table.take(encoder.kept_rows_)
        yield self._on_cluster(self._data)

    def keys(self) -> KeyedBatches:
        """Return a function that goes over the keys of all rows, by which folds are assigned."""
        data = self._data
        keys = table_keys(self._kept, data.classes, data.weight)
        return partial(in_batches, keys, data.classes, data.weight)

    @contextmanager
    def encode_without(
        self,
        rows: np.ndarray,
        weight: np.ndarray,
        encoder: FrameEncoder,
        progress: Progress,
        omitted: np.ndarray = NO_ROWS,
    ) -> Iterator[Split]:
        """Fit the encoder, and give codes, without the given weight of the given rows."""
        data = self._data
        left = np.ones(data.n_samples) if data.weight is None else data.weight.copy()
        left[rows] -= weight
        left[omitted] = 0.0
        kept = left > 0
        kept_weight = None if (left[kept] == 1).all() else left[kept]
        labels = self._classes[data.classes[kept]]
        target = data.domain.target.name  # edges of a given structure may name it
        codes = encoder.fit_selected(self._kept.take(kept), labels, kept_weight, target)
        yield (
            self._on_cluster(codes),
            lambda: encoder.transform(self._kept.take(rows), "marginalize"),
        )

    def _on_cluster(self, data: Encoded) -> Rows:
        """Return the rows as blocks on the cluster, if there is one and the learners take them."""
        if self._engine is None or self._plan.learner_of_tables is not None:
            return data
        rows = RowsInMemory(data)
        return RowBlocks(rows, self._engine) if len(rows) > 1 else data

    def close(self) -> None:
        """Do nothing: the table belongs to the user."""


class StreamedRows:
    """Rows that are read in batches: from files, an iterator, or a Dask collection.

    They are read twice, for the domain and for the codes, and twice more without each fold.
    """

    unlabeled: UnlabeledRows | None = None

    def __init__(
        self, X: Any, y: Any, sample_weight: Any, plan: FitPlan, engine: DaskEngine | None
    ):
        if plan.unlabeled != "error":
            raise ValueError(
                f"unlabeled={plan.unlabeled!r} needs a table in memory, and these rows are read in"
                " batches: leave out the rows without a label"
            )
        self._memory = bytes_of(plan.memory)
        self.max_keys = self._memory // _KEY_BYTES
        self._reading = open_rows(X, y, sample_weight, memory=self._memory, dates=plan.encoder)
        self._keys = None if plan.calibration is None else KeyFile(self._reading.space)
        self._new_keys = self._keys
        self._plan = plan
        self._engine = engine

    @contextmanager
    def encode(self, encoder: FrameEncoder, progress: Progress) -> Iterator[Rows]:
        """Fit the encoder, and give the codes of all rows as the learners of the plan take them."""
        keys, self._new_keys = self._new_keys, None  # those of a second time are the same
        _, codes = encode_rows(
            self._reading, encoder, progress=progress, keys=keys, engine=self._engine
        )
        with codes:
            self.columns = read_columns(codes.domain.columns, codes.named)
            yield encoder.group_values(self._for_learners(codes))

    def keys(self) -> KeyedBatches:
        """Return a function that goes over the keys of all rows, by which folds are assigned."""
        assert self._keys is not None
        return self._keys.blocks

    @contextmanager
    def encode_without(
        self,
        rows: np.ndarray,
        weight: np.ndarray,
        encoder: FrameEncoder,
        progress: Progress,
        omitted: np.ndarray = NO_ROWS,
    ) -> Iterator[Split]:
        """Fit the encoder, and give codes, without the given weight of the given rows."""
        left = WithoutHeldOut(self._reading, rows, weight, omitted)
        held_out: list[np.ndarray] = []

        def encode_held_out() -> None:  # from the second pass on, when the encoder is fitted
            left.see = lambda table: held_out.append(encoder.transform(table, "marginalize"))

        _, codes = encode_rows(left, encoder, progress=progress, ready=encode_held_out)
        with codes:
            data: Rows = encoder.group_values(self._for_learners(codes))
            yield data, lambda: np.concatenate(held_out, axis=1)

    def _for_learners(self, codes: DiskCodes | ClusterCodes) -> Rows:
        """Return the rows in blocks; in one table if there is one block or a learner needs it."""
        if len(codes) == 1:
            return codes.block(0)
        blocks = RowBlocks(codes, self._engine, self._memory)
        learner = self._plan.learner_of_tables
        return blocks if learner is None else blocks.in_memory(learner)

    def close(self) -> None:
        """Remove the temporary files that hold keys, and rows that can be read only once."""
        self._reading.close()
