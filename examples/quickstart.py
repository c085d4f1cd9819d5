"""Differentiate a slope limiter: read the derivative's source, check it, time it.

The function has a loop, a branch and in-place writes, and nothing in it is written for s2sad.
"""

import inspect
import timeit

import numpy as np
from numba import njit

import s2sad


def limit_slope(u0, k):
    """Bound every upward jump of `u0` smoothly by `k`, damp the others, and return the energy."""
    u = u0.copy()
    for i in range(1, u.size):
        jump = u[i] - u[i - 1]
        if jump > k:
            u[i] = u[i - 1] + k * np.tanh(jump / k)
        else:
            u[i] -= 0.1 * jump**2
    return np.sum(u**2)


def central_difference(f, step):
    """Return (f(step) - f(-step)) / (2 step)."""
    return (f(step) - f(-step)) / (2 * step)


def main():
    rng = np.random.default_rng(0)
    u0, k = rng.normal(size=20_000), 0.3

    limiter = s2sad.differentiate(argnums=("u0", "k"))(limit_slope)
    value, (u0_bar, k_bar) = limiter.value_and_grad(u0, k)
    print(inspect.getsource(limit_slope))
    print(limiter.source("vjp"))

    direction = rng.normal(size=u0.size)
    along_u0 = central_difference(lambda h: limit_slope(u0 + h * direction, k), 1e-6)
    along_k = central_difference(lambda h: limit_slope(u0, k + h), 1e-7)
    print(f"value                        {value:.6f}")
    print(f"d/dk                         {k_bar:.6f}   finite difference {along_k:.6f}")
    print(
        f"d/du0 in a random direction  {u0_bar @ direction:.6f}   finite difference {along_u0:.6f}"
    )
    if not np.allclose([k_bar, u0_bar @ direction], [along_k, along_u0], rtol=1e-5):
        raise SystemExit("the gradient disagrees with finite differences")

    primal = njit(error_model="numpy")(limit_slope)
    primal(u0, k)
    seconds = [
        min(timeit.repeat(lambda f=f: f(u0, k), number=20, repeat=7)) / 20
        for f in (primal, limiter.value_and_grad)
    ]
    print(
        f"function {seconds[0] * 1e6:.0f} µs, value and gradient {seconds[1] * 1e6:.0f} µs", end=""
    )
    print(f", ratio {seconds[1] / seconds[0]:.2f}")


if __name__ == "__main__":
    main()
