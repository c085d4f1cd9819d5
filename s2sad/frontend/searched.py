"""Lists and tuples that are searched: `items.index(v)`, `items.count(v)`."""

from __future__ import annotations

from typing import Any

import gast

from s2sad.frontend.functional import bind_each, placed
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import Value

_INDEX = """
{found} = -1
for {place}, {item} in enumerate({items}):
    if {found} < 0 and {item} == {value}:
        {found} = {place}
if {found} < 0:
    raise ValueError("what is looked for is not in this list")
"""
_COUNT = """
{found} = 0
for {item} in {items}:
    if {item} == {value}:
        {found} += 1
"""
SEARCHES = {"index": _INDEX, "count": _COUNT}


def search(lw: Lowerer, name: str, items: Value, args: list[Value], node: Any) -> Value:
    """Return where, or how often, something equal to a value stands: a loop that compares, as Python's does."""
    from s2sad.frontend.statements import lower_block

    if len(args) != 1:
        return lw.fail(node, f"`{name}` takes one value here", "Search a part of it: `items[k:].index(v)`.")
    words = dict(zip(("items", "value"), bind_each(lw, [items, args[0]]), strict=True))
    words |= {word: lw.fresh(word) for word in ("found", "place", "item")}
    lower_block(lw, placed(gast.parse(SEARCHES[name].format(**words)).body, node))
    return lw.env[words["found"]]
