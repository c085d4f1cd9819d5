"""Adjoint of one expression: a cotangent is pushed from the root of the tree down to its names.

Where a partial needs the value of a subexpression, the value is recomputed from the tree; whatever
is used twice gets a name by meaning. A cotangent may have fewer dimensions than its value, if it
broadcasts to it: `np.sum(u**2)` pushes a scalar.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.analysis.activity import sources
from s2sad.analysis.squares import Squares
from s2sad.errors import NotDifferentiableError, Span
from s2sad.frontend.indexing import same_dims
from s2sad.frontend.lowerer import Contribution
from s2sad.frontend.operators import build
from s2sad.frontend.values import BarV, StaticV, StructV, V, literal, pack
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, CallStmt, Const, Expr, For, If, Index, Pack, Slice, Stmt, Store, Var
from s2sad.ir.types import Array, Dim, ListOf, Scalar, Type, is_complex, is_inexact, same_dim
from s2sad.ir.views import is_advanced, view_base
from s2sad.ir.walk import subexpressions
from s2sad.rules.registry import Constant, Elementwise, Structured
from s2sad.transform.algebra import negative, times, transposed
from s2sad.transform.naming import Namer, noun
from s2sad.transform.partials import (
    away_from_zero,
    bind_rule,
    operand_value,
    partial_texts,
    partial_uses,
    partials,
    rule_for,
    rule_parameters,
    run_adjoint,
)
from s2sad.transform.squared_lengths import as_sum, complex_number

_CHEAP = frozenset({
    operator.add, operator.sub, operator.mul, operator.neg, ops.dim, ops.size, operator.truediv,
})  # fmt: skip


class Cotangents:
    """Writes the adjoint statements of one primal statement."""

    def __init__(
        self, active: set[str], bar: Callable[[Var], Expr], namer: Namer, span: Span
    ) -> None:
        """`bar` gives the adjoint variable of a name."""
        self.active, self.bar, self.namer, self.span = active, bar, namer, span
        self.mask: Expr | None = None
        self.steep = False
        """Cotangents that have a name may be infinite."""
        self.squares: Squares | None = None
        """Which names hold sums of squares."""
        self.code: list[Stmt] = []
        self.values: dict[int, Expr] = {}

    def is_active(self, expr: Any) -> bool:
        """Say whether a derivative flows through `expr`."""
        return not isinstance(expr, Slice) and bool(sources(expr) & self.active)

    # ---- values of the primal that partials read ----

    def value(self, expr: Expr, uses: int) -> Expr:
        """Return `expr` for `uses` readings: itself when that costs nothing, else a name for it."""
        if uses == 0 or isinstance(expr, Var | Const):
            return expr
        if isinstance(expr, Pack):
            return expr
        if id(expr) in self.values:
            return self.values[id(expr)]
        if isinstance(expr, Index) and isinstance(expr.type, Scalar) and _plain_index(expr):
            return expr
        if uses == 1 and (_is_cheap(expr) or isinstance(expr, Index)):
            return expr
        name = Var(self.namer.fresh(noun(expr)), expr.type)
        self.code.append(Assign(name, self._known(expr), self.span))
        self.values[id(expr)] = name
        return name

    def _known(self, expr: Any) -> Any:
        """Use the names already given to parts of `expr`."""
        from s2sad.ir.walk import map_children

        if id(expr) in self.values:
            return self.values[id(expr)]
        return map_children(expr, self._known)

    def name(self, expr: Expr, hint: str) -> Expr:
        """Bind `expr` to a new name unless it is an atom already."""
        if isinstance(expr, Var | Const):
            return expr
        target = Var(self.namer.fresh(hint), expr.type)
        self.code.append(Assign(target, expr, self.span))
        return target

    # ---- pushing ----

    def push(self, expr: Expr, g: Expr) -> None:
        """Add the cotangent `g` of `expr` to the adjoints of the names in it."""
        if not self.is_active(expr):
            return
        outer = self.mask
        self._push(expr, self._dtype(g, expr.type))
        self.mask = outer

    def _push(self, expr: Expr, g: Expr) -> None:
        match expr:
            case Var():
                self.accumulate(expr, self.bar(expr), g)
            case Index():
                self._push_index(expr, g)
            case Apply(fn, (test, then, other)) if fn is ops.ifexp:
                self._push_ifexp(test, then, other, g)
            case Apply():
                self._push_apply(expr, g)
            case Pack():
                raise NotDifferentiableError(
                    "a list or tuple takes no derivative here", self.span, "Make it an array first."
                )
            case _:
                return

    def push_all(self, expr: Expr, g: Expr) -> None:
        """Push the cotangent of a value that a name or a result has: it is as long as the value along every axis."""
        self.push(expr, _as_long_as(expr, g))

    def push_fitted(self, expr: Expr, g: Expr, kind: Type) -> None:
        """Push the cotangent of a place of type `kind` into the value that was broadcast into it."""
        wide = kind.dims if isinstance(kind, Array) else ()
        narrow = expr.type.dims if isinstance(expr.type, Array) else ()
        if not self.is_active(expr):
            return
        if not same_dims(wide, narrow) and len(wide) >= len(narrow):
            g = self._unbroadcast(self._dtype(g, expr.type), wide, narrow, expr)
        self.push(expr, g)

    def _push_index(self, expr: Index, g: Expr) -> None:
        place = self.shadow(expr)
        if place is not None:
            self.accumulate(expr, place, g)
            return
        base = self.value(expr.base, 2)
        base_bar = Var(self.namer.fresh(f"{noun(base)}_bar"), expr.base.type)
        self.code.append(Assign(base_bar, build(np.zeros_like, base), self.span))
        self.accumulate(expr, Index(base_bar, expr.index, expr.type), g)
        self.push(expr.base, base_bar)

    def shadow(self, place: Expr) -> Expr | None:
        """Return the same view of the adjoint, or None if `place` is not a view of a name."""
        match place:
            case Var():
                return self.bar(place)
            case Index(Index(_, inside)) if is_advanced(inside):
                return None  # what index arrays select is a copy
            case Index(base, index, kind):
                inner = self.shadow(base)
                return None if inner is None else Index(inner, index, kind)
            case Apply(_, (Index(_, inside),)) if is_advanced(inside):
                return None
            case Apply(fn, (base,), kind) if fn is ops.transpose:
                inner = self.shadow(base)
                return None if inner is None else Apply(ops.transpose, (inner,), kind)
            case _:
                return None

    def _push_ifexp(self, test: Expr, then: Expr, other: Expr, g: Expr) -> None:
        g = self.name(g, "chosen_bar")
        outer = self.code
        blocks: list[tuple[Stmt, ...]] = []
        for side in (then, other):
            self.code, saved = [], dict(self.values)
            self.push(side, g)
            blocks.append(tuple(self.code))
            self.values = saved
        self.code = outer
        if any(blocks):
            body, orelse = blocks
            if not body:
                from s2sad.frontend.operators import negate

                test, body, orelse = negate(test), orelse, ()
            self.code.append(If(test, body, orelse, self.span))

    def _push_apply(self, expr: Apply, g: Expr) -> None:
        if expr.fn is np.where and len(expr.args) == 3 and isinstance(expr.type, Array):
            self._push_where(expr, g)
            return
        if isinstance(expr.args[0].type, ListOf) and expr.fn in (np.array, np.stack, np.concatenate):
            self._push_gathered(expr, g)
            return
        if expr.fn is ops.transpose:
            if id(expr) in self.values:  # what was transposed is what there is, transposed
                self.values.setdefault(id(expr.args[0]), transposed(self.values[id(expr)]))
            g = self._masked(g)
            self.push(expr.args[0], _turned(g, expr) if isinstance(g.type, Array) else g)
            return
        if expr.fn is np.trace and not expr.static and _is_square_product(expr.args[0]):
            self._push_trace_of_product(expr.args[0], g)
            return
        rule = rule_for(expr, self.span)
        match rule:
            case Elementwise():
                self._push_elementwise(rule, expr, g)
            case Structured():
                self._push_structured(rule, expr, g)
            case Constant():
                return

    def _push_trace_of_product(self, product: Any, g: Expr) -> None:
        """The trace of `a @ b` is the sum of `a * b.T`: no product, and no identity, is needed for its adjoint."""
        a, b = product.args
        g = self.name(self._masked(g), "trace_bar")
        a_part = times(g, build(ops.transpose, self.value(b, 1))) if self.is_active(a) else None
        b_part = times(g, build(ops.transpose, self.value(a, 1))) if self.is_active(b) else None
        for arg, part in ((a, a_part), (b, b_part)):
            if part is not None:
                self.push(arg, self._dtype(part, arg.type))

    def _push_where(self, expr: Apply, g: Expr) -> None:
        """Each side takes the cotangent where it was chosen, and exactly nothing elsewhere.

        The mask is applied last, so that an infinite partial on the side not taken gives no NaN.
        """
        test, then, other = expr.args
        g = self.name(self._full(g, expr), "where_bar")
        chosen = self.name(test, "chosen")
        outer = self.mask
        for side, mask in ((then, chosen), (other, build(np.logical_not, chosen))):
            if self.is_active(side):
                self.mask = mask if outer is None else build(np.logical_and, outer, mask)
                self.push(side, self._fit(g, expr, side))
                self.mask = outer

    def _masked(self, g: Expr) -> Expr:
        """Apply the mask of the `where` around, once."""
        if self.mask is None:
            return g
        mask, self.mask = self.mask, None
        dtype = g.type.dtype if isinstance(g.type, Array | Scalar) else "float64"
        zero_ = np.dtype(dtype).type(0) if dtype != "float64" else 0.0
        return build(np.where, mask, g, literal(zero_))

    def _push_gathered(self, expr: Apply, g: Expr) -> None:
        """`np.array`, `np.stack` or `np.concatenate` of a growing list: each item takes its own part."""
        items = expr.args[0]
        assert isinstance(items, Var)
        assert isinstance(items.type, ListOf)
        assert items.type.item is not None
        axis = dict(expr.static).get("axis", 0)
        if axis != 0 and expr.fn is not np.concatenate:
            raise NotDifferentiableError("only axis 0 of a stacked list is supported", self.span)
        bar = self.bar(items)
        full = self.name(self._masked(self._full(g, expr)), f"{noun(expr)}_bar")
        k = Var(self.namer.fresh("k"), Scalar("int64", True))
        part = Index(full, (k,), items.type.item)
        step: tuple[Stmt, ...] = ()
        if expr.fn is np.concatenate:
            start = Var(self.namer.fresh("start"), Scalar("int64", True))
            size = build(ops.dim, Index(items, (k,), items.type.item), literal(axis))
            end = build(operator.add, start, size)
            part = Index(full, (*[Slice(None, None, None)] * axis, Slice(start, end, None)), items.type.item)
            self.code.append(Assign(start, literal(0), self.span))
            step = (Assign(start, end, self.span),)
        add = Store(Index(bar, (k,), items.type.item), "+", part, self.span, accumulate=True)
        length = Apply(ops.length, (items,), Scalar("int64", True))
        self.code.append(For(k, literal(0), length, literal(1), (add, *step), self.span))

    def _push_elementwise(self, rule: Elementwise, expr: Apply, g: Expr) -> None:
        if any(is_complex(a.type) for a in expr.args) and rule.complex_partials is None:
            name = getattr(expr.fn, "__name__", str(expr.fn))
            raise NotDifferentiableError(f"`{name}` has no derivative for complex numbers here", self.span)
        if (squares := as_sum(expr)) is not None:
            self.push(squares, g)
            return
        if (z := complex_number(expr)) is not None and self.is_active(z):
            self.push(z, times(times(literal(2.0), g), build(np.conj, self.value(z, 1))))
            return
        wanted = [
            i for i, arg in enumerate(expr.args)
            if self.is_active(arg) and i < len(rule.partials) and partial_texts(rule, expr.args)[i] != "0"
        ]  # fmt: skip
        if not wanted:
            return
        counts = partial_uses(rule, expr.args, wanted)
        args = tuple(
            self.value(arg, counts.get(name, 0))
            for name, arg in zip(rule.args, expr.args, strict=False)
        )
        result = self.value(expr, 2) if counts.get("y", 0) else None
        if self.squares is not None and self.squares.is_length(expr):
            args, result = away_from_zero(expr, args, result, self.name)
        parts = partials(rule, expr, args, result, self.span, wanted)
        if len(wanted) > 1:
            if _divides_alike(expr):
                hint = "share" if isinstance(expr.args[0], Var | Index) else f"{noun(expr.args[0])}_bar"
                g = self.name(build(operator.truediv, g, args[1]), hint)
                parts = {0: literal(1.0), 1: negative(result or self.value(expr, 2))}
            elif not _is_place(g):
                g = self.name(g, f"{noun(expr)}_bar")
        if (expr.fn in _EXTREMES and len(expr.args) == 2) or (expr.fn is np.clip and len(expr.args) == 3):
            if self._may_be_infinite(g):
                self._push_chosen(expr, g, parts)
                return
        twins = _without_twin(expr, wanted)
        for i in twins:
            arg = expr.args[i]
            outer = self.mask
            if len(twins) < len(wanted):  # x * x
                parts[i] = times(literal(2.0), parts[i])
            contribution = self._fit(times(g, parts[i]), expr, arg)
            if len(wanted) > 1 and _is_cheap(arg) and not isinstance(arg, Var | Index):
                contribution = self._shared(arg, contribution)
            self.push(arg, contribution)
            self.mask = outer

    def _may_be_infinite(self, g: Expr) -> bool:
        """Say whether a cotangent divides, `0.5 / sqrt(y)` where y is zero, or comes from where one may."""
        parts = list(subexpressions(g))
        divides = any(isinstance(part, Apply) and part.fn in _DIVISIONS for part in parts)
        return divides or (self.steep and any(isinstance(part, Var) for part in parts))

    def _push_chosen(self, expr: Apply, g: Expr, parts: dict[int, Expr]) -> None:
        """What `max`, `min` and `clip` did not choose takes exactly nothing, also of an infinite cotangent."""
        for i, part in parts.items():
            arg, won = expr.args[i], self._was_chosen(expr, i)
            outer_code, outer_mask = self.code, self.mask
            if isinstance(expr.type, Scalar):
                self.code, saved = [], dict(self.values)
                self.push(arg, self._fit(times(g, part), expr, arg))
                block, self.code, self.values = tuple(self.code), outer_code, saved
                self.code.append(If(won, block, (), self.span))
            else:
                won = self.name(won, "won")
                self.mask = won if outer_mask is None else build(np.logical_and, outer_mask, won)
                self.push(arg, self._fit(times(g, part), expr, arg))
                self.mask = outer_mask

    def _was_chosen(self, expr: Apply, i: int) -> Expr:
        """Return whether operand `i` of `max`, `min` or `clip` is the result, or as good as it."""
        own = self.value(expr.args[i], 2)
        if expr.fn is not np.clip:
            better = operator.ge if expr.fn in _LARGEST else operator.le
            return build(better, own, self.value(expr.args[1 - i], 2))
        x, low, high = (self.value(arg, 2) for arg in expr.args)
        if i:
            return build(operator.ge, low, x) if i == 1 else build(operator.ge, x, high)
        both = ops.both if isinstance(expr.type, Scalar) else np.logical_and
        return build(both, build(operator.ge, x, low), build(operator.ge, high, x))

    def _shared(self, arg: Expr, g: Expr) -> Expr:
        """Name a cotangent that the operand below will read more than once."""
        active = [a for a in subexpressions(arg) if isinstance(a, Var | Index) and self.is_active(a)]
        if len(active) > 1 and not _is_place(g) and not isinstance(g, Var | Const):
            return self.name(g, f"{noun(arg)}_bar")
        return g

    def _fit(self, g: Expr, result_expr: Expr, arg: Expr) -> Expr:
        """Sum a cotangent over the axes along which the operand was broadcast to the result."""
        result = result_expr.type
        wide = result.dims if isinstance(result, Array) else ()
        narrow = arg.type.dims if isinstance(arg.type, Array) else ()
        if same_dims(wide, narrow):
            return self._dtype(g, arg.type)
        g = self._masked(g)
        if not isinstance(g.type, Array) or not same_dims(g.type.dims, wide):
            spread = self._materialise(g, wide, result_expr)
            count = None if narrow else self._count_of(spread)
            if count is not None:
                return self._dtype(build(operator.mul, g, count), arg.type)
            g = spread
        return self._unbroadcast(self._dtype(g, arg.type), wide, narrow, arg)

    def _materialise(self, g: Expr, dims: tuple[Dim, ...], result: Expr) -> Expr:
        """A cotangent that must be summed or multiplied is first spread to the full shape."""
        like = self.shape_source(dims, result.type)
        if like is not None:
            if isinstance(g.type, Array):
                return build(operator.add, build(np.zeros_like, like), g)
            return build(np.full_like, like, g)
        sizes = [literal(d) if isinstance(d, int) else self.dim_source(d) for d in dims]
        if all(size is not None for size in sizes):
            known = [size for size in sizes if size is not None]
            shape = known[0] if len(known) == 1 else pack("tuple", known)
            dtype = result.type.dtype if isinstance(result.type, Array | Scalar) else "float64"
            static = {} if dtype == "float64" else {"dtype": np.dtype(dtype).type}
            if isinstance(g.type, Array):
                return build(operator.add, build(np.zeros, shape, **static), g)
            return build(np.full, shape, g, **static)
        like = self.value(result, 2)
        if isinstance(g.type, Array):
            return build(operator.add, build(np.zeros_like, like), g)
        return build(np.full_like, like, g)

    @staticmethod
    def _count_of(spread: Expr) -> Expr | None:
        """Return how many elements a number was spread to: their sum is a product."""
        if not isinstance(spread, Apply) or not isinstance(spread.type, Array) or spread.type.dtype != "float64":
            return None
        if spread.fn is np.full_like:
            return build(ops.size, spread.args[0])
        if spread.fn is not np.full:
            return None
        shape = spread.args[0]
        sizes = shape.items if isinstance(shape, Pack) else (shape,)
        count = sizes[0]
        for size in sizes[1:]:
            count = build(operator.mul, count, size)
        return count

    shape_source: Callable[[tuple[Dim, ...], Type], Expr | None] = staticmethod(lambda dims, like: None)
    dim_source: Callable[[Dim], Expr | None] = staticmethod(lambda dim: None)

    def _unbroadcast(self, g: Expr, wide: tuple[Dim, ...], narrow: tuple[Dim, ...], arg: Expr) -> Expr:
        if not narrow:
            return _summed_inside(g, frozenset(range(len(wide))), 0, lambda inner: build(np.sum, inner))
        lead = len(wide) - len(narrow)
        ones = tuple(
            lead + i for i, (w, n) in enumerate(zip(wide[lead:], narrow, strict=True)) if n == 1 and w != 1
        )
        known = all(
            n == 1 or same_dim(w, n)
            for w, n in zip(wide[lead:], narrow, strict=True)
        )
        if not known:
            g = g if view_base(g) is None else build(np.copy, g)  # the place may be cleared before the sum is read
            return Apply(ops.unbroadcast, (g, self.value(arg, 1)), _summed(g.type, arg.type))

        def over_axes(inner: Expr) -> Expr:
            if ones:
                inner = build(np.sum, inner, axis=ones[0] if len(ones) == 1 else ones, keepdims=True)
            if lead:
                inner = build(np.sum, inner, axis=0 if lead == 1 else tuple(range(lead)))
            return inner

        return _summed_inside(g, frozenset((*range(lead), *ones)), len(narrow), over_axes)

    def _dtype(self, g: Expr, kind: Type) -> Expr:
        """A real operand of a complex operation takes the real part."""
        if is_complex(g.type) and is_inexact(kind) and not is_complex(kind):
            return build(np.real, g)
        return g

    def _push_structured(self, rule: Structured, expr: Apply, g: Expr) -> None:
        names = rule_parameters(rule.adjoint)
        at = names.index("y")
        operands, bars = names[:at], names[at + 2 :]
        env: dict[str, Any] = {}
        used = _content_uses(rule)
        for name, arg in zip(operands, expr.args, strict=False):
            count = used.get(name, 0)
            env[name] = operand_value(self.value(arg, count) if count or not isinstance(arg, Pack) else arg)
        if used.get("y", 0):
            env["y"] = V(self.value(expr, 2))
        else:
            env["y"] = V(expr)
        full = self._masked(self._full(g, expr))
        shared = used.get("y_bar", 0) > 1 and not _is_place(full)
        env["y_bar"] = V(self.name(full, f"{noun(expr)}_bar") if shared else full)
        for name, arg in zip(operands, expr.args, strict=False):
            if f"{name}_bar" in bars:
                env[f"{name}_bar"] = _bar_value(arg, ())
        self._run_adjoint(rule, expr, env)

    def push_results(self, call: CallStmt, bars: tuple[Expr | None, ...]) -> None:
        """Push the cotangents of a library function with several results; None where there is none."""
        expr = Apply(call.fn, call.args, call.targets[0].type, call.static)  # type: ignore[arg-type]
        rule = rule_for(expr, self.span)
        assert isinstance(rule, Structured)
        operands = rule_parameters(rule.adjoint)
        env: dict[str, Any] = {}
        for name, arg in zip(operands, call.args, strict=False):
            env[name] = operand_value(self.value(arg, 2))
            env[f"{name}_bar"] = _bar_value(arg, ())
        places = tuple(range(len(bars)))
        env["y"] = StructV("tuple", places, tuple(V(target) for target in call.targets))
        env["y_bar"] = StructV("tuple", places, tuple(StaticV(None) if bar is None else V(bar) for bar in bars))
        self._run_adjoint(rule, expr, env)

    def _run_adjoint(self, rule: Structured, expr: Apply, env: dict[str, Any]) -> None:
        """Write the statements of a structured rule, pushing what it adds to the bars in `env`."""
        names = rule_parameters(rule.adjoint)
        for name in names[names.index("y") + 2 :]:
            env.setdefault(name, BarV(None))
        env = {name: value for name, value in env.items() if name in names}
        env = bind_rule(rule.adjoint, expr, env, self.span)
        for item in run_adjoint(rule, env, self.namer, self.span):
            if isinstance(item, Contribution):
                self._contribute(item)
            else:
                self.code.append(item)

    def _full(self, g: Expr, result: Expr) -> Expr:
        """A structured rule sees a cotangent of the result's full shape."""
        kind = result.type
        if not isinstance(kind, Array):
            return g
        if isinstance(g.type, Array) and same_dims(g.type.dims, kind.dims):
            return g
        return self._materialise(g, kind.dims, result)

    def _contribute(self, item: Contribution) -> None:
        """Push what a structured rule adds to one of its bars."""
        arg, index, value = item.slot, item.index, item.value
        if arg is None or not self.is_active(arg):
            return
        if index is None:
            part = _as_long_as(arg, value) if _is_cut_out(value) else value
            self.push(arg, self._dtype(part, arg.type))
            return
        place = self.shadow(arg)
        if place is not None and not (isinstance(place, Index) and is_advanced(place.index)):  # of a copy none is
            self._add(Index(place, index, value.type), value)
            return
        base = self.value(arg, 2)
        part = Var(self.namer.fresh(f"{noun(arg)}_bar"), arg.type)
        self.code.append(Assign(part, build(np.zeros_like, base), self.span))
        self._add(Index(part, index, value.type), value)
        self.push(arg, part)

    # ---- accumulating ----

    def accumulate(self, target: Expr, place: Expr, g: Expr) -> None:
        """Add `g` to the adjoint at `place`, which belongs to the primal `target`."""
        g = self._masked(g)
        kind = target.type
        wide = g.type.dims if isinstance(g.type, Array) else ()
        narrow = kind.dims if isinstance(kind, Array) else ()
        if len(wide) > len(narrow):
            g = self._unbroadcast(self._dtype(g, kind), wide, narrow, target)
        self._add(place, self._dtype(g, kind))

    def _add(self, place: Expr, g: Expr) -> None:
        op = "+"
        positive = negative(g)
        if _simpler(positive, g):
            op, g = "-", positive
        if isinstance(place, Var) and isinstance(place.type, Scalar):
            fn = operator.add if op == "+" else operator.sub
            self.code.append(Assign(place, build(fn, place, g), self.span))
        else:
            self.code.append(Store(place, op, g, self.span, accumulate=True))


