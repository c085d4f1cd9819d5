"""`continue` in a loop that is written out: what it skips becomes the other branch.

    if c:                     if c:
        continue      becomes     pass
    rest                      else:
                                  rest

In a `with` or a `try` it stays where it is.
"""

from __future__ import annotations

import copy
from typing import Any

import gast


def without_continue(body: list[Any]) -> list[Any]:
    """Return the statements of a loop's body without `continue`."""
    made: list[Any] = []
    for at, stmt in enumerate(body):
        if isinstance(stmt, gast.Continue):
            return made
        if isinstance(stmt, gast.If) and _continues(stmt):
            rest = body[at + 1 :]
            branch = copy.copy(stmt)
            branch.body = without_continue([*stmt.body, *rest]) or [gast.copy_location(gast.Pass(), stmt)]
            branch.orelse = without_continue([*stmt.orelse, *rest])
            return [*made, branch]
        made.append(stmt)
    return made


def _continues(stmt: Any) -> bool:
    """Say whether a branch may go on with the next turn of the loop around it."""
    if isinstance(stmt, gast.Continue):
        return True
    return isinstance(stmt, gast.If) and any(_continues(part) for part in (*stmt.body, *stmt.orelse))
