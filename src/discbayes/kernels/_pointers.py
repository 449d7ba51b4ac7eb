"""Arrays as bare pointers, for records of many arrays that pass through many small kernels.

numba counts the references of arrays: a record of twenty takes forty atomic additions for each call
of a function. A pointer has no such count and is one word. ``pointers`` turns the flat arrays of a
named tuple into pointers, ``pointer`` does so with one array, and ``shifted`` gives the part of one
from some element on. Whoever calls keeps the arrays alive. Uncompiled, they stay arrays.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


@intrinsic
def _pointer(typing_context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _data(context, builder, signature.args[0], arguments[0])

    return types.CPointer(array.dtype)(array), generate


@intrinsic
def _pointers(typing_context: Any, record: Any) -> Any:
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
def _shifted(typing_context: Any, pointer: Any, start: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.gep(arguments[0], [arguments[1]])

    return pointer(pointer, types.int64), generate


def _same(array: Any) -> Any:
    return array


def _plain_shifted(array: np.ndarray, start: int) -> np.ndarray:
    return array[start:]


if numba.config.DISABLE_JIT:
    pointer = _same
    pointers = _same
    shifted = _plain_shifted
else:
    pointer = _pointer
    pointers = _pointers
    shifted = _shifted
