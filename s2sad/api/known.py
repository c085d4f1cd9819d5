"""Numbers that the compiler must know: an axis that is passed as an argument becomes a constant of the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import gast
import numpy as np

from s2sad.api.inlining import names_of
from s2sad.api.lengths import counted
from s2sad.api.structure import Tree, static_key
from s2sad.errors import (
    ArgumentError,
    MissingRuleError,
    NotDifferentiableError,
    S2SADError,
    Span,
    UnsupportedSyntaxError,
)
from s2sad.frontend.source import has_source, unwrap
from s2sad.ir.types import Scalar, Static, Struct

_COUNTED = frozenset(range(2, 17))
"""Lengths that a specialisation may be made for."""
_VECTORS = frozenset({2, 3})
_DEEP = 4  # calls that are followed
S = TypeVar("S")
Trees = tuple[Tree, ...]


_MOST_KNOWN = 128  # numbers in lists, each turn over which may be written out
_MET = (list, tuple, dict)


def constant(tree: Tree, value: Any) -> Tree:
    """Return the structure of a number that the compiler is to know, or of a container of such numbers."""
    if isinstance(tree.type, Struct) and not is_tuple_of_places(tree):
        return _table(tree, value)
    known = value.item() if isinstance(value, np.generic) else value
    return replace(tree, type=Static(known), key=("static", static_key(value)), value=value)


def _table(tree: Tree, value: Any) -> Tree:
    """Return the structure of a container of which every number is to be known."""
    if isinstance(tree.type, Static):
        return tree
    if not isinstance(tree.type, Struct):
        return constant(tree, value)
    items = value.values() if isinstance(value, dict) else value
    children = tuple(_table(child, item) for child, item in zip(tree.children, items, strict=True))
    kind = replace(tree.type, items=tuple(child.type for child in children))
    key = ("static", tree.cls, kind.keys, *(child.key for child in children))
    return replace(tree, type=kind, key=key, children=children)


def with_constants(
    build: Callable[[Trees, tuple[Any, ...]], S], trees: Trees, values: tuple[Any, ...], fun: Any = None
) -> tuple[Trees, S]:
    """Build a specialisation; where the compiler refuses, build it again with numbers as constants.

    Whole numbers and flags are tried first, one at a time and then together, then all numbers: most of
    what must be known is an axis, a count or an order. Then the lengths of short arrays, as `f(*theta)` may
    ask for. Each value, or length, then has a specialisation of its own. Cross products ask beforehand whether
    vectors have two or three elements.

    Returns:
        The structures that the specialisation was made for, and it.

    Raises:
        S2SADError: what the compiler said at first, if constants do not help.
    """
    if (vectors := counted(trees, values, _VECTORS)) is not None and _mentions(fun, "cross"):
        try:
            return vectors, build(vectors, values)
        except S2SADError:  # as for other functions
            pass
    try:
        return trees, build(trees, values)
    except (UnsupportedSyntaxError, MissingRuleError, ArgumentError) as error:
        for choice in () if isinstance(error, ArgumentError) else _choices(trees):
            pairs = enumerate(zip(trees, values, strict=True))
            fixed = tuple(constant(tree, value) if i in choice else tree for i, (tree, value) in pairs)
            try:
                return fixed, build(fixed, values)
            except S2SADError:
                continue
        by_length = counted(trees, values, _COUNTED)
        if by_length is None:
            raise
        try:
            return by_length, build(by_length, values)
        except S2SADError:
            raise error from None


def _mentions(fun: Any, word: str, depth: int = _DEEP) -> bool:
    """Say whether the text of a function has a name, or that of a function that it calls by a global name."""
    plain = unwrap(fun) if has_source(fun) else None
    code, scope = getattr(plain, "__code__", None), getattr(plain, "__globals__", {})
    if code is None:
        return False
    names = names_of(code)
    called = [scope[name] for name in names if callable(scope.get(name)) and name != code.co_name]
    return word in names or (depth > 0 and any(_mentions(one, word, depth - 1) for one in called))


def refuse_constants(trees: Trees, values: tuple[Any, ...]) -> None:
    """Check that no number that a pullback has a cotangent for was made a constant; raises NotDifferentiableError."""
    for tree, value in zip(trees, values, strict=True):
        is_array = isinstance(value, np.ndarray) and value.dtype.kind in "fc"
        if isinstance(tree.type, Static) and (is_array or isinstance(value, float | complex | np.inexact)):
            raise NotDifferentiableError(
                f"`{tree.path}` has to be known before the function runs, and has no cotangent then",
                why="Differentiate a function of the other arguments: `lambda x: f(x, 2.5)`.",
            )


def _choices(trees: Trees) -> Iterator[frozenset[int]]:
    """Yield the arguments to make constants of, the likeliest first."""
    numbers = [i for i, tree in enumerate(trees) if isinstance(tree.type, Scalar)]
    whole = [i for i in numbers if np.dtype(getattr(trees[i].type, "dtype")).kind in "biu"]
    whole += [i for i, tree in enumerate(trees) if is_tuple_of_places(tree)]
    whole += [i for i, tree in enumerate(trees) if _is_table(tree)]
    tried: set[frozenset[int]] = set()
    for choice in (*([i] for i in whole), whole, *([i] for i in numbers), numbers):
        picked = frozenset(choice)
        if picked and picked not in tried:
            tried.add(picked)
            yield picked


def is_tuple_of_places(tree: Tree) -> bool:
    """Say whether an argument is a tuple of whole numbers, or of such tuples: axes, a shape, widths of a border."""
    kinds = [leaf.type for leaf in tree.leaves()]
    plain = all(node.cls is tuple or node.is_leaf for node in tree.nodes())
    return tree.cls is tuple and plain and all(isinstance(k, Scalar) and np.dtype(k.dtype).kind in "biu" for k in kinds)


def may_be_known(tree: Tree) -> bool:
    """Say whether an argument may be made a constant."""
    return isinstance(tree.type, Scalar) or is_tuple_of_places(tree) or _is_table(tree)


def _is_table(tree: Tree) -> bool:
    """Say whether an argument is a list, a tuple or a dict of a few whole numbers and texts, at any depth: edges."""
    if not isinstance(tree.type, Struct) or is_tuple_of_places(tree):
        return False
    leaves = list(tree.leaves())
    numbers = all(isinstance(leaf.type, Scalar) and np.dtype(leaf.type.dtype).kind in "biu" for leaf in leaves)
    return _is_plain(tree) and numbers and 0 < len(leaves) <= _MOST_KNOWN


def _is_plain(tree: Tree) -> bool:
    if isinstance(tree.type, Struct):
        return tree.cls in _MET and all(_is_plain(child) for child in tree.children)
    return tree.is_leaf or isinstance(tree.value, str | None)


def lowered(fun: Callable[..., Any], trees: Trees, always: bool = False) -> None:
    """Read `fun` where it may ask for numbers or lengths among its arguments; raises what the compiler says."""
    from s2sad.api.nested import context
    from s2sad.api.written import entered
    from s2sad.frontend.functions import instantiate

    fun = entered(fun)
    if always or any(isinstance(tree.type, Scalar) or _is_number(tree.type) for tree in trees) or _has_stars(fun):
        instantiate(context("python"), fun, tuple(t.type for t in trees), Span("<call>", 0, 0, 0, 0))


def _has_stars(fun: Callable[..., Any]) -> bool:
    """Say whether a function calls another with `*v`, of which the length may have to be known."""
    from s2sad.frontend.source import has_source, source_of, unwrap

    nodes = gast.walk(source_of(fun).node) if has_source(unwrap(fun)) else ()
    return any(isinstance(part, gast.Starred) for node in nodes if isinstance(node, gast.Call) for part in node.args)


def _is_number(kind: Any) -> bool:
    return isinstance(kind, Static) and isinstance(kind.value, int | float | complex | np.generic)
