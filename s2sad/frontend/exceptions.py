"""`try`/`except` around an explicit `raise`: the handler is put where the raise stands."""

from __future__ import annotations

import copy
from typing import Any

import gast

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, StructV


def lower_try(lw: Lowerer, node: Any) -> bool:
    """Lower a `try` whose handlers catch only raises that are written in its own body."""
    from s2sad.frontend.statements import lower_block

    return lower_block(lw, _written_out(lw, node))


def _written_out(lw: Lowerer, node: Any) -> list[Any]:
    """Return the statements that a `try` is, each handler where it is raised for."""
    if node.finalbody and any(isinstance(n, gast.Return | gast.Break | gast.Continue)
                              for s in node.body for n in gast.walk(s)):  # fmt: skip
        lw.fail(node, "`finally` after a jump out of `try` is not supported", "Write the steps in order.")
    handlers = [(_classes(lw, h), h) for h in node.handlers]
    caught: set[int] = set()
    body = _inline(lw, _tail_form(lw, _without_tries(lw, node.body), _without_tries(lw, node.orelse)), handlers, caught)
    for _, handler in handlers:
        if id(handler) not in caught:
            lw.fail(handler, "this handler catches an exception that is not raised in the `try` body itself",
                    "An exception that a calculation raises by itself cannot be differentiated around.\n"
                    "Test for the condition with `if` instead.")  # fmt: skip
    return [*body, *node.finalbody]


def _without_tries(lw: Lowerer, nodes: list[Any]) -> list[Any]:
    """Return statements in which every `try` is written out: what leaves it is raised in the `try` around it."""
    result: list[Any] = []
    for node in nodes:
        if isinstance(node, gast.Try):
            made = _written_out(lw, node)
            if node.finalbody and _has_raise(made):
                lw.fail(node, "what leaves a `try` with `finally` inside another `try` is not supported",
                        "Write the steps of `finally` before each `raise`.")  # fmt: skip
            result.extend(made)
        elif isinstance(node, gast.If | gast.For | gast.While | gast.With):
            node = copy.copy(node)
            node.body = _without_tries(lw, node.body)
            if not isinstance(node, gast.With):
                node.orelse = _without_tries(lw, node.orelse)
            result.append(node)
        else:
            result.append(node)
    return result


def _classes(lw: Lowerer, handler: Any) -> tuple[type[BaseException], ...]:
    from s2sad.frontend.expressions import lower_expr

    if handler.type is None:
        return (BaseException,)
    value = lower_expr(lw, handler.type)
    items = value.items if isinstance(value, StructV) else (value,)
    found = tuple(i.value for i in items if isinstance(i, StaticV) and isinstance(i.value, type))
    if len(found) != len(items):
        lw.fail(handler, "only exception classes can be caught")
    return found


def _has_raise(nodes: list[Any]) -> bool:
    return any(isinstance(n, gast.Raise) for s in nodes for n in gast.walk(s))


def _jumps(nodes: list[Any]) -> bool:
    """Say whether control surely leaves this list of statements by a jump."""
    if not nodes:
        return False
    last = nodes[-1]
    if isinstance(last, gast.Return | gast.Raise | gast.Break | gast.Continue):
        return True
    return isinstance(last, gast.If) and _jumps(last.body) and _jumps(last.orelse)


def _tail_form(lw: Lowerer, nodes: list[Any], rest: list[Any]) -> list[Any]:
    """Move what follows a branch that raises into its other paths, so that each raise comes last."""
    for position, node in enumerate(nodes):
        after = nodes[position + 1 :]
        if isinstance(node, gast.If) and _has_raise([node]):
            branch = copy.copy(node)
            branch.body = _tail_form(lw, [*node.body, *([] if _jumps(node.body) else after)], rest)
            branch.orelse = _tail_form(lw, [*node.orelse, *([] if _jumps(node.orelse) else after)], rest)
            return [*nodes[:position], branch]
        if isinstance(node, gast.Raise):
            return nodes[: position + 1]
        if isinstance(node, gast.For | gast.While | gast.With) and _has_raise([node]):
            kind = "`with`" if isinstance(node, gast.With) else "loop"
            lw.fail(node, f"a `raise` inside a {kind} inside a `try` is not supported",
                    f"Set a flag there, and raise after the {kind}.")  # fmt: skip
        if isinstance(node, gast.Return | gast.Break | gast.Continue):
            return nodes[: position + 1]
    return [*nodes, *rest]


def _inline(lw: Lowerer, nodes: list[Any], handlers: list[Any], caught: set[int]) -> list[Any]:
    from s2sad.frontend.statements import raised_class

    result: list[Any] = []
    for node in nodes:
        if isinstance(node, gast.If):
            branch = copy.copy(node)
            branch.body = _inline(lw, node.body, handlers, caught)
            branch.orelse = _inline(lw, node.orelse, handlers, caught)
            result.append(branch)
        elif isinstance(node, gast.Raise):
            error, _ = raised_class(lw, node)
            match = next((h for classes, h in handlers if issubclass(error, classes)), None)
            if match is None:
                result.append(node)
            else:
                caught.add(id(match))
                result.extend(match.body)
        else:
            result.append(node)
    return result
