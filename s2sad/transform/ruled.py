"""Functions with a rule of the user's: the rule is called, the body is not differentiated.

`custom_vjp`: the adjoint is `out, residuals = fwd(*args)`, then `bwd(residuals, out_bar)`.
`custom_jvp`: the tangent is the rule; the adjoint is the transpose of the rule's tangent map, which
is the adjoint of the rule with respect to its tangents, at tangents of zero.

A rule is lowered like any function. Where that cannot be, target "python" calls it as it is, and
what it gives is checked at run time instead of before.
"""

from __future__ import annotations

import operator

import numpy as np

from s2sad.errors import NotDifferentiableError, RuleError, RuleShapeError, Span
from s2sad.frontend.asis import mismatch, reverse_call, structure_text, type_text
from s2sad.frontend.expressions import as_expr
from s2sad.frontend.lowerer import Context, Instance, Lowerer
from s2sad.frontend.operators import build
from s2sad.frontend.rulecalls import (
    NOT_LOWERED,
    Node,
    lower_forward,
    lower_fwd,
    lower_reverse,
    lower_two_stage,
    rule_lowerer,
    title,
    undone,
    with_way_out,
)
from s2sad.frontend.userrule import UserRule
from s2sad.frontend.values import StaticV, StructV, Value, leaves_of, literal, type_of
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, CallStmt, Const, Expr, Function, If, Param, Raise, Return, Stmt, Store, Var
from s2sad.ir.types import Array, ListOf, Scalar, Static, Struct, Type, is_complex, is_inexact, leaf_types
from s2sad.transform.algebra import zero
from s2sad.transform.ruled_as_is import adjoint_as_is, signature, tangent_as_is
from s2sad.transform.ruled_parts import (
    adjoint_function,
    dot_params,
    out_bar,
    seeds_of,
    span_of,
    tangent_function,
    tangent_values,
)

_BOOL = Scalar("bool", weak=True)


def ruled_adjoint(
    ctx: Context, instance: Instance, name: str, on: tuple[bool, ...], results: tuple[bool, ...]
) -> Function:
    """Return the function that adds a rule's cotangents to the adjoints of its arguments.

    Raises:
        RuleError: what the rule gives does not fit the function's arguments.
        NotDifferentiableError: an argument that the rule takes undifferentiated varies.
    """
    _refuse_nondiff(instance, on)
    rule: UserRule = instance.rule
    if rule.makers is not None:
        _refuse_missing(instance, on)
    try:
        with undone(ctx):
            return _lowered_adjoint(ctx, instance, name, on, results)
    except NOT_LOWERED as error:
        if not ctx.as_is:
            raise with_way_out(error) from None
        call = reverse_call(rule, signature(instance, on, results), str(error))
        return adjoint_as_is(instance, name, on, results, call)


def ruled_value(ctx: Context, instance: Instance, name: str) -> Function | None:
    """Return the function of what a rule says that the result is; None where that is a call of the function itself.

    A derivative that is differentiated again takes the result from the rule, so that this does not lead to the rule
    again: the same in both modes, however they are nested.
    """
    fn = instance.function
    assert fn is not None
    lw, args = rule_lowerer(ctx, instance)
    try:
        with undone(ctx):
            out = _value(lw, instance, args)
    except NOT_LOWERED:
        return None
    if out is None:
        return None
    doc = f"What the rule of `{title(instance)}` gives for its result."
    return Function(name, fn.params, (*lw.block, Return(tuple(leaves_of(out)), fn.span)), fn.results, doc, fn.span)


def _value(lw: Lowerer, instance: Instance, args: list[Value]) -> Value | None:
    rule: UserRule = instance.rule
    if rule.fwd is not None:
        return lower_fwd(lw, instance, rule.spread(args, lambda value: value.items))[0]
    if rule.jvp is None or rule.per_argument is not None or instance.function is None:
        return None
    _, still = dot_params(lw, instance, (False,) * len(instance.function.params))
    return lower_forward(lw, instance, args, tangent_values(instance, still))[0]


def _refuse_missing(instance: Instance, on: tuple[bool, ...]) -> None:
    """A two-stage rule that says nothing of an argument is no rule for it; None would say that it is zero."""
    makers = instance.rule.makers
    owners = [i for i, kind in enumerate(instance.types) for _ in leaf_types(kind)]
    for owner, active in zip(owners, on, strict=False):
        if active and (owner >= len(makers) or makers[owner] is ...):
            raise RuleError(
                f"the two-stage rule of `{title(instance)}` has no part for argument {owner}, which varies",
                span_of(instance), "Give it one, or None where the derivative is zero.",
            )  # fmt: skip


def _owners(instance: Instance) -> list[int]:
    """Return which argument each of the function's leaves belongs to."""
    spread = instance.rule.spread(list(instance.types), lambda kind: kind.items)
    return [i for i, kind in enumerate(spread) for _ in leaf_types(kind)]


