"""Whether a function writes into what it got out of an expression: through a name, a loop's variable, an item."""

from __future__ import annotations

from typing import Any

import gast

_WRITING = ("fill", "put", "partition", "itemset")
_GIVE_NUMBERS = ("len", "range", "sum", "float", "int", "bool", "round")
"""Functions of which the result is no memory of what they are given."""


def is_written_through(function: Any, made: Any) -> bool:
    """Say whether the text of a function may write into an item of what the expression `made` in it gives."""
    if any(_root(store) is made for store in _stores(function)):
        return True
    names = _names_for(function, made)
    anew = _items_bound_anew(function, names)
    return any(getattr(_root(store), "id", "") in names and store not in anew for store in _stores(function))


def _items_bound_anew(function: Any, names: set[str]) -> list[Any]:
    """Return the places of `items[k] = value` where nothing else may mean the item that was there."""
    if len(names) != 1:
        return []
    found: list[Any] = []
    for part in gast.walk(function):
        match part:
            case gast.Subscript(value=gast.Name(id=name) as base, slice=place, ctx=gast.Store()) if name in names:
                if not isinstance(place, gast.Slice | gast.Tuple):
                    found.append(base)
            case gast.AugAssign(target=gast.Subscript(value=gast.Name() as base)):
                found = [place for place in found if place is not base]
            case _:
                pass
    return found


def _names_for(function: Any, made: Any) -> set[str]:
    """Return the names that may mean the result, or a part of it."""
    names = _sorted_itself(made)
    while True:
        found = {
            name
            for target, value in _bindings(function)
            if value is made or any(part is made or getattr(part, "id", "") in names for part in _handed(value))
            for name in _bound(target)
        }
        if found <= names:
            return names
        names |= found


def _sorted_itself(made: Any) -> set[str]:
    """Return the name of the list in `items.sort(key=...)`: its items are what the expression gives."""
    match made:
        case gast.Call(func=gast.Attribute(value=gast.Name(id=name), attr="sort")):
            return {name}
        case _:
            return set()


def _bindings(function: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    for part in gast.walk(function):
        match part:
            case gast.Assign(targets=targets, value=value):
                found += [(target, value) for target in targets]
            case gast.AnnAssign(target=target, value=value) | gast.NamedExpr(target=target, value=value):
                found += [(target, value)] if value is not None else []
            case gast.For(target=target, iter=value) | gast.comprehension(target=target, iter=value):
                found.append((target, value))
            case _:
                pass
    return found


def _handed(value: Any) -> list[Any]:
    """Return the parts of an expression whose memory its value may be: no operands of arithmetic."""
    match value:
        case gast.Subscript(value=base) | gast.Attribute(value=base) | gast.Starred(value=base):
            return [value, *_handed(base)]
        case gast.Call(func=gast.Name(id=name)) if name in _GIVE_NUMBERS:
            return [value]
        case gast.Call(func=func, args=args):
            held = _handed(func.value) if isinstance(func, gast.Attribute) else []
            return [value, *held, *(part for arg in args for part in _handed(arg))]
        case gast.Tuple(elts=parts) | gast.List(elts=parts):
            return [value, *(inner for part in parts for inner in _handed(part))]
        case gast.IfExp(body=body, orelse=orelse):
            return [value, *_handed(body), *_handed(orelse)]
        case _:
            return [value]


def _bound(target: Any) -> list[str]:
    return [n.id for n in gast.walk(target) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)]


def _stores(function: Any) -> list[Any]:
    """Return the places that are written into: items, names that are added to, what a method changes."""
    found: list[Any] = []
    for part in gast.walk(function):
        match part:
            case gast.Subscript(ctx=gast.Store()):
                found.append(part.value)
            case gast.AugAssign(target=target):
                found.append(target)
            case gast.Call(func=gast.Attribute(value=base, attr=attr)) if attr in _WRITING:
                found.append(base)
            case gast.keyword(arg="out", value=value):
                found.append(value)
            case gast.Expr(value=gast.Call(func=gast.Attribute(value=gast.Name(id="np" | "numpy")), args=given)):
                found += given  # one of them may be the `out` of the call
            case _:
                pass
    return found


def _root(place: Any) -> Any:
    while isinstance(place, gast.Subscript | gast.Attribute):
        place = place.value
    return place


__all__ = ["is_written_through"]
