"""`nonlocal` in a function that is written in place of its calls: the name is rebound when the call ends.

Inside, the name is a local of its own, so that arguments keep the value that they had at the call.
"""

from __future__ import annotations

from typing import Any

import gast

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.order import settled
from s2sad.frontend.values import FuncV, StaticV, StructV, V, Value
from s2sad.ir.types import Scalar

_OTHERWISE = "Pass the value in and return it."


def rebound_outside(lw: Lowerer, fn: FuncV, body: list[Any]) -> tuple[tuple[str, ...], list[Any]]:
    """Return the outer names that an inner function binds, and its body without the declarations of them.

    They are numbers of the function that calls it, which also defined it: what other functions see of them, and
    what a loop fixes at its head, would not be followed.
    """
    declared = {name: s for s in body if isinstance(s, gast.Nonlocal) for name in s.names}
    for name, statement in declared.items():
        reason = _why_not(lw, fn, body, name)
        if reason:
            inner = Lowerer(lw.ctx, fn.source, {}, [], set())
            inner.fail(statement, f"`nonlocal {name}` cannot be followed here: {reason}", _OTHERWISE)
    return tuple(declared), [s for s in body if not isinstance(s, gast.Nonlocal)]


def rebind(lw: Lowerer, inner: Lowerer, names: tuple[str, ...], result: Value, node: Any) -> Value:
    """Bind outer names to what a call left in them; return its result as it was before that."""
    if names and not all(isinstance(leaf, V | StaticV) for leaf in _leaves(result)):
        lw.fail(node, "a function that binds `nonlocal` names must return numbers or arrays", _OTHERWISE)
    start = len(lw.block)
    for name in names:
        lw.bind(name, inner.env[name], lw.span(node))
    return settled(lw, result, start, node)


def _leaves(value: Value) -> list[Value]:
    return [leaf for item in value.items for leaf in _leaves(item)] if isinstance(value, StructV) else [value]


def _why_not(lw: Lowerer, fn: FuncV, body: list[Any], name: str) -> str:
    value = lw.env.get(name)
    if fn.owner is not lw:
        return "the function is called by another than the one that defines it"
    if not (isinstance(value, V) and isinstance(value.expr.type, Scalar)):
        return "the name means no number before the call"
    if not _binds(_around(fn), name):
        return "the name belongs to a function further out"
    used = {n.id for s in body for n in gast.walk(s) if isinstance(n, gast.Name)}
    if any(isinstance(lw.env.get(other), FuncV) for other in used):
        return "the function uses other inner functions, which may read the name"
    if _fixed_by_a_loop(lw.source.node, name):
        return "it stands in what a loop runs over"
    return ""


def _around(fn: FuncV) -> Any:
    """Return the function in whose body another is defined: the last to begin of those that hold it."""
    holders = [
        n for n in gast.walk(fn.source.node)
        if isinstance(n, gast.FunctionDef | gast.Lambda) and not _is_at(n, fn.node)
        and any(_is_at(inner, fn.node) for inner in gast.walk(n))
    ]  # fmt: skip
    return max(holders, key=lambda n: (n.lineno, n.col_offset), default=None)


def _is_at(node: Any, other: Any) -> bool:
    """Say whether two nodes are one function of the text; it may have been rewritten since."""
    at = (getattr(node, "lineno", None), getattr(node, "col_offset", None))
    return type(node) is type(other) and at == (other.lineno, other.col_offset)


def _binds(node: Any, name: str) -> bool:
    """Say whether a name is a parameter of a function, or bound in its body, `nonlocal` or not."""
    waiting: list[Any] = [] if node is None else [node.args, *node.body]
    while waiting:
        part = waiting.pop()
        if isinstance(part, gast.Name) and part.id == name and not isinstance(part.ctx, gast.Load):
            return True
        if not isinstance(part, gast.FunctionDef | gast.Lambda):
            waiting += gast.iter_child_nodes(part)
    return False


def _fixed_by_a_loop(node: Any, name: str) -> bool:
    """Say whether a name is in what a loop goes through, or counts: that is looked at once."""
    loops = [n for n in gast.walk(node) if isinstance(n, gast.For | gast.comprehension)]
    heads = [part for loop in loops for part in (loop.target, loop.iter)]
    return any(isinstance(n, gast.Name) and n.id == name for head in heads for n in gast.walk(head))


__all__ = ["rebind", "rebound_outside"]
