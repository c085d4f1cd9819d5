"""The derivatives of the examples as a person writes them for Numba, to be compared with.

A person knows more than a compiler may assume: cotangents of what was overwritten are left as they are,
one launch is as long as the arrays, and soft-DTW begins from costs that are filled already.
"""

from __future__ import annotations

import math

import numpy as np
from numba import cuda

HALF, TWO, FOUR, SOFT = np.float32(0.5), np.float32(2), np.float32(4), np.float32(0.01)
ROOT_HALF, DENSITY = np.float32(math.sqrt(0.5)), np.float32(1 / math.sqrt(2 * math.pi))


def diffusion(u, u_bar, k, k_bar, out_bar):
    """Gather what each cell gave its neighbours."""
    i, j = cuda.grid(2)
    n, m = u.shape
    if i < n and j < m:
        if 0 < i and i < n - 1 and 0 < j and j < m - 1:
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - FOUR * u[i, j]
            k_bar[i, j] += around * out_bar[i, j]
            g = out_bar[i, j] - FOUR * k[i, j] * out_bar[i, j]
        else:
            g = out_bar[i, j]
        if 0 < j and j < m - 1:
            if 1 < i:
                g += k[i - 1, j] * out_bar[i - 1, j]
            if i < n - 2:
                g += k[i + 1, j] * out_bar[i + 1, j]
        if 0 < i and i < n - 1:
            if 1 < j:
                g += k[i, j - 1] * out_bar[i, j - 1]
            if j < m - 2:
                g += k[i, j + 1] * out_bar[i, j + 1]
        u_bar[i, j] += g


def bodies(x, x_bar, y, y_bar, mass, energy_bar):
    """Add the pulls of all other bodies."""
    i = cuda.grid(1)
    if i < x.size:
        gx = x[i] - x[i]
        gy = gx
        for j in range(x.size):
            if j != i:
                dx = x[i] - x[j]
                dy = y[i] - y[j]
                square = dx * dx + dy * dy + SOFT
                pull = mass[i] * mass[j] * (energy_bar[i] + energy_bar[j]) / (TWO * square * math.sqrt(square))
                gx += pull * dx
                gy += pull * dy
        x_bar[i] += gx
        y_bar[i] += gy


def pendulum(angle, angle_bar, damping, damping_bar, final_bar, tape):
    """Keep the state and the size of each step that was accepted; `tape[step, 3, thread]` is long enough."""
    i = cuda.grid(1)
    if i < angle.size:
        a, v, t, h, d, steps = angle[i], 0.0, 0.0, 0.2, damping[i], 0
        while t < 1.0:
            if h > 1.0 - t:
                h = 1.0 - t
            slope = -math.sin(a) - d * v
            v_euler = v + h * slope
            v_heun = v + 0.5 * h * (slope - math.sin(a + h * v) - d * v_euler)
            error = abs(v_heun - v_euler)
            if error < 1e-3:
                tape[steps, 0, i], tape[steps, 1, i], tape[steps, 2, i] = a, v, h
                steps += 1
                t = t + h
                a = a + 0.5 * h * (v + v_euler)
                v = v_heun
                if error < 1e-4:
                    h = 1.5 * h
            else:
                h = 0.5 * h
        a_bar, v_bar, d_bar = final_bar[i], 0.0, 0.0
        for n in range(steps - 1, -1, -1):
            a, v, h = tape[n, 0, i], tape[n, 1, i], tape[n, 2, i]
            v_euler = v + h * (-math.sin(a) - d * v)
            euler_bar = 0.5 * h * (a_bar - d * v_bar)
            slope_bar = 0.5 * h * v_bar + h * euler_bar
            ahead_bar = -0.5 * h * math.cos(a + h * v) * v_bar
            d_bar -= 0.5 * h * v_euler * v_bar + slope_bar * v
            v_bar += 0.5 * h * a_bar + euler_bar + h * ahead_bar - d * slope_bar
            a_bar += ahead_bar - math.cos(a) * slope_bar
        angle_bar[i] += a_bar
        damping_bar[i] += d_bar


def soft_dtw(distance, gamma, cost, distance_bar):
    """Share out the last cell's cotangent over the paths to it; by Cuturi and Blondel, ICML 2017, algorithm 2."""
    b = cuda.blockIdx.x
    row = cuda.threadIdx.x
    n, m = distance.shape[1], distance.shape[2]
    for diagonal in range(n + m - 2, -1, -1):
        column = diagonal - row
        if row < n and 0 <= column and column < m:
            here = cost[b, row + 1, column + 1]
            e = here - here
            if row == n - 1 and column == m - 1:
                e += 1
            if row < n - 1:
                after = cost[b, row + 2, column + 1] - distance[b, row + 1, column]
                e += distance_bar[b, row + 1, column] * math.exp((after - here) / gamma)
            if column < m - 1:
                after = cost[b, row + 1, column + 2] - distance[b, row, column + 1]
                e += distance_bar[b, row, column + 1] * math.exp((after - here) / gamma)
            if row < n - 1 and column < m - 1:
                after = cost[b, row + 2, column + 2] - distance[b, row + 1, column + 1]
                e += distance_bar[b, row + 1, column + 1] * math.exp((after - here) / gamma)
            distance_bar[b, row, column] = e
        cuda.syncthreads()


def black_scholes(spot, strike, rate, volatility, years, value, delta, by_strike, rho, vega, by_years):
    """Write down the closed forms."""
    for i in range(cuda.grid(1), spot.size, cuda.gridsize(1)):
        s, x, r, sigma, t = spot[i], strike[i], rate[i], volatility[i], years[i]
        root = math.sqrt(t)
        d1 = (math.log(s / x) + (r + HALF * sigma * sigma) * t) / (sigma * root)
        d2 = d1 - sigma * root
        first = HALF * math.erfc(-d1 * ROOT_HALF)
        second = HALF * math.erfc(-d2 * ROOT_HALF)
        density = DENSITY * math.exp(-HALF * d1 * d1)
        discounted = x * math.exp(-r * t)
        value[i] = s * first - discounted * second
        delta[i] = first
        by_strike[i] = -math.exp(-r * t) * second
        rho[i] = t * discounted * second
        vega[i] = s * density * root
        by_years[i] = HALF * s * density * sigma / root + r * discounted * second
