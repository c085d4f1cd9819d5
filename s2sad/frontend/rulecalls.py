"""Calls of functions that carry a rule of the user's: functions of the program that keep it."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from s2sad.errors import ArgumentError, MissingRuleError, RuleError, SourceNotFoundError, Span, UnsupportedSyntaxError
from s2sad.frontend.asis import mismatch, type_text
from s2sad.frontend.captures import pass_captured
from s2sad.frontend.expressions import outside_value
from s2sad.frontend.functions import _key, bind_arguments, instantiate
from s2sad.frontend.generic import canonical, restored
from s2sad.frontend.infer import InferenceError
from s2sad.frontend.lowerer import BottomReached, Captured, Context, Instance, Lowerer
from s2sad.frontend.operators import build
from s2sad.frontend.sampled import sampled
from s2sad.frontend.source import Source, has_source, place_of
from s2sad.frontend.userrule import UserRule
from s2sad.frontend.values import StaticV, StructV, V, Value, leaves_of, rebuild, type_of
from s2sad.ir.nodes import CallStmt, Expr, Function, Param, Return, Var
from s2sad.ir.types import Array, Scalar, Struct, Type, is_inexact, leaf_types
from s2sad.ir.walk import names_in, statements

NOT_LOWERED = (UnsupportedSyntaxError, MissingRuleError, SourceNotFoundError, InferenceError)
"""What says that code cannot be read by the compiler, though CPython may run it."""

WAY_OUT = 'With target="python" it runs as it is.'


def call_ruled(lw: Lowerer, fn: Any, rule: UserRule, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call a function with a rule; its body gives the value, the rule the derivative."""
    bound, rule = _bound(lw, rule, args, kwargs, node)
    types, back = canonical(tuple(type_of(value) for value in bound), False)
    key = ("ruled", id(fn), tuple(_key(kind) for kind in types), rule.keywords)
    instance = lw.ctx.instances.get(key)
    if instance is None:
        instance = _instance(lw, rule, types, node)
        instance.rule, instance.fun = rule, fn
        lw.ctx.instances[key] = instance
        lw.ctx.keep.append(fn)
        if all(one is not fn for one in lw.ctx.discovering):  # a rule may call its function with ever new kinds
            _discover(lw.ctx, instance)
    assert instance.result is not None
    span = lw.span(node)
    leaves: list[Expr] = [
        lw.atom(leaf, "argument", span) if isinstance(leaf.type, Array) else leaf
        for value in bound for leaf in leaves_of(value)
    ]  # fmt: skip
    leaves += pass_captured(lw, instance.captured)
    result = restored(instance.result, back)
    results = [Var(lw.fresh(f"{instance.name}_value"), kind) for kind in leaf_types(result)]
    lw.emit(CallStmt(tuple(results), instance.name, tuple(leaves), span))
    return rebuild(result, list(results))


def _reads_source(rule: UserRule) -> bool:
    """Say whether the value comes from the function's own source: not for NumPy and SciPy."""
    module = (getattr(rule.fun, "__module__", "") or "").split(".")[0]
    return has_source(rule.fun) and module not in ("numpy", "scipy")


def _bound(
    lw: Lowerer, rule: UserRule, args: list[Value], kwargs: dict[str, Value], node: Any
) -> tuple[list[Value], UserRule]:
    """Return one value per position; what a library function takes by name only stays by name."""
    from s2sad.frontend.arguments import UNKNOWN, known_value, parameters_of

    if has_source(rule.fun) and not _passes_on(rule):
        try:
            bound = bind_arguments(lw, rule.fun, args, kwargs, node)
        except SourceNotFoundError:
            if not lw.ctx.as_is:
                raise
            bound = _bound_by_signature(lw, rule, args, kwargs, node)
        kinds = [p.kind for p in inspect.signature(rule.fun).parameters.values()]
        at = kinds.index(inspect.Parameter.VAR_POSITIONAL) if inspect.Parameter.VAR_POSITIONAL in kinds else -1
        return bound, replace(rule, variadic=at)
    names = parameters_of(rule.fun) or ()
    bound, keywords = list(args), dict[str, Any]()
    for name, value in kwargs.items():
        keywords[name] = known_value(value)
        if keywords[name] is UNKNOWN and len(bound) < len(names) and names[len(bound)] == name:
            bound.append(value)
            del keywords[name]
        elif keywords[name] is UNKNOWN:
            lw.fail(node, f"`{name}` must be known at transform time: `{rule.fun.__name__}` has a rule of yours",
                    "Pass it by position.")  # fmt: skip
    return bound, replace(rule, keywords=tuple(keywords.items()))


