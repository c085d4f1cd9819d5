"""Temporaries used once go back into the expression that uses them; copies of names are followed.

    t = k * g
    x_bar = x_bar + t * y        becomes        x_bar = x_bar + k * g * y

Numba fuses whole expressions; flattened ones cost 4 to 12 times as much. Only names that the
compiler made are moved; the user's stay. Nothing is moved past a statement that changes what it reads.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

from s2sad.analysis.alias import view_base
from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.sharing import Groups
from s2sad.ir import ops
from s2sad.ir.device import is_barrier
from s2sad.ir.draws import draws
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    CallStmt,
    Comment,
    Const,
    Effect,
    Expr,
    For,
    Function,
    If,
    Index,
    Pack,
    Stmt,
    Store,
    Swap,
    Var,
    While,
)
from s2sad.ir.types import Array, ListOf, Scalar
from s2sad.ir.walk import (
    blocks_of,
    bound,
    exprs_of,
    map_blocks,
    map_exprs,
    reads,
    statements,
    subexpressions,
    substitute,
)

_LARGEST = 16


def nested(fn: Function, facts: Facts, keep: frozenset[str]) -> Function:
    """Return `fn` with single-use temporaries substituted; names in `keep` are the user's."""
    while True:
        counts = _occurrences(fn)
        nest = _Nest(counts, facts, keep, Groups(fn, facts))
        body = nest.block(fn.body)
        if not nest.changed:
            return fn
        fn = replace(fn, body=body)


def _occurrences(fn: Function) -> dict[str, int]:
    counts: dict[str, int] = {}
    for stmt in statements(fn.body):
        for expr in exprs_of(stmt):
            for part in subexpressions(expr):
                if isinstance(part, Var):
                    counts[part.name] = counts.get(part.name, 0) + 1
        for name in bound(stmt):
            counts[f"={name}"] = counts.get(f"={name}", 0) + 1
    return counts


class _Nest:
    def __init__(self, counts: dict[str, int], facts: Facts, keep: frozenset[str], groups: Groups) -> None:
        self.counts, self.facts, self.keep, self.groups = counts, facts, keep, groups
        self.changed = False

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        work = list(body)
        position = 0
        while position < len(work):
            stmt = work[position]
            if isinstance(stmt, Assign) and self._movable(stmt):
                at = self._destination(stmt, work, position)
                if at is not None:
                    work[at] = map_exprs(work[at], lambda e, s=stmt: substitute(e, {s.target.name: s.value}))
                    del work[position]
                    self.changed = True
                    continue
            position += 1
        return tuple(map_blocks(s, self.block) for s in work)

    def _movable(self, stmt: Assign) -> bool:
        name = stmt.target.name
        if name in self.keep or self.counts.get(f"={name}", 0) != 1:
            return False
        uses = self.counts.get(name, 0)
        parts = subexpressions(stmt.value)
        if uses == 0 or any(isinstance(p, Apply) and p.fn in (ops.pop, ops.new_list) for p in parts):
            return False
        if isinstance(stmt.value, Const | Var) and isinstance(stmt.value.type, Scalar):
            return uses == 1
        return uses == 1

    def _destination(self, stmt: Assign, work: list[Stmt], position: int) -> int | None:
        name, value = stmt.target.name, stmt.value
        used = reads(value)
        for at in range(position + 1, len(work)):
            later = work[at]
            own = sum(_count(e, name) for e in exprs_of(later))
            if draws(value):
                bare = isinstance(later, Assign) and later.value == stmt.target
                return at if bare else None
            if own == 1 and not isinstance(later, While):
                return at if self._fits(stmt, later) else None
            if own or any(name in reads(e) for s in statements((later,)) for e in exprs_of(s)):
                return None
            if self._disturbs(later, used):
                return None
        return None

    def _fits(self, stmt: Assign, later: Stmt) -> bool:
        """Say whether the substituted statement is still one that reads well, and is legal."""
        value, name = stmt.value, stmt.target.name
        if isinstance(later, Swap) or (isinstance(later, Append) and later.list.name == name):
            return False
        if isinstance(later, CallStmt) and isinstance(value.type, Array) and not isinstance(value, Var):
            return False
        if isinstance(later, Store) and name in reads(later.place):
            return isinstance(value, Var) or (isinstance(value, Index) and not isinstance(later.place, Var))
        computed = isinstance(value.type, Array) and not isinstance(value, Var | Index)
        if computed and any(_as_base(e, name) for e in exprs_of(later)):
            return False
        if isinstance(value, Pack):
            return False
        if isinstance(later, Assign) and view_base(value) is not None and view_base(later.value) is not None:
            return False
        size = sum(1 for _ in subexpressions(value)) + sum(1 for e in exprs_of(later) for _ in subexpressions(e))
        return size <= _LARGEST + 6

    def _disturbs(self, stmt: Stmt, used: set[str]) -> bool:
        shared = self.groups.of(used)
        for inner in statements((stmt,)):
            if isinstance(inner, Effect) and is_barrier(inner.value):
                return True  # other threads write on the other side
            if used & set(bound(inner)) or shared & self.groups.of(set(written_by(inner, self.facts))):
                return True
            if any(isinstance(p, Apply) and p.fn is ops.pop for e in exprs_of(inner) for p in subexpressions(e)):
                if shared & {g for e in exprs_of(inner) for g in self.groups.read(e)}:
                    return True
        return False


