"""Jumps out of blocks of Python statements: found, taken out of loops, and preceded by `finally`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import gast

from s2sad.frontend.lowerer import Lowerer

_BLOCKS = ("body", "orelse", "finalbody")
_APART = (gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef, gast.Lambda)


def blocks(node: Any, change: Callable[[list[Any]], list[Any]]) -> Any:
    """Return a statement with each of its blocks changed; a `try` and an inner function as they are."""
    if not isinstance(node, gast.If | gast.For | gast.While | gast.With):
        return node
    node = copy.copy(node)
    for field in _BLOCKS:
        if getattr(node, field, None):
            setattr(node, field, change(getattr(node, field)))
    return node


def own(nodes: list[Any]) -> Iterator[Any]:
    """Go through all that stands in these statements, but not in functions defined there."""
    for node in nodes:
        yield node
        if not isinstance(node, _APART):
            yield from own(list(gast.iter_child_nodes(node)))


def has_any(nodes: list[Any], wanted: set[Any]) -> bool:
    """Say whether one of the wanted nodes stands in these statements."""
    return any(node in wanted for node in own(nodes))


def after_loops(lw: Lowerer, nodes: list[Any], raises: set[Any]) -> list[Any]:
    """Take these raises out of loops: a flag and a `break` there, and the `raise` behind the loop."""
    result: list[Any] = []
    for node in nodes:
        if isinstance(node, gast.For | gast.While):
            node = copy.copy(node)
            node.body = after_loops(lw, node.body, raises)
            inside = [inner for inner in own(node.body) if inner in raises]
            flags = {raised: lw.local("raised") for raised in dict.fromkeys(inside)}
            node.body = _flagged(node.body, flags)
            result.extend(flag_set(name, False, raised) for raised, name in flags.items())
            result.append(node)
            result.extend(raised_if(name, raised, []) for raised, name in flags.items())
        else:
            result.append(blocks(node, lambda inner: after_loops(lw, inner, raises)))
    return result


def _flagged(nodes: list[Any], flags: dict[Any, str]) -> list[Any]:
    result: list[Any] = []
    for node in nodes:
        if node in flags:
            stop = gast.copy_location(gast.Break(), node)
            return [*result, flag_set(flags[node], True, node), stop]
        result.append(blocks(node, lambda inner: _flagged(inner, flags)) if isinstance(node, gast.If) else node)
    return result


def flag_set(name: str, value: bool, node: Any) -> Any:
    """Return the statement, standing at `node`, that gives a flag its value."""
    return assigned(name, gast.copy_location(gast.Constant(value=value, kind=None), node), node)


def assigned(name: str, value: Any, node: Any) -> Any:
    """Return the statement, standing at `node`, that gives a value a name; the value keeps its own place."""
    target = gast.copy_location(name_of(name, gast.Store()), node)
    return gast.copy_location(gast.Assign(targets=[target], value=value, type_comment=None), node)


def raised_if(name: str, raised: Any, others: list[Any]) -> Any:
    """Return the branch that raises if a flag is set, and else goes on."""
    test = gast.copy_location(name_of(name, gast.Load()), raised)
    return gast.copy_location(gast.If(test=test, body=[raised], orelse=others), raised)


def name_of(name: str, ctx: Any) -> Any:
    """Return a name in the text, which has no place yet."""
    return gast.Name(id=name, ctx=ctx, annotation=None, type_comment=None)


def before_jumps(lw: Lowerer, nodes: list[Any], last: list[Any]) -> list[Any]:
    """Put the steps of `finally` before every jump out of these statements, and at their end.

    What is returned is computed before them.
    """
    if any(isinstance(node, gast.Return | gast.Raise | gast.Break | gast.Continue) for node in own(last)):
        lw.fail(last[0], "a jump out of `finally` is not supported", "Jump after the `try`.")
    made, falls_through = _preceded(lw, nodes, last, in_loop=False)
    return [*made, *last] if falls_through else made


def _preceded(lw: Lowerer, nodes: list[Any], last: list[Any], in_loop: bool) -> tuple[list[Any], bool]:
    """Return the statements, and whether control can reach their end."""
    result: list[Any] = []
    for node in nodes:
        match node:
            case gast.Break() | gast.Continue():
                return [*result, *([] if in_loop else last), node], False
            case gast.Raise():
                return [*result, *last, node], False
            case gast.Return(value=None | gast.Constant()):
                return [*result, *last, node], False
            case gast.Return():
                name = lw.local("result")
                kept = gast.copy_location(name_of(name, gast.Load()), node)
                leave = gast.copy_location(gast.Return(value=kept), node)
                return [*result, assigned(name, node.value, node), *last, leave], False
            case gast.If():
                node = copy.copy(node)
                node.body, one = _preceded(lw, node.body, last, in_loop)
                node.orelse, other = _preceded(lw, node.orelse, last, in_loop)
                result.append(node)
                if not (one or other):
                    return result, False
            case gast.For() | gast.While():
                node = copy.copy(node)
                node.body, _ = _preceded(lw, node.body, last, in_loop=True)
                node.orelse, _ = _preceded(lw, node.orelse, last, in_loop)
                result.append(node)
            case _:
                result.append(blocks(node, lambda inner: _preceded(lw, inner, last, in_loop)[0]))
    return result, True
