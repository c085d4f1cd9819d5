"""Functions that came to be the same text, such as a helper called with arrays of other lengths, are one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from s2sad.emit.names import Names
from s2sad.emit.printer import print_function
from s2sad.ir.nodes import CallStmt, Function, Stmt
from s2sad.ir.walk import map_blocks, names_in


def twins(functions: Mapping[str, Function], entry: str) -> list[tuple[str, ...]]:
    """Return the groups of functions that differ by their names only, each in order.

    The functions come callees first; the entry stands alone.
    """
    names = Names({})
    names.reserve(functions)
    for fn in functions.values():
        names.reserve(names_in(fn.body))
    same: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    for name, fn in functions.items():
        if name != entry:
            text, _ = print_function(renamed(fn, {**same, name: "itself"}), names)
            group = groups.setdefault(text, [])
            group.append(name)
            same[name] = group[0]
    return [tuple(group) for group in groups.values() if len(group) > 1]


def unnumbered(functions: Mapping[str, Function], entry: str) -> dict[str, str]:
    """Return better names for a helper's second version, `drag_2` and `drag_2_bwd`, where no first is left."""
    taken = set(functions).union(*(names_in(fn.body) for fn in functions.values()))
    versions: dict[tuple[str, int], dict[str, str]] = {}
    for name, fn in functions.items():
        original = fn.span.function
        found = re.fullmatch(rf"{re.escape(original)}_(\d+)((?:_[a-z]+)*)", name) if original else None
        if found is not None and name != entry:
            versions.setdefault((original, int(found[1])), {})[name] = original + found[2]
    better: dict[str, str] = {}
    for _, names in sorted(versions.items()):
        if not taken & set(names.values()):
            better |= names
            taken |= set(names.values())
    return better


def unlike_variables(functions: Mapping[str, Function], entry: str) -> dict[str, str]:
    """Return other names for helpers that a variable is called like: `median = np.median(x)`."""
    variables: set[str] = set()
    for fn in functions.values():
        variables |= names_in(fn.body) | {param.name for param in fn.params}
    other: dict[str, str] = {}
    for name in functions:
        if name in variables and name != entry:
            count, better = 1, f"{name}_of"
            while better in variables or better in functions or better in other.values():
                count += 1
                better = f"{name}_of_{count}"
            other[name] = better
    return other


def renamed(fn: Function, names: Mapping[str, str]) -> Function:
    """Return a function under another name and with other names of what it calls, its docstring included."""
    doc = re.sub(r"`(\w+)`", lambda found: f"`{names.get(found[1], found[1])}`", fn.doc)
    return replace(fn, name=names.get(fn.name, fn.name), doc=doc, body=_block(fn.body, names))


def _block(body: tuple[Stmt, ...], names: Mapping[str, str]) -> tuple[Stmt, ...]:
    return tuple(
        replace(stmt, callee=names.get(stmt.callee, stmt.callee))
        if isinstance(stmt, CallStmt)
        else map_blocks(stmt, lambda inner: _block(inner, names))
        for stmt in body
    )
