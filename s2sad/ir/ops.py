"""Operations of the IR that are neither NumPy's nor `operator`'s: each one runs, and types by running."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import numpy as np

STORING: dict[str, Any] = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
"""What a store with such an operator does with what was there and what it is given."""


def dim(x: Any, axis: int) -> int:
    """`x.shape[axis]`."""
    return int(np.shape(x)[axis])


def size(x: Any) -> int:
    """`x.size`."""
    return int(np.size(x))


def length(x: Any) -> int:
    """`len(x)`."""
    return len(x)


def ifexp(test: Any, then: Any, other: Any) -> Any:
    """`then if test else other`; only one side is evaluated where it is printed."""
    return then if test else other


def both(*tests: Any) -> bool:
    """`a and b`, short-circuit where it is printed."""
    return all(tests)


def either(*tests: Any) -> bool:
    """`a or b`, short-circuit where it is printed."""
    return any(tests)


def transpose(x: Any) -> Any:
    """`x.T`."""
    return x.T


def pop(items: list[Any]) -> Any:
    """`items.pop()`: the adjoint of `append`."""
    return items.pop()


def new_list() -> list[Any]:
    """`[]`."""
    return []


def shape(x: Any) -> tuple[int, ...]:
    """`x.shape`, as the shape argument of a creation."""
    return np.shape(x)


def unbroadcast(g: Any, x: Any) -> Any:
    """Sum `g` over the axes along which `x` was broadcast; printed as the runtime helper."""
    from s2sad.runtime import unbroadcast as helper

    return helper(g, x)


def zeros_like_list(items: list[Any]) -> list[Any]:
    """A list of zeros, each like the item at its place; printed as the runtime helper."""
    from s2sad.runtime.lists import zero_arrays, zero_scalars

    return zero_arrays(items) if items and isinstance(items[0], np.ndarray) else zero_scalars(items)


def stop_gradient(x: Any) -> Any:
    """The value itself, through which no derivative flows."""
    return x


def in_order(items: Any, order: Any, *_sources: Any) -> Any:
    """The items in an order, copied where Python's list would hold them; `frontend/in_order.py` takes it out."""
    return items[order]


def astype(x: Any, *, dtype: Any) -> Any:
    """`x.astype(dtype)`."""
    return np.asarray(x).astype(dtype)


class Refused(TypeError):
    """What is refused, and the way out: of code that was run, not read, as all its arguments were known."""


def refuse(what: str, way_out: str) -> NoReturn:
    """Raise at transform time, at the user's call: for the code that library functions are read as."""
    raise Refused(what, way_out)
