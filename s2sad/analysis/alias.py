"""Aliases: which names are views of which arrays, and where that cannot be decided.

A name bound once to a view (`row = A[i]`, `y = x`, `B = A.T`) is an *exact* alias: its shadow is
the same view of the shadow of its root. Any other array name is treated as a value of its own,
which is right as long as nobody writes into memory that another live name may share; `check`
proves that, following every buffer through branches and loops, or raises `AliasError`.
"""

from __future__ import annotations

import inspect
import linecache
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from s2sad import runtime
from s2sad.analysis.bounds import Bounds, from_the_start, inside, lower_bounds
from s2sad.analysis.layout import Block
from s2sad.analysis.liveness import Liveness
from s2sad.analysis.loops import affine, popped_from
from s2sad.errors import AliasError, Span
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    CallStmt,
    Const,
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
from s2sad.ir.types import Array, ListOf
from s2sad.ir.views import is_item, view_base
from s2sad.ir.walk import bound, exprs_of, reads, root_of, statements, subexpressions

if TYPE_CHECKING:
    from s2sad.analysis.facts import Facts

_UNSURE = (np.reshape, np.ravel, np.ascontiguousarray)
_NO_SHADOW = (
    np.asarray, np.asanyarray, np.broadcast_to, np.diagonal, np.diag, np.einsum, ops.unbroadcast, runtime.unbroadcast,
    np.lib.stride_tricks.sliding_window_view, np.imag,
)  # fmt: skip
"""Views whose adjoint is an array of its own: they may be copies, cannot be written, or are parts up to a sign."""


def is_sure_view(expr: Expr) -> bool:
    """Say whether a view expression is a view in every run, not a copy in some."""
    match expr:
        case Var():
            return True
        case Index(base):
            return is_sure_view(base)
        case Apply(fn, (base, *_)):
            if fn in _UNSURE and not (isinstance(base.type, Array) and base.type.layout == "C" and _by_rows(base)):
                return False
            return fn not in _NO_SHADOW and is_sure_view(base)
        case _:
            return False


def _by_rows(view: Expr) -> bool:
    """Say whether the array lies by rows that an expression is a view of.

    What lies by columns may lie by rows where it is made again: adjoints, tangents, what a tape gives back.
    """
    root = root_of(view)
    kind = root.type if root is not None else None
    return not isinstance(kind, Array) or len(kind.dims) < 2 or kind.layout == "C"


@dataclass(frozen=True, slots=True)
class Alias:
    """An exact alias: the name, the statement that binds it, and the name at its root."""

    name: str
    binding: Assign
    root: str


def exact_aliases(fn: Function) -> dict[str, Alias]:
    """Return the names that are views of another name for their whole life, which is that of one block."""
    defs: dict[str, list[Stmt]] = {}
    for stmt in statements(fn.body):
        for name in bound(stmt):
            defs.setdefault(name, []).append(stmt)
    params = {p.name for p in fn.params}
    found: dict[str, Alias] = {}
    users: dict[str, set[int]] = {}
    for stmt in statements(fn.body):
        for name in _mentioned(stmt):
            users.setdefault(name, set()).add(id(stmt))
    _scan(fn.body, defs, params, found, users, lower_bounds(fn))
    return found


