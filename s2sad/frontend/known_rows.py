"""Lists of rows that a function returns, `C.append(row)`: of loops that can be written out, each item is known.

A list of lists has no derivative of its own, its items have. Where the loops that fill it cannot be written out, it
is a list of lists again.
"""

from __future__ import annotations

from typing import Any

import gast

from s2sad.frontend.keyed import KeyedFound
from s2sad.frontend.lowerer import Context, Lowerer
from s2sad.frontend.source import Source
from s2sad.frontend.values import Value, leaves_of

_MOST_ITEMS = 64


def begin_again(lw: Lowerer, returned: Any) -> None:
    """Lower the function again with the structure of what it returns known; return where that was tried."""
    if not lw.ctx.being_lowered or id(lw.source.node) in lw.ctx.rows_known:
        return
    entered, node = lw.ctx.being_lowered[-1], lw.source.node
    parts = returned.elts if isinstance(returned, gast.Tuple) else [returned]
    names = {part.id for part in parts if isinstance(part, gast.Name)}
    names |= {row for part in gast.walk(node) for row in _appended(part, names)}
    known = frozenset((id(node), name) for name in names) - lw.ctx.known_lists - lw.ctx.growing_names
    if known:
        lw.ctx.rows_known[id(node)] = id(entered.node), known
        lw.ctx.known_lists |= known
        raise KeyedFound(id(entered.node))


def check_few(lw: Lowerer, value: Value, node: Any) -> None:
    """Refuse to write out many items, for each of which there are statements."""
    if lw.ctx.rows_known.get(id(lw.source.node), (0, None))[0] and len(list(leaves_of(value))) > _MOST_ITEMS:
        lw.fail(node, "lists of lists have too many items to be known one by one", "Use an array of two axes.")


def _appended(part: Any, names: set[str]) -> list[str]:
    match part:
        case gast.Call(
            func=gast.Attribute(value=gast.Name(id=rows), attr="append"), args=[gast.Name(id=row)]
        ) if rows in names:
            return [row]
        case _:
            return []


def give_up(ctx: Context, source: Source) -> bool:
    """Lower a function with its lists as they were; False if they are."""
    tried = [(owner, known) for owner, (entered, known) in ctx.rows_known.items() if entered == id(source.node)]
    for owner, known in tried:
        ctx.rows_known[owner] = 0, frozenset()
        ctx.known_lists -= known
    return any(known for _, known in tried)
