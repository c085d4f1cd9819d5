"""What a function of numbers gives for every element of arrays: the meaning of Numba's `@vectorize`."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.rules.registry import meaning


@meaning
def each_of_one(fun: Any, at: int, *args: Any) -> Any:
    """Return what `fun` gives for each element of the argument at the place `at`, the others being numbers."""
    values = np.array([fun(*args[:at], item, *args[at + 1 :]) for item in np.ravel(args[at])])
    return values if args[at].ndim == 1 else np.reshape(values, args[at].shape)


@meaning
def each_of_several(fun: Any, *args: Any) -> Any:
    """Return what `fun` gives for the elements of arrays that are spread to one shape."""
    spread = np.broadcast_arrays(*args)
    values = np.array([fun(*items) for items in zip(*[np.ravel(a) for a in spread])])
    return values if spread[0].ndim == 1 else np.reshape(values, spread[0].shape)
