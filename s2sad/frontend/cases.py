"""Names that mean one array or the other: `src, dst = (a, b) if i % 2 == 0 else (b, a)`.

    if i % 2 == 0:                          if i % 2 == 0:
        src, dst = a, b                         b[1:] = a[1:] - a[:-1]
    else:                       becomes     else:
        src, dst = b, a                         a[1:] = b[1:] - b[:-1]
    dst[1:] = src[1:] - src[:-1]

What follows is written once for each case, with the arrays themselves: which of them a write reaches is then in the
text. Only where the names serve nothing but what follows, and something is written through one of them.
"""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import gast

Case = dict[str, str]


def with_cases(statements: list[Any], whole: Any) -> list[Any]:
    """Return the statements of a block of the function `whole`, those behind a choice of names once for each case."""
    for at, stmt in enumerate(statements):
        choice = _choice(stmt)
        if choice is not None and _fits(choice[1:], statements[at + 1 :], stmt, whole):
            sides = [[_Named(case).visit(copy.deepcopy(s)) for s in statements[at + 1 :]] for case in choice[1:]]
            both = gast.If(test=choice[0], body=sides[0], orelse=sides[1])
            return [*statements[:at], gast.copy_location(both, stmt)]
    return statements


def _choice(stmt: Any) -> tuple[Any, Case, Case] | None:
    """Return a condition and what the same names mean in the two cases."""
    match stmt:
        case gast.Assign(targets=[target], value=gast.IfExp(test=test, body=first, orelse=second)):
            cases = _meant(target, first), _meant(target, second)
        case gast.If(test=test, body=body, orelse=orelse):
            cases = _moved(body), _moved(orelse)
        case _:
            return None
    first, second = cases
    if not first or not second or first.keys() != second.keys() or first == second:
        return None
    return test, first, second


def _moved(block: list[Any]) -> Case | None:
    """Return what names mean behind a block that does nothing but give them other names' values."""
    found: Case = {}
    for stmt in block:
        match stmt:
            case gast.Assign(targets=[target], value=value) if (part := _meant(target, value)) is not None:
                found |= part
            case _:
                return None
    return found if not found.keys() & set(found.values()) else None


def _meant(target: Any, value: Any) -> Case | None:
    match target, value:
        case gast.Name(id=name), gast.Name(id=other):
            return {name: other}
        case gast.Tuple(elts=targets), gast.Tuple(elts=values) if len(targets) == len(values):
            parts = [_meant(t, v) for t, v in zip(targets, values, strict=True)]
            found = {name: other for part in parts if part for name, other in part.items()}
            return found if len(found) == len(parts) and not found.keys() & set(found.values()) else None
        case _:
            return None


def _fits(cases: tuple[Any, ...], behind: list[Any], stmt: Any, whole: Any) -> bool:
    names = set(cases[0])
    fixed = names | {other for case in cases for other in case.values()}
    parts = [part for s in behind for part in gast.walk(s)]
    if any(isinstance(p, gast.Name) and p.id in fixed and not isinstance(p.ctx, gast.Load) for p in parts):
        return False
    if any(isinstance(p, gast.FunctionDef | gast.Lambda | gast.Nonlocal) for p in parts):
        return False
    here = _uses([*gast.walk(stmt), *parts], names)
    return here == _uses(list(gast.walk(whole)), names) and any(_writes(part, names) for part in parts)


def _uses(parts: list[Any], names: set[str]) -> Counter[str]:
    return Counter(part.id for part in parts if isinstance(part, gast.Name) and part.id in names)


def _writes(part: Any, names: set[str]) -> bool:
    """Say whether something is written through one of the names, or may be by a call that gives nothing."""
    match part:
        case gast.Subscript(ctx=gast.Store()):
            return _root(part) in names
        case gast.Expr(value=gast.Call(args=args)):
            return any(_root(arg) in names for arg in args)
        case _:
            return False


def _root(node: Any) -> str | None:
    while isinstance(node, gast.Subscript | gast.Attribute):
        node = node.value
    return node.id if isinstance(node, gast.Name) else None


class _Named(gast.NodeTransformer):
    """Writes the arrays in the place of the names that mean them."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def visit_Name(self, node: Any) -> Any:
        if node.id not in self.case:
            return node
        return gast.copy_location(gast.Name(self.case[node.id], node.ctx, None, None), node)
