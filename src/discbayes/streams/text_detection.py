"""The encoding and the delimiter of CSV text, found in its bytes."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DELIMITERS = (",", ";", "\t", "|")
HEAD = 1 << 18  # bytes in which the delimiter is looked for
_BLOCK = 1 << 20
_LINES = 200
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_NOT_IN_CP1252 = b"\x81\x8d\x8f\x90\x9d"
_MIN_ROWS_ALIKE = 0.8  # share of the first rows that have as many cells as the header


@dataclass(frozen=True)
class TextLayout:
    """The encoding and the delimiter of CSV text.

    Parameters
    ----------
    encoding : str
        The name of the encoding, as Python has it.
    has_mark : bool
        Whether the text begins with a byte order mark.
    delimiter : str or None
        The character between cells; None where none can be told.
    example : str
        A word with characters beyond ASCII, by which a person can judge the encoding.
    """

    encoding: str
    has_mark: bool
    delimiter: str | None
    example: str = ""


def detect_layout(
    source: str | Path | bytes, encoding: str | None = None, usual: str = "cp1252"
) -> TextLayout:
    """Return the encoding and the delimiter of CSV text.

    Parameters
    ----------
    source : path or bytes
        The file, which may be compressed (.gz), or the text itself.
    encoding : str, optional
        The encoding, if it is known.
    usual : str, default="cp1252"
        The encoding of bytes that are neither UTF-8 nor UTF-16.

    Returns
    -------
    TextLayout
        What was found.

    Examples
    --------
    >>> found = detect_layout("Größe;Wert\\n1,5;ja\\n".encode("cp1252"))
    >>> found.encoding, found.delimiter
    ('cp1252', ';')
    """
    head = next(_blocks(source), b"")
    example = b""
    mark = next((mark for mark in _MARKS if head.startswith(mark)), b"")
    if encoding is None and mark:
        encoding = _MARKS[mark]
    elif encoding is None and _is_wide(head):
        encoding = "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
    elif encoding is None:
        encoding, example = _byte_encoding(source, usual)
    text = head[: HEAD & ~1].decode(encoding, errors="replace").lstrip("\ufeff")
    return TextLayout(
        encoding, bool(mark), _delimiter(text), example.decode(encoding, errors="replace").strip()
    )


def _blocks(source: str | Path | bytes) -> Iterator[bytes]:
    """Yield the bytes of a source, some at a time; what is damaged ends them."""
    with opened(source) as file:
        while True:
            try:
                block = file.read(_BLOCK)
            except (OSError, EOFError, zlib.error):  # the reader will tell
                return
            if not block:
                return
            yield block


def opened(source: str | Path | bytes) -> Any:
    """Return the bytes of a file, which may be compressed, or of text as an open file."""
    if isinstance(source, bytes):
        return io.BytesIO(source)
    return gzip.open(source) if str(source).lower().endswith(".gz") else open(source, "rb")


def _is_wide(head: bytes) -> bool:
    """Return whether every other byte is zero, as in UTF-16 without a byte order mark."""
    some = head[:1024]
    return len(some) > 3 and max(some[::2].count(0), some[1::2].count(0)) > len(some) // 4


def _byte_encoding(source: str | Path | bytes, usual: str) -> tuple[str, bytes]:
    """Return the encoding of bytes, and a line in which they are not ASCII."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    seen: set[int] = set()
    example = b""
    encoding = "utf-8"
    for block in _blocks(source):
        if block.isascii() and encoding == "utf-8" and decoder.getstate()[0] == b"":
            continue
        if encoding == "utf-8":
            try:
                decoder.decode(block)
            except UnicodeDecodeError as error:
                encoding = usual
                example = _word_around(block, max(0, error.start))
        seen.update(byte for byte in _NOT_IN_CP1252 if byte in block)
    if encoding == "utf-8":
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            encoding = usual
    if encoding == "cp1252" and seen:
        encoding = "latin-1"
    return encoding, example


def _word_around(block: bytes, place: int) -> bytes:
    """Return the word of a block that holds a place."""
    before = re.search(rb"[^\s,;|\"]*\Z", block[max(0, place - 40) : place])
    after = re.match(rb"[^\s,;|\"]*", block[place : place + 40])
    return (before[0] if before else b"") + (after[0] if after else b"")


def _delimiter(text: str) -> str | None:
    """Return the delimiter with which most rows have as many cells as the header, above one."""
    lines = text.splitlines()[:_LINES]
    if len(text) >= HEAD // 4 and len(lines) > 2:
        lines = lines[:-1]  # which may be cut short
    best, most = None, 1
    for delimiter in DELIMITERS:
        try:
            rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error:
            continue
        if not rows:
            continue
        width = len(rows[0])
        alike = sum(len(row) == width for row in rows) / len(rows)
        if alike >= _MIN_ROWS_ALIKE and width > most:
            best, most = delimiter, width
    return best
