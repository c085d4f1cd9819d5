"""Lists whose length is known: their methods, and `del`. A list changes under all its names."""

from __future__ import annotations

from typing import Any

import gast

from s2sad.frontend import rows
from s2sad.frontend.arguments import UNKNOWN, known_value
from s2sad.frontend.containers import current, identified, rewrite, write_item
from s2sad.frontend.indexing import lower_index
from s2sad.frontend.iteration import static_items
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.optional import KindFound
from s2sad.frontend.values import RowsV, SliceV, StaticV, StructV, V, Value, literal
from s2sad.ir.types import Array


def known_list_method(
    lw: Lowerer, owner: StructV, name: str, args: list[Value], kwargs: dict[str, Value], node: Any
) -> Value:
    """Call a method of a list whose length is known."""
    now = list(current(lw, owner).items)
    if name in ("popleft", "appendleft"):
        name, args = {"popleft": "pop", "appendleft": "insert"}[name], [V(literal(0)), *args]
    if name == "pop" and not now:
        _build(lw, owner)
    known = [known_value(arg) for arg in args]
    gone: Value = StaticV(None)
    match name:
        case "append" if len(args) == 1:
            write_item(lw, owner, len(now), args[0], node)
            return gone
        case "extend" if len(args) == 1:
            extend(lw, owner, args[0], node)
            return gone
        case "pop" if now and all(isinstance(at, int) and -len(now) <= at < len(now) for at in known):
            gone = now.pop(*known)
        case "insert" if len(args) == 2 and isinstance(known[0], int):
            now.insert(known[0], lw.store_value(lw.fresh("item"), identified(args[1]), lw.span(node)))
        case "rotate" if now and isinstance(turns := known[0] if known else 1, int):
            now = now[-turns % len(now) :] + now[: -turns % len(now)]
        case "reverse" if not args:
            now.reverse()
        case "clear" if not args:
            now.clear()
        case "sort" if not args:
            now = _in_order(lw, owner, kwargs, node)
        case "remove" if isinstance(place := _place_of(now, known), int):
            del now[place]
        case "remove":
            _build(lw, owner)
            lw.fail(node, "which item `remove` finds is known only when the function runs",
                    "Take it out by its place, `items.pop(1)`, or build the list of the others.")  # fmt: skip
        case _:
            lw.fail(node, f"`{name}` of a list of {len(now)} items is not supported with these arguments",
                    "Places in a list must be known and inside it.")  # fmt: skip
    rewrite(lw, owner, tuple(range(len(now))), tuple(now), node)
    return gone


def _place_of(items: list[Value], known: list[Any]) -> int | None:
    """Return where a known text or number stands among such, None if that cannot be told."""
    values = [known_value(item) for item in items]
    told = len(known) == 1 and not any(value is UNKNOWN for value in [*known, *values])
    return values.index(known[0]) if told and known[0] in values else None


def extend(lw: Lowerer, owner: StructV, given: Value, node: Any) -> None:
    """`items.extend(given)`, `items += given`; by what has no known length the list is one that is built."""
    items = static_items(lw, given)
    if items is None and isinstance(given, V) and isinstance(given.expr.type, Array):
        count = given.expr.type.dims[0]
        items = [lower_index(lw, given, [literal(k)], node) for k in range(count)] if isinstance(count, int) else None
    if items is None:
        _build(lw, owner)
        lw.fail(node, "a list is extended here by items whose number is not known",
                "Begin it as a display in this function, as in `items = []`.")  # fmt: skip
    for item in items or ():
        write_item(lw, owner, len(current(lw, owner).keys), item, node)


def _build(lw: Lowerer, owner: StructV) -> None:
    """Lower the function again with this list as one that is built, if a display in it begins the list."""
    if owner.origin and owner.origin not in lw.ctx.growing_displays:
        lw.ctx.growing_displays.add(owner.origin)
        raise KindFound


def _in_order(lw: Lowerer, owner: StructV, kwargs: dict[str, Value], node: Any) -> list[Value]:
    """Return the items of a list, sorted."""
    from s2sad.frontend.functional import lower_sorted

    held = current(lw, owner)
    ordered = lower_sorted(lw, [held], kwargs, node)
    if isinstance(ordered, StructV):
        return list(ordered.items)
    places, span = [literal(k) for k in range(len(held.items))], lw.span(node)
    if isinstance(ordered, RowsV):
        return [lw.store_value(lw.fresh("item"), identified(rows.item(lw, ordered, k, node)), span) for k in places]
    assert isinstance(ordered, V)
    array = V(lw.atom(ordered.expr, "ordered", span))
    return [lw.store_value(lw.fresh("item"), lower_index(lw, array, [k], node), span) for k in places]


def delete(lw: Lowerer, node: Any) -> None:
    """`del items[1]`, `del d["a"]`."""
    from s2sad.frontend.expressions import lower_expr
    from s2sad.frontend.methods import call_method
    from s2sad.frontend.values import MethodV

    for target in node.targets:
        if isinstance(target, gast.Name) and target.id in lw.env:
            del lw.env[target.id]
            continue
        place = getattr(target, "slice", None)
        owner = None if place is None else lower_expr(lw, target.value)
        if owner is None:
            lw.fail(node, "this cannot be deleted in a differentiated function", "Leave it alone; it costs nothing.")
        assert owner is not None
        key = lower_expr(lw, place)
        if isinstance(owner, V) and isinstance(owner.expr.type, Array):
            lw.fail(node, "an array has no items to delete", "Make a new one: `x = np.delete(x, k)`.")
        if isinstance(owner, StructV) and owner.kind == "list" and isinstance(key, SliceV):
            _delete_slice(lw, owner, key, node)
        else:
            given = [] if known_value(key) == -1 else [key]  # the last item of a list that is built
            call_method(lw, MethodV(owner, "pop"), given, {}, node)


def _delete_slice(lw: Lowerer, owner: StructV, key: SliceV, node: Any) -> None:
    bounds = [None if part is None else known_value(part) for part in (key.lower, key.upper, key.step)]
    if any(bound is UNKNOWN for bound in bounds):
        lw.fail(node, "the bounds of what is deleted must be known", "Build the list of the others.")
    now = list(current(lw, owner).items)
    del now[slice(*bounds)]
    rewrite(lw, owner, tuple(range(len(now))), tuple(now), node)
