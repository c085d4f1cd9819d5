"""Expressions of Python to typed expressions of the IR."""

from __future__ import annotations

import enum
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import gast
import numpy as np

from s2sad.errors import UnsupportedSyntaxError
from s2sad.frontend import (
    choices,
    fields,
    formatted,
    growing,
    keyed,
    optional,
    protocols,
    records,
    rows,
    sparse,
    texts,
    widening,
)
from s2sad.frontend.containers import OUTSIDE, identified, is_mutable
from s2sad.frontend.displays import operands
from s2sad.frontend.environments import Environment, see, seen
from s2sad.frontend.guarded import lower_guarded, lower_held, lower_raises
from s2sad.frontend.indexing import is_table_row, lower_index, lower_index_items, lower_slice, lower_subscript
from s2sad.frontend.infer import OPERATORS
from s2sad.frontend.joins import joined_env, same_env
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import BINARY, BOOL, UNARY, apply, build
from s2sad.frontend.order import Order, acts, in_order
from s2sad.frontend.surely import NoName, SurelyRaises, raise_there, refuse_none
from s2sad.frontend.values import (
    FuncV,
    IterV,
    MethodV,
    Poison,
    RowsV,
    StaticV,
    StructV,
    V,
    Value,
    ZeroV,
    const,
    join_types,
    leaves_of,
    literal,
    of_slices,
    pack,
)
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Const, Expr, If, Raise, Var
from s2sad.ir.types import Array, ListOf, Scalar, Static


class ArrayAfterNumber(UnsupportedSyntaxError):
    """A name is a number on one path and an array on the other."""


