"""Functions that are one function for fewer lengths: the more general is called in their place.

A function that calls itself is read for the arguments of its callers, and once more for those of its own calls. Where
both say the same, and the second takes whatever the first takes, there need be one derivative only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from s2sad.errors import Span
from s2sad.ir.nodes import CallStmt, Function, Stmt
from s2sad.ir.types import Array, Dim, Scalar, Sym, Type, is_given
from s2sad.ir.walk import map_blocks, statements


def versions(functions: Mapping[str, Function]) -> dict[str, str]:
    """Return, for the functions of a program that are another for fewer lengths, the name of that one."""
    names: dict[str, str] = {}
    while True:
        called = {name: calling(fn, names) for name, fn in functions.items()}
        best = {name: version(fn, called) for name, fn in called.items() if name not in names}
        found = {name: other for name, other in best.items() if name != other}
        if not found:
            return names
        names = {name: found.get(other, other) for name, other in (names | found).items()}


def calling(fn: Function, names: Mapping[str, str]) -> Function:
    """Return a function with other names of what it calls."""

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(
            replace(s, callee=names.get(s.callee, s.callee)) if isinstance(s, CallStmt) and s.fn is None
            else map_blocks(s, block)
            for s in body
        )  # fmt: skip

    return replace(fn, body=block(fn.body)) if names else fn


def version(fn: Function, functions: Mapping[str, Function]) -> str:
    """Return the name of the function that `fn` calls and that is `fn` again, for other lengths; else its own."""
    called = {s.callee for s in statements(fn.body) if isinstance(s, CallStmt) and s.fn is None} - {fn.name}
    for name in sorted(called & functions.keys()):
        other = functions[name]
        if other.span == fn.span and _outline(calling(fn, {fn.name: name})) == _outline(other) and _serves(other, fn):
            return name  # what calls itself, beside the other, may call the other each time
    return fn.name


def _serves(general: Function, fn: Function) -> bool:
    """Say whether the lengths that a function takes for equal, or for known, are so in those of another."""
    found: dict[str, Dim] = {}
    for one, other in zip(general.params, fn.params, strict=True):
        for mine, given in zip(_dims(one.type), _dims(other.type), strict=True):
            if not isinstance(mine, Sym):
                if mine != given:
                    return False
                continue
            longer = replace(given, minus=given.minus - mine.minus) if isinstance(given, Sym) else given + mine.minus
            if found.setdefault(mine.name, longer) != longer or (mine.nonone and _may_be_one(given)):
                return False
    return not any(_named(one.type) for one in general.params)


def _dims(kind: Type) -> tuple[Dim, ...]:
    return kind.dims if isinstance(kind, Array) else ()


def _may_be_one(dim: Dim) -> bool:
    return not dim.nonone if isinstance(dim, Sym) else dim == 1


def _named(kind: Type) -> bool:
    """Say whether a number stands for a length that arrays have too."""
    return isinstance(kind, Scalar) and isinstance(kind.value, Sym) and not is_given(kind.value)


def _outline(node: Any) -> Any:
    """Return what a part of a program says, without lengths and places in the source."""
    match node:
        case Function():
            return _outline((node.params, node.body))
        case Array(dtype, dims):
            return "array", dtype, len(dims)
        case Scalar(dtype):
            return "number", dtype
        case tuple():
            return tuple(_outline(part) for part in node)
        case Span():
            return None
        case _ if is_dataclass(node):
            parts = ((f.name, getattr(node, f.name)) for f in fields(node) if f.compare)
            return type(node), tuple((name, _outline(part)) for name, part in parts)
        case _:
            return node
