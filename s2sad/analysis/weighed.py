"""Whether it pays to run the turns of a loop again: what is kept of each, against its state and its work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from s2sad.analysis.rerun import Around, decisions, rerun
from s2sad.ir.nodes import Apply, Assign, CallStmt, Const, For, If, Stmt, Store, While
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import exprs_of, reads, statements, subexpressions

if TYPE_CHECKING:
    from s2sad.analysis.saved import Plan

_MANY, _FEW = 30, 4
"""How many turns a loop is taken to have, and how long an axis to be, if the text does not tell; the latter in a turn
of which every loop is short."""
_DEAR = 12
"""The work of a function of the library, in units of that of an addition."""
_ROW, _LIST = 5, 60
"""What it costs to keep a number, in the same units: in an array made for all turns, and in a list."""


def _size(kind: Any, length: int) -> int:
    """Return how many numbers a value may have; `length` of an axis, if nothing tells."""
    if not isinstance(kind, Array):
        return 1
    total = 1
    for dim in kind.dims:
        total *= dim if isinstance(dim, int) else length
    return total


def _length(loop: For | While) -> int:
    """Return how long an axis is taken to be of which nothing tells."""
    inner = [s for s in statements(loop.body) if isinstance(s, For)]
    short = all(isinstance(s.start, Const) and isinstance(s.stop, Const) for s in inner)
    return _FEW if inner and short else _MANY


def _turns(loop: For | While, around: dict[str, float]) -> float:
    """Return how many turns a loop may have; `around`: by their counters, those of the loops around it."""
    if not isinstance(loop, For):
        return _MANY
    start, stop = getattr(loop.start, "value", None), getattr(loop.stop, "value", None)
    if isinstance(start, int) and isinstance(stop, int):
        return max(1, abs(stop - start))
    least = [around[name] / 2 for name in (reads(loop.start) | reads(loop.stop)) & set(around)]
    return min([_MANY, *least])


def _work_of(body: tuple[Stmt, ...], around: dict[str, float]) -> float:
    """Return how much work a run of these statements may be, in additions."""
    total = 0.0
    for stmt in body:
        own = sum(_work(part) for expr in exprs_of(stmt) for part in subexpressions(expr))
        if isinstance(stmt, For | While):
            turns = _turns(stmt, around)
            counted = {stmt.var.name: turns} if isinstance(stmt, For) else {}
            total += turns * (1 + _work_of(stmt.body, around | counted))
        elif isinstance(stmt, If):
            total += own + max(_work_of(stmt.body, around), _work_of(stmt.orelse, around))
        elif isinstance(stmt, CallStmt):
            total += 20 * _DEAR
        else:
            total += 1 + own * (_size(stmt.value.type, _MANY) if isinstance(stmt, Assign | Store) else 1)
    return total


def _work(part: Any) -> float:
    if not isinstance(part, Apply):
        return 0.0
    module = getattr(part.fn, "__module__", "") or ""
    return 1.0 if module in ("_operator", "builtins") or not isinstance(part.type, Scalar | Array) else float(_DEAR)


def _times(block: Any, loop: For | While, around: Around) -> float:
    """Return how often a block may be run in a turn of a loop."""
    counted: dict[str, float] = {}
    total = 1.0
    for inner in around.layout.loops(block):
        if inner is not loop:
            turns = _turns(inner, counted)
            counted |= {inner.var.name: turns} if isinstance(inner, For) else {}
            total *= turns
    return total


def pays(loop: For | While, plan: Plan, around: Around) -> bool:
    """Say whether much is kept of each turn, little of which is its state, and it is made with little work."""
    length = _length(loop)
    kept = 0.0
    for stmt in statements(loop.body):
        times = _times(around.layout.block_of[id(stmt)], loop, around)
        kept += times * sum(_size(place.type, length) for place in plan.overwrites.get(id(stmt), ()))
    for block, names in plan.taped.items():
        if around.layout.within(block, (id(loop), 0)):
            kept += _times(block, loop, around) * sum(_size(name.type, length) for name in names)
    made = rerun(loop, around, beforehand=True) if kept else None
    if made is None:
        return False
    state = sum(_size(v.type, length) for v in made.state) + len(made.flags) + len(decisions(loop, around))
    lists = isinstance(loop, While) or id(loop) in around.prepared.counts
    return kept >= 2 * state and _work_of(loop.body, {}) <= (_LIST if lists else _ROW) * (kept - state)


__all__ = ["pays"]
