"""First accumulations become assignments, `x_bar = 0.0` … `x_bar += e` is `x_bar = e`, and what zeros add goes.

Guarantees the same values, but for a zero cotangent times infinity, which is zero; needs nothing; leaves the
zeroing behind for `dead` to remove.

    x_bar = 0.0
    x_bar = x_bar + a * g        becomes        x_bar = a * g
    y_bar = 0.0
    z_bar = x_bar + b * y_bar    becomes        z_bar = x_bar
"""

from __future__ import annotations

import operator
from dataclasses import replace

import numpy as np

from s2sad.analysis.alias import view_base
from s2sad.frontend.indexing import same_dims
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    Break,
    CallStmt,
    Const,
    Continue,
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
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import bound, exprs_of, reads, root_of, statements
from s2sad.transform.algebra import negative, plus

_ZEROS = (np.zeros_like, np.zeros)
_NOTHING = literal(0.0)


def first_accumulations(fn: Function, keep: frozenset[str] | None = None) -> Function:
    """Turn every accumulation onto a known zero into an assignment.

    `keep`: the user's own names, whose products with zero stay as they are; None for all names.
    """
    params = {p.name for p in fn.params}
    body, _ = _Zeros(params, keep).block(fn.body, frozenset())
    return replace(fn, body=body)


class _Zeros:
    """Walks forward with the names that are surely zero; loops are taken to a fixpoint.

    A name that was set to zeros means an array of its own until another name is given to it; `params` are the
    caller's arrays.
    """

    def __init__(self, params: set[str], keep: frozenset[str] | None) -> None:
        self.params, self.keep = params, keep
        self.like: dict[str, Expr] = {}
        """By name: the array that its zeros were made like."""
        self.left: list[tuple[list[frozenset[str]], list[frozenset[str]]]] = []
        """By loop around, innermost last: what is zero where its turns end early, and where it is left."""

    def block(self, body: tuple[Stmt, ...], zero: frozenset[str]) -> tuple[tuple[Stmt, ...], frozenset[str]]:
        result: list[Stmt] = []
        for stmt in body:
            stmt, zero = self._step(self._without_zeros(stmt, zero), zero)
            if isinstance(stmt, Store) and stmt.op in ("+", "-") and stmt.value == _NOTHING:
                continue
            previous = result[-1] if result else None
            merged = _onto_zeroed_place(previous, stmt)
            if merged is not None and _is_put_back(result[:-1], merged):
                result.pop()
            elif merged is not None:
                result[-1] = merged
            else:
                result.append(stmt)
        return tuple(result), zero

    def _without_zeros(self, stmt: Stmt, zero: frozenset[str]) -> Stmt:
        """Leave out what a product with a zero cotangent adds."""
        if self.keep is None or not isinstance(stmt, Assign | Store) or not (own := zero - self.keep - self.params):
            return stmt
        value = _reduced(stmt.value, own)
        return stmt if value is stmt.value else replace(stmt, value=_NOTHING if value is None else value)

    def _step(self, stmt: Stmt, zero: frozenset[str]) -> tuple[Stmt, frozenset[str]]:
        changed = {n for s in statements((stmt,)) for n in bound(s)}
        self.like = {name: like for name, like in self.like.items() if not reads(like) & changed}
        match stmt:
            case Assign(target, value):
                value = self._assigned(target, value, zero)
                if isinstance(value, Apply) and value.fn is np.zeros_like:
                    self.like[target.name] = value.args[0]
                after = zero | {target.name} if _is_zero(value) else zero - {target.name}
                base = view_base(value)
                if base is not None:
                    after = after - {base.name, target.name}
                return replace(stmt, value=value), after
            case Store():
                return self._store(stmt, zero)
            case If(_, body, orelse):
                then, a = self.block(body, zero)
                other, b = self.block(orelse, zero)
                return replace(stmt, body=then, orelse=other), a & b
            case For() | While():
                return self._loop(stmt, zero)
            case Continue() | Break() if self.left:
                self.left[-1][isinstance(stmt, Break)].append(zero)
                return stmt, zero
            case Append(target):
                return stmt, zero - {target.name}
            case CallStmt() | Swap():
                touched = {root.name for e in exprs_of(stmt) if (root := root_of(e)) is not None}
                return stmt, zero - touched - set(bound(stmt))
            case _:
                return stmt, zero

    def _assigned(self, target: Var, value: Expr, zero: frozenset[str]) -> Expr:
        """`x = x + e` with x zero is `x = e`."""
        if target.name not in zero or not isinstance(target.type, Scalar) or not isinstance(value, Apply):
            return value
        if value.fn not in (operator.add, operator.sub) or len(value.args) != 2:
            return value
        first, second = value.args
        if not (isinstance(first, Var) and first.name == target.name) or target.name in reads(second):
            return value
        return second if value.fn is operator.add else negative(second)

    def _store(self, stmt: Store, zero: frozenset[str]) -> tuple[Stmt, frozenset[str]]:
        root = root_of(stmt.place)
        if root is None:
            return stmt, zero
        after = zero - {root.name}
        place, value = stmt.place, stmt.value
        if _is_zero(value) and stmt.op == "":
            return stmt, zero
        like = self.like.get(place.name) if isinstance(place, Var) and place.name in zero else None
        if like is not None and isinstance(value.type, Scalar) and isinstance(place, Var):
            if place.name not in reads(value) | reads(like) and value.type.dtype == getattr(place.type, "dtype", ""):
                value = build(np.full_like, like, value)  # one number for every element
        fits = (
            isinstance(place, Var) and place.name in zero and place.name not in self.params
            and stmt.op in ("+", "-") and place.name not in reads(value)
            and isinstance(place.type, Array) and isinstance(value.type, Array)
            and value.type.dtype == place.type.dtype
            and same_dims(place.type.dims, value.type.dims)
            and not any(isinstance(a, int) ^ isinstance(b, int) for a, b in zip(place.type.dims, value.type.dims))
        )  # fmt: skip  # a length that the program says is compared with the other where the two are added
        if not fits:
            return stmt, after
        assert isinstance(place, Var)
        value = negative(value) if stmt.op == "-" else value
        if view_base(value) is not None or _is_diagonal(value):
            value = build(np.copy, value)
        return Assign(place, value, stmt.span), after

    def _loop(self, stmt: For | While, zero: frozenset[str]) -> tuple[Stmt, frozenset[str]]:
        head = zero
        while True:
            self.left.append(([], []))
            body, end = self.block(stmt.body, head)
            continued, broken = self.left.pop()
            end = end.intersection(*continued)
            if head <= end:
                return replace(stmt, body=body), head.intersection(*broken)
            head = head & end


