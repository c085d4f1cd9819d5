"""Ordinary differential equations by adaptive steps, differentiated by the adjoint equation.

The steps are those of Dormand and Prince (1980), order 5 with an error estimate of order 4; the
adjoint equation is solved backwards with them too (Pontryagin; Chen et al. 2018, appendix B).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from s2sad.api.custom import custom_vjp
from s2sad.api.transforms import jvp, vjp


def odeint(
    func: Callable[..., Any], y0: Any, t: Any, *args: Any, rtol: float = 1.4e-8, atol: float = 1.4e-8,
    max_steps: int = 100_000,
) -> Any:  # fmt: skip
    """Return y at the times `t`, where dy/dt = func(y, t, *args) and y(t[0]) = y0.

    Args:
        func: the right side, of the shape of y, in units [y]/[t]; a vector may be a list of numbers.
        y0: the state at `t[0]`, a number, or a vector of float64 or a list of such numbers.
        t: the times, increasing or decreasing, a vector of float64.
        *args: what else `func` depends on: floats and arrays.
        rtol: error allowed in one step, relative to y.
        atol: error allowed in one step, in units of y.
        max_steps: as many steps between two times.

    Returns:
        An array of shape `(t.size, y0.size)`, or `(t.size,)` for a number. It is differentiated by y0, t
        and args: in reverse mode by the adjoint equation, where what is kept is the result, whatever the
        number of steps; in forward mode by the equation of the sensitivities.

    Example:
        >>> import numpy as np, s2sad
        >>> from s2sad.implicit import odeint
        >>> def decay(y, t, k):
        ...     return -k * y
        >>> def after(k):
        ...     return np.sum(odeint(decay, np.ones(1), np.array([0.0, 1.0]), k)[1])
        >>> bool(abs(s2sad.grad(after)(2.0) + np.exp(-2.0)) < 1e-7)
        True
    """
    begin, times = np.asarray(y0), np.asarray(t)
    if begin.ndim == 0:
        return _odeint(functools.partial(_of_number, func), rtol, atol, max_steps, np.full(1, y0), times, args)[:, 0]
    return _odeint(functools.partial(_of_vector, func), rtol, atol, max_steps, begin, times, args)


def _of_vector(func: Any, y: Any, t: Any, *args: Any) -> Any:
    """Return the right side of an equation of a vector, which a function may give as a list."""
    return np.asarray(func(y, t, *args))


def _of_number(func: Any, y: Any, t: Any, *args: Any) -> Any:
    """Return the right side of an equation of one number as a vector."""
    return np.full(1, func(y[0], t, *args))


def _step(func: Any, y: Any, t: Any, h: Any, k1: Any, args: Any) -> Any:
    """Return y after one step, and the estimate of its error."""
    k2 = func(y + h * (k1 / 5), t + h / 5, *args)
    k3 = func(y + h * (3 / 40 * k1 + 9 / 40 * k2), t + 3 / 10 * h, *args)
    k4 = func(y + h * (44 / 45 * k1 - 56 / 15 * k2 + 32 / 9 * k3), t + 4 / 5 * h, *args)
    y5 = y + h * (19372 / 6561 * k1 - 25360 / 2187 * k2 + 64448 / 6561 * k3 - 212 / 729 * k4)
    k5 = func(y5, t + 8 / 9 * h, *args)
    y6 = y + h * (9017 / 3168 * k1 - 355 / 33 * k2 + 46732 / 5247 * k3 + 49 / 176 * k4 - 5103 / 18656 * k5)
    k6 = func(y6, t + h, *args)
    new = y + h * (35 / 384 * k1 + 500 / 1113 * k3 + 125 / 192 * k4 - 2187 / 6784 * k5 + 11 / 84 * k6)
    k7 = func(new, t + h, *args)
    fourth = 71 / 57600 * k1 - 71 / 16695 * k3 + 71 / 1920 * k4 - 17253 / 339200 * k5
    return new, h * (fourth + 22 / 525 * k6 - 1 / 40 * k7)


def _advance(func: Any, y: Any, start: Any, end: Any, args: Any, rtol: Any, atol: Any, max_steps: Any) -> Any:
    """Return y at `end`, given y at `start`."""
    y = y + 0.0
    t = start + 0.0
    h = (end - start) / 10
    steps = 0
    done = start == end
    while not done:
        last = abs(h) >= abs(end - t)
        if last:
            h = end - t
        new, error = _step(func, y, t, h, func(y, t, *args), args)
        scale = atol + rtol * np.maximum(np.abs(y), np.abs(new))
        ratio = np.sqrt(np.mean((error / scale) ** 2))
        if ratio <= 1.0:
            y = new
            t = t + h
            done = last
        h = h * min(5.0, max(0.2, 0.9 * max(ratio, 1e-10) ** -0.2))
        steps += 1
        if steps >= max_steps:
            raise RuntimeError("odeint needs more than max_steps steps between two times")
    return y


def _solve(func: Any, rtol: Any, atol: Any, max_steps: Any, y0: Any, t: Any, args: Any) -> Any:
    ys = np.zeros((t.size, y0.size))
    ys[0] = y0
    for i in range(1, t.size):
        ys[i] = _advance(func, ys[i - 1], t[i - 1], t[i], args, rtol, atol, max_steps)
    return ys


_odeint: Any = custom_vjp(_solve, nondiff_argnums=(0, 1, 2, 3))


def _odeint_fwd(func: Any, rtol: Any, atol: Any, max_steps: Any, y0: Any, t: Any, args: Any) -> Any:
    ys = _odeint(func, rtol, atol, max_steps, y0, t, args)
    return ys, (ys, t, args)


def _odeint_bwd(func: Any, rtol: Any, atol: Any, max_steps: Any, kept: Any, ys_bar: Any) -> Any:
    """Go back from time to time: y, its cotangent, and that of the arguments, as one vector."""
    ys, t, args = kept
    n = ys.shape[1]
    count = t.size
    y_bar = ys_bar[count - 1] + 0.0
    args_bar = 0.0 * _flat(args)
    t_bar = np.zeros(count)
    for k in range(count - 1):
        i = count - 1 - k
        t_bar[i] = np.sum(func(ys[i], t[i], *args) * ys_bar[i])
        z = np.concatenate((ys[i], y_bar, args_bar))
        back = _advance(_adjoint, z, t[i], t[i - 1], (func, args, n), rtol, atol, max_steps)
        if i == 1:
            t_bar[0] = -np.sum(func(ys[0], t[0], *args) * back[n : 2 * n])
        y_bar = back[n : 2 * n] + ys_bar[i - 1]
        args_bar = back[2 * n :] + 0.0
    _, unflatten = vjp(_flat, args)
    return y_bar, t_bar, unflatten(args_bar)[0]


@_odeint.defjvp
def _odeint_jvp(func: Any, rtol: Any, atol: Any, max_steps: Any, primals: Any, tangents: Any) -> Any:
    """Solve for y together with its sensitivity along the tangents."""
    y0, t, args = primals
    y0_dot, t_dot, args_dot = tangents
    n = y0.size
    start = np.concatenate((y0, y0_dot - func(y0, t[0], *args) * t_dot[0]))
    zs = _odeint(functools.partial(_sensitivity, func), rtol, atol, max_steps, start, t, (args, args_dot))
    ys = zs[:, :n] + 0.0
    ys_dot = np.zeros((t.size, n))
    for i in range(t.size):
        ys_dot[i] = zs[i, n:] + func(ys[i], t[i], *args) * t_dot[i]
    return ys, ys_dot


def _sensitivity(func: Any, z: Any, t: Any, args: Any, args_dot: Any) -> Any:
    """Return the right side of the equation together with its derivative along y_dot and args_dot."""
    n = z.size // 2
    slope, moved = jvp(lambda y, p: func(y, t, *p), (z[:n], args), (z[n:], args_dot))
    return np.concatenate((slope, moved))


def _adjoint(z: Any, t: Any, func: Any, args: Any, n: Any) -> Any:
    """Return the right side of the adjoint equation, together with that of the equation itself."""
    y, w = z[:n], z[n : 2 * n]
    slope, pullback = vjp(lambda y, p: func(y, t, *p), y, args)
    y_bar, args_bar = pullback(w)
    return np.concatenate((slope, -y_bar, -_flat(args_bar)))


def _flat(args: Any) -> Any:
    """Return the numbers and arrays of nested tuples as one vector; its transpose takes a vector apart again."""
    out = np.zeros(0)
    for value in args:
        if isinstance(value, tuple):
            out = np.concatenate((out, _flat(value)))
        else:
            out = np.concatenate((out, np.ravel(value) if np.ndim(value) else np.full(1, value)))
    return out


_odeint.defvjp(_odeint_fwd, _odeint_bwd)
