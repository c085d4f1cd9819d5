"""Target "cpu": an array in which a helper works is made once, by the caller whose loop calls the helper in every turn.

    def slope_bwd(x, x_bar, y_bar):                def slope_bwd(x, x_bar, y_bar, parts):
        parts = np.zeros(x_bar.shape[0] + 1)           for i in range(x.size - 1):
        for i in range(x.size - 1):       becomes          parts[i + 1] = x[i] * y_bar[i]
            parts[i + 1] = x[i] * y_bar[i]             ...
        ...
                                                   parts = np.zeros(x.shape[0] + 1)
    for step in range(steps):                      for step in range(steps):
        slope_bwd(x, x_bar, y_bar)                     slope_bwd(x, x_bar, y_bar, parts)

To make two arrays costs as much as the adjoint of a system of twenty equations. Needs: the helper is the adjoint or
tangent of the user's function, not that function itself; it makes the array on every path, does not keep it, and the
lengths are those of what it is given. Zeros are made once where every call writes the same elements before it
reads any, as the lengths that say which are the same too; elsewhere every call fills the array.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from s2sad.analysis.facts import Facts
from s2sad.analysis.sharing import Groups
from s2sad.emit.at_once import shares_in
from s2sad.emit.lanes import EVERY, sizes_in
from s2sad.emit.workspaces import copying, creation_in, filled_in, is_arithmetic, is_natural, may_be_kept
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal, pack
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Apply,
    Assign,
    CallStmt,
    Comment,
    Const,
    Expr,
    For,
    Function,
    Index,
    Param,
    Slice,
    Stmt,
    Store,
    Var,
    While,
)
from s2sad.ir.shapes import LIKE
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import blocks_of, bound, exprs_of, map_blocks, map_children, reads, root_of, statements, targets
from s2sad.transform.inlined import recursive
from s2sad.transform.naming import Namer
from s2sad.transform.together import taken_in

_MOST = 6  # arrays that a helper is lent


@dataclass(frozen=True, slots=True)
class _Room:
    """An array in which a function works: its name there, its lengths in terms of parameters, whether it stays zero.

    `deciding`: the lengths that say which of its elements are set.
    """

    name: str
    sizes: tuple[Expr, ...]
    zeros: bool
    deciding: tuple[Expr, ...] = ()


def lent(functions: dict[str, Function], own: Collection[str], entry: str) -> dict[str, Function]:
    """Return a program with such arrays made by callers; `functions` stand callees first, `own` are the user's."""
    called, beside = _called_in_loops(functions, entry), shares_in(functions)
    found: dict[str, tuple[_Room, ...]] = {}
    made: dict[str, Function] = {}
    for name, fn in functions.items():
        fn = _Lender(fn, functions, found).run() if any(found.get(_callee(s)) for s in statements(fn.body)) else fn
        if name in called and name not in beside and name not in own and not recursive(name, functions.__getitem__):
            fn, found[name] = _borrowing(fn, Facts({**functions, **made, name: fn}))
        made[name] = fn
    return made


def _callee(stmt: Stmt) -> str:
    return stmt.callee if isinstance(stmt, CallStmt) and stmt.fn is None else ""


def _called_in_loops(functions: Mapping[str, Function], entry: str) -> set[str]:
    """Return the functions that are called more often than the entry: in a loop, or by one that is."""
    sites: list[tuple[str, str, bool]] = []

    def look(name: str, body: tuple[Stmt, ...], looped: bool) -> None:
        for stmt in body:
            sites.extend([(name, _callee(stmt), looped)] if _callee(stmt) in functions else [])
            for block in blocks_of(stmt):
                look(name, block, looped or isinstance(stmt, For | While))

    for name, fn in functions.items():
        look(name, fn.body, False)
    found: set[str] = set()
    while more := {callee for caller, callee, looped in sites if looped or caller in found} - found:
        found |= more
    return found - {entry}


# ---- the helper ----


def _borrowing(fn: Function, facts: Facts) -> tuple[Function, tuple[_Room, ...]]:
    """Return a function that is given the arrays in which it works, and what they are."""
    if any(param.default is not None for param in fn.params) or not any(map(_making, fn.body)):
        return fn, ()
    groups = Groups(fn, facts)
    shared = {groups.find(name) for name in groups.parent}
    times = Counter(name for s in statements(fn.body) for name in bound(s))
    steady = {p.name for p in fn.params if isinstance(p.type, Array) and not times[p.name]}
    namer = Namer(taken_in(fn))
    rooms: list[_Room] = []
    body: list[Stmt] = []
    for stmt in fn.body:
        made = _making(stmt)
        if made is None or len(rooms) == _MOST or times[made[0].name] > 1 or made[2].dtype != "float64":
            body.append(stmt)
            continue
        target, value, kind = made
        sizes = _sizes(value, kind, steady, rooms)
        if sizes is None or kind.layout != "C" or groups.find(target.name) in shared or may_be_kept(target, fn.body):
            body.append(stmt)
            continue
        if value.fn is np.copy:
            body.append(copying(target, value.args[0], namer, stmt.span))
        zeros = value.fn in (np.zeros, np.zeros_like)
        deciding = _written_alike(target, fn.body, steady, times) if zeros else None
        if zeros and deciding is None:
            whole = Index(target, tuple(EVERY for _ in kind.dims), kind)
            body.append(Store(whole, "", literal(0.0), stmt.span))
        rooms.append(_Room(target.name, sizes, deciding is not None, _lengths_of(deciding or (), fn)))
    if not rooms:
        return fn, ()
    kinds = {made[0].name: made[2] for s in fn.body if (made := _making(s)) is not None}
    params = (*fn.params, *(Param(room.name, kinds[room.name]) for room in rooms))
    names = ", ".join(f"`{room.name}`" for room in rooms)
    doc = f"{fn.doc.rstrip('.')}; {names}: room to work in." if fn.doc else ""
    return replace(fn, params=params, body=tuple(body), doc=doc), tuple(rooms)


