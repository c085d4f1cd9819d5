"""Small arrays of the derivative's own, of which only numbered items are used, are numbers.

    error_bar = np.copy(result_bar)               error_bar_0 = result_bar[0]
    scale_bar = error_bar[0] * p       becomes    scale_bar = error_bar_0 * p
    error_bar[0] = 0.0                            error_bar_0 = 0.0

A counter chooses among a very few: `unit[i] = 1.0` is `unit_0 = 1.0 if i == 0 else unit_0` and so on.
What is asked for is memory that is fetched and given back at every call; the user's arrays stay.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from s2sad.analysis.on_device import shared_memory
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Const, Expr, For, Function, Index, Slice, Stmt, Store, Var
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import (
    bound,
    children,
    exprs_of,
    map_blocks,
    map_children,
    map_exprs,
    names_in,
    reads,
    statements,
    targets,
)
from s2sad.transform.naming import Namer

_MOST = 8
_MOST_CHOSEN = 4
_ZERO = (np.zeros, np.empty, np.zeros_like, np.empty_like)

Items = dict[tuple[int, ...], Var]


def scalarised(fn: Function, keep: frozenset[str]) -> Function:
    """Return `fn` with numbers in the place of such arrays; `keep` are the user's names."""
    found = _candidates(fn, keep)
    if not found:
        return fn
    namer = Namer(names_in(fn.body) | {p.name for p in fn.params})
    items: dict[str, Items] = {}
    for name, kind in found.items():
        places = itertools.product(*(range(int(dim)) for dim in kind.dims if isinstance(dim, int)))
        items[name] = {
            at: Var(namer.fresh("_".join((name, *map(str, at)))), Scalar(kind.dtype)) for at in places
        }
    return replace(fn, body=_block(fn.body, items))


def _candidates(fn: Function, keep: frozenset[str]) -> dict[str, Array]:
    """Return the arrays that qualify, and their types."""
    made: dict[str, Array] = {}
    out = {p.name for p in fn.params} | keep
    counters = _counters(fn)
    shared = shared_memory(fn)
    for stmt in statements(fn.body):
        for target in targets(stmt):
            if target.name in made or not _is_small(target, stmt) or _is_like_shared(stmt, shared):
                out.add(target.name)
            elif isinstance(target.type, Array):
                made[target.name] = target.type
        place = _counted(stmt)
        if place is not None and place[1].name in counters:
            assert isinstance(stmt, Store)
            out |= _used_whole(stmt.value, made)
        else:
            out |= {name for expr in exprs_of(stmt) for name in _used_whole(expr, made)}
        if isinstance(stmt, Store) and isinstance(stmt.place, Index) and isinstance(stmt.place.base, Var):
            if stmt.op not in ("", *ops.STORING) or not _is_double(stmt.value):
                out.add(stmt.place.base.name)
    return {name: kind for name, kind in made.items() if name not in out}


def _counters(fn: Function) -> set[str]:
    """Return the names of loops that count from zero or above: as an index, none counts from the end."""
    every = list(statements(fn.body))
    names = Counter(name for stmt in every for name in bound(stmt))
    return {
        s.var.name for s in every
        if isinstance(s, For) and names[s.var.name] == 1
        and all(isinstance(e, Const) and e.value >= least for e, least in ((s.start, 0), (s.step, 1)))
    }  # fmt: skip


def _counted(stmt: Stmt) -> tuple[Var, Var] | None:
    """Return array and index of what is stored in a place such as `unit[i]` of a very small array."""
    if not (isinstance(stmt, Store) and not stmt.op and isinstance(stmt.place, Index)):
        return None
    match stmt.place:
        case Index(Var(_, Array(_, (int(size),))) as base, (Var() as at,)) if size <= _MOST_CHOSEN:
            return base, at
        case _:
            return None


def _is_like_shared(stmt: Stmt, shared: set[str]) -> bool:
    """Say whether an array is made like one of a block's: its shadow, in which threads meet."""
    return isinstance(stmt, Assign) and bool(reads(stmt.value) & shared)


def _is_small(target: Var, stmt: Stmt) -> bool:
    kind = target.type
    if not (isinstance(stmt, Assign) and isinstance(kind, Array) and kind.dtype == "float64"):
        return False
    dims = [dim for dim in kind.dims if isinstance(dim, int)]
    if not dims or len(dims) != len(kind.dims) or not 0 < prod(dims) <= _MOST:
        return False
    value = stmt.value
    if not isinstance(value, Apply):
        return False
    if value.fn is np.copy:
        return isinstance(value.args[0], Var)
    return value.fn in _ZERO and all(not isinstance(v, Apply) for v in value.args)


