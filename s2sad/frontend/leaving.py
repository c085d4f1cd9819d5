"""The body of a loop in the place of the yields of a generator, and the ways out of both."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import gast

from s2sad.frontend.continued import without_continue

_LOOPS = (gast.For, gast.While)
_APART = (gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef, gast.Lambda)


class Stays(Exception):
    """This generator cannot be written into this loop."""


def has_own(body: list[Any], kind: Any) -> bool:
    """Say whether statements hold a `break` or `continue` of the loop that they are the body of."""
    for stmt in body:
        if isinstance(stmt, kind):
            return True
        if isinstance(stmt, _APART):
            continue
        fields = ("orelse",) if isinstance(stmt, _LOOPS) else ("body", "orelse", "finalbody")
        if any(has_own(getattr(stmt, field, None) or [], kind) for field in fields):
            return True
        if any(has_own(handler.body, kind) for handler in getattr(stmt, "handlers", ())):
            return True
    return False


class Exits:
    """Puts the body of one loop where a generator yields.

    `break` in it leaves all loops of the generator, which a flag tells the outer ones, and so does its `return`.
    Where something would follow, the whole stands in a loop that runs once, so that there is one to be left.
    """

    def __init__(self, name: Callable[[str], str], loop: Any, bind: Callable[[Any], list[Any]]) -> None:
        """`bind` gives the statements that bind the loop's variables to what is yielded."""
        self.name, self.loop, self.bind = name, loop, bind
        self.breaks = has_own(loop.body, gast.Break)
        self.left = self.broken = ""

    def fused(self, body: list[Any]) -> list[Any]:
        """Return the generator's statements with the loop's body in them."""
        if body and isinstance(body[-1], gast.Return):
            body = body[:-1]
        once = any(self._leaves(stmt) and not self._ends_with(stmt, body) for stmt in body)
        if self.loop.orelse and self.breaks:
            self.broken = self.name("broken")
        made = self._block(body, 1 if once else 0, in_loop=False)
        if once:
            count = gast.Call(func=named("range"), args=[gast.Constant(value=1, kind=None)], keywords=[])
            target = named(self.name("once"), gast.Store())
            made = [gast.For(target=target, iter=count, body=made, orelse=[], type_comment=None)]
        flags = [_set(flag, False) for flag in (self.left, self.broken) if flag]
        return [placed(stmt, self.loop) for stmt in (*flags, *made, *self._behind())]

    def _behind(self) -> list[Any]:
        """The loop's `else`, which a `break` skips."""
        if not self.loop.orelse or not self.broken:
            return self.loop.orelse
        test = gast.UnaryOp(op=gast.Not(), operand=named(self.broken))
        return [gast.If(test=test, body=self.loop.orelse, orelse=[])]

    def _leaves(self, stmt: Any) -> bool:
        """Say whether a statement of the generator may end the whole."""
        if isinstance(stmt, gast.Return):
            return True
        if _yielded(stmt) is not None:
            return self.breaks or any(isinstance(n, gast.Return) for s in self.bind(named("x")) for n in gast.walk(s))
        if isinstance(stmt, _APART):
            return False
        parts = [*(getattr(stmt, "body", None) or []), *(getattr(stmt, "orelse", None) or [])]
        return any(self._leaves(part) for part in parts if isinstance(part, gast.stmt))

    def _ends_with(self, stmt: Any, body: list[Any]) -> bool:
        """Say whether the generator ends with this statement, a loop that `break` leaves."""
        direct = isinstance(stmt, _LOOPS) or isinstance(_yielded(stmt), gast.YieldFrom)
        return stmt is body[-1] and direct and not getattr(stmt, "orelse", None)

    def _block(self, statements: list[Any], depth: int, in_loop: bool) -> list[Any]:
        """Return statements of the generator; `depth` loops stand around them that have to be left."""
        made: list[Any] = []
        for place, stmt in enumerate(statements):
            made += self._statement(stmt, depth, in_loop and place == len(statements) - 1)
        return made

    def _statement(self, stmt: Any, depth: int, is_last: bool) -> list[Any]:
        match stmt:
            case gast.Return():
                return [placed(s, stmt) for s in self._leave(depth, False)]
            case gast.Expr(value=gast.Yield(value=value)):
                bound = [self._returning(s, depth) for s in self.bind(value)]
                return [*(placed(s, stmt) for s in bound), *self._body(depth, is_last)]
            case gast.Expr(value=gast.YieldFrom(value=value)):
                item = self.name("item")
                one = placed(gast.Expr(value=gast.Yield(value=named(item))), stmt)
                over = gast.For(target=named(item, gast.Store()), iter=value, body=[one], orelse=[], type_comment=None)
                return self._statement(placed(over, stmt), depth, is_last)
            case gast.For() | gast.While():
                leaves = any(self._leaves(part) for part in stmt.body)
                stmt.body = self._block(stmt.body, depth + 1, in_loop=True)
                stmt.orelse = self._block(stmt.orelse, depth, in_loop=False)
                if not leaves or depth == 0:
                    return [stmt]
                check = gast.If(test=named(self._flag()), body=[gast.Break()], orelse=[])
                return [stmt, placed(check, stmt)]
            case gast.If() | gast.With():
                stmt.body = self._block(stmt.body, depth, in_loop=is_last)
                if isinstance(stmt, gast.If):
                    stmt.orelse = self._block(stmt.orelse, depth, in_loop=is_last)
                return [stmt]
            case _:
                if self._leaves(stmt):
                    raise Stays
                return [stmt]

    def _returning(self, stmt: Any, depth: int) -> Any:
        """What binds the variables may find that there is nothing more."""
        if isinstance(stmt, gast.If) and any(isinstance(s, gast.Return) for s in stmt.body):
            return gast.If(test=stmt.test, body=self._leave(depth, False), orelse=[])
        return stmt

    def _leave(self, depth: int, is_break: bool) -> list[Any]:
        flags = [self._flag()] if depth > 1 else []
        flags += [self.broken] if is_break and self.broken else []
        return [*(_set(flag, True) for flag in flags), gast.Break()]

    def _flag(self) -> str:
        self.left = self.left or self.name("left")
        return self.left

    def _body(self, depth: int, is_last: bool) -> list[Any]:
        body = copy.deepcopy(self.loop.body)
        if has_own(body, gast.Continue) and not is_last:
            body = without_continue(body)
            if has_own(body, gast.Continue):
                raise Stays
        return self._broken_off(body, depth) if self.breaks else body

    def _broken_off(self, body: list[Any], depth: int) -> list[Any]:
        made: list[Any] = []
        for stmt in body:
            if isinstance(stmt, gast.Break):
                return [*made, *(placed(s, stmt) for s in self._leave(depth, True))]
            fields = ("orelse",) if isinstance(stmt, _LOOPS) else ("body", "orelse", "finalbody")
            if not isinstance(stmt, _APART):
                for field in fields:
                    if getattr(stmt, field, None):
                        setattr(stmt, field, self._broken_off(getattr(stmt, field), depth))
            for handler in getattr(stmt, "handlers", ()):
                handler.body = self._broken_off(handler.body, depth)
            made.append(stmt)
        return made


