"""Stencils: Jacobi and Gauss-Seidel in two dimensions, heat in three.

Source of the programs: Polybench/C, the stencils.
"""

from __future__ import annotations

import numpy as np

from tools.bench.kernel import Kernel, compiled


@compiled
def jacobi(a0, steps):
    a, b = a0.copy(), a0.copy()
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])
    return np.sum(a * a)


@compiled
def jacobi_slices(a0, steps):
    a, b = a0.copy(), a0.copy()
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])
        a[1:-1, 1:-1] = 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1])
    return np.sum(a * a)


@compiled
def jacobi_hand(a0, steps):
    a, b = a0.copy(), a0.copy()
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])
    # The borders are never written: what their adjoints gather is kept apart from the interior's.
    border = np.zeros((n, n))
    for i in range(n):
        border[i, 0], border[i, n - 1] = 2.0 * a[i, 0], 2.0 * a[i, n - 1]
    for j in range(n):
        border[0, j], border[n - 1, j] = 2.0 * a[0, j], 2.0 * a[n - 1, j]
    a_bar, b_bar = 2.0 * a, b
    for _ in range(2 * steps):
        for i in range(n):
            a_bar[i, 0] = a_bar[i, n - 1] = 0.0
            a_bar[0, i] = a_bar[n - 1, i] = 0.0
        for i in range(1, n - 1):
            border[i, 0] += 0.2 * a_bar[i, 1]
            border[i, n - 1] += 0.2 * a_bar[i, n - 2]
            border[0, i] += 0.2 * a_bar[1, i]
            border[n - 1, i] += 0.2 * a_bar[n - 2, i]
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                b_bar[i, j] = 0.2 * (
                    a_bar[i, j] + a_bar[i, j - 1] + a_bar[i, j + 1] + a_bar[i + 1, j] + a_bar[i - 1, j]
                )
        a_bar, b_bar = b_bar, a_bar
    for i in range(n):
        a_bar[i, 0], a_bar[i, n - 1] = border[i, 0], border[i, n - 1]
        a_bar[0, i], a_bar[n - 1, i] = border[0, i], border[n - 1, i]
    return a_bar


def square_grid(n, steps):
    return np.random.default_rng(0).normal(size=(n, n)), steps


@compiled
def gauss_seidel(a0, steps):
    a = a0.copy()
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = (a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                           + a[i, j - 1] + a[i, j] + a[i, j + 1]
                           + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]) / 9.0
    return np.sum(a * a)


@compiled
def gauss_seidel_hand(a0, steps):
    a = a0.copy()
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = (a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                           + a[i, j - 1] + a[i, j] + a[i, j + 1]
                           + a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]) / 9.0
    bar = 2.0 * a
    for _ in range(steps):
        for i in range(n - 2, 0, -1):
            for j in range(n - 2, 0, -1):
                share = bar[i, j] / 9.0
                bar[i, j] = share
                bar[i - 1, j - 1] += share
                bar[i - 1, j] += share
                bar[i - 1, j + 1] += share
                bar[i, j - 1] += share
                bar[i, j + 1] += share
                bar[i + 1, j - 1] += share
                bar[i + 1, j] += share
                bar[i + 1, j + 1] += share
    return bar


@compiled
def heat(a0, steps):
    a, b = a0.copy(), a0.copy()
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    b[i, j, k] = (a[i, j, k]
                                  + 0.125 * (a[i + 1, j, k] - 2.0 * a[i, j, k] + a[i - 1, j, k])
                                  + 0.125 * (a[i, j + 1, k] - 2.0 * a[i, j, k] + a[i, j - 1, k])
                                  + 0.125 * (a[i, j, k + 1] - 2.0 * a[i, j, k] + a[i, j, k - 1]))
        a, b = b, a
    return np.sum(a * a)


@compiled
def heat_slices(a0, steps):
    a, b = a0.copy(), a0.copy()
    for _ in range(steps):
        b[1:-1, 1:-1, 1:-1] = (
            a[1:-1, 1:-1, 1:-1]
            + 0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[1:-1, 1:-1, :-2])
        )
        a, b = b, a
    return np.sum(a * a)


@compiled
def heat_hand(a0, steps):
    a, b = a0.copy(), a0.copy()
    n = a.shape[0]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                for k in range(1, n - 1):
                    b[i, j, k] = 0.25 * a[i, j, k] + 0.125 * (
                        a[i + 1, j, k] + a[i - 1, j, k] + a[i, j + 1, k]
                        + a[i, j - 1, k] + a[i, j, k + 1] + a[i, j, k - 1])
        a, b = b, a
    # The border is constant: its adjoint collects what the interior's neighbours give at each step.
    border = np.zeros(a.shape)
    a_bar, b_bar = np.zeros(a.shape), np.zeros(a.shape)
    for i in range(n):
        for j in range(n):
            for k in range(n):
                if 0 < i < n - 1 and 0 < j < n - 1 and 0 < k < n - 1:
                    a_bar[i, j, k] = 2.0 * a[i, j, k]
                else:
                    border[i, j, k] = 2.0 * a[i, j, k]
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                border[i, j, 0] += 0.125 * a_bar[i, j, 1]
                border[i, j, n - 1] += 0.125 * a_bar[i, j, n - 2]
                border[i, 0, j] += 0.125 * a_bar[i, 1, j]
                border[i, n - 1, j] += 0.125 * a_bar[i, n - 2, j]
                border[0, i, j] += 0.125 * a_bar[1, i, j]
                border[n - 1, i, j] += 0.125 * a_bar[n - 2, i, j]
                for k in range(1, n - 1):
                    b_bar[i, j, k] = 0.25 * a_bar[i, j, k] + 0.125 * (
                        a_bar[i + 1, j, k] + a_bar[i - 1, j, k] + a_bar[i, j + 1, k]
                        + a_bar[i, j - 1, k] + a_bar[i, j, k + 1] + a_bar[i, j, k - 1])
        a_bar, b_bar = b_bar, a_bar
    for i in range(n):
        for j in range(n):
            for k in range(n):
                a_bar[i, j, k] += border[i, j, k]
    return a_bar


def cubic_grid(n, steps):
    return np.random.default_rng(0).normal(size=(n, n, n)), steps


KERNELS = (
    Kernel("Jacobi-2D", jacobi, jacobi_hand, square_grid, {"tiny": (6, 2), "full": (150, 50)}, peers="jacobi"),
    Kernel("Jacobi-2D, slices", jacobi_slices, jacobi_hand, square_grid,
           {"tiny": (6, 2), "full": (150, 50)}, peers="jacobi"),
    Kernel("Gauss-Seidel-2D", gauss_seidel, gauss_seidel_hand, square_grid,
           {"tiny": (6, 2), "full": (100, 15)}, peers="gauss_seidel"),
    Kernel("heat-3D", heat, heat_hand, cubic_grid, {"tiny": (5, 3), "full": (40, 20)}, peers="heat"),
    Kernel("heat-3D, slices", heat_slices, heat_hand, cubic_grid, {"tiny": (5, 3), "full": (40, 20)}, peers="heat"),
)