def _used_whole(expr: Expr | Slice, made: dict[str, Array]) -> set[str]:
    """Return the names that stand in an expression otherwise than as `name[0]`."""
    if isinstance(expr, Index) and isinstance(expr.base, Var) and expr.base.name in made:
        if _place(expr) is not None:
            return set()
    if isinstance(expr, Var):
        return {expr.name}
    return {name for child in children(expr) for name in _used_whole(child, made)}


def _place(expr: Index) -> tuple[int, ...] | None:
    dims = expr.base.type.dims if isinstance(expr.base.type, Array) else ()
    if len(expr.index) != len(dims):
        return None
    at: list[int] = []
    for item, dim in zip(expr.index, dims, strict=True):
        if not (isinstance(item, Const) and isinstance(item.value, int) and isinstance(dim, int)):
            return None
        if not -dim <= item.value < dim:
            return None
        at.append(item.value % dim)
    return tuple(at)


def _is_double(value: Expr) -> bool:
    kind = value.type
    return isinstance(kind, Scalar) and kind.dtype == "float64"


def _block(body: tuple[Stmt, ...], items: dict[str, Items]) -> tuple[Stmt, ...]:
    made: list[Stmt] = []
    for at, stmt in enumerate(body):
        if (place := _counted(stmt)) is not None and place[0].name in items:
            made += _chosen(stmt, *place, items, body[at - 1] if at else None)
        elif not _is_chosen_next(body, at, items):
            made += _stmt(stmt, items)
    return tuple(made)


def _is_chosen_next(body: tuple[Stmt, ...], at: int, items: dict[str, Items]) -> bool:
    """Say whether the statement makes an array that the next one writes an item of."""
    stmt, place = body[at], _counted(body[at + 1]) if at + 1 < len(body) else None
    return isinstance(stmt, Assign) and stmt.target.name in items and place is not None and place[0] == stmt.target


def _stmt(stmt: Stmt, items: dict[str, Items]) -> list[Stmt]:
    if isinstance(stmt, Assign) and stmt.target.name in items:
        return [Assign(var, _start(stmt.value, at, items), stmt.span) for at, var in items[stmt.target.name].items()]
    if isinstance(stmt, Store) and isinstance(stmt.place, Index) and (var := _item(stmt.place, items)) is not None:
        value = _expr(stmt.value, items)
        return [Assign(var, Apply(ops.STORING[stmt.op], (var, value), var.type) if stmt.op else value, stmt.span)]
    stmt = map_exprs(stmt, lambda expr: _expr(expr, items))
    return [map_blocks(stmt, lambda body: _block(body, items))]


def _chosen(stmt: Any, array: Var, at: Var, items: dict[str, Items], before: Stmt | None) -> list[Stmt]:
    """Write `unit[i] = 1.0` as the item that `i` says; another stays as it was made just `before`, or as it is."""
    value, new = _expr(stmt.value, items), isinstance(before, Assign) and before.target == array
    made: list[Stmt] = []
    for index, var in items[array.name].items():
        old = _start(before.value, index, items) if isinstance(before, Assign) and new else var
        test = Apply(operator.eq, (at, literal(index[0])), Scalar("bool"))
        made.append(Assign(var, Apply(ops.ifexp, (test, value, old), var.type), stmt.span))
    return made


def _start(value: Any, at: tuple[int, ...], items: dict[str, Items]) -> Expr:
    """Return an item of the array as it is made."""
    if value.fn is not np.copy:
        return literal(0.0)
    source = value.args[0]
    if source.name in items:
        return items[source.name][at]
    return Index(source, tuple(literal(i) for i in at), Scalar("float64"))


def _item(expr: Index, items: dict[str, Items]) -> Var | None:
    if not isinstance(expr.base, Var) or expr.base.name not in items:
        return None
    at = _place(expr)
    return None if at is None else items[expr.base.name][at]


def _expr(expr: Any, items: dict[str, Items]) -> Any:
    if isinstance(expr, Index) and (var := _item(expr, items)) is not None:
        return var
    return map_children(expr, lambda child: _expr(child, items))
