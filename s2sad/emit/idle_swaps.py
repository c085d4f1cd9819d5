"""Target "cpu": arrays exchange their names in a loop no longer than anyone asks which is which.

    for _ in range(steps):
        a, b = b, a
        a_bar, b_bar = b_bar, a_bar    becomes    for _ in range(steps):
        ...                                           a_bar, b_bar = b_bar, a_bar
    return a_bar                                      ...

The reverse of a step of two buffers puts the names of both pairs back; where the step is linear, nothing reads the
first pair again.
"""

from __future__ import annotations

from dataclasses import replace

from s2sad.ir.nodes import For, Function, Stmt, Swap, While
from s2sad.ir.walk import bound, exprs_of, map_blocks, names_in, reads, statements


def without_idle_swaps(fn: Function) -> Function:
    """Return `fn` without such exchanges in its outermost loops."""
    body = list(fn.body)
    after: set[str] = set()
    for at in range(len(body) - 1, -1, -1):
        stmt = body[at]
        if isinstance(stmt, For | While):
            body[at] = _without(stmt, _idle(stmt, after))
        after |= names_in((body[at],))
    return replace(fn, body=tuple(body))


def _idle(loop: For | While, after: set[str]) -> set[str]:
    """Return the names that a loop does nothing with but exchange them among each other, and nobody reads behind it."""
    every = list(statements((loop,)))
    swaps = [(s.first.name, s.second.name) for s in every if isinstance(s, Swap)]
    others = [s for s in every if not isinstance(s, Swap)]
    used = {name for s in others for name in bound(s)} | {n for s in others for e in exprs_of(s) for n in reads(e)}
    idle = {name for pair in swaps for name in pair} - used - after
    while True:
        fewer = idle - {name for pair in swaps if not set(pair) <= idle for name in pair}
        if fewer == idle:
            return idle
        idle = fewer


def _without(loop: Stmt, idle: set[str]) -> Stmt:
    def kept(block: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(map_blocks(s, kept) for s in block if not (isinstance(s, Swap) and s.first.name in idle))

    return map_blocks(loop, kept) if idle else loop
