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

from s2sad.errors import NotDifferentiableError, RuleError, RuleShapeError, Span, UnsupportedSyntaxError
from s2sad.frontend.asis import (
    AsIs,
    Signature,
    forward_call,
    leaf_types,
    mismatch,
    reverse_call,
    structure_text,
    transposed_call,
    type_text,
)
from s2sad.frontend.expressions import as_expr
from s2sad.frontend.lowerer import Context, Instance, Lowerer
from s2sad.frontend.operators import build
from s2sad.frontend.rulecalls import (
    NOT_LOWERED,
    WAY_OUT,
    Node,
    UserRule,
    lower_forward,
    lower_reverse,
    rule_lowerer,
    title,
    undone,
    unpacked_call,
    with_way_out,
)
from s2sad.frontend.values import StaticV, StructV, Value, leaves_of, literal, rebuild, type_of
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, CallStmt, Const, Expr, Function, If, Param, Raise, Return, Stmt, Store, Var
from s2sad.ir.types import Array, ListOf, Scalar, Static, Struct, Type, is_complex, is_inexact
from s2sad.ir.walk import exprs_of, statements, subexpressions
from s2sad.transform.algebra import zero

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
        if not ctx.as_is:
            raise UnsupportedSyntaxError(
                f"the two-stage rule of `{title(instance)}` is not compiled", _span(instance), WAY_OUT
            )
        reason = "A two-stage rule is not read by the compiler."
        call = reverse_call(rule, _signature(instance, on, results), reason)
        return _adjoint_as_is(instance, name, on, results, call)
    try:
        with undone(ctx):
            return _lowered_adjoint(ctx, instance, name, on, results)
    except NOT_LOWERED as error:
        if not ctx.as_is:
            raise with_way_out(error) from None
        call = reverse_call(rule, _signature(instance, on, results), str(error))
        return _adjoint_as_is(instance, name, on, results, call)


def _span(instance: Instance) -> Span:
    assert instance.function is not None
    return instance.function.span


def _refuse_nondiff(instance: Instance, on: tuple[bool, ...]) -> None:
    rule: UserRule = instance.rule
    assert instance.function is not None
    owners = [i for i, kind in enumerate(instance.types) for _ in leaf_types(kind)]
    for param, owner, active in zip(instance.function.params, owners, on, strict=False):
        if active and owner in rule.nondiff:
            raise NotDifferentiableError(
                f"`{param.name}` of `{title(instance)}` is in its nondiff_argnums, but what is passed there varies",
                _span(instance), "Pass `s2sad.stop_gradient(...)` of it, or let the rule differentiate it.",
            )  # fmt: skip


def _signature(instance: Instance, on: tuple[bool, ...], results: tuple[bool, ...]) -> Signature:
    """Describe the call for a rule that runs as it is; the arrays that the body captures are left out."""
    assert instance.function is not None and instance.result is not None
    count = sum(len(leaf_types(kind)) for kind in instance.types)
    names = tuple(p.name for p in instance.function.params[:count])
    return Signature(title(instance), instance.types, instance.result, names, on[:count], results, _span(instance))


def _lowered_adjoint(
    ctx: Context, instance: Instance, name: str, on: tuple[bool, ...], results: tuple[bool, ...]
) -> Function:
    assert instance.function is not None and instance.result is not None
    fn = instance.function
    lw, args = rule_lowerer(ctx, instance)
    seeds, out_bar = _cotangent(lw, instance.result, results)
    by_argument = lower_reverse(lw, instance, args, out_bar)
    scalars: list[Expr] = []
    shadows: list[Param] = []
    position = 0
    for i, arg in enumerate(args):
        for leaf, bar in _parts(arg, by_argument.get(i, StaticV(None)), instance):
            if on[position]:
                _add(lw, leaf, bar, instance, shadows, scalars)
            position += 1
    body = (*lw.block, Return(tuple(scalars), fn.span))
    return _adjoint_function(instance, name, seeds, shadows, body, tuple(s.type for s in scalars))


def _adjoint_function(
    instance: Instance, name: str, seeds: list[Var], shadows: list[Param], body: tuple[Stmt, ...],
    kinds: tuple[Type, ...],
) -> Function:  # fmt: skip
    assert instance.function is not None
    every = (*instance.function.params, *(Param(s.name, s.type) for s in seeds), *shadows)
    doc = f"Add the adjoint of `{title(instance)}`, by its own rule, to the adjoints of its arguments."
    return Function(name, every, body, kinds, doc, _span(instance))


def _adjoint_as_is(
    instance: Instance, name: str, on: tuple[bool, ...], results: tuple[bool, ...], call: AsIs
) -> Function:
    """Return the adjoint whose cotangents come from Python code that is called as it is."""
    assert instance.function is not None and instance.result is not None
    fn, span = instance.function, _span(instance)
    lw, _ = rule_lowerer(Context(), instance)
    seeds, _ = _cotangent(lw, instance.result, results)
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
    return _adjoint_function(instance, name, seeds, shadows, body, tuple(s.type for s in scalars))


def _add(
    lw: Lowerer, leaf: Expr, bar: Value, instance: Instance, shadows: list[Param], scalars: list[Expr]
) -> None:
    assert isinstance(leaf, Var)
    span = _span(instance)
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
            raise mismatch(what, structure_text(type_of(arg)), received, _span(instance))
        given = dict(zip(bar.keys, bar.items, strict=True))
        pairs = zip(arg.keys, arg.items, strict=True)
        return [part for key, item in pairs for part in _parts(item, given[key], instance)]
    return [(leaf, bar) for leaf in leaves_of(arg)]


