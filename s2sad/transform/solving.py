"""Which thread read an element: the indices of an adjoint's additions, solved for the thread.

u_bar[i + 2]            thread  e - 2
u_bar[i + q]            thread  e - q, for every q of the loop
x_bar[j]                every thread, in that turn of its loop where j is e
p_bar[j, 0]             the same, of the column 0
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import Any

from s2sad.analysis.races import accesses
from s2sad.analysis.threads import Linear, Threads
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.device import Intrinsic
from s2sad.ir.nodes import Apply, Const, Expr, For, Function, If, Index, Slice, Stmt, Store, Var
from s2sad.ir.walk import blocks_of, exprs_of, reads, subexpressions
from s2sad.transform.rewriting import folded, root_name, root_name_in
from s2sad.transform.stepping import forwards, minus


class NotPullable(Exception):
    """The array's additions cannot be solved for the thread."""


@dataclass(frozen=True, slots=True)
class Along:
    """A position in an index that says which thread it is: `coordinate + sum(factor * variable) + offset`."""

    axis: int
    position: int
    offset: int
    moved: tuple[tuple[str, int], ...] = ()
    """The variables of the loops that move it on, with their factors."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A position in an index that the variable of a loop gives, and `offset`: one turn of the loop meets an element."""

    loop: int
    """The identity of the loop."""
    name: str
    position: int
    offset: int


@dataclass(frozen=True, slots=True)
class Site:
    """One addition, and its index solved."""

    stmt: Store
    axes: tuple[Along, ...]
    opened: tuple[Opened, ...]
    moving: tuple[int, ...]
    """The identities of the loops whose variables move the thread's place on, the outer ones first."""
    fixed: tuple[tuple[int, int], ...]
    """Positions that are constants, and these."""
    tests: tuple[Expr, ...]

    def key(self) -> tuple[Any, ...]:
        """Return what sites must share to be written as one block."""
        return self.axes, self.opened, self.moving


def upward(loop: For) -> For | None:
    """Return a loop so that it counts up by a constant, None where that cannot be said."""
    step = loop.step.value if isinstance(loop.step, Const) else 0
    found = loop if step > 0 else forwards(loop)
    return found if found is not None and isinstance(found.step, Const) and found.step.value > 0 else None


def least_of(loop: For) -> Expr | None:
    """Return what the variable of a loop is at least, None where that cannot be said."""
    ahead = upward(loop)
    if ahead is not None:
        return ahead.start
    return minus(loop.stop, -1) if isinstance(loop.step, Const) and loop.step.value < 0 else None


def turn_at(loop: For, value: Expr, from_zero: bool) -> list[Expr]:
    """Return the tests that the variable of a loop is `value` in one of its turns; `from_zero`: it is no less."""
    ahead = upward(loop)
    bounds, way = ahead or loop, build(operator.sub, loop.start, value)
    assert isinstance(bounds.step, Const)
    if ahead is None:
        tests = [build(operator.lt, loop.stop, value), build(operator.le, value, loop.start)]
    else:
        tests = [build(operator.le, ahead.start, value), build(operator.lt, value, ahead.stop)]
        way = build(operator.sub, value, ahead.start)
    if from_zero and ahead is not None and isinstance(ahead.start, Const) and ahead.start.value == 0:
        tests = tests[1:]
    step = abs(bounds.step.value)
    if step != 1:
        tests.append(build(operator.eq, build(operator.mod, folded(way), literal(step)), literal(0)))
    return tests


