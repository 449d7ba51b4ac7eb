"""Text in HTML: escaped, shortened, and counts of things."""

from __future__ import annotations

from html import escape

from discbayes._text import count_of, printable, shortened, width_of

__all__ = ["count_of", "escaped", "shortened", "width_of"]


def escaped(text: str) -> str:
    """Return text that is safe in HTML and XML, without control characters and lone surrogates."""
    return escape(printable(text))
