"""Four numbers in one register, for sums over the classes of a cell.

The compiler does not vectorize these sums by itself.

``load`` reads four numbers of a flat array or from a pointer, ``plus`` and ``times`` add and
multiply two vectors, ``less`` subtracts a multiple of one from another, and ``store`` writes one.
A product that is added to something may be rounded once, with the sum.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

SIZE = 4


class _Four(types.Type):
    """The type of four doubles, known to kernels only."""

    def __init__(self) -> None:
        super().__init__(name="Four")


FOUR, VECTOR = _Four(), ir.VectorType(ir.DoubleType(), SIZE)


@register_model(_Four)
class _FourModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, VECTOR)


def _address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    is_pointer = isinstance(kind, types.CPointer)
    data = array if is_pointer else context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), VECTOR.as_pointer())


@intrinsic
def _load(typing_context: Any, array: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature.args[0], *arguments), align=8)

    return FOUR(array, types.uint64), generate


@intrinsic
def _plus(typing_context: Any, a: Any, b: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(*arguments, flags=("contract",))

    return FOUR(a, b), generate


@intrinsic
def _times(typing_context: Any, a: Any, b: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fmul(*arguments, flags=("contract",))

    return FOUR(a, b), generate


@intrinsic
def _less(typing_context: Any, a: Any, factor: Any, b: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, factor, b = arguments
        one = builder.insert_element(
            ir.Constant(VECTOR, ir.Undefined), factor, ir.Constant(ir.IntType(32), 0)
        )
        every = builder.shuffle_vector(
            one, one, ir.Constant(ir.VectorType(ir.IntType(32), SIZE), [0] * SIZE)
        )
        return builder.fsub(a, builder.fmul(every, b, flags=("contract",)), flags=("contract",))

    return FOUR(a, types.float64, b), generate


@intrinsic
def _store(typing_context: Any, four: Any, array: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        four, array, at = arguments
        builder.store(four, _address(context, builder, signature.args[1], array, at), align=8)
        return context.get_dummy_value()

    return types.void(four, array, types.uint64), generate


def _plain_load(array: np.ndarray, at: Any) -> np.ndarray:
    return array[int(at) : int(at) + SIZE].copy()


def _plain_less(a: np.ndarray, factor: float, b: np.ndarray) -> np.ndarray:
    return a - factor * b


def _plain_store(four: np.ndarray, array: np.ndarray, at: Any) -> None:
    array[int(at) : int(at) + SIZE] = four


if numba.config.DISABLE_JIT:
    load = _plain_load
    plus = np.add
    times = np.multiply
    less = _plain_less
    store = _plain_store
else:
    load = _load
    plus = _plus
    times = _times
    less = _less
    store = _store
