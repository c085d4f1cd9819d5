"""Iterators that have a name: they are used up by their first use, and read what they read only then."""

from __future__ import annotations

from typing import Any

import gast

from s2sad.frontend.lazily import is_behind
from s2sad.frontend.lowerer import Lowerer


def check_used_once(lw: Lowerer, name: str, value: Any, statement: Any) -> None:
    """A located error if an iterator that has a name is used twice, or reads what changes before it is used."""
    if not _is_iterator(value):
        return
    whole = lw.source.node
    behind = [n for n in gast.walk(whole) if isinstance(n, gast.Name) and is_behind(n, statement)]
    loads = [n for n in gast.walk(whole) if isinstance(n, gast.Name) and n.id == name and isinstance(n.ctx, gast.Load)]
    loops = [n for n in gast.walk(whole) if isinstance(n, gast.For | gast.While)]
    inside = [loop for loop in loops if any(load is n for load in loads for s in loop.body for n in gast.walk(s))]
    repeated = [loop for loop in inside if not any(n is statement for n in gast.walk(loop))]
    asked = [n for n in gast.walk(whole) if isinstance(n, gast.Call) and getattr(n.func, "id", "") == "next"]
    bare = isinstance(value, gast.Call) and getattr(value.func, "id", "") == "iter"
    if not bare and any(n.args and getattr(n.args[0], "id", "") == name for n in asked):
        lw.fail(statement, "what this iterator has yet to read may be written, or bound anew, between its uses",
                "Take the items from a list: `it = iter(list(…))`.")  # fmt: skip
    if len(loads) > 1 or repeated:
        lw.fail(statement, "an iterator is used up by its first use, and this one is used again",
                "Index what it goes over, or take parts of it: `x[0]`, `x[k]`, `x[1:]`." if bare
                else "Make it a list: `list(…)`, or a comprehension in brackets.")  # fmt: skip
    read = {n.id for n in gast.walk(value) if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Load)}
    last = max(((n.lineno, n.col_offset) for n in loads), default=(0, 0))
    if read & {n.id for n in behind if isinstance(n.ctx, gast.Store) and (n.lineno, n.col_offset) < last}:
        lw.fail(statement, "this iterator reads names that are bound again before it is used",
                "Make it a list: `list(…)`, or a comprehension in brackets.")  # fmt: skip


def _is_iterator(value: Any) -> bool:
    match value:
        case gast.GeneratorExp():
            return True
        case gast.Call(func=gast.Name(id="zip" | "enumerate" | "map" | "filter" | "reversed" | "iter")):
            return True
        case _:
            return False
