"""Target "cpu": where a turn sends its neighbours different values, each neighbour works out what it is sent.

    for i in range(1, n - 1):                     for i in range(1, n - 1):
        for j in range(1, m - 1):                     for j in range(1, m - 1):
            g = v_bar[i, j]                               gs[i, j] = v_bar[i, j]
            k_bar[i, j - 1] += g * u[i, j]            for i in range(1, n - 1):
            k_bar[i, j + 1] += g * u[i, j + 1]            for j in range(1, m - 1):
            k_bar[i + 1, j] += g * u[i + 1, j]    becomes     g = gs[i, j + 1]
                                                              g_2 = gs[i, j - 1]
                                                              g_3 = gs[i - 1, j]
                                                              k_bar[i, j] += (
                                                                  g * u[i, j + 1] + g_2 * u[i, j] + g_3 * u[i, j])
                                                  and the rows and columns that lie around

Additions to `j - 1`, `j` and `j + 1` in one turn wait for each other; on the right no turn waits. An array for each
of the values, as `gathered.py` lays down where neighbours are sent multiples of one, would take several ways through
the memory. Measured: two to four times as fast. What all that is sent is a multiple of is laid down, with zeros
around. Needs: nothing but arithmetic on what the nest does not write.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from s2sad.analysis.sharing import Apart
from s2sad.emit.elements import plus, split_sum
from s2sad.emit.sends import (
    ARITHMETIC,
    Made,
    Send,
    added,
    bounds_of,
    has_turns,
    is_one_of,
    nested,
    placed,
    several,
    without_idle_numbers,
)
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal, pack
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Comment, Const, Expr, For, If, Index, Slice, Stmt, Store, Var
from s2sad.ir.shapes import SHAPES
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import bound, children, exprs_of, map_children, map_exprs, reads, root_of, subexpressions
from s2sad.transform.algebra import is_neg
from s2sad.transform.naming import Namer

_MOST_LAID = 2  # arrays laid down
_MOST_DIRECTIONS = 12
_MOST_AROUND = 3  # turns at an end that work nothing out
_MOST_STATEMENTS = 120  # of what neighbours work out

Turns = tuple[Expr] | tuple[Expr, Expr]
"""A turn, or from which turn to before which one."""


@dataclass(frozen=True, slots=True)
class Split:
    """What a nest becomes: its own statements, what stands behind it, and arrays to be made before."""

    inner: tuple[Stmt, ...]
    behind: list[Stmt]
    made: list[Made]


def from_neighbours(
    chain: list[For], inner: tuple[Stmt, ...], groups: list[list[Send]], namer: Namer, apart: Apart,
    after: frozenset[str], is_met_nowhere_else: Callable[[Index], bool],
) -> Split | None:  # fmt: skip
    """Return a nest with what it sends worked out by those that it is sent to, or None.

    `groups`: what is sent, by array. `after`: the names that are read behind the nest.
    """
    groups = [sends for sends in groups if len({send.offsets for send in sends}) > 1]
    if not all(is_met_nowhere_else(_place(sends)) for sends in groups):
        return None
    nest = _Nest(chain, inner, groups, namer, apart, after)
    for given in nest.candidates():
        margins = nest.margins(given) if nest.vanishes(given) else None
        if margins is not None:
            return nest.split(given, margins)
    return None


def _place(sends: list[Send]) -> Index:
    place = sends[0].store.place
    assert isinstance(place, Index)
    return place


@dataclass(slots=True)
class _Nest:
    """A nest of loops and what its turns send.

    Attributes:
        after: the names that are read behind it.
        given: (of methods) the numbers of a turn without which it sends nothing.
    """

    chain: list[For]
    inner: tuple[Stmt, ...]
    groups: list[list[Send]]
    namer: Namer
    apart: Apart
    after: frozenset[str]

    @property
    def counters(self) -> list[str]:
        return [loop.var.name for loop in self.chain]

    @property
    def sends(self) -> list[Send]:
        return [send for sends in self.groups for send in sends]

    @property
    def directions(self) -> list[tuple[int, ...]]:
        """The offsets of what is sent, none first."""
        return sorted({send.offsets for send in self.sends}, key=lambda offsets: (any(offsets), offsets))

    def candidates(self) -> Iterator[tuple[str, ...]]:
        """Yield sets of numbers that may be what all that is sent is a multiple of, the smallest first."""
        sets = [s for s in self.inner if isinstance(s, Assign)]
        names = [name for s in self.inner for name in bound(s)]
        once = [s for s in sets if names.count(s.target.name) == 1 and s.target.type == Scalar("float64")]
        yield from ((s.target.name,) for s in once)
        loaded = [s.target.name for s in once if isinstance(s.value, Index)]
        for many in range(2, _MOST_LAID + 1):
            yield from combinations(loaded, many)

    def vanishes(self, given: tuple[str, ...]) -> bool:
        """Say whether a turn sends zeros alone where the numbers `given` are zero."""
        zero: set[str] = set()
        stores = [send.store for send in self.sends]
        for stmt in self.inner:
            if isinstance(stmt, Assign):
                gone = stmt.target.name in given or _vanishes(stmt.value, zero)
                zero = zero | {stmt.target.name} if gone else zero - {stmt.target.name}
            elif is_one_of(stmt, stores) and isinstance(stmt, Store) and not _vanishes(stmt.value, zero):
                return False
        return True

    def slice(self, offsets: Sequence[tuple[int, ...]], given: tuple[str, ...]) -> list[Assign | Store] | None:
        """Return the statements that work out what is sent in some directions, from the numbers `given`."""
        stores = [send.store for send in self.sends if send.offsets in offsets]
        own = {name for s in self.inner for name in bound(s)}
        own |= {s.place.name for s in self.inner if isinstance(s, Store) and isinstance(s.place, Var)}
        wanted: set[str] = set()
        found: list[Assign | Store] = []
        for stmt in reversed(self.inner):
            if isinstance(stmt, Store) and is_one_of(stmt, stores):
                found.append(stmt)
                wanted |= reads(stmt.value) & own
            elif isinstance(stmt, Assign) and stmt.target.name in wanted:
                found.append(stmt)
                wanted -= {stmt.target.name}
                wanted |= set() if stmt.target.name in given else reads(stmt.value) & own
        return None if wanted else found[::-1]

    def margins(self, given: tuple[str, ...]) -> list[tuple[int, int]] | None:
        """Return, by axis, how many of the first and last turns do not work out what they are sent; None if none can.

        A neighbour that takes no turn sends nothing, and zero is laid down for it. What that is multiplied by is
        worked out all the same, so it may not be infinite, or an element that was never set, unless the turn that is
        sent it has read that element itself. Where this is not sure, such neighbours are not asked.
        """
        if len(self.directions) > _MOST_DIRECTIONS:
            return None
        none = (0,) * len(self.chain)
        own = [
            self._moved(part, none, {})
            for stmt in self.inner for expr in exprs_of(stmt) for part in _surely(expr) if isinstance(part, Index)
        ]  # fmt: skip
        found = [(0, 0)] * len(self.chain)
        count = 0
        for offsets in self.directions:
            kept = self.slice([offsets], given)
            if kept is None or any(name in self.after for stmt in kept for name in bound(stmt)):
                return None  # such a number would be left as another turn has it
            count += len(kept)
            values = [s.value for s in kept if not (isinstance(s, Assign) and s.target.name in given)]
            if not all(self._is_arithmetic(value) for value in values):
                return None
            if not all(self._is_harmless(part, offsets, own) for value in values for part in subexpressions(value)):
                found = [
                    (max(before, offset), max(after, -offset))
                    for (before, after), offset in zip(found, offsets, strict=True)
                ]
        return found if count <= _MOST_STATEMENTS and max(max(two) for two in found) <= _MOST_AROUND else None

    def _is_arithmetic(self, expr: Expr | Slice) -> bool:
        """Say whether a number is made of elements of arrays that the nest does not write, and cheap to work out."""
        match expr:
            case Index(Var(array, Array()), index, Scalar()):
                written = {root.name for s in self.inner if isinstance(s, Store) and (root := root_of(s.place))}
                if any(self.apart.may_meet(one, array) for one in written):
                    return False
                return all(self._counter(item) is not None or self._stays(item) for item in index)
            case Apply(fn) if fn in SHAPES:
                return self._stays(expr)
            case Apply(fn):
                return fn in ARITHMETIC and all(self._is_arithmetic(part) for part in children(expr))
            case Var(_, kind):
                return isinstance(kind, Scalar)
            case _:
                return isinstance(expr, Const)

    def _is_harmless(self, part: Expr | Slice, offsets: tuple[int, ...], own: list[Index]) -> bool:
        """Say whether a part of what a neighbour sends is finite for one that takes no turn, if anything is."""
        match part:
            case Index():
                return self._moved(part, offsets, {}) in own
            case Apply(fn, (_, divisor)) if fn is operator.truediv:
                return self._stays(divisor)
            case Apply(fn, (_, power)) if fn is operator.pow:
                return isinstance(power, Const) and isinstance(power.value, int | float) and power.value >= 0
            case _:
                return True

    def _counter(self, item: Expr | Slice) -> str | None:
        """Return the counter of which an index is a constant more or less."""
        root = split_sum(item)[0] if not isinstance(item, Slice) else item
        return root.name if isinstance(root, Var) and root.name in self.counters else None

    def _stays(self, item: Expr | Slice) -> bool:
        own = {*self.counters, *(name for s in self.inner for name in bound(s))}
        return not reads(item) & own and not any(isinstance(part, Index) for part in subexpressions(item))

    # ---- what it becomes ----

    def split(self, given: tuple[str, ...], margins: list[tuple[int, int]]) -> Split:
        """Return the nest without what it sends, then what each element is sent, from inside and from around."""
        like = _place(self.groups[0])
        array = like.base
        assert isinstance(array, Var)
        shifts: list[int] = []
        sizes: list[Expr] = []
        for k, loop in enumerate(self.chain):
            assert isinstance(loop.start, Const)
            along = [offsets[k] for offsets in self.directions]
            most = max(send.offsets[k] for send in self.groups[0])
            shift = max(0, max(along) - loop.start.value)
            axis = next(at for at, item in enumerate(like.index) if loop.var.name in reads(item))
            shifts.append(shift)
            sizes.append(plus(build(ops.dim, array, literal(axis)), max(0, shift - min(along) - most)))
        value = build(np.zeros, sizes[0] if len(sizes) == 1 else pack("tuple", sizes))
        laid = {name: Var(self.namer.fresh(several(Var(name, Scalar("float64")))), value.type) for name in given}
        span = self.groups[0][0].store.span
        made = [Made(Assign(v, value, span), array.name, bounds_of(self.chain, array)) for v in laid.values()]

        def item(name: str, offsets: tuple[int, ...]) -> Index:
            index = [plus(loop.var, s - d) for loop, s, d in zip(self.chain, shifts, offsets, strict=True)]
            return Index(laid[name], tuple(index), Scalar("float64"))

        behind: list[Stmt] = [Comment("what the neighbours send", span), self._gathering(given, item, margins)]
        edges = self._edges(given, item, margins)
        if edges:
            behind += [Comment("what is sent to the rows around", span), *edges]
        return Split(self._laying(given, item), behind, made)

    def _laying(self, given: tuple[str, ...], item: Callable[[str, tuple[int, ...]], Index]) -> tuple[Stmt, ...]:
        stores = [send.store for send in self.sends]
        none = (0,) * len(self.chain)
        kept: list[Stmt] = []
        for stmt in self.inner:
            if is_one_of(stmt, stores):
                continue
            kept.append(stmt)
            if isinstance(stmt, Assign) and stmt.target.name in given:
                kept.append(Store(item(stmt.target.name, none), "", stmt.target, stmt.span))
        kept = without_idle_numbers(kept, self.after)
        for name in given:
            if sum(name in reads(expr) for s in kept for expr in exprs_of(s)) == 1:
                at = next(k for k, s in enumerate(kept) if name in bound(s))
                made, laying = kept[at], kept[at + 1]
                assert isinstance(made, Assign) and isinstance(laying, Store)
                kept[at : at + 2] = [replace(laying, value=made.value)]
        return tuple(
            stmt for stmt, after in zip(kept, (*kept[1:], Comment("")), strict=True)
            if not (isinstance(stmt, Comment) and isinstance(after, Comment))
        )  # fmt: skip

    def _gathering(
        self, given: tuple[str, ...], item: Callable[[str, tuple[int, ...]], Index], margins: list[tuple[int, int]]
    ) -> Stmt:
        """Return the nest in which every element adds what it is sent by those around it."""
        body: list[Stmt] = []
        terms: list[list[tuple[bool, Expr]]] = [[] for _ in self.groups]
        seen: set[str] = set()
        for offsets in self.directions:
            names: dict[str, Var] = {}
            for stmt in self.slice([offsets], given) or ():
                if isinstance(stmt, Assign):
                    name = stmt.target.name
                    value = item(name, offsets) if name in given else self._moved(stmt.value, offsets, names)
                    if name not in names:
                        names[name] = replace(stmt.target, name=self.namer.fresh(name)) if name in seen else stmt.target
                        seen.add(name)
                    body.append(replace(stmt, target=names[name], value=value))
                    continue
                value, less = self._moved(stmt.value, offsets, names), stmt.op == "-"
                while is_neg(value):
                    assert isinstance(value, Apply)
                    value, less = value.args[0], not less
                group = next(k for k, sends in enumerate(self.groups) if any(send.store is stmt for send in sends))
                terms[group].append((less, value))
        for sends, signed in zip(self.groups, terms, strict=True):
            less, total = added(signed)
            body.append(Store(self._own(sends), "-" if less else "+", total, sends[0].store.span, accumulate=True))
        loops = [
            replace(_bare(loop), start=plus(loop.start, before), stop=plus(loop.stop, -after))
            for loop, (before, after) in zip(self.chain, margins, strict=True)
        ]
        return nested(loops, tuple(body))

    def _own(self, sends: list[Send]) -> Index:
        """Return the element of an array that is a turn's own."""
        place = _place(sends)
        index: list[Expr | Slice] = []
        for at in place.index:
            root = split_sum(at)[0] if not isinstance(at, Slice) else at
            index.append(root if isinstance(root, Var) and root.name in self.counters else at)
        return replace(place, index=tuple(index))

    def _moved(self, expr: Any, offsets: tuple[int, ...], names: dict[str, Var]) -> Any:
        """Return an expression as the turn has it that sends to the present one."""
        match expr:
            case Var(name):
                if name in self.counters:
                    return plus(expr, -offsets[self.counters.index(name)])
                return names.get(name, expr)
            case Index(base, index, kind):
                moved = tuple(self._moved_item(i, offsets, names) for i in index)
                return Index(base, moved, kind)
            case _:
                return map_children(expr, lambda part: self._moved(part, offsets, names))

    def _moved_item(self, item: Any, offsets: tuple[int, ...], names: dict[str, Var]) -> Any:
        root, constant = split_sum(item)
        if isinstance(root, Var) and root.name in self.counters:
            return plus(root, constant - offsets[self.counters.index(root.name)])
        return self._moved(item, offsets, names)

    def _edges(
        self, given: tuple[str, ...], item: Callable[[str, tuple[int, ...]], Index], margins: list[tuple[int, int]]
    ) -> list[Stmt]:
        """Return the loops in which turns at the edges send to elements that work nothing out."""
        found: dict[tuple[Turns, ...], list[tuple[int, ...]]] = {}
        for offsets in self.directions:
            widths = [(max(0, b - o), max(0, a + o)) for o, (b, a) in zip(offsets, margins, strict=True)]
            inside = [_inside(loop, *width) for loop, width in zip(self.chain, widths, strict=True)]
            for at, (loop, width) in enumerate(zip(self.chain, widths, strict=True)):
                for ends in _ends(loop, *width):
                    whole: list[Turns] = [(loop.start, loop.stop) for loop in self.chain[at + 1 :]]
                    found.setdefault((*inside[:at], ends, *whole), []).append(offsets)
        made: dict[Expr | None, list[Stmt]] = {}
        for turns, directions in found.items():
            test, edge = self._edge(turns, directions, given, item)
            made.setdefault(test, []).extend(edge)
        return [s for test, edges in made.items() for s in (edges if test is None else [If(test, tuple(edges))])]

    def _edge(
        self, turns: tuple[Turns, ...], directions: list[tuple[int, ...]], given: tuple[str, ...],
        item: Callable[[str, tuple[int, ...]], Index],
    ) -> tuple[Expr | None, tuple[Stmt, ...]]:  # fmt: skip
        """Return the loops over some turns, in which these send in some directions, and the test that there are such.

        Over a single turn there is no loop, so that it has to be asked for.
        """
        single = {loop.var.name: one[0] for loop, one in zip(self.chain, turns, strict=True) if len(one) == 1}
        loops = [
            replace(_bare(loop), start=one[0], stop=one[1])
            for loop, one in zip(self.chain, turns, strict=True) if len(one) == 2
        ]  # fmt: skip
        none = (0,) * len(self.chain)
        body: tuple[Stmt, ...] = ()
        for stmt in self.slice(directions, given) or ():
            if isinstance(stmt, Assign) and stmt.target.name in given:
                stmt = replace(stmt, value=item(stmt.target.name, none))
            body = (*body, map_exprs(stmt, lambda expr: placed(expr, single)))
        sure = [(loop.start, loop.stop) for loop in loops]
        tests = [
            has_turns(loop) for loop in self.chain
            if loop.var.name in single and not isinstance(loop.stop, Const) and (loop.start, loop.stop) not in sure
        ]  # fmt: skip
        return tests[0] if tests else None, (nested(loops, body),) if loops else body


