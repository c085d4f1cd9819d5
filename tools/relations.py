"""The costs that the autodiff cookbook compares: Hessian-vector products four ways, products mapped and looped.

`python -m tools.relations` prints microseconds a call, the least of several interleaved rounds, and the ratio to the
first of each group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import s2sad
from tools.bench.measure import interleaved

Group = dict[str, Callable[[], Any]]


def squared_tanh(X: Any) -> Any:
    """Return the cookbook's function of a 30 by 40 matrix."""
    return np.sum(np.tanh(X) ** 2)


def slope_along(X: Any, V: Any) -> Any:
    """Return the derivative along V, by forward mode."""
    return s2sad.jvp(squared_tanh, (X,), (V,))[1]


def gradient_times(X: Any, V: Any) -> Any:
    """Return the gradient times V."""
    return np.vdot(s2sad.grad(squared_tanh)(X), V)


def hessian_products(shape: tuple[int, int] = (30, 40)) -> Group:
    """Return the ways to multiply a Hessian with a vector; the whole Hessian only where it is not too large."""
    X, V = np.random.default_rng(0).normal(size=(2, *shape))
    gradient = s2sad.grad(squared_tanh)
    by_forward, by_reverse = s2sad.grad(slope_along), s2sad.grad(gradient_times)
    whole = s2sad.hessian(squared_tanh)
    ways: Group = {
        "hvp": lambda: s2sad.hvp(squared_tanh, (X,), (V,)),
        "forward over reverse": lambda: s2sad.jvp(gradient, (X,), (V,))[1],
        "reverse over forward": lambda: by_forward(X, V),
        "reverse over reverse": lambda: by_reverse(X, V),
    }
    if X.size <= 2000:
        ways["whole Hessian"] = lambda: np.tensordot(whole(X), V, 2)
    return ways


def jacobian_products(count: int = 128) -> tuple[Group, Group]:
    """Return the products of the predictions' Jacobian with covectors, and with vectors: mapped, and looped."""
    rng = np.random.default_rng(1)
    inputs, W, b = rng.normal(size=(4, 3)), rng.normal(size=3), 0.3
    covectors, vectors = rng.normal(size=(count, 4)), rng.normal(size=(count, 3))

    def predict(W: Any) -> Any:
        return 0.5 * (np.tanh((np.dot(inputs, W) + b) / 2) + 1)

    def pushed(s: Any) -> Any:
        return s2sad.jvp(predict, (W,), (s,))[1]

    mapped = s2sad.vmap(pushed)
    pulled: Group = {
        "matrix-Jacobian, mapped": lambda: s2sad.vmap(s2sad.vjp(predict, W)[1])(covectors)[0],
        "matrix-Jacobian, looped": lambda: np.vstack([s2sad.vjp(predict, W)[1](row)[0] for row in covectors]),
    }
    return pulled, {
        "Jacobian-matrix, mapped": lambda: mapped(vectors),
        "Jacobian-matrix, looped": lambda: np.vstack([pushed(row) for row in vectors]),
    }


def main() -> None:
    """Time every group and print it."""
    for group in (hessian_products(), hessian_products((300, 400)), *jacobian_products()):
        least = interleaved(list(group.values()), [()] * len(group), rounds=5, budget=2.0).min(axis=0)
        for name, seconds in zip(group, least, strict=True):
            print(f"{name:26} {seconds * 1e6:10.1f} µs {seconds / least[0]:8.2f}")


if __name__ == "__main__":
    main()
