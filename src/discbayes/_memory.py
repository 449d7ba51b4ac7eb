"""What cannot be held in memory is refused before it is begun, with its size and a way out."""

from __future__ import annotations

import os
from functools import cache
from math import inf
from pathlib import Path

try:
    import resource
except ImportError:  # Windows, which refuses by itself what it cannot give
    resource = None  # type: ignore[assignment]

_SMALL = 1 << 26  # bytes that are not worth asking for
_CONTAINER = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class TooLargeError(ValueError):
    """Something would take more memory than there is."""


def require_memory(n_bytes: float, what: str, way_out: str) -> None:
    """Refuse what takes more bytes than this process can ever have."""
    if n_bytes > _SMALL and n_bytes > (most := memory_limit()):
        raise TooLargeError(
            f"{what} would take {in_bytes(n_bytes)}, and there are {in_bytes(most)} in all:"
            f" {way_out}"
        )


def memory_limit() -> float:
    """The bytes that this process can have: those of the machine, of its container, or of its
    limit; the least.
    """
    own = inf if resource is None else resource.getrlimit(resource.RLIMIT_AS)[0]
    return min(_of_machine(), inf if own < 0 else own)


@cache
def _of_machine() -> float:
    try:
        most: float = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # a system that does not tell
        most = inf
    return min([most, *map(_number_in, _CONTAINER)])


def _number_in(path: str) -> float:
    try:
        return float(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return inf


def in_bytes(n_bytes: float) -> str:
    """A number of bytes for people.

    >>> in_bytes(25.6e9), in_bytes(8e6), in_bytes(3e15)
    ('25.6 GB', '8.0 MB', '3,000.0 TB')
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if n_bytes >= size:
            return f"{n_bytes / size:,.1f} {unit}"
    return f"{n_bytes / 1e6:,.1f} MB"
