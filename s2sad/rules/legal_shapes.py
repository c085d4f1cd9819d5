"""Shapes and axes for Numba: a list of sizes is a tuple, and a transpose keeps what is known of the layout."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Expr, Pack
from s2sad.ir.types import Array, Struct, rank


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
    if rank(x.type) != 2 or [k % 2 for k in axes] != [1, 0]:
        return None
    layout = {"C": "F", "F": "C"}.get(x.type.layout, "A")
    return Apply(ops.transpose, (x,), Array(x.type.dtype, x.type.dims[::-1], layout))


def _size(call: Apply) -> Expr | None:
    """Numba's `abs` takes no arrays."""
    x = call.args[0]
    return Apply(np.absolute, (x,), call.type) if isinstance(x.type, Array) else None


def _empty(call: Apply) -> Expr | None:
    """`np.ndarray(shape)` is an array without values."""
    made = Apply(np.empty, call.args, call.type, call.static)
    return listed_shape(made) or made if len(call.args) == 1 and not {*dict(call.static)} - {"dtype"} else None


REWRITES: dict[Any, Callable[[Apply], Expr | None]] = {
    **dict.fromkeys((np.zeros, np.ones, np.empty), listed_shape),
    **dict.fromkeys((np.reshape, np.broadcast_to), _sizes_at(1)),
    np.ndarray: _empty,
    np.transpose: _transpose,
    builtins.abs: _size,
}
