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
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from s2sad.analysis.loops import filled_by, is_whole
from s2sad.ir.nodes import (
    Break,
    CallStmt,
    Const,
    Continue,
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
    While,
)
from s2sad.ir.types import Array, Scalar, Sym, is_carried
from s2sad.ir.walk import bound, exprs_of, map_blocks, map_children, map_exprs, root_of, statements, subexpressions

_LEAVING = Break | Continue | Return | Raise
_Side = tuple[str, int, int]
"""Indices along an axis: ("at", k, 0) is element k, counted from the end if negative; ("from", a, d) those from a on
but for the last d, and so ("from", 0, 0) all."""
_Box = tuple[_Side, ...]
_ALL: _Side = ("from", 0, 0)
_WIDE = 4
"""How many elements at an end of an axis may be set one by one."""
_NONE = Const(0, Scalar("int64", weak=True))
READS, SETS, NEITHER = range(3)
"""What comes first: an element is read, all are set, or neither is sure."""


def met_first(fn: Function, name: str, reads: Callable[[Any], bool], called: Callable[[str, int], int]) -> int:
    """Return what a function does first with the elements of an array.

    `reads` says whether an expression is made of them, or may be the array under another name; `called` what a
    callee does first.
    """
    return _Scan(name, reads, called).block(fn.body)


@dataclass(frozen=True, slots=True)
class _Turn:
    """The turn of a loop with a part of an array in the place of the array, and what all such parts are of it."""

    body: tuple[Stmt, ...]
    box: _Box


class _Scan:
    def __init__(self, name: str, reads: Callable[[Any], bool], called: Callable[[str, int], int]) -> None:
        self.name, self.reads, self.called = name, reads, called

    def block(self, body: tuple[Stmt, ...]) -> int:
        boxes: list[_Box] = []
        for stmt in body:
            first = self._step(stmt)
            if first != NEITHER:
                return first
            boxes += self._set_by(stmt)
            if _is_covered(boxes):
                return SETS
        return NEITHER

    def _step(self, stmt: Stmt) -> int:
        if isinstance(stmt, CallStmt) and stmt.fn is None and self.name not in bound(stmt):
            return self._call(stmt)
        if self._reads(stmt) or self.name in bound(stmt):  # from there on the name means another array
            return READS
        match stmt:
            case If(_, body, orelse):
                sides = {self.block(body), self.block(orelse)}
                return READS if READS in sides else SETS if sides == {SETS} else NEITHER
            case For(body=body) | While(body=body):
                if self.name in filled_by(stmt) and not any(map(self._reads, statements((stmt,)))):
                    return SETS
                turn = self._part_of_a_turn(stmt) if isinstance(stmt, For) else None
                return READS if self.block(body if turn is None else turn.body) == READS else NEITHER
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

    def _set_by(self, stmt: Stmt) -> list[_Box]:
        """Return the parts of the array that a statement surely sets."""
        turn = self._part_of_a_turn(stmt) if isinstance(stmt, For) else None
        if turn is not None and self.block(turn.body) == SETS:
            return [turn.box]
        return _boxes(stmt, self.name, {})

    def _part_of_a_turn(self, loop: For) -> _Turn | None:
        """Return the turn of a loop of which each meets a part of its own: `table[i, …]`."""
        inside = list(statements(loop.body))
        met = [part for s in inside for e in exprs_of(s) for part in subexpressions(e)]
        arrays = [part for part in met if isinstance(part, Var) and part.name == self.name]
        places = [part for part in met if isinstance(part, Index) and part.base in arrays]
        kind = arrays[0].type if arrays else None
        if not isinstance(kind, Array) or len(arrays) != len(places) or any(isinstance(s, _LEAVING) for s in inside):
            return None
        for axis, dim in enumerate(kind.dims):
            side = _side(loop.var, dim, {loop.var.name: loop})
            if side is not None and all(_is_at(place, axis, kind, loop.var) for place in places):
                dims = kind.dims[:axis] + kind.dims[axis + 1 :]
                own = Var(self.name, replace(kind, dims=dims) if dims else Scalar(kind.dtype))
                box = (*(_ALL,) * axis, side, *(_ALL,) * len(kind.dims[axis + 1 :]))
                return _Turn(tuple(_narrowed(s, own, axis) for s in loop.body), box)
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


# ---- elements that several statements set together ----


def _boxes(stmt: Stmt, name: str, loops: dict[str, For]) -> list[_Box]:
    """Return the parts of an array that a statement surely sets."""
    match stmt:
        case For(var, body=body) if not any(isinstance(s, _LEAVING) for s in statements(body)):
            inner = {**loops, var.name: stmt}
            return [box for one in body if isinstance(one, For | Store) for box in _boxes(one, name, inner)]
        case Store(Index(Var(base, Array(_, dims)), index), "") if base == name and len(index) == len(dims):
            counters = [item.name for item in index if isinstance(item, Var)]
            if any(counters.count(loop) != 1 for loop in loops):
                return []  # a loop that may have no turns, or a diagonal
            sides = [_side(item, dim, loops) for item, dim in zip(index, dims, strict=True)]
            return [] if None in sides else [tuple(side for side in sides if side is not None)]
        case _:
            return []


def _side(item: Any, dim: Any, loops: dict[str, For]) -> _Side | None:
    if isinstance(item, Slice):
        match item.lower or _NONE, item.upper, item.step:
            case Const(int() as first), None, None if first >= 0:
                return ("from", first, 0)
            case Const(int() as first), Const(int() as last), None if first >= 0 > last:  # `x[:0]` is nothing
                return ("from", first, -last)
            case _:
                return None
    if isinstance(item, Var) and item.name in loops:
        loop = loops[item.name]
        less = _before_the_end(loop.stop, dim)
        match loop.start, loop.step, less:
            case Const(int() as start), Const(1), int() if start >= 0:
                return ("from", start, less)
            case _:
                return None
    if isinstance(item, Const) and isinstance(item.value, int):
        return ("at", item.value, 0)
    less = _before_the_end(item, dim)
    return None if not less else ("at", -less, 0)


def _before_the_end(expr: Any, dim: Any) -> int | None:
    """Return by how much a number is less than a length, if it is known to be; never below zero."""
    value = expr.value if isinstance(expr, Const) else getattr(expr.type, "value", None)
    if isinstance(dim, int):
        return dim - value if isinstance(value, int) and value <= dim else None
    if not isinstance(value, Sym) or not isinstance(dim, Sym) or value.name != dim.name or is_carried(dim):
        return None
    return value.minus - dim.minus if value.minus >= dim.minus else None


def _is_covered(boxes: list[_Box]) -> bool:
    """Say whether parts of an array are all of it, however long it is.

    Each axis is cut into its first elements, its last ones, and what is between; of the elements at the ends each must
    be set for itself, as what lies between may be nothing.
    """
    if not boxes:
        return False
    cut = [[side for side in sides if side[0] == "from"] for sides in zip(*boxes, strict=True)]
    ends = [(max((s[1] for s in some), default=0), max((s[2] for s in some), default=0)) for some in cut]
    if any(max(pair) > _WIDE for pair in ends):
        return False
    classes = [[*range(first), None, *range(-last, 0)] for first, last in ends]
    return all(
        any(all(_holds(side, one) for side, one in zip(box, cell, strict=True)) for box in boxes)
        for cell in product(*classes)
    )


def _holds(side: _Side, one: int | None) -> bool:
    """Say whether indices have an element at an end, or, if `one` is None, all that lies between."""
    return side == _ALL or (side[0] == "from" if one is None else side == ("at", one, 0))
