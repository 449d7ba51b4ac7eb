"""Codes on disk: one file, in blocks of rows whose bounds follow from the row numbers alone.

A block holds the codes feature by feature, as `Encoded` does, then the class codes, then the
weights if there are any. All blocks have the same number of rows, except the last one. The file is
in a temporary folder of its run (`Workspace`).
"""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from discbayes._files import FULL, naming_file
from discbayes._temporary import TemporaryFolder
from discbayes.data import row_blocks
from discbayes.data.domain import Domain, Encoded, code_dtype

_ALIGNED = 64


class DiskFullError(OSError):
    """The disk has no space left for a temporary file."""


class Workspace(TemporaryFolder):
    """A new folder for temporary files.

    It is removed with all its files when it is closed, with the object, or after its process was
    killed.

    >>> with Workspace() as space:
    ...     _ = (space.path / "codes").write_bytes(b"")
    >>> space.path.exists()
    False
    """

    def __init__(self, folder: str | Path | None = None):
        if folder is not None and not Path(folder).is_dir():
            raise FileNotFoundError(
                f"there is no folder {str(folder)!r} for temporary files: create it, or pass"
                " another"
            )
        super().__init__(folder)

    def __enter__(self) -> Workspace:
        return self

    def require(self, size: int, what: str) -> None:
        """Refuse to begin with what does not fit on the disk."""
        free = shutil.disk_usage(self.path).free
        if free < size:
            raise DiskFullError(errno.ENOSPC, _full_message(self.path.parent, size, what, free))

    @contextmanager
    def writing(self, size: int, what: str) -> Iterator[None]:
        """Name the folder and the size in the error of a full disk, while something is written.

        Other errors of the system name the folder too.
        """
        try:
            yield
        except DiskFullError:
            raise  # of something else, which was written meanwhile
        except OSError as error:
            if error.errno not in FULL:
                with naming_file(self.path):
                    raise
            free = shutil.disk_usage(self.path).free
            raise DiskFullError(
                error.errno, _full_message(self.path.parent, size, what, free)
            ) from error


def _full_message(folder: Path, size: int, what: str, free: int) -> str:
    return (
        f"the disk is full: {what} need {megabytes(size)} in {folder}, which has {megabytes(free)}"
        " left. Free some space, or choose another folder for temporary files"
    )


def megabytes(size: float) -> str:
    """Return a number of bytes as text.

    >>> megabytes(3_200_000)
    '3.2 MB'
    """
    return f"{size / 1e6:,.1f} MB"


