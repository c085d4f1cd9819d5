"""Additions to an element that the same turn has set already: what stood there before is saved where it was set.

    for i in range(n):
        middle[i] = x[i]                      # saves the older `middle[i]`, if the adjoint reads it
        for r in range(s):
            middle[i] += h * a[s, r] * k[r, i]    # saves nothing

The adjoint of an addition does not read what it adds to; what it leaves in the element is put right where the
element was set, before anything looks at it. Guarantees: between the statement that sets the element and the
addition, nothing reads the array, or whatever may share its memory, and no index gets another value.
"""

from __future__ import annotations

from collections.abc import Callable

from s2sad.analysis.layout import TOP, Layout
from s2sad.analysis.sharing import Groups
from s2sad.ir.nodes import Expr, Function, Index, Slice, Stmt, Store, Var
from s2sad.ir.types import Scalar
from s2sad.ir.walk import blocks_of, bound, exprs_of, reads, statements, subexpressions


def renewed(
    fn: Function, layout: Layout, groups: Groups, read: Callable[[Stmt], bool], sets: Callable[[Stmt], bool]
) -> frozenset[int]:
    """Return the additions that have nothing to save.

    `read` says whether the adjoint reads the element that a statement leaves behind, `sets` whether the forward
    sweep runs it as it is.
    """
    found: set[int] = set()
    for stmt in statements(fn.body):
        if _is_addition(stmt) and sets(stmt) and not read(stmt):
            for block in layout.chain(layout.block_of[id(stmt)])[::-1]:
                body = fn.body if block == TOP else blocks_of(layout.owner[block])[block[1]]
                if _is_set_in(body, stmt, groups, read, sets):
                    found.add(id(stmt))
                    break
    return frozenset(found)


def _is_addition(stmt: Stmt) -> bool:
    return isinstance(stmt, Store) and stmt.op in ("+", "-") and isinstance(stmt.place, Index)


def _is_set_in(
    body: tuple[Stmt, ...], addition: Stmt, groups: Groups, read: Callable[[Stmt], bool], sets: Callable[[Stmt], bool]
) -> bool:
    """Say whether a statement of a block sets the element, and nothing reads the array from there to the addition."""
    assert isinstance(addition, Store)
    place = addition.place
    assert isinstance(place, Index)
    if not isinstance(place.base, Var) or not all(_is_counted(item) for item in place.index):
        return False
    at = next(k for k, s in enumerate(body) if any(part is addition for part in statements((s,))))
    group = groups.find(place.base.name)
    counted = {name for item in place.index for name in reads(item)}
    for stmt in body[at::-1]:
        if isinstance(stmt, Store) and stmt.place == place and not stmt.op:
            return sets(stmt) and not read(stmt) and group not in groups.read(stmt.value)
        for part in statements((stmt,)):
            if counted & _given(part) or _reads(part, place, group, groups):
                return False
    return False


def _reads(stmt: Stmt, place: Index, group: str, groups: Groups) -> bool:
    """Say whether a statement does anything with the array but add to the element."""
    if _is_addition(stmt) and isinstance(stmt, Store) and stmt.place == place:
        return group in groups.read(stmt.value)
    return group in groups.of(set(bound(stmt)).union(*(reads(expr) for expr in exprs_of(stmt))))


def _is_counted(item: Expr | Slice) -> bool:
    """Say whether an index is made of numbers alone: the elements of an array may change without its name."""
    return all(
        not isinstance(part, Index) and (not isinstance(part, Var) or isinstance(part.type, Scalar))
        for part in subexpressions(item)
    )


def _given(stmt: Stmt) -> set[str]:
    """Return the names of numbers that a statement gives another value."""
    return {*bound(stmt), *([stmt.place.name] if isinstance(stmt, Store) and isinstance(stmt.place, Var) else [])}
