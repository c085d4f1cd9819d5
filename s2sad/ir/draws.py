"""Random numbers: a draw happens exactly once and in its place, whatever is derived from it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from s2sad.ir.nodes import Apply
from s2sad.ir.walk import subexpressions

_FRESH: dict[type, Any] = {
    np.random.Generator: lambda: np.random.default_rng(0),
    np.random.RandomState: lambda: np.random.RandomState(0),
    random.Random: lambda: random.Random(0),
}
UNSUPPORTED = frozenset({"seed", "shuffle", "setstate", "set_state", "spawn"})
"""Methods of generators that give no numbers."""


_CENTRED = {"loc": 0.0, "scale": 1.0, "size": None}
PARAMETERS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("normal", "laplace", "logistic", "gumbel"), _CENTRED),
    **{name: {"size": None} for name in ("standard_normal", "standard_exponential", "random", "random_sample")},
    "uniform": {"low": 0.0, "high": 1.0, "size": None},
    "exponential": {"scale": 1.0, "size": None},
    "lognormal": {"mean": 0.0, "sigma": 1.0, "size": None},
    "poisson": {"lam": 1.0, "size": None},
}
"""The parameters of distributions, with their defaults, in order: Numba takes them by position only."""


def is_draw(fn: Any) -> bool:
    """Say whether a callable is a method of a random generator, NumPy's global one included."""
    return isinstance(getattr(fn, "__self__", None), tuple(_FRESH))


def rehearsed(fn: Any) -> Any:
    """Return the same method of a generator of its own, which may be called to learn its type."""
    owner = fn.__self__
    made = next(make for kind, make in _FRESH.items() if isinstance(owner, kind))
    return getattr(made(), fn.__name__)


def draws(expr: Any) -> bool:
    """Say whether evaluating an expression draws a random number."""
    return any(isinstance(part, Apply) and is_draw(part.fn) for part in subexpressions(expr))


__all__ = ["PARAMETERS", "UNSUPPORTED", "draws", "is_draw", "rehearsed"]
