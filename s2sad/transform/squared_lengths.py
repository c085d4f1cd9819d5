"""Squares of lengths, `np.linalg.norm(x) ** 2`: their derivative is that of the sum of squares.

By way of the length it would be `2 * r * (x / r)`, which is 0 / 0 where the length is 0; and whatever stands there
instead, the second derivative is lost.
"""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np

from s2sad.analysis.steep import POWERS
from s2sad.frontend.operators import build
from s2sad.ir.nodes import Apply, Const, Expr
from s2sad.ir.types import is_complex

_ROOTS: tuple[Any, ...] = (np.sqrt, math.sqrt)
_HYPOTENUSES: tuple[Any, ...] = (np.hypot, math.hypot)
_SIZES: tuple[Any, ...] = (builtins.abs, np.abs, np.absolute, math.fabs, np.fabs)


def as_sum(expr: Apply) -> Expr | None:
    """Return the sum of squares that an expression is the square of the root of; None of any other."""
    length = _squared(expr)
    if length is None:
        return None
    match length.args:
        case (below,) if length.fn in _ROOTS:
            return below
        case (x,) if length.fn is np.linalg.norm and not is_complex(x.type):
            along = {key: value for key, value in length.static if value is not None}
            return build(np.sum, _square(x), **along) if along.keys() <= {"axis", "keepdims"} else None
        case (x,) if length.fn in _SIZES and not is_complex(x.type):
            return _square(x)
        case (x, y) if length.fn in _HYPOTENUSES:
            return build(operator.add, _square(x), _square(y))
        case _:
            return None


def complex_number(expr: Apply) -> Expr | None:
    """Return the complex number that an expression is the squared size of; None of any other."""
    length = _squared(expr)
    is_size = length is not None and length.fn in _SIZES and is_complex(length.args[0].type)
    return length.args[0] if length is not None and is_size else None


def _squared(expr: Apply) -> Apply | None:
    """Return the call whose result is squared."""
    square = expr.fn is np.square or (
        expr.fn in POWERS and isinstance(expr.args[1], Const) and expr.args[1].value == 2
    )
    base = expr.args[0] if square else None
    return base if isinstance(base, Apply) and not is_complex(base.type) else None


def _square(x: Expr) -> Expr:
    return build(operator.mul, x, x)
