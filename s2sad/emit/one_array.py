"""Target "cpu": what a loop makes of an array that is read for the last time there stays in that array.

    exp = np.empty_like(x)                           x_bar = np.empty_like(x)
    for i in range(n):                               for i in range(n):
        exp[i] = np.exp(x[i] - largest)                  x_bar[i] = np.exp(x[i] - largest)
        total += exp[i]                                  total += x_bar[i]
    x_bar = np.empty_like(x)             becomes     for i in range(n):
    for i in range(n):                                   x_bar[i] = x_bar[i] / total
        x_bar[i] = exp[i] / total                        x_bar[i] /= total

Memory that is asked for, and written for the first time, costs more than the arithmetic. An array of the user's
keeps its name: `x_bar = weights` stands in the place of the new one.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.analysis.facts import Facts
from s2sad.analysis.sharing import Groups
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, CallStmt, Expr, For, Function, Index, Return, Slice, Stmt, Store, Var
from s2sad.ir.types import Array
from s2sad.ir.walk import (
    blocks_of,
    bound,
    children,
    exprs_of,
    map_blocks,
    map_exprs,
    names_in,
    reads,
    statements,
    substitute,
)
from s2sad.transform.filled import covers, loops_over

_SYMBOLS = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/"}
_EMPTY = (np.empty, np.empty_like)
_MADE = (*_EMPTY, np.zeros, np.zeros_like, np.copy)


def in_one_array(fn: Function, facts: Facts, user: frozenset[str]) -> Function:
    """Return `fn` with such arrays as one; those named in `user` are the user's."""
    while (better := _once(fn, facts, user)) is not None:
        fn = better
    return fn


def _once(fn: Function, facts: Facts, user: frozenset[str]) -> Function | None:
    made: dict[str, int] = {}
    for at, stmt in enumerate(fn.body):
        if isinstance(stmt, Assign) and isinstance(stmt.value, Apply) and stmt.value.fn in _MADE:
            made[stmt.target.name] = at
    if len(made) < 2:
        return None
    groups = Groups(fn, facts)
    every = [name for s in statements(fn.body) for name in bound(s)]
    apart = set(made) - {p.name for p in fn.params} - set(groups.parent) - set(groups.parent.values())
    apart = {name for name in apart if every.count(name) == 1}
    for name in sorted(apart, key=made.__getitem__):
        creation = fn.body[made[name]]
        assert isinstance(creation, Assign) and isinstance(creation.value, Apply)
        if creation.value.fn not in _EMPTY:
            continue
        loop_at = next((k for k in range(made[name] + 1, len(fn.body)) if name in names_in((fn.body[k],))), None)
        loop = fn.body[loop_at] if loop_at is not None else None
        if loop_at is None or not isinstance(loop, For) or not _sets_all(loop, creation.target):
            continue
        for old in sorted(apart - {name}, key=made.__getitem__):
            kept = fn.body[made[old]]
            assert isinstance(kept, Assign)
            if made[old] < loop_at and _alike(kept.target, creation.target) and _ends_in(fn.body, loop_at, old, name):
                return _joined(fn, made[name], kept.target, creation, old in user)
    return None


def _joined(fn: Function, at: int, old: Var, creation: Assign, named: bool) -> Function:
    new = creation.target
    if named:
        alias = replace(creation, value=old)
        return replace(fn, body=(*fn.body[:at], alias, *fn.body[at + 1 :]))

    def renamed(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Assign) and stmt.target.name == old.name:
            stmt = replace(stmt, target=new)
        stmt = _in_place(map_exprs(stmt, lambda e: substitute(e, {old.name: new})))
        return map_blocks(stmt, lambda body: tuple(renamed(s) for s in body))

    return replace(fn, body=tuple(renamed(s) for k, s in enumerate(fn.body) if k != at))


