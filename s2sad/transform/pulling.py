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
    todo = dict(bars)
    for bar in bars:
        assert result.rest is not None
        if bar not in todo or not _is_met_in(result.rest, bar, threads):
            continue
        others = {b: a for b, a in todo.items() if b != bar and _is_met_in(result.rest, b, threads)}
        made = _pulled_together(result.rest, threads, limits, {bar: todo.pop(bar)}, others, facts, keep)
        if made is None:
            continue
        kernel, plan, done = made
        result.kernels.append(kernel)
        result.plan += plan
        result.rest = _without(result.rest, done, facts, keep, frozenset(bars) | _outputs(fn))
        todo = {b: a for b, a in todo.items() if b not in done}
    return result


def _is_met_in(fn: Function, bar: str, threads: Threads) -> bool:
    """Say whether several threads add to one element of a shadow, and there is work in it for as many threads."""
    known = [a.index for a in accesses(fn, threads) if a.root == bar and a.index is not None]
    if threads.are_own(known) or all(all(isinstance(i, Const) for i in index) for index in known):
        return False
    return not (known and all(threads.few(index) for index in known))


def _pulled_together(
    fn: Function, threads: Threads, limits: dict[int, Expr], first: dict[str, str], others: dict[str, str],
    facts: Facts, keep: frozenset[str],
) -> tuple[Function, list[PlanLine], set[str]] | None:  # fmt: skip
    """Gather into a shadow, and in the same kernel into others whose elements come by the same way."""
    for more in (others, {}) if others else ({},):
        try:
            pull = _Pull(fn, threads, limits, first, facts, keep)
            pull.join(more)
            kernel, plan = pull.run()
        except NotPullable:
            continue
        return kernel, plan, set(pull.places)
    return None


def _outputs(fn: Function) -> frozenset[str]:
    return frozenset(p.name for p in fn.params if isinstance(p.type, Array))


