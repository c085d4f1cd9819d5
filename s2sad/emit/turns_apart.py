"""Target "cpu": which loops have turns that meet in no element, so that several may be taken at once.

    for i in range(1, m - 1):
        g = u_bar[t + 1, i]                 # row t + 1 is written nowhere in the loop
        u_bar[t, i] += 2 * g                # an element that only this turn has
        c_bar[i] += g * (u[t, i + 1] - u[t, i])

The emitted text cannot say so, and LLVM cannot know how rows of one array lie: it is told (`backends/turns.py`).
Needs: an innermost loop of assignments and branches whose indices pick single elements.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from s2sad.analysis.bounds import Bounds, from_the_start, inside, never_meet
from s2sad.analysis.facts import Facts
from s2sad.analysis.loops import affine
from s2sad.emit.independent import Reader
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Comment, Const, Expr, For, Function, If, Index, Slice, Stmt, Store, Var
from s2sad.ir.shapes import shaping_parts
from s2sad.ir.types import Array, ListOf, Scalar
from s2sad.ir.walk import bound, children, exprs_of, statements


def lines_apart(fn: Function, text: str, facts: Facts, alone: frozenset[str] | None) -> frozenset[int]:
    """Return the lines of the `text` of a function, from 0 on, where loops begin whose turns are apart."""
    apart = loops_apart(fn, facts, alone)
    if not any(apart):
        return frozenset()
    lines = sorted(node.lineno - 1 for node in ast.walk(ast.parse(text)) if isinstance(node, ast.For))
    return frozenset(line for line, told in zip(lines, apart, strict=True) if told)


def loops_apart(fn: Function, facts: Facts, alone: frozenset[str] | None) -> list[bool]:
    """Say of each loop over a range, in the order of the text, whether its turns are apart.

    `alone`: see `Reader`.
    """
    loops = [stmt for stmt in statements(fn.body) if isinstance(stmt, For)]
    if not any(_is_plain(loop) for loop in loops):
        return [False] * len(loops)
    reader = Reader(fn, facts, alone)
    return [_is_plain(loop) and _Loop(loop, reader).is_apart() for loop in loops]


def _is_plain(loop: For) -> bool:
    if not isinstance(loop.step, Const) or not loop.step.value:
        return False
    inner = list(statements(loop.body))
    if any(loop.var.name in bound(stmt) for stmt in inner):
        return False
    return any(isinstance(s, Store) for s in inner) and all(_is_plain_statement(s) for s in inner)


def _is_plain_statement(stmt: Stmt) -> bool:
    match stmt:
        case Comment() | If():
            pass
        case Assign(target) if isinstance(target.type, Scalar):
            pass
        case Store(Index(Var()) as place):
            if not isinstance(place.type, Scalar):
                return False
        case Store(Var() as place):
            return isinstance(place.type, Scalar)
        case _:
            return False
    return not any(isinstance(p, Apply) and p.fn is ops.pop for e in exprs_of(stmt) for p in _parts(e))


def _parts(expr: Expr | Slice) -> list[Any]:
    return [expr, *(part for child in children(expr) for part in _parts(child))]


@dataclass(slots=True)
class _Loop:
    loop: For
    reader: Reader

    def is_apart(self) -> bool:
        """Say whether every element that is written is met in one turn alone."""
        inner = list(statements(self.loop.body))
        found: list[Index] = []
        for stmt in inner:
            for expr in exprs_of(stmt):
                if not _collect(expr, found):
                    return False
        places = [s.place for s in inner if isinstance(s, Store) and isinstance(s.place, Index)]
        least = inside(self.loop, self.reader.least)
        moving = {self.loop.var.name, *(name for stmt in inner for name in bound(stmt))}
        return all(self._are_apart(place, other, moving, least) for place in places for other in found)

    def _are_apart(self, place: Index, other: Index, moving: set[str], least: Bounds) -> bool:
        assert isinstance(place.base, Var) and isinstance(other.base, Var)
        if place.base.name != other.base.name:
            return not self.reader.apart.may_meet(place.base.name, other.base.name)
        counter = self.loop.var.name
        for item, another in zip(place.index, other.index, strict=True):
            one = affine(item)
            if one is not None and one == affine(another) and one[0] == counter and from_the_start(one, least):
                return True
        return never_meet(place, other, moving, least)


def _collect(expr: Expr | Slice, found: list[Index]) -> bool:
    """Add the elements of arrays that an expression reads; say whether it reads nothing else of arrays."""
    match expr:
        case Var(_, kind):
            return not isinstance(kind, Array | ListOf)
        case Index(Var(_, Array()), index, Scalar()):
            found.append(expr)
            return all(_collect(item, found) for item in index)
        case Apply(fn) if fn in (ops.dim, ops.size):
            return all(_collect(part, found) for part in shaping_parts(expr))
        case Slice():
            return False
        case Apply():
            return isinstance(expr.type, Scalar) and all(_collect(child, found) for child in children(expr))
        case _:
            return all(_collect(child, found) for child in children(expr))