def _passes_on(rule: UserRule) -> bool:
    """Say whether a library function takes what it is given as `*args, **kwds`: it is called as the user calls it."""
    kinds = {p.kind for p in inspect.signature(rule.fun).parameters.values()}
    return not _reads_source(rule) and kinds >= {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}


def _bound_by_signature(
    lw: Lowerer, rule: UserRule, args: list[Value], kwargs: dict[str, Value], node: Any
) -> list[Value]:
    """Bind the arguments of a function that has no source to read defaults from."""
    try:
        bound = inspect.signature(rule.fun).bind(*args, **kwargs)
    except TypeError as error:
        return lw.fail(node, f"`{rule.fun.__name__}`: {error}", "", ArgumentError)
    given = set(bound.arguments)
    bound.apply_defaults()
    values: list[Value] = []
    for name, value in bound.arguments.items():
        if isinstance(value, tuple):
            values.append(StructV("tuple", tuple(range(len(value))), value))
        else:
            values.append(value if name in given else outside_value(lw, value, name, node))
    return values


def _instance(lw: Lowerer, rule: UserRule, types: tuple[Type, ...], node: Any) -> Instance:
    """Return the function itself as a function of the program."""
    try:
        with undone(lw.ctx, False):
            if _reads_source(rule):
                return _python(lw, rule, types, node)
            return _library(lw, rule, types, node)
    except NOT_LOWERED as error:
        if lw.ctx.as_is:
            name, params = _stub(lw, rule, types)
            return sampled(lw, rule, name, params, types, node, str(error))
        raise with_way_out(error) from None


@contextmanager
def undone(ctx: Context, rule: bool = True) -> Generator[None, None, None]:
    """Take back what a lowering added to the program if it fails; say that a `rule` is lowered."""
    before = dict(ctx.instances)
    ctx.in_rule += rule
    try:
        yield
    except Exception:
        ctx.instances.clear()
        ctx.instances.update(before)
        raise
    finally:
        ctx.in_rule -= rule


def with_way_out(error: Exception) -> Exception:
    """Return the error of a rule that the compiled target cannot take, naming the target that can."""
    if not isinstance(error, UnsupportedSyntaxError | MissingRuleError | SourceNotFoundError):
        return error
    return type(error)(error.what, error.span, f"{error.why}\n{WAY_OUT}".strip())


def _python(lw: Lowerer, rule: UserRule, types: tuple[Type, ...], node: Any) -> Instance:
    known = {id(instance) for instance in lw.ctx.instances.values()}
    inner = instantiate(lw.ctx, rule.fun, types, lw.span(node))
    if inner.result is None or inner.function is None:
        raise BottomReached
    name = lw.ctx.unique(inner.name)
    if id(inner) not in known and not _is_called(lw.ctx, inner.name):  # the user's own name for what is called
        name, inner.name = inner.name, name
        inner.function = replace(inner.function, name=inner.name)
    captured = list(inner.captured)
    return Instance(name, rule.fun, types, replace(inner.function, name=name), inner.result, captured)


def _is_called(ctx: Context, name: str) -> bool:
    return any(
        isinstance(stmt, CallStmt) and stmt.callee == name
        for function in ctx.functions().values()
        for stmt in statements(function.body)
    )


