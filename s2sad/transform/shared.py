"""What was computed and still holds is used again instead of computed again.

    m = np.max(x)                                  m = np.max(x)
    hit = x == np.max(x)          becomes          hit = x == m

Only calls that cost something are looked at: reductions, products, transcendental functions. Those of numbers
stay as they are where all of them are in the user's own lines. What a branch has computed is known in a later
branch on the same condition, as a function's branches and those of its adjoint are.
"""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.sharing import Groups
from s2sad.frontend.infer import OPERATORS
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Expr, For, Function, If, Index, Return, Stmt, Store, Swap, Var, While
from s2sad.ir.shapes import SHAPES
from s2sad.ir.types import Array, Scalar, is_inexact
from s2sad.ir.views import VIEWS
from s2sad.ir.walk import (
    bound,
    children,
    exprs_of,
    map_blocks,
    map_children,
    map_exprs,
    names_in,
    reads,
    root_of,
    statements,
    subexpressions,
    substitute,
)
from s2sad.transform.inlined import Names, free
from s2sad.transform.naming import Namer, noun

LINEAR_ALGEBRA = ("numpy.linalg", "scipy.linalg", "s2sad.runtime.linalg")
"""What the names of modules begin with whose functions take long."""
_ELEMENTWISE: frozenset[Any] = (OPERATORS - {operator.matmul}) | {
    np.where, np.abs, np.absolute, np.sign, np.square, np.maximum, np.minimum, np.add, np.subtract, np.multiply,
    np.divide, np.negative,
}  # fmt: skip
_CHEAP: frozenset[Any] = _ELEMENTWISE | VIEWS | SHAPES | {
    np.copy, np.zeros, np.ones, np.empty, np.full, np.arange, np.eye, np.real, np.imag,
}  # fmt: skip
_OF_NUMBERS: frozenset[Any] = frozenset({
    getattr(module, name)
    for module in (math, np)
    for name in (
        "exp exp2 expm1 log log1p log2 log10 sqrt cbrt sin cos tan sinh cosh tanh asin acos atan arcsin arccos arctan "
        "arcsinh arccosh arctanh asinh acosh atanh atan2 arctan2 hypot pow power erf erfc gamma lgamma"
    ).split()
    if hasattr(module, name)
})  # fmt: skip
_LAZY = (ops.ifexp, ops.both, ops.either)


def shared(fn: Function, facts: Facts, keep: frozenset[str] = frozenset()) -> Function:
    """Return `fn` with repeated costly calls computed once; names in `keep` are the user's and stay."""
    groups = Groups(fn, facts)
    names = Namer({p.name for p in fn.params} | names_in(fn.body))
    work = _Shared(groups, facts, names, keep, _only_read(fn, facts, groups) - keep, _factors(fn))
    made = replace(fn, body=work.block(fn.body, {}))
    better = free({name: re.sub(r"_\d+$", "", name) for name in sorted(work.made)}, made) if work.other else {}
    return Names(better).function(made) if better else made


def _only_read(fn: Function, facts: Facts, groups: Groups) -> frozenset[str]:
    """Return the names of arrays that are bound once, never written into, and not handed to the caller."""
    binds = Counter(name for stmt in statements(fn.body) for name in bound(stmt))
    written = groups.of({name for stmt in statements(fn.body) for name in written_by(stmt, facts)})
    returned = {n for s in statements(fn.body) if isinstance(s, Return) for value in s.values for n in reads(value)}
    elsewhere = written | groups.of(returned)
    return frozenset(name for name, count in binds.items() if count == 1 and groups.find(name) not in elsewhere)


def _factors(fn: Function) -> frozenset[str]:
    parts = [part for stmt in statements(fn.body) for expr in exprs_of(stmt) for part in subexpressions(expr)]
    taken = [arg for part in parts if isinstance(part, Apply) and part.fn is operator.matmul for arg in part.args]
    inner = [arg.args[0] if isinstance(arg, Apply) and arg.fn in VIEWS else arg for arg in taken]
    return frozenset(arg.name for arg in inner if isinstance(arg, Var))


class _Statements(list[Stmt]):
    """The statements of a block so far; the first `edge` of them are those of an earlier block."""

    edge = 0

    def put_before(self, at: int, stmt: Stmt) -> None:
        """Insert a statement."""
        self.insert(at, stmt)
        self.edge += at < self.edge


