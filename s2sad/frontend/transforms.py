"""Transforms called inside functions: `grad(lambda y: …)(x)`, `vjp(f, x)`, `vmap(f)(xs)`.

A transformed function is a structure that holds the function, and so may hold what an inner function
sees. When it is called, the function becomes one of the program, with what it sees as arguments; its
derivative is one more function of the program, which an outer derivative goes through like any other.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from s2sad.errors import ArgumentError, NotDifferentiableError
from s2sad.frontend.lowerer import BottomReached, Instance, Lowerer
from s2sad.frontend.values import FuncV, MethodV, StaticV, StructV, V, Value, leaves_of, rebuild, type_of
from s2sad.ir.nodes import CallStmt, Expr, Function, Var
from s2sad.ir.types import Dim, Static, Struct, Type, is_complex, is_inexact, rank

DERIVED = frozenset({"grad", "value_and_grad"})
EXPANDED = frozenset({"vmap", "jacfwd", "jacrev", "jacobian", "hessian"})
IMMEDIATE = frozenset({"jvp", "vjp", "hvp", "linearize"})
REFUSED = frozenset({"linear_transpose", "check_grads"})
_INSTEAD = {
    "linear_transpose": "Use `vjp` there: the pullback of a linear function is its transpose.",
    "check_grads": "Call it on the whole function.",
}


@dataclass(frozen=True, slots=True)
class Derivation:
    """The kind of a structure that is a transformed function: `grad(f)`, `vmap(f, in_axes)`."""

    kind: str
    options: tuple[tuple[str, Any], ...] = field(hash=False)  # axes may be dictionaries

    def option(self, name: str) -> Any:
        """Return an option by its keyword, None where the transform has none of that name."""
        return dict(self.options).get(name)


@dataclass(frozen=True, slots=True)
class Linear:
    """The kind of a structure that is a linear map at a point: "vjp" (a pullback) or "jvp"."""

    mode: str
    aux: bool = False


@dataclass(slots=True)
class Closed:
    """A function of the program and what to pass it: its arguments and all that it sees."""

    instance: Instance
    leaves: list[Expr]
    parameters: list[tuple[str, Type, list[int]]]
    """Of each argument the name, the type, and where its leaves are; the items of `*args` one by one."""
    back: dict[str, Dim]
    named: int = 0
    """How many of the last parameters can be given by name only."""


def transform_name(fn: Any) -> str:
    """Return the name of one of s2sad's transforms, "" for any other callable."""
    module = getattr(fn, "__module__", None) or ""
    name = getattr(fn, "__name__", "") if inspect.isfunction(fn) else ""
    return name if module.startswith("s2sad.api.") and name in DERIVED | EXPANDED | IMMEDIATE | REFUSED else ""


