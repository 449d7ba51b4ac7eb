"""Single instructions of compiled kernels, and pointers, for which Python has no word.

Each replaces the function of the same name that is marked by ``instruction`` elsewhere in the
package. Imported only where something is compiled.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

_LANES = 4


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Return the population-count instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


# Pointers


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


@intrinsic
def pointer(typing_context: Any, array: Any) -> Any:
    """Return where an array begins."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _data(context, builder, signature.args[0], arguments[0])

    return types.CPointer(array.dtype)(array), generate


@intrinsic
def pointers(typing_context: Any, record: Any) -> Any:
    """Return a named tuple with pointers in place of its arrays."""
    kinds = [types.CPointer(k.dtype) if isinstance(k, types.Array) else k for k in record.types]
    result = types.NamedTuple(kinds, record.instance_class)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        out = context.get_constant_undef(result)
        for k, kind in enumerate(record.types):
            value = builder.extract_value(arguments[0], k)
            if isinstance(kind, types.Array):
                value = _data(context, builder, kind, value)
            out = builder.insert_value(out, value, k)
        return out

    return result(record), generate


@intrinsic
def shifted(typing_context: Any, pointer: Any, start: Any) -> Any:
    """Return a pointer some elements further on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return pointer(pointer, types.int64), generate


# Four numbers in one register


class _Four(types.Type):
    """The type of four doubles, known to kernels only."""

    def __init__(self) -> None:
        super().__init__(name="Four")


_FOUR, _VECTOR = _Four(), ir.VectorType(ir.DoubleType(), _LANES)


@register_model(_Four)
class _FourModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, _VECTOR)


def _address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    is_pointer = isinstance(kind, types.CPointer)
    data = array if is_pointer else _data(context, builder, kind, array)
    return builder.bitcast(builder.gep(data, [at]), _VECTOR.as_pointer())


@intrinsic
def load(typing_context: Any, array: Any, at: Any) -> Any:
    """Read four numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_address(context, builder, signature.args[0], *arguments), align=8)

    return _FOUR(array, types.uint64), generate


@intrinsic
def plus(typing_context: Any, a: Any, b: Any) -> Any:
    """Add two vectors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fadd(*arguments, flags=("contract",))

    return _FOUR(a, b), generate


@intrinsic
def times(typing_context: Any, a: Any, b: Any) -> Any:
    """Multiply two vectors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fmul(*arguments, flags=("contract",))

    return _FOUR(a, b), generate


@intrinsic
def less(typing_context: Any, a: Any, factor: Any, b: Any) -> Any:
    """Subtract a multiple of one vector from another."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, factor, b = arguments
        one = builder.insert_element(
            ir.Constant(_VECTOR, ir.Undefined), factor, ir.Constant(ir.IntType(32), 0)
        )
        every = builder.shuffle_vector(
            one, one, ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
        )
        return builder.fsub(a, builder.fmul(every, b, flags=("contract",)), flags=("contract",))

    return _FOUR(a, types.float64, b), generate


@intrinsic
def store(typing_context: Any, four: Any, array: Any, at: Any) -> Any:
    """Write four numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        four, array, at = arguments
        builder.store(four, _address(context, builder, signature.args[1], array, at), align=8)
        return context.get_dummy_value()

    return types.void(four, array, types.uint64), generate
