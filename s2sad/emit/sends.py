"""What the turns of a nest of loops send to elements around their own, as an adjoint does.

Two passes take it from here: `gathered.py` lays down what is sent, `from_neighbours.py` works it out again.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from s2sad.analysis.loops import popped_from
from s2sad.emit.elements import plus, split_sum
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Comment, Const, Expr, For, Index, Slice, Stmt, Store, Var
from s2sad.ir.shapes import SHAPES
from s2sad.ir.types import Array, Scalar, Sym
from s2sad.ir.walk import bound, children, exprs_of, map_children, reads, statements, subexpressions

ARITHMETIC = frozenset({operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pow})


@dataclass(frozen=True, slots=True)
class Factor:
    """A number, and what every turn of a nest multiplies by and divides by besides."""

    number: Any = 1.0
    times: tuple[Expr, ...] = ()
    over: tuple[Expr, ...] = ()

    def __neg__(self) -> Factor:
        """Return it with the other sign."""
        return replace(self, number=-self.number)

    @property
    def scale(self) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        """All of it but the number."""
        return self.times, self.over


@dataclass(slots=True)
class Send:
    """`array[i + offset] += factor * base` inside a nest."""

    store: Store
    offsets: tuple[int, ...]
    factor: Factor
    base: Expr


@dataclass(slots=True)
class Made:
    """An array to be laid down in, the one that gathers, and what else says which elements are laid down."""

    stmt: Assign
    array: str
    bounds: frozenset[str]


def adds_to(stmt: Store, name: str) -> bool:
    """Say whether a statement adds to one element of an array, or takes away from it."""
    return (
        stmt.op in ("+", "-") and isinstance(stmt.place, Index) and isinstance(stmt.place.base, Var)
        and stmt.place.base.name == name and isinstance(stmt.place.type, Scalar)
    )  # fmt: skip


def groups_of(inner: tuple[Stmt, ...], counters: list[Var]) -> list[list[Send]]:
    """List the additions to one array at all counters plus constants, every other index the same."""
    names = {name for s in inner for name in bound(s)} | {v.name for v in counters}
    names |= {s.place.name for s in inner if isinstance(s, Store) and isinstance(s.place, Var)}
    once = Counter(name for s in statements(inner) for name in bound(s))
    multiples: dict[str, Expr] = {}
    product = _Product(multiples, frozenset(names))
    found: dict[Any, list[Send]] = {}
    so_far: set[str] = set()
    for stmt in inner:
        if isinstance(stmt, Assign) and once[stmt.target.name] == 1:
            base = product.split(stmt.value)[1]
            stays = all(once[name] == 0 or (once[name] == 1 and name in so_far) for name in reads(base))
            if base != stmt.value and stays:  # not what the turn before has left
                multiples[stmt.target.name] = stmt.value
        so_far |= {name for one in statements((stmt,)) for name in bound(one)}
        if not (isinstance(stmt, Store) and stmt.accumulate and isinstance(stmt.place, Index)):
            continue
        base = stmt.place.base
        if not isinstance(base, Var) or not adds_to(stmt, base.name):
            continue
        offsets: dict[str, int] = {}
        key: list[Any] = [base.name]
        for item in stmt.place.index:
            if isinstance(item, Slice):
                break
            counter, offset = split_sum(item)
            if isinstance(counter, Var) and counter in counters and counter.name not in offsets:
                offsets[counter.name] = offset
                key.append(counter.name)
            elif not reads(item) & names and not any(isinstance(part, Index) for part in subexpressions(item)):
                key.append(item)
            else:
                break
        if len(key) == len(stmt.place.index) + 1 and len(offsets) == len(counters):
            factor, value = product.split(stmt.value)
            if isinstance(value, Const) or not isinstance(value.type, Scalar) or value.type.dtype != "float64":
                continue
            if not isinstance(factor.number, float | int) or not math.isfinite(factor.number):
                continue
            send = Send(stmt, tuple(offsets[v.name] for v in counters), -factor if stmt.op == "-" else factor, value)
            found.setdefault(tuple(key), []).append(send)
    return [sends for sends in found.values() if len(sends) > 1]


@dataclass(slots=True)
class _Product:
    """Tells what is the same in every turn of a nest from what is multiplied by it.

    Attributes:
        multiples: numbers of a turn that were set to such products.
        moving: the names that turns set.
    """

    multiples: dict[str, Expr]
    moving: frozenset[str]

    def split(self, expr: Expr) -> tuple[Factor, Expr]:
        """Return a factor, and what it multiplies."""
        match expr:
            case Apply(fn, (part,)) if fn is operator.neg:
                factor, base = self.split(part)
                return -factor, base
            case Apply(fn, (Const() as number, part)) if fn is operator.mul:
                factor, base = self.split(part)
                return replace(factor, number=number.value * factor.number), base
            case Apply(fn, (one, part)) if fn is operator.mul and self._stays(one) and not self._stays(part):
                factor, base = self.split(part)
                return replace(factor, times=(one, *factor.times)), base
            case Apply(fn, (part, one)) if fn is operator.mul and self._stays(one) and not self._stays(part):
                factor, base = self.split(part)
                return replace(factor, times=(one, *factor.times)), base
            case Apply(fn, (part, one)) if fn is operator.truediv and self._stays(one) and not self._stays(part):
                factor, base = self.split(part)
                return replace(factor, over=(*factor.over, one)), base
            case Var(name) if name in self.multiples:
                return self.split(self.multiples[name])
            case _:
                return Factor(), expr

    def _stays(self, expr: Expr) -> bool:
        """Say whether an expression is a real number that no turn changes: arithmetic of numbers with names."""
        return isinstance(expr.type, Scalar) and expr.type.dtype == "float64" and all(
            isinstance(part, Const)
            or (isinstance(part, Var) and isinstance(part.type, Scalar) and part.name not in self.moving)
            or (isinstance(part, Apply) and part.fn in ARITHMETIC)
            for part in subexpressions(expr)
        )  # fmt: skip


def bounds_of(chain: list[For], array: Var) -> frozenset[str]:
    """Return the names that say how often loops turn, but for lengths that are those of `array`."""
    assert isinstance(array.type, Array)
    known = {dim.name for dim in array.type.dims if isinstance(dim, Sym)}

    def names(expr: Expr | Slice) -> set[str]:
        match expr:
            case Apply(fn, (Var(_, Array(_, dims)), Const(axis))) if fn is ops.dim:
                dim = dims[axis]
                if isinstance(dim, int) or dim.name in known:
                    return set()
            case Var(name):
                return {name}
            case _:
                pass
        return {name for part in children(expr) for name in names(part)}

    return frozenset(name for loop in chain for name in names(loop.stop))


def nested(chain: list[For], inner: tuple[Stmt, ...]) -> For:
    """Return the loops of a chain around other statements, with the comments that stand between them."""
    *outer, last = chain
    made = replace(last, body=inner)
    for loop in reversed(outer):
        made = replace(loop, body=tuple(s if isinstance(s, Comment) else made for s in loop.body))
    return made


def is_arithmetic(inner: tuple[Stmt, ...]) -> bool:
    """Say whether statements call nothing, no root and no choice, that takes long for one element at a time."""
    return all(
        not isinstance(part, Apply) or part.fn in ARITHMETIC or part.fn in SHAPES
        for stmt in inner for expr in exprs_of(stmt) for part in subexpressions(expr)
    )  # fmt: skip


def work_of(inner: tuple[Stmt, ...]) -> int:
    """Count the operations of one turn."""
    return sum(
        isinstance(part, Apply) and part.fn in ARITHMETIC
        for stmt in inner for expr in exprs_of(stmt) for part in subexpressions(expr)
        if not (isinstance(part, Apply) and part.type == Scalar("int64", weak=True))
    )  # fmt: skip


def without_idle_numbers(inner: list[Stmt], after: frozenset[str]) -> list[Stmt]:
    """Drop numbers that nothing in this turn or the next one reads; what is taken from a list is taken all the same."""
    wanted = set(after)
    kept: list[Stmt] = []
    for _ in range(2):  # what a turn reads before it is set, the turn before leaves
        kept = []
        for stmt in reversed(inner):
            if isinstance(stmt, Assign) and popped_from(stmt) is None:
                if stmt.target.name not in wanted:
                    continue
                wanted -= {stmt.target.name}
            kept.append(stmt)
            wanted |= {name for expr in exprs_of(stmt) for name in reads(expr)}
        wanted |= after
    return kept[::-1]


def several(base: Expr) -> str:
    """Return a name for what was `total_bar` in one turn, of all turns: `total_bars`."""
    if not isinstance(base, Var):
        return "parts"
    stem = base.name.rstrip("0123456789").rstrip("_")
    return f"{stem}s" if stem else "parts"


def added(signed: list[tuple[bool, Expr]]) -> tuple[bool, Expr]:
    """Return a sum of terms to add and to take away, one to add first, and whether all of it is to be taken away."""
    first = next((k for k, term in enumerate(signed) if not term[0]), 0)
    less, total = signed[first]
    for k, (other, term) in enumerate(signed):
        if k != first:
            total = build(operator.sub if other != less else operator.add, total, term)
    return less, total


def has_turns(loop: For) -> Expr:
    """Return the test that a loop has turns."""
    stop, offset = split_sum(loop.stop)
    assert isinstance(loop.start, Const)
    return build(operator.gt, stop, literal(loop.start.value - offset))


def is_one_of(stmt: Stmt, stores: list[Store]) -> bool:
    """Say whether a statement is one of some, not only equal to one."""
    return any(stmt is store for store in stores)


def placed(expr: Any, single: dict[str, Expr]) -> Any:
    """Return an expression with counters of which one turn is left as what they are."""
    if isinstance(expr, Var):
        return single.get(expr.name, expr)
    root, constant = split_sum(expr) if isinstance(expr, Apply) else (expr, 0)
    if constant and isinstance(root, Var) and root.name in single:
        return plus(single[root.name], constant)
    return map_children(expr, lambda part: placed(part, single))
