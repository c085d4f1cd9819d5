"""The derivatives that kernels ask for, by s2sad and by central differences."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import s2sad
from tools.bench.kernel import Kernel


def derivative(kernel: Kernel, target: str = "cpu") -> Callable[..., Any]:
    """Return s2sad's derivative of `kernel`, of the same arguments and structure as `kernel.hand`."""
    match kernel.derivative:
        case "grad":
            return s2sad.grad(kernel.primal, argnums=kernel.wrt, target=target)
        case "hvp":
            return lambda *args: s2sad.hvp(kernel.primal, args[:-1], (args[-1],), target=target)
        case "jacfwd":
            return s2sad.jacfwd(kernel.primal, argnums=kernel.wrt, target=target)
        case "covectors":
            return _Covectors(kernel, target)
        case "own loop" if kernel.ours is not None:
            return kernel.ours(target)
        case "batched jacobian":
            return s2sad.vmap(s2sad.jacrev(kernel.primal, argnums=kernel.wrt, target=target))
    raise ValueError(kernel.derivative)


class _Covectors:
    """The rows `covector^T J` by the first argument, as the cookbook writes them: the primal is run once."""

    def __init__(self, kernel: Kernel, target: str) -> None:
        self.primal, self.target = kernel.primal, target
        self.rest: tuple[Any, ...] = ()
        self.fun: Callable[..., Any] = kernel.primal

    def __call__(self, first: Any, *others: Any) -> Any:
        rest, covectors = others[:-1], others[-1]
        if len(rest) != len(self.rest) or not all(map(operator.is_, rest, self.rest)):
            self.rest, primal = rest, self.primal
            self.fun = lambda x: primal(x, *rest)
        _, pullback = s2sad.vjp(self.fun, first, target=self.target)
        return s2sad.vmap(pullback)(covectors)[0]


def primal_arguments(kernel: Kernel, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments of the primal among those of the derivative."""
    return args[:-1] if kernel.derivative in ("hvp", "covectors") else args


def leaves(result: Any) -> list[Any]:
    """Return the numbers and arrays of a derivative, in order."""
    if isinstance(result, tuple | list):
        return [leaf for item in result for leaf in leaves(item)]
    return [np.asarray(result)]


def difference(found: Any, expected: Any) -> float:
    """Return the largest difference of two derivatives, relative to the largest entry of each leaf."""
    worst = 0.0
    one, other = leaves(found), leaves(expected)
    if len(one) != len(other):
        return np.inf
    for a, b in zip(one, other, strict=True):
        if a.shape != b.shape:
            return np.inf
        worst = max(worst, float(np.max(np.abs(a - b), initial=0.0) / (np.max(np.abs(b), initial=0.0) + 1e-300)))
    return worst


def against_differences(kernel: Kernel, primal: Any, args: tuple[Any, ...], found: Any, step: float = 1e-6) -> float:
    """Return how far a gradient is from central differences, relatively, along one random direction."""
    rng = np.random.default_rng(7)
    wrt = kernel.wrt if isinstance(kernel.wrt, tuple) else (kernel.wrt,)
    directions = {i: rng.normal(size=np.shape(args[i])) for i in wrt}

    def value(h: float) -> float:
        return primal(*(a + h * directions[i] if i in directions else a for i, a in enumerate(args)))

    expected = (value(step) - value(-step)) / (2.0 * step)
    along = sum(float(np.sum(g * directions[i])) for g, i in zip(leaves(found), wrt, strict=True))
    return abs(along - expected) / (abs(expected) + 1e-300)
