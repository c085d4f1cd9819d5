"""Functions with a rule of the user's: the rule is called, the body is not differentiated.

`custom_vjp`: the adjoint is `out, residuals = fwd(*args)`, then `bwd(residuals, out_bar)`.
`custom_jvp`: the tangent is the rule; the adjoint is the transpose of the rule's tangent map, which
is the adjoint of the rule with respect to its tangents, at tangents of zero.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad.errors import NOWHERE, RuleError, Span
from s2sad.frontend.calls import call_value
from s2sad.frontend.expressions import as_expr
from s2sad.frontend.lowerer import Context, Instance, Lowerer
from s2sad.frontend.operators import build
from s2sad.frontend.source import Source
from s2sad.frontend.values import StaticV, StructV, Value, leaves_of, rebuild
from s2sad.ir.nodes import Assign, CallStmt, Expr, Function, Param, Return, Stmt, Store, Var
from s2sad.ir.types import Array, ListOf, Static, Struct, Type, is_inexact
from s2sad.transform.algebra import zero


@dataclass(frozen=True)
class UserRule:
    """What the user gave for a function, whichever way.

    Attributes:
        fun: the function itself, for its value.
        jvp: `(*nondiff, primals, tangents) -> (out, out_dot)`, or None.
        fwd: `(*args) -> (out, residuals)`, or None.
        bwd: `(*nondiff, residuals, out_bar) -> cotangents`, or None.
        nondiff: positions of the arguments that the rule takes first, undifferentiated.
    """

    fun: Callable[..., Any]
    jvp: Callable[..., Any] | None = None
    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    nondiff: tuple[int, ...] = ()


class _Node:
    """Stands for the call of a rule where an error needs a place."""

    def __init__(self, span: Span) -> None:
        self.lineno, self.col_offset = max(span.line, 1), span.column
        self.end_lineno, self.end_col_offset = max(span.end_line, 1), span.end_column


def _lowerer(ctx: Context, instance: Instance, span: Span) -> tuple[Lowerer, Any, list[Param], list[Value]]:
    """Start a function that has the parameters of the ruled one."""
    assert instance.function is not None
    source = Source(instance.name, None, span.file, 1, 0, {}, {})
    params = [p for p in instance.function.params]
    lw = Lowerer(ctx, source, {}, [], {p.name for p in params})
    leaves: list[Expr] = [Var(p.name, p.type) for p in params]
    args = [rebuild(kind, leaves) for kind in instance.types]
    return lw, _Node(span), params, args


def ruled_adjoint(
    ctx: Context, instance: Instance, name: str, on: tuple[bool, ...], results: tuple[bool, ...]
) -> Function:
    """Return the function that adds a rule's cotangents to the adjoints of its arguments."""
    rule: UserRule = instance.rule
    assert instance.function is not None and instance.result is not None
    assert rule.fwd is not None and rule.bwd is not None
    fn = instance.function
    lw, node, params, args = _lowerer(ctx, instance, fn.span)
    pair = call_value(lw, StaticV(rule.fwd), args, {}, node)
    if not (isinstance(pair, StructV) and len(pair.items) == 2):
        raise RuleError(f"the fwd of `{instance.name}` must return (out, residuals)", fn.span)
    seeds, out_bar = _cotangent(lw, instance.result, results)
    fixed = [args[i] for i in rule.nondiff]
    given = call_value(lw, StaticV(rule.bwd), [*fixed, pair.items[1], out_bar], {}, node)
    wanted = [i for i in range(len(args)) if i not in rule.nondiff]
    bars = given.items if isinstance(given, StructV) and given.kind == "tuple" else None
    if bars is None or len(bars) != len(wanted):
        got = "no tuple" if bars is None else f"{len(bars)}"
        raise RuleError(
            f"the bwd of `{instance.name}` must return a tuple of {len(wanted)} cotangents, one for each "
            f"differentiated argument; got {got}", fn.span,
        )  # fmt: skip
    by_argument = dict(zip(wanted, bars, strict=True))
    scalars: list[Expr] = []
    shadows: list[Param] = []
    position = 0
    for i, arg in enumerate(args):
        parts = _parts(arg, by_argument.get(i, StaticV(None)), instance, fn.span)
        for leaf, bar in parts:
            if on[position]:
                _add(lw, leaf, bar, instance, fn.span, shadows, scalars)
            position += 1
    body = (*lw.block, Return(tuple(scalars), fn.span))
    every = (*params, *(Param(s.name, s.type) for s in seeds), *shadows)
    doc = f"Add the adjoint of `{instance.name}`, by its own rule, to the adjoints of its arguments."
    return Function(name, every, body, tuple(s.type for s in scalars), doc, fn.span)


