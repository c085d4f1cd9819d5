"""The tangent of a function: every statement is preceded or followed by its own derivative.

Names carry `x_dot` beside `x`; arrays carry a shadow with the same aliasing, because every view and
every in-place write is done to the shadow too. Control flow stays as it is.
Source: Griewank and Walther, *Evaluating Derivatives*, 2nd edition, section 3.1.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.analysis.activity import edges, reach, sources
from s2sad.analysis.alias import view_base
from s2sad.analysis.facts import Facts
from s2sad.analysis.squares import Squares
from s2sad.errors import NotDifferentiableError, Span
from s2sad.frontend.indexing import same_dims
from s2sad.frontend.operators import BY_SYMBOL, build
from s2sad.frontend.values import StructV, V, ZeroV, literal
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assign,
    CallStmt,
    Const,
    Effect,
    Expr,
    For,
    Function,
    If,
    Index,
    Pack,
    Param,
    Return,
    Slice,
    Stmt,
    Store,
    Swap,
    Var,
    While,
)
from s2sad.ir.types import Array, ListOf, Scalar, is_complex, is_inexact
from s2sad.ir.views import VIEWS, is_item
from s2sad.ir.walk import names_in, reads, root_of
from s2sad.rules.registry import Constant, Elementwise, Structured
from s2sad.runtime.lists import add_lists
from s2sad.transform.adjoint_statements import refuse_nested_list
from s2sad.transform.algebra import plus, times, zero, zero_list
from s2sad.transform.branches import with_branches
from s2sad.transform.cotangents import Cotangents
from s2sad.transform.naming import Namer
from s2sad.transform.partials import (
    away_from_zero,
    bind_rule,
    operand_value,
    partial_texts,
    partial_uses,
    partials,
    rule_for,
    rule_parameters,
    run_tangent,
)
from s2sad.transform.prepare import without_scalar_stores
from s2sad.transform.squared_lengths import as_sum, complex_number

CalleeTangent = Callable[[str, tuple[bool, ...]], str]


def tangent(
    fn: Function, name: str, wrt: tuple[int, ...], facts: Facts, callee_tangent: CalleeTangent
) -> Function:
    """Return `f_jvp(*params, *dots) -> (*results, *result_dots)` for the parameters at `wrt`."""
    fn = without_scalar_stores(fn)
    fn = with_branches(fn, _Tangent(fn, wrt, facts, callee_tangent).varied)
    return _Tangent(fn, wrt, facts, callee_tangent).run(name)


class _Tangent:
    def __init__(self, fn: Function, wrt: tuple[int, ...], facts: Facts, callee_tangent: CalleeTangent) -> None:
        self.fn, self.wrt, self.facts, self.callee_tangent = fn, wrt, facts, callee_tangent
        self.squares = Squares(fn, facts.functions)
        self.namer = Namer({p.name for p in fn.params} | names_in(fn.body))
        inputs = {fn.params[i].name for i in wrt}
        self.varied = reach(inputs, edges(fn.body, facts.flow))
        self.dots: dict[str, str] = {}
        for param in fn.params:
            if param.name in self.varied:
                self.dot(Var(param.name, param.type))

    def dot(self, name: Var) -> Var:
        """Return the tangent variable of a name."""
        if name.name not in self.dots:
            self.dots[name.name] = self.namer.fresh(f"{name.name}_dot")
        kind = name.type
        if isinstance(kind, Scalar):
            kind = Scalar(kind.dtype, kind.weak)
        return Var(self.dots[name.name], kind)

    def run(self, name: str) -> Function:
        fn = self.fn
        given = {fn.params[i].name for i in self.wrt}
        dots = [self.dot(Var(fn.params[i].name, fn.params[i].type)) for i in self.wrt]
        start: list[Stmt] = []
        for param in fn.params:
            if param.name in self.varied and param.name not in given:
                var = Var(param.name, param.type)
                value = build(np.zeros_like, var) if isinstance(param.type, Array) else zero(param.type)
                start.append(Assign(self.dot(var), value, fn.span))
        body = (*start, *self._block(fn.body))
        params = (*fn.params, *(Param(d.name, d.type) for d in dots))
        results = (*fn.results, *(k for k in fn.results if is_inexact(k)))
        return Function(name, params, body, results, f"Value and tangent of `{fn.name}`.", fn.span)

    def _block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for stmt in body:
            result.extend(self._stmt(stmt))
        return tuple(result)

    def _stmt(self, stmt: Stmt) -> list[Stmt]:
        match stmt:
            case Assign(target) if target.name in self.varied:
                return self._assign(stmt)
            case Assign(_, Apply(fn, (Var() as items,))) if fn is ops.pop and items.name in self.varied:
                return [Effect(replace(stmt.value, args=(self.dot(items),)), stmt.span), stmt]  # type: ignore[type-var]
            case Store(place):
                root = root_of(place)
                varied = root is not None and root.name in self.varied and is_inexact(place.type)
                return self._store(stmt) if varied else [stmt]
            case Append(target):
                return self._append(stmt) if target.name in self.varied else [stmt]
            case Effect(Apply(fn, (Var() as items,))) if fn is ops.pop and items.name in self.varied:
                popped = Apply(ops.pop, (self.dot(items),), stmt.value.type)
                return [Effect(popped, stmt.span), stmt]
            case Swap(first, second):
                if first.name in self.varied:
                    return [stmt, Swap(self.dot(first), self.dot(second), stmt.span)]
                return [stmt]
            case CallStmt():
                return self._call(stmt)
            case If():
                return [replace(stmt, body=self._block(stmt.body), orelse=self._block(stmt.orelse))]
            case For() | While():
                return [replace(stmt, body=self._block(stmt.body))]
            case Return():
                return self._return(stmt)
            case _:
                return [stmt]

    def _writer(self, span: Span) -> _Expression:
        return _Expression(self, span)

    def _assign(self, stmt: Assign) -> list[Stmt]:
        target, value = stmt.target, stmt.value
        ex = self._writer(stmt.span)
        dot = self.dot(target)
        if isinstance(value, Apply) and value.fn is ops.new_list:
            return [stmt, Assign(dot, Apply(ops.new_list, (), target.type), stmt.span)]
        if isinstance(value, Apply) and value.fn is ops.pop:
            items = value.args[0]
            if not isinstance(items, Var) or items.name not in self.varied:  # a list of constants has no tangents
                return [stmt, Assign(dot, _zeros(target), stmt.span)]
            popped = Apply(ops.pop, (self.dot(items),), target.type)
            return [Assign(dot, popped, stmt.span), stmt]
        self_reading = target.name in reads(value)
        if not self_reading:
            ex.values[id(value)] = target
        result = ex.tangent(value)
        if result is None:
            return [stmt, Assign(dot, _zeros(target), stmt.span)]
        ex.values.pop(id(value), None) if self_reading else None
        if self_reading:
            result = _own(ex.full(result, value), value)
            return [*ex.code, Assign(dot, result, stmt.span), replace(stmt, value=ex.known(value))]
        result = _own(ex.full(result, value), value)
        first, rest = _before(ex.code, target.name)
        ex.values.pop(id(value), None)
        return [*first, replace(stmt, value=ex.known(value)), *rest, Assign(dot, result, stmt.span)]

    def _store(self, stmt: Store) -> list[Stmt]:
        ex = self._writer(stmt.span)
        place = ex.shadow(stmt.place)
        if stmt.op in ("+", "-"):
            result = ex.tangent(stmt.value)
            if result is None:
                return [stmt]
            known = replace(stmt, value=ex.known(stmt.value))
            return [*ex.code, Store(place, stmt.op, result, stmt.span, stmt.accumulate), known]
        value = stmt.value if not stmt.op else build(BY_SYMBOL[stmt.op], stmt.place, stmt.value)
        result = ex.tangent(value)
        known = replace(stmt, value=ex.known(stmt.value))
        into = _inside(place) if stmt.op else _whole(place)
        if not stmt.op and is_item(place):
            result = (
                build(np.zeros_like, known.value) if result is None else _own(ex.full(result, stmt.value), stmt.value)
            )
        return [*ex.code, Store(into, "", result or zero(stmt.place.type), stmt.span), known]

    def _append(self, stmt: Append) -> list[Stmt]:
        ex = self._writer(stmt.span)
        result = ex.tangent(stmt.value)
        if result is None and isinstance(stmt.value.type, ListOf):
            result = _zeros(stmt.value) if isinstance(stmt.value, Var) else None
        if result is None:
            refuse_nested_list(stmt)
            result = build(np.zeros_like, stmt.value) if isinstance(stmt.value.type, Array) else zero(stmt.value.type)
        else:
            result = ex.full(result, stmt.value)
            if isinstance(result.type, Scalar) and is_complex(stmt.value.type) and not is_complex(result.type):
                result = Apply(complex, (result,), Scalar("complex128", weak=True))  # the items of a list are alike
        return [
            *ex.code, Append(self.dot(stmt.list), _own(result, stmt.value), stmt.span),
            replace(stmt, value=ex.known(stmt.value)),
        ]  # fmt: skip

    def _call(self, stmt: CallStmt) -> list[Stmt]:
        on = tuple(is_inexact(a.type) and bool(sources(a) & self.varied) for a in stmt.args)
        if not any(on):
            return [stmt, *self._zero_targets(stmt)]
        if stmt.fn is not None:
            return self._library(stmt)
        name = self.callee_tangent(stmt.callee, on)
        ex = self._writer(stmt.span)
        dots: list[Expr] = []
        for arg, active in zip(stmt.args, on, strict=True):
            if active:
                result = ex.tangent(arg)
                assert result is not None
                dots.append(ex.full(result, arg))
        targets = list(stmt.targets)
        dot_targets: list[Var] = []
        for t in stmt.targets:
            if is_inexact(t.type):
                unused = Var(self.namer.fresh(f"{t.name}_dot"), t.type) if t.name not in self.varied else None
                dot_targets.append(self.dot(t) if unused is None else unused)
        return [*ex.code, CallStmt((*targets, *dot_targets), name, (*stmt.args, *dots), stmt.span)]

    def _library(self, stmt: CallStmt) -> list[Stmt]:
        """The tangents of a library function with several results follow it: they read them."""
        ex = self._writer(stmt.span)
        results, after = ex.results(stmt)
        dots = [self.dot(t) for t in stmt.targets if is_inexact(t.type)]
        bindings = [Assign(dot, result, stmt.span) for dot, result in zip(dots, results, strict=True)]
        return [*ex.code, stmt, *after, *bindings]

    def _zero_targets(self, stmt: CallStmt) -> list[Stmt]:
        zeros: list[Stmt] = []
        for t in stmt.targets:
            if t.name in self.varied:
                zeros.append(Assign(self.dot(t), _zeros(t), stmt.span))
        return zeros

    def _return(self, stmt: Return) -> list[Stmt]:
        ex = self._writer(stmt.span)
        dots: list[Expr] = []
        for value, kind in zip(stmt.values, self.fn.results, strict=True):
            if not is_inexact(kind):  # what is promised: a float may be returned as the integer that it is
                continue
            result = ex.tangent(value)
            if result is None:
                name = ex.value(value, 2) if isinstance(value.type, Array) else value
                dots.append(build(np.zeros_like, name) if isinstance(value.type, Array) else zero(kind))
            else:
                dots.append(_own(ex.full(result, value), value))
        values = tuple(ex.known(v) for v in stmt.values)
        return [*ex.code, replace(stmt, values=(*values, *dots))]


def _zeros(name: Var) -> Expr:
    """Return zeros like the value of a name: a number, an array, a list of either."""
    if isinstance(name.type, ListOf):
        return zero_list(name)
    return build(np.zeros_like, name) if isinstance(name.type, Array) else zero(name.type)


def _own(dot: Expr, value: Expr) -> Expr:
    """The tangent of a new array is a new array, also where it equals another tangent."""
    flattened = isinstance(value, Apply) and value.fn in (np.ravel, np.reshape, np.ascontiguousarray)
    spread = isinstance(dot, Apply) and dot.fn is np.broadcast_to  # of a number: it cannot be written
    alike = isinstance(value, Apply) and value.fn is np.broadcast_to
    if (flattened or (spread and not alike) or view_base(dot) is not None) and view_base(value) is None:
        return build(np.copy, dot)
    return dot


def _before(code: list[Stmt], name: str) -> tuple[list[Stmt], list[Stmt]]:
    """Split code at the first statement that reads `name`, which the primal statement sets."""
    from s2sad.ir.walk import exprs_of, statements

    for position, stmt in enumerate(code):
        if any(name in reads(e) for s in statements((stmt,)) for e in exprs_of(s)):
            return code[:position], code[position:]
    return code, []


def _inside(place: Any) -> Any:
    """Return what an operation in place writes: what is in an array that a list holds, not the list's item."""
    return Index(place, (Slice(None, None, None),), place.type) if is_item(place) else _whole(place)


