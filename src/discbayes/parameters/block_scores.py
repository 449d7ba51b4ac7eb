"""The log-joint of given rows as a function of the numbers in the tables, and the way back of a
gradient.

Rows are worked on in blocks whose boundaries depend on the rows alone. Families without a gap are
read from their cells, for rows with gaps too: tables are padded by a value for "missing" whose
cells are zero. A row is kept as the list of its cells that are not the usual ones
(``kernels/entries.py``). What is left are the gaps that have to be summed out; rows with the same
ones stand together, after all others, and only they are kept as codes too.
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

# the scores of a block stay in the cache on their way forth and back
BLOCK_ROWS, BLOCK_SCORES = 1024, 16384
MIN_BLOCKS = 8  # where rows are many enough, so that threads have about the same to do
GAP_ROWS = 128  # of a block of rows with gaps, which take longer
MAX_PARTS, PART_CELLS = 8, 1 << 25  # of the rows, and of the sums of all of these parts together
MAX_SMALL = np.iinfo(np.uint16).max  # cells, up to which two bytes tell them apart
MAX_CELLS = 1 << 22  # of the buckets that one row may need


class PaddedValues(NamedTuple):
    """Numbers as the kernels read them: padded, and as differences from the usual cells."""

    numbers: Numbers
    base: np.ndarray
    table: np.ndarray


@dataclass(frozen=True)
class RowChunk:
    """Some consecutive rows; ``groups`` are those with gaps to sum out, by pattern, and empty where
    there are none.
    """

    rows: slice
    groups: np.ndarray


class BlockScores:
    """Rows, put in order, and how their log-joint follows from tables.

    Parameters
    ----------
    data : Encoded
        The rows.
    layout : Layout
        Where the cells of the tables stand.
    normalized : bool
        Whether the tables will be: then gaps without observed descendants sum to one and are left
        out.
    """

    def __init__(self, data: Encoded, layout: Layout, normalized: bool):
        self.layout, self.normalized = layout, normalized
        self._padded, self._inside = _pad(layout, bool(data.n_missing.any()))
        self._usual, lengths = self._find_usual(data.codes)
        incomplete = _rows_to_sum(data.codes, layout, normalized)
        gaps = group_by_missing(data.codes, np.flatnonzero(incomplete), layout.cards)
        weight = np.ones(incomplete.size) if data.weight is None else data.weight.astype(float)
        whole = np.flatnonzero(~incomplete)
        order = np.concatenate([whole[_alike_together(lengths[whole], weight[whole])], gaps.rows])
        codes = np.take(data.codes, order, axis=1)
        self.y, self.weight = kernel_classes(data)[order], weight[order]
        n_whole = whole.size
        self.codes, self.group_start = codes[:, n_whole:].copy(), _cut_groups(gaps.start)
        size = max(BLOCK_ROWS, min(BLOCK_SCORES // layout.n_classes, -(-n_whole // MIN_BLOCKS)))
        self.blocks = [RowChunk(rows, np.empty(0, np.int64)) for rows in row_blocks(n_whole, size)]
        self.blocks += _gap_blocks(self.group_start, n_whole)
        self._refuse_too_large(data)
        self._width = entries.stretch(layout.n_classes)
        self._starts = np.concatenate([[0], np.cumsum(lengths[order])])
        n_cells = self._padded.size // layout.n_classes
        self._entries = np.empty(
            int(self._starts[-1]), np.uint16 if n_cells < MAX_SMALL else np.uint32
        )
        entries.list_entries(codes, *self._families, self._usual, self._starts, self._entries)

    def _find_usual(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The cell of each feature that most rows are in, and how many cells of each row are
        others.
        """
        usual, lengths = np.empty(codes.shape[0], np.int64), np.zeros(codes.shape[1], np.int64)
        entries.find_usual(codes, *self._families, usual, lengths)
        return usual, lengths

    @property
    def _families(self) -> tuple[np.ndarray, ...]:
        """How the cell of a row, without its class, follows from its codes: parents, their strides,
        first cells.
        """
        layout, n_classes = self._padded, self.layout.n_classes
        return (
            layout.parent_start,
            layout.parent_index,
            layout.parent_stride // n_classes,
            layout.offsets // n_classes,
        )

    @property
    def complete(self) -> bool:
        """Whether no row has a gap."""
        return self._inside is None

    @property
    def nbytes(self) -> int:
        """The memory that the rows take."""
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

    def truth(self, block: RowChunk) -> tuple[np.ndarray, np.ndarray]:
        """The classes and the weights of the rows of a block."""
        return self.y[block.rows], self.weight[block.rows]

    @cached_property
    def parts(self) -> list[list[RowChunk]]:
        """Blocks that are worked on one after the other, each part by one thread."""
        return in_parts(self.blocks, self.blank().cells.size)

    @property
    def work(self) -> float:
        """About how many nanoseconds the way forth and back takes."""
        by_class = 0.4 * self._entries.size + 4.0 * self.y.size + 50.0 * self.codes.size
        return by_class * max(self.layout.n_classes, 4)

    @property
    def n_pairs(self) -> float:
        """About how many pairs of entries the rows have."""
        return self._entries.size**2 / max(1.0, 2.0 * self.y.size)

    def pair_weights(self, n_jobs: int | None) -> np.ndarray:
        """For each two cells the weight of the rows that are in both, above the diagonal and on it.

        Index 0 stands for all rows, cells come after that. A gap is in no cell.
        """
        layout = self._padded
        n = 1 + layout.size // layout.n_classes

        def one(part: list[RowChunk]) -> np.ndarray:
            out, span = np.zeros((n, n)), (part[0].rows.start, part[-1].rows.stop)
            curvature.add_pairs(self._entries, self._starts, *span, self.weight, out)
            return out

        found = parallel_map(one, in_parts(self.blocks, n * n), n_jobs, self.n_pairs)
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
        """The numbers as ``forward`` and ``pull_back`` take them."""
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
        """A gradient of zero, to be added to by ``pull_back``: of the differences and, where gaps
        are, of the cells.
        """
        gaps = self._padded.size if self.group_start.size > 1 else 0
        return Numbers(np.zeros(self.layout.n_classes), np.zeros(self._n_differences + gaps))

    def stripped(self, gradient: Numbers) -> Numbers:
        """The gradient with respect to the numbers of the layout, from what ``pull_back`` added
        up.
        """
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

    def forward(self, ready: PaddedValues, block: RowChunk) -> np.ndarray:
        """The log-joint of the rows of a block."""
        rows = block.rows
        wide = np.empty((rows.stop - rows.start, self._width))
        entries.add_up(self._entries, self._starts, rows.start, ready.base, ready.table, wide)
        scores = np.ascontiguousarray(wide[:, : self.layout.n_classes])
        if block.groups.size:
            nothing = np.empty((0, self.layout.n_classes))
            self._sum_gaps(ready.numbers, block, scores, nothing, np.empty(0))
        return scores

    def least(self, prior: np.ndarray, cells: np.ndarray, block: RowChunk) -> np.ndarray:
        """For each row of a block, which must have no gaps, and each class the least of the numbers
        that it adds up.
        """
        rows, layout = block.rows, self.layout
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
        self, ready: PaddedValues, block: RowChunk, residual: np.ndarray, into: Numbers
    ) -> None:
        """Add the gradient of a block, given that to its log-joint."""
        n, wide = self._n_differences, residual
        if self._width > residual.shape[1]:
            wide = np.pad(residual, ((0, 0), (0, self._width - residual.shape[1])))
        entries.hand_back(
            self._entries, self._starts, block.rows.start, wide, into.prior, into.cells[:n]
        )
        if block.groups.size:
            self._sum_gaps(ready.numbers, block, np.zeros_like(residual), residual, into.cells[n:])

    def add_likelihood(self, ready: PaddedValues, block: RowChunk, into: Numbers) -> float:
        """Σ weight · log P(y | x) of a block without gaps to sum out, and its gradient added: both
        ways in one.

        A log-joint that is not finite gives a value that is not either, and a gradient of no use.
        """
        rows, cells = block.rows, into.cells[: self._n_differences]
        return float(likelihood_entries.add_likelihood(
            self._entries, self._starts, rows.start, rows.stop, self.y, self.weight, ready.base,
            ready.table, into.prior, cells,
        ))  # fmt: skip

    def _sum_gaps(
        self,
        numbers: Numbers,
        block: RowChunk,
        scores: np.ndarray,
        residual: np.ndarray,
        into: np.ndarray,
    ) -> None:
        layout = self._padded.arrays()._replace(cards=self.layout.cards)
        expectation.sum_missing(
            self.codes, self.group_start, block.groups, layout, numbers.cells, self.normalized,
            scores, residual, into,
        )  # fmt: skip

    def _refuse_too_large(self, data: Encoded) -> None:
        """An error that names the columns, where the gaps of a row cannot be summed out in
        reasonable space.
        """
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
                f"a row has gaps in {', '.join(names[:12])}{' …' if len(names) > 12 else ''}; to"
                " sum them out "
                f"while learning takes {sizes.max():.3g} cells, above {MAX_CELLS:,}. Learn with"
                ' missing="drop" or '
                'missing="value", or use a structure with fewer parents'
            )


