"""Loops of which each turn is run again before its reverse, from the state that it began with.

    while t < end:                          for _ in range(steps):
        x_tape.append(x)                        x = x_tape.pop()
        ...                                     ...                    # the same again, now saving
        x += h * slope                          ...                    # and in reverse

What the turn makes is then kept for one turn at a time; of all turns there is the state alone. That pays where a
turn makes much of little, as the stages of a step in time (`weighed.py`). Needs: a loop that stands in no other,
whose turns have no effects, and change numbers and elements of arrays only. A condition on real numbers is kept
from the first run, as it might come out differently in the second: it must stand outside the loops of the turn.
Source: Griewank and Walther, *Evaluating Derivatives*, 2nd edition, chapter 12.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from s2sad.analysis.alias import Alias
from s2sad.analysis.carried import carried
from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.layout import TOP, Layout
from s2sad.analysis.liveness import Liveness
from s2sad.analysis.loops import popped_from
from s2sad.analysis.needed import unneeded
from s2sad.analysis.sharing import Groups
from s2sad.frontend.values import literal
from s2sad.ir.draws import draws
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assert,
    Assign,
    Break,
    CallStmt,
    Comment,
    Continue,
    Effect,
    Expr,
    For,
    Function,
    If,
    Raise,
    Return,
    Stmt,
    Swap,
    Var,
    While,
)
from s2sad.ir.types import Array, ListOf, Scalar, is_inexact
from s2sad.ir.walk import blocks_of, bound, exprs_of, reads, statements, subexpressions, targets


@dataclass(frozen=True, slots=True)
class Rerun:
    """What is needed to run the turns of a loop again."""

    loop: For | While
    state: tuple[Var, ...]
    """What a turn begins with and changes."""
    flags: tuple[Var, ...]
    """The conditions on real numbers, which are kept."""
    left_out: frozenset[int]
    """The statements that the second run leaves out: what it makes does not need them."""
    changed: frozenset[str]
    """The names that a turn binds, and those of the arrays that it writes into."""
    written: frozenset[str]
    """The latter alone."""
    reads: tuple[Var, ...]
    """What the second run and the adjoints of the turn read, from outside of it."""
    works: tuple[Var, ...]
    """The arrays, and views, from outside that a turn writes into: they must be there, whatever they hold."""
    held: frozenset[str]
    """Those that are no state, and may have elements that no turn writes and its reverse reads."""


class Around(Protocol):
    """What is known of the function around."""

    fn: Function
    layout: Layout
    aliases: dict[str, Alias]
    facts: Facts
    adjoint_code: dict[int, list[Stmt]]
    after_loop: dict[int, list[Stmt]]
    openings: dict[Any, list[Stmt]]
    results_read: dict[int, Assign | None]
    prepared: Any


def can_run_again(loop: Stmt, around: Around) -> bool:
    """Say whether the turns of a loop may be run again, as far as the loop itself tells."""
    if not isinstance(loop, For | While) or around.layout.block_of[id(loop)] != TOP:
        return False
    inside = list(statements(loop.body))
    if any(isinstance(s, Append | Swap | Effect | Raise | Assert | Return | Continue | Comment) for s in inside):
        return False
    if any(isinstance(s, CallStmt) and (s.fn is not None or around.facts.has_effects(s.callee)) for s in inside):
        return False
    if any(draws(expr) for s in inside for expr in exprs_of(s)):
        return False
    block = (id(loop), 0)
    for stmt in inside:
        for target in targets(stmt):
            outlives = not around.layout.within(around.layout.home[target.name], block)
            if isinstance(target.type, ListOf) or (outlives and not isinstance(target.type, Scalar)):
                return False
    if any(popped_from(s) is not None for s in inside):
        return False
    return _tells_apart(loop, around) and not _decides_in_a_loop(loop.body, _written(loop, around))


def _variables(fn: Function) -> dict[str, Var]:
    """Return the variables of a function by name."""
    found = {v.name: v for s in statements(fn.body) for v in targets(s)}
    return found | {p.name: Var(p.name, p.type) for p in fn.params}


def _roots(loop: For | While, around: Around) -> set[str]:
    """Return the names of what a loop writes into, each its own and not one of its views."""
    names = {name for s in statements(loop.body) for name in written_by(s, around.facts)}
    return {around.aliases[n].root if n in around.aliases else n for n in names}


def _tells_apart(loop: For | While, around: Around) -> bool:
    """Say whether only arrays are written in the loop, each met by its own name or a sure view of it alone."""
    known, roots = _variables(around.fn), _roots(loop, around)
    if not all(n in known and isinstance(known[n].type, Array) for n in roots):
        return False
    groups = Groups(around.fn, around.facts)
    others = [n for n in known if n not in around.aliases]
    return not any(groups.find(a) == groups.find(b) for a in roots for b in others if a != b)


def _written(loop: For | While, around: Around) -> frozenset[str]:
    """Return the arrays that a loop writes into, and their views."""
    roots = _roots(loop, around)
    return frozenset(roots | {n for n, alias in around.aliases.items() if alias.root in roots})


def _decides_in_a_loop(body: tuple[Stmt, ...], written: frozenset[str], inner: bool = False) -> bool:
    """Say whether a loop inside has conditions on real numbers."""
    for stmt in body:
        if isinstance(stmt, If | While) and (inner or isinstance(stmt, While)) and _may_differ(stmt.test, written):
            return True
        if inner and _makes_flag(stmt, written):
            return True
        loop = isinstance(stmt, For | While)
        if any(_decides_in_a_loop(part, written, inner or loop) for part in blocks_of(stmt)):
            return True
    return False


def _makes_flag(stmt: Stmt, written: frozenset[str]) -> bool:
    kind = stmt.target.type if isinstance(stmt, Assign) else None
    flag = isinstance(stmt, Assign) and isinstance(kind, Scalar) and kind.dtype == "bool"
    return flag and _may_differ(stmt.value, written)  # type: ignore[union-attr]


def _may_differ(test: Expr, written: frozenset[str]) -> bool:
    """Say whether a condition may come out differently in the second run: it reads what is computed again."""
    return rounds(test) or bool(reads(test) & written)


def rounds(test: Expr) -> bool:
    """Say whether a condition depends on arithmetic of real numbers, which a compiler may contract."""
    parts = [p for p in subexpressions(test) if isinstance(p, Var | Apply)]
    return any(isinstance(p.type, Scalar) and is_inexact(p.type) for p in parts)


def decisions(loop: For | While, around: Around) -> list[If]:
    """Return the branches of a turn that depend on real numbers, and have no name for that yet."""
    written = _written(loop, around)
    branches = [s for s in statements(loop.body) if isinstance(s, If) and not _only_leaves(s)]
    return [s for s in branches if _may_differ(s.test, written)]


def _only_leaves(stmt: If) -> bool:
    """Say whether a branch does nothing but leave the loop: what is run again is known to have run so far."""
    return not stmt.orelse and len(stmt.body) == 1 and isinstance(stmt.body[0], Break)


def rerun(loop: For | While, around: Around, beforehand: bool = False) -> Rerun | None:
    """Return what it takes to run the turns of a loop again, or None if they cannot be.

    `beforehand`: to see whether it pays, while its decisions have no names yet.
    """
    if not can_run_again(loop, around) or (decisions(loop, around) and not beforehand):
        return None
    inside = list(statements(loop.body))
    flags = _flags(inside, _written(loop, around), around)
    count = around.prepared.counts.get(id(loop))
    if flags is None:
        return None
    skipped = {id(s) for s in inside if isinstance(s, Assign) and (s.target in flags or s.target == count)}
    turn = _again(loop.body, skipped)
    left_out = frozenset(_unneeded(loop, turn, around) & {id(s) for s in inside} | skipped)
    written = _written(loop, around)
    changed = written | {name for s in inside for name in bound(s)}
    state: tuple[Var, ...] | None = ()
    if any(around.adjoint_code.get(id(s)) for s in inside):
        state = _state(loop, turn, around, left_out, changed, {f.name for f in flags})
    else:
        flags = []  # its turns have no reverse
    if state is None:
        return None
    kept = [s for s in statements(turn) if id(s) not in left_out]
    exprs = [e for s in kept for e in exprs_of(s)] + [e for s in inside for e in _adjoint_reads(s, around)]
    known = {p.name: p for e in exprs for p in subexpressions(e) if isinstance(p, Var) and p.name in around.layout.home}
    read = tuple(v for v in known.values() if v.name not in changed)
    block = (id(loop), 0)
    works = tuple(
        v for v in known.values()
        if v.name in written and isinstance(v.type, Array)
        and not around.layout.within(around.layout.home[v.name], block)
    )  # fmt: skip
    roots = {around.aliases[v.name].root if v.name in around.aliases else v.name for v in works}
    held = roots - {v.name for v in state}
    return Rerun(loop, state, tuple(flags), left_out, changed, written, read, works, frozenset(held))


def _flags(inside: list[Stmt], written: frozenset[str], around: Around) -> list[Var] | None:
    """Return the conditions that are kept; None if one is set more than once, or outlives the turn."""
    found: list[Var] = []
    for stmt in inside:
        if isinstance(stmt, Assign) and _makes_flag(stmt, written):
            name = stmt.target.name
            if len(around.layout.defs[name]) != 1 or around.layout.home[name] == TOP:
                return None
            found.append(stmt.target)
    return found


def _unneeded(loop: For | While, turn: tuple[Stmt, ...], around: Around) -> set[int]:
    """Return the statements that no adjoint of the turn needs, in the second run."""
    fn = around.fn
    at = next(k for k, s in enumerate(fn.body) if s is loop)
    probe = Function(fn.name, fn.params, (*fn.body[:at], *turn), (), fn.doc, fn.span)
    inside = {id(s) for s in statements(loop.body)}
    code = {key: made for key, made in around.adjoint_code.items() if key in inside}
    blocks = [around.openings[b] for b in around.openings if (id(loop), 0) in around.layout.chain(b)]
    results = frozenset(around.results_read)
    return unneeded(
        probe, code, around.after_loop, around.facts, (), True, [s for made in blocks for s in made], results
    )  # fmt: skip


def _again(body: tuple[Stmt, ...], skipped: set[int]) -> tuple[Stmt, ...]:
    """Return a turn as it is run again: it decides nothing, and does not leave the loop."""
    return tuple(
        replace(s, body=_again(s.body, skipped), orelse=_again(s.orelse, skipped)) if isinstance(s, If) else s
        for s in body
        if not isinstance(s, Break) and not (isinstance(s, If) and _only_leaves(s)) and id(s) not in skipped
    )  # fmt: skip


def _state(
    loop: For | While, turn: tuple[Stmt, ...], around: Around, left_out: frozenset[int], changed: frozenset[str],
    flags: set[str],
) -> tuple[Var, ...] | None:  # fmt: skip
    """Return the numbers and arrays that a turn reads as it finds them, and that turns change."""
    variables = _variables(around.fn)
    exposed = _exposed(turn, around, left_out)
    own = {loop.var.name} if isinstance(loop, For) else set[str]()
    numbers = sorted((exposed & changed) - own - flags)
    arrays = carried(
        turn, set(changed), around.aliases, around.facts, lambda s: _adjoint_reads(s, around), set(left_out),
        lambda s: id(s) in around.results_read,
    )  # fmt: skip
    made = {name for s in statements(loop.body) for name in bound(s)}
    names = [n for n in numbers if n not in around.aliases and isinstance(variables[n].type, Scalar)]
    names += sorted(n for n in arrays if n not in made)
    count = around.prepared.counts.get(id(loop))
    result = [variables[name] for name in names if variables[name] != count]
    at = next(k for k, s in enumerate(around.fn.body) if s is loop)
    before = {p.name for p in around.fn.params} | {n for s in around.fn.body[:at] for n in bound(s)}
    if any(v.name not in before or not isinstance(v.type, Scalar | Array) for v in result):
        return None
    return tuple(result)


def _adjoint_reads(stmt: Stmt, around: Around) -> Iterable[Expr]:
    code = around.adjoint_code.get(id(stmt), ())
    return [expr for s in statements(tuple(code)) for expr in exprs_of(s)]


def _exposed(turn: tuple[Stmt, ...], around: Around, left_out: frozenset[int]) -> frozenset[str]:
    """Return the names that a turn, or the adjoint of one of its statements, reads before the turn sets them."""

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(made for stmt in body for made in each(stmt))

    def each(stmt: Stmt) -> list[Stmt]:
        match stmt:
            case If():
                return [replace(stmt, body=block(stmt.body), orelse=block(stmt.orelse))]
            case For() | While():
                return [replace(stmt, body=block(stmt.body))]
            case _:
                read = [Effect(expr) for expr in _adjoint_reads(stmt, around)]
                run = [] if id(stmt) in left_out else [stmt]
                return [*run, *read] if id(stmt) in around.results_read else [*read, *run]

    probe = If(literal(True), block(turn), ())
    return Liveness((probe, Return(()))).inside(probe)


__all__ = ["Around", "Rerun", "can_run_again", "decisions", "rerun", "rounds"]
