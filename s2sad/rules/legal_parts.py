"""Small parts of which rewrites of calls are made."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.ir.nodes import Apply, Const, Expr, Index, Slice
from s2sad.ir.types import Array, Scalar, Type, rank


def applied(fn: Any, args: tuple[Expr, ...], kind: Type, **static: Any) -> Apply:
    """Return a call with keywords that are known."""
    return Apply(fn, args, kind, tuple(static.items()))


def number(value: int) -> Const:
    """Return a whole number that is known."""
    return Const(value, Scalar("int64", weak=True, value=value))


def without_axis(kind: Type, axis: int) -> Type:
    """Return the type of an array without an axis."""
    assert isinstance(kind, Array)
    dims = tuple(d for k, d in enumerate(kind.dims) if k != axis)
    return Array(kind.dtype, dims, "C") if dims else Scalar(kind.dtype)


def with_axis(kind: Type, axis: int) -> Type:
    """Return the type of an array, or a number, with an axis of one element more."""
    dims = list(kind.dims) if isinstance(kind, Array) else []
    dims.insert(axis, 1)
    return Array(kind.dtype, tuple(dims), "C")  # type: ignore[union-attr]


def expanded(x: Expr, axis: int) -> Expr:
    """Return an array with an axis of one element more."""
    return applied(np.expand_dims, (x,), with_axis(x.type, axis), axis=axis)


def without_axes(x: Expr, axes: set[int], kind: Type) -> Expr:
    """Return an array without axes that have one element."""
    if not axes:
        return x
    everything = Slice(None, None, None)
    return Index(x, tuple(number(0) if k in axes else everything for k in range(rank(x.type))), kind)