def _without_twin(expr: Apply, wanted: list[int]) -> list[int]:
    """Leave out an operand that stands twice with the same partial: `x * x` pushes `2 * x` once."""
    if len(wanted) == 2 and expr.fn in (operator.mul, np.multiply) and expr.args[0] == expr.args[1]:
        return wanted[:1]
    return wanted


def _divides_alike(expr: Apply) -> bool:
    """Say whether an expression divides real numbers one by one: both cotangents take the same quotient then."""
    if expr.fn not in (operator.truediv, np.divide) or any(is_complex(arg.type) for arg in expr.args):
        return False
    dims, by = ((kind.dims if isinstance(kind, Array) else ()) for kind in (expr.type, expr.args[1].type))
    return same_dims(dims, by)


def _simpler(a: Expr, b: Expr) -> bool:
    """Say whether `-= a` reads better than `+= b`."""
    if isinstance(b, Apply) and b.fn in (operator.neg, np.negative):
        return True
    return (
        isinstance(b, Apply) and b.fn is operator.mul and isinstance(b.args[0], Const)
        and isinstance(b.args[0].value, float | int) and b.args[0].value < 0
    )  # fmt: skip


_LARGEST: frozenset[Any] = frozenset({max, np.maximum, np.fmax})
_EXTREMES: frozenset[Any] = _LARGEST | {min, np.minimum, np.fmin}
_DIVISIONS: frozenset[Any] = frozenset({operator.truediv, np.divide, operator.pow, np.power, pow})


