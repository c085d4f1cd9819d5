"""Target "cpu": a state that every turn of a loop makes anew stays in the array that it has.

    x = np.copy(x0)                          x = np.copy(x0)
    for t in range(steps):                   for t in range(steps):
        x = x + h * slope         becomes        x[:] = x + h * slope

    for t in range(steps):                   after = np.empty_like(x)
        after = x + h * slope                for t in range(steps):
        change = np.sum(after - x)               after[:] = x + h * slope
        x = after                                change = np.sum(after - x)
                                                 x, after = after, x

An array made in every turn costs more than the arithmetic of a hundred elements: an integrator of three states was four
times as slow. Needs: the array is the function's own and nothing else means it, or keeps it, when the next one is
made; the next one has its lengths, and is computed element by element, or given as a list of numbers.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.layout import are_steady, steady_lengths
from s2sad.analysis.liveness import Liveness
from s2sad.analysis.sharing import Groups
from s2sad.emit.elements import SCALABLE
from s2sad.emit.lanes import EVERY
from s2sad.emit.loops import is_small_product
from s2sad.emit.workspaces import may_be_kept, numbers_of
from s2sad.errors import Span
from s2sad.frontend.values import literal
from s2sad.ir.nodes import (
    Apply,
    Assign,
    CallStmt,
    Comment,
    Expr,
    For,
    Function,
    If,
    Index,
    Stmt,
    Store,
    Swap,
    Var,
    While,
)
from s2sad.ir.shapes import standing, stands_in
from s2sad.ir.types import Array, Scalar, surely_as_long
from s2sad.ir.views import view_base
from s2sad.ir.walk import (
    blocks_of,
    bound,
    each_once,
    exprs_of,
    map_blocks,
    reads,
    root_of,
    statements,
    targets,
)
from s2sad.transform.naming import Namer
from s2sad.transform.rewriting import replaced
from s2sad.transform.together import taken_in

_EMPTY = (np.empty, np.empty_like)
_ZEROS = (np.zeros, np.zeros_like)


def kept_in_place(fn: Function, facts: Facts) -> Function:
    """Return `fn` with such states in their arrays."""
    fn = replace(fn, body=each_once(fn.body))
    seen: dict[tuple[int, int], _State] = {}  # which are kept, so that no other has their identity
    while True:
        work = _InPlace(fn, facts)
        for state in _states(fn):
            key = id(state.made), id(state.loop)
            if key not in seen and (changes := work.changes(state)) is not None:
                fn = replace(fn, body=_changed(fn.body, changes))
                break
            seen[key] = state
        else:
            return fn


Changes = dict[int, list[Stmt]]
"""What stands in the place of statements, by their identity."""


@dataclass(frozen=True, slots=True)
class _State:
    """`made`, or `x = value`, stands in a turn of `loop`.

    Attributes:
        made: the statement.
        loop: the innermost loop around it; or the branch, where the turn has made the array before.
        first: what gives the first turn its `x`, if that stands in the block of the loop.
        between: what stands between these two.
        region: all that runs before the loop ends, the loop included.
        own: what makes the array of the first turn the function's own, where it is not.
        meets: what may give the array another name: a part of `region`.
    """

    made: Assign
    loop: For | While | If
    first: Stmt | None
    between: tuple[Stmt, ...]
    region: tuple[Stmt, ...]
    own: Changes = field(default_factory=dict[int, list[Stmt]])
    meets: tuple[Stmt, ...] = ()


def _states(fn: Function) -> Iterator[_State]:
    """Go through the arrays that turns of loops make anew."""

    def inside(block: tuple[Stmt, ...], region: tuple[Stmt, ...] | None) -> Iterator[_State]:
        for at, stmt in enumerate(block):
            around = region or block[: at + 1]
            for inner in blocks_of(stmt):
                yield from inside(inner, around)
            if isinstance(stmt, For | While | If):
                for made in _in_a_turn(stmt.body if not isinstance(stmt, If) else (stmt,)):
                    binding = [k for k, s in enumerate(block[:at]) if _binds(s, made.target.name)]
                    first = block[binding[-1]] if binding else None
                    between = block[binding[-1] + 1 : at] if binding else ()
                    yield _State(made, stmt, first, between, around)

    yield from inside(fn.body, None)


def _binds(stmt: Stmt, name: str) -> bool:
    return any(name in bound(inner) for inner in statements((stmt,)))


def _is_surely_bound(body: tuple[Stmt, ...], name: str, before: Stmt) -> bool:
    """Say whether each way to a statement binds a name: another branch of the same turn may read what this one sets."""
    bound_here = False
    for stmt in body:
        if stmt is before:
            return bound_here
        inner = next((b for b in blocks_of(stmt) if any(s is before for s in statements(b))), None)
        if inner is not None:
            return bound_here or _is_surely_bound(inner, name, before)
        bound_here = bound_here or name in bound(stmt)
    return False


def _in_a_turn(body: tuple[Stmt, ...]) -> Iterator[Assign]:
    """Go through the statements of a turn, without those of inner loops, that bind arrays."""
    for stmt in body:
        if isinstance(stmt, Assign) and isinstance(stmt.target.type, Array) and stmt.target.type.dims:
            yield stmt
        if isinstance(stmt, If):
            yield from _in_a_turn(stmt.body)
            yield from _in_a_turn(stmt.orelse)


def _changed(body: tuple[Stmt, ...], changes: Changes) -> tuple[Stmt, ...]:
    made: list[Stmt] = []
    for stmt in body:
        new = changes.get(id(stmt), [stmt])
        made += [map_blocks(one, lambda inner: _changed(inner, changes)) if one is stmt else one for one in new]
    return tuple(made)


class _InPlace:
    """Says what changes where a state stays in its array."""

    def __init__(self, fn: Function, facts: Facts) -> None:
        self.fn, self.facts = fn, facts
        self.namer = Namer(taken_in(fn))
        self.live = Liveness(fn.body)
        self.params = {p.name for p in fn.params}
        self.standing = standing(fn.body)
        self.steady = steady_lengths(fn)

    def changes(self, state: _State) -> Changes | None:
        """Return them, or None where it cannot stay."""
        target, loop = state.made.target, state.loop
        kind = target.type
        assert isinstance(kind, Array)
        if kind.layout != "C" or kind.dtype != "float64" or may_be_kept(target, _inside(loop)):
            return None
        if not are_steady(kind, self.steady) or not _are_made(target, loop, state.made):
            return None
        if isinstance(loop, If):
            owned = self._as_it_is(state)
            fits = owned is not None and not owned.own and self._are_alone(owned, (), target)
            filling = self._filled(state.made, target) if fits else None
            return {id(state.made): filling} if filling is not None else None
        for owned in (self._as_it_is(state), self._copied(state)):
            changes = self._kept(owned) if owned is not None else None
            if owned is not None and changes is not None:
                before = [*owned.own.get(id(loop), [loop])[:-1], *changes.get(id(loop), [loop])]
                return {**owned.own, **changes, id(loop): before}
        return None

    def _as_it_is(self, state: _State) -> _State | None:
        """Return a state whose first array is the function's own, or may as well be a copy."""
        first, target = state.first, state.made.target
        if not isinstance(first, Assign) or not _are_alike(first.target, target):
            return None
        if stands_in(first.value, self.standing):
            return None
        if may_be_kept(target, state.between):
            return None
        if isinstance(first.value, Apply) and view_base(first.value) is None:
            return replace(state, meets=state.region)
        if not isinstance(first.value, Var) or self._is_written(first.value.name):
            return None
        copied = replace(first, value=Apply(np.copy, (first.value,), target.type))
        return replace(state, own={id(first): [copied]}, meets=_changed(state.region, {id(first): []}))

    def _copied(self, state: _State) -> _State | None:
        """Return a state that is copied when the loop begins, so that what met the array before meets it no more."""
        target, loop = state.made.target, state.loop
        if isinstance(loop, If) or target.name not in self.live.before_loop_body(loop):
            return None
        if target.name not in self.params and not _is_surely_bound(self.fn.body, target.name, loop):
            return None
        if not self._is_of_one_length(target):
            return None
        groups = Groups(replace(self.fn, body=_changed(state.region, {id(state.made): []})), self.facts)
        written = {name for s in statements(loop.body) for name in written_by(s, self.facts)}
        if any(groups.find(name) == groups.find(target.name) for name in written):
            return None
        copied = Assign(target, Apply(np.copy, (target,), target.type), loop.span)
        return replace(state, own={id(loop): [copied, loop]}, meets=(loop,))

    def _is_of_one_length(self, name: Var) -> bool:
        """Say whether all that a name is ever given is as long."""
        for stmt in statements(self.fn.body):
            for target in targets(stmt):
                if target.name == name.name and not _are_alike(target, name):
                    return False
            if isinstance(stmt, Swap) and name.name in bound(stmt) and not _are_alike(stmt.first, stmt.second):
                return False
            if isinstance(stmt, Assign) and stmt.target.name == name.name and stands_in(stmt.value, self.standing):
                return False
        return all(_are_alike(Var(p.name, p.type), name) for p in self.fn.params if p.name == name.name)

    def _kept(self, state: _State) -> Changes | None:
        """Return what changes in the loop, of a state whose first array is the function's own."""
        target, loop = state.made.target, state.loop
        inside = Counter(name for s in statements((loop,)) for name in bound(s))
        if isinstance(state.made.value, Var):
            return self._of_a_name(state, state.made.value, inside)
        alone = self._are_alone(state, (), target)
        if alone and _gives_back(state.made, loop.body):
            return {id(state.made): []}
        filling = self._filled(state.made, target) if alone else None
        if filling is not None:
            return {id(state.made): filling}
        return self._under_another_name(state, inside) or self._beside(state)

    def _is_written(self, name: str) -> bool:
        """Say whether an array, or a part of it, may be written by any of its names."""
        names = {name}
        while True:
            more = set(names)
            for stmt in statements(self.fn.body):
                match stmt:
                    case Assign(target, value):
                        base = view_base(value)
                        more |= {target.name} if base is not None and base.name in names else set()
                    case CallStmt(given, _, args):
                        taken = {root.name for arg in args if (root := root_of(arg)) is not None}
                        more |= {target.name for target in given} if taken & names else set()
                    case Swap(first, second):
                        more |= {first.name, second.name} if {first.name, second.name} & names else set()
                    case _:
                        pass
            if more == names:
                break
            names = more
        return any(one in names for stmt in statements(self.fn.body) for one in written_by(stmt, self.facts))

    def _are_alone(self, state: _State, without: tuple[Stmt, ...], *arrays: Var) -> bool:
        """Say whether arrays have no other names by what may give them some, but for some statements."""
        left_out: Changes = {id(stmt): [] for stmt in (state.made, *without)}
        groups = Groups(replace(self.fn, body=_changed(state.meets, left_out)), self.facts)
        shared = {groups.find(name) for name in groups.parent}
        return not any(groups.find(one.name) in shared for one in arrays)

    def _is_of_a_turn(self, name: Var, state: _State, inside: Counter[str]) -> bool:
        """Say whether an array like the state is made once in a turn, and neither outlives it nor is kept."""
        assert not isinstance(state.loop, If)
        outside = self.live.after.get(id(state.loop), frozenset()) | self.live.before_loop_body(state.loop)
        once = inside[name.name] == 1 and name.name not in self.params and name.name not in outside
        return once and _are_alike(name, state.made.target) and not may_be_kept(name, state.loop.body)

    def _of_a_name(self, state: _State, new: Var, inside: Counter[str]) -> Changes | None:
        """`x = new`: `new` is computed into `x`, or exchanges its array with it."""
        target, loop = state.made.target, state.loop
        making = [s for s in loop.body if isinstance(s, Assign) and s.target == new]
        if new.type != target.type or len(making) != 1 or not self._is_of_a_turn(new, state, inside):
            return None
        if new.name in self.live.after.get(id(state.made), frozenset()) or not self._are_alone(state, (), target, new):
            return None
        made = making[0]
        uses = sum(new.name in reads(expr) for s in statements(loop.body) for expr in exprs_of(s))
        if uses == 1 and self._may_wait(made, state.made, loop.body):
            filling = self._filled(replace(made, target=target), target)
            if filling is not None:
                return {id(made): [], id(state.made): filling}
        filling = self._filled(made, new)
        if filling is None:
            return None
        exchange = Swap(target, new, state.made.span)
        return {**_with_room(new, state), id(made): filling, id(state.made): [exchange]}

    def _under_another_name(self, state: _State, inside: Counter[str]) -> Changes | None:
        """`old = x`, then `x = value`: they exchange their arrays, and the one of an earlier `old` is filled."""
        target, loop = state.made.target, state.loop
        naming = [s for s in loop.body if isinstance(s, Assign) and s.value == target]
        if len(naming) != 1 or not any(s is state.made for s in loop.body):
            return None
        old = naming[0].target
        if not self._is_of_a_turn(old, state, inside) or not self._are_alone(state, (naming[0],), target, old):
            return None
        first, last = sorted(at for at, s in enumerate(loop.body) if s is naming[0] or s is state.made)
        between = loop.body[first + 1 : last]
        changed = {name for s in statements(between) for name in (*bound(s), *written_by(s, self.facts))}
        if loop.body[last] is not state.made or changed & {target.name, old.name}:
            return None
        meant: dict[str, Expr] = {target.name: old}
        (made,) = replaced((state.made,), meant)
        assert isinstance(made, Assign)
        filling = self._filled(replace(made, target=target), target)
        if filling is None:
            return None
        renamed: Changes = {id(s): list(replaced((s,), meant)) for s in between}
        exchange = Swap(target, old, naming[0].span)
        return {**renamed, **_with_room(old, state), id(naming[0]): [exchange], id(state.made): filling}

    def _beside(self, state: _State) -> Changes | None:
        """`x = value` where an element needs others of `x`: an array beside it is filled, and they are exchanged."""
        target, value = state.made.target, state.made.value
        if not isinstance(value, Apply) or value.type != target.type:
            return None
        if not is_small_product(value) and (value.fn not in SCALABLE or value.static):
            return None
        if not self._are_alone(state, (), target):
            return None
        beside = Var(self.namer.fresh(f"{target.name}_next"), target.type)
        filling = self._filled(replace(state.made, target=beside), beside)
        if filling is None:
            return None
        exchange = Swap(target, beside, state.made.span)
        return {**_with_room(beside, state), id(state.made): [*filling, exchange]}

    def _may_wait(self, made: Assign, until: Assign, body: tuple[Stmt, ...]) -> bool:
        """Say whether a value of one turn is the same when it is computed later in the block."""
        places = [at for at, s in enumerate(body) if s is made or s is until]
        if len(places) < 2:
            return False
        groups = Groups(replace(self.fn, body=body), self.facts)
        needed = set(reads(made.value))
        for stmt in statements(body[places[0] + 1 : places[1]]):
            written = {*written_by(stmt, self.facts)}
            if {*bound(stmt), *written} & needed or groups.of(written) & groups.of(needed):
                return False
        return True

    def _filled(self, made: Assign, target: Var) -> list[Stmt] | None:
        """Return what fills `target`, which is there already, in the place of what makes it."""
        kind, value, span = target.type, made.value, made.span
        if not isinstance(value, Apply) or not isinstance(kind, Array) or value.type != kind:
            return None
        whole = Index(target, tuple(EVERY for _ in kind.dims), kind)
        if value.fn in _EMPTY:
            return []
        if value.fn in _ZEROS:
            return [Store(whole, "", literal(0.0), span)]
        if value.fn is np.copy and isinstance(value.args[0], Var):
            return [] if value.args[0] == target else [Store(whole, "", value.args[0], span)]
        if is_small_product(value) and target.name not in reads(value):
            return [Store(whole, "", value, span)]
        if value.fn in SCALABLE and not value.static and _is_by_elements(value, target):
            return [_updating(whole, value, span)]
        return self._stored(made, target)

    def _stored(self, made: Assign, target: Var) -> list[Stmt] | None:
        """Return the stores of a list of numbers, which are computed first if they are of the array's own."""
        numbers = numbers_of(made.value)
        if not numbers:
            return None
        first: list[Stmt] = []
        stores: list[Stmt] = []
        for at, (place, item) in enumerate(numbers):
            if target.name in reads(item):
                number = Var(self.namer.fresh(f"{target.name}_{at}"), Scalar("float64"))
                first.append(Assign(number, item, made.span))
                item = number
            stores.append(Store(replace(place, base=target), "", item, made.span))
        return [*first, *stores]


