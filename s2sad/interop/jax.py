"""A function over NumPy inside JAX: a `custom_vjp` whose halves are callbacks to the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax  # pyright: ignore[reportMissingImports]
import jax.numpy as jnp  # pyright: ignore[reportMissingImports]
import numpy as np

import s2sad

_jax: Any = jax
_jnp: Any = jnp


def function(fun: Callable[..., Any], output: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Return `fun` as a function of JAX arrays, for `jax.grad`, `jax.jit` and `jax.vmap`.

    The work is done on the host, by NumPy or Numba, one element of a batch after the other.

    Args:
        fun: a function of arrays and numbers that returns an array or a number.
        output: given the arguments' `jax.ShapeDtypeStruct`s, returns that of the result. Without
            it the result is a number of the type to which the arguments promote.

    Returns:
        A function of the same positional arguments. Those that are integers get no gradient.

    Raises:
        ValueError: at a call, if the result has another shape than `output` says.

    Example:
        >>> import jax, numpy as np
        >>> from s2sad.interop.jax import function
        >>> def energy(x):
        ...     return np.sum(x**2)
        >>> [float(v) for v in jax.grad(function(energy))(jax.numpy.array([1.0, 2.0]))]
        [2.0, 4.0]
    """

    def described(args: tuple[Any, ...]) -> Any:
        shapes = tuple(_jax.ShapeDtypeStruct(_jnp.shape(arg), _jnp.result_type(arg)) for arg in args)
        if output is not None:
            return output(*shapes)
        return _jax.ShapeDtypeStruct((), _jnp.result_type(float, *(s.dtype for s in shapes)))

    @_jax.custom_vjp
    def call(*args: Any) -> Any:
        out = described(args)

        def host(*values: Any) -> Any:
            return _fitted(fun(*map(_host, values)), out)

        return _jax.pure_callback(host, out, *args, vmap_method="sequential")

    def forward(*args: Any) -> Any:
        return call(*args), args

    def backward(args: Any, bar: Any) -> Any:
        active = [_jnp.issubdtype(_jnp.result_type(arg), _jnp.inexact) for arg in args]
        shapes = tuple(
            _jax.ShapeDtypeStruct(_jnp.shape(arg), _jnp.result_type(arg))
            for arg, on in zip(args, active, strict=True)
            if on
        )

        def host(bar: Any, *values: Any) -> Any:
            out, pullback = s2sad.vjp(fun, *map(_host, values))
            found = pullback(np.asarray(bar, np.asarray(out).dtype)[()])
            kept = (one for one, on in zip(found, active, strict=True) if on)
            return tuple(np.asarray(one, shape.dtype) for one, shape in zip(kept, shapes, strict=True))

        bars = iter(_jax.pure_callback(host, shapes, bar, *args, vmap_method="sequential"))
        zeros = (np.zeros(_jnp.shape(arg), _jax.dtypes.float0) for arg in args)
        return tuple(next(bars) if on else zero for on, zero in zip(active, zeros, strict=True))

    call.defvjp(forward, backward)
    return call


def _host(value: Any) -> Any:
    """Return a JAX array as one of NumPy's that may be written into, one without axes as a number."""
    return np.array(value)[()]


def _fitted(value: Any, like: Any) -> Any:
    array = np.asarray(value, like.dtype)
    if array.shape != tuple(like.shape):
        raise ValueError(f"the function returned shape {array.shape}, not {tuple(like.shape)}: pass output=")
    return array
