"""Which statements surely raise no error, whatever the numbers are: where one is raised beside others, it is lost."""

from __future__ import annotations

import builtins
import math
import operator

import numpy as np

from s2sad.analysis.bounds import Bounds, least_of
from s2sad.analysis.facts import Facts
from s2sad.analysis.loops import popped_from
from s2sad.ir import ops
from s2sad.ir.draws import is_draw
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assert,
    Assign,
    CallStmt,
    Const,
    Effect,
    Expr,
    Index,
    Pack,
    Raise,
    Slice,
    Stmt,
    Store,
    Var,
)
from s2sad.ir.shapes import LIKE, SHAPES
from s2sad.ir.types import Array, ListOf, Scalar
from s2sad.ir.walk import children, exprs_of, statements

_LOUD = frozenset({math.factorial, math.comb, math.perm})
_WHOLE = frozenset({
    np.sum, np.copy, ops.transpose, np.zeros_like, np.empty_like, np.ones_like, np.full_like, np.ravel, ops.new_list,
    ops.ifexp, ops.both, ops.either, ops.stop_gradient, ops.astype, builtins.float, builtins.int, builtins.abs,
    builtins.min, builtins.max, builtins.range, builtins.len, builtins.bool, builtins.complex,
    np.float64, np.float32, np.int64, np.asarray,
}) | SHAPES  # fmt: skip
_OPERATORS = frozenset(getattr(operator, name) for name in operator.__all__) - {operator.matmul}


def is_quiet(stmt: Stmt, facts: Facts, least: Bounds, asked: frozenset[str] = frozenset()) -> bool:
    """Say whether the statement itself, blocks inside it aside, surely raises nothing and draws no random number.

    `least`: the least values of whole numbers. `asked`: the functions that are looked at already.
    """
    if isinstance(stmt, Raise | Assert) or (isinstance(stmt, Effect) and popped_from(stmt) is None):
        return False
    if isinstance(stmt, CallStmt):
        return all(_is_calm(arg, least) for arg in stmt.args) and _is_calm_function(stmt.callee, facts, asked)
    if isinstance(stmt, Store) and not _fits(stmt):
        return False
    if isinstance(stmt, Append | Assign | Effect) and popped_from(stmt) is not None:
        return True
    return all(_is_calm(expr, least) for expr in exprs_of(stmt))


def _is_calm_function(name: str, facts: Facts, asked: frozenset[str]) -> bool:
    fn = facts.functions.get(name)
    if name in asked:
        return True
    return fn is not None and all(is_quiet(s, facts, {}, asked | {name}) for s in statements(fn.body))


def _fits(stmt: Store) -> bool:
    """Say whether what is stored is surely of the shape of its place."""
    value, place = stmt.value.type, stmt.place.type
    return not isinstance(value, Array) or (isinstance(place, Array) and value.dims == place.dims)


def _is_calm(expr: Expr | Slice, least: Bounds) -> bool:
    match expr:
        case Var() | Const():
            return True
        case Index(base) if isinstance(base.type, ListOf):  # unlike an array, a list looks whether the item is there
            return False
        case Apply(fn, args) if fn in (np.zeros, np.empty, np.ones):
            sizes = args[0].items if isinstance(args[0], Pack) else args[:1]
            return all(_is_calm(size, least) and _is_length(size, least) for size in sizes)
        case Apply(fn, (a, b)) if fn is operator.matmul or fn is np.dot:
            fits = isinstance(a.type, Array) and isinstance(b.type, Array) and a.type.dims[-1] == b.type.dims[0]
            return fits and len(b.type.dims) < 3 and _is_calm(a, least) and _is_calm(b, least)  # type: ignore[union-attr]
        case Apply(fn, args):
            if fn in LIKE or fn in _WHOLE:
                return all(_is_calm(arg, least) for arg in args)
            return not is_draw(fn) and _is_elementwise(fn, args) and all(_is_calm(arg, least) for arg in args)
        case _:
            return all(_is_calm(part, least) for part in children(expr))


def _is_length(size: Expr | Slice, least: Bounds) -> bool:
    """Say whether a number is surely not negative."""
    known = least_of(size, least)
    return known is not None and known >= 0


def _is_elementwise(fn: object, args: tuple[Expr, ...]) -> bool:
    """Say whether a function works element by element, and what it is given is of one shape."""
    whole = {arg.type.dims for arg in args if isinstance(arg.type, Array)}
    if len(whole) > 1 or any(isinstance(arg.type, ListOf) for arg in args):
        return False
    if isinstance(fn, np.ufunc):
        return fn.signature is None
    if not all(isinstance(arg.type, Scalar | Array) for arg in args):
        return False
    from_math = getattr(fn, "__module__", None) in ("math", "cmath") and fn not in _LOUD
    return fn in _OPERATORS or from_math

