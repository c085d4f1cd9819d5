"""From a run-time value to its type: what a call is specialised on."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from s2sad.ir.types import Array, Dim, Scalar, Static, Struct, Sym, Type

_PYTHON_SCALARS: dict[type, Scalar] = {
    float: Scalar("float64", weak=True),
    int: Scalar("int64", weak=True),
    complex: Scalar("complex128", weak=True),
}


def layout_of(x: np.ndarray[Any, Any]) -> str:
    """Return "C", "F" or "A", the contiguity that Numba also distinguishes."""
    flags = x.flags
    return "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"


def typeof(value: Any, name: str = "x") -> Type:
    """Return the type of `value`, the dimensions named after `name`.

    A dimension of length 1 is known as 1 and every other one is known not to be 1: broadcasting
    is decided when a call is specialised, never at run time.
    """
    kind = type(value)
    if kind in _PYTHON_SCALARS:
        return _PYTHON_SCALARS[kind]
    if kind is bool or value is None or isinstance(value, str):
        return Static(value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return Scalar(value.dtype.name)
    if isinstance(value, np.ndarray):
        dims: list[Dim] = [
            1 if n == 1 else Sym(f"{name}.{axis}", nonone=True)
            for axis, n in enumerate(value.shape)
        ]
        return Array(value.dtype.name, tuple(dims), layout_of(value))
    if isinstance(value, np.generic):
        return Scalar(value.dtype.name)
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return _struct(kind, kind._fields, tuple(value), name)  # type: ignore[attr-defined]
    if kind is tuple or kind is list:
        return _struct(kind.__name__, tuple(range(len(value))), tuple(value), name)
    if isinstance(value, dict):
        keys = tuple(value)
        return _struct("dict", keys, tuple(value[key] for key in keys), name)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        keys = tuple(f.name for f in dataclasses.fields(value))
        return _struct(kind, keys, tuple(getattr(value, key) for key in keys), name)
    return Static(value)


def _struct(kind: Any, keys: tuple[Any, ...], values: tuple[Any, ...], name: str) -> Struct:
    items = tuple(typeof(v, f"{name}[{k}]") for k, v in zip(keys, values, strict=True))
    return Struct(kind, keys, items)
