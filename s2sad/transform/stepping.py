"""A loop over a range, backwards and forwards again.

for i in range(a, b):       for i in range(b - 1, a - 1, -1):
for i in range(a, b, s):    for i in range(a + (len(range(a, b, s)) - 1) * s, a - s, -s):
"""

from __future__ import annotations

import operator
from dataclasses import replace

from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, For
from s2sad.ir.types import Scalar
from s2sad.ir.walk import subexpressions
from s2sad.transform.algebra import fold


def reversed_range(loop: For) -> For:
    """Return the loop over the same range that begins at its end."""
    one = literal(1)
    step = loop.step.value if isinstance(loop.step, Const) else None
    if step == 1:
        return replace(loop, start=minus(loop.stop, 1), stop=fold(minus(loop.start, 1)), step=literal(-1))
    if step == -1:
        return replace(loop, start=fold(minus(loop.stop, -1)), stop=fold(minus(loop.start, -1)), step=one)
    kind = Scalar("int64", True)
    length = Apply(ops.length, (Apply(range, (loop.start, loop.stop, loop.step), kind),), kind)
    last = build(operator.mul, build(operator.sub, length, one), loop.step)
    if not (isinstance(loop.start, Const) and loop.start.value == 0):
        last = build(operator.add, loop.start, last)
    stop = fold(build(operator.sub, loop.start, loop.step))
    return replace(loop, start=last, stop=stop, step=fold(build(operator.neg, loop.step)))


def forwards(loop: For) -> For | None:
    """Return a loop that runs backwards as the loop over the same range that runs forward; None of any other."""
    if isinstance(loop.step, Const) and loop.step.value == -1:
        return replace(loop, start=minus(loop.stop, -1), stop=minus(loop.start, -1), step=literal(1))
    return unreversed(loop)


def unreversed(loop: For) -> For | None:
    """Return the loop that `reversed_range` made this one of, if its step is of more than one."""
    for part in subexpressions(loop.start):
        if isinstance(part, Apply) and part.fn is range:
            start, stop, step = part.args
            found = replace(loop, start=start, stop=stop, step=step)
            if reversed_range(found) == loop:
                return found
    return None


def minus(expr: Expr, amount: int) -> Expr:
    """Return `expr - amount`, folding what is there already."""
    if isinstance(expr, Const):
        return literal(expr.value - amount)
    if isinstance(expr, Apply) and expr.fn in (operator.add, operator.sub) and isinstance(expr.args[1], Const):
        sign = 1 if expr.fn is operator.add else -1
        total = sign * expr.args[1].value - amount
        if total == 0:
            return expr.args[0]
        fn = operator.add if total > 0 else operator.sub
        return build(fn, expr.args[0], literal(abs(total)))
    return build(operator.sub, expr, literal(amount)) if amount > 0 else build(operator.add, expr, literal(-amount))


__all__ = ["forwards", "minus", "reversed_range", "unreversed"]
