"""How what depends on the direction is written, where a Jacobian's sweeps run abreast: with one more axis, the last.

x_dot[k]        x_dot[k, lane]              np.zeros(m)              np.zeros((m, lanes))
slope           slope, or slope[lane]       np.reshape(unit, s)      np.reshape(unit, (*s, lanes))
block[k, i]     block[k, i + lane]          block[i], a row          block_rows
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from s2sad.frontend.operators import build
from s2sad.frontend.values import literal, pack
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Expr, Index, Pack, Slice, Var
from s2sad.ir.shapes import LIKE
from s2sad.ir.types import Array, Dim, Scalar
from s2sad.ir.views import is_advanced
from s2sad.ir.walk import children, map_children, subexpressions

EVERY = Slice(None, None, None)
LENGTHS = frozenset({ops.dim, ops.length})
CREATIONS = frozenset(LIKE.values())


class NoLanesError(Exception):
    """Something depends on the direction that can have no lanes."""


@dataclass(slots=True)
class Lanes:
    """The names of one sweep, and how each is written.

    Attributes:
        counter: the loop's variable, the first of the directions that run abreast.
        lane: the counter of the loops over lanes.
        lanes: how many there are.
        width: that number, as a length in types.
        moving: the names of what depends on the direction.
        blocks: the arrays outside the loop that take the results.
        names: the names that are taken outside the loop, and what to call them here.
        plain: numbers that one loop over lanes alone sets and reads.
        rows: blocks of which a turn fills a row, and what holds the rows of all lanes.
        columns: arrays that are a column of a block, and the block.
    """

    counter: Var
    lane: Var
    lanes: Var
    width: Dim
    moving: set[str]
    blocks: set[str]
    names: dict[str, str] = field(default_factory=dict[str, str])
    plain: set[str] = field(default_factory=set[str])
    rows: dict[str, Var] = field(default_factory=dict[str, Var])
    columns: dict[str, Var] = field(default_factory=dict[str, Var])

    def moves(self, expr: Expr | Slice) -> bool:
        """Say whether an expression depends on the direction, and not on lengths alone."""
        if isinstance(expr, Var):
            return expr.name in self.moving or expr == self.counter
        if isinstance(expr, Apply) and expr.fn in LENGTHS and isinstance(expr.args[0], Var):
            return False
        return any(self.moves(part) for part in children(expr))

    def here(self) -> Expr:
        """Return the direction of a lane."""
        return build(operator.add, self.counter, self.lane)

    def kind(self, kind: Any, layout: str = "C") -> Array:
        """Return the type of a number or an array with a place for each lane."""
        return Array(kind.dtype, (*(kind.dims if isinstance(kind, Array) else ()), self.width), layout)

    def var(self, var: Var) -> Var:
        """Return the name of what has lanes, or of what has none."""
        if var.name in self.columns:
            return self.columns[var.name]
        if var.name not in self.moving:
            return var
        name = self.names.get(var.name, var.name)
        return Var(name, var.type if var.name in self.plain else self.kind(var.type))

    def still(self, expr: Any) -> Any:
        """Return an expression that is the same for all lanes; it may ask for lengths of arrays that have some."""
        if isinstance(expr, Apply) and expr.fn in LENGTHS and isinstance(expr.args[0], Var):
            return replace(expr, args=(self.var(expr.args[0]), *expr.args[1:]))
        return map_children(expr, self.still)

    # ---- numbers ----

    def number(self, expr: Any) -> Any:
        """Return an expression of numbers as one lane has it."""
        match expr:
            case _ if not self.moves(expr) and not self._names_row(expr):
                return self.still(expr)
            case Var():
                return self._number(expr)
            case Index():
                return self._item(expr)
            case Apply() if isinstance(expr.type, Scalar):
                return map_children(expr, self.number)
            case _:
                raise NoLanesError

    def _number(self, var: Var) -> Expr:
        if var == self.counter:
            return self.here()
        if not isinstance(var.type, Scalar):
            raise NoLanesError
        return self.var(var) if var.name in self.plain else Index(self.var(var), (self.lane,), var.type)

    def _names_row(self, expr: Any) -> bool:
        return any(isinstance(p, Var) and p.name in self.rows for p in subexpressions(expr))

    def _item(self, expr: Index) -> Index:
        base, index = expr.base, expr.index
        if not isinstance(base, Var) or not isinstance(base.type, Array) or not isinstance(expr.type, Scalar):
            raise NoLanesError
        if len(index) != len(base.type.dims):
            raise NoLanesError
        if base.name in self.rows:
            return Index(self.rows[base.name], (*self._index(index[1:]), self.lane), expr.type)
        if base.name in self.columns:
            return Index(self.columns[base.name], (*self._index(index), self.here()), expr.type)
        self._index(tuple(item for item in index if item != self.counter))
        found = tuple(self.number(item) for item in index)
        if base.name in self.blocks:
            return Index(base, found, expr.type)
        if base.name in self.moving:
            return Index(self.var(base), (*found, self.lane), expr.type)
        raise NoLanesError

    def _index(self, index: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return an index that is the same for all lanes."""
        if any(self.moves(item) for item in index):
            raise NoLanesError
        return tuple(self.still(item) for item in index)

    # ---- arrays ----

    def array(self, value: Expr) -> Expr:
        """Return an array with a place for each lane."""
        match value:
            case Apply(fn, (Var() as like,)) if fn in LIKE and isinstance(like.type, Array):
                if like.name in self.moving:
                    return replace(value, args=(self.view(like),), type=self.kind(value.type))
                sizes = [build(ops.dim, like, literal(axis)) for axis in range(len(like.type.dims))]
                return self._created(LIKE[fn], sizes, value)
            case Apply(fn, (size,)) if fn in CREATIONS and not self.moves(size):
                if not isinstance(size, Pack) and not isinstance(size.type, Scalar):
                    raise NoLanesError
                return self._created(fn, [self.still(s) for s in sizes_in(size)], value)
            case Apply(fn, (inner,)) if fn is np.copy:
                return replace(value, args=(self.view(inner),), type=self.kind(value.type))
            case _:
                return self.view(value)

    def _created(self, fn: Callable[..., Any], sizes: list[Expr], value: Apply) -> Apply:
        static = value.static or dtype_of(value.type)
        return Apply(fn, (pack("tuple", [*sizes, self.lanes]),), self.kind(value.type), static)

    def view(self, expr: Expr) -> Expr:
        """Return what shares the memory of an array with lanes."""
        match expr:
            case Var(name) if name in self.moving and name not in self.columns and isinstance(expr.type, Array):
                return self.var(expr)
            case Index(Var(name), index) if name in self.rows:
                rest = self._index(index[1:])
                if index[0] != self.counter:
                    raise NoLanesError
                return Index(self.rows[name], rest, self.kind(expr.type, "A")) if rest else self.rows[name]
            case Index(base, index) if isinstance(expr.type, Array) and not is_advanced(index):
                return Index(self.view(base), self._index(index), self.kind(expr.type, "A"))
            case Apply(fn, (base, Pack(items=sizes))) if fn is np.reshape and not any(self.moves(s) for s in sizes):
                shape = pack("tuple", [*(self.still(s) for s in sizes), self.lanes])
                return Apply(np.reshape, (self.view(base), shape), self.kind(expr.type, "A"), expr.static)
            case _:
                raise NoLanesError

    def part(self, expr: Expr) -> Expr:
        """Return one lane of an array that is put into its block as a whole, or its place there."""
        if isinstance(expr, Index) and isinstance(expr.base, Var) and expr.base.name in self.blocks - self.rows.keys():
            self._index(tuple(item for item in expr.index if item != self.counter))
            return replace(expr, index=tuple(self.here() if item == self.counter else item for item in expr.index))
        if not isinstance(expr, Var) or not isinstance(expr.type, Array):
            raise NoLanesError
        if expr.name not in self.moving - self.columns.keys():
            raise NoLanesError
        every = tuple(EVERY for _ in expr.type.dims)
        return Index(self.var(expr), (*every, self.lane), replace(expr.type, layout="A"))


def sizes_in(size: Expr) -> list[Expr]:
    """Return the lengths that the argument of a creation names."""
    return list(size.items) if isinstance(size, Pack) else [size]


def dtype_of(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Return the keyword by which an array of a type is created."""
    return () if kind.dtype == "float64" else (("dtype", np.dtype(kind.dtype).type),)
