"""Two passes on the workers of a cluster, each of which reads some of the rows.

In the first pass a worker collects the statistics of its rows, which are merged in the order of the
rows, two by two, so that little is sent. Histograms of whole weights do not depend on the order:
the domain has the same bits as that of one process, unless a column has more distinct values than
are kept (`discbayes.streams.quantiles`). In the second pass a worker reads its rows again, encodes
them, and keeps the blocks.

This needs rows that can be found by their numbers, and weights that are whole numbers; otherwise
the rows are read in one process.
"""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from dataclasses import replace
from operator import methodcaller
from typing import Any

import numpy as np

from discbayes.data import row_blocks
from discbayes.data.discretize import CutPointDiscretizer
from discbayes.data.domain import Encoded
from discbayes.data.frame_encoder import FrameEncoder
from discbayes.engine import DaskEngine, Progress
from discbayes.streams.batch_rows import Classes, Reader, WeightTotals, refuse_change
from discbayes.streams.learned_domain import (
    ColumnStatistics,
    LearnedDomain,
    collect_statistics,
    count_numeric,
)
from discbayes.streams.source_parts import Part, PartEncoder, PartReader, Parts, parts_of
from discbayes.streams.throughput import Throughput


class ClusterCodes:
    """A table in codes on the workers of a cluster, block by block, until it is closed.

    The attributes are those of `discbayes.streams.DiskCodes`.
    """

    def __init__(self, engine: DaskEngine, shards: list[Any], learned: LearnedDomain, named: bool):
        self.domain = learned.domain
        self.classes = learned.encoder.classes_
        self.rank_error = learned.rank_error
        self.named = named
        self.n_rows = learned.n_rows
        self.weighted = learned.weighted
        self.n_missing = learned.missing_codes()
        self._engine = engine
        self._shards = shards
        self._size = row_blocks.ROWS_OF_BLOCK

    def __len__(self) -> int:
        """The number of blocks."""
        return -(-self.n_rows // self._size)

    def load_on(self, engine: DaskEngine) -> list[Any]:
        """Return the shards, which are on the workers already."""
        return self._shards

    def block(self, number: int) -> Encoded:
        """Return a block of rows, fetched from its worker."""
        runs = self._engine.runs(len(self))
        shard = next(
            shard for shard, (_, last) in zip(self._shards, runs, strict=True) if number < last
        )
        block: Encoded = self._engine.submit(methodcaller("item", number), shard).result()
        return block

    def close(self) -> None:
        """Let the workers delete the rows."""
        self._shards = []

    def __enter__(self) -> ClusterCodes:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def encode_on_cluster(
    reader: Reader,
    encoder: FrameEncoder,
    discretizer: CutPointDiscretizer | None,
    engine: DaskEngine,
    progress: Progress,
) -> ClusterCodes | None:
    """Learn a domain and keep the codes on the workers; return None if they cannot read rows."""
    can_split = reader.is_self_contained and encoder.missing != "drop"
    parts = parts_of(reader, engine) if can_split else None
    found = None if parts is None else _first_look(parts, PartReader.of(reader, encoder), engine)
    if parts is None or found is None:
        return None
    part_reader, additive = found
    if additive:
        statistics, n_rows = _first_pass(parts, part_reader, discretizer, engine, progress)
        additive = _are_additive(statistics.weights)
    if not additive:
        progress.stage(
            "weights are not whole numbers, or some are zero: the rows are read in one process"
        )
        return None
    learned = statistics.learn_domain(encoder)
    part_encoder = PartEncoder(part_reader, learned)
    shards = _second_pass(parts, part_encoder, learned, n_rows, engine, progress)
    return ClusterCodes(engine, shards, learned, part_reader.named)


# ---- the first pass


def _are_additive(weights: WeightTotals) -> bool:
    """Return whether the sums of weights are the same in any order, and none of them is zero."""
    return weights.whole and weights.n_positive == weights.n_rows


def _first_look(
    parts: Parts, part_reader: PartReader, engine: DaskEngine
) -> tuple[PartReader, bool] | None:
    """Return what the first rows tell of columns and weights; None if there are no rows."""
    for part, futures in parts.requests(engine):
        found: tuple[PartReader, bool] | None
        found = engine.submit(_look, part, part_reader, *futures).result()
        if found is not None:
            return found
    return None


def _look(part: Part, part_reader: PartReader, *loaded: Any) -> tuple[PartReader, bool] | None:
    reader = part_reader.open(part, loaded)
    if reader is None:
        return None
    weights = WeightTotals()
    rows = next(reader.rows(Classes(), weights, part_reader.encoder.missing))
    informed = replace(
        part_reader, names=reader.names, named=reader.named, n_numeric=count_numeric(rows.table)
    )
    return informed, _are_additive(weights)


def _first_pass(
    parts: Parts,
    part_reader: PartReader,
    discretizer: CutPointDiscretizer | None,
    engine: DaskEngine,
    progress: Progress,
) -> tuple[ColumnStatistics, list[int]]:
    """Return the statistics of all rows, and the number of rows of each part."""
    throughput = Throughput("first pass (values)", progress, parts.n_rows)
    found = [
        engine.submit(_collect, part, part_reader, discretizer, *futures)
        for part, futures in parts.requests(engine)
    ]
    n_rows = [engine.submit(_rows_of, part) for part in found]
    for part in engine.as_done(n_rows):
        throughput.add(part.result())
    counted = [part.result() for part in n_rows]
    while len(found) > 1:
        pairs = [found[at : at + 2] for at in range(0, len(found), 2)]
        found = [engine.submit(_merge, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
        deque(engine.as_done(found), maxlen=0)  # an error of earlier rows comes first
    statistics: ColumnStatistics = found[0].result()
    throughput.end()
    return statistics, counted


def _collect(
    part: Part, part_reader: PartReader, discretizer: CutPointDiscretizer | None, *loaded: Any
) -> ColumnStatistics | None:
    reader = part_reader.open(part, loaded)
    if reader is None:
        return None
    return collect_statistics(
        reader, reader.rows, part_reader.encoder, discretizer, n_numeric=part_reader.n_numeric
    )


def _rows_of(statistics: ColumnStatistics | None) -> int:
    return 0 if statistics is None else statistics.weights.n_rows


def _merge(
    first: ColumnStatistics | None, later: ColumnStatistics | None
) -> ColumnStatistics | None:
    """Return the statistics of both; the arguments stay as they are, since Dask may reuse them."""
    if first is None or later is None:
        return later if first is None else first
    return deepcopy(first).merge(deepcopy(later))


# ---- the second pass


def _second_pass(
    parts: Parts,
    encoder: PartEncoder,
    learned: LearnedDomain,
    n_rows: list[int],
    engine: DaskEngine,
    progress: Progress,
) -> list[Any]:
    """Return the shards of blocks; refuse rows that are not those of the first pass."""
    throughput = Throughput("second pass (codes)", progress, learned.n_rows)
    shards = parts.shards(encoder, n_rows, engine)
    n_missing = np.zeros(len(learned.domain.features), dtype=np.int64)
    for part in engine.as_done([engine.submit(_missing_and_rows, shard) for shard in shards]):
        missing_of_shard, n_encoded = part.result()
        n_missing += missing_of_shard
        throughput.add(n_encoded)
    if not np.array_equal(n_missing, learned.missing_codes()):
        refuse_change(encoder.name)
    throughput.end(", kept on the workers")
    return shards


def _missing_and_rows(shard: Any) -> tuple[np.ndarray, int]:
    found = [(block.n_missing, block.n_samples) for block in map(shard.item, shard.numbers)]
    return np.sum([missing for missing, _ in found], axis=0), sum(n_rows for _, n_rows in found)
