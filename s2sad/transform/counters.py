"""A counter that the user had no use for, `for _ in range(n)`, has a name where it says the turn: `y_tape[step]`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from s2sad.ir.nodes import For, Function, Stmt, Var
from s2sad.ir.walk import bound, exprs_of, map_blocks, map_exprs, names_in, reads, statements, substitute
from s2sad.transform.naming import Namer

_UNUSED = "_"
_NAME, _OTHER = "step", "turn"


def with_named_counters(functions: dict[str, Function], sources: Iterable[Function]) -> dict[str, Function]:
    """Return functions with `step`, or `turn`, for the `_` of each loop that reads it.

    `sources`: the functions that they are derivatives of. What reads `_` there keeps its name.
    """
    if any(_reads(stmt) for fn in sources for stmt in statements(fn.body)):
        return functions
    return {name: _named(fn) if _only_counts(fn) else fn for name, fn in functions.items()}


def _only_counts(fn: Function) -> bool:
    """Say whether `_` is read, and by loops alone that count with it."""
    every = list(statements(fn.body))
    loops = [s for s in every if isinstance(s, For) and s.var.name == _UNUSED]
    inside = {id(inner) for loop in loops for inner in statements(loop.body)}
    if any(_UNUSED in bound(s) for s in every if not isinstance(s, For)) or any(p.name == _UNUSED for p in fn.params):
        return False
    return any(map(_reads, every)) and all(id(s) in inside for s in every if _reads(s))


def _named(fn: Function) -> Function:
    taken = {p.name for p in fn.params} | names_in(fn.body)
    name = Namer(taken).fresh(_OTHER if _NAME in taken else _NAME)

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(loop(stmt) for stmt in body)

    def loop(stmt: Stmt) -> Stmt:
        if isinstance(stmt, For) and stmt.var.name == _UNUSED and any(map(_reads, statements(stmt.body))):
            counter = Var(name, stmt.var.type)
            return replace(stmt, var=counter, body=_counting(stmt.body, counter))
        return map_blocks(stmt, block)

    return replace(fn, body=block(fn.body))


def _counting(body: tuple[Stmt, ...], counter: Var) -> tuple[Stmt, ...]:
    """Return the statements of a loop with its counter under another name."""

    def each(stmt: Stmt) -> Stmt:
        made = map_exprs(stmt, lambda expr: substitute(expr, {_UNUSED: counter}))
        if isinstance(made, For) and made.var.name == _UNUSED:
            made = replace(made, var=counter)
        return map_blocks(made, lambda inner: tuple(each(s) for s in inner))

    return tuple(each(stmt) for stmt in body)


def _reads(stmt: Stmt) -> bool:
    return any(_UNUSED in reads(expr) for expr in exprs_of(stmt))
