"""Compiled kernels on disk, which are compiled again if a file is damaged.

Numba writes them beside the source, or in the user's folder for caches, or in ``NUMBA_CACHE_DIR``.
The files contain code that is run, so each ends with a checksum and states what it was compiled
for: one that was truncated, or that two processes have written at once, is compiled again. A new
version of the library uses nothing of an old one, whose kernels may have called others that have
changed since.
"""

from __future__ import annotations

import pickle
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile

from discbayes._version import __version__

_DIGEST = 32  # bytes


class _Files(IndexDataCacheFile):
    """The index of one kernel, and a file for each list of types that it was compiled for."""

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        found = super().load(key)
        return found[1] if found is not None and found[0] == key else None

    def _dump(self, obj: Any) -> bytes:
        content: bytes = super()._dump(obj)
        return content + sha256(content).digest()  # reading a pickle ends before it

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        if sha256(content[:-_DIGEST]).digest() != content[-_DIGEST:]:
            raise ValueError(f"{name} is not what was written")
        return pickle.loads(content)


class KernelCache(FunctionCache):
    """The cache of one kernel; if anything is wrong with it, the kernel is compiled."""

    _cache_file: Any

    def __init__(self, py_func: Any, options: dict[str, Any]):
        super().__init__(py_func)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, stamp)
        told = ",".join(sorted(options))  # numba does not look at them
        self._cache_file._version = f"{numba.__version__} for discbayes {__version__}: {told}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for some types; None if there is nothing usable."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # a file that is not a cache can fail in any way
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if possible: a full disk is not a reason to fail."""
        with suppress(Exception):
            super().save_overload(sig, data)


def is_kept(kernel: Any) -> bool:
    """Return whether a kernel was compiled before and kept."""
    cache = getattr(kernel, "_cache", None)
    return isinstance(cache, KernelCache) and bool(cache._cache_file._load_index())


def compile_on_call(function: Any, options: dict[str, Any]) -> Any:
    """Return a function that numba compiles at its first call, or finds in the cache.

    Without a writable folder, each process compiles it.
    """
    kernel = numba.njit(nogil=True, error_model="numpy", **options)(function)
    if "inline" not in options and not numba.config.DISABLE_JIT:
        with suppress(RuntimeError):
            kernel._cache = KernelCache(kernel.py_func, kernel.targetoptions)
    return kernel
