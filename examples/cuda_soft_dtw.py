"""Soft dynamic time warping on a GPU: the adjoint that others write by hand, generated, with d/dgamma too.

One block per pair of series, one thread per row, an anti-diagonal per pass, a barrier between passes.
Runs in Numba's simulator; on a GPU set NUMBA_ENABLE_CUDASIM=0. Source of the algorithm: Cuturi and Blondel,
"Soft-DTW: a differentiable loss function for time-series", ICML 2017.
"""

import math
import os

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")

import numpy as np
from numba import cuda

import s2sad

FAR = 1e10  # stands for infinity at the border, where no path begins


@s2sad.cuda.kernel
def soft_dtw(distance, gamma, cost):
    """Fill `cost[b, i, j]`, the soft minimum over all paths to (i, j), from `distance[b, i, j]`."""
    b = cuda.blockIdx.x
    row = cuda.threadIdx.x
    n, m = distance.shape[1], distance.shape[2]
    for diagonal in range(n + m - 1):
        column = diagonal - row
        if row < n and 0 <= column and column < m:
            above = -cost[b, row, column + 1] / gamma
            left = -cost[b, row + 1, column] / gamma
            corner = -cost[b, row, column] / gamma
            largest = max(max(above, left), corner)
            total = math.exp(above - largest) + math.exp(left - largest) + math.exp(corner - largest)
            cost[b, row + 1, column + 1] = distance[b, row, column] - gamma * (math.log(total) + largest)
        cuda.syncthreads()


def border(batch, n, m):
    """Return the costs before the launch: no path but through the corner."""
    cost = np.full((batch, n + 1, m + 1), FAR)
    cost[:, 0, 0] = 0.0
    return cost


def value(distance, gamma):
    """Return the sum over the batch of the soft-DTW discrepancies."""
    batch, n, m = distance.shape
    cost = border(batch, n, m)
    soft_dtw[batch, n](distance, gamma, cost)
    return float(np.sum(cost[:, n, m]))


def gradient(distance, gamma):
    """Return the derivatives by every distance and by gamma."""
    batch, n, m = distance.shape
    distance_bar, gamma_bar = np.zeros_like(distance), np.zeros(1)
    cost = border(batch, n, m)
    cost_bar = np.zeros_like(cost)
    cost_bar[:, n, m] = 1.0
    soft_dtw.adjoint[batch, n](distance, distance_bar, gamma, gamma_bar, cost, cost_bar)
    return distance_bar, gamma_bar[0]


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x, y = np.cumsum(rng.normal(size=(2, 4)), axis=1), np.cumsum(rng.normal(size=(2, 5)), axis=1)
    distance, gamma = (x[:, :, None] - y[:, None, :]) ** 2, 0.7
    distance_bar, gamma_bar = gradient(distance, gamma)
    print(soft_dtw.source("adjoint"))

    direction, h = rng.normal(size=distance.shape), 1e-6
    want = (value(distance + h * direction, gamma) - value(distance - h * direction, gamma)) / (2 * h)
    print(f"along a direction: adjoint {np.sum(distance_bar * direction):.9f}, differences {want:.9f}")
    slope = (value(distance, gamma + h) - value(distance, gamma - h)) / (2 * h)
    print(f"by gamma:          adjoint {gamma_bar:.9f}, differences {slope:.9f}")
    assert np.isclose(np.sum(distance_bar * direction), want, rtol=1e-6)
    assert np.isclose(gamma_bar, slope, rtol=1e-6)
