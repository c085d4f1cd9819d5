"""`vmap` inside a function, written out as Python over simpler calls; Jacobians are in `jacobians.py`."""

from __future__ import annotations

import textwrap
from typing import Any

import gast
import numpy as np

from s2sad.errors import ArgumentError
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.transforms import Closed, Derivation, close
from s2sad.frontend.values import FuncV, StaticV, StructV, V, Value, type_of
from s2sad.ir.nodes import Var
from s2sad.ir.types import Array, Scalar, Static, Struct, Type


def calling(lw: Lowerer, fun: Value, count: int, named: tuple[str, ...], node: Any) -> FuncV:
    """Return an inner function that only calls `fun`: a ufunc, a function with a rule, a pullback."""
    names = ["x"] if count == 1 else [f"x{i}" for i in range(count)]
    passed = ", ".join([*names, *(f"{name}={name}" for name in named)])
    return written_function(lw, f"def {_name(fun)}_({', '.join([*names, *named])}): return function({passed})",
                    {"function": fun}, node)  # fmt: skip


def expand(
    lw: Lowerer, derivation: Derivation, fun: Value, args: list[Value], kwargs: dict[str, Value], node: Any
) -> FuncV:
    """Return the inner function that a transform of `fun` is, for these arguments."""
    from s2sad.frontend.jacobians import write_jacobian

    if derivation.kind == "vmap":
        return _batched(lw, derivation, fun, args, kwargs, node)
    name, text, scope = write_jacobian(lw, derivation, fun, args, kwargs, node)
    return written_function(lw, f"def {_name(fun)}_{name}{text}", {"function": fun, **scope}, node)


def _name(fun: Value) -> str:
    if isinstance(fun, FuncV):
        return fun.name
    named = getattr(fun.value, "__name__", "function") if isinstance(fun, StaticV) else "function"
    return named if named.isidentifier() else "function"


def written_function(lw: Lowerer, text: str, scope: dict[str, Value], node: Any) -> FuncV:
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


def _batched(
    lw: Lowerer, derivation: Derivation, fun: Value, args: list[Value], kwargs: dict[str, Value], node: Any
) -> FuncV:
    """A loop over the batch that stores or gathers one result per call; keyword arguments along axis 0."""
    axes = derivation.option("in_axes")
    axes = tuple(axes) if isinstance(axes, tuple | list) else (axes,) * len(args)
    if len(axes) != len(args):
        lw.fail(node, f"vmap has in_axes for {len(axes)} arguments but was given {len(args)}", "", ArgumentError)
    axes = (*axes, *(0 for _ in kwargs))
    out_axes = derivation.option("out_axes")
    batch = _Batch(lw, node)
    names = ["xs"] if len(args) == 1 else [f"xs{i}" for i in range(len(args))]
    names += kwargs
    given = [*args, *kwargs.values()]
    parts = [batch.element(name, type_of(a), axis) for name, a, axis in zip(names, given, axes, strict=True)]
    if not batch.lengths:
        lw.fail(node, "vmap maps over nothing: every in_axes is None", "", ArgumentError)
    elements: list[Value] = [_stand_in(kind, f"{name}_i") for name, (_, kind) in zip(names, parts, strict=True)]
    count = len(args)
    closed = close(lw, fun, elements[:count], dict(zip(kwargs, elements[count:], strict=True)), node)
    assert closed.instance.result is not None
    head = [f"count = {batch.lengths[0]}"]
    for other in batch.lengths[1:]:
        head += [f"if {other} != count:", "    raise ValueError('vmap needs batches of one length')"]
    texts = _apart(lw, closed, parts, node)
    passed = [text if at < count else f"{names[at]}={text}" for at, text in enumerate(texts)]
    call = f"function({', '.join(passed)})"
    results = _Results(lw, node, batch)
    shown = results.add("out", closed.instance.result, out_axes, "value")
    lines = [*head, *results.start, "for i in range(count):", f"    value = {call}",
             *(f"    {line}" for line in results.steps), *results.ends, f"return {shown}"]  # fmt: skip
    body = textwrap.indent("\n".join(lines), "    ")
    text = f"def {_name(fun)}_vmap({', '.join(names)}):\n{body}"
    return written_function(lw, text, {"function": fun, **batch.scope}, node)


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
        return display(self.scope, container, keys, parts)


def display(scope: dict[str, Value], container: Any, keys: tuple[Any, ...], parts: list[str]) -> str:
    """Write a container of these parts; `scope` gets its class."""
    if container == "dict":
        return "{" + ", ".join(f"{key!r}: {part}" for key, part in zip(keys, parts, strict=True)) + "}"
    if container == "list":
        return f"[{', '.join(parts)}]"
    if container == "tuple":
        return f"({', '.join(parts)},)" if parts else "()"
    name = container.__name__
    scope[name] = StaticV(container)
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
