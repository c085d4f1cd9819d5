"""`try`/`except`: the handler is put where the raise stands that it catches.

What a calculation raises by itself becomes a test and a raise before it (`raising.py`). What is left is a tree of
`if`: what follows a branch that raises moves into its other paths, a `raise` inside a loop becomes a flag and a
`break`, and `finally` stands before every jump out and at the end.
"""

from __future__ import annotations

import copy
from typing import Any

import gast

from s2sad.frontend.arguments import known_value
from s2sad.frontend.guarded import Held
from s2sad.frontend.jumps import after_loops, before_jumps, blocks, flag_set, has_any, own, raised_if
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.raisers import ANYTHING, TESTED
from s2sad.frontend.raising import with_tests
from s2sad.frontend.values import StaticV, StructV


def lower_try(lw: Lowerer, node: Any) -> bool:
    """Lower a `try` whose handlers catch raises in its own body, or what is tested for there."""
    from s2sad.frontend.statements import lower_block

    count = len(lw.made)
    jumps = lower_block(lw, _written_out(lw, node))
    lw.forget(count)
    return jumps


def _written_out(lw: Lowerer, node: Any) -> list[Any]:
    """Return the statements that a `try` is, each handler where it is raised for."""
    handlers = [(_classes(lw, handler), handler) for handler in _handling(lw, node.handlers)]
    body = with_tests(lw, _without_tries(lw, _asserted(node.body, handlers)), handlers)
    caught = _caught(lw, body, handlers)
    for classes, handler in handlers:
        if handler not in caught.values() and not any(c in ANYTHING or issubclass(c, TESTED) for c in classes):
            lw.fail(handler, "this handler catches what is neither raised in the `try` itself nor tested for there",
                    "Of what Python raises by itself, arithmetic, `math`, indices, `cholesky`, `solve` and `inv` are "
                    "tested for.\nTest for the condition with `if` instead.")  # fmt: skip
    body = after_loops(lw, body, set(caught))
    whole = _tail_form(lw, body, _without_tries(lw, node.orelse), caught)
    whole = _handled(lw, _handled_once(lw, whole, caught), caught)
    return before_jumps(lw, whole, node.finalbody) if node.finalbody else whole


def _handling(lw: Lowerer, handlers: list[Any]) -> list[Any]:
    """Return the handlers up to the last that does more than raise again what it has caught."""
    doing = [at for at, handler in enumerate(handlers) if not _passes_on(lw, handler)]
    return handlers[: doing[-1] + 1] if doing else []


def _passes_on(lw: Lowerer, handler: Any) -> bool:
    body = handler.body
    while len(body) == 1 and isinstance(body[0], gast.If) and (known := _known(lw, body[0].test)) is not None:
        body = body[0].body if known else body[0].orelse
    match body:
        case [gast.Raise(exc=None | gast.Name() as raised, cause=None)]:
            return raised is None or raised.id == _name_in(handler)
        case _:
            return False


def _known(lw: Lowerer, test: Any) -> bool | None:
    """Return the truth of a name that is an option of the call; None where it is not known, or more is written."""
    match test:
        case gast.Name(id=name):
            stays = name in lw.env and not any(_binds(part, name) for part in gast.walk(lw.source.node))
            known = known_value(lw.env[name]) if stays else None
            return known if isinstance(known, bool) else None
        case gast.UnaryOp(op=gast.Not(), operand=operand):
            known = _known(lw, operand)
            return None if known is None else not known
        case _:
            return None


def _binds(node: Any, name: str) -> bool:
    return isinstance(node, gast.Name) and node.id == name and isinstance(node.ctx, gast.Store)


def _without_tries(lw: Lowerer, nodes: list[Any]) -> list[Any]:
    """Return statements in which every `try` is written out: what leaves it is raised in the `try` around it."""
    result: list[Any] = []
    for node in nodes:
        if isinstance(node, gast.Try):
            result.extend(_written_out(lw, node))
        else:
            result.append(blocks(node, lambda inner: _without_tries(lw, inner)))
    return result


def without_continuing_tries(lw: Lowerer, nodes: list[Any]) -> list[Any]:
    """Return the body of a loop in which every `try` is written out that may go on with the next turn."""
    result: list[Any] = []
    for node in nodes:
        if isinstance(node, gast.Try) and _goes_on([node]):
            result.extend(_written_out(lw, node))
        elif isinstance(node, gast.If):
            result.append(blocks(node, lambda inner: without_continuing_tries(lw, inner)))
        else:
            result.append(node)
    return result


def _goes_on(nodes: list[Any]) -> bool:
    """Say whether a `continue` of the loop around stands in these statements."""
    apart = gast.For | gast.While | gast.FunctionDef | gast.Lambda
    inside = [part for node in nodes if not isinstance(node, apart) for part in gast.iter_child_nodes(node)]
    return any(isinstance(node, gast.Continue) for node in nodes) or (bool(inside) and _goes_on(inside))


