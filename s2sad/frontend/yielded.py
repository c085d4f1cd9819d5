"""Generators that are not written into the loop that uses them up, methods for example: their values are listed first.

    def walk(self):                              def walk(self):
        yield self.value                             given = []
        yield from self.left.walk()    becomes       given.append(self.value)
                                                     given.extend(self.left.walk())
                                                     return given

That is the same unless a loop over them writes what the generator has yet to read, or reads what it has yet to write.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import gast

from s2sad.frontend.callees import text_of
from s2sad.frontend.generators import USING_UP, WRITING, is_generator, taken_names
from s2sad.frontend.guarded import defaults_of
from s2sad.frontend.jumps import blocks, own
from s2sad.frontend.lazily import root_name
from s2sad.frontend.leaving import has_own, named, placed
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.source import Source, source_of
from s2sad.frontend.values import FuncV, Value

_FRESH = frozenset({"array", "copy", "dict", "empty", "empty_like", "full", "list", "ones", "ones_like", "zeros",
                    "zeros_like"})  # fmt: skip
"""Functions whose results nothing else holds."""
_EAGER = ("list", "tuple", "sorted", "set", "reversed")
_LAZY = ("enumerate", "zip", "iter", "map", "filter")
_USED_UP = (
    "A generator is written into what uses it up at once, `for v in steps(n):`, `list(steps(n))`, `sum(steps(n))`.\n"
    "Else append to a list, and return that."
)
_LIST_FIRST = "Make a list of them first, where that is what is meant: `for v in list(…):`."


def gives_values(fn: Any) -> bool:
    """Say whether a function of the user's is a generator."""
    return is_generator(source_of(fn).node)


def listed(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any, once: bool = False) -> Value:
    """Call a generator, and return the list of its values; `once`: nothing else can ask for them."""
    from s2sad.frontend.calls import call_value

    source, text = text_of(fn)
    _check_ends(lw, text, node)
    returned = isinstance(lw.statement, gast.Return | None)
    if not once and not (lw.ctx.asking_iter and returned):
        use = _use(lw, lw.statement, node)
        if not use:
            lw.fail(node, f"what `{text.name}` gives is not used up where it is asked for", _USED_UP)
        if use == "some":
            _check_pure(lw, text, node)
    lw.ctx.listed.append(text)
    lw.ctx.listed_at[id(node)] = text
    lw.ctx.keep.append(node)
    if isinstance(lw.statement, gast.Assign) and lw.statement.value is node:  # used up later
        later = [part for part in own(lw.source.node.body) if getattr(part, "lineno", 0) > node.lineno]
        _check_unwritten(lw, text, iter(later))
    if not hasattr(text, "as_list"):
        text.as_list = _as_list(lw, source, text)
    return call_value(lw, FuncV(text.as_list, source, {}, source.name, defaults_of(lw, source)), args, kwargs, node)


def _use(lw: Lowerer, statement: Any, node: Any) -> str:
    """Say whether a call stands where "all" that it gives is asked for, once, or "some" of it; "" of other places."""
    parts = [] if statement is None else gast.walk(statement)
    around = next((part for part in parts if any(child is node for child in gast.iter_child_nodes(part))), None)
    match around:
        case gast.Call(func=gast.Name(id=word) | gast.Attribute(attr=word)) if word in _LAZY:
            return _use(lw, statement, around) and "some"
        case gast.Call(func=gast.Name(id="any" | "all")) | gast.Compare():
            return "some"
        case gast.Call(func=gast.Name(id=word) | gast.Attribute(attr=word)) if word in USING_UP or word == "extend":
            return "all"
        case gast.Call(func=gast.Name(id=word)) if word != "next":
            return "some"  # a function of the user's, perhaps: `check_handed_on`
        case gast.For() | gast.comprehension() | gast.Starred():
            return "all"
        case gast.Assign(targets=[gast.Tuple() | gast.List()]):
            return "all"
        case gast.Assign(targets=[gast.Name(id=name)]):
            return "some" if _is_read_once(lw.source.node, name) else ""
        case _:
            return ""


def _check_pure(lw: Lowerer, text: Any, node: Any) -> None:
    """Refuse a generator that writes into what others read, where not all that it gives is asked for at once."""
    inside = {n.id for n in own(text.body) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}
    if any(_place(part) is not None and _place(part) not in inside for part in own(text.body)):
        lw.fail(node, f"`{text.name}` writes what may be read before its next value is asked for", _LIST_FIRST)


def _is_read_once(function: Any, name: str) -> bool:
    """Say whether a function reads a name in one place, to which it comes once."""
    reads = [part for part in gast.walk(function) if isinstance(part, gast.Name) and part.id == name
             and isinstance(part.ctx, gast.Load)]  # fmt: skip
    again = [part for part in gast.walk(function) if part is not function and isinstance(part, _REPEATED)]
    inside = [n for part in again for inner in _repeated(part) for n in gast.walk(inner)]
    return len(reads) == 1 and not any(reads[0] is part for part in inside)


_REPEATED = gast.For | gast.While | gast.FunctionDef | gast.Lambda | gast.comprehension


def _repeated(node: Any) -> list[Any]:
    """Return the parts of a statement that may be evaluated several times."""
    if isinstance(node, gast.For):
        return node.body
    return node.ifs if isinstance(node, gast.comprehension) else [node]