def _add(
    lw: Lowerer, leaf: Expr, bar: Value, instance: Instance, span: Span, shadows: list[Param], scalars: list[Expr]
) -> None:
    assert isinstance(leaf, Var)
    none = isinstance(bar, StaticV) and bar.value is None
    if isinstance(leaf.type, Array):
        shadow = Var(lw.fresh(f"{leaf.name}_bar"), leaf.type)
        shadows.append(Param(shadow.name, shadow.type))
        if none:
            return
        value = as_expr(lw, bar, _Node(span))
        _check(instance, leaf, value, span)
        lw.emit(Store(shadow, "+", value, span, accumulate=True))
        return
    value = zero(leaf.type) if none else as_expr(lw, bar, _Node(span))
    _check(instance, leaf, value, span)
    scalars.append(value)


def _check(instance: Instance, leaf: Var, value: Expr, span: Span) -> None:
    """A cotangent has the rank of its argument."""
    expected = len(leaf.type.dims) if isinstance(leaf.type, Array) else 0
    received = len(value.type.dims) if isinstance(value.type, Array) else 0
    if expected != received or not is_inexact(value.type):
        raise RuleError(
            f"the rule of `{instance.name}` gives a cotangent of another kind for `{leaf.name}`: expected rank "
            f"{expected}, received rank {received}", span,
        )  # fmt: skip


def _parts(arg: Value, bar: Value, instance: Instance, span: Span) -> list[tuple[Expr, Value]]:
    """Pair the leaves of an argument with those of its cotangent."""
    if isinstance(bar, StaticV) and bar.value is None:
        return [(leaf, bar) for leaf in leaves_of(arg)]
    if isinstance(arg, StructV):
        if not isinstance(bar, StructV) or bar.keys != arg.keys:
            raise RuleError(f"the rule of `{instance.name}` gives a cotangent of another structure", span)
        return [p for a, b in zip(arg.items, bar.items, strict=True) for p in _parts(a, b, instance, span)]
    return [(leaf, bar) for leaf in leaves_of(arg)]


def _cotangent(lw: Lowerer, result: Type, on: tuple[bool, ...]) -> tuple[list[Var], Value]:
    """Return the cotangent of a result as a value, and the parameters for its active leaves."""
    seeds: list[Var] = []
    leaves: list[Expr] = []
    kinds = _flat(result)
    for position, kind in enumerate(kinds):
        hint = "result_bar" if len(kinds) == 1 else f"result_{position}_bar"
        if on[position]:
            seeds.append(Var(lw.fresh(hint), kind))
            leaves.append(seeds[-1])
        else:
            leaves.append(zero(kind))
    return seeds, rebuild(result, leaves)


def _flat(kind: Type) -> list[Type]:
    match kind:
        case Struct(_, _, items):
            return [leaf for item in items for leaf in _flat(item)]
        case Static():
            return []
        case _:
            return [kind]


