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
    own = [e.id for e in elements if isinstance(e, gast.Name)]
    apart = len(elements) == len(set(own)) == len(ranges) and not _read_behind(lw.source.node, node, set(own))
    names = own if apart else [lw.local("place") for _ in ranges]
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


def _read_behind(function: Any, loop: Any, names: set[str]) -> bool:
    """Say whether the next mention of a variable reads it: outer ones move where inner ranges have no turn."""
    inside = {id(n) for n in gast.walk(loop)}
    end = (getattr(loop, "end_lineno", 0) or 0, getattr(loop, "end_col_offset", 0) or 0)
    behind = sorted(
        ((n.lineno, n.col_offset), n.id, isinstance(n.ctx, gast.Load)) for n in gast.walk(function)
        if isinstance(n, gast.Name) and n.id in names and id(n) not in inside and (n.lineno, n.col_offset) >= end
    )  # fmt: skip
    first = {name: loads for _, name, loads in reversed(behind)}
    return any(first.values())
