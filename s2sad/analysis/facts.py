"""Facts about the functions of a program: what they write, what their results may share, how they vary."""

from __future__ import annotations

import operator
from collections.abc import Callable, Set
from dataclasses import replace
from typing import Any

from s2sad.analysis import found
from s2sad.analysis.activity import LIBRARY, Flow, flow_summary
from s2sad.analysis.alias import exact_aliases, view_base
from s2sad.analysis.loops import changes_length, popped_from
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assert,
    Assign,
    CallStmt,
    Effect,
    Expr,
    Function,
    Index,
    Raise,
    Return,
    Slice,
    Stmt,
    Store,
    Var,
)
from s2sad.ir.shapes import SHAPES, bounds_of, shaping_parts
from s2sad.ir.types import Array, ListOf, is_inexact
from s2sad.ir.walk import bound, children, exprs_of, reads, root_of, statements, targets


class Facts:
    """Summaries of every function of a program, each computed when first asked for."""

    def __init__(self, functions: dict[str, Function], opaque: frozenset[str] = frozenset()) -> None:
        """Keep the functions; recursive ones are solved by iteration from below.

        The empty name stands for a library function with several results. `opaque`: functions with
        a rule of their own, whose bodies say nothing of derivatives.
        """
        self.functions = functions
        self.none: frozenset[int] = frozenset()
        self.opaque = opaque
        self._writes: dict[str, frozenset[int]] = {}
        self._flows: dict[str, Flow] = {}
        self._shares: dict[str, tuple[frozenset[int], ...]] = {}
        self._effects: dict[str, bool] = {}
        self._reads: dict[tuple[str, int], bool] = {}
        self._depends: dict[tuple[str, int], bool] = {}
        self._first: dict[tuple[str, int], int] = {}
        self._called: dict[str, tuple[Function, frozenset[str]]] = {}
        self._asking: set[str] = set()
        self._assumed: set[str] = set()
        self._entangled: dict[str, bool] = {}
        self._looked_at: list[Function] = []
        self.declared: dict[str, frozenset[int]] = {}
        """What functions write that are still to be made, and have no body yet."""
        self.adds: dict[str, frozenset[int]] = {}
        """The parameters that adjoints of functions only add to."""
        self.adjoint_of: dict[str, str] = {}
        """By adjoint that may be called together with it, the function."""
        self.origins: dict[str, str] = {}
        """Functions that are tangents of others, which are called as those are."""

    def forget(self, name: str) -> None:
        """Drop what was derived from an earlier version of a function."""
        for table in (self._writes, self._flows, self._shares):
            table.pop(name, None)
        self._entangled.clear()
        self._effects.pop(name, None)
        for table in (self._reads, self._depends, self._first):
            for key in [k for k in table if k[0] == name]:
                del table[key]

    def entangled(self, name: str) -> bool:
        """Say whether some call gives one array to two parameters of the function, or of that it is made from."""
        name = self.origins.get(name, name)
        callers = list(self.functions.values())
        if not self._asking and not _are_same(callers, self._looked_at):
            self._looked_at = callers
            self._entangled.clear()
        if name in self._entangled:
            return self._entangled[name]
        if name in self._asking:  # a call of itself gives what it was given
            self._assumed.add(name)
            return False
        self._asking.add(name)
        outer, self._assumed = self._assumed, set[str]()
        try:
            found = any(self._entangles(fn, name) for fn in callers if name in self._callees(fn))
        finally:
            self._asking.remove(name)
            assumed = self._assumed - {name}
            self._assumed = outer | assumed
        if found or not assumed:  # else it holds for the question alone that is being answered
            self._entangled[name] = found
        return found

    def _entangles(self, fn: Function, name: str) -> bool:
        from s2sad.analysis.sharing import Groups

        groups = Groups(fn, self)
        for stmt in statements(fn.body):
            if isinstance(stmt, CallStmt) and stmt.callee == name:
                roots = [root_of(a) for a in stmt.args if isinstance(a.type, Array | ListOf)]
                found = [groups.find(root.name) for root in roots if root is not None]
                if len(set(found)) != len(found):
                    return True
        return False

    def _callees(self, fn: Function) -> frozenset[str]:
        kept = self._called.get(fn.name)
        if kept is None or kept[0] is not fn:
            kept = fn, frozenset(s.callee for s in statements(fn.body) if isinstance(s, CallStmt))
            self._called[fn.name] = kept
        return kept[1]

    def _solved(self, table: dict[str, Any], name: str, bottom: Callable[[Function], Any], step: Any) -> Any:
        """Return what `table` says of a function, after filling it for all that it calls: from below, together.

        One by one, a function of a cycle would be solved from what is not yet known of another, and stay so.
        """
        if name not in table:
            new = [one for one in self.reached(name) if one not in table]
            table.update((one, bottom(self.functions[one])) for one in new)
            changed = True
            while changed:
                changed = False
                for one in reversed(new):  # callees first
                    found = step(self.functions[one])
                    if found != table[one]:
                        table[one], changed = found, True
        return table[name]

    def reached(self, name: str) -> Set[str]:
        """Return a function and all that it calls, directly or not, in the order in which they are met."""
        found = {name: None}
        waiting = [name]
        while waiting:
            called = self._callees(self.functions[waiting.pop()]) & self.functions.keys()
            new = sorted(called - found.keys())
            found |= dict.fromkeys(new)
            waiting += new
        return found.keys()

    def writes(self, name: str) -> frozenset[int]:
        """Return the positions of the parameters that the function writes into."""
        return self._solved(self._writes, name, lambda _: self.none, self._find_writes) if name else self.none

    def _find_writes(self, fn: Function) -> frozenset[int]:
        if not fn.body and fn.name in self.declared:
            return self.declared[fn.name]
        names = written_names(fn, self)
        return frozenset(i for i, p in enumerate(fn.params) if p.name in names)

    def has_effects(self, name: str) -> bool:
        """Say whether a call may print, check or raise."""
        return bool(name) and self._solved(self._effects, name, lambda _: False, self._find_effects)

    def _find_effects(self, fn: Function) -> bool:
        return any(
            (isinstance(s, Effect | Raise | Assert) and popped_from(s) is None)
            or (isinstance(s, CallStmt) and self.has_effects(s.callee))
            for s in statements(fn.body)
        )

    def reads_content(self, name: str, position: int) -> bool:
        """Say whether a function may read the elements of the array it gets at `position`."""
        key = (name, position)
        if not name:
            return True
        if key not in self._reads:
            self._reads[key] = True  # while a recursive function is looked at
            fn = self.functions[name]
            if position < len(fn.params) and fn.body:
                self._reads[key] = _reads_elements(fn, fn.params[position].name, self, self.reads_content)
        return self._reads[key]

    def reads_found(self, name: str, position: int) -> bool:
        """Say whether a function may read elements of the array it gets at `position` that it has not set before.

        That no other argument shares its memory is for the caller to know.
        """
        return self.reads_content(name, position) and self._met_first(name, position) != found.SETS

    def _met_first(self, name: str, position: int) -> int:
        key = (name, position)
        if not name:
            return found.READS
        if key not in self._first:
            self._first[key] = found.READS  # while a recursive function is looked at
            fn = self.functions[name]
            if position < len(fn.params) and fn.body:
                own = {fn.params[position].name}
                self._first[key] = found.met_first(
                    fn, fn.params[position].name, lambda e: _content(e, own), self._met_first
                )  # fmt: skip
        return self._first[key]

    def depends_on_content(self, name: str, position: int) -> bool:
        """Say whether what a function does may depend on the elements of the array it gets at `position`.

        Unlike `reads_content`, this leaves out what is computed for its shape only.
        """
        key = (name, position)
        if not name:
            return True
        if key not in self._depends:
            self._depends[key] = True  # while a recursive function is looked at
            fn = without_shapes_only(self.functions[name], self)
            if position < len(fn.params) and fn.body:
                self._depends[key] = _reads_elements(fn, fn.params[position].name, self, self.depends_on_content)
        return self._depends[key]

    def flow(self, name: str) -> Flow:
        """Return how results and written parameters vary with the parameters."""
        return self._solved(self._flows, name, self._no_flow, self._find_flow) if name else LIBRARY

    def _no_flow(self, fn: Function) -> Flow:
        return Flow(tuple(self.none for _ in fn.results), {i: self.none for i in self.writes(fn.name)})

    def _find_flow(self, fn: Function) -> Flow:
        if fn.name in self.opaque:
            every = frozenset(i for i, p in enumerate(fn.params) if is_inexact(p.type))
            return Flow(tuple(every for _ in fn.results), {})
        return flow_summary(fn, self.flow, self.writes(fn.name))

    def shares(self, name: str) -> frozenset[int]:
        """Return the positions of the parameters whose memory a result may share."""
        return frozenset[int]().union(*self.result_shares(name))

    def result_shares(self, name: str) -> tuple[frozenset[int], ...]:
        """Return, for each result, the positions of the parameters whose memory it may share; library: none."""
        return self._solved(self._shares, name, lambda _: (), self._find_shares) if name else ()

    def target_shares(self, call: CallStmt) -> list[frozenset[int]]:
        """Return, for each target of a call, the positions of the arguments whose memory it may share."""
        known = self.result_shares(call.callee)
        return [known[i] if i < len(known) else self.none for i in range(len(call.targets))]

    def _find_shares(self, fn: Function) -> tuple[frozenset[int], ...]:
        group = _groups(fn, self)
        params = [(i, group(p.name)) for i, p in enumerate(fn.params) if isinstance(p.type, Array | ListOf)]
        found: list[frozenset[int]] = []
        for stmt in statements(fn.body):
            for at, value in enumerate(stmt.values if isinstance(stmt, Return) else ()):
                base = view_base(value)
                shared = [i for i, one in params if base is not None and one == group(base.name)]
                found += [self.none] * (at + 1 - len(found))
                found[at] |= frozenset(shared)
        return tuple(found)