def is_in_text(name: str, span: Span) -> bool:
    """Say whether a name is the program's own, not one that a part of an expression was given."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    lines = linecache.getlines(span.file)
    heads = [k for k, line in enumerate(lines[: span.line]) if line.lstrip().startswith(("def ", "async def "))]
    for head in reversed(heads):  # where other functions stand too, the one of the span
        block = inspect.getblock(lines[head:])
        if head + len(block) >= span.line:
            lines = block
            break
    return any(word.search(line) for line in lines)


def _mentioned(stmt: Stmt) -> set[str]:
    return {n for expr in exprs_of(stmt) for n in reads(expr)} | set(bound(stmt))


def _scan(
    body: tuple[Stmt, ...], defs: dict[str, list[Stmt]], params: set[str], found: dict[str, Alias],
    users: dict[str, set[int]], least: Bounds,
) -> None:  # fmt: skip
    from s2sad.ir.walk import blocks_of

    here = {id(stmt): position for position, top in enumerate(body) for stmt in statements((top,))}
    for position, stmt in enumerate(body):
        if isinstance(stmt, Assign):
            base = view_base(stmt.value)
            name = stmt.target.name
            single = len(defs.get(name, ())) == 1 and name not in params
            single = single and all(here.get(user, -1) >= position for user in users[name])  # none in the next turn
            if base is not None and single and is_sure_view(stmt.value):
                if _steady(base.name, defs, params) or _steady_here(base.name, body[position + 1 :]):
                    root = found[base.name].root if base.name in found else base.name
                    rest = body[position + 1 :]
                    if _steady_index(stmt.value, base.name, rest) and _same_item(stmt.value, root, rest, found, least):
                        found[name] = Alias(name, stmt, root)
        for block in blocks_of(stmt):
            _scan(block, defs, params, found, users, inside(stmt, least) if isinstance(stmt, For) else least)


def _steady(name: str, defs: dict[str, list[Stmt]], params: set[str]) -> bool:
    """Say whether the name means one buffer for its whole life."""
    made = defs.get(name, [])
    if name in params:
        return not made
    return len(made) == 1 and not isinstance(made[0], Swap)


def _steady_here(base: str, rest: tuple[Stmt, ...]) -> bool:
    """Say whether the base keeps its buffer to the end of the alias's own block.

    The reverse of the block binds the view first thing, in the state that the block ended in.
    """
    return not any(base in bound(s) for s in statements(rest))


def _steady_index(value: Expr, base: str, rest: tuple[Stmt, ...]) -> bool:
    """Say whether the names in the view's index keep their meaning to the end of the block."""
    used = reads(value) - {base}
    return not used or not any(used & set(bound(s)) for s in statements(rest))


def _same_item(
    value: Expr, root: str, rest: tuple[Stmt, ...], found: dict[str, Alias], least: Bounds
) -> bool:
    """Say whether an item of a list stays the one of that index: `xs[-1]` does not once the list has grown."""
    parts = [part for part in subexpressions(value) if isinstance(part, Index) and _is_list(part.base)]
    indices: list[Any] = [part.index[0] for part in parts]
    if not indices:
        return True
    roots = {name: alias.root for name, alias in found.items()}
    changing = [s for s in statements(rest) if root in {roots.get(name, name) for name in _lists(s)}]
    if not all(isinstance(s, Append) for s in changing):
        return False
    return not changing or all(
        (known := affine(index)) is not None and from_the_start(known, least) for index in indices
    )


def _is_list(expr: Expr) -> bool:
    return isinstance(expr.type, ListOf)


def _lists(stmt: Stmt) -> set[str]:
    """Return the lists whose length a statement may change."""
    if isinstance(stmt, Append):
        return {stmt.list.name}
    if (items := popped_from(stmt)) is not None:
        return {items.name}
    if isinstance(stmt, CallStmt):
        return {root.name for arg in stmt.args if _is_list(arg) and (root := root_of(arg)) is not None}
    return set()


# ---- proof that every other name may be treated as a value of its own ----

State = dict[str, frozenset[Any]]


def _moves(body: tuple[Stmt, ...]) -> set[int]:
    """Return the statements that give a list an item which leaves its own place in the same block: exchanges."""
    from s2sad.ir.walk import blocks_of

    found: set[int] = set()
    taken: dict[str, tuple[int, Expr]] = {}
    stored = [(at, s) for at, s in enumerate(body) if isinstance(s, Store) and not s.op and is_item(s.place)]
    for at, stmt in enumerate(body):
        if isinstance(stmt, Assign) and is_item(stmt.value):
            taken[stmt.target.name] = (at, stmt.value)
        for block in blocks_of(stmt):
            found |= _moves(block)
    for at, stmt in stored:
        since, source = taken.get(stmt.value.name, (0, stmt.value)) if isinstance(stmt.value, Var) else (at, stmt.value)
        gone = any(other > since and _is_same_item(one.place, source) for other, one in stored if one is not stmt)
        if gone or _is_same_item(stmt.place, stmt.value):
            found.add(id(stmt))
    return found


