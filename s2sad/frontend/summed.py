"""`sum` of arrays: one sum along the first axis, beside where it starts."""

from __future__ import annotations

import builtins
from typing import Any

import gast
import numpy as np

from s2sad.frontend.functional import bind_each, expression, placed
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, V, Value
from s2sad.ir import ops
from s2sad.ir.nodes import Append, Apply, Const, Expr, For, Var
from s2sad.ir.types import Array, ListOf


def sum_of_arrays(lw: Lowerer, items: Value, start: Value, node: Any) -> Value:
    """`sum(items, start)` of the rows of an array, or of a list of arrays.

    A list without items adds nothing: where it may have none, that is asked before its items are joined.
    """
    nothing = isinstance(start, V) and isinstance(start.expr, Const) and start.expr.value == 0
    add, joined, given, first = bind_each(lw, [StaticV(np.sum), StaticV(np.array), items, start])
    if not isinstance(items, V) or not isinstance(items.expr.type, ListOf) or _has_one(lw, items.expr):
        return expression(lw, f"{add}({given}, axis=0)" if nothing else f"{first} + {add}({given}, axis=0)", node)
    count, total = bind_each(lw, [StaticV(builtins.len)])[0], lw.fresh("total")
    if nothing:
        lw.env[first] = _of_rank(items.expr.type)
    before = "" if nothing else f"{first} + "
    text = f"{total} = {first}\nif {count}({given}) > 0:\n    {total} = {before}{add}({joined}({given}), axis=0)\n"
    return _lowered(lw, text, total, node)


def _of_rank(kind: ListOf) -> Value:
    """Return a 0 that is added to anything: of the items' shape, or one number in as many axes as they have."""
    from s2sad.frontend.values import literal, pack

    assert isinstance(kind.item, Array)
    static = () if kind.item.dtype == "float64" else (("dtype", np.dtype(kind.item.dtype).type),)
    known = [dim for dim in kind.item.dims if isinstance(dim, int)]
    lengths = known if len(known) == len(kind.item.dims) else [1] * len(kind.item.dims)
    sizes: list[Expr] = [literal(length) for length in lengths]
    shape = sizes[0] if len(sizes) == 1 else pack("tuple", sizes)
    return V(Apply(np.zeros, (shape,), Array(kind.item.dtype, tuple(lengths), "C"), static))


def _has_one(lw: Lowerer, items: Any) -> bool:
    """Say whether a list was just made of the rows of an array or the numbers of a range, and so has items."""
    made = lw.block[-1] if lw.block else None
    if not isinstance(items, Var) or not isinstance(made, For):
        return False
    lengths = isinstance(made.stop, Apply) and made.stop.fn is ops.length
    return not lengths and any(isinstance(s, Append) and s.list.name == items.name for s in made.body)


def _lowered(lw: Lowerer, text: str, name: str, node: Any) -> Value:
    from s2sad.frontend.statements import lower_block

    lower_block(lw, placed(gast.parse(text).body, node))
    return lw.env[name]
