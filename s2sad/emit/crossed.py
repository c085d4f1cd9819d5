"""Target "cpu": the cross product of two vectors of three numbers is written out.

    c = np.cross(a, x[i])      becomes      c = np.array([a[1] * x[i, 2] - a[2] * x[i, 1], ...])

Numba's takes twenty times as long as the six products.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.frontend.operators import build
from s2sad.frontend.values import literal, pack
from s2sad.ir.nodes import Apply, Assign, CallStmt, Expr, Function, Index, Return, Slice, Stmt, Store, Var
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import exprs_of, map_blocks, map_children, map_exprs, statements, subexpressions
from s2sad.transform.naming import Namer, noun
from s2sad.transform.together import taken_in


def crossed(fn: Function) -> Function:
    """Return `fn` with such products written out."""
    if not any(is_of_three(p) for s in statements(fn.body) for e in exprs_of(s) for p in subexpressions(e)):
        return fn
    namer = Namer(taken_in(fn))

    def each(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        made: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Assign | Store | Return | CallStmt):
                before: list[Stmt] = []
                new = map_exprs(stmt, lambda e, b=before, s=stmt: _written_out(e, b, namer, s))
                made += [*before, new]
            else:
                made.append(map_blocks(stmt, each))
        return tuple(made)

    return replace(fn, body=each(fn.body))


def is_of_three(expr: Any) -> bool:
    """Say whether an expression is the cross product of two vectors of three numbers."""
    if not isinstance(expr, Apply) or expr.fn is not np.cross or expr.static or len(expr.args) != 2:
        return False
    return all(isinstance(a.type, Array) and a.type.dims == (3,) and a.type.dtype == "float64" for a in expr.args)


def _written_out(expr: Any, before: list[Stmt], namer: Namer, stmt: Stmt) -> Any:
    expr = map_children(expr, lambda child: _written_out(child, before, namer, stmt))
    if not is_of_three(expr):
        return expr
    a, b = (_named(arg, before, namer, stmt) for arg in expr.args)

    def product(j: int, k: int) -> Expr:
        return build(operator.mul, _item(a, j), _item(b, k))

    items = [build(operator.sub, product(j, k), product(k, j)) for j, k in ((1, 2), (2, 0), (0, 1))]
    return build(np.array, pack("list", items))


def _named(vector: Expr, before: list[Stmt], namer: Namer, stmt: Stmt) -> Expr:
    """Return a name, or an item of one, for what would be computed six times."""
    if isinstance(vector, Var) or (isinstance(vector, Index) and _is_row(vector)):
        return vector
    name = Var(namer.fresh(noun(vector)), vector.type)
    before.append(Assign(name, vector, stmt.span))
    return name


def _is_row(vector: Index) -> bool:
    return isinstance(vector.base, Var) and isinstance(vector.base.type, Array) and all(
        not isinstance(item, Slice) and isinstance(item.type, Scalar) for item in vector.index
    )


def _item(vector: Expr, at: int) -> Expr:
    base, index = (vector.base, vector.index) if isinstance(vector, Index) else (vector, ())
    return Index(base, (*index, literal(at)), Scalar("float64"))