def ruled_tangent(ctx: Context, instance: Instance, name: str, on: tuple[bool, ...], only_dots: bool) -> Function:
    """Return the tangent by a rule: `(*params, *dots) -> (*results, *result_dots)`.

    `only_dots`: leave the results out; what is left is linear in the dots.
    """
    rule: UserRule = instance.rule
    assert instance.function is not None and instance.result is not None
    fn = instance.function
    if rule.jvp is None:
        raise ReverseOnlyError(
            f"`{instance.name}` has a reverse-mode rule only, so that it has no jvp", fn.span,
            "Give it a forward rule with @custom_jvp, which serves both modes.",
        )  # fmt: skip
    lw, node, params, args = _lowerer(ctx, instance, fn.span)
    dots: list[Param] = []
    leaves: list[Expr] = []
    for p, active in zip(fn.params, on, strict=False):
        var = Var(p.name, p.type)
        if active:
            dots.append(Param(lw.fresh(f"{p.name}_dot"), p.type))
            leaves.append(Var(dots[-1].name, p.type))
        else:
            leaves.append(build(np.zeros_like, var) if isinstance(p.type, Array) else zero(p.type))
    tangents = [rebuild(kind, leaves) for kind in instance.types]
    wanted = [i for i in range(len(args)) if i not in rule.nondiff]
    primals = _tuple([args[i] for i in wanted])
    directions = _tuple([tangents[i] for i in wanted])
    fixed = [args[i] for i in rule.nondiff]
    first = next(iter(inspect.signature(rule.jvp).parameters), "")
    given = [primals, directions, *fixed] if first == "primals" else [*fixed, primals, directions]
    pair = call_value(lw, StaticV(rule.jvp), given, {}, node)
    if not (isinstance(pair, StructV) and len(pair.items) == 2):
        raise RuleError(f"the rule of `{instance.name}` must return (out, out_dot)", fn.span)
    out, out_dot = pair.items
    values = leaves_of(out)
    if isinstance(out_dot, StaticV):
        out_dot = rebuild(instance.result, [zero(k) for k in _flat(instance.result)])
    out_dots = [d for d, k in zip(_dots(lw, out_dot, node), _flat(instance.result), strict=True) if is_inexact(k)]
    outputs = tuple(out_dots) if only_dots else (*values, *out_dots)
    body = (*lw.block, Return(outputs, fn.span))
    doc = f"Value and tangent of `{instance.name}`, by its own rule."
    return Function(name, (*params, *dots), body, tuple(o.type for o in outputs), doc, fn.span)


def _dots(lw: Lowerer, value: Value, node: Any) -> list[Expr]:
    if isinstance(value, StructV):
        return [leaf for item in value.items for leaf in _dots(lw, item, node)]
    return [as_expr(lw, value, node)]


def _tuple(items: list[Value]) -> StructV:
    return StructV("tuple", tuple(range(len(items))), tuple(items))


class ReverseOnlyError(RuleError, TypeError):
    """A reverse-mode rule was asked for a tangent."""


def transposed(
    instance: Instance, name: str, tangent_adjoint: str, on: tuple[bool, ...], results: tuple[bool, ...]
) -> Function:
    """Return the adjoint that transposes a tangent rule: its adjoint by the dots, at dots of zero."""
    fn = instance.function
    assert fn is not None and instance.result is not None
    taken = {p.name for p in fn.params}
    seeds = [
        Param(_unused(f"result_{i}_bar" if len(results) > 1 else "result_bar", taken), kind)
        for i, (kind, active) in enumerate(zip(fn.results, results, strict=True)) if active
    ]  # fmt: skip
    body: list[Stmt] = []
    zeros: list[Expr] = []
    shadows: list[Param] = []
    scalars: list[Var] = []
    arrays: list[Expr] = []
    for p, active in zip(fn.params, on, strict=True):
        if not active:
            continue
        var = Var(p.name, p.type)
        if isinstance(p.type, Array | ListOf):
            zeros.append(Var(_unused(f"{p.name}_dot", taken), p.type))
            body.append(Assign(zeros[-1], build(np.zeros_like, var), fn.span))  # type: ignore[arg-type]
            shadows.append(Param(_unused(f"{p.name}_bar", taken), p.type))
            arrays.append(Var(shadows[-1].name, p.type))
        else:
            zeros.append(zero(p.type))
            scalars.append(Var(_unused(f"{p.name}_bar", taken), p.type))
    args: list[Expr] = [Var(p.name, p.type) for p in fn.params]
    args += [*zeros, *(Var(s.name, s.type) for s in seeds), *arrays]
    body.append(CallStmt(tuple(scalars), tangent_adjoint, tuple(args), fn.span))
    body.append(Return(tuple(scalars), fn.span))
    doc = f"Add the adjoint of `{instance.name}`, the transpose of its tangent rule."
    return Function(name, (*fn.params, *seeds, *shadows), tuple(body), tuple(s.type for s in scalars), doc, fn.span)


def _unused(hint: str, taken: set[str]) -> str:
    candidate, count = hint, 1
    while candidate in taken:
        count += 1
        candidate = f"{hint}_{count}"
    taken.add(candidate)
    return candidate


__all__ = ["NOWHERE", "ReverseOnlyError", "UserRule", "ruled_adjoint", "ruled_tangent", "transposed"]
