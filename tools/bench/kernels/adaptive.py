"""An initial-value problem with adaptive steps: Runge-Kutta-Fehlberg 4(5) in a `while` loop.

The step sizes depend on the state, and their part of the derivative counts.
"""

from __future__ import annotations

import math

import numpy as np

from tools.bench.kernel import Kernel, compiled

STAGES = np.array([
    [0.0, 0.0, 0.0, 0.0, 0.0],
    [1 / 4, 0.0, 0.0, 0.0, 0.0],
    [3 / 32, 9 / 32, 0.0, 0.0, 0.0],
    [1932 / 2197, -7200 / 2197, 7296 / 2197, 0.0, 0.0],
    [439 / 216, -8.0, 3680 / 513, -845 / 4104, 0.0],
    [-8 / 27, 2.0, -3544 / 2565, 1859 / 4104, -11 / 40],
])
FIFTH = np.array([16 / 135, 0.0, 6656 / 12825, 28561 / 56430, -9 / 50, 2 / 55])
ERROR = FIFTH - np.array([25 / 216, 0.0, 1408 / 2565, 2197 / 4104, -1 / 5, 0.0])


@compiled
def van_der_pol(x, stiffness, slope):
    slope[0] = x[1]
    slope[1] = stiffness * (1.0 - x[0] * x[0]) * x[1] - x[0]


@compiled
def fehlberg(x0, stiffness, end):
    n = x0.size
    x = x0.copy()
    k, middle = np.empty((6, n)), np.empty(n)
    t, h = 0.0, 0.01
    while t < end:
        if h > end - t:
            h = end - t
        for s in range(6):
            for i in range(n):
                middle[i] = x[i]
                for r in range(s):
                    middle[i] += h * STAGES[s, r] * k[r, i]
            van_der_pol(middle, stiffness, k[s])
        square = 0.0
        for i in range(n):
            error = 0.0
            for s in range(6):
                error += h * ERROR[s] * k[s, i]
            square += error * error
        size = math.sqrt(square / n)
        if size <= 1e-8:
            t += h
            for i in range(n):
                for s in range(6):
                    x[i] += h * FIFTH[s] * k[s, i]
        h *= min(5.0, max(0.2, 0.9 * (1e-8 / (size + 1e-30)) ** 0.2))
    return np.sum(x * x)


@compiled
def stages(x, h, stiffness, k, middle):
    for s in range(6):
        for i in range(x.size):
            total = x[i]
            for r in range(s):
                total += h * STAGES[s, r] * k[r, i]
            middle[s, i] = total
        van_der_pol(middle[s], stiffness, k[s])
    square = 0.0
    for i in range(x.size):
        error = 0.0
        for s in range(6):
            error += h * ERROR[s] * k[s, i]
        square += error * error
    return math.sqrt(square / x.size)


@compiled
def fehlberg_hand(x0, stiffness, end):
    n = x0.size
    x = x0.copy()
    k, middle = np.empty((6, n)), np.empty((6, n))
    tape, room, attempts = np.empty((64, n + 2)), 64, 0
    t, h = 0.0, 0.01
    while t < end:
        if attempts == room:
            longer = np.empty((2 * room, n + 2))
            longer[:room] = tape
            tape, room = longer, 2 * room
        for i in range(n):
            tape[attempts, i] = x[i]
        tape[attempts, n], tape[attempts, n + 1] = t, h
        attempts += 1
        h = min(h, end - t)
        size = stages(x, h, stiffness, k, middle)
        if size <= 1e-8:
            t += h
            for i in range(n):
                for s in range(6):
                    x[i] += h * FIFTH[s] * k[s, i]
        h *= min(5.0, max(0.2, 0.9 * (1e-8 / (size + 1e-30)) ** 0.2))

    x_bar, k_bar = 2.0 * x, np.empty((6, n))
    stiffness_bar = t_bar = h_bar = end_bar = 0.0
    for at in range(attempts - 1, -1, -1):
        for i in range(n):
            x[i] = tape[at, i]
        t, h_in = tape[at, n], tape[at, n + 1]
        h = min(h_in, end - t)
        size = stages(x, h, stiffness, k, middle)
        factor = 0.9 * (1e-8 / (size + 1e-30)) ** 0.2
        size_bar = 0.0
        if 0.2 < factor < 5.0:
            size_bar = -0.2 * h_bar * h * factor / (size + 1e-30)
        h_bar *= min(5.0, max(0.2, factor))
        accepted = size <= 1e-8
        if accepted:
            h_bar += t_bar
        for i in range(n):
            error = step = 0.0
            for s in range(6):
                error += ERROR[s] * k[s, i]
                step += FIFTH[s] * k[s, i]
            error_bar = size_bar * h * error / (n * size) if size > 0.0 else 0.0
            moved_bar = x_bar[i] if accepted else 0.0
            h_bar += error_bar * error + moved_bar * step
            for s in range(6):
                k_bar[s, i] = h * (ERROR[s] * error_bar + FIFTH[s] * moved_bar)
        for s in range(5, -1, -1):
            p, q = middle[s, 0], middle[s, 1]
            stiffness_bar += k_bar[s, 1] * (1.0 - p * p) * q
            bars = (-k_bar[s, 1] * (2.0 * stiffness * p * q + 1.0),
                    k_bar[s, 0] + k_bar[s, 1] * stiffness * (1.0 - p * p))
            for i in range(n):
                x_bar[i] += bars[i]
                for r in range(s):
                    h_bar += STAGES[s, r] * k[r, i] * bars[i]
                    k_bar[r, i] += h * STAGES[s, r] * bars[i]
        if h_in > end - t:
            t_bar -= h_bar
            end_bar += h_bar
            h_bar = 0.0
    return x_bar, stiffness_bar, end_bar


def oscillator(end):
    return np.array([2.0, 0.3]), 3.0, float(end)


KERNELS = (
    Kernel("RK45, adaptive", fehlberg, fehlberg_hand, oscillator, {"tiny": (1,), "full": (20,)},
           wrt=(0, 1, 2), peers="fehlberg"),
)
