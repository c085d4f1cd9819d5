"""`a.tolist()` of an array of several axes: each item by itself where the shape is known, else lists by a loop."""

from __future__ import annotations

import math
from typing import Any

import gast

from s2sad.frontend.containers import identified
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import build
from s2sad.frontend.respelled import statement
from s2sad.frontend.values import StructV, V, Value, literal
from s2sad.ir import ops
from s2sad.ir.types import Array

_MOST_ITEMS = 256
"""How many items are variables of their own at most."""


def lists_of(lw: Lowerer, array: V, node: Any) -> Value:
    """Return an array as a list of lists, which are new."""
    kind = array.expr.type
    assert isinstance(kind, Array)
    base = lw.atom(array.expr, "rows", lw.span(node))
    shape = [getattr(build(ops.dim, base, literal(axis)).type, "value", None) for axis in range(len(kind.dims))]
    known = [length for length in shape if isinstance(length, int)]
    if len(known) == len(shape) and math.prod(known) <= _MOST_ITEMS:
        return identified(_items(lw, base, known, (), node))
    held = lw.local("rows")
    count = len(lw.made)
    lw.env[held] = V(base)
    try:
        return _by_a_loop(lw, held, node)
    finally:
        lw.forget(count)


def _items(lw: Lowerer, base: Any, shape: list[int], at: tuple[int, ...], node: Any) -> Value:
    from s2sad.frontend.indexing import lower_index

    if not shape:
        item = lower_index(lw, V(base), [literal(place) for place in at], node)
        is_whole = isinstance(lw.statement, gast.Assign | gast.Return) and lw.statement.value is node
        assert isinstance(item, V)
        return item if is_whole else V(lw.atom(item.expr, "item", lw.span(node)))
    keys = tuple(range(shape[0]))
    return StructV("list", keys, tuple(_items(lw, base, shape[1:], (*at, place), node) for place in keys))


def _by_a_loop(lw: Lowerer, held: str, node: Any) -> Value:
    from s2sad.frontend.expressions import lower_expr

    return lower_expr(lw, statement(f"[row.tolist() for row in {held}]", node).value)
