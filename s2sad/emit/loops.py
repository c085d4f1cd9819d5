"""Target "cpu": arithmetic on whole arrays becomes loops over their elements, neighbours sharing one loop.

    t = c * y_bar[1:-1]                    for i in range(y_bar.shape[0] - 2):
    x_bar[2:] += t              becomes        t = c * y_bar[i + 1]
    x_bar[:-2] -= t                            x_bar[i + 2] += t
                                               x_bar[i] -= t

Compiling a whole-array statement takes Numba up to seconds, a loop milliseconds; temporaries that
only one loop uses become scalars. What is not plain arithmetic of float64, float32 or complex128 arrays stays as it is.
"""

from __future__ import annotations

import builtins
import operator
from dataclasses import replace
from math import prod

import numpy as np

from s2sad.analysis.bounds import inside, least_of, lower_bounds
from s2sad.analysis.facts import Facts
from s2sad.analysis.sharing import Apart
from s2sad.emit.again import again
from s2sad.emit.elements import (
    DTYPES,
    REDUCTIONS,
    Elements,
    Unfit,
    is_compound,
    is_cut,
    is_plain,
    is_simple,
    never_meet,
    with_plain_ends,
)
from s2sad.emit.fusion import Nest, contracted, fused, without_unused_views
from s2sad.emit.rows import by_rows, with_own_lengths
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Apply,
    Assign,
    CallStmt,
    Comment,
    Expr,
    For,
    Function,
    Index,
    Pack,
    Return,
    Slice,
    Stmt,
    Store,
    Var,
)
from s2sad.ir.shapes import refused_if
from s2sad.ir.types import Array, Dim, ListOf, Scalar, Struct, Type, is_complex
from s2sad.ir.views import is_advanced, view_base
from s2sad.ir.walk import bound, map_blocks, map_children, map_exprs, names_in, reads, root_of, statements
from s2sad.transform.naming import Namer, noun
from s2sad.transform.together import without_empty_sweep

_AXES = ("i", "j", "k", "l", "m", "n")
_SUMS = (np.sum, np.mean)
_EXTREMES: dict[object, tuple[np.ufunc, float]] = {
    np.max: (np.maximum, -np.inf), np.amax: (np.maximum, -np.inf),
    np.min: (np.minimum, np.inf), np.amin: (np.minimum, np.inf),
}  # fmt: skip
_PRODUCTS = (operator.matmul, np.matmul, np.dot)
_FEW_TERMS = 128
"""Terms of all the sums of a product that is written out as loops."""
_NONE = "zero-size array to reduction operation {} which has no identity"
_LAZY = (ops.ifexp, ops.both, ops.either)


def looped(fn: Function, facts: Facts) -> Function:
    """Return `fn` with its whole-array arithmetic written as loops."""
    work = _Loops(fn, facts)
    body = with_own_lengths(work.block(fn.body, frozenset()), work.made, [p.name for p in fn.params])
    body = again(body, work.made, work.apart, facts)
    body = by_rows(without_unused_views(contracted(body, work.made)), work.made)
    return without_empty_sweep(replace(fn, body=body))


