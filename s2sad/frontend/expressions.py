"""Expressions of Python to typed expressions of the IR."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import gast
import numpy as np

from s2sad.frontend.infer import broadcast_dims, fresh_dim
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import BINARY, BOOL, COMPARE, UNARY, apply
from s2sad.frontend.values import (
    FuncV,
    MethodV,
    Poison,
    SliceV,
    StaticV,
    StructV,
    V,
    Value,
    ZeroV,
    const,
    literal,
    pack,
)
from s2sad.ir import ops
from s2sad.ir.nodes import Append, Apply, Assign, Const, Expr, If, Index, Slice, Var
from s2sad.ir.types import Array, Dim, ListOf, Scalar, Static, Sym, not_one

_REFUSED = {
    "Yield": ("`yield` cannot be differentiated",
              "A generator has no single result to differentiate.\n"
              "Return a list or an array, or give the function a rule with @custom_vjp."),
    "YieldFrom": ("`yield from` cannot be differentiated",
                  "A generator has no single result to differentiate.\n"
                  "Return a list or an array, or give the function a rule with @custom_vjp."),
    "Await": ("`await` cannot be differentiated", "Call the function outside."),
    "Set": ("a set cannot be differentiated", "Sets have no order; use a list or an array."),
    "SetComp": ("a set cannot be differentiated", "Sets have no order; use a list or an array."),
}  # fmt: skip


def lower_expr(lw: Lowerer, node: Any) -> Value:
    """Lower one expression to a value."""
    name = type(node).__name__
    if name in _REFUSED:
        what, why = _REFUSED[name]
        lw.fail(node, what, why)
    method = _EXPRESSIONS.get(name)
    if method is None:
        return lw.fail(node, f"`{name}` is not supported in a differentiated function")
    return method(lw, node)


def as_expr(lw: Lowerer, value: Value, node: Any) -> Expr:
    """Return the run-time expression of a value, or a located error if it has none."""
    match value:
        case V(expr):
            return expr
        case StructV(_, _, items):
            return pack("tuple" if value.kind == "tuple" else "list", [as_expr(lw, i, node) for i in items])
        case StaticV(obj) if isinstance(obj, bool | int | float | complex | np.generic):
            return literal(obj)
        case StaticV(obj) if isinstance(obj, str) or obj is None:
            return Const(obj, Static(obj))
        case Poison(reason):
            return lw.fail(node, "this name has no single meaning here", reason + ".")
        case _:
            return lw.fail(node, "a number or an array is needed here")


def lower_test(lw: Lowerer, node: Any) -> Expr | bool:
    """Lower a condition: True or False when it is known, else an expression."""
    value = lower_expr(lw, node)
    match value:
        case StaticV(obj):
            return bool(obj)
        case StructV(_, keys, _):
            return bool(keys)
        case V(expr):
            known = getattr(expr.type, "value", None)
            if isinstance(expr.type, Scalar) and isinstance(known, bool | int):
                return bool(known)
            if isinstance(expr.type, ListOf):
                size = Apply(ops.length, (expr,), Scalar("int64", True))
                return Apply(operator.gt, (size, literal(0)), BOOL)
            if isinstance(expr.type, Scalar) and expr.type.dtype != "bool":
                return Apply(operator.ne, (expr, literal(0)), BOOL)
            return expr
        case FuncV():
            return True
        case _:
            return as_expr(lw, value, node)  # type: ignore[return-value]


def _constant(lw: Lowerer, node: Any) -> Value:
    value = node.value
    if value is None or isinstance(value, str | bytes) or value is Ellipsis:
        return StaticV(value)
    return const(value)


def _name(lw: Lowerer, node: Any) -> Value:
    if node.id in lw.env:
        value = lw.env[node.id]
        if isinstance(value, Poison):
            lw.fail(node, f"`{node.id}` has no single meaning here", value.reason + ".")
        return value
    if not lw.source.knows(node.id):
        return lw.fail(node, f"the name `{node.id}` is not defined here",
                       "It is neither a local assigned on this path, nor a global, nor a builtin.")  # fmt: skip
    return outside_value(lw, lw.source.resolve(node.id), node.id, node)


def outside_value(lw: Lowerer, found: Any, name: str, node: Any, read: Callable[[], Any] | None = None) -> Value:
    """Return what a global or closure name means: a literal, a captured array, or an object.

    `read` gives it anew at each call, if it is no name but held by an object.
    """
    from s2sad.frontend.captures import capture

    if isinstance(found, bool):
        return StaticV(found)
    if isinstance(found, int | float | complex | np.generic):
        return V(literal(found))
    if isinstance(found, np.ndarray | list | tuple | dict) and not _is_plain(found):
        return capture(lw, found, name, read)
    if isinstance(found, tuple | list):
        return StructV(type(found).__name__ if not hasattr(found, "_fields") else type(found),
                       getattr(found, "_fields", tuple(range(len(found)))),
                       tuple(outside_value(lw, item, name, node) for item in found))  # fmt: skip
    if isinstance(found, dict):
        return StructV("dict", tuple(found), tuple(outside_value(lw, v, name, node) for v in found.values()))
    return StaticV(found)


def _is_plain(found: Any) -> bool:
    """Say whether a container holds no array at any depth."""
    if isinstance(found, np.ndarray):
        return False
    if isinstance(found, tuple | list):
        return all(_is_plain(item) for item in found)
    if isinstance(found, dict):
        return all(_is_plain(item) for item in found.values())
    return True


def _bin_op(lw: Lowerer, node: Any) -> Value:
    left, right = lower_expr(lw, node.left), lower_expr(lw, node.right)
    fn = BINARY[type(node.op).__name__]
    if isinstance(left, ZeroV) or isinstance(right, ZeroV):
        return _with_zero(lw, fn, left, right, node)
    match left, right:
        case StructV(kind, _, xs), StructV(other, _, ys) if fn is operator.add and kind == other:
            return StructV(kind, tuple(range(len(xs) + len(ys))), (*xs, *ys))
        case StructV("list" | "tuple", _, _), V() if fn is operator.mul:
            return _repeat(lw, left, as_expr(lw, right, node), node)
        case V(), StructV("list" | "tuple", _, _) if fn is operator.mul:
            return _repeat(lw, right, as_expr(lw, left, node), node)
        case StaticV(x), StaticV(y) if not isinstance(x, type):
            return StaticV(fn(x, y))
        case StaticV(x), _ if isinstance(x, str) and fn is operator.mod:
            return StaticV(x)
        case _:
            args = (as_expr(lw, left, node.left), as_expr(lw, right, node.right))
            return apply(lw, fn, args, {}, node)


def _with_zero(lw: Lowerer, fn: Any, left: Value, right: Value, node: Any) -> Value:
    """A sum keeps its other term, anything else that is linear in a zero is zero."""
    if fn is operator.add:
        return right if isinstance(left, ZeroV) else left
    if fn is operator.sub:
        if isinstance(right, ZeroV):
            return left
        return apply(lw, operator.neg, (as_expr(lw, right, node),), {}, node)
    return ZeroV()


def _repeat(lw: Lowerer, value: Value, count: Expr, node: Any) -> Value:
    """`[0.0] * n`: a list of known structure when n is known and small, else a filled list."""
    assert isinstance(value, StructV)
    known = getattr(count.type, "value", None)
    if isinstance(known, int) and value.kind == "tuple":
        items = value.items * known
        return StructV(value.kind, tuple(range(len(items))), items)
    if len(value.items) != 1 or value.kind != "list":
        lw.fail(node, "only a list of one item can be repeated an unknown number of times")
    from s2sad.frontend.iteration import emit_loop

    item = as_expr(lw, value.items[0], node)
    target = Var(lw.fresh("items"), ListOf(item.type))
    lw.emit(Assign(target, Apply(ops.new_list, (), target.type), lw.span(node)))
    emit_loop(lw, count, "i", lambda _: lw.emit(Append(target, item, lw.span(node))), node)
    return V(target)


def _unary_op(lw: Lowerer, node: Any) -> Value:
    value = lower_expr(lw, node.operand)
    if isinstance(value, ZeroV):
        return value
    fn = UNARY[type(node.op).__name__]
    if fn is operator.not_:
        test = lower_test(lw, node.operand)
        return StaticV(not test) if isinstance(test, bool) else V(Apply(fn, (test,), BOOL))
    if isinstance(value, V) and isinstance(value.expr, Const) and fn is operator.neg:
        return V(literal(-value.expr.value))
    return apply(lw, fn, (as_expr(lw, value, node.operand),), {}, node)


def _bool_op(lw: Lowerer, node: Any) -> Value:
    is_and = isinstance(node.op, gast.And)
    parts: list[Expr] = []
    for position, part in enumerate(node.values):
        outer, lw.block = lw.block, []
        test = lower_test(lw, part)
        hoisted, lw.block = lw.block, outer
        if isinstance(test, bool):
            if test != is_and:
                if not parts:
                    return StaticV(test)
                parts.append(literal(test))
                break
            continue
        if hoisted and position:
            return _guarded(lw, node, is_and, position, parts)
        lw.block.extend(hoisted)
        parts.append(test)
    if not parts:
        return StaticV(is_and)
    if len(parts) == 1:
        return V(parts[0])
    return V(Apply(ops.both if is_and else ops.either, tuple(parts), BOOL))


def _guarded(lw: Lowerer, node: Any, is_and: bool, position: int, parts: list[Expr]) -> Value:
    """A later operand needs statements of its own, which must run only if it is reached."""
    from s2sad.frontend.operators import negate

    name = Var(lw.fresh("holds"), BOOL)
    so_far = parts[0] if len(parts) == 1 else Apply(ops.both if is_and else ops.either, tuple(parts), BOOL)
    lw.emit(Assign(name, so_far, lw.span(node)))
    rest = gast.BoolOp(op=node.op, values=node.values[position:])
    gast.copy_location(rest, node)
    outer, lw.block = lw.block, []
    value = lower_test(lw, rest if len(rest.values) > 1 else rest.values[0])
    lw.emit(Assign(name, literal(value) if isinstance(value, bool) else value, lw.span(node)))
    inner, lw.block = lw.block, outer
    lw.emit(If(name if is_and else negate(name), tuple(inner), (), lw.span(node)))
    return V(name)


def _compare(lw: Lowerer, node: Any) -> Value:
    left = lower_expr(lw, node.left)
    parts: list[Expr] = []
    for op, comparator in zip(node.ops, node.comparators, strict=True):
        right = lower_expr(lw, comparator)
        result = _compare_two(lw, type(op).__name__, left, right, node)
        if isinstance(result, bool):
            if not result:
                return StaticV(False)
        else:
            parts.append(result)
        left = right
    if not parts:
        return StaticV(True)
    return V(parts[0] if len(parts) == 1 else Apply(ops.both, tuple(parts), BOOL))


def _compare_two(lw: Lowerer, op: str, left: Value, right: Value, node: Any) -> Expr | bool:
    if op in ("In", "NotIn"):
        return _membership(lw, op, left, right, node)
    fn = COMPARE[op]
    if op in ("Is", "IsNot"):
        same = isinstance(left, StaticV) and isinstance(right, StaticV) and left.value is right.value
        if isinstance(left, StaticV | FuncV) or isinstance(right, StaticV | FuncV):
            return same if op == "Is" else not same
        lw.fail(node, "`is` between numbers or arrays is not supported", "Compare values with `==`.")
    if isinstance(left, StaticV) and isinstance(right, StaticV):
        return bool(fn(left.value, right.value))
    if isinstance(left, StaticV) ^ isinstance(right, StaticV) and op in ("Eq", "NotEq"):
        static = left if isinstance(left, StaticV) else right
        assert isinstance(static, StaticV)
        if static.value is None or isinstance(static.value, str):
            return op == "NotEq"
    if isinstance(left, StructV) and isinstance(right, StructV) and op in ("Eq", "NotEq"):
        return _compare_structs(lw, op, left, right, node)
    numbers = [_number_of(value) for value in (left, right)]
    if None not in numbers:
        return bool(fn(*numbers))
    result = apply(lw, fn, (as_expr(lw, left, node), as_expr(lw, right, node)), {}, node).expr
    known = getattr(result.type, "value", None)
    return known if isinstance(known, bool) else result


def _number_of(value: Value) -> Any:
    """Return the number that a value is at transform time, or None."""
    if isinstance(value, StaticV):
        return value.value if isinstance(value.value, int | float) else None
    return value.expr.value if isinstance(value, V) and isinstance(value.expr, Const) else None


def _compare_structs(lw: Lowerer, op: str, left: StructV, right: StructV, node: Any) -> Expr | bool:
    if left.keys != right.keys:
        return op == "NotEq"
    parts = [_compare_two(lw, "Eq", a, b, node) for a, b in zip(left.items, right.items, strict=True)]
    if any(part is False for part in parts):
        return op == "NotEq"
    open_parts = [part for part in parts if not isinstance(part, bool)]
    if not open_parts:
        return op == "Eq"
    equal = open_parts[0] if len(open_parts) == 1 else Apply(ops.both, tuple(open_parts), BOOL)
    return equal if op == "Eq" else Apply(operator.not_, (equal,), BOOL)


def _membership(lw: Lowerer, op: str, left: Value, right: Value, node: Any) -> Expr | bool:
    if isinstance(right, StructV) and right.kind == "dict":
        return (getattr(left, "value", None) in right.keys) == (op == "In")
    if isinstance(right, StaticV) and isinstance(left, StaticV):
        return (left.value in right.value) == (op == "In")
    if isinstance(right, StructV):
        parts = [_compare_two(lw, "Eq", left, item, node) for item in right.items]
        if any(part is True for part in parts):
            return op == "In"
        exprs = [part for part in parts if not isinstance(part, bool)]
        if not exprs:
            return op != "In"
        found = exprs[0] if len(exprs) == 1 else Apply(ops.either, tuple(exprs), BOOL)
        return found if op == "In" else Apply(operator.not_, (found,), BOOL)
    return lw.fail(node, "`in` is only supported for containers of known structure")


def _if_exp(lw: Lowerer, node: Any) -> Value:
    test = lower_test(lw, node.test)
    if isinstance(test, bool):
        return lower_expr(lw, node.body if test else node.orelse)
    sides: list[tuple[list[Any], Value]] = []
    for part in (node.body, node.orelse):
        outer, lw.block = lw.block, []
        value = lower_expr(lw, part)
        sides.append((lw.block, value))
        lw.block = outer
    (then, a), (other, b) = sides
    simple = not then and not other and isinstance(a, V) and isinstance(b, V)
    numbers = all(isinstance(x, V) and isinstance(x.expr.type, Scalar) for x in (a, b))
    if simple and numbers and isinstance(a, V) and isinstance(b, V):
        return apply(lw, ops.ifexp, (test, a.expr, b.expr), {}, node)
    return _if_statement(lw, node, test, then, a, other, b)


def _if_statement(lw: Lowerer, node: Any, test: Expr, then: list[Any], a: Value, other: list[Any], b: Value) -> Value:
    """A conditional expression over arrays or with calls inside becomes a statement."""
    from s2sad.frontend.joins import joined_env

    span = lw.span(node)
    name = lw.fresh("chosen")
    outer = lw.block
    ends: list[dict[str, Value]] = []
    for block, value in ((then, a), (other, b)):
        lw.block = block
        if isinstance(value, StaticV) and isinstance(value.value, int | float):
            value = const(value.value)
        ends.append({name: lw.store_value(name, value, span)})
    lw.block = outer
    lw.emit(If(test, tuple(then), tuple(other), span))
    result = joined_env(lw, ends, {})[name]
    if isinstance(result, Poison):
        lw.fail(node, "the two sides of this conditional differ in kind", result.reason + ".")
    return result


def _tuple(lw: Lowerer, node: Any) -> Value:
    items: list[Value] = []
    for part in node.elts:
        if isinstance(part, gast.Starred):
            inner = lower_expr(lw, part.value)
            if not isinstance(inner, StructV):
                lw.fail(part, "only a tuple or list of known length can be starred")
            assert isinstance(inner, StructV)
            items.extend(inner.items)
        else:
            items.append(lower_expr(lw, part))
    kind = "tuple" if isinstance(node, gast.Tuple) else "list"
    return StructV(kind, tuple(range(len(items))), tuple(items))


def _dict(lw: Lowerer, node: Any) -> Value:
    keys: list[Any] = []
    for key in node.keys:
        if key is None:
            lw.fail(node, "`**` inside a dict display is not supported")
        value = lower_expr(lw, key)
        known = value.value if isinstance(value, StaticV) else getattr(getattr(value, "expr", None), "value", None)
        if known is None:
            lw.fail(key, "dict keys must be constants")
        keys.append(known)
    return StructV("dict", tuple(keys), tuple(lower_expr(lw, v) for v in node.values))


def _named_expr(lw: Lowerer, node: Any) -> Value:
    value = lower_expr(lw, node.value)
    lw.bind(node.target.id, value, lw.span(node))
    return lw.env[node.target.id]


def _lambda(lw: Lowerer, node: Any) -> Value:
    return FuncV(node, lw.source, lw.env, "lambda_")


def _joined_str(lw: Lowerer, node: Any) -> Value:
    """An f-string matters only to `print` and to messages: its text is not a number."""
    parts: list[Value] = []
    for part in node.values:
        if isinstance(part, gast.FormattedValue):
            parts.append(lower_expr(lw, part.value))
        else:
            parts.append(StaticV(part.value))
    return StructV("fstring", tuple(range(len(parts))), tuple(parts))


def _attribute(lw: Lowerer, node: Any) -> Value:
    from s2sad.frontend.methods import attribute

    return attribute(lw, lower_expr(lw, node.value), node.attr, node)


def _call(lw: Lowerer, node: Any) -> Value:
    from s2sad.frontend.calls import lower_call

    return lower_call(lw, node)


def _subscript(lw: Lowerer, node: Any) -> Value:
    from s2sad.frontend.grids import is_maker, make

    base = lower_expr(lw, node.value)
    match base:
        case ZeroV():
            return base
        case StructV():
            return _struct_item(lw, base, node)
        case StaticV(obj) if is_maker(obj):
            return make(lw, obj, node)
        case StaticV(obj):
            key = lower_expr(lw, node.slice)
            known = key.value if isinstance(key, StaticV) else getattr(getattr(key, "expr", None), "value", None)
            return outside_value(lw, obj[known], "item", node, lambda: obj[known])
        case V(expr) if isinstance(expr.type, Array | ListOf | Scalar):
            return lower_index(lw, base, lower_index_items(lw, node.slice, node), node)
        case _:
            return lw.fail(node, "this value cannot be indexed")


def _struct_item(lw: Lowerer, base: StructV, node: Any) -> Value:
    key = lower_expr(lw, node.slice)
    match key:
        case StaticV(known) if known in base.keys:
            return base.items[base.keys.index(known)]
        case SliceV(lower, upper, step):
            parts = (lower, upper, step)
            bounds = [None if p is None else getattr(as_expr(lw, p, node).type, "value", None) for p in parts]
            if any(b is None and p is not None for b, p in zip(bounds, (lower, upper, step), strict=True)):
                lw.fail(node, "the bounds of a slice of a tuple or list must be known")
            items = base.items[slice(*bounds)]
            return StructV(base.kind if isinstance(base.kind, str) else "tuple", tuple(range(len(items))), items)
        case V(expr):
            known = getattr(expr.type, "value", None)
            if isinstance(known, int) and base.kind != "dict":
                if not -len(base.items) <= known < len(base.items):
                    lw.fail(node, f"index {known} is outside this {base.kind} of {len(base.items)}")
                return base.items[known]
            if isinstance(known, int) and known in base.keys:
                return base.items[base.keys.index(known)]
            return _dynamic_item(lw, base, expr, node)
        case _:
            return lw.fail(node, f"the key is not in this {base.kind}")


def _dynamic_item(lw: Lowerer, base: StructV, index: Expr, node: Any) -> Value:
    """`items[i]` with i known only at run time: the items become an array, or the loop is unrolled."""
    from s2sad.frontend.iteration import UnrollNeeded

    exprs = [item.expr for item in base.items if isinstance(item, V)]
    if len(exprs) == len(base.items) and exprs and all(isinstance(e.type, Scalar) for e in exprs):
        array = apply(lw, np.array, (pack("list", exprs),), {}, node)
        name = lw.atom(array.expr, "items", lw.span(node))
        return lower_index(lw, V(name), [index], node)
    if any(scope.loop is not None for scope in lw.loops):
        raise UnrollNeeded(node)
    return lw.fail(node, "the index into this container is not known",
                   "Loop over its items, or stack them into one array.")  # fmt: skip


def lower_index_items(lw: Lowerer, node: Any, at: Any) -> list[Any]:
    """Lower what stands between the brackets to index items."""
    parts = node.elts if isinstance(node, gast.Tuple) else [node]
    items: list[Any] = []
    for part in parts:
        value = lower_expr(lw, part)
        if isinstance(value, StructV) and value.kind == "tuple" and not isinstance(node, gast.Tuple):
            items.extend(_index_item(lw, v, part) for v in value.items)
        else:
            items.append(_index_item(lw, value, part))
    return items


def _index_item(lw: Lowerer, value: Value, node: Any) -> Any:
    match value:
        case SliceV(lower, upper, step):
            return Slice(*(None if p is None else as_expr(lw, p, node) for p in (lower, upper, step)))
        case StaticV(obj) if obj is Ellipsis:
            return Ellipsis
        case StaticV(obj) if obj is None:
            return Const(None, Static(None))
        case StaticV(obj) if isinstance(obj, slice):
            return Slice(*(None if p is None else literal(p) for p in (obj.start, obj.stop, obj.step)))
        case StructV("list", _, items):
            display = pack("list", [as_expr(lw, item, node) for item in items])
            return apply(lw, np.array, (display,), {}, node).expr
        case _:
            return as_expr(lw, value, node)


def _slice(lw: Lowerer, node: Any) -> Value:
    parts = [None if p is None else lower_expr(lw, p) for p in (node.lower, node.upper, node.step)]
    parts = [None if isinstance(p, StaticV) and p.value is None else p for p in parts]
    return SliceV(*parts)


def lower_index(lw: Lowerer, base: V, index: list[Any], node: Any) -> Value:
    """Return `base[index]` with its type: what NumPy's indexing rules make of the dims."""
    kind = base.expr.type
    if isinstance(kind, ListOf):
        if kind.item is None:
            lw.fail(node, "this list is still empty here")
        assert kind.item is not None
        if isinstance(index[0], Slice):
            lw.fail(node, "a slice of a growing list is not supported", "Use an array.")
        return V(Index(base.expr, (index[0],), kind.item))
    if isinstance(kind, Scalar):
        if all(item is Ellipsis for item in index):
            return base
        return lw.fail(node, "a scalar cannot be indexed")
    assert isinstance(kind, Array)
    index = expand_index(lw, kind, index, node)
    dims, advanced = index_dims(lw, kind, index, node)
    if not dims and not advanced and all(not isinstance(i, Slice) for i in index):
        return V(Index(base.expr, tuple(index), Scalar(kind.dtype)))
    layout = _index_layout(kind, index, advanced)
    return V(Index(base.expr, tuple(index), Array(kind.dtype, dims, layout)))


