"""Minus signs where a person would write them: `a + -b` is `a - b`, `x_bar += -e` is `x_bar -= e`.

Guarantees the same bits: the sign of a product or quotient does not depend on where it is taken.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.ir.nodes import Apply, Assign, Const, For, Function, If, Index, Slice, Stmt, Store, While
from s2sad.ir.walk import map_blocks, map_children, map_exprs

_NEG = (operator.neg, np.negative)


def signed(fn: Function, keep: frozenset[str]) -> Function:
    """Move every minus sign outward to the nearest sum or accumulation; the user's lines stay."""
    return replace(fn, body=tuple(_stmt(s, keep) for s in fn.body))


def _stmt(stmt: Stmt, keep: frozenset[str]) -> Stmt:
    own = isinstance(stmt, Assign) and stmt.target.name in keep
    own = own or (isinstance(stmt, Store) and not stmt.accumulate)
    if not own and not isinstance(stmt, If | For | While):
        stmt = map_exprs(stmt, _expr)
    stmt = map_blocks(stmt, lambda body: tuple(_stmt(s, keep) for s in body))
    match stmt:
        case Store(_, "+", Apply(fn, (inner,)), _, True) if fn in _NEG:
            return replace(stmt, op="-", value=inner)
        case Store(_, "-", Apply(fn, (inner,)), _, True) if fn in _NEG:
            return replace(stmt, op="+", value=inner)
        case _:
            return stmt


def _expr(expr: Any) -> Any:
    if isinstance(expr, Index | Slice):
        return map_children(expr, _expr) if isinstance(expr, Index) and not isinstance(expr.base, Apply) else expr
    expr = map_children(expr, _expr)
    if not isinstance(expr, Apply):
        return expr
    args = expr.args
    if expr.fn in (operator.add, operator.sub) and len(args) == 2:
        return _sum(expr)
    if expr.fn in (operator.mul, operator.truediv) and len(args) == 2:
        flips = [_is_neg(a) for a in args]
        if any(flips):
            plain = tuple(a.args[0] if neg else a for a, neg in zip(args, flips, strict=True))  # type: ignore[union-attr]
            product = Apply(expr.fn, plain, expr.type, expr.static)
            return product if all(flips) else Apply(operator.neg, (product,), expr.type)
    if expr.fn in _NEG and _is_neg(args[0]):
        return args[0].args[0]  # type: ignore[union-attr]
    return expr


def _sum(expr: Apply) -> Apply:
    """`a + -b` and `a - -b`, negative literals in front of a product included."""
    a, b = expr.args
    other = operator.sub if expr.fn is operator.add else operator.add
    if _is_neg(b):
        return Apply(other, (a, b.args[0]), expr.type, expr.static)  # type: ignore[union-attr]
    if expr.fn is operator.add and _is_neg(a):
        return Apply(operator.sub, (b, a.args[0]), expr.type, expr.static)  # type: ignore[union-attr]
    return expr


def _is_neg(expr: Any) -> bool:
    return isinstance(expr, Apply) and expr.fn in _NEG and not isinstance(expr.args[0], Const)
