"""The problems whose loops JAX can only write as `lax` loops, near to the NumPy program's."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tools.bench.kernels.adaptive import ERROR, FIFTH, STAGES


def cholesky(a):
    n = a.shape[0]
    at = jnp.arange(n)

    def column(low, j):
        known = jnp.where(at < j, low[j], 0.0)
        rest = a[:, j] - low @ known
        pivot = jnp.sqrt(rest[j])
        return low.at[:, j].set(jnp.where(at == j, pivot, jnp.where(at > j, rest / pivot, 0.0))), pivot

    _, pivots = lax.scan(column, jnp.zeros_like(a), at)
    return 2.0 * jnp.sum(jnp.log(pivots))


def cholesky_library(a):
    whole = jnp.tril(a) + jnp.tril(a, -1).T  # as the loops do, read only the lower triangle
    return 2.0 * jnp.sum(jnp.log(jnp.diag(jnp.linalg.cholesky(whole, symmetrize_input=False))))


def substitute(low, b):
    def row(x, i):
        value = (b[i] - jnp.dot(low[i], x)) / low[i, i]
        return x.at[i].set(value), None

    x, _ = lax.scan(row, jnp.zeros_like(b), jnp.arange(b.size))
    return jnp.sum(x * x)


def substitute_library(low, b):
    x = jax.scipy.linalg.solve_triangular(low, b, lower=True)
    return jnp.sum(x * x)


def gauss_seidel_as_written(a0, steps):
    n = a0.shape[0]

    def cell(a, place):
        i, j = place // (n - 2) + 1, place % (n - 2) + 1
        window = lax.dynamic_slice(a, (i - 1, j - 1), (3, 3))
        return a.at[i, j].set(jnp.sum(window) / 9.0), None

    def sweep(a, _):
        return lax.scan(cell, a, jnp.arange((n - 2) ** 2))[0], None

    a, _ = lax.scan(sweep, a0, None, length=steps)
    return jnp.sum(a * a)


def fehlberg(x0, stiffness, end):
    """Integrate in a `while_loop`, which JAX differentiates forward only."""

    def slope(x):
        return jnp.stack((x[1], stiffness * (1.0 - x[0] ** 2) * x[1] - x[0]))

    def attempt(carried):
        t, h, x = carried
        h = jnp.minimum(h, end - t)
        k = []
        for s in range(6):
            k.append(slope(x + h * sum(STAGES[s, r] * k[r] for r in range(s))))
        k = jnp.stack(k)
        error = h * (ERROR @ k)
        size = jnp.sqrt(jnp.mean(error**2))
        taken = size <= 1e-8
        t, x = jnp.where(taken, t + h, t), jnp.where(taken, x + h * (FIFTH @ k), x)
        return t, h * jnp.clip(0.9 * (1e-8 / (size + 1e-30)) ** 0.2, 0.2, 5.0), x

    _, _, x = lax.while_loop(lambda carried: carried[0] < end, attempt, (0.0, 0.01, x0))
    return jnp.sum(x * x)