def _making(stmt: Stmt) -> tuple[Var, Apply, Array] | None:
    """Return the name, the call and the type, if a statement makes an array that is empty, zero or a copy."""
    made = creation_in(stmt) or filled_in(stmt)
    return made if made is not None and made[1].fn is not np.array else None


def _sizes(value: Apply, kind: Array, steady: Collection[str], rooms: list[_Room]) -> tuple[Expr, ...] | None:
    """Return the lengths of an array, if those of parameters give them."""
    size = value.args[0]
    like = value.fn in LIKE or value.fn is np.copy
    sizes = [build(ops.dim, size, literal(axis)) for axis in range(len(kind.dims))] if like else sizes_in(size)
    sizes = [_of_axes(one, {room.name: room.sizes for room in rooms}) for one in sizes]
    fits = len(sizes) == len(kind.dims) and all(
        is_arithmetic(one) and reads(one) <= set(steady) and is_natural(one, {}) for one in sizes
    )
    return tuple(sizes) if fits and all(_is_of_axes(one) for one in sizes) else None


def _of_axes(size: Expr, rooms: Mapping[str, tuple[Expr, ...]]) -> Expr:
    """Return a length with `x.size` as the length of the one axis, and those of `rooms` in terms of parameters."""
    match size:
        case Apply(fn, (Var(name), Const(int(axis)))) if fn is ops.dim and name in rooms:
            return rooms[name][axis]
        case Apply(fn, (Var(_, Array(_, (_,))) as array,)) if fn is ops.size:
            return build(ops.dim, array, literal(0))
        case _:
            return map_children(size, lambda part: part if isinstance(part, Slice) else _of_axes(part, rooms))


def _is_of_axes(size: Expr) -> bool:
    """Say whether a length is made of constants and lengths of axes."""
    match size:
        case Apply(fn, (Var(), Const(int()))) if fn is ops.dim:
            return True
        case Apply(fn, args) if fn not in (ops.dim, ops.size):
            return all(_is_of_axes(arg) for arg in args)
        case _:
            return isinstance(size, Const)


def _written_alike(
    array: Var, body: tuple[Stmt, ...], steady: Collection[str], times: Counter[str]
) -> set[str] | None:
    """Return the arrays whose lengths say which elements of one are set, before any is read: others stay zero.

    None where more than lengths says it.
    """
    lengths = set(steady)
    sets: dict[str, set[str]] = {}
    deciding: set[str] = set()
    read = False
    for stmt in body:
        if isinstance(stmt, Assign) and times[stmt.target.name] == 1 and _is_length(stmt.value, lengths):
            lengths.add(stmt.target.name)
            sets[stmt.target.name] = set().union(*(sets.get(name, {name}) for name in reads(stmt.value)))
        met = [s for s in statements((stmt,)) if any(array.name in reads(e) for e in exprs_of(s))]
        writes = [s for s in met if isinstance(s, Store) and root_of(s.place) == array]
        if any(isinstance(s, CallStmt) for s in met) or (writes and read):
            return None
        if writes:
            if not (isinstance(stmt, For) and writes == met and _sets_alike(stmt, array, lengths, frozenset())):
                return None
            loops = [s for s in statements((stmt,)) if isinstance(s, For)]
            said = [e for loop in loops for e in (loop.start, loop.stop, loop.step)]
            said += [e for s in writes if isinstance(s.place, Index) for e in s.place.index if not isinstance(e, Slice)]
            deciding.update(*(sets.get(name, {name}) for e in said for name in reads(e) & lengths))
        read |= bool(met) and not writes
    return deciding


def _lengths_of(names: Collection[str], fn: Function) -> tuple[Expr, ...]:
    """Return the lengths of parameters along all of their axes."""
    found = [Var(p.name, p.type) for p in fn.params if p.name in names]
    return tuple(
        build(ops.dim, array, literal(axis))
        for array in found if isinstance(array.type, Array) for axis in range(len(array.type.dims))
    )  # fmt: skip


