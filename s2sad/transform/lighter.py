"""Arithmetic of a derivative without what does nothing: transposes of transposes, arrays of one number.

    a @ w.T.T                                        a @ w
    (x.T @ y).T                                      y.T @ x
    2.0 * r * np.full_like(r, 1.0)      becomes      2.0 * r

The numbers are the same but for rounding: the same products are summed either way round.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.frontend.infer import InferenceError
from s2sad.frontend.operators import build
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Expr, For, Function, If, Stmt, While
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import is_const, map_blocks, map_children, map_exprs
from s2sad.transform.algebra import transposed

_ARITHMETIC = (operator.mul, operator.truediv, operator.add, operator.sub)


def lighter(fn: Function, keep: frozenset[str]) -> Function:
    """Leave out what does nothing; the user's lines stay."""
    return replace(fn, body=tuple(_stmt(s, keep) for s in fn.body))


def _stmt(stmt: Stmt, keep: frozenset[str]) -> Stmt:
    own = isinstance(stmt, Assign) and stmt.target.name in keep
    if not own and not isinstance(stmt, If | For | While):
        stmt = map_exprs(stmt, _expr)
    return map_blocks(stmt, lambda body: tuple(_stmt(s, keep) for s in body))


def _expr(expr: Any) -> Any:
    made = map_children(expr, _expr)
    if not isinstance(made, Apply):
        return made
    if made.fn is ops.transpose:
        return transposed(made.args[0])
    if made.fn in _ARITHMETIC and len(made.args) == 2:
        a, b = made.args
        for one, other, first in ((b, a, True), (a, b, False)):
            number = _number(one)
            if number is not None and other.type == made.type:
                return _with_number(made, other, number, first)
    return made


def _with_number(whole: Apply, other: Expr, number: Expr, first: bool) -> Expr:
    if is_const(number, 1) and (whole.fn is operator.mul or (whole.fn is operator.truediv and first)):
        return other
    args = (other, number) if first and whole.fn is not operator.mul else (number, other)
    try:
        made = build(whole.fn, *args)
    except InferenceError:
        return whole
    return made if made.type == whole.type else whole


def _number(expr: Expr) -> Expr | None:
    """Return the number that every element of an array is."""
    match expr:
        case Apply(fn, (_, value), Array(), ()) if fn is np.full_like and isinstance(value.type, Scalar):
            return value
        case Apply(fn, (inner,), Array()) if fn is np.expand_dims:
            return _number(inner)
        case _:
            return None