def _copies_items(fn: Function) -> bool:
    """Say whether a list gets a copy of an item of a list, as where items change places."""

    def is_copy(expr: Expr) -> bool:
        return isinstance(expr, Apply) and expr.fn is np.copy and is_item(expr.args[0])

    every = list(statements(fn.body))
    given = [s.value for s in every if isinstance(s, Store) and not s.op and is_item(s.place)]
    names = {value.name for value in given if isinstance(value, Var)}
    made = [s.value for s in every if isinstance(s, Assign) and s.target.name in names]
    return any(is_copy(value) for value in (*given, *made))


def _is_same_item(place: Expr, other: Expr) -> bool:
    """Say whether two places are written alike, whatever is known of the lengths of what is there."""
    if not (is_item(place) and is_item(other) and isinstance(place, Index) and isinstance(other, Index)):
        return False
    first, second = root_of(place), root_of(other)
    return first is not None and second is not None and first.name == second.name and place.index == other.index


def check(fn: Function, facts: Facts, only_unsure: bool = False) -> None:
    """Raise AliasError if a write may reach memory that another live name shares unprovably.

    `only_unsure`: a tangent follows every alias by itself, but for views that may be copies.
    """
    _checked(fn, facts, only_unsure)


@dataclass(frozen=True, slots=True)
class Sharing:
    """What shares memory where."""

    at_writes: dict[int, set[str]]
    """By statement that writes, the other names that may share the memory then."""
    rebound: set[int]
    """The statements that bind a name anew, to an array or a view, while others hold the one that it had."""
    written_later: set[tuple[Block, str]]
    """By block, the names whose arrays at its end are written through other names somewhere."""


def sharing(fn: Function, facts: Facts) -> Sharing:
    """Return what shares memory where in a function that `check` has passed."""
    checker = _checked(fn, facts, False)
    return Sharing(checker.shared, checker.reachable, checker.written_later())


def _checked(fn: Function, facts: Facts, only_unsure: bool) -> _Checker:
    """Follow the buffers of a function: loops turn by turn only where that decides what is undecided otherwise."""
    checker = _Checker(fn, facts, only_unsure)
    try:
        checker.run()
    except AliasError:
        checker = _Checker(fn, facts, only_unsure, peeled=True)
        checker.run()
    return checker