def _summed(g: Type, arg: Type) -> Type:
    """Return the type of a cotangent summed to the shape of `arg`: a sum of integers is one of integers.

    The cotangent of `x * k` is `k` where that of the product is 1, and an adjoint made of it would cut what
    is written into it later.
    """
    return replace(arg, dtype=g.dtype) if isinstance(arg, Array) and isinstance(g, Array) else arg


def _summed_inside(g: Expr, axes: frozenset[int], most: int, summed: Callable[[Expr], Expr]) -> Expr:
    """Sum a cotangent over `axes`; factors that are the same along them, of at most `most` axes, stay outside."""
    match g:
        case Apply(fn, (inner,)) if fn in (operator.neg, np.negative):
            return build(operator.neg, _summed_inside(inner, axes, most, summed))
        case Apply(fn, (inner, by)) if fn in (operator.truediv, np.divide) and _is_same_along(by, g, axes, most):
            if _has_shape_of(inner, g):
                return build(operator.truediv, _summed_inside(inner, axes, most, summed), by)
        case Apply(fn, (first, second)) if fn in (operator.mul, np.multiply):
            if _is_same_along(first, g, axes, most) and _has_shape_of(second, g):
                return build(operator.mul, first, _summed_inside(second, axes, most, summed))
            if _is_same_along(second, g, axes, most) and _has_shape_of(first, g):
                return build(operator.mul, _summed_inside(first, axes, most, summed), second)
        case _:
            pass
    return summed(g)


