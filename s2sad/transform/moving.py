"""Names for parts of one array that mean another part later: where the part lies is kept in numbers.

    cur, nxt = buf[0], buf[1]                  cur_at, nxt_at = 0, 1
    for _ in range(n):              becomes    for _ in range(n):
        nxt[:] = f(cur)                            buf[nxt_at, :] = f(buf[cur_at])
        cur, nxt = nxt, cur                        cur_at, nxt_at = nxt_at, cur_at

The reverse sweep then finds the part, and the same part of the adjoint, by numbers that it has. Needs: every
definition of the names, and of those that they are exchanged with, is an index of one array that keeps its buffer,
or, if that is made anew in each turn of a loop, the names have no meaning from one turn to the next.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from s2sad.analysis.alias import exact_aliases
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Assign, Const, Expr, For, Function, Index, Slice, Stmt, Swap, Var, While
from s2sad.ir.types import Array, ListOf, Scalar
from s2sad.ir.walk import blocks_of, bound, exprs_of, map_blocks, map_children, map_exprs, reads, statements
from s2sad.transform.naming import Namer

_WHOLE = Scalar("int64", weak=True)


def with_moving_places(fn: Function, namer: Namer) -> Function:
    """Return `fn` in which such names are written as the part of the array that they mean."""
    parts = _Parts(fn)
    fixed = exact_aliases(fn)
    moved: dict[str, _Place] = {}
    for group in parts.groups():
        if not group <= fixed.keys() and (index := parts.pattern(group)) is not None and parts.stay(group):
            moved.update({name: _Place.of(name, parts.root(name), index, namer) for name in sorted(group)})
    return replace(fn, body=_rewritten(fn.body, moved, namer)) if moved else fn


class _Parts:
    """The names that are parts of one array at each of their definitions."""

    def __init__(self, fn: Function) -> None:
        self.fn = fn
        self.definitions: dict[str, list[Stmt]] = {}
        for stmt in statements(fn.body):
            for name in bound(stmt):
                self.definitions.setdefault(name, []).append(stmt)
        repeated = {
            name for loop in statements(fn.body) if isinstance(loop, For | While)
            for stmt in statements(loop.body) for name in bound(stmt)
        }  # fmt: skip
        params = {p.name for p in fn.params}
        once = {
            name for name, made in self.definitions.items()
            if len(made) == 1 and isinstance(made[0], Assign) and name not in params
        }  # fmt: skip
        self.renewed = once & repeated
        self.steady = once | (params - self.definitions.keys())
        self.names = {name for name in self.definitions if name not in params and self._is_part(name)}
        while unfit := {name for name in self.names if not self._linked(name) <= self.names}:
            self.names -= unfit

    def _is_part(self, name: str) -> bool:
        for stmt in self.definitions[name]:
            match stmt:
                case Assign(Var(_, Array()), Var()) | Swap():
                    continue
                case Assign(Var(_, Array()), Index(Var(base), index)) if base in self.steady and _is_plain(index):
                    continue
                case _:
                    return False
        return True

    def _linked(self, name: str) -> set[str]:
        """Return the names that one gets its part from."""
        found: set[str] = set()
        for stmt in self.definitions[name]:
            match stmt:
                case Assign(_, Var(other)):
                    found.add(other)
                case Swap(first, second):
                    found |= {first.name, second.name}
                case _:
                    pass
        return found

    def groups(self) -> list[set[str]]:
        """Return the names that share their parts with each other, together."""
        found: list[set[str]] = []
        for name in sorted(self.names):
            met = [group for group in found if group & (self._linked(name) | {name})]
            found = [group for group in found if group not in met]
            found.append({name, *self._linked(name)}.union(*met))
        return found

    def _indices(self, group: set[str]) -> Iterator[tuple[str, tuple[Any, ...]]]:
        for name in sorted(group):
            for stmt in self.definitions[name]:
                if isinstance(stmt, Assign) and isinstance(stmt.value, Index) and isinstance(stmt.value.base, Var):
                    yield stmt.value.base.name, stmt.value.index

    def pattern(self, group: set[str]) -> tuple[Any, ...] | None:
        """Return the index of a group with None for each number that differs, or None if the forms do."""
        found = list(self._indices(group))
        if len({base for base, _ in found}) != 1 or len({_form(index) for _, index in found}) != 1:
            return None
        return found[0][1]

    def stay(self, group: set[str]) -> bool:
        """Say whether names mean parts of the array that is there now: each is bound after that is made, before use."""
        root = self.root(min(group)).name
        if root not in self.renewed:
            return True
        rest = _after(self.fn.body, self.definitions[root][0])
        inside = {id(stmt) for stmt in statements(rest)}
        using = [stmt for stmt in statements(self.fn.body) if not group.isdisjoint(_names(stmt))]
        return all(id(stmt) in inside for stmt in using) and all(_begins(rest, name) for name in group)

    def root(self, name: str) -> Var:
        """Return the array that a name, or one it gets its part from, is a part of."""
        seen, open_ = {name}, [name]
        while open_:
            for stmt in self.definitions[at := open_.pop()]:
                if isinstance(stmt, Assign) and isinstance(stmt.value, Index) and isinstance(stmt.value.base, Var):
                    return stmt.value.base
            new = self._linked(at) - seen
            seen |= new
            open_ += sorted(new)
        raise AssertionError(name)


def _after(body: tuple[Stmt, ...], stmt: Stmt) -> tuple[Stmt, ...]:
    """Return what follows a statement in its block."""
    for at, one in enumerate(body):
        if one is stmt:
            return body[at + 1 :]
        for block in blocks_of(one):
            if found := _after(block, stmt):
                return found
    return ()


def _names(stmt: Stmt) -> set[str]:
    return {name for expr in exprs_of(stmt) for name in reads(expr)} | set(bound(stmt))


def _begins(block: tuple[Stmt, ...], name: str) -> bool:
    """Say whether a name gets a value in a block before anything in it uses the name."""
    first = next((s for s in block if any(name in _names(one) for one in statements((s,)))), None)
    return isinstance(first, Assign) and first.target.name == name and name not in reads(first.value)


def _is_plain(index: tuple[Any, ...]) -> bool:
    """Say whether an index is made of whole numbers and of slices without a step."""
    return all(item.step is None if isinstance(item, Slice) else item.type == _whole(item) for item in index)


def _whole(item: Expr) -> Any:
    kind = item.type
    return kind if isinstance(kind, Scalar) and kind.dtype == "int64" else None


def _form(index: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple("slice" if isinstance(item, Slice) else "at" for item in index)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a name lies: the array, and the numbers of its index."""

    base: Var
    numbers: tuple[Any, ...]
    """For each index its number, or the two of a slice."""

    @staticmethod
    def of(name: str, base: Var, index: tuple[Any, ...], namer: Namer) -> _Place:
        def number(word: str) -> Var:
            return Var(namer.fresh(f"{name}_{word}"), _WHOLE)

        return _Place(base, tuple(
            (number("start"), number("stop")) if isinstance(item, Slice) else number("at") for item in index
        ))  # fmt: skip

    def index(self, kind: Any) -> Index:
        """Return the part as an expression."""
        items = (Slice(n[0], n[1], None) if isinstance(n, tuple) else n for n in self.numbers)
        return Index(self.base, tuple(items), kind)

    def flat(self) -> list[Var]:
        """Return the numbers one after another."""
        return [n for number in self.numbers for n in (number if isinstance(number, tuple) else (number,))]

    def told(self, index: tuple[Any, ...]) -> list[Expr]:
        """Return the values of the numbers for one definition."""
        found: list[Expr] = []
        for axis, item in enumerate(index):
            if isinstance(item, Slice):
                found.append(literal(0) if item.lower is None else item.lower)
                found.append(build(ops.dim, self.base, literal(axis)) if item.upper is None else item.upper)
            elif isinstance(self.base.type, ListOf) and isinstance(item, Const) and item.value < 0:
                found.append(build(operator.add, build(ops.length, self.base), item))  # the list may grow
            else:
                found.append(item)
        return found


