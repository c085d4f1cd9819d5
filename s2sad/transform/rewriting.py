"""Small rewritings of a thread's program: names replaced, branches joined, guards put around."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

from s2sad.frontend.operators import BOOL, build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Comment, Const, Expr, For, If, Index, Stmt, Store, Var
from s2sad.ir.shapes import shaping_parts
from s2sad.ir.types import is_inexact
from s2sad.ir.walk import (
    blocks_of,
    bound,
    children,
    exprs_of,
    map_blocks,
    map_children,
    map_exprs,
    reads,
    root_of,
    statements,
    subexpressions,
)

_FEW = 16  # steps of a loop that may be repeated for each neighbour


def root_name(place: Expr) -> str:
    """Return the name of the array that a place is in, or nothing."""
    root = root_of(place)
    return root.name if root is not None else ""


def without_idle_indices(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Drop the names of a thread's place that nothing else reads, such as a stride."""
    while True:
        used = {n for s in statements(body) for e in exprs_of(s) for n in reads(e)}
        kept = tuple(s for s in body if not (isinstance(s, Assign) and s.target.name not in used))
        if kept == body:
            return body
        body = kept


def costly_loop(part: tuple[Stmt, ...], others: set[str]) -> bool:
    """Say whether there is a loop of more than a few steps inside, that over the other threads aside."""
    for stmt in statements(part):
        if isinstance(stmt, For) and stmt.var.name not in others:
            ends = (stmt.start, stmt.stop)
            if not all(isinstance(e, Const) and abs(e.value) <= _FEW for e in ends):
                return True
    return False


