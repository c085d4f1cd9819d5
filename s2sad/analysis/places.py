"""Places of arrays that are surely apart: what was read lies in other elements than what is written now.

    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[k, j]      # past this loop `a[i, :j]` and `a[:j, j]` have been read
            a[i, j] /= a[j, j]                    # neither holds `a[i, j]`

Indices are compared by a counter of the loops around, within the bounds that these give.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

from s2sad.analysis.alias import Alias
from s2sad.analysis.bounds import Bounds, distance, from_the_start, inside, lower_bounds
from s2sad.analysis.layout import Layout
from s2sad.analysis.loops import affine
from s2sad.analysis.needs import SHELL, Need, Needs
from s2sad.ir.nodes import Apply, Const, Expr, For, Function, Index, Slice, Stmt, Var, While
from s2sad.ir.types import Scalar
from s2sad.ir.walk import reads, statements

_EVERY = Slice(None, None, None)


class Places:
    """Compares the places that one function reads and writes."""

    def __init__(self, fn: Function, layout: Layout, aliases: dict[str, Alias]) -> None:
        """Prepare for a function whose loops, and names of parts of arrays, are known."""
        self.fn, self.layout, self.aliases = fn, layout, aliases
        self.least = lower_bounds(fn)
        self.bounds: dict[int, Bounds] = {}
        """By loop, what is known inside of it."""
        self.counting: dict[str, set[int]] = {}
        """By the variable of loops, those loops and the ones around them."""

    def apart(self, need: Need, place: Expr, stmt: Stmt) -> bool:
        """Say whether what was read lies in another element than the one written now."""
        read = need.place
        if read is SHELL:
            return True
        if not (isinstance(read, Index) and isinstance(place, Index) and isinstance(place.base, Var)):
            return False
        if place.base.name in self.aliases or not isinstance(read.base, Var):
            return False
        for a, b in zip(read.index, place.index, strict=False):
            if any(not isinstance(item, Slice) and not isinstance(item.type, Scalar) for item in (a, b)):
                return False  # an array of indices, a new axis
            if self._apart_on_axis(a, b, need.crossed, stmt):
                return True
        return False

    def _apart_on_axis(self, read: Any, write: Any, crossed: frozenset[int], stmt: Stmt) -> bool:
        if isinstance(read, Slice) and not isinstance(write, Slice):
            return self._ends_before(read, write, crossed, stmt)
        if isinstance(read, Slice) or isinstance(write, Slice):
            return False
        a, b = affine(read), affine(write)
        if a is None or b is None:
            return False
        if a[0] is None and b[0] is None:
            return a[1] != b[1] and (a[1] >= 0) == (b[1] >= 0)
        if a[0] is None or b[0] is None:
            return self._below(a, b, stmt)
        return any(self._ordered(a, b, name, crossed, stmt) for name in self._counters_around(stmt))

    def _ordered(
        self, read: tuple[str | None, int], write: tuple[str | None, int], name: str, crossed: frozenset[int],
        stmt: Stmt,
    ) -> bool:  # fmt: skip
        """Say whether an index read is surely less, or surely more, than one written, by what both are to a counter."""
        loop = self._loop_of(name, stmt)
        if loop is None or not self._only_inside(crossed, loop) or not isinstance(loop.step, Const):
            return False
        reading, writing = self._range_of(read, name, stmt), self._range_of(write, name, stmt)
        if reading is None or writing is None:
            return False  # it is unknown, or may count from the end: `y[i - 1]` is the last element where `i` is 0
        (least, most), (lowest, highest) = reading, writing
        if id(loop) in crossed:  # an earlier turn has read it
            if read[0] != name:
                return False
            least, most = (None, _sum(most, -1)) if loop.step.value > 0 else (_sum(least, 1), None)
        return (most is not None and lowest is not None and most < lowest) or (
            least is not None and highest is not None and least > highest
        )

    def _ends_before(self, read: Slice, write: Any, crossed: frozenset[int], stmt: Stmt) -> bool:
        """Say whether a slice `:j` that was read surely ends at or before an index written."""
        end, place = affine(read.upper) if read.upper is not None else None, affine(write)
        if end is None or end[0] is None or place is None or place[0] is None:
            return False
        if read.lower is not None or read.step is not None:
            return False
        own = self._loop_of(end[0], stmt)
        if own is None or not from_the_start(end, self._bounds_in(own)):
            return False  # another loop, or it may count from the end: `y[:j - 1]` is nearly all of it where `j` is 0
        loops = [s for s in self.loops_around(stmt) if isinstance(s, For)]
        for name in self._counters_around(stmt):
            loop, writing = self._loop_of(name, stmt), self._range_of(place, name, stmt)
            most = _sum(distance(end[0], name, loops)[1], end[1])
            if loop is None or writing is None or not self._only_inside(crossed, loop):
                continue
            if id(loop) in crossed:  # an earlier turn has read it
                if end[0] != name or not isinstance(loop.step, Const) or loop.step.value <= 0:
                    continue
                most = _sum(most, -1)
            if most is not None and writing[0] is not None and most <= writing[0]:
                return True
        return False

    def _range_of(
        self, index: tuple[str | None, int], name: str, stmt: Stmt
    ) -> tuple[int | None, int | None] | None:
        """Return how much an index is less and more than a counter `name` at most, if it never counts from the end."""
        assert index[0] is not None
        loop = self._loop_of(index[0], stmt)
        if loop is None or not from_the_start(index, self._bounds_in(loop)):
            return None
        ranges = distance(index[0], name, [s for s in self.loops_around(stmt) if isinstance(s, For)])
        return _sum(ranges[0], index[1]), _sum(ranges[1], index[1])

    def _below(self, read: tuple[str | None, int], write: tuple[str | None, int], stmt: Stmt) -> bool:
        """A constant index read and a loop index written that always exceeds it."""
        if read[0] is not None or write[0] is None or read[1] < 0:
            return False
        loop = self._loop_of(write[0], stmt)
        if loop is None or not isinstance(loop.start, Const) or not isinstance(loop.step, Const):
            return False
        return loop.step.value > 0 and loop.start.value + write[1] > read[1]

    def _counters_around(self, stmt: Stmt) -> list[str]:
        """Return the counters that indices are compared by: two may have nothing in common but a third."""
        return [loop.var.name for loop in reversed(self.loops_around(stmt)) if isinstance(loop, For)]

    def loops_around(self, stmt: Stmt) -> list[Stmt]:
        """Return the loops around a statement, outermost first."""
        return list(self.layout.loops(self.layout.block_of[id(stmt)]))

    def _loop_of(self, name: str, stmt: Stmt) -> For | None:
        for loop in reversed(self.loops_around(stmt)):
            if isinstance(loop, For) and loop.var.name == name:
                return loop
        return None

    def _bounds_in(self, loop: For) -> Bounds:
        found = self.bounds.get(id(loop))
        if found is None:
            found = self.bounds[id(loop)] = inside(loop, self.least)
        return found

    def _only_inside(self, crossed: frozenset[int], loop: For) -> bool:
        """Say whether no loop around `loop` has begun another iteration since the reading."""
        outer = {id(s) for s in self.layout.loops(self.layout.block_of[id(loop)])}
        return not (crossed & outer)

    def differs(self, read: Any, write: Any, stmt: Stmt) -> bool:
        """Say whether two indices are surely different numbers in one turn of the loops around `stmt`."""
        if isinstance(read, Slice) or isinstance(write, Slice):
            return False
        a, b = affine(read), affine(write)
        if a is None or b is None or a[0] != b[0] or a[1] == b[1]:
            return False
        if a[0] is None:
            return (a[1] >= 0) == (b[1] >= 0)
        loop = self._loop_of(a[0], stmt)
        return loop is not None and from_the_start((a[0], min(a[1], b[1])), self._bounds_in(loop))

    def crossing(self, need: Need, loop: For | While) -> Need:
        """Return a need that was carried into the next iteration; what tells nothing of its place is left out."""
        return replace(need, crossed=need.crossed | {id(loop)}) if id(loop) in self._telling(need.place) else need

    def _telling(self, place: Expr | None) -> frozenset[int]:
        """Return the loops that count the indices of a place, and those around them."""
        if not isinstance(place, Index):
            return frozenset()
        if not self.counting:
            for stmt in statements(self.fn.body):
                if isinstance(stmt, For):
                    around = {id(s) for s in self.layout.loops(self.layout.block_of[id(stmt)])}
                    self.counting.setdefault(stmt.var.name, set()).update({id(stmt)} | around)
        names = {name for item in place.index for name in reads(item)}
        return frozenset[int]().union(*(self.counting.get(name, ()) for name in names))

    def past(self, needs: Needs, loop: For) -> Needs:
        """Forget which elements were read by a loop's index: past the loop, its name may count another loop."""
        around = self._steady_counters(loop)
        return {name: frozenset(_past(n, loop, around) for n in places) for name, places in needs.items()}

    def stays(self, place: Expr, stmt: Stmt) -> bool:
        """Say whether a place is the same element, or part, all through a turn of the loops around a statement."""
        if not (isinstance(place, Index) and isinstance(place.base, Var)):
            return False
        counters = self._steady_counters(stmt)
        ends = [(item.lower, item.upper, item.step) if isinstance(item, Slice) else (item,) for item in place.index]
        return all(
            end is None or isinstance(end, Const) or ((found := affine(end)) is not None and found[0] in counters)
            for part in ends for end in part
        )  # fmt: skip

    def _steady_counters(self, stmt: Stmt) -> set[str]:
        """Return the counters of the loops around a statement that nothing else sets."""
        return {
            loop.var.name for loop in self.loops_around(stmt)
            if isinstance(loop, For) and all(isinstance(made, For) for made in self.layout.defs.get(loop.var.name, ()))
        }  # fmt: skip


