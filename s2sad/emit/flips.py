"""Flipped arrays that may be written into are slices: Numba takes `np.flip` along all axes only.

    v = np.flip(y, axis=1)       v = y[:, ::-1]
    v[0] *= 2.0                  v[0] *= 2.0

A flip inside arithmetic stays: its elements are read where they lie.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.frontend.values import literal
from s2sad.ir.nodes import Apply, Expr, Function, Index, Slice, Stmt
from s2sad.ir.types import Array
from s2sad.ir.views import view_base
from s2sad.ir.walk import map_blocks, map_exprs


def flips_as_slices(fn: Function) -> Function:
    """Return `fn` with slices for the flips that are values or places of its statements."""
    return replace(fn, body=tuple(_stmt(s) for s in fn.body))


def _stmt(stmt: Stmt) -> Stmt:
    return map_blocks(map_exprs(stmt, _sliced), lambda body: tuple(_stmt(s) for s in body))


def _sliced(expr: Any) -> Any:
    """Write the flips as slices that a chain of views starts with."""
    match expr:
        case Index(base, _) if isinstance(base.type, Array):
            return replace(expr, base=_sliced(base))
        case Apply(fn, (first, *rest), Array()) if view_base(expr) is not None:
            expr = replace(expr, args=(_sliced(first), *rest))
            return _backwards(expr, first.type) if fn in (np.flip, np.rot90) else expr
        case _:
            return expr


def _backwards(flip: Apply, kind: Any) -> Expr:
    """Return a flip, or a rotation about two axes that are named, as slices."""
    x, static = flip.args[0], dict(flip.static)
    rank = len(kind.dims)
    if flip.fn is np.flip:
        axis = static.get("axis")
        return _along(x, range(rank) if axis is None else (axis,) if isinstance(axis, int) else axis)
    if "axes" not in static:
        return flip
    first, second = static["axes"]
    turns = static.get("k", 1) % 4
    if turns in (0, 2):
        return _along(x, (first, second) if turns else ())
    swapped = _swapped(x if turns == 3 else _along(x, (second,)), first, second)
    return _along(swapped, (second,)) if turns == 3 else swapped


def _swapped(x: Expr, first: int, second: int) -> Expr:
    assert isinstance(x.type, Array)
    dims = list(x.type.dims)
    dims[first], dims[second] = dims[second], dims[first]
    return Apply(np.swapaxes, (x, literal(first), literal(second)), replace(x.type, dims=tuple(dims), layout="A"))


def _along(x: Expr, axes: Any) -> Expr:
    """Return a view of an array backwards along some axes."""
    assert isinstance(x.type, Array)
    rank = len(x.type.dims)
    back = {axis % rank for axis in axes}
    index = tuple(Slice(None, None, literal(-1) if k in back else None) for k in range(rank))
    return Index(x, index, replace(x.type, layout="A"))