def _whole(place: Expr) -> Expr:
    if isinstance(place, Var):
        return Index(place, (Slice(None, None, None),), place.type)
    return place


class _Expression(Cotangents):
    """Tangents of the expressions of one statement; values are named as in the adjoint."""

    def __init__(self, owner: _Tangent, span: Span) -> None:
        super().__init__(owner.varied, owner.dot, owner.namer, span)
        self.owner, self.squares = owner, owner.squares

    def known(self, expr: Expr) -> Expr:
        """Return `expr` with the parts that were given names."""
        return self._known(expr)

    def shadow(self, place: Expr) -> Expr:
        """Return the same view of the tangent."""
        found = super().shadow(place)
        if found is None:
            raise NotDifferentiableError("this place has no tangent", self.span)
        return found

    def tangent(self, expr: Expr) -> Expr | None:
        """Return the tangent of `expr`, or None if it is zero."""
        if not self.is_active(expr):
            return None
        match expr:
            case Var():
                return self.owner.dot(expr)
            case Index(base, index, kind):
                inner = self.tangent(base)
                return None if inner is None else Index(self.full(inner, base), index, kind)
            case Apply(fn, (test, then, other), kind) if fn is ops.ifexp:
                sides = [self._side(then), self._side(other)]
                return Apply(ops.ifexp, (test, *sides), kind)
            case Apply(fn, (items,), kind) if fn is ops.pop:
                return Apply(ops.pop, (self.owner.dot(items),), kind)  # type: ignore[arg-type]
            case Apply(fn, (base, *rest), kind, static) if fn in VIEWS or fn is np.copy:
                inner = self.tangent(base)
                if inner is None:
                    return None
                if is_complex(inner.type) and not is_complex(kind):
                    return build(np.real, inner)
                return Apply(fn, (self.full(inner, base), *rest), kind, static)
            case Apply(fn, (Var() as first, Var() as second), kind) if fn is add_lists:
                dots = [self.owner.dot(v) if v.name in self.owner.varied else _zeros(v) for v in (first, second)]
                return Apply(fn, tuple(dots), kind)
            case Apply(fn, (Var() as items, *rest), kind, static) if isinstance(items.type, ListOf):
                return Apply(fn, (self.owner.dot(items), *rest), kind, static)
            case Apply():
                return self._apply(expr)
            case _:
                return None

    def _side(self, expr: Expr) -> Expr:
        return self.tangent(expr) or zero(expr.type)

    def full(self, dot: Expr, expr: Expr) -> Expr:
        """Give a tangent the full shape of its value."""
        if not isinstance(expr.type, Array):
            return dot
        if isinstance(dot.type, Array) and same_dims(dot.type.dims, expr.type.dims):
            if is_complex(expr.type) and not is_complex(dot.type):
                layout = dot.type.layout if dot.type.layout != "A" else "C"
                kind = Array(expr.type.dtype, dot.type.dims, layout)
                return Apply(ops.astype, (dot,), kind, (("dtype", np.dtype(expr.type.dtype).type),))
            return dot
        like = self.value(expr, 2)
        if not isinstance(dot.type, Array):
            return build(np.full_like, like, dot)
        return build(operator.add, build(np.zeros_like, like), dot)

    def _apply(self, expr: Apply) -> Expr | None:
        rule = rule_for(expr, self.span)
        match rule:
            case Elementwise():
                return self._elementwise(rule, expr)
            case Structured():
                return self._structured(rule, expr)
            case Constant():
                return None

    def _elementwise(self, rule: Elementwise, expr: Apply) -> Expr | None:
        if any(is_complex(a.type) for a in expr.args) and rule.complex_partials is None:
            name = getattr(expr.fn, "__name__", str(expr.fn))
            raise NotDifferentiableError(f"`{name}` has no derivative for complex numbers here", self.span)
        if (squares := as_sum(expr)) is not None:
            return self.tangent(squares)
        if (z := complex_number(expr)) is not None and (dot := self.tangent(z)) is not None:
            return times(literal(2.0), build(np.real, times(build(np.conj, self.value(z, 1)), dot)))
        wanted = [
            i for i, arg in enumerate(expr.args)
            if self.is_active(arg) and i < len(rule.partials) and partial_texts(rule, expr.args)[i] != "0"
        ]  # fmt: skip
        if not wanted:
            return None
        dots = {i: self.tangent(expr.args[i]) for i in wanted}
        counts = partial_uses(rule, expr.args, wanted)
        args = tuple(
            self.value(arg, 2 if counts.get(name, 0) and not _atomic(arg) else counts.get(name, 0))
            for name, arg in zip(rule.args, expr.args, strict=False)
        )
        result = self.value(expr, 2) if counts.get("y", 0) else None
        if self.squares is not None and self.squares.is_length(expr):
            args, result = away_from_zero(expr, args, result, self.name)
        parts = partials(rule, expr, args, result, self.span, wanted)
        total: Expr | None = None
        for i in wanted:
            dot = dots[i]
            if dot is not None:
                total = plus(total, times(dot, parts[i]))
        if total is None:
            return None
        if is_complex(total.type) and not is_complex(expr.type):
            total = build(np.real, total)
        return total

    def _structured(self, rule: Structured, expr: Apply) -> Expr | None:
        names = rule_parameters(rule.tangent)
        at = names.index("y")
        operands, dots = names[:at], names[at + 1 :]
        env: dict[str, Any] = {}
        for name, arg in zip(operands, expr.args, strict=False):
            env[name] = operand_value(self.value(arg, 2))
        env["y"] = V(expr if _unread(rule) else self.value(expr, 2))
        for name, arg in zip(operands, expr.args, strict=False):
            if f"{name}_dot" in dots:
                env[f"{name}_dot"] = self._member(arg) if rule.joint else self._dot_value(arg)
        for name in dots:
            env.setdefault(name, ZeroV())
        statements, results = run_tangent(rule, bind_rule(rule.tangent, expr, env, self.span), self.namer, self.span)
        self.code.extend(statements)
        return results[0] if results else None

    def results(self, call: CallStmt) -> tuple[tuple[Expr, ...], list[Stmt]]:
        """Return the tangents of a call with several results, and the statements that they need after it."""
        expr = Apply(call.fn, call.args, call.targets[0].type, call.static)  # type: ignore[arg-type]
        rule = rule_for(expr, self.span)
        assert isinstance(rule, Structured)
        names = rule_parameters(rule.tangent)
        env: dict[str, Any] = {}
        for name, arg in zip(names, call.args, strict=False):
            env[name] = operand_value(self.value(arg, 2))
            if f"{name}_dot" in names:
                env[f"{name}_dot"] = self._dot_value(arg)
        results = tuple(V(target) for target in call.targets)
        env["y"] = StructV("tuple", tuple(range(len(results))), results)
        for name in names[names.index("y") + 1 :]:
            env.setdefault(name, ZeroV())
        statements, dots = run_tangent(rule, bind_rule(rule.tangent, expr, env, self.span), self.namer, self.span)
        inexact = [target for target in call.targets if is_inexact(target.type)]
        return tuple(_zeros(t) if dot is None else dot for t, dot in zip(inexact, dots, strict=True)), statements

    def _dot_value(self, arg: Expr) -> Any:
        if isinstance(arg, Pack):
            parts = tuple(self._member(item) for item in arg.items)
            return StructV(arg.kind, tuple(range(len(parts))), parts)
        result = self.tangent(arg)
        if result is None:
            return ZeroV()
        return V(self.name(self.full(result, arg), "tangent") if not _atomic(result) else self.full(result, arg))

    def _member(self, item: Expr) -> Any:
        if isinstance(item, Pack):
            return self._dot_value(item)
        result = self.tangent(item)
        if result is None:
            return V(build(np.zeros_like, item) if isinstance(item.type, Array) else zero(item.type))
        return V(self.full(result, item))


def _atomic(expr: Expr) -> bool:
    return isinstance(expr, Var | Const | Index)


def _unread(rule: Structured) -> bool:
    import inspect

    source = inspect.getsource(rule.tangent)
    body = source.split("\n", 1)[1] if "\n" in source else source
    import re

    return re.search(r"\by\b", body.split(":", 1)[-1]) is None


__all__ = ["ListOf", "tangent"]
