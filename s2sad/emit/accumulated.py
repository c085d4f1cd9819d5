"""Target "cpu": what an adjoint adds to one place in every turn of a loop is summed in a number first.

    for q in range(n):                            y_bar_sum = 0.0
        x_bar[q] += a[p, q] * z_bar[q]            for q in range(n):
        y_bar[p] += a[p, q] * x[q]     becomes        x_bar[q] += a[p, q] * z_bar[q]
                                                      y_bar_sum += a[p, q] * x[q]
                                                  y_bar[p] += y_bar_sum

The number stays in a register, and as no order is given for the additions of an adjoint, several are made at
once. Measured 1.3 times as fast for the gradient of a mixture of Gaussians, 2.6 for an elimination. Needs: an
innermost loop, a place that does not move with it and is there even if the loop has no turns, and that of its array
the loop reads and sets other items only: `a[k, j]`, where `j` is more than `k`.
"""

from __future__ import annotations

import operator
from dataclasses import replace

from s2sad.analysis.bounds import distance, from_the_start, lower_bounds
from s2sad.analysis.facts import Facts
from s2sad.analysis.loops import affine
from s2sad.analysis.sharing import Apart
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Apply,
    Assign,
    Break,
    Comment,
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
    Var,
)
from s2sad.ir.shapes import reads_content
from s2sad.ir.types import Array, Dim, ListOf, Scalar
from s2sad.ir.walk import blocks_of, bound, exprs_of, map_blocks, names_in, reads, statements, subexpressions
from s2sad.transform.filled import is_length
from s2sad.transform.naming import Namer
from s2sad.transform.stepping import forwards

_CHOOSING = (ops.ifexp, ops.both, ops.either)
"""What may leave an operand of it aside."""


def accumulated(fn: Function, facts: Facts) -> Function:
    """Return `fn` with such additions in numbers."""
    if not any(isinstance(s, Store) and s.accumulate for s in statements(fn.body)):
        return fn
    work = _Summing(fn, facts)
    return replace(fn, body=work.block(fn.body, {}))


class _Summing:
    def __init__(self, fn: Function, facts: Facts) -> None:
        self.apart = Apart(fn, facts)
        self.least = lower_bounds(fn)
        self.namer = Namer({p.name for p in fn.params} | names_in(fn.body))

    def block(self, body: tuple[Stmt, ...], counters: dict[str, For]) -> tuple[Stmt, ...]:
        """Return a block inside loops over `counters`, with the sums of its loops in numbers."""
        made: list[Stmt] = []
        for stmt in body:
            inside = counters
            if isinstance(stmt, For):
                inside = counters if _is_rebound(stmt) else {**counters, stmt.var.name: stmt}
                if not any(blocks_of(s) and not isinstance(s, If) for s in statements(stmt.body)):
                    made.extend(self._loop(stmt, counters, body))
                    continue
            made.append(map_blocks(stmt, lambda block, inside=inside: self.block(block, inside)))
        return tuple(made)

    def _loop(self, loop: For, counters: dict[str, For], around: tuple[Stmt, ...]) -> list[Stmt]:
        """Return an innermost loop with what stands before and behind it."""
        if not all(isinstance(s, Assign | Store | Comment | If) for s in statements(loop.body)):
            return [loop]
        before: list[Stmt] = []
        behind: list[Stmt] = []
        for place, first in self._places(loop, counters, around).items():
            assert isinstance(place, Index) and isinstance(place.base, Var)
            sum_ = Var(self.namer.fresh(f"{place.base.name.removeprefix('sum_')}_sum"), Scalar("float64"))
            before.append(Assign(sum_, literal(0.0), first.span))
            behind.append(Store(place, "+", sum_, first.span, accumulate=True))
            loop = replace(loop, body=_in_a_number(loop.body, place, sum_))
        return [*before, loop, *behind]

    def _places(self, loop: For, counters: dict[str, For], around: tuple[Stmt, ...]) -> dict[Expr, Store]:
        """Return the places that a loop adds to, whatever its turn, each with an addition."""
        found: dict[Expr, Store] = {}
        every = list(statements(loop.body))
        inside = {name for s in every for name in bound(s)} | {loop.var.name}
        loops = [] if _is_rebound(loop) else [*counters.values(), loop]
        for stmt in every:
            if not isinstance(stmt, Store) or not _adds(stmt) or reads(stmt.place) & inside or stmt.place in found:
                continue
            if not (
                _is_there(stmt.place, counters) or _is_met_beside(stmt.place, around)
                or (stmt in loop.body and _has_turns(loop, counters))
            ):  # fmt: skip
                continue
            if self._is_only_added_to(stmt.place, every, loops):
                found[stmt.place] = stmt
        return found

    def _is_only_added_to(self, place: Expr, every: list[Stmt], loops: list[For]) -> bool:
        """Say whether nothing in a loop reads or sets a place, or what may be it under another name."""
        assert isinstance(place, Index) and isinstance(place.base, Var)
        for stmt in every:
            exprs: list[Expr | Slice] = [*exprs_of(stmt)]
            if isinstance(stmt, Store) and _adds(stmt) and isinstance(stmt.place, Index):
                exprs = [*stmt.place.index, stmt.value]
            for expr in exprs:
                met = reads_content(expr)
                own = place.base.name in met and not self._meets_others_only(place, expr, loops)
                if own or any(self.apart.may_meet(place.base.name, name) for name in met - {place.base.name}):
                    return False
        return True

    def _meets_others_only(self, place: Index, expr: Expr | Slice, loops: list[For]) -> bool:
        """Say whether all that an expression reads of an array are items apart from one of them."""
        parts = subexpressions(expr)
        items = [part for part in parts if isinstance(part, Index) and part.base == place.base]
        return parts.count(place.base) == len(items) and all(
            any(self._differ(a, b, loops) for a, b in zip(item.index, place.index, strict=False)) for item in items
        )

    def _differ(self, first: Expr | Slice, second: Expr | Slice, loops: list[For]) -> bool:
        """Say whether one index is always more than another, by the loops around."""
        if isinstance(first, Slice) or isinstance(second, Slice):
            return False
        a, b = affine(first), affine(second)
        if a is None or b is None or not (from_the_start(a, self.least) and from_the_start(b, self.least)):
            return False
        for (name, offset), (other, amount) in ((a, b), (b, a)):
            if name is None or other is None:
                continue
            least, most = distance(name, other, loops)
            if (least is not None and least + offset > amount) or (most is not None and most + offset < amount):
                return True
        return False


