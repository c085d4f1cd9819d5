"""Energy and forces of many bodies on a GPU: roles are exchanged, so that no force needs an atomic.

Runs in Numba's simulator; on a GPU set NUMBA_ENABLE_CUDASIM=0.
"""

import math
import os

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")

import numpy as np
from numba import cuda

import s2sad


@s2sad.cuda.kernel
def potential(x, y, mass, energy):
    """Give each body half of its potential energy with every other, softened near contact."""
    i = cuda.grid(1)
    if i < x.size:
        total = 0.0
        for j in range(x.size):
            if j != i:
                dx = x[i] - x[j]
                dy = y[i] - y[j]
                total -= 0.5 * mass[i] * mass[j] / math.sqrt(dx * dx + dy * dy + 0.01)
        energy[i] = total


def forces(x, y, mass):
    """Return minus the derivatives of the whole energy by every position."""
    x_bar, y_bar, energy_bar = np.zeros_like(x), np.zeros_like(y), np.ones_like(x)
    potential.adjoint[-(-x.size // 4), 4](x, x_bar, y, y_bar, mass, None, np.zeros_like(x), energy_bar)
    return -x_bar, -y_bar


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x, y, mass = rng.normal(size=7), rng.normal(size=7), rng.uniform(0.5, 2.0, 7)
    fx, fy = forces(x, y, mass)
    print(potential.source("adjoint", "float64[::1], float64[::1], float64[::1], float64[::1]"))
    print(potential.plan)

    dx, dy = x[:, None] - x, y[:, None] - y
    pull = -mass[:, None] * mass / (dx**2 + dy**2 + 0.01) ** 1.5
    print("largest error of a force:", float(np.max(np.abs([fx - np.sum(pull * dx, 1), fy - np.sum(pull * dy, 1)]))))
    print("sum of the forces:       ", float(abs(np.sum(fx)) + abs(np.sum(fy))))
    assert np.allclose(fx, np.sum(pull * dx, 1))
    assert np.allclose(fy, np.sum(pull * dy, 1))
