"""Text on pages: safe in HTML, of limited width, and numbers of things."""

from __future__ import annotations

import unicodedata
from html import escape

LONGEST = 20  # letters of a name in a box


def count_of(number: int, noun: str, plural: str = "s") -> str:
    return f"{number:,} {noun}{'' if number == 1 else plural}"


def shortened(text: str, letters: int = LONGEST) -> str:
    """A text of limited width: the middle gives way, since names often differ at their ends.

    >>> shortened("proportion_of_leaves_with_spots_2019")
    'proportion_…ots_2019'
    """
    text = " ".join(text.split())
    if width_of(text) <= letters:
        return text
    room = letters - 1
    head = _fitting(text, (room + 3) // 2)
    tail = _fitting(text[::-1], room - width_of(head))[::-1]
    return f"{head}…{tail}"


def width_of(text: str) -> int:
    """The width in letters; those of East Asia, and emoji, count twice."""
    if text.isascii():
        return len(text)
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def _fitting(text: str, letters: int) -> str:
    """As much of the beginning as fits."""
    taken = 0
    for k, char in enumerate(text):
        taken += width_of(char)
        if taken > letters:
            return text[:k]
    return text


def escaped(text: str) -> str:
    """Text that is safe in HTML and XML, which have no place for control characters and lone surrogates."""
    return escape("".join(char if _allowed(char) else "\ufffd" for char in text))


def _allowed(char: str) -> bool:
    return char == "\n" or (unicodedata.category(char) not in ("Cc", "Cs") and char not in "\ufffe\uffff")
