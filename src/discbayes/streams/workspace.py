"""The temporary folder of one run, and what is said when the disk is full."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discbayes._files import FULL, naming_file
from discbayes._temporary import TemporaryFolder


class DiskFullError(OSError):
    """There is no room for a temporary file."""


class Workspace(TemporaryFolder):
    """A new folder for temporary files, which goes with all its files when it is closed, forgotten
    or left by a kill.

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
        """Refuse to begin with what the disk has no room for."""
        free = shutil.disk_usage(self.path).free
        if free < size:
            raise DiskFullError(errno.ENOSPC, _full_message(self.path.parent, size, what, free))

    @contextmanager
    def writing(self, size: int, what: str) -> Iterator[None]:
        """While something of some size is written: a full disk gets a message that names the folder
        and the size.

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
        " left. Make room, or choose another folder for temporary files"
    )


def megabytes(size: float) -> str:
    """A number of bytes for people.

    >>> megabytes(3_200_000)
    '3.2 MB'
    """
    return f"{size / 1e6:,.1f} MB"
