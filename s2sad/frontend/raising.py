"""What a calculation in a `try` raises by itself, tested for before it, so that the handler stands in a branch.

    try:                                if b == 0:
        y = a / b                           y = 0.0
    except ZeroDivisionError:           else:
        y = 0.0                             y = a / b

A function of the user's that may raise is called in a form of which the body stands in a `try` of its own, and which
returns None where something was caught. What is tested for is in `raisers.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import gast

from s2sad.frontend.callees import Classes, callee_of, is_of_the_user, may_raise, writes
from s2sad.frontend.guarded import Guarded, Held, Raises
from s2sad.frontend.jumps import assigned, blocks, name_of
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.raisers import (
    ANYTHING,
    OF_INDEXING,
    OF_KINDS,
    OF_OPERATORS,
    OF_PLACES,
    OF_READING,
    OF_SETTING,
    UNTOLD,
    Raiser,
    never_of,
    of_call,
)

_LATER = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
_WHICH = (
    "which of the handlers catches what this call raises is not known",
    "Put it into a `try` of its own, with one `except`.",
)


def with_tests(lw: Lowerer, nodes: list[Any], handlers: list[tuple[Classes, Any]]) -> list[Any]:
    """Return statements in which a test and a `raise` stand before what may raise what a handler catches."""
    return _Tests(lw, handlers).block(nodes) if handlers else nodes


class _Tests:
    """Goes through the statements of one `try`."""

    def __init__(self, lw: Lowerer, handlers: list[tuple[Classes, Any]]) -> None:
        self.lw = lw
        self.handlers = handlers
        self.before: list[Any] = []
        """The statements that are to stand before the one that is looked at."""
        self.wrote = False
        """A call of the user's, which may write, has been put there."""

    def block(self, nodes: list[Any]) -> list[Any]:
        """Return the statements of a block with their tests."""
        result: list[Any] = []
        for node in nodes:
            outer, self.before = self.before, []
            changed = self._statement(node)
            result.extend([*self.before, changed])
            self.before = outer
        return result

    def _statement(self, node: Any) -> Any:
        match node:
            case gast.If(test=test):
                node = copy.copy(node)
                node.test = self._expression(test)
            case gast.For(iter=items):
                node = copy.copy(node)
                node.iter = self._expression(items)
            case gast.While(test=test):
                self._refuse(test, "the condition of a `while`",
                             "Put it into the loop: `while True:`, then `if …: break`.", by_kind=False)  # fmt: skip
            case gast.Assign() | gast.AnnAssign() | gast.AugAssign() | gast.Return() | gast.Expr():
                node = self._simple_statement(node)
            case _:
                pass
        return blocks(node, self.block)

    def _simple_statement(self, node: Any) -> Any:
        if node.value is None:
            return node
        if isinstance(node.value, gast.Call) and isinstance(node.value.func, Guarded):
            self._check_inner(node.value)
            return node
        node = copy.copy(node)
        node.value = self._expression(node.value)
        if isinstance(node, gast.AugAssign):
            read = gast.copy_location(copy.copy(node.target), node.target)
            read.ctx = gast.Load()
            _, node.value = self._tested(OF_OPERATORS.get(type(node.op), ()), [read, node.value], node)
        for target in getattr(node, "targets", [getattr(node, "target", None)]):
            if isinstance(target, gast.Subscript):
                raisers = OF_INDEXING if isinstance(node, gast.AugAssign) else (*OF_PLACES, *OF_KINDS)
                self._tested(raisers, [target.value, target.slice], target)
            elif isinstance(target, gast.Attribute) and self._catches(AttributeError, exactly=True):
                self._tested(OF_SETTING, [target.value, _text(target.attr, target)], target)
        return node

    def _check_inner(self, call: Any) -> None:
        """Refuse a call in an inner `try` that may raise what only this one catches: None would not say which."""
        rest = tuple(c for c in self._wanted() if not issubclass(c, call.func.classes))
        fn = callee_of(self.lw, self.lw.env, self.lw.source, call.func.func)
        if rest and may_raise(self.lw, fn, rest, ()):
            self.lw.fail(call, *_WHICH)

    def _expression(self, node: Any) -> Any:
        """Return an expression; what must stand before it is put there, in the order of evaluation."""
        match node:
            case gast.IfExp() if self._raises_inside([node.body, node.orelse]):
                return self._by_branches(node, self._expression(node.test), [node.body], [node.orelse])
            case gast.BoolOp() if self._raises_inside(node.values[1:]):
                return self._by_steps(node)
            case gast.Compare() if self._raises_inside(node.comparators[1:]):
                self._refuse(node, "a chain of comparisons", "Write them one by one, with `and`.")
            case _ if isinstance(node, _LATER):
                self._refuse(node, "a comprehension", "Write a loop.", by_kind=False)
                return node
            case gast.Lambda():
                return node  # where a function of the user's calls it, that is asked
            case _:
                pass
        return self._operation(self._with_parts(node))

    def _with_parts(self, node: Any) -> Any:
        """Return an operation whose operands are as they should be, from left to right."""
        changed = copy.copy(node)
        places = [(field, at) for field, at, _ in _parts(node)]
        starts: list[int] = []
        for done, (field, at) in enumerate(places):
            part = _part(changed, field, at)
            starts.append(len(self.before))
            wrote, self.wrote = self.wrote, False
            _set_part(changed, field, at, self._expression(part))
            if self.wrote:  # what was to be evaluated before the call that now stands before the statement
                for earlier in reversed(range(done)):
                    place = places[earlier]
                    kept = _part(changed, *place)
                    if not isinstance(kept, gast.Constant | gast.Slice | Held | Guarded) and _is_loaded(kept):
                        name = self.lw.local("before")
                        self.before.insert(starts[earlier + 1], assigned(name, kept, kept))
                        _set_part(changed, *place, _read(name, kept))
            self.wrote = self.wrote or wrote
        return changed

    def _operation(self, node: Any) -> Any:
        """Put the tests of one operation before the statement."""
        match node:
            case gast.BinOp(left=left, op=op, right=right):
                node.left, node.right = self._tested(OF_OPERATORS.get(type(op), ()), [left, right], node)
            case gast.Subscript(value=items, slice=place) if any(self._catches(r.error) for r in OF_INDEXING):
                if not isinstance(place, gast.Slice | gast.Tuple) and _is_loaded(node):
                    node.value, node.slice = self._tested(OF_INDEXING, [items, place], node)
            case gast.Attribute(value=owner) if self._is_raiser(node):
                node.value, _ = self._tested(OF_READING, [owner, _text(node.attr, node)], node)
            case gast.Call():
                return self._call(node)
            case _:
                pass
        return node

    def _call(self, node: Any) -> Any:
        fn = callee_of(self.lw, self.lw.env, self.lw.source, node.func)
        raisers = of_call(fn, node)
        if raisers is not None:
            node.args = [*self._tested(raisers, node.args[:2], node), *node.args[2:]]
            return node
        if not may_raise(self.lw, fn, self._wanted(), ()):
            if not is_of_the_user(fn):
                self._check_handed_on(node)
                self._check_told(node)
            return self._put_before(node) if self.before and writes(self.lw, fn, ()) else node
        return self._asked(node, fn)

    def _check_handed_on(self, node: Any) -> None:
        """Refuse a function that may raise where one of a library's calls it: `map(lambda v: 1 / v, x)`."""
        for part in node.args:
            if isinstance(part, gast.Lambda):
                self._refuse(part, "a lambda", "Write a loop.", by_kind=False)
            elif isinstance(part, gast.Name):
                fn = callee_of(self.lw, self.lw.env, self.lw.source, part)
                if is_of_the_user(fn) and may_raise(self.lw, fn, self._wanted(), ()):
                    self.lw.fail(part, "what a `try` catches is raised in a function that is handed on here",
                                 "Write a loop.")  # fmt: skip

    def _check_told(self, node: Any) -> None:
        """Refuse what raises and is not tested for, `items.pop()`, `max(items)`, where that is caught by name."""
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        of_several = name in ("max", "min") and len(node.args) > 1
        if name in UNTOLD and self._catches(UNTOLD[name], exactly=True) and not of_several:
            self.lw.fail(node, f"what `{name}` raises is not tested for, and a `try` around it catches that",
                         "Test for the condition with `if` instead: `if len(items) > 0:`.")  # fmt: skip

    def _asked(self, node: Any, fn: Any) -> Any:
        """Call a function of the user's in the form that returns None where it raises."""
        classes, handler = self.handlers[0]
        if len(self.handlers) > 1:
            self.lw.fail(node, *_WHICH)
        call = copy.copy(node)
        call.func = gast.copy_location(Guarded(node.func, handler, classes), node.func)
        call.is_kept = True
        name = self.lw.local("value")
        self.before.append(assigned(name, call, node))
        self.wrote = self.wrote or writes(self.lw, fn, ())
        none = gast.copy_location(gast.Constant(value=None, kind=None), node)
        test = gast.Compare(left=_read(name, node), ops=[gast.Is()], comparators=[none])
        self._raise_if(gast.copy_location(test, node), _representative(classes), node)
        return _read(name, node)

    def _put_before(self, node: Any) -> Any:
        name = self.lw.local("value")
        self.before.append(assigned(name, node, node))
        self.wrote = True
        return _read(name, node)

    def _by_branches(self, node: Any, test: Any, body: list[Any], orelse: list[Any]) -> Any:
        """Write a choice between two expressions as one between two statements."""
        name = self.lw.local("chosen")
        sides = [self.block([assigned(name, part, part) for part in side]) for side in (body, orelse)]
        self.before.append(gast.copy_location(gast.If(test=test, body=sides[0], orelse=sides[1]), node))
        return _read(name, node)

    def _by_steps(self, node: Any) -> Any:
        """Write `a and b` as `a`, and `b` where that is decisive."""
        name = self.lw.local("holds")
        first, *others = node.values
        self.before.append(assigned(name, self._expression(first), first))
        for other in others:
            test = _read(name, other)
            if isinstance(node.op, gast.Or):
                test = gast.copy_location(gast.UnaryOp(op=gast.Not(), operand=test), other)
            inner = self.block([assigned(name, other, other)])
            self.before.append(gast.copy_location(gast.If(test=test, body=inner, orelse=[]), other))
        return _read(name, node)

    def _tested(self, raisers: tuple[Raiser, ...], operands: list[Any], node: Any) -> list[Any]:
        """Put tests before the statement; return the operands, those that are tested under names."""
        wanted = [r for r in raisers if self._catches(r.error) and not never_of(r, operands)]
        used = {at for raiser in wanted for at in raiser.operands}
        divides = raisers is OF_OPERATORS[gast.Div]
        hint = "argument" if isinstance(node, gast.Call) else "divisor" if divides else "operand"
        operands = [self._named(part, hint) if at in used else part for at, part in enumerate(operands)]
        for raiser in wanted:
            test = gast.copy_location(Raises(raiser, [copy.deepcopy(o) for o in operands]), node)
            self._raise_if(test, raiser.error, node)
        return operands

    def _named(self, operand: Any, hint: str) -> Any:
        """Give an operand a name, if it is not one that can be read twice."""
        if _is_plain(operand):
            return operand
        name = self.lw.local(hint)
        behind = self.before and _is_test(self.before[-1]) and not self._raises_inside([operand])
        self.before.insert(len(self.before) - bool(behind), assigned(name, operand, operand))  # two tests become one
        return _read(name, operand)

    def _raise_if(self, test: Any, error: type[BaseException], node: Any) -> None:
        """Raise if a test holds; two tests in a row with one handler are one."""
        last: Any = self.before[-1] if self.before else None
        if _is_test(last) and self._handler(last.body[0].exc.value) is self._handler(error):
            earlier = last.test.values if isinstance(last.test, gast.BoolOp) else [last.test]
            test = gast.copy_location(gast.BoolOp(op=gast.Or(), values=[*earlier, test]), node)
            self.before.pop()
        held = gast.copy_location(Held(error), node)
        raised = gast.copy_location(gast.Raise(exc=held, cause=None), node)
        made = gast.copy_location(gast.If(test=test, body=[raised], orelse=[]), node)
        made.is_test = True
        self.before.append(made)

    def _handler(self, error: type[BaseException]) -> Any:
        return next((handler for classes, handler in self.handlers if issubclass(error, classes)), None)

    def _catches(self, error: type[Exception], exactly: bool = False) -> bool:
        """Say whether a handler catches a class; `exactly`: by more than that it catches anything."""
        named = tuple(c for classes, _ in self.handlers for c in classes)
        if exactly:
            named = tuple(c for c in named if c not in ANYTHING)
        return issubclass(error, named)

    def _wanted(self) -> Classes:
        return tuple(c for classes, _ in self.handlers for c in classes)

    def _raises_inside(self, nodes: list[Any]) -> bool:
        """Say whether something in these expressions is tested for."""
        return any(self._is_raiser(part) for node in nodes for part in gast.walk(node))

    def _is_raiser(self, node: Any, by_kind: bool = True) -> bool:
        """Say whether something is tested for; `by_kind`: also by the kinds of operands, as that is known at once."""
        match node:
            case gast.BinOp(left=left, op=op, right=right):
                found = OF_OPERATORS.get(type(op), ())
                return any(self._catches(r.error) and not never_of(r, [left, right]) for r in found)
            case gast.Subscript():
                wanted = OF_INDEXING if by_kind else tuple(r for r in OF_INDEXING if r not in OF_KINDS)
                return any(self._catches(r.error, exactly=True) for r in wanted) and _is_loaded(node)
            case gast.Attribute():
                return by_kind and self._catches(AttributeError, exactly=True) and _is_loaded(node)
            case gast.Call():
                fn = callee_of(self.lw, self.lw.env, self.lw.source, node.func)
                raisers = of_call(fn, node)
                if raisers is not None:
                    raisers = raisers if by_kind else tuple(r for r in raisers if r not in OF_KINDS)
                    return any(self._catches(r.error) and not never_of(r, node.args) for r in raisers)
                return may_raise(self.lw, fn, self._wanted(), ())
            case _:
                return False

    def _refuse(self, node: Any, where: str, instead: str, by_kind: bool = True) -> None:
        """Refuse what raises in a place before which nothing can stand."""
        found = next((part for part in gast.walk(node) if self._is_raiser(part, by_kind)), None)
        if found is not None:
            self.lw.fail(found, f"what a `try` catches is raised in {where} here", instead)


