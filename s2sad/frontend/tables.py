"""Loops over long lists of numbers, or of tuples of numbers: over an array for each, not written out turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gast
import numpy as np

from s2sad.frontend.indexing import lower_index
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import apply
from s2sad.frontend.values import StructV, V, Value, leaves_of, literal, pack, type_of
from s2sad.ir.nodes import Const, Expr, Var
from s2sad.ir.types import Scalar

_MAX_TURNS = 16
_MAX_WRITTEN = 40  # statements, of all turns of a loop over constants


def is_table(items: list[Value], node: Any) -> bool:
    """Say whether items are numbers of a list, or tuples, for which too much would be written out turn by turn."""
    count = sum(isinstance(part, gast.stmt) for inner in node.body for part in gast.walk(inner))
    is_long = len(items) > _MAX_TURNS or (len(items) > 2 and len(items) * (count + 1) > _MAX_WRITTEN)
    if not is_long:
        return False
    if _columns(items) is not None:
        return True
    return not _writes_elements(node) and all(_is_of_a_table(item, node) for item in items)


def _columns(items: list[Value]) -> list[list[Any]] | None:
    """Return the numbers of tuples of constants, place by place: `(0, 1), (1, 2)`; None of anything else."""
    if not all(isinstance(item, StructV) and item.kind == "tuple" for item in items):
        return None
    kinds = {_form(item) for item in items}
    leaves = [leaves_of(item) for item in items]
    if len(kinds) > 1 or not all(isinstance(leaf, Const) for row in leaves for leaf in row):
        return None
    columns = [[leaf.value for leaf in column if isinstance(leaf, Const)] for column in zip(*leaves, strict=True)]
    alike = all({type(value) for value in column} in ({int}, {float}) for column in columns)
    return columns if alike and columns else None


def _form(item: Value) -> Any:
    """Return how a tuple is made up; what is no number in it counts as it is."""
    match item:
        case StructV("tuple", keys, items):
            return keys, tuple(_form(part) for part in items)
        case V():
            return None
        case _:
            return type_of(item)


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
    """A loop over constants, which are an array; of tuples there is one for each place."""
    from s2sad.frontend.assignments import assign_target
    from s2sad.frontend.flow import run_counted

    counter = Var(lw.fresh("i"), Scalar("int64", weak=True))
    columns = _columns(items)
    if columns is None:
        item = _looked_up(lw, [i.expr for i in items if isinstance(i, V)], float, counter, node)
    else:
        parts = [_place_in(lw, column, counter, node) for column in columns]

        def item() -> Value:
            left = iter([part() for part in parts])
            return _with_leaves(items[0], left)

    def enter() -> None:
        assign_target(lw, node.target, item(), node)

    return run_counted(lw, node, counter, (literal(0), literal(len(items)), literal(1)), enter)


def _place_in(lw: Lowerer, column: list[Any], counter: Var, node: Any) -> Callable[[], Value]:
    if column == list(range(len(column))):
        return lambda: V(counter)
    return _looked_up(lw, [literal(value) for value in column], type(column[0]), counter, node)


def _looked_up(lw: Lowerer, numbers: list[Expr], kind: type, counter: Var, node: Any) -> Callable[[], Value]:
    """Make a table of numbers, and return what looks up the one whose turn it is."""
    from s2sad.frontend.calls import call_function

    table = V(lw.atom(apply(lw, np.array, (pack("list", numbers),), {}, node).expr, "table", lw.span(node)))
    return lambda: call_function(lw, kind, [lower_index(lw, table, [counter], node)], {}, node)


def _with_leaves(item: Value, leaves: Iterator[Value]) -> Value:
    match item:
        case StructV(kind, keys, items):
            return StructV(kind, keys, tuple(_with_leaves(part, leaves) for part in items))
        case V():
            return next(leaves)
        case _:
            return item
