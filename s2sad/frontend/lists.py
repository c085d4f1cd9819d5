"""Lists that a function builds: one type for each, known only once the function has been read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from s2sad.ir.nodes import Append, Apply, Assign, Break, CallStmt, Continue, Expr, If, Stmt, Swap, Var
from s2sad.ir.types import ListOf
from s2sad.ir.walk import blocks_of, exprs_of, map_blocks, map_children, map_exprs, names_in, statements, subexpressions


def settled(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Return a body in which a list that starts empty has the type of what is appended to it later."""
    known: dict[str, ListOf] = {}
    for stmt in statements(body):
        found = [part for expr in exprs_of(stmt) for part in subexpressions(expr) if isinstance(part, Var)]
        for var in [*found, *_targets(stmt)]:
            if isinstance(var.type, ListOf):
                known[var.name] = _fuller(known.get(var.name), var.type)
    if all(kind.item is not None for var in _lists(body) if isinstance(kind := var.type, ListOf)):
        return body
    kinds = _of_all_names(body, known)
    return _block(body, lambda old: replace(old, type=kinds.get(old.name, old.type)))


def _of_all_names(body: tuple[Stmt, ...], known: dict[str, ListOf]) -> dict[str, ListOf]:
    """Two names of one list, `b = a`, hold the same, whichever of them it was appended by."""
    found = dict(known)
    for _ in range(len(known)):
        before = dict(found)
        for a, b in _pairs(body):
            kind = _fuller(found.get(a.name), found.get(b.name, ListOf(None)))
            found[a.name] = found[b.name] = kind
        if found == before:
            break
    return found


def _pairs(body: tuple[Stmt, ...]) -> list[tuple[Var, Var]]:
    """Return the lists that are given a second name, with that name."""
    pairs: list[tuple[Var, Var]] = []
    for stmt in statements(body):
        match stmt:
            case Assign(Var(_, ListOf()) as target, Var() as value):
                pairs.append((target, value))
            case Swap(Var(_, ListOf()) as first, Var() as second):
                pairs.append((first, second))
            case _:
                pass
    return pairs


def _lists(body: tuple[Stmt, ...]) -> list[Var]:
    return [var for stmt in statements(body) for var in _targets(stmt) if isinstance(var.type, ListOf)]


def _targets(stmt: Stmt) -> tuple[Var, ...]:
    match stmt:
        case Assign(target) | Append(target):
            return (target,)
        case CallStmt(targets):
            return targets
        case Swap(first, second):
            return (first, second)
        case _:
            return ()


def _fuller(a: ListOf | None, b: ListOf) -> ListOf:
    if a is None or a.item is None:
        return b
    if isinstance(a.item, ListOf) and isinstance(b.item, ListOf):
        return ListOf(_fuller(a.item, b.item))
    return a


def under_one_name(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Return a body in which a list that gets another name for good, `items = []; ...; s_a = items`, has it at once.

    A list of two names would have to be kept for both wherever it is written by one.
    """
    found = next(_renamings(body, body), None)
    while found is not None:
        body = _renamed(body, *found)
        found = next(_renamings(body, body), None)
    return body


def _renamings(body: tuple[Stmt, ...], whole: tuple[Stmt, ...]) -> Iterator[tuple[Stmt, str, str]]:
    """Go through the statements that give a list its last name, each with the name before and that name."""
    for last, stmt in enumerate(body):
        match stmt:
            case Assign(Var(name, ListOf()), Var(old, ListOf())) if name != old:
                begin = next((k for k in range(last) if _begins(body[k], old)), None)
                between = body[begin:last] if begin is not None else ()
                free = between and name not in names_in(between) and not _jumps(between)
                if free and _uses(whole, old) == _uses((*between, stmt), old):
                    yield stmt, old, name
            case _:
                for inner in blocks_of(stmt):
                    yield from _renamings(inner, whole)


def _jumps(body: tuple[Stmt, ...]) -> bool:
    """Say whether statements may leave the turn of a loop around them."""
    return any(
        isinstance(stmt, Break | Continue) or (isinstance(stmt, If) and any(_jumps(block) for block in blocks_of(stmt)))
        for stmt in body
    )


def _begins(stmt: Stmt, name: str) -> bool:
    value = stmt.value if isinstance(stmt, Assign) and stmt.target.name == name else None
    return isinstance(value, Apply) and not value.args


def _uses(body: tuple[Stmt, ...], name: str) -> int:
    """Count the statements that read a name, or bind it."""
    return sum(name in names_in((map_blocks(stmt, lambda _: ()),)) for stmt in statements(body))


def _renamed(body: tuple[Stmt, ...], gone: Stmt, old: str, name: str) -> tuple[Stmt, ...]:
    def without(block: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(map_blocks(stmt, without) for stmt in block if stmt is not gone)

    return _block(without(body), lambda var: replace(var, name=name) if var.name == old else var)


def _block(body: tuple[Stmt, ...], changed: Callable[[Var], Var]) -> tuple[Stmt, ...]:
    """Return a body with the variables that are lists changed."""

    def var(old: Var) -> Var:
        return changed(old) if isinstance(old.type, ListOf) else old

    def expr(old: Any) -> Any:
        return var(old) if isinstance(old, Var) else map_children(old, expr)

    def stmt(old: Stmt) -> Stmt:
        new = map_exprs(old, expr)
        match new:
            case Assign(target, Apply(fn, (), kind, static)) if isinstance(kind, ListOf):
                made: Expr = Apply(fn, (), var(target).type, static)
                new = replace(new, target=var(target), value=made)
            case Assign(target):
                new = replace(new, target=var(target))
            case Append(target):
                new = replace(new, list=var(target))
            case CallStmt(targets):
                new = replace(new, targets=tuple(var(target) for target in targets))
            case Swap(first, second):
                new = replace(new, first=var(first), second=var(second))
            case _:
                pass
        return map_blocks(new, lambda inner: tuple(stmt(s) for s in inner))

    return tuple(stmt(s) for s in body)
