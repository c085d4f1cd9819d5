"""Methods of a list that the function builds which make it anew: `insert`, `pop(k)`, `reverse`, `clear`, `sort`.

The name is bound to the new list, which is shorter to read and run. Where another name may mean the same list, the
list is emptied and filled again, so that every name sees it.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

from s2sad.frontend import growing
from s2sad.frontend.arguments import known_value
from s2sad.frontend.containers import scopes
from s2sad.frontend.expressions import append_all, as_expr, list_of
from s2sad.frontend.indexing import counted, lower_index
from s2sad.frontend.iteration import emit_loop
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import build
from s2sad.frontend.values import RowsV, StaticV, StructV, V, Value, leaves_of, literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Effect, Expr, Slice, Var
from s2sad.ir.types import Array, ListOf, Scalar, Type


def inserted(lw: Lowerer, owner: Var, place: Value, value: Value, node: Any) -> Value:
    """`items.insert(k, x)`: `items[:k] + [x] + items[k:]`, whose bounds are those of `insert`."""
    at = lw.atom(as_expr(lw, place, node), "place", lw.span(node))
    item = growing.fitted(lw, owner, as_expr(lw, value, node), node)
    kind = owner.type
    assert isinstance(kind, ListOf)
    longer = growing.make(lw, lw.fresh("longer"), item.type if kind.item is None else kind.item, node)
    first = known_value(place) == 0

    def take(part: Slice) -> None:
        items = V(owner) if first else lower_index(lw, V(owner), [part], node)
        if kind.item is not None and isinstance(items, V):
            append_all(lw, longer, items, node)

    if not first:
        take(Slice(None, at, None))
    growing.append(lw, longer, item, node)
    take(Slice(at, None, None))
    give_way(lw, owner, longer, node)
    return StaticV(None)


def spliced(lw: Lowerer, owner: Expr, part: Slice, value: Value, node: Any) -> None:
    """`items[a:b] = values`: the list gives way to `items[:a] + values + items[b:]`."""
    kind = owner.type
    if not (isinstance(owner, Var) and isinstance(kind, ListOf) and kind.item is not None and part.step is None):
        lw.fail(node, "this slice of a growing list cannot be assigned to", "Write its items in a loop.")
    if not (isinstance(value, V) and isinstance(value.expr.type, Array | ListOf)) and not isinstance(value, StructV):
        lw.fail(node, "a slice of a list takes a list, a tuple or an array", "Make a list of it first.")
    assert isinstance(owner, Var) and isinstance(kind, ListOf) and isinstance(value, V | StructV)
    start, count, _ = counted(lw, part, Apply(ops.length, (owner,), Scalar("int64", True)), node)
    start = lw.atom(start, "start", lw.span(node))
    end = lw.atom(build(operator.add, start, build(max, count, literal(0))), "end", lw.span(node))
    longer = growing.make(lw, lw.fresh("spliced"), kind.item, node)
    for items in (Slice(None, start, None), value, Slice(end, None, None)):
        found = lower_index(lw, V(owner), [items], node) if isinstance(items, Slice) else items
        assert isinstance(found, V | StructV)
        append_all(lw, longer, found, node)
    give_way(lw, owner, longer, node)


def popped_first(lw: Lowerer, owner: Var, node: Any) -> Value:
    """`items.pop(0)`: the first item, and the list gives way to one of the others."""
    item = lower_index(lw, V(owner), [literal(0)], node)
    gone = V(lw.atom(as_expr(lw, item, node), "item", lw.span(node)))
    rest = lower_index(lw, V(owner), [Slice(literal(1), None, None)], node)
    give_way(lw, owner, as_expr(lw, rest, node), node)
    return gone


def popped(lw: Lowerer, owner: Var, place: Value, node: Any) -> Value:
    """`items.pop(k)`: the item there, and the list gives way to `items[:k] + items[k + 1:]`."""
    at = lw.atom(_counted_from_the_start(lw, owner, as_expr(lw, place, node)), "place", lw.span(node))
    item = lower_index(lw, V(owner), [at], node)
    gone = V(lw.atom(as_expr(lw, item, node), "item", lw.span(node)))
    kind = owner.type
    assert isinstance(kind, ListOf)
    left = growing.make(lw, lw.fresh("left"), kind.item, node)
    for part in (Slice(None, at, None), Slice(build(operator.add, at, literal(1)), None, None)):
        items = lower_index(lw, V(owner), [part], node)
        assert isinstance(items, V)
        append_all(lw, left, items, node)
    give_way(lw, owner, left, node)
    return gone


def _counted_from_the_start(lw: Lowerer, owner: Var, place: Expr) -> Expr:
    """Return a place in a list that may be given from its end."""
    known = getattr(place.type, "value", None)
    if isinstance(known, int) and known >= 0:
        return place
    whole = Scalar("int64", True)
    from_the_end = build(operator.add, Apply(ops.length, (owner,), whole), place)
    if isinstance(known, int):
        return from_the_end
    return Apply(ops.ifexp, (build(operator.lt, place, literal(0)), from_the_end, place), whole)


def reverse(lw: Lowerer, owner: Var, node: Any) -> Value:
    """`items.reverse()`: the list gives way to `items[::-1]`."""
    backwards = lower_index(lw, V(owner), [Slice(None, None, literal(-1))], node)
    give_way(lw, owner, as_expr(lw, backwards, node), node)
    return StaticV(None)


def clear(lw: Lowerer, owner: Var, node: Any) -> Value:
    """`items.clear()`: the list gives way to an empty one."""
    kind = owner.type
    assert isinstance(kind, ListOf)
    item = growing.item_of_empty(lw, owner, node) if kind.item is None else kind.item
    give_way(lw, owner, growing.make(lw, lw.list_name(), item, node), node)
    return StaticV(None)


def sort(lw: Lowerer, owner: Var, kwargs: dict[str, Value], node: Any) -> bool:
    """`items.sort()`; False where the order cannot be found."""
    from s2sad.frontend.functional import lower_sorted

    ordered = lower_sorted(lw, [V(owner)], kwargs, node)
    if not isinstance(ordered, V):
        return False
    give_way(lw, owner, as_expr(lw, list_of(lw, ordered, node), node), node)
    return True


def hold(lw: Lowerer, target: Var) -> None:
    """A list that got its first item holds such items under every name."""
    for scope in scopes(lw):
        scope.env.update({key: _retyped(held, target) for key, held in scope.env.items()})


def _retyped(value: Value, target: Var) -> Value:
    """Return a value in which a list has the type that it has now."""
    match value:
        case V(Var(name)) if name == target.name:
            return V(target)
        case RowsV(_, _, items):
            return replace(value, items=tuple(_retyped(item, target) for item in items))
        case StructV(_, _, items) if any(isinstance(e, Var) and e.name == target.name for e in leaves_of(value)):
            return replace(value, items=tuple(_retyped(item, target) for item in items))
        case _:
            return value


def give_way(lw: Lowerer, owner: Var, new: Expr, node: Any) -> None:
    """Let the new list stand in the place of the old one, under every name that the old one has."""
    assert isinstance(new.type, ListOf)
    target = Var(owner.name, new.type)
    if not _is_seen_elsewhere(lw, owner):
        if isinstance(new, Var) and lw.instance is not None:
            lw.ctx.list_origins[id(lw.instance.fun), owner.name] = new.name
        lw.emit(Assign(target, new, lw.span(node)))
        hold(lw, target)
        return
    held = V(lw.atom(new, "items", lw.span(node)))
    kind = owner.type
    assert isinstance(kind, ListOf)
    target = target if kind.item is None else owner
    length = Apply(ops.length, (target,), Scalar("int64", True))
    assert new.type.item is not None
    pop = Effect(Apply(ops.pop, (target,), new.type.item), lw.span(node))
    emit_loop(lw, length, "i", lambda _: lw.emit(pop), node)
    hold(lw, target)
    append_all(lw, target, held, node)


def _is_seen_elsewhere(lw: Lowerer, owner: Var) -> bool:
    """Say whether the list may be the caller's, or one that another name of the program means."""
    from s2sad.frontend.functional import FOLDED

    if lw.instance is not None and owner.name in lw.instance.given:
        return True
    named = [value for scope in scopes(lw) for name, value in scope.env.items() if not name.startswith(FOLDED)]
    held = [leaf for value in named for leaf in leaves_of(value)]
    lists = [leaf for leaf in held if isinstance(leaf, Var) and isinstance(leaf.type, ListOf)]
    return any(leaf.name != owner.name and _may_be_one(leaf.type, owner.type) for leaf in lists)


def _may_be_one(a: Type, b: Type) -> bool:
    """Say whether two names can mean one list, by what it holds."""
    assert isinstance(a, ListOf)
    assert isinstance(b, ListOf)
    match a.item, b.item:
        case Scalar(x), Scalar(y):
            return x == y
        case Array(x, dims), Array(y, others):
            return x == y and len(dims) == len(others)
        case x, y:
            return x is None or y is None or type(x) is type(y)
