"""Sums of whole numbers as one writes them: `0 + n` is `n`, `1 + (steps - 1)` is `steps`."""

from __future__ import annotations

import operator

from s2sad.frontend.values import literal
from s2sad.ir.nodes import Apply, Const, Expr
from s2sad.ir.types import Scalar

_SUMS = (operator.add, operator.sub)


def shorter(expr: Apply) -> Expr:
    """Return a sum of whole numbers with its constants joined, where that leaves less to read."""
    if expr.fn not in _SUMS or not _is_whole(expr):
        return expr
    terms = _terms(expr, 1)
    numbers = [term.value * sign for term, sign in terms if isinstance(term, Const)]
    named = [(term, sign) for term, sign in terms if not isinstance(term, Const)]
    if not named or not numbers or (len(numbers) == 1 and numbers[0]) or not any(sign > 0 for _, sign in named):
        return expr
    named.sort(key=lambda term: term[1] < 0)  # a sum begins with what is added
    rest = sum(numbers)
    made = named[0][0]
    for term, sign in (*named[1:], *([(literal(abs(rest)), 1 if rest > 0 else -1)] if rest else [])):
        made = Apply(operator.add if sign > 0 else operator.sub, (made, term), expr.type)
    return made


def _terms(expr: Expr, sign: int) -> list[tuple[Expr, int]]:
    if isinstance(expr, Apply) and expr.fn in _SUMS and _is_whole(expr) and len(expr.args) == 2:
        left, right = expr.args
        return [*_terms(left, sign), *_terms(right, sign if expr.fn is operator.add else -sign)]
    return [(expr, sign)]


def _is_whole(expr: Expr) -> bool:
    """Say whether a sum is one of Python's or NumPy's signed numbers, constants of the same kind in it."""
    if not (isinstance(expr, Apply) and len(expr.args) == 2):
        return False
    return all(
        isinstance(part.type, Scalar) and part.type.dtype == "int64"
        and not (isinstance(part, Const) and type(part.value) is not int)
        for part in (expr, *expr.args)
    )  # fmt: skip


__all__ = ["shorter"]
