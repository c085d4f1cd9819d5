"""How long `x[i:i + k]` is: parts between bounds that only a run knows, compared as sums of names.

    for i in range(len(x) - k + 1):
        y[i] = np.sum(x[i:i + k] * w)      x[i:i + k] has k elements, whatever i is

A length is a sum of names and lengths with whole factors. Only names that mean one thing in the
whole function are in it; a counter lies within its range.
"""

from __future__ import annotations

import operator
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import gast

from s2sad.frontend.values import V
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, Slice, Var
from s2sad.ir.types import CUT, Array, Dim, Scalar, Sym, is_given, not_one, rank

if TYPE_CHECKING:
    from s2sad.frontend.lowerer import Lowerer

_ROUNDS = 12
_LENGTH, _NAME = "len ", "name "

Sum = dict[str, int]
"""Factors by what they are of; the number that is added is the factor of ""."""


def cut_dim(lw: Lowerer, dim: Dim, item: Slice) -> Dim | None:
    """Return the length of `dim` under a slice with bounds of a run, if anything can be said of it."""
    if item.step is not None and not (isinstance(item.step, Const) and item.step.value == 1):
        return None
    sums = _Sums(lw)
    whole = sums.of_dim(dim)
    lower = {"": 0} if item.lower is None else sums.of(item.lower)
    upper = whole if item.upper is None else sums.of(item.upper)
    if whole is None or lower is None or upper is None:
        return None
    length = _plus(upper, lower, -1)
    if all(sums.is_positive(part) for part in (lower, length, _plus(whole, upper, -1))):
        exact = sums.as_dim(length)
        if isinstance(exact, int):
            return exact
        return Sym(exact.name, exact.minus, exact.nonone, _text(upper) if lower == {"": 0} else "", True)
    if not (sums.is_positive(lower) and sums.is_positive(upper)):
        return None
    begun = lower == {"": 0} and item.upper is not None and not_one(dim)
    name = f"{CUT}{_text(whole)}[{_text(lower)}:{_text(upper)}]{sums.turns}"
    return Sym(name, 0, False, _text(upper) if begun else "")


