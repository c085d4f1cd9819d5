"""Chaos, differentiated: a double pendulum through a `while` loop with adaptive steps.

How much a small push at the start moves the end is a derivative of the whole simulation. It grows
exponentially in time, at the rate called the Lyapunov exponent, until no prediction is possible.
The step sizes depend on the state; they are part of the program, and are differentiated with it.

Equations of motion for equal masses and lengths: L. D. Landau and E. M. Lifshitz, "Mechanics",
section 5. Integrator: the embedded pair of P. Bogacki and L. F. Shampine (1989).

    python examples/double_pendulum.py [figure.svg]
"""

import math
import sys

import numpy as np

import s2sad

GRAVITY = 9.81  # m/s²
LENGTH = 1.0  # m


def slope(state, out):
    """Write the time derivative of `state`, (angle, angle, speed, speed) in rad and rad/s, into `out`."""
    a, b, u, v = state[0], state[1], state[2], state[3]
    cosine, sine = math.cos(a - b), math.sin(a - b)
    bottom = LENGTH * (2.0 - cosine * cosine)
    pull = GRAVITY / LENGTH
    out[0] = u
    out[1] = v
    first = -sine * (cosine * u * u + v * v) + pull * (cosine * math.sin(b) - 2.0 * math.sin(a))
    second = sine * (2.0 * u * u + cosine * v * v) + 2.0 * pull * (cosine * math.sin(a) - math.sin(b))
    out[2] = first * LENGTH / bottom
    out[3] = second * LENGTH / bottom


def final_angle(start, duration, tolerance=1e-6):
    """Return the second angle, in rad, `duration` seconds after the state `start`, of shape (4,)."""
    state, trial = start.copy(), np.empty(4)
    k1, k2, k3, k4 = np.empty(4), np.empty(4), np.empty(4), np.empty(4)
    time, step = 0.0, 0.01
    while time < duration:
        step = min(step, duration - time)
        slope(state, k1)
        for i in range(4):
            trial[i] = state[i] + 0.5 * step * k1[i]
        slope(trial, k2)
        for i in range(4):
            trial[i] = state[i] + 0.75 * step * k2[i]
        slope(trial, k3)
        for i in range(4):
            trial[i] = state[i] + step * (2.0 * k1[i] + 3.0 * k2[i] + 4.0 * k3[i]) / 9.0
        slope(trial, k4)
        error = 0.0
        for i in range(4):
            other = step * (-5.0 * k1[i] + 6.0 * k2[i] + 8.0 * k3[i] - 9.0 * k4[i]) / 72.0
            error += other * other
        error = math.sqrt(error) / tolerance
        if error <= 1.0:
            time += step
            for i in range(4):
                state[i] = trial[i]
        step *= min(2.0, max(0.2, 0.9 * (error + 1e-12) ** (-1.0 / 3.0)))
    return state[1]


def main():
    start = np.array([2.0, 2.5, 0.0, 0.0])
    gradient = s2sad.value_and_grad(final_angle)
    times = np.arange(1.0, 13.0)
    sizes = np.empty(times.size)
    for row, time in enumerate(times):
        angle, push = gradient(start, time)
        sizes[row] = np.linalg.norm(push)
        print(f"after {time:4.0f} s  angle {angle:8.3f} rad  moved by a push: {sizes[row]:12.3g} times as far")
    rate = np.polyfit(times, np.log(sizes), 1)[0]
    print(f"growth per second: a factor of {np.exp(rate):.1f}; Lyapunov exponent {rate:.2f} per second")
    if len(sys.argv) > 1:
        draw(sys.argv[1], times, sizes)


def draw(path, times, sizes):
    import matplotlib.pyplot as plt

    plt.semilogy(times, sizes, "o-")
    plt.xlabel("time (s)")
    plt.ylabel("change of the angle by the start")
    plt.savefig(path)


if __name__ == "__main__":
    main()
