"""Two passes on the workers of a cluster, each of which reads some of the rows.

In the first pass a worker gathers what its rows say of the domain, and that is put together in the
order of the rows, two by two, so that little travels. Histograms of whole weights are the same in
any order: the domain has the same bits as that of one process, unless a column has more distinct
values than are kept (`discbayes.streams.quantiles`). In the second pass a worker reads its rows
again, codes them, and keeps the blocks.

That needs rows which can be found by their numbers, and weights that are whole. Where it is not so,
nothing is done.
"""

from __future__ import annotations

from collections import deque
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from discbayes.data import row_blocks
from discbayes.data.discretize import CutPointDiscretizer
from discbayes.data.domain import Domain, Encoded
from discbayes.data.frame_encoder import FrameEncoder
from discbayes.engine import DaskEngine, Progress
from discbayes.streams.batch_rows import Classes, Reader, WeightTotals
from discbayes.streams.column_summaries import n_numeric
from discbayes.streams.learned_domain import ColumnStatistics, LearnedDomain, gather
from discbayes.streams.rereading import refuse_change
from discbayes.streams.source_parts import Coder, Part, Parts, Settings, parts_of
from discbayes.streams.throughput import Throughput


class ClusterCodes:
    """A table in codes on the workers of a cluster, block by block; they go when this is closed.

    The attributes are those of `discbayes.streams.Spilled`.
    """

    def __init__(
        self,
        engine: DaskEngine,
        shards: list[Any],
        domain: Domain,
        learned: LearnedDomain,
        named: bool,
    ):
        self.domain, self.classes, self.rank_error, self.named = (
            domain,
            learned.classes,
            learned.rank_error,
            named,
        )
        self.n_rows, self.weighted, self.n_missing = (
            learned.n_rows,
            learned.weighted,
            learned.known_missing(domain),
        )
        self._engine, self._shards, self._size = engine, shards, row_blocks.ROWS_OF_BLOCK

    def __len__(self) -> int:
        """The number of blocks."""
        return -(-self.n_rows // self._size)

    def load_on(self, engine: DaskEngine) -> list[Any]:
        """The shards, which are there already."""
        return self._shards

    def block(self, number: int) -> Encoded:
        """A block of rows, fetched from its worker."""
        runs = self._engine.runs(len(self))
        shard = next(
            shard for shard, (_, last) in zip(self._shards, runs, strict=True) if number < last
        )
        block: Encoded = self._engine.submit(_item, shard, number).result()
        return block

    def close(self) -> None:
        """Let the workers forget the rows."""
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
    said: Progress,
) -> ClusterCodes | None:
    """Learn the domain of a source, and keep its codes on the workers; None where they cannot read
    it in parts.
    """
    parts = parts_of(reader, engine) if reader.along and encoder.missing != "drop" else None
    look = None if parts is None else _first_look(parts, Settings.of(reader, encoder), engine)
    if parts is None or look is None:
        return None
    found = _first_pass(parts, look.settings, discretizer, engine, said) if look.plain else None
    if found is None or not _are_plain(found[0].weights):
        said.stage(
            "weights are not whole numbers, or some are zero: the rows are read in one process"
        )
        return None
    gathered, n_rows = found
    learned = gathered.learned(encoder)
    coder = Coder(
        look.settings.with_encoder(learned.adopted_by(encoder)),
        learned.seen,
        learned.class_codes,
        learned.weighted,
    )
    shards = _second_pass(parts, coder, learned, n_rows, engine, said)
    return ClusterCodes(engine, shards, encoder.domain_, learned, look.settings.named)


# ---- the first pass


@dataclass(frozen=True)
class _Look:
    """What the first rows say of all; ``plain`` are weights whose sums are the same in any order,
    none of them zero.
    """

    settings: Settings
    plain: bool


def _are_plain(weights: WeightTotals) -> bool:
    return weights.whole and weights.n_positive == weights.n_rows


def _first_look(parts: Parts, settings: Settings, engine: DaskEngine) -> _Look | None:
    """A look at the first rows; None if there are none."""
    for asked in parts.each(engine):
        look: _Look | None = engine.submit(_look, asked.part, settings, *asked.futures).result()
        if look is not None:
            return look
    return None


def _look(part: Part, settings: Settings, *loaded: Any) -> _Look | None:
    reader = settings.reader(part, loaded)
    if reader is None:
        return None
    weights = WeightTotals()
    rows = next(reader.rows(Classes(), weights, settings.encoder.missing))
    return _Look(settings.after(reader, n_numeric(rows.table)), _are_plain(weights))


def _first_pass(
    parts: Parts,
    settings: Settings,
    discretizer: CutPointDiscretizer | None,
    engine: DaskEngine,
    said: Progress,
) -> tuple[ColumnStatistics, list[int]]:
    """What all rows say, and how many rows each part has."""
    pace = Throughput("first pass (values)", said, parts.n_rows)
    found = [
        engine.submit(_gather, asked.part, settings, discretizer, *asked.futures)
        for asked in parts.each(engine)
    ]
    n_rows = [engine.submit(_rows_of, part) for part in found]
    for part in engine.as_done(n_rows):
        pace.add(part.result())
    counted = [part.result() for part in n_rows]
    while len(found) > 1:
        pairs = [found[at : at + 2] for at in range(0, len(found), 2)]
        found = [engine.submit(_together, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
        deque(engine.as_done(found), maxlen=0)  # an error of earlier rows comes first
    gathered: ColumnStatistics = found[0].result()
    pace.end()
    return gathered, counted


def _gather(
    part: Part, settings: Settings, discretizer: CutPointDiscretizer | None, *loaded: Any
) -> ColumnStatistics | None:
    reader = settings.reader(part, loaded)
    return (
        None
        if reader is None
        else gather(reader, settings.encoder, discretizer, n_numeric=settings.n_numeric)
    )


def _rows_of(gathered: ColumnStatistics | None) -> int:
    return 0 if gathered is None else gathered.weights.n_rows


def _together(
    first: ColumnStatistics | None, later: ColumnStatistics | None
) -> ColumnStatistics | None:
    """What is known of both; Dask may need them again, so they stay as they are."""
    if first is None or later is None:
        return later if first is None else first
    return deepcopy(first).take_in(deepcopy(later))


# ---- the second pass


def _second_pass(
    parts: Parts,
    coder: Coder,
    learned: LearnedDomain,
    n_rows: list[int],
    engine: DaskEngine,
    said: Progress,
) -> list[Any]:
    """The blocks, shard by shard; that the rows are those of the first pass is checked."""
    pace = Throughput("second pass (codes)", said, learned.n_rows)
    shards = parts.shards(coder, n_rows, engine)
    gaps = np.zeros(len(coder.domain.features), dtype=np.int64)
    for part in engine.as_done([engine.submit(_gaps_and_rows, shard) for shard in shards]):
        found, n_coded = part.result()
        gaps += found
        pace.add(n_coded)
    if not np.array_equal(gaps, learned.known_missing(coder.domain)):
        refuse_change(coder.settings.name)
    pace.end(", kept on the workers")
    return shards


def _gaps_and_rows(shard: Any) -> tuple[np.ndarray, int]:
    found = [(block.n_missing, block.n_samples) for block in map(shard.item, shard.numbers)]
    return np.sum([gaps for gaps, _ in found], axis=0), sum(n_rows for _, n_rows in found)


def _item(shard: Any, number: int) -> Encoded:
    block: Encoded = shard.item(number)
    return block
