"""Whether a function reads elements of an array that it is given as it finds them, or has set them all before.

    def step(x, slope, h):
        for i in range(x.size):
            slope[i] = -x[i]             # room to work in: what `slope` held is gone
        for i in range(x.size):
            x[i] += h * slope[i]

What room holds need not be kept for the adjoint of a call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from s2sad.analysis.loops import filled_by, is_whole, runs_over
from s2sad.ir.nodes import Break, CallStmt, Continue, For, Function, If, Index, Raise, Return, Stmt, Store, Var, While
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import exprs_of, map_blocks, map_children, map_exprs, root_of, statements, subexpressions

_LEAVING = Break | Continue | Return | Raise
READS, SETS, NEITHER = range(3)
"""What comes first: an element is read, all are set, or neither is sure."""


def met_first(fn: Function, name: str, reads: Callable[[Any], bool], called: Callable[[str, int], int]) -> int:
    """Return what a function does first with the elements of an array.

    `reads` says whether an expression is made of them, or may be the array under another name; `called` what a
    callee does first.
    """
    return _Scan(name, reads, called).block(fn.body)


class _Scan:
    def __init__(self, name: str, reads: Callable[[Any], bool], called: Callable[[str, int], int]) -> None:
        self.name, self.reads, self.called = name, reads, called

    def block(self, body: tuple[Stmt, ...]) -> int:
        return next((first for stmt in body if (first := self._step(stmt)) != NEITHER), NEITHER)

    def _step(self, stmt: Stmt) -> int:
        if isinstance(stmt, CallStmt) and stmt.fn is None:
            return self._call(stmt)
        if self._reads(stmt):
            return READS
        match stmt:
            case If(_, body, orelse):
                sides = {self.block(body), self.block(orelse)}
                return READS if READS in sides else SETS if sides == {SETS} else NEITHER
            case For(body=body) | While(body=body):
                if self.name in filled_by(stmt) and not any(map(self._reads, statements((stmt,)))):
                    return SETS
                if isinstance(stmt, For) and (part := self._part_of_a_turn(stmt)) is not None:
                    return self.block(part)
                return READS if self.block(body) == READS else NEITHER  # it may have no turns
            case Store() if is_whole(stmt) and (root := root_of(stmt.place)) is not None and root.name == self.name:
                return SETS
            case _:
                return NEITHER

    def _reads(self, stmt: Stmt) -> bool:
        """Say whether a statement, apart from those inside it, reads elements."""
        if isinstance(stmt, Store) and not stmt.op and isinstance(stmt.place, Index | Var):
            into = stmt.place.index if isinstance(stmt.place, Index) and isinstance(stmt.place.base, Var) else ()
            known = isinstance(stmt.place, Var) or into
            return any(map(self.reads, (*into, stmt.value) if known else (stmt.place, stmt.value)))
        return any(map(self.reads, exprs_of(stmt)))

    def _part_of_a_turn(self, loop: For) -> tuple[Stmt, ...] | None:
        """Return the turn of a loop of which each meets a part of its own, all parts together being the array."""
        inside = list(statements(loop.body))
        met = [part for s in inside for e in exprs_of(s) for part in subexpressions(e)]
        arrays = [part for part in met if isinstance(part, Var) and part.name == self.name]
        places = [part for part in met if isinstance(part, Index) and part.base in arrays]
        kind = arrays[0].type if arrays else None
        if not isinstance(kind, Array) or len(arrays) != len(places) or any(isinstance(s, _LEAVING) for s in inside):
            return None
        for axis in range(len(kind.dims)):
            if runs_over(loop, arrays[0], axis) and all(_is_at(place, axis, kind, loop.var) for place in places):
                dims = kind.dims[:axis] + kind.dims[axis + 1 :]
                own = Var(self.name, replace(kind, dims=dims) if dims else Scalar(kind.dtype))
                return tuple(_narrowed(s, own, axis) for s in loop.body)
        return None

    def _call(self, stmt: CallStmt) -> int:
        given = [at for at, arg in enumerate(stmt.args) if isinstance(arg, Var) and arg.name == self.name]
        if len(given) > 1 or any(self.reads(arg) for at, arg in enumerate(stmt.args) if at not in given):
            return READS
        return self.called(stmt.callee, given[0]) if given else NEITHER


def _is_at(place: Index, axis: int, kind: Array, counter: Var) -> bool:
    return len(place.index) == len(kind.dims) and place.index[axis] == counter


def _narrowed(stmt: Stmt, own: Var, axis: int) -> Stmt:
    """Return a statement with a part of the array, without an axis, in the place of the array."""

    def each(expr: Any) -> Any:
        if isinstance(expr, Index) and isinstance(expr.base, Var) and expr.base.name == own.name:
            index = tuple(map(each, expr.index[:axis] + expr.index[axis + 1 :]))
            return replace(expr, base=own, index=index) if index else own
        return map_children(expr, each)

    return map_blocks(map_exprs(stmt, each), lambda body: tuple(_narrowed(s, own, axis) for s in body))
