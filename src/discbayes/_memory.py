"""Requests beyond the memory of the process are refused early, with their size and a way out."""

from __future__ import annotations

import os
from functools import cache
from math import inf
from pathlib import Path

try:
    import resource
except ImportError:  # on Windows, which limits processes itself
    resource = None  # type: ignore[assignment]

_SMALL = 1 << 26  # bytes; less is not checked
_CONTAINER = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class TooLargeError(ValueError):
    """An object would take more memory than there is."""


def require_memory(n_bytes: float, what: str, way_out: str) -> None:
    """Raise an error if an object takes more bytes than this process can ever have.

    Parameters
    ----------
    n_bytes : float
        The size.
    what : str
        The object, at the beginning of the message.
    way_out : str
        What can be done, at its end.
    """
    if n_bytes > _SMALL and n_bytes > (most := memory_limit()):
        raise TooLargeError(
            f"{what} would take {in_bytes(n_bytes)}, and there are {in_bytes(most)} in all:"
            f" {way_out}"
        )


def memory_limit() -> float:
    """Return the bytes that this process can have: the least limit of machine, container, shell."""
    own = inf if resource is None else resource.getrlimit(resource.RLIMIT_AS)[0]
    return min(_of_machine(), inf if own < 0 else own)


@cache
def _of_machine() -> float:
    try:
        most: float = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # a system without this information
        most = inf
    return min([most, *map(_number_in, _CONTAINER)])


def _number_in(path: str) -> float:
    try:
        return float(Path(path).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return inf


def in_bytes(n_bytes: float) -> str:
    """Return a number of bytes as text.

    >>> in_bytes(25.6e9), in_bytes(8e6), in_bytes(154e3), in_bytes(3e15)
    ('25.6 GB', '8.0 MB', '154.0 KB', '3,000.0 TB')
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if n_bytes >= size:
            return f"{n_bytes / size:,.1f} {unit}"
    return f"{n_bytes / 1e3:,.1f} KB"
