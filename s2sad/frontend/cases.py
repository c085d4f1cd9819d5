"""Names that mean one array or the other: `src, dst = (a, b) if i % 2 == 0 else (b, a)`.

    if i % 2 == 0:                          if i % 2 == 0:
        src, dst = a, b                         b[1:] = a[1:] - a[:-1]
    else:                       becomes     else:
        src, dst = b, a                         a[1:] = b[1:] - b[:-1]
    dst[1:] = src[1:] - src[:-1]

What follows is written once for each case, with the arrays themselves: which of them a write reaches is then in the
text. Only where something is written through one of the names, and they serve nothing but what follows, or are read
behind the loops around: before that, they get their arrays as the condition was last.
"""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import gast

from s2sad.frontend.lazily import root_name
from s2sad.frontend.lowerer import Chosen, Lowerer
from s2sad.frontend.values import V

Case = dict[str, str]
_MOST = 3  # choices in one block: what follows is written twice for each


def with_cases(lw: Lowerer, statements: list[Any]) -> list[Any]:
    """Return the statements of a block, those behind a choice of names once for each case."""
    if sum(_choice(stmt) is not None for stmt in statements) > _MOST:
        return statements
    for at, stmt in enumerate(statements):
        choice = _choice(stmt)
        if choice is None:
            continue
        test, *cases = choice
        later = _read_later(cases, statements[at + 1 :], stmt, lw.source.node)
        if later is None:
            continue
        before: list[Any] = []
        if later:
            test, before = _kept(lw, test, cases, stmt, later)
        sides = [[_Named(case).visit(copy.deepcopy(s)) for s in statements[at + 1 :]] for case in cases]
        both = gast.copy_location(gast.If(test=test, body=sides[0], orelse=sides[1]), stmt)
        return [*statements[:at], *before, both]
    return statements


def _kept(lw: Lowerer, test: Any, cases: list[Case], stmt: Any, end: int) -> tuple[Any, list[Any]]:
    """Give the condition a name, so that the names can be read later; return how it is read, and the statement."""
    first, second = cases
    known = next((choice.flag for choice in lw.chosen.values() if choice.line == stmt.lineno), None)
    flag = lw.local("first") if known is None else known
    lw.chosen.update({name: Chosen(flag, (first[name], second[name]), stmt.lineno, end) for name in first})
    kept = gast.Assign(targets=[_name(flag, gast.Store(), stmt)], value=test, type_comment=None)
    return _name(flag, gast.Load(), stmt), [gast.copy_location(kept, stmt)]


def chosen(lw: Lowerer, stmt: Any) -> list[Any]:
    """Return what says which array each name means that a statement behind a choice reads."""
    if not lw.chosen:
        return []
    read = {p.id for p in gast.walk(stmt) if isinstance(p, gast.Name) and isinstance(p.ctx, gast.Load)}
    missing = {
        name: choice for name, choice in lw.chosen.items()
        if name in read and stmt.lineno > choice.end and not isinstance(lw.env.get(name), V)
    }  # fmt: skip
    found: list[Any] = []
    for flag in dict.fromkeys(choice.flag for choice in missing.values()):
        named = {name: choice.arrays for name, choice in missing.items() if choice.flag == flag}
        sides = [[_assigned(name, arrays[side], stmt) for name, arrays in named.items()] for side in range(2)]
        both = gast.If(test=_name(flag, gast.Load(), stmt), body=sides[0], orelse=sides[1])
        found.append(gast.copy_location(both, stmt))
    return found


def _assigned(name: str, array: str, at: Any) -> Any:
    target, value = _name(name, gast.Store(), at), _name(array, gast.Load(), at)
    return gast.copy_location(gast.Assign(targets=[target], value=value, type_comment=None), at)


def _name(name: str, ctx: Any, at: Any) -> Any:
    return gast.copy_location(gast.Name(id=name, ctx=ctx, annotation=None, type_comment=None), at)


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


def _read_later(cases: list[Case], behind: list[Any], stmt: Any, whole: Any) -> int | None:
    """Return the line behind which names of a choice are read, 0 if none are; None if it cannot be written by cases."""
    names = set(cases[0])
    others = {other for case in cases for other in case.values()}
    parts = [part for s in behind for part in gast.walk(s)]
    if any(isinstance(p, gast.Name) and p.id in names | others and not isinstance(p.ctx, gast.Load) for p in parts):
        return None
    if any(isinstance(p, gast.FunctionDef | gast.Lambda | gast.Nonlocal) for p in parts):
        return None
    if not any(_writes(part, names) for part in parts):
        return None
    everywhere = list(gast.walk(whole))
    if _uses([*gast.walk(stmt), *parts], names) == _uses(everywhere, names):
        return 0
    loops = [n for n in everywhere if isinstance(n, gast.For | gast.While) and any(p is stmt for p in gast.walk(n))]
    if not loops:
        return None
    begin, end = min(loop.lineno for loop in loops), max(loop.end_lineno or 0 for loop in loops)
    inside = {id(part) for part in [*gast.walk(stmt), *parts]}
    outside = [p for p in everywhere if isinstance(p, gast.Name) and p.id in names and id(p) not in inside]
    steady = all(p.lineno < begin for p in everywhere
                 if isinstance(p, gast.Name) and p.id in others and not isinstance(p.ctx, gast.Load))  # fmt: skip
    later = all(isinstance(p.ctx, gast.Load) and p.lineno > end for p in outside)
    return end if steady and later else None


def _uses(parts: list[Any], names: set[str]) -> Counter[str]:
    return Counter(part.id for part in parts if isinstance(part, gast.Name) and part.id in names)


def _writes(part: Any, names: set[str]) -> bool:
    """Say whether something is written through one of the names, or may be by a call that gives nothing."""
    match part:
        case gast.Subscript(ctx=gast.Store()):
            return root_name(part) in names
        case gast.Expr(value=gast.Call(args=args)):
            return any(root_name(arg) in names for arg in args)
        case _:
            return False


class _Named(gast.NodeTransformer):
    """Writes the arrays in the place of the names that mean them."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def visit_Name(self, node: Any) -> Any:
        if node.id not in self.case:
            return node
        return gast.copy_location(gast.Name(self.case[node.id], node.ctx, None, None), node)
