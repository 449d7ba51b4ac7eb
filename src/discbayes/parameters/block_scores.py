"""The log-joint of a block of rows as a function of the tables, and its gradient.

Rows are processed in chunks whose boundaries depend on the rows alone. Complete families are read
from their cells, in incomplete rows too: tables are padded by a value for "missing" whose cells are
zero. A row is stored as the list of its cells that are not the most frequent ones
(``kernels/entries.py``). The remaining missing values are marginalized; rows with the same pattern
of missing values are next to each other, after all others, and only they are stored as codes too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from discbayes.counts.contingency import kernel_classes
from discbayes.data.domain import Encoded
from discbayes.engine import parallel_map, row_blocks
from discbayes.inference import group_by_missing
from discbayes.kernels import curvature, entries, expectation, likelihood_entries
from discbayes.network import Layout
from discbayes.parameters.parameterization import Numbers

# the scores of a chunk stay in the cache between the forward and the backward pass
CHUNK_ROWS, CHUNK_SCORES = 1024, 16384
MIN_CHUNKS = 8  # if there are enough rows, so that threads have about the same amount of work
MISSING_CHUNK_ROWS = 128  # of a chunk of rows with values to marginalize, which take longer
MAX_PARTS, PART_CELLS = 8, 1 << 25  # of the rows, and of the sums of all of these parts together
MAX_SMALL = np.iinfo(np.uint16).max  # cells, whose numbers fit in two bytes
MAX_CELLS = 1 << 22  # of the factors that one row may need


class PaddedValues(NamedTuple):
    """Values as the kernels read them: padded, and as differences from the usual cells."""

    numbers: Numbers
    base: np.ndarray
    table: np.ndarray


@dataclass(frozen=True)
class RowChunk:
    """Consecutive rows; ``groups`` are their patterns of values to marginalize, or empty."""

    rows: slice
    groups: np.ndarray


class BlockScores:
    """A block of rows, sorted and indexed, and its log-joint given tables.

    Parameters
    ----------
    data : Encoded
        The rows.
    layout : Layout
        Where the cells of the tables are.
    normalized : bool
        Whether the tables will be normalized: then missing values without observed descendants
        sum to one and are left out.
    """

    def __init__(self, data: Encoded, layout: Layout, normalized: bool):
        self.layout, self.normalized = layout, normalized
        self._padded, self._inside = _pad(layout, bool(data.n_missing.any()))
        self._usual, lengths = self._find_usual(data.codes)
        incomplete = _rows_to_marginalize(data.codes, layout, normalized)
        patterns = group_by_missing(data.codes, np.flatnonzero(incomplete), layout.cards)
        weight = np.ones(incomplete.size) if data.weight is None else data.weight.astype(float)
        whole = np.flatnonzero(~incomplete)
        order = np.concatenate(
            [whole[_alike_together(lengths[whole], weight[whole])], patterns.rows]
        )
        codes = np.take(data.codes, order, axis=1)
        self.y, self.weight = kernel_classes(data)[order], weight[order]
        n_whole = whole.size
        self.codes, self.group_start = codes[:, n_whole:].copy(), _split_groups(patterns.start)
        size = max(CHUNK_ROWS, min(CHUNK_SCORES // layout.n_classes, -(-n_whole // MIN_CHUNKS)))
        self.chunks = [RowChunk(rows, np.empty(0, np.int64)) for rows in row_blocks(n_whole, size)]
        self.chunks += _missing_chunks(self.group_start, n_whole)
        self._refuse_too_large(data)
        self._width = entries.padded_width(layout.n_classes)
        self._starts = np.concatenate([[0], np.cumsum(lengths[order])])
        n_cells = self._padded.size // layout.n_classes
        self._entries = np.empty(
            int(self._starts[-1]), np.uint16 if n_cells < MAX_SMALL else np.uint32
        )
        entries.list_entries(codes, *self._families, self._usual, self._starts, self._entries)

    def _find_usual(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the most frequent cell of each feature, and the number of others in each row."""
        usual, lengths = np.empty(codes.shape[0], np.int64), np.zeros(codes.shape[1], np.int64)
        entries.find_usual(codes, *self._families, usual, lengths)
        return usual, lengths

    @property
    def _families(self) -> tuple[np.ndarray, ...]:
        """Parents, their strides and first cells: they map codes to cells without the class."""
        layout, n_classes = self._padded, self.layout.n_classes
        return (
            layout.parent_start,
            layout.parent_index,
            layout.parent_stride // n_classes,
            layout.offsets // n_classes,
        )

    @property
    def complete(self) -> bool:
        """Whether no value is missing."""
        return self._inside is None

    @property
    def nbytes(self) -> int:
        """The bytes of the stored rows."""
        kept = (
            self.codes,
            self.y,
            self.weight,
            self.group_start,
            self._starts,
            self._entries,
            self._inside,
        )
        return sum(array.nbytes for array in kept if array is not None)

    @property
    def class_weights(self) -> np.ndarray:
        """The weight of the rows of each class."""
        return np.bincount(self.y, self.weight, self.layout.n_classes)

    @property
    def total_weight(self) -> float:
        """The weight of all rows."""
        return float(self.weight.sum())

    def truth(self, chunk: RowChunk) -> tuple[np.ndarray, np.ndarray]:
        """Return the classes and the weights of the rows of a chunk."""
        return self.y[chunk.rows], self.weight[chunk.rows]

    @cached_property
    def parts(self) -> list[list[RowChunk]]:
        """Chunks in parts; a thread processes the chunks of a part one after the other."""
        return in_parts(self.chunks, self.blank().cells.size)

    @property
    def work(self) -> float:
        """The approximate time of a forward and a backward pass in nanoseconds."""
        by_class = 0.4 * self._entries.size + 4.0 * self.y.size + 50.0 * self.codes.size
        return by_class * max(self.layout.n_classes, 4)

    @property
    def n_pairs(self) -> float:
        """The approximate number of pairs of entries in the rows."""
        return self._entries.size**2 / max(1.0, 2.0 * self.y.size)

    def pair_weights(self, n_jobs: int | None) -> np.ndarray:
        """Return for each two cells the weight of the rows that are in both.

        Index 0 stands for all rows, cells come after that. A missing value is in no cell.
        """
        layout = self._padded
        n = 1 + layout.size // layout.n_classes

        def one(part: list[RowChunk]) -> np.ndarray:
            out, span = np.zeros((n, n)), (part[0].rows.start, part[-1].rows.stop)
            curvature.add_pairs(self._entries, self._starts, *span, self.weight, out)
            return out

        found = parallel_map(one, in_parts(self.chunks, n * n), n_jobs, self.n_pairs)
        total = sum(found, np.zeros((n, n)))
        total += np.tril(total, -1).T
        for usual, (first, last) in zip(
            self._usual, pairwise(layout.offsets // layout.n_classes), strict=True
        ):
            # rows in no other cell of the feature
            rest = total[0] - total[1 + first : 1 + last].sum(axis=0)
            total[1 + usual] = total[:, 1 + usual] = rest
            total[1 + usual, 1 + usual] = rest[0] - rest[1 + first : 1 + last].sum()
        if self._inside is None:
            return total
        cells = np.concatenate([[0], 1 + self._inside[:: layout.n_classes] // layout.n_classes])
        return total[np.ix_(cells, cells)]

    def padded(self, numbers: Numbers) -> PaddedValues:
        """Prepare the values of tables for ``forward`` and ``pull_back``."""
        layout = self._padded
        if self._inside is not None:
            cells = np.zeros(layout.size)
            cells[self._inside] = numbers.cells
            numbers = Numbers(numbers.prior, cells)
        base, table = np.zeros(self._width), np.zeros(self._n_differences)
        entries.differences(
            numbers.cells,
            numbers.prior,
            layout.offsets,
            self._usual,
            layout.n_classes,
            self._width,
            base,
            table,
        )
        return PaddedValues(numbers, base, table)

    @property
    def _n_differences(self) -> int:
        return self._padded.size // self.layout.n_classes * self._width

    def blank(self) -> Numbers:
        """Return a gradient of zero for ``pull_back`` to add to.

        It is that of the differences and, where values are marginalized, of the cells.
        """
        n_cells = self._padded.size if self.group_start.size > 1 else 0
        return Numbers(np.zeros(self.layout.n_classes), np.zeros(self._n_differences + n_cells))

    def stripped(self, gradient: Numbers) -> Numbers:
        """Return the gradient with respect to the tables, from the sums of ``pull_back``."""
        layout, n = self._padded, self._n_differences
        cells = gradient.cells[n:].copy() if gradient.cells.size > n else np.zeros(layout.size)
        entries.complete(
            gradient.cells[:n],
            gradient.prior,
            layout.offsets,
            self._usual,
            layout.n_classes,
            self._width,
            cells,
        )
        return Numbers(gradient.prior, cells if self._inside is None else cells[self._inside])

    def forward(self, ready: PaddedValues, chunk: RowChunk) -> np.ndarray:
        """Compute the log-joint of the rows of a chunk."""
        rows = chunk.rows
        wide = np.empty((rows.stop - rows.start, self._width))
        entries.add_up(self._entries, self._starts, rows.start, ready.base, ready.table, wide)
        scores = np.ascontiguousarray(wide[:, : self.layout.n_classes])
        if chunk.groups.size:
            nothing = np.empty((0, self.layout.n_classes))
            self._marginalize(ready.numbers, chunk, scores, nothing, np.empty(0))
        return scores

    def least(self, prior: np.ndarray, cells: np.ndarray, chunk: RowChunk) -> np.ndarray:
        """Return the smallest table value of each row and class of a chunk of complete rows."""
        rows, layout = chunk.rows, self.layout
        found = np.empty((rows.stop - rows.start, layout.n_classes))
        entries.least(
            self._entries,
            self._starts,
            rows.start,
            layout.offsets,
            self._usual,
            prior,
            cells,
            found,
        )
        return found

    def pull_back(
        self, ready: PaddedValues, chunk: RowChunk, residual: np.ndarray, into: Numbers
    ) -> None:
        """Add the gradient of a chunk, given the gradient with respect to its log-joint."""
        n, wide = self._n_differences, residual
        if self._width > residual.shape[1]:
            wide = np.pad(residual, ((0, 0), (0, self._width - residual.shape[1])))
        entries.hand_back(
            self._entries, self._starts, chunk.rows.start, wide, into.prior, into.cells[:n]
        )
        if chunk.groups.size:
            self._marginalize(
                ready.numbers, chunk, np.zeros_like(residual), residual, into.cells[n:]
            )

    def add_likelihood(self, ready: PaddedValues, chunk: RowChunk, into: Numbers) -> float:
        """Return Σ weight · log P(y | x) of a chunk, and add its gradient, in one pass.

        The chunk has no values to marginalize. A log-joint that is not finite gives a value that is
        not finite either, and a gradient that must not be used.
        """
        rows, cells = chunk.rows, into.cells[: self._n_differences]
        return float(likelihood_entries.add_likelihood(
            self._entries, self._starts, rows.start, rows.stop, self.y, self.weight, ready.base,
            ready.table, into.prior, cells,
        ))  # fmt: skip

    def _marginalize(
        self,
        numbers: Numbers,
        chunk: RowChunk,
        scores: np.ndarray,
        residual: np.ndarray,
        into: np.ndarray,
    ) -> None:
        layout = self._padded.arrays()._replace(cards=self.layout.cards)
        expectation.sum_missing(
            self.codes, self.group_start, chunk.groups, layout, numbers.cells, self.normalized,
            scores, residual, into,
        )  # fmt: skip

    def _refuse_too_large(self, data: Encoded) -> None:
        """Raise an error that names the columns if marginalizing a row needs too much memory."""
        layout, sizes = self.layout, np.zeros(self.group_start.size - 1)
        expectation.plan_sizes(
            self.codes, self.group_start, layout.arrays(), layout.n_classes, self.normalized, sizes
        )
        if sizes.max(initial=0) > MAX_CELLS:
            row = self.codes[:, self.group_start[sizes.argmax()]]
            names = [
                repr(n)
                for n, x, card in zip(data.domain.names, row, layout.cards, strict=True)
                if x >= card
            ]
            raise ValueError(
                f"a row has missing values in {', '.join(names[:12])}"
                f"{' …' if len(names) > 12 else ''}; to marginalize them "
                f"while learning takes {sizes.max():.3g} cells, above {MAX_CELLS:,}. Learn with"
                ' missing="drop" or '
                'missing="value", or use a structure with fewer parents'
            )


def _alike_together(lengths: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Sort rows by length, those of weight one first.

    Branches of the kernels then go as they did for the row before, which processors predict.
    """
    return np.argsort(lengths + (weight != 1.0) * (lengths.max(initial=0) + 1), kind="stable")


def in_parts(chunks: list[RowChunk], n_cells: int) -> list[list[RowChunk]]:
    """Divide chunks into as many parts as memory allows if each has ``n_cells`` for its sums.

    The parts depend on the data alone, so that sums over them in order do not depend on the number
    of threads.
    """
    n_parts = int(np.clip(PART_CELLS // max(1, n_cells), 1, MAX_PARTS))
    bounds = [len(chunks) * k // n_parts for k in range(n_parts + 1)]
    return [chunks[a:b] for a, b in pairwise(bounds) if a < b]


def _rows_to_marginalize(codes: np.ndarray, layout: Layout, normalized: bool) -> np.ndarray:
    """Mark rows with values to marginalize.

    Without normalization these are all missing values, with it those with an observed child.
    """
    missing: np.ndarray = codes >= layout.cards[:, None]
    if not normalized:
        return np.asarray(missing.any(axis=0))
    rows = np.zeros(codes.shape[1], dtype=bool)
    for i, group in enumerate(layout.structure.parents):
        for parent in group:
            rows |= missing[parent] & ~missing[i]
    return rows


def _split_groups(start: np.ndarray) -> np.ndarray:
    """Return boundaries of groups, none of them longer than a chunk."""
    pieces = [np.arange(a, b, MISSING_CHUNK_ROWS) for a, b in pairwise(start)]
    return np.concatenate([*pieces, start[-1:]]).astype(np.int64)


def _missing_chunks(start: np.ndarray, n_whole: int) -> list[RowChunk]:
    """Join consecutive groups until a chunk has enough rows; complete rows come before them."""
    chunks: list[RowChunk] = []
    first = 0
    for last in range(1, start.size):
        if last == start.size - 1 or start[last + 1] - start[first] > MISSING_CHUNK_ROWS:
            rows = slice(n_whole + int(start[first]), n_whole + int(start[last]))
            chunks.append(RowChunk(rows, np.arange(first, last)))
            first = last
    return chunks


def _pad(layout: Layout, needed: bool) -> tuple[Layout, np.ndarray | None]:
    """Return a layout with one more value for each feature, and the positions of the old cells.

    If that is not needed, return the layout itself.
    """
    if not needed:
        return layout, None
    padded = Layout(layout.structure, layout.cards + 1, layout.n_classes)
    places = np.arange(padded.size)
    parts = [
        padded.table(places, i)[tuple(slice(0, size) for size in shape)].ravel()
        for i, shape in enumerate(layout.shapes)
    ]
    return padded, np.concatenate(parts) if parts else places
