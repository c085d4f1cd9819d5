"""Target "cpu": a state that the reverse sweep takes back from a tape, and only reads, is the tape's row.

    for t in range(steps - 1, -1, -1):             for t in range(steps - 1, -1, -1):
        for i in range(mid.shape[0]):                  mid_row = mid_tape[t]
            mid[i] = mid_tape[t, i]      becomes       move_bwd(mid_row, mid_bar)
        move_bwd(mid, mid_bar)

Saves two ways through the memory. Needs: an array of the function's own, which the loop writes in no other way and
nothing behind the loop meets, and a tape that the loop does not write. The row has a name of its own, so that the
array and the tape are known to lie apart in the primal sweep; where the loop's first turn reads what the primal sweep
left, that is copied once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.sharing import Groups
from s2sad.frontend.operators import build
from s2sad.ir.nodes import Apply, Assign, Comment, For, Function, Index, Pack, Slice, Stmt, Store, Var
from s2sad.ir.shapes import SHAPES
from s2sad.ir.types import Array
from s2sad.ir.walk import (
    bound,
    exprs_of,
    map_blocks,
    map_children,
    map_exprs,
    names_in,
    reads,
    root_of,
    statements,
)
from s2sad.transform.filled import covers, is_length, loops_over
from s2sad.transform.naming import Namer


def with_tape_rows(fn: Function, facts: Facts) -> Function:
    """Return `fn` with such states named instead of copied."""
    groups = Groups(fn, facts)
    namer = Namer({p.name for p in fn.params} | names_in(fn.body))
    body: list[Stmt] = []
    for at, loop in enumerate(fn.body):
        if isinstance(loop, For):
            rows = [row for s in statements(loop.body) if (row := _row(s)) is not None]
            for array in dict.fromkeys(row.target for row in rows):
                if _may_be_named(array, rows, fn, at, groups, facts):
                    row = replace(array, name=namer.fresh(f"{array.name}_row"))
                    loop = replace(loop, body=_named(loop.body, array, row))
                    first = next(s for s in loop.body if any(_mentions(one, row.name) for one in statements((s,))))
                    if not _binds(first, row.name):
                        body.append(Assign(row, build(np.copy, array), loop.span))
        body.append(loop)
    return replace(fn, body=tuple(body))


def _row(stmt: Stmt) -> Assign | None:
    """Return the name for a row that a nest of loops copies into an array, element by element."""
    store = _innermost(stmt)
    if not isinstance(stmt, For) or not isinstance(store, Store) or store.op or not isinstance(store.place, Index):
        return None
    array, taken = store.place.base, store.value
    if not (isinstance(array, Var) and isinstance(taken, Index) and isinstance(taken.base, Var)):
        return None
    kind, tape = array.type, taken.base.type
    if not isinstance(kind, Array) or not isinstance(tape, Array) or (kind.layout, tape.layout) != ("C", "C"):
        return None
    loops = loops_over(stmt, kind)
    if loops is None or not all(covers(one, dim) for one, dim in zip(loops, kind.dims, strict=True)):
        return None
    own = tuple(loop.var for loop in loops)
    lead = len(tape.dims) - len(own)
    first = taken.index[:lead]
    if store.place.index != own or taken.index[lead:] != own or lead < 1 or any(isinstance(i, Slice) for i in first):
        return None
    if tape.dtype != kind.dtype:
        return None
    if any(reads(i) & {v.name for v in own} for i in first):
        return None
    return Assign(array, Index(taken.base, first, kind), store.span)


def _innermost(stmt: Stmt) -> Stmt:
    inner = [s for s in stmt.body if not isinstance(s, Comment)] if isinstance(stmt, For) else []
    return _innermost(inner[0]) if len(inner) == 1 else stmt


def _may_be_named(
    array: Var, rows: list[Assign], fn: Function, at: int, groups: Groups, facts: Facts
) -> bool:
    loop = fn.body[at]
    there = groups.find(array.name)
    own = {name for s in statements(fn.body) for name in bound(s)}
    if array.name not in own or any(p.name == array.name for p in fn.params):
        return False
    if any(groups.find(name) == there for name in {*own, *(p.name for p in fn.params)} - {array.name}):
        return False
    inside = list(statements((loop,)))
    if any(array.name in bound(s) for s in inside):
        return False
    if any(_mentions(s, array.name) for s in statements(fn.body[at + 1 :])):
        return False
    writes = [s for s in inside if array.name in written_by(s, facts)]
    taken = [row for row in rows if row.target == array]
    if len(writes) != len(taken):
        return False
    if not all(_is_as_long(row, fn) for row in taken):
        return False
    tapes = groups.of({root.name for row in taken if (root := root_of(row.value)) is not None})
    return not any(groups.find(name) in tapes for s in inside for name in (*written_by(s, facts), *bound(s)))


def _is_as_long(row: Assign, fn: Function) -> bool:
    """Say whether the types, or what made the tape, say that its rows have the lengths of what is copied into them."""
    assert isinstance(row.value, Index) and isinstance(row.value.base, Var)
    tape, kind, lead = row.value.base, row.target.type, len(row.value.index)
    assert isinstance(tape.type, Array) and isinstance(kind, Array)
    if tape.type.dims[lead:] == kind.dims:
        return True
    made = [s.value for s in statements(fn.body) if isinstance(s, Assign) and s.target.name == tape.name]
    match made:
        case [Apply(how, (Pack(_, lengths),))] if how in (np.empty, np.zeros):
            return all(is_length(length, dim) for length, dim in zip(lengths[lead:], kind.dims, strict=True))
        case _:
            return False


def _mentions(stmt: Stmt, name: str) -> bool:
    return name in bound(stmt) or any(name in reads(expr) for expr in exprs_of(stmt))


def _binds(stmt: Stmt, name: str) -> bool:
    return isinstance(stmt, Assign) and stmt.target.name == name


def _named(body: tuple[Stmt, ...], array: Var, name: Var) -> tuple[Stmt, ...]:
    """Return a block in which an array goes by another name, bound where its elements were copied."""

    def renamed(expr: Any) -> Any:
        if isinstance(expr, Apply) and expr.fn in SHAPES:
            return expr  # its own lengths are the same
        return name if expr == array else map_children(expr, renamed)

    out: list[Stmt] = []
    for stmt in body:
        row = _row(stmt)
        if row is not None and row.target == array:
            out.append(replace(row, target=name))
        else:
            out.append(map_blocks(map_exprs(stmt, renamed), lambda block: _named(block, array, name)))
    return tuple(out)
