"""What both sides of a branch keep first is kept before it, once; and so it is taken back.

    big = u[i] > limit                          u_i_tape[t, i] = u[i]
    if big:                                     if u[i] > limit:
        u_i_tape[t, i] = u[i]                       u[i] = u[i] * u[i - 1]
        u[i] = u[i] * u[i - 1]                  else:
    else:                             becomes       u[i] = math.sin(u[i])
        u_i_tape_2[t, i] = u[i]
        u[i] = math.sin(u[i])
    big_tape[t, i] = big

In the reverse sweep, `u[i] = u_i_tape[t, i]` then comes before the branch, which may ask for `u[i]` itself where it
asks for no more than that.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.sharing import Groups
from s2sad.ir.nodes import Apply, Assign, Comment, Const, Expr, Function, If, Index, Slice, Stmt, Store, Var
from s2sad.ir.types import Scalar
from s2sad.ir.walk import blocks_of, bound, exprs_of, map_blocks, reads, root_of, statements, subexpressions

_COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
Put = tuple[Index, Expr]
"""Where on a tape, and what."""


def kept_before(fn: Function, facts: Facts) -> Function:
    """Return `fn` with such branches keeping what they overwrite before they part."""
    while (made := _once(fn, facts)) is not None:
        fn = made
    return fn


def _once(fn: Function, facts: Facts) -> Function | None:
    for branch in statements(fn.body):
        puts = _first_of_both(branch, _put)
        if puts is None or puts[0][1] != puts[1][1] or puts[0][0].index != puts[1][0].index:
            continue
        tapes = [_base(put[0]) for put in puts]
        if not _alike(fn, tapes):
            continue
        for reverse in statements(fn.body):
            taken = _first_of_both(reverse, _taken) if reverse is not branch else None
            if taken is None or sorted(_base(t[0]) for t in taken) != sorted(tapes):
                continue
            assert isinstance(branch, If) and isinstance(reverse, If)
            if _fits(fn, reverse, puts[0][1], taken, facts):
                return _moved(fn, branch, reverse, (puts[0], taken[0]), tapes[1] if tapes[0] != tapes[1] else "", facts)
    return None


def _fits(fn: Function, reverse: If, kept: Expr, taken: tuple[Put, Put], facts: Facts) -> bool:
    """Say whether both sides of a branch take back what was kept, which the branch itself does not ask for."""
    root = root_of(kept)
    if root is None or any(place != kept for _, place in taken) or taken[0][0].index != taken[1][0].index:
        return False
    groups = Groups(fn, facts)
    return not groups.of({root.name}) & groups.of(reads(reverse.test))


def _moved(
    fn: Function, branch: If, reverse: If, first: tuple[Put, Put], needless: str, facts: Facts
) -> Function:  # fmt: skip
    """Return `fn` with what both sides of two branches begin with before these; one tape is needless."""
    put, taken = first
    tape, place = put
    item = replace(taken[0], base=tape.base)
    back: Stmt = Assign(place, item) if isinstance(place, Var) else Store(place, "", item)

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        made: list[Stmt] = []
        for stmt in body:
            if stmt is branch or stmt is reverse:
                assert isinstance(stmt, If)
                made.append(Store(tape, "", place, branch.span) if stmt is branch else back)
                made.append(replace(stmt, body=_without_first(stmt.body), orelse=_without_first(stmt.orelse)))
            elif not (isinstance(stmt, Assign) and stmt.target.name == needless):
                made.append(map_blocks(stmt, block))
        return tuple(made)

    return _asked_again(replace(fn, body=block(fn.body)), place, facts)


def _asked_again(fn: Function, place: Expr, facts: Facts) -> Function:
    """Return `fn` with a branch asking for what was taken back, where it asked a tape what was decided."""
    for body, at in _branches(fn.body):
        branch = body[at]
        assert isinstance(branch, If)
        decided, flag = body[at - 2] if at > 1 else None, branch.test
        if not (isinstance(decided, Assign) and isinstance(flag, Var) and decided.target == flag):
            continue
        kept = body[at - 1]
        if not (isinstance(kept, Store) and kept.value == place and _asks_only(decided.value, place, fn, facts)):
            continue
        after = body[at + 1] if at + 1 < len(body) else None
        if not (isinstance(after, Store) and after.value == flag and isinstance(after.place, Index)):
            continue
        tape = _base(after.place)
        again = [
            (other, k) for other, k in _branches(fn.body)
            if k > 1 and other[k] is not branch and _takes(other[k - 2], flag, tape) and _gives(other[k - 1], place)
        ]  # fmt: skip
        if len(again) == 1 and _met(fn, tape) == 2 and _bindings(fn, flag.name) == 2 and _met(fn, flag.name) == 3:
            other, k = again[0]
            gone = {id(decided), id(after), id(other[k - 2])}
            return _without(fn, gone, tape, {id(branch), id(other[k])}, decided.value)
    return fn


def _without(fn: Function, gone: set[int], tape: str, branches: set[int], test: Expr) -> Function:
    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        made: list[Stmt] = []
        for stmt in body:
            if id(stmt) in gone or (isinstance(stmt, Assign) and stmt.target.name == tape):
                continue
            if id(stmt) in branches:
                assert isinstance(stmt, If)
                stmt = replace(stmt, test=test)
            made.append(map_blocks(stmt, block))
        return tuple(made)

    return replace(fn, body=block(fn.body))


def _branches(body: tuple[Stmt, ...]) -> Iterator[tuple[tuple[Stmt, ...], int]]:
    """Yield every branch, as the block that it stands in and its place."""
    for at, stmt in enumerate(body):
        if isinstance(stmt, If):
            yield body, at
        for part in blocks_of(stmt):
            yield from _branches(part)


def _asks_only(test: Expr, place: Expr, fn: Function, facts: Facts) -> bool:
    """Say whether a comparison asks for a place, and beside it for what never changes; nothing is computed."""
    if not (isinstance(test, Apply) and test.fn in _COMPARISONS and place in test.args):
        return False
    every = Counter(n for s in statements(fn.body) for n in bound(s))
    once = {s.target.name for s in fn.body if isinstance(s, Assign) and every[s.target.name] == 1}
    lasting = once | ({p.name for p in fn.params} - every.keys())
    groups = Groups(fn, facts)
    written = groups.of({n for s in statements(fn.body) for n in written_by(s, facts)})

    def lasts(expr: Expr) -> bool:
        match expr:
            case Const():
                return True
            case Var(name, Scalar()):
                return name in lasting
            case Index(Var(name), index) if not _has_slices(index):
                mine = {n for item in index for n in reads(item)}
                return name in lasting and groups.find(name) not in written and mine <= reads(place) | lasting
            case _:
                return False

    return all(a == place or lasts(a) for a in test.args)


def _takes(stmt: Stmt, flag: Var, tape: str) -> bool:
    return (
        isinstance(stmt, Assign) and stmt.target.name == flag.name and isinstance(stmt.value, Index)
        and _base(stmt.value) == tape
    )  # fmt: skip


def _gives(stmt: Stmt, place: Expr) -> bool:
    return (isinstance(stmt, Store) and stmt.place == place and not stmt.op) or (
        isinstance(stmt, Assign) and stmt.target == place
    )


def _first_of_both(stmt: Stmt, what: Callable[[Stmt], Put | None]) -> tuple[Put, Put] | None:
    """Return what both sides of a branch begin with."""
    if not isinstance(stmt, If):
        return None
    firsts = [next((s for s in side if not isinstance(s, Comment)), None) for side in (stmt.body, stmt.orelse)]
    found = [what(s) if s is not None else None for s in firsts]
    return (found[0], found[1]) if found[0] is not None and found[1] is not None else None


def _without_first(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    at = next(k for k, s in enumerate(body) if not isinstance(s, Comment))
    return (*body[:at], *body[at + 1 :])


def _put(stmt: Stmt) -> Put | None:
    """Return where a statement puts a value, and what."""
    match stmt:
        case Store(Index(Var(), index) as item, "", (Var() | Index()) as value) if not _has_slices(index):
            return item, value
        case _:
            return None


def _taken(stmt: Stmt) -> Put | None:
    """Return where a statement takes a value from, and what it becomes."""
    match stmt:
        case Store((Var() | Index()) as place, "", Index(Var(), index) as item) if not _has_slices(index):
            return item, place
        case Assign(target, Index(Var(), index) as item) if not _has_slices(index):
            return item, target
        case _:
            return None


def _has_slices(index: Sequence[Any]) -> bool:
    return any(isinstance(item, Slice) for item in index)


def _base(item: Index) -> str:
    assert isinstance(item.base, Var)
    return item.base.name


def _alike(fn: Function, tapes: Sequence[str]) -> bool:
    """Say whether these are one, or two that the function makes empty, alike, and meets in this branch alone."""
    if tapes[0] == tapes[1]:
        return True
    made = [s for s in statements(fn.body) if isinstance(s, Assign) and s.target.name in tapes]
    if len(made) != len(set(tapes)) or any(_bindings(fn, name) != 1 for name in tapes):
        return False
    if len({(v.args, v.static) if isinstance(v := s.value, Apply) and v.fn is np.empty else s for s in made}) > 1:
        return False
    return all(_met(fn, name) == 2 for name in tapes)


def _met(fn: Function, name: str) -> int:
    """Count how often a name is read, or an item of it met."""
    parts = (p for s in statements(fn.body) for e in exprs_of(s) for p in subexpressions(e))
    return sum(isinstance(p, Var) and p.name == name for p in parts)


def _bindings(fn: Function, name: str) -> int:
    return sum(name in bound(s) for s in statements(fn.body))


__all__ = ["kept_before"]
