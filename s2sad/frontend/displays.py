"""Lists where NumPy takes arrays: displays are made arrays, growing lists are gathered and joined."""

from __future__ import annotations

from typing import Any

import gast
import numpy as np

from s2sad.frontend import growing
from s2sad.frontend.indexing import lower_index
from s2sad.frontend.infer import infer
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import apply
from s2sad.frontend.values import RangeV, StaticV, StructV, V, Value, const, literal, type_of
from s2sad.ir.nodes import Apply, Const, Slice
from s2sad.ir.types import Array, ListOf, Scalar, Static, is_inexact, rank

_TAKES_INDICES: frozenset[Any] = frozenset({np.take, np.repeat, np.take_along_axis})
_OPERANDS: frozenset[str] = frozenset({
    "a", "arr", "b", "c", "condition", "fp", "m", "p", "q", "v", "values", "weights", "x", "x1", "x2", "xp", "y",
})  # fmt: skip
"""Parameters that NumPy makes arrays of, whole numbers too."""
_A_FEW = 8
_MOST = 64
"""Items of a display that is repeated."""
_TAKES_DISPLAYS: frozenset[Any] = frozenset({np.linalg.multi_dot})


def makes_array(target: Value) -> bool:
    """Say whether a function makes an array of nested lists."""
    return isinstance(target, StaticV) and (target.value is np.array or target.value is np.asarray)


def rows_as_arrays(node: Any, maker: Any) -> Any:
    """`np.array([[… for y in ys] for x in xs])`: each row is made an array first, as NumPy does in the end.

    `np.array([4.0] + [1.0] * 3)` has as many items as the text says, which those of a tuple are counted to.
    """
    if isinstance(node, gast.BinOp):
        return _as_tuple(node) or node
    if not isinstance(node, gast.ListComp):
        return node
    repeated = isinstance(node.elt, gast.BinOp) and isinstance(node.elt.op, gast.Mult) and isinstance(
        node.elt.left, gast.List
    )  # fmt: skip
    if not repeated and not isinstance(node.elt, gast.ListComp | gast.List | gast.Tuple):
        return node
    row = gast.Call(func=maker, args=[rows_as_arrays(node.elt, maker)], keywords=[])
    made = gast.ListComp(elt=gast.copy_location(row, node.elt), generators=node.generators)
    return gast.copy_location(made, node)


def _as_tuple(node: Any) -> Any:
    """Return the sum of displays, each repeated as often as a number in the text says, as one of tuples."""
    match node:
        case gast.List(elts=elts) | gast.Tuple(elts=elts) if not any(isinstance(e, gast.Starred) for e in elts):
            return gast.copy_location(gast.Tuple(elts=elts, ctx=gast.Load()), node)
        case gast.BinOp(left=left, op=gast.Add() as op, right=right):
            parts = _as_tuple(left), _as_tuple(right)
        case gast.BinOp(left=items, op=gast.Mult() as op, right=gast.Constant(value=int(count)) as times):
            parts = _as_tuple(items) if count <= _MOST else None, times
        case gast.BinOp(left=gast.Constant(value=int(count)) as times, op=gast.Mult() as op, right=items):
            parts = times, _as_tuple(items) if count <= _MOST else None
        case _:
            return None
    return None if None in parts else gast.copy_location(gast.BinOp(left=parts[0], op=op, right=parts[1]), node)


def shape_as_tuple(node: Any) -> Any:
    """Return the shape `[2] * n` as `(2,) * n`, of which the axes are counted; None for any other."""
    match node:
        case gast.BinOp(left=gast.List() as items, op=gast.Mult() as op, right=gast.Name() as times):
            parts = _as_tuple(items), times
        case gast.BinOp(left=gast.Name() as times, op=gast.Mult() as op, right=gast.List() as items):
            parts = times, _as_tuple(items)
        case _:
            return None
    return None if None in parts else gast.copy_location(gast.BinOp(left=parts[0], op=op, right=parts[1]), node)


def gathered(lw: Lowerer, value: Value, node: Any) -> Value:
    """A list passed where NumPy wants an array is gathered into one first."""
    if isinstance(value, V) and isinstance(value.expr.type, ListOf):
        fn = np.stack if isinstance(value.expr.type.item, Array) else np.array
        kind = infer(fn, (value.expr,), {})
        return V(lw.atom(Apply(fn, (value.expr,), kind), "gathered", lw.span(node)))
    return value


