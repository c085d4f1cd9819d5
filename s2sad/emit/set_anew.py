"""Target "cpu": what is zero whenever a turn begins, and is first added to, is set; its zeros are not written again.

    f_bar = np.zeros_like(f)                         f_bar = np.zeros_like(f)
    for t in range(steps - 1, -1, -1):               for t in range(steps - 1, -1, -1):
        for i in range(1, n):                            for i in range(1, n):
            f_bar[i] += u_bar[i] - u_bar[i - 1]              f_bar[i] = u_bar[i] - u_bar[i - 1]
        for i in range(1, n):               becomes      for i in range(1, n):
            f_i_bar = f_bar[i]                               f_i_bar = f_bar[i]
            f_bar[i] = 0.0                                   a_bar[i] += u[i] * f_i_bar
            a_bar[i] += u[i] * f_i_bar

So are the adjoints of arrays that every step writes before it reads them. Saves three ways through the memory.
Needs: the array is made for the loop alone; each turn leaves zeros behind; what it sets first is all that it sets, at
the same elements in every turn. A function that is called in the loop counts, and keeps the zeros that it writes
last from being written if no caller needs them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from s2sad.analysis.facts import Facts
from s2sad.analysis.loops import is_whole
from s2sad.analysis.sharing import Groups
from s2sad.emit.elements import plus, split_sum
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Apply,
    Assign,
    Break,
    CallStmt,
    Comment,
    Const,
    Continue,
    Expr,
    For,
    Function,
    If,
    Index,
    Return,
    Slice,
    Stmt,
    Store,
    Var,
    While,
)
from s2sad.ir.shapes import shaping_parts
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import (
    blocks_of,
    bound,
    children,
    exprs_of,
    is_const,
    map_blocks,
    reads,
    root_of,
    statements,
    subexpressions,
)
from s2sad.transform.algebra import negative
from s2sad.transform.filled import EMPTY, is_length

Place = tuple[tuple[Expr, Expr], ...]
"""By axis: from which element to before which one."""

Nonzero = frozenset[Place | None]
"""Where an array may be other than zero; None is everywhere."""

_ZERO: Nonzero = frozenset()
_ALL: Nonzero = frozenset({None})


def set_anew(functions: dict[str, Function], entry: str) -> dict[str, Function]:
    """Return the functions of a program with such arrays set where they were added to."""
    work = _Program(functions, entry)
    for name, fn in functions.items():
        work.look(fn)
        if name != entry:
            work.look_into(fn)
    return work.changed()


@dataclass(slots=True)
class _Nest:
    """Loops in each of whose turns an array is met in one element, the turn's own.

    Attributes:
        place: the elements.
        first: what is done first with an element: "read", "add", "set" or "zero".
        last: how it is left: "zero", "nonzero", or "" if nothing is written.
        adds: anything but zeros is written meanwhile.
        adding: the statement that is first, if it adds.
        zeroing: the statement that is last, if it writes zeros.
    """

    place: Place
    first: str
    last: str
    adds: bool
    adding: Store | None
    zeroing: Store | None


@dataclass(slots=True)
class _Walk:
    """Follows one array through statements.

    Attributes:
        seen: where it was other than zero.
    """

    array: Var
    program: _Program
    seen: set[Place | None] = field(default_factory=set[Place | None])

    def block(self, body: tuple[Stmt, ...], state: Nonzero) -> Nonzero:
        for stmt in body:
            if meets(stmt, self.array.name):
                state = self.step(stmt, state)
                self.seen |= state
        return state

    def step(self, stmt: Stmt, state: Nonzero) -> Nonzero:
        match stmt:
            case Store() if _is_zeroed_whole(stmt, self.array.name):
                return _ZERO
            case CallStmt():
                return self._called(stmt, state)
            case If(test, body, orelse):
                if self.array.name in _met(test):
                    return _ALL
                return self.block(body, state) | self.block(orelse, state)
            case For() if (nest := nest_of(stmt, self.array)) is not None:
                self.seen |= {nest.place} if nest.adds else set()
                if nest.last == "zero":
                    return _ZERO if _is_all(nest.place, self.array) else state - {nest.place}
                return state | {nest.place} if nest.last else state
            case For() | While():
                while (after := state | self.block(stmt.body, state)) != state:
                    state = after
                return state
            case Assign() | Store() if self.array.name not in bound(stmt) and not _is_into(stmt, self.array.name):
                return state
            case _:
                return _ALL

    def _called(self, call: CallStmt, state: Nonzero) -> Nonzero:
        at = [k for k, arg in enumerate(call.args) if self.array.name in _met(arg)]
        callee = self.program.functions.get(call.callee)
        if len(at) != 1 or call.args[at[0]] != self.array or callee is None or at[0] >= len(callee.params):
            return _ALL
        if at[0] not in self.program.facts.writes(call.callee):
            return state
        if self.program.leaves(call.callee, at[0], _ALL) == _ZERO:
            return _ZERO
        return _ZERO if not state and self.program.leaves(call.callee, at[0], _ZERO) == _ZERO else _ALL


class _Program:
    """The functions, what of them is to be changed, and which calls need no zeros to be left."""

    def __init__(self, functions: dict[str, Function], entry: str) -> None:
        self.functions, self.entry = functions, entry
        self.facts = Facts(functions)
        self.groups = {name: Groups(fn, self.facts) for name, fn in functions.items()}
        self.setting: set[int] = set()
        """The additions that set."""
        self.idle: set[int] = set()
        """The zeros that are not written."""
        self.empty: set[int] = set()
        """The zeros that an array need not be made of."""
        self.idle_calls: dict[tuple[str, int], set[int]] = {}
        """The calls that need not leave zeros, by function and argument."""
        self.calls = [s for fn in functions.values() for s in statements(fn.body) if isinstance(s, CallStmt)]
        self._leaves: dict[tuple[str, int, Nonzero], Nonzero] = {}
        self._seen: dict[tuple[str, int], set[Place | None]] = {}

    def leaves(self, name: str, at: int, state: Nonzero) -> Nonzero:
        """Return where the argument `at` of a function may be other than zero after a call."""
        key = name, at, state
        if key not in self._leaves:
            self._leaves[key] = _ALL  # a function that calls itself
            self._seen[name, at] = {None}
            fn = self.functions[name]
            param = fn.params[at]
            walk = _Walk(Var(param.name, param.type), self)
            after = walk.block(fn.body, state)
            if _runs_through(fn.body) and _are_fixed(walk.seen, fn) and self.is_alone(fn, param.name):
                self._leaves[key] = after
                self._seen[name, at] = walk.seen if not state else {None}
        return self._leaves[key]

    def seen(self, name: str, at: int) -> set[Place | None]:
        """Return where the argument `at` of a function is other than zero meanwhile, if it is zero at first."""
        self._leaves.pop((name, at, _ZERO), None)
        self.leaves(name, at, _ZERO)
        return self._seen[name, at]

    def is_alone(self, fn: Function, name: str) -> bool:
        """Say whether no other name in a function may share memory with an array that is bound once, or given."""
        groups = self.groups[fn.name]
        names = Counter(name for s in statements(fn.body) for name in bound(s))
        names.update(p.name for p in fn.params)
        return sum(count for one, count in names.items() if groups.find(one) == groups.find(name)) == 1

    # ---- an array and a loop ----

    def look(self, fn: Function) -> None:
        """Find what is made for a loop alone, in a function."""
        mentions = Counter(name for s in statements(fn.body) for name in set(_met_in(s)))

        def each(body: tuple[Stmt, ...]) -> None:
            for at, stmt in enumerate(body):
                for block in blocks_of(stmt):
                    each(block)
                if not _is_zeros(stmt):
                    continue
                assert isinstance(stmt, Assign)
                name = stmt.target.name
                users = [s for s in body[at + 1 :] if meets(s, name)]
                if len(users) == 1 and mentions[name] == _count(users[0], name) and self.is_alone(fn, name):
                    self._look_at(stmt, users[0])

        each(fn.body)

    def _look_at(self, made: Assign, user: Stmt) -> None:
        if isinstance(user, For) and _runs_through(user.body):
            changed = {name for s in statements((user,)) for name in bound(s)}
            if self._settled(made.target, user.body, changed):
                self.empty.add(id(made))

    def _settled(self, array: Var, body: tuple[Stmt, ...], changed: set[str]) -> bool:
        """Find what sets in statements that run over and over; say whether they set all of an array first.

        `changed`: the names that mean another value the next time.
        """
        met = [s for s in body if meets(s, array.name)]
        walk = _Walk(array, self)
        states = [_ZERO]
        for stmt in met:
            states.append(walk.step(stmt, states[-1]))
        if states[-1] or len(met) < 2:
            return False
        settled = False
        for at, stmt in enumerate(met):
            nest = nest_of(stmt, array)
            if states[at] or nest is None or nest.first != "add" or nest.last != "nonzero":
                continue
            if not all(_stays(end, array, changed) for ends in nest.place for end in ends):
                continue
            assert nest.adding is not None
            self.setting.add(id(nest.adding))
            is_all = _is_all(nest.place, array)
            settled |= is_all and at == 0
            left = states[at - 1] if at else states[-2]
            if is_all or (left <= {nest.place} and self._adds_nothing(met[at - 1], array)):
                self._without_zeros(met[at - 1], array)
        return settled

    def _adds_nothing(self, stmt: Stmt, array: Var) -> bool:
        if isinstance(stmt, CallStmt):
            return not self.seen(stmt.callee, _position(stmt, array))
        nest = nest_of(stmt, array)
        return isinstance(stmt, Store) or (nest is not None and not nest.adds)

    def _without_zeros(self, stmt: Stmt, array: Var) -> None:
        """Drop the zeros that a statement leaves, or say that a call need not leave any."""
        if isinstance(stmt, CallStmt):
            self.idle_calls.setdefault((stmt.callee, _position(stmt, array)), set()).add(id(stmt))
        elif isinstance(stmt, Store):
            self.idle.add(id(stmt))
        elif (nest := nest_of(stmt, array)) is not None and nest.zeroing is not None:
            self.idle.add(id(nest.zeroing))

    # ---- functions ----

    def look_into(self, fn: Function) -> None:
        """Find parameters that are zero in every call, and for this function alone."""
        calls = [c for c in self.calls if c.callee == fn.name]
        for at, param in enumerate(fn.params):
            if not isinstance(param.type, Array) or at not in self.facts.writes(fn.name):
                continue
            if not calls or not all(self._is_for_the_call(c, at) for c in calls) or not _runs_through(fn.body):
                continue
            array = Var(param.name, param.type)
            if not self.is_alone(fn, param.name):
                continue
            self._settled(array, fn.body, {*(p.name for p in fn.params), *_all_bound(fn)})

    def _is_for_the_call(self, call: CallStmt, at: int) -> bool:
        """Say whether an argument is an array of zeros that nothing but the call, or another turn's, meets."""
        arg = call.args[at] if at < len(call.args) else None
        if not isinstance(arg, Var) or sum(arg.name in reads(a) for a in call.args) != 1:
            return False
        fn = next(fn for fn in self.functions.values() if any(s is call for s in statements(fn.body)))
        if not self.is_alone(fn, arg.name):
            return False
        made = [s for s in statements(fn.body) if arg.name in bound(s)]
        met = [s for s in statements(fn.body) if arg.name in _met_in(s)]
        return len(made) == 1 and _is_zeros(made[0]) and all(s is made[0] or s is call for s in met)

    # ---- what it becomes ----

    def changed(self) -> dict[str, Function]:
        """Return the functions as they are to be."""
        for (name, at), calls in self.idle_calls.items():
            if name != self.entry and len(calls) == sum(c.callee == name for c in self.calls):
                fn = self.functions[name]
                array = Var(fn.params[at].name, fn.params[at].type)
                met = [s for s in fn.body if meets(s, array.name)]
                if met and _runs_through(fn.body) and not isinstance(met[-1], CallStmt):
                    self._without_zeros(met[-1], array)
        return {name: replace(fn, body=self._block(fn.body)) for name, fn in self.functions.items()}

    def _block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in body:
            if id(stmt) in self.idle:
                continue
            if id(stmt) in self.setting:
                assert isinstance(stmt, Store)
                value = negative(stmt.value) if stmt.op == "-" else stmt.value
                out.append(replace(stmt, op="", value=value, accumulate=False))
            elif id(stmt) in self.empty:
                assert isinstance(stmt, Assign) and isinstance(stmt.value, Apply)
                out.append(replace(stmt, value=replace(stmt.value, fn=EMPTY[stmt.value.fn])))
            else:
                out.append(map_blocks(stmt, self._block))
        return tuple(out)


