"""Lists and tuples that are searched: `items.index(v)`, `items.count(v)`."""

from __future__ import annotations

from typing import Any

import gast

from s2sad.frontend.functional import bind_each, placed
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import apply
from s2sad.frontend.values import RowsV, StructV, V, Value, leaves_of
from s2sad.ir.nodes import Expr
from s2sad.ir.types import ListOf, Scalar
from s2sad.runtime.lists import place_of, place_of_pair, place_of_three

_MISSING = """
if {found} < 0:
    raise ValueError("what is looked for is not in this list")
"""
_INDEX = """
{found} = -1
for {place}, {item} in enumerate({items}):
    if {found} < 0 and {item} == {value}:
        {found} = {place}
""" + _MISSING
_COUNT = """
{found} = 0
for {item} in {items}:
    if {item} == {value}:
        {found} += 1
"""
SEARCHES = {"index": _INDEX, "count": _COUNT}


_PLACES: dict[int, Any] = {1: place_of, 2: place_of_pair, 3: place_of_three}


def place_in(lw: Lowerer, items: Value, value: Value, node: Any) -> Expr | None:
    """Return the first place of a number in a list of numbers, or of a tuple in a list of tuples; -1 where it is not.

    None where that takes a loop that is written here.
    """
    match items, value:
        case V(held), V(expr):
            lists, parts = [held], [expr]
        case RowsV("tuple"), StructV("tuple", _, given):
            lists, parts = leaves_of(items), [part.expr for part in given if isinstance(part, V)]
        case _:
            return None
    whole = all(isinstance(one.type, ListOf) and isinstance(one.type.item, Scalar) for one in lists)
    if not whole or len(lists) != len(parts) or len(parts) not in _PLACES:
        return None
    if not all(isinstance(part.type, Scalar) for part in parts):
        return None
    return apply(lw, _PLACES[len(parts)], (*lists, *parts), {}, node).expr


def search(lw: Lowerer, name: str, items: Value, args: list[Value], node: Any) -> Value:
    """Return where, or how often, something equal to a value stands: a loop that compares, as Python's does."""
    from s2sad.frontend.statements import lower_block

    if len(args) != 1:
        return lw.fail(node, f"`{name}` takes one value here", "Search a part of it: `items[k:].index(v)`.")
    place = place_in(lw, items, args[0], node) if name == "index" else None
    if place is not None:
        found = lw.atom(place, "place", lw.span(node))
        (word,) = bind_each(lw, [V(found)])
        lower_block(lw, placed(gast.parse(_MISSING.format(found=word)).body, node))
        return V(found)
    words = dict(zip(("items", "value"), bind_each(lw, [items, args[0]]), strict=True))
    words |= {word: lw.fresh(word) for word in ("found", "place", "item")}
    lower_block(lw, placed(gast.parse(SEARCHES[name].format(**words)).body, node))
    return lw.env[words["found"]]
