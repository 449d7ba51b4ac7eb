"""Reading within a limit, writing in one step, and the two ways in which a file can be wrong."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from discbayes._files import replace_file


class ModelFileError(ValueError):
    """A file that is no sound model file; the message names the file and what is wrong with it."""


class BifError(ValueError):
    """A BIF file that cannot be read, or a network that cannot be written as one."""


def read_limited(path: str | Path, max_bytes: int) -> bytes | None:
    """The content of a file; None if it has more than ``max_bytes`` bytes, of which no more are read."""
    with open(path, "rb") as file:
        content = file.read(max_bytes + 1)
    return content if len(content) <= max_bytes else None


def write_atomically(path: str | Path, content: bytes | Callable[[IO[bytes]], object]) -> None:
    """Write a whole file or nothing: whatever goes wrong, the old file is still there and no other is left.

    The bytes, or what a function writes, go to a new file in the same folder, are forced to the disk, and take the
    place of the old file. Errors name ``path``, not the new file.
    """
    try:
        replace_file(path, content if callable(content) else lambda file: file.write(content))
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(error.errno, _reason(path, error), os.fspath(path)) from error


def _reason(path: str | Path, error: OSError) -> str:
    """What kept a file from being written, in the words of the system where there are no plainer ones."""
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        return "cannot be written, since it is a folder"
    if not os.path.exists(folder):
        return f"cannot be written, since there is no folder {folder}"
    if isinstance(error, PermissionError):
        return f"cannot be written, since the folder {folder} does not permit it"
    return error.strerror or str(error)
