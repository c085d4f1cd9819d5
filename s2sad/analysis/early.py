"""Numbers that a turn of a loop updates, put back before anything else in the reverse of the turn.

    for i in range(n):                      for i in range(n - 1, -1, -1):
        slope = p[0] * x - x * y                x_new = x
        ...                                     x = x_tape[i]
        x += h * slope                          slope = p[0] * x - x * y
        total += (x - z[i]) ** 2                x_bar += 2 * (x_new - z[i]) * total_bar

Once `x` is what it was at the beginning of the turn, what the turn made of it is there for the computing: `slope`
needs no tape of its own. What the adjoints of the statements behind the update read is the newer value, which
keeps a name. Needs: a number that the turn sets once, in its own block, and no loop or call behind that which
the reverse has to follow by it. What a branch updates is put back first in the reverse of the branch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from s2sad.analysis.alias import Alias
from s2sad.analysis.layout import TOP, Block, Layout
from s2sad.analysis.loops import popped_from, taken_back
from s2sad.ir.nodes import Assign, Break, Continue, If, Index, Raise, Return, Stmt, Store, Var, While
from s2sad.ir.types import Scalar, is_inexact
from s2sad.ir.walk import bound, exprs_of, reads, root_of, statements


@dataclass(frozen=True, slots=True)
class Early:
    """An update that is undone first, and the statements behind it that read the newer value, or whose adjoints do."""

    update: Assign
    later: tuple[Stmt, ...] = field(default=(), compare=False)


class Around(Protocol):
    """What is known of the function around."""

    layout: Layout
    aliases: dict[str, Alias]
    flags: frozenset[str]
    results: frozenset[int]
    renaming: frozenset[int]
    left_out: set[int]
    reading: Any
    leaving: Any


def updates(body: tuple[Stmt, ...], block: Block, saved: set[int], around: Around) -> dict[str, Early]:
    """Return, by name, the updates of a turn, or of a branch, that may be undone first; `saved`: those that save."""
    found: dict[str, Early] = {}
    if block == TOP:
        return found
    for at, stmt in enumerate(body):
        if any(isinstance(s, Break | Continue | Return | Raise) for s in statements(body[:at])):
            break
        if id(stmt) in saved and isinstance(stmt, Assign) and _updates(stmt, body, block, around):
            later = _readers(stmt.target, body[at + 1 :], block, around)
            if later is not None:
                found[stmt.target.name] = Early(stmt, later)
    # A number taken back costs no tape. Without one that does, nothing is kept from turn to turn as it is.
    return found if any(taken_back(one.update) is None for one in found.values()) else {}


def _updates(stmt: Assign, body: tuple[Stmt, ...], block: Block, around: Around) -> bool:
    """Say whether a statement is the one of a turn that sets a number from turn to turn."""
    name, kind = stmt.target.name, stmt.target.type
    if not isinstance(kind, Scalar) or not (is_inexact(kind) or kind.dtype == "int64") or popped_from(stmt) is not None:
        return False
    if name in around.aliases or name in around.flags or around.layout.home.get(name) == block:
        return False
    if id(stmt) in around.results - around.renaming or id(stmt) in around.left_out:
        return False
    return sum(name in bound(s) for s in statements(body)) == 1


def _readers(name: Var, rest: tuple[Stmt, ...], block: Block, around: Around) -> tuple[Stmt, ...] | None:
    """List what reads the newer value behind an update: adjoints, or names of the turn; None if that is in the way."""
    found: list[Stmt] = []
    for stmt in statements(rest):
        if name.name in around.leaving.get(id(stmt), ()):
            return None
        if name.name in around.reading.get(id(stmt), ()):
            if not isinstance(stmt, Assign | Store | If) or id(stmt) in around.results:
                return None
            found.append(stmt)
        if isinstance(stmt, If | While) or not any(name.name in reads(expr) for expr in exprs_of(stmt)):
            continue  # of branches, those that the reverse follows are found above
        if isinstance(stmt, Assign):
            own = stmt.target.name
        elif isinstance(stmt, Store) and (root := root_of(stmt.place)) is not None:
            own = root.name
            if isinstance(stmt.place, Index) and any(name.name in reads(item) for item in stmt.place.index):
                return None
        else:
            return None
        if own in around.aliases:
            return None
        if _lives_inside(own, block, around.layout):  # it may be computed again, of the newer value
            if not isinstance(stmt, Assign) or not any(s is stmt for s in rest):
                return None
            found.append(stmt)
    return tuple(found)


def _lives_inside(name: str, block: Block, layout: Layout) -> bool:
    return block in layout.chain(layout.home[name]) if name in layout.home else False
