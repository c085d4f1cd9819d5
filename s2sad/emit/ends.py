"""Target "cpu": the turns at the ends of a loop, where an index wraps around or a branch is taken, stand apart.

                                              for end in range(min(1, n)):
    for i in range(n):                            u[end] = x[(end + 1) % n] - x[end - 1]
        u[i] = x[(i + 1) % n] - x[i - 1]      for i in range(1, n - 1):
                                   becomes        u[i] = x[i + 1] - x[i - 1]
                                              for end in range(max(1, n - 1), n):
                                                  u[end] = x[(end + 1) % n] - x[end - 1]

Divisions, indices that may count from the end and branches keep a processor from taking several turns at once;
the middle has none of them. The turns come in the order in which they came, so nothing has to be known of what
they do. Measured 1.3 to 2.7 times as fast for rings and walls. Needs: an innermost loop that counts up
from a constant, and lengths that it leaves as they are.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from s2sad.emit.elements import plus, split_sum
from s2sad.frontend.operators import BOOL, build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Apply,
    Assign,
    Break,
    Comment,
    Const,
    Expr,
    For,
    Function,
    If,
    Index,
    Return,
    Slice,
    Stmt,
    Var,
    While,
)
from s2sad.ir.types import Array, Scalar, Sym, is_given
from s2sad.ir.walk import (
    bound,
    exprs_of,
    map_blocks,
    map_children,
    map_exprs,
    names_in,
    reads,
    statements,
    subexpressions,
    substitute,
    told_apart,
)
from s2sad.transform.naming import Namer
from s2sad.transform.unrolled import outlives

_TURNS = 4  # that may be set apart at each end
_STATEMENTS = 40  # of a turn, as they are written three times
_LONG = 12  # turns that a loop of known length must have
_COMPARED = {
    operator.lt: operator.gt, operator.gt: operator.lt, operator.le: operator.ge, operator.ge: operator.le,
    operator.eq: operator.eq, operator.ne: operator.ne,
}  # fmt: skip


def apart_at_ends(fn: Function) -> Function:
    """Return `fn` with such loops in three."""
    namer = Namer({p.name for p in fn.params} | names_in(fn.body))

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        made: list[Stmt] = []
        for stmt in body:
            parts = _parted(stmt, fn, namer) if isinstance(stmt, For) and _is_innermost(stmt) else None
            made += parts if parts is not None else [map_blocks(stmt, block)]
        return tuple(made)

    return replace(fn, body=block(fn.body))


def _is_innermost(loop: For) -> bool:
    inside = list(statements(loop.body))
    return len(inside) <= _STATEMENTS and not any(isinstance(s, For | While | Break | Return) for s in inside)


@dataclass(frozen=True, slots=True)
class _Sum:
    """`counter * i + root * n + constant`, where `n` is what the loop runs to but for a constant."""

    counter: int
    root: int
    constant: int

    def plus(self, other: _Sum, sign: int) -> _Sum:
        return _Sum(
            self.counter + sign * other.counter, self.root + sign * other.root, self.constant + sign * other.constant
        )


@dataclass(frozen=True, slots=True)
class _Middle:
    """The turns from `first` to so many from the last."""

    first: int
    less: int

    def within(self, other: _Middle) -> _Middle:
        return _Middle(max(self.first, other.first), max(self.less, other.less))


class _Loop:
    """A loop over `range(start, n + more)`, and what can be said of expressions in its middle."""

    def __init__(self, loop: For) -> None:
        assert isinstance(loop.start, Const)
        self.counter = loop.var.name
        self.start: int = loop.start.value
        root, self.more = split_sum(loop.stop)
        self.root: Expr | None = root
        if isinstance(root, Const):  # a number of turns that is known
            self.root, self.more = None, self.more + root.value

    def sum(self, expr: Expr | Slice) -> _Sum | None:
        """Return what an expression is, if it is such a sum."""
        match expr:
            case Var(name) if name == self.counter:
                return _Sum(1, 0, 0)
            case Const(int() as value) if not isinstance(value, bool):
                return _Sum(0, 0, value)
            case Apply(fn, (first, second)) if fn in (operator.add, operator.sub) and not self._is_root(expr):
                parts = self.sum(first), self.sum(second)
                if parts[0] is None or parts[1] is None:
                    return None
                return parts[0].plus(parts[1], 1 if fn is operator.add else -1)
            case _:
                return _Sum(0, 1, 0) if self._is_root(expr) else None

    def _is_root(self, expr: Any) -> bool:
        if self.root is None or isinstance(expr, Const):
            return False
        length = _length(expr)
        return expr == self.root or (length is not None and length == _length(self.root))

    # ---- remainders ----

    def unwrapped(self, expr: Expr | Slice) -> tuple[_Middle, int] | None:
        """Return where `(i + c) % n` is `i + d`, and `d`."""
        if not (isinstance(expr, Apply) and expr.fn is operator.mod):
            return None
        number, period = self.sum(expr.args[0]), self.sum(expr.args[1])
        if number is None or period is None or number.counter != 1 or period.counter:
            return None
        if self.root is None:
            if period.constant <= 0:
                return None
            times = (number.constant + period.constant // 2) // period.constant
        elif period.root != 1:
            return None
        else:
            times = number.root
        offset = number.constant - times * period.constant
        return _Middle(max(self.start, -offset), max(0, self.more - period.constant + offset)), offset

    # ---- comparisons ----

    def decided(self, expr: Expr | Slice) -> tuple[_Middle, bool] | None:
        """Return where a comparison of the counter comes out one way, and how."""
        if not (isinstance(expr, Apply) and expr.fn in _COMPARED and len(expr.args) == 2):
            return None
        parts = self.sum(expr.args[0]), self.sum(expr.args[1])
        if parts[0] is None or parts[1] is None:
            return None
        less, how = parts[0].plus(parts[1], -1), expr.fn
        if less.counter == -1:
            less, how = _Sum(1, -less.root, -less.constant), _COMPARED[how]
        if less.counter != 1 or less.root not in (0, -1):
            return None
        edge = -less.constant  # i is compared with it, or with n and it
        if how in (operator.gt, operator.le):
            how, edge = {operator.gt: operator.ge, operator.le: operator.lt}[how], edge + 1
        late = less.root == -1
        if self.root is None and edge - self.start > self.more - edge:
            late = True
        if late:  # i < edge in the middle
            return _Middle(self.start, max(0, self.more - edge)), how in (operator.lt, operator.ne)
        first = edge + 1 if how in (operator.eq, operator.ne) else edge
        return _Middle(max(self.start, first), 0), how in (operator.ge, operator.ne)

    def sits_near(self, middle: _Middle) -> bool:
        """Say whether few turns are outside the middle."""
        return middle.first - self.start <= _TURNS and middle.less <= _TURNS


def _length(expr: Any) -> Sym | None:
    """Return the length that an expression is known to be."""
    match expr:
        case Apply(fn, (Var(_, Array(_, dims)), Const(axis))) if fn is ops.dim:
            found = dims[axis]
        case Apply(fn, (Var(_, Array(_, (dim,))),)) if fn is ops.size:
            found = dim
        case _:
            kind = getattr(expr, "type", None)
            found = kind.value if isinstance(kind, Scalar) else None
    return found if isinstance(found, Sym) and not is_given(found) else None


def _parted(loop: For, fn: Function, namer: Namer) -> list[Stmt] | None:
    """Return the loops that one loop becomes, or None."""
    if not (isinstance(loop.start, Const) and isinstance(loop.start.value, int) and loop.start.value >= 0):
        return None
    if not (isinstance(loop.step, Const) and loop.step.value == 1) or not _is_steady(loop):
        return None
    one = _Loop(loop)
    if one.root is None and one.more - one.start < _LONG:
        return None
    whole = _Middle(one.start, 0)
    middle = whole
    for wanted in _wishes(loop, one):
        if one.sits_near(wanted):
            middle = middle.within(wanted)
    if middle == whole or outlives(loop, fn):
        return None
    first, last = literal(middle.first), plus(loop.stop, -middle.less)
    made: list[Stmt] = []
    end = Var(namer.fresh("end"), loop.var.type)
    at_end = replace(loop, var=end, body=_renamed(loop, end, fn, namer))
    if middle.first > one.start:
        stop = first if one.root is None else build(min, first, loop.stop)
        made.append(replace(at_end, stop=stop))
    made.append(_centre(loop, one, middle, first, last, fn, namer))
    if middle.less:
        start = last if one.root is None else build(max, first, last)
        made.append(replace(at_end, start=start, body=told_apart(at_end.body)))
    return made


def _is_steady(loop: For) -> bool:
    """Say whether what a loop runs to is made of names and lengths that it leaves as they are."""
    inside = {name for s in statements(loop.body) for name in bound(s)}
    if reads(loop.stop) & inside:
        return False
    return all(
        isinstance(part, Var | Const)
        or (isinstance(part, Apply) and part.fn in (operator.add, operator.sub, ops.dim, ops.size))
        for part in subexpressions(loop.stop)
    )


def _wishes(loop: For, one: _Loop) -> Iterable[_Middle]:
    """List where what keeps the loop from being simple is none."""
    indices = _names_of_indices(loop)
    for stmt in statements(loop.body):
        for expr in exprs_of(stmt):
            for part in subexpressions(expr):
                if (found := one.unwrapped(part)) is not None:
                    yield found[0]
                for test in _tests(part.args[0]) if isinstance(part, Apply) and part.fn is ops.ifexp else ():
                    if (choice := one.decided(test)) is not None:
                        yield choice[0]
                for item in part.index if isinstance(part, Index) else ():
                    if (place := one.sum(item)) is not None and place.counter == 1 and not place.root:
                        yield _Middle(max(one.start, -place.constant), 0)
        for test in _tests(stmt.test) if isinstance(stmt, If) else ():
            if (choice := one.decided(test)) is not None:
                yield choice[0]
        if isinstance(stmt, Assign) and stmt.target.name in indices:
            place = one.sum(stmt.value)
            if place is not None and place.counter == 1 and not place.root:
                yield _Middle(max(one.start, -place.constant), 0)


def _tests(condition: Expr) -> list[Expr]:
    """Return the comparisons that a condition is made of."""
    if isinstance(condition, Apply) and condition.fn in (ops.both, ops.either, operator.not_):
        return [test for part in condition.args for test in _tests(part)]
    return [condition]


def _names_of_indices(loop: For) -> set[str]:
    return {
        item.name for s in statements(loop.body) for e in exprs_of(s) for part in subexpressions(e)
        if isinstance(part, Index) for item in part.index if isinstance(item, Var)
    }  # fmt: skip


def _centre(
    loop: For, one: _Loop, middle: _Middle, first: Expr, last: Expr, fn: Function, namer: Namer
) -> For:
    """Return the loop over the middle, without remainders and branches."""

    def simple(expr: Any) -> Any:
        unwrapped = one.unwrapped(expr)
        if unwrapped is not None and middle.within(unwrapped[0]) == middle:
            return plus(loop.var, unwrapped[1])
        if isinstance(expr, Apply) and expr.fn is ops.ifexp:
            test, then, other = condition(expr.args[0]), simple(expr.args[1]), simple(expr.args[2])
            if isinstance(test, Const):
                return then if test.value else other
            return replace(expr, args=(test, then, other))
        return map_children(expr, simple)

    def condition(expr: Any) -> Any:
        if isinstance(expr, Apply) and expr.fn in (ops.both, ops.either, operator.not_):
            return _folded(replace(expr, args=tuple(condition(part) for part in expr.args)))
        decided = one.decided(expr)
        if decided is not None and middle.within(decided[0]) == middle:
            return Const(decided[1], BOOL)
        return simple(expr)

    def each(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        made = [
            replace(s, test=condition(s.test)) if isinstance(s, If) else map_exprs(s, simple) for s in body
        ]  # fmt: skip
        return _without_branches(tuple(map_blocks(s, each) for s in made))

    body = each(loop.body)
    var = loop.var
    if sum(var.name in bound(s) for s in statements(fn.body)) > 1:  # bounds are known by name
        var = Var(namer.fresh(var.name), var.type)
        body = _with_names(body, {loop.var.name: var})
    return replace(loop, var=var, start=first, stop=last, body=body)


def _folded(expr: Any) -> Any:
    """Return a condition without the parts that are known."""
    match expr:
        case Apply(fn, (Const(bool() as known),)) if fn is operator.not_:
            return Const(not known, BOOL)
        case Apply(fn, tests) if fn in (ops.both, ops.either):
            decides = fn is ops.either
            if any(isinstance(test, Const) and test.value is decides for test in tests):
                return Const(decides, BOOL)
            kept = tuple(test for test in tests if not isinstance(test, Const))
            if len(kept) < 2:
                return kept[0] if kept else Const(not decides, BOOL)
            return replace(expr, args=kept)
        case _:
            return expr


def _without_branches(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    made: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, If) and isinstance(stmt.test, Const):
            made += stmt.body if stmt.test.value else stmt.orelse
        else:
            made.append(stmt)
    return tuple(made)


def _renamed(loop: For, end: Var, fn: Function, namer: Namer) -> tuple[Stmt, ...]:
    """Return a turn at an end: with a counter of its own, and its own names for places, as bounds are known by name."""
    names = {loop.var.name: end}
    for stmt in loop.body:
        if isinstance(stmt, Assign) and stmt.target.name in _names_of_indices(loop) and stmt.target.name not in names:
            own = not any(stmt.target.name in reads(e) for e in exprs_of(stmt))
            if own and not _read_outside(stmt.target.name, loop, fn.body):
                names[stmt.target.name] = Var(namer.fresh(stmt.target.name), stmt.target.type)
    return _with_names(_without_comments(loop.body), names)


def _with_names(body: tuple[Stmt, ...], names: dict[str, Var]) -> tuple[Stmt, ...]:
    made: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Assign):
            stmt = replace(stmt, target=names.get(stmt.target.name, stmt.target))
        stmt = map_exprs(stmt, lambda expr: substitute(expr, names))  # type: ignore[arg-type]
        made.append(map_blocks(stmt, lambda block: _with_names(block, names)))
    return tuple(made)


def _read_outside(name: str, loop: For, body: tuple[Stmt, ...]) -> bool:
    """Say whether a name is mentioned outside a loop."""
    inside = sum(name in bound(s) or any(name in reads(e) for e in exprs_of(s)) for s in statements((loop,)))
    every = sum(name in bound(s) or any(name in reads(e) for e in exprs_of(s)) for s in statements(body))
    return every > inside


def _without_comments(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    return tuple(map_blocks(s, _without_comments) for s in body if not isinstance(s, Comment))


__all__ = ["apart_at_ends"]
