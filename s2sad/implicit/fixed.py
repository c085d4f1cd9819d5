"""Fixed points and roots, differentiated by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from s2sad.api.custom import custom_vjp
from s2sad.api.jacobian import jacfwd
from s2sad.api.transforms import vjp


def fixed_point(
    fun: Callable[[Any, Any], Any], params: Any, x0: Any, tol: float = 1e-12, max_steps: int = 10_000
) -> Any:
    """Return the `x` with `fun(params, x) == x` that iterating from `x0` leads to.

    Args:
        fun: `(params, x) -> x`, a contraction in x near the fixed point.
        params: what the fixed point depends on: a number, an array, or a structure of them.
        x0: where to start, a number or an array; the fixed point does not depend on it.
        tol: the iteration ends when no element of x changes by more, in units of x.
        max_steps: or after as many steps.

    Returns:
        x, of the shape of `x0`. Its cotangent w solves `w = x_bar + (∂fun/∂x)ᵀ w`, by the same
        iteration, and `params_bar = (∂fun/∂params)ᵀ w`. Source: Griewank and Walther, chapter 15.

    Example:
        >>> import s2sad
        >>> from s2sad.implicit import fixed_point
        >>> def babylonian(a, x):
        ...     return 0.5 * (x + a / x)
        >>> s2sad.grad(lambda a: fixed_point(babylonian, a, 1.0))(4.0)
        0.25
    """
    return _fixed_point(fun, params, x0, tol, max_steps)


def _iterate(fun: Any, params: Any, x0: Any, tol: Any, max_steps: Any) -> Any:
    x = fun(params, x0)
    change = np.max(np.abs(x - x0))
    steps = 1
    while change > tol and steps < max_steps:
        before = x
        x = fun(params, before)
        change = np.max(np.abs(x - before))
        steps += 1
    return x


_fixed_point: Any = custom_vjp(_iterate, nondiff_argnums=(0, 3, 4))


def _fixed_point_fwd(fun: Any, params: Any, x0: Any, tol: Any, max_steps: Any) -> Any:
    x = _fixed_point(fun, params, x0, tol, max_steps)
    return x, (params, x)


def _fixed_point_bwd(fun: Any, tol: Any, max_steps: Any, kept: Any, x_bar: Any) -> Any:
    params, x = kept
    w = _iterate(_pulled_step, (fun, params, x, x_bar), x_bar, tol, max_steps)
    _, pullback = vjp(lambda p: fun(p, x), params)
    return pullback(w)[0], None


def _pulled_step(point: Any, w: Any) -> Any:
    fun, params, x, x_bar = point
    _, pullback = vjp(lambda y: fun(params, y), x)
    return x_bar + pullback(w)[0]


_fixed_point.defvjp(_fixed_point_fwd, _fixed_point_bwd)


def root(fun: Callable[[Any, Any], Any], params: Any, x0: Any, tol: float = 1e-12, max_steps: int = 100) -> Any:
    """Return the `x` with `fun(params, x) == 0` that Newton's method finds from `x0`.

    Args:
        fun: `(params, x) -> residual` of the shape of x, with an invertible derivative in x.
        params: what the root depends on: a number, an array, or a structure of them.
        x0: where to start, a vector of rank 1; the root does not depend on it.
        tol: the iteration ends when no element of the step is larger, in units of x.
        max_steps: or after as many steps.

    Returns:
        x, of the shape of `x0`. With J = ∂fun/∂x there, `w = -J⁻ᵀ x_bar` and
        `params_bar = (∂fun/∂params)ᵀ w`.

    Example:
        >>> import numpy as np, s2sad
        >>> from s2sad.implicit import root
        >>> def circle(r, x):
        ...     return x * x - r
        >>> s2sad.grad(lambda r: np.sum(root(circle, r, np.ones(1))))(4.0)
        0.25
    """
    return _root(fun, params, x0, tol, max_steps)


def _applied(fun: Any, params: Any, x: Any) -> Any:
    return fun(params, x)


_slope = jacfwd(_applied, argnums=2, target="python")  # outside a compiled function: a few small steps


def _newton(fun: Any, params: Any, x0: Any, tol: Any, max_steps: Any) -> Any:
    x = x0 - np.linalg.solve(_slope(fun, params, x0), fun(params, x0))
    change = np.max(np.abs(x - x0))
    steps = 1
    while change > tol and steps < max_steps:
        step = np.linalg.solve(_slope(fun, params, x), fun(params, x))
        x = x - step
        change = np.max(np.abs(step))
        steps += 1
    return x


_root: Any = custom_vjp(_newton, nondiff_argnums=(0, 3, 4))


def _root_fwd(fun: Any, params: Any, x0: Any, tol: Any, max_steps: Any) -> Any:
    x = _root(fun, params, x0, tol, max_steps)
    return x, (params, x)


def _root_bwd(fun: Any, tol: Any, max_steps: Any, kept: Any, x_bar: Any) -> Any:
    params, x = kept
    w = -np.linalg.solve(_slope(fun, params, x).T, x_bar)
    _, pullback = vjp(lambda p: fun(p, x), params)
    return pullback(w)[0], None


_root.defvjp(_root_fwd, _root_bwd)
