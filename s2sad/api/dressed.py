"""Results of programs in the classes that the caller knows: the structure of an argument around computed leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from s2sad.api.structure import Tree
from s2sad.ir.types import Scalar, Static


def dressed(
    own: Tree,
    part: Tree,
    flat: dict[Tree, int],
    where: dict[Tree, int],
    other: Callable[[Tree], Tree | None] = lambda part: None,
) -> Tree:
    """Return `part`, the structure of a program's result, in the containers and leaf classes of `own`.

    Args:
        own: the structure that the caller gave.
        part: the same structure as the compiler knows it, None in place of what has no derivative.
        flat: which flat result each leaf of `part` is.
        where: filled with which flat result each leaf of the returned structure is.
        other: what stands in place of parts that are no such structure, or None.
    """
    found = other(part)
    if found is not None:
        return found
    if part.is_leaf:
        numbers = isinstance(own.type, Scalar) and isinstance(part.type, Scalar) and own.type.dtype == part.type.dtype
        leaf = replace(own) if numbers else replace(part)
        where[leaf] = flat[part]
        return leaf
    if isinstance(part.type, Static):
        return part
    pairs = zip(own.children, part.children, strict=True)
    return replace(own, children=tuple(dressed(a, b, flat, where, other) for a, b in pairs))
