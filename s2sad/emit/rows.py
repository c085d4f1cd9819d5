"""Arrays of which a turn of a loop meets one row alone are that row, or a number.

    total = np.zeros(n)                          y = np.empty(m)
    y = np.empty((n, m))                         for i in range(n):
    for i in range(n):                               total = 0.0
        for j in range(m):                           for j in range(m):
            y[i, j] = np.exp(x[i, j])   becomes          y[j] = np.exp(x[i, j])
            total[i] += y[i, j]                          total += y[j]
        for j in range(m):                           for j in range(m):
            z[i, j] = y[j] / total[i]                    z[i, j] = y[j] / total

Memory of the size of a row stays in the cache. Only arrays that loops made are looked at: nobody else has
another name for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad.analysis.pure import is_pure
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Const, Expr, For, Index, Pack, Stmt, Store, Var
from s2sad.ir.types import Array, Scalar, Struct
from s2sad.ir.walk import (
    NamesOf,
    blocks_of,
    bound,
    children,
    exprs_of,
    map_blocks,
    map_children,
    map_exprs,
    reads,
    statements,
    subexpressions,
)

_FRESH = (np.empty, np.zeros, np.full)
_LIKE = {np.empty_like: np.empty, np.zeros_like: np.zeros}


def by_rows(body: tuple[Stmt, ...], made: set[str]) -> tuple[Stmt, ...]:
    """Return `body` with those of the `made` arrays as a row or a number that can be."""
    binds = _binds(body)
    named = NamesOf()
    for name in sorted(made):
        if binds[name] == 1 and (plan := _planned(body, name, binds, named)) is not None:
            body = plan.applied(body, named)
    return _without_unread(body, made)


def _uses_in(named: NamesOf, body: Iterable[Stmt], name: str) -> _Uses:
    """Return how an array is met in statements, of which most have nothing of it."""
    return _uses(tuple([stmt for stmt in body if name in named.of(stmt)]), name)


def _without_unread(body: tuple[Stmt, ...], made: set[str]) -> tuple[Stmt, ...]:
    """Leave out numbers that nobody asks for, and loops that have nothing else to do."""
    read = {name for stmt in statements(body) for expr in exprs_of(stmt) for name in reads(expr)}

    def each(block: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in block:
            if isinstance(stmt, Assign) and isinstance(stmt.target.type, Scalar):
                if stmt.target.name in made - read and is_pure(stmt.value):
                    continue
            inner = map_blocks(stmt, each)
            if not (isinstance(inner, For) and not inner.body and stmt.body):  # type: ignore[attr-defined]
                out.append(inner)
        return tuple(out)

    return each(body)


def _binds(body: tuple[Stmt, ...]) -> Counter[str]:
    return Counter(name for stmt in statements(body) for name in bound(stmt))


# ---- lengths ----


def with_own_lengths(body: tuple[Stmt, ...], made: set[str], params: Iterable[str]) -> tuple[Stmt, ...]:
    """Return `body` asking none of the `made` arrays for a length that it was made with."""
    binds = _binds(body)
    binds.update(params)

    def block(stmts: tuple[Stmt, ...], known: dict[str, tuple[Expr, ...]]) -> tuple[Stmt, ...]:
        known = dict(known)
        out: list[Stmt] = []
        for stmt in stmts:
            stmt = map_exprs(stmt, lambda expr: _told(expr, known))
            stmt = map_blocks(stmt, lambda inner: block(inner, known))
            out.append(stmt)
            if isinstance(stmt, Assign) and stmt.target.name in made and binds[stmt.target.name] == 1:
                sizes = _sizes(stmt.value)
                if sizes is not None and all(_is_plain(size, binds) for size in sizes):
                    known[stmt.target.name] = sizes
        return tuple(out)

    return block(body, {})


def _is_plain(size: Expr, binds: Counter[str]) -> bool:
    """Say whether a length reads no worse than that of the array, and stays what it is."""
    asked = isinstance(size, Var | Const) or (isinstance(size, Apply) and size.fn in (ops.dim, ops.size))
    return asked and all(binds[name] <= 1 for name in reads(size))


def _told(expr: Any, known: dict[str, tuple[Expr, ...]]) -> Any:
    match expr:
        case Apply(fn, (Var(name), Const(int() as axis))) if fn is ops.dim and name in known:
            return known[name][axis]
        case Apply(fn, (Var(name),)) if fn is ops.size and name in known and len(known[name]) == 1:
            return known[name][0]
        case _:
            return map_children(expr, lambda child: _told(child, known))


def _sizes(value: Expr) -> tuple[Expr, ...] | None:
    """Return the lengths that a new array is made with."""
    if not isinstance(value, Apply) or not isinstance(value.type, Array):
        return None
    if value.fn in _LIKE and isinstance(value.args[0], Var):
        kind = Scalar("int64", weak=True)
        return tuple(
            literal(dim) if isinstance(dim, int) else Apply(ops.dim, (value.args[0], literal(axis)), kind)
            for axis, dim in enumerate(value.type.dims)
        )
    if value.fn not in _FRESH:
        return None
    shape = value.args[0]
    return tuple(shape.items) if isinstance(shape, Pack) else (shape,)


# ---- rows ----


def _planned(body: tuple[Stmt, ...], name: str, binds: Counter[str], named: NamesOf) -> _Row | None:
    """Return how an array becomes a row of itself, if every use of it is of the same row in every turn."""
    uses = _uses_in(named, body, name)
    found = _made_in(body, name)
    if found is None or not uses.places or uses.elsewhere:
        return None
    stmts, at = found
    value = stmts[at].value  # type: ignore[union-attr]
    sizes = _sizes(value)
    if sizes is None or any(_reads_content(size) for size in sizes):
        return None
    met = [(stmt, len(_uses_in(named, (stmt,), name).places)) for stmt in stmts[at + 1 :]]
    if sum(count for _, count in met) < len(uses.places):
        return None  # it outlives the block that makes it
    users = [stmt for stmt, count in met if count]
    loops: list[For] = []
    axes: list[int] = []
    while len(users) == 1 and isinstance(users[0], For):
        loop = users[0]
        axis = _axis_of(loop, uses.places)
        if axis is None or axis in axes or binds[loop.var.name] > _loops_over(body, loop.var.name):
            break
        loops.append(loop)
        axes.append(axis)
        users = [stmt for stmt in loop.body if _uses_in(named, (stmt,), name).places]
    if not loops:
        return None
    axes += [k for k, size in enumerate(sizes) if size == literal(1) and all(_is_zero(p.index[k]) for p in uses.places)]
    filled = value.fn not in (np.empty, np.empty_like)  # type: ignore[union-attr]
    whole = len(axes) == len(sizes)
    if filled and not whole:
        return None
    return _Row(name, value, sizes, frozenset(axes), loops[-1], users[0] if filled else None)


def _reads_content(size: Expr) -> bool:
    return any(isinstance(part, Index) for part in subexpressions(size))


def _is_zero(item: Any) -> bool:
    return isinstance(item, Const) and item.value == 0


def _axis_of(loop: For, places: list[Index]) -> int | None:
    """Return the axis along which every place is the one of the turn."""
    for axis in range(len(places[0].index)):
        if all(place.index[axis] == loop.var for place in places):
            return axis
    return None


def _loops_over(body: tuple[Stmt, ...], counter: str) -> int:
    return sum(isinstance(stmt, For) and stmt.var.name == counter for stmt in statements(body))


def _made_in(body: tuple[Stmt, ...], name: str) -> tuple[tuple[Stmt, ...], int] | None:
    """Return the block in which a name is bound, and where."""
    for at, stmt in enumerate(body):
        if isinstance(stmt, Assign) and stmt.target.name == name:
            return body, at
        for block in blocks_of(stmt):
            if (found := _made_in(block, name)) is not None:
                return found
    return None


@dataclass(slots=True)
class _Uses:
    places: list[Index]
    elsewhere: bool


def _uses(body: tuple[Stmt, ...], name: str) -> _Uses:
    """Return the items of an array that are met, and whether it is met as a whole."""
    places: list[Index] = []
    elsewhere = False

    def look(expr: Any) -> None:
        nonlocal elsewhere
        if isinstance(expr, Index) and expr.base == Var(name, expr.base.type) and isinstance(expr.type, Scalar):
            places.append(expr)
            for item in expr.index:
                look(item)
            return
        if isinstance(expr, Var) and expr.name == name:
            elsewhere = True
        for child in children(expr):
            look(child)

    for stmt in statements(body):
        for expr in exprs_of(stmt):
            look(expr)
    return _Uses(places, elsewhere)


@dataclass(slots=True)
class _Row:
    """What an array becomes.

    Attributes:
        value: what makes the array.
        lost: the axes along which every turn meets one place.
        loop: the innermost of the loops over them.
        first: the statement of its body before which a sum begins.
    """

    name: str
    value: Expr
    sizes: tuple[Expr, ...]
    lost: frozenset[int]
    loop: For
    first: Stmt | None

    def applied(self, body: tuple[Stmt, ...], named: NamesOf) -> tuple[Stmt, ...]:
        """Return the statements with the row in place of the array."""
        out: list[Stmt] = []
        for stmt in body:
            if self.name not in named.of(stmt):
                out.append(stmt)
                continue
            if isinstance(stmt, Assign) and stmt.target.name == self.name:
                if len(self.lost) < len(self.sizes):
                    out.append(Assign(Var(self.name, self._kind()), self._made(), stmt.span))
                continue
            if stmt is self.first:
                out.append(Assign(self._scalar(), self._beginning(), stmt.span))
            if isinstance(stmt, Store) and isinstance(stmt.place, Index) and self._is_place(stmt.place):
                out.append(self._stored(stmt))
                continue
            out.append(map_blocks(map_exprs(stmt, self._of), lambda inner: self.applied(inner, named)))
        return tuple(out)

    def _beginning(self) -> Expr:
        assert isinstance(self.value, Apply) and isinstance(self.value.type, Array)
        if self.value.fn is np.full:
            return self.value.args[1]
        return literal(0) if self.value.type.dtype in ("int64", "bool") else literal(0.0)

    def _stored(self, stmt: Store) -> Stmt:
        place, value = self._of(stmt.place), self._of(stmt.value)
        if isinstance(place, Index):
            return Store(place, stmt.op, value, stmt.span, stmt.accumulate)
        if stmt.op:
            value = Apply(ops.STORING[stmt.op], (place, value), place.type)
        return Assign(place, value, stmt.span)

    def _is_place(self, expr: Any) -> bool:
        return isinstance(expr, Index) and isinstance(expr.base, Var) and expr.base.name == self.name

    def _of(self, expr: Any) -> Any:
        if not self._is_place(expr):
            return map_children(expr, self._of)
        rest = tuple(item for axis, item in enumerate(expr.index) if axis not in self.lost)
        return Index(Var(self.name, self._kind()), rest, expr.type) if rest else self._scalar()

    def _scalar(self) -> Var:
        assert isinstance(self.value.type, Array)
        return Var(self.name, Scalar(self.value.type.dtype))

    def _kind(self) -> Array:
        kind = self.value.type
        assert isinstance(kind, Array)
        return Array(kind.dtype, tuple(d for axis, d in enumerate(kind.dims) if axis not in self.lost), "C")

    def _made(self) -> Expr:
        assert isinstance(self.value, Apply)
        kept = tuple(size for axis, size in enumerate(self.sizes) if axis not in self.lost)
        kind = self._kind()
        static = () if kind.dtype == "float64" else (("dtype", np.dtype(kind.dtype).type),)
        shape: Expr = kept[0]
        if len(kept) > 1:
            shape = Pack("tuple", kept, Struct("tuple", tuple(range(len(kept))), tuple(s.type for s in kept)))
        return Apply(_LIKE.get(self.value.fn, self.value.fn), (shape,), kind, static)


__all__ = ["by_rows", "with_own_lengths"]