def _library(lw: Lowerer, rule: UserRule, types: tuple[Type, ...], node: Any) -> Instance:
    from s2sad.frontend.calls import library_call

    name, params = _stub(lw, rule, types)
    inner = Lowerer(lw.ctx, lw.source, {}, [], {p.name for p in params})
    leaves: list[Expr] = [Var(p.name, p.type) for p in params]
    values = [rebuild(kind, leaves) for kind in types]
    keywords: dict[str, Value] = {key: StaticV(value) for key, value in rule.keywords}
    result = library_call(inner, rule.fun, values, keywords, node)
    outs = tuple(leaves_of(result))
    body = (*inner.block, Return(outs))
    kind = type_of(result)
    return Instance(name, rule.fun, types, Function(name, params, body, tuple(o.type for o in outs)), kind)


def _stub(lw: Lowerer, rule: UserRule, types: tuple[Type, ...]) -> tuple[str, tuple[Param, ...]]:
    name = getattr(rule.fun, "__name__", "ruled")
    name = lw.ctx.unique(name if name.isidentifier() else "ruled")
    kinds = [leaf for kind in types for leaf in leaf_types(kind)]
    return name, tuple(Param(f"x{i}" if len(kinds) > 1 else "x", kind) for i, kind in enumerate(kinds))


class Node:
    """Stands for the call of a rule where an error needs a place."""

    def __init__(self, span: Span) -> None:
        """Take the place of the function's definition."""
        self.lineno, self.col_offset = max(span.line, 1), span.column
        self.end_lineno, self.end_col_offset = max(span.end_line, 1), span.end_column


def rule_span(instance: Instance, *functions: Any) -> Span:
    """Return where the first of a rule's functions that has a text stands; without one, where the ruled one does."""
    assert instance.function is not None
    return next((place for fun in functions if (place := place_of(fun)) is not None), instance.function.span)


def rule_lowerer(ctx: Context, instance: Instance) -> tuple[Lowerer, list[Value]]:
    """Start a function that has the parameters of the ruled one; return its arguments' values."""
    assert instance.function is not None
    rule: UserRule = instance.rule
    span = rule_span(instance, rule.bwd, rule.jvp)
    source = Source(span.function or instance.name, None, span.file, 1, 0, {}, {})
    params = instance.function.params
    captured = {id(item.read()): item for item in instance.captured}
    lw = Lowerer(ctx, source, {}, [], {p.name for p in params}, captured=captured)
    leaves: list[Expr] = [Var(p.name, p.type) for p in params]
    return lw, [rebuild(kind, leaves) for kind in instance.types]


def _discover(ctx: Context, instance: Instance) -> None:
    """Find the outer arrays that the rule reads: they become arguments like those of the body."""
    rule: UserRule = instance.rule
    assert instance.function is not None and instance.result is not None
    fn = instance.function
    lw, args = rule_lowerer(ctx, instance)
    known = dict(lw.captured)
    seeds: list[Expr] = [Var(lw.fresh("seed"), kind) for kind in leaf_types(instance.result)]
    dots: list[Expr] = [Var(lw.fresh(f"{p.name}_dot"), p.type) for p in fn.params]
    ctx.discovering.append(instance.fun)
    try:
        with undone(ctx):
            if rule.fwd is not None:
                kind = instance.result
                lower_reverse(lw, instance, args, lambda outs: rebuild(kind, list(seeds)))
            if rule.makers is not None:
                kind = instance.result
                every = range(len(rule.makers))
                lower_two_stage(lw, instance, args, lambda outs: rebuild(kind, list(seeds)), every)
            if rule.jvp is not None:
                lower_forward(lw, instance, args, [rebuild(kind, dots) for kind in instance.types])
    except (RuleError, BottomReached, *NOT_LOWERED):
        return  # derivation meets it again, and decides what to do; a rule shared with a function around is under way
    finally:
        ctx.discovering.pop()
    extra = [item for key, item in lw.captured.items() if key not in known]
    taken = {p.name for p in fn.params} | _names_in(fn)
    renamed = [_renamed(item, taken) for item in extra]
    instance.captured = [*instance.captured, *renamed]
    params = (*fn.params, *(Param(item.var.name, item.var.type) for item in renamed))
    instance.function = replace(fn, params=params)


def _names_in(fn: Function) -> set[str]:
    return set(names_in(fn.body))