class _Checker:
    """Follows buffers: a parameter's, or of an allocation, its newest and its earlier instances.

    `peeled`: the first turn of a loop is followed by itself, as what it works on may be what no later turn does.
    """

    def __init__(self, fn: Function, facts: Facts, only_unsure: bool, peeled: bool = False) -> None:
        self.fn, self.facts, self.only_unsure, self.peeled = fn, facts, only_unsure, peeled
        self.exact = exact_aliases(fn)
        self.live = Liveness(fn.body, given_names(fn))
        self.unsure: set[str] = set()
        self.shared: dict[int, set[str]] = {}
        self.reachable: set[int] = set()
        self.writers: dict[Any, set[str]] = {}
        """By allocation or parameter, the names through which it is written."""
        self.ends: dict[Block, State] = {}
        self.resumed: dict[str, frozenset[Any]] = {}
        """By name, the arrays that it is given again while they have other names."""
        self.turn: frozenset[Any] = frozenset()
        """Where arrays are made in a turn of the innermost loop around."""
        self.turns: dict[Block, frozenset[Any]] = {}
        targets = [s.target for s in statements(fn.body) if isinstance(s, Assign)]
        self.lists = {v.name for v in (*fn.params, *targets) if isinstance(v.type, ListOf)}
        self.made_lists: set[Any] = set()
        """The allocations that are lists which begin empty: what these hold has sites of its own."""
        self.filled_lists: set[Any] = {("param", p.name) for p in fn.params if isinstance(p.type, ListOf)}
        """The sites of lists that are there with all that they hold: these stand for the arrays too."""
        self.counters = {s.var.name for s in statements(fn.body) if isinstance(s, For)}
        self.moves = _moves(fn.body)
        self.copied_items = _copies_items(fn)
        """Whether arrays of lists change places by copies: what was one array is none any more."""
        self.twice: set[str] = set()
        """Lists that may hold one array in two places."""

    def run(self) -> None:
        state: State = {
            p.name: frozenset({("param", p.name)})
            for p in self.fn.params
            if isinstance(p.type, Array | ListOf)
        }
        self._block(self.fn.body, state)

    def written_later(self) -> set[tuple[Block, str]]:
        """Return, by block, the names whose arrays at its end are written through other names."""
        return {
            (block, name) for block, state in self.ends.items() for name, objects in state.items()
            if any(self.writers.get(_site(o), set()) - {self._root(name)} for o in objects)
            or self._is_resumed(name, objects, self.turns[block])
        }  # fmt: skip

    def _is_resumed(self, name: str, objects: frozenset[Any], made: frozenset[Any]) -> bool:
        """Say whether a later turn may write by a name into what it meant, as it is given that by another name."""
        next_turn = {(o[0], "old") if o[0] in made else o for o in objects if self.writers.get(_site(o))}
        return bool(next_turn & self.resumed.get(name, frozenset()))

    def _root(self, name: str) -> str:
        return self.exact[name].root if name in self.exact else name

    def _block(self, body: tuple[Stmt, ...], state: State, block: Block | None = None) -> State:
        for stmt in body:
            state = self._step(stmt, state)
        if block is not None:
            self.ends[block] = _join(self.ends.get(block, {}), state)
            self.turns[block] = self.turn
        return state

    def _step(self, stmt: Stmt, state: State) -> State:
        match stmt:
            case Assign(target, value) if isinstance(target.type, Array | ListOf):
                return self._assign(stmt, target, value, state)
            case Store(place) if isinstance(place.type, Array) or place is not root_of(place):
                root = root_of(place)
                if root is None:
                    return state
                replaces = isinstance(place, Index) and isinstance(place.base.type, ListOf) and not stmt.op
                self._write(root.name, stmt, state, replaces)
                if isinstance(root.type, ListOf) and isinstance(stmt.place.type, Array):
                    self._replaced(root.name, stmt)
                base = view_base(stmt.value) if replaces and isinstance(stmt.value.type, Array) else None
                if base is None:
                    return self._with_new(root.name, stmt, state) if replaces and is_item(place) else state
                if id(stmt) not in self.moves:
                    self._put(root.name, stmt.value, base, state)
                return {**state, root.name: state.get(root.name, frozenset()) | self._meant(stmt.value, base, state)}
            case Append(target, value):
                base = view_base(value)
                if base is None:
                    return self._with_new(target.name, stmt, state) if isinstance(value.type, Array) else state
                self._put(target.name, value, base, state)
                return {**state, target.name: state.get(target.name, frozenset()) | self._meant(value, base, state)}
            case Swap(first, second):
                return self._swap(stmt, first.name, second.name, state)
            case CallStmt():
                return self._call(stmt, state)
            case If(_, body, orelse):
                then = self._block(body, dict(state), (id(stmt), 0))
                return _join(then, self._block(orelse, dict(state), (id(stmt), 1)))
            case For() | While():
                return self._loop(stmt, state)
            case _:
                return state

    def _assign(self, stmt: Assign, target: Var, value: Expr, state: State) -> State:
        base = view_base(value)
        self._rebound(stmt, target.name, base, state)
        if base is not None:
            if not is_sure_view(value):
                self.unsure.add(target.name)
            meant = self._meant(value, base, state)
            self.resumed[target.name] = self.resumed.get(target.name, frozenset()) | meant
            return {**state, target.name: meant}
        if isinstance(target.type, ListOf):
            begun = isinstance(value, Apply) and value.fn is ops.new_list
            (self.made_lists if begun else self.filled_lists).add(id(stmt))
        return self._fresh(target.name, id(stmt), state)

    def _with_new(self, items: str, stmt: Stmt, state: State) -> State:
        """A list gets an array that is made for it, and may hold others that were made there."""
        return {**state, items: state.get(items, frozenset()) | {(id(stmt), "old")}}

    def _meant(self, value: Expr, base: Var, state: State) -> frozenset[Any]:
        """Return what a view of a name may be: an array is no list, only what one holds."""
        objects = state.get(base.name, frozenset())
        if isinstance(value.type, ListOf):
            return objects
        return frozenset(o for o in objects if _site(o) not in self.made_lists)

    def _rebound(self, stmt: Assign, name: str, base: Var | None, state: State) -> None:
        had = state.get(name, frozenset())
        later = self.live.after.get(id(stmt), frozenset())
        holders = {n for n, objects in state.items() if n != name and n in later and objects & had}
        if holders or (base is not None and state.get(base.name, frozenset()) & had):
            self.reachable.add(id(stmt))

    def _fresh(self, name: str, site: int, state: State) -> State:
        """A new instance of an allocation: what the site made before is now an earlier one."""
        aged = {
            other: frozenset((o[0], "old") if o == (site, "new") else o for o in objects)
            for other, objects in state.items()
        }
        return {**aged, name: frozenset({(site, "new")})}

    def _swap(self, stmt: Swap, a: str, b: str, state: State) -> State:
        """Two names that share nothing exchange buffers: calling the buffers by the names keeps them apart.

        A name that the program does not read again may mean either of them from here on.
        """
        first, second = state.get(a, frozenset()), state.get(b, frozenset())
        both = first | second
        others = {name for name, objects in state.items() if name not in (a, b) and objects & both}
        if first & second or others & self.live.after.get(id(stmt), frozenset()):
            return {**state, a: second, b: first}
        return {**state, **{name: state[name] | both for name in others}}

    def _call(self, stmt: CallStmt, state: State) -> State:
        written = self.facts.writes(stmt.callee)
        for position in written:
            root = root_of(stmt.args[position])
            if root is None:
                continue
            self._write(root.name, stmt, state)
            for other, arg in enumerate(stmt.args if not self.only_unsure else ()):
                if other != position and self._overlap(stmt.args[position], arg, state):
                    raise AliasError(
                        f"arguments {position + 1} and {other + 1} of this call may share memory that it writes",
                        stmt.span,
                        "Pass copies, or arrays that are surely apart.",
                    )
        for number, (target, given) in enumerate(zip(stmt.targets, self.facts.target_shares(stmt), strict=True)):
            if isinstance(target.type, Array | ListOf):
                shared = [
                    state.get(root.name, frozenset())
                    for i in given
                    if (root := root_of(stmt.args[i])) is not None
                ]
                site = hash((id(stmt), number))
                if isinstance(target.type, ListOf):
                    self.filled_lists.add(site)
                state = self._fresh(target.name, site, state)
                state[target.name] = state[target.name].union(*shared)
        return state

    def _overlap(self, a: Expr, b: Expr, state: State) -> bool:
        if not isinstance(b.type, Array | ListOf):
            return False
        first, second = root_of(a), root_of(b)
        if first is None or second is None:
            return False
        if self._root(first.name) == self._root(second.name):
            return not apart(a, b)
        return bool(state.get(first.name, frozenset()) & state.get(second.name, frozenset()))

    def _put(self, items: str, value: Expr, base: Var, state: State) -> None:
        """Note that a list may hold what it is given in another place already; rows of an array are apart."""
        row = isinstance(value, Index) and any(
            isinstance(at, Var) and at.name in self.counters for at in value.index
        ) and not isinstance(base.type, ListOf)
        if not row and (base.name == items or state.get(base.name, frozenset()) & state.get(items, frozenset())):
            self.twice.add(items)

    def _write(self, name: str, stmt: Stmt, state: State, replaces: bool = False) -> None:
        """Follow a write through a name; `replaces`: it gives a list another item, and no array other elements."""
        root = self._root(name)
        touched = state.get(name, frozenset())
        if replaces:  # another list sees that only where it is this one
            touched = frozenset(o for o in touched if _site(o) in self.made_lists | self.filled_lists)
        if self.twice and not replaces and (self.copied_items or not self.only_unsure):
            self._refuse_twice(stmt, touched, state)
        for o in touched:
            self.writers.setdefault(_site(o), set()).add(root)
        later = self.live.after.get(id(stmt), frozenset()) - set(bound(stmt))  # what the statement binds is no old name
        for other, objects in state.items():
            if other != name and objects & touched and not (replaces and other not in self.lists):
                self.shared.setdefault(id(stmt), set()).add(other)
            if other == name or (self._root(other) == root and other not in self.unsure and name not in self.unsure):
                continue
            if replaces and other not in self.lists:
                continue
            parted = self.copied_items and bool(self.lists & {other, name})
            if self.only_unsure and not parted and other not in self.unsure and name not in self.unsure:
                continue
            if other in later and objects & touched:
                named = [word for word in (other, name) if is_in_text(word, stmt.span)]
                whole = [word for word in named if word not in self.lists]  # a list's copy holds the same arrays
                example = f", as in `{whole[0]} = {whole[0]}.copy()`" if whole else ""
                raise AliasError(
                    f"`{name}` is written here while `{other}` may share its memory" if len(named) == 2 else
                    "an array is written here while another may share its memory",
                    stmt.span,
                    f"Which of them the write reaches cannot be decided. Make one a copy{example}, before the write.\n"
                    "If the write is meant to reach the other array too, do it in an inner function that is called\n"
                    "with the array or with its part: `sweep(u)`, then `sweep(u.T)`.",
                )

    def _refuse_twice(self, stmt: Stmt, touched: frozenset[Any], state: State) -> None:
        """Refuse a write into an array that a list, which is still read, holds in two places."""
        later = self.live.after.get(id(stmt), frozenset())
        for items in sorted(self.twice & later):
            if state.get(items, frozenset()) & touched:
                raise AliasError(
                    f"an array is written here that the list `{items}` may hold twice" if is_in_text(items, stmt.span)
                    else "an array is written here that a list may hold twice",
                    stmt.span,
                    "Put a copy into the list: `items.append(v.copy())`.",
                )

    def _replaced(self, items: str, stmt: Store) -> None:
        """An array of a list gives way to another: a name for the one that was there is no view of the list."""
        place = stmt.place
        if self.only_unsure or not (isinstance(place, Index) and isinstance(place.base.type, ListOf)):
            return
        later = self.live.after.get(id(stmt), frozenset())
        for name, alias in self.exact.items():
            whole = isinstance(alias.binding.target.type, ListOf)  # another name for the list sees what it holds now
            if alias.root == self._root(items) and name in later and not whole:
                raise AliasError(
                    f"an item of `{items}` is replaced here while `{name}` means one of them",
                    stmt.span,
                    f"Make it an array of its own: `{name} = {name}.copy()`, before the items change places.",
                )

    def _loop(self, stmt: For | While, state: State) -> State:
        block = (id(stmt), 0)
        outside, self.turn = self.turn, frozenset(site for s in statements(stmt.body) for site in _sites(s))
        around = self._block(stmt.body, dict(state), block) if self.peeled else state
        while True:
            after = _join(around, self._block(stmt.body, dict(around), block))
            if after == around:
                self.turn = outside
                return _join(state, around)
            around = after