def _rewritten(body: tuple[Stmt, ...], moved: dict[str, _Place], namer: Namer) -> tuple[Stmt, ...]:
    def expr(old: Any) -> Any:
        if isinstance(old, Var) and old.name in moved:
            return moved[old.name].index(old.type)
        new = map_children(old, expr)
        if isinstance(old, Index) and isinstance(old.base, Var) and old.base.name in moved:
            return _joined(new)
        return new

    def each(stmt: Stmt) -> list[Stmt]:
        match stmt:
            case Assign(Var(name), Index(_, index)) if name in moved:
                place = moved[name]
                given = [_with(value, expr) for value in place.told(index)]
                return [Assign(n, v, stmt.span) for n, v in zip(place.flat(), given, strict=True)]
            case Assign(Var(name), Var(other)) if name in moved:
                pairs = zip(moved[name].flat(), moved[other].flat(), strict=True)
                return [Assign(n, other, stmt.span) for n, other in pairs]
            case Swap(first, second) if first.name in moved:
                made: list[Stmt] = []
                for a, b in zip(moved[first.name].flat(), moved[second.name].flat(), strict=True):
                    kept = Var(namer.fresh(f"{a.name}_kept"), _WHOLE)
                    made += [Assign(kept, a, stmt.span), Assign(a, b, stmt.span), Assign(b, kept, stmt.span)]
                return made
            case _:
                new = map_exprs(stmt, expr)
                return [map_blocks(new, lambda inner: tuple(s for one in inner for s in each(one)))]

    return tuple(s for stmt in body for s in each(stmt))


def _joined(place: Index) -> Index:
    """Write `buf[at][i]` as `buf[at, i]`, an item of an array that a list holds as it is."""
    row = place.base
    assert isinstance(row, Index)
    if isinstance(row.base.type, ListOf):
        return place
    rows = all(not isinstance(item, Slice) for item in row.index)
    return Index(row.base, (*row.index, *place.index), place.type) if rows and _is_plain(place.index) else place


def _with(value: Expr, expr: Any) -> Expr:
    return value if isinstance(value, Const) else expr(value)