def _has_turns(loop: For, counters: dict[str, For]) -> bool:
    """Say whether a loop surely has a turn: `for i in range(j, n)` in `for j in range(k, n)`."""
    ahead = forwards(loop) or loop
    start = affine(ahead.start)
    around = counters.get(start[0]) if start is not None and start[0] is not None else None
    if start is None or around is None or start[1] > 0 or not isinstance(ahead.step, Const) or ahead.step.value < 1:
        return False
    if any(isinstance(part, Var) and isinstance(part.type, ListOf) for part in subexpressions(ahead.stop)):
        return False  # a list may be longer in the next turn
    changed = {name for s in statements(around.body) for name in bound(s)}
    return (forwards(around) or around).stop == ahead.stop and not reads(ahead.stop) & changed


def _is_met_beside(place: Expr, around: tuple[Stmt, ...]) -> bool:
    """Say whether the block that a loop stands in reads or sets a place whatever the loop does."""
    if any(isinstance(s, Break | Continue | Return | Raise) for s in statements(around)):
        return False
    return any(
        place in subexpressions(expr) for s in around if isinstance(s, Assign | Store) for expr in exprs_of(s)
        if not any(isinstance(part, Apply) and part.fn in _CHOOSING for part in subexpressions(expr))
    )  # fmt: skip


def _adds(stmt: Store) -> bool:
    """Say whether a statement is an adjoint's addition to one item of an array."""
    place = stmt.place
    if not stmt.accumulate or stmt.op not in ("+", "-") or not isinstance(place, Index):
        return False
    return isinstance(place.base, Var) and isinstance(place.type, Scalar) and place.type.dtype == "float64"


def _is_there(place: Expr, counters: dict[str, For]) -> bool:
    """Say whether an item surely exists: each index counts along its axis."""
    assert isinstance(place, Index)
    kind = place.base.type
    if not isinstance(kind, Array) or len(place.index) != len(kind.dims):
        return False
    return all(
        isinstance(item, Var) and item.name in counters and _is_along(counters[item.name], dim)
        for item, dim in zip(place.index, kind.dims, strict=True)
    )


def _is_along(loop: For, dim: Dim) -> bool:
    """Say whether a counter stays within an axis."""
    ahead = forwards(loop) or loop
    start = ahead.start.value if isinstance(ahead.start, Const) else -1
    rises = isinstance(ahead.step, Const) and ahead.step.value > 0
    return rises and isinstance(start, int) and start >= 0 and is_length(ahead.stop, dim)


def _is_rebound(loop: For) -> bool:
    return any(loop.var.name in bound(s) for s in statements(loop.body))


def _in_a_number(body: tuple[Stmt, ...], place: Expr, sum_: Var) -> tuple[Stmt, ...]:
    """Return statements with all that is added to a place added to a number."""

    def each(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Store) and stmt.place == place:
            return Assign(sum_, build(operator.add if stmt.op == "+" else operator.sub, sum_, stmt.value), stmt.span)
        return map_blocks(stmt, lambda block: tuple(each(s) for s in block))

    return tuple(each(stmt) for stmt in body)