@dataclass(slots=True)
class _Side:
    """A block while it is rewritten: calls whose value a name holds, where others were met, the statements."""

    known: dict[Expr, Var]
    seen: dict[Expr, int] = field(default_factory=dict[Expr, int])
    out: _Statements = field(default_factory=_Statements)
    stmt: Stmt | None = None
    """Of the first side of a branch: the branch."""

    def at(self, out: list[Stmt]) -> int | None:
        """Return where the branch stands."""
        return next((k for k, stmt in enumerate(out) if stmt is self.stmt), None)


@dataclass(slots=True)
class _Shared:
    groups: Groups
    facts: Facts
    namer: Namer
    keep: frozenset[str]
    still: frozenset[str]
    factors: frozenset[str]
    """Names of what products take: arrays that lie in memory."""
    other: dict[str, Expr] = field(default_factory=dict[str, Expr])
    """Names that were one more of something, with what has it."""
    made: set[str] = field(default_factory=set[str])
    """Names that calls were given here."""

    def block(self, body: tuple[Stmt, ...], known: dict[Expr, Var]) -> tuple[Stmt, ...]:
        """Rewrite a block; `known` are calls whose value a name holds at its start."""
        side = _Side(dict(known))
        self._go_on(side, body)
        return tuple(side.out)

    def _go_on(self, side: _Side, body: tuple[Stmt, ...]) -> None:
        """Rewrite the statements that follow those of a block."""
        known, seen, out = side.known, side.seen, side.out
        branches: dict[Expr, tuple[_Side, _Side]] = {}
        for stmt in body:
            stmt = _known_inside(self._renamed(stmt), known)
            changed = self._changed(stmt)
            again = branches.pop(stmt.test, None) if isinstance(stmt, If) and _is_hashable(stmt.test) else None
            self._forget(branches, changed)
            if isinstance(stmt, Assign) and self._is_one_more(stmt, known):
                self.other[stmt.target.name] = known[stmt.value]
                continue
            if isinstance(stmt, For | While):
                self._drop(known, changed)
                seen.clear()
                if isinstance(stmt, For):
                    stmt = _reusing(stmt, known)
                out.append(map_blocks(stmt, lambda b, k=known: self.block(b, k)))
                continue
            if isinstance(stmt, Assign) and self._moves_up(stmt, seen, out):
                known[stmt.value] = self._named(stmt.value, side, stmt.target)
                continue
            if not isinstance(stmt, Swap):
                stmt = _reusing(stmt, known)
                while (call := self._again_in(stmt, side)) is not None:
                    known[call] = self._named(call, side)
                    stmt = _reusing(stmt, {call: known[call]})
                stmt = self._once_in(stmt, known, out)
                for call in _costly_in(stmt):
                    seen[call] = len(out)
            if isinstance(stmt, If):
                self._branch(stmt, side, again, branches)
            else:
                out.append(stmt)
            self._drop(known, changed)
            self._drop(seen, changed)
            if isinstance(stmt, Assign) and self._is_held(stmt) and stmt.target.name not in reads(stmt.value):
                known[stmt.value] = Var(stmt.target.name, stmt.value.type)
                seen.pop(stmt.value, None)

    # ---- branches on one condition ----

    def _branch(
        self, stmt: If, around: _Side, again: tuple[_Side, _Side] | None, branches: dict[Expr, tuple[_Side, _Side]]
    ) -> None:
        """Rewrite both sides of a branch; `again` are those of an earlier one on its condition."""
        if again is not None and (at := again[0].at(around.out)) is not None:
            sides = again
            counts = [len(side.out) for side in sides]
            for side, body, count in zip(sides, (stmt.body, stmt.orelse), counts, strict=True):
                side.known |= around.known
                side.out.edge = count
                self._go_on(side, body)
            first = around.out[at]
            assert isinstance(first, If)
            bodies = [tuple(side.out[: side.out.edge]) for side in sides]
            around.out[at] = replace(first, body=bodies[0], orelse=bodies[1])
            rest = [tuple(side.out[side.out.edge :]) for side in sides]
            sides[0].stmt = around.out[at]
            around.out.append(replace(stmt, body=rest[0], orelse=rest[1]))
            return
        sides = _Side(dict(around.known)), _Side(dict(around.known))
        for side, body in zip(sides, (stmt.body, stmt.orelse), strict=True):
            self._go_on(side, body)
        made = replace(stmt, body=tuple(sides[0].out), orelse=tuple(sides[1].out))
        around.out.append(made)
        sides[0].stmt = made
        if _is_exact(stmt.test) and not self.groups.of(reads(stmt.test)) & self._changed(made):
            branches[stmt.test] = sides

    def _forget(self, branches: dict[Expr, tuple[_Side, _Side]], changed: set[str]) -> None:
        """Forget what a statement behind branches has changed."""
        for test in list(branches):
            if self.groups.of(reads(test)) & changed:
                del branches[test]
                continue
            for side in branches[test]:
                self._drop(side.known, changed)
                self._drop(side.seen, changed)

    def _is_one_more(self, stmt: Assign, known: dict[Expr, Var]) -> bool:
        """Say whether a statement gives a value that has a name another, of which neither is written into."""
        if stmt.target.name not in self.still or not _is_costly(stmt.value) or not _is_hashable(stmt.value):
            return False
        held = known.get(stmt.value)
        return held is not None and held.name in self.still | self.made

    def _moves_up(self, stmt: Assign, seen: dict[Expr, int], out: list[Stmt]) -> bool:
        """Say whether a name for a call that was met before can be given where it was met."""
        name, value = stmt.target.name, stmt.value
        if name not in self.still or not _is_costly(value) or not _is_hashable(value) or value not in seen:
            return False
        return not any(name in reads(e) for s in statements(tuple(out[seen[value] :])) for e in exprs_of(s))

    def _once_in(self, stmt: Stmt, known: dict[Expr, Var], out: _Statements) -> Stmt:
        """Give names to the calls that a statement makes more than once, before it."""
        for call in _twice_in(stmt):
            name = Var(self.namer.fresh(noun(call)), call.type)
            once = _reusing(stmt, {call: name})
            if once != stmt:
                self.made.add(name.name)
                out.append(Assign(name, call, stmt.span))
                known[call] = name
                stmt = once
        return stmt

    def _is_held(self, stmt: Assign) -> bool:
        """Say whether a name holds something that is not worked out again."""
        return _is_costly(stmt.value) or (
            stmt.target.name in self.factors & self.still and _is_arithmetic(stmt.value)
        )  # fmt: skip

    def _again_in(self, stmt: Stmt, side: _Side) -> Expr | None:
        """Return a call of a statement that was met before and is worth a name."""
        return next((c for c in _costly_in(stmt, side.seen) if self._pays(c, stmt, side.seen, side.out)), None)

    def _pays(self, call: Expr, stmt: Stmt, seen: dict[Expr, int], out: list[Stmt]) -> bool:
        """Say whether a call that was met before is given a name: not for numbers in the user's own lines."""
        if call not in seen:
            return False
        return isinstance(call.type, Array) or not _takes_numbers(call) or not (
            self._is_users(stmt) and self._is_users(out[seen[call]])
        )  # fmt: skip

    def _is_users(self, stmt: Stmt) -> bool:
        if isinstance(stmt, Assign):
            return stmt.target.name in self.keep
        root = root_of(stmt.place) if isinstance(stmt, Store) else None
        return root is not None and root.name in self.keep

    def _renamed(self, stmt: Stmt) -> Stmt:
        if not self.other:
            return stmt
        made = map_exprs(stmt, lambda expr: substitute(expr, self.other))
        return map_blocks(made, lambda body: tuple(self._renamed(s) for s in body))

    def _named(self, call: Expr, side: _Side, name: Var | None = None) -> Var:
        """Give a call that was met before a name, before the statement that made it first."""
        known, seen, out = side.known, side.seen, side.out
        at = seen.pop(call)
        if name is None:
            name = Var(self.namer.fresh(noun(call)), call.type)
            self.made.add(name.name)
        first = _reusing(out[at], {call: name})
        out[at] = first
        out.put_before(at, Assign(name, call, first.span))
        inside = set(_below(call))
        for other, place in seen.items():
            if place > at or (place == at and other not in inside):
                seen[other] = place + 1
        for other in [other for other, place in seen.items() if at <= place <= at + 1]:
            renamed = map_children(other, lambda child: _replaced(child, {call: name}))
            seen[renamed] = seen.pop(other)
        for other, held in list(known.items()):
            known[map_children(other, lambda child: _replaced(child, {call: name}))] = held
        return name

    def _changed(self, stmt: Stmt) -> set[str]:
        """Return the groups of names that a statement, or one inside it, binds or writes into."""
        names: set[str] = set()
        for inner in statements((stmt,)):
            names.update(bound(inner))
            names.update(written_by(inner, self.facts))
        return self.groups.of(names)

    def _drop(self, table: dict[Expr, Any], changed: set[str]) -> None:
        for call in list(table):
            held = table[call]
            names = reads(call) | ({held.name} if isinstance(held, Var) else set())
            if self.groups.of(names) & changed:
                del table[call]


