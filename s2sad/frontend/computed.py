"""Library calls that are done while the derivative is made: they have no rule, and all their arguments are constants.

`t, w = np.polynomial.legendre.leggauss(5)` gives numbers that no argument of the program moves. They are computed
once, and reach the derivative as arrays from outside do. Members of enumerations are found then, too.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from s2sad.errors import ArgumentError
from s2sad.frontend.arguments import UNKNOWN, known_value, parameters_of
from s2sad.frontend.captures import capture
from s2sad.frontend.effects import has_effects
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import build
from s2sad.frontend.values import StaticV, StructV, V, Value
from s2sad.ir.types import Array

_ARGUMENTS = (bool, int, float, complex, str, np.generic, np.dtype, type(None))
_RANDOM = frozenset({"random_state", "rng", "seed"})
_IMPURE = ("numpy.random", "numpy.lib._npyio", "numpy.lib.npyio", "scipy.io", "scipy.datasets", "scipy.stats")
"""Modules whose functions draw, or read and write files."""
_FILES = frozenset({"load", "loadtxt", "fromfile", "genfromtxt", "fromregex", "memmap", "open_memmap"})


def computed(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
    """Return what a call of a library function gives, if it has no rule and is the same at every call; else None."""
    from s2sad.rules import find

    if not repeatable(fn) or find(fn) is not None or not (args or kwargs):
        return None
    given = [known_value(a) for a in args]
    named = {name: known_value(a) for name, a in kwargs.items()}
    if not all(_is_constant(value) for value in (*given, *named.values())):
        return None
    key = "computed", fn, repr(given), repr(named)
    if key not in lw.ctx.computed:
        lw.ctx.computed[key] = _result(lw, fn, given, named, node)
    result = lw.ctx.computed[key]
    if result is None:
        return None
    return _own(capture(lw, result, fn.__name__, lambda: result))


def member(lw: Lowerer, fn: Any, args: list[Value], node: Any) -> Value | None:
    """Return the member of an enumeration that `Limiter("minmod")` is; None of a whole number that a run tells."""
    known = [known_value(a) for a in args]
    if any(value is UNKNOWN for value in known):
        return None if issubclass(fn, int) else lw.fail(
            node, f"which member of `{fn.__name__}` this is, is not known here", "Pass the member itself.")  # fmt: skip
    try:
        return StaticV(fn(*known))
    except ValueError as error:
        return lw.fail(node, f"`{fn.__name__}` has no such member", f"Python says: {error}.", ArgumentError)


def repeatable(fn: Any) -> bool:
    """Say whether a callable is a function of NumPy or SciPy that gives the same at every call."""
    module = getattr(fn, "__module__", None) or ""
    if isinstance(fn, type | types.MethodType) or module.split(".")[0] not in ("numpy", "scipy"):
        return False
    name = getattr(fn, "__name__", "")
    impure = module.startswith(_IMPURE) or name in _FILES or has_effects(fn)
    return bool(name) and not (impure or _RANDOM & set(parameters_of(fn) or ()))


def _is_constant(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_is_constant(part) for part in value)
    return value is not UNKNOWN and (isinstance(value, _ARGUMENTS) or isinstance(value, type))


def _result(lw: Lowerer, fn: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
    """Return what the call gives, or None if that is not made of numbers."""
    try:
        result = fn(*args, **kwargs)
    except Exception as error:
        why = f"It raises {type(error).__name__}: {error}."
        return lw.fail(node, f"`{fn.__name__}` cannot be applied here", why, ArgumentError)
    return result if _is_numeric(result) else None


def _is_numeric(result: Any) -> bool:
    if isinstance(result, tuple):
        return bool(result) and all(_is_numeric(part) for part in result)
    if type(result) is np.ndarray:
        return result.dtype.kind in "biufc"
    return isinstance(result, bool | int | float | complex | np.number | np.bool_)


def _own(value: Value) -> Value:
    """Give the program arrays of its own: it may write into what the call returned."""
    if isinstance(value, StructV):
        return StructV(value.kind, value.keys, tuple(_own(item) for item in value.items))
    if isinstance(value, V) and isinstance(value.expr.type, Array):
        return V(build(np.copy, value.expr))
    return value


__all__ = ["computed", "member", "repeatable"]
