"""One element of an array expression: what `x[1:-1] * np.exp(y.T)` is at the indices `i, j`."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Set
from typing import Any

import numpy as np

from s2sad.analysis.bounds import are_both_from_the_end
from s2sad.frontend.infer import InferenceError, infer
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Const, Expr, Index, Pack, Slice, Var
from s2sad.ir.types import Array, Dim, Scalar, Sym, Type, is_complex, is_cut_to, is_given, not_one, rank, same_dim
from s2sad.ir.views import is_advanced
from s2sad.ir.walk import is_const, map_children, reads

DTYPES = frozenset({"float64", "float32", "int64", "bool", "complex128"})
_ARITHMETIC: frozenset[Any] = frozenset({
    operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.neg, operator.pos,
    operator.abs, builtins.abs, np.add, np.subtract, np.multiply, np.divide, np.power, np.negative,
})  # fmt: skip
_COMPARING: frozenset[Any] = frozenset({
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne, operator.and_, operator.or_,
    np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.logical_and, np.logical_or,
    np.logical_not, np.isnan, np.isfinite, np.isinf,
})  # fmt: skip
_FUNCTIONS: frozenset[Any] = frozenset({
    np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sqrt, np.square, np.reciprocal, np.sin, np.cos,
    np.tan, np.arcsin, np.arccos, np.arctan, np.arctan2, np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh,
    np.hypot, np.maximum, np.minimum, np.abs, np.absolute, np.fabs, np.sign, np.floor, np.ceil, np.trunc, np.where,
    np.copysign, np.deg2rad, np.rad2deg,
})  # fmt: skip
_CONJUGATES: frozenset[Any] = frozenset({np.conj, np.conjugate})
SCALABLE = _ARITHMETIC | _COMPARING | _FUNCTIONS | _CONJUGATES
"""Functions that compiled code computes for one element just as NumPy does for all."""
_OF_COMPLEX: frozenset[Any] = _ARITHMETIC | _CONJUGATES | {
    np.exp, np.log, np.sqrt, np.square, np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh,
    np.abs, np.absolute, np.where,
}  # fmt: skip
"""Those of them that are the same of a complex number; of powers squares alone."""
_PARTS: frozenset[Any] = frozenset({np.real, np.imag})
_FILLED: dict[Any, float | None] = {
    np.zeros_like: 0.0, np.ones_like: 1.0, np.zeros: 0.0, np.ones: 1.0, np.full_like: None,
}  # fmt: skip


REDUCTIONS: frozenset[Any] = frozenset({np.sum, np.mean, np.max, np.amax, np.min, np.amin})
"""Functions that bring together the elements along an axis, one by one."""


class Unfit(Exception):
    """The expression is not one that is written element by element."""


def is_compound(expr: Expr) -> bool:
    """Say whether an array expression computes elements, rather than naming or viewing an array."""
    if not (isinstance(expr, Apply) and isinstance(expr.type, Array)):
        return False
    return (expr.fn in SCALABLE and not expr.static) or _diagonal(expr) is not None or _sources(expr) is not None


def _diagonal(expr: Apply) -> int | None:
    """Return which diagonal is the last that `np.tril` keeps, or the first of `np.triu`, of a matrix."""
    if expr.fn not in (np.tril, np.triu) or len(expr.args) != 1 or rank(expr.type) != 2:
        return None
    static = dict(expr.static)
    k = static.pop("k", 0)
    return int(k) if isinstance(k, int) and not static else None


def _sources(expr: Apply) -> dict[int, Callable[[Expr, Expr], Expr]] | None:
    """Return, of `np.roll` and `np.flip`, by axis where an element comes from: given its index and the length."""
    if expr.fn not in (np.roll, np.flip) or not isinstance(expr.type, Array):
        return None
    count, static = len(expr.type.dims), dict(expr.static)
    axis = static.pop("axis", None)
    every = range(count) if expr.fn is np.flip or count == 1 else ()
    axes = [axis] if isinstance(axis, int) else list(every if axis is None else axis)
    if static or not axes or len({a % count for a in axes}) != len(axes):
        return None
    if expr.fn is np.flip:
        return {a % count: lambda at, length: build(operator.sub, plus(length, -1), at) for a in axes}
    shift = expr.args[1]
    each = list(shift.items) if isinstance(shift, Pack) else [shift] * len(axes)
    if len(each) != len(axes) or not all(is_simple(by) and isinstance(by.type, Scalar) for by in each):
        return None
    return {a % count: lambda at, length, by=by: _rolled(at, by, length) for a, by in zip(axes, each, strict=True)}


def _rolled(at: Expr, by: Expr, length: Expr) -> Expr:
    back = plus(at, -by.value) if isinstance(by, Const) else build(operator.sub, at, by)
    return build(operator.mod, back, length)


def plus(expr: Expr, offset: Expr | int) -> Expr:
    """Return a sum of indices, constants folded."""
    if isinstance(offset, Const) and isinstance(offset.value, int):
        offset = offset.value
    if isinstance(offset, int):
        if offset == 0:
            return expr
        if isinstance(expr, Const):
            return literal(expr.value + offset)
        if isinstance(expr, Apply) and expr.fn in (operator.add, operator.sub) and isinstance(expr.args[1], Const):
            sign = 1 if expr.fn is operator.add else -1
            return plus(expr.args[0], sign * expr.args[1].value + offset)
        fn = operator.add if offset > 0 else operator.sub
        return Apply(fn, (expr, literal(builtins.abs(offset))), Scalar("int64", weak=True))
    return Apply(operator.add, (expr, offset), Scalar("int64", weak=True))


def split_sum(expr: Expr) -> tuple[Expr, int]:
    """Return `e` and `c` of `e + c`."""
    if isinstance(expr, Apply) and expr.fn in (operator.add, operator.sub) and isinstance(expr.args[1], Const):
        amount = expr.args[1].value
        if isinstance(amount, int):
            return expr.args[0], amount if expr.fn is operator.add else -amount
    return expr, 0


def never_meet(a: Index, b: Index, counters: Set[str], positive: Callable[[Expr], bool]) -> bool:
    """Say whether two elements of one array are apart in every turn: `x[i, k]` and `x[i, k - 1]`, where `i` counts."""
    if len(a.index) != len(b.index) or a.base != b.base:
        return False
    for first, second in zip(a.index, b.index, strict=True):
        if isinstance(first, Slice) or isinstance(second, Slice) or first == second:
            continue
        if are_both_from_the_end(first, second):
            return True
        if not (is_simple(first) and is_simple(second) and positive(first) and positive(second)):
            continue
        if isinstance(first, Const) and isinstance(second, Const):
            return first.value != second.value
        (whole, own), (same, other) = split_sum(first), split_sum(second)
        if whole == same and own != other and not reads(whole) & counters:
            return True
    return False


class Elements:
    """Writes elements; what is needed beforehand, and what must agree in length, is gathered.

    Attributes:
        dims: the lengths of the loops that the elements are in.
        lengths: for each loop the expressions of its length that were met, with the length's symbol.
        measured: the same of parts whose length only their name tells.
        equal: lengths that are taken to be equal, and compared at run time.
        reads: the elements that were read, each an `Index` of a name.
    """

    def __init__(
        self, dims: tuple[Dim, ...], index: tuple[Expr, ...],
        view: Callable[[Expr], Expr], value: Callable[[Expr], Expr], views: dict[str, Expr],
        positive: Callable[[Expr], bool] = lambda expr: False,
    ) -> None:  # fmt: skip
        """`view` names a view, `value` names a computed array or scalar; both before the loops.

        `views` says which names stand for parts of other arrays, `positive` which numbers are never below zero.
        """
        self.views, self.positive = views, positive
        self.dims, self.index = dims, index
        self.view, self.value = view, value
        self.lengths: list[list[tuple[Dim, Expr]]] = [[] for _ in dims]
        self.measured: list[list[tuple[Dim, Expr]]] = [[] for _ in dims]
        self.equal: set[frozenset[Dim]] = set()
        self.reads: list[Index] = []
        self.leaves: list[Expr] = []

    def take_equal(self, first: Type, second: Type) -> None:
        """Take two arrays for equally long, axis by axis; what is not surely so is compared. Raises Unfit."""
        assert isinstance(first, Array) and isinstance(second, Array)
        for pair in zip(first.dims, second.dims, strict=True):
            if 1 in pair and set(pair) != {1}:
                raise Unfit
            self.equal.add(frozenset(pair))

    def take_added(self, place: Type, value: Type) -> None:
        """What is added to the part of an adjoint is as long as that: its length was cut to it."""
        if isinstance(place, Array) and isinstance(value, Array) and len(place.dims) == len(value.dims):
            for own, other in zip(place.dims, value.dims, strict=True):
                if is_cut_to(own, other):
                    self.equal.add(frozenset((own, other)))

    def of(self, expr: Expr) -> Expr:
        """Return the element of `expr`, broadcast over the loops; raises Unfit."""
        return self._aligned(expr, self.dims, self.index)

    def _aligned(self, expr: Expr, dims: tuple[Dim, ...], index: tuple[Expr, ...]) -> Expr:
        """Return the element of an operand of an elementwise operation with result `dims`."""
        if not isinstance(expr.type, Array):
            return self._scalar(expr)
        if isinstance(expr, Apply) and expr.fn in _PARTS and is_complex(expr.args[0].type):
            return Apply(expr.fn, (self._aligned(expr.args[0], dims, index),), Scalar(expr.type.dtype))
        first = len(dims) - len(expr.type.dims)
        own: list[Expr] = []
        for axis, length in enumerate(expr.type.dims):
            whole = dims[first + axis]
            if length == 1:
                own.append(literal(0))
            elif length != whole and (whole == 1 or (isinstance(length, int) and isinstance(whole, int))):
                raise Unfit  # NumPy says what is wrong with it
            elif same_dim(length, whole) or not_one(length) or frozenset((length, whole)) in self.equal:
                own.append(index[first + axis])
            else:
                raise Unfit
        while isinstance(expr, Apply) and expr.fn is np.copy:
            expr = expr.args[0]
        if _is_computed_first(expr):
            expr = self.value(expr)
        expr = self._unwrapped(expr)
        if isinstance(expr, Var | Index) or is_view(expr):
            expr = self._measured(expr, own)
        elif isinstance(expr, Apply) and expr.fn in _FILLED:
            like = expr.args[0]
            if isinstance(like, Var) and isinstance(like.type, Array) and like.type.dims == expr.type.dims:  # type: ignore[union-attr]
                self._measured(like, own)
            else:
                self._note_literal(expr.type.dims, own)  # type: ignore[union-attr]
        return self.at(expr, tuple(own))

    def _note_literal(self, dims: tuple[Dim, ...], own: list[Expr]) -> None:
        """Note the lengths of an array that is not there: the others must have them."""
        for dim, at in zip(dims, own, strict=True):
            if isinstance(dim, int) and at in self.index and isinstance(at, Var):
                self.lengths[self.index.index(at)].append((dim, literal(dim)))

    def _unwrapped(self, expr: Expr) -> Expr:
        """Return what a name stands for where that is another array with axes of length one put in."""
        known = self.views.get(expr.name) if isinstance(expr, Var) else None
        return known if isinstance(known, Apply) else expr

    def _measured(self, expr: Expr, own: list[Expr]) -> Expr:
        """Note which loops this operand's lengths are the lengths of; a part of unknown length gets a name for that."""
        assert isinstance(expr.type, Array)
        if expr.type.dims == self.dims and tuple(own) == self.index:
            self.leaves.append(expr)
        loops = [(k, self.index.index(at)) for k, at in enumerate(own) if isinstance(at, Var) and at in self.index]
        kept, noted = expr, self.lengths
        if any(length_of(expr, axis, self.positive) is None for axis, _ in loops):
            expr, noted = self._unwrapped(self.view(expr)), self.measured
        part = self.views.get(expr.name) if isinstance(expr, Var) else None
        for axis, loop in loops:
            known = length_of(part, axis, self.positive) if isinstance(part, Index) else None
            known = known or length_of(expr, axis, self.positive)
            if known is not None:
                noted[loop].append((kept.type.dims[axis], known))  # type: ignore[union-attr]
        return expr

    def at(self, expr: Expr, index: tuple[Expr, ...]) -> Expr:
        """Return `expr[index]` as a scalar expression."""
        kind = expr.type
        if not isinstance(kind, Array):
            return self._scalar(expr)
        if kind.dtype not in DTYPES:
            raise Unfit
        match expr:
            case Var(name) if name in self.views:
                return self.at(self.views[name], index)
            case Var():
                made = Index(expr, index, Scalar(kind.dtype))
                self.reads.append(made)
                return made
            case Index(base, items) if isinstance(base.type, Array) and not is_advanced(items):
                inner = self._through(items, index)
                if inner is None or (is_compound(base) and self._is_cut(base.type, expr, inner)):
                    return self.at(self.view(expr), index)
                return self.at(base, inner)
            case Apply(fn, (base,)) if fn in (ops.transpose, np.transpose):
                return self.at(base, tuple(index[at] for at in _turned(expr)))
            case Apply(fn, (base,), _, static) if fn is np.expand_dims:
                return self.at(base, _without(index, _axes(dict(static)["axis"], len(index))))
            case Apply(fn, (base,)) if fn is np.copy:
                return self.at(base, index)
            case Apply(fn, args, _, static) if fn in _FILLED:
                fill = _FILLED[fn]
                if fn is np.full_like:
                    return self._scalar(args[1])
                return literal(int(fill or 0)) if kind.dtype in ("int64", "bool") else literal(fill)
            case Apply(fn, (first, second), _, ()) if fn is np.outer and kind.dtype == "float64":
                factors = tuple(self._factor(part, at) for part, at in zip((first, second), index, strict=True))
                return Apply(operator.mul, factors, Scalar("float64"))
            case Apply(fn, (base,), _, static) if fn in REDUCTIONS and dict(static).get("keepdims"):
                return self._kept(expr, base, dict(static), index)
            case Apply() if is_compound(expr):
                return self._applied(expr, index)
            case _:
                viewed = is_view(expr) or isinstance(expr, Index)
                return self.at(self.view(expr) if viewed else self.value(expr), index)

    def _is_cut(self, base: Array, part: Expr, inner: tuple[Expr, ...]) -> bool:
        """Say whether a loop goes over the first part of an axis only: its length is none of the operands'."""
        dims = part.type.dims if isinstance(part.type, Array) else ()
        return any(at in self.index and dim not in dims for dim, at in zip(base.dims, inner, strict=False))

    def _factor(self, expr: Expr, at: Expr) -> Expr:
        """Return the element of a factor of an outer product, which is computed once and not for every pair."""
        if rank(expr.type) != 1:
            raise Unfit
        known = expr if isinstance(expr, Var | Index) or is_view(expr) else self.value(expr)
        return self.at(self._measured(known, [at]), (at,))

    def _applied(self, expr: Apply, index: tuple[Expr, ...]) -> Expr:
        assert isinstance(expr.type, Array)
        if (k := _diagonal(expr)) is not None:
            kept = build(operator.le if expr.fn is np.tril else operator.ge, index[1], plus(index[0], k))
            nothing = literal(0 if expr.type.dtype == "int64" else 0.0)
            if expr.type.dtype == "bool":
                raise Unfit
            element = self._aligned(expr.args[0], expr.type.dims, index)
            return Apply(ops.ifexp, (kept, element, nothing), Scalar(expr.type.dtype))
        if (sources := _sources(expr)) is not None:
            return self._moved(expr.args[0], sources, index)
        args = tuple(self._aligned(arg, expr.type.dims, index) for arg in expr.args)
        if expr.fn in _ARITHMETIC and all(_dtype(a) == "bool" for a in args):
            raise Unfit
        if expr.fn in (operator.pow, np.power) and expr.type.dtype != "float64":
            raise Unfit
        if expr.fn in (operator.and_, operator.or_) and any(_dtype(a) != "bool" for a in args):
            raise Unfit
        if "complex128" in map(_dtype, args):
            return _of_complex(expr.fn, args)
        if expr.fn in _CONJUGATES:
            return args[0]
        fn = ops.ifexp if expr.fn is np.where else expr.fn
        if fn is ops.ifexp and len(args) != 3:
            raise Unfit
        try:
            kind = infer(fn, args, {})
        except InferenceError as error:
            raise Unfit from error
        if not isinstance(kind, Scalar) or kind.dtype not in DTYPES:
            raise Unfit
        return Apply(fn, args, Scalar(kind.dtype, kind.weak))

    def _moved(
        self, base: Expr, sources: dict[int, Callable[[Expr, Expr], Expr]], index: tuple[Expr, ...]
    ) -> Expr:
        """The element that comes from elsewhere in an array."""
        if not (isinstance(base, Var | Index) or is_view(base)):
            base = self.value(base)
        base = self._measured(base, list(index))
        moved = list(index)
        for axis, source in sources.items():
            length = length_of(base, axis, self.positive)
            if length is None:
                raise Unfit
            moved[axis] = source(index[axis], length)
        return self.at(base, tuple(moved))

    def _kept(self, expr: Apply, base: Expr, static: dict[str, Any], index: tuple[Expr, ...]) -> Expr:
        """A sum or the like with `keepdims`: the sum itself, indexed without the axes that it lost."""
        axes = _axes(static.get("axis"), len(index))
        assert isinstance(base.type, Array)
        rest = tuple(d for k, d in enumerate(base.type.dims) if k not in axes)
        assert isinstance(expr.type, Array)
        kind = Array(expr.type.dtype, rest, "C") if rest else Scalar(expr.type.dtype)
        kept = tuple(item for item in expr.static if item[0] != "keepdims" and (rest or item[0] != "axis"))
        made = self.value(Apply(expr.fn, (base,), kind, kept))
        return self.at(made, _without(index, axes)) if rest else made

    def _scalar(self, expr: Expr) -> Expr:
        if _dtype(expr) not in DTYPES:
            raise Unfit
        return expr if is_simple(expr) else self.value(expr)

    def _through(self, items: tuple[Any, ...], index: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
        """Return the indices into the base of a view; None where the slices are not plain enough."""
        own = list(index)
        inner: list[Expr] = []
        for item in items:
            match item:
                case Const(None):
                    own.pop(0)
                case Slice():
                    if not is_plain(item) and not is_cut(item, self.positive):
                        return None
                    inner.append(plus(own.pop(0), item.lower if item.lower is not None else 0))
                case _:
                    if not is_simple(item):
                        return None
                    inner.append(item)
        return (*inner, *own)


def _of_complex(fn: Any, args: tuple[Expr, ...]) -> Expr:
    """Return a function of complex numbers: Numba divides them as NumPy does by its name only, else 0 raises."""
    if fn not in _OF_COMPLEX or (fn is np.where and len(args) != 3):
        raise Unfit
    if fn in (operator.pow, np.power):
        if not is_const(args[1], 2) or not isinstance(args[0], Var | Index):
            raise Unfit
        fn, args = operator.mul, (args[0], args[0])
    fn = {operator.truediv: np.divide, np.where: ops.ifexp}.get(fn, fn)
    try:
        kind = infer(fn, args, {})
    except InferenceError as error:
        raise Unfit from error
    if not isinstance(kind, Scalar) or kind.dtype not in DTYPES:
        raise Unfit
    return Apply(fn, args, Scalar(kind.dtype, kind.weak))


def _is_computed_first(expr: Expr) -> bool:
    """Say whether an array is the result of a function that does not work element by element: a product, an inverse."""
    if not isinstance(expr, Apply) or is_compound(expr) or is_view(expr):
        return False
    kept = expr.fn in REDUCTIONS and dict(expr.static).get("keepdims")
    return expr.fn not in (np.copy, np.outer) and expr.fn not in _FILLED and not kept


def is_plain(item: Slice) -> bool:
    """Say whether a slice is `c:`, `:-c` or `c:-d` for constants: its length cannot surprise."""
    lower, upper = item.lower, item.upper
    if item.step is not None:
        return False
    if lower is not None and not (isinstance(lower, Const) and isinstance(lower.value, int) and lower.value >= 0):
        return False
    return upper is None or (isinstance(upper, Const) and isinstance(upper.value, int) and upper.value < 0)


def with_plain_ends(expr: Any) -> Any:
    """Return an expression with `x[1:n - 1]` as `x[1:-1]`, where `n` is the length that is cut."""
    expr = map_children(expr, with_plain_ends)
    if not isinstance(expr, Index) or not isinstance(expr.base.type, Array) or is_advanced(expr.index):
        return expr
    items: list[Any] = []
    axis = 0
    for item in expr.index:
        if isinstance(item, Slice):
            item = _with_plain_end(item, expr.base.type.dims[axis])
        axis += not (isinstance(item, Const) and item.value is None)
        items.append(item)
    return Index(expr.base, tuple(items), expr.type)


def _with_plain_end(item: Slice, dim: Dim) -> Slice:
    """An end before the first element counts from the back: it is left where short arrays have something there."""
    end = getattr(item.upper.type, "value", None) if item.upper is not None else None
    lower = 0 if item.lower is None else item.lower.value if isinstance(item.lower, Const) else -1
    if not isinstance(end, Sym) or not isinstance(dim, Sym) or end.name != dim.name or item.step is not None:
        return item
    cut = end.minus - dim.minus
    if is_given(end) or not (isinstance(lower, int) and lower >= 0 and 0 <= cut <= lower + 2):
        return item
    return Slice(item.lower, literal(-cut) if cut else None, None)


def is_cut(item: Slice, positive: Callable[[Expr], bool]) -> bool:
    """Say whether a slice is `a:`, `:b` or `a:b` for numbers of the run that are never below zero."""
    bounds = [bound for bound in (item.lower, item.upper) if bound is not None]
    return item.step is None and all(is_simple(bound) and positive(bound) for bound in bounds)


def _length_of_cut(item: Slice, whole: Expr, exact: bool) -> Expr:
    """Return how long `a:b` is; `exact`: it surely ends within the axis."""
    zero, kind = literal(0), Scalar("int64", weak=True)
    lower = item.lower if item.lower is not None else zero
    upper = item.upper if item.upper is not None else whole
    if not exact and item.upper is not None:
        upper = Apply(builtins.min, (upper, whole), kind)
    if lower == zero:
        return upper
    offset, added = split_sum(upper)
    length: Expr = literal(added) if offset == lower else Apply(operator.sub, (upper, lower), kind)
    if isinstance(lower, Const):
        length = plus(upper, -lower.value)
    elif isinstance(upper, Apply) and upper.fn is operator.add and lower in upper.args:
        length = upper.args[1] if upper.args[0] == lower else upper.args[0]
    return length if exact else Apply(builtins.max, (length, zero), kind)


def is_simple(expr: Expr) -> bool:
    """Say whether a scalar is arithmetic of names and numbers, which may stand in a loop as it is."""
    match expr:
        case Var() | Const():
            return not isinstance(expr.type, Array)
        case Apply(fn, args):
            return fn in _ARITHMETIC and all(is_simple(arg) for arg in args)
        case _:
            return False


def is_view(expr: Expr) -> bool:
    """Say whether an expression is a transpose or the like, which costs nothing to name."""
    views = (ops.transpose, np.transpose, np.swapaxes, np.moveaxis, np.expand_dims)
    return isinstance(expr, Apply) and expr.fn in views


def length_of(expr: Expr, axis: int, positive: Callable[[Expr], bool] = lambda expr: False) -> Expr | None:
    """Return the length of an axis of a name or view, None where that takes more than arithmetic."""
    assert isinstance(expr.type, Array)
    known = expr.type.dims[axis]
    if isinstance(known, int):
        return literal(known)
    match expr:
        case Var():
            return Apply(ops.dim, (expr, literal(axis)), Scalar("int64", weak=True))
        case Index(base, items) if isinstance(base.type, Array) and not is_advanced(items):
            return _length_through(expr, base, items, axis, positive)
        case Apply(fn, (base,)) if fn in (ops.transpose, np.transpose):
            return length_of(base, _turned(expr).index(axis), positive)
        case Apply(fn, (base,), _, static) if fn is np.expand_dims:
            axes = _axes(dict(static)["axis"], rank(expr.type))
            return length_of(base, axis - sum(a < axis for a in axes), positive)
        case _:
            return None


def _length_through(
    part: Index, base: Expr, items: tuple[Any, ...], axis: int, positive: Callable[[Expr], bool]
) -> Expr | None:
    at, own = 0, 0
    for item in items:
        if isinstance(item, Const) and item.value is None:
            own += 1
            continue
        if isinstance(item, Slice):
            if own == axis:
                whole = length_of(base, at, positive)
                if whole is None or is_plain(item) or not is_cut(item, positive):
                    return _shortened(item, whole) if whole is not None and is_plain(item) else None
                length = part.type.dims[axis]  # type: ignore[union-attr]
                return _length_of_cut(item, whole, isinstance(length, Sym) and length.within)
            own += 1
        at += 1
    return length_of(base, at + axis - own, positive)


def _shortened(item: Slice, whole: Expr) -> Expr:
    """Return how long `c:`, `:-c` or `c:-d` is."""
    ends = (item.upper.value if isinstance(item.upper, Const) else 0), (
        item.lower.value if isinstance(item.lower, Const) else 0
    )
    return plus(whole, ends[0] - ends[1])


def _turned(expr: Apply) -> list[int]:
    """Return for each axis of what is transposed which one of the result it is."""
    count = rank(expr.type)
    axes = dict(expr.static).get("axes")
    order = range(count)[::-1] if axes is None else [int(a) % count for a in axes]
    return sorted(range(count), key=lambda at: order[at])


def _axes(given: Any, count: int) -> tuple[int, ...]:
    if given is None:
        return tuple(range(count))
    return tuple(a % count for a in (given if isinstance(given, tuple) else (given,)))


def _without(index: tuple[Expr, ...], axes: tuple[int, ...]) -> tuple[Expr, ...]:
    return tuple(item for at, item in enumerate(index) if at not in axes)


def _dtype(expr: Expr) -> str:
    return expr.type.dtype if isinstance(expr.type, Scalar | Array) else ""
