"""Reading within a limit, writing in one step, and the two ways in which a file can be wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO

from discbayes._files import naming_file, replace_file
from discbayes._text import printable, shortened

LONGEST_REASON = 400  # letters
_PIECE = 1 << 20


class ModelFileError(ValueError):
    """A file that is no sound model file; the message names the file and what is wrong with it."""


class BifError(ValueError):
    """A BIF file that cannot be read, or a network that cannot be written as one."""


def read_limited(path: str | Path, max_bytes: int) -> bytes | None:
    """The content of a file; None if it has more than ``max_bytes`` bytes, of which no more are
    read.
    """
    pieces, left = [], max_bytes + 1
    with (
        naming_file(path),
        open(path, "rb") as file,
    ):  # in pieces, as one read of so many bytes would ask for their memory at once
        while left > 0 and (piece := file.read(min(left, _PIECE))):
            pieces.append(piece)
            left -= len(piece)
    return b"".join(pieces) if left > 0 else None


def told(reason: object) -> str:
    """A reason that may quote the file: on one line, of limited length, without control
    characters.
    """
    return printable(shortened(str(reason), LONGEST_REASON))


def write_atomically(path: str | Path, content: bytes | Callable[[IO[bytes]], object]) -> None:
    """Write bytes, or what a function writes, as a whole file or not at all; errors name ``path``
    and the way out.
    """
    replace_file(path, content if callable(content) else lambda file: file.write(content))
