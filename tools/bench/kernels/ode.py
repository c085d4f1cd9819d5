"""Initial-value problems: Runge-Kutta with helpers that write, adaptive steps, bodies in orbit."""

from __future__ import annotations

import math

import numpy as np

from tools.bench.kernel import Kernel, compiled


@compiled
def advection(x, forcing, slope):
    n = x.size
    for i in range(n):
        slope[i] = (x[(i + 1) % n] - x[i - 2]) * x[i - 1] - x[i] + forcing[i]


@compiled
def move(x, h, slope, out):
    for i in range(x.size):
        out[i] = x[i] + h * slope[i]


@compiled
def runge_kutta(x0, forcing, steps):
    x = x0.copy()
    n = x.size
    k1, k2, k3, k4, mid = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    h = 0.01
    for _ in range(steps):
        advection(x, forcing, k1)
        move(x, 0.5 * h, k1, mid)
        advection(mid, forcing, k2)
        move(x, 0.5 * h, k2, mid)
        advection(mid, forcing, k3)
        move(x, h, k3, mid)
        advection(mid, forcing, k4)
        for i in range(n):
            x[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i])
    return np.sum(x * x)


@compiled
def slope_of(x, forcing, slope):
    n = x.size
    slope[0] = (x[1] - x[n - 2]) * x[n - 1] - x[0] + forcing[0]
    slope[1] = (x[2] - x[n - 1]) * x[0] - x[1] + forcing[1]
    for i in range(2, n - 1):
        slope[i] = (x[i + 1] - x[i - 2]) * x[i - 1] - x[i] + forcing[i]
    slope[n - 1] = (x[0] - x[n - 3]) * x[n - 2] - x[n - 1] + forcing[n - 1]


@compiled
def pulled_at(x, k_bar, z, a, i, b, c):
    """Return entry `i` of a transposed slope; z, a, b, c are i - 2, i - 1, i + 1, i + 2 in the ring."""
    return x[z] * k_bar[a] + (x[c] - x[a]) * k_bar[b] - x[b] * k_bar[c] - k_bar[i]


@compiled
def slope_pullback(x, k_bar, out):
    """Write the transposed slope of `advection` at `x`, times `k_bar`: a gather."""
    n = x.size
    out[0] = pulled_at(x, k_bar, n - 2, n - 1, 0, 1, 2)
    out[1] = pulled_at(x, k_bar, n - 1, 0, 1, 2, 3)
    for i in range(2, n - 2):
        out[i] = pulled_at(x, k_bar, i - 2, i - 1, i, i + 1, i + 2)
    out[n - 2] = pulled_at(x, k_bar, n - 4, n - 3, n - 2, n - 1, 0)
    out[n - 1] = pulled_at(x, k_bar, n - 3, n - 2, n - 1, 0, 1)


H = 0.01


@compiled
def stages_of(x, forcing, k, x2, x3, x4):
    """Write the three states between a step's start and its end."""
    slope_of(x, forcing, k)
    move(x, 0.5 * H, k, x2)
    slope_of(x2, forcing, k)
    move(x, 0.5 * H, k, x3)
    slope_of(x3, forcing, k)
    move(x, H, k, x4)


@compiled
def step_of(x, forcing, k, total, middle, after):
    """Write the state after one step."""
    n = x.size
    slope_of(x, forcing, k)
    for i in range(n):
        total[i] = k[i]
        middle[i] = x[i] + 0.5 * H * k[i]
    slope_of(middle, forcing, k)
    for i in range(n):
        total[i] += 2.0 * k[i]
        middle[i] = x[i] + 0.5 * H * k[i]
    slope_of(middle, forcing, k)
    for i in range(n):
        total[i] += 2.0 * k[i]
        middle[i] = x[i] + H * k[i]
    slope_of(middle, forcing, k)
    for i in range(n):
        after[i] = x[i] + H / 6.0 * (total[i] + k[i])


@compiled
def pull_back(x, x2, x3, x4, x_bar, forcing_bar, k_bar, pulled, total):
    """Take the cotangent of a step's result to that of its start; the last three are room to work in."""
    n = x.size
    for i in range(n):
        k_bar[i] = H / 6.0 * x_bar[i]
        forcing_bar[i] += k_bar[i]
    slope_pullback(x4, k_bar, pulled)
    for i in range(n):
        k_bar[i] = H / 3.0 * x_bar[i] + H * pulled[i]
        total[i] = x_bar[i] + pulled[i]
        forcing_bar[i] += k_bar[i]
    slope_pullback(x3, k_bar, pulled)
    for i in range(n):
        k_bar[i] = H / 3.0 * x_bar[i] + 0.5 * H * pulled[i]
        total[i] += pulled[i]
        forcing_bar[i] += k_bar[i]
    slope_pullback(x2, k_bar, pulled)
    for i in range(n):
        k_bar[i] = H / 6.0 * x_bar[i] + 0.5 * H * pulled[i]
        total[i] += pulled[i]
        forcing_bar[i] += k_bar[i]
    slope_pullback(x, k_bar, pulled)
    for i in range(n):
        x_bar[i] = total[i] + pulled[i]