def _refuse_nondiff(instance: Instance, on: tuple[bool, ...]) -> None:
    rule: UserRule = instance.rule
    assert instance.function is not None
    for param, owner, active in zip(instance.function.params, _owners(instance), on, strict=False):
        if active and owner in rule.nondiff:
            raise NotDifferentiableError(
                f"`{param.name}` of `{title(instance)}` is in its nondiff_argnums, but what is passed there varies",
                span_of(instance), "Pass `s2sad.stop_gradient(...)` of it, or let the rule differentiate it.",
            )  # fmt: skip


def _lowered_adjoint(
    ctx: Context, instance: Instance, name: str, on: tuple[bool, ...], results: tuple[bool, ...]
) -> Function:
    assert instance.function is not None and instance.result is not None
    fn = instance.function
    lw, args = rule_lowerer(ctx, instance)
    seeds = seeds_of(lw, instance.result, results)
    kind = instance.result
    if instance.rule.makers is None:
        bars = lower_reverse(lw, instance, args, lambda outs: out_bar(kind, seeds, outs))
    else:
        varying = {owner for owner, active in zip(_owners(instance), on, strict=False) if active}
        bars = lower_two_stage(lw, instance, args, lambda outs: out_bar(kind, seeds, outs), varying)
    scalars: list[Expr] = []
    shadows: list[Param] = []
    position = 0
    for arg, given in zip(args, bars, strict=True):
        for leaf, bar in _parts(arg, given, instance):
            if on[position]:
                _add(lw, leaf, bar, instance, shadows, scalars)
            position += 1
    body = (*lw.block, Return(tuple(scalars), fn.span))
    given = [seed for seed in seeds if seed is not None]
    return adjoint_function(instance, name, given, shadows, body, tuple(s.type for s in scalars))


def _add(
    lw: Lowerer, leaf: Expr, bar: Value, instance: Instance, shadows: list[Param], scalars: list[Expr]
) -> None:
    assert isinstance(leaf, Var)
    span = span_of(instance)
    none = isinstance(bar, StaticV) and bar.value is None
    what = f"the cotangent that the bwd of `{title(instance)}` gives for `{leaf.name}`"
    value = zero(leaf.type) if none else _leaf(lw, bar, leaf.type, what, span)
    if isinstance(leaf.type, Array | ListOf):
        shadow = Var(lw.fresh(f"{leaf.name}_bar"), leaf.type)
        shadows.append(Param(shadow.name, shadow.type))
        if not none:
            fitting = _fitting(lw, value, leaf, what, span)
            lw.emit(Store(shadow, "+", fitting, span, accumulate=True))
        return
    scalars.append(value)


def _leaf(lw: Lowerer, bar: Value, kind: Type, what: str, span: Span) -> Expr:
    """Return one leaf that a rule gives, of the rank and a dtype that fit `kind`."""
    if isinstance(bar, StructV):
        raise mismatch(f"{what} has another structure", type_text(kind), structure_text(type_of(bar)), span)
    value = as_expr(lw, bar, Node(span))
    expected = len(kind.dims) if isinstance(kind, Array) else 0
    received = len(value.type.dims) if isinstance(value.type, Array) else 0
    if expected != received:
        raise mismatch(f"{what} has another shape", type_text(kind), type_text(value.type), span)
    if not is_inexact(value.type) or (is_complex(value.type) and not is_complex(kind)):
        raise mismatch(f"{what} has another dtype", type_text(kind), type_text(value.type), span)
    return value


def _fitting(lw: Lowerer, value: Expr, like: Expr, what: str, span: Span) -> Expr:
    """Return an array that a rule gives, its lengths compared with those of `like` where they may differ."""
    kind, other = value.type, like.type
    if not isinstance(kind, Array) or not isinstance(other, Array):
        return value
    unsure = [axis for axis, (a, b) in enumerate(zip(kind.dims, other.dims, strict=True)) if a != b]
    if not unsure:
        return value
    value = lw.atom(value, "given", span)
    tests: list[Expr] = []
    for axis in unsure:
        tests.append(Apply(operator.ne, (_length(value, axis), _length(like, axis)), _BOOL))
    test = tests[0] if len(tests) == 1 else Apply(ops.either, tuple(tests), _BOOL)
    shapes = tuple(Apply(ops.shape, (array,), Static(None)) for array in (like, value))
    text = Const(f"{what} has another shape", Static(None))
    lw.emit(If(test, (Raise(RuleShapeError, (text, *shapes), span),), (), span))
    return value


def _length(array: Expr, axis: int) -> Expr:
    assert isinstance(array.type, Array)
    dim = array.type.dims[axis]
    return literal(dim) if isinstance(dim, int) else Apply(ops.dim, (array, literal(axis)), Scalar("int64", True, dim))


