"""What the text of a function tells before it is called: which one it is, whether it raises, whether it writes."""

from __future__ import annotations

import math
from typing import Any

import gast
import numpy as np
from numpy.linalg import LinAlgError

from s2sad.frontend.jumps import own
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.raisers import NEVER, OF_INDEXING, OF_OPERATORS, never_of, of_call
from s2sad.frontend.source import Source, has_source, source_of, unwrap
from s2sad.frontend.values import FuncV, Value

Classes = tuple[type[BaseException], ...]

_LIBRARIES = ("numpy", "scipy", "numba", "s2sad", "math", "cmath", "builtins")
_LINEAR_ALGEBRA = frozenset({
    "cholesky", "cho_factor", "solve", "solve_triangular", "inv", "tensorinv", "tensorsolve", "matrix_power",
    "solve_banded", "solveh_banded", "lu_factor", "lu_solve", "solve_sylvester", "solve_continuous_lyapunov",
    "solve_discrete_lyapunov", "solve_continuous_are", "solve_discrete_are", "sqrtm",
})  # fmt: skip
_OF_METHODS = (np.ndarray, list, dict, str, tuple, float, int)


def callee_of(lw: Lowerer, env: dict[str, Value], source: Source, node: Any) -> Any:
    """Return the object or inner function that is called; None where that is known only when the call is lowered."""
    match node:
        case gast.Name(id=name):
            if name in env:
                held = env[name]
                return held if isinstance(held, FuncV) else getattr(held, "value", None)
            return source.resolve(name) if source.knows(name) and name not in source.local_names else None
        case gast.Attribute(value=value, attr=attr):
            owner = callee_of(lw, env, source, value)
            return getattr(owner, attr, None) if owner is not None else _method(attr)
        case _:
            return None


def _method(name: str) -> Any:
    """Return the method of this name of arrays and containers, which raise nothing that is tested for."""
    return next((getattr(kind, name) for kind in _OF_METHODS if hasattr(kind, name)), None)


def is_of_the_user(fn: Any) -> bool:
    """Say whether a function is one whose text is the user's."""
    if isinstance(fn, FuncV):
        return True
    module = getattr(unwrap(fn), "__module__", None) or "builtins" if fn is not None else "builtins"
    return has_source(fn) and module.split(".")[0] not in _LIBRARIES


def text_of(fn: Any) -> tuple[Source, Any]:
    """Return the source of a function, and the node of its own in it."""
    if isinstance(fn, FuncV):
        return fn.source, fn.node
    source = source_of(fn)
    return source, source.node


def writes(lw: Lowerer, fn: Any, callers: tuple[Any, ...]) -> bool:
    """Say whether a call of a function may write into anything, as far as its text tells."""
    if not is_of_the_user(fn) or any(fn is caller for caller in callers):
        return False
    source, node = text_of(fn)
    env: dict[str, Value] = fn.scope if isinstance(fn, FuncV) else {}
    for part in own([node.body] if isinstance(node, gast.Lambda) else node.body):
        match part:
            case gast.Subscript(ctx=gast.Store()) | gast.Attribute(ctx=gast.Store()) | gast.AugAssign():
                return True
            case gast.keyword(arg="out"):
                return True
            case gast.Expr(value=gast.Call(func=gast.Attribute(value=gast.Name(id="np" | "numpy")))):
                return True  # by its position, one of its arguments may be the `out` of the call
            case gast.Call(func=gast.Attribute(attr=attr)) if hasattr(list, attr) or attr in ("fill", "put", "resize"):
                return True
            case gast.Call(func=func) if (called := callee_of(lw, env, source, func)) is None or writes(
                lw, called, (*callers, fn)
            ):
                return True
            case _:
                pass
    return False


def may_raise(lw: Lowerer, fn: Any, wanted: Classes, callers: tuple[Any, ...]) -> bool:
    """Say whether a call may raise one of these classes by itself, as far as that is tested for."""
    if isinstance(fn, FuncV):
        return not _is_calm(lw, fn.node, fn.source, fn.scope, wanted, callers)
    if is_of_the_user(fn) and not hasattr(fn, "s2sad_kind"):
        if any(fn is caller for caller in callers):
            return False
        source = source_of(fn)
        return not _is_calm(lw, source.node, source, {}, wanted, (*callers, fn))
    if fn is None:
        return True
    name, module = getattr(fn, "__name__", ""), getattr(fn, "__module__", None) or ""
    if getattr(math, name, None) is fn:
        return fn not in NEVER and (issubclass(ValueError, wanted) or issubclass(OverflowError, wanted))
    if module.endswith("linalg") and name in _LINEAR_ALGEBRA:
        return issubclass(LinAlgError, wanted)
    return False


def _is_calm(
    lw: Lowerer, node: Any, source: Source, env: dict[str, Value], wanted: Classes, callers: tuple[Any, ...]
) -> bool:
    """Say whether nothing in a function raises one of these classes."""
    for part in own([node.body] if isinstance(node, gast.Lambda) else node.body):
        match part:
            case gast.Raise() | gast.Assert():
                return False
            case gast.BinOp(left=left, op=op, right=right):
                found, operands = OF_OPERATORS.get(type(op), ()), [left, right]
            case gast.AugAssign(op=op, value=value):
                found, operands = OF_OPERATORS.get(type(op), ()), [None, value]
            case gast.Subscript(value=items, slice=place) if not isinstance(place, gast.Slice | gast.Tuple):
                found, operands = OF_INDEXING, [items, None]
            case gast.Call(func=func):
                fn = callee_of(lw, env, source, func)
                raisers = of_call(fn, part)
                if raisers is None and may_raise(lw, fn, wanted, callers):
                    return False
                found, operands = raisers or (), part.args
            case _:
                continue
        if any(issubclass(r.error, wanted) and not never_of(r, operands) for r in found):
            return False
    return True
