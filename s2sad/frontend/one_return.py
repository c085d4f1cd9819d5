"""Functions with early returns, written with one at their end, so that they can be written into their callers.

    def step(self, dt):                        def step(self, dt):
        if self.resting:                           if self.resting:
            return 0.0                                 result = 0.0
        self.v -= g * dt             becomes       else:
        return self.v                                  self.v -= g * dt
                                                       result = self.v
                                                   return result

A function with a `return` inside of a loop, or with a `raise`, stays as it is.
"""

from __future__ import annotations

import copy
from typing import Any

import gast

from s2sad.frontend.generators import taken_names
from s2sad.frontend.jumps import own
from s2sad.frontend.leaving import named, placed

_MOST_TWICE = 3  # statements that are written on two paths


class _Stays(Exception):
    """The returns stand where this cannot be done: in loops, for example."""


def with_one_return(function: Any) -> list[Any] | None:
    """Return the body of a function with one `return`, at its end; None where that cannot be."""
    if not hasattr(function, "one_return"):
        function.one_return = _written(function)
    return function.one_return


def _written(function: Any) -> list[Any] | None:
    if not isinstance(function, gast.FunctionDef):
        return None
    returns = [part for part in own(function.body) if isinstance(part, gast.Return)]
    nothing = [part.value is None or getattr(part.value, "value", part) is None for part in returns]
    raises = any(isinstance(part, gast.Raise) for part in own(function.body))
    if raises or not returns or (any(nothing) and not all(nothing)):
        return None
    taken = taken_names(function)
    name = next(word for word in ("result", *(f"result_{k}" for k in range(2, 100))) if word not in taken)
    try:
        body = _tail(function.body, None if all(nothing) else name)
    except _Stays:
        return None
    if all(nothing):
        return body
    return [*body, placed(gast.Return(value=named(name)), returns[-1])]


def _tail(stmts: list[Any], name: str | None) -> list[Any]:
    """Return statements that leave the result under a name at the end of each path."""
    for at, stmt in enumerate(stmts):
        rest = stmts[at + 1 :]
        if isinstance(stmt, gast.Return):
            if name is None:
                return stmts[:at] or [gast.copy_location(gast.Pass(), stmt)]
            target = gast.copy_location(named(name, gast.Store()), stmt)
            kept = gast.Assign(targets=[target], value=stmt.value, type_comment=None)
            return [*stmts[:at], gast.copy_location(kept, stmt)]
        if not any(isinstance(part, gast.Return) for part in own([stmt])):
            continue
        if not isinstance(stmt, gast.If):
            raise _Stays
        sides = [side if _leaves(side) else [*side, *rest] for side in (stmt.body, stmt.orelse)]
        if not any(_leaves(side) for side in (stmt.body, stmt.orelse)) and len(rest) > _MOST_TWICE:
            raise _Stays
        branch = copy.copy(stmt)
        branch.body, branch.orelse = (_tail(copy.deepcopy(side) if k else side, name) for k, side in enumerate(sides))
        return [*stmts[:at], branch]
    if name is not None and not _leaves(stmts):
        raise _Stays  # it ends without a result
    return stmts


def _leaves(stmts: list[Any]) -> bool:
    """Say whether statements surely end by a `return`."""
    match stmts[-1] if stmts else None:
        case gast.Return():
            return True
        case gast.If(body=body, orelse=orelse):
            return _leaves(body) and _leaves(orelse)
        case _:
            return False
