"""The log-joint of given rows as a function of the numbers in the tables, and the way back of a gradient.

Rows are worked on in blocks whose boundaries depend on the rows alone. Families without a gap are read from their
cells, for rows with gaps too: tables are padded by a value for "missing" whose cells are zero. What is left are the
gaps that have to be summed out; rows with the same ones stand together.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discbayes.counts.tables import kernel_classes
from discbayes.data.domain import Encoded
from discbayes.engine import row_blocks
from discbayes.inference import group_by_gaps
from discbayes.kernels import expectation, gradient, joint
from discbayes.network import Layout
from discbayes.parameters.parameterization import Numbers

BLOCK_ROWS = 1024  # the scores of a block stay in the cache on their way forth and back
GAP_ROWS = 128  # of a block of rows with gaps, which take longer
MOST_CELLS = 1 << 22  # of the buckets that one row may need


@dataclass(frozen=True)
class Block:
    """Some consecutive rows; ``groups`` are those with gaps to sum out, by pattern, and empty where there are none."""

    rows: slice
    groups: np.ndarray


class LogScores:
    """Rows, put in order, and how their log-joint follows from tables.

    Parameters
    ----------
    data : Encoded
        The rows.
    layout : Layout
        Where the cells of the tables stand.
    normalized : bool
        Whether the tables will be: then gaps without observed descendants sum to one and are left out.
    """

    def __init__(self, data: Encoded, layout: Layout, normalized: bool):
        self.layout, self.normalized = layout, normalized
        gappy = _rows_to_sum(data.codes, layout, normalized)
        gaps = group_by_gaps(data.codes, np.flatnonzero(gappy), layout.cards)
        order = np.concatenate([np.flatnonzero(~gappy), gaps.rows])
        self.codes = np.ascontiguousarray(data.codes[:, order])
        self.y = kernel_classes(data)[order]
        self.weight = np.ones(order.size) if data.weight is None else data.weight[order].astype(float)
        self.group_start = _cut_groups(gaps.start) + (order.size - gaps.rows.size)
        self.blocks = [Block(rows, np.empty(0, np.int64)) for rows in row_blocks(int(self.group_start[0]), BLOCK_ROWS)]
        self.blocks += _gap_blocks(self.group_start)
        self._padded, self._inside = _pad(layout, bool(data.gaps.any()))
        self._refuse_too_large(data)

    @property
    def work(self) -> float:
        """About how many elementary steps the way forth and back takes."""
        gaps = self.y.size - int(self.group_start[0])
        return (self.codes.size + 50.0 * gaps * self.codes.shape[0]) * (2 + self.layout.n_classes)

    def padded(self, numbers: Numbers) -> Numbers:
        """The numbers with cells for families that have a gap, if there are any such rows."""
        if self._inside is None:
            return numbers
        cells = np.zeros(self._padded.size)
        cells[self._inside] = numbers.cells
        return Numbers(numbers.prior, cells)

    def blank(self) -> Numbers:
        """A gradient of zero, padded like the numbers, to be added to by ``pull_back``."""
        return Numbers(np.zeros(self.layout.n_classes), np.zeros(self._padded.size))

    def stripped(self, gradient: Numbers) -> Numbers:
        """The gradient without the cells for families that have a gap."""
        return gradient if self._inside is None else Numbers(gradient.prior, gradient.cells[self._inside])

    def forward(self, numbers: Numbers, block: Block) -> np.ndarray:
        """The log-joint of the rows of a block, from padded numbers."""
        rows, layout = block.rows, self._padded
        scores = np.empty((rows.stop - rows.start, layout.n_classes))
        joint.complete_log_joint(
            self.codes, rows.start, rows.stop, layout.offsets, layout.parent_start, layout.parent_index,
            layout.parent_stride, numbers.prior, numbers.cells, scores,
        )  # fmt: skip
        if block.groups.size:
            nothing = np.empty((0, layout.n_classes))
            self._sum_gaps(numbers, block, scores, nothing, np.empty(0))
        return scores

    def pull_back(self, numbers: Numbers, block: Block, residual: np.ndarray, into: Numbers) -> None:
        """Add the gradient of a block with respect to the padded numbers, given that to its log-joint."""
        rows, layout = block.rows, self._padded
        gradient.scatter_rows(
            self.codes, rows.start, rows.stop, layout.offsets, layout.parent_start, layout.parent_index,
            layout.parent_stride, residual, into.prior, into.cells,
        )  # fmt: skip
        if block.groups.size:
            self._sum_gaps(numbers, block, np.zeros_like(residual), residual, into.cells)

    def _sum_gaps(
        self, numbers: Numbers, block: Block, scores: np.ndarray, residual: np.ndarray, into: np.ndarray
    ) -> None:
        layout = self._padded
        expectation.sum_gaps(
            self.codes, self.group_start, block.groups, np.array(layout.structure.order, np.int64), self.layout.cards,
            layout.offsets, layout.parent_start, layout.parent_index, layout.parent_stride, numbers.cells,
            self.normalized, scores, residual, into,
        )  # fmt: skip

    def _refuse_too_large(self, data: Encoded) -> None:
        """An error that names the columns, where the gaps of a row cannot be summed out in reasonable space."""
        layout, sizes = self.layout, np.zeros(self.group_start.size - 1)
        order = np.array(layout.structure.order, np.int64)
        expectation.plan_sizes(
            self.codes, self.group_start, order, layout.cards, layout.parent_start, layout.parent_index,
            layout.n_classes, self.normalized, sizes,
        )  # fmt: skip
        if sizes.max(initial=0) > MOST_CELLS:
            row = self.codes[:, self.group_start[sizes.argmax()]]
            names = [repr(n) for n, x, card in zip(data.domain.names, row, layout.cards, strict=True) if x >= card]
            raise ValueError(
                f"a row has gaps in {', '.join(names[:12])}{' …' if len(names) > 12 else ''}; to sum them out "
                f'while learning takes {sizes.max():.3g} cells, above {MOST_CELLS:,}. Learn with missing="drop" or '
                'missing="value", or use a structure with fewer parents'
            )


def _rows_to_sum(codes: np.ndarray, layout: Layout, normalized: bool) -> np.ndarray:
    """The rows with gaps that have to be summed out: any gap, or with normalised tables one above an observed value."""
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


def _gap_blocks(start: np.ndarray) -> list[Block]:
    """Consecutive groups, until a block has enough rows."""
    blocks, first = [], 0
    for last in range(1, start.size):
        if last == start.size - 1 or start[last + 1] - start[first] > GAP_ROWS:
            blocks.append(Block(slice(int(start[first]), int(start[last])), np.arange(first, last)))
            first = last
    return blocks


def _pad(layout: Layout, wanted: bool) -> tuple[Layout, np.ndarray | None]:
    """The layout with one more value for each feature, and where its cells stand in that; itself if not wanted."""
    if not wanted:
        return layout, None
    padded = Layout(layout.structure, layout.cards + 1, layout.n_classes)
    places = np.arange(padded.size)
    parts = [
        padded.table(places, i)[tuple(slice(0, size) for size in shape)].ravel()
        for i, shape in enumerate(layout.shapes)
    ]
    return padded, np.concatenate(parts) if parts else places
