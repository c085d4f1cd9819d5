"""Nested arguments: mapping over their leaves, and copies that keep the layout."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

FLOATING = (float, complex, np.inexact)


def tree_map(leaf: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """Map `leaf` over tuples, namedtuples, lists, dicts and dataclasses, in parallel with `rest`."""
    if isinstance(tree, (tuple, list)):
        parts = [tree_map(leaf, *parts) for parts in zip(tree, *rest, strict=True)]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if isinstance(tree, dict):
        return {key: tree_map(leaf, tree[key], *(other[key] for other in rest)) for key in tree}
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = [field.name for field in dataclasses.fields(tree)]
        return type(tree)(**{n: tree_map(leaf, *(getattr(t, n) for t in (tree, *rest))) for n in names})
    return leaf(tree, *rest)


def leaves(tree: Any) -> list[Any]:
    """List the leaves of `tree`, left to right."""
    found: list[Any] = []
    tree_map(found.append, tree)
    return found


def is_active(leaf: Any) -> bool:
    """Tell whether a leaf is of a floating or complex type, hence may carry a derivative."""
    return isinstance(leaf, FLOATING) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fcO")


def blank_with_layout(array: np.ndarray, dtype: Any) -> np.ndarray:
    """Make an empty array with the shape and the (relative) strides of `array`, negative ones included."""
    steps = [s // array.itemsize for s in array.strides]
    if array.size == 0 or 0 in steps:
        return np.empty(array.shape, dtype)
    buffer = np.empty(1 + sum((n - 1) * abs(s) for n, s in zip(array.shape, steps, strict=True)), dtype)
    if buffer.dtype != object:
        buffer[...] = 0
    forward = np.lib.stride_tricks.as_strided(buffer, array.shape, [abs(s) * buffer.itemsize for s in steps])
    return forward[(..., *(slice(None, None, -1 if s < 0 else 1) for s in steps))]


def fresh(tree: Any) -> Any:
    """Copy every array of `tree`, keeping dtype and layout."""
    def copy(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        twin = blank_with_layout(leaf, leaf.dtype)
        twin[...] = leaf
        return twin
    return tree_map(copy, tree)
