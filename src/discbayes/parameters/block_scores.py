"""The log-joint of a block of rows as a function of the tables, and its gradient.

Rows are processed in chunks whose boundaries depend on the rows alone. A row is stored as the list
of its cells that are not the most frequent ones (``kernels/entries.py``). Incomplete rows are
stored in the same way: tables are padded by a value for "missing" whose cells are zero, and each
distinct component of missing values is one more cell, whose value is the logarithm of its sum
(``inference/component_sums.py``). So a pass over the rows does not know which of them are complete.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from discbayes.counts.contingency import kernel_classes
from discbayes.data.domain import Encoded
from discbayes.engine import parallel_map, row_blocks
from discbayes.inference.component_sums import ComponentSums, TableMarginals
from discbayes.inference.plans import padded_layout
from discbayes.kernels import curvature, entries, likelihood_entries
from discbayes.network import Layout
from discbayes.parameters.configurations import Configurations
from discbayes.parameters.parameterization import Numbers

# the scores of a chunk stay in the cache between the forward and the backward pass
CHUNK_ROWS, CHUNK_SCORES = 1024, 16384
MIN_CHUNKS = 8  # if there are enough rows, so that threads have about the same amount of work
MAX_PARTS, PART_CELLS = 8, 1 << 25  # of the rows, and of the sums of all of these parts together
MAX_SMALL = np.iinfo(np.uint16).max  # cells, whose numbers fit in two bytes


class PaddedValues(NamedTuple):
    """Values as the kernels read them: as differences from the usual cells.

    The values of components come after those of the cells. ``own_base`` and ``own_table`` are what
    a row adds in its own class.
    """

    base: np.ndarray
    table: np.ndarray
    sums: TableMarginals | None
    own_base: np.ndarray | None = None
    own_table: np.ndarray | None = None


class OwnCells(NamedTuple):
    """Cells to which a row adds something in its own class.

    Their numbers stand behind those of the tables.
    """

    start: np.ndarray  # the first of each feature
    cells: np.ndarray  # where they are in the tables
    # the usual cell of each feature: the numbers of the tables are differences from it
    usual: np.ndarray | None = None


class _OwnPlaces(NamedTuple):
    """Where the numbers of own cells are in the tables that rows read, and their classes."""

    start: np.ndarray
    places: np.ndarray
    classes: np.ndarray
    source: np.ndarray


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
    own : OwnCells, optional
        The cells to which a row adds something in its own class.
    """

    def __init__(
        self, data: Encoded, layout: Layout, normalized: bool, own: OwnCells | None = None
    ):
        self.layout, self.normalized = layout, normalized
        self._padded, self._inside = _pad(layout, bool(data.n_missing.any()))
        self._components = self._find_components(data)
        codes, parent_codes = _codes_of(self._padded, data.codes)
        self._is_differences = own is not None and own.usual is not None
        self._usual, lengths = self._find_usual(codes, parent_codes, own)
        n_sums = np.zeros_like(lengths)
        if self._components is not None:
            n_sums = np.diff(self._components.row_start)
        weight = np.ones(lengths.size) if data.weight is None else data.weight.astype(float)
        order = _alike_together(lengths + n_sums, weight)
        self.y, self.weight = kernel_classes(data)[order], weight[order]
        size = max(CHUNK_ROWS, min(CHUNK_SCORES // layout.n_classes, -(-order.size // MIN_CHUNKS)))
        self.chunks = row_blocks(order.size, size)
        self._width = entries.padded_width(layout.n_classes)
        self._n_own = 0 if own is None else own.cells.size
        self._own = None if own is None else self._place_own(own)
        self._starts = np.concatenate([[0], np.cumsum((lengths + n_sums)[order])])
        is_small = self._n_cells + self._n_sums < MAX_SMALL
        self._entries = np.empty(int(self._starts[-1]), np.uint16 if is_small else np.uint32)
        is_same = parent_codes is codes  # with one resolution
        codes = np.take(codes, order, axis=1)
        parent_codes = codes if is_same else np.take(parent_codes, order, axis=1)
        ends = self._starts[1:] - n_sums[order]
        entries.list_entries(
            codes, parent_codes, *self._families, self._usual, self._starts, ends, self._entries
        )
        if self._components is not None:
            entries.append_entries(
                self._components.row_start, self._components.cells, order, self._n_cells, ends,
                self._entries,
            )  # fmt: skip

    def _find_components(self, data: Encoded) -> ComponentSums | None:
        """Return the components of missing values that matter, if there are any."""
        if self._inside is None:
            return None
        found = ComponentSums(data.codes, self.layout, self.normalized, list(data.domain.names))
        return found if found.n_cells else None

    def _find_usual(
        self, codes: np.ndarray, parent_codes: np.ndarray, own: OwnCells | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the most frequent cell of each feature, and the number of others in each row."""
        usual, lengths = np.empty(codes.shape[0], np.int64), np.zeros(codes.shape[1], np.int64)
        if own is None or own.usual is None:
            entries.find_usual(codes, parent_codes, *self._families, usual, lengths)
            return usual, lengths
        entries.count_others(codes, parent_codes, *self._families, own.usual, lengths)
        return own.usual, lengths

    def _place_own(self, own: OwnCells) -> _OwnPlaces:
        """Return where the numbers of own cells go; cells for "missing" have a number of zero."""
        n_classes, cells = self.layout.n_classes, own.cells
        start, source = own.start, np.arange(cells.size)
        if self._inside is not None:
            is_read = np.ones(self._padded.size, bool)
            is_read[self._inside] = False
            number = np.full(self._padded.size, own.cells.size)
            is_read[self._inside[cells]] = True
            number[self._inside[cells]] = source
            cells = np.flatnonzero(is_read)
            source = number[cells]
            start = np.searchsorted(cells, self._padded.offsets)
        classes = cells % n_classes
        return _OwnPlaces(start, cells // n_classes * self._width + classes, classes, source)

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
        kept = [self.y, self.weight, self._starts, self._entries, self._inside, self._components]
        kept += self._own or ()
        return sum(array.nbytes for array in kept if array is not None)

    @property
    def class_weights(self) -> np.ndarray:
        """The weight of the rows of each class."""
        return np.bincount(self.y, self.weight, self.layout.n_classes)

    @property
    def total_weight(self) -> float:
        """The weight of all rows."""
        return float(self.weight.sum())

    def truth(self, chunk: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return the classes and the weights of the rows of a chunk."""
        return self.y[chunk], self.weight[chunk]

    @cached_property
    def parts(self) -> list[list[slice]]:
        """Chunks in parts; a thread processes the chunks of a part one after the other."""
        n_cells = self.blank().cells.size
        if self._own is not None:  # a part that is worth its gradient has as many entries
            n_worthwhile = max(1, self._entries.size * self._width // (4 * max(1, n_cells)))
            n_cells = max(n_cells, PART_CELLS // n_worthwhile)
        return in_parts(self.chunks, n_cells)

    @property
    def work(self) -> float:
        """The approximate time of a forward and a backward pass in nanoseconds."""
        by_class = 0.4 * self._entries.size + 4.0 * self.y.size
        of_sums = 0.0 if self._components is None else self._components.work
        return by_class * max(self.layout.n_classes, 4) + of_sums

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

        def one(part: list[slice]) -> np.ndarray:
            out, span = np.zeros((n, n)), (part[0].start, part[-1].stop)
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

    def padded(self, numbers: Numbers, n_jobs: int | None = None) -> PaddedValues:
        """Prepare the values of tables for ``forward`` and ``pull_back``."""
        if self._is_differences:
            base = np.zeros(self._width)
            base[: self.layout.n_classes] = numbers.prior
            own = numbers.cells[self._n_values :]
            return PaddedValues(base, numbers.cells, None, *self._own_differences(own))
        cells, own = numbers.cells[: self.layout.size], numbers.cells[self.layout.size :]
        base, table = self._differences(numbers.prior, cells)
        sums = None
        if self._components is not None:
            out = table[self._n_cells * self._width :].reshape(-1, self._width)
            sums = self._components.log_sums(cells, out, n_jobs)
        if self._own is None:
            return PaddedValues(base, table, sums)
        return PaddedValues(base, table, sums, *self._own_differences(own))

    def _own_differences(self, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what ``_differences`` does, of what a row adds in its own class.

        Families with a missing value are read with the row itself in the counts.
        """
        assert self._own is not None
        # a row without weight may read what no other row has: whatever it is, it must be finite
        base, table = np.zeros(self._width), np.zeros(self._n_values)
        own = np.append(own[: self._n_own], 0.0)
        entries.own_differences(own, *self._own, self._usual, self._width, base, table)
        return base, table

    def _differences(self, prior: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum over usual cells, and the difference of each cell from the usual one."""
        layout, width = self._padded, self._width
        if self._inside is not None:
            inside = cells
            cells = np.zeros(layout.size)
            cells[self._inside] = inside
        base, table = np.zeros(width), np.zeros(self._n_values)
        entries.differences(
            cells, prior, layout.offsets, self._usual, layout.n_classes, width, base, table
        )
        return base, table

    @property
    def _n_cells(self) -> int:
        """The number of cells of padded tables, the class left out."""
        return self._padded.size // self.layout.n_classes

    @property
    def _n_sums(self) -> int:
        """The number of components, which are cells after those of the tables."""
        return 0 if self._components is None else self._components.n_cells

    def blank(self) -> Numbers:
        """Return a gradient of zero for ``pull_back`` to add to.

        It is that of the differences and, where values are marginalized, of the components.
        """
        n_classes, n_values = self.layout.n_classes, self._n_values
        if self._own is not None:  # the same again for own classes, their sums over rows first
            return Numbers(np.zeros(n_classes), np.zeros(n_values + n_classes + n_values))
        return Numbers(np.zeros(n_classes), np.zeros(n_values))

    @property
    def _n_values(self) -> int:
        """The number of values of all cells and components."""
        return (self._n_cells + self._n_sums) * self._width

    def _split(self, gradient: Numbers) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the gradient of the values, and of own classes: the sums, then the values."""
        first, second = self._n_values, self._n_values + self.layout.n_classes
        cells = gradient.cells
        return cells[:first], cells[first:second], cells[second:]

    def stripped(
        self, ready: PaddedValues, gradient: Numbers, n_jobs: int | None = None
    ) -> Numbers:
        """Return the gradient with respect to the tables, from the sums of ``pull_back``."""
        values = gradient.cells[: self._n_values]
        of_own = self._own_slopes(gradient)
        if self._is_differences:
            return Numbers(gradient.prior, np.concatenate([values, of_own]))
        cells = np.zeros(self._padded.size)
        self._complete(gradient.prior, values, cells)
        if self._inside is not None:
            cells = cells[self._inside]
        if self._components is not None and ready.sums is not None:
            residual = values[self._n_cells * self._width :].reshape(-1, self._width)
            self._components.add_expected_counts(ready.sums, residual, cells, n_jobs)
        return Numbers(gradient.prior, np.concatenate([cells, of_own]))

    def _own_slopes(self, gradient: Numbers) -> np.ndarray:
        """Return the gradient of what rows add in their own class; none if they do not."""
        if self._own is None:
            return np.zeros(0)
        _, total, values = self._split(gradient)
        out = np.zeros(self._n_own + 1)
        entries.complete_own(values, total, *self._own, self._usual, self._width, out)
        return out[:-1]

    def _complete(self, total: np.ndarray, sums: np.ndarray, cells: np.ndarray) -> None:
        """Add the gradient of every cell of the tables, from that of the differences."""
        layout = self._padded
        entries.complete(
            sums, total, layout.offsets, self._usual, layout.n_classes, self._width, cells
        )

    def forward(self, ready: PaddedValues, chunk: slice) -> np.ndarray:
        """Compute the log-joint of the rows of a chunk."""
        wide = np.empty((chunk.stop - chunk.start, self._width))
        entries.add_up(self._entries, self._starts, chunk.start, ready.base, ready.table, wide)
        if ready.own_table is not None:
            entries.add_own(
                self._entries, self._starts, chunk.start, self.y, ready.own_base, ready.own_table,
                wide,
            )  # fmt: skip
        return np.ascontiguousarray(wide[:, : self.layout.n_classes])

    def least(self, prior: np.ndarray, cells: np.ndarray, chunk: slice) -> np.ndarray:
        """Return the smallest table value of each row and class of a chunk of complete rows."""
        layout = self.layout
        found = np.empty((chunk.stop - chunk.start, layout.n_classes))
        entries.least(
            self._entries,
            self._starts,
            chunk.start,
            layout.offsets,
            self._usual,
            prior,
            cells,
            found,
        )
        return found

    def pull_back(self, chunk: slice, residual: np.ndarray, into: Numbers) -> None:
        """Add the gradient of a chunk, given the gradient with respect to its log-joint."""
        wide = residual
        if self._width > residual.shape[1]:
            wide = np.pad(residual, ((0, 0), (0, self._width - residual.shape[1])))
        entries.hand_back(self._entries, self._starts, chunk.start, wide, into.prior, into.cells)
        if self._own is not None:
            _, total, own = self._split(into)
            entries.hand_back_own(
                self._entries, self._starts, chunk.start, self.y, wide, total, own
            )

    def add_likelihood(self, ready: PaddedValues, chunk: slice, into: Numbers) -> float:
        """Return Σ weight · log P(y | x) of a chunk, and add its gradient, in one pass.

        A log-joint that is not finite gives a value that is not finite either, and a gradient that
        must not be used.
        """
        if self._own is not None:
            values, total, own = self._split(into)
            return float(likelihood_entries.add_own_likelihood(
                self._entries, self._starts, chunk.start, chunk.stop, self.y, self.weight,
                ready.base, ready.table, ready.own_base, ready.own_table, into.prior, values,
                total, own,
            ))  # fmt: skip
        return float(likelihood_entries.add_likelihood(
            self._entries, self._starts, chunk.start, chunk.stop, self.y, self.weight, ready.base,
            ready.table, into.prior, into.cells,
        ))  # fmt: skip


def _codes_of(layout: Layout, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes that tables read of rows: of their own feature, and of its parents."""
    if isinstance(layout, Configurations):
        cells = layout.cells_of(codes)
        return cells, cells
    return codes, layout.parent_codes(codes)


def _alike_together(lengths: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Sort rows by length, those of weight one first.

    Branches of the kernels then go as they did for the row before, which processors predict.
    """
    return np.argsort(lengths + (weight != 1.0) * (lengths.max(initial=0) + 1), kind="stable")


def in_parts(chunks: list[slice], n_cells: int) -> list[list[slice]]:
    """Divide chunks into as many parts as memory allows if each has ``n_cells`` for its sums.

    The parts depend on the data alone, so that sums over them in order do not depend on the number
    of threads.
    """
    n_parts = int(np.clip(PART_CELLS // max(1, n_cells), 1, MAX_PARTS))
    bounds = [len(chunks) * k // n_parts for k in range(n_parts + 1)]
    return [chunks[a:b] for a, b in pairwise(bounds) if a < b]


def _pad(layout: Layout, needed: bool) -> tuple[Layout, np.ndarray | None]:
    """Return a layout with one more value for each feature, and the positions of the old cells.

    If that is not needed, return the layout itself.
    """
    if not needed:
        return layout, None
    padded = padded_layout(layout)
    places = np.arange(padded.size)
    parts = [
        padded.table(places, i)[tuple(slice(0, size) for size in shape)].ravel()
        for i, shape in enumerate(layout.shapes)
    ]
    return padded, np.concatenate(parts) if parts else places
