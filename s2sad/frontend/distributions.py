"""Distributions of `scipy.stats`: `norm.logpdf(x, mu, sigma)`, `norm(mu, sigma).cdf(x)`, or of one made outside.

SciPy is not imported for it: only who has such an object has done so.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, Value, const

_COMPOSED = {"pdf": (np.exp, "logpdf"), "pmf": (np.exp, "logpmf"), "logcdf": (np.log, "cdf"), "logsf": (np.log, "sf")}
_BODIES = "s2sad.rules.scipy_stats"


def call_distribution(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
    """Call a method of a distribution, or freeze one; None if `fn` is neither, or a method that is not written."""
    stats: Any = sys.modules.get("scipy.stats")
    if stats is None:
        return None
    if isinstance(fn, _kinds(stats)) and _is_scipys(fn):
        from s2sad.frontend.calls import call_function

        return call_function(lw, _bodies().frozen, [StaticV(fn), *args], kwargs, node)
    dist = _distribution(fn)
    if dist is None or not _is_written(dist, fn.__name__):
        return None
    owner = fn.__self__
    if isinstance(owner, stats._multivariate.multivariate_normal_frozen):
        args, kwargs = _with(lw, (), {"mean": owner.mean, "cov": owner.cov}, args, kwargs, node)
    elif owner is not dist:
        args, kwargs = _with(lw, owner.args, owner.kwds, args, kwargs, node)
    return _method(lw, dist, fn.__name__, args, kwargs, node)


def is_written_in_place(fn: Any) -> bool:
    """Say whether a function is one of those that stand for methods, and is written where it is called."""
    return isinstance(fn, types.FunctionType) and fn.__module__ == _BODIES and "." not in fn.__qualname__


def written_beside(fn: Any) -> str:
    """Return a sentence that names the methods that are written, of the distribution whose method `fn` is."""
    dist = _distribution(fn) if "scipy.stats" in sys.modules else None
    known = _written(dist) if dist is not None else []
    return f"Of `{_name(dist)}` there are rules for {', '.join(f'`{one}`' for one in known)}.\n" if known else ""


def _kinds(stats: Any) -> tuple[type, ...]:
    return stats.rv_continuous, stats.rv_discrete, stats._multivariate.multi_rv_generic


def _distribution(fn: Any) -> Any:
    """Return SciPy's distribution whose method a function is, frozen or not; None if it is no such method."""
    stats: Any = sys.modules["scipy.stats"]
    owner: Any = getattr(fn, "__self__", None)
    if not isinstance(fn, types.MethodType) or not _is_scipys(owner):
        return None
    if isinstance(owner, stats._distn_infrastructure.rv_frozen):
        return owner.dist
    if isinstance(owner, stats._multivariate.multivariate_normal_frozen):
        return stats.multivariate_normal
    return owner if isinstance(owner, _kinds(stats)) else None


def _is_scipys(owner: Any) -> bool:
    return type(owner).__module__.startswith("scipy.stats.")


def _with(
    lw: Lowerer, fixed: tuple[Any, ...], named: dict[str, Any], args: list[Value], kwargs: dict[str, Value], node: Any
) -> tuple[list[Value], dict[str, Value]]:
    """Return the arguments of a method, with the parameters of the distribution that it belongs to."""
    from s2sad.frontend.calls import outside

    values = [outside(lw, value, node, "parameter") for value in fixed]
    return [*args, *values], {**kwargs, **{name: outside(lw, value, node, name) for name, value in named.items()}}


def _bodies() -> Any:
    from s2sad.rules import scipy_stats

    return scipy_stats


def _name(dist: Any) -> str:
    return getattr(dist, "name", None) or type(dist).__name__.removesuffix("_gen")


def _written(dist: Any) -> list[str]:
    """Return the methods of a distribution that are written, those aside that follow from them."""
    start = f"{_name(dist)}_"
    return sorted(n.removeprefix(start) for n in vars(_bodies()) if n.startswith(start))


def _is_written(dist: Any, method: str) -> bool:
    known = _written(dist)
    if method in _COMPOSED and method not in known:
        return _is_written(dist, _COMPOSED[method][1])
    return method in known or (method == "sf" and "cdf" in known)


def _method(lw: Lowerer, dist: Any, method: str, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call what stands for a method, or what it follows from."""
    from s2sad.frontend.calls import call_function

    body = getattr(_bodies(), f"{_name(dist)}_{method}", None)
    if body is not None:
        return call_function(lw, body, args, kwargs, node)
    if method in _COMPOSED:
        around, inner = _COMPOSED[method]
        return call_function(lw, around, [_method(lw, dist, inner, args, kwargs, node)], {}, node)
    below = _method(lw, dist, "cdf", args, kwargs, node)
    return call_function(lw, np.subtract, [const(1.0), below], {}, node)