def _bare(loop: For) -> For:
    """Return a loop that holds itself alone, for `nested` to fill."""
    return replace(loop, body=(loop,))


def _inside(loop: For, before: int, after: int) -> Turns:
    """Return from where to where turns count but for some of the first and the last."""
    return plus(loop.start, before), plus(loop.stop, -after)


def _ends(loop: For, before: int, after: int) -> Iterator[Turns]:
    """Yield some of the first turns, and some of the last ones, none of them twice."""
    if before == 1:
        yield (loop.start,)
    elif before:
        yield loop.start, _least(plus(loop.start, before), loop.stop)
    if after == 1 and not before:
        yield (plus(loop.stop, -1),)
    elif after:
        yield _most(plus(loop.start, before), plus(loop.stop, -after)), loop.stop


def _least(first: Expr, stop: Expr) -> Expr:
    if isinstance(first, Const) and isinstance(stop, Const):
        return first if first.value < stop.value else stop
    return build(min, first, stop)


def _most(start: Expr, last: Expr) -> Expr:
    if isinstance(start, Const) and isinstance(last, Const):
        return start if start.value > last.value else last
    return build(max, start, last)


def _vanishes(expr: Expr, zero: set[str]) -> bool:
    """Say whether a number is zero where the names `zero` are: each of its terms has one of them for a factor."""
    match expr:
        case Var(name):
            return name in zero
        case Apply(fn, args) if fn is operator.mul:
            return any(_vanishes(arg, zero) for arg in args)
        case Apply(fn, (arg, *_)) if fn in (operator.neg, operator.truediv):
            return _vanishes(arg, zero)
        case Apply(fn, args) if fn in (operator.add, operator.sub):
            return all(_vanishes(arg, zero) for arg in args)
        case _:
            return False


def _surely(expr: Expr | Slice) -> Iterator[Expr | Slice]:
    """Yield the parts of an expression that are worked out whatever its conditions say."""
    yield expr
    parts = children(expr)
    for part in parts[:1] if isinstance(expr, Apply) and expr.fn in (ops.ifexp, ops.both, ops.either) else parts:
        yield from _surely(part)