def _sets_alike(loop: For, array: Var, lengths: set[str], counters: frozenset[str]) -> bool:
    """Say whether a nest of loops sets elements of an array that lengths alone decide."""
    bounds = (loop.start, loop.stop, loop.step)
    if not all(_is_length(one, lengths | counters) for one in bounds) or loop.var.name in lengths:
        return False
    counters |= {loop.var.name}
    for stmt in loop.body:
        if counters & set(bound(stmt)):
            return False
        if isinstance(stmt, For):
            if not _sets_alike(stmt, array, lengths, counters):
                return False
        elif isinstance(stmt, Store) and root_of(stmt.place) == array:
            place = stmt.place
            if not isinstance(place, Index) or place.base != array or stmt.op or array.name in reads(stmt.value):
                return False
            if any(isinstance(item, Slice) or not _is_length(item, lengths | counters) for item in place.index):
                return False
        elif not isinstance(stmt, Assign | Store | Comment):
            return False
    return True


def _is_length(expr: Expr, lengths: Collection[str]) -> bool:
    """Say whether a whole number follows from the lengths of what is given alone."""
    return (
        isinstance(expr.type, Scalar) and is_arithmetic(expr) and reads(expr) <= set(lengths)
        and np.dtype(expr.type.dtype).kind == "i"
    )  # fmt: skip


# ---- its callers ----


class _Lender:
    """Gives the calls of one function the arrays that those that are called work in."""

    def __init__(self, fn: Function, functions: Mapping[str, Function], found: Mapping[str, tuple[_Room, ...]]) -> None:
        self.fn, self.functions, self.found = fn, functions, found
        self.namer = Namer(taken_in(fn))
        self.times = Counter(name for s in statements(fn.body) for name in bound(s))
        self.known = [Var(p.name, p.type) for p in fn.params if not self.times[p.name]]
        self.made: dict[object, Var] = {}

    def run(self) -> Function:
        """Return the function, with each array made before the first statement of its body that needs it."""
        body: list[Stmt] = []
        for stmt in self.fn.body:
            before: list[Stmt] = []
            new = self._lend(stmt, before)
            at = len(body)
            while at and isinstance(said := body[at - 1], Comment) and said.text and not said.text.startswith("-"):
                at -= 1
            body[at:at] = before
            body += new
            self.known += [t for t in targets(stmt) if self.times[t.name] == 1]
        return replace(self.fn, body=tuple(body))

    def _lend(self, stmt: Stmt, before: list[Stmt]) -> list[Stmt]:
        if isinstance(stmt, CallStmt) and self.found.get(_callee(stmt)):
            return self._call(stmt, before)
        return [map_blocks(stmt, lambda body: tuple(new for s in body for new in self._lend(s, before)))]

    def _call(self, call: CallStmt, before: list[Stmt]) -> list[Stmt]:
        """Return a call with what it is lent, behind the statements that make what cannot be made `before`."""
        here: list[Stmt] = []
        rooms: list[Expr] = []
        callee = self.functions[call.callee]
        given = {param.name: arg for param, arg in zip(callee.params, call.args, strict=False)}
        for room in self.found[call.callee]:
            sizes = [_with_lengths(size, given, self.known) for size in room.sizes]
            known = [size for size in sizes if size is not None]
            deciding = [_with_lengths(size, given, self.known) for size in room.deciding]
            key = (call.callee, room.name, *known, *deciding)
            if len(known) < len(sizes) or None in deciding:
                lengths = [_with_lengths(size, given, None) for size in room.sizes]
                made = self._make(room, [size for size in lengths if size is not None], call, here)
            elif key in self.made:
                made = self.made[key]
            else:
                made = self.made[key] = self._make(room, known, call, before)
            rooms.append(made)
        return [*here, replace(call, args=(*call.args, *rooms))]

    def _make(self, room: _Room, sizes: list[Expr], call: CallStmt, where: list[Stmt]) -> Var:
        shape = sizes[0] if len(sizes) == 1 else pack("tuple", sizes)
        value = build(np.zeros if room.zeros else np.empty, shape)
        made = Var(self.namer.fresh(room.name), value.type)
        where.append(Assign(made, value, call.span))
        return made


def _with_lengths(size: Expr, given: Mapping[str, Expr], known: list[Var] | None) -> Expr | None:
    """Return a length of a helper's array in its caller's words: of arrays that are `known`, or of the arguments."""
    match size:
        case Apply(fn, (Var(name), Const(int(axis)))) if fn is ops.dim:
            arg = given[name]
            if known is None:
                return build(ops.dim, arg, literal(axis))
            assert isinstance(arg.type, Array)
            dim = arg.type.dims[axis]
            if isinstance(dim, int):
                return literal(dim)
            for one in [arg] * (arg in known) + known:
                if isinstance(one.type, Array) and dim in one.type.dims:
                    return build(ops.dim, one, literal(one.type.dims.index(dim)))
            return None
        case Apply():
            parts = [_with_lengths(part, given, known) for part in size.args]
            there = [part for part in parts if part is not None]
            return build(size.fn, *there) if len(there) == len(parts) else None
        case _:
            return size