def meets(stmt: Stmt, name: str) -> bool:
    """Say whether a statement, or one inside it, does more with an array than ask for its lengths."""
    return any(name in _met_in(s) or name in bound(s) for s in statements((stmt,)))


def nest_of(stmt: Stmt, array: Var) -> _Nest | None:
    """Return what loops do with an array each of whose elements one turn alone meets, or None."""
    if not isinstance(stmt, For) or not isinstance(array.type, Array):
        return None
    chain = [stmt]
    while True:
        inside = [s for s in chain[-1].body if meets(s, array.name)]
        if len(inside) != 1 or not isinstance(inside[0], For):
            break
        chain.append(inside[0])
    own = [s for s in inside if isinstance(s, Assign | Store)]
    if len(own) < len(inside):
        return None
    if any(isinstance(s, Break | Continue | Return) for s in statements(chain[0].body)):
        return None
    ranges = {loop.var.name: _range(loop) for loop in chain}
    inner = [name for s in statements(stmt.body) for name in bound(s)]
    if len(ranges) != len(chain) or any(inner.count(name) > (name != stmt.var.name) for name in ranges):
        return None
    found: _Nest | None = None
    for one in own:
        for what, item in _events(one, array.name):
            place = _place(item, array, ranges)
            if place is None or (found is not None and place != found.place):
                return None
            if found is None:
                found = _Nest(place, what, "", False, one if what == "add" and isinstance(one, Store) else None, None)
            if what in ("add", "set", "zero"):
                found.adds |= what != "zero"
                found.last = "zero" if what == "zero" else "nonzero"
                found.zeroing = one if what == "zero" and isinstance(one, Store) else None
            elif found.zeroing is not None:
                found.zeroing = None  # a turn reads the zero
    return found


