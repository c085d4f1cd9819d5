"""Grid-stride loops come off a kernel, and go around its derivative again.

for i in range(cuda.grid(1), n, cuda.gridsize(1)):
...                         # the work on one element: this is what is differentiated
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from s2sad.analysis.threads import Threads
from s2sad.ir.device import BLOCK_SIZE, GRID_SIZE, STRIDE
from s2sad.ir.nodes import Assign, Break, Comment, Continue, For, Function, If, Param, Return, Stmt, Var
from s2sad.ir.types import Scalar, is_inexact
from s2sad.ir.walk import bound, map_blocks, names_in, statements
from s2sad.transform.naming import Namer
from s2sad.transform.rewriting import replaced
from s2sad.transform.unrolled import outlives


@dataclass(frozen=True, slots=True)
class Peeled:
    """A kernel taken apart: what comes before its grid-stride loops, the loops, one element's work."""

    prelude: tuple[tuple[Stmt, ...], ...]
    loops: tuple[For, ...]
    inner: Function

    def around(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Put the loops around one element's work again."""
        for before, loop in zip(reversed(self.prelude), reversed(self.loops), strict=True):
            body = (*before, replace(loop, body=body))
        return body


def peel(fn: Function, threads: Threads) -> Peeled:
    """Take the grid-stride loops off a kernel that is nothing else."""
    preludes: list[tuple[Stmt, ...]] = []
    loops: list[For] = []
    body, params = fn.body, fn.params
    while True:
        if not body or not isinstance(body[-1], For) or stride_axis(body[-1], threads) is None:
            break
        before, loop = body[:-1], body[-1]
        once = sum(loop.var.name in bound(s) for s in statements(fn.body)) == 1
        if not once or not all(_is_index(s) for s in before) or _jumps_out(loop.body):
            break
        preludes.append(before)
        loops.append(loop)
        params = (
            *params, *(Param(s.target.name, s.target.type) for s in before if isinstance(s, Assign)),
            Param(loop.var.name, loop.var.type),
        )  # fmt: skip
        body = loop.body
    if loops:
        body = _without_continue(body)
    return Peeled(tuple(preludes), tuple(loops), replace(fn, params=params, body=body))


def _is_index(stmt: Stmt) -> bool:
    return isinstance(stmt, Comment) or (
        isinstance(stmt, Assign) and isinstance(stmt.target.type, Scalar) and not is_inexact(stmt.target.type)
    )


def stride_axis(loop: For, threads: Threads) -> int | None:
    """Return the axis of a loop over `range(grid, n, gridsize)`, or `range(grid + 1, …)`; None of any other."""
    start, step = threads.linear(loop.start), threads.linear(loop.step)
    if start is None or step is None or start.constant < 0 or step.constant or len(start.terms) != 1:
        return None
    (product, factor), = start.terms
    if factor != 1 or len(product) != 1 or not isinstance(product[0], tuple):
        return None
    axis = product[0][1]
    for (n, a), whole in STRIDE.items():
        del n
        if a == axis and step.terms == (((whole,), 1),):
            return axis
    parts = {BLOCK_SIZE[axis], GRID_SIZE[axis]}
    return axis if len(step.terms) == 1 and set(step.terms[0][0]) == parts and step.terms[0][1] == 1 else None


def stride_names(fn: Function, threads: Threads) -> dict[str, int]:
    """Return the variables that only grid-stride loops of one beginning bind, each with its axis."""
    found: dict[str, set[tuple[int, int] | None]] = {}
    for stmt in statements(fn.body):
        for name in bound(stmt):
            axis = stride_axis(stmt, threads) if isinstance(stmt, For) else None
            start = threads.linear(stmt.start) if isinstance(stmt, For) else None
            known = (axis, start.constant) if axis is not None and start is not None else None
            found.setdefault(name, set()).add(known)
    return {name: place[0] for name, (place, *more) in ((n, tuple(f)) for n, f in found.items())
            if place is not None and not more}  # fmt: skip


def named_apart(fn: Function, threads: Threads) -> Function:
    """Give grid-stride loops of one name names of their own where they begin elsewhere: threads have other elements."""
    first: dict[str, tuple[int | None, object]] = {}
    namer = Namer(names_in(fn.body) | {p.name for p in fn.params})

    def each(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(_named(stmt) if isinstance(stmt, For) else map_blocks(stmt, each) for stmt in body)

    def _named(loop: For) -> For:
        axis, name = stride_axis(loop, threads), loop.var.name
        place = (axis, threads.linear(loop.start))
        if axis is not None and first.setdefault(name, place) != place and not outlives(loop, fn):
            new = Var(namer.fresh(name), loop.var.type)
            loop = replace(loop, var=new, body=replaced(loop.body, {name: new}))
        return replace(loop, body=each(loop.body))

    return replace(fn, body=each(fn.body))


def loop_axes(peeled: Peeled, threads: Threads) -> list[tuple[int, For]]:
    """Return the grid-stride loops, each with its axis."""
    found: list[tuple[int, For]] = []
    for loop in peeled.loops:
        axis = stride_axis(loop, threads)
        assert axis is not None
        found.append((axis, loop))
    return found


def _jumps_out(body: tuple[Stmt, ...]) -> bool:
    """Say whether a `break` or `return` leaves the loop whose body this is."""
    for stmt in body:
        if isinstance(stmt, Break | Return):
            return True
        inner = [s for s in statements((stmt,)) if isinstance(s, Return)]
        if inner or (not isinstance(stmt, For) and _own_break(stmt)):
            return True
    return False


def _own_break(stmt: Stmt) -> bool:
    return isinstance(stmt, If) and any(
        isinstance(s, Break) or _own_break(s) for block in (stmt.body, stmt.orelse) for s in block
    )


def _without_continue(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """A `continue` of a peeled loop ends the work on one element."""
    def each(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Continue):
            return Return((), stmt.span)
        return map_blocks(stmt, lambda b: tuple(each(s) for s in b)) if isinstance(stmt, If) else stmt

    return tuple(each(s) for s in body)
