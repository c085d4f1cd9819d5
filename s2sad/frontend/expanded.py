"""`vmap`, `jacfwd`, `jacrev` and `hessian` inside a function, written out as Python over simpler calls."""

from __future__ import annotations

import textwrap
from typing import Any

import gast
import numpy as np

from s2sad.errors import ArgumentError, NotDifferentiableError
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.transforms import Closed, Derivation, chosen_parameters, close
from s2sad.frontend.values import FuncV, StaticV, StructV, V, Value, type_of
from s2sad.ir.nodes import Var
from s2sad.ir.types import Array, ListOf, Scalar, Static, Struct, Type, is_complex, is_inexact, rank


def calling(lw: Lowerer, fun: Value, count: int, named: tuple[str, ...], node: Any) -> FuncV:
    """Return an inner function that only calls `fun`: a ufunc, a function with a rule, a pullback."""
    names = ["x"] if count == 1 else [f"x{i}" for i in range(count)]
    passed = ", ".join([*names, *(f"{name}={name}" for name in named)])
    return _written(lw, f"def {_name(fun)}_({', '.join([*names, *named])}): return function({passed})",
                    {"function": fun}, node)  # fmt: skip


def expand(
    lw: Lowerer, derivation: Derivation, fun: Value, args: list[Value], kwargs: dict[str, Value], node: Any
) -> FuncV:
    """Return the inner function that a transform of `fun` is, for these arguments."""
    if derivation.option("has_aux") or derivation.option("holomorphic"):
        lw.fail(node, f"`{derivation.kind}` with has_aux or holomorphic inside a function is not supported")
    if kwargs:
        lw.fail(node, f"`{derivation.kind}` inside a function takes its arguments by position")
    if derivation.kind == "vmap":
        return _batched(lw, derivation, fun, args, node)
    closed = close(lw, fun, args, {}, node)
    return _jacobian(lw, derivation, fun, closed, args, node)


def _name(fun: Value) -> str:
    if isinstance(fun, FuncV):
        return fun.name
    named = getattr(fun.value, "__name__", "function") if isinstance(fun, StaticV) else "function"
    return named if named.isidentifier() else "function"


def _written(lw: Lowerer, text: str, scope: dict[str, Value], node: Any) -> FuncV:
    """Return an inner function of this text; everything in it stands where the call stands."""
    import ast

    tree: Any = gast.ast_to_gast(ast.parse(textwrap.dedent(text)))
    made = tree.body[0]
    for part in gast.walk(made):
        if hasattr(part, "lineno") or isinstance(part, gast.stmt | gast.expr):
            gast.copy_location(part, node)
    env: dict[str, Value] = {"np": StaticV(np), **scope}
    return FuncV(made, lw.source, env, made.name)


# ---- vmap ----


def _batched(lw: Lowerer, derivation: Derivation, fun: Value, args: list[Value], node: Any) -> FuncV:
    """A loop over the batch that stores or gathers one result per call."""
    axes = derivation.option("in_axes")
    axes = tuple(axes) if isinstance(axes, tuple | list) else (axes,) * len(args)
    if len(axes) != len(args):
        lw.fail(node, f"vmap has in_axes for {len(axes)} arguments but was given {len(args)}", "", ArgumentError)
    out_axes = derivation.option("out_axes")
    batch = _Batch(lw, node)
    names = ["xs"] if len(args) == 1 else [f"xs{i}" for i in range(len(args))]
    parts = [batch.element(name, type_of(a), axis) for name, a, axis in zip(names, args, axes, strict=True)]
    if not batch.lengths:
        lw.fail(node, "vmap maps over nothing: every in_axes is None", "", ArgumentError)
    elements: list[Value] = [_stand_in(kind, f"{name}_i") for name, (_, kind) in zip(names, parts, strict=True)]
    closed = close(lw, fun, elements, {}, node)
    assert closed.instance.result is not None
    head = [f"count = {batch.lengths[0]}"]
    for other in batch.lengths[1:]:
        head += [f"if {other} != count:", "    raise ValueError('vmap needs batches of one length')"]
    call = f"function({', '.join(_apart(lw, closed, parts, node))})"
    results = _Results(lw, node, batch)
    shown = results.add("out", closed.instance.result, out_axes, "value")
    lines = [*head, *results.start, "for i in range(count):", f"    value = {call}",
             *(f"    {line}" for line in results.steps), *results.ends, f"return {shown}"]  # fmt: skip
    body = textwrap.indent("\n".join(lines), "    ")
    text = f"def {_name(fun)}_vmap({', '.join(names)}):\n{body}"
    return _written(lw, text, {"function": fun, **batch.scope}, node)