def _alike_together(lengths: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """An order by weight, one or not, and by length: processors are quicker where branches go as
    the last time.
    """
    return np.argsort(lengths + (weight != 1.0) * (lengths.max(initial=0) + 1), kind="stable")


def in_parts(blocks: list[RowChunk], n_cells: int) -> list[list[RowChunk]]:
    """Consecutive blocks, in as many parts as memory allows if each adds up ``n_cells`` of its own.

    The parts depend on the data alone, so that sums over them in order do not depend on the number
    of threads.
    """
    n_parts = int(np.clip(PART_CELLS // max(1, n_cells), 1, MAX_PARTS))
    bounds = [len(blocks) * k // n_parts for k in range(n_parts + 1)]
    return [blocks[a:b] for a, b in pairwise(bounds) if a < b]


def _rows_to_sum(codes: np.ndarray, layout: Layout, normalized: bool) -> np.ndarray:
    """The rows with gaps that have to be summed out: any gap, or with normalised tables one above
    an observed value.
    """
    missing: np.ndarray = codes >= layout.cards[:, None]
    if not normalized:
        return np.asarray(missing.any(axis=0))
    rows = np.zeros(codes.shape[1], dtype=bool)
    for i, group in enumerate(layout.structure.parents):
        for parent in group:
            rows |= missing[parent] & ~missing[i]
    return rows


def _cut_groups(start: np.ndarray) -> np.ndarray:
    """Boundaries of groups, none of them above the rows of a block."""
    pieces = [np.arange(a, b, GAP_ROWS) for a, b in pairwise(start)]
    return np.concatenate([*pieces, start[-1:]]).astype(np.int64)


def _gap_blocks(start: np.ndarray, n_whole: int) -> list[RowChunk]:
    """Consecutive groups, until a block has enough rows; they come after the rows without gaps to
    sum out.
    """
    blocks, first = [], 0
    for last in range(1, start.size):
        if last == start.size - 1 or start[last + 1] - start[first] > GAP_ROWS:
            rows = slice(n_whole + int(start[first]), n_whole + int(start[last]))
            blocks.append(RowChunk(rows, np.arange(first, last)))
            first = last
    return blocks


def _pad(layout: Layout, wanted: bool) -> tuple[Layout, np.ndarray | None]:
    """The layout with one more value for each feature, and where its cells stand in that; itself if
    not wanted.
    """
    if not wanted:
        return layout, None
    padded = Layout(layout.structure, layout.cards + 1, layout.n_classes)
    places = np.arange(padded.size)
    parts = [
        padded.table(places, i)[tuple(slice(0, size) for size in shape)].ravel()
        for i, shape in enumerate(layout.shapes)
    ]
    return padded, np.concatenate(parts) if parts else places
