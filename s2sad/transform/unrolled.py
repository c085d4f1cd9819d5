"""Short loops of constant length, written out: what they compute is then computed again instead of saved.

    r2 = 0.01                                  r2 = 0.01
    for k in range(2):                         d = p[i, 0] - p[j, 0]
        d = p[i, k] - p[j, k]      becomes     r2 += d * d
        r2 += d * d                            d = p[i, 1] - p[j, 1]
                                               r2 += d * d

Needs: a loop of a few turns whose body is a few statements without loops, calls and jumps.
"""

from __future__ import annotations

from dataclasses import replace

from s2sad.frontend.values import literal
from s2sad.ir.nodes import Assign, Comment, Const, For, Function, If, Stmt, Store
from s2sad.ir.walk import blocks_of, bound, exprs_of, map_blocks, reads, statements, told_apart
from s2sad.transform.rewriting import replaced

_TURNS, _STATEMENTS = 4, 24


def unrolled(fn: Function) -> Function:
    """Return `fn` with its short loops of constant length written out."""

    def each(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        made: list[Stmt] = []
        for stmt in body:
            stmt = map_blocks(stmt, each)
            turns = _turns(stmt) if isinstance(stmt, For) else None
            if not isinstance(stmt, For) or turns is None or outlives(stmt, fn):
                made.append(stmt)
                continue
            for turn in turns:
                made += told_apart(replaced(stmt.body, {stmt.var.name: literal(turn)}))
        return tuple(made)

    return replace(fn, body=each(fn.body))


def _turns(loop: For) -> range | None:
    ends = [e.value for e in (loop.start, loop.stop, loop.step) if isinstance(e, Const)]
    if len(ends) < 3 or not all(isinstance(e, int) for e in ends):
        return None
    turns = range(*ends)
    inside = list(statements(loop.body))
    plain = all(isinstance(s, Assign | Store | If | Comment) for s in inside)
    return turns if plain and 1 < len(turns) <= _TURNS and len(turns) * len(inside) <= _STATEMENTS else None


def outlives(loop: For, fn: Function) -> bool:
    """Say whether the variable of a loop is set in it, or read where no loop binds it."""
    name = loop.var.name

    def read_outside(body: tuple[Stmt, ...]) -> bool:
        return any(
            any(name in reads(e) for e in exprs_of(stmt))
            or (not (isinstance(stmt, For) and stmt.var.name == name) and any(map(read_outside, blocks_of(stmt))))
            for stmt in body
        )

    return any(name in bound(s) for s in statements(loop.body)) or read_outside(fn.body)


__all__ = ["outlives", "unrolled"]