def _yielded(stmt: Any) -> Any:
    value = stmt.value if isinstance(stmt, gast.Expr) else None
    return value if isinstance(value, gast.Yield | gast.YieldFrom) else None


def _set(name: str, value: bool) -> Any:
    constant = gast.Constant(value=value, kind=None)
    return gast.Assign(targets=[named(name, gast.Store())], value=constant, type_comment=None)


def named(name: str, ctx: Any = None) -> Any:
    """Write a name."""
    return gast.Name(id=name, ctx=ctx or gast.Load(), annotation=None, type_comment=None)


def placed(node: Any, place: Any) -> Any:
    """Give what has no place that of another node."""
    for part in gast.walk(node):
        if isinstance(part, gast.expr | gast.stmt) and not hasattr(part, "lineno"):
            gast.copy_location(part, place)
            if hasattr(place, "home"):
                part.home = place.home
    return node


def with_parts(node: Any, made: Callable[[Any], Any]) -> Any:
    """Put what is made of each part of an expression in its place, of those that are computed in any case."""
    if isinstance(node, gast.IfExp):
        node.test = made(node.test)
        return node
    if isinstance(node, gast.BoolOp):
        node.values[0] = made(node.values[0])
        return node
    for field, value in gast.iter_fields(node):
        if isinstance(value, gast.expr):
            setattr(node, field, made(value))
        elif isinstance(value, list):
            setattr(node, field, [made(part) if isinstance(part, gast.expr) else part for part in value])
    for keyword in getattr(node, "keywords", ()):
        keyword.value = made(keyword.value)
    return node
