"""Applying a rule: its source is lowered like any function, with the operands in place of its names.

An elementwise rule is a handful of partial derivatives; a structured rule is two Python functions.
Both go through the frontend, so a rule body is emitted as it is written.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import operator
from collections.abc import Callable
from typing import Any

import gast
import numpy as np

from s2sad.analysis.steep import POWERS
from s2sad.errors import MissingRuleError, NotDifferentiableError, Span
from s2sad.frontend.arguments import missing_rule_help
from s2sad.frontend.asis import AsIs
from s2sad.frontend.expressions import as_expr, lower_expr
from s2sad.frontend.functions import parameter_names
from s2sad.frontend.lowerer import Context, Contribution, Lowerer
from s2sad.frontend.operators import build
from s2sad.frontend.source import Source, source_of
from s2sad.frontend.statements import lower_block
from s2sad.frontend.values import BarV, StaticV, StructV, V, Value, ZeroV, literal, pack
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Expr, Pack, Stmt
from s2sad.ir.types import Array, Scalar, Struct, is_complex
from s2sad.ir.walk import is_const
from s2sad.rules.registry import UNKNOWN, Constant, Elementwise, Structured, find, resolve
from s2sad.transform.algebra import fold
from s2sad.transform.naming import Namer


class _Names(dict[str, Any]):
    """Globals of a partial: bare function names, resolved beside the primal function."""

    def __init__(self, primal: Callable[..., Any]) -> None:
        super().__init__()
        self.primal = primal

    def __contains__(self, name: object) -> bool:
        try:
            resolve(str(name), self.primal)
        except AttributeError:
            return False
        return True

    def __getitem__(self, name: str) -> Any:
        return resolve(name, self.primal)


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> Any:
    return gast.ast_to_gast(ast.parse(text)).body[0].value


def rule_for(expr: Apply, span: Span) -> Elementwise | Structured | Constant:
    """Return the rule of an application, or raise MissingRuleError at the user's statement."""
    found = find(expr.fn)
    if isinstance(expr.fn, AsIs):
        raise NotDifferentiableError(
            f"`{expr.fn.__name__}` runs as it is and cannot be differentiated, for the compiler cannot read it",
            span.call_of(expr.fn.__name__),
            f"The reason: {expr.fn.reason}",
        )  # fmt: skip
    if found is None:
        name = _name(expr)
        raise MissingRuleError(f"`{name}` has no derivative rule", span.call_of(name), missing_rule_help(expr.fn))
    return found


def partials(
    rule: Elementwise, expr: Apply, args: tuple[Expr, ...], result: Expr | None, span: Span, wanted: list[int]
) -> dict[int, Expr]:
    """Return the partial derivatives of an elementwise function by the wanted arguments."""
    if len(args) > len(rule.args):
        raise MissingRuleError(
            f"`{_name(expr)}` with {len(args)} operands has no derivative rule",
            span.call_of(_name(expr)), missing_rule_help(expr.fn),
        )  # fmt: skip
    _refuse_settings(expr, _REPLACEMENTS, {}, span)
    source = Source("rule", None, span.file, span.line, 0, _Names(expr.fn), {})
    env: dict[str, Value] = {name: V(arg) for name, arg in zip(rule.args, args, strict=False)}
    if result is not None:
        env["y"] = V(result)
    lw = Lowerer(Context(), source, env, [], set())
    for name, text in rule.where:
        lw.env[name] = lower_expr(lw, _parsed(text))
    texts = partial_texts(rule, args)
    for i in wanted:
        if texts[i] == UNKNOWN:
            raise NotDifferentiableError(
                f"`{getattr(expr.fn, '__name__', expr.fn)}` has no derivative in closed form by argument {i + 1}",
                span, "Hold that argument constant with s2sad.stop_gradient, or give a rule with s2sad.defvjp.",
            )  # fmt: skip
    return {i: fold(as_expr(lw, lower_expr(lw, _parsed(texts[i])), None)) for i in wanted}


