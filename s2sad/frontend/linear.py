"""`jvp`, `vjp`, `hvp` and `linearize` inside functions: derivatives at a point, and linear maps kept for later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from s2sad.errors import ArgumentError
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.scopes import free_names
from s2sad.frontend.transforms import (
    Derivation,
    Linear,
    chosen_parameters,
    close,
    derivative,
    emit_call,
    flat,
    is_value,
    known_option,
)
from s2sad.frontend.values import Closure, FuncV, MethodV, RowsV, StaticV, StructV, V, Value, literal, rebuild, seen_by
from s2sad.ir.nodes import Const, Expr, Var
from s2sad.ir.types import Array, ListOf, Scalar, Static, Struct, Type, is_inexact, rank


def apply_at_a_point(lw: Lowerer, name: str, fun: Value, given: dict[str, Any], node: Any) -> Value:
    """Apply one of these transforms, which take their arguments with the function."""
    return _BY_NAME[name](lw, fun, given, node)


def _jvp(lw: Lowerer, fun: Value, given: dict[str, Any], node: Any) -> Value:
    primals, tangents = (_items(lw, given[name], name, node) for name in ("primals", "tangents"))
    if len(primals) != len(tangents):
        lw.fail(node, f"jvp was given {len(primals)} primals but {len(tangents)} tangents", "", ArgumentError)
    aux = bool(_option(lw, given, "has_aux", node))
    return _push(lw, fun, primals, tangents, aux, node)


def _push(lw: Lowerer, fun: Value, primals: list[Value], tangents: list[Value], aux: bool, node: Any) -> Value:
    """Return (out, out_dot[, aux])."""
    from s2sad.frontend.generic import restored

    closed = close(lw, fun, primals, {}, node)
    wrt: list[int] = []
    dots: list[Expr] = []
    for (_, kind, places), tangent in zip(closed.parameters, tangents, strict=False):
        for at, leaf, dot in zip(places, flat(kind), _like(lw, kind, tangent, "tangent", node), strict=True):
            if dot is not None and is_inexact(leaf):
                wrt.append(at)
                dots.append(dot)
    fn = derivative(lw, closed, "jvp", wrt, False, node)
    result = closed.instance.result
    assert result is not None
    kinds = [restored(kind, closed.back) for kind in fn.results]
    found = emit_call(lw, closed, fn, [*closed.leaves, *dots], kinds, node)
    outs, rest = found[: len(flat(result))], iter(found[len(flat(result)) :])
    out = rebuild(result, list(outs))
    moved = _moved(result, rest)
    if not aux:
        return StructV("tuple", (0, 1), (out, moved))
    if not (isinstance(out, StructV) and isinstance(moved, StructV) and len(out.items) == 2):
        return lw.fail(node, "with has_aux=True the function returns (output, aux)", "", ArgumentError)
    return StructV("tuple", (0, 1, 2), (out.items[0], moved.items[0], out.items[1]))


def _moved(kind: Type, dots: Iterator[Expr]) -> Value:
    if isinstance(kind, Struct):
        return StructV(kind.kind, kind.keys, tuple(_moved(item, dots) for item in kind.items))
    return StaticV(None) if isinstance(kind, Static) or not is_inexact(kind) else V(next(dots))


def _vjp(lw: Lowerer, fun: Value, given: dict[str, Any], node: Any) -> Value:
    from s2sad.frontend.calls import call_value

    primals = list(given["primals"])
    aux = bool(_option(lw, given, "has_aux", node))
    out = call_value(lw, fun, primals, {}, node)
    fun, *kept = (_own(lw, value, node) for value in (fun, *primals))
    items = StructV("tuple", tuple(range(len(kept))), tuple(kept))
    pullback = StructV(Linear("vjp", aux), ("fun", "args"), (fun, items))
    if not aux:
        return StructV("tuple", (0, 1), (out, pullback))
    if not (isinstance(out, StructV) and len(out.items) == 2):
        return lw.fail(node, "with has_aux=True the function returns (output, aux)", "", ArgumentError)
    return StructV("tuple", (0, 1, 2), (out.items[0], pullback, out.items[1]))


def _own(lw: Lowerer, value: Value, node: Any) -> Value:
    """Keep a value as it is now, whatever its name means later, and whatever is written into its arrays.

    Of a function that is what it sees, too.
    """
    from s2sad.frontend.functional import lower_list
    from s2sad.frontend.operators import build

    match value:
        case V(expr) if isinstance(expr.type, Array):
            name = expr.name if isinstance(expr, Var) else "argument"
            return V(lw.atom(build(np.copy, expr), f"{name}_kept", lw.span(node)))
        case V(Var(_, ListOf())) | RowsV():
            return lower_list(lw, value, node)
        case V(Var(name)):
            return lw.store_value(lw.fresh(f"{name}_kept"), value, lw.span(node))
        case StructV(kind, keys, items):
            return StructV(kind, keys, tuple(_own(lw, item, node) for item in items))
        case MethodV(owner, name):
            return MethodV(_own(lw, owner, node), name)
        case FuncV():
            env = {name: _own(lw, held, node) for name, held in seen_by(value).items()}
            defaults = {name: _own(lw, held, node) for name, held in value.defaults.items()}
            made = FuncV(value.node, value.source, env, value.name, defaults, value.apart)
            if value.name in free_names(value.node):
                env.setdefault(value.name, made)  # it calls itself
            return made
        case _:
            return value


def _linearize(lw: Lowerer, fun: Value, given: dict[str, Any], node: Any) -> Value:
    from s2sad.frontend.calls import call_value

    primals = list(given["primals"])
    out = call_value(lw, fun, primals, {}, node)
    fun, *kept = (_own(lw, value, node) for value in (fun, *primals))
    items = StructV("tuple", tuple(range(len(kept))), tuple(kept))
    return StructV("tuple", (0, 1), (out, StructV(Linear("jvp"), ("fun", "args"), (fun, items))))


def _hvp(lw: Lowerer, fun: Value, given: dict[str, Any], node: Any) -> Value:
    argnums = _option(lw, given, "argnums", node)
    primals, vectors = (_items(lw, given[name], name, node) for name in ("primals", "tangents"))
    closed = close(lw, fun, primals, {}, node)
    names = [name for name, _, _ in closed.parameters]
    chosen = [names.index(name) for name, _, _ in chosen_parameters(lw, argnums, closed, node)]
    if len(chosen) != len(vectors):
        lw.fail(node, f"hvp needs {len(chosen)} tangents, one per differentiated argument", "", ArgumentError)
    tangents: list[Value] = [StaticV(None)] * len(primals)
    for at, vector in zip(chosen, vectors, strict=True):
        tangents[at] = vector
    gradient = StructV(Derivation("grad", (("argnums", argnums),)), ("fun",), (fun,))
    pair = _push(lw, gradient, primals, tangents, False, node)
    assert isinstance(pair, StructV)
    return pair.items[1]


_BY_NAME = {"jvp": _jvp, "vjp": _vjp, "hvp": _hvp, "linearize": _linearize}


def call_linear(lw: Lowerer, value: StructV, args: list[Value], node: Any) -> Value:
    """Call a pullback, or the linear map that `linearize` gives."""
    fun, kept = value.items
    assert isinstance(kept, StructV)
    assert isinstance(value.kind, Linear)
    if value.kind.mode == "jvp":
        pair = _push(lw, fun, list(kept.items), args, False, node)
        assert isinstance(pair, StructV)
        return pair.items[1]
    return _pull(lw, fun, list(kept.items), args, value.kind.aux, node)


def _pull(lw: Lowerer, fun: Value, primals: list[Value], args: list[Value], aux: bool, node: Any) -> Value:
    """Return one cotangent per argument."""
    from s2sad.frontend.generic import restored

    if len(args) != 1:
        lw.fail(node, f"a pullback takes one cotangent, {len(args)} were given", "", ArgumentError)
    closed = close(lw, fun, primals, {}, node)
    result = closed.instance.result
    if aux and isinstance(result, Struct):
        result = result.items[0]
    assert result is not None
    seeds: list[Expr] = []
    for leaf, bar in zip(flat(result), _like(lw, result, args[0], "cotangent", node), strict=True):
        if is_inexact(leaf):
            seeds.append(bar if bar is not None else _nothing(lw, restored(leaf, closed.back), node))
    wrt: list[int] = []
    given = closed.parameters[: len(primals)]  # a default gets no cotangent
    for _, kind, places in given:
        wrt += [at for at, leaf in zip(places, flat(kind), strict=True) if is_inexact(leaf)]
    fn = derivative(lw, closed, "pullback", wrt, aux, node)
    kinds = [restored(kind, closed.back) for kind in fn.results]
    bars = iter(emit_call(lw, closed, fn, [*closed.leaves, *seeds], kinds, node))
    items = tuple(_moved(kind, bars) for _, kind, _ in given)
    return StructV("tuple", tuple(range(len(items))), items)


def _nothing(lw: Lowerer, kind: Type, node: Any) -> Expr:
    if isinstance(kind, Array):
        lw.fail(node, "a None cotangent of an array is not supported inside a function", "Pass zeros.")
    return literal(0.0)


def _like(lw: Lowerer, kind: Type, value: Value, word: str, node: Any) -> list[Expr | None]:
    """Return the leaves of a tangent or cotangent of a value of type `kind`; None is zero."""
    if isinstance(value, StaticV) and value.value is None:
        return [None] * len(flat(kind))
    match kind, value:
        case Struct(_, keys, items), StructV(_, others, parts) if keys == others:
            pairs = zip(items, parts, strict=True)
            return [leaf for item, part in pairs for leaf in _like(lw, item, part, word, node)]
        case Static(), _:
            return []
        case Struct(Closure()), FuncV() if not flat(kind):  # a lambda that sees nothing
            return []
        case Array() | Scalar(), V(expr) if rank(expr.type) == rank(kind):
            return [_floating(expr)]
        case _:
            return lw.fail(node, f"this {word} does not fit: it needs the structure and shape of its value",
                           "", ArgumentError)  # fmt: skip


def _floating(expr: Expr) -> Expr:
    if isinstance(expr, Const) and isinstance(expr.value, int):
        return literal(float(expr.value))
    return expr


def _items(lw: Lowerer, value: Any, word: str, node: Any) -> list[Value]:
    if isinstance(value, StructV) and value.kind in ("tuple", "list"):
        return list(value.items)
    return lw.fail(node, f"`{word}` must be a tuple or a list", "", ArgumentError)


def _option(lw: Lowerer, given: dict[str, Any], name: str, node: Any) -> Any:
    value: Any = given.get(name)
    return known_option(lw, name, value, node) if is_value(value) else value