def _are_same(some: list[Function], others: list[Function]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _reads_elements(fn: Function, name: str, facts: Facts, asks: Callable[[str, int], bool]) -> bool:
    """Writing elements and asking for the shape do not read content; anything else may."""
    group = _groups(fn, facts)
    names = {name} | {
        n for s in statements(fn.body) if isinstance(s, Assign) for n in (s.target.name,) if group(n) == group(name)
    }
    return any(_reads_in(stmt, names, asks) for stmt in statements(fn.body))


def without_shapes_only(fn: Function, facts: Facts) -> Function:
    """Return a function without the arrays of which nothing but the shape is asked: their elements do not matter."""
    while True:
        read = ((s, n) for s in statements(fn.body) for e in exprs_of(s) for n in reads(e))
        asked = {name for stmt, name in read if _reads_in(stmt, {name}, facts.depends_on_content)}
        body = tuple(s for s in fn.body if not _gives_shapes_only(s, asked, facts))
        if len(body) == len(fn.body):
            return fn
        fn = replace(fn, body=body)


def _gives_shapes_only(stmt: Stmt, asked: set[str], facts: Facts) -> bool:
    made = targets(stmt)
    pure = isinstance(stmt, Assign) or (isinstance(stmt, CallStmt) and not facts.writes(stmt.callee))
    return pure and all(isinstance(t.type, Array) and t.name not in asked for t in made) and bool(made)


def _reads_in(stmt: Stmt, names: set[str], asks: Callable[[str, int], bool]) -> bool:
    match stmt:
        case Store(Index(Var(), index), "", value):
            return any(_content(e, names) for e in (*index, value))
        case CallStmt(_, callee, args):
            for i, arg in enumerate(args):
                root = root_of(arg)
                if isinstance(arg, Var) and arg.name in names:
                    if asks(callee, i):
                        return True
                elif (root is not None and root.name in names) or _content(arg, names):
                    return True
            return False
        case _:
            return any(_content(e, names) for e in exprs_of(stmt))


def _content(expr: Expr | Slice, names: set[str]) -> bool:
    match expr:
        case Apply(fn) if fn in SHAPES:
            return any(_content(part, names) for part in shaping_parts(expr))
        case Apply(fn, (value, like)) if fn is ops.unbroadcast:
            return _content(value, names) or any(_content(part, names) for part in bounds_of(like))
        case Var(name):
            return name in names
        case _:
            return any(_content(child, names) for child in children(expr))


def written_names(fn: Function, facts: Facts) -> set[str]:
    """Return every name whose memory may be written, through any alias."""
    group = _groups(fn, facts)
    written: set[str] = set()
    own = _own_lists(fn)
    for stmt in statements(fn.body):
        for root in written_by(stmt, facts):
            if not (root in own and (isinstance(stmt, Append) or popped_from(stmt) is not None)):
                written.add(group(root))
    names = {p.name for p in fn.params}
    for stmt in statements(fn.body):
        if isinstance(stmt, Assign):
            names.add(stmt.target.name)
    return {name for name in names if group(name) in written} | own


def _own_lists(fn: Function) -> set[str]:
    """Return the lists that a function makes and that have one name: they may share items, but are no other list."""
    made: dict[str, list[Stmt]] = {}
    handed: set[str] = set()
    for stmt in statements(fn.body):
        for name in bound(stmt):
            made.setdefault(name, []).append(stmt)
        values = [stmt.value] if isinstance(stmt, Assign | Append | Store) else []
        handed |= {value.name for value in values if isinstance(value, Var)}
    return {
        name for name, stmts in made.items() if name not in handed
        and all(isinstance(s, Assign) and isinstance(s.value, Apply) and s.value.fn is ops.new_list for s in stmts)
    }  # fmt: skip


def written_by(stmt: Stmt, facts: Facts) -> list[str]:
    """Return the root names that one statement writes into."""
    match stmt:
        case Store(place) if isinstance(place.type, Array) or root_of(place) is not place:
            root = root_of(place)
            return [root.name] if root is not None else []
        case Append(target):
            return [target.name]
        case Assign() | Effect() if (items := popped_from(stmt)) is not None:
            return [items.name]
        case CallStmt(_, callee, args):
            roots = [root_of(args[i]) for i in facts.writes(callee) if i < len(args)]
            return [root.name for root in roots if root is not None]
        case _:
            return []


def resized_by(stmt: Stmt, facts: Facts) -> list[str]:
    """Return the names of lists that one statement may make longer or shorter."""
    match stmt:
        case CallStmt(_, callee, args):
            given = [args[i] for i in facts.writes(callee) if i < len(args)]
            return [arg.name for arg in given if isinstance(arg, Var) and isinstance(arg.type, ListOf)]
        case _:
            return written_by(stmt, facts) if changes_length(stmt) else []


def _groups(fn: Function, facts: Facts) -> Callable[[str], str]:
    """Union names that may share memory, whatever the order of statements."""
    from s2sad.analysis.sharing import Groups

    return Groups(fn, facts).find


__all__ = ["Facts", "exact_aliases", "is_inexact", "resized_by", "written_by", "written_names"]
