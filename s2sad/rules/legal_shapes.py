"""Shapes and axes for Numba: a list of sizes is a tuple, and a transpose keeps what is known of the layout."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, Pack
from s2sad.ir.types import Array, Scalar, Struct, Sym, rank


def _sizes_at(position: int) -> Callable[[Apply], Expr | None]:
    """Return the rewrite of a call whose sizes may be a list, which Numba takes for no shape."""

    def rewrite(call: Apply) -> Expr | None:
        sizes = call.args[position] if len(call.args) > position else None
        if not isinstance(sizes, Pack) or sizes.kind != "list" or not isinstance(sizes.type, Struct):
            return None
        kind = Struct("tuple", sizes.type.keys, sizes.type.items)
        args = (*call.args[:position], Pack("tuple", sizes.items, kind), *call.args[position + 1 :])
        return Apply(call.fn, args, call.type, call.static)

    return rewrite


listed_shape = _sizes_at(0)


def _transpose(call: Apply) -> Expr | None:
    """Of a matrix it is `x.T`: with axes, Numba forgets that the result is in C or in Fortran order."""
    x = call.args[0]
    axes = dict(call.static).get("axes")
    if len(call.args) != 1 or not isinstance(x.type, Array) or not isinstance(axes, tuple | list):
        return _sizes_at(1)(call)
    if [k % len(axes) for k in axes] == list(range(len(axes))):
        return x
    if rank(x.type) != 2 or [k % 2 for k in axes] != [1, 0]:
        return None
    layout = {"C": "F", "F": "C"}.get(x.type.layout, "A")
    return Apply(ops.transpose, (x,), Array(x.type.dtype, x.type.dims[::-1], layout))


def _size(call: Apply) -> Expr | None:
    """Numba's `abs` takes no arrays."""
    x = call.args[0]
    return Apply(np.absolute, (x,), call.type) if isinstance(x.type, Array) else None


def _reshaped(call: Apply) -> Expr | None:
    """Of a number, the array of the one element: Numba reshapes arrays only."""
    x = call.args[0]
    if isinstance(x, Apply) and x.fn is np.full and rank(x.type) == 0:
        x = x.args[1]
    if not isinstance(x.type, Scalar) or not isinstance(call.type, Array) or not call.type.dims:
        return _sizes_at(1)(call)
    return Apply(np.full, (ones(len(call.type.dims)), x), call.type)


def ones(n: int) -> Pack:
    """Return the shape of an array of one element."""
    items = (Const(1, Scalar("int64", weak=True, value=1)),) * n
    return Pack("tuple", items, Struct("tuple", tuple(range(n)), tuple(item.type for item in items)))


def _empty(call: Apply) -> Expr | None:
    """`np.ndarray(shape)` is an array without values."""
    made = Apply(np.empty, call.args, call.type, call.static)
    return listed_shape(made) or made if len(call.args) == 1 and not {*dict(call.static)} - {"dtype"} else None


def _take(call: Apply) -> Expr | None:
    """Numba takes several axes of indices from a vector only: from other arrays, one long axis and a new shape."""
    x, axis = call.args[0], dict(call.static).get("axis")
    if len(call.args) != 2 or axis is None or not isinstance(x.type, Array) or not isinstance(call.type, Array):
        return None
    at = call.args[1]
    if rank(x.type) == 1:
        return Apply(np.take, (x, at), call.type)
    if not isinstance(at.type, Array) or rank(at.type) < 2:
        return None
    k = axis % rank(x.type)
    line = Array(at.type.dtype, (Sym("taken"),), "C")
    picked = Array(x.type.dtype, (*x.type.dims[:k], *line.dims, *x.type.dims[k + 1 :]), "C")
    taken = Apply(np.take, (x, Apply(np.ravel, (at,), line)), picked, call.static)
    sizes = [(x, i) for i in range(k)] + [(at, i) for i in range(rank(at.type))]
    sizes += [(x, i) for i in range(k + 1, rank(x.type))]
    lengths = tuple(_length(each, i) for each, i in sizes)
    shape = Pack("tuple", lengths, Struct("tuple", tuple(range(len(lengths))), tuple(n.type for n in lengths)))
    return Apply(np.reshape, (taken, shape), Array(call.type.dtype, call.type.dims, "C"))


def _length(x: Expr, axis: int) -> Apply:
    weak = Scalar("int64", weak=True)
    return Apply(ops.dim, (x, Const(axis, Scalar("int64", weak=True, value=axis))), weak)


REWRITES: dict[Any, Callable[[Apply], Expr | None]] = {
    **dict.fromkeys((np.zeros, np.ones, np.empty), listed_shape),
    np.reshape: _reshaped,
    np.broadcast_to: _sizes_at(1),
    np.ndarray: _empty,
    np.take: _take,
    np.transpose: _transpose,
    builtins.abs: _size,
}
