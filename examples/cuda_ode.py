"""An ensemble of adaptive integrations on a GPU: each thread takes as many steps as it needs.

The gradient is exact for the steps that were taken; what they overwrite is kept on a tape whose
length is counted before the launch. Runs in Numba's simulator; on a GPU set NUMBA_ENABLE_CUDASIM=0.
"""

import math
import os

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")

import numpy as np
from numba import cuda

import s2sad


@s2sad.cuda.kernel
def pendulum(angle, damping, final):
    """Swing for one unit of time from rest, by Heun's method with steps chosen by the error."""
    i = cuda.grid(1)
    if i < angle.size:
        a, v, t, h = angle[i], 0.0, 0.0, 0.2
        while t < 1.0:
            if h > 1.0 - t:
                h = 1.0 - t
            acceleration = -math.sin(a) - damping[i] * v
            a_euler = a + h * v
            v_euler = v + h * acceleration
            v_heun = v + 0.5 * h * (acceleration - math.sin(a_euler) - damping[i] * v_euler)
            error = abs(v_heun - v_euler)
            if error < 1e-3:
                t = t + h
                a = a + 0.5 * h * (v + v_euler)
                v = v_heun
                if error < 1e-4:
                    h = 1.5 * h
            else:
                h = 0.5 * h
        final[i] = a


def gradient(angle, damping):
    """Return the derivatives of the sum of the final angles."""
    angle_bar, damping_bar, final = np.zeros_like(angle), np.zeros_like(damping), np.zeros_like(angle)
    pendulum.adjoint[2, 4](angle, angle_bar, damping, damping_bar, final, np.ones_like(angle))
    return angle_bar, damping_bar


def swing(angle, damping):
    """Return the sum of the final angles."""
    final = np.zeros_like(angle)
    pendulum[2, 4](angle, damping, final)
    return float(np.sum(final))


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    angle, damping = rng.uniform(0.3, 2.0, 6), rng.uniform(0.1, 0.5, 6)
    angle_bar, damping_bar = gradient(angle, damping)
    print(pendulum.source("adjoint", "float64[::1], float64[::1], float64[::1]"))
    h, da, dd = 1e-7, rng.normal(size=6), rng.normal(size=6)
    want = (swing(angle + h * da, damping + h * dd) - swing(angle - h * da, damping - h * dd)) / (2 * h)
    got = float(angle_bar @ da + damping_bar @ dd)
    print(f"along a direction: adjoint {got:.7f}, differences {want:.7f}")
    assert np.isclose(got, want, rtol=1e-5)