def call_transform(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Apply a transform to a function: one of this module's, or a function defined inside another."""
    from s2sad.frontend.linear import apply_at_a_point

    name = transform_name(fn)
    if name in REFUSED:
        lw.fail(node, f"`{name}` inside a differentiated function is not supported", _INSTEAD[name])
    try:
        bound = inspect.signature(fn).bind(*args, **kwargs)
    except TypeError as error:
        return lw.fail(node, f"`{name}` cannot be called so", f"{error}.", ArgumentError)
    bound.apply_defaults()
    given: dict[str, Any] = dict(bound.arguments)
    fun: Value = given.pop("fun")
    if name in IMMEDIATE:
        return apply_at_a_point(lw, name, fun, given, node)
    options = {k: known_option(lw, k, value, node) if is_value(value) else value for k, value in given.items()}
    return StructV(Derivation(name, tuple(options.items())), ("fun",), (fun,))


def is_value(value: Any) -> bool:
    """Tell what a call gave from a default."""
    return isinstance(value, V | StaticV | StructV | FuncV)


def known_option(lw: Lowerer, name: str, value: Value, node: Any) -> Any:
    """Return an option of a transform; a located error if it is only known at run time."""
    from s2sad.frontend.arguments import UNKNOWN

    known = known_structure(value)
    if known is UNKNOWN:
        lw.fail(node, f"`{name}` must be known at transform time", "Write it as a constant.")
    return known


def known_structure(value: Value) -> Any:
    """Return the Python object that a value is at transform time, dictionaries too, or a sentinel."""
    from s2sad.frontend.arguments import UNKNOWN, known_value

    if not (isinstance(value, StructV) and value.kind in ("dict", "tuple", "list")):
        return known_value(value)
    parts = [known_structure(item) for item in value.items]
    if any(part is UNKNOWN for part in parts):
        return UNKNOWN
    return dict(zip(value.keys, parts, strict=True)) if value.kind == "dict" else tuple(parts)


def call_transformed(lw: Lowerer, value: StructV, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call a transformed function, or a pullback."""
    from s2sad.frontend.linear import call_linear

    if isinstance(value.kind, Linear):
        return call_linear(lw, value, args, node)
    return _run(lw, close(lw, value, args, kwargs, node), node)


def needs_writing_out(fn: Any) -> bool:
    """Say whether a transformed function has no program of its own, but is written in simpler calls."""
    kind = getattr(fn, "s2sad_kind", "")
    return kind == "grad" and fn.options.aux


def as_derivation(fn: Any) -> StructV:
    """Return an object made by `vmap`, `jacfwd`, … as the structure this module works on."""
    names = {"argnums": "argnums", "in_axes": "in_axes", "out_axes": "out_axes"}
    options = {word: getattr(fn, name) for word, name in names.items() if hasattr(fn, name)}
    inner = getattr(fn, "options", None)
    options["has_aux"] = bool(getattr(inner, "aux", False))
    options["holomorphic"] = bool(getattr(inner, "holomorphic", False))
    return StructV(Derivation(fn.kind, tuple(options.items())), ("fun",), (StaticV(fn.fun),))


# ---- functions of the program ----


def close(lw: Lowerer, fun: Value, args: list[Value], kwargs: dict[str, Value], node: Any) -> Closed:
    """Return the function of the program that `fun` is for these arguments, and what to pass it."""
    from s2sad.frontend.expanded import calling, expand
    from s2sad.frontend.functional import Partial

    if isinstance(fun, StaticV) and needs_writing_out(fun.value):
        fun = as_derivation(fun.value)
    match fun:
        case FuncV():
            return _close_local(lw, fun, args, kwargs, node)
        case StructV(kind=Derivation() as derivation, items=(inner,)):
            if derivation.kind in EXPANDED:
                return _close_local(lw, expand(lw, derivation, inner, args, kwargs, node), args, kwargs, node)
            return _close_derived(lw, derivation, inner, args, kwargs, node)
        case StaticV(fn) if callable(fn) and _has_program(lw, fn):
            return _close_global(lw, fn, args, kwargs, node)
        case StaticV(fn) if callable(fn):
            return _close_local(lw, calling(lw, fun, len(args), tuple(kwargs), node), args, kwargs, node)
        case StructV(kind=Linear()):
            return _close_local(lw, calling(lw, fun, len(args), (), node), args, kwargs, node)
        case StructV(kind=Partial()) | MethodV():
            return _close_local(lw, calling(lw, fun, len(args), tuple(kwargs), node), args, kwargs, node)
        case _:
            return lw.fail(node, "a function is needed here")


def _has_program(lw: Lowerer, fn: Any) -> bool:
    from s2sad.frontend.calls import python_callee

    if lw.ctx.rule_of is not None and lw.ctx.rule_of(fn) is not None:
        return False
    return hasattr(fn, "s2sad_kind") or python_callee(fn)


def _close_local(lw: Lowerer, fn: FuncV, args: list[Value], kwargs: dict[str, Value], node: Any) -> Closed:
    """An inner function: what it sees comes first, then its own parameters, then captured arrays."""
    from s2sad.frontend.captures import pass_captured
    from s2sad.frontend.functions import bind_parameters, lifted, parameter_names
    from s2sad.frontend.values import seen_by

    bound = bind_parameters(lw, fn.node, fn.source, args, kwargs, node, fn.defaults)
    scope = {**seen_by(fn), **bound}
    instance = lifted(lw, fn.node, fn.source, scope)
    leaves: list[Expr] = []
    places: dict[str, list[int]] = {}
    for name, value in scope.items():
        own = leaves_of(value)
        places[name] = list(range(len(leaves), len(leaves) + len(own)))
        leaves += [_passed(lw, leaf, node) for leaf in own]
    names = [name for name in parameter_names(fn.node) if name in bound]
    parameters = [(name, type_of(bound[name]), places[name]) for name in names]
    leaves += pass_captured(lw, instance.captured)
    return Closed(instance, leaves, _spread(parameters, fn.node), {}, _by_name_only(fn.node))


def _spread(parameters: list[tuple[str, Type, list[int]]], node: Any) -> list[tuple[str, Type, list[int]]]:
    """Return the parameters with an entry for each item of `*args`."""
    spec = node.args
    found: list[tuple[str, Type, list[int]]] = []
    for name, kind, places in parameters:
        if spec.vararg is None or name != spec.vararg.id or not isinstance(kind, Struct):
            found.append((name, kind, places))
            continue
        taken = 0
        for at, item in enumerate(kind.items):
            count = len(flat(item))
            found.append((f"{name}[{at}]", item, places[taken : taken + count]))
            taken += count
    return found


def _by_name_only(node: Any) -> int:
    return len(node.args.kwonlyargs) + (node.args.kwarg is not None)


def _close_global(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Closed:
    """A function of a module, or a derivative of one."""
    from s2sad.frontend.captures import pass_captured
    from s2sad.frontend.functions import bind_arguments, instantiate, parameter_names
    from s2sad.frontend.generic import canonical
    from s2sad.frontend.source import source_of

    bound = bind_arguments(lw, fn, args, kwargs, node)
    types, back = canonical(tuple(type_of(value) for value in bound), False)
    instance = instantiate(lw.ctx, fn, types, lw.span(node))
    if instance.result is None:
        raise BottomReached
    plain = fn
    while hasattr(plain, "s2sad_kind"):
        plain = plain.fun
    text = source_of(plain).node
    names = parameter_names(text)[-len(bound) :]  # without `self`
    leaves: list[Expr] = []
    parameters: list[tuple[str, Type, list[int]]] = []
    for name, value in zip(names, bound, strict=True):
        own = leaves_of(value)
        parameters.append((name, type_of(value), list(range(len(leaves), len(leaves) + len(own)))))
        leaves += [_passed(lw, leaf, node) for leaf in own]
    leaves += pass_captured(lw, instance.captured)
    return Closed(instance, leaves, _spread(parameters, text), back, _by_name_only(text))


def _passed(lw: Lowerer, leaf: Expr, node: Any) -> Expr:
    from s2sad.frontend.calls import argument

    return argument(lw, leaf, lw.span(node))


def _run(lw: Lowerer, closed: Closed, node: Any) -> Value:
    """Call a function of the program."""
    from s2sad.frontend.generic import restored

    assert closed.instance.result is not None
    result = restored(closed.instance.result, closed.back)
    found = emit_call(lw, closed, closed.instance.function, closed.leaves, flat(result), node)
    return rebuild(result, list(found))


def emit_call(
    lw: Lowerer, closed: Closed, fn: Function | None, leaves: list[Expr], kinds: list[Type], node: Any
) -> list[Expr]:
    """Write a call of a function of the program; return what its results are called."""
    assert fn is not None
    hint = f"{fn.name}_value" if len(kinds) == 1 else f"{fn.name}_part"
    results = [Var(lw.fresh(hint), kind) for kind in kinds]
    passed = tuple(_passed(lw, leaf, node) for leaf in leaves)  # cotangents and tangents may be computed in place
    lw.emit(CallStmt(tuple(results), fn.name, passed, lw.span(node)))
    return list(results)


def flat(kind: Type) -> list[Type]:
    """Return the run-time leaves of a type, depth first."""
    if isinstance(kind, Struct):
        return [leaf for item in kind.items for leaf in flat(item)]
    return [] if isinstance(kind, Static) else [kind]


def derivative(lw: Lowerer, closed: Closed, mode: str, wrt: list[int], aux: bool, node: Any) -> Function:
    """Return one derivative of a function of the program."""
    if closed.instance.result is None or closed.instance.function is None:
        raise BottomReached
    if lw.ctx.derivative is None:
        return lw.fail(node, "a derivative inside a rule is not supported")
    key = ("derivative", closed.instance.name, mode, tuple(wrt), aux)
    found = lw.ctx.instances.get(key)
    if found is None:
        own = frozenset(at for _, _, places in closed.parameters for at in places)
        made = lw.ctx.derivative(lw.ctx, closed.instance, mode, tuple(wrt), aux, own, lw.span(node))
        found = Instance(made.name, None, (), made)
        lw.ctx.instances[key] = found
    assert found.function is not None
    return found.function


# ---- grad and value_and_grad ----


def _close_derived(
    lw: Lowerer, derivation: Derivation, fun: Value, args: list[Value], kwargs: dict[str, Value], node: Any
) -> Closed:
    inner = close(lw, fun, args, kwargs, node)
    argnums, aux = derivation.option("argnums"), bool(derivation.option("has_aux"))
    chosen = chosen_parameters(lw, argnums, inner, node)
    wrt = [at for _, kind, places in chosen for at in _inexact(lw, kind, places, node)]
    _require_scalar(lw, inner, aux, bool(derivation.option("holomorphic")), node)
    mode = "value_and_grad" if aux else derivation.kind
    fn = derivative(lw, inner, mode, wrt, aux, node)
    bars = iter(fn.results[len(fn.results) - len(wrt) :])
    parts = tuple(_filled(kind, bars) for _, kind, _ in chosen)
    gradient = _tuple(parts) if isinstance(argnums, tuple | list) else parts[0]
    value = inner.instance.result
    assert value is not None
    result = gradient if mode == "grad" else _tuple((value, gradient))
    if aux and derivation.kind == "grad":
        assert isinstance(value, Struct)
        fn = _reordered(lw, fn, len(flat(value)))
        result = _tuple((gradient, value.items[1]))
    made = Instance(fn.name, None, (), fn, result, inner.instance.captured)
    return Closed(made, inner.leaves, inner.parameters, inner.back, inner.named)


def _reordered(lw: Lowerer, fn: Function, count: int) -> Function:
    """Return `fn` giving its gradient first and then what is auxiliary, without the value."""
    from s2sad.ir.nodes import Param, Return

    key = ("reordered", fn.name)
    if key not in lw.ctx.instances:
        parts = tuple(Var(f"part_{i}", kind) for i, kind in enumerate(fn.results))
        kept = (*parts[count:], *parts[1:count])
        params = tuple(Param(p.name, p.type) for p in fn.params)
        call = CallStmt(parts, fn.name, tuple(Var(p.name, p.type) for p in fn.params), fn.span)
        name = lw.ctx.unique(f"{fn.name}_aux")
        whole = Function(name, params, (call, Return(kept, fn.span)), tuple(p.type for p in kept), "", fn.span)
        lw.ctx.instances[key] = Instance(name, None, (), whole)
    made = lw.ctx.instances[key].function
    assert made is not None
    return made


def chosen_parameters(lw: Lowerer, argnums: Any, closed: Closed, node: Any) -> list[tuple[str, Type, list[int]]]:
    """Return the parameters that `argnums` names: positions, names, or a tuple of them."""
    parameters = closed.parameters
    names = [name for name, _, _ in parameters]
    count = len(names) - closed.named
    found: list[tuple[str, Type, list[int]]] = []
    for wanted in argnums if isinstance(argnums, tuple | list) else (argnums,):
        if isinstance(wanted, str) and wanted in names:
            found.append(parameters[names.index(wanted)])
        elif isinstance(wanted, int) and -count <= wanted < count:
            found.append(parameters[:count][wanted])
        else:
            lw.fail(node, f"the function has no argument {wanted!r}",
                    f"Its arguments are {', '.join(names) or 'none'}.", ArgumentError)  # fmt: skip
    return found


def _inexact(lw: Lowerer, kind: Type, places: list[int], node: Any) -> list[int]:
    for leaf in flat(kind):
        if not is_inexact(leaf):
            lw.fail(node, "an integer has no gradient", "Pass a float, or choose other arguments with `argnums`.",
                    NotDifferentiableError)  # fmt: skip
    return places


def _require_scalar(lw: Lowerer, closed: Closed, aux: bool, holomorphic: bool, node: Any) -> None:
    kind = closed.instance.result
    if aux:
        if not (isinstance(kind, Struct) and len(kind.items) == 2):
            lw.fail(node, "with has_aux=True the function returns (output, aux)", "", NotDifferentiableError)
        assert isinstance(kind, Struct)
        kind = kind.items[0]
    if kind is None:
        raise BottomReached
    if isinstance(kind, Static | Struct) or not is_inexact(kind) or rank(kind):
        lw.fail(node, "a gradient needs a function with a real scalar result",
                "Use `vjp` with a cotangent, or `jacrev`.", NotDifferentiableError)  # fmt: skip
    if is_complex(kind) != holomorphic:
        lw.fail(node, "the gradient of a complex result needs holomorphic=True, that of a real one must not have it",
                "Differentiate a real output such as `abs(...)` or `.real`.", NotDifferentiableError)  # fmt: skip


def _filled(kind: Type, bars: Iterator[Type]) -> Type:
    """Return the structure of an argument with the types of its cotangents."""
    if isinstance(kind, Struct):
        return Struct(kind.kind, kind.keys, tuple(_filled(item, bars) for item in kind.items))
    if isinstance(kind, Static) or not is_inexact(kind):
        return Static(None)
    return next(bars)


def _tuple(items: tuple[Type, ...]) -> Type:
    return Struct("tuple", tuple(range(len(items))), items)