def _index_layout(kind: Array, index: list[Any], advanced: bool) -> str:
    if advanced:
        return "C"
    whole = Slice(None, None, None)
    tail = index
    while tail and not isinstance(tail[0], Slice) and not _is_new_axis(tail[0]):
        tail = tail[1:]
    rest_whole = all(i == whole for i in tail[1:])
    if kind.layout == "C" and (not tail or (rest_whole and (tail[0] == whole or _unit_step(tail[0])))):
        return "C"
    return "A"


def _unit_step(item: Any) -> bool:
    return isinstance(item, Slice) and (item.step is None or getattr(item.step.type, "value", None) == 1)


def _is_new_axis(item: Any) -> bool:
    return isinstance(item, Const) and item.value is None


def _consumed(item: Any) -> int:
    if item is Ellipsis or _is_new_axis(item):
        return 0
    if not isinstance(item, Slice) and isinstance(item.type, Array) and item.type.dtype == "bool":
        return len(item.type.dims)
    return 1


def expand_index(lw: Lowerer, kind: Array, index: list[Any], node: Any) -> list[Any]:
    """Replace `...` by full slices; trailing axes stay unwritten, as the user left them."""
    used = sum(_consumed(item) for item in index)
    if used > len(kind.dims):
        lw.fail(node, f"{used} indices for a {len(kind.dims)}-dimensional array")
    result: list[Any] = []
    for item in index:
        if item is Ellipsis:
            result.extend([Slice(None, None, None)] * (len(kind.dims) - used))
        else:
            result.append(item)
    return result


