"""Compile kernels before they are needed, for the types that a file lists."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numba
import numpy as np

from discbayes import kernels
from discbayes.kernels._signatures import (
    FILE,
    ArgumentType,
    ArrayType,
    RecordType,
    load_kernel,
    read,
)


def numba_type(kind: ArgumentType) -> Any:
    """Return the type of an argument as numba has it."""
    if isinstance(kind, ArrayType):
        dtype = numba.from_dtype(np.dtype(kind.dtype))
        return numba.types.Array(dtype, kind.ndim, kind.order, readonly=kind.read_only)
    if isinstance(kind, RecordType):
        items = [numba_type(item) for item in kind.items]
        if not kind.name:
            return numba.types.Tuple(items)
        return numba.types.NamedTuple(items, record_class(kind.name))
    return numba.types.none if kind == "none" else numba.from_dtype(np.dtype(kind))


def record_class(name: str) -> Any:
    """Return the named tuple of the package that has a name."""
    for module in iter_modules(kernels.__path__):
        if not module.name.startswith("_"):
            found = getattr(import_module(f"{kernels.__name__}.{module.name}"), name, None)
            if found is not None:
                return found
    raise LookupError(f"no named tuple {name} in {kernels.__name__}")


def compile_kernels(names: list[str], path: Path = FILE) -> None:
    """Compile kernels for all types that they are listed with, or find them in the cache."""
    signatures = read(path)
    for name in names:
        for kinds in signatures[name]:
            load_kernel(name).compile(tuple(map(numba_type, kinds)))


def compile_all(n_jobs: int, report: Callable[[str, int, int], None], path: Path = FILE) -> None:
    """Compile listed kernels in several processes; report each module, and how many are done.

    A process takes all kernels of a module, since they share helpers, and the largest come first.
    """
    groups: dict[str, list[str]] = {}
    for name, signatures in read(path).items():
        groups.setdefault(name.partition(".")[0], []).extend([name] * len(signatures))
    largest_first = sorted(groups, key=lambda module: -len(groups[module]))
    with ProcessPoolExecutor(n_jobs, get_context("spawn")) as pool:
        running = {
            pool.submit(compile_kernels, list(dict.fromkeys(groups[module])), path): module
            for module in largest_first
        }
        for n_done, future in enumerate(as_completed(running), 1):
            future.result()
            report(running[future], n_done, len(running))
