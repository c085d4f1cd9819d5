"""Arrays that a turn of a loop makes and fills from what is still there: filled again rather than kept.

    for j in range(n):
        window = np.empty(m)
        for k in range(m):
            window[k] = x[j + k]
        total += cost(window)

The adjoint of each turn needs its `window`. Kept, the arrays of all turns lie in memory at once, and are fetched
from there; to fill one again costs what it cost before, if nothing is called for it but arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.layout import Layout
from s2sad.analysis.sharing import Groups
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Expr, For, If, Slice, Stmt, Store
from s2sad.ir.shapes import BLANK, SHAPES
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import bound, exprs_of, reads, root_of, statements, subexpressions


@dataclass(frozen=True, slots=True)
class Refilled:
    """The statements of a turn that fill an array, and the names that they read."""

    fills: tuple[Stmt, ...]
    reads: frozenset[str]


class Around(Protocol):
    """What is known of the function around."""

    layout: Layout
    groups: Groups
    facts: Facts
    names: set[str]
    flags: frozenset[str]


def filling(made: Assign, body: tuple[Stmt, ...], around: Around) -> Refilled | None:
    """Return what fills the array that `made` creates in the turn `body`, if that can be run again at its end."""
    name, value = made.target.name, made.value
    if not (isinstance(value, Apply) and value.fn in (np.empty, np.zeros) and isinstance(value.type, Array)):
        return None
    if len(around.layout.defs[name]) != 1 or name in around.flags or has_another_name(name, around):
        return None
    rest = next((body[at + 1 :] for at, stmt in enumerate(body) if stmt is made), ())
    fills = tuple(s for s in rest if any(name in written_by(inner, around.facts) for inner in statements((s,))))
    if not fills or not all(_fills_only(s, name, around.layout) for s in fills):
        return None
    own = {n for s in statements(fills) for n in bound(s)}
    read = {n for s in (made, *statements(fills)) for e in exprs_of(s) for n in reads(e)} - own - {name}
    inside = {id(s) for s in statements(fills)}
    changed = {n for s in statements(rest) if id(s) not in inside for n in (*bound(s), *written_by(s, around.facts))}
    same = around.groups.of(changed | own | {name})
    if not read <= around.names or around.groups.of(read) & same:
        return None
    return Refilled(fills, frozenset(read))


def is_creation(value: Expr) -> bool:
    """Say whether an expression makes an array that is empty or zero."""
    return isinstance(value, Apply) and value.fn in BLANK and isinstance(value.type, Array)


def has_another_name(name: str, around: Around) -> bool:
    """Say whether something else may be, or be a view of, the array; or keep it beyond its turn."""
    group = around.groups.find(name)
    return any(other != name and around.groups.find(other) == group for other in around.layout.uses)


def _fills_only(stmt: Stmt, name: str, layout: Layout) -> bool:
    """Say whether a statement does nothing but write elements of an array, by arithmetic."""
    for inner in statements((stmt,)):
        match inner:
            case For():
                if not _only_counts(inner.var.name, layout):
                    return False
            case If():
                pass
            case Store(place, "", _):
                root = root_of(place)
                if root is None or root.name != name or root is place:
                    return False
            case Assign(target) if isinstance(target.type, Scalar):
                if (id(stmt), 0) not in layout.chain(layout.home[target.name]):
                    return False
            case _:
                return False
        if not all(_is_light(e) for e in exprs_of(inner)):
            return False
    return True


def _only_counts(name: str, layout: Layout) -> bool:
    """Say whether a name is nothing but the variable of loops, inside them."""
    for block in layout.uses[name]:
        owners = (layout.owner[b] for b in layout.chain(block)[1:])
        if not any(isinstance(o, For) and o.var.name == name for o in owners):
            return False
    return True


def _is_light(expr: Expr | Slice) -> bool:
    light = ("_operator", "builtins")
    return all(
        not isinstance(part, Apply)
        or (part.fn not in (ops.pop, ops.new_list) and isinstance(part.type, Scalar)
            and (part.fn in SHAPES or getattr(part.fn, "__module__", "") in (*light, ops.__name__)))
        for part in subexpressions(expr)
    )  # fmt: skip