class _Loops:
    def __init__(self, fn: Function, facts: Facts) -> None:
        self.namer = Namer({p.name for p in fn.params} | names_in(fn.body))
        self.apart = Apart(fn, facts)
        self.made: set[str] = set()
        self.copies: set[str] = set()
        self.span = fn.span
        self.named = fn.named
        self.views: dict[str, Expr] = {}
        self.least = lower_bounds(fn)
        self.index: list[Expr] = []
        self.kind = Scalar("int64")

    def block(self, body: tuple[Stmt, ...], agreed: frozenset[frozenset[Dim]]) -> tuple[Stmt, ...]:
        """Rewrite a block; `agreed` are lengths that were found equal on the way here."""
        items: list[Stmt | Nest] = []
        outer = dict(self.views)
        for stmt in body:
            self.span = stmt.span
            if isinstance(stmt, Comment):
                items.append(stmt)
                continue
            stmt = map_exprs(stmt, with_plain_ends)
            self._forget(stmt)
            before = len(items)
            try:
                items += self._statement(stmt)
            except Unfit:
                del items[before:]
                items.append(self._inside(stmt, agreed))
            self._note_view(stmt)
        self.views = outer
        return fused(items, self.apart, agreed, self._is_positive)

    def _inside(self, stmt: Stmt, agreed: frozenset[frozenset[Dim]]) -> Stmt:
        """Rewrite the blocks of a statement; inside a loop its counter is in the range of that one."""
        outer = self.least
        if isinstance(stmt, For):
            self.least = inside(stmt, outer)
        made = map_blocks(stmt, lambda inner: self.block(inner, agreed))
        self.least = outer
        return made

    def _note_view(self, stmt: Stmt) -> None:
        """Note that a name stands for a part of another array."""
        if isinstance(stmt, Assign) and self._is_plain_view(stmt.value) and stmt.target.name not in reads(stmt.value):
            self.views[stmt.target.name] = stmt.value

    def _forget(self, stmt: Stmt) -> None:
        """Drop the views that a statement, or one inside it, makes mean something else."""
        names = {name for inner in statements((stmt,)) for name in bound(inner)}
        if names:
            self.views = {k: v for k, v in self.views.items() if k not in names and not reads(v) & names}

    def _is_plain_view(self, expr: Expr) -> bool:
        if isinstance(expr, Apply) and expr.fn is np.expand_dims:
            return isinstance(expr.args[0], Var)
        if not isinstance(expr, Index) or not isinstance(expr.base, Var) or not isinstance(expr.type, Array):
            return False
        if not isinstance(expr.base.type, Array):
            return False
        return all(
            is_plain(item) or is_cut(item, self._is_positive)
            if isinstance(item, Slice)
            else is_simple(item) and not isinstance(item.type, Array)
            for item in expr.index
        )

    # ---- statements ----

    def _statement(self, stmt: Stmt) -> list[Stmt | Nest]:
        out: list[Stmt | Nest] = []
        match stmt:
            case Assign(target, value) if is_compound(value):
                return self._elementwise(target, value)
            case Assign(target, Apply(fn, (Var(name) as copied,), _, ())) if fn is np.copy and name != target.name:
                return self._copied(stmt, target, copied)
            case Assign(target, Apply(fn) as value) if fn in _SUMS and self._is_sum(value):
                return self._sum(target, value)
            case Assign(target, Apply() as value) if self._is_along_an_axis(value):
                return self._mean(target, value) if value.fn is np.mean else self._extreme(target, value)
            case Assign(target, Apply() as value) if _is_strided_product(value) or is_small_product(value):
                return self._product(target, value)
            case Store(Index(Var() as base, at), "", Apply() as value) if _is_whole(at) and is_small_product(value):
                try:
                    return self._filled_by_product(base, value)
                except Unfit:
                    return self._store(stmt)
            case Store(place, op, value) if isinstance(place.type, Array) and op in ("", "+", "-", "*", "/"):
                try:
                    return self._store(stmt)
                except Unfit:
                    if is_compound(value) and isinstance(value.type, Array) and not _replaces_item(stmt):
                        return self._computed_first(stmt)
            case _:
                pass
        if not isinstance(stmt, Assign | Store | Return | CallStmt):
            raise Unfit
        whole = isinstance(stmt, CallStmt | Return) or (isinstance(stmt, Store) and _replaces_item(stmt))
        if isinstance(stmt, Return) and len(stmt.values) == len(self.named):
            given = zip(stmt.values, self.named, strict=True)
            changed: Stmt = replace(stmt, values=tuple([self._hoisted(v, out, whole, name) for v, name in given]))
        else:
            changed = map_exprs(stmt, lambda expr: self._hoisted(expr, out, whole))
        if not out:
            raise Unfit
        return [*out, self._bound(changed) if isinstance(changed, Assign) else changed]

    def _hoisted(self, expr: Expr, out: list[Stmt | Nest], whole: bool, name: str = "") -> Expr:
        """Move sums, and arithmetic handed to other functions, into statements of their own; the whole as `name`."""
        if isinstance(expr, Apply) and expr.fn in _LAZY:
            return expr
        if whole and is_compound(expr):
            return self._attempt(expr, out, name)
        if isinstance(expr, Apply) and (
            (expr.fn in _SUMS and self._is_sum(expr)) or self._is_along_an_axis(expr)
            or _is_strided_product(expr) or is_small_product(expr)
        ):  # fmt: skip
            return self._attempt(expr, out, name)
        if isinstance(expr, Apply) and expr.fn in REDUCTIONS and dict(expr.static).get("keepdims"):
            expr = _without_keepdims(expr)
        inside = isinstance(expr, Apply) and not is_compound(expr)
        return map_children(expr, lambda child: self._hoisted(child, out, inside))

    def _attempt(self, expr: Expr, out: list[Stmt | Nest], name: str) -> Expr:
        before = len(out)
        try:
            return self._named(expr, out, name)
        except Unfit:
            del out[before:]
            return expr

    def _named(self, expr: Expr, out: list[Stmt | Nest], name: str = "") -> Var:
        """Compute an expression into a new name: `name` if there is one, and it is free."""
        kind = expr.type
        if isinstance(kind, Scalar):
            kind = Scalar(kind.dtype, kind.weak)
        hint = name or noun(expr)
        target = Var(self.namer.fresh("total" if hint == "sum" else hint), kind)
        statement = Assign(target, expr, self.span)
        try:
            out += self._statement(statement)
        except Unfit:
            out.append(self._bound(statement))
        return target

    def _bound(self, stmt: Assign) -> Assign:
        """Note that a new name may be a view of another."""
        base = view_base(stmt.value)
        if base is not None:
            self.apart.join(stmt.target.name, base.name)
            self._note_view(stmt)
        return stmt

    def _elements(self, dims: tuple[Dim, ...], out: list[Stmt | Nest]) -> Elements:
        if not dims or len(dims) > len(_AXES):
            raise Unfit
        index: list[Expr] = []
        for dim in dims:
            if dim == 1:
                index.append(literal(0))
                continue
            if len(self.index) == sum(isinstance(v, Var) for v in index):
                self.index.append(Var(self.namer.fresh(_AXES[len(self.index)]), self.kind))
            index.append(self.index[sum(isinstance(v, Var) for v in index)])
        name = lambda expr: self._named(expr, out)  # noqa: E731
        return Elements(dims, tuple(index), name, name, self.views, self._is_positive)

    def _is_positive(self, number: Expr) -> bool:
        least = least_of(number, self.least)
        return least is not None and least >= 0

    def _elementwise(self, target: Var, value: Expr) -> list[Stmt | Nest]:
        """`y = a * x`: a new array, filled."""
        assert isinstance(value.type, Array)
        if value.type.dtype not in DTYPES:
            raise Unfit
        out: list[Stmt | Nest] = []
        elements = self._elements(value.type.dims, out)
        element = elements.of(value)
        own = target
        if target.name in reads(value):
            own = Var(self.namer.fresh(noun(value)), target.type)
        nest = self._nest(elements)
        nest.before.append(Assign(own, self._empty(value.type, elements, nest.bounds), self.span))
        nest.body.append(Store(Index(own, elements.index, Scalar(value.type.dtype)), "", element, self.span))
        self.made.add(own.name)
        return [*out, nest] if own is target else [*out, nest, Assign(target, own, self.span)]

    def _copied(self, stmt: Stmt, target: Var, value: Var) -> list[Stmt | Nest]:
        """`y = np.copy(x)` stays that unless other loops are there to fill it."""
        nests = self._elementwise(target, value)
        assert isinstance(nests[-1], Nest)
        nests[-1].alone = stmt
        self.copies.add(target.name)
        return nests

    def _store(self, stmt: Store) -> list[Stmt | Nest]:
        """`place op= value`, where no element that is read is one that was written before."""
        place = stmt.place
        assert isinstance(place.type, Array)
        if place.type.dtype not in ("float64", "float32", "complex128"):
            raise Unfit
        if isinstance(place, Index) and (is_advanced(place.index) or _replaces_item(stmt)):
            raise Unfit
        if stmt.op == "/" and is_complex(place.type):
            raise Unfit  # Numba raises where NumPy's quotient is not finite
        out: list[Stmt | Nest] = []
        elements = self._elements(place.type.dims, out)
        target = elements.of(place)
        if not isinstance(target, Index):
            raise Unfit
        elements.reads.clear()
        if stmt.accumulate:
            elements.take_added(place.type, stmt.value.type)
        value = elements.of(stmt.value)
        self._check_apart(target, elements)
        nest = self._nest(elements)
        nest.body.append(Store(target, stmt.op, value, stmt.span, stmt.accumulate))
        return [*out, nest]

    def _computed_first(self, stmt: Store) -> list[Stmt | Nest]:
        """`u[1:] -= c * (u[1:] - u[:-1])`: all elements are computed before one is written."""
        out: list[Stmt | Nest] = []
        value = self._named(stmt.value, out)
        return [*out, *self._store(replace(stmt, value=value))]

    def _check_apart(self, target: Index, elements: Elements) -> None:
        root = root_of(target)
        assert root is not None
        counters = {v.name for v in elements.index if isinstance(v, Var)}
        for element in elements.reads:
            other = root_of(element)
            assert other is not None
            if element == target or never_meet(element, target, counters, self._is_positive):
                continue
            if self.apart.may_meet_now(other.name, root.name):
                raise Unfit

    def _is_sum(self, expr: Apply) -> bool:
        kind = expr.args[0].type
        if len(expr.args) != 1 or not isinstance(kind, Array) or not kind.dims:
            return False
        if kind.dtype not in ("float64", "float32") and not (kind.dtype == "complex128" and expr.fn is np.sum):
            return False
        static = dict(expr.static)
        return not (set(static) - {"axis"}) and (expr.fn is np.sum or not static)

    def _sum(self, target: Var, value: Apply) -> list[Stmt | Nest]:
        """`s = np.sum(x * y)`, also along axes."""
        inner, axes, counted = _summed(value)
        assert isinstance(inner.type, Array)
        out: list[Stmt | Nest] = []
        elements = self._elements(inner.type.dims, out)
        element = elements.of(inner)
        nest = self._nest(elements)
        own = target if target.name not in reads(inner) else Var(self.namer.fresh("total"), target.type)
        if isinstance(target.type, Array):
            kept = tuple(v for at, v in enumerate(elements.index) if at not in axes)
            bounds = [b for at, b in enumerate(nest.bounds) if at not in axes]
            nest.before.append(Assign(own, _zeros(target.type, bounds), self.span))
            nest.body.append(Store(Index(own, kept, Scalar(inner.type.dtype)), "+", element, self.span, True))
            nest.sums.add(own.name)
            self.made.add(own.name)
            return [*out, nest] if own is target else [*out, nest, Assign(target, own, self.span)]
        total = Var(own.name, Scalar(inner.type.dtype))
        nest.before.append(Assign(total, literal(0j if is_complex(total.type) else 0.0), self.span))
        nest.body.append(Assign(total, Apply(operator.add, (total, element), total.type), self.span))
        nest.sums.add(total.name)
        if value.fn is np.mean:
            ratio = Apply(operator.truediv, (total, _product([nest.bounds[at] for at in counted])), total.type)
            return [*out, nest, Assign(target, ratio, self.span)]
        return [*out, nest] if own is target else [*out, nest, Assign(target, own, self.span)]

    def _is_along_an_axis(self, expr: Apply) -> bool:
        """Say whether this is `np.max` or the like, or a mean, along one axis."""
        if expr.fn not in REDUCTIONS or expr.fn is np.sum or len(expr.args) != 1:
            return False
        kind = expr.args[0].type
        if not isinstance(kind, Array):
            return False
        static = dict(expr.static)
        return kind.dtype == "float64" and len(kind.dims) > 1 and set(static) == {"axis"} and isinstance(
            static["axis"], int
        )  # fmt: skip

    def _mean(self, target: Var, value: Apply) -> list[Stmt | Nest]:
        """`m = np.mean(x, axis=1)`: a sum, and a division for each row."""
        total = Var(self.namer.fresh("total"), target.type)
        out = self._sum(total, Apply(np.sum, value.args, value.type, value.static))
        nest = next(item for item in out if isinstance(item, Nest) and total.name in item.sums)
        count = nest.bounds[int(dict(value.static)["axis"]) % len(nest.bounds)]
        return [*out, *self._elementwise(target, Apply(operator.truediv, (total, count), value.type))]

    def _extreme(self, target: Var, value: Apply) -> list[Stmt | Nest]:
        """`m = np.max(x, axis=1)`; of nothing there is none."""
        inner = value.args[0]
        assert isinstance(inner.type, Array) and isinstance(target.type, Array)
        operation, beginning = _EXTREMES[value.fn]
        axis = int(dict(value.static)["axis"]) % len(inner.type.dims)
        out: list[Stmt | Nest] = []
        elements = self._elements(inner.type.dims, out)
        element = elements.of(inner)
        nest = self._nest(elements)
        own = target if target.name not in reads(inner) else Var(self.namer.fresh(noun(value)), target.type)
        kept = tuple(v for at, v in enumerate(elements.index) if at != axis)
        place = Index(own, kept, Scalar("float64"))
        bounds = [b for at, b in enumerate(nest.bounds) if at != axis]
        nest.before.append(Assign(own, _allocated(np.full, target.type, bounds, literal(beginning)), self.span))
        nest.body.append(Store(place, "", Apply(operation, (place, element), place.type), self.span))
        nest.sums.add(own.name)
        self.made.add(own.name)
        if inner.type.dims[axis] == 0 or not isinstance(inner.type.dims[axis], int):
            empty = Apply(operator.eq, (nest.bounds[axis], literal(0)), Scalar("bool", weak=True))
            nest.demands.append(refused_if(empty, self.span, _NONE.format(operation.__name__)))
        return [*out, nest] if own is target else [*out, nest, Assign(target, own, self.span)]

    def _product(self, target: Var, value: Apply) -> list[Stmt | Nest]:
        """`s = A[:j, i] @ B[:j, k]`: elements that do not lie side by side, which BLAS would have copied first."""
        first, second = value.args
        assert isinstance(first.type, Array)
        if isinstance(value.type, Array):
            own = target if target.name not in reads(value) else Var(self.namer.fresh(noun(value)), target.type)
            bounds: list[Expr] = [literal(dim) for dim in value.type.dims]
            made = Assign(own, _allocated(np.empty, value.type, bounds), self.span)
            filling = self._filled_by_product(own, value)
            return [made, *filling, *([] if own is target else [Assign(target, own, self.span)])]
        out: list[Stmt | Nest] = []
        elements = self._elements(first.type.dims, out)
        elements.take_equal(first.type, second.type)
        element = elements.of(Apply(operator.mul, (first, second), Array("float64", first.type.dims, "C")))
        nest = self._nest(elements)
        total = Var(target.name, Scalar("float64"))
        nest.before.append(Assign(total, literal(0.0), self.span))
        nest.body.append(Assign(total, Apply(operator.add, (total, element), total.type), self.span))
        nest.sums.add(total.name)
        return [*out, nest]

    def _filled_by_product(self, base: Var, value: Apply) -> list[Stmt | Nest]:
        """`T[:] = A @ B` of a few numbers, for which to ask BLAS takes longer than to compute them."""
        out: list[Stmt | Nest] = []
        first, second = (self._named(part, out) if _is_new(part) else part for part in value.args)
        if any(self.apart.may_meet_now(base.name, name) for part in (first, second) for name in reads(part)):
            raise Unfit
        rows, columns = _dims(first)[:-1], _dims(second)[1:]
        elements = self._elements((*rows, *columns, _dims(second)[0]), out)
        *at, inner = elements.index
        factors = elements.at(first, (*at[: len(rows)], inner)), elements.at(second, (inner, *at[len(rows) :]))
        number = Scalar("float64")
        total, product = Var(self.namer.fresh("total"), number), Apply(operator.mul, factors, number)
        body: list[Stmt] = [Assign(total, Apply(operator.add, (total, product), number), self.span)]
        body = [Assign(total, literal(0.0), self.span), *self._counted(inner, _dims(second)[0], body)]
        body.append(Store(Index(base, tuple(at), number), "", total, self.span))
        for var, dim in reversed(list(zip(at, (*rows, *columns), strict=True))):
            body = self._counted(var, dim, body)
        return [*out, *body]

    def _counted(self, var: Expr, dim: Dim, body: list[Stmt]) -> list[Stmt]:
        if not isinstance(var, Var) or not isinstance(dim, int):
            return body
        return [For(var, literal(0), literal(dim), literal(1), tuple(body), self.span)]

    def _nest(self, elements: Elements) -> Nest:
        bounds: list[Expr] = []
        checks: list[tuple[frozenset[Dim], Expr, Expr]] = []
        for dim, known, measured in zip(elements.dims, elements.lengths, elements.measured, strict=True):
            if dim == 1:
                bounds.append(literal(1))
                continue
            met = {symbol for symbol, _ in known}
            known = known + [pair for pair in measured if pair[0] not in met]
            known = sorted(known, key=lambda pair: (_is_cut_short(pair[1]), pair[0] != dim, self._is_made(pair[1])))
            best = known[0][1] if known else None
            if best is None and isinstance(dim, int):
                best = literal(dim)
            if best is None:
                raise Unfit
            bounds.append(best)
            base = next((d for d, e in known if e is best), dim)
            for other, expr in known:
                if other != base:
                    checks.append((frozenset({other, base}), expr, best))
        return Nest(elements.dims, elements.index, bounds, checks, self.span)


    def _empty(self, kind: Array, elements: Elements, bounds: list[Expr]) -> Expr:
        for leaf in elements.leaves:
            if isinstance(leaf.type, Array) and leaf.type.dtype == kind.dtype and isinstance(leaf, Var):
                alike = kind.layout in ("A", leaf.type.layout) or len(kind.dims) == 1
                if leaf.name not in self.made - self.copies and alike:
                    return Apply(np.empty_like, (leaf,), kind)
        return _allocated(np.empty, kind, bounds)

    def _is_made(self, length: Expr) -> bool:
        """Say whether a length is asked of an array that these loops fill, and may yet do away with."""
        return any(name in self.made - self.copies for name in reads(length))


