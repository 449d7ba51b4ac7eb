"""Reading within a limit, and the errors of files that are not valid."""

from __future__ import annotations

from pathlib import Path

from discbayes._files import naming_file
from discbayes._text import printable, shortened

MAX_REASON = 400  # characters
_CHUNK = 1 << 20  # bytes


class ModelFileError(ValueError):
    """A file is not a valid model file; the message names the file and the reason.

    Examples
    --------
    >>> from discbayes.io import ModelFileError
    >>> issubclass(ModelFileError, ValueError)
    True
    """


class BifError(ValueError):
    """A BIF file cannot be read, or a network cannot be written as one.

    Examples
    --------
    >>> from discbayes.io import BifError
    >>> issubclass(BifError, ValueError)
    True
    """


def read_limited(path: str | Path, max_bytes: int) -> bytes | None:
    """Return the content of a file, or None after reading ``max_bytes`` if it has more."""
    chunks, left = [], max_bytes + 1
    with naming_file(path), open(path, "rb") as file:
        # in chunks, as one read of so many bytes would allocate them at once
        while left > 0 and (chunk := file.read(min(left, _CHUNK))):
            chunks.append(chunk)
            left -= len(chunk)
    return b"".join(chunks) if left > 0 else None


def one_line(reason: object) -> str:
    """Return a reason that may quote the file: short, on one line, without control characters."""
    return printable(shortened(str(reason), MAX_REASON))
