"""Target "cpu": items of a row of zeros that are added to one by one are set; the loop of zeros has the rest.

    for k in range(row.shape[0]):               for k in range(2, row.shape[0]):
        block[i, k] = 0.0                           block[i, k] = 0.0
    row[1] += a                      becomes    row[1] = a
    row[0] += b                                 row[0] = b
    row[1] += c                                 row[1] += c

Rows of a Jacobian by a few parameters are such: as long as the parameters are, the loop of zeros has no turn, and no
sum waits for what has just been stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from s2sad.analysis.facts import Facts
from s2sad.analysis.ordering import may_leave
from s2sad.analysis.sharing import Groups
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Comment, Const, Expr, For, Function, Index, Slice, Stmt, Store, Var
from s2sad.ir.shapes import SHAPES
from s2sad.ir.walk import bound, children, exprs_of, is_const, map_blocks, reads, statements
from s2sad.transform.algebra import negative

Place = tuple[str, tuple[Expr | Slice, ...]]


def with_items_set(fn: Function, facts: Facts) -> Function:
    """Return `fn` with such items set."""
    groups = Groups(fn, facts)

    def block(body: tuple[Stmt, ...], known: Mapping[str, Place]) -> tuple[Stmt, ...]:
        views = dict(known)
        made: list[Stmt] = []
        zeros: list[tuple[int, Var]] = []
        for stmt in body:
            changed = {n for s in statements((stmt,)) for n in bound(s)}
            views = {n: place for n, place in views.items() if n not in changed and not changed & _names(place)}
            inside = views
            made.append(map_blocks(stmt, lambda part, inside=inside: block(part, inside)))
            if isinstance(stmt, Assign) and isinstance(stmt.value, Index):
                place = _place(stmt.value, views)
                if place is not None and stmt.target.name not in _names(place):
                    views[stmt.target.name] = place
            elif isinstance(stmt, For) and (row := _row_of_zeros(stmt, views)) is not None:
                zeros.append((len(made) - 1, row))
        for at, row in reversed(zeros):
            made[at:] = _set(made[at:], row, groups)
        return tuple(made)

    return replace(fn, body=block(fn.body, {}))


def _place(part: Index, views: Mapping[str, Place]) -> Place | None:
    """Return the array of which a row, or an item, is a part, and where."""
    if not isinstance(part.base, Var) or any(isinstance(item, Slice) for item in part.index):
        return None
    root, before = views.get(part.base.name, (part.base.name, ()))
    return root, (*before, *part.index)


def _names(place: Place) -> set[str]:
    return {place[0]} | {n for item in place[1] for n in reads(item)}


def _row_of_zeros(loop: For, views: Mapping[str, Place]) -> Var | None:
    """Return the row of which a loop sets every item to zero."""
    stores = [s for s in loop.body if not isinstance(s, Comment)]
    if not (is_const(loop.start, 0) and is_const(loop.step, 1) and len(stores) == 1):
        return None
    match loop.stop, stores[0]:
        case Apply(fn, (Var() as row, Const(0))), Store(Index() as item, "", value) if fn is ops.dim:
            place = _place(item, views)
            whole = views.get(row.name, (row.name, ()))
            return row if is_const(value, 0) and place == (whole[0], (*whole[1], loop.var)) else None
        case _:
            return None


def _set(body: Sequence[Stmt], row: Var, groups: Groups) -> list[Stmt]:
    """Return a block that begins with a row's zeros, with what is added to the row's items first set."""
    loop = body[0]
    assert isinstance(loop, For)
    store = next(s for s in loop.body if isinstance(s, Store))
    there = groups.find(row.name)
    first: set[int] = set()  # items that are set, on every path: the row is as long as that
    others: set[int] = set()
    made: list[Stmt] = []
    for stmt in body[1:]:
        found = _items(stmt, row, groups)
        if found is None:
            break
        if _adds_to_item(stmt) and found - first - others and len(_uses(stmt, there, groups)) == 1:
            assert isinstance(stmt, Store)
            made.append(replace(stmt, op="", value=negative(stmt.value) if stmt.op == "-" else stmt.value))
            first |= found
        else:
            made.append(stmt)
            others |= found - first
        if may_leave(stmt):
            break
    zero = set(range(max(first, default=0))) - first
    if len(first) < 2 or len(zero) > len(first):
        return list(body)
    rest = replace(loop, start=literal(max(first) + 1))
    assert isinstance(store.place, Index)
    none = [
        replace(store, place=replace(store.place, index=(*store.place.index[:-1], literal(k)))) for k in sorted(zero)
    ]
    return [*none, rest, *made, *body[1 + len(made) :]]


def _adds_to_item(stmt: Stmt) -> bool:
    return isinstance(stmt, Store) and stmt.op in ("+", "-") and isinstance(stmt.place, Index)


def _items(stmt: Stmt, row: Var, groups: Groups) -> set[int] | None:
    """Return the items of a row that a statement meets; None if it may meet others, or the array that it is part of."""
    there = groups.find(row.name)
    if any(groups.find(name) == there for s in statements((stmt,)) for name in bound(s)):
        return None
    found: set[int] = set()
    for use in _uses(stmt, there, groups):
        match use:
            case Index(Var(name), (Const(int() as at),)) if name == row.name and at >= 0:
                found.add(at)
            case _:
                return None
    return found


def _uses(stmt: Stmt, there: str, groups: Groups) -> list[Any]:
    """List where names of a group of arrays stand in a statement, with the item that is taken, if one is."""
    found: list[Any] = []

    def visit(expr: Any) -> None:
        if isinstance(expr, Index) and isinstance(expr.base, Var) and groups.find(expr.base.name) == there:
            found.append(expr)
            for item in expr.index:
                visit(item)
        elif isinstance(expr, Var):
            found.extend([expr] * (groups.find(expr.name) == there))
        elif not (isinstance(expr, Apply) and expr.fn in SHAPES and isinstance(expr.args[0], Var)):
            for child in children(expr):
                visit(child)

    for one in statements((stmt,)):
        for expr in exprs_of(one):
            visit(expr)
    return found


__all__ = ["with_items_set"]