def _has_shape_of(expr: Expr, g: Expr) -> bool:
    return isinstance(expr.type, Array) and isinstance(g.type, Array) and expr.type.dims == g.type.dims


def _is_same_along(factor: Expr, g: Expr, axes: frozenset[int], most: int) -> bool:
    """Say whether a factor of `g` is one number, or an array of at most `most` axes that none of `axes` moves."""
    if not isinstance(factor.type, Array):
        return True
    assert isinstance(g.type, Array)
    count = len(factor.type.dims)
    before = len(g.type.dims) - count
    return count <= most and not any(
        axis >= before and factor.type.dims[axis - before] != 1 for axis in axes
    )  # fmt: skip


def _bar_value(arg: Expr, path: tuple[int, ...]) -> Any:
    if isinstance(arg, Pack):
        parts = tuple(_bar_value(item, (*path, i)) for i, item in enumerate(arg.items))
        return StructV(arg.kind, tuple(range(len(parts))), parts)
    if isinstance(arg, Const):
        return BarV(None)
    return BarV(arg)


def _turned(g: Expr, result: Expr) -> Expr:
    """Return the cotangent of what was transposed: what was spread along its first axes is along its last ones then."""
    assert isinstance(g.type, Array) and isinstance(result.type, Array)
    missing = len(result.type.dims) - len(g.type.dims)
    turned = transposed(g) if len(g.type.dims) > 1 else g
    for _ in range(missing):
        turned = build(np.expand_dims, turned, axis=-1)
    return turned


