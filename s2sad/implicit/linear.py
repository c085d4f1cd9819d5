"""Linear solves by the user's own solver, differentiated by solving with the transpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from s2sad.api.custom import custom_vjp
from s2sad.api.transforms import jvp, vjp


def custom_linear_solve(
    matvec: Callable[[Any, Any], Any],
    params: Any,
    b: Any,
    solve: Callable[[Any, Any], Any],
    transpose_solve: Callable[[Any, Any], Any],
) -> Any:
    """Return the `x` with `matvec(params, x) == b`, as `solve` finds it.

    Args:
        matvec: `(params, x) -> b`, linear in x.
        params: what the linear map depends on: a number, an array, or a structure of them.
        b: the right side, an array.
        solve: `(params, b) -> x`; it is called and never differentiated.
        transpose_solve: `(params, b) -> x` for the transposed map; `solve` itself where that is symmetric.

    Returns:
        x. Its cotangent gives `b_bar = transpose_solve(params, x_bar)`, and
        `params_bar = -(∂matvec/∂params)ᵀ b_bar` at x; its tangent is
        `solve(params, b_dot - ∂matvec/∂params params_dot)`.

    Example:
        >>> import numpy as np, s2sad
        >>> from s2sad.implicit import custom_linear_solve
        >>> def times(d, x):
        ...     return d * x
        >>> def over(d, b):
        ...     return b / d
        >>> s2sad.grad(lambda d: np.sum(custom_linear_solve(times, d, np.ones(2), over, over)))(np.array([1.0, 2.0]))
        array([-1.  , -0.25])
    """
    return _linear_solve(matvec, solve, transpose_solve, params, b)


def _solved(matvec: Any, solve: Any, transpose_solve: Any, params: Any, b: Any) -> Any:
    return solve(params, b)


_linear_solve: Any = custom_vjp(_solved, nondiff_argnums=(0, 1, 2))


def _solve_fwd(matvec: Any, solve: Any, transpose_solve: Any, params: Any, b: Any) -> Any:
    x = _linear_solve(matvec, solve, transpose_solve, params, b)
    return x, (params, x)


def _solve_bwd(matvec: Any, solve: Any, transpose_solve: Any, kept: Any, x_bar: Any) -> Any:
    params, x = kept
    b_bar = _linear_solve(
        lambda at, y: vjp(lambda z: matvec(at[0], z), at[1])[1](y)[0],
        lambda at, y: transpose_solve(at[0], y),
        lambda at, y: solve(at[0], y),
        (params, x),
        x_bar,
    )
    _, pullback = vjp(lambda p: matvec(p, x), params)
    return pullback(-b_bar)[0], b_bar


@_linear_solve.defjvp
def _solve_jvp(matvec: Any, solve: Any, transpose_solve: Any, primals: Any, tangents: Any) -> Any:
    params, b = primals
    x = _linear_solve(matvec, solve, transpose_solve, params, b)
    moved = jvp(lambda p: matvec(p, x), (params,), (tangents[0],))[1]
    return x, _linear_solve(matvec, solve, transpose_solve, params, tangents[1] - moved)


_linear_solve.defvjp(_solve_fwd, _solve_bwd)
