"""Lists of arrays in the order of a key: the compiler makes copies where Python's list holds the arrays themselves.

    rows = sorted(points, key=weight)       ordered = points[order]

That is the same as long as nobody writes into an item, by any name, nor into what the items were before as long as
they are read. A function is looked through once it is lowered; what cannot be told is refused. Replacing an item
(`rows[0] = new`) writes into no array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from s2sad.errors import AliasError, Span
from s2sad.frontend.values import IterV, V, Value, leaves_of
from s2sad.frontend.widening import written_places
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    Break,
    CallStmt,
    Continue,
    Expr,
    For,
    If,
    Index,
    Return,
    Stmt,
    Store,
    Swap,
    Var,
    While,
)
from s2sad.ir.types import Array, ListOf, Scalar
from s2sad.ir.views import is_item, view_base
from s2sad.ir.walk import exprs_of, map_blocks, reads, root_of

if TYPE_CHECKING:
    from s2sad.frontend.lowerer import Instance, Lowerer

_WHY = "Take the order of the keys, `order = np.argsort(keys)`, and write into `items[order[k]]`."


def sources(value: Value) -> list[Expr]:
    """Return the arrays, and lists of arrays, that the items of a value may be, or lie in."""
    if isinstance(value, IterV):
        return [name for part in value.parts for name in sources(part)]
    roots = [root_of(leaf) for leaf in leaves_of(value) if _holds_arrays(leaf)]
    return [root for root in roots if root is not None]


def _holds_arrays(leaf: Expr) -> bool:
    return isinstance(leaf.type, Array) or (isinstance(leaf.type, ListOf) and isinstance(leaf.type.item, Array))


def in_order(lw: Lowerer, items: V, order: Expr, of: list[Expr], node: Any) -> V:
    """Return arrays in an order, marked as copies of what may be written elsewhere."""
    from s2sad.frontend.indexing import lower_index

    taken = lower_index(lw, items, [order], node)
    assert isinstance(taken, V)
    kind = taken.expr.type
    if not isinstance(kind, Array) or len(kind.dims) < 2:
        return taken
    held = [*of, *(root for root in [root_of(items.expr)] if root is not None)]
    return V(lw.atom(Apply(ops.in_order, (items.expr, order, *held), kind), "ordered", lw.span(node)))


def without_marks(lw: Lowerer, instance: Instance, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Return a body without the marks, after looking at what is written.

    Raises:
        AliasError: something may be written that would be seen through an item, or the other way round.
    """
    walked = list(_walked(body))
    orders = [one for at in walked for one in _orders(at, lw)]
    if not orders:
        return body
    flows = [flow for at in walked for flow in _flows(at.stmt)]
    for one in orders:
        results = _closure({one.name}, flows)
        instance.in_order |= any(
            root_of(value) is not None and root_of(value).name in results  # type: ignore[union-attr]
            for at in walked if isinstance(at.stmt, Return) for value in at.stmt.values if _holds_arrays(value)
        )  # fmt: skip
        both = [*flows, *((b, a) for a, b in flows)]
        before = _closure(one.sources, both) - results
        for at in walked:
            written = {root.name for place in _written(lw, at.stmt) if (root := root_of(place)) is not None}
            if written & results or any(_reaches(walked, one, at, name, results) for name in written & before):
                raise AliasError(
                    "arrays in the order of a key are copies here, and something writes into them", one.span, _WHY
                )
    return tuple(_unmarked(stmt) for stmt in body)


@dataclass(frozen=True)
class _At:
    """A statement with its place in the text, and the statements around it."""

    place: int
    stmt: Stmt
    around: tuple[int, ...]
    loops: frozenset[int]


@dataclass(frozen=True)
class _Order:
    """Where arrays are put in order: the name that they get, and the names of what they may be."""

    at: _At
    name: str
    sources: set[str]
    span: Span


def _written(lw: Lowerer, stmt: Stmt) -> list[Expr]:
    """Return the places that a statement writes into; an item of a list that is replaced is none, nor is a number."""
    if isinstance(stmt, Swap) or (isinstance(stmt, Store) and _replaces(stmt)):
        return []
    try:
        return written_places(lw, stmt)
    except KeyError:  # by a function that is being lowered, further out: it may write into anything
        return list(stmt.args) if isinstance(stmt, CallStmt) else []


def _replaces(stmt: Store) -> bool:
    if isinstance(stmt.place, Index) and _lists_numbers(stmt.place.base):
        return True
    return not stmt.op and is_item(stmt.place)


def _lists_numbers(expr: Expr) -> bool:
    return isinstance(expr.type, ListOf) and isinstance(expr.type.item, Scalar)


