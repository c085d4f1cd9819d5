"""Operators of Python as callables, and the one place where an `Apply` is built and typed."""

from __future__ import annotations

import builtins
import operator
from typing import Any

from s2sad.errors import ArgumentError
from s2sad.frontend.infer import InferenceError, infer
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.surely import refuse_none
from s2sad.frontend.values import V
from s2sad.ir.nodes import Apply, Expr
from s2sad.ir.types import Scalar, Static, Type

BINARY: dict[str, Any] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow,
    "MatMult": operator.matmul, "BitAnd": operator.and_, "BitOr": operator.or_,
    "BitXor": operator.xor, "LShift": operator.lshift, "RShift": operator.rshift,
}  # fmt: skip
SYMBOLS: dict[str, str] = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**",
    "MatMult": "@", "BitAnd": "&", "BitOr": "|", "BitXor": "^", "LShift": "<<", "RShift": ">>",
}  # fmt: skip
BY_SYMBOL: dict[str, Any] = {SYMBOLS[name]: fn for name, fn in BINARY.items()}
UNARY: dict[str, Any] = {
    "USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert, "Not": operator.not_,
}  # fmt: skip
COMPARE: dict[str, Any] = {
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge,
    "Eq": operator.eq, "NotEq": operator.ne, "Is": operator.is_, "IsNot": operator.is_not,
}  # fmt: skip
_NEGATED: dict[Any, Any] = {
    operator.not_: None, operator.eq: operator.ne, operator.ne: operator.eq,
}  # fmt: skip

_NEGATED_ORDER: dict[Any, Any] = {
    operator.lt: operator.ge, operator.le: operator.gt, operator.gt: operator.le, operator.ge: operator.lt,
}  # fmt: skip
"""Only integers have no NaN."""

_SIGNS: dict[Any, str] = {
    **{fn: symbol for symbol, fn in BY_SYMBOL.items()}, operator.neg: "-", operator.pos: "+", operator.not_: "not",
    operator.invert: "~", operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=",
    operator.eq: "==", operator.ne: "!=", operator.is_: "is", operator.is_not: "is not",
}  # fmt: skip

BOOL = Scalar("bool", weak=True)


def as_users_write(fn: Any) -> str:
    """Return the sign that Python has for an operation, or the name of a function."""
    return _SIGNS.get(fn) or getattr(fn, "__name__", str(fn))


def apply(lw: Lowerer, fn: Any, args: tuple[Expr, ...], static: dict[str, Any], node: Any) -> V:
    """Return the typed application of `fn`; a located error where NumPy refuses the types."""
    try:
        kind = infer(fn, args, static)
    except InferenceError as error:
        if any(arg.type == Static(None) for arg in args):
            return refuse_none(lw, fn, node)
        return lw.fail(node, f"`{as_users_write(fn)}` cannot be applied here", _sentence(str(error)), ArgumentError)
    return V(Apply(fn, args, kind, tuple(static.items())))


def _sentence(text: str) -> str:
    text = text.split("\n")[0].strip() or "NumPy refuses it"
    return f"NumPy says: {text}."


def build(fn: Any, *args: Expr, **static: Any) -> Expr:
    """Return the typed application of `fn` for code that a transform writes."""
    return Apply(fn, args, infer(fn, args, static), tuple(static.items()))


def typed(fn: Any, args: tuple[Expr, ...], kind: Type, **static: Any) -> Apply:
    """Return an application whose type is known already."""
    return Apply(fn, args, kind, tuple(static.items()))


def negate(test: Expr) -> Expr:
    """Return `not test`, a comparison of numbers inverted only where NaN does not matter."""
    if isinstance(test, Apply):
        if test.fn is operator.not_:
            return test.args[0]
        other = _NEGATED.get(test.fn)
        if other is None and all(isinstance(a.type, Scalar) and "int" in a.type.dtype for a in test.args):
            other = _NEGATED_ORDER.get(test.fn)
        if other is not None:
            return Apply(other, test.args, test.type)
    return Apply(operator.not_, (test,), BOOL)


SCALAR_BUILTINS: frozenset[Any] = frozenset({
    builtins.abs, builtins.float, builtins.int, builtins.bool, builtins.complex, builtins.round,
    builtins.pow,
})  # fmt: skip
