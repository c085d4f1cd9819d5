"""What the derivatives of functions with a rule have in common: parameters, seeds, headings."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from s2sad.errors import Span
from s2sad.frontend.lowerer import Instance, Lowerer
from s2sad.frontend.operators import build
from s2sad.frontend.records import is_plain_class
from s2sad.frontend.rulecalls import title
from s2sad.frontend.values import Poison, StaticV, StructV, V, Value, literal, pack, rebuild
from s2sad.ir.nodes import Expr, Function, Param, Return, Stmt, Var
from s2sad.ir.types import Array, Static, Struct, Type, leaf_types
from s2sad.transform.algebra import zero


def span_of(instance: Instance) -> Span:
    """Return where the function with the rule is defined."""
    assert instance.function is not None
    return instance.function.span


def adjoint_function(
    instance: Instance, name: str, seeds: list[Var], shadows: list[Param], body: tuple[Stmt, ...],
    kinds: tuple[Type, ...],
) -> Function:  # fmt: skip
    """Return the adjoint whose body adds to the `shadows` and returns the cotangents of scalars."""
    assert instance.function is not None
    every = (*instance.function.params, *(Param(s.name, s.type) for s in seeds), *shadows)
    doc = f"Add the adjoint of `{title(instance)}`, by its own rule, to the adjoints of its arguments."
    return Function(name, every, body, kinds, doc, span_of(instance))


def tangent_function(
    instance: Instance, name: str, dots: list[Param], code: tuple[Stmt, ...], values: tuple[Expr, ...],
    out_dots: list[Expr],
) -> Function:  # fmt: skip
    """Return the tangent whose body gives these values and tangents."""
    assert instance.function is not None
    outputs = (*values, *out_dots)
    body = (*code, Return(outputs, span_of(instance)))
    doc = f"Value and tangent of `{title(instance)}`, by its own rule."
    params = (*instance.function.params, *dots)
    return Function(name, params, body, tuple(o.type for o in outputs), doc, span_of(instance))


def seeds_of(lw: Lowerer, result: Type, on: tuple[bool, ...]) -> list[Var | None]:
    """Return the parameters for the cotangents of a result's leaves, None for those that carry none."""
    kinds = leaf_types(result)
    names = ["result_bar"] if len(kinds) == 1 else [f"result_{i}_bar" for i in range(len(kinds))]
    rows = zip(names, kinds, on, strict=True)
    return [Var(lw.fresh(name), kind) if active else None for name, kind, active in rows]


def out_bar(result: Type, seeds: list[Var | None], outs: list[Expr]) -> Value:
    """Return the cotangent of a result as a value: zeros, like what `fwd` gave, where none is carried."""
    kinds = leaf_types(result)
    leaves: list[Expr] = [
        seed if seed is not None else build(np.zeros_like, out) if isinstance(kind, Array) else zero(kind)
        for seed, kind, out in zip(seeds, kinds, outs, strict=True)
    ]
    return rebuild(result, leaves)


def tangent_values(instance: Instance, leaves: list[Expr]) -> list[Value]:
    """Return the tangents that a rule is given, with zeros for what is fixed in the program."""
    return [_tangent(kind, leaves) for kind in instance.types]


def _tangent(kind: Type, leaves: list[Expr]) -> Value:
    match kind:
        case Struct((str() | type()) as container, keys, items) if container != "slice":
            return StructV(container, keys, tuple(_tangent(item, leaves) for item in items))
        case Static(held) if not isinstance(held, Poison):
            return _still(held)
        case _:
            return rebuild(kind, leaves)


def _still(held: Any) -> Value:
    """Return the tangent of a constant: zeros in place of the numbers that it holds, at any depth."""
    match held:
        case bool():
            return StaticV(held)
        case int() | float() | complex() | np.number():
            return V(literal(type(held)(0)))
        case np.ndarray() if held.dtype.kind in "iufc":
            size = pack("tuple", [literal(n) for n in held.shape])
            return V(build(np.zeros, size, dtype=held.dtype.type))
        case tuple() | list():
            names = getattr(held, "_fields", tuple(range(len(held))))
            kind = type(held) if hasattr(held, "_fields") else type(held).__name__
            return StructV(kind, names, tuple(map(_still, held)))
        case dict():
            return StructV("dict", tuple(held), tuple(map(_still, held.values())))
        case _ if dataclasses.is_dataclass(held) or is_plain_class(type(held)):
            return StructV(type(held), tuple(vars(held)), tuple(map(_still, vars(held).values())))
        case _:
            return StaticV(held)


def dot_params(lw: Lowerer, instance: Instance, on: tuple[bool, ...]) -> tuple[list[Param], list[Expr]]:
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
