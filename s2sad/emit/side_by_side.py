"""Target "cpu": sums over rows of a matrix, one after another, grow side by side.

    for i in range(n):                            c_columns = np.ascontiguousarray(c.T)
        for k in range(m):                        total_of = np.empty(m)
            total = 0.0                           for i in range(n):
            for j in range(d):                        for k in range(m):
                jump = x[i, j] - c[k, j]                  total_of[k] = 0.0
                total += jump * jump    becomes       for j in range(d):
            nearest = min(nearest, total)                 for k in range(m):
                                                              jump = x[i, j] - c_columns[j, k]
                                                              total_of[k] += jump * jump
                                                      for k in range(m):
                                                          total = total_of[k]
                                                          nearest = min(nearest, total)

Each sum has its terms in the order that it had, so it is the same number; but LLVM makes vector instructions of
terms that belong to neighbouring sums, where those of one sum have to wait for each other. Needs: a loop around
them that leaves the matrix as it is, so that the copy of its columns is made once; turns that neither leave the
loop nor write what the sums read.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace

import numpy as np

from s2sad.analysis.bounds import least_of, lower_bounds
from s2sad.analysis.facts import Facts, resized_by, written_by
from s2sad.analysis.liveness import Liveness
from s2sad.analysis.sharing import Apart
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Apply,
    Assign,
    Break,
    Comment,
    Const,
    Expr,
    For,
    Function,
    Index,
    Return,
    Slice,
    Stmt,
    Store,
    Var,
    While,
)
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import bound, exprs_of, map_blocks, map_children, names_in, reads, statements, subexpressions
from s2sad.transform.naming import Namer

_FEW = 8  # sums that are not worth a vector
_ONE_BY_ONE = (ops.ifexp, ops.both, ops.either)


def side_by_side(fn: Function, facts: Facts) -> Function:
    """Return `fn` with such sums side by side."""
    if not any(_is_candidate(stmt) for stmt in statements(fn.body)):
        return fn
    return replace(fn, body=_Work(fn, facts).block(fn.body, None)[0])


def _is_candidate(stmt: Stmt) -> bool:
    return isinstance(stmt, For) and any(isinstance(inner, For) for inner in stmt.body)


@dataclass(slots=True)
class _Sums:
    """A loop over rows that begins with sums along each.

    Attributes:
        ahead: what each turn does before the sums: it gives them their first values.
        inner: the loop along a row.
        rest: what the turn does with the sums.
        totals: the sums.
        matrices: those of which a turn reads a row.
    """

    ahead: list[Assign]
    inner: For
    rest: tuple[Stmt, ...]
    totals: list[Var]
    matrices: list[Var]


class _Work:
    def __init__(self, fn: Function, facts: Facts) -> None:
        self.facts, self.apart = facts, Apart(fn, facts)
        self.live = Liveness(fn.body)
        self.least = lower_bounds(fn)
        self.namer = Namer({p.name for p in fn.params} | names_in(fn.body))

    def block(self, body: tuple[Stmt, ...], around: For | While | None) -> tuple[tuple[Stmt, ...], list[Stmt]]:
        """Return a block, and what has to be done before the loop `around` it."""
        made: list[Stmt] = []
        before: list[Stmt] = []
        for stmt in body:
            if around is not None and isinstance(stmt, For) and (sums := self._sums(stmt, around)) is not None:
                ahead, loops = self._written(stmt, sums)
                before += ahead
                made += loops
                continue
            outer = around if around is not None else stmt if isinstance(stmt, For | While) else None
            own: list[Stmt] = []

            stmt = map_blocks(stmt, lambda inner, outer=outer, own=own: self._inside(inner, outer, own))
            if around is None:
                made += own
            else:
                before += own
            made.append(stmt)
        return tuple(made), before

    def _inside(self, body: tuple[Stmt, ...], outer: For | While | None, before: list[Stmt]) -> tuple[Stmt, ...]:
        made, own = self.block(body, outer)
        before += own
        return made

    # ---- which loops ----

    def _sums(self, loop: For, around: For | While) -> _Sums | None:
        """Return the sums that a loop begins with, if they can grow side by side."""
        if not _counts_up(loop) or (isinstance(loop.stop, Const) and loop.stop.value < _FEW):
            return None
        at = next((k for k, stmt in enumerate(loop.body) if isinstance(stmt, For)), None)
        if at is None:
            return None
        inner, head, rest = loop.body[at], loop.body[:at], loop.body[at + 1 :]
        assert isinstance(inner, For)
        ahead = [stmt for stmt in head if isinstance(stmt, Assign)]
        if any(not isinstance(stmt, Assign | Comment) for stmt in head) or not _counts_up(inner):
            return None
        if any(isinstance(s, Break | Return) for s in statements(loop.body)) or not self._is_steady(loop.stop, around):
            return None
        least = least_of(loop.stop, self.least)
        if least is None or least < 0:
            return None
        totals = _totals(inner)
        if totals is None or {t.name for t in totals} != {stmt.target.name for stmt in ahead}:
            return None
        inside = {name for stmt in inner.body for name in bound(stmt)}
        after = self.live.after[id(inner)] | {name for s in rest for e in exprs_of(s) for name in reads(e)}
        if (inside - {t.name for t in totals} | {inner.var.name}) & after or loop.var.name in inside | {inner.var.name}:
            return None
        if loop.var.name in self.live.after[id(loop)]:
            return None
        if not self._is_apart(loop, ahead, inner, inside):
            return None
        matrices = self._matrices(loop, inner, around)
        return _Sums(ahead, inner, rest, totals, matrices) if matrices else None

    def _is_steady(self, expr: Expr, around: For | While) -> bool:
        """Say whether nothing in the loop around changes what an expression reads."""
        names = reads(expr)
        inside = (around, *statements(around.body))
        return not any({*bound(s), *resized_by(s, self.facts)} & names for s in inside)

    def _is_apart(self, loop: For, ahead: list[Assign], inner: For, inside: set[str]) -> bool:
        """Say whether the sums read nothing that the turns of the loop change, but what they are made with."""
        ends = reads(inner.start) | reads(inner.stop)
        firsts = {name for stmt in ahead for name in reads(stmt.value)}
        if loop.var.name in ends or inner.var.name in firsts:
            return False
        read = {name for s in inner.body for e in exprs_of(s) for name in reads(e)} - inside
        read = (read | ends | firsts) - {loop.var.name, inner.var.name}
        if read & {name for s in statements(loop.body) for name in bound(s)}:
            return False
        written = {name for s in statements(loop.body) for name in written_by(s, self.facts)}
        return not any(self.apart.may_meet(a, b) for a in read for b in written)

    def _matrices(self, loop: For, inner: For, around: For | While) -> list[Var]:
        """Return the matrices of which the sums read `m[k, j]`, if all else that they read is no matter of `k`."""
        found: dict[str, Var] = {}
        written = {name for s in statements(around.body) for name in written_by(s, self.facts)}
        for stmt in inner.body:
            for expr in exprs_of(stmt):
                for part in subexpressions(expr):
                    if not isinstance(part, Index):
                        continue
                    if not isinstance(part.base, Var) or any(isinstance(item, Slice) for item in part.index):
                        return []
                    moving = [loop.var.name in reads(item) for item in part.index]
                    if not any(moving) or (moving.index(True) == len(moving) - 1 and part.index[-1] == loop.var):
                        continue
                    if part.index != (loop.var, inner.var) or not self._is_steady(part.base, around):
                        return []
                    if any(self.apart.may_meet(part.base.name, name) for name in written):
                        return []
                    found[part.base.name] = part.base
        return list(found.values())

    # ---- what becomes of them ----

    def _written(self, loop: For, sums: _Sums) -> tuple[list[Stmt], list[Stmt]]:
        ahead: list[Stmt] = []
        columns: dict[str, Var] = {}
        for matrix in sums.matrices:
            kind = matrix.type
            assert isinstance(kind, Array)
            turned = Array(kind.dtype, kind.dims[::-1], "C")
            columns[matrix.name] = Var(self.namer.fresh(f"{matrix.name}_columns"), turned)
            copied = Apply(np.ascontiguousarray, (Apply(ops.transpose, (matrix,), turned),), turned)
            ahead.append(Assign(columns[matrix.name], copied, loop.span))
        places: dict[str, Index] = {}
        for total in sums.totals:
            held = Var(self.namer.fresh(f"{total.name}_of"), Array("float64", (loop.stop.type,), "C"))  # type: ignore[arg-type]
            places[total.name] = Index(held, (loop.var,), Scalar("float64"))
            ahead.append(Assign(held, Apply(np.empty, (loop.stop,), held.type), loop.span))

        def rewritten(expr: Expr) -> Expr:
            if isinstance(expr, Index) and isinstance(expr.base, Var) and expr.base.name in columns:
                if expr.index == (loop.var, sums.inner.var):
                    return Index(columns[expr.base.name], expr.index[::-1], expr.type)
            return map_children(expr, rewritten)

        terms: list[Stmt] = []
        for stmt in sums.inner.body:
            if isinstance(stmt, Assign) and stmt.target.name in places:
                assert isinstance(stmt.value, Apply)
                op = "+" if stmt.value.fn is operator.add else "-"
                terms.append(Store(places[stmt.target.name], op, rewritten(stmt.value.args[1]), stmt.span))
            elif isinstance(stmt, Assign):
                terms.append(replace(stmt, value=rewritten(stmt.value)))
            else:
                terms.append(stmt)
        begun = tuple(Store(places[s.target.name], "", s.value, s.span) for s in sums.ahead)
        read = tuple(Assign(total, places[total.name], loop.span) for total in sums.totals)
        return ahead, [
            replace(loop, body=begun),
            replace(sums.inner, body=(replace(loop, body=tuple(terms)),)),
            replace(loop, body=(*read, *sums.rest)),
        ]


def _counts_up(loop: For) -> bool:
    start, step = loop.start, loop.step
    return isinstance(start, Const) and start.value == 0 and isinstance(step, Const) and step.value == 1


def _totals(inner: For) -> list[Var] | None:
    """Return the numbers that a loop adds to, if it does nothing else but set what it needs for that."""
    totals: dict[str, Var] = {}
    own: set[str] = set()
    for stmt in inner.body:
        if isinstance(stmt, Comment):
            continue
        if not isinstance(stmt, Assign) or not isinstance(stmt.target.type, Scalar):
            return None
        if any(isinstance(p, Apply) and p.fn in _ONE_BY_ONE for p in subexpressions(stmt.value)):
            return None
        met = reads(stmt.value)
        if met & set(totals) - {stmt.target.name}:
            return None
        if stmt.target.name in met:
            value = stmt.value
            first = value.args[0] if isinstance(value, Apply) and value.fn in (operator.add, operator.sub) else None
            if not isinstance(first, Var) or first.name != stmt.target.name or stmt.target.name in totals:
                return None
            if stmt.target.name in reads(value.args[1]) or stmt.target.name in own:  # type: ignore[attr-defined]
                return None
            if stmt.target.type.dtype != "float64":
                return None
            totals[stmt.target.name] = stmt.target
        else:
            own.add(stmt.target.name)
    bound_first: set[str] = set()
    for stmt in inner.body:
        if isinstance(stmt, Assign):
            if reads(stmt.value) & (own - bound_first):
                return None
            bound_first.add(stmt.target.name)
    return list(totals.values()) if totals and not own & set(totals) else None


__all__ = ["side_by_side"]
