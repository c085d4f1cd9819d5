"""What a benchmark is: a program as a user writes it, and its adjoint as an expert writes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from numba import njit
from numba.core.dispatcher import Dispatcher

compiled = njit(error_model="numpy")


def remade(function: Any, make: Callable[[FunctionType], Any], names: dict[Any, Any] | None = None) -> Any:
    """Return a Numba function and all that it calls, each made anew from its Python by `make`.

    `names` replaces other globals: a module by another, say.
    """
    return _remade(function, make, names or {}, {})


def _remade(function: Any, make: Callable[[FunctionType], Any], names: dict[Any, Any], made: dict[Any, Any]) -> Any:
    if function in made:
        return made[function]
    plain = getattr(function, "py_func", function)
    scope = dict(plain.__globals__)
    copy = FunctionType(plain.__code__, scope, plain.__name__, plain.__defaults__)
    result = made[function] = make(copy)
    for name in plain.__code__.co_names:
        value = scope.get(name)
        if isinstance(value, Dispatcher):
            scope[name] = _remade(value, make, names, made)
        elif isinstance(value, ModuleType) and value in names:
            scope[name] = names[value]
    return result


def interpreted(function: Any) -> Any:
    """Return a Numba function as plain Python, what it calls included."""
    return remade(function, lambda plain: plain)


@dataclass(frozen=True)
class Kernel:
    """One program to differentiate.

    Attributes:
        name: what the tables call it, with its style where there are two.
        primal: the program; a Numba function, or plain NumPy where Numba cannot compile it.
        hand: the derivative written by hand, of the primal's arguments, with s2sad's structure.
        arguments: makes the arguments for one of `sizes`.
        sizes: sizes by name; "tiny" is for tests, "full" for measuring.
        wrt: the arguments that are differentiated.
        derivative: "grad", "jacfwd", "hvp", or another key of `derivatives.DERIVATIVES`.
        tuned: the same derivative with every trick that Numba allows, if that is worth having.
        value: what to time as the primal where `primal` is one item of a batch.
        ours: for "own loop", makes the program that calls s2sad's derivatives, for a target.
        peers: the name of the problem as the peers know it; several styles may share it.
    """

    name: str
    primal: Callable[..., Any]
    hand: Callable[..., Any]
    arguments: Callable[..., tuple[Any, ...]]
    sizes: dict[str, tuple[int, ...]]
    wrt: int | tuple[int, ...] = 0
    derivative: str = "grad"
    tuned: Callable[..., Any] | None = None
    peers: str = ""
    value: Callable[..., Any] | None = None
    ours: Callable[[str], Callable[..., Any]] | None = None
