"""Lengths that belong together: a specialisation may say that two arguments are equally long, or two longer, or two.

Slices of two arguments are added element by element only where they are equally long; where that is not known, a
derivative has to ask at every step whether one of them was spread over the other. So it is with an argument that is
added to `np.array([a, b])`. What is said here holds for one specialisation, which is used for such arguments only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from s2sad.api.flatten import matcher
from s2sad.api.known_lengths import FEW
from s2sad.api.structure import Tree
from s2sad.errors import UNEQUAL, S2SADError
from s2sad.ir.types import Array, Dim, Scalar, Struct, Sym, Type
from s2sad.runtime import sum_to_shape, unbroadcast

Trees = tuple[Tree, ...]
S = TypeVar("S")
Doubts = tuple[int, int, int, int]

_REACHES = (0, 8)
"""How far apart lengths may lie that are taken to belong together: not at all, then as far as borders are wide."""
_BORDERS = (0, 2)
"""By how much a whole number may be less than the length that it is taken to say: without what lies on the borders."""
_FIRST = 4
"""For how many specialisations of a function every length may be known."""
_LONG = 400
"""Lines of a text that takes seconds to build: one guess, which says most, before all lengths are taken as known."""
_HELPED = ("_tape = []", " @ ", f"{np.cross.__name__}(")
"""What is written otherwise where lengths are known to be small: arrays kept in lists, products by libraries."""
_DIAGONAL = f"{np.eye.__name__}("
_SPREADING = tuple(f"{fn.__name__}(" for fn in (sum_to_shape, unbroadcast))


def clearest(
    build: Callable[[Trees], S], text_of: Callable[[S], str], trees: Trees, values: Sequence[Any], before: int = 0
) -> S:
    """Build a specialisation, and if its text is unsure of lengths another that knows how they are related.

    Every guess is a derivation of its own. `before`: how many specialisations there are. What knows every length is
    made for the first few only: others may follow with other lengths, and what is made for all lengths is compiled
    once. What is refused for all lengths may be followed where arguments are short and their lengths known: lists of
    as many items are written out.
    """
    made = sure(build, trees, values)
    unsure = _doubts(text_of(made))
    is_long = before < _FIRST and text_of(made).count("\n") > _LONG
    if is_long and any(unsure[:-1]):
        known = related(trees, values, _REACHES[-1], _BORDERS[0]) or related(trees, values, _REACHES[0])
        made, unsure = _clearer(build, text_of, known, made, unsure)
    for reach in () if is_long else _REACHES:
        asked = unsure[0] or (any(unsure[:-1]) and not reach)
        known = related(trees, values, reach) if asked else None
        made, unsure = _clearer(build, text_of, known, made, unsure)
    for less in () if is_long else _BORDERS:
        if unsure[0] or unsure[1]:
            known = related(trees, values, _REACHES[-1], less)
            made, unsure = _clearer(build, text_of, known, made, unsure)
    if unsure[0] or unsure[-1]:
        made, unsure = _clearer(build, text_of, counted(trees, values, lengths_in(made)), made, unsure)
    if unsure[0] and before < _FIRST:
        made, unsure = _clearer(build, text_of, counted(trees, values), made, unsure)
    return made


def sure(build: Callable[[Trees], S], trees: Trees, values: Sequence[Any]) -> S:
    """Build a specialisation for all lengths; where that is refused, one that knows the short ones if it can be."""
    try:
        return build(trees)
    except S2SADError as error:
        refusal = error
    known = short_ones(trees, values)
    if known is None:
        raise refusal
    try:
        return build(known)
    except S2SADError:
        raise refusal from None


def short_ones(trees: Trees, values: Sequence[Any]) -> Trees | None:
    """Return structures that know all lengths that are short; None if none is."""
    return counted(trees, values, frozenset(range(2, FEW + 1)))


def _clearer(
    build: Callable[[Trees], S], text_of: Callable[[S], str], known: Trees | None, made: S, unsure: Doubts
) -> tuple[S, Doubts]:
    """Return what is built from structures that say more, if it asks less, and how much is asked."""
    if known is None:
        return made, unsure
    try:
        other = build(known)
    except S2SADError:  # what was made holds for all lengths
        return made, unsure
    count = _doubts(text_of(other))
    return (other, count) if count < unsure else (made, unsure)


def _doubts(text: str) -> Doubts:
    """Count where a text asks for lengths: is an operand spread, do they agree, is a matrix square, what would help."""
    helped = sum(map(text.count, _HELPED))
    return sum(map(text.count, _SPREADING)), text.count(UNEQUAL), text.count(_DIAGONAL), helped


def related(trees: Trees, values: Sequence[Any], reach: int, less: int | None = None) -> Trees | None:
    """Return structures in which lengths that differ by no more than `reach` have one name; None if there are none.

    `less`: so have whole numbers that are as large as one of them, or less by no more than that; else None.
    """
    lengths = _measured(trees, values)
    names: dict[Sym, Dim] = {}
    base: Sym | None = None
    for dim, length in sorted(lengths.items(), key=lambda pair: -pair[1]):
        if base is None or lengths[base] - length > reach or length < 2:
            base = dim
        names[dim] = Sym(base.name, lengths[base] - length, nonone=True)
    if less is not None:
        counts = _counts(trees, values, {length: names[dim] for dim, length in lengths.items()}, less)
        return tuple(_renamed(tree, names, counts) for tree in trees) if counts else None
    if all(dim == name for dim, name in names.items()):
        return None
    return tuple(_renamed(tree, names) for tree in trees)


def _counts(trees: Trees, values: Sequence[Any], names: dict[int, Dim], less: int) -> dict[Tree, Dim]:
    """Return the whole numbers among the arguments that say how long an array is, by the names of such lengths."""
    found: dict[Tree, Dim] = {}
    for leaf, item in _leaves(trees, values):
        if isinstance(leaf.type, Scalar) and np.dtype(leaf.type.dtype).kind in "iu" and item > 1:
            told = next(((names[item + k], k) for k in range(less + 1) if item + k in names), None)
            if told is not None and isinstance(told[0], Sym):
                found[leaf] = Sym(told[0].name, told[0].minus + told[1], told[0].nonone)
    return found


def lengths_in(made: Any) -> frozenset[int]:
    """Return the small lengths that arrays of a program are known to have."""
    entry = made.forward if hasattr(made, "forward") else made.entry
    return getattr(entry.derivative, "lengths", frozenset[int]())


def counted(trees: Trees, values: Sequence[Any], lengths: frozenset[int] | None = None) -> Trees | None:
    """Return structures in which arguments that have one of these lengths, or any, are known to have it; else None."""
    names: dict[Sym, Dim] = {d: n for d, n in _measured(trees, values).items() if lengths is None or n in lengths}
    return tuple(_renamed(tree, names) for tree in trees) if names else None


def _measured(trees: Trees, values: Sequence[Any]) -> dict[Sym, int]:
    """Return how long the arguments are, by the symbols of their lengths."""
    lengths: dict[Sym, int] = {}
    for leaf, item in _leaves(trees, values):
        if isinstance(leaf.type, Array) and isinstance(item, np.ndarray):
            lengths.update({d: n for d, n in zip(leaf.type.dims, item.shape, strict=True) if isinstance(d, Sym)})
    return lengths


def _leaves(trees: Trees, values: Sequence[Any]) -> list[tuple[Tree, Any]]:
    """Return the leaves with what stands there."""
    leaves = [leaf for tree in trees for leaf in tree.leaves()]
    return list(zip(leaves, matcher(trees)(tuple(values)) or (), strict=False))


def _renamed(tree: Tree, names: dict[Sym, Dim], counts: Mapping[Tree, Dim] = MappingProxyType({})) -> Tree:
    kind: Type = tree.type
    children = tuple(_renamed(child, names, counts) for child in tree.children)
    if isinstance(kind, Scalar) and tree in counts:
        kind = replace(kind, value=counts[tree])
    if isinstance(kind, Struct):
        kind = Struct(kind.kind, kind.keys, tuple(child.type for child in children))
    elif isinstance(kind, Array):
        dims: tuple[Dim, ...] = tuple(names.get(d, d) if isinstance(d, Sym) else d for d in kind.dims)
        kind = Array(kind.dtype, dims, kind.layout)
    return replace(tree, type=kind, children=children)