@dataclass(frozen=True)
class BlockLayout:
    """The layout of the file."""

    n_rows: int
    n_features: int
    dtype: Any
    class_dtype: Any
    weighted: bool
    block_rows: int = field(default_factory=lambda: row_blocks.ROWS_OF_BLOCK)

    @property
    def n_blocks(self) -> int:
        """The number of blocks."""
        return -(-self.n_rows // self.block_rows)

    def rows(self, block: int) -> int:
        """Return the number of rows of a block."""
        return min(self.block_rows, self.n_rows - block * self.block_rows)

    def sections(self, rows: int) -> tuple[int, int, int]:
        """Return the offsets of classes, weights and the end in a block of some number of rows."""
        classes = _aligned(self.n_features * rows * self.dtype.itemsize)
        weights = _aligned(classes + rows * self.class_dtype.itemsize)
        return classes, weights, _aligned(weights + 8 * rows * self.weighted)

    def offset(self, block: int) -> int:
        """Return the offset of a block."""
        return block * self.sections(self.block_rows)[2]

    @property
    def size(self) -> int:
        """The bytes of the file."""
        last = self.n_blocks - 1
        return self.offset(last) + self.sections(self.rows(last))[2] if self.n_blocks else 0


def _aligned(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def layout_of(domain: Domain, n_rows: int, weighted: bool) -> BlockLayout:
    """Return the layout for a domain: the narrowest types that hold its codes and classes."""
    dtype = np.dtype(code_dtype(int(domain.cards.max())))
    return BlockLayout(
        n_rows, len(domain.features), dtype, np.dtype(code_dtype(domain.n_classes)), weighted
    )


class BlockWriter:
    """Writer of rows, which come in batches of any size, to their places in the file.

    No more than ``buffer_rows`` rows are held back, a divisor of the rows of a block.
    """

    def __init__(self, file: IO[bytes], layout: BlockLayout, buffer_rows: int):
        self._file = file
        self._layout = layout
        self._codes = np.empty((layout.n_features, buffer_rows), dtype=layout.dtype)
        self._y = np.empty(buffer_rows, dtype=layout.class_dtype)
        self._weight = np.empty(buffer_rows if layout.weighted else 0)
        self._held = 0
        self.n_rows = 0
        file.truncate(layout.size)

    def write(self, codes: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Add rows; without weights, every row counts once."""
        first = 0
        while first < y.size:
            size = min(self._y.size - self._held, y.size - first)
            here, there = slice(self._held, self._held + size), slice(first, first + size)
            self._codes[:, here] = codes[:, there]
            self._y[here] = y[there]
            if self._layout.weighted:
                self._weight[here] = 1.0 if weight is None else weight[there]
            self._held += size
            first += size
            if self._held == self._y.size:
                self.flush()

    @property
    def total(self) -> int:
        """The rows that were given so far."""
        return self.n_rows + self._held

    def flush(self) -> None:
        """Write the rows that are held back."""
        if not self._held:
            return
        layout, size = self._layout, self._held
        block, first = divmod(self.n_rows, layout.block_rows)
        rows = layout.rows(block)
        start = layout.offset(block)
        classes, weights, _ = layout.sections(rows)
        step = layout.dtype.itemsize
        if size == rows:
            self._put(start, self._codes[:, :size])
        else:
            for feature, codes in enumerate(self._codes):
                self._put(start + (feature * rows + first) * step, codes[:size])
        self._put(start + classes + first * layout.class_dtype.itemsize, self._y[:size])
        if layout.weighted:
            self._put(start + weights + 8 * first, self._weight[:size])
        self.n_rows += size
        self._held = 0

    def _put(self, offset: int, array: np.ndarray) -> None:
        self._file.seek(offset)
        self._file.write(np.ascontiguousarray(array).data)


class DiskCodes:
    """A table in codes on disk, block by block.

    The file is removed by `close`, at the end of a ``with`` block, or with the object. A copy that
    is sent to another process reads the same file and does not remove it.

    Attributes
    ----------
    path : Path
        The file.
    domain : Domain
        What the codes mean.
    classes : ndarray
        The classes in rising order, in the type of the data.
    n_rows : int
        The number of rows.
    dtype : dtype
        The type of the codes.
    n_missing : ndarray
        The number of missing cells of each feature.
    rank_error : ndarray
        The bound on the error of the summary by which each feature was discretized, as a share of
        all rows (see `discbayes.streams.quantiles`); zero where all values were kept.
    named : bool
        Whether the columns had names of their own.
    """

    def __init__(
        self,
        path: Path,
        layout: BlockLayout,
        domain: Domain,
        classes: np.ndarray,
        n_missing: np.ndarray,
        rank_error: np.ndarray,
        space: Workspace | None = None,
        named: bool = True,
    ):
        self.path = path
        self.domain = domain
        self.classes = classes
        self.n_missing = n_missing
        self.rank_error = rank_error
        self.n_rows = layout.n_rows
        self.dtype = layout.dtype
        self.named = named
        self._layout = layout
        self._space = space

    def __len__(self) -> int:
        """The number of blocks."""
        return self._layout.n_blocks

    def __iter__(self) -> Iterator[Encoded]:
        """Yield all blocks, in the order of the rows."""
        return map(self.block, range(len(self)))

    def block(self, number: int) -> Encoded:
        """Return a block of rows, whose codes stay on disk until they are read.

        Writing to them changes memory alone: the kernels are compiled for arrays that could be
        written to.
        """
        if not 0 <= number < len(self):
            raise IndexError(f"there is no block {number}: there are {len(self)}")
        layout = self._layout
        rows = layout.rows(number)
        shape = (layout.n_features, rows)
        classes, weights, size = layout.sections(rows)
        with naming_file(self.path):
            data = np.asarray(np.memmap(self.path, np.uint8, "c", layout.offset(number), (size,)))
        codes = data[: shape[0] * rows * layout.dtype.itemsize].view(layout.dtype).reshape(shape)
        y = (
            data[classes : classes + rows * layout.class_dtype.itemsize]
            .view(layout.class_dtype)
            .astype(np.int64)
        )
        weight = (
            data[weights : weights + 8 * rows].view(np.float64).copy() if layout.weighted else None
        )
        return Encoded(codes, self.domain, y, weight)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self._layout.weighted

    def part(self, first: int, last: int) -> row_blocks.RowsInMemory:
        """Return some of the blocks in memory, with their numbers, to be sent elsewhere."""
        rows = row_blocks.joined([self.block(number) for number in range(first, last)])
        return row_blocks.RowsInMemory(rows, first, self._layout.block_rows)

    def close(self) -> None:
        """Remove the file."""
        if self._space is not None:
            self._space.close()

    def __enter__(self) -> DiskCodes:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the folder, which belongs to this process."""
        return {**self.__dict__, "_space": None}
