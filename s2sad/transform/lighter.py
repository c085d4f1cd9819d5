"""Arithmetic of a derivative without what does nothing: transposes of transposes, arrays of one number.

    a @ w.T.T                                        a @ w
    (x.T @ y).T                                      y.T @ x
    2.0 * r * np.full_like(r, 1.0)      becomes      2.0 * r
    (-e).T @ x                                       -(e.T @ x)
    (0.1 * y_bar)[0]                                 0.1 * y_bar[0]
    0.1 * np.copy(u_bar[1:-1])                       0.1 * u_bar[1:-1]
    x_bar += 1.0 * np.linalg.inv(a).T                x_bar += np.linalg.inv(a).T

The numbers are the same but for rounding: the same products are summed either way round.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad import runtime
from s2sad.frontend.infer import InferenceError
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Const, Expr, For, Function, If, Index, Stmt, Store, Var, While
from s2sad.ir.types import Array, Scalar
from s2sad.ir.views import is_item, view_base
from s2sad.ir.walk import is_const, map_blocks, map_children, map_exprs, reads, root_of
from s2sad.transform.algebra import transposed
from s2sad.transform.monomials import shortened

_ARITHMETIC = (operator.mul, operator.truediv, operator.add, operator.sub)


def lighter(fn: Function, keep: frozenset[str]) -> Function:
    """Leave out what does nothing; the user's lines stay."""
    return replace(fn, body=tuple(_stmt(s, keep) for s in fn.body))


def _stmt(stmt: Stmt, keep: frozenset[str]) -> Stmt:
    own = isinstance(stmt, Assign) and stmt.target.name in keep
    if not own and not isinstance(stmt, If | For | While):
        stmt = lightened(stmt)
    if isinstance(stmt, Store) and stmt.op in ("+", "-") and not keep & reads(stmt.place):
        stmt = replace(stmt, value=_without_one(stmt.value, added=True))
    return map_blocks(stmt, lambda body: tuple(_stmt(s, keep) for s in body))


def lightened(stmt: Stmt, first: Callable[[Expr], Expr] = lambda expr: expr) -> Stmt:
    """Return a statement whose expressions are without what does nothing; `first` is done to them before.

    What was a new array stays one: `y_bar = x * np.full_like(x, 1.0)` copies `x`.
    """

    def light(expr: Expr) -> Expr:
        made = _lightened(first(expr))
        kept = not isinstance(stmt, Store) or is_item(stmt.place)
        named = kept and view_base(expr) is None and view_base(made) is not None
        return build(np.copy, made) if named else made

    return map_exprs(stmt, light)


def _copied(expr: Expr) -> Expr:
    """Return what was copied, of a copy: arithmetic makes a new array in any case."""
    return expr.args[0] if isinstance(expr, Apply) and expr.fn is np.copy and not expr.static else expr


def _lightened(expr: Any) -> Any:
    made = map_children(expr, _lightened)
    if isinstance(made, Index) and isinstance(made.base, Apply) and isinstance(made.type, Scalar):
        return _one_of(made.base, made.index) or made
    if not isinstance(made, Apply):
        return made
    if made.fn is operator.mul and is_const(made.args[1], 1) and isinstance(made.args[0], Const):
        return made.args[0] if getattr(made.type, "dtype", "") == "float64" else made
    if made.fn in (runtime.unbroadcast, ops.unbroadcast) and _are_as_long(*made.args):
        return made.args[0]
    if made.fn is ops.transpose:
        return transposed(made.args[0])
    if made.fn is operator.matmul:
        return _sign_outside(made)
    if made.fn in _ARITHMETIC and isinstance(made.type, Array):
        made = replace(made, args=tuple(_copied(arg) for arg in made.args))
    if made.fn in _ARITHMETIC and len(made.args) == 2:
        a, b = (_without_one(arg) for arg in made.args)
        if made.fn is operator.mul and is_const(a, 1) and b.type == made.type and root_of(b) is None:
            return b  # what is computed is new: no other name means it
        if made.fn is operator.mul and isinstance(a, Const) and isinstance(b, Apply) and b.fn is operator.mul:
            a, b = _one_number(a, b, made)
        if a is not made.args[0] or b is not made.args[1]:
            made = replace(made, args=(a, b))
        if made.fn is operator.mul and (short := shortened(made)) is not made:
            return short
        for one, other, first in ((b, a, True), (a, b, False)):
            number = _number(one)
            if number is not None and other.type == made.type:
                return _with_number(made, other, number, first)
    return made


