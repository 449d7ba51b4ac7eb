"""Text for people: similar names, lists of names, texts of limited width, and tables."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any

MIN_SIMILAR = 0.7  # of two names, one of which may have been meant
LONGEST = 20  # characters of a name in a box
_BIDI_MARKS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def nearest_first(name: str, names: Iterable[str]) -> list[str]:
    """Return names sorted by their similarity to one that was not found.

    >>> nearest_first("Targt", ["age", "target"])
    ['target', 'age']
    """
    wanted = name.lower()
    return sorted(names, key=lambda other: -SequenceMatcher(None, wanted, other.lower()).ratio())


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question for a name that was not found, if another one is much like it.

    >>> did_you_mean("sepsis", ["age", "Sepsis"]), did_you_mean("sepsis", ["age"])
    ("; did you mean 'Sepsis'?", '')
    """
    near = nearest_first(name, names)[:1]
    is_near = near and SequenceMatcher(None, name.lower(), near[0].lower()).ratio() >= MIN_SIMILAR
    return f"; did you mean {near[0]!r}?" if is_near else ""


def listed(
    names: Iterable[Any], limit: int = 10, show: Callable[[Any], str] = repr, empty: str = "none"
) -> str:
    """Return the first names of a list, and how many there are in all if not all of them are shown.

    Parameters
    ----------
    names : iterable
        The names, or other values, in the order in which they are shown.
    limit : int, default=10
        The number of names that are shown.
    show : callable, default=repr
        The text of a name.
    empty : str, default="none"
        The text where there are no names.

    Returns
    -------
    text : str
        The names, separated by commas.

    Examples
    --------
    >>> listed(["age", "sex"]), listed(range(12), limit=3), listed([])
    ("'age', 'sex'", '0, 1, 2, … (12 in all)', 'none')
    """
    known = list(names)
    shown = ", ".join(map(show, known[:limit]))
    return f"{shown}, … ({len(known)} in all)" if len(known) > limit else shown or empty


def some_of(names: Sequence[str], limit: int) -> str:
    """Return the first names of a list in a sentence, and the number of the others.

    >>> some_of(["age", "sex"], 20), some_of(["age", "sex", "zip"], 1)
    ('age, sex', 'age and 2 more')
    """
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def count_of(number: int, noun: str, plural: str = "s") -> str:
    """Return a number with its noun.

    >>> count_of(1, "class", "es"), count_of(2400, "row")
    ('1 class', '2,400 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else plural}"


def shortened(text: str, width: int = LONGEST) -> str:
    """Return a text of limited width, without its middle, since names often differ at their ends.

    >>> shortened("proportion_of_leaves_with_spots_2019")
    'proportion_…ots_2019'
    """
    text = " ".join(text.split())
    if width_of(text) <= width:
        return text
    left = width - 1  # beside the ellipsis
    head = _fitting(text, (left + 3) // 2)
    tail = _fitting(text[::-1], left - width_of(head))[::-1]
    return f"{head}…{tail}"


def width_of(text: str) -> int:
    """Return the width in columns; wide characters of East Asia, and emoji, count twice."""
    if text.isascii():
        return len(text)
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in text)


def _fitting(text: str, width: int) -> str:
    """Return as much of the beginning as fits."""
    taken = 0
    for k, char in enumerate(text):
        taken += width_of(char)
        if taken > width:
            return text[:k]
    return text


def printable(text: str) -> str:
    """Return the text with U+FFFD in place of control characters and lone surrogates."""
    return "".join(char if _allowed(char) else "\ufffd" for char in text)


def _allowed(char: str) -> bool:
    return char == "\n" or (
        unicodedata.category(char) not in ("Cc", "Cs") and char not in "\ufffe\uffff"
    )


def visible(text: str) -> str:
    """Return the text with escapes in place of characters that a terminal would obey or hide.

    These are control characters other than line feeds and tabs, and marks of the writing direction.
    A byte of a file name that is not text is shown as that byte.

    >>> print(visible("a\x1b[31mb\u202ec"))
    a\\x1b[31mb\\u202ec
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(char) if _is_obeyed(char) else char for char in text)


def _is_obeyed(char: str) -> bool:
    return char not in "\n\t" and (
        unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in _BIDI_MARKS
    )


def _escaped(char: str) -> str:
    number = ord(char)
    if 0xDC80 <= number <= 0xDCFF:
        number -= 0xDC00
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a table as text, with the first ``left`` columns flush left, the others flush right.

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
