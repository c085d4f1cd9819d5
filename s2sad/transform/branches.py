"""Conditional expressions as statements, where the side that is not taken must not be evaluated.

The tangent of `m * math.log(m) if m > 0 else 0.0` asks for the logarithm by itself: it belongs into the branch.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.ir.nodes import Append, Apply, Assign, Expr, Function, If, Return, Stmt, Store, Var
from s2sad.ir.types import Scalar
from s2sad.ir.walk import map_blocks, map_children, map_exprs, names_in, reads, subexpressions
from s2sad.transform.naming import Namer

_TOTAL = frozenset({
    operator.add, operator.sub, operator.mul, operator.neg, operator.pos, operator.abs, abs, max, min, np.maximum,
    np.minimum, ops.ifexp, ops.dim, ops.size, ops.length, ops.both, ops.either, operator.not_, operator.lt, operator.le,
    operator.gt, operator.ge, operator.eq, operator.ne,
})  # fmt: skip
"""Operations that take every number."""


def with_branches(fn: Function, varied: set[str]) -> Function:
    """Return `fn` with an `if` for every conditional number that varies and of which a side may fail."""
    namer = Namer({p.name for p in fn.params} | names_in(fn.body))

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(made for stmt in body for made in each(stmt))

    def each(stmt: Stmt) -> list[Stmt]:
        before: list[Stmt] = []
        if isinstance(stmt, Assign | Store | Append | Return):
            stmt = map_exprs(stmt, lambda expr: hoisted(expr, before, stmt.span))
        return [*before, map_blocks(stmt, block)]

    def hoisted(expr: Any, before: list[Stmt], span: Any) -> Any:
        if not (isinstance(expr, Apply) and expr.fn is ops.ifexp and isinstance(expr.type, Scalar)):
            return map_children(expr, lambda part: hoisted(part, before, span))
        if not reads(expr) & varied or all(_is_total(side) for side in expr.args[1:]):
            return expr
        test, then, other = expr.args
        name = Var(namer.fresh("chosen"), expr.type)
        sides: list[tuple[Stmt, ...]] = []
        for side in (then, other):
            inner: list[Stmt] = []
            value = hoisted(side, inner, span)
            sides.append((*inner, Assign(name, value, span)))
        before.append(If(hoisted(test, before, span), sides[0], sides[1], span))
        return name

    return replace(fn, body=block(fn.body))


def _is_total(expr: Expr) -> bool:
    return all(not isinstance(part, Apply) or part.fn in _TOTAL for part in subexpressions(expr))