def _cotangent(lw: Lowerer, result: Type, on: tuple[bool, ...]) -> tuple[list[Var], Value]:
    """Return the cotangent of a result as a value, and the parameters for its active leaves."""
    seeds: list[Var] = []
    leaves: list[Expr] = []
    kinds = leaf_types(result)
    for position, kind in enumerate(kinds):
        hint = "result_bar" if len(kinds) == 1 else f"result_{position}_bar"
        if on[position]:
            seeds.append(Var(lw.fresh(hint), kind))
            leaves.append(seeds[-1])
        else:
            leaves.append(zero(kind))
    return seeds, rebuild(result, leaves)


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
            f"`{title(instance)}` has a reverse-mode rule only, so that it has no jvp", _span(instance),
            "Give it a forward rule with @custom_jvp, which serves both modes.",
        )  # fmt: skip
    _refuse_nondiff(instance, on)
    try:
        with undone(ctx):
            return _lowered_tangent(ctx, instance, name, on, only_dots)
    except NOT_LOWERED as error:
        if not ctx.as_is:
            raise with_way_out(error) from None
        return _tangent_as_is(instance, name, on, only_dots, str(error))


def _dot_params(lw: Lowerer, instance: Instance, on: tuple[bool, ...]) -> tuple[list[Param], list[Expr]]:
    """Return the parameters for the tangents, and one tangent per leaf: zero where there is none."""
    assert instance.function is not None
    dots: list[Param] = []
    leaves: list[Expr] = []
    for p, active in zip(instance.function.params, on, strict=False):
        var = Var(p.name, p.type)
        if active:
            dots.append(Param(lw.fresh(f"{p.name}_dot"), p.type))
            leaves.append(Var(dots[-1].name, p.type))
        else:
            leaves.append(build(np.zeros_like, var) if isinstance(p.type, Array) else zero(p.type))
    return dots, leaves


def _lowered_tangent(ctx: Context, instance: Instance, name: str, on: tuple[bool, ...], only_dots: bool) -> Function:
    assert instance.result is not None
    lw, args = rule_lowerer(ctx, instance)
    dots, leaves = _dot_params(lw, instance, on)
    tangents = [rebuild(kind, leaves) for kind in instance.types]
    out, out_dot = lower_forward(lw, instance, args, tangents)
    what = f"the tangent that the rule of `{title(instance)}` gives"
    values = leaves_of(out)
    moved = _tangent_leaves(instance.result, out_dot, what, _span(instance))
    out_dots: list[Expr] = []
    for kind, value, dot in zip(leaf_types(instance.result), values, moved, strict=True):
        if is_inexact(kind):
            out_dots.append(_out_dot(lw, dot, value, kind, what, _span(instance)))
    return _tangent_function(instance, name, dots, tuple(lw.block), () if only_dots else tuple(values), out_dots)


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


def _tangent_function(
    instance: Instance, name: str, dots: list[Param], code: tuple[Stmt, ...], values: tuple[Expr, ...],
    out_dots: list[Expr],
) -> Function:  # fmt: skip
    assert instance.function is not None
    outputs = (*values, *out_dots)
    body = (*code, Return(outputs, _span(instance)))
    doc = f"Value and tangent of `{title(instance)}`, by its own rule."
    params = (*instance.function.params, *dots)
    return Function(name, params, body, tuple(o.type for o in outputs), doc, _span(instance))


def _tangent_as_is(
    instance: Instance, name: str, on: tuple[bool, ...], only_dots: bool, reason: str
) -> Function:
    assert instance.function is not None and instance.result is not None
    lw, _ = rule_lowerer(Context(), instance)
    dots, _ = _dot_params(lw, instance, on)
    kinds = leaf_types(instance.result)
    results = () if only_dots else tuple(kinds)
    sig = _signature(instance, on, tuple(is_inexact(k) for k in kinds))
    call = forward_call(instance.rule, sig, only_dots, reason)
    count = sum(len(leaf_types(kind)) for kind in instance.types)
    given = [*instance.function.params[:count], *dots]
    wanted = [*results, *(kind for kind in kinds if is_inexact(kind))]
    args = tuple(Var(p.name, p.type) for p in given)
    code, values = unpacked_call(call, args, wanted, lw.fresh("results"), _span(instance))
    return _tangent_function(instance, name, dots, tuple(code), (), values)


def runs_as_is(fn: Function) -> str:
    """Return why a function calls Python code that was not lowered and cannot be differentiated, or ""."""
    parts = (part for stmt in statements(fn.body) for expr in exprs_of(stmt) for part in subexpressions(expr))
    return next((p.fn.reason for p in parts if isinstance(p, Apply) and isinstance(p.fn, AsIs)), "")


def transposed_as_is(
    instance: Instance, name: str, on: tuple[bool, ...], results: tuple[bool, ...], reason: str
) -> Function:
    """Return the adjoint that transposes a tangent rule which runs as it is, element by element."""
    call = transposed_call(instance.rule, _signature(instance, on, results), reason)
    return _adjoint_as_is(instance, name, on, results, call)


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


__all__ = [
    "ReverseOnlyError", "UserRule", "ruled_adjoint", "ruled_tangent", "runs_as_is", "transposed", "transposed_as_is",
]  # fmt: skip