def joined(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Two branches on one condition that follow each other are one."""
    result: list[Stmt] = []
    for stmt in body:
        stmt = map_blocks(stmt, joined)
        last = result[-1] if result else None
        twins = isinstance(stmt, If) and isinstance(last, If) and stmt.test == last.test
        if isinstance(stmt, If) and isinstance(last, If) and twins and not (stmt.orelse or last.orelse):
            changed = {n for s in statements(last.body) for n in bound(s)}
            if not changed & reads(stmt.test) and not any(isinstance(s, Store) for s in statements(last.body)):
                result[-1] = replace(last, body=joined((*last.body, *stmt.body)))
                continue
        result.append(stmt)
    return tuple(result)


def read_exprs(stmt: Stmt) -> list[Any]:
    """Return what a statement reads: of a write, the indices and the value; of an update the place too."""
    if isinstance(stmt, Store) and isinstance(stmt.place, Index) and (not stmt.op or stmt.accumulate):
        return [*stmt.place.index, stmt.value]
    return list(exprs_of(stmt))


def root_name_in(expr: Any, name: str) -> bool:
    """Say whether an expression reads the content of the array of this name."""
    return name in {p.name for p in subexpressions(expr) if isinstance(p, Var)} and not only_shape(expr, name)


def only_shape(expr: Any, name: str) -> bool:
    """Say whether `name` occurs for its shape alone."""
    if isinstance(expr, Apply) and expr.fn in (ops.dim, ops.size):
        return all(only_shape(part, name) for part in shaping_parts(expr))
    if isinstance(expr, Var):
        return expr.name != name
    return all(only_shape(c, name) for c in children(expr))


def needed_for(body: tuple[Stmt, ...], totals: set[str]) -> tuple[Stmt, ...]:
    """Drop the assignments that the sums do not depend on."""
    wanted = set(totals)
    while True:
        before = len(wanted)
        for stmt in statements(body):
            if wanted & set(bound(stmt)) or any(wanted & set(bound(s)) for b in blocks_of(stmt) for s in statements(b)):
                for expr in exprs_of(stmt):
                    wanted |= reads(expr)
            if isinstance(stmt, Store) and root_name(stmt.place) in wanted:
                for expr in exprs_of(stmt):
                    wanted |= reads(expr)
        if len(wanted) == before:
            break

    def kept(block: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Comment):
                result.append(stmt)
            elif blocks_of(stmt):
                inner = map_blocks(stmt, kept)
                if any(not isinstance(s, Comment) for b in blocks_of(inner) for s in b):
                    result.append(inner)
            elif wanted & set(bound(stmt)) or (isinstance(stmt, Store) and root_name(stmt.place) in wanted):
                result.append(stmt)
        return tuple(result)

    return kept(body)


def guarded(tests: list[Expr], body: tuple[Stmt, ...], span: Any) -> tuple[Stmt, ...]:
    """Put `body` under all the tests, joined with the branch that it is already."""
    plain = [s for s in body if not isinstance(s, Comment)]
    if not tests:
        return body
    if len(plain) == 1 and isinstance(plain[0], If) and not plain[0].orelse:
        inner = plain[0]
        return (replace(inner, test=conjunction([*tests, inner.test])),)
    return (If(conjunction(tests), body, (), span),)


def conjunction(tests: list[Expr]) -> Expr:
    """Return the tests joined by `and`."""
    flat: list[Expr] = []
    for test in tests:
        flat += test.args if isinstance(test, Apply) and test.fn is ops.both else [test]
    return flat[0] if len(flat) == 1 else Apply(ops.both, tuple(flat), BOOL)


def shifted(value: Expr, amount: int) -> Expr:
    """Return `value + amount`, as it is written."""
    if not amount:
        return value
    return build(operator.add if amount > 0 else operator.sub, value, literal(abs(amount)))


def plus_one(expr: Expr) -> Expr:
    """Return `expr + 1`, folded."""
    return folded(build(operator.add, expr, literal(1)))


def replaced(body: tuple[Stmt, ...], values: dict[str, Expr]) -> tuple[Stmt, ...]:
    """Put expressions in the place of names, except inside a loop that binds the name anew."""
    if not values:
        return body
    result: list[Stmt] = []
    for stmt in body:
        inner = {n: v for n, v in values.items() if not (isinstance(stmt, For) and stmt.var.name == n)}
        stmt = map_exprs(stmt, lambda e: folded(substituted(e, values)))
        result.append(map_blocks(stmt, lambda b, i=inner: replaced(b, i)))
    return tuple(result)


def substituted(expr: Any, values: dict[str, Expr]) -> Any:
    """Return an expression with names replaced."""
    if isinstance(expr, Var):
        return values.get(expr.name, expr)
    return map_children(expr, lambda c: substituted(c, values))


def folded(expr: Any) -> Any:
    """Join constants and leave out what cancels: `i + 1 - 1` is `i`, and `i - q + 2 + q` is `i + 2`."""
    expr = _cancelled(map_children(expr, folded))
    if not (isinstance(expr, Apply) and expr.fn in (operator.add, operator.sub) and len(expr.args) == 2):
        return expr
    left, right = expr.args
    if not is_int(right):
        return expr
    amount = right.value if expr.fn is operator.add else -right.value  # type: ignore[union-attr]
    if is_int(left):
        return literal(left.value + amount)  # type: ignore[union-attr]
    if isinstance(left, Apply) and left.fn in (operator.add, operator.sub) and is_int(left.args[1]):
        inner = left.args[1].value  # type: ignore[union-attr]
        return shifted(left.args[0], amount + (inner if left.fn is operator.add else -inner))
    return shifted(left, amount)


def _cancelled(expr: Any) -> Any:
    """Leave out of a sum of integers what is added and taken away."""
    if not (isinstance(expr, Apply) and expr.fn in (operator.add, operator.sub) and len(expr.args) == 2):
        return expr
    parts = _summands(expr, 1)
    for part, sign in parts:
        if isinstance(part, Var) and (part, -sign) in parts and not is_inexact(part.type):
            parts.remove((part, -sign))
            parts.remove((part, sign))
            parts.sort(key=lambda p: p[1] < 0)  # a sum begins with what is added
            if not parts or parts[0][1] < 0:
                parts.insert(0, (literal(0), 1))
            total = parts[0][0]
            for term, way in parts[1:]:
                total = build(operator.add if way > 0 else operator.sub, total, term)
            return folded(total)
    return expr


def _summands(expr: Any, sign: int) -> list[tuple[Any, int]]:
    if isinstance(expr, Apply) and expr.fn in (operator.add, operator.sub) and len(expr.args) == 2:
        back = sign if expr.fn is operator.add else -sign
        return [*_summands(expr.args[0], sign), *_summands(expr.args[1], back)]
    return [(expr, sign)]


def is_int(expr: Any) -> bool:
    """Say whether an expression is an integer literal."""
    return isinstance(expr, Const) and type(expr.value) is int
