"""The interface of sources that are read in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from discbayes.streams.limits import Limits


@dataclass(frozen=True)
class Batch:
    """Rows of a source: a frame or an array, and where they are from.

    ``first_row`` is the number of rows before them there. ``text`` names columns of plain text
    whose values arrow has numbered while reading, so that they look like categories. ``share`` is
    how much of the source is read with these rows, if that is known.
    """

    frame: Any
    where: str
    first_row: int = 0
    y: Any = None
    weight: Any = None
    text: frozenset[str] = frozenset()
    share: float | None = None


class BatchSource(Protocol):
    """Rows in batches, in their order."""

    @property
    def name(self) -> str:
        """The name of the source in messages."""

    @property
    def once(self) -> bool:
        """Whether it can be read a single time only."""

    def batches(self, limits: Limits) -> Iterator[Batch]:
        """Yield all rows, from the first one on."""


class TypesChanged(Exception):
    """A CSV column has another type than in the rows before, which must be read again."""
