"""How every kernel is compiled, and the population count, which Python does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.extending import intrinsic

from discbayes.kernels._cache import keep_compiled


def _compiler(**options: Any) -> Callable[[Any], Any]:
    """Return a decorator that compiles a function at its first call, or loads it from the cache."""
    compile_it = numba.njit(nogil=True, **options)
    return lambda function: keep_compiled(compile_it(function))


_HELPING: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

kernel = _compiler()
inline_kernel = numba.njit(nogil=True, inline="always")
# Called by other kernels only: without the wrappers for Python these compile in half the time.
helper = _compiler(**_HELPING)
# The same where a call would cost more than the few cells that the helper works on.
small_helper = _compiler(**_HELPING, forceinline=True)
# Where a product and a sum may be one instruction, which is quicker and rounds once.
contracting_kernel = _compiler(fastmath={"contract"})
contracting_helper = _compiler(**_HELPING, fastmath={"contract"})
# The same where sums may be added up in any order as well.
summing_helper = _compiler(**_HELPING, fastmath={"contract", "reassoc"})


@intrinsic
def _machine_popcount(typing_context: Any, word: Any) -> Any:
    """Return the population-count instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


def _plain_popcount(word: Any) -> int:
    return int(word).bit_count()


if numba.config.DISABLE_JIT:
    popcount = _plain_popcount
else:

    @inline_kernel
    def popcount(word):  # type: ignore[no-untyped-def]
        """Return the number of bits set in a 64-bit word."""
        return _machine_popcount(word)
