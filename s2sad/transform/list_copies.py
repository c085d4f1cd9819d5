"""A list that takes all items of another, which nothing has to do with afterwards, is that list.

    pairs = []                                    pairs = []
    for i in range(len(x)):                       for i in range(len(x)):
        pairs.append(x[i])         becomes            pairs.append(x[i])
    items = []                                    total += pairs[0]
    for k in range(len(pairs)):
        items.append(pairs[k])
    total += items[0]

What gives a list of its own does so for every list: `sorted`, `list`, `first, *rest = x`. So is a list that is made
to be given a name, `rest = items`. Needs: the first list is made in the same block, gets no other name, and is not
mentioned behind the copy; the second is bound once.
"""

from __future__ import annotations

import builtins
from dataclasses import replace

from s2sad.analysis.loops import makes_list
from s2sad.ir import ops
from s2sad.ir.nodes import Append, Apply, Assign, Comment, Expr, For, Function, Index, Stmt, Store, Swap, Var
from s2sad.ir.types import ListOf
from s2sad.ir.walk import (
    bound,
    exprs_of,
    is_const,
    map_blocks,
    map_exprs,
    reads,
    statements,
    subexpressions,
    substitute,
)


def without_list_copies(fn: Function) -> Function:
    """Return `fn` with one list in the place of two where the second is all of the first."""
    if not any(_copied(stmt) is not None for stmt in statements(fn.body)):
        return fn
    while (found := _first_copy(fn.body, fn)) is not None:
        fn = _joined(fn, *found)
    return fn


def _joined(fn: Function, copy: For | Assign, source: Var, target: Var) -> Function:
    """Return `fn` without a loop that copies `source` into `target`, or what gives it that name."""
    kept = target if _is_made_up(source, fn) and not _is_made_up(target, fn) else source
    other = target if kept is source else source

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(
            _renamed(map_blocks(stmt, block), other, kept) for stmt in body
            if stmt is not copy and not (makes_list(stmt) and bound(stmt) == (target.name,))
        )  # fmt: skip

    return replace(fn, body=block(fn.body))


def _is_made_up(name: Var, fn: Function) -> bool:
    """Say whether a list has a name that the user did not give it."""
    return name.name in fn.invented or name.name.partition("_")[0] == "items"


def _renamed(stmt: Stmt, old: Var, new: Var) -> Stmt:
    made = map_exprs(stmt, lambda expr: substitute(expr, {old.name: new}))
    if isinstance(made, Append) and made.list.name == old.name:
        return replace(made, list=new)
    if isinstance(made, Assign) and made.target.name == old.name:
        return replace(made, target=new)
    return made


def _first_copy(body: tuple[Stmt, ...], fn: Function) -> tuple[For | Assign, Var, Var] | None:
    for at, stmt in enumerate(body):
        lists = _copied(stmt)
        if lists is not None and _may_be_one(body, at, *lists, fn):
            assert isinstance(stmt, For | Assign)
            return (stmt, *lists)
        for block in (getattr(stmt, "body", ()), getattr(stmt, "orelse", ())):
            found = _first_copy(block, fn)
            if found is not None:
                return found
    return None


def _copied(loop: Stmt) -> tuple[Var, Var] | None:
    """Return the list whose items a loop appends one by one to another, or which gets a name, and that other."""
    match loop:
        case Assign(target, Var() as items) if isinstance(items.type, ListOf) and target.type == items.type:
            return items, target
        case For():
            pass
        case _:
            return None
    body = [stmt for stmt in loop.body if not isinstance(stmt, Comment)]
    items = _asked_for_length(loop.stop)
    if not isinstance(items, Var) or not is_const(loop.start, 0) or not is_const(loop.step, 1):
        return None
    match body:
        case [Append(target, value)]:
            pass
        case [Assign(item, value), Append(target, Var(read))] if read == item.name:
            pass
        case _:
            return None
    match value:
        case Index(Var(name), (Var(place),)) if name == items.name and place == loop.var.name:
            return (items, target) if isinstance(items.type, ListOf) and target.type == items.type else None
        case _:
            return None


def _asked_for_length(expr: object) -> Expr | None:
    """Return what the length of is asked, if that is what an expression does."""
    match expr:
        case Apply(fn, (asked,)) if fn in (ops.length, builtins.len):
            return asked
        case _:
            return None


def _may_be_one(body: tuple[Stmt, ...], at: int, source: Var, target: Var, fn: Function) -> bool:
    every, inside = list(statements(fn.body)), list(statements(body[: at + 1]))
    loop = body[at]
    own = {loop.var.name, *(name for stmt in loop.body for name in bound(stmt))} if isinstance(loop, For) else set()
    outside = [stmt for stmt in every if not any(stmt is one for one in statements((loop,)))]
    if any(own & {name for expr in exprs_of(stmt) for name in reads(expr)} for stmt in outside):
        return False
    made = [stmt for stmt in body[:at] if makes_list(stmt) and bound(stmt) == (source.name,)]
    begun = [stmt for stmt in body[:at] if makes_list(stmt) and bound(stmt) == (target.name,)]
    if len(made) != 1 or len(begun) != isinstance(loop, For) or source.name == target.name:
        return False
    if sum(source.name in bound(stmt) for stmt in every) != 1 or sum(target.name in bound(stmt) for stmt in every) != 1:
        return False
    before = {id(stmt) for stmt in inside}
    first, second = ([stmt for stmt in every if _mentions(stmt, name)] for name in (source.name, target.name))
    if not all(id(stmt) in before and (stmt is loop or _stands_alone(stmt, source.name)) for stmt in first):
        return False
    early = [stmt for stmt in second if id(stmt) in before and not any(stmt is one for one in begun)]
    return all(any(stmt is one for one in statements((loop,))) for stmt in early)


def _mentions(stmt: Stmt, name: str) -> bool:
    return name in bound(stmt) or any(name in reads(expr) for expr in exprs_of(stmt))


def _stands_alone(stmt: Stmt, name: str) -> bool:
    """Say whether a statement only makes a list, fills it, writes items or reads them: it gives it no second name."""
    if isinstance(stmt, Swap):
        return False
    if isinstance(stmt, Append | Store):
        parts = [stmt.value, *(stmt.place.index if isinstance(stmt, Store) and isinstance(stmt.place, Index) else ())]
        return all(_only_asked(part, name) for part in parts)
    return all(_only_asked(expr, name) for expr in exprs_of(stmt))


def _only_asked(expr: object, name: str) -> bool:
    """Say whether an expression reads items of a list, or its length, and is not the list."""
    parts = subexpressions(expr)  # type: ignore[arg-type]
    asked = 0
    for part in parts:
        if isinstance(part, Index) and isinstance(part.base, Var) and part.base.name == name:
            asked += not isinstance(part.type, ListOf)
        elif getattr(_asked_for_length(part), "name", "") == name:
            asked += 1
    return asked == sum(isinstance(part, Var) and part.name == name for part in parts)
