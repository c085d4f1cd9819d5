"""Lists of texts that nothing reads: `log.append(f"step {i}: {loss:.3f}")`.

A derivative keeps no texts. A list that a function only appends texts to, and never looks at, is left out.
"""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import gast

from s2sad.frontend.source import Source

_FUNCTIONS = gast.FunctionDef | gast.AsyncFunctionDef | gast.Lambda | gast.ClassDef
_SHOWING = ("abs", "float", "format", "int", "join", "len", "max", "min", "repr", "round", "str", "sum", "type")
_QUIET = (
    gast.Attribute, gast.BinOp, gast.BoolOp, gast.Call, gast.Compare, gast.Constant, gast.FormattedValue, gast.IfExp,
    gast.JoinedStr, gast.Name, gast.Slice, gast.Subscript, gast.Tuple, gast.UnaryOp, gast.boolop, gast.cmpop,
    gast.expr_context, gast.operator, gast.unaryop,
)  # fmt: skip


def without_unread(source: Source) -> Source:
    """Return a function without the lists of texts that it never reads."""
    if isinstance(source.node, gast.Lambda) or not _made_empty(source.node):
        return source
    key = id(source.node)
    if key not in _WRITTEN:
        unread = _unread(source.node)
        made = source.node
        if unread:
            made = copy.copy(source.node)
            made.body = _block(made.body, unread)
        _WRITTEN[key] = (source.node, made)
    made = _WRITTEN[key][1]
    return source if made is source.node else source.rewritten(made, source.lines, {})


_WRITTEN: dict[int, tuple[Any, Any]] = {}
"""What was written, with what it was written from."""


def _made_empty(node: Any) -> list[str]:
    """Return the names that a function gives an empty list, by statements of its own body."""
    found: list[str] = []
    for stmt in node.body:
        match stmt:
            case gast.Assign(targets=[gast.Name(id=name)], value=gast.List(elts=[])):
                found.append(name)
            case gast.AnnAssign(target=gast.Name(id=name), value=gast.List(elts=[])):
                found.append(name)
            case _:
                pass
    return found


def _unread(node: Any) -> frozenset[str]:
    """Return those of the names that mean one list, which takes texts and does nothing else."""
    made = Counter(_made_empty(node))
    seen, appended = Counter[str](), Counter[str]()
    inner = {id(part) for outer in gast.walk(node) if outer is not node and isinstance(outer, _FUNCTIONS)
             for part in gast.walk(outer)}  # fmt: skip
    for part in gast.walk(node):
        if isinstance(part, gast.Name):
            seen[part.id] += 2 if id(part) in inner else 1
        elif isinstance(part, gast.Global | gast.Nonlocal):
            seen.update(part.names)
        elif (name := _appends_text(part)) is not None:
            appended[name] += 1
    return frozenset(name for name, times in made.items() if times == 1 and 0 < appended[name] == seen[name] - 1)


def _appends_text(stmt: Any) -> str | None:
    """Return the name of the list that a statement appends a text to, if it does nothing else."""
    match stmt:
        case gast.Expr(value=gast.Call(
            func=gast.Attribute(value=gast.Name(id=name), attr="append"), args=[text], keywords=[]
        )) if _is_text(text) and all(_is_quiet(part) for part in gast.walk(text)):  # fmt: skip
            return name
        case _:
            return None


def _is_text(node: Any) -> bool:
    match node:
        case gast.JoinedStr() | gast.Constant(value=str()):
            return True
        case gast.BinOp(left=left, op=gast.Add() | gast.Mod(), right=right):
            return _is_text(left) or (isinstance(node.op, gast.Add) and _is_text(right))
        case gast.Call(func=gast.Attribute(value=value, attr="format" | "join")):
            return _is_text(value)
        case gast.Call(func=gast.Name(id="str")):
            return True
        case gast.IfExp(body=body, orelse=orelse):
            return _is_text(body) and _is_text(orelse)
        case _:
            return False


def _is_quiet(node: Any) -> bool:
    """Say whether an expression changes nothing."""
    match node:
        case gast.Call(func=gast.Name(id=word) | gast.Attribute(attr=word)):
            return word in _SHOWING
        case _:
            return isinstance(node, _QUIET)


def _block(stmts: list[Any], unread: frozenset[str]) -> list[Any]:
    result: list[Any] = []
    for stmt in stmts:
        if _appends_text(stmt) in unread:
            continue
        kept = copy.copy(stmt)
        for part in ("body", "orelse", "finalbody"):
            if isinstance(block := getattr(stmt, part, None), list):
                left = _block(block, unread)
                setattr(kept, part, left or ([gast.copy_location(gast.Pass(), stmt)] if part == "body" else []))
        for part in ("handlers", "cases"):
            if isinstance(holders := getattr(stmt, part, None), list):
                setattr(kept, part, [_holder(holder, unread) for holder in holders])
        result.append(kept)
    return result


def _holder(node: Any, unread: frozenset[str]) -> Any:
    """Return a handler or a case without them."""
    kept = copy.copy(node)
    kept.body = _block(node.body, unread) or [gast.copy_location(gast.Pass(), node.body[0])]
    return kept
