"""Batches of the rows of a source that count: features, classes and weights, each checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import narwhals as nw
import numpy as np

from discbayes._text import listed, nearest_first
from discbayes.data.date_columns import expand_known
from discbayes.data.domain import Domain
from discbayes.data.frame_encoder import FrameEncoder, complete_rows
from discbayes.data.table import CategoricalColumn, Table, default_names
from discbayes.data.table_reader import as_frame, factorize_series, read_table
from discbayes.data.targets import classes_and_codes, label_array, weight_array
from discbayes.streams.batches import Batch, BatchSource, Limits


@dataclass(frozen=True)
class BatchRows:
    """The rows of a batch that count.

    Attributes
    ----------
    table : Table
        The features.
    y : ndarray
        The labels, or the numbers of the classes in the order in which they occur in the source.
    weight : ndarray or None
        The weights; None where every row counts once.
    where : str
        Where in the source the rows are, for messages.
    ends_block : bool
        Whether the rows read so far, dropped ones included, fill whole blocks.
    dropped_missing : ndarray or None
        The number of missing values of each column, where rows were dropped for them.
    share : float or None
        The share of the source that is read with these rows, if that is known.
    """

    table: Table
    y: np.ndarray
    weight: np.ndarray | None
    where: str = ""
    ends_block: bool = False
    dropped_missing: np.ndarray | None = None
    share: float | None = None


class Classes:
    """The classes of a source, numbered in the order in which they occur."""

    def __init__(self) -> None:
        self._index: dict[Any, int] = {}
        self._dtype: Any = None

    def __len__(self) -> int:
        return len(self._index)

    def number(self, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the numbers of labels, which are given as distinct ones and codes into them."""
        before = self._dtype
        if before is not None and (before.kind in "UO") != (classes.dtype.kind in "UO"):
            known = next(iter(self._index))
            raise ValueError(
                f"y mixes strings and numbers, {known!r} and {classes.tolist()[0]!r} for example:"
                " cast it to one of them"
            )
        self._dtype = classes.dtype if before is None else np.promote_types(before, classes.dtype)
        occurs = np.bincount(codes, minlength=classes.size) > 0  # rows may have been dropped
        numbers = np.zeros(classes.size, dtype=np.int64)
        numbers[occurs] = [
            self._index.setdefault(label, len(self._index)) for label in classes[occurs].tolist()
        ]
        return numbers[codes]

    def merge(self, later: Classes) -> np.ndarray:
        """Add the classes of later rows, and return the number here of each of them."""
        labels = np.array(list(later._index), dtype=later._dtype)
        if not labels.size:
            return np.zeros(0, dtype=np.int64)
        return self.number(labels, np.arange(labels.size))

    def sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the classes in rising order, and the position among them of each number."""
        classes = np.array(list(self._index), dtype=self._dtype)
        order = np.argsort(classes, kind="stable")
        place = np.empty(order.size, dtype=np.int64)
        place[order] = np.arange(order.size)
        return classes[order], place


class WeightTotals:
    """Totals of the weights of rows.

    Attributes
    ----------
    total : float
        The sum of the weights.
    n_rows, n_positive : int
        The number of rows, and of those with a positive weight.
    needed : bool
        Whether there are weights other than zero and one.
    whole : bool
        Whether all weights are whole numbers.
    """

    def __init__(self) -> None:
        self.total = 0.0
        self.n_rows = 0
        self.n_positive = 0
        self.needed = False
        self.whole = True

    def add(self, weight: np.ndarray | None, n_rows: int) -> None:
        """Add the weights of a batch; None where each row counts once."""
        self.n_rows += n_rows
        if weight is None:
            self.n_positive += n_rows
            return
        self.total += float(weight.sum())
        self.n_positive += int(np.count_nonzero(weight))
        self.needed |= bool(((weight != 0) & (weight != 1)).any())
        self.whole &= bool((weight == np.floor(weight)).all())

    def merge(self, later: WeightTotals) -> None:
        """Add the totals of later rows."""
        self.total += later.total
        self.n_rows += later.n_rows
        self.n_positive += later.n_positive
        self.needed |= later.needed
        self.whole &= later.whole


ReadRows = Callable[[Classes, WeightTotals, str], Iterator[BatchRows]]
"""Read the rows that count, as `Reader.rows` does."""


class Reader:
    """Reader of a source in batches of bounded size, none of which crosses the end of a block.

    Parameters
    ----------
    source : BatchSource
        The rows.
    target, weight : str, array-like or None
        The name of a column, or one entry for each row; None where the source has pairs (X, y), or
        no classes or weights.
    limits : Limits
        The bounds on memory.
    wanted : list of str, optional
        The features; by default all columns that are neither target nor weights.
    start : int, default=0
        The number of the first row, where the source is a part of another.
    some_columns : bool, default=False
        Whether batches may lack some of the features.
    dates : FrameEncoder or Domain, optional
        How dates become columns: the encoder that learns from the rows, or the domain that has the
        parts of dates; by default they stay dates, which are refused later.

    Attributes
    ----------
    names : list of str or None
        The features, once rows were read.
    named : bool
        Whether the columns have names of their own.
    target_name : object
        The name of the target, if there is one.
    """

    def __init__(
        self,
        source: BatchSource,
        target: Any,
        weight: Any,
        limits: Limits,
        wanted: list[str] | None = None,
        start: int = 0,
        some_columns: bool = False,
        *,
        dates: FrameEncoder | Domain | None = None,
    ):
        self.source = source
        self.target = target
        self.weight = weight
        self.limits = limits
        self._wanted = wanted
        self._start = start
        self._some_columns = some_columns
        self.dates = dates
        self.names: list[str] | None = None
        self.named = False
        self.target_name = target if isinstance(target, str) else getattr(target, "name", None)
        self._all_labels: np.ndarray | None = None
        self._all_weights: np.ndarray | None = None
        if not (target is None or isinstance(target, str)):
            self._all_labels = label_array(target, None)
        if not (weight is None or isinstance(weight, str)):
            self._all_weights = np.asarray(weight, dtype=float)

    @property
    def name(self) -> str:
        """The name of the source in messages."""
        return self.source.name

    @property
    def block_rows(self) -> int:
        """The number of rows of a block of the first pass."""
        return self.limits.summary_rows(len(self.names or ()))

    def tables(self, first: int = 0) -> Iterator[Table]:
        """Yield the features of all rows, from row ``first`` on, in order."""
        for piece in self._pieces():
            if piece.start >= first:
                with located(piece.where):
                    table = self._features(piece)
                yield table

    def rows(self, classes: Classes, weights: WeightTotals, missing: str) -> Iterator[BatchRows]:
        """Yield the rows that count; add classes and weights to those that are known."""
        for piece in self._pieces():
            with located(piece.where):
                rows = self._read(piece, classes, weights, missing)
            yield rows

    def _read(
        self, piece: _Piece, classes: Classes, weights: WeightTotals, missing: str
    ) -> BatchRows:
        table = self._features(piece)
        found, y = self._labels(piece)
        weight = self._weights(piece)
        weights.add(weight, piece.n_rows)
        if weight is not None and not (weight > 0).all():
            table, y, weight = _taken(table, y, weight, weight > 0)
        complete = complete_rows(table, missing)
        dropped_missing = None
        if complete is not None:
            dropped_missing = table.missing_counts()
            table, y, weight = _taken(table, y, weight, complete)
        ends_block = (piece.start + piece.n_rows) % self.block_rows == 0
        numbers = classes.number(found, y)
        return BatchRows(
            table, numbers, weight, piece.where, ends_block, dropped_missing, piece.share
        )

    # ---- pieces of batches

    @property
    def is_self_contained(self) -> bool:
        """Whether classes and weights come with the rows, and not as arrays of all rows."""
        return self._all_labels is None and self._all_weights is None

    def _pieces(self) -> Iterator[_Piece]:
        start = self._start
        for batch in self.source.batches(self.limits):
            with located(batch.where):
                whole = self._whole(batch, start)
            max_rows = min(self.block_rows, self.limits.batch_rows(len(self.names or ())))
            first = 0
            while first < whole.n_rows:
                # both are powers of two: pieces end where blocks end, whatever the batches are
                size = min(max_rows - start % max_rows, whole.n_rows - first)
                yield whole.part(start, first, size)
                start += size
                first += size
        if start == self._start:
            raise ValueError(f"{self.source.name} has no rows: there is nothing to read")
        for what, values in (("y", self._all_labels), ("sample_weight", self._all_weights)):
            if values is not None and values.size != start:
                raise ValueError(
                    f"Found inconsistent numbers of samples: X has {start} rows, {what} has"
                    f" {values.size}"
                )

    def _whole(self, batch: Batch, start: int) -> _Piece:
        """Return a batch in one piece, with the classes and weights that are not columns of it."""
        frame = _as_rows(batch.frame)
        self._check_columns(frame)
        n_rows = int(frame.shape[0])
        rows = slice(start, start + n_rows)
        y = self._all_labels
        if y is not None:
            y = y[rows]
        elif batch.y is not None:
            y = label_array(batch.y, n_rows)
            if self.target_name is None:
                self.target_name = getattr(batch.y, "name", None)
        weight = self._all_weights
        if weight is not None:
            weight = weight[rows]
        elif batch.weight is not None:
            weight = weight_array(batch.weight, n_rows)
        return _Piece(batch, frame, y, weight, start, 0, n_rows)

    def _check_columns(self, frame: Any) -> None:
        """Refuse a batch whose columns are not those of the first one."""
        named = isinstance(frame, nw.DataFrame)
        names = [str(name) for name in frame.columns] if named else default_names(frame.shape[1])
        for column, what in ((self.target, "the target"), (self.weight, "the weights")):
            if isinstance(column, str) and not named:
                raise ValueError(
                    f"arrays have no column {column!r} ({what}): let the iterator give (X, y) or"
                    " (X, y, weight)"
                )
            if isinstance(column, str) and column not in names:
                near = listed(nearest_first(column, names))
                raise ValueError(f"there is no column {column!r} ({what}); the columns are {near}")
        features = self._features_of(names, named)
        if self.names is None:
            self.names = features
            self.named = named and all(isinstance(name, str) for name in frame.columns)
        lacking = [name for name in self.names if name not in set(features)]
        surplus = [name for name in features if name not in set(self.names)]
        if lacking:
            raise ValueError(
                f"there is no column {listed(lacking)}, which all rows before have: add it, filled"
                " with missing values"
            )
        if surplus:
            raise ValueError(
                f"there is a column {listed(surplus)}, which no row before has: drop it, or add it"
                " everywhere"
            )

    def _features_of(self, names: list[str], named: bool) -> list[str]:
        """Return the columns that are read as features."""
        if self._wanted is None or not named:
            others = [column for column in (self.target, self.weight) if isinstance(column, str)]
            return [name for name in names if name not in others]
        lacking = [name for name in self._wanted if name not in set(names)]
        if self._some_columns and len(lacking) < len(self._wanted):
            return [name for name in self._wanted if name in set(names)]
        if lacking and len(lacking) < len(self._wanted):
            raise ValueError(
                f"there is no column {listed(lacking)}, which the model was learned from: add it,"
                " filled with missing values"
            )
        return names if lacking else self._wanted

    def _features(self, piece: _Piece) -> Table:
        """Return the features, with the parts of dates in place of dates."""
        table = self._as_read(piece)
        if isinstance(self.dates, Domain):
            return expand_known(table, self.dates.dates, self.dates.names)
        return table if self.dates is None else self.dates.read_new(table, _with_hours(piece.frame))

    def _as_read(self, piece: _Piece) -> Table:
        if not isinstance(piece.frame, nw.DataFrame):
            return read_table(piece.frame)
        keys = {str(key): key for key in piece.frame.columns}
        table = read_table(piece.frame.select([keys[name] for name in self.names or ()]))
        if not piece.batch.text:
            return table
        parts = list(table.parts)
        for at, part in enumerate(parts):
            if isinstance(part, CategoricalColumn):
                parts[at] = replace(
                    part, text=part.text or table.names[part.position] in piece.batch.text
                )
        return replace(table, parts=parts)

    # ---- classes and weights

    def _labels(self, piece: _Piece) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(self.target, str):
            return _column_labels(piece.frame.get_column(self.target))
        if piece.y is None:
            raise ValueError(
                "there are no classes: name the column of the target, or let the iterator give"
                " pairs (X, y)"
            )
        if piece.y.size < piece.n_rows:
            raise ValueError(
                f"y ends after {piece.start + piece.y.size} rows, but X goes on: pass one class for"
                " each row"
            )
        return classes_and_codes(piece.y)

    def _weights(self, piece: _Piece) -> np.ndarray | None:
        if isinstance(self.weight, str):
            return weight_array(_numbers(piece.frame.get_column(self.weight)), piece.n_rows)
        return None if piece.weight is None else weight_array(piece.weight, piece.n_rows)


@dataclass(frozen=True)
class _Piece:
    """Some rows of a batch, after ``start`` rows of the source and ``first`` rows of the batch."""

    batch: Batch
    frame: Any
    y: np.ndarray | None
    weight: np.ndarray | None
    start: int
    first: int
    n_rows: int

    @property
    def where(self) -> str:
        """Where the rows are; rows in messages are numbered from there."""
        return f"{self.batch.where}, from row {self.batch.first_row + self.first} on"

    @property
    def share(self) -> float | None:
        """The share of the source that is read with these rows; known at the end of a batch."""
        if self.batch.share is None or self.first + self.n_rows < len(self.batch.frame):
            return None
        return self.batch.share

    def part(self, start: int, first: int, size: int) -> _Piece:
        """Return some of the rows."""
        rows = slice(first, first + size)
        y = None if self.y is None else self.y[rows]
        weight = None if self.weight is None else self.weight[rows]
        frame = self.frame if size == self.n_rows else self.frame[rows]
        return _Piece(self.batch, frame, y, weight, start, first, size)


def refuse_change(name: str) -> NoReturn:
    """Refuse a source that is not what it was in the first pass."""
    raise RuntimeError(
        f"{name} has changed between the passes: fit again while nobody writes to it"
    )


@contextmanager
def located(where: str) -> Iterator[None]:
    """Begin the messages of errors with where in the source they occur."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"{where}: {error}") from error


