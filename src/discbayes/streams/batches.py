"""The one interface of what can be read in batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from discbayes.streams.limits import Limits


@dataclass(frozen=True)
class Batch:
    """Rows as they come: a frame or an array, and in words where they are from.

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
        """What messages call it."""

    @property
    def once(self) -> bool:
        """Whether it can be read a single time only."""

    def batches(self, limits: Limits) -> Iterator[Batch]:
        """All rows, from the first one on."""


class TypesChanged(Exception):
    """The type of a column turned out to be another than the rows before had shown: they must be
    read again.
    """