def _renamed(item: Captured, taken: set[str]) -> Captured:
    name, count = item.name, 1
    while name in taken:
        count += 1
        name = f"{item.name}_{count}"
    taken.add(name)
    return Captured(name, item.read, Var(name, item.var.type))


def lower_reverse(
    lw: Lowerer, instance: Instance, args: list[Value], out_bar: Callable[[list[Expr]], Value]
) -> list[Value]:
    """Lower `fwd` and `bwd`; return the cotangent of each parameter, None for those that get none.

    Raises:
        RuleError: `fwd` gives no pair or another result, `bwd` another number of cotangents.
    """
    from s2sad.frontend.calls import call_value

    rule: UserRule = instance.rule
    assert rule.bwd is not None
    node = Node(rule_span(instance, rule.bwd))
    count, args = len(args), rule.spread(args, _items)
    out, residuals = lower_fwd(lw, instance, args)
    fixed = [args[i] for i in rule.nondiff]
    given = call_value(lw, StaticV(rule.bwd), [*fixed, residuals, out_bar(leaves_of(out))], {}, node)
    wanted = [i for i in range(len(args)) if i not in rule.nondiff]
    bars = given.items if isinstance(given, StructV) and given.kind in ("tuple", "list") else None
    if bars is None or len(bars) != len(wanted):
        raise mismatch(
            f"the bwd of `{title(instance)}` gives another number of cotangents",
            f"a tuple of {len(wanted)} cotangents, one for each differentiated argument", _text(given),
            rule_span(instance, rule.bwd),
        )  # fmt: skip
    by_argument = dict(zip(wanted, bars, strict=True))
    every: list[Value] = [by_argument.get(i, StaticV(None)) for i in range(len(args))]
    return rule.gathered(every, count, _tuple)


def lower_fwd(lw: Lowerer, instance: Instance, args: list[Value]) -> tuple[Value, Value]:
    """Lower `fwd` of arguments that are spread; return the result that it gives, and the residuals.

    Raises:
        RuleError: it gives no pair, or a result unlike the function's own.
    """
    from s2sad.frontend.calls import call_value

    rule: UserRule = instance.rule
    assert rule.fwd is not None and instance.function is not None
    keywords: dict[str, Value] = {key: StaticV(value) for key, value in rule.keywords}
    pair = call_value(lw, StaticV(rule.fwd), args, keywords, Node(rule_span(instance, rule.bwd)))
    if not (isinstance(pair, StructV) and len(pair.items) == 2):
        raise mismatch(f"the fwd of `{title(instance)}` gives no pair", "(out, residuals)", _text(pair),
                       rule_span(instance, rule.fwd))  # fmt: skip
    check_result(instance, pair.items[0], f"the result that the fwd of `{title(instance)}` gives", rule.fwd)
    return pair.items[0], pair.items[1]


def lower_two_stage(
    lw: Lowerer, instance: Instance, args: list[Value], out_bar: Callable[[list[Expr]], Value], varying: Iterable[int]
) -> list[Value]:
    """Lower the makers of the arguments that vary; return the cotangent of each parameter, None for the others.

    The result that they are given is a call of the function, so that a further derivative goes by its rule again.
    """
    from s2sad.frontend.calls import call_value

    rule: UserRule = instance.rule
    assert rule.makers is not None and instance.function is not None
    node = Node(instance.function.span)
    keywords: dict[str, Value] = {key: StaticV(value) for key, value in rule.keywords}
    count, args = len(args), rule.spread(args, _items)
    ans = call_value(lw, StaticV(rule.owner), args, dict(keywords), node)
    bars: list[Value] = [StaticV(None) for _ in args]
    given = out_bar(leaves_of(ans))
    for at in varying:
        if at >= len(args) or at >= len(rule.makers) or rule.makers[at] in (None, ...):
            continue
        pull = call_value(lw, StaticV(rule.makers[at]), [ans, *args], dict(keywords), node)
        bars[at] = call_value(lw, pull, [given], {}, node)
    return rule.gathered(bars, count, _tuple)


def _items(value: Value) -> tuple[Value, ...]:
    assert isinstance(value, StructV)
    return value.items


