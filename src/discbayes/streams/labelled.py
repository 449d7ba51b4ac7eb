"""Rows with their labels, batch by batch: for those who take one batch after the other, and keep
none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from discbayes.data.domain import Domain
from discbayes.data.frame_encoder import EVERY_ROW, refuse_missing
from discbayes.data.table import Table
from discbayes.data.targets import refuse_zero_weights
from discbayes.streams.batch_rows import Classes, WeightTotals
from discbayes.streams.batches import TypesChanged
from discbayes.streams.file_sources import CsvFormat
from discbayes.streams.limits import Limits
from discbayes.streams.out_of_core import csv_types, reader_of

Result = TypeVar("Result")


@dataclass(frozen=True)
class Labelled:
    """Rows that count, their labels and weights, and in words where they are from."""

    table: Table
    y: np.ndarray
    weight: np.ndarray | None
    where: str


class LabelledRows:
    """The rows of a source with their labels.

    Where a ``domain`` is given, columns that it does not have are left out, and columns of CSV
    files get the types that it needs.
    """

    def __init__(
        self, source: Any, target: Any, weight: Any, memory: int, domain: Domain | None = None
    ):
        csv, wanted = None, None
        if domain is not None:
            csv, wanted = CsvFormat(types=_types(domain, target)), domain.names
        self._reader = reader_of(source, target, weight, csv, Limits(memory), wanted)

    @property
    def names(self) -> list[str]:
        """The columns, once rows were read."""
        return self._reader.names or []

    @property
    def named(self) -> bool:
        """Whether they have names of their own."""
        return self._reader.named

    @property
    def target_name(self) -> Any:
        """What the target is called, if anything."""
        return self._reader.target_name

    def read(self, take: Callable[[Iterator[Labelled]], Result], missing: str) -> Result:
        """What is made of all batches; again from the first one, if the type of a CSV column was
        another.
        """
        while True:
            try:
                return take(self._batches(missing))
            except TypesChanged:
                continue

    def _batches(self, missing: str) -> Iterator[Labelled]:
        classes, weights = Classes(), WeightTotals()
        n_rows, gaps = 0, np.zeros(0)
        for rows in self._reader.rows(classes, weights, missing):
            n_rows += rows.y.size
            if rows.dropped_missing is not None:
                gaps = rows.dropped_missing + (gaps if gaps.size else 0.0)
            if rows.y.size:
                known, place = classes.settled()
                yield Labelled(rows.table, known[place][rows.y], rows.weight, rows.where)
        if not weights.n_positive:
            refuse_zero_weights()
        if not n_rows:
            refuse_missing(self.names, gaps.astype(int), EVERY_ROW)


def _types(domain: Domain, target: Any) -> dict[str, str]:
    """The types of the columns in CSV files; labels that are text may look like numbers."""
    text = isinstance(target, str) and all(isinstance(value, str) for value in domain.target.values)
    return {**csv_types(domain), **({target: "string"} if text else {})}