def _check_ends(lw: Lowerer, text: Any, node: Any) -> None:
    for part in own(text.body):
        endless = isinstance(part, gast.While) and getattr(part.test, "value", None) in (True, 1)
        if endless and not has_own(part.body, gast.Break) and not any(isinstance(n, gast.Return) for n in own([part])):
            lw.fail(node, f"`{text.name}` gives values without an end",
                    "Give it a number of them, or write its loop here.")  # fmt: skip


def check_loop(lw: Lowerer, loop: Any, before: int) -> None:
    """Refuse a loop over what generators give, those listed since, if one writes what the other may read meanwhile."""
    if not _is_eager(loop.iter):
        for text in lw.ctx.listed[before:]:
            _check_pure(lw, text, loop.iter)
            _check_unwritten(lw, text, own(loop.body))


def check_handed_on(lw: Lowerer, callee: Any, call: Any) -> None:
    """Refuse a function that is given what a generator gives, if it writes what that may have yet to read."""
    for place, arg in enumerate(getattr(call, "args", ())):
        if id(arg) in lw.ctx.listed_at:
            text, names = lw.ctx.listed_at[id(arg)], [a.id for a in callee.args.args]
            if isinstance(callee, gast.Lambda) or place >= len(names) or not _is_read_once(callee, names[place]):
                lw.fail(call, f"what `{text.name}` gives is not used up where it is asked for", _USED_UP)
            _check_unwritten(lw, text, own(callee.body), callee)


def _check_unwritten(lw: Lowerer, text: Any, parts: Iterator[Any], function: Any = None) -> None:
    for part in parts:
        place = _place(part)
        if place is not None and not _is_fresh(function or lw.source.node, place):
            lw.fail(part if function is None else lw.statement,
                    f"what is written here may be what `{text.name}` has yet to read", _LIST_FIRST)  # fmt: skip


def _is_eager(node: Any) -> bool:
    """Say whether a loop goes over a list that is made first."""
    return isinstance(node, gast.Call) and getattr(node.func, "id", "") in _EAGER


def _place(part: Any) -> str | None:
    """Return the name of what a part of the text writes into, "" where it has none."""
    match part:
        case gast.Subscript(ctx=gast.Store() | gast.Del()) | gast.Attribute(ctx=gast.Store() | gast.Del()):
            return root_name(part) if isinstance(part.value, gast.Name) and isinstance(part, gast.Subscript) else ""
        case gast.Call(func=gast.Attribute(value=value, attr=attr)) if attr in WRITING:
            return root_name(value) if isinstance(value, gast.Name) else ""
        case _:
            return None


def _is_fresh(function: Any, name: str) -> bool:
    """Say whether a name only ever means what the function has made for it."""
    given = [part.value for part in gast.walk(function)
             if isinstance(part, gast.Assign) and any(getattr(t, "id", "") == name for t in part.targets)]  # fmt: skip
    return bool(given) and all(_makes(value) for value in given)


def _makes(value: Any) -> bool:
    match value:
        case gast.List() | gast.ListComp() | gast.Dict() | gast.BinOp():
            return True
        case gast.Call(func=gast.Name(id=word) | gast.Attribute(attr=word)):
            return word in _FRESH
        case _:
            return False


def _as_list(lw: Lowerer, source: Source, text: Any) -> Any:
    """Return a generator as the function that returns the list of its values."""
    taken = taken_names(text)
    name = next(word for word in ("given", *(f"given_{k}" for k in range(2, 100))) if word not in taken)
    statements = {id(stmt.value) for stmt in own(text.body) if isinstance(stmt, gast.Expr)}
    for part in own(text.body):
        used = isinstance(part, gast.Yield | gast.YieldFrom) and id(part) not in statements
        if used or (isinstance(part, gast.Return) and part.value is not None):
            lw.fail(lw.statement, f"`{source.name}` takes or returns a value besides those that it yields",
                    "Append to a list, and return that.")  # fmt: skip

    def written(nodes: list[Any]) -> list[Any]:
        return [_written(node, name) or blocks(node, written) for node in nodes]

    made = copy.copy(text)
    first, last = text.body[0], text.body[-1]
    begin = gast.Assign(targets=[named(name, gast.Store())], value=gast.List(elts=[], ctx=gast.Load()),
                        type_comment=None)  # fmt: skip
    end = gast.Return(value=named(name))
    made.body = [placed(begin, first), *written(copy.deepcopy(text.body)), placed(end, last)]
    return made


def _written(node: Any, name: str) -> Any:
    """Return what a `yield` or a `return` of a generator is; None for any other statement."""
    match node:
        case gast.Expr(value=gast.Yield(value=value)) if value is not None:
            return _called(node, name, "append", value)
        case gast.Expr(value=gast.YieldFrom(value=value)):
            return _called(node, name, "extend", value)
        case gast.Return():
            return gast.copy_location(gast.Return(value=gast.copy_location(named(name), node)), node)
        case _:
            return None


def _called(node: Any, name: str, method: str, value: Any) -> Any:
    func = gast.Attribute(value=named(name), attr=method, ctx=gast.Load())
    call = gast.Call(func=func, args=[value], keywords=[])
    made = gast.Expr(value=call)
    for part in (func.value, func, call, made):
        gast.copy_location(part, node)
    return made
