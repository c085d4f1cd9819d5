"""Which loops may run their turns at once: no turn touches an element that another changes, but to add to it.

    for i in prange(n):
        r = model(x[i], w) - y[i]
        total += r * r                 # a sum: each share of the turns has its own
        x_bar[i] += r * slope          # an element that only this turn has
        w_bar[k] += r * x[i, k]        # added to by all: each share has an array of its own

The user's `prange` says which loops he wants so; whether they can is read off the loop that is there, of the primal or
of a derivative, and does not depend on what he says.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from s2sad.analysis.bounds import least_of, lower_bounds
from s2sad.analysis.facts import Facts
from s2sad.analysis.liveness import Liveness, is_rebinding
from s2sad.analysis.loops import affine, popped_from
from s2sad.analysis.quiet import is_quiet
from s2sad.analysis.sharing import Apart, Groups
from s2sad.frontend.values import literal
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    Break,
    CallStmt,
    Const,
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
)
from s2sad.ir.shapes import SHAPES, reads_content
from s2sad.ir.types import Array, ListOf, Scalar
from s2sad.ir.views import is_advanced
from s2sad.ir.walk import blocks_of, bound, children, exprs_of, reads, root_of, statements
from s2sad.transform.stepping import forwards

_EVERY = Slice(None, None, None)
_SUMMED = ("f", "c", "i")


@dataclass(frozen=True, slots=True)
class Turns:
    """A loop whose turns may run at once.

    Attributes:
        loop: the loop, counting up, without `checks`.
        checks: what raises an error in every turn or in none.
        sums: numbers that its turns add to, which have their value after the loop.
        added: arrays that its turns add to, wherever.
        given: what else its turns read that is set before it.
    """

    loop: For
    checks: tuple[If, ...]
    sums: tuple[Var, ...]
    added: tuple[Var, ...]
    given: tuple[Var, ...]


class Reader:
    """Reads the loops of one function."""

    def __init__(self, fn: Function, facts: Facts, alone: frozenset[str] | None) -> None:
        """Index the function.

        `alone`: its parameters that share no memory that is written with others; None for the entry, which anybody
        calls: what it writes may be any of them.
        """
        self.fn, self.facts = fn, facts
        self.live = Liveness(fn.body)
        self.least = lower_bounds(fn)
        self.apart = Apart(fn, facts)
        given = [(at, p.name) for at, p in enumerate(fn.params) if isinstance(p.type, Array | ListOf)]
        doubtful = [name for at, name in given if (at in facts.writes(fn.name) if alone is None else name not in alone)]
        for name in doubtful:
            for _, other in given if alone is None else ():
                self.apart.join(name, other)
            self.apart.join(name, doubtful[0])

    def read(self, loop: For) -> Turns | None:
        """Return what the turns of a loop share, if they may run at once."""
        ahead = loop if loop.step == literal(1) else forwards(loop)
        if ahead is None or not isinstance(ahead.step, Const) or ahead.step.value != 1:
            return None
        first = least_of(ahead.start, self.least)
        if first is None or first < 0:
            return None
        checks = tuple(s for s in loop.body if isinstance(s, If) and self._is_same_in_each(s, loop))
        body = tuple(s for s in loop.body if s not in checks)
        if _leaves(body) or not all(self._fits(s) for s in statements(body)):
            return None
        own = {name for s in statements(body) for name in _set_by(s)}
        after = self.live.after[id(loop)]
        if loop.var.name in own or loop.var.name in after:
            return None
        variables = {v.name: v for s in statements(body) for e in exprs_of(s) for v in variables_of(e)}
        entering = (self.live.before_loop_body(loop) - {loop.var.name}) & variables.keys()
        sums = entering & own
        if (after & own) - sums or not all(_is_sum(variables[name], body) for name in sums):
            return None
        added = self._added(Accesses(body, self.facts, ends=(ahead.start, ahead.stop)), own, loop.var.name, first)
        if added is None:
            return None
        order = [name for name in (*(p.name for p in self.fn.params), *variables) if name in entering]
        entered = [variables[name] for name in dict.fromkeys(order)]
        return Turns(
            replace(ahead, body=body), checks, tuple(v for v in entered if v.name in sums),
            tuple(v for v in entered if v.name in added), tuple(v for v in entered if v.name not in sums | added),
        )  # fmt: skip

    def _is_same_in_each(self, stmt: If, loop: For) -> bool:
        """Say whether a statement raises an error in every turn, or in none, as it looks at lengths alone."""
        if stmt.orelse or not all(isinstance(s, Raise) for s in stmt.body):
            return False
        read = reads_content(stmt.test) | {name for s in stmt.body for e in exprs_of(s) for name in reads(e)}
        return not read and not reads(stmt.test) & {name for s in statements((loop,)) for name in _set_by(s)}

    def _fits(self, stmt: Stmt) -> bool:
        """Say whether a turn may do this where others run beside it."""
        return not isinstance(stmt, Return | Swap) and is_quiet(stmt, self.facts, self.least)

    def _added(self, accesses: Accesses, own: set[str], counter: str, first: int) -> set[str] | None:
        """Return the arrays that turns add to all over; None if turns meet otherwise."""
        by_root: dict[str, list[Access]] = {}
        for access in accesses.found:
            by_root.setdefault(access.root, []).append(access)
        added: set[str] = set()
        for root, found in by_root.items():
            if not any(a.writes for a in found) or self._is_local(root, own):
                continue
            if root in own or not all(isinstance(a.kind, Array) for a in found):
                return None
            if any(other != root and self.apart.may_meet(root, other) for other in by_root):
                return None
            common = frozenset.intersection(*(a.pins(counter) for a in found))
            if any(first + offset >= 0 for _, offset in common):
                continue
            kind = found[0].kind
            assert isinstance(kind, Array)
            if not all(a.adds for a in found) or np.dtype(kind.dtype).kind not in _SUMMED or kind.layout != "C":
                return None
            if any(a.picks() - own - {None, counter} for a in found):  # a share would make the whole for a part of it
                return None
            added.add(root)
        return added

    def _is_local(self, root: str, own: set[str]) -> bool:
        """Say whether every turn makes the array for itself."""
        groups = self.apart.groups
        names = {name for name in groups.parent if groups.find(name) == groups.find(root)} | {root}
        return names <= own and not any(p.name in names for p in self.fn.params)


@dataclass(frozen=True, slots=True)
class Access:
    """An array, or a part of it, that a statement reads or writes.

    Attributes:
        root: the name of the array.
        kind: its type.
        fixed: by axis of the array the index that picks one place there; None if that is not known.
        writes: it is written.
        adds: it is only added to.
    """

    root: str
    kind: object
    fixed: tuple[tuple[int, Expr], ...] | None
    writes: bool = False
    adds: bool = False

    def pins(self, counter: str) -> frozenset[tuple[int, int]]:
        """Return the axes along which a counter picks the place, and by how much it is moved."""
        told = [(axis, affine(item)) for axis, item in self.fixed or ()]
        return frozenset((axis, read[1]) for axis, read in told if read is not None and read[0] == counter)

    def picks(self) -> set[str | None]:
        """Return the names that are indices, or differ from one by a number."""
        return {read[0] for _, item in self.fixed or () if (read := affine(item)) is not None}


class Accesses:
    """All accesses of some statements."""

    def __init__(
        self, body: tuple[Stmt, ...], facts: Facts, asked: frozenset[Any] = frozenset(), ends: tuple[Expr, ...] = ()
    ) -> None:
        """Go through the statements, and through those inside them.

        `asked`: see `adds_only`. `ends`: what is read beside the statements.
        """
        self.facts, self.asked = facts, asked
        self.views: dict[str, Expr] = {}
        made: dict[str, list[Stmt]] = {}
        for stmt in statements(body):
            for name in bound(stmt):
                made.setdefault(name, []).append(stmt)
        for name, stmts in made.items():
            stmt = stmts[0]
            if len(stmts) == 1 and isinstance(stmt, Assign) and _is_part(stmt.value):
                self.views[name] = stmt.value
        self.found: list[Access] = []
        for stmt in statements(body):
            self._stmt(stmt)
        for end in ends:
            self._reads(end)

    def _stmt(self, stmt: Stmt) -> None:
        match stmt:
            case Assign(Var(name), value) if name in self.views:
                self._indices(value)
            case Store(place, op, value) if not is_rebinding(stmt):
                self._note(place, writes=True, adds=op in ("+", "-"))
                self._indices(place)
                self._reads(value)
            case Append(items, value):
                self.found.append(Access(items.name, items.type, None, writes=True))
                self._reads(value)
            case CallStmt(_, callee, args):
                written = self.facts.writes(callee)
                for at, arg in enumerate(args):
                    if at in written:
                        self._note(arg, writes=True, adds=adds_only(callee, at, self.facts, self.asked))
                        self._indices(arg)
                    else:
                        self._reads(arg)
            case _:
                if (items := popped_from(stmt)) is not None:
                    self.found.append(Access(items.name, items.type, None, writes=True))
                for expr in exprs_of(stmt):
                    self._reads(expr)

    def _note(self, place: Expr, writes: bool = False, adds: bool = False) -> None:
        root = root_of(place)
        if root is None:
            return
        told = self._fixed(place)
        if told is None:
            self.found.append(Access(root.name, root.type, None, writes))
        else:
            base, _, fixed = told
            self.found.append(Access(base.name, base.type, tuple(fixed), writes, adds))

    def _reads(self, expr: Expr | Slice) -> None:
        match expr:
            case Apply(fn, (first, *others)) if fn in SHAPES and isinstance(first, Var):
                for other in others:
                    self._reads(other)
            case Var(_, Array() | ListOf()):
                self._note(expr)
            case Index():
                self._note(expr)
                self._indices(expr)
            case _:
                for child in children(expr):
                    self._reads(child)

    def _indices(self, place: Expr) -> None:
        while True:
            match place:
                case Index(base, index):
                    for item in index:
                        self._reads(item)
                    place = base
                case Apply(_, (first, *others)):
                    for other in others:
                        self._reads(other)
                    place = first
                case _:
                    return

    def _fixed(self, place: Expr) -> tuple[Var, list[int | None], list[tuple[int, Expr]]] | None:
        """Return the array of a place, which of its axes are left, and the indices along the others."""
        match place:
            case Var(name) if name in self.views:
                return self._fixed(self.views[name])
            case Var(_, Array(_, dims)):
                return place, list(range(len(dims))), []
            case Index(base, index) if isinstance(base.type, Array):
                inner = self._fixed(base)
                return None if inner is None else _picked(inner, index)
            case _:
                return None


def _picked(
    inner: tuple[Var, list[int | None], list[tuple[int, Expr]]], index: tuple[Expr | Slice, ...]
) -> tuple[Var, list[int | None], list[tuple[int, Expr]]] | None:
    root, axes, fixed = inner
    axes, left = list(axes), list[int | None]()
    fixed = list(fixed)
    for item in index:
        if not axes:
            return None
        if isinstance(item, Slice):
            axis = axes.pop(0)
            left.append(axis if item == _EVERY else None)
        elif not isinstance(item.type, Scalar | Array) or item.type.dtype == "bool":
            return None
        else:
            axis = axes.pop(0)
            if axis is not None and isinstance(item.type, Scalar):
                fixed.append((axis, item))
    if is_advanced(index):
        return root, [None] * len(axes), fixed
    return root, [*left, *axes], fixed


def _is_part(value: Expr) -> bool:
    """Say whether a value is another name of an array, or of a part that indices pick."""
    while isinstance(value, Index) and isinstance(value.type, Array) and not is_advanced(value.index):
        value = value.base
    return isinstance(value, Var) and isinstance(value.type, Array)


def adds_only(callee: str, position: int, facts: Facts, asked: frozenset[tuple[str, int]] = frozenset()) -> bool:
    """Say whether a function does nothing to the array that it gets at `position` but to add to its elements.

    `asked`: functions and positions of which that is being found out.
    """
    fn = facts.functions.get(callee)
    if fn is None or not fn.body or position >= len(fn.params):
        return False
    if (callee, position) in asked:
        return True
    param = fn.params[position].name
    groups = Groups(fn, facts)
    accesses = Accesses(fn.body, facts, asked | {(callee, position)})
    names = {name for name in groups.parent if groups.find(name) == groups.find(param)} | {param}
    if names - {param} - accesses.views.keys():
        return False
    return all(access.adds for access in accesses.found if groups.find(access.root) == groups.find(param))


def _set_by(stmt: Stmt) -> tuple[str, ...]:
    if isinstance(stmt, Store) and is_rebinding(stmt):
        assert isinstance(stmt.place, Var)
        return (stmt.place.name,)
    return bound(stmt)


def variables_of(expr: Expr | Slice) -> Iterator[Var]:
    """Yield the variables that an expression reads, in order."""
    if isinstance(expr, Var):
        yield expr
    for child in children(expr):
        yield from variables_of(child)


def _leaves(body: tuple[Stmt, ...]) -> bool:
    """Say whether a turn may end the loop."""
    for stmt in body:
        if isinstance(stmt, Break):
            return True
        if isinstance(stmt, If) and any(_leaves(block) for block in blocks_of(stmt)):
            return True
    return False


def _is_sum(var: Var, body: tuple[Stmt, ...]) -> bool:
    """Say whether turns only add to a number, and never look at it."""
    if not isinstance(var.type, Scalar) or np.dtype(var.type.dtype).kind not in _SUMMED:
        return False
    for stmt in statements(body):
        value = added_to(stmt, var.name)
        if value is not None:
            if var.name in reads(value):
                return False
        elif var.name in _set_by(stmt) or any(var.name in reads(expr) for expr in exprs_of(stmt)):
            return False
    return True


def added_to(stmt: Stmt, name: str) -> Expr | None:
    """Return what a statement adds to a number, or takes from it."""
    match stmt:
        case Store(Var(target), "+" | "-", value) if target == name:
            return value
        case Assign(Var(target), Apply(fn, (Var(old), value))) if fn in (operator.add, operator.sub):
            return value if target == old == name else None
        case Assign(Var(target), Apply(fn, (value, Var(old)))) if fn is operator.add:
            return value if target == old == name else None
        case _:
            return None

