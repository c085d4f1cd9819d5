"""The programs in `examples/`, with adjoints by hand."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from tools.bench.kernel import Kernel, compiled

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))

import heat_conductivity as heat_example
import lynx_hare as lynx_example
import quickstart

N, DT, SIDE = heat_example.N, heat_example.DT, heat_example.SIDE
STEPS, EVERY, SMOOTHNESS = heat_example.STEPS, heat_example.EVERY, heat_example.SMOOTHNESS
LOG_PELTS, STEPS_PER_YEAR = lynx_example.LOG_PELTS, lynx_example.STEPS_PER_YEAR

limit_slope = compiled(quickstart.limit_slope)


@compiled
def limit_slope_hand(u0, k):
    """Gradient of `limit_slope`: one array saved, the branch and the jump recomputed."""
    u = u0.copy()
    tape = np.empty_like(u)
    for i in range(1, u.size):
        tape[i] = u[i]
        jump = u[i] - u[i - 1]
        if jump > k:
            u[i] = u[i - 1] + k * np.tanh(jump / k)
        else:
            u[i] -= 0.1 * jump**2

    k_bar = 0.0
    u_bar = 2.0 * u
    for i in range(u.size - 1, 0, -1):
        u[i] = tape[i]
        jump = u[i] - u[i - 1]
        if jump > k:
            t = np.tanh(jump / k)
            slope = 1.0 - t * t
            k_bar += u_bar[i] * (t - slope * jump / k)
            jump_bar = u_bar[i] * slope
            u_bar[i - 1] += u_bar[i] - jump_bar
            u_bar[i] = jump_bar
        else:
            jump_bar = -0.2 * jump * u_bar[i]
            u_bar[i] += jump_bar
            u_bar[i - 1] -= jump_bar
    return u_bar, k_bar


def compiled_lynx():
    """Return the compiled primal of the lynx and hare fit."""
    scope = dict(vars(lynx_example))
    return _compiled(lynx_example.misfit, scope, ("rate", "move"))


def compiled_heat():
    """Return the compiled primal of the heat problem."""
    return _compiled(heat_example.misfit, dict(vars(heat_example)), ("advance",))


def _compiled(function, scope, helpers):
    for name in helpers:
        scope[name] = compiled(scope[name])
    return compiled(type(function)(function.__code__, scope))


@compiled
def lynx_hand(params):
    """Gradient of the fit: two numbers saved a step, the slopes recomputed."""
    a, b, c, d = np.exp(params[0]), np.exp(params[1]), np.exp(params[2]), np.exp(params[3])
    x, y = np.exp(params[4]), np.exp(params[5])
    years = LOG_PELTS.shape[0]
    h = 1.0 / STEPS_PER_YEAR
    tape = np.empty(((years - 1) * STEPS_PER_YEAR, 2))
    ends = np.empty((years, 2))
    step = 0
    for year in range(years):
        if year > 0:
            for _ in range(STEPS_PER_YEAR):
                tape[step, 0], tape[step, 1] = x, y
                step += 1
                p1, q1 = a * x - b * x * y, d * x * y - c * y
                u, v = x + 0.5 * h * p1, y + 0.5 * h * q1
                p2, q2 = a * u - b * u * v, d * u * v - c * v
                u, v = x + 0.5 * h * p2, y + 0.5 * h * q2
                p3, q3 = a * u - b * u * v, d * u * v - c * v
                u, v = x + h * p3, y + h * q3
                p4, q4 = a * u - b * u * v, d * u * v - c * v
                x += h / 6.0 * (p1 + 2.0 * p2 + 2.0 * p3 + p4)
                y += h / 6.0 * (q1 + 2.0 * q2 + 2.0 * q3 + q4)
        ends[year, 0], ends[year, 1] = x, y

    a_bar = b_bar = c_bar = d_bar = x_bar = y_bar = 0.0
    for year in range(years - 1, -1, -1):
        x, y = ends[year, 0], ends[year, 1]
        x_bar += 2.0 * (np.log(x) - LOG_PELTS[year, 0]) / x
        y_bar += 2.0 * (np.log(y) - LOG_PELTS[year, 1]) / y
        if year == 0:
            break
        for _ in range(STEPS_PER_YEAR):
            step -= 1
            x, y = tape[step, 0], tape[step, 1]
            p, q = a * x - b * x * y, d * x * y - c * y
            u2, v2 = x + 0.5 * h * p, y + 0.5 * h * q
            p, q = a * u2 - b * u2 * v2, d * u2 * v2 - c * v2
            u3, v3 = x + 0.5 * h * p, y + 0.5 * h * q
            p, q = a * u3 - b * u3 * v3, d * u3 * v3 - c * v3
            u4, v4 = x + h * p, y + h * q
            x_sum, y_sum = x_bar, y_bar
            p, q = h / 6.0 * x_bar, h / 6.0 * y_bar
            p_bar, q_bar = p, q
            for stage in range(4, 0, -1):
                if stage == 4:
                    u, v, reach, weight = u4, v4, h, 2.0
                elif stage == 3:
                    u, v, reach, weight = u3, v3, 0.5 * h, 2.0
                elif stage == 2:
                    u, v, reach, weight = u2, v2, 0.5 * h, 1.0
                else:
                    u, v, reach, weight = x, y, 0.0, 0.0
                a_bar += p_bar * u
                b_bar -= p_bar * u * v
                c_bar -= q_bar * v
                d_bar += q_bar * u * v
                u_bar = p_bar * (a - b * v) + q_bar * d * v
                v_bar = q_bar * (d * u - c) - p_bar * b * u
                x_sum += u_bar
                y_sum += v_bar
                p_bar, q_bar = weight * p + reach * u_bar, weight * q + reach * v_bar
            x_bar, y_bar = x_sum, y_sum
    gradient = np.array([a * a_bar, b * b_bar, c * c_bar, d * d_bar, x * x_bar, y * y_bar])
    return gradient


@compiled
def heat_hand(log_k, heat, readings):
    """Gradient of the heat problem: the temperatures saved, face conductivities kept."""
    k = np.exp(log_k).reshape(N, N)
    down, right = np.empty((N - 1, N)), np.empty((N, N - 1))
    for i in range(N):
        for j in range(N):
            if i < N - 1:
                down[i, j] = 0.5 * (k[i, j] + k[i + 1, j])
            if j < N - 1:
                right[i, j] = 0.5 * (k[i, j] + k[i, j + 1])
    scale = DT * (N - 1) ** 2 / SIDE**2
    tape = np.zeros((STEPS + 1, N, N))
    for step in range(STEPS):
        u, after = tape[step], tape[step + 1]
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                flow = down[i, j] * (u[i + 1, j] - u[i, j])
                flow -= down[i - 1, j] * (u[i, j] - u[i - 1, j])
                flow += right[i, j] * (u[i, j + 1] - u[i, j])
                flow -= right[i, j - 1] * (u[i, j] - u[i, j - 1])
                after[i, j] = u[i, j] + scale * flow + DT * heat[i, j]

    bar, before = np.zeros((N, N)), np.zeros((N, N))
    down_bar, right_bar = np.zeros((N - 1, N)), np.zeros((N, N - 1))
    weight = 2.0 / (STEPS // EVERY)
    for step in range(STEPS - 1, -1, -1):
        u, after = tape[step], tape[step + 1]
        if (step + 1) % EVERY == 0:
            seen = readings[step // EVERY]
            for i in range(1, N - 1):
                for j in range(1, N - 1):
                    if seen[i, j] == seen[i, j]:
                        bar[i, j] += weight * (after[i, j] - seen[i, j])
        for i in range(N - 1):
            for j in range(N):
                down_bar[i, j] += (bar[i, j] - bar[i + 1, j]) * (u[i + 1, j] - u[i, j])
        for i in range(N):
            for j in range(N - 1):
                right_bar[i, j] += (bar[i, j] - bar[i, j + 1]) * (u[i, j + 1] - u[i, j])
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                flow = down[i, j] * (bar[i + 1, j] - bar[i, j])
                flow -= down[i - 1, j] * (bar[i, j] - bar[i - 1, j])
                flow += right[i, j] * (bar[i, j + 1] - bar[i, j])
                flow -= right[i, j - 1] * (bar[i, j] - bar[i, j - 1])
                before[i, j] = bar[i, j] + scale * flow
        bar, before = before, bar

    k_bar = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            if i < N - 1:
                k_bar[i, j] += 0.5 * scale * down_bar[i, j]
                k_bar[i + 1, j] += 0.5 * scale * down_bar[i, j]
            if j < N - 1:
                k_bar[i, j] += 0.5 * scale * right_bar[i, j]
                k_bar[i, j + 1] += 0.5 * scale * right_bar[i, j]
    gradient = np.exp(log_k) * k_bar.ravel()
    for i in range(N * (N - 1)):
        jump = log_k[i + N] - log_k[i]
        gradient[i + N] += 2.0 * SMOOTHNESS * jump
        gradient[i] -= 2.0 * SMOOTHNESS * jump
    for i in range(N * N - 1):
        if (i + 1) % N != 0:
            jump = log_k[i + 1] - log_k[i]
            gradient[i + 1] += 2.0 * SMOOTHNESS * jump
            gradient[i] -= 2.0 * SMOOTHNESS * jump
    return gradient


def slope_arguments(n):
    return np.random.default_rng(0).normal(size=n), 0.3


def heat_arguments():
    rng = np.random.default_rng(0)
    truth, heat = heat_example.plate()
    return 0.1 * rng.normal(size=N * N), heat, heat_example.measure(truth, heat)


KERNELS = (
    Kernel("example: limited slope", limit_slope, limit_slope_hand, slope_arguments,
           {"tiny": (9,), "full": (20_000,)}, wrt=(0, 1)),
    Kernel("example: lynx and hare", compiled_lynx(), lynx_hand, lambda: (lynx_example.START,),
           {"tiny": (), "full": ()}),
    Kernel("example: heat", compiled_heat(), heat_hand, heat_arguments, {"tiny": (), "full": ()}),
)