def _is_exact(test: Expr) -> bool:
    """Say whether a condition compares what is there: arithmetic of real numbers may come out otherwise again."""
    parts = [part for part in subexpressions(test) if isinstance(part, Apply)]
    return all(isinstance(part.type, Scalar) and not is_inexact(part.type) for part in parts) and _is_hashable(test)


def _is_costly(expr: Expr) -> bool:
    if not isinstance(expr, Apply) or expr.fn in _CHEAP or not isinstance(expr.type, Array | Scalar):
        return False
    if _takes_numbers(expr):
        return expr.fn in _OF_NUMBERS
    if expr.fn is operator.matmul:
        return True
    module = getattr(expr.fn, "__module__", "") or ""
    return isinstance(expr.fn, np.ufunc) or module == "numpy" or module.startswith(LINEAR_ALGEBRA)


def _takes_numbers(expr: Expr) -> bool:
    return isinstance(expr, Apply) and not any(isinstance(arg.type, Array) for arg in expr.args)


def _costly_in(stmt: Stmt, seen: Collection[Expr] = ()) -> list[Expr]:
    """Return the costly calls that a statement surely makes, and those `seen`, outermost first, each once."""
    return list(dict.fromkeys(call for expr in exprs_of(stmt) for call in _below(expr, seen)))