def _as_long_as(expr: Expr, g: Expr) -> Expr:
    """Return a cotangent that has the lengths of its value, whatever their names are."""
    kind, own = expr.type, g.type
    if isinstance(g, Var | Index) and isinstance(kind, Array) and isinstance(own, Array):
        if len(own.dims) == len(kind.dims) and own.dims != kind.dims:
            return replace(g, type=replace(own, dims=kind.dims))
    return g


def _is_cut_out(g: Expr) -> bool:
    """Say whether a rule gives an operand its slice of the cotangent of all of them."""
    return isinstance(g, Index) and any(isinstance(item, Slice) for item in g.index) and all(
        isinstance(item, Slice) or isinstance(item.type, Scalar) for item in g.index
    )  # fmt: skip


def _is_place(expr: Expr) -> bool:
    """Say whether reading `expr` again costs nothing."""
    if isinstance(expr, Var | Const):
        return True
    return isinstance(expr, Index) and _plain_index(expr) and isinstance(expr.type, Scalar)


def _plain_index(expr: Index) -> bool:
    if not isinstance(expr.base, Var):
        return False
    return all(
        isinstance(i, Var | Const)
        or (
            isinstance(i, Apply)
            and i.fn in (operator.add, operator.sub)
            and all(isinstance(a, Var | Const) for a in i.args)
        )
        for i in expr.index
    )  # fmt: skip


