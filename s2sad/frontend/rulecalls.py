"""Calls of functions that carry a rule of the user's: functions of the program that keep it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from s2sad.frontend.functions import bind_arguments, instantiate
from s2sad.frontend.generic import canonical, restored
from s2sad.frontend.infer import infer
from s2sad.frontend.lowerer import BottomReached, Instance, Lowerer
from s2sad.frontend.source import has_source
from s2sad.frontend.values import Value, leaves_of, rebuild, type_of
from s2sad.ir.nodes import Apply, CallStmt, Expr, Function, Param, Return, Var
from s2sad.ir.types import Array, Struct, Type


def call_ruled(lw: Lowerer, fn: Any, rule: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call a function with a rule; its body gives the value, the rule the derivative."""
    python = has_source(rule.fun)
    bound = bind_arguments(lw, rule.fun, args, kwargs, node) if python else args
    types, back = canonical(tuple(type_of(value) for value in bound), False)
    key = ("ruled", id(fn), types)
    instance = lw.ctx.instances.get(key)
    if instance is None:
        instance = _python(lw, rule, types, node) if python else _library(lw, rule.fun, types)
        instance.rule, instance.fun = rule, fn
        lw.ctx.instances[key] = instance
        lw.ctx.keep.append(fn)
    assert instance.result is not None
    span = lw.span(node)
    leaves: list[Expr] = [
        lw.atom(leaf, "argument", span) if isinstance(leaf.type, Array) else leaf
        for value in bound for leaf in leaves_of(value)
    ]  # fmt: skip
    result = restored(instance.result, back)
    results = [Var(lw.fresh(f"{instance.name}_value"), kind) for kind in _flat(result)]
    lw.emit(CallStmt(tuple(results), instance.name, tuple(leaves), span))
    return rebuild(result, list(results))


def _python(lw: Lowerer, rule: Any, types: tuple[Type, ...], node: Any) -> Instance:
    inner = instantiate(lw.ctx, rule.fun, types, lw.span(node))
    if inner.result is None or inner.function is None:
        raise BottomReached
    name = lw.ctx.unique(inner.name)
    return Instance(name, rule.fun, types, replace(inner.function, name=name), inner.result, inner.captured)


def _library(lw: Lowerer, fn: Any, types: tuple[Type, ...]) -> Instance:
    name = lw.ctx.unique(getattr(fn, "__name__", "ruled"))
    params = tuple(Param(f"x{i}" if len(types) > 1 else "x", kind) for i, kind in enumerate(types))
    args: tuple[Expr, ...] = tuple(Var(p.name, p.type) for p in params)
    kind = infer(fn, args, {})
    body = (Return((Apply(fn, args, kind),)),)
    return Instance(name, fn, types, Function(name, params, body, (kind,)), kind)


def _flat(kind: Type) -> list[Type]:
    if isinstance(kind, Struct):
        return [leaf for item in kind.items for leaf in _flat(item)]
    return [kind] if hasattr(kind, "dtype") or hasattr(kind, "item") else []
