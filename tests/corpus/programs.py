"""The register of small programs: each a plain function with concrete arguments, collected by theme."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

THEMES = ("loops", "control", "mutation", "aliases", "containers", "calls", "elementwise", "reductions",
          "numpy_style", "layouts", "physics", "learning", "numerics", "field", "decompositions",
          "language")


@dataclass(frozen=True, slots=True)
class Program:
    """One program: what to call, with what, and with respect to which positional arguments.

    Attributes:
        marks: "kink" where finite differences do not apply; "may_alias" where `AliasError` is a right answer;
            "static" where an argument that is not differentiated is no array (kept for selection).
        true: the gradient of the first differentiated argument by hand, where the field gets it wrong.
        rtol: how far derivative and oracle may differ, relative to the largest entry.
    """

    name: str
    fun: Callable[..., Any]
    args: tuple[Any, ...]
    wrt: tuple[int, ...] = (0,)
    marks: frozenset[str] = field(default_factory=frozenset)
    true: Any = None
    rtol: float = 1e-12


REGISTER: dict[str, Program] = {}


def program(*args: Any, wrt: tuple[int, ...] = (0,), marks: str = "", true: Any = None,
            rtol: float = 1e-12) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function with its arguments and hand it back unchanged."""
    def register(fun: Callable[..., Any]) -> Callable[..., Any]:
        stem = f"{fun.__module__.rpartition('.')[2]}.{fun.__name__}"
        name, count = stem, 2
        while name in REGISTER:
            name, count = f"{stem}~{count}", count + 1
        known = np.asarray(true) if isinstance(true, list) else true
        REGISTER[name] = Program(name, fun, args, wrt, frozenset(marks.split()), known, rtol)
        return fun
    return register


def programs() -> list[Program]:
    """Import every theme and list all programs, in order."""
    for theme in THEMES:
        importlib.import_module(f"tests.corpus.{theme}")
    return list(REGISTER.values())


def vec(n: int, seed: int = 0, dtype: Any = float) -> np.ndarray:
    """Draw a reproducible vector of moderate entries."""
    return np.random.default_rng(100 + seed).uniform(-1.5, 1.5, n).astype(dtype)


def pos(*shape: int, seed: int = 0, dtype: Any = float) -> np.ndarray:
    """Draw a reproducible positive array."""
    return np.random.default_rng(200 + seed).uniform(0.4, 1.9, shape).astype(dtype)


def mat(*shape: int, seed: int = 0, dtype: Any = float) -> np.ndarray:
    """Draw a reproducible array of any rank."""
    return np.random.default_rng(300 + seed).uniform(-1.2, 1.2, shape).astype(dtype)


def spd(n: int, seed: int = 0) -> np.ndarray:
    """Draw a reproducible symmetric positive definite matrix."""
    a = mat(n, n, seed=seed)
    return a @ a.T + n * np.eye(n)
