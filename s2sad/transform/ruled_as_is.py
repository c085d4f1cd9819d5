"""Derivatives of functions whose rule runs as it is: the emitted text calls the user's own Python."""

from __future__ import annotations

from s2sad.errors import UnsupportedSyntaxError
from s2sad.frontend.asis import AsIs, Signature, forward_call, transposed_call
from s2sad.frontend.lowerer import Context, Instance
from s2sad.frontend.rulecalls import rule_lowerer, title
from s2sad.frontend.sampled import unpacked_call
from s2sad.ir.nodes import Apply, Expr, Function, Param, Return, Store, Var
from s2sad.ir.types import Array, ListOf, is_inexact, leaf_types
from s2sad.ir.walk import exprs_of, statements, subexpressions
from s2sad.transform.ruled_parts import adjoint_function, dot_params, seeds_of, span_of, tangent_function


def signature(instance: Instance, on: tuple[bool, ...], results: tuple[bool, ...]) -> Signature:
    """Describe the call for a rule that runs as it is; the arrays that the body captures are left out."""
    assert instance.function is not None and instance.result is not None
    count = sum(len(leaf_types(kind)) for kind in instance.types)
    names = tuple(p.name for p in instance.function.params[:count])
    return Signature(title(instance), instance.types, instance.result, names, on[:count], results, span_of(instance))


def adjoint_as_is(
    instance: Instance, name: str, on: tuple[bool, ...], results: tuple[bool, ...], call: AsIs
) -> Function:
    """Return the adjoint whose cotangents come from Python code that is called as it is."""
    assert instance.function is not None and instance.result is not None
    fn, span = instance.function, span_of(instance)
    lw, _ = rule_lowerer(Context(), instance)
    seeds = [seed for seed in seeds_of(lw, instance.result, results) if seed is not None]
    count = sum(len(leaf_types(kind)) for kind in instance.types)
    params = fn.params[:count]
    active = [Var(p.name, p.type) for p, is_on in zip(params, on, strict=False) if is_on]
    args: tuple[Expr, ...] = (*(Var(p.name, p.type) for p in params), *seeds)
    code, bars = unpacked_call(call, args, [leaf.type for leaf in active], lw.fresh("cotangents"), span)
    shadows: list[Param] = []
    scalars: list[Expr] = []
    for leaf, bar in zip(active, bars, strict=True):
        if isinstance(leaf.type, ListOf):
            raise UnsupportedSyntaxError(
                f"a list that grows cannot be passed to `{title(instance)}`, whose rule runs as it is", span
            )
        if isinstance(leaf.type, Array):
            shadows.append(Param(lw.fresh(f"{leaf.name}_bar"), leaf.type))
            code.append(Store(Var(shadows[-1].name, leaf.type), "+", bar, span, accumulate=True))
        else:
            scalars.append(bar)
    body = (*code, Return(tuple(scalars), span))
    return adjoint_function(instance, name, seeds, shadows, body, tuple(s.type for s in scalars))


def tangent_as_is(
    instance: Instance, name: str, on: tuple[bool, ...], only_dots: bool, reason: str
) -> Function:
    """Return the tangent whose values come from Python code that is called as it is."""
    assert instance.function is not None and instance.result is not None
    lw, _ = rule_lowerer(Context(), instance)
    dots, _ = dot_params(lw, instance, on)
    kinds = leaf_types(instance.result)
    results = () if only_dots else tuple(kinds)
    sig = signature(instance, on, tuple(is_inexact(k) for k in kinds))
    call = forward_call(instance.rule, sig, only_dots, reason)
    count = sum(len(leaf_types(kind)) for kind in instance.types)
    given = [*instance.function.params[:count], *dots]
    wanted = [*results, *(kind for kind in kinds if is_inexact(kind))]
    args = tuple(Var(p.name, p.type) for p in given)
    code, values = unpacked_call(call, args, wanted, lw.fresh("results"), span_of(instance))
    return tangent_function(instance, name, dots, tuple(code), (), values)


def runs_as_is(fn: Function) -> str:
    """Return why a function calls Python code that was not lowered and cannot be differentiated, or ""."""
    parts = (part for stmt in statements(fn.body) for expr in exprs_of(stmt) for part in subexpressions(expr))
    return next((p.fn.reason for p in parts if isinstance(p, Apply) and isinstance(p.fn, AsIs)), "")


def transposed_as_is(
    instance: Instance, name: str, on: tuple[bool, ...], results: tuple[bool, ...], reason: str
) -> Function:
    """Return the adjoint that transposes a tangent rule which runs as it is, element by element."""
    call = transposed_call(instance.rule, signature(instance, on, results), reason)
    return adjoint_as_is(instance, name, on, results, call)
