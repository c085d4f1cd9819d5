"""Whether a function takes a root, a logarithm or a quotient: its cotangents may then be infinite.

Where they may, the side of a `max` that lost must take nothing of them, and not zero times them.
"""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np

from s2sad.ir.nodes import Apply, CallStmt, Const, Function, Store
from s2sad.ir.walk import exprs_of, statements, subexpressions

_STEEP: frozenset[Any] = frozenset({
    operator.truediv, operator.pow, builtins.pow, np.divide, np.true_divide, np.reciprocal, np.power, np.float_power,
    np.sqrt, np.cbrt, np.log, np.log2, np.log10, np.log1p, np.arcsin, np.arccos, np.arctanh, np.arccosh, np.hypot,
    np.std, np.linalg.norm, math.sqrt, math.cbrt, math.log, math.log2, math.log10, math.log1p, math.pow, math.asin,
    math.acos, math.atanh, math.acosh, math.hypot, math.dist,
})  # fmt: skip
POWERS = (operator.pow, builtins.pow, np.power, np.float_power, math.pow)
QUOTIENTS = (operator.truediv, np.divide, np.true_divide)


def is_steep(fn: Function, functions: dict[str, Function]) -> bool:
    """Say whether a slope in a function, or in one that it calls, may be infinite."""
    waiting, seen = [fn], {fn.name}
    while waiting:
        for stmt in statements(waiting.pop().body):
            if isinstance(stmt, Store) and stmt.op in ("/", "**"):
                return True
            if isinstance(stmt, CallStmt):
                if stmt.fn is not None or stmt.callee not in functions:
                    return True
                if stmt.callee not in seen:
                    seen.add(stmt.callee)
                    waiting.append(functions[stmt.callee])
            if any(_is_steep(part) for expr in exprs_of(stmt) for part in subexpressions(expr)):
                return True
    return False


def _is_steep(part: object) -> bool:
    """Say whether an operation's slope may be infinite: that of `x ** 2` and of `x / 2` is not."""
    if not isinstance(part, Apply) or part.fn not in _STEEP:
        return False
    last = part.args[-1]
    if part.fn in POWERS and isinstance(last, Const) and isinstance(last.value, int | float):
        return last.value < 1
    return part.fn not in QUOTIENTS or not isinstance(last, Const)