def _walked(body: tuple[Stmt, ...]) -> Iterator[_At]:
    count = [0]

    def block(part: tuple[Stmt, ...], around: tuple[int, ...], loops: frozenset[int]) -> Iterator[_At]:
        for stmt in part:
            place = count[0]
            count[0] += 1
            yield _At(place, stmt, around, loops)
            inside = (*around, place)
            match stmt:
                case If(_, then, other):
                    yield from block(then, (*inside, 0), loops)
                    yield from block(other, (*inside, 1), loops)
                case For(body=inner) | While(body=inner):
                    yield from block(inner, inside, loops | {place})
                case _:
                    pass

    return block(body, (), frozenset())


def _orders(at: _At, lw: Lowerer) -> list[_Order]:
    """Return what a statement puts in order, itself or by a helper that returns it."""
    match at.stmt:
        case Assign(target, Apply(fn, (_, _, *held))) if fn is ops.in_order:
            return [_Order(at, target.name, {one.name for one in held if isinstance(one, Var)}, at.stmt.span)]
        case CallStmt(targets, callee, args):
            called = next((one for one in lw.ctx.instances.values() if one.name == callee), None)
            if called is None or not called.in_order:
                return []
            given = {root.name for arg in args if (root := root_of(arg)) is not None}
            return [_Order(at, t.name, given, at.stmt.span) for t in targets if isinstance(t.type, Array | ListOf)]
        case _:
            return []


def _flows(stmt: Stmt) -> list[tuple[str, str]]:
    """Return pairs of names: the memory of the first may be that of the second from this statement on."""
    match stmt:
        case Assign(_, Apply(fn, _)) if fn is ops.in_order:
            return []
        case Assign(target, value):
            base = view_base(value)
            return [] if base is None else [(base.name, target.name)]
        case CallStmt(targets, _, args):
            roots = [root.name for arg in args if (root := root_of(arg)) is not None]
            return [(root, t.name) for t in targets if isinstance(t.type, Array | ListOf) for root in roots]
        case Append(items, value) | Store(Index(Var(type=ListOf()) as items), "", value):
            root = root_of(value)
            return [] if root is None else [(root.name, items.name)]
        case Swap(first, second):
            return [(first.name, second.name), (second.name, first.name)]
        case _:
            return []


def _closure(names: set[str], flows: list[tuple[str, str]]) -> set[str]:
    found = set(names)
    while True:
        more = {to for of, to in flows if of in found} - found
        if not more:
            return found
        found |= more


def _reaches(walked: list[_At], one: _Order, write: _At, name: str, results: set[str]) -> bool:
    """Say whether a write into what the items were may come between putting them in order and reading one."""
    own, at = one.at.place, write.place
    follows = _follows(walked, write, one.at)
    if any(_makes_anew(made, name) and own < made.place < at and _leads_to(made, write) for made in walked):
        return False
    for read in walked:
        if read.place == own or not any(results & reads(expr) for expr in exprs_of(read.stmt)):
            continue
        both = write.loops & read.loops
        if at < read.place and (
            own < at
            or (own < read.place and write.loops & one.at.loops and not (_leads_to(one.at, read) or follows))
            or (read.place < own and both & one.at.loops)
        ):
            return True
        # From the write to the end of a loop, and from its head to what reads: on that way they may be put in order.
        passed = (own < read.place and _leads_to(one.at, read)) or follows
        if read.place <= at and any(not passed or loop not in one.at.loops for loop in both):
            return True
    return False


def _follows(walked: list[_At], first: _At, second: _At) -> bool:
    """Say whether the second statement is surely reached from the first, further on in the same turn."""
    between = (at.stmt for at in walked if first.place < at.place < second.place)
    leaves = any(isinstance(stmt, Break | Continue) for stmt in between)
    return first.place < second.place and _leads_to(second, first) and not leaves


def _makes_anew(at: _At, name: str) -> bool:
    stmt = at.stmt
    return isinstance(stmt, Assign) and stmt.target.name == name and view_base(stmt.value) is None


def _leads_to(first: _At, second: _At) -> bool:
    """Say whether the block of the first statement is around the second."""
    return second.around[: len(first.around)] == first.around


def _unmarked(stmt: Stmt) -> Stmt:
    match stmt:
        case Assign(_, Apply(fn, (items, order, *_), kind)) if fn is ops.in_order:
            return replace(stmt, value=Index(items, (order,), kind))
        case _:
            return map_blocks(stmt, lambda body: tuple(_unmarked(s) for s in body))


__all__ = ["in_order", "sources", "without_marks"]