def joined(lw: Lowerer, fn: Any, items: V, kwargs: dict[str, Value], node: Any) -> Value:
    """Join a list that the function has built: every join is a stack, or the items one behind the other."""
    from s2sad.frontend.arguments import known_value
    from s2sad.frontend.calls import call_function

    kind = items.expr.type.item if isinstance(items.expr.type, ListOf) else None
    if kind is None:
        kind = growing.item_of_empty(lw, items.expr, node)
    n = rank(kind)
    axis = known_value(kwargs.get("axis", const(0)))
    if not isinstance(axis, int) or kwargs.keys() - {"axis"}:
        return lw.fail(node, f"`{fn.__name__}` of a growing list with these settings is not supported")
    if n == 0 and fn not in (np.stack, np.hstack, np.vstack):
        return lw.fail(node, f"`{fn.__name__}` of a list of numbers is not supported", "Use np.array.")
    if n == 0:
        whole = V(lw.atom(apply(lw, np.array, (items.expr,), {}, node).expr, "gathered", lw.span(node)))
        column = [Slice(None, None, None), Const(None, Static(None))]
        return lower_index(lw, whole, column, node) if fn is np.vstack else whole
    stacked_at = {np.stack: axis, np.vstack: 0, np.column_stack: 1, np.dstack: 2}.get(fn)
    if fn is np.stack or (stacked_at is not None and n == max(stacked_at, 1)):
        whole = V(lw.atom(apply(lw, np.stack, (items.expr,), {}, node).expr, "gathered", lw.span(node)))
        if stacked_at in (0, -n - 1):
            return whole
        return call_function(lw, np.moveaxis, [whole, const(0), const(stacked_at)], {}, node)
    along = {np.hstack: min(n - 1, 1), np.column_stack: 1, np.dstack: 2}.get(fn, axis)
    if not -n <= along < n:
        return lw.fail(node, f"`{fn.__name__}` of a growing list along axis {along} is not supported",
                       f"Append items of {along + 1} axes.")  # fmt: skip
    return apply(lw, np.concatenate, (items.expr,), {"axis": along % n} if along % n else {}, node)


def array_of(lw: Lowerer, value: Value, node: Any) -> Value:
    """A display, or a list that the function has built, is made the array that NumPy makes of it."""
    from s2sad.frontend.calls import call_function

    if isinstance(value, StructV) and value.kind in ("list", "tuple"):
        return call_function(lw, np.array, [value], {}, node)
    if isinstance(value, RangeV):
        return call_function(lw, np.arange, [V(value.start), V(value.stop), V(value.step)], {}, node)
    return gathered(lw, value, node)


def is_built(value: Value) -> bool:
    """Say whether a value is a list that the function has built, of a length that a run tells."""
    return isinstance(value, V) and isinstance(value.expr.type, ListOf)


def of_lists(lw: Lowerer, value: StructV, node: Any) -> Value:
    """Return what `np.array([first, second])` takes where some of its rows are lists that the function has built.

    Such rows are made arrays, and stacked with the others; so are displays beside arrays.
    """
    from s2sad.frontend.calls import call_function

    items = [of_lists(lw, item, node) if isinstance(item, StructV) else item for item in value.items]
    beside = any(isinstance(item, V) and isinstance(item.expr.type, Array) and item.expr.type.dims for item in items)
    rows = [
        gathered(lw, item, node) if is_built(item)
        else array_of(lw, item, node) if beside and isinstance(item, StructV)
        else item for item in items
    ]  # fmt: skip
    if all(one is other for one, other in zip(rows, value.items, strict=True)):
        return value
    stacked = StructV("list", value.keys, tuple(array_of(lw, row, node) for row in rows))
    return call_function(lw, np.stack, [stacked], {}, node)


def row_of_numbers(lw: Lowerer, value: Value, node: Any) -> StructV | None:
    """`tuple(state)` of an array of a few numbers, of which the length is known: their values now."""
    dims = value.expr.type.dims if isinstance(value, V) and isinstance(value.expr.type, Array) else ()
    count = dims[0] if len(dims) == 1 else None
    if not isinstance(value, V) or not isinstance(count, int) or count > _A_FEW:
        return None
    row = V(lw.atom(value.expr, "row", lw.span(node)))
    places = [getattr(lower_index(lw, row, [literal(place)], node), "expr", None) for place in range(count)]
    items = tuple(V(lw.atom(place, "item", lw.span(node))) for place in places if place is not None)
    return StructV("tuple", tuple(range(count)), items)


def operands(lw: Lowerer, left: Value, right: Value, node: Any) -> tuple[Value, Value]:
    """A display beside an array is an array: `x + [1, 2]`, `m @ [u, v]`."""
    if _makes_arrays(left):
        return left, array_of(lw, right, node)
    return (array_of(lw, left, node), right) if _makes_arrays(right) else (left, right)


def _makes_arrays(value: Value) -> bool:
    """Say whether an operator of NumPy's, not of Python's lists, meets this operand."""
    if not isinstance(value, V):
        return False
    kind = value.expr.type
    return isinstance(kind, Array) or (isinstance(kind, Scalar) and not kind.weak and is_inexact(kind))


def displayed(lw: Lowerer, fn: Any, value: Value, node: Any, name: str = "") -> Value:
    """A display of numbers passed where NumPy wants an array is made one; shapes and axes are left alone."""
    from s2sad.frontend.calls import call_function

    if not (isinstance(value, StructV) and value.kind in ("list", "tuple")) or fn in _TAKES_DISPLAYS:
        return value
    if value.kind == "list" and fn in _TAKES_INDICES:
        return call_function(lw, np.array, [value], {}, node)
    if not (getattr(fn, "__module__", None) or "numpy").startswith("numpy"):
        return value
    if not (is_inexact(type_of(value)) or name in _OPERANDS or isinstance(fn, np.ufunc)):
        return value
    return call_function(lw, np.array, [value], {}, node)
