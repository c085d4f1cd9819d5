"""One of several functions, where a run tells which: `steps[i % 2](x)`, `f = up if x > 0 else down`.

A number says which it is, and a call of it is a branch over calls of each.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from s2sad.errors import Span
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import BOOL, build
from s2sad.frontend.values import FuncV, MethodV, Poison, StaticV, StructV, V, Value, literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Const, Expr, If, Raise, Var
from s2sad.ir.types import Scalar, Static

_MOST = 16
_WHOLE = Scalar("int64", True)

Path = tuple[list[Any], dict[str, Value]]
"""What a path does, and what names mean at its end."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of so many functions, as the kind of a structure of a number and the functions."""

    count: int


def is_one_of(value: Value) -> bool:
    """Say whether a value is one of several functions."""
    return isinstance(value, StructV) and isinstance(value.kind, OneOf)


def _is_function(value: Value) -> bool:
    from s2sad.frontend.functional import Partial

    match value:
        case FuncV():
            return True
        case MethodV(owner):
            return not isinstance(owner, Poison)
        case StaticV(obj):
            return callable(obj)
        case StructV(Partial() | OneOf()):
            return True
        case _:
            return False


def item_of(lw: Lowerer, functions: StructV, index: Expr, node: Any) -> Value | None:
    """`functions[index]` of a list whose items are functions; None of any other."""
    count = len(functions.items)
    if not 0 < count <= _MOST or not all(map(_is_function, functions.items)):
        return None
    which = lw.atom(index, "which", lw.span(node))
    if not _is_remainder(index, count):
        inside = (build(operator.le, literal(-count), which), build(operator.lt, which, literal(count)))
        text = "list index out of range"
        stop = Raise(IndexError, (Const(text, Static(text)),), lw.span(node))
        lw.emit(If(Apply(operator.not_, (Apply(ops.both, inside, BOOL),), BOOL), (stop,), (), lw.span(node)))
        which = lw.atom(build(operator.mod, which, literal(count)), "which", lw.span(node))
    return _one_of(which, functions.items)


def _is_remainder(index: Expr, count: int) -> bool:
    """Say whether an index is `k % count`, which is a place in the list whatever `k` is."""
    return isinstance(index, Apply) and index.fn is operator.mod and getattr(index.args[1], "value", None) == count


def chosen(lw: Lowerer, test: Expr, a: Value, b: Value, node: Any) -> Value | None:
    """`f if test else g` of two functions; None of any other values."""
    if not (_is_function(a) and _is_function(b)):
        return None
    number = Apply(ops.ifexp, (test, literal(0), literal(1)), _WHOLE)
    return _one_of(lw.atom(number, "which", lw.span(node)), (a, b))


def meet(lw: Lowerer, paths: tuple[Path, Path], span: Span) -> None:
    """Give a name that means one function on one path and another on the other path a number that says which."""
    (_, first), (_, second) = paths
    for name in [name for name in first if name in second]:
        one = of_paths(lw, paths, first[name], second[name], span)
        if one is not None:
            first[name] = second[name] = one


def of_paths(lw: Lowerer, paths: tuple[Path, Path], a: Value, b: Value, span: Span) -> StructV | None:
    """Return one of the functions that two paths give; each path says which. None of any other values."""
    if a is b or not (_is_function(a) and _is_function(b)) or _is_same_code(a, b) or a == b:
        return None
    functions = (*_alternatives(a), *_alternatives(b))
    if len(functions) > _MOST:
        return None
    which = Var(lw.fresh("which"), _WHOLE)
    for (block, _), value, before in zip(paths, (a, b), (0, len(_alternatives(a))), strict=True):
        number = value.items[0] if is_one_of(value) and isinstance(value, StructV) else V(literal(0))
        assert isinstance(number, V)
        block.append(Assign(which, build(operator.add, number.expr, literal(before)) if before else number.expr, span))
    return _one_of(which, functions)


def _alternatives(value: Value) -> tuple[Value, ...]:
    return value.items[1:] if is_one_of(value) and isinstance(value, StructV) else (value,)


def _is_same_code(a: Value, b: Value) -> bool:
    return isinstance(a, FuncV) and isinstance(b, FuncV) and a.node is b.node


def _one_of(which: Expr, functions: tuple[Value, ...]) -> StructV:
    return StructV(OneOf(len(functions)), ("which", *range(len(functions))), (V(which), *functions))


def call(lw: Lowerer, one: StructV, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call the function that the number says, with arguments that are computed before."""
    from s2sad.frontend.functional import bind_each, expression

    assert isinstance(one.kind, OneOf)
    which, *functions = bind_each(lw, list(one.items))
    held = [_computed(lw, value, node) for value in (*args, *kwargs.values())]
    given = bind_each(lw, held)
    words = [*given[: len(args)], *(f"{k}={name}" for k, name in zip(kwargs, given[len(args) :], strict=True))]
    calls = [f"{function}({', '.join(words)})" for function in functions]
    text = calls[-1]
    for number in range(len(calls) - 2, -1, -1):
        text = f"({calls[number]} if {which} == {number} else {text})"
    return expression(lw, text, node)


def _computed(lw: Lowerer, value: Value, node: Any) -> Value:
    return V(lw.atom(value.expr, "argument", lw.span(node))) if isinstance(value, V) else value
