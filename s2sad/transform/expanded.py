"""A work array that every turn of a loop fills anew gets a place for each turn, so that nothing in it is overwritten.

    e = np.empty(m)                               e = np.empty((n, m))
    for i in range(n):                            for i in range(n):
        for j in range(m):         becomes            for j in range(m):
            e[j] = math.exp(w[j] * x[i])                  e[i, j] = math.exp(w[j] * x[i])

That is the size of the tape which its overwritten items would need, without saving and restoring them. Where the
loop and its adjoint are then one (`fused`), the places for each turn go again, and with them the whole tape.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.analysis.facts import Facts
from s2sad.analysis.layout import Block, Layout
from s2sad.analysis.loops import filled_by, is_whole
from s2sad.analysis.sharing import Groups
from s2sad.frontend.infer import fresh_dim
from s2sad.frontend.values import pack
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    CallStmt,
    Const,
    Expr,
    For,
    Function,
    Index,
    Pack,
    Return,
    Slice,
    Stmt,
    Store,
    Swap,
    Var,
)
from s2sad.ir.shapes import SHAPES
from s2sad.ir.types import Array, Dim, Scalar, Sym
from s2sad.ir.walk import blocks_of, bound, children, exprs_of, map_blocks, map_children, map_exprs, reads, statements
from s2sad.transform.tapes import Tapes

_MADE = (np.empty, np.zeros)


def expanded(fn: Function, names: set[str], facts: Facts) -> Function | None:
    """Return `fn` with those of the arrays expanded that can be; None if none can."""
    found = fn
    for name in sorted(names):
        found = _Expansion(found, name, facts).made() or found
    return found if found is not fn else None


def _turns(loop: For, extent: Expr) -> Dim:
    """Return the length of the axis for a loop: the one that its counter runs over, if that is known."""
    length = loop.stop.type.value if isinstance(loop.stop.type, Scalar) else None
    return length if extent == loop.stop and isinstance(length, Sym | int) else fresh_dim()


class _Expansion:
    def __init__(self, fn: Function, name: str, facts: Facts) -> None:
        self.fn, self.name, self.facts = fn, name, facts
        self.layout = Layout(fn)

    def made(self) -> Function | None:
        """Return the function with the array expanded, or None."""
        created = self._creation()
        if created is None or not self._is_alone():
            return None
        kind = created.target.type
        assert isinstance(kind, Array) and isinstance(created.value, Apply)
        loops = self._loops(created)
        extents = self._extents(loops, created)
        if extents is None:
            return None
        size = created.value.args[0]
        sizes = size.items if isinstance(size, Pack) else (size,)
        dims = (*(_turns(loop, extent) for loop, extent in zip(loops, extents, strict=True)), *kind.dims)
        wide = Array(kind.dtype, dims, "C")
        value = Apply(np.empty, (pack("tuple", [*extents, *sizes]),), wide, created.value.static)
        self.var, self.turns = Var(self.name, wide), tuple(loop.var for loop in loops)
        self.rank, self.outer, self.create = len(kind.dims), loops[0], created
        self.new = Assign(self.var, value, created.span)
        return replace(self.fn, body=self._rewritten(self.fn.body))

    def _creation(self) -> Assign | None:
        """Return the only statement that makes the array, if it says its size and nothing else of it."""
        made = self.layout.defs.get(self.name, [])
        params = {p.name for p in self.fn.params}
        if len(made) != 1 or self.name in params or not isinstance(made[0], Assign):
            return None
        value, kind = made[0].value, made[0].target.type
        if not isinstance(kind, Array) or not isinstance(value, Apply) or value.fn not in _MADE:
            return None
        size = value.args[0]
        sizes = size.items if isinstance(size, Pack) else (size,)
        given = len(value.args) == 1 and all(isinstance(s.type, Scalar) for s in sizes) and len(sizes) == len(kind.dims)
        return made[0] if given and kind.layout == "C" else None

    def _is_alone(self) -> bool:
        """Say whether the array goes by one name, and is only read and stored into."""
        groups = Groups(self.fn, self.facts)
        for stmt in statements(self.fn.body):
            for other in bound(stmt):
                if other != self.name and groups.find(other) == groups.find(self.name):
                    return False
            passed = isinstance(stmt, CallStmt | Append | Swap | Return)
            if passed and any(self._is_whole_in(e) for e in exprs_of(stmt)):
                return False
            if any(self._is_shape_asked(e) for e in exprs_of(stmt)):
                return False
        return not any(groups.find(p.name) == groups.find(self.name) for p in self.fn.params)

    def _is_whole_in(self, expr: Expr | Slice) -> bool:
        """Say whether more than items of the array are read."""
        if isinstance(expr, Index) and isinstance(expr.base, Var) and expr.base.name == self.name:
            items = all(not isinstance(i, Slice) and isinstance(i.type, Scalar) for i in expr.index)
            return not items or any(self._is_whole_in(i) for i in expr.index)
        if isinstance(expr, Var):
            return expr.name == self.name
        return any(self._is_whole_in(part) for part in children(expr))

    def _is_shape_asked(self, expr: Expr | Slice) -> bool:
        if isinstance(expr, Apply) and expr.fn in SHAPES and self.name in reads(expr.args[0]):
            return True
        if isinstance(expr, Index) and isinstance(expr.base, Var) and expr.base.name == self.name:
            return len(expr.index) != self._rank() or any(self._is_shape_asked(i) for i in expr.index)
        return any(self._is_shape_asked(part) for part in children(expr))

    def _rank(self) -> int:
        (made,) = self.layout.defs[self.name]
        assert isinstance(made, Assign) and isinstance(made.target.type, Array)
        return len(made.target.type.dims)

    def _loops(self, created: Assign) -> list[For]:
        """Return the loops, each turn of which fills the array before it reads it, and that nothing outside reads."""
        blocks = [
            self.layout.block_of[id(s)] for s in statements(self.fn.body)
            if s is not created and any(self.name in reads(e) for e in exprs_of(s))
        ]  # fmt: skip
        around = self.layout.loops(self.layout.block_of[id(created)])
        common = self._common(blocks)
        loops = [loop for loop in self.layout.loops(common) if not any(loop is one for one in around)]
        while loops and not self._fills(loops[-1]):
            loops.pop()
        return [loop for loop in loops if isinstance(loop, For)] if all(isinstance(s, For) for s in loops) else []

    def _common(self, blocks: list[Block]) -> Block:
        chains = [self.layout.chain(block) for block in blocks]
        common: Block = (0, 0)
        for level in zip(*chains, strict=False):
            if len(set(level)) > 1:
                break
            common = level[0]
        return common

    def _fills(self, loop: Any) -> bool:
        """Say whether the first thing that a turn does with the array is to fill it."""
        for stmt in loop.body:
            if not any(self.name in reads(e) for s in statements((stmt,)) for e in exprs_of(s)):
                continue
            if isinstance(stmt, Store):
                return is_whole(stmt) and self.name not in reads(stmt.value)
            return isinstance(stmt, For) and self.name in filled_by(stmt) and self._stores_first(stmt.body)
        return False

    def _stores_first(self, body: tuple[Stmt, ...]) -> bool:
        """Say whether an item is stored before any is read, and only that one is read afterwards."""
        place: Expr | None = None
        for stmt in body:
            inside = [s for s in statements((stmt,)) if any(self.name in reads(e) for e in exprs_of(s))]
            if not inside:
                continue
            if place is None:
                if isinstance(stmt, For):
                    if not self._stores_first(stmt.body):
                        return False
                    place = Const(0, Scalar("int64"))  # filled: what follows reads nothing of this loop's own
                    continue
                if not isinstance(stmt, Store) or stmt.op or self.name in reads(stmt.value):
                    return False
                place = stmt.place
            elif any(not self._reads_only(place, e) for s in inside for e in exprs_of(s)):
                return False
        return place is not None

    def _reads_only(self, place: Expr, expr: Expr | Slice) -> bool:
        if expr == place or not (isinstance(expr, Var | Const) or children(expr)):
            return True
        if isinstance(expr, Var):
            return expr.name != self.name
        return all(self._reads_only(place, part) for part in children(expr))

    def _extents(self, loops: list[For], created: Assign) -> list[Expr] | None:
        """Return how many turns each loop has, as it can be told before the outermost; None where it cannot be."""
        if not loops:
            return None
        inside = {name for s in statements((loops[0],)) for name in bound(s)}
        if any(loop.var.name in bound(s) for loop in loops for s in statements(loop.body)):
            return None
        if any(name in inside or len(self.layout.defs.get(name, ())) > 1 for name in reads(created.value)):
            return None
        tapes = Tapes(self.layout, None, None)  # type: ignore[arg-type]
        found: list[Expr] = []
        for loop in loops:
            plain = isinstance(loop.start, Const) and isinstance(loop.step, Const) and loop.step.value == 1
            extent = tapes.extent(loop, loops[0]) if plain else None
            if extent is None or extent[1] != loop.var:
                return None
            found.append(extent[0])
        return found

    def _rewritten(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in body:
            if stmt is self.create:
                continue
            if stmt is self.outer:
                out.append(self.new)
            inner = map_blocks(stmt, self._rewritten) if blocks_of(stmt) else stmt
            out.append(map_exprs(inner, self._read))
        return tuple(out)

    def _read(self, expr: Any) -> Any:
        if isinstance(expr, Index) and isinstance(expr.base, Var) and expr.base.name == self.name:
            return Index(self.var, (*self.turns, *(self._read(i) for i in expr.index)), expr.type)
        if isinstance(expr, Var) and expr.name == self.name:
            return Index(self.var, (*self.turns, *(Slice(None, None, None) for _ in range(self.rank))), expr.type)
        return map_children(expr, self._read)


