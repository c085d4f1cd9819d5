"""The dual oracle: the user's own bytecode run in CPython on dual numbers, knowing nothing of s2sad.

Arrays become object arrays of `Dual` with the layout of the original, so that mutation, views, aliases and
callees come out right by construction; only NumPy's creation functions and `math` need stand-ins.
"""

from __future__ import annotations

import builtins
import cmath
import itertools
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tests import oracle_linalg
from tests.duals import (
    RULES,
    SPECIAL,
    Dual,
    DualArray,
    as_dual,
    cast,
    lift_array,
    real_dtype,
    tangent_of,
    value_of,
    wrap,
)
from tests.trees import is_active, leaves, tree_map

MATH_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh",
              "acosh": "arccosh", "atanh": "arctanh", "pow": "power"}


def _create(name: str) -> Callable[..., Any]:
    real = getattr(np, name)

    def create(first: Any, *args: Any, **kwargs: Any) -> Any:
        def as_dtype(x: Any) -> Any:
            if isinstance(x, cast):
                return x.type
            return float if isinstance(x, np.dtype) and x.kind == "O" else x
        args, kwargs = [as_dtype(a) for a in args], {k: as_dtype(v) for k, v in kwargs.items()}
        if name == "linspace" and any(isinstance(a, Dual) for a in (first, *args)):
            grid = np.arange(args[1]) / (args[1] - 1)
            return first * (1 - grid) + args[0] * grid
        if name in ("asarray", "ascontiguousarray", "asfortranarray", "asanyarray") and isinstance(first, DualArray):
            return first if name.startswith("asa") else wrap(real(first.view(np.ndarray)))
        duals = any(isinstance(x, Dual) or getattr(x, "dtype", None) == object for x in leaves(first))
        if name in ("array", "asarray") and duals:
            kind = real_dtype(kwargs.get("dtype", args[0] if args else None))
            return as_dual(np.array(first, dtype=object)).astype(kind if kind.kind in "iub" else object)
        shape_like = np.empty_like(value_of(first)) if name.endswith("_like") else first
        if name in ("full", "full_like"):
            fill = kwargs.pop("fill_value", args[0] if args else None)
            out = wrap(real(shape_like, value_of(fill), *args[1:], **kwargs))
            if isinstance(fill, Dual):
                out[...] = fill
            return out
        out = real(shape_like, *args, **kwargs)
        if name.startswith("empty") and out.dtype.kind in "fc":
            out[...] = np.nan
        return wrap(out)
    return create


def _solve(a: Any, b: Any) -> Any:
    a, b = as_dual(a).copy(), as_dual(b).copy()
    n = a.shape[0]
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(value_of(a[k:, k]))))
        a[[k, pivot]], b[[k, pivot]] = a[[pivot, k]], b[[pivot, k]]
        for i in range(k + 1, n):
            ratio = a[i, k] / a[k, k]
            a[i], b[i] = a[i] - ratio * a[k], b[i] - ratio * b[k]
    for k in reversed(range(n)):
        b[k] = (b[k] - sum((a[k, j] * b[j] for j in range(k + 1, n)), 0.0 * b[k])) / a[k, k]
    return b


def _det(a: Any) -> Any:
    a = as_dual(a)
    if a.shape[0] == 1:
        return a[0, 0]
    rest = np.arange(a.shape[0])
    return sum(((-1) ** j * a[0, j] * _det(a[1:][:, rest != j]) for j in range(1, a.shape[0])),
               a[0, 0] * _det(a[1:, 1:]))


def _cholesky(a: Any) -> Any:
    a = as_dual(a)
    low = as_dual(np.zeros(a.shape))
    for i, j in itertools.product(range(a.shape[0]), repeat=2):
        if j <= i:
            left = a[i, j] - sum((low[i, k] * low[j, k] for k in range(j)), 0.0)
            low[i, j] = np.sqrt(left) if i == j else left / low[j, j]
    return low


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    size = np.abs(as_dual(x))
    if ord == 1:
        return np.sum(size, axis=axis, keepdims=keepdims)
    if ord == np.inf:
        return np.max(size, axis=axis, keepdims=keepdims)
    return np.sqrt(np.sum(size * size, axis=axis, keepdims=keepdims))


def _on_values(name: str) -> Callable[..., Any]:
    return lambda *args, **kwargs: getattr(np, name)(*tree_map(value_of, args), **kwargs)


CREATE = {name: _create(name) for name in (
    "zeros empty ones full zeros_like empty_like ones_like full_like array asarray asanyarray ascontiguousarray "
    "asfortranarray eye identity linspace").split()}
SPECIAL |= {name: _on_values(name) for name in (
    "argmax argmin argsort any all nonzero count_nonzero searchsorted allclose array_equal isclose").split()}
