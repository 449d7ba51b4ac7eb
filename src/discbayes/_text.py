"""Text for people: names that are like another one, and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher


def nearest_first(name: str, names: Iterable[str]) -> list[str]:
    """Names in the order of their likeness to one that was not found.

    >>> nearest_first("Targt", ["age", "target"])
    ['target', 'age']
    """
    wanted = name.lower()
    return sorted(names, key=lambda other: -SequenceMatcher(None, wanted, other.lower()).ratio())


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Columns under their headings: the first ``left`` of them flush left, the others flush right.

    >>> print(text_table(["fold", "accuracy"], [["1", "0.9"], ["2", "0.85"]]))
    fold  accuracy
    1          0.9
    2         0.85
    """
    cells = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        parts = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)
