"""Which functions of a program are compiled into their callers, and which are called by others of it alone.

The first are small, and called often.
A call costs as much as ten products, and no item of an array can stay in a register over it. The text
keeps the function; only the machine code has its body in several places.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from s2sad.ir.nodes import CallStmt, For, Function, Raise, Stmt, While
from s2sad.ir.walk import blocks_of, statements

_MOST = 24  # statements of such a function
_ALL = 120  # statements that its calls may come to together


_MOST_ARGUMENTS = 30
"""CPython makes one tuple of more, which Numba takes apart in calls, not where it writes the function in."""


def compiled_into_callers(functions: Mapping[str, Function], entry: str) -> frozenset[str]:
    """Return the functions that are called inside loops, and are short, without calls and without errors."""
    found: Counter[str] = Counter()
    for fn in functions.values():
        found.update(_called_in_loops(fn.body, False))
    return frozenset(
        name for name, count in found.items()
        if name != entry and name in functions and len(functions[name].params) <= _MOST_ARGUMENTS
        and (size := _size(functions[name])) <= _MOST and size * count <= _ALL
    )  # fmt: skip


def only_called_here(functions: Mapping[str, Function], entry: str) -> frozenset[str]:
    """Return the functions that nobody but these calls; none where any of them calls itself, by others or not."""
    calls = {
        name: {s.callee for s in statements(fn.body) if isinstance(s, CallStmt) and s.fn is None} & functions.keys()
        for name, fn in functions.items()
    }
    waiting = dict(calls)
    while ready := [name for name, called in waiting.items() if not called & waiting.keys()]:
        for name in ready:
            del waiting[name]
    return frozenset() if waiting else frozenset(functions.keys() - {entry})


def _called_in_loops(body: tuple[Stmt, ...], looped: bool) -> Iterator[str]:
    for stmt in body:
        if isinstance(stmt, CallStmt) and stmt.fn is None and looped:
            yield stmt.callee
        for block in blocks_of(stmt):
            yield from _called_in_loops(block, looped or isinstance(stmt, For | While))


def _size(fn: Function) -> int:
    """Count the statements of a function; more than any limit if it is not of the kind."""
    every = list(statements(fn.body))
    unfit = any(isinstance(stmt, While | Raise) or (isinstance(stmt, CallStmt) and stmt.fn is None) for stmt in every)
    return _ALL + 1 if unfit else len(every)
