"""What one turn of a loop keeps for itself needs no place for each turn: an axis less, or a plain name.

    z_tape = np.empty(n)                          for i in range(n):
    for i in range(n):                                ...
        ...                                           z_kept = z
        z_tape[i] = z               becomes           ...
        ...                                           z = z_kept
        z = z_tape[i]

The passes that come after take such names away where they say nothing.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.loops import filled_by, popped_from
from s2sad.analysis.sharing import Groups
from s2sad.frontend.values import pack
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    Break,
    Const,
    Continue,
    Expr,
    For,
    Function,
    If,
    Index,
    Pack,
    Raise,
    Return,
    Slice,
    Stmt,
    Store,
    Var,
    While,
)
from s2sad.ir.types import Array, ListOf, Scalar, rank
from s2sad.ir.walk import (
    blocks_of,
    bound,
    exprs_of,
    is_const,
    map_blocks,
    map_children,
    map_exprs,
    names_in,
    reads,
    statements,
    subexpressions,
)
from s2sad.transform.filled import is_length
from s2sad.transform.naming import Namer
from s2sad.transform.stepping import forwards

Stays = Callable[[str, tuple[Stmt, ...]], bool]
"""Says of the name of an array whether statements leave what is in it, so that it needs no copy."""


def contracted(fn: Function, loop: For, tapes: frozenset[str], facts: Facts) -> Function:
    """Return `fn` with as little kept as one turn of `loop` needs; `tapes` are used by its turns each for itself."""
    namer = Namer(names_in(fn.body) | {p.name for p in fn.params})
    groups = Groups(fn, facts)

    def stays(value: str, later: tuple[Stmt, ...]) -> bool:
        return not groups.of({value}) & groups.of({n for s in statements(later) for n in written_by(s, facts)})

    everywhere, inside = _uses(fn.body), _uses(loop.body)
    for name in sorted(tapes):
        made = [s for s in statements(fn.body) if isinstance(s, Assign) and s.target.name == name]
        if len(made) != 1 or everywhere[name] != inside[name]:
            continue
        new = _as_name(loop, name, made[0], namer, stays)
        if new is not None:
            fn = replace(fn, body=_put(fn.body, {id(loop): new, id(made[0]): None}))
            loop = new
    return _Narrow(fn, loop, tapes).made()


_EVERY = Slice(None, None, None)


class _Narrow:
    """Takes the axis that a loop counts along from the arrays that its turns use each for itself."""

    def __init__(self, fn: Function, loop: For, tapes: frozenset[str]) -> None:
        self.fn, self.loop = fn, loop
        self.around = _loops_around(fn.body)
        self.every = list(statements(fn.body))
        self.inside = {id(s) for s in statements(loop.body)}
        self.creations: dict[str, Assign] = {}
        self.left: set[str] = set()
        """Arrays in which a turn may find what an earlier run of the loop has left, unless it sets them first."""
        self.bindings = Counter(name for s in self.every for name in bound(s))
        for stmt in self.every:
            if isinstance(stmt, Assign) and self.bindings[stmt.target.name] == 1 and _is_creation(stmt):
                if stmt.target.name in tapes or self._runs_between(stmt) is not None:
                    self.creations[stmt.target.name] = stmt
        for param in fn.params:
            self.creations.pop(param.name, None)

    def made(self) -> Function:
        """Return the function with fewer axes, as many arrays at once as hang together."""
        axes = {name: axis for name in self.creations if (axis := self._axis(name)) is not None}
        while axes:
            lost = [name for name in axes if not self._holds(name, axes)]
            if lost:
                axes = {name: axis for name, axis in axes.items() if name not in lost}
                continue
            made, loop = self._without(axes)
            found = self.left & axes.keys()
            if lost := [name for name in found if not self._begins_anew(loop.body, name, axes[name])]:
                axes = {name: axis for name, axis in axes.items() if name not in lost}
                continue
            unset = [name for name in sorted(axes) if self._needs_zeros(name) and not _ends_at_zero(loop.body, name)]
            cleared = tuple(self._cleared(name, axes[name]) for name in unset)
            return replace(made, body=_put(made.body, {id(loop): replace(loop, body=(*cleared, *loop.body))}))
        return self.fn

    def _cleared(self, name: str, axis: int) -> Store:
        """Set to zero what a turn begins with, in place of an array of zeros for all turns."""
        made = self.creations[name]
        kind = _less(made.target.type, axis)
        place = Index(Var(name, kind), (_EVERY,) * len(kind.dims), kind)
        return Store(place, "", Const(0.0, Scalar(kind.dtype)), made.span)

    def _axis(self, name: str) -> int | None:
        kind = self.creations[name].target.type
        assert isinstance(kind, Array)
        if len(kind.dims) < 2 or id(self.creations[name]) in self.inside:
            return None
        parts = [p for s in statements(self.loop.body) for e in exprs_of(s) for p in subexpressions(e)]
        places = [p for p in parts if isinstance(p, Index) and isinstance(p.base, Var) and p.base.name == name]
        uses = sum(isinstance(p, Var) and p.name == name for p in parts)
        if uses != len(places) or any(len(place.index) != len(kind.dims) for place in places):
            return None
        between = self._runs_between(self.creations[name])
        if between is None:
            return None
        if any(common_axis(places, outer) is None for outer in between):
            self.left.add(name)
        return common_axis(places, self.loop)

    def _begins_anew(self, turn: tuple[Stmt, ...], name: str, axis: int) -> bool:
        """Say whether a turn reads nothing of an array that it has not set, or finds zeros and leaves them."""
        if self._needs_zeros(name):
            return _ends_at_zero(turn, name)
        kind = _less(self.creations[name].target.type, axis)
        sizes = self._sizes(name)
        return _Filling(name, kind, sizes[:axis] + sizes[axis + 1 :], turn).comes_first()

    def _sizes(self, name: str) -> tuple[Expr, ...]:
        """Return the lengths that an array is made with, as far as they are names that are bound once."""
        made = self.creations[name]
        like = _like(made)
        if like is not None:
            return self._sizes(like) if like in self.creations else (made.value,) * rank(made.target.type)
        assert isinstance(made.value, Apply) and isinstance(made.value.args[0], Pack)
        known = {n for n, count in self.bindings.items() if count == 1} - {p.name for p in self.fn.params}
        return tuple(size if reads(size) <= known else made.value for size in made.value.args[0].items)

    def _runs_between(self, creation: Assign) -> list[For] | None:
        """Return the loops that run the loop more than once after something is made; None where others do."""
        made, here = self.around[id(creation)], self.around[id(self.loop)]
        between = here[len(made) :]
        apart = any(a is not b for a, b in zip(made, here, strict=False)) or len(made) > len(here)
        if apart or any(isinstance(one, While) for one in between):
            return None
        return [one for one in between if isinstance(one, For)]

    def _holds(self, name: str, axes: dict[str, int]) -> bool:
        """Say whether all that is done with the array elsewhere is to make others of its shape, narrowed too."""
        creation = self.creations[name]
        like = _like(creation)
        if like is not None and axes.get(like) != axes[name]:
            return False
        for stmt in self.every:
            if id(stmt) in self.inside or stmt is creation or name not in {n for e in exprs_of(stmt) for n in reads(e)}:
                continue
            target = stmt.target.name if isinstance(stmt, Assign) else ""
            narrowed = self.creations.get(target)
            if narrowed is None or narrowed is not stmt or _like(narrowed) != name:
                return False
            if axes.get(target) != axes[name]:
                return False
        return True

    def _needs_zeros(self, name: str) -> bool:
        value = self.creations[name].value
        return isinstance(value, Apply) and value.fn in (np.zeros, np.zeros_like)

    def _without(self, axes: dict[str, int]) -> tuple[Function, For]:
        kinds = {name: _less(self.creations[name].target.type, axis) for name, axis in axes.items()}
        created = {id(self.creations[name]): name for name in axes}

        def read(expr: Any) -> Any:
            if isinstance(expr, Index) and isinstance(expr.base, Var) and expr.base.name in axes:
                axis = axes[expr.base.name]
                index = tuple(read(item) for item in expr.index[:axis] + expr.index[axis + 1 :])
                var = Var(expr.base.name, kinds[expr.base.name])
                return var if all(item == _EVERY for item in index) else Index(var, index, expr.type)
            return map_children(expr, read)

        def each(stmt: Stmt) -> Stmt:
            name = created.get(id(stmt))
            if name is not None:
                assert isinstance(stmt, Assign)
                return _narrow_creation(stmt, axes[name], kinds)
            place = read(stmt.place) if isinstance(stmt, Store) else None
            if isinstance(stmt, Store) and isinstance(place, Var) and not isinstance(stmt.place, Var):
                return replace(stmt, place=Index(place, (_EVERY,), place.type), value=read(stmt.value))
            return map_blocks(map_exprs(stmt, read), lambda body: tuple(each(s) for s in body))

        loop = each(self.loop)
        assert isinstance(loop, For)
        at = {id(self.loop): loop}

        def whole(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
            return tuple(at.get(id(s)) or (each(s) if id(s) in created else map_blocks(s, whole)) for s in body)

        return replace(self.fn, body=whole(self.fn.body)), loop


def _loops_around(body: tuple[Stmt, ...], loops: tuple[Stmt, ...] = ()) -> dict[int, tuple[Stmt, ...]]:
    """Return for every statement the loops that it stands in."""
    found: dict[int, tuple[Stmt, ...]] = {}
    for stmt in body:
        found[id(stmt)] = loops
        inner = (*loops, stmt) if isinstance(stmt, For | While) else loops
        for block in blocks_of(stmt):
            found |= _loops_around(block, inner)
    return found


def _is_creation(stmt: Assign) -> bool:
    value, kind = stmt.value, stmt.target.type
    if not isinstance(value, Apply) or not isinstance(kind, Array) or len(value.args) != 1:
        return False
    if value.fn in (np.empty, np.zeros):
        return isinstance(value.args[0], Pack) and len(value.args[0].items) == len(kind.dims)
    return value.fn in (np.empty_like, np.zeros_like) and isinstance(value.args[0], Var)


def _like(stmt: Assign) -> str | None:
    """Return the array that another is made in the shape of."""
    value = stmt.value.args[0] if isinstance(stmt.value, Apply) else None
    return value.name if isinstance(value, Var) else None


def _less(kind: Any, axis: int) -> Array:
    return Array(kind.dtype, kind.dims[:axis] + kind.dims[axis + 1 :], "C")


def _narrow_creation(stmt: Assign, axis: int, kinds: dict[str, Array]) -> Assign:
    value, kind = stmt.value, kinds[stmt.target.name]
    assert isinstance(value, Apply)
    like = _like(stmt)
    if like is not None:
        size: Expr = Var(like, kinds[like])
    else:
        (given,) = value.args
        assert isinstance(given, Pack)
        items = given.items[:axis] + given.items[axis + 1 :]
        size = items[0] if len(items) == 1 else pack("tuple", list(items))
    return replace(stmt, target=Var(stmt.target.name, kind), value=Apply(value.fn, (size,), kind, value.static))


def _ends_at_zero(body: tuple[Stmt, ...], name: str) -> bool:
    """Say whether a block leaves zero in every item of an array that it has found so."""
    last = next((s for s in reversed(body) if _meets(s, name)), None)
    return isinstance(last, For) and name in filled_by(_forwards(last)) and _stores_zero_last(last.body, name)


class _Filling:
    """Whether a turn sets what it uses of an array before it reads it."""

    def __init__(self, name: str, kind: Array, sizes: tuple[Expr, ...], turn: tuple[Stmt, ...]) -> None:
        self.name, self.kind, self.sizes, self.turn = name, kind, sizes, turn
        self.inner = {n for s in statements(turn) for n in bound(s)}

    def comes_first(self) -> bool:
        """Say so; all uses have one index along an axis, or loops that set the elements count along it."""
        parts = self._parts(self.turn)
        steady = {
            axis: parts[0].index[axis] for axis in range(len(self.kind.dims))
            if len({p.index[axis] for p in parts}) == 1 and not reads(parts[0].index[axis]) & self.inner
        }  # fmt: skip
        return self._first(self.turn, steady)

    def _first(self, body: tuple[Stmt, ...], fixed: dict[int, Any]) -> bool:
        if any(part.index[axis] != item for part in self._parts(body) for axis, item in fixed.items()):
            return False
        first = next(s for s in body if _meets(s, self.name))
        if isinstance(first, Store):
            places = first.place, first.value
            sets = not first.op and _is_part(first.place, self.name) and len(fixed) == len(self.kind.dims)
            return sets and sum(len(self._parts_of(e)) for e in places) == 1
        if not isinstance(first, For) or first.var.name in {n for s in statements(first.body) for n in bound(s)}:
            return False
        if any(isinstance(s, Break | Continue | Return | Raise) for s in statements(first.body)):
            return False
        stored = [s.place for s in statements(first.body) if isinstance(s, Store) and _is_part(s.place, self.name)]
        along = [axis for axis, item in enumerate(stored[0].index) if item == first.var] if stored else []
        if len(along) != 1 or not self._runs_over(_forwards(first), along[0]):
            return False
        return self._first(first.body, {**fixed, along[0]: first.var})

    def _runs_over(self, loop: For, axis: int) -> bool:
        whole = is_const(loop.start, 0) and is_const(loop.step, 1)
        return whole and (loop.stop == self.sizes[axis] or is_length(loop.stop, self.kind.dims[axis]))

    def _parts(self, body: tuple[Stmt, ...]) -> list[Index]:
        return [part for s in statements(body) for e in exprs_of(s) for part in self._parts_of(e)]

    def _parts_of(self, expr: Expr) -> list[Index]:
        return [part for part in subexpressions(expr) if _is_part(part, self.name)]


def _forwards(loop: For) -> For:
    """Return a loop with all loops inside counting up, where the order is not asked for."""

    def each(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(_forwards(s) if isinstance(s, For) else map_blocks(s, each) for s in body)

    ahead = forwards(loop) or loop
    return replace(ahead, body=each(ahead.body))


def _stores_zero_last(body: tuple[Stmt, ...], name: str) -> bool:
    last = next((s for s in reversed(body) if _meets(s, name)), None)
    if isinstance(last, For):
        return _stores_zero_last(last.body, name)
    return isinstance(last, Store) and not last.op and is_const(last.value, 0)


def _meets(stmt: Stmt, name: str) -> bool:
    return any(name in reads(e) for s in statements((stmt,)) for e in exprs_of(s))


def _uses(body: tuple[Stmt, ...]) -> Counter[str]:
    parts = (p for stmt in statements(body) for e in exprs_of(stmt) for p in subexpressions(e))
    return Counter(part.name for part in parts if isinstance(part, Var))


def _put(body: tuple[Stmt, ...], new: dict[int, Stmt | None]) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for stmt in body:
        put = new.get(id(stmt), stmt)
        if put is not None:
            out.append(put if id(stmt) in new else map_blocks(put, lambda inner: _put(inner, new)))
    return tuple(out)


def _as_name(loop: For, name: str, made: Assign, namer: Namer, stays: Stays) -> For | None:
    """Return the loop with a name for what is kept once in a turn, in the turn's own block or in that of a branch."""
    kind = made.target.type
    item = kind.item if isinstance(kind, ListOf) else Scalar(kind.dtype) if isinstance(kind, Array) else None
    if item is None:
        return None
    kept = [stmt for stmt in statements(loop.body) if _keeps(stmt, name)]
    taken = [stmt for stmt in statements(loop.body) if isinstance(kind, ListOf) and _takes(stmt, name)]
    home = _home(loop.body, name)
    if len(kept) != 1 or kept[0] not in home or len(taken) > 1 or any(t not in home for t in taken):
        return None
    (stmt,) = kept
    assert isinstance(stmt, Append | Store)
    if not _is_empty(made) or not _comes_first(stmt, name, home):
        return None
    if isinstance(kind, Array) and getattr(stmt.value.type, "dtype", None) != kind.dtype:
        return None  # a store converts
    if isinstance(kind, Array) and len(kind.dims) > 1:
        places = [p for s in statements(loop.body) for e in exprs_of(s) for p in subexpressions(e) if _is_part(p, name)]
        if any(len(place.index) != 1 for place in places) or rank(stmt.value.type) != len(kind.dims) - 1:
            return None
        later = home[next(k for k, s in enumerate(home) if s is stmt) + 1 :]
        if not isinstance(stmt.value, Var) or not stays(stmt.value.name, later):
            return None
        item = stmt.value.type
    var = Var(namer.fresh(f"{name.removesuffix('_tape')}_kept"), stmt.value.type if isinstance(kind, ListOf) else item)

    def each(inner: Stmt) -> Stmt:
        if inner is stmt:
            return Assign(var, stmt.value, stmt.span)
        if isinstance(inner, Assign) and _takes(inner, name):
            return replace(inner, value=var)
        return map_blocks(map_exprs(inner, read), lambda body: tuple(each(s) for s in body))

    def read(expr: Any) -> Any:
        return var if _is_part(expr, name) else map_children(expr, read)

    return replace(loop, body=tuple(each(inner) for inner in loop.body))


