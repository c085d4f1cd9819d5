"""Kernels whose threads work together in blocks: tiles, leaders, counts, several axes."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda

from tests.cuda.kernels import case, numbers


@case((2, 2), (2, 2), lambda: (numbers(4, 4), numbers(4, 4, seed=1), numbers(4, 4, seed=2)))
def tiled_product(a, b, out):
    left = cuda.shared.array((2, 2), np.float64); right = cuda.shared.array((2, 2), np.float64)  # noqa: E702
    i, j = cuda.grid(2)
    ti, tj = cuda.threadIdx.x, cuda.threadIdx.y
    acc = 0.0
    for k in range(a.shape[1] // 2):
        left[ti, tj] = a[i, tj + 2 * k]
        right[ti, tj] = b[ti + 2 * k, j]
        cuda.syncthreads()
        for m in range(2):
            acc += left[ti, m] * right[m, tj]
        cuda.syncthreads()
    out[i, j] = acc**2


@case(2, 4, lambda: (numbers(8), numbers(8, seed=1)))
def leader(x, out):  # one thread writes what all of the block read: its adjoint is a sum over the block
    s = cuda.shared.array(1, np.float64)
    i = cuda.grid(1)
    if cuda.threadIdx.x == 0:
        s[0] = x[i] ** 2
    cuda.syncthreads()
    out[i] = s[0] * x[i]


@case((2, 1), (2, 3), lambda: (numbers(4, 3), numbers(4, 3, seed=1)))
def leader_of_two_axes(x, out):  # the shared array has fewer axes than the launch
    s = cuda.shared.array(2, np.float64)
    i, j = cuda.grid(2)
    if cuda.threadIdx.y == 0:
        s[cuda.threadIdx.x] = math.sin(x[i, 0])
    cuda.syncthreads()
    out[i, j] = s[1 - cuda.threadIdx.x] * x[i, j]


@case(2, 4, lambda: (numbers(8), numbers(8, seed=1)))
def tile_with_halo(u, out):
    s = cuda.shared.array(6, np.float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    s[t + 1] = u[i]
    if t == 0:
        s[0] = u[i - 1] if i > 0 else u[i]
    if t == cuda.blockDim.x - 1:
        s[t + 2] = u[i + 1] if i + 1 < u.size else u[i]
    cuda.syncthreads()
    out[i] = s[t] * s[t + 1] - s[t + 2] ** 2


@case(2, 4, lambda: (numbers(8), np.array([0, 1, 1, 0, 1, 1, 1, 0]), numbers(8, seed=1)))
def block_histogram(x, bins, out):
    s = cuda.shared.array(2, np.float64)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if t < 2:
        s[t] = 0.0
    cuda.syncthreads()
    cuda.atomic.add(s, bins[i], x[i] ** 2)
    cuda.syncthreads()
    out[i] = s[0] * s[1] * x[i]


@case((1, 2, 2), (2, 1, 2), lambda: (numbers(2, 2, 4), numbers(2, 2, 4, seed=1)))
def block_in_space(u, out):
    s = cuda.shared.array((2, 1, 2), np.float64)
    i, j, k = cuda.grid(3)
    a, b, c = cuda.threadIdx.x, cuda.threadIdx.y, cuda.threadIdx.z
    s[a, b, c] = u[i, j, k] ** 2
    cuda.syncthreads()
    out[i, j, k] = s[1 - a, b, c] * s[a, b, 1 - c] + u[i, 1 - j, k]


@case(2, 2, lambda: (numbers(9), numbers(9, seed=1), numbers(9, seed=2)))
def two_strides(x, y, out):  # two grid-stride loops, of different lengths, that read ahead
    start, step = cuda.grid(1), cuda.gridsize(1)
    for i in range(start, x.size - 1, step):
        out[i] = x[i + 1] * x[i]
    for i in range(start, y.size - 2, step):
        y[i] *= x[i + 2] ** 2


@case((2, 2), (2, 2), lambda: (numbers(4), numbers(4, seed=1)))
def added_by_columns(x, out):  # nothing of the adjoint asks for the second axis, and its threads add all the same
    i, _ = cuda.grid(2)
    if i < x.size:
        cuda.atomic.add(out, i, x[i] ** 2)


NAMES = ("tiled_product", "leader", "leader_of_two_axes", "tile_with_halo", "block_histogram", "block_in_space",
         "two_strides", "added_by_columns")