NO_GENERATORS = (
    "A generator is written into what uses it up at once, `for v in steps(n):`, `list(steps(n))`, `sum(steps(n))`,\n"
    "if it is called by its name, yields outside of `try`, and does not call itself.\n"
    "Else append to a list, and return that."
)
_REFUSED = {
    "Yield": ("`yield` cannot be differentiated", NO_GENERATORS),
    "YieldFrom": ("`yield from` cannot be differentiated", NO_GENERATORS),
    "Await": ("`await` cannot be differentiated", "Call the function outside."),
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
        case StructV(kind=optional.KIND):
            return lw.fail(node, "this may be None here", "Name it, and ask about it: `if t is not None:`.")
        case StructV(_, _, items):
            return pack("tuple" if value.kind == "tuple" else "list", [as_expr(lw, i, node) for i in items])
        case StaticV(obj) if isinstance(obj, bool | int | float | complex | np.generic):
            return literal(obj)
        case StaticV(obj) if isinstance(obj, str) or obj is None:
            return Const(obj, Static(obj))
        case Poison(reason):
            return lw.fail(node, "this name has no single meaning here", reason + ".")
        case FuncV():
            return lw.fail(node, "a number or an array is needed here, not a function",
                           "Functions are kept in displays such as `(f, g)`; a list that grows in a loop holds numbers "
                           "and arrays.\nCall the function where it is made, and append what it returns.")  # fmt: skip
        case _:
            return lw.fail(node, "a number or an array is needed here", "Convert it first, with `float` or `np.array`.")


def whole_number(lw: Lowerer, expr: Expr, why: str, node: Any) -> Expr:
    """Return a number that Python takes for an index, or a located error."""
    kind = expr.type
    if isinstance(kind, Array) or (isinstance(kind, Scalar) and np.dtype(kind.dtype).kind not in "iub"):
        what = f"an array of rank {len(kind.dims)}" if isinstance(kind, Array) else f"a {kind.dtype}"
        lw.fail(node, f"{why}, and this is {what}", "Write `int(...)` around the number that is meant.")
    return expr


def lower_test(lw: Lowerer, node: Any) -> Expr | bool:
    """Lower a condition: True or False when it is known, else an expression."""
    held = lw.env.get(node.id) if isinstance(node, gast.Name) else None
    if held is None:
        held = optional.optional_field(lw, node)
    if isinstance(held, StructV) and held.kind == optional.KIND:
        return optional.truth(held)
    return truth_of(lw, _all_or_any(lw, node) if isinstance(node, gast.BoolOp) else lower_expr(lw, node), node)


def truth_of(lw: Lowerer, value: Value, node: Any) -> Expr | bool:
    """Return whether Python takes a value for true: an array where it has one element."""
    said = protocols.truth(lw, value, node)
    value = value if said is None else said
    if is_table_row(lw, value):
        part = value.parts[0] if isinstance(value, IterV) else value
        return build(operator.gt, build(ops.size, as_expr(lw, part, node)), literal(0))
    match value:
        case StaticV(obj):
            return bool(obj)
        case StructV(kind=optional.KIND):
            return optional.truth(value)
        case StructV(texts.Choice(options)):
            if "" in options:
                lw.fail(node, "whether this text is empty is not known here", 'Write `text != ""`.')
            return True
        case StructV(_, keys, _):
            return bool(keys)
        case V(expr):
            known = getattr(expr.type, "value", None)
            if isinstance(expr.type, Scalar) and isinstance(known, bool | int):
                return bool(known)
            if isinstance(expr.type, ListOf):
                size = Apply(ops.length, (expr,), Scalar("int64", True))
                return Apply(operator.gt, (size, literal(0)), BOOL)
            if isinstance(expr.type, Array) and expr.type.dims:
                expr = _only_element(lw, expr, node)
            if isinstance(expr.type, Scalar) and expr.type.dtype != "bool":
                return Apply(operator.ne, (expr, literal(0)), BOOL)
            return expr
        case FuncV():
            return True
        case RowsV():
            return Apply(operator.gt, (rows.length(value), literal(0)), BOOL)
        case _:
            return as_expr(lw, value, node)  # type: ignore[return-value]


def _only_element(lw: Lowerer, array: Expr, node: Any) -> Expr:
    """Return the element of an array of one; of any other, the error that Python raises when it runs."""
    assert isinstance(array.type, Array)
    span = lw.span(node)
    whole = lw.atom(array, "tested", span)
    if any(dim != 1 for dim in array.type.dims):
        text = "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
        several = Apply(operator.ne, (build(ops.size, whole), literal(1)), BOOL)
        lw.emit(If(several, (Raise(ValueError, (Const(text, Static(text)),), span),), (), span))
    element = lower_index(lw, V(whole), [literal(0)] * len(array.type.dims), node)
    return as_expr(lw, element, node)


def _constant(lw: Lowerer, node: Any) -> Value:
    value = node.value
    if value is None or isinstance(value, str | bytes) or value is Ellipsis:
        return StaticV(value)
    return const(value)


def _name(lw: Lowerer, node: Any) -> Value:
    if node.id in lw.env:
        value = lw.env[node.id]
        if isinstance(value, Poison):
            widening.ask_for(lw, node.id, value)
            if value.of_keys:
                keyed.begin_again(lw, node.id)
            way_out = "" if value.wide is None else f"\n{widening.way_out(node.id, value.wide)}"
            if value.grows:
                way_out = f"\nBegin with an array of the shape that it gets: `{node.id} = np.zeros(…)`."
            lw.fail(node, f"`{node.id}` has no single meaning here", f"{value.reason}.{way_out}",
                    ArrayAfterNumber if value.grows else UnsupportedSyntaxError)  # fmt: skip
        if isinstance(value, StructV) and value.kind == optional.KIND:
            return optional.value_of(lw, node.id, value, node)
        if isinstance(value, StructV) and texts.is_choice(value):
            return texts.known(value)
        return value
    if node.id in lw.source.local_names:
        is_function = any(isinstance(n, gast.FunctionDef) and n.name == node.id for n in gast.walk(lw.source.node))
        lw.fail(node, f"the local name `{node.id}` has no value here",
                "It is bound only later, or on another path, or by an inner function that calls back this one.",
                UnsupportedSyntaxError if is_function else NoName)  # fmt: skip
    if not lw.source.knows(node.id):
        return lw.fail(node, f"the name `{node.id}` is not defined here",
                       "It is neither a local assigned on this path, nor a global, nor a builtin.")  # fmt: skip
    return outside_value(lw, lw.source.resolve(node.id), node.id, node)


def outside_value(lw: Lowerer, found: Any, name: str, node: Any, read: Callable[[], Any] | None = None) -> Value:
    """Return what a global or closure name means: a literal, a captured array, or an object.

    `read` gives it anew at each call, if it is no name but held by an object.
    """
    from s2sad.frontend.captures import capture

    if isinstance(found, bool | enum.Enum):
        return StaticV(found)
    if isinstance(found, int | float | complex | np.generic):
        return V(literal(found))
    if isinstance(found, np.ndarray | list | tuple | dict) and not _is_plain(found):
        return capture(lw, found, name, read)
    return identified(plain_value(lw, found, name, node), OUTSIDE)


def plain_value(lw: Lowerer, found: Any, name: str, node: Any) -> Value:
    """Return what an object outside means, containers taken apart."""
    if isinstance(found, tuple | list):
        return StructV(type(found) if hasattr(found, "_fields") else "tuple" if isinstance(found, tuple) else "list",
                       getattr(found, "_fields", tuple(range(len(found)))),
                       tuple(outside_value(lw, item, name, node) for item in found))  # fmt: skip
    if isinstance(found, dict):
        return StructV("dict", tuple(found), tuple(outside_value(lw, v, name, node) for v in found.values()))
    return StaticV(records.as_written(found))


def _is_plain(found: Any) -> bool:
    """Say whether a container holds no array at any depth."""
    if isinstance(found, np.ndarray):
        return False
    if isinstance(found, tuple | list):
        return all(_is_plain(item) for item in found)
    if isinstance(found, dict):
        return all(_is_plain(item) for item in found.values())
    return True


def _is_kind(held: Any) -> bool:
    """Say whether an object may stand in `int | None`."""
    return held is None or isinstance(held, type | types.UnionType)


def _bin_op(lw: Lowerer, node: Any) -> Value:
    left, right = in_order(lw, [node.left, node.right])
    fn = BINARY[type(node.op).__name__]
    own = sparse.operated(lw, fn, left, right, node) or records.operated(lw, fn, left, right, node)
    if own is not None:
        return own
    if isinstance(left, ZeroV) or isinstance(right, ZeroV):
        return _with_zero(lw, fn, left, right, node)
    match left, right:
        case StructV(kind, _, xs), StructV(other, _, ys) if fn is operator.add and kind == other:
            return StructV(kind, tuple(range(len(xs) + len(ys))), (*xs, *ys))
        case StructV("dict"), StructV("dict") if fn is operator.or_:
            both = dict(zip(left.keys, left.items, strict=True)) | dict(zip(right.keys, right.items, strict=True))
            return StructV("dict", tuple(both), tuple(both.values()))
        case (StructV("list" | "tuple") | V() as a, StructV("list" | "tuple") | V() as b) if (
            fn is operator.add and _are_lists(a, b)
        ):
            return _joined(lw, (a, b), node)
        case (RowsV() as a, StructV("list") | RowsV() as b) | (StructV("list") as a, RowsV() as b) if (
            fn is operator.add
        ):
            return rows.joined(lw, a, b, node)
        case StructV("list" | "tuple", _, _), V(count) if fn is operator.mul and _is_count(count):
            return _repeat(lw, left, count, node)
        case V(count), StructV("list" | "tuple", _, _) if fn is operator.mul and _is_count(count):
            return _repeat(lw, right, count, node)
        case V() as a, V(count) if fn is operator.mul and _is_list(a) and _is_count(count):
            return _repeated_list(lw, a, count, node)
        case V(count), V() as a if fn is operator.mul and _is_list(a) and _is_count(count):
            return _repeated_list(lw, a, count, node)
        case StaticV(x), StaticV(y) if fn is operator.or_ and all(_is_kind(kind) for kind in (x, y)):
            return StaticV(x | y)
        case StaticV(x), StaticV(y) if not isinstance(x, type):
            try:
                return StaticV(fn(x, y))
            except TypeError:
                return refuse_none(lw, fn, node)
        case StaticV(x), _ if isinstance(x, str) and fn is operator.mod:
            return formatted.percent(lw, x, right, node)
        case (StaticV() | StructV("fstring")), (StaticV() | StructV("fstring")) if fn is operator.add:
            return formatted.joined(left, right)
        case _:
            left, right = operands(lw, left, right, node)
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


def _is_list(value: Value) -> bool:
    """Say whether a value is a list that the function builds."""
    return isinstance(value, V) and isinstance(value.expr.type, ListOf)


def _are_lists(a: V | StructV, b: V | StructV) -> bool:
    """Say whether both are lists, and one of them one that the function builds."""
    built = [_is_list(value) for value in (a, b)]
    return any(built) and all(is_built or isinstance(v, StructV) for is_built, v in zip(built, (a, b), strict=True))


def _joined(lw: Lowerer, parts: Sequence[V | StructV], node: Any) -> Value:
    """`items + [x]`: a new list of the items of each."""
    known = [p.expr.type.item for p in parts if isinstance(p, V) and isinstance(p.expr.type, ListOf)]
    known += [as_expr(lw, item, node).type for p in parts if isinstance(p, StructV) for item in p.items]
    kind = next((item for item in known if item is not None), None)
    if any(item is not None and type(item) is not type(kind) for item in known):
        return lw.fail(node, "only lists of one kind of items can be joined")
    for item in known:
        kind = join_types(kind, item, "") or kind if item is not None and kind is not None else kind
    given = [V(lw.atom(p.expr, "items", lw.span(node))) if isinstance(p, V) else p for p in parts]
    target = growing.make(lw, lw.list_name(), kind, node)
    for part in given:
        append_all(lw, target, part, node)
    return V(target)


def list_of(lw: Lowerer, items: V, node: Any) -> V:
    """`list(items)`: a new list of the items of a list or an array."""
    source = V(lw.atom(items.expr, "items", lw.span(node)))
    empty = isinstance(source.expr.type, ListOf) and source.expr.type.item is None
    kind = None if empty else as_expr(lw, lower_index(lw, source, [literal(0)], node), node).type
    target = growing.make(lw, lw.list_name(), kind, node)
    if not empty:
        append_all(lw, target, source, node)
    return V(target)


def append_all(lw: Lowerer, target: Var, items: V | StructV, node: Any) -> None:
    """Append every item of a display, or of a list or an array, to a list that the function builds."""
    from s2sad.frontend.iteration import emit_loop

    if isinstance(items, StructV):
        for item in growing.read_before(lw, items.items, node):
            growing.append(lw, target, as_expr(lw, item, node), node)
        return
    source = V(lw.atom(items.expr, "items", lw.span(node)))
    length: Expr = Apply(ops.length, (source.expr,), Scalar("int64", True))

    def body(i: Expr) -> None:
        item = lower_index(lw, source, [i], node)
        growing.append(lw, target, as_expr(lw, item, node), node)

    emit_loop(lw, length, "i", body, node)


def _is_count(expr: Expr) -> bool:
    return isinstance(expr.type, Scalar) and "int" in expr.type.dtype


def _repeated_list(lw: Lowerer, items: V, count: Expr, node: Any) -> Value:
    """`items * n`: a new list, into which the items go n times."""
    from s2sad.frontend.iteration import emit_loop

    source = V(lw.atom(items.expr, "items", lw.span(node)))
    assert isinstance(source.expr.type, ListOf)
    target = growing.make(lw, lw.list_name(), source.expr.type.item, node)
    emit_loop(lw, count, "turn", lambda _: append_all(lw, target, source, node), node)
    return V(target)


def _repeat(lw: Lowerer, value: Value, count: Expr, node: Any) -> Value:
    """`[0.0] * n`: a list of known structure when n is known and small, else a filled list."""
    value = identified(value)
    assert isinstance(value, StructV)
    known = getattr(count.type, "value", None)
    shared = any(not isinstance(leaf.type, Scalar) for leaf in leaves_of(value))
    if shared:  # the items are one object, not copies of it
        value = lw.store_value(lw.fresh("shared"), value, lw.span(node))
        assert isinstance(value, StructV)
    records_only = bool(value.items) and all(isinstance(i, StructV) and not is_mutable(i) for i in value.items)
    if isinstance(known, int) and (value.kind == "tuple" or shared or of_slices(value) or records_only):
        items = value.items * known
        return StructV(value.kind, tuple(range(len(items))), items)
    if not value.items or value.kind != "list":
        lw.fail(node, "only a list can be repeated an unknown number of times")
    if shared:
        lw.fail(node, "the items of this list would be one array", "Make them with `[… for _ in range(n)]`.")
    from s2sad.frontend.iteration import emit_loop

    items = [as_expr(lw, item, node) for item in value.items]
    kind = items[0].type
    for item in items[1:]:
        kind = join_types(kind, item.type, "") or lw.fail(node, "the items of this list differ in kind")
    target = growing.make(lw, lw.list_name(), kind, node)

    def once(turn: Expr) -> None:
        del turn
        for item in items:
            growing.append(lw, target, item, node)

    emit_loop(lw, count, "i", once, node)
    return V(target)


def _unary_op(lw: Lowerer, node: Any) -> Value:
    fn = UNARY[type(node.op).__name__]
    if fn is operator.not_:
        test = lower_test(lw, node.operand)
        return StaticV(not test) if isinstance(test, bool) else V(Apply(fn, (test,), BOOL))
    value = lower_expr(lw, node.operand)
    if isinstance(value, ZeroV):
        return value
    own = sparse.operated(lw, fn, value, None, node) or records.operated(lw, fn, value, None, node)
    if own is not None:
        return own
    if isinstance(value, V) and isinstance(value.expr, Const) and fn is operator.neg:
        return V(literal(-value.expr.value))
    return apply(lw, fn, (as_expr(lw, value, node.operand),), {}, node)


def _bool_op(lw: Lowerer, node: Any) -> Value:
    """`a or b` as a value is one of its operands: conditions are combined, anything else is chosen."""
    first, *rest = node.values
    value, truth, more = _tried(lw, first)
    if more:
        count = len(lw.made)
        named = gast.BoolOp(op=node.op, values=[_named(lw, first), *rest])
        whole = _bool_op(lw, gast.copy_location(named, node))
        lw.forget(count)
        return whole
    other = rest[0] if len(rest) == 1 else gast.copy_location(gast.BoolOp(op=node.op, values=rest), node)
    if isinstance(truth, bool):
        return lower_expr(lw, first if truth != isinstance(node.op, gast.And) else other)
    if _is_truth(value) and all(_is_truth(_tried(lw, part)[0]) for part in rest):
        return _all_or_any(lw, node)
    sides = (first, other) if isinstance(node.op, gast.Or) else (other, first)
    return lower_expr(lw, gast.copy_location(gast.IfExp(test=first, body=sides[0], orelse=sides[1]), node))


def _tried(lw: Lowerer, node: Any) -> tuple[Value, Expr | bool, bool]:
    """Return what an operand is, whether it holds, and whether it does more than that; nothing is emitted."""
    block, names, before = lw.block, set(lw.names), seen(lw)
    lw.block = []
    try:
        value = lower_expr(lw, node)
        more = acts(lw, lw.block, before)
        see(lw, before)
        return value, lower_test(lw, node), more
    finally:
        lw.block, lw.names = block, names
        see(lw, before)


def _named(lw: Lowerer, node: Any) -> Any:
    """Give what is computed here, once, a name; return a node that reads it."""
    name = lw.local("first")
    lw.bind(name, lower_expr(lw, node), lw.span(node))
    read = gast.Name(id=name, ctx=gast.Load(), annotation=None, type_comment=None)
    return gast.copy_location(read, node)


def _is_truth(value: Value) -> bool:
    if isinstance(value, StaticV):
        return isinstance(value.value, bool)
    return isinstance(value, V) and isinstance(value.expr.type, Scalar) and value.expr.type.dtype == "bool"


def _all_or_any(lw: Lowerer, node: Any) -> Value:
    proven = lw.proven
    try:
        return _combined(lw, node)
    finally:
        lw.proven = proven


def _combined(lw: Lowerer, node: Any) -> Value:
    is_and = isinstance(node.op, gast.And)
    parts: list[Expr] = []
    for position, part in enumerate(node.values):
        outer, lw.block, before = lw.block, [], seen(lw)
        try:
            test = lower_test(lw, part)
        except SurelyRaises as error:
            if not parts:
                raise
            lw.block = outer
            return _raised_if_reached(lw, error, parts, is_and, part)
        hoisted, lw.block = lw.block, outer
        lw.proven |= optional.proven_by(part, is_and)
        more = acts(lw, hoisted, before)
        if more and parts:
            see(lw, before)
            return _guarded(lw, node, is_and, position, parts)
        if isinstance(test, bool):
            if more:
                lw.block.extend(hoisted)
            if test != is_and:
                return StaticV(test)  # whatever the operands before it are, which do nothing else
            continue
        if hoisted and position:
            see(lw, before)
            return _guarded(lw, node, is_and, position, parts)
        lw.block.extend(hoisted)
        parts.append(test)
    if not parts:
        return StaticV(is_and)
    if len(parts) == 1:
        return V(parts[0])
    return V(Apply(ops.both if is_and else ops.either, tuple(parts), BOOL))


def _raised_if_reached(lw: Lowerer, error: SurelyRaises, parts: list[Expr], is_and: bool, node: Any) -> Value:
    """An operand that raises if the ones before it do not decide; else they do."""
    from s2sad.frontend.operators import negate

    so_far = parts[0] if len(parts) == 1 else Apply(ops.both if is_and else ops.either, tuple(parts), BOOL)
    outer, lw.block = lw.block, []
    raise_there(lw, error, lw.block, len(lw.loops), node)
    inner, lw.block = lw.block, outer
    lw.emit(If(so_far if is_and else negate(so_far), tuple(inner), (), lw.span(node)))
    return StaticV(not is_and)


def _guarded(lw: Lowerer, node: Any, is_and: bool, position: int, parts: list[Expr]) -> Value:
    """A later operand needs statements of its own, which must run only if it is reached."""
    from s2sad.frontend.operators import negate

    name = Var(lw.fresh("holds"), BOOL)
    so_far = parts[0] if len(parts) == 1 else Apply(ops.both if is_and else ops.either, tuple(parts), BOOL)
    lw.emit(Assign(name, so_far, lw.span(node)))
    rest = gast.BoolOp(op=node.op, values=node.values[position:])
    gast.copy_location(rest, node)
    outer, lw.block, before = lw.block, [], seen(lw)
    value = lower_test(lw, rest if len(rest.values) > 1 else rest.values[0])
    lw.emit(Assign(name, literal(value) if isinstance(value, bool) else value, lw.span(node)))
    inner, lw.block = lw.block, outer
    after, otherwise, span = seen(lw), list[Any](), lw.span(node)
    fields.meet(lw, ((inner, after), (otherwise, before)), span)
    see(lw, joined_env(lw, [after, before], before))
    lw.emit(If(name if is_and else negate(name), tuple(inner), tuple(otherwise), span))
    return V(name)


def _if_exp(lw: Lowerer, node: Any) -> Value:
    test = lower_test(lw, node.test)
    if isinstance(test, bool):
        return lower_expr(lw, node.body if test else node.orelse)
    sides: list[tuple[list[Any], Value]] = []
    proven, before, ends = lw.proven, seen(lw), list[Environment]()
    around = len(lw.loops)
    for part, holds in ((node.body, True), (node.orelse, False)):
        outer, lw.block = lw.block, []
        see(lw, before)
        lw.proven = proven | optional.proven_by(node.test, holds)
        try:
            value = lower_expr(lw, part)
        except NoName as error:  # only where this side is taken
            block, lw.block, lw.proven = lw.block, outer, proven
            return _other_side(lw, node, test, holds, error, block, around, before)
        sides.append((lw.block, value))
        ends.append(seen(lw))
        lw.block = outer
    lw.proven = proven
    see(lw, before)
    (then, a), (other, b) = sides
    if any(not same_env({name: env.get(name, value) for name, value in before.items()}, before) for env in ends):
        return _if_statement(lw, node, test, then, a, other, b, ends)  # a side changes what stands outside
    one = texts.chosen(lw, test, a, b, node)
    if one is None and not then and not other:
        one = choices.chosen(lw, test, a, b, node)
    if one is None and (then or other):
        one = choices.of_paths(lw, ((then, ends[0]), (other, ends[1])), a, b, lw.span(node))
        if one is not None:
            lw.emit(If(test, tuple(then), tuple(other), lw.span(node)))
    if one is not None:
        return one
    simple = not then and not other and isinstance(a, V) and isinstance(b, V)
    numbers = all(isinstance(x, V) and isinstance(x.expr.type, Scalar) for x in (a, b))
    if simple and numbers and isinstance(a, V) and isinstance(b, V):
        return apply(lw, ops.ifexp, (test, a.expr, b.expr), {}, node)
    return _if_statement(lw, node, test, then, a, other, b)


def _other_side(
    lw: Lowerer, node: Any, test: Expr, holds: bool, error: NoName, block: list[Any], around: int, before: Environment
) -> Value:
    """Read the other side where one reads a name without a value, once that is ruled out."""
    outer = lw.block
    raise_there(lw, error, block, around, node)
    lw.block = outer
    see(lw, before)
    then, other = (tuple(block), ()) if holds else ((), tuple(block))
    lw.emit(If(test, then, other, lw.span(node)))
    lw.proven |= optional.proven_by(node.test, not holds)
    return lower_expr(lw, node.orelse if holds else node.body)


def lower_bool(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`bool(value)`."""
    test = truth_of(lw, args[0], node) if args else False
    return StaticV(test) if isinstance(test, bool) else V(test)


def _if_statement(
    lw: Lowerer, node: Any, test: Expr, then: list[Any], a: Value, other: list[Any], b: Value,
    envs: list[Environment] | None = None,
) -> Value:  # fmt: skip
    """A conditional expression over arrays or with calls inside becomes a statement; `envs`: what each side leaves."""
    span = lw.span(node)
    name = lw.fresh("chosen")
    outer = lw.block
    ends: list[Environment] = []
    for block, value, env in zip((then, other), (a, b), envs or [seen(lw), seen(lw)], strict=True):
        lw.block = block
        see(lw, env)
        if isinstance(value, StaticV) and isinstance(value.value, int | float):
            value = const(value.value)
        ends.append({**env, name: lw.store_value(name, identified(value), span)})
    lw.block = outer
    fields.meet(lw, ((then, ends[0]), (other, ends[1])), span)
    lw.emit(If(test, tuple(then), tuple(other), span))
    joined = joined_env(lw, ends, {})
    result = joined.pop(name)
    see(lw, joined)
    if isinstance(result, Poison):
        lw.fail(node, "the two sides of this conditional differ in kind", result.reason + ".")
    return result


def _tuple(lw: Lowerer, node: Any) -> Value:
    order = Order(lw)
    wanted, lw.wanted_each = lw.wanted_each, ()
    for position, part in enumerate(node.elts):
        lw.wanted = wanted[position] if wanted else lw.wanted
        order.lower(part.value if isinstance(part, gast.Starred) else part)
    items: list[Value] = []
    for part, value in zip(node.elts, order.values, strict=True):
        if isinstance(part, gast.Starred) and not isinstance(value, StructV):
            return _starred(lw, node, order.values)
        items += value.items if isinstance(part, gast.Starred) and isinstance(value, StructV) else [value]
    keys = tuple(range(len(items)))
    if isinstance(node, gast.Tuple):
        return StructV("tuple", keys, tuple(items))
    made = StructV("list", keys, tuple(items), origin=id(node))
    if id(node) in lw.ctx.growing_displays:
        from s2sad.frontend.assignments import dynamic_list

        name = lw.fresh("items")
        lw.ctx.list_displays[id(lw.source.node), name] = id(node)
        return dynamic_list(lw, name, made, node)
    return made


def _starred(lw: Lowerer, node: Any, values: list[Value]) -> Value:
    """`[*v, 1.0]`: a list that the function builds."""
    from s2sad.frontend.starred import UNKNOWN_COUNT, starred_display

    for part, value in zip(node.elts, values, strict=True):
        row = isinstance(value, StructV) or (isinstance(value, V) and isinstance(value.expr.type, Array | ListOf))
        if isinstance(part, gast.Starred) and not row:
            lw.fail(part, *UNKNOWN_COUNT)
    pieces = starred_display(node.elts, values)
    lists = [list_of(lw, p, node) if isinstance(p, V) and isinstance(p.expr.type, Array) else p for p in pieces]
    return _joined(lw, lists, node)


def _set(lw: Lowerer, node: Any) -> Value:
    from s2sad.frontend.comparisons import set_of

    return set_of(lw, [lower_expr(lw, part) for part in node.elts], node)


def _dict(lw: Lowerer, node: Any) -> Value:
    keys: list[Any] = []
    for key in node.keys:
        if key is not None:
            keys.append(known_key(lw, key))
            continue
        keys.append(None)
    found: dict[Any, Value] = {}
    for key, part, value in zip(keys, node.values, in_order(lw, node.values), strict=True):
        if key is not None:
            found[key] = fields.stored(lw, "dict", key, value)
        elif isinstance(value, StructV) and value.kind == "dict":
            found.update(zip(value.keys, value.items, strict=True))
        else:
            lw.fail(part, "only a dict of known keys can be unpacked with `**`")
    return StructV("dict", tuple(found), tuple(found.values()))


def known_key(lw: Lowerer, node: Any) -> Any:
    """Return the constant that a key is: a string, a number, or a tuple of them."""
    from s2sad.frontend.arguments import UNKNOWN, known_value

    found = lower_expr(lw, node)
    known = known_value(found)
    if known is UNKNOWN and isinstance(found, V):
        known = _of_constants(found.expr)
    if known is UNKNOWN or known is None:
        lw.fail(node, "the key of this dict is not known before the function runs",
                "Begin with `{}`, and put the items in one by one: `d[k] = v`.")  # fmt: skip
    return known


def _of_constants(expr: Expr) -> Any:
    """Return the number that arithmetic with constants gives."""
    from s2sad.frontend.arguments import UNKNOWN

    if isinstance(expr, Const):
        return expr.value
    if not isinstance(expr, Apply) or expr.fn not in OPERATORS:
        return UNKNOWN
    parts = [_of_constants(arg) for arg in expr.args]
    try:
        return UNKNOWN if any(part is UNKNOWN for part in parts) else expr.fn(*parts)
    except ArithmeticError:
        return UNKNOWN


def _named_expr(lw: Lowerer, node: Any) -> Value:
    value = lower_expr(lw, node.value)
    name = node.target.id
    if not (optional.is_optional(value) and optional.bind(lw, name, value, node)):
        lw.bind(name, value, lw.span(node))
    from s2sad.frontend.noneresults import called

    return called(lw, lw.env[name], node, name)


def _lambda(lw: Lowerer, node: Any) -> Value:
    from s2sad.frontend.functions import evaluated_defaults

    return FuncV(node, lw.source, lw.env, "lambda_", evaluated_defaults(lw, node),
                 owner=None if lw.comprehending else lw)


def _attribute(lw: Lowerer, node: Any) -> Value:
    from s2sad.frontend.methods import attribute

    return fields.read(lw, attribute(lw, lower_expr(lw, node.value), node.attr, node), node)


def _compare(lw: Lowerer, node: Any) -> Value:
    from s2sad.frontend.comparisons import lower_compare

    return lower_compare(lw, node)


def _call(lw: Lowerer, node: Any) -> Value:
    from s2sad.frontend.calls import lower_call

    return lower_call(lw, node)


def _comprehension(lw: Lowerer, node: Any) -> Value:
    from s2sad.frontend.iteration import lower_comprehension

    return lower_comprehension(lw, node)


_EXPRESSIONS: dict[str, Any] = {
    "Constant": _constant, "Name": _name, "BinOp": _bin_op, "UnaryOp": _unary_op,
    "BoolOp": _bool_op, "Compare": _compare, "IfExp": _if_exp, "Tuple": _tuple, "List": _tuple,
    "Dict": _dict, "Set": _set, "NamedExpr": _named_expr, "Lambda": _lambda, "JoinedStr": formatted.f_string,
    "Attribute": _attribute, "Call": _call, "Subscript": lower_subscript, "Slice": lower_slice,
    "ListComp": _comprehension, "GeneratorExp": _comprehension, "DictComp": _comprehension,
    "Held": lower_held, "Guarded": lower_guarded, "Raises": lower_raises,
}  # fmt: skip

__all__ = ["MethodV", "as_expr", "lower_expr", "lower_index", "lower_index_items", "lower_test"]
