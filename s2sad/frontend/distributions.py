"""Distributions of `scipy.stats`: `norm.logpdf(x, mu, sigma)`, `norm(mu, sigma).cdf(x)`, or of one made outside.

SciPy is not imported for it: only who has such an object has done so.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np

from s2sad.errors import MissingRuleError
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, Value, const

_COMPOSED = {"pdf": (np.exp, "logpdf"), "pmf": (np.exp, "logpmf"), "logcdf": (np.log, "cdf"), "logsf": (np.log, "sf")}
_BODIES = "s2sad.rules.scipy_stats"
_INSTEAD = "Write its density out, or give it a rule: {}."


def call_distribution(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
    """Call a method of a distribution, or freeze one; None if `fn` is neither."""
    stats: Any = sys.modules.get("scipy.stats")
    if stats is None:
        return None
    kinds = (stats.rv_continuous, stats.rv_discrete, stats._multivariate.multi_rv_generic)
    if isinstance(fn, kinds) and _is_scipys(fn):
        from s2sad.frontend.calls import call_function

        return call_function(lw, _bodies().frozen, [StaticV(fn), *args], kwargs, node)
    owner: Any = getattr(fn, "__self__", None)
    if not isinstance(fn, types.MethodType) or not _is_scipys(owner):
        return None
    if isinstance(owner, kinds):
        return _method(lw, owner, fn.__name__, args, kwargs, node)
    if isinstance(owner, stats._distn_infrastructure.rv_frozen):
        return _method(lw, owner.dist, fn.__name__, *_with(lw, owner.args, owner.kwds, args, kwargs, node), node)
    if isinstance(owner, stats._multivariate.multivariate_normal_frozen):
        named = {"mean": owner.mean, "cov": owner.cov}
        return _method(lw, stats.multivariate_normal, fn.__name__, *_with(lw, (), named, args, kwargs, node), node)
    return None


def is_written_in_place(fn: Any) -> bool:
    """Say whether a function is one of those that stand for methods, and is written where it is called."""
    return isinstance(fn, types.FunctionType) and fn.__module__ == _BODIES and "." not in fn.__qualname__


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


def _method(lw: Lowerer, dist: Any, method: str, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call what stands for a method, or what it follows from."""
    from s2sad.frontend.calls import call_function

    name = getattr(dist, "name", None) or type(dist).__name__.removesuffix("_gen")
    body = getattr(_bodies(), f"{name}_{method}", None)
    if body is not None:
        return call_function(lw, body, args, kwargs, node)
    if method in _COMPOSED:
        around, inner = _COMPOSED[method]
        return call_function(lw, around, [_method(lw, dist, inner, args, kwargs, node)], {}, node)
    if method == "sf" and hasattr(_bodies(), f"{name}_cdf"):
        below = _method(lw, dist, "cdf", args, kwargs, node)
        return call_function(lw, np.subtract, [const(1.0), below], {}, node)
    called = f"scipy.stats.{name}.{method}"
    known = sorted(n.removeprefix(f"{name}_") for n in vars(_bodies()) if n.startswith(f"{name}_"))
    there = f"Of `{name}` there are {', '.join(f'`{one}`' for one in known)}."
    why = there if known else _INSTEAD.format(f"`s2sad.defvjp({called}, fwd, bwd)`")
    return lw.fail(node, f"`{called}` has no derivative rule", why, MissingRuleError)
