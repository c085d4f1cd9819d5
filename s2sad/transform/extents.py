"""How far counters of nested loops go: bounds that are known before the outermost of the loops.

`for i in range(n): for j in range(i + 1)`: `j` stays below `n`, whatever `i` is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from s2sad.frontend.operators import build
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, For, Slice, Var
from s2sad.ir.walk import bound, statements
from s2sad.transform.stepping import minus

Steady = Callable[[Expr], bool]


def furthest(expr: Expr | Slice, loops: Sequence[For], steady: Steady) -> Expr | None:
    """Return what a whole number inside `loops` does not exceed, made of what is `steady`."""
    if isinstance(expr, Slice):
        return None
    if steady(expr):
        return expr
    match expr:
        case Var(name):
            loop = _counting(name, loops)
            if loop is None or not isinstance(loop.step, Const):
                return None
            around = loops[: list(map(id, loops)).index(id(loop))]
            if loop.step.value < 0:
                return furthest(loop.start, around, steady)
            end = furthest(loop.stop, around, steady)
            return None if end is None else minus(end, 1)
        case Apply(fn, (first, Const(int() as amount))) if fn in (operator.add, operator.sub):
            top = furthest(first, loops, steady)
            return None if top is None else minus(top, -amount if fn is operator.add else amount)
        case Apply(fn, (first, second)) if fn in (operator.add, max):
            tops = furthest(first, loops, steady), furthest(second, loops, steady)
            return None if tops[0] is None or tops[1] is None else Apply(fn, (tops[0], tops[1]), expr.type)
        case Apply(fn, (first, second)) if fn is operator.sub:
            top, least = furthest(first, loops, steady), nearest(second, loops)
            return None if top is None or least is None else minus(top, least)
        case Apply(fn, (first, second)) if fn is min:
            known = [top for part in (first, second) if (top := furthest(part, loops, steady)) is not None]
            return build(min, *known) if len(known) == 2 else known[0] if known else None
        case Apply(fn, (first, Const(int() as divisor))) if fn is operator.floordiv and divisor > 0:
            top = furthest(first, loops, steady)
            return None if top is None else Apply(fn, (top, expr.args[1]), expr.type)
        case _:
            return None


def nearest(expr: Expr | Slice, loops: Sequence[For]) -> int | None:
    """Return a number that a whole number inside `loops` does not fall below."""
    match expr:
        case Const(int() as value) if not isinstance(value, bool):
            return value
        case Var(name):
            loop = _counting(name, loops)
            if loop is None or not isinstance(loop.step, Const):
                return None
            around = loops[: list(map(id, loops)).index(id(loop))]
            if loop.step.value > 0:
                return nearest(loop.start, around)
            end = nearest(loop.stop, around)
            return None if end is None else end + 1
        case Apply(fn) if fn in (ops.dim, ops.size, ops.length):
            return 0
        case Apply(fn, (first, second)) if fn in (operator.add, min):
            parts = nearest(first, loops), nearest(second, loops)
            if parts[0] is None or parts[1] is None:
                return None
            return parts[0] + parts[1] if fn is operator.add else min(parts[0], parts[1])
        case Apply(fn, (first, Const(int() as amount))) if fn is operator.sub:
            least = nearest(first, loops)
            return None if least is None else least - amount
        case Apply(fn, (first, second)) if fn is max:
            known = [least for part in (first, second) if (least := nearest(part, loops)) is not None]
            return max(known) if known else None
        case _:
            return None


def _counting(name: str, loops: Sequence[For]) -> For | None:
    """Return the innermost of the loops that a name counts, if it keeps to that."""
    loop = next((one for one in reversed(loops) if one.var.name == name), None)
    return None if loop is None or any(name in bound(s) for s in statements(loop.body)) else loop


__all__ = ["furthest", "nearest"]
