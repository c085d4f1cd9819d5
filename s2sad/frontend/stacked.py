"""Rows that are stacked below a first one: `path = x`, then `path = np.vstack((path, x))` in a loop.

The name is an array of one axis before the loop and of two from its first turn on. It has two from the start here, as
`np.vstack` would give it; that the loop had a turn is tested behind it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import gast
import numpy as np

from s2sad.errors import UnsupportedSyntaxError
from s2sad.frontend.jumps import own
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import apply, build
from s2sad.frontend.values import V, literal
from s2sad.ir import ops
from s2sad.ir.nodes import Expr
from s2sad.ir.shapes import refused_if
from s2sad.ir.types import Array

_NO_TURN = "a loop takes no turn, and what has one axis before it would have two behind it"


def begun_with_a_row(lw: Lowerer, node: Any, lower: Callable[[Lowerer, Any], bool]) -> bool:
    """Lower a loop; where rows are stacked in it below an array of one axis, that has two before it."""
    names = [name for name in _stacked(lw, node) if _rank(lw, name) == 1]
    if not names:
        return lower(lw, node)
    mark = lw.mark()
    try:
        return lower(lw, node)
    except UnsupportedSyntaxError as refusal:
        if not any(f"`{name}`" in refusal.what for name in names):
            raise
    lw.back_to(mark)
    for name in names:
        held = lw.env[name]
        assert isinstance(held, V)
        lw.bind(name, apply(lw, np.atleast_2d, (held.expr,), {}, node), lw.span(node))
    jumps = lower(lw, node)
    for name in names if not jumps else ():
        rows = lw.env[name]
        if isinstance(rows, V) and isinstance(rows.expr.type, Array):
            lw.emit(refused_if(build(operator.lt, _length(rows.expr), literal(2)), lw.span(node), _NO_TURN))
    return jumps


def _length(rows: Expr) -> Expr:
    return build(ops.dim, rows, literal(0))


def _rank(lw: Lowerer, name: str) -> int | None:
    held = lw.env.get(name)
    return len(held.expr.type.dims) if isinstance(held, V) and isinstance(held.expr.type, Array) else None


def _stacked(lw: Lowerer, node: Any) -> list[str]:
    """Return the names that a loop reads only to stack a row below them, in every turn."""
    found: list[str] = []
    for stmt in node.body:
        match stmt:
            case gast.Assign(
                targets=[gast.Name(id=name)],
                value=gast.Call(
                    func=gast.Attribute(value=gast.Name(id=module), attr="vstack"),
                    args=[gast.Tuple(elts=[gast.Name(id=first), *_]) | gast.List(elts=[gast.Name(id=first), *_])],
                    keywords=[],
                ),
            ) if name == first and lw.source.knows(module) and lw.source.resolve(module) is np:
                uses = [part for part in own([node]) if isinstance(part, gast.Name) and part.id == name]
                if len(uses) == 2:
                    found.append(name)
            case _:
                pass
    return found