class _Sums:
    """Whole numbers as sums, and what is known of the names in them."""

    def __init__(self, lw: Lowerer) -> None:
        self.lw = lw
        self.turns = "".join(f"@{turn}" for turn in lw.turns)
        self.lengths: dict[str, Sym] = {}
        self.quotients: dict[str, tuple[Sum, int]] = {}
        self.left = _ROUNDS

    def of_dim(self, dim: Dim | Any) -> Sum | None:
        """Return a length as a sum."""
        if isinstance(dim, int):
            return {"": int(dim)}
        if not isinstance(dim, Sym):
            return None
        if is_given(dim):  # it may be below zero
            return {dim.name: 1, "": -dim.minus}
        made = self._made(dim.name)
        if made is not None:
            return _plus(made, {"": -dim.minus}, 1)
        self.lengths[_LENGTH + dim.name] = Sym(dim.name, 0, dim.nonone and not dim.minus)
        return {_LENGTH + dim.name: 1, "": -dim.minus}

    def _made(self, name: str) -> Sum | None:
        """Return the size that an array was made by whose length has this name."""
        size, turns = self.lw.lengths.get(name, (None, ()))
        self.left -= 1
        if size is None or self.left <= 0 or tuple(self.lw.turns[: len(turns)]) != turns:
            return None
        return self.of(size)

    def of(self, expr: Expr | Slice) -> Sum | None:
        """Return a whole number as a sum; None where it may not be the same everywhere."""
        kind = getattr(expr, "type", None)
        if isinstance(kind, Scalar) and "int" in kind.dtype and kind.value is not None:
            known = self.of_dim(kind.value)
            if known is not None:
                return known
        match expr:
            case Const(int() as value):
                return {"": int(value)}
            case Var(name) if isinstance(kind, Scalar) and "int" in kind.dtype:
                return self._name(expr) if is_steady(self.lw, name) else None
            case Apply(fn, (array, Const(int() as axis))) if fn is ops.dim and isinstance(array.type, Array):
                return self.of_dim(array.type.dims[axis])
            case Apply(fn, (array,)) if fn in (ops.length, ops.size) and rank(array.type) == 1:
                return self.of_dim(array.type.dims[0])  # type: ignore[union-attr]
            case Apply(fn, (first, second)) if fn in (operator.add, operator.sub):
                one, other = self.of(first), self.of(second)
                return None if one is None or other is None else _plus(one, other, 1 if fn is operator.add else -1)
            case Apply(fn, (Const(int() as by), other) | (other, Const(int() as by))) if fn is operator.mul:
                many = self.of(other)
                return None if many is None else _plus({}, many, int(by))
            case Apply(fn, (first, Const(int() as by))) if fn is operator.floordiv and by > 0:
                one = self.of(first)
                if one is None:
                    return None
                name = f"({_text(one)}) // {by}"
                self.quotients[name] = one, int(by)
                return {name: 1, "": 0}
            case _:
                return None

    def _name(self, var: Var) -> Sum:
        """A name is the sum it was given, if that is one."""
        given = self.lw.numbers.get(var.name)
        self.left -= 1
        known = self.of(given) if given is not None and self.left > 0 else None
        return known if known is not None else {_NAME + var.name + self.turns: 1, "": 0}

    def is_positive(self, total: Sum) -> bool:
        """Say whether a sum surely is not below zero."""
        for _ in range(_ROUNDS):
            total = {name: factor for name, factor in total.items() if factor or not name}
            others = [name for name in total if name and not name.startswith(_LENGTH)]
            if not others:
                return all(factor >= 0 for factor in total.values())
            ends = {name: self._most(name, total[name]) if total[name] < 0 else self._least(name) for name in others}
            name, least = next(((name, end) for name, end in ends.items() if end is not None), ("", None))
            if least is None:
                return False
            factor = total.pop(name)
            total = _plus(total, least, factor) if name not in self.quotients or factor > 0 else _plus(total, least, 1)
        return False

    def _range(self, name: str) -> tuple[Sum | None, Sum | None]:
        """Return the least and the largest value of a counter."""
        counted = self.lw.counters.get(name.removeprefix(_NAME).removesuffix(self.turns))
        if counted is None:
            return None, None
        start, stop, step = counted
        if not isinstance(step, Const) or not isinstance(step.value, int) or step.value == 0:
            return None, None
        first, end = self.of(start), self.of(stop)
        last = None if end is None else _plus(end, {"": -1 if step.value > 0 else 1}, 1)
        return (first, last) if step.value > 0 else (last, first)

    def _least(self, name: str) -> Sum | None:
        if name in self.quotients:
            return {"": 0} if self.is_positive(self.quotients[name][0]) else None
        return self._range(name)[0]

    def _most(self, name: str, factor: int) -> Sum | None:
        """Return what a name does not exceed; of a quotient, that times a negative factor."""
        if name in self.quotients:
            inner, by = self.quotients[name]
            return _plus({}, inner, factor // by) if factor % by == 0 else None
        return self._range(name)[1]

    def as_dim(self, length: Sum) -> Dim:
        """Return a sum as a length."""
        names = [name for name, factor in length.items() if name and factor]
        more = length.get("", 0)
        if not names:
            return more
        if len(names) == 1 and length[names[0]] == 1 and names[0] in self.lengths and more <= 0:
            one = self.lengths[names[0]]
            return Sym(one.name, -more, one.nonone and not more)
        return Sym(f"{CUT}{_text(length)}", 0, False)


def is_steady(lw: Lowerer, name: str) -> bool:
    """Say whether a name of the IR means one number wherever it is compared with itself.

    That is so where the user's names for it are bound in one place each, and that place lies on every
    way to the statement being lowered: a parameter, an assignment before it, a loop around it.
    """
    seen = False
    scope: Lowerer | None = lw
    while scope is not None:
        for own, value in scope.env.items():
            if isinstance(value, V) and isinstance(value.expr, Var) and value.expr.name == name:
                if not _Bindings.of(scope.source.node).is_before(own, scope.statement):
                    return False
                seen = True
        scope = scope.outer
    return seen


_Step = tuple[int, int]
"""A block and a place in it."""


class _Bindings:
    """Where the names of a function are bound."""

    def __init__(self, node: Any) -> None:
        self.counts: Counter[str] = Counter()
        self.before: dict[str, _Step | None] = {}
        self.paths: dict[int, tuple[_Step, ...]] = {}
        for part in gast.walk(node):
            self._count(part)
        body: Any = node.body
        self._block(body if isinstance(body, list) else [], ())

    @staticmethod
    @lru_cache(maxsize=64)
    def of(node: Any) -> _Bindings:
        """Return those of a function that was read before."""
        return _Bindings(node)

    def _count(self, part: Any) -> None:
        match part:
            case gast.Name(id=name, ctx=gast.Param()):
                self.counts[name] += 1
                self.before[name] = None
            case gast.Name(id=name, ctx=gast.Store() | gast.Del()):
                self.counts[name] += 1
            case gast.AugAssign(target=gast.Name(id=name)):
                self.counts[name] += 1
            case gast.Global(names=names) | gast.Nonlocal(names=names):
                self.counts.update(names * 2)
            case gast.MatchAs(name=str() as name) | gast.MatchStar(name=str() as name):
                self.counts[name] += 1
            case _:
                pass

    def _block(self, body: list[Any], path: tuple[_Step, ...]) -> None:
        for at, stmt in enumerate(body):
            here = *path, (id(body), at)
            self.paths[id(stmt)] = here
            targets: list[Any] = []
            match stmt:
                case gast.Assign():
                    targets, place = stmt.targets, (id(body), at)
                case gast.For():
                    targets, place = [stmt.target], (id(stmt.body), -1)
                case _:
                    place = (0, 0)
            for target in targets:
                for name in target.elts if isinstance(target, gast.Tuple) else [target]:
                    if isinstance(name, gast.Name):
                        self.before[name.id] = place
            if not isinstance(stmt, gast.FunctionDef):
                for inner in ("body", "orelse", "finalbody"):
                    self._block(getattr(stmt, inner, None) or [], here)

    def is_before(self, name: str, statement: Any) -> bool:
        """Say whether a name is bound once, and surely so when a statement begins."""
        if self.counts[name] != 1 or name not in self.before:
            return False
        place = self.before[name]
        if place is None:
            return True
        return any(block == place[0] and at > place[1] for block, at in self.paths.get(id(statement), ()))


def _plus(first: Sum, second: Sum, times: int) -> Sum:
    names = {*first, *second, ""}
    total = {name: first.get(name, 0) + times * second.get(name, 0) for name in names}
    return {name: factor for name, factor in total.items() if factor or not name}


def _text(total: Sum) -> str:
    parts = [f"{factor}*{name}" for name, factor in sorted(total.items()) if name and factor]
    return " + ".join([*parts, str(total.get("", 0))])


__all__ = ["cut_dim", "is_steady"]
