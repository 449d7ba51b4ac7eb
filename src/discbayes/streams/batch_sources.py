"""Sources of batches: files, pyarrow datasets, queries, iterators of frames, Dask collections."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from discbayes._lazy_imports import need
from discbayes.data.table_reader import arrow_table
from discbayes.streams.batches import Batch, BatchSource, Limits
from discbayes.streams.csv_format import CsvFormat
from discbayes.streams.file_sources import FileSource, has_known_ending, tables_of


def is_source(X: Any) -> bool:
    """Return whether something is read in batches rather than being a table itself.

    >>> is_source("rows.parquet"), is_source(iter([])), is_source([[1, 2]])
    (True, True, False)
    """
    if isinstance(X, (str, os.PathLike, Iterator)):
        return True
    return _are_paths(X) or _is_dataset(X) or _is_query(X) or is_dask(X) or _is_opened(X)


def open_source(
    X: Any, csv: CsvFormat | None = None, y: Any = None, weight: Any = None
) -> BatchSource:
    """Return the source of rows; `y` and `weight` are Dask collections, as the rows then are."""
    if isinstance(X, (str, os.PathLike)):
        return FileSource([Path(X)], csv)
    if _are_paths(X):
        return FileSource(list(X), csv)
    if is_dask(X):
        return DaskSource(X, y, weight)
    if _is_dataset(X):
        return DatasetSource(X)
    if _is_query(X):
        return QuerySource(X)
    if isinstance(X, Iterator):
        return IteratorSource(X)
    if _is_opened(X):
        return X
    raise TypeError(
        f"{type(X).__name__} cannot be read in batches: pass a path, a list of paths, a pyarrow"
        " dataset, a lazy frame of polars, a relation of DuckDB, an iterator of frames or a Dask"
        " collection"
    )


def _are_paths(X: Any) -> bool:
    if not isinstance(X, (list, tuple)) or not X:
        return False
    return all(
        isinstance(item, os.PathLike) or (isinstance(item, str) and has_known_ending(item))
        for item in X
    )


def _is_opened(X: Any) -> bool:
    """Return whether something is a `BatchSource` already."""
    return all(hasattr(type(X), name) for name in ("batches", "once"))


def _is_dataset(X: Any) -> bool:
    """Return whether something is a dataset of pyarrow, without importing it."""
    return type(X).__module__.startswith("pyarrow._dataset") and hasattr(X, "to_batches")


def is_dask(X: Any) -> bool:
    """Return whether something is a Dask collection, without importing Dask."""
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "npartitions")


def _is_query(X: Any) -> bool:
    """Return whether something is a lazy frame of polars or a relation of DuckDB."""
    kind = (type(X).__module__.split(".")[0].lstrip("_"), type(X).__name__)
    return kind in (("polars", "LazyFrame"), ("duckdb", "DuckDBPyRelation"))


class IteratorSource:
    """An iterator of frames, of pairs (X, y) or of triples (X, y, weight), which is read once."""

    name = "the iterator"
    once = True

    def __init__(self, frames: Iterator[Any]):
        self._frames = frames

    def batches(self, limits: Limits) -> Iterator[Batch]:
        """Yield the items of the iterator."""
        for number, item in enumerate(self._frames):
            parts = item if isinstance(item, tuple) else (item,)
            if not 1 <= len(parts) <= 3:
                raise TypeError(
                    f"batch {number} is a tuple of {len(parts)}: pass frames, (X, y) or (X, y,"
                    " weight)"
                )
            yield Batch(arrow_table(parts[0]), f"batch {number}", 0, *parts[1:])


class DatasetSource:
    """A pyarrow dataset, file by file; one that is filtered, as a whole."""

    name = "the dataset"
    once = False

    def __init__(self, dataset: Any):
        self._dataset = dataset

    def batches(self, limits: Limits) -> Iterator[Batch]:
        """Yield all rows in the order of the files."""
        schema = self._dataset.schema
        options = {"batch_size": limits.batch_rows(len(schema)), "batch_readahead": 2}
        try:
            fragments = list(self._dataset.get_fragments())
        except ValueError:  # the pieces of a filtered dataset cannot be had
            yield from self._scanned(
                self._dataset.to_batches(fragment_readahead=1, **options), self.name, None
            )
            return
        for number, fragment in enumerate(fragments):
            where = getattr(fragment, "path", None) or f"part {number} of the dataset"
            yield from self._scanned(
                fragment.to_batches(schema=schema, **options), where, number / len(fragments)
            )

    def _scanned(self, batches: Iterator[Any], where: str, share: float | None) -> Iterator[Batch]:
        first_row = 0
        for table in tables_of(where, batches):
            yield Batch(table, where, first_row, share=share)
            first_row += table.num_rows


class QuerySource:
    """A lazy frame of polars or a relation of DuckDB, which is run whenever rows are read."""

    once = False

    def __init__(self, query: Any):
        self._query = query
        self._is_lazy_frame = type(query).__name__ == "LazyFrame"
        self.name = "the lazy frame" if self._is_lazy_frame else "the relation"
        if self._is_lazy_frame and not hasattr(query, "collect_batches"):
            raise TypeError(
                "this version of polars cannot read a lazy frame in batches: upgrade polars, or"
                " call collect() on it"
            )

    def batches(self, limits: Limits) -> Iterator[Batch]:
        """Yield all rows in their order."""
        query, first_row = self._query, 0
        if self._is_lazy_frame:
            n_rows = limits.batch_rows(len(query.collect_schema()))
            tables = query.collect_batches(chunk_size=n_rows, maintain_order=True)
        else:
            need("pyarrow")
            n_rows = limits.batch_rows(len(query.columns))
            # the method's name in DuckDB before 1.4
            read = getattr(query, "to_arrow_reader", None) or query.fetch_arrow_reader
            tables = tables_of(self.name, iter(read(n_rows)))
        for table in tables:
            if len(table):
                yield Batch(table, self.name, first_row)
            first_row += len(table)


class DaskSource:
    """A Dask DataFrame or Array, with classes and weights in partitions of the same rows."""

    name = "the Dask collection"
    once = False

    def __init__(self, X: Any, y: Any = None, weight: Any = None):
        need("dask")
        self._parts = [
            _partitions(X),
            *(_partitions(part) for part in (y, weight) if part is not None),
        ]
        self.has_y = y is not None
        counts = {len(parts) for parts in self._parts}
        if len(counts) > 1:
            raise ValueError(
                "X, y and the weights have different numbers of partitions"
                f" ({', '.join(map(str, sorted(counts)))}): repartition them alike"
            )

    def batches(self, limits: Limits) -> Iterator[Batch]:
        """Yield one partition after the other, each computed when it is needed."""
        compute = need("dask").compute
        for number, parts in enumerate(self.partitions()):
            batch = partition_batch(number, compute(*parts), self.has_y)
            yield replace(batch, share=(number + 1) / len(self._parts[0]))

    def partitions(self) -> list[tuple[Any, ...]]:
        """Return the rows of each partition, with its classes and its weights if there are any."""
        return list(zip(*self._parts, strict=True))


def partition_batch(number: int, loaded: Sequence[Any], has_y: bool) -> Batch:
    """Return a computed partition as a batch."""
    frame, *others = loaded
    y = others.pop(0) if has_y else None
    return Batch(frame, f"partition {number}", 0, y, others[0] if others else None)


def _partitions(X: Any) -> list[Any]:
    if hasattr(X, "get_partition"):
        return [X.get_partition(number) for number in range(X.npartitions)]
    if X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return [X.blocks[number] for number in range(X.numblocks[0])]
