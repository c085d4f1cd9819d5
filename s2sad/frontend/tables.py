"""Loops over long lists of numbers, which are loops over an array instead of being written out turn by turn."""

from __future__ import annotations

from typing import Any

import gast
import numpy as np

from s2sad.frontend.indexing import lower_index
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import apply
from s2sad.frontend.values import V, Value, literal, pack
from s2sad.ir.nodes import Const, Var
from s2sad.ir.types import Scalar

_MAX_TURNS = 16
_MAX_WRITTEN = 40  # statements, of all turns of a loop over constants


def is_table(items: list[Value], node: Any) -> bool:
    """Say whether items are numbers of a list for which too much would be written out turn by turn."""
    count = sum(isinstance(part, gast.stmt) for inner in node.body for part in gast.walk(inner))
    is_long = len(items) > _MAX_TURNS or (len(items) > 2 and len(items) * (count + 1) > _MAX_WRITTEN)
    return is_long and not _writes_elements(node) and all(_is_of_a_table(item, node) for item in items)


def _is_of_a_table(item: Value, node: Any) -> bool:
    """Say whether an item is a number that stays what it is: of the text, or of a list that the body leaves alone."""
    match item:
        case V(Const(value=float())):
            return True
        case V(Var(_, kind)) if kind == Scalar("float64", weak=True) and isinstance(node.iter, gast.Name):
            return not any(
                isinstance(n, gast.Name) and n.id == node.iter.id for inner in node.body for n in gast.walk(inner)
            )
        case _:
            return False


def _writes_elements(node: Any) -> bool:
    """Say whether a loop writes elements, perhaps of what it goes over."""
    return any(isinstance(n, gast.Subscript) and isinstance(n.ctx, gast.Store) for n in gast.walk(node))


def over_a_table(lw: Lowerer, node: Any, items: list[Value]) -> bool:
    """A loop over constants, which are an array."""
    from s2sad.frontend.assignments import assign_target
    from s2sad.frontend.calls import call_function
    from s2sad.frontend.flow import run_counted

    display = pack("list", [i.expr for i in items if isinstance(i, V)])
    table = V(lw.atom(apply(lw, np.array, (display,), {}, node).expr, "table", lw.span(node)))
    counter = Var(lw.fresh("i"), Scalar("int64", weak=True))

    def enter() -> None:
        item = call_function(lw, float, [lower_index(lw, table, [counter], node)], {}, node)
        assign_target(lw, node.target, item, node)

    return run_counted(lw, node, counter, (literal(0), literal(len(items)), literal(1)), enter)
