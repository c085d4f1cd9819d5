"""Functions of `numba.guvectorize`: loops over the leading axes, in which the kernel fills its outputs.

    @numba.guvectorize(types, "(n),()->(n)")    def scaled(a, by):
    def scaled(a, by, out):                         out = np.empty((a.shape[0], a.shape[1]))
        for i in range(a.size):                     for i in range(a.shape[0]):
            out[i] = by * a[i]                          kernel(a[i], by[i], out[i])
                                                    return out

A number that the kernel takes elements of, as outputs are, is given as an array of one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import gast

from s2sad.frontend.calls import call_value
from s2sad.frontend.expanded import written_function
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.source import source_of
from s2sad.frontend.values import StaticV, V, Value
from s2sad.ir.types import Array


@dataclass(frozen=True, slots=True)
class _Given:
    """An argument: its name, its core axes, how many leading ones it has, all its lengths, and what it is used for."""

    name: str
    core: tuple[str, ...]
    leading: int
    dims: tuple[object, ...]
    is_indexed: bool
    is_output: bool


def call_gufunc(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """`kernel(a, b)`: what the kernel writes into its outputs; with outputs among the arguments, into those."""
    kernel = fn.gufunc_builder.py_func
    takes, gives = _signature(fn.signature)
    if kwargs or len(args) not in (len(takes), len(takes) + len(gives)):
        return lw.fail(node, f"`{kernel.__name__}`, made by @guvectorize, takes {len(takes)} arrays or numbers here",
                       "Call it without keywords; give all of its outputs, or none.")  # fmt: skip
    if fn.is_dynamic and len(args) == len(takes):
        return lw.fail(node, f"`{kernel.__name__}`, made by @guvectorize without types, makes no outputs",
                       "Give it arrays for them, or declare its types.")  # fmt: skip
    text = source_of(kernel).node
    indexed = {n.value.id for n in gast.walk(text) if isinstance(n, gast.Subscript) and isinstance(n.value, gast.Name)}
    places = zip(text.args.args, (*takes, *gives), args, strict=False)
    given = [_given(k, p.id in indexed, core, a, k >= len(takes)) for k, (p, core, a) in enumerate(places)]
    leading = max((g.leading for g in given), default=0)
    if any(g.leading not in (0, leading) or len(g.dims) < len(g.core) for g in given) or any(
        g.is_output and (g.leading != leading or not (g.core or leading)) for g in given
    ):
        return lw.fail(node, f"the arguments of `{kernel.__name__}`, made by @guvectorize, have other axes "
                       f"than `{fn.signature}` behind common ones",
                       "Give arrays with the same leading axes.")  # fmt: skip
    made = gives if len(args) == len(takes) else []
    scope: dict[str, Value] = {"kernel": StaticV(kernel)}
    return call_value(lw, written_function(lw, _loops(given, made, leading), scope, node), args, {}, node)


def _signature(text: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return the core axes of the inputs and of the outputs."""
    takes, _, gives = text.partition("->")
    axes = [[tuple(re.findall(r"\w+", one)) for one in re.findall(r"\(([^)]*)\)", side)] for side in (takes, gives)]
    return axes[0], axes[1]


def _given(position: int, is_indexed: bool, core: tuple[str, ...], value: Value, is_output: bool) -> _Given:
    kind = value.expr.type if isinstance(value, V) else None
    dims = kind.dims if isinstance(kind, Array) else ()
    return _Given(f"a{position}", core, max(len(dims) - len(core), 0), dims, is_indexed, is_output)


def _loops(given: list[_Given], made: list[tuple[str, ...]], leading: int) -> str:
    """Return the text of a function that calls `kernel` at each place of the leading axes."""
    counters = [f"i{axis}" for axis in range(leading)]
    before = next((g for g in given if g.leading), None)
    ends = [f"{before.name}.shape[{axis}]" for axis in range(leading)] if before is not None else []
    sizes = {dim: f"{g.name}.shape[{g.leading + axis}]" for g in given for axis, dim in enumerate(g.core)}
    lines = [f"def everywhere({', '.join(g.name for g in given)}):", *_compared(given, leading)]
    for k, core in enumerate(made):
        lengths = [*ends, *(sizes.get(dim, dim) for dim in core or ("1",))]
        lines.append(f"    out{k} = np.empty(({', '.join(lengths)},))")
    indent = "    "
    for counter, end in zip(counters, ends, strict=True):
        lines.append(f"{indent}for {counter} in range({end}):")
        indent += "    "
    parts = [_at(g, counters) for g in given]
    parts += [f"out{k}[{', '.join(counters)}]" if counters else f"out{k}" for k in range(len(made))]
    lines.append(f"{indent}kernel({', '.join(parts)})")
    results = [f"out{k}" if core else f"out{k}[{'..., ' if leading else ''}0]" for k, core in enumerate(made)]
    return "\n".join([*lines, *([f"    return {', '.join(results)}"] if results else [])]) + "\n"


def _compared(given: list[_Given], leading: int) -> list[str]:
    """Return the lines that raise where axes of one name have several lengths: nothing is spread over the others."""
    lines: list[str] = []
    first: dict[str, tuple[str, object]] = {}
    for g in given:
        names = [*(f"leading {axis}" for axis in range(leading if g.leading else 0)), *g.core]
        for axis, name in enumerate(names):
            length = f"{g.name}.shape[{axis}]"
            other, dim = first.setdefault(name, (length, g.dims[axis]))
            if dim != g.dims[axis]:
                lines.append(f"    if {length} != {other}:")
                lines.append("        raise ValueError('axes of a gufunc differ in length')")
    return lines


def _at(given: _Given, counters: list[str]) -> str:
    """Return the text of what the kernel is given of an argument."""
    place = f"{given.name}[{', '.join(counters)}]" if given.leading else given.name
    if given.core or not given.is_indexed:
        return place
    if given.is_output:
        *first, last = counters
        return f"{given.name}[{', '.join([*first, f'{last}:{last} + 1'])}]"
    return f"np.array([{place}])"