def _replaces_item(stmt: Store) -> bool:
    """Say whether an array of a list gives way to another, whose elements it does not get: `rows[k] = y`."""
    place = stmt.place
    return not stmt.op and isinstance(place, Index) and isinstance(place.base.type, ListOf)


def _summed(expr: Apply) -> tuple[Expr, frozenset[int], list[int]]:
    """Return what nested sums add up, along which of its axes, and which of them are the outermost sum's own."""
    inner = expr.args[0]
    assert isinstance(inner.type, Array)
    count = len(inner.type.dims)
    axis = dict(expr.static).get("axis")
    given = range(count) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = {a % count for a in given}
    own = sorted(axes)
    while isinstance(inner, Apply) and inner.fn is np.sum and set(dict(inner.static)) == {"axis"}:
        below = inner.args[0]
        assert isinstance(below.type, Array)
        axis = dict(inner.static)["axis"]
        lost = {a % len(below.type.dims) for a in (axis if isinstance(axis, tuple) else (axis,))}
        kept = [a for a in range(len(below.type.dims)) if a not in lost]
        axes = lost | {kept[a] for a in axes}
        own = [kept[a] for a in own]
        inner = below
    return inner, frozenset(axes), own


def _is_cut_short(length: Expr) -> bool:
    return isinstance(length, Apply) and length.fn in (min, builtins.max)


