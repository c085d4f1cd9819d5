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
    read_exprs,
    replaced,
    root_name,
    root_name_in,
    shifted,
    without_idle_indices,
)
from s2sad.transform.solving import Along, NotPullable, Opened, Site, Solver, asks_for_the_place_only, turn_at, upward
from s2sad.transform.tidy import tidy

_MOST = 27  # a stencil of 3 x 3 x 3


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
        if known and all(threads.few(index) for index in known):
            continue  # a few elements that all threads add to: no work for as many threads
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


def _apart(one: Index, other: Expr) -> bool:
    """Say whether two places of one array are surely two: they differ in a constant."""
    pairs = zip(one.index, other.index, strict=False) if isinstance(other, Index) and one.base == other.base else ()
    return any(isinstance(a, Const) and isinstance(b, Const) and a.value != b.value and a.value >= 0 and b.value >= 0
               for a, b in pairs)  # fmt: skip


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
        self.elements: list[Expr] = []
        assert isinstance(param.type, Array)
        self.rank, self.dtype = len(param.type.dims), param.type.dtype
        self.names = {axis: name for name, axis in reversed(list(_coordinate_names(threads).items()))}
        self.axes = sorted(threads.axes)
        self.totals: dict[tuple[tuple[int, int], ...], Var] = {}
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
            if self.threads.coordinates[loop.var.name] not in self.limits:
                raise NotPullable  # one of several such loops
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
        sites = Solver(self.fn, self.body, self.threads, self.place, self.rank).sites()
        groups: dict[Any, list[Site]] = {}
        for site in sites:
            groups.setdefault(site.key(), []).append(site)
            self._total(site)
        if len(groups) > _MOST:
            raise NotPullable
        self.elements = [Var(f"<{position}>", INT) for position in range(self.rank)]
        parts = [self._block(group) for group in groups.values()]
        summed = {total.name for total in self.totals.values()}
        if sum(costly_loop(needed_for(tuple(part), summed), skipped) for part, skipped in parts) > 1:
            raise NotPullable  # every part would run the loop again
        self.totals = dict(sorted(self.totals.items()))
        names = self._element_names(sites, names_in(tuple(s for part, _ in parts for s in part)))
        final = {e.name: v for e, v in zip(self.elements, names, strict=True) if isinstance(e, Var)}
        blocks = [s for part, _ in parts for s in (Comment(""), *replaced(tuple(part), final))]
        self.elements = names
        start = [Assign(total, zero(total.type), self.fn.span) for total in self.totals.values()]
        body = self._over_elements((*start, *blocks[1:], *self._given_back(sites)))
        doc = f"{self.fn.doc.removesuffix('.')}: each element of `{self.bar}` gathers its own."
        name = f"{self.fn.name}_{self.array}"
        made = replace(self.fn, name=name, body=joined(body), results=(), doc=doc)
        made = tidy(made, self.facts, self.keep, frozenset({self.bar}))
        for stmt in statements(made.body):
            if isinstance(stmt, Store) and root_name(stmt.place) != self.bar and self._is_param(stmt.place):
                raise NotPullable
        return made, self._plan(sites)

    def _total(self, site: Site) -> Var:
        """Return the name that sums what an element takes: one for each constant that its index has."""
        if site.fixed not in self.totals:
            word = "".join(f"{number}_" for _, number in site.fixed)
            self.totals[site.fixed] = Var(self.namer.fresh(f"{self.array}_{word}sum"), Scalar(self.dtype))
        return self.totals[site.fixed]

    def _given_back(self, sites: list[Site]) -> list[Stmt]:
        """Add each sum to its element; an element of a constant column only if it is surely there."""
        made: list[Stmt] = []
        for fixed, total in self.totals.items():
            index = list(self.elements)
            for position, number in fixed:
                index[position] = literal(number)
            store = Store(Index(self.place, tuple(index), Scalar(self.dtype)), "+", total, self.fn.span)
            asked = [test for site in sites if site.fixed == fixed for test in site.tests]
            loops = set(self.threads.loops)
            sure = all(asks_for_the_place_only(test, self.threads, loops) for test in asked)
            tests = [] if sure else [build(operator.lt, literal(number), build(ops.dim, self.place, literal(position)))
                                     for position, number in fixed]  # fmt: skip
            made += guarded(tests, (store,), self.fn.span)
        return made

    def _is_param(self, place: Expr) -> bool:
        return root_name(place) in {p.name for p in self.fn.params}

    def _plan(self, sites: list[Site]) -> list[PlanLine]:
        lines: list[PlanLine] = []
        for site in sites:
            how, why = ("gathered", "it is a constant distance from the thread's own place")
            if site.moving:
                why = "a loop over the same range in every thread moves it away from the thread's own place"
            if site.opened or len(site.axes) < len(self.axes):
                how, why = "gathered, roles exchanged", "a loop runs over all elements in every thread"
            from s2sad.transform.meeting import shown

            place = site.stmt.place
            assert isinstance(place, Index)
            lines.append(PlanLine(site.stmt.span, shown(self.bar, place.index), how, why))
        return lines

    def _element_names(self, sites: list[Site], used: set[str]) -> list[Expr]:
        """Name the index of an element: as the thread's own place where some site has that there."""
        names: list[Expr] = []
        taken: set[str] = set(self.others)
        for position in range(self.rank):
            if position not in self._free(sites):
                names.append(literal(0))
                continue
            own = {a.axis for s in sites for a in s.axes if a.position == position}
            loops = {o.name for s in sites for o in s.opened if o.position == position}
            hint = self.names[min(own)] if own else min(loops)
            name = hint if hint not in taken and (own or hint not in used) else self.namer.fresh(hint)
            taken.add(name)
            names.append(Var(name, INT))
        return names

    def _free(self, sites: list[Site]) -> list[int]:
        """Return the positions that are no constants."""
        fixed = {position for position, _ in sites[0].fixed}
        return [position for position in range(self.rank) if position not in fixed]

    # ---- writing ----

    def _block(self, group: list[Site]) -> tuple[list[Stmt], set[str]]:
        """Copy the way to the additions of one group, the thread solved for; name the loops that are put around it."""
        first = group[0]
        values: dict[str, Expr] = {}
        guards: list[Expr] = []
        around: list[For] = []
        moving = [s for s in statements(self.body) if isinstance(s, For) and id(s) in first.moving]
        for axis in self.axes:
            name = self.names[axis]
            along = next((a for a in first.axes if a.axis == axis), None)
            if along is None:
                other = Var(self.namer.fresh("other"), INT)
                self.others.add(other.name)
                values[name] = other
                around.append(self._loop(other, literal(self._start(axis)), folded(self._limit(axis))))
                continue
            values[name] = self._place_of(along)
            guards += self._exists(along, values[name])
        wanted = {id(s.stmt): self._total(s) for s in group}
        opened = {o.loop: o for o in first.opened}
        body = self._part(self.body, wanted, opened, frozenset(first.moving))
        body = replaced(body, values)
        if guards:
            body = guarded(guards, body, self.fn.span)
        slim = needed_for(body, {t.name for t in wanted.values()})
        if (around or moving) and any(isinstance(s, For) for s in statements(slim)):
            raise NotPullable  # a loop inside a loop over the threads: more work than the kernel does
        for loop in moving:
            ahead = upward(loop)
            assert ahead is not None
            around.append(replace(ahead, body=()))
        for loop in reversed(around):
            body = (replace(loop, body=body),)
        return list(body), {loop.var.name for loop in around}

    def _loop(self, var: Var, start: Expr, stop: Expr) -> For:
        return For(var, start, stop, literal(1), (), self.fn.span)

    def _start(self, axis: int) -> int:
        """Return where the loop over a coordinate begins, beyond the thread's place."""
        return self.threads.starts.get(self.names[axis], 0)

    def _place_of(self, along: Along) -> Expr:
        """Return what the name of a thread's place is, of the thread that met the element."""
        place: Expr = self.elements[along.position]
        for name, factor in along.moved:
            part = build(operator.mul, literal(abs(factor)), Var(name, INT)) if abs(factor) != 1 else Var(name, INT)
            place = build(operator.sub if factor > 0 else operator.add, place, part)
        return shifted(place, self._start(along.axis) - along.offset)

    def _limit(self, axis: int) -> Expr:
        rank = len(self.axes)
        return self.limits.get(axis) or Apply(STRIDE[rank, axis], (), INT)

    def _exists(self, along: Along, place: Expr) -> list[Expr]:
        """Say that there was a thread at `place`."""
        tests: list[Expr] = []
        if along.moved:
            tests.append(build(operator.ge, place, literal(self._start(along.axis))))
        elif along.offset > 0:
            tests.append(build(operator.ge, self.elements[along.position], literal(along.offset)))
        tests.append(build(operator.lt, place, self._limit(along.axis)))
        return tests

    def _part(
        self, body: tuple[Stmt, ...], wanted: dict[int, Var], opened: dict[int, Opened], moving: frozenset[int]
    ) -> tuple[Stmt, ...]:  # fmt: skip
        result: list[Stmt] = []
        for stmt in body:
            if id(stmt) in wanted:
                assert isinstance(stmt, Store)
                fn, total = operator.sub if stmt.op == "-" else operator.add, wanted[id(stmt)]
                result.append(Assign(total, build(fn, total, stmt.value), stmt.span))
            elif isinstance(stmt, Store) and self._is_param(stmt.place):
                if root_name(stmt.place) != self.bar and self._read_later(stmt):
                    raise NotPullable
            elif isinstance(stmt, CallStmt):
                if self.facts.writes(stmt.callee):
                    raise NotPullable
                result.append(stmt)
            elif isinstance(stmt, For) and (id(stmt) in opened or id(stmt) in moving):
                inner = self._part(stmt.body, wanted, opened, moving)
                result += self._one_turn(stmt, inner, opened.get(id(stmt)))
            else:
                result.append(map_blocks(stmt, lambda b: self._part(b, wanted, opened, moving)))
        return tuple(result)

    def _read_later(self, stmt: Store) -> bool:
        """Say whether what is written is read again by the same thread."""
        name = root_name(stmt.place)
        later = [e for s in _after(self.body, stmt) for e in read_exprs(s) if root_name_in(e, name)]
        parts = [p for e in later for p in subexpressions(e)]
        here = [p for p in parts if isinstance(p, Index) and isinstance(p.base, Var) and p.base.name == name]
        whole = sum(isinstance(p, Var) and p.name == name for p in parts)
        return whole > len(here) or not all(_apart(p, stmt.place) for p in here)

    def _one_turn(self, loop: For, body: tuple[Stmt, ...], opened: Opened | None) -> list[Stmt]:
        """One iteration of a loop: the one whose variable meets the element, or the one that a loop around says."""
        totals = {total.name for total in self.totals.values()}
        slim = needed_for(body, totals)
        probe = replace(loop, body=slim)
        live = Liveness((probe,)).before_loop_body(probe)
        inside = {n for s in statements(slim) for n in bound(s)} - totals
        if live & inside:
            raise NotPullable
        if any(isinstance(s, Store) for s in statements(slim)):
            raise NotPullable
        if opened is None:
            return list(slim)
        value = shifted(self.elements[opened.position], -opened.offset)
        tests = turn_at(loop, value, opened.offset <= 0)
        return list(guarded(tests, replaced(slim, {opened.name: value}), loop.span))

    def _over_elements(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Share the elements out among the threads of the launch."""
        rank = len(self.axes)
        free = [position for position, element in enumerate(self.elements) if isinstance(element, Var)]
        for number in range(len(free) - 1, -1, -1):
            element = self.elements[free[number]]
            assert isinstance(element, Var)
            size = build(ops.dim, self.place, literal(free[number]))
            start: Expr = literal(0)
            step: Expr = literal(1)
            if number < rank:
                axis = self.axes[number]
                start, step = Apply(GRID[rank, axis], (), INT), Apply(STRIDE[rank, axis], (), INT)
            body = (For(element, start, size, step, body, self.fn.span),)
        idle = [build(operator.eq, Apply(GRID[rank, a], (), INT), literal(0)) for a in self.axes[len(free) :]]
        return guarded(idle, body, self.fn.span) if idle else body


__all__ = ["NotPullable", "Pulled", "pulled"]
