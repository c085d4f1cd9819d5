"""Batch axes: from what the caller writes (`0`, `-1`, `None`, a structure) to one axis for each leaf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from s2sad.api.structure import Tree
from s2sad.errors import ArgumentError
from s2sad.ir.types import Array, Struct

Axes = Any  # an int, None, or a structure of those that is a prefix of the value's


def spread(tree: Tree, axes: Axes, word: str) -> dict[Tree, int | None]:
    """Return the axis of each leaf, given a structure of axes that is a prefix of the value's.

    Raises:
        ArgumentError: the axes have another structure, or are no integers.
    """
    if axes is None or (isinstance(axes, int | np.integer) and not isinstance(axes, bool)):
        return {leaf: None if axes is None else int(axes) for leaf in tree.leaves()}
    children = _axes_of_children(tree, axes)
    if children is None:
        raise ArgumentError(
            f"{word} of `{tree.path}` must be an int, None, or a structure of those like the value's, not `{axes!r}`"
        )
    found: dict[Tree, int | None] = {}
    for child, axis in zip(tree.children, children, strict=True):
        found |= spread(child, axis, word)
    return found


def _axes_of_children(tree: Tree, axes: Axes) -> Sequence[Axes] | None:
    if not isinstance(tree.type, Struct):
        return None
    keys = tree.type.keys
    if tree.type.kind == "dict":
        fits = isinstance(axes, dict) and set(axes) == set(keys)
        return [axes[key] for key in keys] if fits else None
    if isinstance(axes, tuple | list) and type(axes) in (tuple, list):
        return axes if len(axes) == len(keys) else None
    fields = [getattr(axes, str(key), axes) for key in keys]
    return fields if type(axes) is tree.cls else None


def in_range(leaf: Tree, axis: int) -> int:
    """Return a batch axis counted from the front; raises ArgumentError where the leaf has no such axis."""
    rank = len(leaf.type.dims) if isinstance(leaf.type, Array) else 0
    if not -rank <= axis < rank:
        raise ArgumentError(
            f"`{leaf.path}` has no axis {axis} to be mapped over: its rank is {rank}",
            why="Use None in in_axes for an argument that every call gets whole.",
        )
    return axis % rank


def frozen(axes: Axes) -> Any:
    """Return a key that is equal for equal axes."""
    if isinstance(axes, dict):
        return ("dict", tuple(sorted(((repr(key), frozen(value)) for key, value in axes.items()))))
    if isinstance(axes, tuple | list):
        return (type(axes), tuple(frozen(item) for item in axes))
    if isinstance(axes, int | np.integer | None) and not isinstance(axes, bool):
        return axes if axes is None else int(axes)
    attributes = getattr(axes, "__dict__", None)
    if isinstance(attributes, dict):
        return (type(axes), tuple((name, frozen(value)) for name, value in attributes.items()))
    return repr(axes)
