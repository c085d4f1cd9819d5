"""Target "cpu": what an adjoint adds to one place in every turn of a loop is summed in a number first.

    for q in range(n):                            y_bar_sum = 0.0
        x_bar[q] += a[p, q] * z_bar[q]            for q in range(n):
        y_bar[p] += a[p, q] * x[q]     becomes        x_bar[q] += a[p, q] * z_bar[q]
                                                      y_bar_sum += a[p, q] * x[q]
                                                  y_bar[p] += y_bar_sum

The number stays in a register, and as no order is given for the additions of an adjoint, several are made at
once. Measured 1.3 times as fast for the gradient of a mixture of Gaussians. Needs: an innermost loop, a place that
does not move with it and is there even if the loop has no turns, and an array that the loop only adds to.
"""

from __future__ import annotations

import operator
from dataclasses import replace

from s2sad.analysis.facts import Facts
from s2sad.analysis.sharing import Apart
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir.nodes import Assign, Comment, Const, Expr, For, Function, If, Index, Stmt, Store, Var
from s2sad.ir.shapes import reads_content
from s2sad.ir.types import Array, Dim, Scalar
from s2sad.ir.walk import blocks_of, bound, exprs_of, map_blocks, names_in, reads, statements
from s2sad.transform.filled import is_length
from s2sad.transform.naming import Namer
from s2sad.transform.stepping import forwards


def accumulated(fn: Function, facts: Facts) -> Function:
    """Return `fn` with such additions in numbers."""
    if not any(isinstance(s, Store) and s.accumulate for s in statements(fn.body)):
        return fn
    work = _Summing(fn, facts)
    return replace(fn, body=work.block(fn.body, {}))


class _Summing:
    def __init__(self, fn: Function, facts: Facts) -> None:
        self.apart = Apart(fn, facts)
        self.namer = Namer({p.name for p in fn.params} | names_in(fn.body))

    def block(self, body: tuple[Stmt, ...], counters: dict[str, For]) -> tuple[Stmt, ...]:
        """Return a block inside loops over `counters`, with the sums of its loops in numbers."""
        made: list[Stmt] = []
        for stmt in body:
            inside = counters
            if isinstance(stmt, For):
                inside = counters if _is_rebound(stmt) else {**counters, stmt.var.name: stmt}
                if not any(blocks_of(s) and not isinstance(s, If) for s in statements(stmt.body)):
                    made.extend(self._loop(stmt, counters))
                    continue
            made.append(map_blocks(stmt, lambda block, inside=inside: self.block(block, inside)))
        return tuple(made)

    def _loop(self, loop: For, counters: dict[str, For]) -> list[Stmt]:
        """Return an innermost loop with what stands before and behind it."""
        if not all(isinstance(s, Assign | Store | Comment | If) for s in statements(loop.body)):
            return [loop]
        before: list[Stmt] = []
        behind: list[Stmt] = []
        for place, first in self._places(loop, counters).items():
            assert isinstance(place, Index) and isinstance(place.base, Var)
            sum_ = Var(self.namer.fresh(f"{place.base.name.removeprefix('sum_')}_sum"), Scalar("float64"))
            before.append(Assign(sum_, literal(0.0), first.span))
            behind.append(Store(place, "+", sum_, first.span, accumulate=True))
            loop = replace(loop, body=_in_a_number(loop.body, place, sum_))
        return [*before, loop, *behind]

    def _places(self, loop: For, counters: dict[str, For]) -> dict[Expr, Store]:
        """Return the places that a loop adds to, whatever its turn, each with an addition."""
        found: dict[Expr, Store] = {}
        every = list(statements(loop.body))
        inside = {name for s in every for name in bound(s)} | {loop.var.name}
        for stmt in every:
            if not isinstance(stmt, Store) or not _adds(stmt) or reads(stmt.place) & inside or stmt.place in found:
                continue
            if _is_there(stmt.place, counters) and self._is_only_added_to(stmt.place, every):
                found[stmt.place] = stmt
        return found

    def _is_only_added_to(self, place: Expr, every: list[Stmt]) -> bool:
        """Say whether nothing in a loop reads or sets an item of the array of a place."""
        assert isinstance(place, Index) and isinstance(place.base, Var)
        for stmt in every:
            met = {name for expr in exprs_of(stmt) for name in reads_content(expr)}
            if isinstance(stmt, Store) and _adds(stmt) and isinstance(stmt.place, Index):
                met = {name for expr in (*stmt.place.index, stmt.value) for name in reads_content(expr)}
            if any(self.apart.may_meet(place.base.name, name) for name in met):
                return False
        return True


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