def is_small_product(expr: Expr) -> bool:
    """Say whether an expression is the product of matrices, or of a matrix and a vector, of a few numbers."""
    if not isinstance(expr, Apply) or expr.fn not in _PRODUCTS or expr.static or len(expr.args) != 2:
        return False
    if any(not isinstance(a.type, Array) or a.type.dtype != "float64" for a in expr.args):
        return False
    first, second = _dims(expr.args[0]), _dims(expr.args[1])
    lengths = [dim for dim in (*first, *second[1:]) if isinstance(dim, int) and dim > 0]
    whole = len(lengths) == len(first) + len(second) - 1 and first[-1] == second[0]
    return whole and len(first) in (1, 2) and len(second) in (1, 2) and prod(lengths) <= _FEW_TERMS


def _dims(expr: Expr) -> tuple[Dim, ...]:
    return expr.type.dims if isinstance(expr.type, Array) else ()


def _is_new(expr: Expr) -> bool:
    """Say whether an array has to be computed before its elements can be read."""
    return not isinstance(expr, Var) and view_base(expr) is None


def _is_whole(index: tuple[Expr | Slice, ...]) -> bool:
    return all(item == Slice(None, None, None) for item in index)


def _is_strided_product(expr: Apply) -> bool:
    """Say whether an expression is the product of two vectors of which one is a column or the like."""
    if expr.fn not in _PRODUCTS or expr.static or len(expr.args) != 2:
        return False
    if any(not isinstance(a.type, Array) or len(a.type.dims) != 1 or a.type.dtype != "float64" for a in expr.args):
        return False
    return any(isinstance(a, Index) and not is_advanced(a.index) and _is_strided(a) for a in expr.args)