def _apart(lw: Lowerer, closed: Closed, parts: list[tuple[str, Type]], node: Any) -> list[str]:
    """Return what each call gets: a copy of what the function writes into, as the arrays are the caller's."""
    written = lw.ctx.writes(lw.ctx, closed.instance) if lw.ctx.writes is not None else frozenset[int]()
    texts = [text for text, _ in parts]
    for at, (name, kind, places) in enumerate(closed.parameters[: len(parts)]):
        if written.isdisjoint(places):
            continue
        if not isinstance(kind, Array):
            lw.fail(node, f"the function writes into `{name}`, of which vmap gives every call its own",
                    f"Copy in the function what it writes: `{name} = ...`.")  # fmt: skip
        texts[at] = f"np.copy({texts[at]})"
    return texts


def _stand_in(kind: Type, name: str) -> Value:
    """Return a value of a type, to find out what a call would give; it is never computed."""
    match kind:
        case Struct(container, keys, items):
            parts = tuple(_stand_in(item, f"{name}_{at}") for at, item in enumerate(items))
            return StructV(container, keys, parts)
        case Static(value):
            return StaticV(value)
        case _:
            return V(Var(name, kind))


class _Batch:
    """How one element is taken out of each batched argument."""

    def __init__(self, lw: Lowerer, node: Any) -> None:
        self.lw, self.node = lw, node
        self.lengths: list[str] = []
        self.scope: dict[str, Value] = {}

    def element(self, text: str, kind: Type, axis: Any) -> tuple[str, Type]:
        """Return the text and type of one element of an argument."""
        if axis is None:
            return text, kind
        match kind:
            case Struct(container, keys, items):
                axes = _axes_of(axis, keys)
                pairs = [
                    self.element(access(text, container, key), item, a)
                    for key, item, a in zip(keys, items, axes, strict=True)
                ]
                made = Struct(container, keys, tuple(k for _, k in pairs))
                return self.display(container, keys, [t for t, _ in pairs]), made
            case Array(dtype, dims, _) if isinstance(axis, int) and -len(dims) <= axis < len(dims):
                axis %= len(dims)
                self.lengths.append(f"{text}.shape[{axis}]")
                rest = (*dims[:axis], *dims[axis + 1 :])
                index = f"{text}[{':, ' * axis}i]"
                return index, Array(dtype, rest, "A") if rest else Scalar(dtype)
            case _:
                return self.lw.fail(self.node, f"vmap cannot map over axis {axis!r} of this argument",
                                    "Pass None in in_axes for what every call gets whole.", ArgumentError)  # fmt: skip

    def display(self, container: Any, keys: tuple[Any, ...], parts: list[str]) -> str:
        """Write a container of these parts."""
        if container == "dict":
            return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(keys, parts, strict=True)) + "}"
        if container == "list":
            return f"[{', '.join(parts)}]"
        if container == "tuple":
            return f"({', '.join(parts)},)"
        name = container.__name__
        self.scope[name] = StaticV(container)
        return f"{name}({', '.join(parts)})"


def access(text: str, container: Any, key: Any) -> str:
    """Write how an item of a container is read."""
    return f"{text}[{key!r}]" if container in ("dict", "list", "tuple") else f"{text}.{key}"


def _axes_of(axis: Any, keys: tuple[Any, ...]) -> list[Any]:
    if isinstance(axis, dict):
        return [axis.get(key) for key in keys]
    return list(axis) if isinstance(axis, tuple | list) else [axis] * len(keys)


class _Results:
    """How the results of the calls are put together."""

    def __init__(self, lw: Lowerer, node: Any, batch: _Batch) -> None:
        self.lw, self.node, self.batch = lw, node, batch
        self.start: list[str] = []
        self.steps: list[str] = []
        self.ends: list[str] = []

    def add(self, name: str, kind: Type, axis: Any, value: str) -> str:
        """Collect one result, a container item by item; return the text of the whole."""
        match kind:
            case Struct(container, keys, items):
                parts = [
                    self.add(f"{name}_{at}", item, a, access(value, container, key))
                    for at, (key, item, a) in enumerate(zip(keys, items, _axes_of(axis, keys), strict=True))
                ]
                return self.batch.display(container, keys, parts)
            case Scalar(dtype):
                self.start.append(f"{name} = np.empty(count, np.{'bool_' if dtype == 'bool' else dtype})")
                self.steps.append(f"{name}[i] = {value}")
                return name
            case Array(_, dims) if isinstance(axis, int) and -len(dims) - 1 <= axis <= len(dims):
                self.start.append(f"{name} = []")
                self.steps.append(f"{name}.append({value})")
                whole = f"np.stack({name})"
                moved = whole if axis in (0, -len(dims) - 1) else f"np.moveaxis({whole}, 0, {axis})"
                self.ends.append(f"{name}_stacked = {moved}")
                return f"{name}_stacked"
            case Static(None):
                return "None"
            case _:
                return self.lw.fail(self.node, "vmap cannot stack this result",
                                    "Return numbers, arrays or containers of them; out_axes are integers.")  # fmt: skip


