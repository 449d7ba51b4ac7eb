"""Which kernels are called from Python, and with which types."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import discbayes.kernels
from discbayes.kernels._signatures import as_text, load_kernel, type_of

DECORATORS = {"kernel", "contracting_kernel"}
_inside = threading.local()


class Recorder:
    """A kernel that notes the types of its calls; those by other kernels do not count."""

    def __init__(self, name: str, kernel: Any, found: set[str]):
        self.name, self.kernel, self.found = name, kernel, found

    @property
    def _numba_type_(self) -> Any:  # for kernels that call this one
        from numba import types

        return types.Dispatcher(self.kernel)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kernel, name)

    def __call__(self, *arguments: Any) -> Any:
        if getattr(_inside, "kernel", False):
            return self.kernel(*arguments)
        self.found.add(" ".join([self.name, *(as_text(type_of(one)) for one in arguments)]))
        _inside.kernel = True
        try:
            return self.kernel(*arguments)
        finally:
            _inside.kernel = False


def kernel_names() -> list[str]:
    """Every kernel that Python may call, as ``module.function``."""
    found = []
    for module in pkgutil.iter_modules(discbayes.kernels.__path__):
        if module.name.startswith("_"):
            continue
        source = inspect.getsource(importlib.import_module(f"discbayes.kernels.{module.name}"))
        for node in ast.parse(source).body:
            marks = getattr(node, "decorator_list", ())
            if DECORATORS & {mark.id for mark in marks if isinstance(mark, ast.Name)}:
                found.append(f"{module.name}.{node.name}")
    return found


@contextmanager
def recorded() -> Iterator[set[str]]:
    """Record all calls of this process, as lines of ``signatures.txt``."""
    found: set[str] = set()
    recorders = {}
    for name in kernel_names():
        kernel = load_kernel(name)
        recorders[id(kernel)] = Recorder(name, kernel, found)
    changed = []
    for module in [one for key, one in sys.modules.items() if key.startswith("discbayes")]:
        for name, value in list(vars(module).items()):
            if id(value) in recorders:
                setattr(module, name, recorders[id(value)])
                changed.append((module, name, value))
    try:
        yield found
    finally:
        for module, name, value in changed:
            setattr(module, name, value)
