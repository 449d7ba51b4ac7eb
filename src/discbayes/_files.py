"""Writing in one step, for whatever leaves files behind."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO


def replace_file(path: str | Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let ``write`` fill a new file, force it to the disk and put it in the place of the old one.

    Whatever goes wrong, the old file is still there and no other is left. A link stays a link, and what it points to is
    replaced.
    """
    goal = os.path.realpath(path)
    draft = os.path.join(os.path.dirname(goal), f".{secrets.token_hex(8)}.tmp")
    try:
        with open(draft, "xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(goal):
            shutil.copymode(goal, draft)
        os.replace(draft, goal)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
