"""Target "cpu": an array that one loop fills for the next loop alone is not made: each element is passed on.

    for i in range(n):
        v_bar[i] = parts[i] + parts[i + 2]             for j in range(n):
    for j in range(n):                     becomes         u_bar[j] += parts[j] + parts[j + 2]
        u_bar[j] += v_bar[j]

Saves two ways through the memory. Needs: both loops run over every element, or over the same ones, the array is met
nowhere else, and the second loop writes nothing that the first one reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.analysis.facts import Facts
from s2sad.analysis.sharing import Apart
from s2sad.emit.rows import with_own_lengths
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Comment, Const, Expr, For, Function, Index, Stmt, Store, Var
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import (
    bound,
    children,
    exchanged,
    exprs_of,
    map_blocks,
    map_children,
    map_exprs,
    reads,
    root_of,
    statements,
    subexpressions,
)
from s2sad.transform.filled import covers, loops_over

_NEW: tuple[Any, ...] = (np.empty, np.empty_like, np.zeros, np.zeros_like)


def passed_on(fn: Function, facts: Facts) -> Function:
    """Return `fn` with such pairs of loops as one."""
    while (better := _once(fn, facts)) is not None:
        fn = better
    return fn


def _once(fn: Function, facts: Facts) -> Function | None:
    made = {s.target.name for s in statements(fn.body) if isinstance(s, Assign) and _is_new(s.value)}
    if not made:
        return None
    uses = Counter(name for s in statements(fn.body) for name in _met(s))
    work = _Passing(made, uses, Apart(fn, facts))
    body = work.block(fn.body)
    if work.passed is None:
        return None
    name = work.passed.name
    lengths = _lengths(work.passed, fn)
    if lengths:
        body = tuple(_with_lengths(s, name, lengths) for s in body)
    else:
        body = with_own_lengths(body, {name}, [p.name for p in fn.params])
    if any(name in reads(expr) for s in statements(body) for expr in exprs_of(s)):
        return None
    return replace(fn, body=_without(body, name))


def _lengths(array: Var, fn: Function) -> tuple[Expr, ...] | None:
    """Return an array's lengths as those of arguments, or None where an axis is as long as none of theirs."""
    bound_again = {name for s in statements(fn.body) for name in bound(s)}
    given = [Var(p.name, p.type) for p in fn.params if isinstance(p.type, Array) and p.name not in bound_again]
    found: list[Expr] = []
    assert isinstance(array.type, Array)
    for dim in array.type.dims:
        like = next((v for v in given if isinstance(v.type, Array) and dim in v.type.dims), None)
        if isinstance(dim, int):
            found.append(literal(dim))
        elif like is not None and isinstance(like.type, Array):
            found.append(Apply(ops.dim, (like, literal(like.type.dims.index(dim))), Scalar("int64", weak=True)))
        else:
            return None
    return tuple(found)


def _with_lengths(stmt: Stmt, name: str, lengths: tuple[Expr, ...]) -> Stmt:
    def told(expr: Any) -> Any:
        match expr:
            case Apply(fn, (Var(array), Const(int() as axis))) if fn is ops.dim and array == name:
                return lengths[axis]
            case Apply(fn, (Var(array),)) if fn is ops.size and array == name and len(lengths) == 1:
                return lengths[0]
            case _:
                return map_children(expr, told)

    return map_blocks(map_exprs(stmt, told), lambda body: tuple(_with_lengths(s, name, lengths) for s in body))


