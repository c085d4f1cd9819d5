"""Loops over the indices of a grid, as the loops in one another that they are.

    for i, j in itertools.product(range(1, n), range(m)):        for i in range(1, n):
        total += a[i, j]                                              for j in range(m):
                                                                          total += a[i, j]

So with `np.ndindex`. A `break` would leave one of them only: such a loop counts through, and so do comprehensions.
"""

from __future__ import annotations

import copy
from typing import Any

import gast

from s2sad.frontend.functional import placed
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import IterV, RangeV, V, literal
from s2sad.ir.walk import reads


def ranges_of(iterable: Any) -> list[RangeV] | None:
    """Return the ranges whose indices an iterable counts through, if there are several."""
    if not isinstance(iterable, IterV) or iterable.kind not in ("ndindex", "grid") or len(iterable.parts) < 2:
        return None
    found = [RangeV(literal(0), part.expr, literal(1)) if isinstance(part, V) else part for part in iterable.parts]
    ranges = [part for part in found if isinstance(part, RangeV)]
    return ranges if len(ranges) == len(found) else None


def as_nest(lw: Lowerer, node: Any, ranges: list[RangeV]) -> Any:
    """Return the loops in one another that a loop over a grid is; None where it may be left, or has an `else`."""
    from s2sad.frontend.iteration import breaks

    if node.orelse or breaks(node.body):
        return None
    elements = node.target.elts if isinstance(node.target, gast.Tuple) else []
    apart = len(elements) == len(ranges) and all(isinstance(e, gast.Name) for e in elements)
    names = [e.id for e in elements] if apart else [lw.local("place") for _ in ranges]
    body = list(node.body)
    if not apart:
        items: list[Any] = [gast.Name(name, gast.Load(), None, None) for name in names]
        whole = gast.Assign(targets=[node.target], value=gast.Tuple(items, gast.Load()), type_comment=None)
        body = [*placed([whole], node), *body]
    written = {lw.ir_name(n.id) for n in gast.walk(node) if isinstance(n, gast.Name) and isinstance(n.ctx, gast.Store)}
    for depth, (name, numbers) in reversed(list(enumerate(zip(names, ranges, strict=True)))):
        held = lw.local("places")
        ends = (numbers.start, numbers.stop, numbers.step)
        if any(reads(end) & written for end in ends):  # it is counted as it was at the beginning
            lw.bind(held, numbers, lw.span(node))
        else:
            lw.env[held] = numbers
        loop = copy.copy(node)
        loop.target = placed([gast.Name(name, gast.Store(), None, None)], node.target)[0]
        loop.iter = placed([gast.Name(held, gast.Load(), None, None)], node.iter)[0]
        loop.body, loop.nest = body, depth
        body = [loop]
    return body[0]
