"""Tangents and cotangents given by the caller: checked against the structure they belong to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from s2sad.api.structure import Tree, child_values, kind_text
from s2sad.errors import ArgumentError
from s2sad.ir.types import Array, Scalar, Static, Struct, is_complex, is_inexact


def flatten_like(
    tree: Tree, given: Any, word: str, path: str, shapes: dict[Tree, tuple[int, ...]] | None = None
) -> dict[Tree, Any]:
    """Return the value given for each inexact leaf of `tree`; None is a zero.

    Args:
        tree: the structure of the primal, or of the output.
        given: what the caller passed in that place.
        word: "tangent" or "cotangent", for messages.
        path: how the caller would write `given`.
        shapes: the shapes of the array leaves, to be compared.

    Raises:
        ArgumentError: structure, shape or dtype differ; names the leaf, the expected, the received.
    """
    found: dict[Tree, Any] = {}
    _flatten(tree, given, word, path, shapes or {}, found)
    return found


def _flatten(
    tree: Tree,
    given: Any,
    word: str,
    path: str,
    shapes: dict[Tree, tuple[int, ...]],
    found: dict[Tree, Any],
) -> None:
    if given is None:
        found.update((leaf, None) for leaf in tree.leaves() if is_inexact(leaf.type))
    elif isinstance(tree.type, Static) or (tree.is_leaf and not is_inexact(tree.type)):
        number = isinstance(tree.type, Static) and isinstance(tree.type.value, float | complex)
        why = (
            "its value decides what the function does, or goes to a call without a rule by it"
            if number else f"{kind_text(tree)} has no {word}"
        )  # fmt: skip
        raise ArgumentError(f"the {word} of `{tree.path}` must be None: {why}; got {_text(given)}")
    elif tree.is_leaf:
        found[tree] = _leaf(tree, given, word, path, shapes.get(tree))
    else:
        parts = child_values(tree, given)
        if parts is None:
            raise ArgumentError(
                f"the {word} of `{tree.path}` has another structure: expected"
                f" {_structure(tree)}, got {_text(given)}"
            )
        for child, part in zip(tree.children, parts, strict=True):
            _flatten(child, part, word, path + child.path[len(tree.path) :], shapes, found)


def _leaf(tree: Tree, given: Any, word: str, path: str, shape: tuple[int, ...] | None) -> Any:
    """Convert what is given for one leaf to exactly the leaf's dtype, without loss."""
    if isinstance(tree.type, Array):
        wanted = np.dtype(tree.type.dtype)
        if not isinstance(given, np.ndarray) or given.dtype != wanted:
            raise _mismatch(tree, given, word, path, shape)
        if given.ndim != len(tree.type.dims) or (shape is not None and given.shape != shape):
            raise _mismatch(tree, given, word, path, shape)
        return np.array(given, wanted, order="F" if tree.type.layout == "F" else "C")  # as the code expects it
    if not isinstance(tree.type, Scalar):
        raise ArgumentError(
            f"the {word} of `{tree.path}`, a list that the function builds, must be None"
        )
    wanted = np.dtype(tree.type.dtype)
    python = type(given) in (int, float) or (type(given) is complex and is_complex(tree.type))
    value: Any = given
    numpy = isinstance(given, np.ndarray | np.generic) and not given.ndim and given.dtype == wanted
    if not python and not numpy:
        raise _mismatch(tree, given, word, path, ())
    if tree.cls in (float, complex):
        return tree.cls(value)
    return wanted.type(value)


def _mismatch(
    tree: Tree, given: Any, word: str, path: str, shape: tuple[int, ...] | None
) -> ArgumentError:
    dtype = tree.type.dtype if isinstance(tree.type, Array | Scalar) else "?"
    expected = f"dtype {dtype}" + (f" and shape {shape}" if shape is not None else "")
    return ArgumentError(
        f"the {word} of `{tree.path}` does not fit: expected {expected}, got {_text(given)}",
        why=f"Look at `{path}`.",
    )


def _text(value: Any) -> str:
    if isinstance(value, np.ndarray | np.generic):
        return f"dtype {value.dtype} and shape {value.shape}"
    if isinstance(value, int | float | complex | str):
        return f"`{value!r}` of type {type(value).__name__}"
    if isinstance(value, dict):
        return f"a dict with keys {', '.join(map(repr, value))}"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)} items"
    return f"a {type(value).__name__}"


def _structure(tree: Tree) -> str:
    if isinstance(tree.type, Struct) and issubclass(tree.cls, dict):
        return f"a dict with keys {', '.join(map(repr, tree.type.keys))}"
    if tree.cls in (tuple, list):
        return f"a {tree.cls.__name__} of {len(tree.children)} items"
    return f"a {tree.cls.__name__}"


def zero_like(tree: Tree, value: Any) -> Any:
    """Return the zero tangent of a leaf, given the leaf's primal value."""
    if isinstance(tree.type, Array):
        return np.zeros(np.shape(value), tree.type.dtype)
    return tree.cls(0) if tree.cls in (float, complex) else np.dtype(_dtype(tree)).type(0)


def _dtype(tree: Tree) -> str:
    return tree.type.dtype if isinstance(tree.type, Scalar | Array) else "float64"


def basis(tree: Tree, shape: tuple[int, ...]) -> Iterator[Any]:
    """Yield the unit tangents of one leaf, in the order of its elements."""
    dtype = np.dtype(_dtype(tree))
    if not isinstance(tree.type, Array):
        yield tree.cls(1) if tree.cls in (float, complex) else dtype.type(1)
        return
    for index in range(math.prod(shape)):
        unit = np.zeros(shape, dtype)
        unit.reshape(-1)[index] = 1
        yield unit


def shape_of(value: Any) -> tuple[int, ...]:
    """Return the shape of a leaf's value; () for whatever is no array."""
    return value.shape if isinstance(value, np.ndarray) else ()
