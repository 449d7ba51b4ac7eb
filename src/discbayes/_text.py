"""Text for people: names that are like another one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher


def nearest_first(name: str, names: Iterable[str]) -> list[str]:
    """Names in the order of their likeness to one that was not found.

    >>> nearest_first("Targt", ["age", "target"])
    ['target', 'age']
    """
    wanted = name.lower()
    return sorted(names, key=lambda other: -SequenceMatcher(None, wanted, other.lower()).ratio())
