"""What is subtracted from what `exp` takes, and comes back behind `log` or by division, carries no derivative.

largest = np.max(x)
total = np.sum(np.exp(x - largest))        no derivative flows through `largest`
return largest + np.log(total)

Its derivative is zero, as the result is the same for any other number in its place (analysis/shifts.py).
Needs: nothing that follows it is used once it is bound anew.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.sharing import Groups
from s2sad.analysis.shifts import FIXED, LOST, NOT_YET, ZERO, Follows, Reader, Shift, is_taken_off, joined, shifted
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    Break,
    CallStmt,
    Const,
    Continue,
    Expr,
    For,
    Function,
    If,
    Index,
    Raise,
    Return,
    Slice,
    Stmt,
    Store,
    Swap,
    Var,
    While,
)
from s2sad.ir.types import Array, ListOf, Scalar, is_complex, is_inexact
from s2sad.ir.views import view_base
from s2sad.ir.walk import (
    blocks_of,
    bound,
    children,
    exchanged,
    exprs_of,
    map_blocks,
    map_exprs,
    names_in,
    root_of,
    statements,
    subexpressions,
    targets,
)
from s2sad.transform.filled import covers

_EXP = (np.exp, math.exp)
_EXTREMES = (np.max, np.min)
_CHOOSING = (*_EXTREMES, np.maximum, np.minimum, np.fmax, np.fmin, builtins.max, builtins.min, ops.ifexp, np.where)
_IN_PLACE = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}

Env = dict[str, Follows]
"""How the value of each name follows; a name that is not there has none yet."""


def without_cancelled(fn: Function, facts: Facts) -> Function:
    """Return `fn` with no derivative through what is subtracted from exponents and given back."""
    every = list(statements(fn.body))
    if not any(isinstance(e, Apply) and e.fn in _EXP for s in every for x in exprs_of(s) for e in subexpressions(x)):
        return fn
    groups = Groups(fn, facts)
    for name in _names_taken_off(fn, every, groups, facts):
        if _Shifted(fn, groups, facts, name).leaves_results():
            fn = replace(fn, body=_held(fn.body, name.name))
    for stmt in list(statements(fn.body)):
        for extreme in dict.fromkeys(_extremes_taken_off(stmt)):
            if _Shifted(fn, groups, facts, extreme, stmt).leaves_results():
                fn = replace(fn, body=_held_in(fn.body, stmt, extreme))
                break  # the statement is another one now
    return fn


def _taken_off(stmt: Stmt) -> Iterator[Expr]:
    """Give what a statement subtracts: the array where it is a part of one."""
    parts = [part for expr in exprs_of(stmt) for part in subexpressions(expr) if not isinstance(part, Slice)]
    for part in (*map(is_taken_off, parts), stmt.value if isinstance(stmt, Store) and stmt.op == "-" else None):
        while isinstance(part, Index):
            part = part.base
        if part is not None and is_inexact(part.type) and not is_complex(part.type):
            yield part


def _names_taken_off(fn: Function, every: list[Stmt], groups: Groups, facts: Facts) -> list[Var]:
    """Return the names of chosen numbers, and arrays that nobody writes into, that are bound by assignments alone."""
    params = {p.name for p in fn.params}
    written = groups.of({name for stmt in every for name in written_by(stmt, facts)})
    found: dict[str, Var] = {}
    for stmt in every:
        for part in _taken_off(stmt):
            if isinstance(part, Var) and part.name not in params and isinstance(part.type, Scalar | Array):
                found[part.name] = part
    for stmt in every:
        for name in set(bound(stmt)) & found.keys():
            array = isinstance(found[name].type, Array)
            if not isinstance(stmt, Assign) or (array and view_base(stmt.value) is not None):
                del found[name]
    extreme = _chosen(fn.body)
    return [
        v for v in found.values()
        if v.name in extreme and not (isinstance(v.type, Array) and groups.find(v.name) in written)
    ]


def _chosen(body: tuple[Stmt, ...], in_branch: bool = False) -> set[str]:
    """Return the names of what is chosen among others, by a function or in a branch: the largest element is."""
    found: set[str] = set()
    for stmt in body:
        if isinstance(stmt, Assign):
            chosen = any(isinstance(p, Apply) and p.fn in _CHOOSING for p in subexpressions(stmt.value))
            found |= {stmt.target.name} if chosen or in_branch else set()
        for block in blocks_of(stmt):
            found |= _chosen(block, isinstance(stmt, If))
    return found


def _extremes_taken_off(stmt: Stmt) -> Iterator[Apply]:
    """Give the largest and smallest elements that a statement works out and subtracts."""
    if isinstance(stmt, Assign | Store | Return):
        for part in _taken_off(stmt):
            if isinstance(part, Apply) and part.fn in _EXTREMES:
                yield part


class _Shifted:
    """Follows what is shifted, a name or an expression in one statement, through a function."""

    def __init__(
        self, fn: Function, groups: Groups, facts: Facts, seed: Var | Apply, place: Stmt | None = None
    ) -> None:
        self.fn, self.groups, self.facts = fn, groups, facts
        self.seed, self.place = seed, place
        self.members: dict[str, list[str]] = {}
        for name in names_in(fn.body) | {p.name for p in fn.params}:
            self.members.setdefault(groups.find(name), []).append(name)
        kinds = {p.name: p.type for p in fn.params}
        kinds |= {t.name: t.type for stmt in statements(fn.body) for t in targets(stmt)}
        self.arrays = {name: kind for name, kind in kinds.items() if isinstance(kind, Array)}
        self.env: Env = {}
        stays = self._staying()
        self.plain = Reader(None, stays, self._of)
        self.here = Reader(seed, stays, self._of)
        self.own: dict[str, int] = {}
        """Arrays of which each turn of the loops around meets an element of its own: along how many axes."""
        self.broken: list[Env] = []
        self.continued: list[Env] = []
        self.fine = True

    def leaves_results(self) -> bool:
        """Say whether nothing that the function gives or writes follows."""
        end = self._block(self.fn.body, {p.name: FIXED for p in self.fn.params})
        if end is not None:
            self._leave(end)
        return self.fine

    def _staying(self) -> frozenset[str]:
        """Return the names of numbers that are the same all the time."""
        every = [name for stmt in statements(self.fn.body) for name in bound(stmt)]
        once = {s.target.name for s in self.fn.body if isinstance(s, Assign) and every.count(s.target.name) == 1}
        once |= {p.name for p in self.fn.params if p.name not in every}
        return frozenset(once - {self.seed.name} if isinstance(self.seed, Var) else once)

    def _of(self, name: str) -> Follows:
        if isinstance(self.seed, Var) and name == self.seed.name:
            return shifted(self.seed)
        return self.env.get(name, NOT_YET)

    def _leave(self, env: Env) -> None:
        given = (env.get(p.name) for p in self.fn.params if isinstance(p.type, Array | ListOf))
        self.fine = self.fine and all(v in (FIXED, ZERO) for v in given)

    def _block(self, body: tuple[Stmt, ...], env: Env | None) -> Env | None:
        """Return what is known behind a block; None where it is never left at its end."""
        for stmt in body:
            if env is None or not self.fine:
                return None
            env = self._statement(stmt, env)
        return env

    def _statement(self, stmt: Stmt, env: Env) -> Env | None:
        self.env = env
        if stmt is self.place:
            _outdate(env)
        read = self.here if stmt is self.place else self.plain
        match stmt:
            case Assign(target, value):
                if isinstance(self.seed, Var) and target.name == self.seed.name:
                    _outdate(env)
                else:
                    env[target.name] = read.follows(value)
            case Store(place, op, value):
                self._store(place, op, value, read)
            case CallStmt():
                self._call(stmt)
            case Append(target, value):
                self._into(target.name, read.follows(value), whole=False)
            case Swap(first, second):
                env[first.name], env[second.name] = self._of(second.name), self._of(first.name)
            case Return(values):
                self.fine = all(read.follows(v) in (FIXED, ZERO) for v in values)
                self._leave(env)
                return None
            case If(_, then, other):
                return _met(self._block(then, dict(env)), self._block(other, dict(env)))
            case For() | While():
                return self._loop(stmt, env)
            case Break():
                self.broken.append(env)
                return None
            case Continue():
                self.continued.append(env)
                return None
            case Raise():
                return None
            case _:
                pass
        return env

    def _loop(self, loop: For | While, env: Env) -> Env | None:
        around = self.broken, self.continued, self.own
        own: list[str] = []
        if isinstance(loop, For):
            env[loop.var.name] = FIXED
            own = [name for name in env if self._meets_own(loop, name)]
            self.own = {**self.own, **{name: self.own.get(name, 0) + 1 for name in own}}
        before, done = {name: env[name] for name in own}, Env()
        while True:
            self.broken, self.continued = [], []
            end = self._block(loop.body, dict(env))
            done = {name: end[name] for name in own} if end is not None else before
            head: Env | None = env
            for other in (end, *self.continued):
                head = _met(head, None if other is None else {**other, **before})
            assert head is not None
            if head == env or not self.fine:
                break
            env = head
        if self._binds_seed(loop):
            _outdate(done)  # what the turns before have left followed another one
        left: Env | None = {**env, **done}
        for end in self.broken:
            left = _met(left, end)
        self.broken, self.continued, self.own = around
        return left

    def _meets_own(self, loop: For, name: str) -> bool:
        """Say whether each turn of a loop meets elements of an array that no other does: one along its next axis."""
        kind, at = self.arrays.get(name), self.own.get(name, 0)
        if kind is None or at >= len(kind.dims) or self.members[self.groups.find(name)] != [name]:
            return False
        if not covers(loop, kind.dims[at]):
            return False
        inside = list(statements(loop.body))
        if any(isinstance(s, Break | Continue | Return) or loop.var.name in bound(s) for s in inside):
            return False
        return name in names_in(loop.body) and all(self._is_own(s, name, loop.var, at) for s in inside)

    def _is_own(self, stmt: Stmt, name: str, index: Var, at: int) -> bool:
        """Say whether a statement meets the array `name`, if at all, at places whose item `at` is `index`."""
        if name in bound(stmt) or (not isinstance(stmt, Store) and name in written_by(stmt, self.facts)):
            return False

        def each(expr: Expr | Slice) -> bool:
            if isinstance(expr, Index) and isinstance(expr.base, Var) and expr.base.name == name:
                items = expr.index
                return len(items) > at and items[at] == index and all(each(i) for i in items)
            if isinstance(expr, Var):
                return expr.name != name
            return all(each(part) for part in children(expr))

        return all(each(expr) for expr in exprs_of(stmt))

    def _binds_seed(self, loop: For | While) -> bool:
        """Say whether the number that is shifted is another one in each turn."""
        inside = statements(loop.body)
        if isinstance(self.seed, Var):
            return any(self.seed.name in bound(stmt) for stmt in inside)
        return any(stmt is self.place for stmt in inside)

    def _store(self, place: Expr, op: str, value: Expr, read: Reader) -> None:
        root = root_of(place)
        if root is None:
            self.fine = False
            return
        if op and op not in _IN_PLACE:
            fixed = all(read.follows(part) in (FIXED, ZERO) for part in (place, value))
            new: Follows = FIXED if fixed else LOST
        else:
            new = read.follows(Apply(_IN_PLACE[op], (place, value), place.type) if op else value)
        full = isinstance(place, Index) and all(i == Slice(None, None, None) for i in place.index)
        whole = isinstance(place, Var) or (full and isinstance(place, Index) and isinstance(place.base, Var))
        self._into(root.name, new, whole or self._is_all_of_own(place))

    def _is_all_of_own(self, place: Expr) -> bool:
        """Say whether a place is all of an array that this turn meets."""
        if not isinstance(place, Index) or not isinstance(place.base, Var):
            return False
        axes = self.own.get(place.base.name, 0)
        return axes > 0 and all(item == Slice(None, None, None) for item in place.index[axes:])

    def _into(self, name: str, new: Follows, whole: bool) -> None:
        """Note that something is written into an array or a list, all of it for `whole`."""
        sharing = self.members[self.groups.find(name)]
        if whole and sharing == [name]:
            self.env[name] = new
            return
        for one in sharing:
            both = joined(self._of(one), new)
            self.env[one] = LOST if isinstance(both, Shift) and both.own else both

    def _call(self, stmt: CallStmt) -> None:
        given = [self.plain.follows(arg) for arg in stmt.args]
        new: Follows = FIXED if all(v in (FIXED, ZERO) for v in given) else LOST
        for target in stmt.targets:
            self.env[target.name] = new
        for name in written_by(stmt, self.facts):
            self._into(name, new, whole=False)


def _outdate(env: Env) -> None:
    """Forget what followed the number that is bound anew."""
    for name, follows in env.items():
        if isinstance(follows, Shift):
            env[name] = LOST


def _met(a: Env | None, b: Env | None) -> Env | None:
    """Return what is known where two ways meet."""
    if a is None or b is None:
        return a if b is None else b
    return {name: joined(a.get(name, NOT_YET), b.get(name, NOT_YET)) for name in {**a, **b}}


def _held(body: tuple[Stmt, ...], name: str) -> tuple[Stmt, ...]:
    """Return a block in which no derivative flows into a name."""

    def each(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Assign) and stmt.target.name == name and not isinstance(stmt.value, Const):
            return replace(stmt, value=_constant(stmt.value))
        return map_blocks(stmt, lambda inner: _held(inner, name))

    return tuple(each(s) for s in body)


def _held_in(body: tuple[Stmt, ...], place: Stmt, expr: Apply) -> tuple[Stmt, ...]:
    """Return a block in which no derivative flows through an expression of one statement."""

    def each(stmt: Stmt) -> Stmt:
        if stmt is place:
            return map_exprs(stmt, lambda e: exchanged(e, expr, _constant(expr)))
        return map_blocks(stmt, lambda inner: _held_in(inner, place, expr))

    return tuple(each(s) for s in body)


def _constant(value: Expr) -> Expr:
    return Apply(ops.stop_gradient, (value,), value.type)


__all__ = ["without_cancelled"]