@compiled
def runge_kutta_hand(x0, forcing, steps):
    n = x0.size
    tape = np.empty((steps + 1, n))
    tape[0] = x0
    k, x2, x3, x4 = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    pulled, total = np.empty(n), np.empty(n)
    for t in range(steps):
        step_of(tape[t], forcing, k, total, x2, tape[t + 1])
    x_bar, forcing_bar = 2.0 * tape[steps], np.zeros(n)
    for t in range(steps - 1, -1, -1):
        stages_of(tape[t], forcing, k, x2, x3, x4)
        pull_back(tape[t], x2, x3, x4, x_bar, forcing_bar, k, pulled, total)
    return x_bar, forcing_bar


def runge_kutta_arguments(n, steps):
    rng = np.random.default_rng(0)
    return rng.normal(size=n), 8.0 + rng.normal(size=n), steps


@compiled
def accelerate(position, mass, force):
    n = mass.size
    for i in range(n):
        for a in range(3):
            force[i, a] = 0.0
    for i in range(n):
        for j in range(n):
            if i != j:
                dx = position[j, 0] - position[i, 0]
                dy = position[j, 1] - position[i, 1]
                dz = position[j, 2] - position[i, 2]
                square = dx * dx + dy * dy + dz * dz + 0.01
                strength = mass[j] / (square * math.sqrt(square))
                force[i, 0] += strength * dx
                force[i, 1] += strength * dy
                force[i, 2] += strength * dz


@compiled
def bodies(position0, velocity0, mass, steps):
    position, velocity = position0.copy(), velocity0.copy()
    force = np.empty(position.shape)
    h = 0.001
    for _ in range(steps):
        accelerate(position, mass, force)
        for i in range(mass.size):
            for a in range(3):
                velocity[i, a] += h * force[i, a]
                position[i, a] += h * velocity[i, a]
    energy = 0.0
    for i in range(mass.size):
        for a in range(3):
            energy += 0.5 * mass[i] * velocity[i, a] ** 2
    return energy


@compiled
def bodies_hand(position0, velocity0, mass, steps):
    n = mass.size
    h = 0.001
    tape = np.empty((steps, n, 3))
    position, velocity = position0.copy(), velocity0.copy()
    force = np.empty((n, 3))
    for t in range(steps):
        tape[t] = position
        accelerate(position, mass, force)
        for i in range(n):
            for a in range(3):
                velocity[i, a] += h * force[i, a]
                position[i, a] += h * velocity[i, a]
    position_bar, velocity_bar = np.zeros((n, 3)), np.empty((n, 3))
    for i in range(n):
        for a in range(3):
            velocity_bar[i, a] = mass[i] * velocity[i, a]
    for t in range(steps - 1, -1, -1):
        x = tape[t]
        for i in range(n):
            for a in range(3):
                velocity_bar[i, a] += h * position_bar[i, a]
        for i in range(n):
            fx, fy, fz = h * velocity_bar[i, 0], h * velocity_bar[i, 1], h * velocity_bar[i, 2]
            sx = sy = sz = 0.0
            for j in range(n):
                # Both directions of the pair at once: each body gathers what it feels and exerts.
                dx, dy, dz = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                inverse = 1.0 / (dx * dx + dy * dy + dz * dz + 0.01)
                cube = inverse * math.sqrt(inverse)
                gx = mass[j] * fx - mass[i] * h * velocity_bar[j, 0]
                gy = mass[j] * fy - mass[i] * h * velocity_bar[j, 1]
                gz = mass[j] * fz - mass[i] * h * velocity_bar[j, 2]
                along = 3.0 * inverse * cube * (gx * dx + gy * dy + gz * dz)
                sx -= cube * gx - along * dx
                sy -= cube * gy - along * dy
                sz -= cube * gz - along * dz
            position_bar[i, 0] += sx
            position_bar[i, 1] += sy
            position_bar[i, 2] += sz
    return position_bar, velocity_bar


def bodies_arguments(n, steps):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), rng.uniform(0.1, 1.0, size=n) / n, steps


KERNELS = (
    Kernel("RK4, helpers that write", runge_kutta, runge_kutta_hand, runge_kutta_arguments,
           {"tiny": (7, 3), "full": (1000, 100)}, wrt=(0, 1), peers="runge_kutta"),
    Kernel("n-body", bodies, bodies_hand, bodies_arguments,
           {"tiny": (4, 3), "full": (100, 1000)}, wrt=(0, 1), peers="bodies"),
)
