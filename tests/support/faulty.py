"""A disk whose k-th operation fails: every open, read, write, truncate, force, rename and close in
a folder counts.
"""

from __future__ import annotations

import builtins
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock


class Faults:
    """Counts operations on files within a folder; the one of number ``at`` fails with an error of
    the system.
    """

    def __init__(self, folder: Path, at: int, code: int):
        self.folder, self.at, self.code = os.path.realpath(folder), at, code
        self.calls, self.failed = 0, ""

    def step(self, what: str, path: object) -> None:
        """One operation; what is done to remove a folder does not count, since there is nothing to
        do about it.
        """
        if sys._getframe(2).f_code.co_filename == shutil.__file__:
            return
        if isinstance(path, int) or not os.path.realpath(os.fspath(path)).startswith(self.folder):
            return
        self.calls += 1
        if self.calls == self.at:
            self.failed = what
            # the system names a path only where it was given one
            named = what in ("open", "rename", "mkdir", "mode")
            raise OSError(self.code, os.strerror(self.code), *([os.fspath(path)] if named else []))


class FaultyFile(io.FileIO):
    """An open file whose operations are counted."""

    def __init__(self, faults: Faults, path: object, mode: str):
        self.faults, self.place = faults, path
        super().__init__(path, mode)

    def readinto(self, buffer):
        self.faults.step("read", self.place)
        return super().readinto(buffer)

    def readall(self):
        self.faults.step("read", self.place)
        return super().readall()

    def write(self, data):
        self.faults.step("write", self.place)
        return super().write(data)

    def truncate(self, size=None):
        self.faults.step("truncate", self.place)
        return super().truncate(size)

    def close(self):
        if not self.closed:
            super().close()
            self.faults.step("close", self.place)


@contextmanager
def failing(folder: Path, at: int, code: int) -> Iterator[Faults]:
    """While the ``at``-th operation within a folder fails."""
    faults = Faults(folder, at, code)
    real = {name: getattr(os, name) for name in ("fsync", "replace", "open", "scandir")}
    open_file, mkdtemp, copymode = builtins.open, tempfile.mkdtemp, shutil.copymode

    def opened(path, mode="r", *args, **options):
        if (
            isinstance(path, int)
            or "b" not in mode
            or not os.path.realpath(path).startswith(faults.folder)
        ):
            return open_file(path, mode, *args, **options)
        faults.step("open", path)
        raw = FaultyFile(faults, path, mode.replace("b", ""))
        return io.BufferedReader(raw) if "r" in mode and "+" not in mode else io.BufferedWriter(raw)

    def before(what: str, call: Callable) -> Callable:
        def counted(path, *args, **options):
            faults.step(what, path)
            return call(path, *args, **options)

        return counted

    def forced(number):
        faults.step("force", os.readlink(f"/proc/self/fd/{number}"))
        return real["fsync"](number)

    def made(*args, **options):
        faults.step("mkdir", options.get("dir") or tempfile.gettempdir())
        return mkdtemp(*args, **options)

    with ExitStack() as stack:
        for place, name, function in [
            (builtins, "open", opened),
            (io, "open", opened),
            (os, "fsync", forced),
            (os, "replace", before("rename", real["replace"])),
            (os, "open", before("open", real["open"])),
            (os, "scandir", before("open", real["scandir"])),
            (shutil, "copymode", before("mode", copymode)),
            (tempfile, "mkdtemp", made),
        ]:
            stack.enter_context(mock.patch.object(place, name, function))
        yield faults


def each_fault(
    folder: Path, code: int, operation: Callable[[], object]
) -> Iterator[tuple[str, OSError | None]]:
    """Run an operation again and again, with its first call failing, its second, and so on until
    none does.

    Gives what failed and the error that came of it, None where the operation has coped; other
    errors go through.
    """
    at = 0
    while True:
        at += 1
        with failing(folder, at, code) as faults:
            try:
                operation()
                error = None
            except OSError as caught:
                error = caught
        if not faults.failed:
            assert error is None, error
            return
        yield faults.failed, error
