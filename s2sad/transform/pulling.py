"""Scatter turned into gather: an element collects what the threads that read it would have added.

    # thread i:  out[i] = u[i - 1] + u[i + 1]
    # scatter:   u_bar[i - 1] += out_bar[i];  u_bar[i + 1] += out_bar[i]
    # gather:    u_bar[i] += out_bar[i + 1] + out_bar[i - 1]

An index in the adjoint is solved for the thread: at `i + c` the element `e` was read by thread
`e - c`. Where the index is the variable of a loop over all elements, as in an n-body sum, the roles
are exchanged: the element stands in for that variable, and a loop runs over the threads. The part of
the thread's program that leads to the addition is copied with the thread's place put in; what does
not lead there falls away as dead code. No two threads then add to one element, and sums are in a
fixed order. Needs: arrays that the kernel only reads, no barriers, no tapes.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, replace
from typing import Any

from s2sad.analysis.facts import Facts
from s2sad.analysis.liveness import Liveness
from s2sad.analysis.races import accesses
from s2sad.analysis.threads import Threads
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.device import GRID, STRIDE, Intrinsic
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    CallStmt,
    Comment,
    Const,
    Effect,
    Expr,
    For,
    Function,
    If,
    Index,
    Return,
    Slice,
    Stmt,
    Store,
    Var,
    While,
)
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import (
    blocks_of,
    bound,
    exprs_of,
    map_blocks,
    names_in,
    statements,
    subexpressions,
)
from s2sad.transform.algebra import zero
from s2sad.transform.meeting import INT, PlanLine
from s2sad.transform.naming import Namer
from s2sad.transform.rewriting import (
    costly_loop,
    folded,
    guarded,
    joined,
    needed_for,
    plus_one,
    read_exprs,
    replaced,
    root_name,
    root_name_in,
    shifted,
    without_idle_indices,
)
from s2sad.transform.tidy import tidy

_MOST = 27  # a stencil of 3 x 3 x 3


class NotPullable(Exception):
    """The array's additions cannot be solved for the thread."""


@dataclass(frozen=True, slots=True)
class Site:
    """One addition, and its index solved: coordinates and loop variables by position and offset."""

    stmt: Store
    axes: tuple[tuple[int, int, int], ...]
    """(axis of the launch, position in the index, offset)."""
    opened: tuple[tuple[int, str, int, int], ...]
    """(identity of the loop, its variable, position, offset)."""

    def key(self) -> tuple[Any, ...]:
        """Return what sites must share to be written as one block."""
        return self.axes, self.opened


@dataclass(slots=True)
class Pulled:
    """What came of an adjoint: kernels that gather, and what is left of the original."""

    kernels: list[Function] = field(default_factory=list[Function])
    rest: Function | None = None
    plan: list[PlanLine] = field(default_factory=list[PlanLine])


def pulled(
    fn: Function, threads: Threads, limits: dict[int, Expr], bars: dict[str, str], facts: Facts, keep: frozenset[str]
) -> Pulled:
    """Gather into every shadow that several threads add to, where that is possible.

    `limits`: the ends of grid-stride loops by axis; `bars`: shadows of arrays that are only read, and these arrays.
    """
    result = Pulled(rest=fn)
    for bar, array in bars.items():
        assert result.rest is not None
        known = [a.index for a in accesses(result.rest, threads) if a.root == bar and a.index is not None]
        if threads.are_own(known) or all(all(isinstance(i, Const) for i in index) for index in known):
            continue
        try:
            kernel, plan = _Pull(result.rest, threads, limits, bar, array, facts, keep).run()
        except NotPullable:
            continue
        result.kernels.append(kernel)
        result.plan += plan
        result.rest = _without(result.rest, bar, facts, keep, frozenset(bars) | _outputs(fn))
    return result


def _outputs(fn: Function) -> frozenset[str]:
    return frozenset(p.name for p in fn.params if isinstance(p.type, Array))