def _events(stmt: Assign | Store, name: str) -> Iterator[tuple[str, Expr | Slice | None]]:
    """Yield what a statement does with an array, in order: with one element, or None for more than that."""
    for expr in (stmt.value,) if isinstance(stmt, Assign) else (stmt.value, *_index_of(stmt.place)):
        for item in _items(expr, name):
            yield "read", item
    if isinstance(stmt, Store) and name in _met(stmt.place):
        if isinstance(stmt.place, Index) and isinstance(stmt.place.base, Var) and stmt.place.base.name == name:
            what = {"": "zero" if _is_nought(stmt.value) else "set", "+": "add", "-": "add"}.get(stmt.op, "")
            yield what, stmt.place if what else None
        elif not isinstance(stmt.place, Index):
            yield "set", None


def _index_of(place: Expr) -> tuple[Expr | Slice, ...]:
    return place.index if isinstance(place, Index) else ()


def _items(expr: Expr | Slice, name: str) -> Iterator[Expr | None]:
    if isinstance(expr, Index) and isinstance(expr.base, Var) and expr.base.name == name:
        yield expr
        for item in expr.index:
            yield from _items(item, name)
    elif isinstance(expr, Var):
        if expr.name == name:
            yield None
    else:
        for part in _parts(expr):
            yield from _items(part, name)


