"""What a Jacobian's sweep writes its results to: a block, of which each turn has a column, or a row.

block = np.empty((m, n))                  block = np.empty((m, n))
for i in range(n):                        for i in range(m):
...                                       x_bar = block[i]
block[:, i] = y_dot                       ...
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from s2sad.emit.lanes import CREATIONS, EVERY, LENGTHS, NoLanesError, sizes_in
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Expr, For, Function, Index, Stmt, Store, Var
from s2sad.ir.shapes import LIKE
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import blocks_of, bound, exprs_of, is_const, reads, root_of, statements, subexpressions


@dataclass(frozen=True, slots=True)
class Block:
    """An array made empty before the loop, of which every turn meets its own part alone.

    Attributes:
        var: its name.
        kind: its type.
        made: its creation.
        by_rows: a turn has one row of it; else a column.
    """

    var: Var
    kind: Array
    made: Apply
    by_rows: bool


@dataclass(frozen=True, slots=True)
class Column:
    """An array that a turn makes, fills and puts into its column of a block."""

    block: Var
    put: Stmt


def blocks_of_sweep(fn: Function, loop: For, written: set[str]) -> dict[str, Block]:
    """Return the blocks among the arrays from outside that the loop writes into.

    Raises:
        NoLanesError: one of them is something else.
    """
    return {name: _block(fn, loop, name) for name in sorted(written)}


def _block(fn: Function, loop: For, name: str) -> Block:
    made = [s for s in statements(fn.body) if name in bound(s)]
    if len(made) != 1 or not isinstance(made[0], Assign) or any(p.name == name for p in fn.params):
        raise NoLanesError
    var, value = made[0].target, made[0].value
    if not (isinstance(value, Apply) and value.fn is np.empty and isinstance(var.type, Array)):
        raise NoLanesError
    parts = _parts(loop.body)
    places = [p for p in parts if isinstance(p, Index) and p.base == var]
    if parts.count(var) != len(places) + _lengths_asked(var, parts):
        raise NoLanesError
    axes = {tuple(axis for axis, item in enumerate(p.index) if item == loop.var) for p in places}
    last = len(var.type.dims) - 1
    if axes not in ({(0,)}, {(last,)}):
        raise NoLanesError
    return Block(var, var.type, value, axes == {(0,)} and last > 0)


def columns(fn: Function, loop: For, blocks: list[Block]) -> dict[str, Column]:
    """Return the arrays that are put into a column of a block, and so can be that column."""
    lengths = _lengths_with_names(fn)
    found: dict[str, Column] = {}
    for stmt in loop.body:
        for block in blocks:
            array = _copied(stmt, loop.var, block.var)
            if array is not None and _is_column(array, stmt, loop, block, lengths):
                found[array.name] = Column(block.var, stmt)
    return found


def _is_column(array: Var, put: Stmt, loop: For, block: Block, lengths: dict[str, Expr]) -> bool:
    made = [s for s in statements(loop.body) if array.name in bound(s)]
    if len(made) != 1 or not isinstance(made[0], Assign) or made[0] not in loop.body:
        return False
    value = made[0].value
    if not isinstance(value, Apply) or not (value.fn in CREATIONS or value.fn in LIKE):
        return False
    at = loop.body.index(put)
    later = any(array.name in reads(e) for s in statements(loop.body[at + 1 :]) for e in exprs_of(s))
    rest = (*loop.body[:at], *loop.body[at + 1 :])
    again = any(block.var.name in reads(e) for s in statements(rest) for e in exprs_of(s))
    if later or again or not _is_only_set(array, rest):
        return False
    return _sizes(value, lengths) == _sizes(block.made, lengths)[:-1]


def _copied(stmt: Stmt, counter: Var, block: Var) -> Var | None:
    """Return the array that a statement copies into a column of a block, `block[..., i] = array`."""
    assert isinstance(block.type, Array)
    loops: list[For] = []
    while isinstance(stmt, For) and len(stmt.body) == 1 and is_const(stmt.start, 0) and is_const(stmt.step, 1):
        loops.append(stmt)
        stmt = stmt.body[0]
    if not isinstance(stmt, Store) or stmt.op or not isinstance(stmt.place, Index) or stmt.place.base != block:
        return None
    value, index = stmt.value, stmt.place.index
    if loops:
        counters = tuple(inner.var for inner in loops)
        whole = isinstance(value, Index) and value.index == counters and index == (*counters, counter)
        whole = whole and all(_is_length(inner.stop, block, axis) for axis, inner in enumerate(loops))
        value = value.base if isinstance(value, Index) else value
    else:
        whole = index == (*(EVERY for _ in block.type.dims[1:]), counter)
    return value if whole and isinstance(value, Var) and isinstance(value.type, Array) else None


def _is_only_set(array: Var, body: tuple[Stmt, ...]) -> bool:
    """Say whether all that happens to an array is that items are set, and added to where they have just been set.

    To add to them later, when they are no longer at hand, is slower in a column.
    """
    assert isinstance(array.type, Array)
    stores = [s for s in statements(body) if isinstance(s, Store) and isinstance(s.place.type, Scalar)]
    places = [s.place for s in stores if isinstance(s.place, Index) and s.place.base == array]
    whole = all(len(place.index) == len(array.type.dims) for place in places)
    parts = _parts(body)
    if not whole or parts.count(array) != len(places) + _lengths_asked(array, parts):
        return False
    return _adds_at_once(array, body, frozenset())


def _adds_at_once(array: Var, body: tuple[Stmt, ...], at_hand: frozenset[Expr]) -> bool:
    """Say whether items are only added to behind the statement that sets them, in its block or inside of that."""
    for stmt in body:
        if isinstance(stmt, Store) and root_of(stmt.place) == array:
            if stmt.op and stmt.place not in at_hand:
                return False
            at_hand |= {stmt.place}
        if not all(_adds_at_once(array, block, at_hand) for block in blocks_of(stmt)):
            return False
    return True


def _parts(body: tuple[Stmt, ...]) -> list[object]:
    return [part for stmt in statements(body) for expr in exprs_of(stmt) for part in subexpressions(expr)]


def _lengths_asked(array: Var, parts: list[object]) -> int:
    return sum(isinstance(p, Apply) and p.fn in LENGTHS and p.args[0] == array for p in parts)


def _is_length(expr: Expr, array: Var, axis: int) -> bool:
    assert isinstance(array.type, Array)
    dim = array.type.dims[axis]
    if isinstance(dim, int):
        return is_const(expr, dim)
    return isinstance(expr, Apply) and expr.fn is ops.dim and expr.args[0] == array and is_const(expr.args[1], axis)


def _sizes(made: Apply, lengths: dict[str, Expr]) -> list[Expr]:
    """Return the lengths that an array is created with."""
    size = made.args[0]
    if made.fn in LIKE:
        assert isinstance(size.type, Array)
        return [build(ops.dim, size, literal(axis)) for axis in range(len(size.type.dims))]
    return [lengths.get(e.name, e) if isinstance(e, Var) else e for e in sizes_in(size)]


def _lengths_with_names(fn: Function) -> dict[str, Expr]:
    """Return the names of lengths of arrays, where name and array are bound once."""
    times = Counter([*(p.name for p in fn.params), *(name for s in statements(fn.body) for name in bound(s))])
    return {
        s.target.name: build(ops.dim, *s.value.args)
        for s in statements(fn.body)
        if isinstance(s, Assign) and isinstance(s.value, Apply) and s.value.fn is ops.dim
        and isinstance(s.value.args[0], Var) and times[s.target.name] == times[s.value.args[0].name] == 1
    }  # fmt: skip