def away_from_zero(
    expr: Apply, args: tuple[Expr, ...], result: Expr | None, name: Callable[[Expr, str], Expr]
) -> tuple[tuple[Expr, ...], Expr | None]:
    """Return the operands and the result of a length with infinity for zero, by which its slope is zero there."""

    def apart(x: Expr) -> Expr:
        assert isinstance(x.type, Scalar | Array)
        infinite = literal(np.dtype(x.type.dtype).type(np.inf) if x.type.dtype == "float32" else math.inf)
        choose = ops.ifexp if isinstance(x.type, Scalar) else np.where
        return name(build(choose, build(operator.ne, x, literal(0.0)), x, infinite), "length")

    if expr.fn in POWERS:
        return (apart(args[0]), *args[1:]), result
    return args, None if result is None else apart(result)


def uses_result(rule: Elementwise) -> bool:
    """Say whether a partial reads the function's own result."""
    texts = [*rule.partials, *(text for _, text in rule.where)]
    return any("y" in _words(text) for text in texts)


@functools.lru_cache(maxsize=1024)
def _words(text: str) -> frozenset[str]:
    return frozenset(n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name))


def partial_texts(rule: Elementwise, args: tuple[Expr, ...]) -> tuple[str, ...]:
    """Return the partials that hold for these operands: complex ones may have their own, and so may a one."""
    if rule.of_one is not None and is_const(args[0], 1):
        return rule.of_one
    if rule.complex_partials is not None and any(is_complex(a.type) for a in args):
        return rule.complex_partials
    return rule.partials


def partial_uses(rule: Elementwise, args: tuple[Expr, ...], wanted: list[int]) -> dict[str, int]:
    """Count how often the partials by the wanted arguments read each name of the rule."""
    counts: dict[str, int] = {}
    partials_here = partial_texts(rule, args)
    texts = [partials_here[i] for i in wanted if i < len(partials_here)]
    for text in [*texts, *(t for _, t in rule.where)]:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Name):
                counts[node.id] = counts.get(node.id, 0) + 1
    return counts


@functools.lru_cache(maxsize=512)
def _rule_source(fn: Callable[..., Any]) -> Source:
    return source_of(fn)


def rule_parameters(fn: Callable[..., Any]) -> tuple[str, ...]:
    """Return the positional parameter names of a rule's function."""
    return tuple(
        p.name for p in inspect.signature(fn).parameters.values() if p.kind is not p.KEYWORD_ONLY
    )


def bind_rule(fn: Callable[..., Any], expr: Apply, values: dict[str, Value], span: Span) -> dict[str, Value]:
    """Bind a structured rule's names: operands, result, tangents or bars, static settings."""
    env = dict(values)
    static = dict(expr.static)
    names = rule_parameters(fn)
    rule = find(expr.fn)
    if isinstance(rule, Structured) and not rule.complex and any(is_complex(a.type) for a in expr.args):
        raise NotDifferentiableError(
            f"`{_name(expr)}` has no derivative rule for complex numbers", span.call_of(_name(expr)),
            "Give it one with s2sad.defvjp, or work on real and imaginary parts.",
        )  # fmt: skip
    if len(expr.args) > names.index("y"):
        raise MissingRuleError(
            f"`{_name(expr)}` with {len(expr.args)} operands has no derivative rule",
            span.call_of(_name(expr)), missing_rule_help(expr.fn),
        )  # fmt: skip
    named = frozenset(inspect.signature(fn).parameters)
    _refuse_settings(expr, named, dict(rule.only) if isinstance(rule, Structured) else {}, span)
    for name in names[: names.index("y")]:
        env.setdefault(name, StaticV(None))
    for parameter in inspect.signature(fn).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            value = static.get(parameter.name, parameter.default)
            env[parameter.name] = _static_value(value)
        elif parameter.name not in env and parameter.default is not parameter.empty:
            env[parameter.name] = _static_value(parameter.default)
    return env


_WITHOUT_MEANING = frozenset({
    "dtype", "optimize", "casting", "kind", "stable", "subok", "copy", "check_finite", "overwrite_a", "overwrite_b",
})  # fmt: skip

