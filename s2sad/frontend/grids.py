"""`np.r_[…]`, `np.c_[…]`, `np.mgrid[…]` and `np.ogrid[…]`: arrays made by an index, read as calls."""

from __future__ import annotations

from typing import Any

import gast
import numpy as np

from s2sad.frontend.expressions import lower_expr
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import SliceV, StaticV, StructV, V, Value, const, type_of
from s2sad.ir.types import is_complex, rank


def is_maker(found: Any) -> bool:
    """Say whether an object makes arrays when it is indexed."""
    return any(found is maker for maker in (np.r_, np.c_, np.mgrid, np.ogrid))


def make(lw: Lowerer, maker: Any, node: Any) -> Value:
    """Return what indexing `maker` gives; `node` is the subscript."""
    from s2sad.frontend.calls import call_function

    several = isinstance(node.slice, gast.Tuple)
    parts = [_part(lw, part, node) for part in (node.slice.elts if several else [node.slice])]
    if maker is np.r_:
        joins = np.concatenate if any(rank(type_of(part)) > 1 for part in parts) else np.hstack
        return call_function(lw, joins, [_display(parts)], {}, node)
    if maker is np.c_:
        return call_function(lw, np.column_stack, [_display(parts)], {}, node)
    if not several:
        return parts[0]
    named: dict[str, Value] = {"indexing": StaticV("ij"), "sparse": StaticV(maker is np.ogrid)}
    grid = call_function(lw, np.meshgrid, parts, named, node)
    assert isinstance(grid, StructV)
    if maker is np.ogrid:
        return StructV("tuple", grid.keys, grid.items)
    return call_function(lw, np.stack, [grid], {}, node)


def _part(lw: Lowerer, part: Any, node: Any) -> Value:
    from s2sad.frontend.arguments import known_value
    from s2sad.frontend.calls import call_function

    if isinstance(part, gast.Slice):  # whose bounds are real numbers, too
        lower, upper, step = (None if p is None else lower_expr(lw, p) for p in (part.lower, part.upper, part.step))
        value: Value = SliceV(lower, upper, step)
    else:
        value = lower_expr(lw, part)
    match value:
        case SliceV(lower, upper, step):
            if upper is None:
                lw.fail(node, "a range needs an end here")
            assert upper is not None
            first = const(0) if lower is None else lower
            if step is not None and is_complex(type_of(step)):
                return call_function(lw, np.linspace, [first, upper, const(int(abs(known_value(step))))], {}, node)
            return call_function(lw, np.arange, [first, upper, const(1) if step is None else step], {}, node)
        case StructV():
            return call_function(lw, np.array, [value], {}, node)
        case V():
            return value
        case _:
            return lw.fail(node, "only ranges, numbers and arrays are joined here", "Call np.concatenate.")


def _display(parts: list[Value]) -> StructV:
    return StructV("list", tuple(range(len(parts))), tuple(parts))
