"""Products of matrices and vectors, which Numba compiles as several functions of its own for each pair of layouts.

`a @ b` takes it 0.3 to 0.6 s: a function that makes the result, calls `np.dot` with it, and functions that check
lengths. Here the checks, the array and the call of BLAS are written where the product stands.
Source: the interface of the reference BLAS (Lawson et al. 1979), as Numba's helper library exports it.
"""

from __future__ import annotations

import importlib
from typing import Any

_arrays: Any = importlib.import_module("numba.np.arrayobj")
_linalg: Any = importlib.import_module("numba.np.linalg")
_utils: Any = importlib.import_module("numba.core.cgutils")
_base: Any = importlib.import_module("numba.core.imputils")
_types: Any = importlib.import_module("numba.core.types")

_LONGEST = 2**31 - 1
"""Lengths are handed to BLAS as C integers."""


def product(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Write the product of two arrays, a matrix or both among them; raises ValueError when it runs."""
    left, right = sig.args
    x, y = (_arrays.make_array(kind)(context, builder, value) for kind, value in zip(sig.args, args, strict=True))
    x_shape, y_shape = _utils.unpack_tuple(builder, x.shape), _utils.unpack_tuple(builder, y.shape)
    _check(context, builder, x_shape, y_shape)
    out = _arrays._empty_nd_impl(context, builder, sig.return_type, [*x_shape[:-1], *y_shape[1:]])
    none = _any_is(context, builder, 0, (*x_shape, *y_shape))
    with builder.if_else(none, likely=False) as (empty, filled):
        with empty:
            _utils.memset(builder, out.data, builder.mul(out.itemsize, out.nitems), 0)
        with filled:
            if left.ndim == 2 and right.ndim == 2:
                _of_matrices(context, builder, sig, (x, x_shape), (y, y_shape), out)
            elif left.ndim == 2:
                transposed = left.layout == "C"
                _linalg.call_xxgemv(context, builder, transposed, left, x_shape, x.data, y.data, out.data)
            else:
                transposed = right.layout == "F"
                _linalg.call_xxgemv(context, builder, transposed, right, y_shape, y.data, x.data, out.data)
    return _base.impl_ret_new_ref(context, builder, sig.return_type, out._getvalue())


def inner(context: Any, builder: Any, sig: Any, args: Any, conjugate: bool = False) -> Any:
    """Write the product of two vectors, a number; raises ValueError when it runs."""
    x, y = (_arrays.make_array(kind)(context, builder, value) for kind, value in zip(sig.args, args, strict=True))
    x_shape, y_shape = _utils.unpack_tuple(builder, x.shape), _utils.unpack_tuple(builder, y.shape)
    _check(context, builder, x_shape, y_shape)
    out = _utils.alloca_once(builder, context.get_value_type(sig.return_type))
    _linalg.call_xxdot(context, builder, conjugate, sig.return_type, x_shape[0], x.data, y.data, out)
    return builder.load(out)


def _check(context: Any, builder: Any, x_shape: Any, y_shape: Any) -> None:
    """Raise ValueError where the lengths do not agree, OverflowError where BLAS cannot count so far."""
    with builder.if_then(builder.icmp_signed("!=", x_shape[-1], y_shape[0]), likely=False):
        text = "incompatible array sizes: the factors of a product are not equally long where they meet"
        context.call_conv.return_user_exc(builder, ValueError, (text,))
    most = context.get_constant(_types.intp, _LONGEST)
    for length in (*x_shape, *y_shape[1:]):
        with builder.if_then(builder.icmp_signed(">", length, most), likely=False):
            text = "array size too large to fit in C int"
            context.call_conv.return_user_exc(builder, OverflowError, (text,))


def _of_matrices(context: Any, builder: Any, sig: Any, left: Any, right: Any, out: Any) -> None:
    """Two matrices: a row or a column is a vector, for which BLAS has faster functions."""
    (x_type, y_type), kind = sig.args, sig.return_type
    (x, x_shape), (y, y_shape) = left, right
    is_row, is_column = (_any_is(context, builder, 1, (length,)) for length in (x_shape[0], y_shape[1]))
    with builder.if_else(is_column) as (column, wide):
        with column:
            with builder.if_else(is_row) as (number, tall):
                with number:
                    _linalg.call_xxdot(context, builder, False, kind.dtype, x_shape[1], x.data, y.data, out.data)
                with tall:
                    transposed = x_type.layout == "C"
                    _linalg.call_xxgemv(context, builder, transposed, x_type, x_shape, x.data, y.data, out.data)
        with wide:
            with builder.if_else(is_row) as (row, both):
                with row:
                    transposed = y_type.layout != "C"
                    _linalg.call_xxgemv(context, builder, transposed, y_type, y_shape, y.data, x.data, out.data)
                with both:
                    shape = _utils.unpack_tuple(builder, out.shape)
                    _linalg.call_xxgemm(
                        context, builder, x_type, x_shape, x.data, y_type, y_shape, y.data, kind, shape, out.data
                    )


def _any_is(context: Any, builder: Any, value: int, lengths: Any) -> Any:
    constant = context.get_constant(_types.intp, value)
    found = builder.icmp_signed("==", lengths[0], constant)
    for length in lengths[1:]:
        found = builder.or_(found, builder.icmp_signed("==", length, constant))
    return found


REPLACED = [
    (_linalg, "dot_2_mm", product),
    (_linalg, "dot_2_mv", product),
    (_linalg, "dot_2_vm", product),
    (_linalg, "dot_2_vv", inner),
]
"""What Numba writes products by, and ours."""
