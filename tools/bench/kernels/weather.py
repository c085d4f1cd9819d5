"""Two kernels of weather models: horizontal diffusion with a limiter, and implicit vertical advection.

Source of the programs: the COSMO dynamics, as in the NPBench collection.
"""

from __future__ import annotations

import numpy as np

from tools.bench.kernel import Kernel, compiled


@compiled
def diffuse(field, coefficient):
    rows, columns, levels = field.shape[0] - 4, field.shape[1] - 4, field.shape[2]
    lap = np.empty((rows + 2, columns + 2, levels))
    for i in range(rows + 2):
        for j in range(columns + 2):
            for k in range(levels):
                lap[i, j, k] = 4.0 * field[i + 1, j + 1, k] - (
                    field[i + 2, j + 1, k] + field[i, j + 1, k]
                    + field[i + 1, j + 2, k] + field[i + 1, j, k])
    flux_x = np.empty((rows + 1, columns, levels))
    for i in range(rows + 1):
        for j in range(columns):
            for k in range(levels):
                flux = lap[i + 1, j + 1, k] - lap[i, j + 1, k]
                if flux * (field[i + 2, j + 2, k] - field[i + 1, j + 2, k]) > 0.0:
                    flux = 0.0
                flux_x[i, j, k] = flux
    flux_y = np.empty((rows, columns + 1, levels))
    for i in range(rows):
        for j in range(columns + 1):
            for k in range(levels):
                flux = lap[i + 1, j + 1, k] - lap[i + 1, j, k]
                if flux * (field[i + 2, j + 2, k] - field[i + 2, j + 1, k]) > 0.0:
                    flux = 0.0
                flux_y[i, j, k] = flux
    total = 0.0
    for i in range(rows):
        for j in range(columns):
            for k in range(levels):
                out = field[i + 2, j + 2, k] - coefficient[i, j, k] * (
                    flux_x[i + 1, j, k] - flux_x[i, j, k] + flux_y[i, j + 1, k] - flux_y[i, j, k])
                total += out * out
    return total


def diffuse_slices(field, coefficient):
    lap = 4.0 * field[1:-1, 1:-1, :] - (
        field[2:, 1:-1, :] + field[:-2, 1:-1, :] + field[1:-1, 2:, :] + field[1:-1, :-2, :])
    flux_x = lap[1:, 1:-1, :] - lap[:-1, 1:-1, :]
    flux_x = np.where(flux_x * (field[2:-1, 2:-2, :] - field[1:-2, 2:-2, :]) > 0.0, 0.0, flux_x)
    flux_y = lap[1:-1, 1:, :] - lap[1:-1, :-1, :]
    flux_y = np.where(flux_y * (field[2:-2, 2:-1, :] - field[2:-2, 1:-2, :]) > 0.0, 0.0, flux_y)
    out = field[2:-2, 2:-2, :] - coefficient * (
        flux_x[1:, :, :] - flux_x[:-1, :, :] + flux_y[:, 1:, :] - flux_y[:, :-1, :])
    return np.sum(out * out)