def _in_place(stmt: Stmt) -> Stmt:
    """Return `x *= c` for `x = x * c`."""
    match stmt:
        case Store(place, "", Apply(fn, (first, second))) if fn in _SYMBOLS:
            if first == place and not reads(second) & reads(place):
                return replace(stmt, op=_SYMBOLS[fn], value=second)
            if second == place and fn in (operator.mul, operator.add) and not reads(first) & reads(place):
                return replace(stmt, op=_SYMBOLS[fn], value=first)
            return stmt
        case _:
            return stmt


def _alike(old: Var, new: Var) -> bool:
    a, b = old.type, new.type
    return isinstance(a, Array) and isinstance(b, Array) and a == b and a.layout == "C" and len(a.dims) > 0


def _sets_all(loop: For, array: Var) -> bool:
    """Say whether a nest meets an array at the element of its turn alone, and sets it first."""
    kind = array.type
    loops = loops_over(loop, kind) if isinstance(kind, Array) else None
    if loops is None or not isinstance(kind, Array):
        return False
    if not all(covers(one, dim) for one, dim in zip(loops, kind.dims, strict=True)):
        return False
    index = tuple(one.var for one in loops)
    inner = loops[-1].body
    first = next((s for s in inner if array.name in names_in((s,))), None)
    sets = isinstance(first, Store) and not first.op and array.name not in reads(first.value)
    return sets and _meets_own(loop, array.name, index)


def _meets_own(stmt: Stmt, name: str, index: tuple[Expr, ...]) -> bool:
    """Say whether a statement meets an array at one index alone."""

    def each(expr: Expr | Slice) -> bool:
        if isinstance(expr, Index) and isinstance(expr.base, Var) and expr.base.name == name:
            return expr.index == index
        return not (isinstance(expr, Var) and expr.name == name) and all(each(part) for part in children(expr))

    whole = all(each(e) for s in statements((stmt,)) for e in exprs_of(s))
    return whole and not any(isinstance(s, CallStmt | Return) and name in names_in((s,)) for s in statements((stmt,)))


def _ends_in(body: tuple[Stmt, ...], at: int, old: str, new: str) -> bool:
    """Say whether an array is read for the last time by a loop, in each turn before the new element is set."""
    loop = body[at]
    assert isinstance(loop, For)
    if old not in names_in((loop,)) or any(old in _used(s) for s in body[at + 1 :]):
        return False
    nest, inner = [loop], loop.body
    while True:
        deeper = [s for s in inner if isinstance(s, For) and new in names_in((s,))]
        if not deeper:
            break
        nest, inner = [*nest, deeper[0]], deeper[0].body
    if not _meets_own(loop, old, tuple(one.var for one in nest)):
        return False
    if any(isinstance(s, Store) and _is_part(s.place, old) for s in statements(loop.body)):
        return False
    if any(old in names_in((s,)) for s in _outside(loop, nest[-1])):
        return False
    first = next(k for k, s in enumerate(inner) if new in names_in((s,)))
    return not any(old in names_in((s,)) for s in inner[first + 1 :])


def _outside(loop: For, innermost: For) -> list[Stmt]:
    """Return the statements of a nest that stand outside its innermost loop."""
    found: list[Stmt] = []
    for stmt in loop.body:
        if stmt is innermost or loop is innermost:
            continue
        if isinstance(stmt, For) and any(s is innermost for s in statements((stmt,))):
            found += _outside(stmt, innermost)
        else:
            found.append(stmt)
    return found


def _is_part(place: Expr, name: str) -> bool:
    return name in reads(place) and isinstance(place, Index)


def _used(stmt: Stmt) -> set[str]:
    """Return the names that a statement and those in it use for more than a length."""

    def names(expr: Any) -> set[str]:
        if isinstance(expr, Apply) and expr.fn in (ops.dim, ops.size, ops.length):
            return set()
        if isinstance(expr, Var):
            return {expr.name}
        return set[str]().union(*(names(part) for part in children(expr)))

    own = {name for e in exprs_of(stmt) for name in names(e)} | set(bound(stmt))
    return own.union(*(_used(s) for block in blocks_of(stmt) for s in block))


__all__ = ["in_one_array"]
