"""Going through expressions and statements: what is read, what is written, rewriting in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import is_
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
    kind = type(expr)  # asked for more than anything else: not by patterns, which take four times as long
    if kind is Apply:
        return expr.args  # pyright: ignore
    if kind is Index:
        return (expr.base, *expr.index)  # pyright: ignore
    if kind is Pack:
        return expr.items  # pyright: ignore
    if kind is Slice:
        return tuple([part for part in (expr.lower, expr.upper, expr.step) if part is not None])  # pyright: ignore
    return ()


def subexpressions(expr: Expr | Slice) -> list[Expr | Slice]:
    """List `expr` and everything below it, parents first."""
    found = []
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if parts := children(node):
            waiting += parts[::-1]
    return found


def reads(expr: Expr | Slice) -> set[str]:
    """Return the names of the variables in `expr`."""
    found: set[str] = set()
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        if type(node) is Var:
            found.add(node.name)
        else:
            waiting += children(node)
    return found


def map_children(expr: Any, f: Callable[[Any], Any]) -> Any:
    """Rebuild `expr` with `f` applied to each direct subexpression; one of which nothing changes is kept."""
    kind = type(expr)  # asked for more than nearly anything else: see `children`
    if kind is Apply:
        args = expr.args
        new = tuple([f(arg) for arg in args])
        return expr if all(map(is_, new, args)) else Apply(expr.fn, new, expr.type, expr.static)
    if kind is Index:
        base, items = f(expr.base), expr.index
        new = tuple([f(item) for item in items])
        return expr if base is expr.base and all(map(is_, new, items)) else Index(base, new, expr.type)
    if kind is Pack:
        new = tuple([f(item) for item in expr.items])
        return expr if all(map(is_, new, expr.items)) else Pack(expr.kind, new, expr.type)
    if kind is Slice:
        old = expr.lower, expr.upper, expr.step
        parts = [None if part is None else f(part) for part in old]
        return expr if all(map(is_, parts, old)) else Slice(*parts)
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
    kind = type(stmt)
    if kind is For or kind is While:
        return (stmt.body,)  # pyright: ignore
    if kind is If:
        return (stmt.body, stmt.orelse)  # pyright: ignore
    return ()


def exprs_of(stmt: Stmt) -> tuple[Expr, ...]:
    """Return the expressions that the statement itself evaluates, nested blocks aside."""
    found = _EXPRS.get(type(stmt))
    return () if found is None else found(stmt)


_EXPRS: dict[type[Stmt], Callable[[Any], tuple[Expr, ...]]] = {
    Assign: lambda s: (s.value,),
    Effect: lambda s: (s.value,),
    Append: lambda s: (s.list, s.value),
    Store: lambda s: (s.place, s.value),
    CallStmt: lambda s: s.args,
    Raise: lambda s: s.args,
    Swap: lambda s: (s.first, s.second),
    If: lambda s: (s.test,),
    While: lambda s: (s.test,),
    For: lambda s: (s.start, s.stop, s.step),
    Return: lambda s: s.values,
    Assert: lambda s: (s.test,) if s.message is None else (s.test, s.message),
}


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Yield every statement, parents before their blocks, in order."""
    for stmt in body:
        yield stmt
        for block in blocks_of(stmt):
            yield from statements(block)


def map_exprs(stmt: Stmt, f: Callable[[Expr], Expr]) -> Stmt:
    """Rebuild a statement with `f` applied to its own expressions; targets and blocks are kept.

    The result is a statement of its own, even where nothing changes: analyses tell them apart by their identity.
    """
    rebuilt = _REBUILT.get(type(stmt))
    return stmt if rebuilt is None else rebuilt(stmt, f)


