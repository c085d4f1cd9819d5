"""Products and their sums in the shortest form: one number in front, equal products together.

    2.0 * (0.5 * k * x)                          k * x
    2.0 * x * (x * g) + x * x * g   becomes      3.0 * x * x * g
    0.5 * k * (x * g) + 0.5 * k * x * g          k * x * g

Numbers are multiplied where one is a power of two, to the last bit, and added where the sum is written no longer.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass

from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir.nodes import Apply, Const, Expr
from s2sad.ir.types import Array, Scalar

_MOST = 8  # factors


@dataclass(frozen=True, slots=True)
class Monomial:
    """A number times other factors, in the order in which they stand."""

    number: float
    factors: tuple[Expr, ...]
    numbers: int


def monomial(expr: Expr) -> Monomial:
    """Return the factors of an expression of float64."""
    number, factors, numbers = 1.0, list[Expr](), 0

    def collect(part: Expr) -> None:
        nonlocal number, numbers
        match part:
            case Const(int() | float() as value) if not isinstance(value, bool):
                number, numbers = number * value, numbers + 1
            case Apply(fn, (a, b)) if fn is operator.mul and _is_real(part):
                collect(a)
                collect(b)
            case Apply(fn, (a,)) if fn is operator.neg and _is_real(part):
                number = -number
                collect(a)
            case _:
                factors.append(part)

    collect(expr)
    return Monomial(number, tuple(factors), numbers)


def _is_real(expr: Expr) -> bool:
    return isinstance(expr.type, Scalar | Array) and expr.type.dtype == "float64"


def shortened(product: Expr) -> Expr:
    """Return a product with one number in place of several, if that is exact; else the product."""
    if not _is_real(product) or not isinstance(product, Apply) or product.fn is not operator.mul:
        return product
    found = monomial(product)
    if found.numbers < 2 or not 1 <= len(found.factors) <= _MOST or not _is_exact(product):
        return product
    return _written(found.number, found.factors, product) or product


def _is_exact(product: Expr) -> bool:
    """Say whether all numbers of a product but one are powers of two."""
    match product:
        case Const(value):
            return math.frexp(abs(value))[0] == 0.5
        case _:
            pass
    odd = 0

    def collect(part: Expr) -> None:
        nonlocal odd
        match part:
            case Const(int() | float() as value) if not isinstance(value, bool):
                odd += math.frexp(abs(value))[0] != 0.5
            case Apply(fn, args) if fn in (operator.mul, operator.neg) and _is_real(part):
                for one in args:
                    collect(one)
            case _:
                pass

    collect(product)
    return odd <= 1


def added(a: Expr, b: Expr, less: bool = False) -> Expr | None:
    """Return `a + b`, or `a - b`, of multiples of one product as one; None if they are not."""
    if a.type != b.type or not _is_real(a):
        return None
    first, second = monomial(a), monomial(b)
    if not 1 <= len(first.factors) <= _MOST or len(first.factors) != len(second.factors):
        return None
    rest = list(second.factors)
    for factor in first.factors:
        if factor not in rest:
            return None
        rest.remove(factor)
    total = first.number + (-second.number if less else second.number)
    if total == 0.0 or len(repr(total)) > max(len(repr(first.number)), len(repr(second.number))) + 1:
        return None
    return _written(total, first.factors, a)


def _written(number: float, factors: tuple[Expr, ...], like: Expr) -> Expr | None:
    """Return a product, numbers first and arrays last; None if it is of another type or a name alone."""
    factors = tuple(sorted(factors, key=lambda factor: isinstance(factor.type, Array)))
    if isinstance(like.type, Array) and len(factors) == 1 and abs(number) == 1.0:
        return None  # `1.0 * x` may be the copy that is meant
    size = abs(number)
    made: Expr | None = None if size == 1.0 else literal(size)
    for factor in factors:
        made = factor if made is None else build(operator.mul, made, factor)
    assert made is not None
    made = build(operator.neg, made) if number < 0 else made
    return made if made.type == like.type else None