def _parts(arg: Value, bar: Value, instance: Instance) -> list[tuple[Expr, Value]]:
    """Pair the leaves of an argument with those of its cotangent."""
    if isinstance(bar, StaticV) and bar.value is None:
        return [(leaf, bar) for leaf in leaves_of(arg)]
    if isinstance(arg, StructV):
        loose = isinstance(bar, StructV) and {arg.kind, bar.kind} <= {"tuple", "list"}
        if not isinstance(bar, StructV) or set(bar.keys) != set(arg.keys) or not (loose or bar.kind == arg.kind):
            what = f"the cotangent that the bwd of `{title(instance)}` gives has another structure"
            received = structure_text(type_of(bar))
            raise mismatch(what, structure_text(type_of(arg)), received, span_of(instance))
        given = dict(zip(bar.keys, bar.items, strict=True))
        pairs = zip(arg.keys, arg.items, strict=True)
        return [part for key, item in pairs for part in _parts(item, given[key], instance)]
    return [(leaf, bar) for leaf in leaves_of(arg)]


def ruled_tangent(ctx: Context, instance: Instance, name: str, on: tuple[bool, ...], only_dots: bool) -> Function:
    """Return the tangent by a rule: `(*params, *dots) -> (*results, *result_dots)`.

    `only_dots`: leave the results out; what is left is linear in the dots.

    Raises:
        ReverseOnlyError: there is a reverse-mode rule only.
        RuleError: what the rule gives does not fit the function's result.
        NotDifferentiableError: an argument that the rule takes undifferentiated varies.
    """
    rule: UserRule = instance.rule
    if rule.jvp is None:
        raise ReverseOnlyError(
            f"`{title(instance)}` has a reverse-mode rule only, so that it has no jvp", span_of(instance),
            _a_forward_rule(rule),
        )  # fmt: skip
    _refuse_nondiff(instance, on)
    try:
        with undone(ctx):
            return _lowered_tangent(ctx, instance, name, on, only_dots)
    except NOT_LOWERED as error:
        if not ctx.as_is:
            raise with_way_out(error) from None
        return tangent_as_is(instance, name, on, only_dots, str(error))


def _lowered_tangent(ctx: Context, instance: Instance, name: str, on: tuple[bool, ...], only_dots: bool) -> Function:
    assert instance.result is not None
    lw, args = rule_lowerer(ctx, instance)
    dots, leaves = dot_params(lw, instance, on)
    tangents = tangent_values(instance, leaves)
    out, out_dot = lower_forward(lw, instance, args, tangents)
    what = f"the tangent that the rule of `{title(instance)}` gives"
    values = leaves_of(out)
    moved = _tangent_leaves(instance.result, out_dot, what, span_of(instance))
    out_dots: list[Expr] = []
    for kind, value, dot in zip(leaf_types(instance.result), values, moved, strict=True):
        if is_inexact(kind):
            out_dots.append(_out_dot(lw, dot, value, kind, what, span_of(instance)))
    return tangent_function(instance, name, dots, tuple(lw.block), () if only_dots else tuple(values), out_dots)


def _out_dot(lw: Lowerer, dot: Value, value: Expr, kind: Type, what: str, span: Span) -> Expr:
    if isinstance(dot, StaticV) and dot.value is None:
        return build(np.zeros_like, value) if isinstance(kind, Array) else zero(kind)
    given = _leaf(lw, dot, kind, what, span)
    if isinstance(kind, Array) and not isinstance(given, Var):
        given = lw.atom(given, "result_dot", span)
    return _fitting(lw, given, value, what, span)


def _tangent_leaves(kind: Type, value: Value, what: str, span: Span) -> list[Value]:
    """Take a tangent apart like the result; None is zero."""
    if isinstance(value, StaticV) and value.value is None:
        return [value] * len(leaf_types(kind))
    match kind:
        case Struct(_, keys, items):
            if not isinstance(value, StructV) or set(value.keys) != set(keys):
                raise mismatch(f"{what} has another structure", structure_text(kind), type_text(type_of(value)), span)
            given = dict(zip(value.keys, value.items, strict=True))
            pairs = zip(keys, items, strict=True)
            return [leaf for key, item in pairs for leaf in _tangent_leaves(item, given[key], what, span)]
        case Static():
            return []
        case _:
            return [value]


def _a_forward_rule(rule: UserRule) -> str:
    """Say how a function with a reverse-mode rule gets a tangent."""
    if rule.makers is not None or not hasattr(rule.owner, "defvjp"):
        name = getattr(rule.fun, "__name__", "fun")
        return f"Give it one with `s2sad.defjvp({name}, rule)`, or differentiate in reverse mode each time."
    return (
        "Give it one with `.defjvp(rule)`; a rule with @custom_jvp alone serves both modes. A Hessian needs none "
        "if `fwd` has the function's formula instead of calling it."
    )


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
    doc = f"Add the adjoint of `{title(instance)}`, the transpose of its tangent rule."
    return Function(name, (*fn.params, *seeds, *shadows), tuple(body), tuple(s.type for s in scalars), doc, fn.span)


def _unused(hint: str, taken: set[str]) -> str:
    candidate, count = hint, 1
    while candidate in taken:
        count += 1
        candidate = f"{hint}_{count}"
    taken.add(candidate)
    return candidate


__all__ = ["ReverseOnlyError", "UserRule", "ruled_adjoint", "ruled_tangent", "ruled_value", "transposed"]
