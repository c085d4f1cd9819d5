"""How values follow when one number is shifted: not at all, by a multiple of the shift, or by a factor.

    largest = np.max(x)                  + 1
    total = np.sum(np.exp(x - largest))  exp(-1)
    return largest + np.log(total)       + 1 - 1: it does not follow

`d` added to `largest` adds `k * d` to some values and multiplies others by `exp(k * d)`. What a function
returns follows neither way: its derivative by `largest` is zero, whatever `largest` is computed from.

A value is `FIXED`; `ZERO`, which any factor leaves as it is; `NOT_YET` computed; `LOST`, as nothing is known;
or a `Shift`. Where the number is an array, each of its elements is shifted by itself.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, Index, Pack, Slice, Var
from s2sad.ir.types import is_complex, is_inexact, rank
from s2sad.ir.walk import is_const
from s2sad.rules.registry import Constant, find

Multiple = frozenset[tuple[tuple[tuple[str, int], ...], Fraction]]
"""A sum of products of numbers that stay, by their powers: `{((("t", -1),), 2)}` is 2 / t."""


@dataclass(frozen=True, slots=True)
class Shift:
    """`by` times the shift is added, or its exponential is a factor; `own`: its axes, counted from the last."""

    factor: bool
    by: Multiple
    own: tuple[int, ...] = ()


FIXED, ZERO, NOT_YET, LOST = "fixed", "zero", "not yet", "lost"
Follows = Shift | str

_FRESH = (np.zeros, np.empty, np.zeros_like, np.empty_like, ops.new_list)
_EXP, _LOG = (np.exp, math.exp), (np.log, math.log)
_ADD, _SUB = (operator.add, np.add), (operator.sub, np.subtract)
_MUL, _DIV = (operator.mul, np.multiply), (operator.truediv, np.true_divide)
_NEG, _POW = (operator.neg, np.negative), (operator.pow, builtins.pow, np.power, math.pow)
_SAME = (np.copy, builtins.float, np.float64, ops.astype, operator.pos, np.array, np.asarray)
_EITHER = (np.maximum, np.minimum, builtins.max, builtins.min, np.fmax, np.fmin)
_SIZE = (np.abs, builtins.abs, math.fabs, np.fabs)
_OVER_AXES = (np.sum, np.mean, np.max, np.min)
_MOVED = (
    np.reshape, np.ravel, ops.transpose, np.transpose, np.flip, np.roll, np.concatenate, np.stack, np.hstack,
    np.vstack, np.broadcast_to, np.tile, np.repeat, np.sort, np.median, np.expand_dims, np.squeeze,
)  # fmt: skip
_LINEAR = (np.cumsum, np.diff, np.trace, math.fsum)
_PRODUCTS = (operator.matmul, np.matmul, np.dot, np.outer, np.inner, np.vdot, np.multiply.outer)


def scaled(by: Multiple, factor: Fraction) -> Multiple:
    """Return a multiple times a number."""
    return frozenset((names, factor * much) for names, much in by) if factor else frozenset()


def plus(a: Multiple, b: Multiple) -> Multiple:
    """Return the sum of two multiples."""
    found = dict(a)
    for names, much in b:
        found[names] = found.get(names, Fraction(0)) + much
    return frozenset((names, much) for names, much in found.items() if much)


def times(by: Multiple, name: str, power: int) -> Multiple:
    """Return a multiple times a number that stays, to a power."""

    def product(names: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
        powers = dict(names)
        powers[name] = powers.get(name, 0) + power
        return tuple(sorted((n, p) for n, p in powers.items() if p))

    return frozenset((product(names), much) for names, much in by)


def joined(a: Follows, b: Follows) -> Follows:
    """Return how a value follows that is one of two."""
    if a == b or b == NOT_YET:
        return a
    if a == NOT_YET:
        return b
    for one, other in ((a, b), (b, a)):
        if one == ZERO and (other == FIXED or (isinstance(other, Shift) and other.factor)):
            return other
    return LOST


def sum_of(a: Follows, b: Follows, sign: int = 1) -> Follows:
    """Return how `a + b` follows; `a - b` for the sign -1."""
    if NOT_YET in (a, b) or LOST in (a, b):
        return LOST if LOST in (a, b) else NOT_YET
    if b == ZERO:
        return a
    if a == ZERO:
        return replace(b, by=scaled(b.by, Fraction(sign))) if isinstance(b, Shift) and not b.factor else b
    if a == b == FIXED:
        return FIXED
    if isinstance(a, Shift) and isinstance(b, Shift):
        if a.own != b.own or a.factor != b.factor:
            return LOST
        if a.factor:
            return a if a == b else LOST
        return _shift(False, plus(a.by, scaled(b.by, Fraction(sign))), a.own)
    for one, other, turned in ((a, b, 1), (b, a, sign)):
        if isinstance(one, Shift) and other == FIXED:
            return LOST if one.factor else replace(one, by=scaled(one.by, Fraction(turned)))
    return LOST


def product_of(a: Follows, b: Follows, sign: int = 1) -> Follows:
    """Return how `a * b` follows where neither is a number that stays; `a / b` for the sign -1."""
    if LOST in (a, b):
        return LOST
    if a == NOT_YET or b == NOT_YET or (sign < 0 and b == ZERO):
        return NOT_YET
    if ZERO in (a, b):
        return ZERO
    if a == b == FIXED:
        return FIXED
    if any(isinstance(v, Shift) and not v.factor for v in (a, b)):
        return LOST
    if isinstance(a, Shift) and isinstance(b, Shift):
        return _shift(True, plus(a.by, scaled(b.by, Fraction(sign))), a.own) if a.own == b.own else LOST
    if isinstance(a, Shift):
        return a
    assert isinstance(b, Shift)
    return replace(b, by=scaled(b.by, Fraction(sign)))


def _shift(factor: bool, by: Multiple, own: tuple[int, ...]) -> Follows:
    return Shift(factor, by, own) if by else FIXED


class Reader:
    """Says how expressions follow."""

    def __init__(self, seed: Expr | None, stays: frozenset[str], of: Callable[[str], Follows]) -> None:
        """Shift `seed`; `stays`: numbers that are bound once; `of`: how the value of a name follows."""
        self.seed, self.stays, self.of = seed, stays, of

    def follows(self, expr: Expr) -> Follows:
        """Return how the value of `expr` follows."""
        if expr == self.seed:
            return shifted(expr)
        if (isinstance(expr, Apply) and expr.fn in _FRESH) or is_const(expr, 0):
            return ZERO
        if not is_inexact(expr.type):
            return FIXED  # it stays as it is for a shift that is small enough
        match expr:
            case Const():
                return FIXED
            case Var(name):
                return self.of(name)
            case Index(base, index):
                return _indexed(self.follows(base), index, rank(base.type))
            case Pack(_, items):
                return _of_pieces([self.follows(item) for item in items])
            case Apply(fn, args):
                if isinstance(find(fn), Constant):
                    return FIXED
                found = [self.follows(arg) for arg in args]
                if LOST in found or is_complex(expr.type):
                    return FIXED if all(v in (FIXED, ZERO) for v in found) else LOST
                if NOT_YET in found:
                    return NOT_YET
                return self._applied(expr, found)

    def _applied(self, expr: Apply, found: list[Follows]) -> Follows:
        fn, args = expr.fn, expr.args
        if len(args) == 2 and fn in _ADD:
            return sum_of(found[0], found[1])
        if len(args) == 2 and fn in _SUB:
            return sum_of(found[0], found[1], -1)
        if len(args) == 2 and fn in _MUL:
            return self._scaled(args, found, 1)
        if len(args) == 2 and fn in _DIV:
            return self._scaled(args, found, -1)
        first = found[0] if found else FIXED
        if len(args) == 1 and fn in _NEG:
            return _negated(first)
        if fn in _SAME:
            return first
        if fn is ops.ifexp or (fn is np.where and len(args) == 3):
            return joined(found[1], found[2])
        if fn in _OVER_AXES and len(args) == 1:
            return _reduced(fn, first, expr, rank(args[0].type))
        if all(v in (FIXED, ZERO) for v in found):
            if fn in _LOG and first == ZERO:
                return NOT_YET
            return ZERO if first == ZERO and (fn in _MOVED or fn in _LINEAR) else FIXED
        if len(args) == 1 and isinstance(first, Shift):
            return _of_one(fn, first)
        return _of_several(fn, args, found)

    def _scaled(self, args: tuple[Expr, ...], found: list[Follows], sign: int) -> Follows:
        """Return how a product, or a quotient for the sign -1, follows, where a number that stays may be a factor."""
        for at in (1, 0) if sign > 0 else (1,):
            much, other = args[at], found[1 - at]
            if isinstance(other, Shift) and not other.factor and found[at] == FIXED:
                if number := _number(much):
                    return replace(other, by=scaled(other.by, number**sign))
                if isinstance(much, Apply) and much.fn in _NEG:
                    return _negated(self._scaled(_with(args, at, much.args[0]), found, sign))
                if isinstance(much, Var) and rank(much.type) == 0 and much.name in self.stays:
                    return replace(other, by=times(other.by, much.name, sign))
        return product_of(found[0], found[1], sign)


def _number(expr: Expr) -> Fraction | None:
    """Return a finite number other than zero that is known."""
    value = expr.value if isinstance(expr, Const) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return Fraction(value) or None


def _with(args: tuple[Expr, ...], at: int, expr: Expr) -> tuple[Expr, ...]:
    return (*args[:at], expr, *args[at + 1 :])


def shifted(expr: Expr) -> Shift:
    """Return how what is shifted itself follows; its own axes are those that it may have several elements along."""
    dims: tuple[Any, ...] = getattr(expr.type, "dims", ())
    own = tuple(k - len(dims) for k, n in enumerate(dims) if n != 1)
    return Shift(False, frozenset({((), Fraction(1))}), own)


def is_taken_off(expr: Expr) -> Expr | None:
    """Return what is subtracted by an expression."""
    return expr.args[1] if isinstance(expr, Apply) and expr.fn in _SUB and len(expr.args) == 2 else None


def _negated(a: Follows) -> Follows:
    return replace(a, by=scaled(a.by, Fraction(-1))) if isinstance(a, Shift) and not a.factor else a


def _of_one(fn: Any, a: Shift) -> Follows:
    if fn in _EXP and not a.factor:
        return replace(a, factor=True)
    if fn in _LOG and a.factor:
        return replace(a, factor=False)
    if fn in (np.sqrt, math.sqrt) and a.factor:
        return replace(a, by=scaled(a.by, Fraction(1, 2)))
    if fn in (np.square,) and a.factor:
        return replace(a, by=scaled(a.by, Fraction(2)))
    if fn in _SIZE and a.factor:
        return a
    if not a.own and (fn in _MOVED or (fn in _LINEAR and a.factor)):
        return a
    return LOST


def _of_several(fn: Any, args: tuple[Expr, ...], found: list[Follows]) -> Follows:
    first, second = found[0], found[1]
    if fn in _EITHER and len(found) == 2:
        return joined(first, second)
    if fn in _POW and isinstance(first, Shift) and first.factor and (power := _number(args[1])):
        return replace(first, by=scaled(first.by, power))
    if fn is np.logaddexp and first == second and isinstance(first, Shift) and not first.factor:
        return first
    if any(isinstance(v, Shift) and v.own for v in found):
        return LOST
    if fn in _PRODUCTS and len(found) == 2:
        return product_of(first, second)
    if fn in _MOVED and all(v in (FIXED, ZERO) for v in found[1:]):
        return first
    return LOST


def _of_pieces(found: list[Follows]) -> Follows:
    """Return how an array made of several follows; one that has axes of its own is at a place of its own there."""
    whole: Follows = NOT_YET
    for one in found:
        whole = joined(whole, one)
    return LOST if isinstance(whole, Shift) and whole.own else whole


def _reduced(fn: Any, a: Follows, expr: Apply, of_rank: int) -> Follows:
    """Return how a sum, mean or largest element along axes follows."""
    if not isinstance(a, Shift):
        return a
    if fn is np.sum and not a.factor:
        return LOST
    static = dict(expr.static)
    if static.keys() - {"axis", "keepdims"}:
        return LOST
    axis = static.get("axis")
    given = range(of_rank) if axis is None else (axis if isinstance(axis, tuple) else (axis,))
    away = {k if k < 0 else k - of_rank for k in given}
    if away & set(a.own):
        return LOST
    if static.get("keepdims"):
        return a
    return replace(a, own=tuple(k + sum(q > k for q in away) for k in a.own))


def _indexed(a: Follows, index: tuple[Expr | Slice, ...], of_rank: int) -> Follows:
    """Return how a part of an array follows."""
    if not isinstance(a, Shift) or not a.own:
        return a
    at, places = 0, dict[int, int]()  # the axes of the array, and where they are in the part
    made = 0
    for item in index:
        if isinstance(item, Const) and item.value is None:
            made += 1
            continue
        if item == Slice(None, None, None):
            places[at] = made
            made += 1
        elif at - of_rank in a.own:
            return LOST
        elif isinstance(item, Slice):
            made += 1
        elif rank(item.type) != 0:
            return LOST
        at += 1
    for rest in range(at, of_rank):
        places[rest] = made
        made += 1
    return replace(a, own=tuple(places[k + of_rank] - made for k in a.own))


__all__ = [
    "FIXED", "LOST", "NOT_YET", "ZERO", "Follows", "Reader", "Shift", "is_taken_off", "joined", "shifted",
]  # fmt: skip