def _with_hours(frame: Any) -> frozenset[str]:
    """Return the columns of a batch whose type has hours beside dates."""
    if not isinstance(frame, nw.DataFrame):
        return frozenset()
    return frozenset(str(name) for name, dtype in frame.schema.items() if dtype == nw.Datetime)


def _as_rows(frame: Any) -> Any:
    """Return a batch as a narwhals frame, or as an array."""
    named = as_frame(frame)
    if named is not None:
        return named
    array = np.asarray(frame)
    if array.ndim != 2:
        raise TypeError(
            "a batch is a frame or an array with rows and columns, or a pair of that and classes;"
            f" got {frame!r:.80}"
        )
    return array


def _column_labels(series: nw.Series[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and codes of a column; text of arrow is not boxed row by row."""
    if series.implementation.is_pyarrow() and series.dtype in (nw.String, nw.Categorical):
        places, levels = factorize_series(series)
        if levels and (places >= 0).all():
            classes, of_level = classes_and_codes(np.array(levels, dtype=object))
            return classes, of_level[places]
    return classes_and_codes(label_array(series.to_native(), len(series)))


def _numbers(series: nw.Series[Any]) -> np.ndarray:
    if not series.dtype.is_numeric():
        raise ValueError(f"column {series.name!r} holds {series.dtype}, but weights are numbers")
    return series.cast(nw.Float64).to_numpy()


def _taken(
    table: Table, y: np.ndarray, weight: np.ndarray | None, kept: np.ndarray
) -> tuple[Table, np.ndarray, np.ndarray | None]:
    return table.take(kept), y[kept], None if weight is None else weight[kept]
