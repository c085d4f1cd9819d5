"""Fixed points and roots, differentiated by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from s2sad.api.custom import custom_vjp
from s2sad.api.jacobian import jacfwd
from s2sad.api.transforms import jvp, vjp


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
        iteration, and `params_bar = (∂fun/∂params)ᵀ w`; its tangent solves
        `x_dot = ∂fun/∂params params_dot + ∂fun/∂x x_dot`. Source: Griewank and Walther, chapter 15.

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
    w = _fixed_point(_pulled_step, (fun, params, x, x_bar), x_bar, tol, max_steps)
    _, pullback = vjp(lambda p: fun(p, x), params)
    return pullback(w)[0], None


def _pulled_step(point: Any, w: Any) -> Any:
    fun, params, x, x_bar = point
    _, pullback = vjp(lambda y: fun(params, y), x)
    return x_bar + pullback(w)[0]


@_fixed_point.defjvp
def _fixed_point_jvp(fun: Any, tol: Any, max_steps: Any, primals: Any, tangents: Any) -> Any:
    params, x0 = primals
    x = _fixed_point(fun, params, x0, tol, max_steps)
    moved = jvp(lambda p: fun(p, x), (params,), (tangents[0],))[1]
    return x, _fixed_point(_pushed_step, (fun, params, x, moved), moved, tol, max_steps)


def _pushed_step(point: Any, x_dot: Any) -> Any:
    fun, params, x, moved = point
    return moved + jvp(lambda y: fun(params, y), (x,), (x_dot,))[1]


_fixed_point.defvjp(_fixed_point_fwd, _fixed_point_bwd)


def root(fun: Callable[[Any, Any], Any], params: Any, x0: Any, tol: float = 1e-12, max_steps: int = 100) -> Any:
    """Return the `x` with `fun(params, x) == 0` that Newton's method finds from `x0`.

    Args:
        fun: `(params, x) -> residual` of the shape of x, with an invertible derivative in x.
        params: what the root depends on: a number, an array, or a structure of them.
        x0: where to start, a number or an array; the root does not depend on it.
        tol: the iteration ends when no element of the step is larger, in units of x.
        max_steps: or after as many steps.

    Returns:
        x, of the shape of `x0`. With J = ∂fun/∂x there, `w = -J⁻ᵀ x_bar` and
        `params_bar = (∂fun/∂params)ᵀ w`; `x_dot = -J⁻¹ ∂fun/∂params params_dot`.

    Example:
        >>> import s2sad
        >>> from s2sad.implicit import root
        >>> def square_less(a, x):
        ...     return x * x - a
        >>> s2sad.grad(lambda a: root(square_less, a, 1.0))(4.0)
        0.25
    """
    return _root(fun, params, x0, tol, max_steps)


def _applied(fun: Any, params: Any, x: Any) -> Any:
    return fun(params, x)


_slope = jacfwd(_applied, argnums=2, target="python")  # outside a compiled function: a few small steps


def _solved(slope: Any, residual: Any) -> Any:
    """Return J⁻¹ residual; J has the axes of the residual twice."""
    if np.ndim(residual) == 0:
        return residual / slope
    n = residual.size
    return np.linalg.solve(slope.reshape(n, n), residual.reshape(n)).reshape(residual.shape)


def _newton(fun: Any, params: Any, x0: Any, tol: Any, max_steps: Any) -> Any:
    x = x0 - _solved(_slope(fun, params, x0), fun(params, x0))
    change = np.max(np.abs(x - x0))
    steps = 1
    while change > tol and steps < max_steps:
        step = _solved(_slope(fun, params, x), fun(params, x))
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
    w = -_solved(_transposed(_slope(fun, params, x), x), x_bar)
    _, pullback = vjp(lambda p: fun(p, x), params)
    return pullback(w)[0], None


def _transposed(slope: Any, x: Any) -> Any:
    if np.ndim(x) == 0:
        return slope
    return slope.reshape(x.size, x.size).T


@_root.defjvp
def _root_jvp(fun: Any, tol: Any, max_steps: Any, primals: Any, tangents: Any) -> Any:
    params, x0 = primals
    x = _root(fun, params, x0, tol, max_steps)
    moved = jvp(lambda p: fun(p, x), (params,), (tangents[0],))[1]
    return x, -_solved(_slope(fun, params, x), moved)


_root.defvjp(_root_fwd, _root_bwd)