_REPLACEMENTS = frozenset({"nan", "posinf", "neginf"})
"""What `np.nan_to_num` puts in places where its derivative is 0, whatever it is."""


def _refuse_settings(expr: Apply, named: frozenset[str], only: dict[str, tuple[Any, ...]], span: Span) -> None:
    """Raise MissingRuleError for a setting that the rule does not know, or a value that it does not cover."""
    for name, value in expr.static:
        covered = value in only[name] if name in only else name in named
        if covered or name in _WITHOUT_MEANING or _is_default(expr.fn, name, value):
            continue
        fn = _name(expr)
        why = missing_rule_help(expr.fn)
        raise MissingRuleError(f"`{fn}` with `{name}={value!r}` has no derivative rule", span.call_of(fn), why)


def _name(expr: Apply) -> str:
    return getattr(expr.fn, "__name__", str(expr.fn))


def _is_default(fn: Any, name: str, value: Any) -> bool:
    """Say whether a setting is given the value that it has anyway."""
    try:
        parameter = inspect.signature(fn).parameters.get(name)
    except (TypeError, ValueError):
        return False
    return parameter is not None and type(parameter.default) is type(value) and parameter.default == value


def _static_value(value: Any) -> Value:
    from s2sad.frontend.values import const

    if isinstance(value, bool) or not isinstance(value, int | float):
        if isinstance(value, tuple):
            return StructV("tuple", tuple(range(len(value))), tuple(_static_value(v) for v in value))
        return StaticV(value)
    return const(value)


def operand_value(arg: Expr) -> Value:
    """Return an operand as the rule sees it: displays as containers."""
    if isinstance(arg, Pack):
        assert isinstance(arg.type, Struct)
        return StructV(arg.kind, tuple(range(len(arg.items))), tuple(operand_value(i) for i in arg.items))
    from s2sad.ir.nodes import Const

    if isinstance(arg, Const) and (arg.value is None or isinstance(arg.value, str)):
        return StaticV(arg.value)
    return V(arg)


def run_adjoint(rule: Structured, env: dict[str, Value], namer: Namer, span: Span) -> list[Stmt | Contribution]:
    """Lower a structured adjoint; return its statements and its contributions, in order."""
    lw = _rule_lowerer(rule.adjoint, env, namer)
    lw.contributing = True
    lower_block(lw, lw.source.node.body)
    namer.taken |= lw.names
    return [_at(stmt, span) for stmt in lw.block]


def run_tangent(
    rule: Structured, env: dict[str, Value], namer: Namer, span: Span
) -> tuple[list[Stmt], tuple[Expr | None, ...]]:
    """Lower a structured tangent; return its statements and the tangents of the results.

    One of several that is zero is None; if the only one is, there is none at all.
    """
    from s2sad.ir.nodes import Return

    lw = _rule_lowerer(rule.tangent, env, namer)
    lower_block(lw, lw.source.node.body)
    namer.taken |= lw.names
    *before, last = lw.block
    assert isinstance(last, Return), f"the tangent of {rule.tangent.__qualname__} does not end in one return"
    given = iter(last.values)
    returned = lw.results[-1]
    parts = returned.items if isinstance(returned, StructV) else (returned,) if last.values else ()
    dots = tuple(None if isinstance(part, ZeroV) else next(given) for part in parts)
    return [_at(stmt, span) for stmt in before], dots


def _rule_lowerer(fn: Callable[..., Any], env: dict[str, Value], namer: Namer) -> Lowerer:
    source = _rule_source(fn)
    missing = [n for n in parameter_names(source.node) if n not in env]
    assert not missing, f"rule {fn.__qualname__} lacks {missing}"
    return Lowerer(Context(), source, dict(env), [], namer.taken, rename={}, in_rule=True)


def _at(stmt: Any, span: Span) -> Any:
    from dataclasses import replace

    if isinstance(stmt, Contribution):
        return stmt
    return replace(stmt, span=span)


__all__ = ["BarV", "away_from_zero", "pack", "partials", "rule_for", "run_adjoint", "run_tangent", "uses_result"]