def _twice_in(stmt: Stmt) -> list[Expr]:
    """Return the costly calls that give an array and that a statement makes more than once, none inside another."""
    if not isinstance(stmt, Assign | Store | Return):
        return []
    parts: list[Expr] = [part for expr in exprs_of(stmt) for part in subexpressions(expr) if isinstance(part, Apply)]
    found = [c for c in _costly_in(stmt) if isinstance(c.type, Array) and parts.count(c) > 1]
    return [c for c in found if not any(c is not other and c in subexpressions(other) for other in found)]


def _below(expr: Any, seen: Collection[Expr] = (), laid_down: bool = False) -> list[Expr]:
    """Return the costly calls in an expression, parents first, but for those that may not be made.

    Arithmetic is costly where its result is laid down, as factors of a product are.
    """
    if isinstance(expr, Apply) and expr.fn in _LAZY:
        return []
    costly = _is_costly(expr) or (laid_down and _is_arithmetic(expr))
    own = [expr] if isinstance(expr, Apply) and _is_hashable(expr) and (costly or expr in seen) else []
    product = isinstance(expr, Apply) and expr.fn is operator.matmul
    return own + [call for child in children(expr) for call in _below(child, seen, product)]


def _is_arithmetic(expr: Any) -> bool:
    return isinstance(expr, Apply) and isinstance(expr.type, Array) and expr.fn in _ELEMENTWISE


def _is_hashable(expr: Expr) -> bool:
    try:
        hash(expr)
    except TypeError:
        return False
    return True


def _known_inside(stmt: Stmt, known: dict[Expr, Var]) -> Stmt:
    """Put names for the calls that the value of an assignment is made of."""
    if not known or not isinstance(stmt, Assign) or not _is_costly(stmt.value):
        return stmt
    return replace(stmt, value=map_children(stmt.value, lambda child: _replaced(child, known)))


def _reusing(stmt: Stmt, known: dict[Expr, Var]) -> Stmt:
    """Put names for calls; a statement that binds or passes on an array keeps one of its own."""
    if not known:
        return stmt
    if isinstance(stmt, Store):
        return map_exprs(stmt, lambda e: _replaced(e, known))
    return map_exprs(stmt, lambda e: _inside(e, known))


def _inside(expr: Any, known: dict[Expr, Var]) -> Any:
    if not isinstance(expr.type, Array):
        return _replaced(expr, known)
    if isinstance(expr, Apply) and expr.fn in VIEWS:
        others = (_replaced(arg, known) for arg in expr.args[1:])
        return Apply(expr.fn, (_inside(expr.args[0], known), *others), expr.type, expr.static)
    if isinstance(expr, Index):
        return Index(_inside(expr.base, known), expr.index, expr.type)
    return map_children(expr, lambda child: _replaced(child, known))


def _replaced(expr: Any, known: dict[Expr, Var]) -> Any:
    if isinstance(expr, Apply) and _is_hashable(expr) and expr in known:
        return known[expr]
    made = map_children(expr, lambda child: _replaced(child, known))
    return known.get(made, made) if isinstance(made, Apply) and _is_hashable(made) else made
