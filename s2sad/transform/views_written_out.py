"""Views of arrays whose names are given to other arrays later in the block: what they mean stands where they are used.

    w = y[::-1]                            y[::-1][i] *= s
    w[i] *= s                  becomes     y = 0.5 * y
    y = 0.5 * y

The reverse of a block makes its views first, in the state that the block ends in, when `y` is another array. Needs:
the view is a part (an index, a transpose) of an array, is written or its array is, and is used for the last time
before the array's name is bound anew; what its index is made of stays until then.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from s2sad.analysis.alias import exact_aliases
from s2sad.ir import ops
from s2sad.ir.nodes import Append, Apply, Assign, CallStmt, Expr, Function, Index, Return, Stmt, Store, Swap, Var
from s2sad.ir.types import Array, Scalar
from s2sad.ir.views import view_base
from s2sad.ir.walk import (
    bound,
    exprs_of,
    map_blocks,
    map_exprs,
    reads,
    root_of,
    statements,
    subexpressions,
    substitute,
)


def with_views_written_out(fn: Function) -> Function:
    """Return a function without such views."""
    names = Counter(name for stmt in statements(fn.body) for name in bound(stmt))
    views = [s for s in statements(fn.body) if isinstance(s, Assign) and _base(s) is not None]
    given = {p.name for p in fn.params}
    if not any(names[_base(view) or ""] + (_base(view) in given) > 1 for view in views):
        return fn
    exact = exact_aliases(fn)
    stores = (root_of(s.place) for s in statements(fn.body) if isinstance(s, Store))
    written = {root.name for root in stores if root is not None}

    def fits(view: Stmt, rest: tuple[Stmt, ...]) -> bool:
        base = _base(view)
        if base is None or not isinstance(view, Assign):
            return False
        name = view.target.name
        if name in exact or name in given or names[name] != 1 or not {name, base} & written:
            return False
        return _used_before(name, reads(view.value), rest) and not any(
            name in _mentioned(s) and isinstance(s, Append | Return | CallStmt | Swap) for s in statements(rest)
        )

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        left = list(body)
        while left:
            stmt = left.pop(0)
            if fits(stmt, tuple(left)) and isinstance(stmt, Assign) and _alone(stmt.target.name, left, fn):
                left = [_meaning(each, {stmt.target.name: stmt.value}) for each in left]
                continue
            out.append(map_blocks(stmt, block))
        return tuple(out)

    body = block(fn.body)
    return fn if body == fn.body else with_views_written_out(replace(fn, body=body))  # views of views


def _base(view: Stmt) -> str | None:
    """Return the name of the array that a statement makes a view of, by indices of numbers and transposes."""
    place: Any = view.value if isinstance(view, Assign) and isinstance(view.target.type, Array) else None
    if not isinstance(place, Index | Apply) or view_base(place) is None:
        return None
    while not isinstance(place, Var):
        match place:
            case Index(base, index) if all(isinstance(part.type, Scalar) for part in _variables(index)):
                place = base
            case Apply(fn, (base,)) if fn is ops.transpose:
                place = base
            case _:
                return None
    return place.name if isinstance(place.type, Array) else None


def _variables(index: tuple[Any, ...]) -> list[Var]:
    return [part for item in index for part in subexpressions(item) if isinstance(part, Var)]


def _used_before(name: str, needed: set[str], rest: tuple[Stmt, ...]) -> bool:
    """Say whether the last statement that uses a name is none that binds anew what it needs, nor behind such a one."""
    last = max((k for k, stmt in enumerate(rest) if _uses(stmt, name)), default=-1)
    for k, stmt in enumerate(rest[: last + 1]):
        changed = {n for s in statements((stmt,)) for n in (*bound(s), *_number_written(s))} & needed
        if changed and (k < last or not isinstance(stmt, Assign)):
            return False
    return True


def _number_written(stmt: Stmt) -> set[str]:
    place = stmt.place if isinstance(stmt, Store) else None
    return {place.name} if isinstance(place, Var) and isinstance(place.type, Scalar) else set()


def _uses(stmt: Stmt, name: str) -> bool:
    return any(name in _mentioned(s) for s in statements((stmt,)))


def _mentioned(stmt: Stmt) -> set[str]:
    return {n for expr in exprs_of(stmt) for n in reads(expr)}


def _alone(name: str, rest: list[Stmt], fn: Function) -> bool:
    """Say whether all of the function that uses a name is the rest of its block."""
    inside = sum(name in _mentioned(s) for s in statements(tuple(rest)))
    return inside == sum(name in _mentioned(s) for s in statements(fn.body))


def _meaning(stmt: Stmt, mapping: dict[str, Expr]) -> Stmt:
    if isinstance(stmt, Store) and isinstance(stmt.place, Var) and stmt.place.name in mapping:
        stmt = replace(stmt, place=mapping[stmt.place.name])
    made: Any = map_exprs(stmt, lambda expr: substitute(expr, mapping))
    return map_blocks(made, lambda body: tuple(_meaning(s, mapping) for s in body))
