"""How every kernel becomes compiled code: shipped with the library, or by numba on first use.

A wheel for a platform has compiled code for the types of ``signatures.txt``, and needs numba for
others only (``_shipped.py``). Elsewhere numba compiles each kernel when it is first called, and
keeps the code on disk (``_cache.py``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from discbayes.kernels._shipped import HAS_NUMBA, SHIPPED, Instruction, Kernel

# With numba and nothing shipped, kernels are dispatchers of numba: no check stands before a call.
_AT_ONCE = HAS_NUMBA and SHIPPED is None


def _is_uncompiled() -> bool:
    """Return whether kernels run as plain Python, which the tests use to compare both."""
    if _AT_ONCE:
        return bool(import_module("numba").config.DISABLE_JIT)
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


UNCOMPILED = _is_uncompiled()


def _compiler(**options: Any) -> Callable[[Any], Any]:
    """Return a decorator that makes a kernel of a function."""

    def decorate(function: Any) -> Any:
        is_helper = "no_cpython_wrapper" in options or "inline" in options
        if UNCOMPILED or (is_helper and not HAS_NUMBA):
            return function
        made = Kernel(function, options)
        return made.dispatcher if _AT_ONCE else made

    return decorate


def instruction(function: Any) -> Any:
    """Let compiled kernels use what ``_intrinsics.py`` has under the name of a function."""
    if UNCOMPILED or not HAS_NUMBA:
        return function
    made = Instruction(function)
    return made.intrinsic if _AT_ONCE else made


def is_kept(kernel: Any) -> bool:
    """Return whether a kernel was compiled before and kept, or nothing is compiled at all."""
    if not _AT_ONCE or UNCOMPILED:
        return True
    return bool(import_module("discbayes.kernels._cache").is_kept(kernel))


_HELPING: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

kernel = _compiler()
inline_kernel = _compiler(inline="always")
# Called by other kernels only: without the wrappers for Python these compile in half the time.
helper = _compiler(**_HELPING)
# The same where a call would cost more than the few cells that the helper works on.
small_helper = _compiler(**_HELPING, forceinline=True)
# Where a product and a sum may be one instruction, which is quicker and rounds once.
contracting_kernel = _compiler(fastmath={"contract"})
contracting_helper = _compiler(**_HELPING, fastmath={"contract"})
# The same where sums may be added up in any order as well.
summing_helper = _compiler(**_HELPING, fastmath={"contract", "reassoc"})


@instruction
def popcount(word: Any) -> int:
    """Return the number of bits set in a 64-bit word."""
    return int(word).bit_count()