def _place(item: Any, array: Var, ranges: dict[str, tuple[Expr, Expr] | None]) -> Place | None:
    """Return the elements that are met in all turns, if each turn meets one of its own."""
    assert isinstance(array.type, Array)
    if not isinstance(item, Index) or not isinstance(item.type, Scalar) or len(item.index) != len(array.type.dims):
        return None
    found: list[tuple[Expr, Expr]] = []
    counters: list[str] = []
    for at in item.index:
        root, offset = split_sum(at) if not isinstance(at, Slice) else (at, 0)
        if not isinstance(root, Var) or root.name in counters or ranges.get(root.name) is None:
            return None
        counters.append(root.name)
        ends = ranges[root.name]
        assert ends is not None
        start, stop = plus(ends[0], offset), plus(ends[1], offset)
        if not isinstance(start, Const) or start.value < 0:
            return None
        found.append((start, stop))
    return tuple(found) if set(counters) == set(ranges) else None


def _range(loop: For) -> tuple[Expr, Expr] | None:
    """Return the first element and the one behind the last, however a loop counts."""
    if is_const(loop.step, 1):
        return loop.start, loop.stop
    if is_const(loop.step, -1):
        return plus(loop.stop, 1), plus(loop.start, 1)
    return None


def _is_all(place: Place, array: Var) -> bool:
    assert isinstance(array.type, Array)
    return all(
        is_const(start, 0) and is_length(stop, dim)
        for (start, stop), dim in zip(place, array.type.dims, strict=True)
    )  # fmt: skip