def title(instance: Instance) -> str:
    """Return the name that the user gave the function, for messages."""
    name = getattr(instance.rule.fun, "__name__", instance.name)
    return instance.name if name == "<lambda>" else name


def _text(value: Value) -> str:
    return "None" if isinstance(value, StaticV) and value.value is None else type_text(type_of(value))


def check_result(instance: Instance, out: Value, what: str, fun: Any) -> None:
    """Check what `fun` of a rule gives as the result against the function's own; raises RuleError."""
    assert instance.result is not None
    _same_kind(instance.result, type_of(out), what, rule_span(instance, fun))


def _same_kind(expected: Type, received: Type, what: str, span: Span) -> None:
    wrong = mismatch(f"{what} differs from the function's own", type_text(expected), type_text(received), span)
    match expected, received:
        case Struct(kind, keys, items), Struct(other, others, parts):
            loose = {kind, other} <= {"tuple", "list"}
            if (kind != other and not loose) or keys != others:
                raise wrong
            for item, part in zip(items, parts, strict=True):
                _same_kind(item, part, what, span)
        case Scalar(dtype), Scalar(given):
            if np.dtype(dtype).kind != np.dtype(given).kind:
                raise wrong
        case Array(dtype, dims), Array(given, others):
            if len(dims) != len(others) or np.dtype(dtype).kind != np.dtype(given).kind or _differ(dims, others):
                raise wrong
        case _:
            if type(expected) is not type(received):
                raise wrong


def _differ(dims: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    """Say whether two shapes surely differ."""
    pairs = zip(dims, others, strict=True)
    return any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)


def lower_forward(lw: Lowerer, instance: Instance, args: list[Value], tangents: list[Value]) -> tuple[Value, Value]:
    """Lower a tangent rule; return the result and its tangent.

    Raises:
        RuleError: the rule gives no pair, or a result unlike the function's own.
    """
    from s2sad.frontend.calls import call_value

    rule: UserRule = instance.rule
    assert rule.jvp is not None and instance.function is not None
    span = rule_span(instance, rule.jvp)
    node = Node(span)
    args, tangents = rule.spread(args, _items), rule.spread(tangents, _items)
    if rule.per_argument is not None:
        return _summed(lw, rule, args, tangents, node)
    wanted = [i for i in range(len(args)) if i not in rule.nondiff]
    primals, directions = _tuple([args[i] for i in wanted]), _tuple([tangents[i] for i in wanted])
    keywords: dict[str, Value] = {key: StaticV(value) for key, value in rule.keywords}
    pair = call_value(lw, StaticV(rule.jvp), rule.arranged(args, primals, directions), keywords, node)
    if not (isinstance(pair, StructV) and len(pair.items) == 2):
        raise mismatch(f"the rule of `{title(instance)}` gives no pair", "(out, out_dot)", _text(pair), span)
    check_result(instance, pair.items[0], f"the result that the rule of `{title(instance)}` gives", rule.jvp)
    return pair.items[0], pair.items[1]


def _summed(
    lw: Lowerer, rule: UserRule, args: list[Value], tangents: list[Value], node: Any
) -> tuple[Value, Value]:
    """Add the tangents that one rule per argument gives; a rule that is None gives none."""
    from s2sad.frontend.calls import call_value

    out = call_value(lw, StaticV(rule.owner), args, {}, node)
    total: Value = StaticV(None)
    for one, dot in zip(rule.per_argument or (), tangents, strict=True):
        if one is None or not any(is_inexact(leaf.type) for leaf in leaves_of(dot)):
            continue
        term = call_value(lw, StaticV(one), [dot, out, *args], {}, node)
        total = term if isinstance(total, StaticV) else _added(total, term)
    return out, total


def _added(a: Value, b: Value) -> Value:
    if isinstance(a, StructV) and isinstance(b, StructV):
        return StructV(a.kind, a.keys, tuple(_added(x, y) for x, y in zip(a.items, b.items, strict=True)))
    assert isinstance(a, V) and isinstance(b, V)
    return V(build(operator.add, a.expr, b.expr))


def _tuple(items: list[Value]) -> StructV:
    return StructV("tuple", tuple(range(len(items))), tuple(items))
