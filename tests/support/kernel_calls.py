"""Which kernels are called from Python, and with which types."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.registry import CPUDispatcher

import discbayes.kernels
from discbayes.kernels._signatures import as_text, type_of


@contextmanager
def recorded() -> Iterator[set[str]]:
    """Record all calls of this process, as lines of ``signatures.txt``."""
    found: set[str] = set()
    call_it = CPUDispatcher.__call__

    def call(self: Any, *arguments: Any) -> Any:
        package, _, module = self.py_func.__module__.rpartition(".")
        if package == discbayes.kernels.__name__:
            kinds = [as_text(type_of(one)) for one in arguments]
            found.add(" ".join([f"{module}.{self.py_func.__name__}", *kinds]))
        return call_it(self, *arguments)

    CPUDispatcher.__call__ = call
    try:
        yield found
    finally:
        del CPUDispatcher.__call__