def index_dims(lw: Lowerer, kind: Array, index: list[Any], node: Any) -> tuple[tuple[Dim, ...], bool]:
    """Return the dims of the result, and whether the indexing is advanced (a copy)."""
    dims: list[Dim] = []
    arrays: list[tuple[Dim, ...]] = []
    at: int | None = None
    split, last, axis = False, False, 0
    has_array = any(not isinstance(i, Slice) and isinstance(i.type, Array) for i in index)
    for item in index:
        if isinstance(item, Slice):
            dims.append(slice_dim(kind.dims[axis], item))
            axis, last = axis + 1, False
        elif _is_new_axis(item):
            dims.append(1)
            last = False
        elif isinstance(item.type, Array) or has_array:
            at, split = (len(dims) if at is None else at), split or (at is not None and not last)
            arrays.append(_array_dims(item))
            axis, last = axis + _consumed(item), True
        elif isinstance(item.type, Scalar) and ("int" in item.type.dtype):
            axis, last = axis + 1, False
        else:
            lw.fail(node, "an index must be an integer, a slice or an array")
    dims.extend(kind.dims[axis:])
    if not arrays:
        return tuple(dims), False
    where = 0 if split else (at or 0)
    return (*dims[:where], *broadcast_dims(arrays), *dims[where:]), True