_REBUILT: dict[type[Stmt], Callable[[Any, Callable[[Expr], Expr]], Stmt]] = {
    Assign: lambda s, f: Assign(s.target, f(s.value), s.span),
    Effect: lambda s, f: replace(s, value=f(s.value)),
    Append: lambda s, f: replace(s, value=f(s.value)),
    Store: lambda s, f: Store(f(s.place), s.op, f(s.value), s.span, s.accumulate),
    CallStmt: lambda s, f: replace(s, args=tuple([f(arg) for arg in s.args])),
    Raise: lambda s, f: replace(s, args=tuple([f(arg) for arg in s.args])),
    If: lambda s, f: replace(s, test=f(s.test)),
    While: lambda s, f: replace(s, test=f(s.test)),
    For: lambda s, f: replace(s, start=f(s.start), stop=f(s.stop), step=f(s.step)),
    Return: lambda s, f: replace(s, values=tuple([f(value) for value in s.values])),
    Assert: lambda s, f: replace(s, test=f(s.test)),
}


def map_blocks(stmt: Stmt, f: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]) -> Stmt:
    """Rebuild a statement with `f` applied to its nested blocks."""
    kind = type(stmt)
    if kind is If:
        return replace(stmt, body=f(stmt.body), orelse=f(stmt.orelse))  # pyright: ignore
    if kind is For or kind is While:
        return replace(stmt, body=f(stmt.body))  # pyright: ignore
    return stmt


def told_apart(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Make every statement one of its own: analyses tell statements apart by their identity."""
    return tuple(map_blocks(replace(stmt), told_apart) for stmt in body)


def each_once(body: tuple[Stmt, ...], seen: set[int] | None = None) -> tuple[Stmt, ...]:
    """Give a statement that stands in several places a copy in each but the first; the others stay what they are."""
    met: set[int] = set() if seen is None else seen
    made: list[Stmt] = []
    for stmt in body:
        if id(stmt) in met:
            made.append(map_blocks(replace(stmt), told_apart))
            continue
        met.add(id(stmt))
        inner = map_blocks(stmt, lambda block: each_once(block, met)) if blocks_of(stmt) else stmt
        same = all(a is b for one, other in zip(blocks_of(stmt), blocks_of(inner), strict=True)
                   for a, b in zip(one, other, strict=True))  # fmt: skip
        made.append(stmt if same else inner)
    return tuple(made)


def names_in(body: tuple[Stmt, ...]) -> set[str]:
    """Return every variable name that occurs, read or bound."""
    found: set[str] = set()
    for stmt in statements(body):
        for expr in exprs_of(stmt):
            found |= reads(expr)
        found.update(bound(stmt))
    return found


class NamesOf:
    """The names that the statements of a function have, each looked through once."""

    def __init__(self) -> None:
        """Know of no statement yet."""
        self._known: dict[int, tuple[Stmt, set[str]]] = {}

    def of(self, stmt: Stmt) -> set[str]:
        """Return every variable name that occurs in a statement, read or bound, those inside it included."""
        found = self._known.get(id(stmt))
        if found is None or found[0] is not stmt:
            names = {name for expr in exprs_of(stmt) for name in reads(expr)}
            names.update(bound(stmt), *(self.of(inner) for block in blocks_of(stmt) for inner in block))
            found = self._known[id(stmt)] = (stmt, names)
        return found[1]


def targets(stmt: Stmt) -> tuple[Var, ...]:
    """Return the variables that the statement itself binds (not those that it writes into)."""
    found = _TARGETS.get(type(stmt))
    return () if found is None else found(stmt)


_TARGETS: dict[type[Stmt], Callable[[Any], tuple[Var, ...]]] = {
    Assign: lambda s: (s.target,),
    For: lambda s: (s.var,),
    CallStmt: lambda s: s.targets,
    Swap: lambda s: (s.first, s.second),
}


def bound(stmt: Stmt) -> tuple[str, ...]:
    """Return the names of the variables that the statement itself binds."""
    return tuple([target.name for target in targets(stmt)])


def is_const(expr: Any, value: Any) -> bool:
    """Say whether `expr` is the number `value`."""
    return isinstance(expr, Const) and not isinstance(expr.value, bool) and expr.value == value
