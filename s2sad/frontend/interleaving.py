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
