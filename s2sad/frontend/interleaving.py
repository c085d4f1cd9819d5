"""Loops over generators, whose items are made before the loop begins: the loop must not change their origin."""

from __future__ import annotations

from typing import Any

import gast

from s2sad.frontend.generators import is_list_builder
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.source import has_source, source_of
from s2sad.frontend.values import FuncV, StaticV, V, leaves_of
from s2sad.ir.walk import reads


def check_independent(lw: Lowerer, loop: Any) -> None:
    """A located error if the body of a loop writes what a generator that it runs over still reads."""
    for call in (n for n in gast.walk(loop.iter) if isinstance(n, gast.Call) and isinstance(n.func, gast.Name)):
        generator, around = _called(lw, call.func.id)
        if generator is None:
            continue
        seen = {n.id for n in gast.walk(call) if isinstance(n, gast.Name)}
        if around:
            seen |= {n.id for n in gast.walk(generator) if isinstance(n, gast.Name)}
        seen_arrays = _variables(lw, seen)
        changed = _changed(loop)
        if changed & seen or _variables(lw, changed) & seen_arrays:
            lw.fail(loop, "this loop writes what the generator that it runs over still reads",
                    "Make the items first, as in `for item in list(…)`, and loop over those.")  # fmt: skip


def check_used_once(lw: Lowerer, name: str, value: Any, statement: Any) -> None:
    """A located error if an iterator that has a name is used twice, or reads what changes before it is used."""
    if not _is_iterator(lw, value):
        return
    whole = lw.source.node
    behind = [n for n in gast.walk(whole) if isinstance(n, gast.Name) and n.lineno > statement.lineno]
    loads = [n for n in gast.walk(whole) if isinstance(n, gast.Name) and n.id == name and isinstance(n.ctx, gast.Load)]
    loops = [n for n in gast.walk(whole) if isinstance(n, gast.For | gast.While)]
    inside = [loop for loop in loops if any(load is n for load in loads for s in loop.body for n in gast.walk(s))]
    repeated = [loop for loop in inside if not any(n is statement for n in gast.walk(loop))]
    if len(loads) > 1 or repeated:
        lw.fail(statement, "an iterator is used up by its first use, and this one is used again",
                "Make it a list: `list(…)`, or a comprehension in brackets.")  # fmt: skip
    read = {n.id for n in gast.walk(value) if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Load)}
    if read & {n.id for n in behind if isinstance(n.ctx, gast.Store)}:
        lw.fail(statement, "this iterator reads names that are bound again before it is used",
                "Make it a list: `list(…)`, or a comprehension in brackets.")  # fmt: skip


def _is_iterator(lw: Lowerer, value: Any) -> bool:
    match value:
        case gast.GeneratorExp():
            return True
        case gast.Call(func=gast.Name(id="zip" | "enumerate" | "map" | "filter" | "reversed" | "iter")):
            return True
        case gast.Call(func=gast.Name(id=name)):
            return _called(lw, name)[0] is not None
        case _:
            return False


def _called(lw: Lowerer, name: str) -> tuple[Any, bool]:
    """Return the text of the generator that a name means, if it does, and whether it sees this function's names."""
    value = lw.env.get(name)
    if isinstance(value, FuncV):
        return (value.node, True) if is_list_builder(value.node) else (None, False)
    if value is None and name not in lw.source.local_names and lw.source.knows(name):
        value = StaticV(lw.source.resolve(name))
    if isinstance(value, StaticV) and has_source(value.value) and not hasattr(value.value, "s2sad_kind"):
        node = source_of(value.value).node
        return (node, False) if is_list_builder(node) else (None, False)
    return None, False


def _changed(loop: Any) -> set[str]:
    """Return the names that the body of a loop binds, or writes into."""
    found: set[str] = set()
    for n in (part for s in loop.body for part in gast.walk(s)):
        match n:
            case gast.Name(id=name, ctx=gast.Store()):
                found.add(name)
            case gast.Subscript(ctx=gast.Store()) | gast.Attribute(ctx=gast.Store()):
                place: Any = n
                while isinstance(place, gast.Subscript | gast.Attribute):
                    place = place.value
                found |= {place.id} if isinstance(place, gast.Name) else set()
            case gast.Call(func=gast.Attribute(value=gast.Name(id=name))):
                found.add(name)
            case gast.Call(args=args):
                found |= {a.id for a in args if isinstance(a, gast.Name)}
            case _:
                pass
    return found


def _variables(lw: Lowerer, names: set[str]) -> set[str]:
    held = [lw.env[name] for name in names if name in lw.env]
    return {n for value in held if isinstance(value, V) for leaf in leaves_of(value) for n in reads(leaf)}
