"""Diffusion in two dimensions on a GPU: the adjoint of a stencil is a gather, and needs no atomics.

Runs in Numba's simulator; on a GPU set NUMBA_ENABLE_CUDASIM=0.
"""

import os

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")

import numpy as np
from numba import cuda

import s2sad


@s2sad.cuda.kernel
def diffuse(u, k, out):
    """One explicit step with a conductivity `k` per cell; the border is left as it is."""
    i, j = cuda.grid(2)
    if i < u.shape[0] and j < u.shape[1]:
        if 0 < i and i < u.shape[0] - 1 and 0 < j and j < u.shape[1] - 1:
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
            out[i, j] = u[i, j] + k[i, j] * around
        else:
            out[i, j] = u[i, j]


def launch(shape, block=(4, 4)):
    """Return a grid that covers an array."""
    return tuple(-(-n // b) for n, b in zip(shape, block, strict=True)), block


def run(u0, k, steps):
    """Return every state of the plate."""
    states = np.zeros((steps + 1, *u0.shape))
    states[0] = u0
    for t in range(steps):
        diffuse[launch(u0.shape)](states[t], k, states[t + 1])
    return states


def gradient(u0, k, steps, target):
    """Return the derivatives of half the squared misfit by the first state and by `k`."""
    states = run(u0, k, steps)
    bars, k_bar = np.zeros_like(states), np.zeros_like(k)
    bars[steps] = states[steps] - target
    for t in reversed(range(steps)):
        diffuse.adjoint[launch(u0.shape)](states[t], bars[t], k, k_bar, states[t + 1], bars[t + 1])
    return bars[0], k_bar


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    u0, k, target, steps = rng.uniform(size=(7, 6)), rng.uniform(0.1, 0.2, (7, 6)), np.full((7, 6), 0.5), 3
    u0_bar, k_bar = gradient(u0, k, steps, target)
    print(diffuse.source("adjoint"))
    print(diffuse.plan)
    assert "atomic" not in diffuse.source("adjoint")

    def misfit(u0, k):
        return 0.5 * float(np.sum((run(u0, k, steps)[steps] - target) ** 2))

    du, dk, h = rng.normal(size=u0.shape), rng.normal(size=k.shape), 1e-6
    want = (misfit(u0 + h * du, k + h * dk) - misfit(u0 - h * du, k - h * dk)) / (2 * h)
    got = float(np.sum(u0_bar * du) + np.sum(k_bar * dk))
    print(f"along a direction: adjoint {got:.9f}, differences {want:.9f}")
    assert np.isclose(got, want, rtol=1e-6)