def _home(body: tuple[Stmt, ...], name: str) -> tuple[Stmt, ...]:
    """Return the block of a turn, or of branches in it, outside which nothing meets an array or a list."""
    met = [s for s in body if any(_meets(inner, name) for inner in statements((s,)))]
    if len(met) != 1 or not isinstance(met[0], If) or name in reads(met[0].test):
        return body
    blocks = [b for b in blocks_of(met[0]) if any(_meets(inner, name) for inner in statements(b))]
    return _home(blocks[0], name) if len(blocks) == 1 else body


def _is_part(expr: Any, name: str) -> TypeGuard[Index]:
    return isinstance(expr, Index) and isinstance(expr.base, Var) and expr.base.name == name


def _is_empty(made: Assign) -> bool:
    """Say whether an array or a list is made with nothing in it yet."""
    return isinstance(made.value, Apply) and made.value.fn in (np.empty, np.empty_like, ops.new_list)


def _comes_first(stmt: Append | Store, name: str, body: tuple[Stmt, ...]) -> bool:
    """Say whether a statement of a block is the first that meets an array or a list, which it does not read."""
    adds = isinstance(stmt, Store) and stmt.op
    return not adds and name not in reads(stmt.value) and next(s for s in body if _meets(s, name)) is stmt


def _keeps(stmt: Stmt, name: str) -> bool:
    if isinstance(stmt, Append):
        return stmt.list.name == name
    return isinstance(stmt, Store) and _is_part(stmt.place, name)


