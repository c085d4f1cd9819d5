"""Which expressions give views: results that share memory with an operand."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, Index, Slice, Var
from s2sad.ir.types import Array, ListOf, is_complex, not_one

VIEWS: frozenset[Any] = frozenset({
    ops.transpose, np.transpose, np.reshape, np.ravel, np.swapaxes, np.squeeze, np.expand_dims,
    np.asarray, np.broadcast_to, np.moveaxis, np.flip, np.flipud, np.fliplr, np.rot90,
    np.atleast_1d, np.atleast_2d, np.diagonal, np.ascontiguousarray, np.real, np.asanyarray,
    np.rollaxis, np.atleast_3d, np.lib.stride_tricks.sliding_window_view, ops.unbroadcast, runtime.unbroadcast,
})  # fmt: skip
"""Functions whose result may share memory with their first argument."""


def view_base(expr: Expr) -> Var | None:
    """Return the name whose memory the value of `expr` shares or may share, or None."""
    if not isinstance(expr.type, Array | ListOf):
        return None
    match expr:
        case Var():
            return expr
        case Index(base, index):
            return None if is_advanced(index) else view_base(base)
        case Apply(fn, (first, *_)) if fn is np.ravel and _surely_copied(first, expr):
            return None
        case Apply(fn, (first, *_)) if fn is np.ascontiguousarray and _fortran(first):
            return None
        case Apply(fn, (first, *_)) if fn is np.reshape and _surely_copied(first, expr):
            return None
        case Apply(fn, (first, *_)) if fn is np.diag:
            return view_base(first) if isinstance(first.type, Array) and len(first.type.dims) == 2 else None
        case Apply(fn, (Const(str(text)), only)) if fn is np.einsum:
            return view_base(only) if _sums_nothing(text) else None
        case Apply(fn, (first, *_)) if fn in VIEWS or (fn is np.imag and is_complex(first.type)):
            return view_base(first)
        case _:
            return None


def _surely_copied(base: Expr, result: Expr) -> bool:
    """Flattening what is laid out in Fortran order, no axis of length 1, always copies."""
    return isinstance(result.type, Array) and len(result.type.dims) == 1 and _fortran(base)


def _fortran(base: Expr) -> bool:
    """Say whether elements surely lie in Fortran order and in no other."""
    kind = base.type
    if not isinstance(kind, Array) or len(kind.dims) < 2:
        return False
    return kind.layout == "F" and all(not_one(d) for d in kind.dims)


def _sums_nothing(subscripts: str) -> bool:
    """Say whether every letter of one operand is in the result: `einsum` then gives a view, of a diagonal say."""
    letters, arrow, result = subscripts.replace(" ", "").partition("->")
    return not arrow or set(letters) <= set(result)


def is_item(place: Any) -> bool:
    """Say whether a place is that of an array in a list, which holds the very array that is stored there."""
    return isinstance(place, Index) and isinstance(place.base.type, ListOf) and isinstance(place.type, Array)


def is_advanced(index: tuple[Any, ...]) -> bool:
    """Say whether an index holds arrays, so that reading by it copies."""
    return any(not isinstance(item, Slice) and isinstance(item.type, Array) for item in index)
