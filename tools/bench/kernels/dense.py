"""Dense linear algebra written as loops, a least-squares fit, and a determinant by recursion."""

from __future__ import annotations

import math

import numpy as np

from tools.bench.kernel import Kernel, compiled


@compiled
def cholesky(a):
    n = a.shape[0]
    low = np.zeros((n, n))
    log_det = 0.0
    for i in range(n):
        for j in range(i):
            total = a[i, j]
            for k in range(j):
                total -= low[i, k] * low[j, k]
            low[i, j] = total / low[j, j]
        total = a[i, i]
        for k in range(i):
            total -= low[i, k] * low[i, k]
        low[i, i] = math.sqrt(total)
        log_det += 2.0 * math.log(low[i, i])
    return log_det


@compiled
def cholesky_hand(a):
    n = a.shape[0]
    low = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            total = a[i, j]
            for k in range(j):
                total -= low[i, k] * low[j, k]
            low[i, j] = total / low[j, j]
        total = a[i, i]
        for k in range(i):
            total -= low[i, k] * low[i, k]
        low[i, i] = math.sqrt(total)
    low_bar, a_bar = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        low_bar[i, i] = 2.0 / low[i, i]
    for i in range(n - 1, -1, -1):
        bar = 0.5 * low_bar[i, i] / low[i, i]
        a_bar[i, i] = bar
        for k in range(i):
            low_bar[i, k] -= 2.0 * bar * low[i, k]
        for j in range(i - 1, -1, -1):
            bar = low_bar[i, j] / low[j, j]
            a_bar[i, j] = bar
            low_bar[j, j] -= bar * low[i, j]
            for k in range(j):
                low_bar[i, k] -= bar * low[j, k]
                low_bar[j, k] -= bar * low[i, k]
    return a_bar


def positive(n):
    a = np.random.default_rng(0).normal(size=(n, n))
    return (a @ a.T + n * np.eye(n),)


@compiled
def substitute(low, b):
    n = b.size
    x = np.empty(n)
    for i in range(n):
        total = b[i]
        for j in range(i):
            total -= low[i, j] * x[j]
        x[i] = total / low[i, i]
    return np.sum(x * x)


@compiled
def substitute_hand(low, b):
    n = b.size
    x = np.empty(n)
    for i in range(n):
        total = b[i]
        for j in range(i):
            total -= low[i, j] * x[j]
        x[i] = total / low[i, i]
    x_bar = 2.0 * x
    low_bar = np.zeros((n, n))
    for i in range(n - 1, -1, -1):
        bar = x_bar[i] / low[i, i]
        x_bar[i] = bar
        low_bar[i, i] = -bar * x[i]
        for j in range(i):
            low_bar[i, j] = -bar * x[j]
            x_bar[j] -= bar * low[i, j]
    return low_bar, x_bar


def triangle(n):
    rng = np.random.default_rng(0)
    return np.tril(rng.normal(size=(n, n))) / n + np.eye(n), rng.normal(size=n)


@compiled
def misfit(coefficients, powers, y):
    total = 0.0
    for i in range(y.size):
        error = -y[i]
        for j in range(coefficients.size):
            error += powers[i, j] * coefficients[j]
        total += error * error
    return total


@compiled
def misfit_products(coefficients, powers, y):
    error = powers @ coefficients - y
    return np.sum(error * error)


@compiled
def misfit_hand(coefficients, powers, y):
    bar = np.zeros(coefficients.size)
    for i in range(y.size):
        error = -y[i]
        for j in range(coefficients.size):
            error += powers[i, j] * coefficients[j]
        error *= 2.0
        for j in range(coefficients.size):
            bar[j] += error * powers[i, j]
    return bar


@compiled
def misfit_products_hand(coefficients, powers, y):
    error = powers @ coefficients
    error -= y
    error *= 2.0
    return error @ powers


def polynomial(rows, degree):
    rng = np.random.default_rng(0)
    powers = np.ascontiguousarray(np.vander(rng.uniform(-1.0, 1.0, rows), degree, increasing=True))
    return rng.normal(size=degree), powers, rng.normal(size=rows)


@compiled
def determinant(a):
    n = a.shape[0]
    if n == 1:
        return a[0, 0]
    total = 0.0
    sign = 1.0
    for j in range(n):
        minor = np.empty((n - 1, n - 1))
        for p in range(1, n):
            for q in range(n - 1):
                minor[p - 1, q] = a[p, q] if q < j else a[p, q + 1]
        total += sign * a[0, j] * determinant(minor)
        sign = -sign
    return total


@compiled
def determinant_both(a, bar):
    """Return the determinant of `a` and write its gradient: one recursion serves both."""
    n = a.shape[0]
    if n == 1:
        bar[0, 0] = 1.0
        return a[0, 0]
    minor, minor_bar = np.empty((n - 1, n - 1)), np.empty((n - 1, n - 1))
    total = 0.0
    sign = 1.0
    for p in range(1, n):
        for q in range(n):
            bar[p, q] = 0.0
    for j in range(n):
        for p in range(1, n):
            for q in range(n - 1):
                minor[p - 1, q] = a[p, q] if q < j else a[p, q + 1]
        bar[0, j] = sign * determinant_both(minor, minor_bar)
        total += a[0, j] * bar[0, j]
        scale = sign * a[0, j]
        for p in range(1, n):
            for q in range(j):
                bar[p, q] += scale * minor_bar[p - 1, q]
            for q in range(j, n - 1):
                bar[p, q + 1] += scale * minor_bar[p - 1, q]
        sign = -sign
    return total


@compiled
def determinant_hand(a):
    bar = np.empty(a.shape)
    determinant_both(a, bar)
    return bar


def square(n):
    return (np.random.default_rng(0).normal(size=(n, n)),)


KERNELS = (
    Kernel("Cholesky loops 100", cholesky, cholesky_hand, positive, {"tiny": (4,), "full": (100,)}, peers="cholesky"),
    Kernel("Cholesky loops 300", cholesky, cholesky_hand, positive, {"tiny": (4,), "full": (300,)}, peers="cholesky"),
    Kernel("triangular solve 2000", substitute, substitute_hand, triangle,
           {"tiny": (4,), "full": (2000,)}, wrt=(0, 1), peers="substitute"),
    Kernel("polynomial least squares", misfit, misfit_hand, polynomial,
           {"tiny": (6, 3), "full": (4096, 128)}, peers="misfit"),
    Kernel("polynomial least squares, products", misfit_products, misfit_products_hand, polynomial,
           {"tiny": (6, 3), "full": (4096, 128)}, peers="misfit"),
    Kernel("determinant by recursion", determinant, determinant_hand, square,
           {"tiny": (4,), "full": (8,)}, peers="determinant"),
)