def _is_strided(part: Index) -> bool:
    whole = isinstance(part.base.type, Array) and part.base.type.layout == "C"
    last = part.index[-1]
    behind = len(part.index) == (len(part.base.type.dims) if isinstance(part.base.type, Array) else 0)
    return whole and behind and not isinstance(last, Slice)


def _without_keepdims(expr: Apply) -> Apply:
    """Return a sum or the like with `keepdims` as one without, its axes put back."""
    inner = expr.args[0].type
    static = dict(expr.static)
    axis = static.get("axis")
    if axis is None or not isinstance(inner, Array) or not isinstance(expr.type, Array):
        return expr
    axes = sorted(a % len(inner.dims) for a in (axis if isinstance(axis, tuple) else (axis,)))
    if len(axes) == len(inner.dims) or set(static) - {"axis", "keepdims"}:
        return expr
    rest = tuple(d for k, d in enumerate(inner.dims) if k not in axes)
    made: Apply = Apply(expr.fn, expr.args, Array(expr.type.dtype, rest, "C"), (("axis", axis),))
    for at in axes:
        dims = (*made.type.dims[:at], 1, *made.type.dims[at:])  # type: ignore[union-attr]
        made = Apply(np.expand_dims, (made,), Array(expr.type.dtype, dims, "C"), (("axis", at),))
    return made


