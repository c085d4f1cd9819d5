"""An array that is filled again though it still holds what it did: once is enough.

The adjoint of a turn fills again what the turn has made (`analysis/refilled.py`). Where the turn and its adjoint
are one (`transform/fused.py`), the first is still there:

    window = np.empty(m)                  window = np.empty(m)
    for k in range(m):                    for k in range(m):
        window[k] = x[j + k]                  window[k] = x[j + k]
    total += cost(window)        becomes  total += cost(window)
    window = np.empty(m)
    for k in range(m):
        window[k] = x[j + k]

In the same way, `window = window_tape[i]` right behind `window_tape[i] = window` fetches what is there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.sharing import Groups
from s2sad.ir.nodes import Apply, Assign, Comment, Expr, For, Function, If, Index, Slice, Stmt, Store, Var
from s2sad.ir.types import Array
from s2sad.ir.walk import bound, exprs_of, map_blocks, reads, statements


def without_refills(fn: Function, facts: Facts) -> Function:
    """Return `fn` without the second making and filling of an array that has not changed since the first."""
    groups = Groups(fn, facts)

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        body = _without_fetching(tuple(map_blocks(s, block) for s in body), groups, facts)
        at = 0
        while at < len(body):
            filled = _filled(body, at, groups, facts)
            again = _again(body, at, filled, groups, facts) if filled else None
            if again is not None:
                body = (*body[:again], *body[again + len(filled) :])
            else:
                at += 1
        return body

    made = block(fn.body)
    return fn if made == fn.body else replace(fn, body=made)


def _without_fetching(body: tuple[Stmt, ...], groups: Groups, facts: Facts) -> tuple[Stmt, ...]:
    """Drop `x = tape[i]` where the block has set `tape[i] = x` and changed neither since."""
    kept: list[Stmt] = []
    put: dict[Var, Expr] = {}
    for stmt in body:
        if isinstance(stmt, Assign) and put.get(stmt.target) == stmt.value:
            continue
        inner = list(statements((stmt,)))
        changed = {name for s in inner for name in (*bound(s), *written_by(s, facts))}
        written = groups.of({name for s in inner for name in written_by(s, facts)})
        put = {
            name: place for name, place in put.items()
            if not changed & (reads(place) | {name.name}) and groups.find(name.name) not in written
        }  # fmt: skip
        match stmt:
            case Store(Index(Var(), index) as place, "", Var(name, Array()) as value):
                if name not in reads(place) and not any(isinstance(item, Slice) for item in index):
                    put[value] = place
            case _:
                pass
        kept.append(stmt)
    return tuple(kept)


def _filled(body: tuple[Stmt, ...], at: int, groups: Groups, facts: Facts) -> list[Stmt]:
    """Return an array's making and the statements after it that do nothing but fill it."""
    made = body[at]
    if not (isinstance(made, Assign) and isinstance(made.value, Apply) and made.value.fn in (np.empty, np.zeros)):
        return []
    found: list[Stmt] = [made]
    for stmt in body[at + 1 :]:
        inner = list(statements((stmt,)))
        written = groups.of({n for s in inner for n in written_by(s, facts)})
        plain = all(isinstance(s, For | If | Store | Assign) for s in inner)
        if not plain or written != {groups.find(made.target.name)}:
            break
        found.append(stmt)
    return found if len(found) > 1 else []


def _again(body: tuple[Stmt, ...], at: int, filled: list[Stmt], groups: Groups, facts: Facts) -> int | None:
    """Return where the same array is made and filled in the same way, if nothing it depends on has changed."""
    own = {n for s in statements(tuple(filled)) for n in bound(s)}
    read = {n for s in statements(tuple(filled)) for e in exprs_of(s) for n in reads(e)}
    depends = groups.of(read | own)
    for later in range(at + len(filled), len(body)):
        if _same(body[later : later + len(filled)], filled):
            return later
        inner = list(statements((body[later],)))
        changed = {n for s in inner for n in (*bound(s), *written_by(s, facts))}
        counters = {s.var.name for s in inner if isinstance(s, For)}
        if groups.of(changed - counters) & depends or (counters & (read - own)):
            return None
    return None


def _same(these: tuple[Stmt, ...], those: list[Stmt]) -> bool:
    return len(these) == len(those) and all(_told(a) == _told(b) for a, b in zip(these, those, strict=True))


def _told(stmt: Stmt) -> Stmt:
    """Return a statement without the user's lines over its parts."""
    return map_blocks(stmt, lambda body: tuple(_told(s) for s in body if not isinstance(s, Comment)))
