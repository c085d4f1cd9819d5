"""A derivative that stands alone: its parameters annotated, and arguments of another type refused.

A module that was written for vectors computes nonsense for matrices, and no compiler looks at the
call: so the text itself asks.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from s2sad.emit.wrap import WIDTH
from s2sad.ir.nodes import Function
from s2sad.ir.types import Array, ListOf, Scalar, Struct, Type

EXPECT = '''\
def _expect(name: str, value: object, kinds: str, rank: int) -> None:
    """Refuse an argument for which the derivatives of this file were not written."""
    given = np.asarray(value)
    if given.dtype.kind not in kinds or given.ndim != rank:
        raise TypeError(
            f"`{name}` is of dtype {given.dtype} and rank {given.ndim}, and this"
            " derivative is for another type: see the top of its file"
        )'''
"""The function that the guards of functions in plain Python call."""

_TAKEN = {"b": "b", "i": "biu", "u": "biu", "f": "biuf", "c": "biufc"}
"""Kinds of numbers that may stand for one of another kind; an array is written into, and keeps to its own."""


def guarded(text: str, fn: Function, compiled: bool, guards: bool = True) -> tuple[str, set[str]]:
    """Return the text of a function with annotations and guards, and the imports that they need.

    Before, and after in plain Python; in compiled code the guard is written out:

        def f_grad(x, k=2.0):            def f_grad(x: NDArray[np.float64], k: float = 2.0) -> float:
            '''Gradient of `f`.'''           '''Gradient of `f`.'''
                                             _expect("x", x, "f", 1)
                                             _expect("k", k, "biuf", 0)
    """
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    lines = text.split("\n")
    kinds = [param.type for param in fn.params]
    named = list(zip((a.arg for a in node.args.args), kinds, strict=True))
    head = _head(node, named, fn.results)
    doc = node.body[0].end_lineno or node.body[0].lineno
    asked = [line for name, kind in named for line in _guard(name, kind, compiled)] if guards else []
    made = "\n".join([*head, *lines[node.body[0].lineno - 1 : doc], *asked, *lines[doc:]])
    imports = {"import numpy as np"} if "np." in "\n".join([*head, *asked]) or (asked and not compiled) else set[str]()
    if any("NDArray[" in line for line in head):
        imports.add("from numpy.typing import NDArray")
    return made, imports


def _head(node: ast.FunctionDef, named: Sequence[tuple[str, Type]], results: Sequence[Type]) -> list[str]:
    """Write the `def` line, one parameter a line where it is too long."""
    defaults = [None] * (len(named) - len(node.args.defaults)) + node.args.defaults
    parts = [
        f"{name}: {annotation(kind)}" + (f" = {ast.unparse(default)}" if default is not None else "")
        for (name, kind), default in zip(named, defaults, strict=True)
    ]
    told = [annotation(kind) for kind in results]
    result = "None" if not told else told[0] if len(told) == 1 else f"tuple[{', '.join(told)}]"
    line = f"def {node.name}({', '.join(parts)}) -> {result}:"
    if len(line) <= WIDTH:
        return [line]
    last = f") -> {result}:"
    tail = [last] if len(last) <= WIDTH else [") -> tuple[", *(f"    {one}," for one in told), "]:"]
    return [f"def {node.name}(", *(f"    {part}," for part in parts), *tail]


def annotation(kind: Type) -> str:
    """Write a type as an annotation."""
    match kind:
        case Scalar(dtype, weak):
            plain = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}[np.dtype(dtype).kind]
            return plain if weak or np.dtype(dtype).kind == "b" or np.dtype(dtype).itemsize >= 8 else f"np.{dtype}"
        case Array(dtype):
            return f"NDArray[np.{dtype if dtype != 'bool' else 'bool_'}]"
        case ListOf(item):
            return f"list[{annotation(item) if item is not None else 'object'}]"
        case Struct("list" | "tuple" as form, _, items):
            inner = ", ".join(map(annotation, items))
            return f"tuple[{inner}]" if form == "tuple" else "list[object]"
        case _:
            return "object"


def _guard(name: str, kind: Type, compiled: bool) -> list[str]:
    """Return the lines that ask whether an argument is of the type; compiled, they cost nothing."""
    if not isinstance(kind, Scalar | Array):
        return []
    letter = np.dtype(kind.dtype).kind
    rank = len(kind.dims) if isinstance(kind, Array) else 0
    if not compiled:
        return [f'    _expect("{name}", {name}, "{letter if rank else _TAKEN[letter]}", {rank})']
    if not rank:
        weak = isinstance(kind, Scalar) and kind.weak
        return [f"    {name} = float({name})  # no array"] if weak and letter == "f" else []
    whole = f" or {name}.dtype.type(0.5) != 0.5" if letter in "fc" else ""
    said = f"`{name}` must be an array of rank {rank}" + " and not of whole numbers" * bool(whole)
    return [f"    if {name}.ndim != {rank}{whole}:", f'        raise TypeError("{said}")']
