"""The arguments on which the tests run a rule: fixed, distinct, away from ties and zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

Case = tuple[tuple[Any, ...], dict[str, Any]]


def values(*shape: int, seed: int = 0) -> Any:
    """Return distinct numbers between -2 and 2, none near 0; a float when `shape` is empty."""
    size = int(np.prod(shape))
    base = 2.0 * np.sin(1.7 * np.arange(size) + 0.9 + 0.61 * seed)
    filled = np.where(np.abs(base) < 0.2, base + 0.4, base)
    return filled.reshape(shape) if shape else float(filled[0])


def complex_values(*shape: int, seed: int = 0) -> Any:
    """Return complex numbers with distinct real and imaginary parts."""
    return values(*shape, seed=seed) + 1j * values(*shape, seed=seed + 5)


def definite(*shape: int, seed: int = 0) -> Any:
    """Return well-conditioned square matrices."""
    return values(*shape, seed=seed) + 4.0 * np.eye(shape[-1])


def case(*args: Any, **static: Any) -> Case:
    """Return one call: positional arguments and static keywords."""
    return args, static
