"""The temporary folder of one run, and the message for a full disk."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discbayes._files import FULL, naming_file
from discbayes._temporary import TemporaryFolder


class DiskFullError(OSError):
    """The disk has no space left for a temporary file."""


class Workspace(TemporaryFolder):
    """A new folder for temporary files.

    It is removed with all its files when it is closed, with the object, or after its process was
    killed.

    >>> with Workspace() as space:
    ...     _ = (space.path / "codes").write_bytes(b"")
    >>> space.path.exists()
    False
    """

    def __init__(self, folder: str | Path | None = None):
        if folder is not None and not Path(folder).is_dir():
            raise FileNotFoundError(
                f"there is no folder {str(folder)!r} for temporary files: create it, or pass"
                " another"
            )
        super().__init__(folder)

    def __enter__(self) -> Workspace:
        return self

    def require(self, size: int, what: str) -> None:
        """Refuse to begin with what does not fit on the disk."""
        free = shutil.disk_usage(self.path).free
        if free < size:
            raise DiskFullError(errno.ENOSPC, _full_message(self.path.parent, size, what, free))

    @contextmanager
    def writing(self, size: int, what: str) -> Iterator[None]:
        """Name the folder and the size in the error of a full disk, while something is written.

        Other errors of the system name the folder too.
        """
        try:
            yield
        except DiskFullError:
            raise  # of something else, which was written meanwhile
        except OSError as error:
            if error.errno not in FULL:
                with naming_file(self.path):
                    raise
            free = shutil.disk_usage(self.path).free
            raise DiskFullError(
                error.errno, _full_message(self.path.parent, size, what, free)
            ) from error


def _full_message(folder: Path, size: int, what: str, free: int) -> str:
    return (
        f"the disk is full: {what} need {megabytes(size)} in {folder}, which has {megabytes(free)}"
        " left. Free some space, or choose another folder for temporary files"
    )


def megabytes(size: float) -> str:
    """Return a number of bytes as text.

    >>> megabytes(3_200_000)
    '3.2 MB'
    """
    return f"{size / 1e6:,.1f} MB"