SPECIAL |= {"solve": _solve, "inv": lambda a: _solve(a, np.eye(len(a))), "det": _det, "cholesky": _cholesky,
            **oracle_linalg.table(_solve), "norm": _norm, "copy": lambda x, **_: as_dual(x).copy(),
            "slogdet": lambda a: type(np.linalg.slogdet(np.eye(1)))(np.sign(value_of(_det(a))), np.log(abs(_det(a))))}
SPECIAL |= {name: call for name, call in CREATE.items() if name.endswith("_like") or name == "linspace"}


class Stand:
    """A module seen through the oracle: creation, linear algebra and elementary functions understand duals."""

    def __init__(self, module: Any, lift: Callable[[Any], Any]) -> None:
        """Stand in for `module`."""
        self._module, self._lift = module, lift

    def __getattr__(self, name: str) -> Any:
        """Look a name up in the module, and give the version of it that works on duals."""
        real = getattr(self._module, name)
        if self._module in (math, cmath):
            rule = RULES.get(MATH_NAMES.get(name, name))
            return (lambda *a: rule(*a) if any(isinstance(x, Dual) for x in a) else real(*a)) if rule else real
        if not self._module.__name__.startswith("numpy"):
            return self._lift(real)
        return stand_in(real, self._lift)


def stand_in(real: Any, lift: Callable[[Any], Any]) -> Any:
    """Give the version of a NumPy object that works on duals."""
    if isinstance(real, types.ModuleType):
        return Stand(real, lift)
    if isinstance(real, type) and issubclass(real, np.inexact):
        return cast(real)
    if isinstance(real, (type, np.ufunc)) or not callable(real):
        return real
    if real.__name__ in CREATE or real.__name__ in SPECIAL:
        return CREATE.get(real.__name__) or SPECIAL[real.__name__]
    return lambda *args, **kwargs: wrap(real(*args, **kwargs))


def _names(code: types.CodeType) -> set[str]:
    inner = [_names(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return set(code.co_names).union(*inner)


def lift_function(fun: Any, seen: dict[int, Any]) -> Any:
    """Rebuild a Python function, and those it reaches, so that it computes on duals."""
    if id(fun) in seen:
        return seen[id(fun)]
    scope: dict[str, Any] = {"__builtins__": builtins, "__name__": fun.__module__}
    cells = tuple(types.CellType() for _ in fun.__closure__ or ())
    twin = types.FunctionType(fun.__code__, scope, fun.__name__, None, cells)
    seen[id(fun)] = twin
    lift = lambda x: lift_static(x, seen)
    twin.__defaults__ = lift(fun.__defaults__)
    twin.__kwdefaults__ = lift(fun.__kwdefaults__)
    for cell, original in zip(cells, fun.__closure__ or (), strict=True):
        cell.cell_contents = lift(original.cell_contents)
    scope |= {"float": cast(float), "complex": cast(complex)}
    scope |= {name: lift(fun.__globals__[name]) for name in _names(fun.__code__) if name in fun.__globals__}
    return twin


def lift_static(x: Any, seen: dict[int, Any]) -> Any:
    """Bring whatever a function can reach without it being an argument into the world of duals."""
    lift = lambda y: lift_static(y, seen)
    if isinstance(x, types.ModuleType):
        return Stand(x, lift)
    if hasattr(x, "py_func"):
        return lift_function(x.py_func, seen)
    if str(getattr(x, "__module__", "")).startswith(("numpy", "math", "cmath")) and callable(x):
        home = {"math": math, "cmath": cmath}.get(x.__module__)
        return getattr(Stand(home, lift), x.__name__) if home else stand_in(x, lift)
    if isinstance(x, types.FunctionType):
        return lift_function(x, seen)
    if isinstance(x, np.ndarray) and x.dtype.kind in "fc":
        return seen.setdefault(id(x), lift_array(x))
    return tree_map(lift, x) if isinstance(x, (tuple, list, dict)) else x


def oracle_jvp(fun: Any, args: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return the value of `fun(*args)` and its directional derivative; a `None` tangent is zero."""
    seen: dict[int, Any] = {}

    def lift(x: Any, x_dot: Any) -> Any:
        if not is_active(x):
            return lift_static(x, seen)
        return lift_array(x, x_dot) if isinstance(x, np.ndarray) else Dual(x, x_dot)

    def lift_argument(arg: Any, arg_dot: Any) -> Any:
        if arg_dot is None:
            return tree_map(lambda x: lift_static(x, seen), arg)
        return tree_map(lift, arg, arg_dot)

    with np.errstate(all="ignore"):
        twin = lift_static(fun, seen)
        out = twin(*(lift_argument(*pair) for pair in zip(args, tangents, strict=True)))
        return tree_map(value_of, out), tree_map(tangent_of, out)