@compiled
def diffuse_hand(field, coefficient):
    rows, columns, levels = field.shape[0] - 4, field.shape[1] - 4, field.shape[2]
    lap = np.empty((rows + 2, columns + 2, levels))
    for i in range(rows + 2):
        for j in range(columns + 2):
            for k in range(levels):
                lap[i, j, k] = 4.0 * field[i + 1, j + 1, k] - (
                    field[i + 2, j + 1, k] + field[i, j + 1, k]
                    + field[i + 1, j + 2, k] + field[i + 1, j, k])
    flux_x, flux_y = np.empty((rows + 1, columns, levels)), np.empty((rows, columns + 1, levels))
    for i in range(rows + 1):
        for j in range(columns):
            for k in range(levels):
                flux = lap[i + 1, j + 1, k] - lap[i, j + 1, k]
                flux_x[i, j, k] = 0.0 if flux * (field[i + 2, j + 2, k] - field[i + 1, j + 2, k]) > 0.0 else flux
    for i in range(rows):
        for j in range(columns + 1):
            for k in range(levels):
                flux = lap[i + 1, j + 1, k] - lap[i + 1, j, k]
                flux_y[i, j, k] = 0.0 if flux * (field[i + 2, j + 2, k] - field[i + 2, j + 1, k]) > 0.0 else flux
    field_bar, coefficient_bar = np.zeros(field.shape), np.empty(coefficient.shape)
    flow_bar = np.empty((rows, columns, levels))
    for i in range(rows):
        for j in range(columns):
            for k in range(levels):
                flow = flux_x[i + 1, j, k] - flux_x[i, j, k] + flux_y[i, j + 1, k] - flux_y[i, j, k]
                out_bar = 2.0 * (field[i + 2, j + 2, k] - coefficient[i, j, k] * flow)
                field_bar[i + 2, j + 2, k] = out_bar
                coefficient_bar[i, j, k] = -out_bar * flow
                flow_bar[i, j, k] = -out_bar * coefficient[i, j, k]
    # A flux that was limited is zero, and so is one whose adjoint does not matter.
    lap_bar = np.zeros(lap.shape)
    for i in range(rows + 1):
        for j in range(columns):
            for k in range(levels):
                above = flow_bar[i - 1, j, k] if i > 0 else 0.0
                below = flow_bar[i, j, k] if i < rows else 0.0
                bar = above - below if flux_x[i, j, k] != 0.0 else 0.0
                lap_bar[i + 1, j + 1, k] += bar
                lap_bar[i, j + 1, k] -= bar
    for i in range(rows):
        for j in range(columns + 1):
            for k in range(levels):
                above = flow_bar[i, j - 1, k] if j > 0 else 0.0
                below = flow_bar[i, j, k] if j < columns else 0.0
                bar = above - below if flux_y[i, j, k] != 0.0 else 0.0
                lap_bar[i + 1, j + 1, k] += bar
                lap_bar[i + 1, j, k] -= bar
    for i in range(rows + 2):
        for j in range(columns + 2):
            for k in range(levels):
                bar = lap_bar[i, j, k]
                field_bar[i + 1, j + 1, k] += 4.0 * bar
                field_bar[i + 2, j + 1, k] -= bar
                field_bar[i, j + 1, k] -= bar
                field_bar[i + 1, j + 2, k] -= bar
                field_bar[i + 1, j, k] -= bar
    return field_bar, coefficient_bar


def diffuse_arguments(rows, columns, levels):
    rng = np.random.default_rng(0)
    return rng.normal(size=(rows + 4, columns + 4, levels)), 0.1 * rng.normal(size=(rows, columns, levels))


@compiled
def advect(wind, velocity, position, tendency, stage):
    """Implicit vertical advection: Thomas' algorithm in each column, levels last."""
    rows, columns, levels = velocity.shape
    step = 0.15
    c, d = np.empty(levels), np.empty(levels)
    total = 0.0
    for i in range(rows):
        for j in range(columns):
            for k in range(levels):
                lower = 0.0
                upper = 0.0
                correction = 0.0
                if k > 0:
                    lower = -0.25 * (wind[i + 1, j, k] + wind[i, j, k])
                    correction -= lower * (velocity[i, j, k - 1] - velocity[i, j, k])
                if k < levels - 1:
                    upper = 0.25 * (wind[i + 1, j, k + 1] + wind[i, j, k + 1])
                    correction -= upper * (velocity[i, j, k + 1] - velocity[i, j, k])
                diagonal = 1.0 / step - lower - upper
                right = position[i, j, k] / step + tendency[i, j, k] + stage[i, j, k] + correction
                if k == 0:
                    c[k] = upper / diagonal
                    d[k] = right / diagonal
                else:
                    divided = 1.0 / (diagonal - c[k - 1] * lower)
                    c[k] = upper * divided
                    d[k] = (right - d[k - 1] * lower) * divided
            solution = d[levels - 1]
            change = (solution - position[i, j, levels - 1]) / step
            total += change * change
            for k in range(levels - 2, -1, -1):
                solution = d[k] - c[k] * solution
                change = (solution - position[i, j, k]) / step
                total += change * change
    return total