class _Passing:
    """Looks for one pair of loops, and joins it."""

    def __init__(self, made: set[str], uses: Counter[str], apart: Apart) -> None:
        self.made, self.uses, self.apart = made, uses, apart
        self.passed: Var | None = None

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        for at, stmt in enumerate(body):
            after = next((k for k in range(at + 1, len(body)) if not isinstance(body[k], Comment)), None)
            other = body[after] if after is not None else None
            if self.passed is None and isinstance(stmt, For) and isinstance(other, For):
                joined = self._joined(stmt, other)
                if joined is not None:
                    assert after is not None
                    return (*body[:at], *body[at + 1 : after], joined, *body[after + 1 :])
        out: list[Stmt] = []
        for stmt in body:
            out.append(stmt if self.passed is not None else map_blocks(stmt, self.block))
        return tuple(out)

    def _joined(self, first: For, second: For) -> For | None:
        """Return the second loop with what the first one works out in place of the array that this fills."""
        *comments, last = _innermost(first) or (first,)
        if any(not isinstance(s, Comment) for s in comments) or not isinstance(last, Store) or last.op:
            return None
        place = last.place
        if not isinstance(place, Index) or not isinstance(place.base, Var) or place.base.name not in self.made:
            return None
        array = place.base
        if not isinstance(array.type, Array) or not isinstance(place.type, Scalar):
            return None
        loops, others = loops_over(first, array.type), loops_over(second, array.type)
        if loops is None or others is None or not _run_alike(loops, others, array.type):
            return None
        index, own = tuple(loop.var for loop in loops), tuple(loop.var for loop in others)
        if place.index != index:
            return None
        inner = _innermost(second)
        element = Index(array, own, place.type)
        uses = [part for s in inner for e in exprs_of(s) for part in subexpressions(e) if part == element]
        if len(uses) != 1 or self.uses[array.name] != 2:
            return None
        if not all(isinstance(s, Comment | Store | Assign) for s in inner):
            return None
        if any(isinstance(s, Store) and s.place == element for s in inner):
            return None
        value = last.value
        needed = reads(value) - {v.name for v in index}
        changed = {name for s in inner for name in bound(s)}
        changed |= {root.name for s in inner if isinstance(s, Store) and (root := root_of(s.place)) is not None}
        if any(self.apart.may_meet(one, other) for one in changed for other in needed) or changed & needed:
            return None
        for counter, other in zip(index, own, strict=True):
            value = exchanged(value, counter, other)
        self.passed = array
        joined = [map_exprs(s, lambda expr: exchanged(expr, element, value)) for s in inner]
        return _with_innermost(second, (*comments, *joined))


def _is_new(value: Expr) -> bool:
    return isinstance(value, Apply) and value.fn in _NEW and isinstance(value.type, Array)


def _met(stmt: Stmt) -> Iterator[str]:
    """Yield the names of arrays of which a statement does more than ask for a length, each time that it does."""
    def visit(expr: Any) -> Iterator[str]:
        if isinstance(expr, Var):
            yield expr.name
        elif isinstance(expr, Apply) and expr.fn in (ops.dim, ops.size) and isinstance(expr.args[0], Var):
            return
        else:
            for child in children(expr):
                yield from visit(child)

    for expr in exprs_of(stmt):
        yield from visit(expr)


def _run_alike(loops: list[For], others: list[For], kind: Array) -> bool:
    """Say whether two nests run over every element of an array, or over the same ones."""
    if all(covers(one, dim) and covers(other, dim) for one, other, dim in zip(loops, others, kind.dims, strict=True)):
        return True
    ranges = [[(one.start, one.stop, one.step) for one in nest] for nest in (loops, others)]
    counters = {one.var.name for one in (*loops, *others)}
    return ranges[0] == ranges[1] and not any(reads(end) & counters for range_ in ranges[0] for end in range_)


def _innermost(loop: For) -> tuple[Stmt, ...]:
    inner = [s for s in loop.body if not isinstance(s, Comment)]
    return _innermost(inner[0]) if len(inner) == 1 and isinstance(inner[0], For) else loop.body


def _with_innermost(loop: For, body: tuple[Stmt, ...]) -> For:
    if _innermost(loop) is loop.body:
        return replace(loop, body=body)
    return replace(loop, body=tuple(_with_innermost(s, body) if isinstance(s, For) else s for s in loop.body))


def _without(body: tuple[Stmt, ...], name: str) -> tuple[Stmt, ...]:
    """Return a block without the statement that makes an array."""
    kept = (s for s in body if not (isinstance(s, Assign) and s.target.name == name))
    return tuple(map_blocks(s, lambda inner: _without(inner, name)) for s in kept)