def _representative(classes: Classes) -> type[BaseException]:
    return Exception if BaseException in classes else classes[0]


def _is_test(node: Any) -> bool:
    return getattr(node, "is_test", False)


def _is_loaded(node: Any) -> bool:
    return isinstance(getattr(node, "ctx", None) or gast.Load(), gast.Load)


def _is_plain(node: Any) -> bool:
    """Say whether an expression is a name, a number, or an element of one at such a place."""
    match node:
        case gast.Name() | gast.Constant():
            return True
        case gast.UnaryOp(operand=operand):
            return _is_plain(operand)
        case gast.Attribute(value=value):
            return _is_plain(value)
        case gast.Subscript(value=value, slice=place):
            return _is_plain(value) and (_is_plain(place) or isinstance(place, gast.Tuple))
        case _:
            return False


def _text(text: str, node: Any) -> Any:
    return gast.copy_location(gast.Constant(value=text, kind=None), node)


def _read(name: str, node: Any) -> Any:
    return gast.copy_location(name_of(name, gast.Load()), node)


def _parts(node: Any) -> Iterator[tuple[str, int | None, Any]]:
    """Go through the operands of an expression in the order of evaluation."""
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            yield from ((field, at, part) for at, part in enumerate(value) if _is_operand(part))
        elif _is_operand(value):
            yield field, None, value


def _is_operand(node: Any) -> bool:
    return isinstance(node, gast.expr | gast.keyword) and not isinstance(node, gast.expr_context)


def _part(node: Any, field: str, at: int | None) -> Any:
    return getattr(node, field) if at is None else getattr(node, field)[at]


def _set_part(node: Any, field: str, at: int | None, value: Any) -> None:
    if at is None:
        setattr(node, field, value)
    else:
        setattr(node, field, [*getattr(node, field)[:at], value, *getattr(node, field)[at + 1 :]])


__all__ = ["with_tests"]
