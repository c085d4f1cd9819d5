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
def slope_pullback(x, k_bar, out):
    """Write the transposed slope of `advection` at `x`, times `k_bar`: a gather."""
    n = x.size
    for i in (0, 1, n - 2, n - 1):
        a, z, b, c = (i - 1) % n, (i - 2) % n, (i + 1) % n, (i + 2) % n
        out[i] = x[z] * k_bar[a] + (x[c] - x[a]) * k_bar[b] - x[b] * k_bar[c] - k_bar[i]
    for i in range(2, n - 2):
        out[i] = x[i - 2] * k_bar[i - 1] + (x[i + 2] - x[i - 1]) * k_bar[i + 1] - x[i + 1] * k_bar[i + 2] - k_bar[i]


@compiled
def runge_kutta_hand(x0, forcing, steps):
    n = x0.size
    h = 0.01
    x_tape = np.empty((steps + 1, n))
    x_tape[0] = x0
    k1, k2, k3, k4 = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    x2, x3, x4 = np.empty(n), np.empty(n), np.empty(n)
    for t in range(steps):
        x, after = x_tape[t], x_tape[t + 1]
        slope_of(x, forcing, k1)
        move(x, 0.5 * h, k1, x2)
        slope_of(x2, forcing, k2)
        move(x, 0.5 * h, k2, x3)
        slope_of(x3, forcing, k3)
        move(x, h, k3, x4)
        slope_of(x4, forcing, k4)
        for i in range(n):
            after[i] = x[i] + h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i])
    x_bar = 2.0 * x_tape[steps]
    forcing_bar = np.zeros(n)
    k_bar, pulled, total = np.empty(n), np.empty(n), np.empty(n)
    for t in range(steps - 1, -1, -1):
        x = x_tape[t]
        slope_of(x, forcing, k1)
        move(x, 0.5 * h, k1, x2)
        slope_of(x2, forcing, k2)
        move(x, 0.5 * h, k2, x3)
        slope_of(x3, forcing, k3)
        move(x, h, k3, x4)
        for i in range(n):
            k_bar[i] = h / 6.0 * x_bar[i]
            forcing_bar[i] += k_bar[i]
        slope_pullback(x4, k_bar, pulled)
        for i in range(n):
            k_bar[i] = h / 3.0 * x_bar[i] + h * pulled[i]
            total[i] = x_bar[i] + pulled[i]
            forcing_bar[i] += k_bar[i]
        slope_pullback(x3, k_bar, pulled)
        for i in range(n):
            k_bar[i] = h / 3.0 * x_bar[i] + 0.5 * h * pulled[i]
            total[i] += pulled[i]
            forcing_bar[i] += k_bar[i]
        slope_pullback(x2, k_bar, pulled)
        for i in range(n):
            k_bar[i] = h / 6.0 * x_bar[i] + 0.5 * h * pulled[i]
            total[i] += pulled[i]
            forcing_bar[i] += k_bar[i]
        slope_pullback(x, k_bar, pulled)
        for i in range(n):
            x_bar[i] = total[i] + pulled[i]
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
