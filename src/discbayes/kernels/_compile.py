"""How every kernel is compiled, and the one machine instruction that Python has no name for."""

from __future__ import annotations

from typing import Any

import numba
from numba import types
from numba.extending import intrinsic

kernel = numba.njit(nogil=True, cache=True)
inline_kernel = numba.njit(nogil=True, inline="always")
# Called by other kernels only: without the wrappers for Python these compile in half the time.
helper = numba.njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
# The same where a call would cost more than the few cells that the helper works on.
small_helper = numba.njit(nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True)
# Where a product and a sum may be one instruction, which is quicker and rounds once.
contracting_kernel = numba.njit(nogil=True, cache=True, fastmath={"contract"})
contracting_helper = numba.njit(
    nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, fastmath={"contract"}
)
# The same where sums may be added up in any order as well.
summing_helper = numba.njit(
    nogil=True, cache=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, fastmath={"contract", "reassoc"}
)


@intrinsic
def _machine_popcount(typing_context: Any, word: Any) -> Any:
    """One population-count instruction."""

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
        """The number of bits set in a 64-bit word."""
        return _machine_popcount(word)
