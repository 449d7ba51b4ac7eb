"""Temporary folders that are removed with their process, or by the next one if it was killed."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import IO

from discbayes._files import lock_file

PREFIX = "discbayes-"
# a file in the folder that its process holds locked; what it holds names the process
LOCK = "owner"


class TemporaryFolder:
    """A new folder that is removed with all its files when it is closed, or with the object.

    A process that is killed cannot do that. So each new folder removes those beside it whose
    process is gone: they are of the same user, were made on the same host, and nobody holds the
    lock on their file ``owner``. A folder without that file is left alone.

    >>> with TemporaryFolder() as folder:
    ...     _ = (folder.path / "codes").write_bytes(b"")
    >>> folder.path.exists()
    False
    """

    def __init__(self, parent: str | Path | None = None):
        parent = tempfile.gettempdir() if parent is None else parent
        _remove_left(Path(parent))
        self.path, owner = _new_folder(parent)
        self._finalizer = weakref.finalize(self, _remove, self.path, owner)

    def close(self) -> None:
        """Remove the folder."""
        self._finalizer()

    def __enter__(self) -> TemporaryFolder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _host() -> str:
    """Return the name of this machine: process numbers of shared folders need it."""
    return socket.gethostname()


def _new_folder(parent: str | Path) -> tuple[Path, IO[bytes]]:
    """Return a folder, and the file in it that is locked as long as it is open."""
    path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    try:
        owner = open(path / LOCK, "xb", buffering=0)  # noqa: SIM115 - open as long as the folder is in use
    except OSError:
        shutil.rmtree(path, ignore_errors=True)
        raise
    lock_file(owner)
    with suppress(OSError):  # a full disk: writing to the folder will fail with a message
        owner.write(f"{_host()}\n{os.getpid()}\n".encode())  # from now on others look at the lock
    return path, owner


def _remove(folder: Path, owner: IO[bytes]) -> None:
    """Remove a folder.

    Files that are still mapped, which Windows does not remove, are removed at the end of the
    process.
    """
    with suppress(OSError):  # what could not be written is removed with the rest
        owner.close()
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


# ---- folders of processes that are gone


def _remove_left(parent: Path) -> None:
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX):
                with suppress(OSError):
                    _remove_if_left(Path(entry.path), entry.stat(follow_symlinks=False).st_uid)


def _remove_if_left(folder: Path, user: int) -> None:
    """Remove a folder of this user and host that no process holds, while it is locked."""
    who = getattr(os, "getuid", None)  # Windows has none
    if folder.is_symlink() or (who is not None and user != who()):
        return
    with open(folder / LOCK, "rb") as owner:
        host = owner.readline().decode("utf-8", "replace").rstrip("\n")
        free = host == _host() and lock_file(owner)
        if free:
            shutil.rmtree(folder, ignore_errors=True)
    # Windows does not remove a file that is open: where it does, nobody has it
    if free is None and os.name == "nt":
        os.unlink(folder / LOCK)
        shutil.rmtree(folder, ignore_errors=True)