def _is_square_product(expr: Expr) -> bool:
    """Say whether this is `a @ b` of two real matrices, as many rows as columns."""
    return (
        isinstance(expr, Apply)
        and expr.fn in (operator.matmul, np.matmul, np.dot)
        and all(isinstance(a.type, Array) and len(a.type.dims) == 2 and not is_complex(a.type) for a in expr.args)
        and isinstance(expr.type, Array)
        and expr.type.dims[0] == expr.type.dims[1]
    )


def _is_cheap(expr: Expr) -> bool:
    """Say whether recomputing `expr` costs at most a few arithmetic operations."""
    match expr:
        case Var() | Const():
            return True
        case Index(base, index):
            return _is_cheap(base) and all(isinstance(i, Slice) or _is_cheap(i) for i in index)
        case Apply(fn, args):
            return fn in _CHEAP and all(_is_cheap(a) for a in args)
        case _:
            return False


_USES: dict[int, dict[str, int]] = {}
_SHAPE_ATTRIBUTES = frozenset({"shape", "size", "ndim", "dtype"})
_SHAPE_CALLS = frozenset({"zeros_like", "empty_like", "ones_like", "full_like", "shape", "size", "ndim", "len"})


def _content_uses(rule: Structured) -> dict[str, int]:
    """Count how often an adjoint reads the content of each parameter, shapes aside."""
    if id(rule) not in _USES:
        import gast

        from s2sad.frontend.source import source_of

        counts: dict[str, int] = {}

        def walk(node: Any) -> None:
            if isinstance(node, gast.Attribute) and node.attr in _SHAPE_ATTRIBUTES:
                return
            if isinstance(node, gast.Call):
                fn = node.func
                name = fn.attr if isinstance(fn, gast.Attribute) else getattr(fn, "id", "")
                if name in _SHAPE_CALLS:
                    for arg in node.args[1:]:
                        walk(arg)
                    return
            if isinstance(node, gast.Name) and isinstance(node.ctx, gast.Load):
                counts[node.id] = counts.get(node.id, 0) + 1
            for child in gast.iter_child_nodes(node):
                walk(child)

        for stmt in source_of(rule.adjoint).node.body:
            walk(stmt)
        _USES[id(rule)] = counts
    return _USES[id(rule)]


__all__ = ["Cotangents", "ListOf", "StaticV", "literal"]
