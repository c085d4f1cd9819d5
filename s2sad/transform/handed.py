"""An array that is only read once a copy of it has begun is the copy itself.

    difference_bar = np.exp(x) * ratio             x_bar = np.exp(x) * ratio
    x_bar = np.copy(difference_bar)     becomes    total = np.sum(x_bar)
    total = np.sum(difference_bar)                 x_bar += total
    x_bar += total

    u_new_bar = u_bar
    u_bar = np.copy(u_bar)          becomes        v_bar += dt * u_bar
    v_bar += dt * u_new_bar                        u_bar[1:] += v_bar[:-1]
    u_bar[1:] += v_bar[:-1]

    y_bar = np.copy(result_bar)
    x_bar += a * y_bar              becomes        x_bar += a * result_bar

Needs: the array is the derivative's own, and the copy is not written before the array was last read;
or nothing reads the array once it is copied; or neither is ever written.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.sharing import Groups
from s2sad.frontend.infer import is_elementwise
from s2sad.ir.nodes import Append, Apply, Assign, Expr, Function, Return, Stmt, Store, Var
from s2sad.ir.types import Array
from s2sad.ir.views import view_base
from s2sad.ir.walk import bound, exprs_of, map_blocks, map_exprs, names_in, reads, root_of, statements, substitute

_NEW = (np.zeros, np.empty, np.ones, np.full, np.zeros_like, np.empty_like, np.ones_like, np.full_like)


def handed(fn: Function, facts: Facts, keep: frozenset[str]) -> Function:
    """Leave out copies of arrays that nobody writes and that are read no more once the copy is written."""
    while True:
        work = _Handing(fn, facts, keep | {p.name for p in fn.params})
        fn = replace(fn, body=work.block(fn.body))
        if not work.touched:
            return fn


class _Handing:
    def __init__(self, fn: Function, facts: Facts, keep: frozenset[str]) -> None:
        self.facts, self.keep = facts, keep
        self.groups = Groups(fn, facts)
        every = list(statements(fn.body))
        self.known = names_in(fn.body) | {p.name for p in fn.params}
        self.bound = [name for stmt in every for name in bound(stmt)]
        self.readers = [name for stmt in every for name in _read(stmt)]
        self.written = self.groups.of({name for stmt in every for name in written_by(stmt, facts)})
        kept = [stmt for stmt in every if isinstance(stmt, Return | Append)]
        self.given_on = {name for stmt in kept for name in _read(stmt)}
        """Arrays that somebody else may hold: they are returned, or put into a list."""
        self.joined = {name for name in self.groups.parent} | set(self.groups.parent.values())
        self.touched: set[str] = set()
        """Groups of names that were put in the place of each other: what is known of them is no longer so."""

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Return a block, and those in it, without such copies."""
        for at, stmt in enumerate(body):
            if isinstance(stmt, Assign) and _copies_new(stmt):
                assert isinstance(stmt.value, Apply)
                return self.block((*body[:at], replace(stmt, value=stmt.value.args[0]), *body[at + 1 :]))
            if not isinstance(stmt, Assign) or self.touched & self.groups.of({stmt.target.name, *_read(stmt)}):
                continue
            if (old := self._only_read(stmt, body[at + 1 :])) is not None:
                alike: dict[str, Expr] = {stmt.target.name: old}
                self._touch(stmt)
                return self.block((*body[:at], *(_under(s, alike) for s in body[at + 1 :])))
            if at + 1 < len(body) and self._stays(body, at, stmt):
                name: dict[str, Expr] = {stmt.target.name: stmt.value}
                self._touch(stmt)
                return self.block((*body[:at], *(_under(s, name) for s in body[at + 2 :])))
            if (start := self._start(body, at, stmt)) is not None:
                self._touch(stmt)
                return self.block(_renamed(body, start, at))
        return tuple(map_blocks(stmt, self.block) for stmt in body)

    def _touch(self, stmt: Assign) -> None:
        self.touched |= self.groups.of({stmt.target.name, *_read(stmt)})

    def _only_read(self, copy: Assign, later: tuple[Stmt, ...]) -> Var | None:
        """Return the array of which a copy is made that is only read, as the array itself is."""
        value, new = copy.value, copy.target
        if not (isinstance(value, Apply) and value.fn is np.copy and isinstance(old := value.args[0], Var)):
            return None
        if new.name in self.keep or new.name in self.joined or old.type != new.type or new.name in self.given_on:
            return None
        if {self.groups.find(new.name), self.groups.find(old.name)} & self.written:
            return None
        behind = list(statements(later))
        if self.bound.count(new.name) != 1 or any({new.name, old.name} & {*bound(s)} for s in behind):
            return None
        return old if self.readers.count(new.name) == sum(new.name in _read(s) for s in behind) else None

    def _stays(self, body: tuple[Stmt, ...], at: int, alias: Assign) -> bool:
        """Say whether a name goes on with a copy of its array where it could go on with the array."""
        old, name, copy = alias.target, alias.value, body[at + 1]
        if not (isinstance(name, Var) and isinstance(copy, Assign) and copy.target == name and _alike(old, name)):
            return False
        value = copy.value
        if not (isinstance(value, Apply) and value.fn is np.copy and value.args[0] in (old, name)):
            return False
        if old.name in self.keep or name.name in self.keep or self.bound.count(old.name) != 1:
            return False
        both = {old.name, name.name}
        if any(self.groups.find(n) == self.groups.find(name.name) for n in {*self.known} - both):
            return False
        if self.readers.count(old.name) != sum(old.name in _read(s) for s in statements(body)):
            return False
        later = body[at + 2 :]
        if any(_reads(s, old.name) for s in body[:at]) or any(self._writes(s, old.name) for s in later):
            return False
        for k, stmt in enumerate(later):
            if self._writes(stmt, name.name) or any(name.name in bound(s) for s in statements((stmt,))):
                in_one = isinstance(stmt, Store) and stmt.place == name and old.name not in reads(stmt.place)
                return not any(_reads(s, old.name) for s in later[k + (1 if in_one else 0) :])
        return True

    def _start(self, body: tuple[Stmt, ...], at: int, copy: Assign) -> int | None:
        """Return where the array is made that a copy can take the place of."""
        value = copy.value
        if not (isinstance(value, Apply) and value.fn is np.copy and isinstance(value.args[0], Var)):
            return None
        old, new = value.args[0], copy.target
        own = old.name not in self.keep and old.name not in self.joined and new.name not in self.joined
        once = self.bound.count(old.name) == 1 and self.bound.count(new.name) == 1
        if not own or not once or not _alike(old, new):
            return None
        if self.readers.count(old.name) != sum(old.name in _read(s) for s in statements(body)):
            return None
        start = next((k for k, s in enumerate(body[:at]) if isinstance(s, Assign) and s.target.name == old.name), None)
        if start is not None and _is_new(body[start]) and not any(_reads(s, old.name) for s in body[at + 1 :]):
            return None if any(_reads(s, new.name) for s in body[start:at]) else start
        if start is None or not _is_fresh(body[start]) or any(_reads(s, new.name) for s in body[start:at]):
            return None
        last, written = at, len(body)
        for k, stmt in enumerate(body):
            if k > at and written == len(body) and self._writes(stmt, new.name):
                written = k
            if k != start and self._writes(stmt, old.name):
                return None
            last = k if k > at and _reads(stmt, old.name) else last
        return start if last < written else None

    def _writes(self, stmt: Stmt, name: str) -> bool:
        for one in statements((stmt,)):
            if name in written_by(one, self.facts):
                return True
            if isinstance(one, Store) and (root := root_of(one.place)) is not None and root.name == name:
                return True
        return False