def _classes(lw: Lowerer, handler: Any) -> tuple[type[BaseException], ...]:
    from s2sad.frontend.expressions import lower_expr

    if handler.type is None:
        return (BaseException,)
    if isinstance(handler.type, Held):
        return handler.type.value
    value = lower_expr(lw, handler.type)
    items = value.items if isinstance(value, StructV) else (value,)
    found = tuple(i.value for i in items if isinstance(i, StaticV) and isinstance(i.value, type))
    if len(found) != len(items):
        lw.fail(handler, "only exception classes can be caught")
    return found


def _asserted(nodes: list[Any], handlers: list[Any]) -> list[Any]:
    """Write each `assert` that a handler catches as the `raise` that it is."""
    if not any(issubclass(AssertionError, classes) for classes, _ in handlers):
        return nodes
    result: list[Any] = []
    for node in nodes:
        if isinstance(node, gast.Assert):
            name = gast.Name(id="AssertionError", ctx=gast.Load(), annotation=None, type_comment=None)
            error = name if node.msg is None else gast.Call(func=name, args=[node.msg], keywords=[])
            test = gast.UnaryOp(op=gast.Not(), operand=node.test)
            result.append(gast.If(test=test, body=[gast.Raise(exc=error, cause=None)], orelse=[]))
            for made in (name, error, test, result[-1], result[-1].body[0]):
                gast.copy_location(made, node)
        else:
            result.append(blocks(node, lambda inner: _asserted(inner, handlers)))
    return result


def _caught(lw: Lowerer, body: list[Any], handlers: list[Any]) -> dict[Any, Any]:
    """Return the handler of each `raise` of a `try` body that has one."""
    from s2sad.frontend.statements import raised_class

    found: dict[Any, Any] = {}
    for node in own(body):
        if isinstance(node, gast.Raise) and handlers:
            error, _ = raised_class(lw, node)
            match = next((h for classes, h in handlers if issubclass(error, classes)), None)
            if match is not None:
                found[node] = match
    return found


def _jumps(nodes: list[Any]) -> bool:
    """Say whether control surely leaves this list of statements by a jump."""
    if not nodes:
        return False
    last = nodes[-1]
    if isinstance(last, gast.Return | gast.Raise | gast.Break | gast.Continue):
        return True
    return isinstance(last, gast.If) and _jumps(last.body) and _jumps(last.orelse)


def _tail_form(lw: Lowerer, nodes: list[Any], rest: list[Any], caught: dict[Any, Any]) -> list[Any]:
    """Move what follows a branch that raises into its other paths, so that each raise comes last.

    Where it would go into two paths, and is long or raises itself, the branch leaves word whether it has raised.
    """
    for position, node in enumerate(nodes):
        after = nodes[position + 1 :]
        if isinstance(node, gast.If) and has_any([node], set(caught)):
            twice = not (_jumps(node.body) or _jumps(node.orelse))
            if twice and (len(after) + len(rest) > _MOST_TWICE or has_any(after, set(caught))):
                return [*nodes[:position], *_with_word(lw, node, after, rest, caught)]
            branch = copy.copy(node)
            branch.body = _tail_form(lw, [*node.body, *([] if _jumps(node.body) else after)], rest, caught)
            branch.orelse = _tail_form(lw, [*node.orelse, *([] if _jumps(node.orelse) else after)], rest, caught)
            return [*nodes[:position], branch]
        if isinstance(node, gast.Return | gast.Raise | gast.Break | gast.Continue):
            return nodes[: position + 1]
        if has_any([node], set(caught)):
            kind = {"With": "`with`", "Match": "`match`"}.get(type(node).__name__, "`else` of a loop")
            lw.fail(node, f"a `raise` inside a {kind} inside a `try` is not supported",
                    f"Set a flag there, and raise after the {kind}.")  # fmt: skip
    return [*nodes, *rest]


_MOST_TWICE = 3


def _with_word(lw: Lowerer, node: Any, after: list[Any], rest: list[Any], caught: dict[Any, Any]) -> list[Any]:
    """Return a branch in which flags are set instead of raising, and what follows it behind a look at them."""
    branch = copy.copy(node)
    branch.body = _tail_form(lw, node.body, [], caught)
    branch.orelse = _tail_form(lw, node.orelse, [], caught)
    groups = _grouped(lw, [branch], caught)
    names = {raised: name for name, group in groups.items() for raised in group}
    follows = _tail_form(lw, after, rest, caught)
    for name, group in groups.items():
        follows = [raised_if(name, group[0], follows)]
    return [*(flag_set(name, False, node) for name in groups), _noted(branch, names), *follows]


def _handled_once(lw: Lowerer, nodes: list[Any], caught: dict[Any, Any]) -> list[Any]:
    """Leave word, instead of raising, where a long handler would be written several times: it stands once, behind."""
    groups = {
        name: group for name, group in _grouped(lw, nodes, caught).items()
        if sum(raised in group for raised in own(nodes)) > 1 and _is_long(caught[group[0]])
    }  # fmt: skip
    names = {raised: name for name, group in groups.items() for raised in group}
    unset = [flag_set(name, False, group[0]) for name, group in groups.items()]
    return [*unset, *(_noted(one, names) for one in nodes), *(raised_if(n, g[0], []) for n, g in groups.items())]