def _stays(end: Expr, array: Var, changed: set[str]) -> bool:
    """Say whether a bound is the same in every turn, or call: a constant, a length of the array, or such a name."""
    assert isinstance(array.type, Array)
    root, _ = split_sum(end)
    if isinstance(root, Const) or any(is_length(root, dim) for dim in array.type.dims):
        return True
    return not reads(end) & changed and not any(isinstance(part, Index) for part in subexpressions(end))


def _is_zeros(stmt: Stmt) -> bool:
    return isinstance(stmt, Assign) and isinstance(stmt.value, Apply) and stmt.value.fn in EMPTY and (
        isinstance(stmt.target.type, Array)
    )  # fmt: skip


def _is_nought(value: Expr) -> bool:
    return isinstance(value, Const) and isinstance(value.value, int | float) and is_const(value, 0)


def _is_into(stmt: Assign | Store, name: str) -> bool:
    return isinstance(stmt, Store) and (root := root_of(stmt.place)) is not None and root.name == name


def _are_fixed(places: set[Place | None], fn: Function) -> bool:
    """Say whether the bounds of places are the same in all of a function: set once, outside of loops, or given."""
    often = Counter(name for s in statements(fn.body) for name in bound(s))
    once = {name for s in fn.body if not isinstance(s, For) for name in bound(s) if often[name] == 1}
    known = once | {p.name for p in fn.params if not often[p.name]}
    return all(reads(end) <= known for place in places if place is not None for ends in place for end in ends)


def _is_zeroed_whole(stmt: Store, name: str) -> bool:
    place = stmt.place.base if isinstance(stmt.place, Index) else stmt.place
    return is_whole(stmt) and _is_nought(stmt.value) and isinstance(place, Var) and place.name == name


def _runs_through(body: tuple[Stmt, ...]) -> bool:
    """Say whether statements run to the last one, but for a return there."""
    *before, last = body or (Comment(""),)
    rest = before if isinstance(last, Return) else body
    return not any(isinstance(s, Break | Continue | Return) for s in statements(tuple(rest)))


def _parts(expr: Any) -> tuple[Any, ...]:
    if isinstance(expr, Apply) and expr.fn in (ops.dim, ops.size):
        return tuple(shaping_parts(expr))
    return children(expr)


def _met(expr: Any) -> set[str]:
    """Return the names that an expression does more with than ask for lengths."""
    return {expr.name} if isinstance(expr, Var) else {name for part in _parts(expr) for name in _met(part)}


def _met_in(stmt: Stmt) -> set[str]:
    return {name for expr in exprs_of(stmt) for name in _met(expr)}


def _count(stmt: Stmt, name: str) -> int:
    return sum(name in _met_in(s) for s in statements((stmt,)))


def _position(call: CallStmt, array: Var) -> int:
    return next(at for at, arg in enumerate(call.args) if arg == array)


def _all_bound(fn: Function) -> set[str]:
    return {name for s in statements(fn.body) for name in bound(s)}