# ---- Jacobians ----


def _jacobian(
    lw: Lowerer, derivation: Derivation, fun: Value, closed: Closed, args: list[Value], node: Any
) -> FuncV:
    argnums = derivation.option("argnums")
    names = [name for name, _, _ in closed.parameters]
    chosen = chosen_parameters(lw, argnums, closed, node)
    result = closed.instance.result
    assert result is not None
    for word, kind in (("result", result), *((f"argument `{name}`", kind) for name, kind, _ in chosen)):
        if isinstance(kind, Struct | Static | ListOf) or not is_inexact(kind) or is_complex(kind):
            lw.fail(node, f"`{derivation.kind}` inside a function needs a real array or number as its {word}",
                    "Use `jvp` or `vjp` there.", NotDifferentiableError)  # fmt: skip
    kinds = {"jacobian": "jacrev"}
    mode = kinds.get(derivation.kind, derivation.kind)
    lines: list[str] = []
    shown: list[str] = []
    for name, kind, _ in chosen:
        write = {"jacrev": _rows, "jacfwd": _columns, "hessian": _hessian}[mode]
        lines += write(names, name, rank(kind), rank(result), f"jacobian_{name}")
        shown.append(f"jacobian_{name}")
    several = isinstance(argnums, tuple | list)
    lines.append(f"return ({', '.join(shown)},)" if several else f"return {shown[0]}")
    text = f"def {_name(fun)}_{mode}({', '.join(names)}):\n" + textwrap.indent("\n".join(lines), "    ")
    if len(args) != len(names):
        lw.fail(node, f"`{derivation.kind}` inside a function needs every argument by position")
    return _written(lw, text, {"function": fun, **_tools()}, node)


def _tools() -> dict[str, Value]:
    """The transforms that the text calls, found where the user's `s2sad` has them."""
    import importlib

    public = importlib.import_module("s2sad")
    return {name: StaticV(getattr(public, name)) for name in ("grad", "jvp", "vjp", "jacfwd")}


def _rows(names: list[str], name: str, inner: int, outer: int, target: str) -> list[str]:
    """Reverse mode: one pullback per element of the result."""
    if not outer:
        return [f"{target} = grad(function, {name!r})({', '.join(names)})"]
    shape = "out.shape" if not inner else f"out.shape + {name}.shape"
    gather = "np.stack" if inner else "np.array"
    return [
        f"out, pullback = vjp(lambda {name}: function({', '.join(names)}), {name})",
        "rows = []",
        "for i in range(out.size):",
        "    unit = np.zeros(out.size, out.dtype)",
        "    unit[i] = 1.0",
        "    rows.append(pullback(unit.reshape(out.shape))[0])",
        f"{target} = {gather}(rows).reshape({shape})",
    ]


def _columns(names: list[str], name: str, inner: int, outer: int, target: str) -> list[str]:
    """Forward mode: one tangent per element of the argument."""
    push = f"jvp(lambda {name}: function({', '.join(names)}), ({name},), ({{}},))[1]"
    if not inner:
        return [f"{target} = {push.format('1.0')}"]
    shape = f"{name}.shape" if not outer else f"out.shape + {name}.shape"
    gather = "np.moveaxis(np.stack(columns), 0, -1)" if outer else "np.array(columns)"
    return [
        *([f"out = function({', '.join(names)})"] if outer else []),
        "columns = []",
        f"for i in range({name}.size):",
        f"    unit = np.zeros({name}.size, {name}.dtype)",
        "    unit[i] = 1.0",
        f"    columns.append({push.format(f'unit.reshape({name}.shape)')})",
        f"{target} = {gather}.reshape({shape})",
    ]


def _hessian(names: list[str], name: str, inner: int, outer: int, target: str) -> list[str]:
    return [f"{target} = jacfwd(grad(function, {name!r}), {name!r})({', '.join(names)})"]
