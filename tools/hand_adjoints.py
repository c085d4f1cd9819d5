"""Adjoints written by hand, as an expert would, to measure the generated ones against.

Each takes the arguments of its primal and returns `(value, gradient)`; `python
tools/hand_adjoints.py` checks them against finite differences.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numba import njit

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import heat_conductivity as heat_example
import lynx_hare as lynx_example
import quickstart

N, DT, SIDE = heat_example.N, heat_example.DT, heat_example.SIDE
STEPS, EVERY, SMOOTHNESS = heat_example.STEPS, heat_example.EVERY, heat_example.SMOOTHNESS
LOG_PELTS, STEPS_PER_YEAR = lynx_example.LOG_PELTS, lynx_example.STEPS_PER_YEAR

limit_slope = njit(error_model="numpy")(quickstart.limit_slope)


@njit(error_model="numpy")
def limit_slope_hand(u0, k):
    """Value and gradient of `limit_slope`: one array saved, the branch and the jump recomputed."""
    u = u0.copy()
    tape = np.empty_like(u)
    for i in range(1, u.size):
        tape[i] = u[i]
        jump = u[i] - u[i - 1]
        if jump > k:
            u[i] = u[i - 1] + k * np.tanh(jump / k)
        else:
            u[i] -= 0.1 * jump**2
    value = np.sum(u**2)

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
    return value, (u_bar, k_bar)


def compiled_lynx():
    """Return the compiled primal of the lynx and hare fit."""
    scope = dict(vars(lynx_example))
    return _compiled(lynx_example.misfit, scope, ("rate", "move"))


def compiled_heat():
    """Return the compiled primal of the heat problem."""
    return _compiled(heat_example.misfit, dict(vars(heat_example)), ("advance",))


def _compiled(function, scope, helpers):
    for name in helpers:
        scope[name] = njit(error_model="numpy")(scope[name])
    return njit(error_model="numpy")(type(function)(function.__code__, scope))


@njit(error_model="numpy")
def lynx_hand(params):
    """Value and gradient of the fit: two numbers saved a step, the slopes recomputed."""
    a, b, c, d = np.exp(params[0]), np.exp(params[1]), np.exp(params[2]), np.exp(params[3])
    x, y = np.exp(params[4]), np.exp(params[5])
    years = LOG_PELTS.shape[0]
    h = 1.0 / STEPS_PER_YEAR
    tape = np.empty(((years - 1) * STEPS_PER_YEAR, 2))
    ends = np.empty((years, 2))
    total = 0.0
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
        total += (np.log(x) - LOG_PELTS[year, 0]) ** 2 + (np.log(y) - LOG_PELTS[year, 1]) ** 2

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
    return total, gradient


@njit(error_model="numpy")
def heat_hand(log_k, heat, readings):
    """Value and gradient of the heat problem: the temperatures saved, face conductivities kept."""
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
    total = 0.0
    for step in range(STEPS):
        u, after = tape[step], tape[step + 1]
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                flow = down[i, j] * (u[i + 1, j] - u[i, j])
                flow -= down[i - 1, j] * (u[i, j] - u[i - 1, j])
                flow += right[i, j] * (u[i, j + 1] - u[i, j])
                flow -= right[i, j - 1] * (u[i, j] - u[i, j - 1])
                after[i, j] = u[i, j] + scale * flow + DT * heat[i, j]
        if (step + 1) % EVERY == 0:
            seen = readings[step // EVERY]
            for i in range(N):
                for j in range(N):
                    if seen[i, j] == seen[i, j]:
                        total += (after[i, j] - seen[i, j]) ** 2

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
    rough = 0.0
    for i in range(N * (N - 1)):
        jump = log_k[i + N] - log_k[i]
        rough += jump**2
        gradient[i + N] += 2.0 * SMOOTHNESS * jump
        gradient[i] -= 2.0 * SMOOTHNESS * jump
    for i in range(N * N - 1):
        if (i + 1) % N != 0:
            jump = log_k[i + 1] - log_k[i]
            rough += jump**2
            gradient[i + 1] += 2.0 * SMOOTHNESS * jump
            gradient[i] -= 2.0 * SMOOTHNESS * jump
    return total / (STEPS // EVERY) + SMOOTHNESS * rough, gradient


def verify(name, primal, value_and_grad, args, leaves):
    """Compare a gradient with central differences in three directions, or leave with an error."""
    rng = np.random.default_rng(1)
    value, gradient = value_and_grad(*args)
    flat = gradient if isinstance(gradient, tuple) else (gradient,)
    if not np.isclose(value, primal(*args), rtol=1e-12):
        raise SystemExit(f"{name}: value {value} against {primal(*args)}")
    for _ in range(3):
        direction = [rng.normal(size=np.shape(args[i])) for i in range(leaves)]

        def along(h, direction=direction):
            return primal(
                *(a + h * d for a, d in zip(args, direction, strict=False)), *args[leaves:]
            )

        expected = (along(1e-6) - along(-1e-6)) / 2e-6
        found = sum(float(np.sum(g * d)) for g, d in zip(flat, direction, strict=True))
        if not np.isclose(found, expected, rtol=1e-5, atol=1e-8):
            raise SystemExit(f"{name}: adjoint {found}, finite difference {expected}")


def problems():
    """Return name, primal source, compiled primal, hand adjoint, arguments, how many are active."""
    rng = np.random.default_rng(0)
    truth, heat = heat_example.plate()
    readings = heat_example.measure(truth, heat)
    log_k = 0.1 * rng.normal(size=N * N)
    return (
        (
            "limit_slope, n = 20000",
            quickstart.limit_slope,
            limit_slope,
            limit_slope_hand,
            (rng.normal(size=20_000), 0.3),
            2,
        ),
        (
            "lynx and hare, RK4",
            lynx_example.misfit,
            compiled_lynx(),
            lynx_hand,
            (lynx_example.START,),
            1,
        ),
        (
            f"heat, {N} x {N}, {STEPS} steps",
            heat_example.misfit,
            compiled_heat(),
            heat_hand,
            (log_k, heat, readings),
            1,
        ),
    )


if __name__ == "__main__":
    for name, _, primal, hand, args, leaves in problems():
        verify(name, primal, hand, args, leaves)
        print(f"{name}: the hand-written adjoint agrees with finite differences")
