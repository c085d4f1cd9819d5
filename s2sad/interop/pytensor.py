"""A function over NumPy inside PyTensor: an `Op` with a gradient, for PyMC's samplers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor.tensor as pt  # pyright: ignore[reportMissingImports]
from pytensor.graph.basic import Apply  # pyright: ignore[reportMissingImports]
from pytensor.graph.op import Op  # pyright: ignore[reportMissingImports]

import s2sad

_pt: Any = pt
_Op: Any = Op
_Apply: Any = Apply


def function(fun: Callable[..., Any], ndim: int = 0, dtype: str = "float64") -> Any:
    """Return `fun` as an `Op`: call it on PyTensor variables.

    Args:
        fun: a function of arrays and numbers that returns one array or number, such as a
            log-density.
        ndim: the rank of its result.
        dtype: the dtype of its result.

    Example:
        >>> import numpy as np, pytensor, pytensor.tensor as pt
        >>> from s2sad.interop.pytensor import function
        >>> def logp(x):
        ...     return -0.5 * np.sum(x**2)
        >>> x = pt.dvector("x")
        >>> slope = pytensor.function([x], pt.grad(function(logp)(x), x))
        >>> slope(np.array([1.0, 2.0]))
        array([-1., -2.])
    """
    return _Function(fun, ndim, dtype)


class _Function(_Op):
    __props__ = ("fun", "ndim", "dtype")

    def __init__(self, fun: Callable[..., Any], ndim: int, dtype: str) -> None:
        """Hold the function, compiled at its first call."""
        self.fun, self.ndim, self.dtype = fun, ndim, dtype
        self.compiled = s2sad.differentiate(fun)

    def make_node(self, *args: Any) -> Any:
        """Describe one application."""
        inputs = [_pt.as_tensor_variable(arg) for arg in args]
        return _Apply(self, inputs, [_pt.tensor(dtype=self.dtype, shape=(None,) * self.ndim)])

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
        """Run the function."""
        outputs[0][0] = np.asarray(self.compiled(*map(_number, inputs)), self.dtype)

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        """Return the cotangents of the inputs; integers get none."""
        inexact = [value.type.dtype.startswith(("float", "complex")) for value in inputs]
        found = iter(_Pullback(self.fun, tuple(inexact))(*inputs, cotangents[0], return_list=True))
        return [
            next(found) if on else value.zeros_like(dtype="float64") for value, on in zip(inputs, inexact, strict=True)
        ]

    def grad(self, inputs: Any, output_gradients: Any) -> Any:
        """Return what `pullback` does: the name that PyTensor had for it."""
        return self.pullback(inputs, (), output_gradients)

    def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:
        """Know the shape of a number without running the function."""
        if self.ndim == 0:
            return [()]
        return [tuple(node.outputs[0].shape[axis] for axis in range(self.ndim))]


class _Pullback(_Op):
    __props__ = ("fun", "inexact")

    def __init__(self, fun: Callable[..., Any], inexact: tuple[bool, ...]) -> None:
        """Hold the function, and which of its arguments are differentiated."""
        self.fun, self.inexact = fun, inexact

    def make_node(self, *args: Any) -> Any:
        """Describe one application: the arguments, then the cotangent of the result."""
        inputs = [_pt.as_tensor_variable(arg) for arg in args]
        pairs = zip(inputs[:-1], self.inexact, strict=True)
        return _Apply(self, inputs, [value.type() for value, on in pairs if on])

    def perform(self, node: Any, inputs: Any, outputs: Any) -> None:
        """Run the forward and the adjoint sweep."""
        *values, bar = map(_number, inputs)
        out, pullback = s2sad.vjp(self.fun, *values)
        found = pullback(np.asarray(bar, np.asarray(out).dtype)[()])
        kept = (one for one, on in zip(found, self.inexact, strict=True) if on)
        for place, one, like in zip(outputs, kept, node.outputs, strict=True):
            place[0] = np.asarray(one, like.type.dtype)

    def infer_shape(self, fgraph: Any, node: Any, shapes: Any) -> Any:
        """Each cotangent has the shape of its argument."""
        return [shape for shape, on in zip(shapes[:-1], self.inexact, strict=True) if on]


def _number(value: Any) -> Any:
    """Return an array without axes as a number."""
    return np.asarray(value)[()]
