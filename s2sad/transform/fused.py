"""A loop whose turns only add up, and the loop of its adjoint, are one loop: nothing is kept from turn to turn.

    z_tape = np.empty(n)
    for i in range(n):                            for i in range(n):
        z = w * x[i]                                  z = w * x[i]
        z_tape[i] = z            becomes              p_bar = 2.0 * (z - y[i]) * total_bar
    for i in range(n):                                w_bar += x[i] * p_bar
        z = z_tape[i]
        p_bar = 2.0 * (z - y[i]) * total_bar
        w_bar += x[i] * p_bar

Needs: the turns of the second loop commute (it only adds into what it does not read, and sets whatever else it
uses before it reads it); no turn of the first needs what an earlier turn of the second has changed; and the
second needs of the first only what the same turn has kept. The log-likelihoods of independent data are such
loops, and Monte Carlo paths, and residuals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.liveness import Liveness
from s2sad.analysis.loops import popped_from, taken_back
from s2sad.analysis.ordering import Ordering, added_by, may_leave, read_exprs
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assert,
    Assign,
    Break,
    CallStmt,
    Comment,
    Continue,
    Effect,
    Expr,
    For,
    Function,
    If,
    Index,
    Raise,
    Return,
    Slice,
    Stmt,
    Swap,
    Var,
    While,
)
from s2sad.ir.shapes import SHAPES
from s2sad.ir.types import ListOf, Scalar
from s2sad.ir.walk import (
    bound,
    exprs_of,
    map_blocks,
    names_in,
    reads,
    statements,
    subexpressions,
    targets,
)
from s2sad.transform.contracted import common_axis, contracted
from s2sad.transform.inlined import Names
from s2sad.transform.naming import Namer
from s2sad.transform.one_branch import one_branch
from s2sad.transform.order import is_sum
from s2sad.transform.stepping import forwards

ADJOINT = "---- adjoint sweep ----"
WITH_PRIMAL = "---- adjoint sweep, with turns of the primal ----"


def fused(fn: Function, facts: Facts, keep: frozenset[str]) -> Function:
    """Return `fn` with every such pair of loops as one; names in `keep` are the user's."""
    while (made := _once(fn, facts, keep)) is not None:
        fn = made
    return fn


def _once(fn: Function, facts: Facts, keep: frozenset[str]) -> Function | None:
    work = _Work(fn, facts, keep)
    made = replace(fn, body=tuple(_headed(stmt) for stmt in work.everywhere(fn.body)))
    return contracted(made, *work.done, facts) if work.done is not None else None


def _headed(stmt: Stmt) -> Stmt:
    """Say in the heading of the adjoint sweep that it holds turns of the primal."""
    return replace(stmt, text=WITH_PRIMAL) if isinstance(stmt, Comment) and stmt.text == ADJOINT else stmt


@dataclass(slots=True)
class _Turns:
    """What the turns of a loop do with names.

    Attributes:
        local: names that a turn sets before it reads them, and nobody after the loop.
        carried: names that a turn may read as an earlier one, or the code before the loop, left them.
        written: the groups of memory that are written into or whose names are bound.
        used: those and the groups that are read.
    """

    local: set[str]
    carried: set[str]
    written: set[str]
    used: set[str]