class Solver:
    """Solves the additions to one shadow."""

    def __init__(self, fn: Function, body: tuple[Stmt, ...], threads: Threads, place: Var, rank: int) -> None:
        """Solve for `place` in the work of one thread, `body`."""
        self.fn, self.body, self.threads, self.place, self.rank = fn, body, threads, place, rank
        self.params = {p.name for p in fn.params}

    def sites(self) -> list[Site]:
        """Return the additions; raises NotPullable where one cannot be solved, or something else is done there."""
        bar = self.place.name
        for access in accesses(replace(self.fn, body=self.body), self.threads):
            if access.root == bar and (access.kind != "add" or access.index is None):
                raise NotPullable
        found: list[Site] = []
        for stmt, around, tests in _nested(self.body, (), ()):
            place = stmt.place if isinstance(stmt, Store) else None
            if any(root_name_in(e, bar) for e in exprs_of(stmt) if e is not place):
                raise NotPullable
            if isinstance(stmt, Store) and root_name(stmt.place) == bar:
                if not (isinstance(stmt.place, Index) and isinstance(stmt.place.base, Var) and stmt.accumulate):
                    raise NotPullable
                found.append(self._solve(stmt, stmt.place, around, tests))
        if not found or len({tuple(p for p, _ in s.fixed) for s in found}) > 1:
            raise NotPullable
        return found

    def _solve(self, stmt: Store, place: Index, around: tuple[For, ...], tests: tuple[Expr, ...]) -> Site:
        axes: list[Along] = []
        opened: list[Opened] = []
        fixed: list[tuple[int, int]] = []
        if len(place.index) != self.rank:
            raise NotPullable
        for position, item in enumerate(place.index):
            form = None if isinstance(item, Slice) else self.threads.linear(item)
            if form is None:
                raise NotPullable
            along = self._along(form, position, around)
            if along is not None:
                self._check_from_zero(item, form, along, tests)
                axes.append(along)
            elif not form.terms and form.constant >= 0:
                fixed.append((position, form.constant))
            else:
                opened.append(self._opened(form, position, around))
        if len({a.axis for a in axes}) < len(axes) or len({o.name for o in opened}) < len(opened):
            raise NotPullable
        moving = {name for a in axes for name, _ in a.moved}
        if moving & {o.name for o in opened}:
            raise NotPullable
        loops = tuple(id(x) for x in around if x.var.name in moving)
        if len(loops) < len(moving):
            raise NotPullable
        return Site(stmt, tuple(axes), tuple(opened), loops, tuple(fixed), tests)

    def _along(self, form: Linear, position: int, around: tuple[For, ...]) -> Along | None:
        """Read an index that has the thread's coordinate in it once, and beside it variables of loops alone."""
        places = [p[0][1] for p, factor in form.terms if len(p) == 1 and isinstance(p[0], tuple) and factor == 1]
        rest = [(p, f) for p, f in form.terms if not any(isinstance(a, tuple) for a in p)]
        if len(places) != 1 or len(rest) != len(form.terms) - 1:
            return None
        moved: list[tuple[str, int]] = []
        for product, factor in rest:
            loop = next((x for x in around if x.var.name == product[0]), None) if len(product) == 1 else None
            if loop is None or not self._same_for_all(loop):
                raise NotPullable
            moved.append((loop.var.name, factor))
        return Along(places[0], position, form.constant, tuple(moved))

    def _same_for_all(self, loop: For) -> bool:
        """Say whether every thread's loop is over the same range: it is put around the threads."""
        ahead = upward(loop)
        for expr in (ahead.start, ahead.stop) if ahead is not None else ():
            if not reads(expr) <= self.params or reads(expr) & set(self.threads.values):
                return False
            if any(isinstance(p, Index) or (isinstance(p, Apply) and isinstance(p.fn, Intrinsic))
                   for p in subexpressions(expr)):  # fmt: skip
                return False
        return ahead is not None

    def _check_from_zero(self, item: Any, form: Linear, along: Along, tests: tuple[Expr, ...]) -> None:
        """Refuse an index that may be negative: `u[i - 1]` at 0 means the last element, which `e - c` does not find."""
        least = self.threads.lowest(item, tests)
        if least is None and along.offset >= 0 and all(f > 0 and self._from_zero(n) for n, f in along.moved):
            return
        if least is None or least < 0:
            raise NotPullable

    def _from_zero(self, name: str) -> bool:
        """Say whether all loops of a variable begin at 0 or later, and count up."""
        loops = [upward(x) for x in self.threads.loops.get(name, ())]
        return all(x is not None and isinstance(x.start, Const) and x.start.value >= 0 for x in loops)

    def _opened(self, form: Linear, position: int, around: tuple[For, ...]) -> Opened:
        if len(form.terms) != 1 or form.terms[0][1] != 1 or len(form.terms[0][0]) != 1:
            raise NotPullable
        loop = next((x for x in around if x.var.name == form.terms[0][0][0]), None)
        first = least_of(loop) if loop is not None else None
        if loop is None or first is None:
            raise NotPullable
        low = self.threads.linear(first)
        if low is None or any(f < 0 for _, f in low.terms) or low.constant + form.constant < 0:
            raise NotPullable
        if any(isinstance(a, str) and a not in self.threads.coordinates for a in low.atoms()):
            raise NotPullable  # a number of the user's, which may be negative
        return Opened(id(loop), loop.var.name, position, form.constant)


def _nested(
    body: tuple[Stmt, ...], around: tuple[For, ...], tests: tuple[Expr, ...]
) -> list[tuple[Stmt, tuple[For, ...], tuple[Expr, ...]]]:
    """Return every statement with the loops around it and what holds there."""
    found: list[tuple[Stmt, tuple[For, ...], tuple[Expr, ...]]] = []
    for stmt in body:
        found.append((stmt, around, tests))
        for number, block in enumerate(blocks_of(stmt)):
            holds = (*tests, stmt.test) if isinstance(stmt, If) and number == 0 else tests
            found += _nested(block, (*around, stmt) if isinstance(stmt, For) else around, holds)
    return found


def asks_for_the_place_only(test: Expr, threads: Threads, loops: set[str]) -> bool:
    """Say whether a condition is a comparison of places and lengths, which some thread meets wherever an array is."""
    if isinstance(test, Apply) and test.fn in (ops.both, ops.either):
        return all(asks_for_the_place_only(part, threads, loops) for part in test.args)
    form = [threads.linear(arg) for arg in test.args] if isinstance(test, Apply) else []
    return any(f is not None and any(isinstance(a, tuple) or a in loops for a in f.atoms()) for f in form)


__all__ = ["Along", "NotPullable", "Opened", "Site", "Solver", "asks_for_the_place_only", "turn_at",
           "upward"]  # fmt: skip
