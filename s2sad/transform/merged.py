"""Additions that follow each other are one.

    x_bar = 2.0 * g                                    r_bar = 0.5 * r
    x_bar = x_bar + h   becomes  x_bar = 2.0 * g + h   r_bar += 0.5 * r   becomes   r_bar = np.copy(r)

Arrays are joined where both are multiples of one thing: the adjoint of `r @ r` is `2.0 * r`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from s2sad.analysis.facts import Facts
from s2sad.analysis.sharing import Groups
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir.nodes import Apply, Assign, Const, Expr, Function, Index, Stmt, Store, Var
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import map_blocks, reads, root_of, subexpressions
from s2sad.transform.algebra import negative, plus, times, together
from s2sad.transform.monomials import added

_LARGEST = 16


def merged(fn: Function, facts: Facts, keep: frozenset[str]) -> Function:
    """Join two additions to one name that follow each other into one; arrays of the user's are added to as written."""
    groups: list[Groups] = []

    def apart(place: Expr, base: Expr) -> bool:
        """Say whether what is added to is the derivative's own, and adding cannot change what is added."""
        if keep & reads(place):
            return False
        if not groups:
            groups.append(Groups(fn, facts))
        return not groups[0].read(place) & groups[0].read(base)

    def each(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for stmt in body:
            stmt = map_blocks(stmt, each)
            if result and (joined := _join(result[-1], stmt, apart)) is not None:
                result[-1] = joined
            else:
                result.append(stmt)
        return tuple(result)

    return replace(fn, body=each(fn.body))


def _join(a: Stmt, b: Stmt, apart: Callable[[Expr, Expr], bool]) -> Stmt | None:
    """Return one statement that does what two do, if there is one."""
    if isinstance(a, Assign | Store) and isinstance(b, Store) and a.span == b.span:
        return _multiple(a, b, apart)
    if not (isinstance(a, Assign) and isinstance(b, Assign) and a.span == b.span):
        return None
    if a.target.name != b.target.name or not isinstance(a.target.type, Scalar):
        return None
    if not (isinstance(b.value, Apply) and b.value.fn in (operator.add, operator.sub)):
        return None
    first, second = b.value.args
    if not (isinstance(first, Var) and first.name == b.target.name) or b.target.name in reads(second):
        return None
    size = sum(1 for _ in subexpressions(a.value)) + sum(1 for _ in subexpressions(second))
    if size > _LARGEST and together(a.value, second if b.value.fn is operator.add else negative(second)) is None:
        return None
    own = isinstance(a.value, Apply) and a.value.fn in (operator.add, operator.sub) and a.value.args[0] == first
    if own:
        assert isinstance(a.value, Apply)
        inner = a.value.args[1] if a.value.fn is operator.add else negative(a.value.args[1])
        added = plus(inner, second if b.value.fn is operator.add else negative(second))
        assert added is not None
        return Assign(a.target, Apply(operator.add, (first, added), a.value.type), a.span)
    if a.target.name in reads(a.value):
        return None
    added = plus(a.value, second if b.value.fn is operator.add else negative(second))
    assert added is not None
    return Assign(a.target, added, a.span)


def _multiple(first: Assign | Store, second: Store, apart: Callable[[Expr, Expr], bool]) -> Stmt | None:
    """Join `x = a * e`, or `x += a * e`, and `x += b * e`, for numbers `a` and `b`."""
    place = first.target if isinstance(first, Assign) else first.place
    if isinstance(first, Store) and isinstance(place, Index) and place == second.place:
        return _of_one_element(first, second, apart)
    if place != second.place or not isinstance(place, Var) or not isinstance(place.type, Array):
        return None
    if second.op not in ("+", "-") or (isinstance(first, Store) and first.op not in ("+", "-")):
        return None
    a, base = _split(first.value)
    b, other = _split(second.value)
    if base != other or not isinstance(base.type, Array) or not apart(place, base):
        return None
    if isinstance(first, Assign) and (base.type != place.type or root_of(first.value) is not None):
        return None  # spread over more, or another name for an array that is there
    factor = (-a if isinstance(first, Store) and first.op == "-" else a) + (b if second.op == "+" else -b)
    if factor == 0.0:
        return None
    value = times(literal(abs(factor) if isinstance(first, Store) else factor), base)
    if isinstance(first, Store):
        return replace(first, op="+" if factor > 0 else "-", value=value)
    return replace(first, value=build(np.copy, value) if root_of(value) is not None else value)


def _of_one_element(first: Store, second: Store, apart: Callable[[Expr, Expr], bool]) -> Store | None:
    """Join `x[i] = a * b * c` and `x[i] += c * b * a`."""
    if second.op not in ("+", "-") or first.op not in ("", "+", "-") or not isinstance(second.place.type, Scalar):
        return None
    if second.accumulate != first.accumulate and first.op:
        return None
    root = root_of(second.place)
    if root is None or not apart(root, second.value) or not apart(root, first.value):
        return None
    total = added(first.value, second.value, less=(first.op == "-") != (second.op == "-"))
    return None if total is None else replace(first, value=total)


def _split(expr: Expr) -> tuple[float, Expr]:
    """Return the number that something is multiplied by, and the rest."""
    match expr:
        case Apply(fn, (part,)) if fn is operator.neg:
            factor, base = _split(part)
            return -factor, base
        case Apply(fn, (Const(float() as number), part)) if fn is operator.mul and part.type == expr.type:
            factor, base = _split(part)
            return number * factor, base
        case _:
            return 1.0, expr
