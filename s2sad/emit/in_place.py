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
from dataclasses import dataclass, replace

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.liveness import Liveness
from s2sad.analysis.sharing import Groups
from s2sad.emit.elements import SCALABLE
from s2sad.emit.lanes import EVERY
from s2sad.emit.workspaces import list_of, may_be_kept
from s2sad.errors import Span
from s2sad.frontend.values import literal
from s2sad.ir.nodes import Apply, Assign, Comment, Expr, For, Function, If, Index, Stmt, Store, Swap, Var, While
from s2sad.ir.types import Array, Scalar
from s2sad.ir.views import view_base
from s2sad.ir.walk import blocks_of, bound, each_once, exprs_of, map_blocks, reads, statements
from s2sad.transform.naming import Namer
from s2sad.transform.together import taken_in

_EMPTY = (np.empty, np.empty_like)
_ZEROS = (np.zeros, np.zeros_like)


def kept_in_place(fn: Function, facts: Facts) -> Function:
    """Return `fn` with such states in their arrays."""
    fn = replace(fn, body=each_once(fn.body))
    seen: set[int] = set()
    while True:
        work = _InPlace(fn, facts)
        for state in _states(fn):
            if id(state.made) not in seen and (changes := work.changes(state)) is not None:
                fn = replace(fn, body=_changed(fn.body, changes))
                break
            seen.add(id(state.made))
        else:
            return fn


Changes = dict[int, list[Stmt]]
"""What stands in the place of statements, by their identity."""


@dataclass(frozen=True, slots=True)
class _State:
    """`made`, or `x = value`, stands in a turn of `loop`, and `first` gives the first turn its `x`.

    `between` stands between these two, and `region` is all that runs before the loop ends.
    """

    made: Assign
    loop: For | While
    first: Assign
    between: tuple[Stmt, ...]
    region: tuple[Stmt, ...]


def _states(fn: Function) -> Iterator[_State]:
    """Go through the arrays that a loop makes anew, and something in its own block makes before it."""

    def inside(block: tuple[Stmt, ...], region: tuple[Stmt, ...] | None) -> Iterator[_State]:
        for at, stmt in enumerate(block):
            around = region or block[: at + 1]
            for inner in blocks_of(stmt):
                yield from inside(inner, around)
            if isinstance(stmt, For | While):
                for made in _in_a_turn(stmt.body):
                    first = _last_binding(block[:at], made.target)
                    if first is not None:
                        yield _State(made, stmt, block[first], block[first + 1 : at], around)  # type: ignore[arg-type]

    yield from inside(fn.body, None)


def _in_a_turn(body: tuple[Stmt, ...]) -> Iterator[Assign]:
    """Go through the statements of a turn, without those of inner loops, that bind arrays."""
    for stmt in body:
        if isinstance(stmt, Assign) and isinstance(stmt.target.type, Array) and stmt.target.type.dims:
            yield stmt
        if isinstance(stmt, If):
            yield from _in_a_turn(stmt.body)
            yield from _in_a_turn(stmt.orelse)