def _site(o: Any) -> Any:
    """Return where an array was made, or which parameter it is, whichever instance it is."""
    return o if o[0] == "param" else o[0]


def _sites(stmt: Stmt) -> list[Any]:
    """Return where a statement makes arrays."""
    return [id(stmt), *(hash((id(stmt), k)) for k in range(len(stmt.targets) if isinstance(stmt, CallStmt) else 0))]


def given_names(fn: Function) -> frozenset[str]:
    """Return the arrays and lists that a caller gave and still has: it may read them afterwards."""
    rebound = {name for stmt in statements(fn.body) for name in bound(stmt)}
    return frozenset(p.name for p in fn.params if isinstance(p.type, Array | ListOf) and p.name not in rebound)


def _join(a: State, b: State) -> State:
    return {name: a.get(name, frozenset()) | b.get(name, frozenset()) for name in {**a, **b}}


def apart(a: Expr, b: Expr) -> bool:
    """Say whether two places of one array surely do not overlap: constant indices that differ."""
    first, second = _index_of(a), _index_of(b)
    if first is None or second is None:
        return False
    for x, y in zip(first, second, strict=False):
        if isinstance(x, Const) and isinstance(y, Const) and isinstance(x.value, int) and isinstance(y.value, int):
            if x.value != y.value and (x.value >= 0) == (y.value >= 0):
                return True
    return False


def _index_of(expr: Expr) -> tuple[Any, ...] | None:
    return expr.index if isinstance(expr, Index) and isinstance(expr.base, Var) else None
