"""Roots of sums of squares: lengths and distances, of which the slope by the sum is infinite at zero.

What reaches the squares there is finite all the same: f(|u|) has the derivative f'(|u|) u/|u|, which is 0 at 0 where
f'(0) is, and a kink of which 0 is a subgradient where not. So the slope of such a root is taken for 0 at 0, as that
of a norm is: `exp(-r**2)` of a point and itself, or a distance that is cut off behind its root, is no NaN.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from s2sad.analysis.steep import POWERS, QUOTIENTS
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    CallStmt,
    Const,
    Effect,
    Expr,
    For,
    Function,
    If,
    Index,
    Return,
    Stmt,
    Store,
    Swap,
    Var,
    While,
)
from s2sad.ir.types import Array, Scalar, is_complex
from s2sad.ir.views import view_base
from s2sad.ir.walk import exprs_of, reads, root_of, statements, targets

_ROOTS: frozenset[Callable[..., Any]] = frozenset({np.sqrt, math.sqrt})
_HYPOTENUSES = (np.hypot, math.hypot)
_PRODUCTS = (operator.mul, np.multiply)
_SUMS = (operator.add, np.add)
_INNER = (np.dot, np.vdot, np.inner, operator.matmul, np.matmul)
_KEEPS = (
    np.sum, np.mean, np.cumsum, np.squeeze, np.expand_dims, np.reshape, np.ravel, np.transpose, np.copy, np.float64,
    np.asarray, np.ascontiguousarray, builtins.float, ops.transpose,
)  # fmt: skip
_EMPTY = (np.zeros, np.zeros_like, np.empty, np.empty_like)
_LOGARITHMS = (np.log, np.log2, np.log10, math.log, math.log2, math.log10, np.reciprocal)


class Squares:
    """Which names of a function hold sums of squares."""

    def __init__(
        self, fn: Function, functions: Mapping[str, Function], returning: dict[str, bool] | None = None
    ) -> None:  # fmt: skip
        """Look at nothing yet.

        `functions`: those that it may call; `returning`: by name, whether one of those returns a sum of squares; one
        that is being looked at, as it calls itself, does not.
        """
        self._fn, self._functions = fn, functions
        self._returning: dict[str, bool] = {fn.name: False} if returning is None else returning

    @cached_property
    def _names(self) -> set[str]:
        """Names are taken for sums of squares until one of the values that they get is not."""
        values: dict[str, list[Expr | None]] = {}
        for stmt in statements(self._fn.body):
            for name, value in self._given(stmt):
                values.setdefault(name, []).append(value)
        names = set(values) - {p.name for p in self._fn.params}
        self.__dict__["_names"] = names  # what is_sum asks while some of them are taken away
        while wrong := {n for n in names if not all(v is not None and self._holds(v) for v in values[n])}:
            names -= wrong
        return names

    @cached_property
    def _failing(self) -> set[int]:
        """The roots of the body by which something is divided, by identity."""
        found: set[int] = set()
        for stmt in statements(self._fn.body):
            for expr in exprs_of(stmt):
                _note_divisors(expr, found)
        _note_later_divisors(self._fn.body, found)
        return found

    def is_length(self, expr: Apply) -> bool:
        """Say whether an operation is the root of a sum of squares, which may be zero where nothing divides by it."""
        if is_complex(expr.type):
            return False
        root = expr.fn in _ROOTS or (expr.fn in POWERS and _is_root(expr.args[1]))
        if not (root and self.is_sum(expr.args[0])) and expr.fn not in _HYPOTENUSES:
            return False
        return id(expr) not in self._failing

    def _holds(self, value: Expr) -> bool:
        """A name may begin at zero, or as memory that is yet to be filled."""
        if isinstance(value, Const):
            return _is_real(value.value) and value.value == 0
        return (isinstance(value, Apply) and value.fn in _EMPTY) or self.is_sum(value)

    def is_sum(self, expr: Any) -> bool:
        """Say whether an expression is zero only where everything that is squared in it is."""
        if isinstance(expr, Var):
            return expr.name in self._names
        if isinstance(expr, Index):
            return self.is_sum(expr.base)
        if not isinstance(expr, Apply) or is_complex(expr.type):
            return False
        fn, args = expr.fn, expr.args
        if fn in _SUMS:
            return all(self.is_sum(a) for a in args)
        if fn in _PRODUCTS:
            return args[0] == args[1] or all(_is_positive(a) or self.is_sum(a) for a in args)
        if fn in QUOTIENTS:
            return self.is_sum(args[0])
        if fn in POWERS:
            return isinstance(args[1], Const) and _is_real(args[1].value) and args[1].value in (2, 4, 6)
        if fn is np.square:
            return True
        if fn in _INNER:
            return args[0] == args[1] and isinstance(expr.type, Scalar)
        if fn is np.einsum:
            return _is_contracted_with_itself(args)
        return fn in _KEEPS and bool(args) and self.is_sum(args[0])

    def _given(self, stmt: Stmt) -> list[tuple[str, Expr | None]]:
        """Return the names that a statement gives values, with those values; None: with what is not known."""
        match stmt:
            case Assign(target, value):
                base = view_base(value)  # what is written into a view is in what it is a view of
                return [(target.name, value), *([(base.name, target)] if base is not None else [])]
            case Swap(first, second):
                return [(first.name, second), (second.name, first)]
            case Append() | Effect():
                return [(name, None) for expr in exprs_of(stmt) for name in reads(expr)]
            case Store(place, op, value):
                root = root_of(place)
                kept = value if op in ("", "+") else None
                return [(root.name, kept)] if root is not None else []
            case CallStmt((target,), callee) if self._returns_sum(callee):
                return [(target.name, literal(0.0)), *_lent(stmt)]
            case CallStmt():
                return [*((t.name, None) for t in stmt.targets), *_lent(stmt)]
            case _:
                return [(t.name, None) for t in targets(stmt)]

    def _returns_sum(self, callee: str) -> bool:
        """Say whether a function returns a sum of squares, whatever it is given."""
        fn = self._functions.get(callee)
        if fn is None:
            return False
        if callee not in self._returning:
            self._returning[callee] = False
            inside = Squares(fn, self._functions, self._returning)
            returned = [stmt.values for stmt in statements(fn.body) if isinstance(stmt, Return)]
            every = all(len(values) == 1 and inside.is_sum(values[0]) for values in returned)
            self._returning[callee] = bool(returned) and every and isinstance(fn.body[-1], Return)
        return self._returning[callee]


# ---- what has failed, or is infinite, before a root of zero matters ----


def _note_divisors(expr: Any, found: set[int]) -> None:
    """`1 / sqrt(s)` is infinite at 0 itself."""
    if isinstance(expr, Apply):
        for part in _divided_by(expr):
            found.update(id(f) for f in _factors(part))
        for arg in expr.args:
            _note_divisors(arg, found)


def _note_later_divisors(body: tuple[Stmt, ...], found: set[int]) -> None:
    """`r = sqrt(s)`, then `1 / r`, whatever is decided in between."""
    for at, stmt in enumerate(body):
        match stmt:
            case If():
                _note_later_divisors(stmt.body, found)
                _note_later_divisors(stmt.orelse, found)
            case For() | While():
                _note_later_divisors(stmt.body, found)
            case Assign(target, Apply() as value) if value.fn in (*_ROOTS, *POWERS, *_HYPOTENUSES):
                if _is_divisor_in(target.name, body[at + 1 :]):
                    found.add(id(value))
            case _:
                pass


def _lent(call: CallStmt) -> list[tuple[str, Expr | None]]:
    """Return the arrays that a call may write into."""
    roots = [root_of(a) for a in call.args if isinstance(a.type, Array)]
    return [(root.name, None) for root in roots if root is not None]


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_root(exponent: Any) -> bool:
    """Say whether a power of a square is no steeper than the size of what is squared."""
    return isinstance(exponent, Const) and isinstance(exponent.value, float) and 0.5 <= exponent.value < 1


def _is_contracted_with_itself(args: tuple[Any, ...]) -> bool:
    """Say whether `einsum` sums products of the elements of one array with themselves."""
    if len(args) != 3 or args[1] != args[2] or not isinstance(args[0], Const):
        return False
    first, _, second = str(args[0].value).partition("->")[0].partition(",")
    return first == second


def _is_positive(expr: Any) -> bool:
    """Say whether a factor is never zero: a literal, an exponential, or a count."""
    if isinstance(expr, Const):
        return _is_real(expr.value) and expr.value > 0
    return isinstance(expr, Apply) and expr.fn in (ops.dim, ops.size, ops.length, np.exp, math.exp)


def _divided_by(expr: Apply) -> tuple[Any, ...]:
    if expr.fn in QUOTIENTS:
        return expr.args[1:]
    if expr.fn in _LOGARITHMS:
        return expr.args[:1]
    power = expr.args[1] if expr.fn in POWERS else None
    falls = isinstance(power, Const) and _is_real(power.value) and power.value < 0
    return expr.args[:1] if falls else ()


def _factors(expr: Any) -> list[Any]:
    """Return what makes a product zero where it is."""
    if isinstance(expr, Apply) and (expr.fn in _PRODUCTS or expr.fn in POWERS):
        parts = expr.args if expr.fn in _PRODUCTS else expr.args[:1]
        return [expr, *(factor for part in parts for factor in _factors(part))]
    return [expr]


def _is_divisor_in(name: str, body: tuple[Stmt, ...]) -> bool:
    """Say whether what follows surely divides by a number: what a decision skips does not."""
    for stmt in body:
        if isinstance(stmt, If | For | While) or name in {t.name for t in targets(stmt)}:
            return False
        for expr in exprs_of(stmt):
            if _divides_by(name, expr):
                return True
    return False


def _divides_by(name: str, expr: Any) -> bool:
    if not isinstance(expr, Apply) or expr.fn in (np.where, ops.ifexp, ops.both, ops.either):
        return False
    for part in _divided_by(expr):
        if any(isinstance(f, Var) and f.name == name for f in _factors(part)):
            return True
    return any(_divides_by(name, arg) for arg in expr.args)


__all__ = ["Squares"]