def _last_binding(block: tuple[Stmt, ...], name: Var) -> int | None:
    """Return which statement of a block binds a name last, if it is one that does so on every path."""
    for at in range(len(block) - 1, -1, -1):
        if any(name.name in bound(inner) for inner in statements((block[at],))):
            return at if isinstance(block[at], Assign) else None
    return None


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

    def changes(self, state: _State) -> Changes | None:
        """Return them, or None where it cannot stay."""
        target, loop = state.made.target, state.loop
        kind = target.type
        assert isinstance(kind, Array)
        inside = Counter(name for s in statements((loop,)) for name in bound(s))
        if inside[target.name] > 1 or target.name in self.params:
            return None
        if kind.layout != "C" or kind.dtype != "float64":
            return None
        if state.first.target.type != kind or view_base(state.first.value) is not None:
            return None
        if not isinstance(state.first.value, Apply) or target.name not in self.live.before_loop_body(loop):
            return None
        if may_be_kept(target, (*state.between, *loop.body)):
            return None
        if isinstance(state.made.value, Var):
            return self._of_a_name(state, state.made.value, inside)
        if not _are_alone(self._groups(state), target.name):
            return None
        if _gives_back(state.made, loop.body):
            return {id(state.made): []}
        return self._filled(state.made, target)

    def _groups(self, state: _State) -> Groups:
        """Return what shares memory by what runs up to the end of the loop, but for the statement itself."""
        region = _changed(state.region, {id(state.made): []})
        return Groups(replace(self.fn, body=region), self.facts)

    def _of_a_name(self, state: _State, new: Var, inside: Counter[str]) -> Changes | None:
        """`x = new`: `new` is computed into `x`, or exchanges its array with it."""
        target, loop = state.made.target, state.loop
        making = [s for s in loop.body if isinstance(s, Assign) and s.target == new]
        if new.type != target.type or len(making) != 1 or inside[new.name] > 1 or new.name in self.params:
            return None
        after = self.live.after.get(id(state.made), frozenset()) | self.live.after.get(id(loop), frozenset())
        if new.name in after | self.live.before_loop_body(loop) or may_be_kept(new, loop.body):
            return None
        groups = self._groups(state)
        if not _are_alone(groups, target.name, new.name):
            return None
        made = making[0]
        uses = sum(new.name in reads(expr) for s in statements(loop.body) for expr in exprs_of(s))
        if uses == 1 and self._may_wait(made, state.made, loop.body, groups):
            changes = self._filled(replace(made, target=target), target)
            if changes is not None:
                (filling,) = changes.values()
                return {id(made): [], id(state.made): filling}
        changes = self._filled(made, new)
        if changes is None:
            return None
        room = Assign(new, Apply(np.empty_like, (target,), new.type), loop.span)
        return {**changes, id(loop): [room, loop], id(state.made): [Swap(target, new, state.made.span)]}

    def _may_wait(self, made: Assign, until: Assign, body: tuple[Stmt, ...], groups: Groups) -> bool:
        """Say whether a value of one turn is the same when it is computed later in the block."""
        places = [at for at, s in enumerate(body) if s is made or s is until]
        if len(places) < 2:
            return False
        needed = reads(made.value)
        for stmt in statements(body[places[0] + 1 : places[1]]):
            changed = {*bound(stmt), *written_by(stmt, self.facts)}
            if changed & needed or groups.of(set(written_by(stmt, self.facts))) & groups.of(set(needed)):
                return False
        return True

    def _filled(self, made: Assign, target: Var) -> Changes | None:
        """Return what fills `target`, which is there already, in the place of what makes it."""
        kind, value, span = target.type, made.value, made.span
        if not isinstance(value, Apply) or not isinstance(kind, Array) or value.type != kind:
            return None
        whole = Index(target, tuple(EVERY for _ in kind.dims), kind)
        if value.fn in _EMPTY:
            return {id(made): []}
        if value.fn in _ZEROS:
            return {id(made): [Store(whole, "", literal(0.0), span)]}
        if value.fn is np.copy and isinstance(value.args[0], Var):
            return {id(made): [] if value.args[0] == target else [Store(whole, "", value.args[0], span)]}
        if value.fn in SCALABLE and not value.static and _is_by_elements(value, target):
            return {id(made): [_updating(whole, value, span)]}
        return self._stored(made, target)

    def _stored(self, made: Assign, target: Var) -> Changes | None:
        """Return the stores of a list of numbers, which are computed first if they are of the array's own."""
        items = list_of(made.value)
        if items is None:
            return None
        first: list[Stmt] = []
        stores: list[Stmt] = []
        for at, item in enumerate(items):
            if target.name in reads(item):
                number = Var(self.namer.fresh(f"{target.name}_{at}"), Scalar("float64"))
                first.append(Assign(number, item, made.span))
                item = number
            stores.append(Store(Index(target, (literal(at),), Scalar("float64")), "", item, made.span))
        return {id(made): [*first, *stores]}


def _are_alone(groups: Groups, *names: str) -> bool:
    """Say whether arrays have no other names."""
    shared = {groups.find(name) for name in groups.parent}
    return not any(groups.find(name) in shared for name in names)


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
