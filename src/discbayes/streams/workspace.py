"""The temporary folder of one run, and what is said when the disk is full."""

from __future__ import annotations

import atexit
import errno
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discbayes._files import FULL, naming_file


class DiskFullError(OSError):
    """There is no room for a temporary file."""


class Workspace:
    """A new folder for temporary files, which goes with all its files when it is closed or forgotten.

    >>> with Workspace() as space:
    ...     _ = (space.path / "codes").write_bytes(b"")
    >>> space.path.exists()
    False
    """

    def __init__(self, folder: str | Path | None = None):
        if folder is not None and not Path(folder).is_dir():
            raise FileNotFoundError(
                f"there is no folder {str(folder)!r} for temporary files: create it, or pass another"
            )
        self.path = Path(tempfile.mkdtemp(prefix="discbayes-", dir=folder))
        self._finalizer = weakref.finalize(self, _remove, self.path)

    def close(self) -> None:
        """Remove the folder."""
        self._finalizer()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def require(self, size: int, what: str) -> None:
        """Refuse to begin with what the disk has no room for."""
        free = shutil.disk_usage(self.path).free
        if free < size:
            raise DiskFullError(errno.ENOSPC, _full_message(self.path.parent, size, what, free))

    @contextmanager
    def writing(self, size: int, what: str) -> Iterator[None]:
        """While something of some size is written: a full disk gets a message that names the folder and the size.

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
            raise DiskFullError(error.errno, _full_message(self.path.parent, size, what, free)) from error


def _remove(folder: Path) -> None:
    """Remove a folder; files that are still mapped, which Windows does not remove, go with the process."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


def _full_message(folder: Path, size: int, what: str, free: int) -> str:
    return (
        f"the disk is full: {what} need {megabytes(size)} in {folder}, which has {megabytes(free)} left. Make room, or "
        "choose another folder for temporary files"
    )


def megabytes(size: float) -> str:
    """A number of bytes for people.

    >>> megabytes(3_200_000)
    '3.2 MB'
    """
    return f"{size / 1e6:,.1f} MB"
