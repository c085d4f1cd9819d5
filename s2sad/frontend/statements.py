"""Statements of Python to statements of the IR; types flow along, loops are run to a fixpoint."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import gast

from s2sad.frontend.exceptions import lower_try
from s2sad.frontend.expressions import as_expr, expand_index, lower_expr, lower_index, lower_test
from s2sad.frontend.joins import joined_env, same_env, widen_new
from s2sad.frontend.lowerer import BottomReached, Contribution, Lowerer
from s2sad.frontend.matching import lower_match
from s2sad.frontend.operators import BINARY, SYMBOLS, apply
from s2sad.frontend.source import unwrap
from s2sad.frontend.values import (
    BarV,
    FuncV,
    IterV,
    Poison,
    RangeV,
    Scope,
    StaticV,
    StructV,
    V,
    Value,
    ZeroV,
    const,
    leaves_of,
    literal,
    type_of,
)
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assert,
    Assign,
    Break,
    CallStmt,
    Const,
    Continue,
    Effect,
    Expr,
    For,
    If,
    Index,
    Raise,
    Return,
    Store,
    Swap,
    Var,
    While,
)
from s2sad.ir.types import Array, ListOf, Scalar
from s2sad.ir.views import VIEWS
from s2sad.ir.walk import reads

RULE_OUTSIDE = (
    "A rule may not read values of the scope around it, for their derivatives would be lost.\n"
    "Define it outside, and pass what it reads as arguments."
)

_REFUSED = {
    "Delete": ("`del` cannot be differentiated", "Leave the name alone; it costs nothing."),
    "Global": ("`global` writes cannot be differentiated", "Pass the value in and return it."),
    "Nonlocal": ("`nonlocal` writes cannot be differentiated", "Pass the value in and return it."),
    "ClassDef": ("a class inside a differentiated function is not supported", "Move it outside."),
    "AsyncFor": ("`async for` cannot be differentiated", "Use an ordinary loop."),
    "AsyncWith": ("`async with` cannot be differentiated", "Call the function outside."),
    "AsyncFunctionDef": ("`async def` cannot be differentiated", "Write a plain function."),
}


def lower_block(lw: Lowerer, statements: list[Any]) -> bool:
    """Lower statements in order; return True if control never falls off the end."""
    for node in statements:
        if lower_stmt(lw, node):
            return True
    return False


def lower_stmt(lw: Lowerer, node: Any) -> bool:
    """Lower one statement; return True if it always jumps away."""
    name = type(node).__name__
    if name in _REFUSED:
        what, why = _REFUSED[name]
        lw.fail(node, what, why)
    method = _STATEMENTS.get(name)
    if method is None:
        return lw.fail(node, f"`{name}` is not supported in a differentiated function")
    return bool(method(lw, node))


def _assign(lw: Lowerer, node: Any) -> None:
    value = lower_expr(lw, node.value)
    first = node.targets[0]
    assign_target(lw, first, value, node)
    for target in node.targets[1:]:
        again = lower_expr(lw, _as_load(first)) if isinstance(first, gast.Name) else value
        assign_target(lw, target, again, node)


def _as_load(name: Any) -> Any:
    copy = gast.Name(id=name.id, ctx=gast.Load(), annotation=None, type_comment=None)
    return gast.copy_location(copy, name)


def _ann_assign(lw: Lowerer, node: Any) -> None:
    if node.value is not None:
        assign_target(lw, node.target, lower_expr(lw, node.value), node)


def assign_target(lw: Lowerer, target: Any, value: Value, node: Any) -> None:
    """Bind or store `value` at an assignment target of any form."""
    match target:
        case gast.Name():
            _bind_name(lw, target.id, value, node)
        case gast.Tuple() | gast.List():
            _unpack(lw, target, value, node)
        case gast.Subscript():
            _store_item(lw, target, value, node)
        case _:
            lw.fail(target, "this cannot be assigned to in a differentiated function",
                    "Attributes belong to an object outside; return the new value instead.")  # fmt: skip


def _bind_name(lw: Lowerer, name: str, value: Value, node: Any) -> None:
    if isinstance(value, StructV) and value.kind == "list" and name in lw.dynamic_lists:
        value = _dynamic_list(lw, name, value, node)
    lw.bind(name, value, lw.span(node))


def _dynamic_list(lw: Lowerer, name: str, value: StructV, node: Any) -> V:
    """A list that grows or is written later: a real list, not a known structure."""
    item: Any = None
    for part in value.items:
        if not isinstance(part, V) or (item is not None and _unlike(item, part.expr.type)):
            return lw.fail(node, f"the items of list `{name}` differ in kind",
                    "A list that is appended to or written holds items of one type.")  # fmt: skip
        item = part.expr.type
    target = Var(lw.ir_name(name), ListOf(item))
    lw.names.add(target.name)
    lw.emit(Assign(target, Apply(ops.new_list, (), target.type), lw.span(node)))
    for part in value.items:
        lw.emit(Append(target, as_expr(lw, part, node), lw.span(node)))
    return V(target)


def _unlike(a: Any, b: Any) -> bool:
    return type(a) is not type(b)


def _unpack(lw: Lowerer, target: Any, value: Value, node: Any) -> None:
    items = _items_of(lw, value, len(target.elts), target, node)
    stars = [i for i, t in enumerate(target.elts) if isinstance(t, gast.Starred)]
    if stars:
        at, after = stars[0], len(target.elts) - stars[0] - 1
        if len(items) < len(target.elts) - 1:
            lw.fail(node, "not enough values to unpack")
        middle = items[at : len(items) - after]
        starred = StructV("list", tuple(range(len(middle))), tuple(middle))
        items = [*items[:at], starred, *items[len(items) - after :]]
    elif len(items) != len(target.elts):
        lw.fail(node, f"{len(items)} values cannot be unpacked into {len(target.elts)} names")
    names = [t.value if isinstance(t, gast.Starred) else t for t in target.elts]
    if _named_in_place(lw, names, items, node):
        return
    if _permute(lw, names, items, node):
        return
    items = _simultaneous(lw, names, items, node)
    for name, item in zip(names, items, strict=True):
        assign_target(lw, name, item, node)


def _named_in_place(lw: Lowerer, names: list[Any], items: list[Value], node: Any) -> bool:
    """`w, v = np.linalg.eigh(a)`: the call that was just written gives its results these names."""
    if not all(isinstance(n, gast.Name) for n in names):
        return False
    if lw.in_rule and all(isinstance(i, StaticV) or (isinstance(i, V) and isinstance(i.expr, Var)) for i in items):
        lw.env.update(zip((n.id for n in names), items, strict=True))
        return True
    call = lw.block[-1] if lw.block else None
    if not isinstance(call, CallStmt) or call.fn is None or items != [V(t) for t in call.targets]:
        return False
    given = [lw.ir_name(n.id) for n in names]
    if len(set(given)) < len(given) or any(set(given) & reads(arg) for arg in call.args):
        return False
    targets = tuple(Var(name, t.type) for name, t in zip(given, call.targets, strict=True))
    lw.block[-1] = replace(call, targets=targets)
    lw.names.update(given)
    lw.env.update((n.id, V(t)) for n, t in zip(names, targets, strict=True))
    return True


def _items_of(lw: Lowerer, value: Value, count: int, target: Any, node: Any) -> list[Value]:
    match value:
        case StructV(_, _, items):
            return list(items)
        case V(expr) if isinstance(expr.type, Array):
            if any(isinstance(t, gast.Starred) for t in target.elts):
                lw.fail(node, "an array cannot be unpacked with a star", "Use slices.")
            base = lw.atom(expr, "row", lw.span(node))
            return [lower_index(lw, V(base), [literal(i)], node) for i in range(count)]
        case _:
            return lw.fail(node, "this value cannot be unpacked")


def _permute(lw: Lowerer, names: list[Any], items: list[Value], node: Any) -> bool:
    """Arrays that only exchange their names, as in double buffering, are swapped, not copied."""
    if not all(isinstance(n, gast.Name) for n in names) or len(names) < 2:
        return False
    current: list[Any] = [lw.env.get(n.id) for n in names]
    now, then = ([x.expr for x in xs if isinstance(x, V) and isinstance(x.expr, Var)] for xs in (items, current))
    wanted = [x.name for x in now if isinstance(x.type, Array)]
    have = [x.name for x in then if isinstance(x.type, Array)]
    if len(wanted) != len(names) or sorted(wanted) != sorted(have) or len(set(have)) != len(have):
        return False
    kinds = {name: c.expr.type for name, c in zip(have, current, strict=True)}
    if len({(k.dtype, len(k.dims)) for k in kinds.values()}) != 1:
        return False
    order = list(have)
    for position, name in enumerate(wanted):
        other = order.index(name)
        if other != position:
            order[position], order[other] = order[other], order[position]
            lw.emit(Swap(Var(have[position], kinds[order[other]]), Var(have[other], kinds[name]), lw.span(node)))
    for n, name, source in zip(names, have, wanted, strict=True):
        lw.env[n.id] = V(Var(name, kinds[source]))
    return True


def _simultaneous(lw: Lowerer, names: list[Any], items: list[Value], node: Any) -> list[Value]:
    """Read every right-hand side before any name changes: `a, b = b, a + b`."""
    result = list(items)
    changed: set[str] = set()
    for position, name in enumerate(names):
        plain = isinstance(name, gast.Name)
        if plain:
            changed.add(lw.ir_name(name.id))
        else:
            changed.update(_roots(lw, name))
        for later in range(position + 1, len(names)):
            value = result[later]
            used = {n for leaf in leaves_of(value) for n in reads(leaf)}
            if isinstance(value, V | StructV) and used & changed:
                hint = names[later].id if isinstance(names[later], gast.Name) else "value"
                value = _snapshot(lw, value) if not plain else value
                result[later] = lw.store_value(lw.fresh(f"{hint}_new"), value, lw.span(node))
    return result


def _snapshot(lw: Lowerer, value: Value) -> Value:
    """An array row read before an element store of the same statement must be a copy… or a scalar."""
    import numpy as np

    if isinstance(value, V) and isinstance(value.expr.type, Array):
        return V(Apply(np.copy, (value.expr,), value.expr.type))
    return value


def _roots(lw: Lowerer, target: Any) -> set[str]:
    while isinstance(target, gast.Subscript | gast.Attribute):
        target = target.value
    if not isinstance(target, gast.Name):
        return set()
    value = lw.env.get(target.id)
    return {n for leaf in leaves_of(value) for n in reads(leaf)} if value is not None else set()


def _store_item(lw: Lowerer, target: Any, value: Value, node: Any, op: str = "") -> None:
    base = lower_expr(lw, target.value)
    span = lw.span(node)
    match base:
        case StructV():
            _store_struct(lw, target, base, value, node, op)
            return
        case BarV(slot):
            index = tuple(_index_items(lw, target.slice, node))
            if slot is not None and isinstance(slot.type, Array):
                index = tuple(expand_index(lw, slot.type, list(index), node))
            added = Contribution(slot, index, as_expr(lw, value, node))
            lw.block.append(added)  # type: ignore[arg-type]
            return
        case V(expr) if isinstance(expr.type, Array | ListOf):
            if isinstance(expr, Apply) and expr.fn in VIEWS and expr.fn is not ops.transpose:
                expr = lw.atom(expr, "view", span)
            index = _index_items(lw, target.slice, node)
            place = lower_index(lw, V(expr), index, target)
            assert isinstance(place, V)
            lw.emit(Store(place.expr, op, as_expr(lw, value, node), span))
        case _:
            lw.fail(target, "this value cannot be written by index")


def _index_items(lw: Lowerer, node: Any, at: Any) -> list[Any]:
    from s2sad.frontend.expressions import lower_index_items

    return lower_index_items(lw, node, at)


def _store_struct(lw: Lowerer, target: Any, base: StructV, value: Value, node: Any, op: str) -> None:
    """`d["k"] = v`, `items[0] = v` on a container of known structure: rebind the component."""
    if base.kind not in ("dict", "list") or not isinstance(target.value, gast.Name):
        lw.fail(target, f"items of a {base.kind} cannot be assigned here", "Build a new one.")
    key = lower_expr(lw, target.slice)
    known = key.value if isinstance(key, StaticV) else _known_int(key)
    name = target.value.id
    if isinstance(known, int) and base.kind == "list" and known < 0:
        known += len(base.keys)
    if known is None or (base.kind == "list" and known not in base.keys):
        lw.fail(target, f"the key written to `{name}` is not known here",
                "Use a constant key, or an array instead of a list.")  # fmt: skip
    keys = base.keys if known in base.keys else (*base.keys, known)
    stored = lw.store_value(lw.ir_name(f"{name}_{known}"), value, lw.span(node))
    items = dict(zip(base.keys, base.items, strict=True))
    items[known] = stored
    lw.env[name] = StructV(base.kind, keys, tuple(items[k] for k in keys))


def _known_int(value: Value) -> Any:
    if isinstance(value, V):
        known = getattr(value.expr.type, "value", None)
        return known if isinstance(known, int) else None
    return None


def _aug_assign(lw: Lowerer, node: Any) -> None:
    symbol = SYMBOLS[type(node.op).__name__]
    value = lower_expr(lw, node.value)
    span = lw.span(node)
    target = node.target
    if isinstance(target, gast.Subscript):
        _aug_item(lw, target, value, node, symbol)
        return
    if not isinstance(target, gast.Name):
        lw.fail(target, "this cannot be assigned to in a differentiated function")
    current = lower_expr(lw, _as_load(target))
    if isinstance(current, ZeroV) or isinstance(value, ZeroV):
        lw.env[target.id] = value if isinstance(current, ZeroV) else current
        return
    match current:
        case BarV(slot):
            if symbol not in ("+", "-"):
                lw.fail(node, "a rule only adds to a bar")
            expr = as_expr(lw, value, node)
            if symbol == "-":
                expr = as_expr(lw, apply(lw, operator.neg, (expr,), {}, node), node)
            lw.block.append(Contribution(slot, None, expr))  # type: ignore[arg-type]
        case StructV() if lw.contributing:
            _contribute_parts(lw, current, as_expr(lw, value, node), node)
        case V(expr) if isinstance(expr.type, Array):
            lw.emit(Store(expr, symbol, as_expr(lw, value, node), span))
        case V(expr) if isinstance(expr.type, ListOf) and symbol == "+":
            _extend(lw, expr, value, node)
        case StructV(kind, _, items) if isinstance(value, StructV) and symbol == "+":
            both = (*items, *value.items)
            lw.bind(target.id, StructV(kind, tuple(range(len(both))), both), span)
        case _:
            fn = BINARY[type(node.op).__name__]
            result = apply(lw, fn, (as_expr(lw, current, node), as_expr(lw, value, node)), {}, node)
            lw.bind(target.id, result, span)


def _contribute_parts(lw: Lowerer, bars: StructV, value: Expr, node: Any) -> None:
    """The bar of a nested display: each item takes its own part of what is added."""
    for position, bar in enumerate(bars.items):
        part = lower_index(lw, V(value), [literal(position)], node)
        if isinstance(bar, BarV):
            lw.block.append(Contribution(bar.slot, None, as_expr(lw, part, node)))  # type: ignore[arg-type]
        elif isinstance(bar, StructV):
            _contribute_parts(lw, bar, as_expr(lw, part, node), node)


def _extend(lw: Lowerer, target: Expr, value: Value, node: Any) -> None:
    assert isinstance(target, Var)
    if not isinstance(value, StructV):
        lw.fail(node, "a list can only be extended by a display", "Append in a loop instead.")
    assert isinstance(value, StructV)
    for item in value.items:
        lw.emit(Append(target, as_expr(lw, item, node), lw.span(node)))


def _aug_item(lw: Lowerer, target: Any, value: Value, node: Any, symbol: str) -> None:
    base = lower_expr(lw, target.value)
    if isinstance(base, StructV):
        current = lower_expr(lw, target)
        if isinstance(current, V) and isinstance(current.expr.type, Array):
            lw.emit(Store(current.expr, symbol, as_expr(lw, value, node), lw.span(node)))
            return
        fn = BINARY[type(node.op).__name__]
        result = apply(lw, fn, (as_expr(lw, current, node), as_expr(lw, value, node)), {}, node)
        _store_struct(lw, target, base, result, node, "")
        return
    _store_item(lw, target, value, node, symbol)


def _if(lw: Lowerer, node: Any) -> bool:
    test = lower_test(lw, node.test)
    if isinstance(test, bool):
        return lower_block(lw, node.body if test else node.orelse)
    span = lw.span(node)
    before = dict(lw.env)
    then, then_jumps, then_env = _branch(lw, node.body, before)
    other, other_jumps, other_env = _branch(lw, node.orelse, before)
    lw.env = joined_env(lw, [e for e, j in ((then_env, then_jumps), (other_env, other_jumps)) if not j], before)
    lw.emit(If(test, tuple(then), tuple(other), span))
    return then_jumps and other_jumps


def _branch(lw: Lowerer, body: list[Any], env: dict[str, Value]) -> tuple[list[Any], bool, dict[str, Value]]:
    outer, lw.block, lw.env = lw.block, [], dict(env)
    try:
        jumps = lower_block(lw, body)
    except BottomReached:
        jumps = lw.bottomed = True
    block, lw.block = lw.block, outer
    return block, jumps, lw.env


def _run_loop(lw: Lowerer, node: Any, key: str, body: Any) -> tuple[list[Any], Scope, dict[str, Value]]:
    """Lower a loop body until the types at its head no longer change; keep the last lowering."""
    head = dict(lw.env)
    names = set(lw.names)
    for _ in range(12):
        lw.env, lw.names = dict(head), set(names)
        scope = Scope(node)
        lw.loops.append(scope)
        outer, lw.block = lw.block, []
        try:
            jumps = body(scope)
        except BottomReached:
            jumps = lw.bottomed = True
        finally:
            block, lw.block = lw.block, outer
            lw.loops.pop()
        ends = list(scope.continues) if jumps else [lw.env, *scope.continues]
        merged = joined_env(lw, [head, *ends], head, key)
        merged = widen_new(merged, head, key)
        if same_env(merged, head):
            return block, scope, head
        head = merged
    return lw.fail(node, "the types in this loop do not settle",
                   "A name changes its kind or rank from one iteration to the next.")  # fmt: skip


def _while(lw: Lowerer, node: Any) -> bool:
    flag = _completion_flag(lw, node)
    tests: list[Any] = []

    def body(scope: Scope) -> bool:
        scope.flag = flag
        tests.clear()
        outer, lw.block = lw.block, []
        test = lower_test(lw, node.test)
        hoisted, lw.block = lw.block, outer
        if isinstance(test, bool) and not test:
            return True
        if hoisted and not isinstance(test, bool):
            from s2sad.frontend.operators import negate

            scope.breaks.append(dict(lw.env))
            lw.block.extend(hoisted)
            lw.emit(If(negate(test), (Break(lw.span(node)),), (), lw.span(node)))
            test = True
        tests.append(const(True).expr if test is True else test)
        return lower_block(lw, node.body)

    block, scope, head = _run_loop(lw, node, _loop_key(lw, node), body)
    if not tests:
        lw.env = head
        return lower_block(lw, node.orelse)
    endless = isinstance(tests[0], Const) and tests[0].value is True
    exits = scope.breaks if endless else [head, *scope.breaks]
    lw.env = joined_env(lw, exits, head)
    lw.emit(While(tests[0], tuple(block), lw.span(node)))
    if endless and not scope.breaks:
        return True
    return _loop_else(lw, node, flag)


def _completion_flag(lw: Lowerer, node: Any) -> str | None:
    """A loop with `else` and `break` remembers whether it ran to its end."""
    if not node.orelse or not any(isinstance(n, gast.Break) for s in node.body for n in gast.walk(s)):
        return None
    flag = lw.fresh("completed")
    lw.emit(Assign(Var(flag, Scalar("bool", True)), literal(True), lw.span(node)))
    return flag


def _loop_else(lw: Lowerer, node: Any, flag: str | None) -> bool:
    if not node.orelse:
        return False
    if flag is None:
        return lower_block(lw, node.orelse)
    before = dict(lw.env)
    block, jumps, env = _branch(lw, node.orelse, before)
    lw.env = before if jumps else joined_env(lw, [env, before], before)
    lw.emit(If(Var(flag, Scalar("bool", True)), tuple(block), (), lw.span(node)))
    return False


def _loop_key(lw: Lowerer, node: Any) -> str:
    return f"{lw.source.name}:{node.lineno}:{node.col_offset}:{lw.depth}"


def _for(lw: Lowerer, node: Any) -> bool:
    from s2sad.frontend.iteration import lower_for

    return lower_for(lw, node, lower_expr(lw, node.iter))


def run_counted(lw: Lowerer, node: Any, var: Var, bounds: tuple[Expr, Expr, Expr], enter: Any) -> bool:
    """Emit `for var in range(*bounds)`; `enter` binds the targets at the head of the body."""
    flag = _completion_flag(lw, node)
    span = lw.span(node)

    def body(scope: Scope) -> bool:
        scope.flag = flag
        enter()
        return lower_block(lw, node.body)

    block, scope, head = _run_loop(lw, node, _loop_key(lw, node), body)
    lw.env = joined_env(lw, [head, *scope.breaks], head)
    start, stop, step = bounds
    lw.emit(For(var, start, stop, step, tuple(block), span))
    return _loop_else(lw, node, flag)


def _break(lw: Lowerer, node: Any) -> bool:
    scope = _scope(lw, node, "break")
    if scope.flag is not None:
        lw.emit(Assign(Var(scope.flag, Scalar("bool", True)), literal(False), lw.span(node)))
    scope.breaks.append(dict(lw.env))
    lw.emit(Break(lw.span(node)))
    return True


def _continue(lw: Lowerer, node: Any) -> bool:
    scope = _scope(lw, node, "continue")
    scope.continues.append(dict(lw.env))
    lw.emit(Continue(lw.span(node)))
    return True


def _scope(lw: Lowerer, node: Any, word: str) -> Scope:
    scope = lw.loops[-1]
    if scope.unrolled:
        lw.fail(node, f"`{word}` inside a loop over a tuple, list or dict of arrays is not supported",
                "Such a loop is written out item by item; stack the items into one array.")  # fmt: skip
    return scope


def _return(lw: Lowerer, node: Any) -> bool:
    if isinstance(node.value, gast.IfExp) and any(isinstance(n, gast.Call) for n in gast.walk(node.value)):
        # two returns: only one side is run, and a side that recurses may wait for the other's type
        choice = node.value
        sides = [gast.copy_location(gast.Return(value=side), side) for side in (choice.body, choice.orelse)]
        whole = gast.If(test=choice.test, body=[sides[0]], orelse=[sides[1]])
        if _recurses(lw, choice):
            return lower_stmt(lw, gast.copy_location(whole, node))
    value = StaticV(None) if node.value is None else lower_expr(lw, node.value)
    if isinstance(value, FuncV | Poison | RangeV | IterV):
        lw.fail(node, "a function cannot be the result of a differentiated function",
                "Return numbers, arrays, or containers of them.")  # fmt: skip
    value = _public(lw, value, node)
    lw.results.append(value)
    lw.emit(Return(tuple(leaves_of(value)), lw.span(node)))
    return True


def _recurses(lw: Lowerer, node: Any) -> bool:
    """Say whether an expression calls the function that is being lowered."""
    own = lw.instance.fun if lw.instance is not None else None
    names = [n.func.id for n in gast.walk(node) if isinstance(n, gast.Call) and isinstance(n.func, gast.Name)]
    return any(lw.source.knows(name) and unwrap(lw.source.resolve(name)) is unwrap(own) for name in names)


def _public(lw: Lowerer, value: Value, node: Any) -> Value:
    if isinstance(value, StaticV) and isinstance(value.value, bool | int | float):
        return const(value.value)
    if isinstance(value, StructV):
        items = tuple(_public(lw, item, node) for item in value.items)
        return StructV(value.kind, value.keys, items)
    return value


def _expr_stmt(lw: Lowerer, node: Any) -> None:
    if isinstance(node.value, gast.Constant):
        return
    if isinstance(node.value, gast.Yield | gast.YieldFrom | gast.Await):
        word = {"Yield": "yield", "YieldFrom": "yield from", "Await": "await"}[type(node.value).__name__]
        lw.fail(node.value, f"`{word}` cannot be differentiated",
                "A generator has no single result to differentiate.\n"
                "Return a list or an array, or give the function a rule with @custom_vjp.")  # fmt: skip
    value = lower_expr(lw, node.value)
    if isinstance(value, V) and isinstance(value.expr, Apply) and value.expr.fn in (print, breakpoint):
        lw.emit(Effect(value.expr, lw.span(node)))


def _assert(lw: Lowerer, node: Any) -> None:
    test = lower_test(lw, node.test)
    message = None
    if isinstance(node.msg, gast.Constant) and isinstance(node.msg.value, str):
        message = Const(node.msg.value, _text_type(node.msg.value))
    if test is True:
        return
    expr = literal(test) if isinstance(test, bool) else test
    lw.emit(Assert(expr, message, lw.span(node)))


def _text_type(text: str) -> Any:
    from s2sad.ir.types import Static

    return Static(text)


def _raise(lw: Lowerer, node: Any) -> bool:
    error, args = raised_class(lw, node)
    lw.emit(Raise(error, args, lw.span(node)))
    return True


def raised_class(lw: Lowerer, node: Any) -> tuple[type[BaseException], tuple[Expr, ...]]:
    """Return the exception class that a `raise` names, and its constant message."""
    if node.exc is None:
        lw.fail(node, "a bare `raise` is not supported", "Name the exception.")
    call = node.exc if isinstance(node.exc, gast.Call) else None
    value = lower_expr(lw, call.func if call else node.exc)
    if not (isinstance(value, StaticV) and isinstance(value.value, type) and issubclass(value.value, BaseException)):
        lw.fail(node, "only an exception class can be raised here", "Write `raise ValueError(…)`.")
    args: tuple[Expr, ...] = ()
    if call and call.args and isinstance(call.args[0], gast.Constant):
        text = call.args[0].value
        args = (Const(text, _text_type(text)),)
    elif call and call.args and isinstance(call.args[0], gast.JoinedStr):
        text = "".join(p.value if isinstance(p, gast.Constant) else "{}" for p in call.args[0].values)
        args = (Const(text, _text_type(text)),)
    assert isinstance(value, StaticV)
    return value.value, args


def _function_def(lw: Lowerer, node: Any) -> None:
    if any(_last_name(item) in ("custom_jvp", "custom_vjp") for item in node.decorator_list):
        lw.fail(node, "a rule cannot be defined inside a differentiated function", RULE_OUTSIDE)
    if node.decorator_list:
        lw.fail(node, "a decorated inner function is not supported", "Move it to module level.")
    lw.env[node.name] = FuncV(node, lw.source, lw.env, node.name)


def _last_name(node: Any) -> str:
    """Return the last word of a decorator, `custom_jvp` in `@s2sad.custom_jvp(...)`."""
    node = node.func if isinstance(node, gast.Call) else node
    return node.attr if isinstance(node, gast.Attribute) else getattr(node, "id", "")


def _with(lw: Lowerer, node: Any) -> bool:
    from s2sad.frontend.segments import is_checkpoint, lower_checkpointed

    if len(node.items) == 1 and is_checkpoint(lw, node.items[0]):
        return lower_checkpointed(lw, node)
    for item in node.items:
        manager = lower_context(lw, item.context_expr)
        if item.optional_vars is not None or not manager:
            lw.fail(item.context_expr, "this context manager is not supported",
                    "`np.errstate(…)` is; anything else belongs outside the function.")  # fmt: skip
    return lower_block(lw, node.body)


def lower_context(lw: Lowerer, node: Any) -> bool:
    """Say whether a `with` expression is one that changes no values: `np.errstate`, warnings."""
    import numpy as np

    if not isinstance(node, gast.Call):
        return False
    value = lower_expr(lw, node.func)
    return isinstance(value, StaticV) and value.value is np.errstate


def _import(lw: Lowerer, node: Any) -> None:
    import importlib

    for item in node.names:
        if isinstance(node, gast.ImportFrom):
            module = importlib.import_module(node.module)
            lw.env[item.asname or item.name] = StaticV(getattr(module, item.name))
        else:
            module = importlib.import_module(item.name)
            root = module if item.asname else importlib.import_module(item.name.split(".")[0])
            lw.env[item.asname or item.name.split(".")[0]] = StaticV(root)


def _pass(lw: Lowerer, node: Any) -> None:
    del lw, node


_STATEMENTS: dict[str, Any] = {
    "Assign": _assign,
    "AnnAssign": _ann_assign,
    "AugAssign": _aug_assign,
    "If": _if,
    "While": _while,
    "For": _for,
    "Break": _break,
    "Continue": _continue,
    "Return": _return,
    "Expr": _expr_stmt,
    "Assert": _assert,
    "Raise": _raise,
    "Try": lower_try,
    "FunctionDef": _function_def,
    "With": _with,
    "Match": lower_match,
    "Import": _import,
    "ImportFrom": _import,
    "Pass": _pass,
}

__all__ = ["Continue", "Index", "assign_target", "lower_block", "lower_stmt", "run_counted", "type_of"]