def _are_as_long(first: Expr, second: Expr) -> bool:
    """Say whether two arrays surely have the same lengths."""
    return isinstance(first.type, Array) and isinstance(second.type, Array) and first.type.dims == second.type.dims


def _one_of(whole: Expr, index: tuple[Any, ...]) -> Expr | None:
    """Return one element of `0.1 * y_bar`, of operands that are as long; None if it is not of that kind."""
    kind = whole.type
    if not isinstance(kind, Array) or kind.dtype != "float64" or len(index) != len(kind.dims):
        return None
    if not all(isinstance(item, Const) and isinstance(item.value, int) for item in index):
        return None
    if isinstance(whole, Var):
        return Index(whole, index, Scalar(kind.dtype))
    if not isinstance(whole, Apply) or whole.fn not in (*_ARITHMETIC, operator.neg) or whole.static:
        return None
    parts: list[Expr] = []
    for arg in whole.args:
        if isinstance(arg.type, Array):
            if arg.type.dims != kind.dims:
                return None
            part = _one_of(arg, index)
            if part is None:
                return None
            arg = part
        parts.append(arg)
    return build(whole.fn, *parts)


def _one_number(number: Const, product: Apply, whole: Apply) -> tuple[Expr, Expr]:
    """Return the factors of `2.0 * (0.5 * x)`: one number, and the array; by a power of two, to the last bit."""
    other, rest = product.args
    if isinstance(other, Const) and isinstance(number.value, float) and isinstance(other.value, float):
        exact = any(abs(math.frexp(value)[0]) == 0.5 for value in (number.value, other.value))
        if exact and product.type == whole.type == rest.type:
            return literal(number.value * other.value), rest
    return number, product


def _without_one(value: Expr, added: bool = False) -> Expr:
    """Leave out `1.0 *` of a part of an expression, or of what is `added`: else it may be the copy that is meant."""
    match value:
        case Apply(fn, (one, other)) if fn is operator.mul and is_const(one, 1):
            if other.type == value.type or (added and _is_alike(other, value)):
                return other
        case _:
            pass
    return value


def _is_alike(one: Expr, other: Expr) -> bool:
    """Say whether two arrays have the same elements in the same places, wherever in memory they lie."""
    a, b = one.type, other.type
    return isinstance(a, Array) and isinstance(b, Array) and (a.dtype, a.dims) == (b.dtype, b.dims)


def _sign_outside(product: Apply) -> Expr:
    """Turn the sign of a product rather than of a matrix in it: the same bits, and mostly fewer of them."""
    plain = tuple(_without_sign(arg) for arg in product.args)
    turned = sum(one is not None for one in plain)
    if not turned:
        return product
    args = tuple(arg if one is None else one for arg, one in zip(product.args, plain, strict=True))
    made = replace(product, args=args)
    return made if turned == 2 else build(operator.neg, made)


def _without_sign(matrix: Expr) -> Expr | None:
    """Return the negative of a matrix that is written as one."""
    if isinstance(matrix, Apply) and matrix.fn is operator.neg:
        return matrix.args[0]
    if isinstance(matrix, Apply) and matrix.fn is ops.transpose:
        inner = _without_sign(matrix.args[0])
        return None if inner is None else build(ops.transpose, inner)
    return None


def _with_number(whole: Apply, other: Expr, number: Expr, first: bool) -> Expr:
    if is_const(number, 1) and (whole.fn is operator.mul or (whole.fn is operator.truediv and first)):
        return other
    if is_const(number, -1) and whole.fn is operator.mul:
        return build(operator.neg, other)
    args = (other, number) if first and whole.fn is not operator.mul else (number, other)
    try:
        made = build(whole.fn, *args)
    except InferenceError:
        return whole
    return made if made.type == whole.type else whole


def _number(expr: Expr) -> Expr | None:
    """Return the number that every element of an array is."""
    match expr:
        case Apply(fn, (_, value), Array(), ()) if fn in (np.full_like, np.full) and isinstance(value.type, Scalar):
            return value
        case Apply(fn, (inner,), Array()) if fn is np.expand_dims:
            return _number(inner)
        case _:
            return None