def _alike(old: Var, new: Var) -> bool:
    a, b = old.type, new.type
    return isinstance(a, Array) and isinstance(b, Array) and (a.dtype, a.dims) == (b.dtype, b.dims)


def _copies_new(stmt: Assign) -> bool:
    """Say whether `np.copy` is of what has no name and is laid out alike, so that nobody else has it."""
    value = stmt.value
    if not (isinstance(value, Apply) and value.fn is np.copy and isinstance(value.args[0], Apply)):
        return False
    made = value.args[0].fn
    own = made is np.copy or (is_elementwise(made) and view_base(value.args[0]) is None)
    return own and value.args[0].type == value.type


def _is_fresh(stmt: Stmt) -> bool:
    if not isinstance(stmt, Assign) or view_base(stmt.value) is not None:
        return False
    return isinstance(stmt.value, Apply) and is_elementwise(stmt.value.fn)


def _is_new(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and isinstance(stmt.value, Apply) and stmt.value.fn in _NEW


def _read(stmt: Stmt) -> set[str]:
    return {name for expr in exprs_of(stmt) for name in reads(expr)}


def _reads(stmt: Stmt, name: str) -> bool:
    return any(name in _read(one) for one in statements((stmt,)))


def _renamed(body: tuple[Stmt, ...], start: int, at: int) -> tuple[Stmt, ...]:
    """Make the array under the copy's name, and leave the copy out."""
    made, copy = body[start], body[at]
    assert isinstance(made, Assign)
    assert isinstance(copy, Assign)
    name: dict[str, Expr] = {made.target.name: copy.target}
    between, after = body[start + 1 : at], body[at + 1 :]
    first = replace(made, target=copy.target)
    return (*body[:start], first, *(_under(s, name) for s in between), *(_under(s, name) for s in after))


def _under(stmt: Stmt, name: dict[str, Expr]) -> Stmt:
    made = map_exprs(stmt, lambda e: substitute(e, name))
    return map_blocks(made, lambda body: tuple(_under(s, name) for s in body))
