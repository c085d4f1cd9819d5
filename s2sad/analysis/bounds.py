"""Lower bounds of whole numbers, by name: which indices cannot be negative.

Flow-insensitive: a name's bound holds wherever the name does. It starts at the best that can be and
falls until every definition agrees; one that goes on falling has none.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence

from s2sad.analysis.loops import affine
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Const, Expr, For, Function, Index, Slice, Stmt, Var
from s2sad.ir.types import Array, Scalar, Sym, is_given
from s2sad.ir.walk import bound, reads, statements

_ROUNDS = 8
_LENGTHS = (ops.dim, ops.size, ops.length)

Bounds = Mapping[str, int | None]


def lower_bounds(fn: Function, known: Bounds | None = None) -> dict[str, int]:
    """Return the least value of each whole number that has one.

    `known` are bounds from the function that `fn` is the derivative of. Names of it take, whatever
    way they are put back, values that they had there; only their loops are their own.
    """
    known = known or {}
    found: dict[str, int | None] = {}
    falling: set[str] = set()
    body = tuple(statements(fn.body))
    whole = {p.name for p in fn.params if _is_whole(p.type)}
    dims = [dim for p in fn.params if isinstance(p.type, Array) for dim in p.type.dims]
    lengths = {dim.name for dim in dims if isinstance(dim, Sym) and dim.minus >= 0 and not is_given(dim)}
    while True:
        before: dict[str, int | None] = {}
        for _ in range(_ROUNDS):
            before = dict(found)
            found = {**{name: known.get(name) for name in whole}, **dict.fromkeys(falling)}
            for stmt in body:
                for name, least in _definitions(stmt, before, known, lengths):
                    found[name] = least if name not in found else _lesser(found[name], least)
            if found == before:
                return {name: least for name, least in found.items() if least is not None}
        falling |= {name for name in found if found[name] != before.get(name)}


def least_of(expr: Expr | Slice, bounds: Bounds) -> int | None:
    """Return a number that an expression does not fall below, given the `lower_bounds` of the names in it."""
    return _least(expr, {**dict.fromkeys(reads(expr)), **bounds}, set())


def inside(loop: For, bounds: Bounds) -> Bounds:
    """Return the bounds in the body of a loop: its counter has those of this loop, whatever else counts by its name."""
    name = loop.var.name
    if not isinstance(loop.step, Const) or not isinstance(loop.step.value, int):
        return bounds
    if any(name in bound(stmt) for stmt in statements(loop.body)):
        return bounds
    up = loop.step.value > 0
    first = least_of(loop.start if up else loop.stop, bounds)
    return bounds if first is None else {**bounds, name: first if up else first + 1}


def from_the_start(index: tuple[str | None, int], bounds: Bounds) -> bool:
    """Say whether a name plus a constant, or a constant, is an index that never counts from the end."""
    name, offset = index
    first = 0 if name is None else bounds.get(name)
    return first is not None and first + offset >= 0


def are_both_from_the_end(first: Expr, second: Expr) -> bool:
    """Say whether two indices are different constants that count from the end, `-1` and `-2`."""
    if not (isinstance(first, Const) and isinstance(second, Const)):
        return False
    one, two = first.value, second.value
    return type(one) is type(two) is int and one < 0 and two < 0 and one != two


def never_meet(place: Index, other: Index, moving: Collection[str], bounds: Bounds) -> bool:
    """Say whether two places of one array lie apart in all turns of a loop, `x[t + 1, i]` and `x[t, j]`.

    `moving` are the names that the turns change.
    """
    if any(isinstance(item, Const) and type(item.value) is not int for item in (*place.index, *other.index)):
        return False  # a new axis: the others are not at the same places any more
    for item, another in zip(place.index, other.index, strict=False):
        if isinstance(item, Slice) or isinstance(another, Slice):
            continue
        if are_both_from_the_end(item, another):
            return True
        one, two = affine(item), affine(another)
        if one is None or two is None or one[0] != two[0] or one[1] == two[1] or one[0] in moving:
            continue
        if from_the_start(one, bounds) and from_the_start(two, bounds):
            return True
    return False


def distance(name: str, other: str, loops: Sequence[For]) -> tuple[int | None, int | None]:
    """Return the least and the most that one counter exceeds another, in the innermost of nested loops.

    `for k in range(n)` around `for i in range(k + 1, n)`: `i` is `k + 1` at least.
    """
    if name == other:
        return 0, 0
    depth = next((at for at in range(len(loops) - 1, -1, -1) if loops[at].var.name == name), None)
    if depth is None or not any(loop.var.name == other for loop in loops[:depth]):
        return None, None
    loop = loops[depth]
    if not isinstance(loop.step, Const) or not isinstance(loop.step.value, int) or loop.step.value == 0:
        return None, None
    start, stop = _beyond(loop.start, other, loops[:depth]), _beyond(loop.stop, other, loops[:depth])
    if loop.step.value > 0:
        return start[0], None if stop[1] is None else stop[1] - 1
    return None if stop[0] is None else stop[0] + 1, start[1]


def _beyond(end: Expr, other: str, loops: Sequence[For]) -> tuple[int | None, int | None]:
    """Return the least and the most that an end of a loop exceeds a counter of the loops around it."""
    found = affine(end)
    if found is None or found[0] is None:
        return None, None
    least, most = distance(found[0], other, loops)
    return None if least is None else least + found[1], None if most is None else most + found[1]


def _definitions(
    stmt: Stmt, bounds: Bounds, known: Bounds, lengths: set[str]
) -> list[tuple[str, int | None]]:
    match stmt:
        case For(var, start, stop, step):
            if not isinstance(step, Const) or not isinstance(step.value, int):
                return [(var.name, None)]
            first = _least(start if step.value > 0 else stop, bounds, lengths)
            return [(var.name, first if step.value > 0 or first is None else first + 1)]
        case Assign(target, value) if _is_whole(target.type):
            if known.get(target.name) is not None:
                return [(target.name, known[target.name])]
            return [(target.name, _least(value, bounds, lengths))]
        case _:
            return [(name, None) for name in bound(stmt)]


def _least(expr: Expr | Slice, bounds: Bounds, lengths: set[str]) -> int | None:
    """Return the least value of an expression; a name not seen yet counts as large.

    `lengths` are those of the arrays given: what a type knows to be one of them is no less than nothing.
    """
    if isinstance(expr, Const):
        return expr.value if isinstance(expr.value, int) else None
    kind = getattr(expr, "type", None)
    own: int | None = None
    if isinstance(kind, Scalar) and isinstance(kind.value, Sym) and kind.value.name in lengths:
        own = -max(kind.value.minus, 0)
    match expr:
        case Var(name):
            found = bounds.get(name, _LARGE if own is None else own)
        case Apply(fn, (first, second)) if fn is operator.add:
            found = _sum(_least(first, bounds, lengths), _least(second, bounds, lengths))
        case Apply(fn, (first, Const(int() as value))) if fn is operator.sub:
            found = _sum(_least(first, bounds, lengths), -value)
        case Apply(fn, (_, second)) if fn is operator.mod:  # it has the sign of what divides
            period = _least(second, bounds, lengths)
            found = 0 if period is not None and period >= 0 else None
        case Apply(fn, (first, second)) if fn in (operator.mul, operator.floordiv):
            both = _least(first, bounds, lengths), _least(second, bounds, lengths)
            found = 0 if all(part is not None and part >= 0 for part in both) else None
        case Apply(fn, args) if fn in _LENGTHS:
            found = 0
        case Apply(fn, args) if fn is min:
            found = _lesser(*(_least(arg, bounds, lengths) for arg in args))
        case Apply(fn, args) if fn is max:
            found = max((part for arg in args if (part := _least(arg, bounds, lengths)) is not None), default=None)
        case Index():
            found = None
        case _:
            found = None
    if own is None or (found is not None and found > own):
        return found
    return own


_LARGE = 1 << 40


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else min(first + second, _LARGE)


def _lesser(*parts: int | None) -> int | None:
    kept = [part for part in parts if part is not None]
    return min(kept) if len(kept) == len(parts) else None


def _is_whole(kind: object) -> bool:
    return isinstance(kind, Scalar) and "int" in kind.dtype