def _without(fn: Function, bar: str, facts: Facts, keep: frozenset[str], outputs: frozenset[str]) -> Function:
    """Leave out the additions to one shadow."""

    def each(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        kept = [s for s in body if not (isinstance(s, Store) and root_name(s.place) == bar)]
        return tuple(map_blocks(s, each) for s in kept)

    return tidy(replace(fn, body=each(fn.body)), facts, keep, outputs)


def _coordinate_names(threads: Threads) -> dict[str, int]:
    """Return the names that hold a thread's coordinate, with their axes."""
    found = dict(threads.coordinates)
    for stmt in statements(threads.fn.body):
        if isinstance(stmt, Assign) and threads.values.get(stmt.target.name) is not None:
            form = threads.linear(stmt.value)
            if form is not None and not form.constant and len(form.terms) == 1:
                (product, factor), = form.terms
                if factor == 1 and len(product) == 1 and isinstance(product[0], tuple):
                    found[stmt.target.name] = product[0][1]
    return found


def _after(body: tuple[Stmt, ...], wanted: Stmt) -> list[Stmt]:
    """Return what may run after a statement: what follows it, and its loops from their beginning."""
    for position, stmt in enumerate(body):
        if stmt is wanted:
            return list(statements(body[position + 1 :]))
        if any(s is wanted for s in statements((stmt,))):
            inner = [] if isinstance(stmt, If) else [s for s in statements((stmt,)) if s is not wanted]
            for block in blocks_of(stmt) if isinstance(stmt, If) else ():
                inner += _after(block, wanted)
            return [*inner, *statements(body[position + 1 :])]
    return []


class _Pull:
    def __init__(
        self, fn: Function, threads: Threads, limits: dict[int, Expr], bar: str, array: str, facts: Facts,
        keep: frozenset[str],
    ) -> None:  # fmt: skip
        self.fn, self.threads, self.limits, self.bar, self.array = fn, threads, limits, bar, array
        self.facts, self.keep = facts, keep
        self.namer = Namer(names_in(fn.body) | {p.name for p in fn.params})
        param = next(p for p in fn.params if p.name == bar)
        self.place = Var(bar, param.type)
        assert isinstance(param.type, Array)
        self.rank, self.dtype = len(param.type.dims), param.type.dtype
        self.names = {axis: name for name, axis in reversed(list(_coordinate_names(threads).items()))}
        self.axes = sorted(threads.axes)
        self.total = Var(self.namer.fresh(f"{array}_sum"), Scalar(self.dtype))
        self.others: set[str] = set()
        self.body = self._one_thread()

    def _one_thread(self) -> tuple[Stmt, ...]:
        """Return the work of one thread for one element: grid-stride loops off, coordinates free."""
        body = self.fn.body
        coordinates = set(self.threads.coordinates)
        while coordinates:
            loop = next((s for s in body if isinstance(s, For) and s.var.name in coordinates), None)
            if loop is None:
                break
            body = (*(s for s in body if s is not loop and not isinstance(s, Return)), *loop.body)
            coordinates.discard(loop.var.name)
        names = {self.names[a] for a in self.axes if a in self.names}
        body = tuple(
            s for s in body
            if not (isinstance(s, Assign) and s.target.name in names) and not isinstance(s, Return | Comment)
        )  # fmt: skip
        if len(self.names) < len(self.axes):
            raise NotPullable
        body = without_idle_indices(body)
        for stmt in statements(body):
            if isinstance(stmt, Effect | Append | While) or (set(bound(stmt)) & names):
                raise NotPullable
            for expr in exprs_of(stmt):
                if any(isinstance(p, Apply) and isinstance(p.fn, Intrinsic) for p in subexpressions(expr)):
                    raise NotPullable
        return body

    def run(self) -> tuple[Function, list[PlanLine]]:
        sites = self._sites()
        groups: dict[Any, list[Site]] = {}
        for site in sites:
            groups.setdefault(site.key(), []).append(site)
        if len(groups) > _MOST:
            raise NotPullable
        self.elements = [Var(f"<{position}>", INT) for position in range(self.rank)]
        parts = [self._block(group) for group in groups.values()]
        if sum(costly_loop(part, self.others) for part in parts) > 1:
            raise NotPullable  # every part would run the loop again
        names = self._element_names(sites)
        final: dict[str, Expr] = {e.name: v for e, v in zip(self.elements, names, strict=True)}
        blocks = [s for part in parts for s in (Comment(""), *replaced(tuple(part), final))]
        self.elements = names
        cell = Index(self.place, tuple(self.elements), Scalar(self.dtype))
        body: tuple[Stmt, ...] = (
            Assign(self.total, zero(self.total.type), self.fn.span), *blocks[1:],
            Store(cell, "+", self.total, self.fn.span),
        )  # fmt: skip
        body = self._over_elements(body)
        doc = f"{self.fn.doc.removesuffix('.')}: each element of `{self.bar}` gathers its own."
        name = f"{self.fn.name}_{self.array}"
        made = replace(self.fn, name=name, body=joined(body), results=(), doc=doc)
        made = tidy(made, self.facts, self.keep, frozenset({self.bar}))
        for stmt in statements(made.body):
            if isinstance(stmt, Store) and root_name(stmt.place) != self.bar and self._is_param(stmt.place):
                raise NotPullable
        return made, self._plan(sites)

    def _is_param(self, place: Expr) -> bool:
        return root_name(place) in {p.name for p in self.fn.params}

    def _plan(self, sites: list[Site]) -> list[PlanLine]:
        lines: list[PlanLine] = []
        for site in sites:
            how, why = ("gathered", "it is a constant distance from the thread's own place")
            if site.opened or len(site.axes) < len(self.axes):
                how, why = "gathered, roles exchanged", "a loop runs over all elements in every thread"
            from s2sad.transform.meeting import shown

            place = site.stmt.place
            assert isinstance(place, Index)
            lines.append(PlanLine(site.stmt.span, shown(self.bar, place.index), how, why))
        return lines

    # ---- solving ----

    def _sites(self) -> list[Site]:
        loops: dict[int, list[For]] = {}
        tests: dict[int, list[Expr]] = {}

        def visit(body: tuple[Stmt, ...], around: list[For], under: list[Expr]) -> None:
            for stmt in body:
                loops[id(stmt)], tests[id(stmt)] = around, under
                for number, block in enumerate(blocks_of(stmt)):
                    holds = [*under, stmt.test] if isinstance(stmt, If) and number == 0 else under
                    visit(block, [*around, stmt] if isinstance(stmt, For) else around, holds)

        visit(self.body, [], [])
        for access in accesses(replace(self.fn, body=self.body), self.threads):
            if access.root == self.bar and (access.kind != "add" or access.index is None):
                raise NotPullable
        found: list[Site] = []
        for stmt in statements(self.body):
            place = stmt.place if isinstance(stmt, Store) else None
            if any(root_name_in(e, self.bar) for e in exprs_of(stmt) if e is not place):
                raise NotPullable
            if isinstance(stmt, Store) and root_name(stmt.place) == self.bar:
                if not (isinstance(stmt.place, Index) and isinstance(stmt.place.base, Var) and stmt.accumulate):
                    raise NotPullable
                found.append(self._solve(stmt, stmt.place, loops[id(stmt)]))
                self._check_from_zero(found[-1], loops[id(stmt)], tests[id(stmt)])
        if not found:
            raise NotPullable
        return found

    def _solve(self, stmt: Store, place: Index, around: list[For]) -> Site:
        axes: list[tuple[int, int, int]] = []
        opened: list[tuple[int, str, int, int]] = []
        if len(place.index) != self.rank:
            raise NotPullable
        for position, item in enumerate(place.index):
            step = self.threads.step(item)
            if step is not None and step.factor == 1 and isinstance(step.which, tuple):
                axes.append((step.which[1], position, step.constant))
                continue
            form = None if isinstance(item, Slice) else self.threads.linear(item)
            if form is None or len(form.terms) != 1 or form.terms[0][1] != 1 or len(form.terms[0][0]) != 1:
                raise NotPullable
            loop = next((x for x in around if x.var.name == form.terms[0][0][0]), None)
            if loop is None or not (isinstance(loop.step, Const) and loop.step.value in (1, -1)):
                raise NotPullable
            opened.append((id(loop), loop.var.name, position, form.constant))
        if len({a for a, _, _ in axes}) < len(axes) or len({n for _, n, _, _ in opened}) < len(opened):
            raise NotPullable
        return Site(stmt, tuple(axes), tuple(opened))

    def _check_from_zero(self, site: Site, around: list[For], tests: list[Expr]) -> None:
        """Refuse an index that may be negative: `u[i - 1]` at 0 means the last element, which `e - c` does not find."""
        for axis, _, offset in site.axes:
            if offset < 0 and self.threads.least(("grid", axis), tests) + offset < 0:
                raise NotPullable
        for loop_id, _, _, offset in site.opened:
            loop = next(x for x in around if id(x) == loop_id)
            step = loop.step.value if isinstance(loop.step, Const) else 0
            low = self.threads.linear(loop.start if step == 1 else plus_one(loop.stop))
            if low is None or any(f < 0 for _, f in low.terms) or low.constant + offset < 0:
                raise NotPullable
            if any(isinstance(a, str) and a not in self.threads.coordinates for a in low.atoms()):
                raise NotPullable  # a number of the user's, which may be negative

    def _element_names(self, sites: list[Site]) -> list[Var]:
        """Name the index of an element: as the thread's own place where some site has that there."""
        names: list[Var] = []
        for position in range(self.rank):
            own = {a for s in sites for a, p, _ in s.axes if p == position}
            loops = {n for s in sites for _, n, p, _ in s.opened if p == position}
            hint = self.names[min(own)] if own else self.namer.fresh(min(loops))
            free = own and hint not in {v.name for v in names} and hint not in self.others
            names.append(Var(hint if free else self.namer.fresh(hint), INT))
        return names

    # ---- writing ----

    def _block(self, group: list[Site]) -> list[Stmt]:
        """Copy the way to the additions of one group, the thread solved for."""
        first = group[0]
        values: dict[str, Expr] = {}
        guards: list[Expr] = []
        loops: list[tuple[Var, Expr]] = []
        for axis in self.axes:
            name = self.names[axis]
            solved = next(((p, c) for a, p, c in first.axes if a == axis), None)
            if solved is None:
                other = Var(self.namer.fresh("other"), INT)
                self.others.add(other.name)
                values[name] = other
                loops.append((other, self._limit(axis)))
                continue
            position, offset = solved
            values[name] = shifted(self.elements[position], -offset)
            guards += self._exists(self.elements[position], -offset, axis)
        wanted = {id(s.stmt) for s in group}
        opened = {loop: (name, position, offset) for loop, name, position, offset in first.opened}
        body = self._part(self.body, wanted, opened)
        body = replaced(body, values)
        if guards:
            body = guarded(guards, body, self.fn.span)
        if loops and any(isinstance(s, For) for s in statements(needed_for(body, self.total.name))):
            raise NotPullable  # a loop inside a loop over the threads: more work than the kernel does
        for other, limit in reversed(loops):
            body = (For(other, literal(0), folded(limit), literal(1), body, self.fn.span),)
        return list(body)

    def _limit(self, axis: int) -> Expr:
        rank = len(self.axes)
        return self.limits.get(axis) or Apply(STRIDE[rank, axis], (), INT)

    def _exists(self, element: Var, shift: int, axis: int) -> list[Expr]:
        """Say that there was a thread at `element + shift`."""
        tests: list[Expr] = []
        if shift < 0:
            tests.append(build(operator.ge, element, literal(-shift)))
        tests.append(build(operator.lt, shifted(element, shift), self._limit(axis)))
        return tests

    def _part(self, body: tuple[Stmt, ...], wanted: set[int], opened: dict[int, Any]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for stmt in body:
            if id(stmt) in wanted:
                assert isinstance(stmt, Store)
                fn = operator.sub if stmt.op == "-" else operator.add
                result.append(Assign(self.total, build(fn, self.total, stmt.value), stmt.span))
            elif isinstance(stmt, Store) and self._is_param(stmt.place):
                if root_name(stmt.place) != self.bar and self._read_later(stmt):
                    raise NotPullable
            elif isinstance(stmt, CallStmt):
                if self.facts.writes(stmt.callee):
                    raise NotPullable
                result.append(stmt)
            elif isinstance(stmt, For) and id(stmt) in opened:
                result += self._opened(stmt, wanted, opened)
            else:
                result.append(map_blocks(stmt, lambda b: self._part(b, wanted, opened)))
        return tuple(result)

    def _read_later(self, stmt: Store) -> bool:
        """Say whether what is written is read again by the same thread."""
        name = root_name(stmt.place)
        return any(root_name_in(e, name) for s in _after(self.body, stmt) for e in read_exprs(s))

    def _opened(self, loop: For, wanted: set[int], opened: dict[int, Any]) -> list[Stmt]:
        """One iteration of a loop: the one whose variable meets the element."""
        name, position, offset = opened[id(loop)]
        body = self._part(loop.body, wanted, opened)
        slim = needed_for(body, self.total.name)
        probe = replace(loop, body=slim)
        live = Liveness((probe,)).before_loop_body(probe)
        inside = {n for s in statements(slim) for n in bound(s)} - {self.total.name}
        if live & inside:
            raise NotPullable
        if any(isinstance(s, Store) for s in statements(slim)):
            raise NotPullable
        value = shifted(self.elements[position], -offset)
        step = loop.step.value if isinstance(loop.step, Const) else 0
        low, high = (loop.start, loop.stop) if step == 1 else (plus_one(loop.stop), plus_one(loop.start))
        tests = [build(operator.le, low, value), build(operator.lt, value, high)]
        if isinstance(low, Const) and low.value == 0 and offset <= 0:
            tests = tests[1:]
        return list(guarded(tests, replaced(slim, {name: value}), loop.span))

    def _over_elements(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Share the elements out among the threads of the launch."""
        rank = len(self.axes)
        for position in range(self.rank - 1, -1, -1):
            size = build(ops.dim, self.place, literal(position))
            start: Expr = literal(0)
            step: Expr = literal(1)
            if position < rank:
                axis = self.axes[position]
                start, step = Apply(GRID[rank, axis], (), INT), Apply(STRIDE[rank, axis], (), INT)
            body = (For(self.elements[position], start, size, step, body, self.fn.span),)
        idle = [build(operator.eq, Apply(GRID[rank, a], (), INT), literal(0)) for a in self.axes[self.rank :]]
        return guarded(idle, body, self.fn.span) if idle else body


__all__ = ["NotPullable", "Pulled", "pulled"]