def _without(fn: Function, bars: set[str], facts: Facts, keep: frozenset[str], outputs: frozenset[str]) -> Function:
    """Leave out the additions to some shadows."""

    def each(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        kept = [s for s in body if not (isinstance(s, Store) and root_name(s.place) in bars)]
        return tuple(map_blocks(s, each) for s in kept)

    return tidy(replace(fn, body=each(fn.body)), facts, keep, outputs, together=False, marks=True)


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
        self, fn: Function, threads: Threads, limits: dict[int, Expr], arrays: dict[str, str], facts: Facts,
        keep: frozenset[str],
    ) -> None:  # fmt: skip
        self.fn, self.threads, self.limits = fn, threads, limits
        self.facts, self.keep = facts, keep
        self.namer = Namer(names_in(fn.body) | {p.name for p in fn.params})
        self.arrays: dict[str, str] = {}
        self.places: dict[str, Var] = {}
        self.sites: dict[str, list[Site]] = {}
        self.elements: list[Expr] = []
        self.names = {axis: name for name, axis in reversed(list(_coordinate_names(threads).items()))}
        self.axes = sorted(threads.axes)
        self.totals: dict[tuple[str, tuple[tuple[int, int], ...]], Var] = {}
        self.others: set[str] = set()
        self.body = self._one_thread()
        for bar, array in arrays.items():
            self._take(bar, array, self._solved(bar))

    def _solved(self, bar: str) -> list[Site]:
        return Solver(self.fn, self.body, self.threads, self._place(bar), self._rank(bar)).sites()

    def _place(self, bar: str) -> Var:
        return Var(bar, next(p.type for p in self.fn.params if p.name == bar))

    def _rank(self, bar: str) -> int:
        kind = self._place(bar).type
        assert isinstance(kind, Array)
        return len(kind.dims)

    def _take(self, bar: str, array: str, sites: list[Site]) -> None:
        self.arrays[bar], self.places[bar], self.sites[bar] = array, self._place(bar), sites

    def join(self, arrays: dict[str, str]) -> None:
        """Gather into further arrays too, as far as their elements are met by a way that is gone anyway."""
        for bar, array in arrays.items():
            try:
                sites = self._solved(bar)
            except NotPullable:
                continue
            known = [s for found in self.sites.values() for s in found]
            same_way = {s.key() for s in known} & {s.key() for s in sites}
            if same_way and self._free(bar, sites) == self._free(*next(iter(self.sites.items()))):
                self._take(bar, array, sites)

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
        groups: dict[Any, list[tuple[str, Site]]] = {}
        sites = [(bar, site) for bar, found in self.sites.items() for site in found]
        for bar, site in sites:
            groups.setdefault(site.key(), []).append((bar, site))
            self._total(bar, site)
        if len(groups) > _MOST:
            raise NotPullable
        self.elements = [Var(f"<{position}>", INT) for position in range(max(map(self._rank, self.places)))]
        parts = [self._block(group) for group in groups.values()]
        summed = {total.name for total in self.totals.values()}
        if sum(costly_loop(needed_for(tuple(part), summed), skipped) for part, skipped in parts) > 1:
            raise NotPullable  # every part would run the loop again
        names = self._element_names(names_in(tuple(s for part, _ in parts for s in part)))
        final = {e.name: v for e, v in zip(self.elements, names, strict=True) if isinstance(e, Var)}
        blocks = [s for part, _ in parts for s in (Comment(""), *replaced(tuple(part), final))]
        self.elements = names
        start = [Assign(total, zero(total.type), self.fn.span) for total in self._sorted().values()]
        body = self._over_elements((*start, *blocks[1:], *self._given_back()))
        shadows = [f"`{bar}`" for bar in self.places]
        listed = " and ".join([", ".join(shadows[:-1]), shadows[-1]] if len(shadows) > 1 else shadows)
        doc = f"{self.fn.doc.removesuffix('.')}: each element of {listed} gathers its own."
        name = "_".join((self.fn.name, *self.arrays.values()))
        made = replace(self.fn, name=name, body=joined(body), results=(), doc=doc)
        made = tidy(made, self.facts, self.keep, frozenset(self.places), together=False, marks=True)
        for stmt in statements(made.body):
            if isinstance(stmt, Store) and root_name(stmt.place) not in self.places and self._is_param(stmt.place):
                raise NotPullable
        return made, self._plan()

    def _total(self, bar: str, site: Site) -> Var:
        """Return the name that sums what an element takes: one for each constant that its index has."""
        key = bar, site.fixed
        if key not in self.totals:
            word = "".join(f"{number}_" for _, number in site.fixed)
            kind = self.places[bar].type
            assert isinstance(kind, Array)
            self.totals[key] = Var(self.namer.fresh(f"{self.arrays[bar]}_{word}sum"), Scalar(kind.dtype))
        return self.totals[key]

    def _sorted(self) -> dict[tuple[str, tuple[tuple[int, int], ...]], Var]:
        """Return the sums, array by array and column by column."""
        order = list(self.places)
        return dict(sorted(self.totals.items(), key=lambda item: (order.index(item[0][0]), item[0][1])))

    def _given_back(self) -> list[Stmt]:
        """Add each sum to its element, where that is surely there: of the longest array, in a column that is read."""
        made: list[Stmt] = []
        for (bar, fixed), total in self._sorted().items():
            place = self.places[bar]
            index = self.elements[: self._rank(bar)]
            for position, number in fixed:
                index[position] = literal(number)
            store = Store(Index(place, tuple(index), total.type), "+", total, self.fn.span)
            asked = [test for site in self.sites[bar] if site.fixed == fixed for test in site.tests]
            loops = set(self.threads.loops)
            sure = set(self._free(bar, self.sites[bar])) if len(self.places) == 1 else set[int]()
            if all(asks_for_the_place_only(test, self.threads, loops) for test in asked):
                sure |= {position for position, _ in fixed}
            tests = [build(operator.lt, item, build(ops.dim, place, literal(position)))
                     for position, item in enumerate(index) if position not in sure]  # fmt: skip
            made += guarded(tests, (store,), self.fn.span)
        return made

    def _is_param(self, place: Expr) -> bool:
        return root_name(place) in {p.name for p in self.fn.params}

    def _plan(self) -> list[PlanLine]:
        from s2sad.transform.meeting import shown

        lines: list[PlanLine] = []
        for bar, site in ((bar, site) for bar, found in self.sites.items() for site in found):
            how, why = ("gathered", "it is a constant distance from the thread's own place")
            if site.moving:
                why = "a loop over the same range in every thread moves it away from the thread's own place"
            if site.opened or len(site.axes) < len(self.axes):
                how, why = "gathered, roles exchanged", "a loop runs over all elements in every thread"
            place = site.stmt.place
            assert isinstance(place, Index)
            lines.append(PlanLine(site.stmt.span, shown(bar, place.index), how, why))
        return lines

    def _element_names(self, used: set[str]) -> list[Expr]:
        """Name the index of an element: as the thread's own place where some site has that there."""
        names: list[Expr] = []
        taken: set[str] = set(self.others)
        sites = [site for found in self.sites.values() for site in found]
        free = self._free(*next(iter(self.sites.items())))
        for position in range(len(self.elements)):
            if position not in free:
                names.append(literal(0))
                continue
            own = {a.axis for s in sites for a in s.axes if a.position == position}
            loops = {o.name for s in sites for o in s.opened if o.position == position}
            hint = self.names[min(own)] if own else min(loops)
            name = hint if hint not in taken and (own or hint not in used) else self.namer.fresh(hint)
            taken.add(name)
            names.append(Var(name, INT))
        return names

    def _free(self, bar: str, sites: list[Site]) -> list[int]:
        """Return the positions that are no constants."""
        fixed = {position for position, _ in sites[0].fixed}
        return [position for position in range(self._rank(bar)) if position not in fixed]

    # ---- writing ----

    def _block(self, group: list[tuple[str, Site]]) -> tuple[list[Stmt], set[str]]:
        """Copy the way to the additions of one group, the thread solved for; name the loops that are put around it."""
        _, first = group[0]
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
        wanted = {id(site.stmt): self._total(bar, site) for bar, site in group}
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
                if root_name(stmt.place) not in self.places and self._read_later(stmt):
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
        sizes: list[Stmt] = []
        for number in range(len(free) - 1, -1, -1):
            element = self.elements[free[number]]
            assert isinstance(element, Var)
            size, found = self._longest(free[number])
            sizes = [*found, *sizes]
            start: Expr = literal(0)
            step: Expr = literal(1)
            if number < rank:
                axis = self.axes[number]
                start, step = Apply(GRID[rank, axis], (), INT), Apply(STRIDE[rank, axis], (), INT)
            body = (For(element, start, size, step, body, self.fn.span),)
        idle = [build(operator.eq, Apply(GRID[rank, a], (), INT), literal(0)) for a in self.axes[len(free) :]]
        body = (*sizes, *body)
        return guarded(idle, body, self.fn.span) if idle else body

    def _longest(self, position: int) -> tuple[Expr, list[Stmt]]:
        """Return the length of the longest array along an axis, and how it is found: not every front end has `max`."""
        first, *rest = (build(ops.dim, place, literal(position)) for place in self.places.values())
        if not rest:
            return first, []
        longest = Var(self.namer.fresh("longest"), INT)
        found: list[Stmt] = [Assign(longest, first, self.fn.span)]
        for length in rest:
            longer = build(operator.gt, length, longest)
            found.append(If(longer, (Assign(longest, length, self.fn.span),), (), self.fn.span))
        return longest, found


__all__ = ["NotPullable", "Pulled", "pulled"]
