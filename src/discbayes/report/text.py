"""Text on pages: safe in HTML, of limited width, and numbers of things."""

from __future__ import annotations

from html import escape

from discbayes._text import printable, shortened, width_of

__all__ = ["count_of", "escaped", "shortened", "width_of"]


def count_of(number: int, noun: str, plural: str = "s") -> str:
    return f"{number:,} {noun}{'' if number == 1 else plural}"


def escaped(text: str) -> str:
    """Text that is safe in HTML and XML, which have no place for control characters and lone surrogates."""
    return escape(printable(text))
