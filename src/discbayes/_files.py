"""Writing files in one step."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows, which does not remove a file that is open
    fcntl = None  # type: ignore[assignment]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ENDING = ".draft"
_NAME_CHARACTERS = 40  # of a file in the name of its draft: a file system has a longest name
_OLD = 3600.0  # seconds after which a draft is nobody's, where that cannot be asked


Content = str | bytes | Callable[[IO[bytes]], object]


def replace_file(path: str | Path, content: Content) -> None:
    """Write a new file, force it to the disk and put it in the place of the old one.

    The content is bytes, a text, which is encoded as UTF-8, or a function that fills the file.

    Whatever goes wrong, the old file is still there and no other is left; errors name ``path`` and
    the way out. A process that is killed leaves its draft, ``.NAME.XXXXXXXX.draft`` in the same
    folder, which the next one to write that file removes. A link stays a link, and what it points
    to is replaced; the mode of a file stays as it is. A path that is not a file, such as
    ``/dev/stdout``, is written to as it is.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    write = data if callable(data) else lambda file: file.write(data)
    try:
        if _is_special(path):
            with open(path, "wb") as file:
                write(file)
        else:
            _replace(os.path.realpath(path), write)
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(error.errno, _reason(path, error), os.fspath(path)) from error


def _replace(goal: str, write: Callable[[IO[bytes]], object]) -> None:
    if os.path.isfile(goal) and not os.access(goal, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), goal)
    _remove_drafts(goal)
    draft, file = _new_draft(goal)
    try:
        with file:
            if os.path.exists(goal):  # before there is anything to read
                shutil.copymode(goal, draft)
            write(file)
            file.flush()
            os.fsync(file.fileno())
            # before it is closed, so that nobody takes it for one that was left
            if fcntl is not None:
                os.replace(draft, goal)
        if fcntl is None:
            os.replace(draft, goal)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
    _force_folder(os.path.dirname(goal))


def _is_special(path: str | Path) -> bool:
    """Return whether a path is neither a file nor a folder, but a device or a pipe."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


# Drafts


def _start_of_drafts(goal: str) -> str:
    return f".{os.path.basename(goal)[:_NAME_CHARACTERS]}."


def _new_draft(goal: str) -> tuple[str, IO[bytes]]:
    """Return the name of a new file beside the goal, and the file, locked while it is open."""
    while True:
        name = f"{_start_of_drafts(goal)}{secrets.token_hex(4)}{_ENDING}"
        draft = os.path.join(os.path.dirname(goal), name)
        try:
            file = open(draft, "xb")  # noqa: SIM115 - open until it is in its place
            if lock_file(file) is not False and os.path.exists(draft):
                return draft, file
            file.close()  # another process took it for one that was left, before it was locked
        except OSError:
            raise  # there is none, or it is not ours
        except BaseException:  # a signal, just after the file was made
            with suppress(OSError):
                os.unlink(draft)
            raise


def _remove_drafts(goal: str) -> None:
    """Remove the drafts of the same file that killed processes have left."""
    start = _start_of_drafts(goal)
    with suppress(OSError), os.scandir(os.path.dirname(goal)) as entries:
        for entry in entries:
            if entry.name.startswith(start) and entry.name.endswith(_ENDING):
                with suppress(OSError):
                    _remove_if_left(entry.path)


def _remove_if_left(draft: str) -> None:
    """Remove a draft that no process writes any more, while it is locked."""
    with open(draft, "rb") as file:
        free = lock_file(file)
        if free:
            os.unlink(draft)
        old = time.time() - os.fstat(file.fileno()).st_mtime > _OLD
    if free is None and old:
        os.unlink(draft)


def lock_file(file: IO[bytes]) -> bool | None:
    """Lock a file; False if another process has done so, and None where files cannot be locked."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _force_folder(folder: str) -> None:
    """Force a new name to the disk, where a folder can be opened for that."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


# Errors


@contextmanager
def naming_file(path: str | Path) -> Iterator[None]:
    """Name a file in errors of the system that do not, such as those of reading and writing."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.filename is not None:
            raise
        raise type(error)(error.errno, error.strerror or str(error), os.fspath(path)) from error


def _reason(path: str | Path, error: OSError) -> str:
    """Return why a file could not be written; in the words of the system if no other apply."""
    goal = os.path.realpath(path)
    folder = os.path.dirname(goal)
    if os.path.isdir(path):
        return "cannot be written, since it is a folder"
    if not os.path.exists(folder):
        return f"cannot be written, since there is no folder {folder}"
    if isinstance(error, PermissionError):
        return f"cannot be written, since {_forbidden(goal, folder)}"
    if error.errno in FULL:
        return _full_disk(path, folder)
    return error.strerror or str(error)


def _forbidden(goal: str, folder: str) -> str:
    if os.path.isfile(goal) and not os.access(goal, os.W_OK):
        return "the file is read-only: choose another name, or permit writing"
    if os.name == "nt" and os.path.isfile(goal):
        return f"another program has it open, or the folder {folder} does not permit it"
    return f"the folder {folder} does not permit it"


def _full_disk(path: str | Path, folder: str) -> str:
    """Return the message for a full disk."""
    if _is_special(path):
        return "cannot be written, since there is no space left"
    left = shutil.disk_usage(folder).free
    what = f"the disk is full: {folder} has {left / 1e6:,.1f} MB left"
    return (
        f"cannot be written, since {what}, or a limit of the system is reached. Free some space, or"
        " choose another folder"
    )
