"""Building derivative expressions: products and sums that leave out ones, zeros and double signs."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, Index, Var
from s2sad.ir.types import Array, ListOf, Scalar, Type, is_complex, is_inexact
from s2sad.ir.walk import is_const, map_children
from s2sad.runtime.lists import zero_arrays, zero_complexes, zero_scalars
from s2sad.transform.monomials import added

_NEG = (operator.neg, np.negative)


def is_neg(expr: Expr) -> bool:
    """Say whether `expr` is a negation."""
    return isinstance(expr, Apply) and expr.fn in _NEG


def zero_list(items: Var) -> Expr:
    """Return a list of zeros like the items of a list."""
    kind = items.type.item if isinstance(items.type, ListOf) else None
    fn = zero_arrays if isinstance(kind, Array) else zero_complexes if is_complex(kind) else zero_scalars
    return Apply(fn, (items,), items.type)


def negative(expr: Expr) -> Expr:
    """Return `-expr`."""
    if is_neg(expr):
        assert isinstance(expr, Apply)
        return expr.args[0]
    if isinstance(expr, Const) and not isinstance(expr.value, bool):
        return literal(-expr.value)
    if isinstance(expr, Apply) and expr.fn is operator.mul and isinstance(expr.args[0], Const):
        return times(literal(-expr.args[0].value), expr.args[1])
    if isinstance(expr.type, Scalar | Array) and expr.type.dtype == "bool":
        return build(operator.mul, literal(-1.0), expr)
    return build(operator.neg, expr)


def times(a: Expr, b: Expr) -> Expr:
    """Return `a * b`, a cotangent and a partial in either order; a real one makes the product real."""
    for one, other in ((b, a), (a, b)):
        if is_const(one, 1) or is_const(one, -1):
            return _signed(other, one)
    if is_neg(b):
        return negative(times(a, b.args[0]))  # type: ignore[union-attr]
    if is_neg(a):
        return negative(times(a.args[0], b))  # type: ignore[union-attr]
    if isinstance(b, Apply) and b.fn is operator.truediv and is_const(b.args[0], 1):
        return build(operator.truediv, a, b.args[1])
    if isinstance(b, Apply) and b.fn is operator.truediv and is_const(b.args[0], -1):
        return negative(build(operator.truediv, a, b.args[1]))
    if isinstance(a, Const) and isinstance(b, Const) and not _boolean(a, b):
        return literal(a.value * b.value)
    if isinstance(b, Const):
        return build(operator.mul, b, a)
    if isinstance(b, Apply) and b.fn is operator.mul and isinstance(b.args[0], Const) and not _boolean(b.args[0]):
        if isinstance(a, Const):
            return times(times(a, b.args[0]), b.args[1])
        return _product(build(operator.mul, b.args[0], b.args[1]), a)
    if isinstance(a, Apply) and a.fn is operator.mul and isinstance(a.args[0], Const) and not _boolean(a.args[0]):
        return times(a.args[0], times(a.args[1], b))
    if isinstance(a, Const):
        return build(operator.mul, a, b)
    if isinstance(b, Var | Index) or (isinstance(b, Apply) and b.fn not in (operator.add, operator.sub)):
        return _product(b, a)
    return build(operator.mul, a, b)


def _signed(factor: Expr, one: Expr) -> Expr:
    """Return the product of a factor with 1 or -1, a real number where one of them is that.

    What takes its dtype from a cotangent would cut off fractions else: `-y` has the partial -1.
    """
    assert isinstance(one, Const)
    if is_inexact(one.type) and not is_inexact(factor.type) and isinstance(factor.type, Scalar | Array):
        return literal(one.value * factor.value) if isinstance(factor, Const) else build(operator.mul, one, factor)
    return factor if one.value == 1 else negative(factor)


def transposed(a: Expr) -> Expr:
    """Return `a.T`: of a transpose what was transposed, of a product that of transposes, where one is there."""
    if isinstance(a, Apply) and a.fn is ops.transpose:
        return a.args[0]
    if isinstance(a, Apply) and a.fn is operator.matmul and len(getattr(a.type, "dims", ())) == 2:
        left, right = a.args
        if any(isinstance(factor, Apply) and factor.fn is ops.transpose for factor in (left, right)):
            return build(operator.matmul, transposed(right), transposed(left))
    if isinstance(a, Apply) and a.fn is np.outer and not a.static and len(a.args) == 2:
        return build(np.outer, a.args[1], a.args[0])
    return build(ops.transpose, a)


def _product(a: Expr, b: Expr) -> Expr:
    """Return `a * b` as a chain without brackets: the order of a product is ours to choose."""
    if isinstance(b, Apply) and b.fn is operator.mul and not isinstance(b.args[0], Const):
        return build(operator.mul, _product(a, b.args[0]), b.args[1])
    return build(operator.mul, a, b)


def _boolean(*exprs: Expr) -> bool:
    return any(isinstance(e, Const) and isinstance(e.value, bool | np.bool_) for e in exprs)


def plus(a: Expr | None, b: Expr | None) -> Expr | None:
    """Return `a + b`; None is zero."""
    if a is None:
        return b
    if b is None:
        return a
    if a == b:
        return times(literal(2.0), a)
    if (one := together(a, b)) is not None:
        return one
    if is_neg(b):
        return build(operator.sub, a, b.args[0])  # type: ignore[union-attr]
    if isinstance(b, Apply) and b.fn is operator.mul and isinstance(b.args[0], Const) and _is_negative(b.args[0]):
        return build(operator.sub, a, times(literal(-b.args[0].value), b.args[1]))
    if is_neg(a):
        return build(operator.sub, b, a.args[0])  # type: ignore[union-attr]
    return build(operator.add, a, b)


def together(a: Expr, b: Expr) -> Expr | None:
    """Return `a + b` where a term of `a` and `b` are multiples of one product, else None."""
    match a:
        case Apply(fn, (first, last)) if fn in (operator.add, operator.sub) and a.type == first.type == last.type:
            if (made := together(first, b)) is not None:
                return build(fn, made, last)
            made = added(last, b, less=fn is operator.sub)
            if made is not None and is_neg(made):
                fn, made = operator.sub if fn is operator.add else operator.add, made.args[0]  # type: ignore[union-attr]
            return None if made is None else build(fn, first, made)
        case _:
            return added(a, b)


def _is_negative(expr: Const) -> bool:
    return isinstance(expr.value, float | int) and not isinstance(expr.value, bool) and expr.value < 0


def zero(kind: Type) -> Const:
    """Return the scalar zero of a type."""
    dtype = kind.dtype if isinstance(kind, Scalar | Array) else "float64"
    weak = isinstance(kind, Scalar) and kind.weak
    if dtype == "float64" or (weak and dtype == "float64"):
        return literal(0.0)
    if dtype == "complex128":
        return literal(0j)
    if dtype in ("int64", "bool"):
        return literal(0.0)
    return literal(np.dtype(dtype).type(0))


_FOLDED = {operator.add, operator.sub, operator.mul, operator.ne, operator.eq, operator.gt, operator.lt, operator.neg}


def _is_truth(expr: Any) -> bool:
    return isinstance(expr, Const) and isinstance(expr.value, bool)


def fold(expr: Any) -> Any:
    """Fold constants in a partial: `b - (b != 0)` and `where(b > 0, b, 1)` of a literal b, `a**1`, `1*x`."""
    expr = map_children(expr, fold)
    if not isinstance(expr, Apply):
        return expr
    args = expr.args
    if expr.fn in (operator.add, operator.sub, operator.mul) and any(map(_is_truth, args)):
        args = tuple(literal(int(a.value)) if _is_truth(a) else a for a in args)  # type: ignore[union-attr]
        expr = replace(expr, args=args)
    if expr.fn in _FOLDED and all(isinstance(a, Const) and isinstance(a.value, int | float) for a in args):
        value = expr.fn(*(a.value for a in args))  # type: ignore[union-attr]
        return literal(value) if abs(value) < 1e15 or isinstance(value, bool) else expr
    if expr.fn is np.where and all(isinstance(a, Const) for a in args):
        return args[1] if args[0].value else args[2]  # type: ignore[union-attr]
    if expr.fn is operator.pow and len(args) == 2:
        if is_const(args[1], 1):
            return args[0]
        if is_const(args[1], 0):
            return literal(1.0)
    if expr.fn is operator.mul:
        if is_const(args[0], 1):
            return args[1]
        if is_const(args[1], 1):
            return args[0]
    return expr