def _is_long(handler: Any) -> bool:
    return sum(isinstance(part, gast.stmt) for inner in handler.body for part in gast.walk(inner)) > _MOST_TWICE


def _grouped(lw: Lowerer, nodes: list[Any], caught: dict[Any, Any]) -> dict[str, list[Any]]:
    """Return the raises in these statements that one handler catches as one, under the name of a flag for them."""
    flags: dict[Any, str] = {}
    groups: dict[str, list[Any]] = {}
    for raised in dict.fromkeys(inner for inner in own(nodes) if inner in caught):
        kind = id(caught[raised]), getattr(raised.exc, "value", raised)  # what is raised of itself: by its class
        if kind not in flags:
            flags[kind] = lw.local("raised")
        groups.setdefault(flags[kind], []).append(raised)
    return groups


def _noted(node: Any, names: dict[Any, str]) -> Any:
    if node in names:
        return flag_set(names[node], True, node)
    return blocks(node, lambda inner: [_noted(one, names) for one in inner])


def _handled(lw: Lowerer, nodes: list[Any], caught: dict[Any, Any]) -> list[Any]:
    """Put the handler for each raise that is caught; what stands elsewhere is as it was."""
    result: list[Any] = []
    for node in nodes:
        if node in caught:
            handler = caught[node]
            body = _raised_again(_without_tries(lw, handler.body), node, _name_in(handler))
            body = _said(body, _name_in(handler), _message(node))
            _without_its_name(lw, handler, body)
            result.extend(body)
        elif isinstance(node, gast.If):
            result.append(blocks(node, lambda inner: _handled(lw, inner, caught)))
        else:
            result.append(node)
    return result


def _message(raised: Any) -> Any | None:
    """Return the text that an exception is raised with, as it stands in the source; None if it is something else."""
    match raised:
        case gast.Raise(exc=gast.Call(args=[gast.Constant(value=str()) | gast.JoinedStr() as text], keywords=[])):
            return text
        case _:
            return None


def _said(body: list[Any], name: str | None, message: Any | None) -> list[Any]:
    """Put the text of the exception that was caught where it is printed, or made a text of."""
    if name is None or message is None:
        return body
    said = _Said(name, message)
    return [said.visit(copy.deepcopy(node)) for node in body]


class _Said(gast.NodeTransformer):
    """`print(e)`, and of a text without numbers `str(e)` and `f"{e}"`, with the text of `e` in place of it."""

    def __init__(self, name: str, message: Any) -> None:
        self.name, self.message = name, message
        self.is_known = isinstance(message, gast.Constant)

    def visit_Call(self, node: Any) -> Any:
        self.generic_visit(node)
        called = getattr(node.func, "id", None)
        if called == "print":
            node.args = [self._text(arg) for arg in node.args]
        elif called == "str" and len(node.args) == 1 and not node.keywords and self.is_known:
            return self._text(node.args[0]) if self._is_it(node.args[0]) else node
        return node

    def visit_FormattedValue(self, node: Any) -> Any:
        self.generic_visit(node)
        if node.conversion in (-1, 115) and self.is_known:
            node.value = self._text(node.value)
        return node

    def _is_it(self, node: Any) -> bool:
        return isinstance(node, gast.Name) and node.id == self.name

    def _text(self, node: Any) -> Any:
        return gast.copy_location(copy.deepcopy(self.message), node) if self._is_it(node) else node


def _name_in(handler: Any) -> str | None:
    """Return what a handler calls the exception that it has caught."""
    return getattr(handler.name, "id", handler.name)


def _without_its_name(lw: Lowerer, handler: Any, body: list[Any]) -> None:
    """Refuse a handler that reads the exception itself."""
    name = _name_in(handler)
    for node in own(body):
        if name is not None and isinstance(node, gast.Name) and node.id == name and isinstance(node.ctx, gast.Load):
            lw.fail(node, f"the exception that was caught, `{name}`, is read here",
                    "Of an exception, only its class is known to a derivative.\n"
                    "Give what its message says a name before the `raise`, and read that.")  # fmt: skip


def _raised_again(nodes: list[Any], raised: Any, name: str | None) -> list[Any]:
    """A bare `raise` in a handler, or one of the name of what was caught, raises that; `from` adds nothing to it."""
    result: list[Any] = []
    for node in nodes:
        match node:
            case gast.Raise(exc=None) | gast.Raise(exc=gast.Name()) if node.exc is None or node.exc.id == name:
                result.append(raised)
            case gast.Raise(cause=gast.Name(id=cause)) if cause == name:
                result.append(gast.copy_location(gast.Raise(exc=node.exc, cause=None), node))
            case _:
                result.append(blocks(node, lambda inner: _raised_again(inner, raised, name)))
    return result
