"""Shapes: the functions that look at nothing else of their first argument, and what is said where two do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.errors import UNEQUAL, Span
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Const, Expr, If, Index, Pack, Raise, Slice, Stmt, Var
from s2sad.ir.types import Array, ListOf, Static
from s2sad.ir.walk import children, statements
from s2sad.runtime.lists import zero_arrays, zero_complexes, zero_scalars

SHAPES: frozenset[Any] = frozenset({
    ops.dim, ops.size, ops.length, ops.shape, np.zeros_like, np.empty_like, np.ones_like, np.full_like,
    zero_arrays, zero_complexes, zero_scalars,
})  # fmt: skip


LIKE: dict[Any, Any] = {np.zeros_like: np.zeros, np.empty_like: np.empty, np.ones_like: np.ones}
"""Creations in the shape of an array, and those of the same by lengths."""

BLANK = frozenset({np.empty, np.empty_like, np.zeros, np.zeros_like})
"""Creations of arrays in which there is nothing yet, or zero."""


def stands_for_one(value: Expr) -> bool:
    """Say whether a value is an empty array in the place of one of another length, for a name that is set later."""
    if not (isinstance(value, Apply) and value.fn in (np.zeros, np.empty) and isinstance(value.type, Array)):
        return False
    sizes = value.args[0].items if isinstance(value.args[0], Pack) else value.args[:1]
    return any(isinstance(size, Const) and size.value != dim for size, dim in zip(sizes, value.type.dims, strict=False))


def standing(body: tuple[Stmt, ...]) -> frozenset[str]:
    """Return the names that somewhere mean an empty array in the place of one of another length."""
    bindings = [s for s in statements(body) if isinstance(s, Assign) and isinstance(s.target.type, Array)]
    found: frozenset[str] = frozenset()
    while True:
        more = found | {s.target.name for s in bindings if stands_in(s.value, found)}
        if more == found:
            return found
        found = more


def stands_in(value: Expr, names: frozenset[str]) -> bool:
    """Say whether a value is such an array, or one made like what may be one: `names` are those of `standing`."""
    if isinstance(value, Apply) and value.fn in (*LIKE, np.full_like, np.copy) and value.args:
        value = value.args[0] if isinstance(value.args[0], Var) else value
    return value.name in names if isinstance(value, Var) else stands_for_one(value)


def reads_content(expr: Expr | Slice) -> set[str]:
    """Return the names of which an expression reads more than the shape; the length of a list may change."""
    match expr:
        case Apply(fn, (Var(_, kind), *others)) if fn in SHAPES and not isinstance(kind, ListOf):
            return {name for other in others for name in reads_content(other)}
        case Var(name):
            return {name}
        case _:
            return {name for child in children(expr) for name in reads_content(child)}


def shaping_parts(call: Apply) -> tuple[Expr | Slice, ...]:
    """Return the parts of a function of a shape that the result depends on: of `len(x[i:j])` they are `i` and `j`."""
    return (*bounds_of(call.args[0]), *call.args[1:])


def bounds_of(array: Expr) -> tuple[Expr | Slice, ...]:
    """Return the parts of an expression for an array that its shape depends on."""
    match array:
        case Var():
            return ()
        case Index(base, index):
            return (*bounds_of(base), *index)
        case Apply(fn, (base,)) if fn is ops.transpose:
            return bounds_of(base)
        case _:
            return (array,)


def refused_if(differ: Expr, span: Span, text: str = UNEQUAL) -> If:
    """Return the statement that raises, as NumPy does, where two lengths do not fit."""
    return If(differ, (Raise(ValueError, (Const(text, Static(text)),), span),), (), span)