def _takes(stmt: Stmt, name: str) -> bool:
    items = popped_from(stmt)
    return items is not None and items.name == name


def common_axis(places: list[Index], loop: For) -> int | None:
    """Return the axis along which all places have one index that is another for every turn of the loop."""
    rank = min((len(place.index) for place in places), default=0)
    for axis in range(rank):
        items = {place.index[axis] for place in places}
        if len(items) == 1 and _counts(items.pop(), loop):
            return axis
    return None


def _counts(item: Any, loop: For) -> bool:
    """Say whether an index is another place for every turn: the counter, or it less the start, never below zero."""
    step = loop.step.value if isinstance(loop.step, Const) else 0
    offset = 0
    if isinstance(item, Apply) and item.fn in (operator.sub, operator.add) and item.args[0] == loop.var:
        by = item.args[1]
        if step > 0 and item.fn is operator.sub and by == loop.start:
            return True
        if not isinstance(by, Const):
            return False
        offset = by.value if item.fn is operator.add else -by.value
        item = loop.var
    least = loop.start if step > 0 else loop.stop
    if item != loop.var or not step or not isinstance(least, Const) or not isinstance(offset, int):
        return False
    return least.value + offset + (step < 0) >= 0  # `x[i - 5]` may be the place of another turn, counted from the end
