"""Types as Numba writes them: `float64[:, :]`, `float64[::1]`, `int64`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from s2sad.errors import ArgumentError
from s2sad.ir.types import Array, ListOf, Scalar, Static, Struct, Sym, Type

_SHORT = {
    "float": "float64",
    "int": "int64",
    "complex": "complex128",
    "f8": "float64",
    "f4": "float32",
}
_PYTHON = {float: "float64", int: "int64", complex: "complex128"}
_ITEM = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\[([^\]]*)\])?\s*(?:,|$)")


def parse(text: str, names: Sequence[str]) -> tuple[Type, ...]:
    """Read a signature such as "float64[:], float64", one type for each of `names`.

    Raises:
        ArgumentError: no type of that name, a malformed one, or another number of them.
    """
    inner = text.strip()
    call = re.fullmatch(r"[^()]*\((.*)\)", inner, re.DOTALL)
    inner = call.group(1) if call else inner
    found: list[tuple[str, str | None]] = []
    position = 0
    while position < len(inner):
        item = _ITEM.match(inner, position)
        if item is None:
            raise ArgumentError(f"`{text}` is no signature", why='Write "float64[:], float64".')
        found.append((item.group(1), item.group(2)))
        position = item.end()
    if len(found) != len(names):
        raise ArgumentError(
            f"`{text}` has {len(found)} types for {len(names)} parameters: {', '.join(names)}"
        )
    return tuple(_type(dtype, dims, name) for (dtype, dims), name in zip(found, names, strict=True))


def _type(dtype: str, dims: str | None, name: str) -> Type:
    python = dtype in ("float", "int", "complex")
    dtype = _SHORT.get(dtype, dtype)
    try:
        known = np.dtype(dtype)
    except TypeError:
        known = None
    if known is None or known.kind not in "biufc":
        raise ArgumentError(f"`{dtype}` is no type of numbers")
    if dims is None:
        return Scalar(known.name, weak=python or dtype in ("float64", "int64", "complex128"))
    axes = [axis.strip() for axis in dims.split(",")]
    if any(axis not in (":", "::1") for axis in axes):
        raise ArgumentError(f"`{dtype}[{dims}]` is no array type", why="Write one `:` per axis.")
    layout = "C" if axes[-1] == "::1" else "F" if axes[0] == "::1" else "A"
    symbols = tuple(Sym(f"{name}.{axis}", nonone=True) for axis in range(len(axes)))
    return Array(known.name, symbols, layout)


def annotated(fun: Callable[..., Any], names: Sequence[str]) -> tuple[Type, ...] | None:
    """Return the types that a function's annotations give, or None where one gives none.

    `float`, `int` and `complex` are scalars; a string such as "float64[:]" is read as a signature.
    """
    notes: dict[str, Any] = getattr(fun, "__annotations__", {})
    found: list[Type] = []
    for name in names:
        note = notes.get(name)
        if note in _PYTHON:
            found.append(Scalar(_PYTHON[note], weak=True))
            continue
        if not isinstance(note, str):
            return None
        try:
            found.append(parse(note.strip("'\""), (name,))[0])
        except ArgumentError:
            return None
    return tuple(found)


def write(kind: Type) -> str:
    """Write a type as Numba does; containers as Python displays them."""
    match kind:
        case Scalar(dtype):
            return dtype
        case Array(dtype, dims, layout):
            axes = [":"] * len(dims)
            if dims and layout in "CF":
                axes[-1 if layout == "C" else 0] = "::1"
            return f"{dtype}[{', '.join(axes)}]" if dims else f"{dtype}[()]"
        case Struct("dict", keys, items):
            return (
                "{"
                + ", ".join(f"{k!r}: {write(i)}" for k, i in zip(keys, items, strict=True))
                + "}"
            )
        case Struct(form, _, items):
            inner = ", ".join(map(write, items))
            return f"{form}({inner})" if isinstance(form, str) else f"{form.__name__}({inner})"
        case ListOf(item):
            return f"list({write(item) if item is not None else ''})"
        case Static(value):
            return repr(value) if not callable(value) else getattr(value, "__name__", repr(value))
