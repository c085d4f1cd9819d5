"""What the adjoint of the statements so far will read: names, and the places of arrays."""

from __future__ import annotations

from dataclasses import dataclass

from s2sad.ir.nodes import Const, Expr
from s2sad.ir.types import Static


@dataclass(frozen=True, slots=True)
class Need:
    """A place that the adjoint will read; `crossed`: loops whose later iterations have begun since.

    None stands for all of the array, `SHELL` for an array of its type and lengths, whatever is in it.
    """

    place: Expr | None
    crossed: frozenset[int] = frozenset()


SHELL = Const(None, Static(None))
Needs = dict[str, frozenset[Need]]


def union(a: Needs, b: Needs) -> Needs:
    """Return what either needs."""
    if not b:
        return a
    result = dict(a)
    for name, places in b.items():
        merged = result.get(name, frozenset()) | places
        whole = Need(None)
        if any(n.place is None for n in merged):
            crossed = frozenset[int]().union(*(n.crossed for n in merged if n.place is None))
            merged = frozenset({Need(None, crossed)}) if crossed else frozenset({whole})
        result[name] = merged
    return result