class _Work:
    def __init__(self, fn: Function, facts: Facts, keep: frozenset[str]) -> None:
        self.fn, self.facts, self.keep = fn, facts, keep
        self.ordering = Ordering(fn, facts)
        self.groups, self.members, self.live = self.ordering.groups, self.ordering.members, self.ordering.live
        self.namer = Namer(names_in(fn.body) | {p.name for p in fn.params})
        self.undone: dict[str, str] = {}
        """The numbers that the second of the loops in question takes back, and what it calls them from there on."""
        self.done: tuple[For, frozenset[str]] | None = None
        """The loop that was made, and the names of what the first loop kept for the second."""

    def everywhere(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Fuse the first pair of loops of a block, or of one inside it, that can be."""
        made = body if self.done is not None else self.block(body)
        return made if self.done is not None else tuple(map_blocks(stmt, self.everywhere) for stmt in body)

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Fuse the first pair of loops of a block that can be."""
        loops = [at for at, stmt in enumerate(body) if isinstance(stmt, For)]
        for first in loops:
            for second in loops:
                if first < second and (made := self._pair(body, first, second)) is not None:
                    return made
        branches = [at for at, stmt in enumerate(body) if isinstance(stmt, If)]
        for first in branches:
            for second in branches:
                if first < second and (made := self._inside(body, first, second)) is not None:
                    return made
        return body

    def _inside(self, body: tuple[Stmt, ...], first: int, second: int) -> tuple[Stmt, ...] | None:
        """Fuse loops of two branches over one condition."""
        if not all(any(isinstance(s, For) for s in statements((body[at],))) for at in (first, second)):
            return None
        made = one_branch(body, first, second, self.ordering)
        if made is None:
            return None
        found = tuple(s if any(s is t for t in body) else map_blocks(s, self.everywhere) for s in made)
        return found if self.done is not None else None

    def _pair(self, body: tuple[Stmt, ...], first: int, second: int) -> tuple[Stmt, ...] | None:
        one, other = body[first], body[second]
        assert isinstance(one, For) and isinstance(other, For)
        ahead = _alike(one, other)
        if ahead is None:
            return None
        own = self._own(one, other)
        tapes = own - self.keep
        if not tapes and not any(self._is_used_only_in(name, one, other) for name in own):
            if not self._calls_both(one, other):
                return None
        between = body[first + 1 : second]
        if any(isinstance(s, Effect) for s in statements(between)) or any(may_leave(s) for s in between):
            return None  # a barrier between threads, or a way past the second loop
        early, late = self.ordering.parted(between, one)
        if any(self.ordering.conflict(stmt, other) for stmt in late):
            return None
        ahead = self._together(one, other, ahead, own)
        if ahead is None:
            return None
        turn, reverse, updates = _undone_last(one.body, _typed_as(one, ahead).body, self.undone)
        made = replace(one, body=(*self._in_a_row(turn, reverse), *updates))
        self.done = made, tapes
        return (*body[:first], *early, made, *late, *body[second + 1 :])

    def _in_a_row(self, first: tuple[Stmt, ...], second: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Return the turns of both loops; a branch that ends the one and begins the other is one branch.

        What the one keeps for the other then stands in the same block.
        """
        both = (*first, *second)
        return (first and one_branch(both, len(first) - 1, len(first), self.ordering)) or both

    # ---- what is kept ----

    def _own(self, one: For, other: For) -> frozenset[str]:
        """Return the arrays and lists of which a turn of the second loop takes just what that of the first put in."""
        filled = {name for stmt in statements(one.body) for name in written_by(stmt, self.facts)}
        read = {name for stmt in statements(other.body) for expr in exprs_of(stmt) for name in reads(expr)}
        return frozenset(name for name in filled & read if self._is_own(name, one, other))

    def _is_own(self, name: str, one: For, other: For) -> bool:
        if any(isinstance(s, Append) and s.list.name == name for s in statements(one.body)):
            return self._is_stack(name, one, other)
        if name in {n for stmt in statements(other.body) for n in written_by(stmt, self.facts)}:
            return False
        return self._has_parts(name, one, one.body, other.body)

    def _has_parts(self, name: str, loop: For, *bodies: tuple[Stmt, ...]) -> bool:
        """Say whether every turn of the loop meets a part of the array that no other turn does."""
        places = [_places(name, body) for body in bodies]
        views = self.members.get(self.groups.find(name), {name}) - {name}
        inside = [n for body in bodies for s in statements(body) for n in bound(s)]
        everywhere = [n for s in statements(self.fn.body) for n in bound(s)]
        if None in places or any(inside.count(v) != everywhere.count(v) or not inside.count(v) for v in views):
            return False
        return common_axis([place for found in places if found is not None for place in found], loop) is not None

    def _calls_both(self, one: For, other: For) -> bool:
        """Say whether the loops call a function, and its adjoint with the same arguments: one call may be both."""
        calls = {s.callee: s for s in statements(one.body) if isinstance(s, CallStmt) and s.fn is None}
        backs = (s for s in statements(other.body) if isinstance(s, CallStmt) and s.callee in self.facts.adjoint_of)
        pairs = ((calls.get(self.facts.adjoint_of[back.callee]), back) for back in backs)
        return any(call is not None and call.args == back.args[: len(call.args)] for call, back in pairs)

    def _is_used_only_in(self, name: str, one: For, other: For) -> bool:
        """Say whether nothing but the two loops meets the items of an array of several axes."""
        places = _places(name, one.body)
        inside = len(_occurring(name, one.body)) + len(_occurring(name, other.body))
        shapes = [
            part for stmt in statements(self.fn.body) for expr in exprs_of(stmt) for part in subexpressions(expr)
            if isinstance(part, Apply) and part.fn in SHAPES and isinstance(part.args[0], Var)
            and part.args[0].name == name
        ]  # fmt: skip
        everywhere = len(_occurring(name, self.fn.body))
        return bool(places) and len(places[0].index) > 1 and everywhere == inside + len(shapes)

    def _is_stack(self, name: str, one: For, other: For) -> bool:
        """Say whether a list is only appended to by the first loop, and only popped from by the second."""
        uses = len(_occurring(name, one.body)) + len(_occurring(name, other.body))
        made = [s for s in statements(self.fn.body) if isinstance(s, Assign) and s.target.name == name]
        everywhere = len(_occurring(name, self.fn.body))
        appends = [s for s in statements(one.body) if isinstance(s, Append) and s.list.name == name]
        pops = [s for s in statements(other.body) if isinstance(s, Assign) and _popped(s) == name]
        backwards = (one.start, one.stop, one.step) != (other.start, other.stop, other.step)
        return backwards and len(made) == 1 and everywhere == uses == len(appends) + len(pops) and bool(pops)

    # ---- whether they may be one ----

    def _together(self, one: For, other: For, ahead: For, tapes: frozenset[str]) -> For | None:
        """Return the second loop as it goes behind the first, names of its own where they would clash; or None."""
        for stmt in (*statements(one.body), *statements(other.body)):
            if isinstance(stmt, Break | Continue | Return | Effect | While | Swap):
                return None
        if any(isinstance(stmt, Raise | Assert) for stmt in statements(other.body)):
            return None
        after = self.live.after[id(other)]
        other, ahead, back = self._undone_apart(one, other, ahead, after)
        first = self._turns(one, frozenset(), tapes)
        second = self._turns(other, after, tapes)
        if not self._commutes(other, one, second, tapes):
            return None
        clashing: set[str] = set()
        for group in (first.written & second.used) | (second.written & first.used):
            names = self.ordering.names_of(group)
            if names <= tapes | back or names == {one.var.name}:
                continue
            mine = {n for n in names if n in first.local or n in second.local or n in tapes}
            if mine != names or any(n in first.carried or n in second.carried for n in names - tapes):
                clash = self._apart(names, first, second)
                if clash is None:
                    return None
                clashing.add(clash)
        if one.var.name in after or not self._same_range(one, other):
            return None
        new = {name: self.namer.fresh(name) for name in sorted(clashing)}
        named = replace(ahead, body=tuple(Names(new).stmt(s) for s in ahead.body)) if new else ahead
        return replace(named, var=one.var)

    def _undone_apart(
        self, one: For, other: For, ahead: For, after: frozenset[str]
    ) -> tuple[For, For, frozenset[str]]:  # fmt: skip
        """Let the second loop have a name of its own for a number that it takes back (`sign = -sign`) in each turn.

        Behind a turn of the first, the number is what the turn of the second begins with. Returned are the second
        loop, the same as it runs ahead, and the numbers.
        """
        backwards = (one.start, one.stop, one.step) != (other.start, other.stop, other.step)
        found: dict[str, tuple[int, str]] = {}
        for at, stmt in enumerate(other.body if backwards else ()):
            name = stmt.target.name if isinstance(stmt, Assign) else None
            if name is None or name in after or taken_back(stmt) is None:
                continue
            set_by = [s for s in statements(one.body) if name in bound(s)]
            back = [s for s in statements(other.body) if name in bound(s)]
            if len(set_by) == len(back) == 1 and any(s is set_by[0] for s in one.body):
                undo = taken_back(set_by[0])
                if undo is not None and isinstance(stmt, Assign) and undo.value == stmt.value:
                    found[name] = at, self.namer.fresh(f"{name}_before")

        def renamed(loop: For) -> For:
            body: list[Stmt] = []
            for at, stmt in enumerate(loop.body):
                behind = Names({name: new for name, (place, new) in found.items() if place < at})
                here = {name: new for name, (place, new) in found.items() if place == at}
                made = behind.stmt(stmt)
                body.append(replace(made, target=Names(here).name(made.target)) if isinstance(made, Assign) else made)
            return replace(loop, body=tuple(body))

        self.undone = {name: new for name, (_, new) in found.items()}
        return (renamed(other), renamed(ahead), frozenset(found)) if found else (other, ahead, frozenset())

    def _same_range(self, one: For, other: For) -> bool:
        """Say whether nothing in the bodies changes what the ranges are made of, nor the counter."""
        changed = {n for loop in (one, other) for s in statements(loop.body) for n in bound(s)}
        lists = {n for loop in (one, other) for s in statements(loop.body) for n in written_by(s, self.facts)}
        header = {p for e in exprs_of(one) for p in subexpressions(e) if isinstance(p, Var)}
        if one.var.name in changed or any(var.name in changed for var in header):
            return False
        return not any(isinstance(var.type, ListOf) and var.name in lists for var in header)

    def _apart(self, names: set[str], first: _Turns, second: _Turns) -> str | None:
        """Return a number that the second loop can call otherwise: it sets it anew, the first carries its own."""
        if len(names) != 1:
            return None
        (name,) = names
        return name if name in second.local and name not in second.carried else None

    def _turns(self, loop: For, after: frozenset[str], tapes: frozenset[str]) -> _Turns:
        read, written = self.ordering.touched(loop.body)
        names = {n for stmt in statements(loop.body) for n in bound(stmt)} | {loop.var.name}
        carried = set(Liveness((loop,)).before_loop_body(loop)) - {loop.var.name}
        local = {n for n in names if n not in carried and n not in after}
        return _Turns(local, carried, written, read | written)

    def _commutes(self, loop: For, ahead: For, turns: _Turns, tapes: frozenset[str]) -> bool:
        """Say whether the turns of the second loop may run in any order; `ahead` goes over the same range."""
        sums: set[str] = set()
        for stmt in statements(loop.body):
            for name in bound(stmt):
                if name in turns.local:
                    continue
                if not (isinstance(stmt, Assign) and is_sum(stmt.target, stmt.value)):
                    return False
                sums.add(name)
            for name in written_by(stmt, self.facts):
                if name in tapes or self._is_local_memory(name, loop, turns):
                    continue
                if self._has_parts(name, ahead, loop.body):
                    continue
                if name not in added_by(stmt, self.facts):
                    return False
                sums.add(name)
        groups = self.groups.of(sums)
        for stmt in statements(loop.body):
            for expr in _read_exprs(stmt, self.facts):
                if self.groups.of(reads(expr)) & groups:
                    return False
        return True

    def _is_local_memory(self, name: str, loop: For, turns: _Turns) -> bool:
        """Say whether an array is made anew in every turn, and is nobody else's."""
        members = self.members.get(self.groups.find(name), {name})
        made = [s for s in statements(loop.body) if isinstance(s, Assign) and s.target.name in members]
        return members <= turns.local and bool(made) and not any(_popped(s) for s in made)


class _Types(Names):
    """Gives numbers the types that they have elsewhere."""

    def __init__(self, types: dict[str, Scalar]) -> None:
        super().__init__({})
        self.types = types

    def name(self, var: Var) -> Var:
        known = self.types.get(var.name)
        same = known is not None and isinstance(var.type, Scalar) and var.type.dtype == known.dtype
        return Var(var.name, known) if known is not None and same else var


def _typed_as(one: For, other: For) -> For:
    """Return the second loop with the first one's types of numbers, so that equal expressions are equal."""
    types = {t.name: t.type for s in statements(one.body) for t in targets(s) if isinstance(t.type, Scalar)}
    return replace(other, body=tuple(_Types(types).stmt(s) for s in other.body))


def _undone_last(
    first: tuple[Stmt, ...], second: tuple[Stmt, ...], undone: Mapping[str, str]
) -> tuple[tuple[Stmt, ...], tuple[Stmt, ...], list[Stmt]]:
    """Update a number at the end of the turn of both loops, rather than update it, and take it back at once.

    Returned are the turn of the first loop, that of the second, and the updates that follow.
    """
    updates: list[Stmt] = []
    for name, new in undone.items():
        at = next(k for k, s in enumerate(first) if name in bound(s))
        back = next(k for k, s in enumerate(second) if new in bound(s))
        if any(name in names_in((s,)) for s in (*first[at + 1 :], *second[:back])):
            continue
        if {n for e in exprs_of(first[at]) for n in reads(e)} != {name}:
            continue
        updates.append(first[at])
        first = (*first[:at], *first[at + 1 :])
        before = second[: back - 1] if back and isinstance(second[back - 1], Comment) else second[:back]
        own = Names({new: name})
        second = (*before, *(own.stmt(s) for s in second[back + 1 :]))
    return first, second, updates


def _alike(one: For, other: For) -> For | None:
    """Return the second loop running as the first does, if it goes over the same range; None if it does not."""
    if one.var != other.var:
        return None
    for loop in (other, forwards(other)):
        if loop is not None and (loop.start, loop.stop, loop.step) == (one.start, one.stop, one.step):
            return loop
    return None


def _popped(stmt: Stmt) -> str | None:
    items = popped_from(stmt)
    return items.name if items is not None else None


def _base(place: Expr) -> str | None:
    return place.base.name if isinstance(place, Index) and isinstance(place.base, Var) else None


def _occurring(name: str, body: tuple[Stmt, ...]) -> list[Expr]:
    """List every use of a name, bindings aside."""
    return [
        part  # type: ignore[misc]
        for stmt in statements(body)
        for expr in exprs_of(stmt)
        for part in subexpressions(expr)
        if isinstance(part, Var) and part.name == name
    ]


def _places(name: str, body: tuple[Stmt, ...]) -> list[Index] | None:
    """List the places `name[...]`; None where the name stands by itself or nowhere."""
    found = [
        part
        for stmt in statements(body)
        for expr in exprs_of(stmt)
        for part in subexpressions(expr)
        if isinstance(part, Index) and _base(part) == name
    ]
    return found if found and len(found) == len(_occurring(name, body)) else None


def _read_exprs(stmt: Stmt, facts: Facts) -> Sequence[Expr | Slice]:
    match stmt:
        case Assign(target, value) if is_sum(target, value):
            assert isinstance(value, Apply)
            return (value.args[1],)
        case _:
            return read_exprs(stmt, facts)
