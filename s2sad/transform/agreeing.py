"""Lengths that must agree: what a statement would refuse is refused too where the statement itself is left out.

The gradient of `np.sum(a * b)` is `b` and `a`, and nothing in it asks whether they are equally long.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from s2sad.frontend.infer import is_elementwise
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Expr, Stmt, Store, Var
from s2sad.ir.shapes import refused_if
from s2sad.ir.types import Array, Dim, Scalar, Sym, not_one
from s2sad.ir.walk import exprs_of, subexpressions

_BOOL = Scalar("bool", weak=True)
_SIZE = Scalar("int64", weak=True)


class Agreement:
    """Writes the checks of a function whose array parameters never mean other arrays."""

    def __init__(self, params: Iterable[Var]) -> None:
        """`params` are the names whose shapes the lengths are asked of."""
        self.known: dict[str, tuple[Var, int, int]] = {}
        self.asked: set[frozenset[Dim]] = set()
        for param in params:
            dims = param.type.dims if isinstance(param.type, Array) else ()
            for axis, dim in enumerate(dims):
                if isinstance(dim, Sym):
                    self.known.setdefault(dim.name, (param, axis, dim.minus))

    def note(self, stmts: Iterable[Stmt]) -> None:
        """Take note of the lengths that statements compare by themselves, as they stay."""
        self.asked |= {frozenset(pair) for stmt in stmts for pair in _met_in_value(stmt)}

    def checks(self, stmt: Stmt) -> list[Stmt]:
        """Return what raises where the statement would; each pair of lengths is asked for once."""
        made: list[Stmt] = []
        for first, second in _met_in(stmt):
            test = self._differ(first, second)
            if test is None or frozenset({first, second}) in self.asked:
                continue
            self.asked.add(frozenset({first, second}))
            made.append(refused_if(test, stmt.span))
        return made

    def _differ(self, first: Dim, second: Dim) -> Expr | None:
        lengths = [self._length(dim) for dim in (first, second)]
        a, b = lengths
        if a is None or b is None or first == second or (isinstance(first, int) and isinstance(second, int)):
            return None
        tests: list[Expr] = [Apply(operator.ne, (a, b), _BOOL)]
        for dim, length in ((first, a), (second, b)):
            if not not_one(dim):  # one is spread, and there is nothing where nothing is left
                tests.append(Apply(operator.gt, (length, literal(1)), _BOOL))
        return tests[0] if len(tests) == 1 else Apply(ops.both, tuple(tests), _BOOL)

    def _length(self, dim: Dim) -> Expr | None:
        if isinstance(dim, int):
            return literal(dim)
        if dim.name not in self.known:
            return None
        param, axis, minus = self.known[dim.name]
        whole = Apply(ops.dim, (param, literal(axis)), _SIZE)
        cut = dim.minus - minus
        if cut == 0:
            return whole
        return Apply(operator.sub if cut > 0 else operator.add, (whole, literal(abs(cut))), _SIZE)


def _met_in(stmt: Stmt) -> Iterator[tuple[Dim, Dim]]:
    if isinstance(stmt, Store) and isinstance(stmt.place.type, Array) and isinstance(stmt.value.type, Array):
        yield from _met((stmt.place.type.dims, stmt.value.type.dims))
    yield from _met_in_value(stmt)


def _met_in_value(stmt: Stmt) -> Iterator[tuple[Dim, Dim]]:
    for part in (p for expr in exprs_of(stmt) for p in subexpressions(expr)):
        if isinstance(part, Apply):
            yield from _pairs(part)


def _pairs(call: Apply) -> Iterator[tuple[Dim, Dim]]:
    """Yield the pairs of lengths that a call takes to be equal, or one of them 1."""
    shapes = [arg.type.dims for arg in call.args if isinstance(arg.type, Array) and arg.type.dims]
    if call.fn in (operator.matmul, np.matmul, np.dot) and len(shapes) == 2:
        first, second = shapes
        yield first[-1], second[max(len(second) - 2, 0)]
    elif is_elementwise(call.fn):
        yield from _met(shapes)


def _met(shapes: Sequence[tuple[Dim, ...]]) -> Iterator[tuple[Dim, Dim]]:
    for at in range(1, max(map(len, shapes), default=0) + 1):
        met = [shape[-at] for shape in shapes if len(shape) >= at and shape[-at] != 1]
        yield from ((met[0], other) for other in met[1:])