def _count(expr: Expr, name: str) -> int:
    return sum(1 for p in subexpressions(expr) if isinstance(p, Var) and p.name == name)


def _as_base(expr: Any, name: str) -> bool:
    """Say whether `name` is indexed in `expr`: computing it there would compute it every time."""
    return any(isinstance(p, Index) and isinstance(p.base, Var) and p.base.name == name for p in subexpressions(expr))


def without_copies(fn: Function, keep: frozenset[str]) -> Function:
    """Follow `t = x` and `t = 2`: read x itself as long as neither is bound again, and 2 itself."""
    body, _ = _copies(fn.body, {}, keep)
    counts = _occurrences(replace(fn, body=body))
    handed = Counter(_handed_on(body))
    passing = {t for t, n in handed.items() if n == counts.get(t) == counts.get(f"={t}")}
    return replace(fn, body=_bound_at_once(body, counts, keep, passing))


def _handed_on(body: tuple[Stmt, ...]) -> list[str]:
    """List the names that statements bind, and the next ones give to another name."""
    found = [s.target.name for s, after in pairwise(body) if isinstance(s, Assign) and _is_copy(after, s.target)]
    return found + [name for stmt in body for block in blocks_of(stmt) for name in _handed_on(block)]


def _is_copy(stmt: Stmt, name: Var) -> bool:
    return isinstance(stmt, Assign) and stmt.value == name


def _bound_at_once(
    body: tuple[Stmt, ...], counts: dict[str, int], keep: frozenset[str], passing: set[str]
) -> tuple[Stmt, ...]:  # fmt: skip
    """Write `x = e` for `t = e; x = t`, and `x` for `t` behind it, where x is not bound again before the last use.

    `passing` are names that are there for nothing else, however often.
    """
    work = [map_blocks(stmt, lambda b: _bound_at_once(b, counts, keep, passing)) for stmt in body]
    at = 0
    while at + 1 < len(work):
        first, second = work[at], work[at + 1]
        if isinstance(first, Assign) and isinstance(second, Assign) and second.value == first.target:
            name, new = first.target, second.target
            uses = [sum(_count(e, name.name) for s in statements((later,)) for e in exprs_of(s)) for later in work]
            last = max((k for k, count in enumerate(uses) if count), default=0)
            between = statements(tuple(work[at + 2 : last + 1]))
            if (
                isinstance(name.type, Scalar) and name.type == new.type and name.name not in keep
                and (name.name in passing or (
                    counts.get(f"={name.name}") == 1 and counts.get(name.name) == sum(uses[at + 1 :])
                    and not any(new.name in bound(s) or isinstance(s, Swap) for s in between)
                ))
            ):  # fmt: skip
                work[at : at + 2] = [replace(first, target=new)]
                for k in range(at + 1, at + 1 if name.name in passing else last):
                    work[k] = _in_place_of(work[k], name.name, new)
                continue
        at += 1
    return tuple(work)


def _in_place_of(stmt: Stmt, name: str, new: Var) -> Stmt:
    made = map_exprs(stmt, lambda expr: substitute(expr, {name: new}))
    return map_blocks(made, lambda body: tuple(_in_place_of(s, name, new) for s in body))


def _copies(
    body: tuple[Stmt, ...], known: dict[str, Expr], keep: frozenset[str]
) -> tuple[tuple[Stmt, ...], dict[str, Expr]]:
    result: list[Stmt] = []
    for stmt in body:
        loop = isinstance(stmt, For | While)
        if loop or isinstance(stmt, If):
            changed = {name for s in statements((stmt,)) for name in bound(s)}
            inside = _without(known, changed) if loop else known
            if known:
                stmt = map_exprs(stmt, lambda e, k=inside: substitute(e, k))  # type: ignore[misc]
            stmt = map_blocks(stmt, lambda b, k=inside: _copies(b, dict(k), keep)[0])
            known = _without(known, changed)
            result.append(stmt)
            continue
        if known and not isinstance(stmt, Swap):
            stmt = map_exprs(stmt, lambda e, k=known: substitute(e, k))  # type: ignore[misc]
        if isinstance(stmt, Assign) and isinstance(stmt.value, Var) and stmt.value.name == stmt.target.name:
            continue
        known = _without(known, set(bound(stmt)))
        if isinstance(stmt, Assign) and isinstance(stmt.value, Var) and stmt.target.name not in keep:
            if isinstance(stmt.target.type, Scalar) or isinstance(stmt.target.type, Array | ListOf):
                known = {**known, stmt.target.name: Var(stmt.value.name, stmt.target.type)}
        elif isinstance(stmt, Assign) and isinstance(stmt.value, Const) and stmt.target.name not in keep:
            if type(stmt.value.value) is int and stmt.value.type == stmt.target.type:
                known = {**known, stmt.target.name: stmt.value}
        result.append(stmt)
    return tuple(result), known


def _without(known: dict[str, Expr], names: set[str]) -> dict[str, Expr]:
    return {k: v for k, v in known.items() if k not in names and not (isinstance(v, Var) and v.name in names)}


__all__ = ["Comment", "nested", "without_copies"]
