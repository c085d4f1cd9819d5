"""Generators: read as functions that build the list of what they yield.

That changes nothing but the order of the work, as long as the loop over the items does not write what the
generator still reads; such a loop, and a generator that never ends, are refused.
"""

from __future__ import annotations

import copy
from typing import Any

import gast

A_GENERATOR = (
    "`yield` cannot be differentiated",
    "A generator has no single result to differentiate.\n"
    "Return a list or an array, or give the function a rule with @custom_vjp.",
)
"""What is said of one that is differentiated itself, or that cannot be read as the list of its items."""
_YIELDS = (gast.Yield, gast.YieldFrom)


def is_generator(node: Any) -> bool:
    """Say whether a function yields."""
    return isinstance(node, gast.FunctionDef) and any(isinstance(n, _YIELDS) for s in node.body for n in _own(s))


def as_list_builder(node: Any) -> Any:
    """Return a function with every `yield` an `append`; the node itself where a `yield` is more than a statement."""
    if not is_generator(node) or not _is_plain(node):
        return node
    if hasattr(node, "list_builder"):
        return node.list_builder
    taken = {n.id for n in gast.walk(node) if isinstance(n, gast.Name)}
    name = "yielded"
    while name in taken:
        name += "_"
    made = copy.deepcopy(node)
    made.generator = True
    made.body = [*_parsed(f"{name} = []", made.body[0]), *_block(made.body, name)]
    made.body += _parsed(f"return {name}", made.body[-1])
    node.list_builder = made  # one text, one function
    return made


def is_list_builder(node: Any) -> bool:
    """Say whether a function was a generator."""
    return hasattr(node, "generator")


def _own(node: Any) -> list[Any]:
    """Return a piece of text and all in it, but for functions."""
    if isinstance(node, gast.FunctionDef | gast.Lambda):
        return []
    return [node, *(part for child in gast.iter_child_nodes(node) for part in _own(child))]


def _is_plain(node: Any) -> bool:
    parts = [part for s in node.body for part in _own(s)]
    statements = [p.value for p in parts if isinstance(p, gast.Expr) and isinstance(p.value, _YIELDS)]
    endless = [p for p in parts if isinstance(p, gast.While) and isinstance(p.test, gast.Constant) and p.test.value]
    leaves = all(any(isinstance(n, gast.Break | gast.Return) for n in _own(loop)) for loop in endless)
    return leaves and len(statements) == sum(isinstance(p, _YIELDS) for p in parts)


def _block(body: list[Any], name: str) -> list[Any]:
    return [made for statement in body for made in _statement(statement, name)]


def _statement(node: Any, name: str) -> list[Any]:
    match node:
        case gast.Expr(value=gast.Yield(value=value)):
            call = _parsed(f"{name}.append(None)", node)[0]
            call.value.yields = True
            if value is not None:
                call.value.args = [value]
            return [call]
        case gast.Expr(value=gast.YieldFrom(value=value)):
            loop = _parsed(f"for item in None:\n    {name}.append(item)", node)[0]
            loop.iter = value
            return [loop]
        case gast.Return():
            return _parsed(f"return {name}", node)
        case gast.FunctionDef():
            return [node]
        case _:
            for part in ("body", "orelse", "finalbody"):
                if isinstance(getattr(node, part, None), list):
                    setattr(node, part, _block(getattr(node, part), name))
            return [node]


def _parsed(text: str, place: Any) -> list[Any]:
    made = gast.parse(text).body
    for statement in made:
        for part in gast.walk(statement):
            gast.copy_location(part, place)
    return made
