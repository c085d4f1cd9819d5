"""Expressions of one turn of a loop, written for all turns at once: the batch is the first axis."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any

import numpy as np

from s2sad.frontend.infer import InferenceError, fresh_dim, is_elementwise
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.draws import is_draw
from s2sad.ir.nodes import Apply, Const, Expr, Index, Pack, Slice, Stmt, Var
from s2sad.ir.types import Array, Dim, Scalar, Static, Struct, Sym, Type, is_complex, rank
from s2sad.ir.walk import map_blocks, map_children, map_exprs, subexpressions
from s2sad.transform.algebra import transposed

FULL = Slice(None, None, None)
_NEW = Const(None, Static(None))
_LENGTHS: frozenset[Any] = frozenset({ops.dim, ops.size, ops.length, ops.shape})
_LIKE: frozenset[Any] = frozenset({
    np.zeros_like, np.ones_like, np.empty_like, np.copy, np.real, np.imag, np.conj, ops.stop_gradient, ops.astype,
})  # fmt: skip
_REDUCTIONS: frozenset[Any] = frozenset({
    np.sum, np.mean, np.prod, np.max, np.min, np.amax, np.amin, np.any, np.all,
})  # fmt: skip
_PRODUCTS: frozenset[Any] = frozenset({operator.matmul, np.matmul, np.dot, np.inner, np.vdot})
_LAZY: frozenset[Any] = frozenset({ops.ifexp, ops.both, ops.either})
_CREATED: frozenset[Any] = frozenset({np.zeros, np.ones, np.empty})
_CREATED_LIKE = {np.zeros_like: np.zeros, np.ones_like: np.ones, np.empty_like: np.empty}
_BY_NUMPY: dict[Any, Any] = {
    **{
        getattr(math, name): getattr(np, name)
        for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "log", "log1p", "log2", "log10",
                     "sqrt", "hypot", "fabs")
    },
    math.asin: np.arcsin, math.acos: np.arccos, math.atan: np.arctan, math.atan2: np.arctan2, math.pow: np.power,
    math.asinh: np.arcsinh, math.acosh: np.arccosh, math.atanh: np.arctanh, builtins.abs: np.abs,
}  # fmt: skip
_TINY = 16  # numbers of a matrix whose products are written out


class Unfit(Exception):
    """A turn holds something that has no form for the whole batch."""


def whole(index: tuple[Any, ...]) -> bool:
    """Say whether an index takes everything."""
    return all(item == FULL for item in index)


class Batch:
    """What is known of the names of a turn, and the forms of expressions for all turns.

    Attributes:
        turn: the name that counts the turns.
        count: how many there are.
        many: the names that differ from turn to turn, with the types they have for all; None before it is known.
        products: how many products with a shared matrix were met.
    """

    def __init__(self, turn: str, count: Expr) -> None:
        """Nothing differs yet."""
        self.turn, self.count = turn, count
        known = getattr(count.type, "value", None)
        self.length: Dim = known if isinstance(known, int | Sym) else fresh_dim("count")
        self.many: dict[str, Array | None] = {}
        self.products = 0

    def varies(self, expr: Any) -> bool:
        """Say whether the value of an expression differs from turn to turn."""
        match expr:
            case Var(name):
                return name in self.many or name == self.turn
            case Apply(fn, (first, *_)) if fn in _LENGTHS:
                return self._counts(first)
            case Apply(_, args):
                return any(self.varies(arg) for arg in args)
            case Index(base, index):
                return self.varies(base) or any(self.varies(item) for item in index)
            case Pack(_, items):
                return any(self.varies(item) for item in items)
            case Slice(lower, upper, step):
                return any(self.varies(part) for part in (lower, upper, step) if part is not None)
            case _:
                return False

    def _counts(self, expr: Any) -> bool:
        """Say whether the number of the turn itself decides a length."""
        return any(
            isinstance(part, Index) and any(isinstance(item, Slice) and self.varies(item) for item in part.index)
            for part in subexpressions(expr)
        )

    # ---- names ----

    def variable(self, var: Var) -> Var:
        """Return a name as it stands for all turns."""
        kind = self.many[var.name]
        if kind is None:
            raise Unfit
        return Var(var.name, self._kind(var.type, kind.layout))

    def bind(self, target: Var, value: Expr) -> Var:
        """Return the name that is bound to a value of all turns."""
        kind = value.type
        if not isinstance(kind, Array):
            raise Unfit
        known = self.many[target.name]
        if known is not None and known.layout != kind.layout:
            raise Unfit
        self.many[target.name] = kind
        return Var(target.name, self._kind(target.type, kind.layout))

    def _kind(self, own: Type, layout: str) -> Array:
        """Return the type for all turns of what has the type `own` in one."""
        if not isinstance(own, Array | Scalar):
            raise Unfit
        return Array(own.dtype, (self.length, *_dims(own)), layout)

    # ---- values that every turn shares ----

    def fixed(self, expr: Any) -> Any:
        """Return an expression that does not differ, with lengths asked of what does."""
        match expr:
            case Apply(fn) if is_draw(fn) or fn is ops.pop or fn is ops.new_list:
                raise Unfit
            case Apply(ops.dim, (first, Const() as axis)) if self.varies(first):
                return build(ops.dim, self.many_of(first), literal(axis.value + 1))
            case Apply(fn, (first, *_)) if fn in _LENGTHS and self.varies(first):
                if rank(first.type) != 1 or fn is ops.shape:
                    raise Unfit
                return build(ops.dim, self.many_of(first), literal(1))
            case Apply() | Index() | Pack() | Slice():
                return map_children(expr, self.fixed)
            case _:
                return expr

    def statement(self, stmt: Stmt) -> Stmt:
        """Return a statement that does not differ."""
        return map_exprs(map_blocks(stmt, lambda body: tuple(self.statement(s) for s in body)), self.fixed)

    def spread(self, value: Expr) -> Expr:
        """Return a value that every turn begins with, once for each: it will differ."""
        match value:
            case Apply(fn, (shape,), _, static) if fn in _CREATED:
                items = shape.items if isinstance(shape, Pack) else (shape,)
                return self._made(fn, [self.fixed(item) for item in items], static)
            case Apply(fn, (like,), _, static) if fn in _CREATED_LIKE:
                lengths = [self.fixed(build(ops.dim, like, literal(k))) for k in range(rank(like.type))]
                if not static and _dtype(like.type) != "float64":
                    raise Unfit
                return self._made(_CREATED_LIKE[fn], lengths, static)
            case _ if isinstance(value.type, Scalar) and value.type.dtype == "float64":
                if isinstance(value, Const) and value.value == 0.0 and math.copysign(1.0, value.value) > 0.0:
                    return build(np.zeros, self.count)
                return self._typed(build(np.full, self.count, self.fixed(value)), value)
            case _:
                raise Unfit

    def _made(self, fn: Any, lengths: list[Expr], static: tuple[tuple[str, Any], ...]) -> Expr:
        items = (self.count, *lengths)
        if len(items) == 1:
            return build(fn, self.count, **dict(static))
        kind = Struct("tuple", tuple(range(len(items))), tuple(item.type for item in items))
        return build(fn, Pack("tuple", items, kind), **dict(static))

    # ---- places ----

    def place(self, place: Expr) -> Expr:
        """Return a place for all turns."""
        match place:
            case Var():
                return self.variable(place)
            case Index(base, index) if not any(self.varies(item) for item in index):
                if any(isinstance(getattr(item, "type", None), Array) for item in index):
                    raise Unfit
                return self._index(base, index, place)
            case _:
                raise Unfit

    def fitted(self, value: Expr, place: Type, op: str) -> Expr:
        """Return what is stored in a place that has the type `place` in one turn."""
        if op not in ("", "+", "-", "*", "/"):
            raise Unfit
        return self._aligned(value, rank(place)) if self.varies(value) else self.fixed(value)

    # ---- values of all turns ----

    def many_of(self, expr: Expr) -> Expr:
        """Return the values of all turns of an expression, the batch in front; raises Unfit."""
        try:
            match expr:
                case Var():
                    return self.variable(expr)
                case Index():
                    return self._read(expr)
                case Apply(fn) if fn not in _LAZY and not is_draw(fn):
                    return self._typed(self._applied(expr), expr)
                case _:
                    raise Unfit
        except InferenceError as error:
            raise Unfit from error

    def _typed(self, made: Expr, one: Expr) -> Expr:
        kind = made.type
        if not isinstance(kind, Array) or not isinstance(one.type, Array | Scalar):
            raise Unfit
        if kind.dtype != one.type.dtype or len(kind.dims) != rank(one.type) + 1:
            raise Unfit
        return made

    def _read(self, expr: Index) -> Expr:
        base, index = expr.base, expr.index
        if self.varies(base):
            if len(index) == 1 and not isinstance(index[0], Slice) and self.varies(index[0]):
                return self._chosen(base, index[0], expr)
            if any(self.varies(item) for item in index):
                raise Unfit
            arrays = [item for item in index if not isinstance(item, Slice) and isinstance(item.type, Array)]
            if len(arrays) > 1 or any(_dtype(item.type) == "bool" for item in arrays):
                raise Unfit
            if arrays and not all(item == FULL or item is arrays[0] for item in index):
                raise Unfit
            return self._index(base, index, expr)
        if len(index) == 2 and index[0] == FULL and self._is_turn(index[1]):
            return transposed(self._taken(self.fixed(base)))
        first, *others = index
        if self._is_turn(first) and not any(self.varies(o) for o in others):
            if whole(tuple(others)):
                return self._taken(self.fixed(base))
            return self._index_of(self._taken(self.fixed(base)), tuple(others), expr)
        if not isinstance(first, Slice) and self.varies(first) and whole(tuple(others)) and rank(first.type) == 0:
            at = self.many_of(first)
            assert isinstance(at.type, Array)
            made = Array(_dtype(expr.type), (*at.type.dims, *_dims(expr.type)), "C")
            return Index(self.fixed(base), (at, *others), made)
        raise Unfit

    def _chosen(self, base: Expr, at: Expr, one: Index) -> Expr:
        """Return of each turn the element that the turn chooses."""
        if rank(base.type) != 1 or rank(at.type) != 0:
            raise Unfit
        rows = build(np.arange, self.count)
        return Index(self.many_of(base), (rows, self.many_of(at)), self._kind(one.type, "C"))

    def _is_turn(self, item: Any) -> bool:
        return isinstance(item, Var) and item.name == self.turn

    def _taken(self, base: Expr) -> Expr:
        """Return a whole array that holds the turns in its first axis."""
        if not isinstance(base, Var):
            raise Unfit
        return base

    def _index(self, base: Expr, index: tuple[Any, ...], one: Index | Expr) -> Index:
        return self._index_of(self.many_of(base), index, one)

    def _index_of(self, base: Expr, index: tuple[Any, ...], one: Expr) -> Index:
        kind = base.type
        assert isinstance(kind, Array)
        return Index(base, (FULL, *(self.fixed(item) for item in index)), self._kind(one.type, "A"))

    def _aligned(self, value: Expr, to: int) -> Expr:
        """Return the values of all turns with axes of length 1 where the result of a turn has `to` axes."""
        own = rank(value.type)
        if isinstance(value, Apply) and value.fn in _REDUCTIONS and not value.static and rank(value.args[0].type) == to:
            return self._typed(self._reduced(value.fn, value.args[0], {"keepdims": True}), value.args[0])
        made = self.many_of(value)
        if own == to:
            return made
        return _with_axes(made, (FULL, *(_NEW for _ in range(to - own)), *(FULL for _ in range(own))))

    def _applied(self, expr: Apply) -> Expr:
        fn, args, static = _BY_NUMPY.get(expr.fn, expr.fn), expr.args, dict(expr.static)
        if fn in _PRODUCTS and len(args) == 2 and not static:
            return self._product(fn, args[0], args[1])
        if fn in _REDUCTIONS and len(args) == 1:
            return self._reduced(fn, args[0], static)
        if fn in _LIKE and len(args) == 1:
            return build(fn, self.many_of(args[0]), **static)
        if is_elementwise(fn) and not static:
            to = rank(expr.type)
            return build(fn, *(self._aligned(a, to) if self.varies(a) else self.fixed(a) for a in args))
        raise Unfit

    def _reduced(self, fn: Any, arg: Expr, static: dict[str, Any]) -> Expr:
        own, axis = rank(arg.type), static.get("axis")
        if set(static) - {"axis", "keepdims"} or own == 0 or isinstance(axis, tuple):
            raise Unfit
        if axis is None:
            axis = 1 if own == 1 else tuple(range(1, own + 1))
        elif axis >= 0:
            axis += 1
        return build(fn, self.many_of(arg), **{"axis": axis, **{k: v for k, v in static.items() if k != "axis"}})

    def _product(self, fn: Any, a: Expr, b: Expr) -> Expr:
        ranks, differ = (rank(a.type), rank(b.type)), (self.varies(a), self.varies(b))
        if (fn is np.vdot and (is_complex(a.type) or ranks != (1, 1))) or (fn is np.inner and ranks != (1, 1)):
            raise Unfit
        left = self.many_of(a) if differ[0] else self.fixed(a)
        right = self.many_of(b) if differ[1] else self.fixed(b)
        match ranks, differ:
            case (2, 1), (False, True):
                self._shared(a)
                return build(operator.matmul, right, transposed(left))
            case (1, 2), (True, False):
                self._shared(b)
                return build(operator.matmul, left, right)
            case (1, 1), (True, True):
                return build(np.sum, build(operator.mul, left, right), axis=1)
            case (1, 1), (True, False):
                return build(operator.matmul, left, right)
            case (1, 1), (False, True):
                return build(operator.matmul, right, left)
            case (0, _), _:
                return self._scaled(a, b, ranks[1])
            case (_, 0), _:
                return self._scaled(a, b, ranks[0])
            case _:
                raise Unfit

    def _scaled(self, a: Expr, b: Expr, to: int) -> Expr:
        return build(operator.mul, *(self._aligned(x, to) if self.varies(x) else self.fixed(x) for x in (a, b)))

    def _shared(self, matrix: Expr) -> None:
        """Count a product with a matrix that every turn shares, but for tiny ones."""
        dims = _dims(matrix.type)
        if not all(isinstance(d, int) for d in dims) or math.prod(d for d in dims if isinstance(d, int)) > _TINY:
            self.products += 1


def _dims(kind: Type) -> tuple[Dim, ...]:
    return kind.dims if isinstance(kind, Array) else ()


def _dtype(kind: Type) -> str:
    assert isinstance(kind, Array | Scalar)
    return kind.dtype


def _with_axes(value: Expr, index: tuple[Any, ...]) -> Index:
    """Return a value with new axes."""
    kind = value.type
    assert isinstance(kind, Array)
    own = iter(kind.dims)
    dims = tuple(1 if item is _NEW else next(own) for item in index)
    return Index(value, index, Array(kind.dtype, dims, "C" if kind.layout == "C" else "A"))