def _reduced(expr: Expr, zero: frozenset[str]) -> Expr | None:
    """Return a number without the terms that are a product with a name in `zero`; None if nothing is left."""
    if not isinstance(expr.type, Scalar) or not expr.type.dtype.startswith("float"):
        return expr
    if isinstance(expr, Var):
        return None if expr.name in zero else expr
    if not isinstance(expr, Apply):
        return expr
    if expr.fn is operator.mul and None in (_reduced(a, zero) for a in expr.args):
        return None
    if expr.fn in (operator.neg, operator.truediv) and _reduced(expr.args[0], zero) is None:
        return None
    if expr.fn in (operator.add, operator.sub) and len(expr.args) == 2:
        first, second = (_reduced(a, zero) for a in expr.args)
        if first is not expr.args[0] or second is not expr.args[1]:
            return plus(first, negative(second) if second is not None and expr.fn is operator.sub else second)
    return expr


def _is_diagonal(value: Expr) -> bool:
    """`np.diag` of a matrix is a view that cannot be written."""
    if not (isinstance(value, Apply) and value.fn is np.diag):
        return False
    kind = value.args[0].type
    return isinstance(kind, Array) and len(kind.dims) == 2


def _is_zero(value: Expr) -> bool:
    if isinstance(value, Const):
        return not isinstance(value.value, bool | str) and value.value is not None and value.value == 0
    return isinstance(value, Apply) and value.fn in _ZEROS


def _onto_zeroed_place(previous: Stmt | None, stmt: Stmt) -> Store | None:
    """`A[i] = 0.0` directly followed by `A[i] += e` is `A[i] = e`."""
    if not (isinstance(previous, Store) and isinstance(stmt, Store)):
        return None
    if previous.op or not _is_zero(previous.value) or stmt.op not in ("+", "-"):
        return None
    if not isinstance(stmt.place, Index) or previous.place != stmt.place:
        return None
    root = root_of(stmt.place)
    if root is None or root.name in reads(stmt.value) or _has_array_index(stmt.place):
        return None
    value = negative(stmt.value) if stmt.op == "-" else stmt.value
    return Store(stmt.place, "", value, stmt.span)


def _is_put_back(before: list[Stmt], stmt: Store) -> bool:
    """Say whether a part of an array is set to what was copied from there just before."""
    match before:
        case [*_, Assign(target, Apply(fn, (part,)))] if fn is np.copy:
            return part == stmt.place and stmt.value == target
        case _:
            return False


def _has_array_index(place: Index) -> bool:
    from s2sad.ir.nodes import Slice

    return any(not isinstance(i, Slice) and isinstance(i.type, Array) for i in place.index)
