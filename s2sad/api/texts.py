"""Bits of Python text for the programs that transforms are written as."""

from __future__ import annotations

import keyword
from collections.abc import Iterable

import numpy as np

from s2sad.errors import NOWHERE, NotDifferentiableError
from s2sad.ir.types import Array, Scalar, Type


def created(name: str, shape: list[str], kind: Type, how: str = "empty") -> str:
    """Return the statement that makes an array of this shape and of the dtype of `kind`."""
    if not isinstance(kind, Array | Scalar):
        raise NotDifferentiableError("a list of unknown length has no Jacobian", NOWHERE, "Return an array.")
    text = shape[0] if len(shape) == 1 else f"({', '.join(shape)})"
    dtype = np.dtype(kind.dtype).type.__name__
    return f"{name} = np.{how}({text})" if dtype == "float64" else f"{name} = np.{how}({text}, np.{dtype})"


def index_text(name: str, axis: int, at: str = "i") -> str:
    """Return the text of one element along an axis: `x[:, i]`."""
    return f"{name}[{':, ' * axis}{at}]"


def unique(paths: Iterable[str], taken: set[str]) -> list[str]:
    """Return identifiers for paths such as `params['W']`, all different and none of them taken."""
    names: list[str] = []
    for path in paths:
        base = name = identifier(path)
        count = 1
        while name in taken or name in names:
            count += 1
            name = f"{base}_{count}"
        names.append(name)
    return names


def identifier(text: str) -> str:
    """Return an identifier for a path or a function's name."""
    word = "_".join("".join(c if c.isalnum() else " " for c in text).split())
    if keyword.iskeyword(word):
        return f"{word}_"
    return word if word.isidentifier() else f"x_{word}" if word else "function"
