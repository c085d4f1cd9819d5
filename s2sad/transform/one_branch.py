"""Two branches over one condition are one, where what stands between them may come before or after both.

    if n == 1:                          if n == 1:
        y = a[0]                            y = a[0]
    else:                                   a_bar[0] += y_bar
        ...                             else:
    if n == 1:              becomes         ...
        a_bar[0] += y_bar                   ...
    else:
        ...

The branch of a primal and that of its adjoint are such: what the adjoint needs is then still there.
"""

from __future__ import annotations

from dataclasses import replace

from s2sad.analysis.facts import written_by
from s2sad.analysis.ordering import Ordering, may_leave
from s2sad.analysis.pure import is_pure
from s2sad.frontend.operators import negate
from s2sad.ir.nodes import Effect, Function, If, Stmt, Store
from s2sad.ir.walk import bound, map_blocks, reads, root_of, statements


def with_one_branch(fn: Function, ordering: Ordering) -> Function:
    """Return `fn` with all such branches as one, inside of one another too."""

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        for first, one in enumerate(body):
            if isinstance(one, If):
                for second in range(first + 1, len(body)):
                    if (made := one_branch(body, first, second, ordering)) is not None:
                        return block(made)
        return tuple(map_blocks(s, block) for s in body)

    return replace(fn, body=block(fn.body))


def one_branch(body: tuple[Stmt, ...], first: int, second: int, ordering: Ordering) -> tuple[Stmt, ...] | None:
    """Return a block whose statements at two places, both branches, are one; None if they cannot be."""
    one, other = body[first], body[second]
    if not isinstance(one, If) or not isinstance(other, If):
        return None
    if other.test == one.test:
        sides = other.body, other.orelse
    elif negate(other.test) == one.test:
        sides = other.orelse, other.body
    else:
        return None
    between = body[first + 1 : second]
    if not is_pure(one.test):
        return None
    if any(isinstance(s, Effect) for s in statements(between)) or any(map(may_leave, (*between, one))):
        return None
    if _changes_its_condition(one, ordering):
        return None
    early, late = ordering.parted(between, one)
    if any(ordering.conflict(stmt, other) for stmt in late):
        return None
    made = replace(one, body=(*one.body, *sides[0]), orelse=(*one.orelse, *sides[1]))
    return (*body[:first], *early, made, *late, *body[second + 1 :])


def _changes_its_condition(one: If, ordering: Ordering) -> bool:
    inside = [s for part in (one.body, one.orelse) for s in statements(part)]
    changed = {n for s in inside for n in (*bound(s), *written_by(s, ordering.facts))}
    changed |= {root.name for s in inside if isinstance(s, Store) and (root := root_of(s.place)) is not None}
    return bool(ordering.groups.of(reads(one.test)) & ordering.groups.of(changed))


__all__ = ["one_branch", "with_one_branch"]