def _array_dims(item: Any) -> tuple[Dim, ...]:
    if isinstance(item.type, Array) and item.type.dtype == "bool":
        return (fresh_dim("mask"),)
    return item.type.dims if isinstance(item.type, Array) else ()


def slice_dim(dim: Dim, item: Slice) -> Dim:
    """Return the length of `dim` under a slice: exact for constants, symbolic for `a:-b`."""
    bounds = [None if p is None else getattr(p.type, "value", None) for p in (item.lower, item.upper, item.step)]
    unknown = [b is None and p is not None for b, p in zip(bounds, (item.lower, item.upper, item.step), strict=True)]
    if any(unknown):
        return fresh_dim()
    lower, upper, step = bounds
    if isinstance(dim, int) and all(b is None or isinstance(b, int) for b in bounds):
        return len(range(dim)[slice(lower, upper, step)])
    if isinstance(upper, Sym) and isinstance(dim, Sym) and step in (None, 1):
        start = lower or 0
        if upper.name == dim.name and upper.minus >= dim.minus and isinstance(start, int) and start >= 0:
            minus = upper.minus + start
            return Sym(dim.name, minus, dim.nonone and minus == dim.minus)
        if not lower and lower is None:
            return fresh_dim()
        return fresh_dim()
    if not isinstance(dim, Sym) or not all(b is None or isinstance(b, int) for b in bounds):
        return fresh_dim()
    lower, upper = cast("int | None", lower), cast("int | None", upper)
    cut = (lower or 0) - (upper or 0)
    if step in (None, 1) and (lower or 0) >= 0 and (upper is None or upper < 0):
        return dim if cut == 0 else Sym(dim.name, dim.minus + cut)
    if step == -1 and lower is None and upper is None:
        return dim
    text = f"{dim.name}-{dim.minus}[{lower}:{upper}:{step}]"
    nonone = dim.nonone and not lower and upper is not None and upper > 1 and step in (None, 1)
    return Sym(text, 0, nonone)


def same_dims(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> bool:
    """Say whether two shapes are surely equal."""
    return len(a) == len(b) and all(x == y or (not_one(x) and not_one(y)) for x, y in zip(a, b, strict=True))


def _comprehension(lw: Lowerer, node: Any) -> Value:
    from s2sad.frontend.iteration import lower_comprehension

    return lower_comprehension(lw, node)


_EXPRESSIONS: dict[str, Any] = {
    "Constant": _constant, "Name": _name, "BinOp": _bin_op, "UnaryOp": _unary_op,
    "BoolOp": _bool_op, "Compare": _compare, "IfExp": _if_exp, "Tuple": _tuple, "List": _tuple,
    "Dict": _dict, "NamedExpr": _named_expr, "Lambda": _lambda, "JoinedStr": _joined_str,
    "Attribute": _attribute, "Call": _call, "Subscript": _subscript, "Slice": _slice,
    "ListComp": _comprehension, "GeneratorExp": _comprehension, "DictComp": _comprehension,
}  # fmt: skip

__all__ = ["MethodV", "as_expr", "lower_expr", "lower_index", "lower_index_items", "lower_test"]