def _inside(stmt: For | While | If) -> tuple[Stmt, ...]:
    return tuple(inner for block in blocks_of(stmt) for inner in block)


def _are_made(target: Var, loop: For | While | If, made: Assign) -> bool:
    """Say whether all that a loop gives a name is an array that it has just made, but for one statement."""
    for stmt in statements((loop,)):
        if stmt is made or target.name not in bound(stmt):
            continue
        if not (isinstance(stmt, Assign) and isinstance(stmt.value, Apply) and view_base(stmt.value) is None):
            return False
        if not _are_alike(stmt.target, target):
            return False
    return True


def _are_alike(a: Var, b: Var) -> bool:
    """Say whether two arrays have the same lengths and kind of elements."""
    return surely_as_long(a.type, b.type) and getattr(a.type, "dtype", "") == getattr(b.type, "dtype", "")


def _with_room(name: Var, state: _State) -> Changes:
    """Return what makes an array before the loop with which the state exchanges its own."""
    room = Assign(name, Apply(np.empty_like, (state.made.target,), state.made.target.type), state.loop.span)
    return {id(state.loop): [room, state.loop]}


def _gives_back(made: Assign, body: tuple[Stmt, ...]) -> bool:
    """Say whether `x = np.copy(y)` comes right after `y = np.copy(x)`."""
    if not (isinstance(made.value, Apply) and made.value.fn is np.copy):
        return False
    before: Stmt | None = None
    for stmt in body:
        if stmt is made:
            break
        before = before if isinstance(stmt, Comment) else stmt
    match before:
        case Assign(target, Apply(fn, (source,))) if fn is np.copy:
            return (target,) == made.value.args and source == made.target
        case _:
            return False


def _updating(whole: Index, value: Apply, span: Span) -> Store:
    """Return `x[:] = value`, or `x += step` where that is the same."""
    if value.fn in (operator.add, operator.sub) and value.args[0] == whole.base:
        step = value.args[1]
        return Store(whole, "+" if value.fn is operator.add else "-", step, span)
    return Store(whole, "", value, span)


def _is_by_elements(value: Expr, target: Var) -> bool:
    """Say whether each element needs of `target` at most the same element."""
    if value == target:
        return True
    if isinstance(value, Apply) and value.fn in SCALABLE and not value.static and isinstance(value.type, Array):
        return all(_is_by_elements(arg, target) for arg in value.args)
    computed = isinstance(value, Apply) and isinstance(value.type, Array) and view_base(value) is None
    return target.name not in reads(value) or computed