def _sum(first: int | None, second: int) -> int | None:
    return None if first is None else first + second


def _past(need: Need, loop: For, around: set[str]) -> Need:
    """Return what a loop has read of a place: along the axes that it has counted along, all before its end or all.

    `around`: the counters of the loops around it, which tell how far that is: `A[i, :j]` past `for k in range(j)`.
    """
    place, index = need.place, loop.var.name
    if place is None or index not in reads(place):
        return need
    if not (isinstance(place, Index) and isinstance(place.base, Var)):
        return Need(None, need.crossed)
    end = _end_of(loop, around)
    items = tuple(_passed(item, index, end, loop) if index in reads(item) else item for item in place.index)
    if all(item == _EVERY for item in items):
        return Need(None, need.crossed)
    return Need(Index(place.base, items, place.type), need.crossed)


def _end_of(loop: For, around: set[str]) -> tuple[str, int] | None:
    """Return what a loop's counter stays below, by a counter of the loops around it; None if no one knows."""
    step = loop.step.value if isinstance(loop.step, Const) else None
    found = affine(loop.stop) if step == 1 else affine(loop.start) if step == -1 else None
    if found is None or found[0] not in around:
        return None
    return (found[0], found[1]) if step == 1 else (found[0], found[1] + 1)


def _passed(item: Any, index: str, end: tuple[str, int] | None, loop: For) -> Slice:
    """Return what a loop has read along an axis: `:end` of an index that is its counter, or of a slice up to that."""
    upto = isinstance(item, Slice) and item.lower is None and item.step is None
    found = affine(item.upper) if upto and item.upper is not None else None if isinstance(item, Slice) else affine(item)
    if end is None or found is None or found[0] != index:
        return _EVERY
    forth = isinstance(loop.step, Const) and loop.step.value == 1
    least = affine(loop.start if forth else loop.stop)
    if least is None or least[0] is not None or least[1] + (not forth) + found[1] < 0:
        return _EVERY  # it may have counted from the end of the array
    counter, more = Var(end[0], loop.var.type), end[1] + found[1]
    if not more:
        return Slice(None, counter, None)
    return Slice(None, Apply(operator.add, (counter, Const(more, counter.type)), counter.type), None)