@compiled
def advect_hand(wind, velocity, position, tendency, stage):
    rows, columns, levels = velocity.shape
    step = 0.15
    wind_bar, velocity_bar = np.zeros(wind.shape), np.zeros(velocity.shape)
    position_bar, tendency_bar = np.empty(velocity.shape), np.empty(velocity.shape)
    lower, upper, divided = np.zeros(levels), np.zeros(levels), np.empty(levels)
    c, d, x = np.empty(levels), np.empty(levels), np.empty(levels)
    c_bar, d_bar, x_bar = np.empty(levels), np.empty(levels), np.empty(levels)
    for i in range(rows):
        for j in range(columns):
            for k in range(levels):
                correction = 0.0
                if k > 0:
                    lower[k] = -0.25 * (wind[i + 1, j, k] + wind[i, j, k])
                    correction -= lower[k] * (velocity[i, j, k - 1] - velocity[i, j, k])
                if k < levels - 1:
                    upper[k] = 0.25 * (wind[i + 1, j, k + 1] + wind[i, j, k + 1])
                    correction -= upper[k] * (velocity[i, j, k + 1] - velocity[i, j, k])
                diagonal = 1.0 / step - lower[k] - upper[k]
                right = position[i, j, k] / step + tendency[i, j, k] + stage[i, j, k] + correction
                if k > 0:
                    diagonal -= c[k - 1] * lower[k]
                    right -= d[k - 1] * lower[k]
                divided[k] = 1.0 / diagonal
                c[k] = upper[k] * divided[k]
                d[k] = right * divided[k]
            x[levels - 1] = d[levels - 1]
            for k in range(levels - 2, -1, -1):
                x[k] = d[k] - c[k] * x[k + 1]
            carried = 0.0
            for k in range(levels):
                x_bar[k] = 2.0 * (x[k] - position[i, j, k]) / (step * step)
                position_bar[i, j, k] = -x_bar[k]
                d_bar[k] = x_bar[k] + carried
                if k < levels - 1:
                    c_bar[k] = -d_bar[k] * x[k + 1]
                    carried = -d_bar[k] * c[k]
                else:
                    c_bar[k] = 0.0
            for k in range(levels - 1, -1, -1):
                right_bar = d_bar[k] * divided[k]
                diagonal_bar = -divided[k] * (c_bar[k] * c[k] + d_bar[k] * d[k])
                lower_bar, upper_bar = -diagonal_bar, c_bar[k] * divided[k] - diagonal_bar
                if k > 0:
                    lower_bar -= diagonal_bar * c[k - 1] + right_bar * d[k - 1]
                    c_bar[k - 1] -= diagonal_bar * lower[k]
                    d_bar[k - 1] -= right_bar * lower[k]
                    lower_bar -= right_bar * (velocity[i, j, k - 1] - velocity[i, j, k])
                    velocity_bar[i, j, k - 1] -= right_bar * lower[k]
                    velocity_bar[i, j, k] += right_bar * lower[k]
                    wind_bar[i + 1, j, k] -= 0.25 * lower_bar
                    wind_bar[i, j, k] -= 0.25 * lower_bar
                if k < levels - 1:
                    upper_bar -= right_bar * (velocity[i, j, k + 1] - velocity[i, j, k])
                    velocity_bar[i, j, k + 1] -= right_bar * upper[k]
                    velocity_bar[i, j, k] += right_bar * upper[k]
                    wind_bar[i + 1, j, k + 1] += 0.25 * upper_bar
                    wind_bar[i, j, k + 1] += 0.25 * upper_bar
                position_bar[i, j, k] += right_bar / step
                tendency_bar[i, j, k] = right_bar
    return wind_bar, velocity_bar, position_bar, tendency_bar, tendency_bar.copy()


def advect_arguments(rows, columns, levels):
    rng = np.random.default_rng(0)
    shape = (rows, columns, levels)
    wind = rng.uniform(-1.0, 1.0, size=(rows + 1, columns, levels))
    return wind, rng.normal(size=shape), rng.normal(size=shape), rng.normal(size=shape), rng.normal(size=shape)


KERNELS = (
    Kernel("horizontal diffusion", diffuse, diffuse_hand, diffuse_arguments,
           {"tiny": (4, 5, 2), "full": (64, 64, 60)}, wrt=(0, 1), peers="diffuse"),
    Kernel("horizontal diffusion, slices", diffuse_slices, diffuse_hand, diffuse_arguments,
           {"tiny": (4, 5, 2), "full": (64, 64, 60)}, wrt=(0, 1), peers="diffuse"),
    Kernel("vertical advection", advect, advect_hand, advect_arguments,
           {"tiny": (2, 3, 4), "full": (64, 64, 60)}, wrt=(0, 1, 2, 3, 4), peers="advect"),
)