def _product(bounds: list[Expr]) -> Expr:
    result = bounds[0]
    for length in bounds[1:]:
        result = Apply(operator.mul, (result, length), Scalar("int64", weak=True))
    return result


def _zeros(kind: Type, bounds: list[Expr]) -> Expr:
    assert isinstance(kind, Array)
    return _allocated(np.zeros, kind, bounds)


def _allocated(fn: object, kind: Array, bounds: list[Expr], *others: Expr) -> Expr:
    """A slice of what is shorter than its cut has length zero, not a negative one.

    What NumPy makes in Fortran order is the transpose of an array in C order: views of it depend on that.
    """
    if kind.layout == "F" and len(bounds) > 1:
        turned = _allocated(fn, Array(kind.dtype, kind.dims[::-1], "C"), bounds[::-1], *others)
        return Apply(ops.transpose, (turned,), kind)
    sizes = tuple(
        Apply(builtins.max, (length, literal(0)), Scalar("int64", weak=True))
        if isinstance(length, Apply) and length.fn is operator.sub
        else length
        for length in bounds
    )
    whole = Array(kind.dtype, kind.dims, "C")
    static = () if kind.dtype == "float64" else (("dtype", np.dtype(kind.dtype).type),)
    if len(sizes) == 1:
        return Apply(fn, (*sizes, *others), whole, static)  # type: ignore[arg-type]
    kinds = Struct("tuple", tuple(range(len(sizes))), tuple(s.type for s in sizes))
    return Apply(fn, (Pack("tuple", sizes, kinds), *others), whole, static)  # type: ignore[arg-type]
