"""Going through expressions and statements: what is read, what is written, rewriting in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from s2sad.ir.nodes import (
    Append,
    Apply,
    Assert,
    Assign,
    CallStmt,
    Const,
    Effect,
    Expr,
    For,
    If,
    Index,
    Pack,
    Raise,
    Return,
    Slice,
    Stmt,
    Store,
    Swap,
    Var,
    While,
)


def children(expr: Expr | Slice) -> tuple[Expr | Slice, ...]:
    """Return the direct subexpressions."""
    match expr:
        case Apply(_, args):
            return args
        case Index(base, index):
            return (base, *index)
        case Pack(_, items):
            return items
        case Slice(lower, upper, step):
            return tuple(part for part in (lower, upper, step) if part is not None)
        case _:
            return ()


def subexpressions(expr: Expr | Slice) -> Iterator[Expr | Slice]:
    """Yield `expr` and everything below it, parents first."""
    yield expr
    for child in children(expr):
        yield from subexpressions(child)


def reads(expr: Expr | Slice) -> set[str]:
    """Return the names of the variables in `expr`."""
    return {node.name for node in subexpressions(expr) if isinstance(node, Var)}


def map_children(expr: Any, f: Callable[[Any], Any]) -> Any:
    """Rebuild `expr` with `f` applied to each direct subexpression."""
    match expr:
        case Apply(fn, args, kind, static):
            new = tuple(f(arg) for arg in args)
            return expr if new == args else Apply(fn, new, kind, static)
        case Index(base, index, kind):
            new_base, new_index = f(base), tuple(f(item) for item in index)
            return Index(new_base, new_index, kind)
        case Pack(kind, items, type_):
            return Pack(kind, tuple(f(item) for item in items), type_)
        case Slice(lower, upper, step):
            return Slice(*(None if part is None else f(part) for part in (lower, upper, step)))
        case _:
            return expr


def substitute(expr: Any, mapping: dict[str, Expr]) -> Any:
    """Replace variables by expressions."""
    if isinstance(expr, Var):
        return mapping.get(expr.name, expr)
    if not mapping:
        return expr
    return map_children(expr, lambda child: substitute(child, mapping))


def exchanged(expr: Any, old: Expr, new: Expr) -> Any:
    """Put `new` in the place of `old`, wherever it stands in an expression."""
    return new if expr == old else map_children(expr, lambda child: exchanged(child, old, new))


def exchanged_in(stmt: Stmt, old: Expr, new: Expr) -> Stmt:
    """Do so in a statement and in those inside it; targets stay."""
    made = map_exprs(stmt, lambda expr: exchanged(expr, old, new))
    return map_blocks(made, lambda body: tuple(exchanged_in(s, old, new) for s in body))


def root_of(place: Expr) -> Var | None:
    """Return the variable that a place or view chain starts from."""
    while True:
        match place:
            case Var():
                return place
            case Index(base):
                place = base
            case Apply(_, (first, *_)):
                place = first
            case _:
                return None


def blocks_of(stmt: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """Return the nested statement lists."""
    match stmt:
        case If(_, body, orelse):
            return (body, orelse)
        case For() | While():
            return (stmt.body,)
        case _:
            return ()


def exprs_of(stmt: Stmt) -> tuple[Expr, ...]:
    """Return the expressions that the statement itself evaluates, nested blocks aside."""
    match stmt:
        case Assign(_, value) | Effect(value):
            return (value,)
        case Append(target, value):
            return (target, value)
        case Store(place, _, value):
            return (place, value)
        case CallStmt(_, _, args) | Raise(_, args):
            return args
        case Swap(first, second):
            return (first, second)
        case If(test) | While(test):
            return (test,)
        case For(_, start, stop, step):
            return (start, stop, step)
        case Return(values):
            return values
        case Assert(test, message):
            return (test,) if message is None else (test, message)
        case _:
            return ()


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Yield every statement, parents before their blocks, in order."""
    for stmt in body:
        yield stmt
        for block in blocks_of(stmt):
            yield from statements(block)


def map_exprs(stmt: Stmt, f: Callable[[Expr], Expr]) -> Stmt:
    """Rebuild a statement with `f` applied to its own expressions; targets and blocks are kept."""
    match stmt:
        case Assign() | Effect() | Append():
            return replace(stmt, value=f(stmt.value))
        case Store():
            return replace(stmt, place=f(stmt.place), value=f(stmt.value))
        case CallStmt() | Raise():
            return replace(stmt, args=tuple(f(arg) for arg in stmt.args))
        case If() | While():
            return replace(stmt, test=f(stmt.test))
        case For():
            return replace(stmt, start=f(stmt.start), stop=f(stmt.stop), step=f(stmt.step))
        case Return():
            return replace(stmt, values=tuple(f(value) for value in stmt.values))
        case Assert():
            return replace(stmt, test=f(stmt.test))
        case _:
            return stmt


def map_blocks(stmt: Stmt, f: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]) -> Stmt:
    """Rebuild a statement with `f` applied to its nested blocks."""
    match stmt:
        case If():
            return replace(stmt, body=f(stmt.body), orelse=f(stmt.orelse))
        case For() | While():
            return replace(stmt, body=f(stmt.body))
        case _:
            return stmt


def told_apart(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Make every statement one of its own: analyses tell statements apart by their identity."""
    return tuple(map_blocks(replace(stmt), told_apart) for stmt in body)


def names_in(body: tuple[Stmt, ...]) -> set[str]:
    """Return every variable name that occurs, read or bound."""
    found: set[str] = set()
    for stmt in statements(body):
        for expr in exprs_of(stmt):
            found |= reads(expr)
        found.update(bound(stmt))
    return found


def targets(stmt: Stmt) -> tuple[Var, ...]:
    """Return the variables that the statement itself binds (not those that it writes into)."""
    match stmt:
        case Assign(target):
            return (target,)
        case For(var):
            return (var,)
        case CallStmt(names):
            return names
        case Swap(first, second):
            return first, second
        case _:
            return ()


def bound(stmt: Stmt) -> tuple[str, ...]:
    """Return the names of the variables that the statement itself binds."""
    return tuple(target.name for target in targets(stmt))


def is_const(expr: Any, value: Any) -> bool:
    """Say whether `expr` is the number `value`."""
    return isinstance(expr, Const) and not isinstance(expr.value, bool) and expr.value == value
