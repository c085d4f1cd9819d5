"""The problems as a JAX user writes them: whole arrays, and `lax.scan` only over time."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import erf, logsumexp


def scalar(x, y):
    return x * y + jnp.sin(x)


def trace(x1, x2):
    return jnp.trace(x1 @ x2)


def squared_tanh(x):
    return jnp.sum(jnp.tanh(x) ** 2)


def predict(weights, bias, inputs):
    return 0.5 * (jnp.tanh((inputs @ weights + bias) / 2.0) + 1.0)


def mixture(alphas, means, icf, x, gamma):
    n, d = x.shape
    diagonals = jnp.exp(icf[:, :d])
    log_diagonals = jnp.sum(icf[:, :d], axis=1)
    columns, rows = np.triu_indices(d, 1)
    lower = jnp.zeros((alphas.size, d, d)).at[:, rows, columns].set(icf[:, d:])
    centred = x[:, None, :] - means[None, :, :]
    scaled = diagonals * centred + jnp.einsum("kij,nkj->nki", lower, centred)
    terms = alphas + log_diagonals - 0.5 * jnp.sum(scaled * scaled, axis=2)
    prior = 0.5 * gamma**2 * (jnp.sum(diagonals**2) + jnp.sum(icf[:, d:] ** 2)) - jnp.sum(log_diagonals)
    return (jnp.sum(logsumexp(terms, axis=1)) - n * logsumexp(alphas)
            - 0.5 * n * d * np.log(2.0 * np.pi) + prior)


def lstm(main, extra, state, sequence):
    layers, b = main.shape[0] // 2, sequence.shape[1]
    weights = main.reshape(layers, 2, 4, b)

    def step(carried, pair):
        now, after = pair
        x = now * extra[0]
        made = []
        for layer in range(layers):
            hidden, cell = carried[2 * layer], carried[2 * layer + 1]
            weight, bias = weights[layer, 0], weights[layer, 1]
            forget = jax.nn.sigmoid(x * weight[0] + bias[0])
            ingate = jax.nn.sigmoid(hidden * weight[1] + bias[1])
            outgate = jax.nn.sigmoid(x * weight[2] + bias[2])
            cell = cell * forget + ingate * jnp.tanh(hidden * weight[3] + bias[3])
            x = outgate * jnp.tanh(cell)
            made += [x, cell]
        y = x * extra[1] + extra[2]
        return jnp.stack(made), jnp.sum(after * (y - jnp.log(2.0 + jnp.sum(jnp.exp(y)))))

    _, terms = lax.scan(step, state, (sequence[:-1], sequence[1:]))
    return -jnp.sum(terms) / ((sequence.shape[0] - 1) * b)


def runge_kutta(x0, forcing, steps):
    h = 0.01

    def slope(x):
        return (jnp.roll(x, -1) - jnp.roll(x, 2)) * jnp.roll(x, 1) - x + forcing

    def step(x, _):
        k1 = slope(x)
        k2 = slope(x + 0.5 * h * k1)
        k3 = slope(x + 0.5 * h * k2)
        k4 = slope(x + h * k3)
        return x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

    x, _ = lax.scan(step, x0, None, length=steps)
    return jnp.sum(x * x)


def bodies(position0, velocity0, mass, steps):
    h = 0.001

    def step(carried, _):
        position, velocity = carried
        jump = position[None, :, :] - position[:, None, :]
        square = jnp.sum(jump * jump, axis=2) + 0.01
        force = jnp.sum((mass / (square * jnp.sqrt(square)))[:, :, None] * jump, axis=1)
        velocity = velocity + h * force
        return (position + h * velocity, velocity), None

    (_, velocity), _ = lax.scan(step, (position0, velocity0), None, length=steps)
    return 0.5 * jnp.sum(mass[:, None] * velocity**2)


def jacobi(a0, steps):
    def mean(a, b):
        return b.at[1:-1, 1:-1].set(
            0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]))

    def step(pair, _):
        a, b = pair
        b = mean(a, b)
        return (mean(b, a), b), None

    (a, _), _ = lax.scan(step, (a0, a0), None, length=steps)
    return jnp.sum(a * a)


def gauss_seidel(a0, steps):
    n = a0.shape[0]

    def row(i, a):
        fixed = a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 1:-1] + a[i, 2:]
        fixed = fixed + a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]

        def cell(left, rest):
            now = (left + rest) / 9.0
            return now, now

        _, new = lax.scan(cell, a[i, 0], fixed)
        return a.at[i, 1:-1].set(new)

    def step(a, _):
        return lax.scan(lambda a, i: (row(i, a), None), a, jnp.arange(1, n - 1))[0], None

    a, _ = lax.scan(step, a0, None, length=steps)
    return jnp.sum(a * a)


def heat(a0, steps):
    def step(pair, _):
        a, b = pair
        centre = a[1:-1, 1:-1, 1:-1]
        b = b.at[1:-1, 1:-1, 1:-1].set(
            centre + 0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * centre + a[:-2, 1:-1, 1:-1])
            + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * centre + a[1:-1, :-2, 1:-1])
            + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * centre + a[1:-1, 1:-1, :-2]))
        return (b, a), None

    (a, _), _ = lax.scan(step, (a0, a0), None, length=steps)
    return jnp.sum(a * a)


def diffuse(field, coefficient):
    lap = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    flux_x = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flux_x = jnp.where(flux_x * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0.0, 0.0, flux_x)
    flux_y = lap[1:-1, 1:] - lap[1:-1, :-1]
    flux_y = jnp.where(flux_y * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0.0, 0.0, flux_y)
    out = field[2:-2, 2:-2] - coefficient * (flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1])
    return jnp.sum(out * out)


def advect(wind, velocity, position, tendency, stage):
    h = 0.15
    zero = jnp.zeros((*velocity.shape[:2], 1))
    mean = 0.25 * (wind[1:] + wind[:-1])
    lower = jnp.concatenate((zero, -mean[:, :, 1:]), axis=2)
    upper = jnp.concatenate((mean[:, :, 1:], zero), axis=2)
    jump = velocity[:, :, 1:] - velocity[:, :, :-1]
    correction = (lower * jnp.concatenate((zero, jump), axis=2) - upper * jnp.concatenate((jump, zero), axis=2))
    diagonal = 1.0 / h - lower - upper
    right = position / h + tendency + stage + correction

    def down(carried, level):
        c, d = carried
        below, centre, above, wanted = level
        divided = 1.0 / (centre - c * below)
        made = (above * divided, (wanted - d * below) * divided)
        return made, made

    def up(x, level):
        c, d = level
        now = d - c * x
        return now, now

    levels = tuple(jnp.moveaxis(part, 2, 0) for part in (lower, diagonal, upper, right))
    nothing = jnp.zeros(velocity.shape[:2])
    _, swept = lax.scan(down, (nothing, nothing), levels)
    _, solution = lax.scan(up, nothing, swept, reverse=True)
    change = (solution - jnp.moveaxis(position, 2, 0)) / h
    return jnp.sum(change * change)


def misfit(coefficients, powers, y):
    error = powers @ coefficients - y
    return jnp.sum(error * error)


def log_sum_exp(x):
    return logsumexp(x)


def go_fast(a):
    return jnp.sum(a + jnp.sum(jnp.tanh(jnp.diag(a))))


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    square = (jnp.sin((theta_2 - theta_1) / 2.0) ** 2
              + jnp.cos(theta_1) * jnp.cos(theta_2) * jnp.sin((phi_2 - phi_1) / 2.0) ** 2)
    return jnp.sum(2.0 * jnp.arctan2(jnp.sqrt(square), jnp.sqrt(1.0 - square)))


def black_scholes(spot, strike, years, volatility, rate):
    def cdf(x):
        return 0.5 * (1.0 + erf(x / np.sqrt(2.0)))

    spread = volatility * jnp.sqrt(years)
    d1 = (jnp.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    return jnp.sum(spot * cdf(d1) - strike * jnp.exp(-rate * years) * cdf(d1 - spread))


def heston(spot, variance, speed, level, wobble, correlation, rate, draws):
    paths, steps, _ = draws.shape
    h = 1.0 / steps

    def step(carried, draw):
        log_spot, v = carried
        positive = jnp.maximum(v, 0.0)
        # The root's slope at zero is infinite, and zero times it would be NaN.
        scale = jnp.where(v > 0.0, jnp.sqrt(jnp.where(v > 0.0, v, 1.0) * h), 0.0)
        z = draw[:, 0]
        w = correlation * z + jnp.sqrt(1.0 - correlation**2) * draw[:, 1]
        log_spot = log_spot + (rate - 0.5 * positive) * h + scale * z
        return (log_spot, v + speed * (level - positive) * h + wobble * scale * w), None

    start = (jnp.full(paths, jnp.log(spot)), jnp.full(paths, variance))
    (log_spot, _), _ = lax.scan(step, start, jnp.moveaxis(draws, 1, 0))
    return jnp.exp(-rate) * jnp.mean(jnp.maximum(jnp.exp(log_spot) - 100.0, 0.0))


def k_means(centres, points):
    square = jnp.sum(points**2, axis=1)[:, None] + jnp.sum(centres**2, axis=1) - 2.0 * points @ centres.T
    return jnp.sum(jnp.min(square, axis=1))


def softmax(x, weights):
    return jnp.sum(weights * jax.nn.softmax(x, axis=-1))


def perceptron(w1, b1, w2, b2, w3, b3, x, labels):
    hidden = jnp.maximum(x @ w1 + b1, 0.0)
    hidden = jnp.maximum(hidden @ w2 + b2, 0.0)
    logs = jax.nn.log_softmax(hidden @ w3 + b3, axis=1)
    return -jnp.mean(logs[jnp.arange(labels.size), labels])


def convolve(x, kernel, bias):
    out = lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")) + bias
    return jnp.sum(out * out)


def reproject(camera, point, weight, feature):
    axis, moved = camera[:3], point - camera[3:6]
    square = jnp.sum(axis * axis)
    theta = jnp.sqrt(square)
    turned = (moved * jnp.cos(theta) + jnp.cross(axis, moved) * jnp.sin(theta) / theta
              + axis * jnp.dot(axis, moved) * (1.0 - jnp.cos(theta)) / square)
    flat = turned[:2] / turned[2]
    radius = jnp.sum(flat * flat)
    bend = 1.0 + camera[9] * radius + camera[10] * radius**2
    return weight * (camera[6] * bend * flat + camera[7:9] - feature)


def pose(angles, lengths, skin, bone_of):
    (ca, cb, cc), (sa, sb, sc) = jnp.cos(angles[:3]), jnp.sin(angles[:3])
    wrist = jnp.array([
        [cb * cc, sa * sb * cc - ca * sc, ca * sb * cc + sa * sc],
        [cb * sc, sa * sb * sc + ca * cc, ca * sb * sc - sa * cc],
        [-sb, sa * cb, ca * cb],
    ])
    bends, long = angles[3:].reshape(5, 4), lengths.reshape(5, 4)
    turn = jnp.broadcast_to(wrist, (5, 3, 3))
    origin = 0.2 * (jnp.arange(5) - 2.0)[:, None] * wrist[:, 0]
    turns, origins = [], []
    for joint in range(4):
        if joint > 0:
            origin = origin + long[:, joint - 1, None] * turn[:, :, 1]
        c, s = jnp.cos(bends[:, joint])[:, None], jnp.sin(bends[:, joint])[:, None]
        turn = jnp.stack((turn[:, :, 0], c * turn[:, :, 1] + s * turn[:, :, 2],
                          c * turn[:, :, 2] - s * turn[:, :, 1]), axis=2)
        turns.append(turn)
        origins.append(origin)
    turns, origins = jnp.stack(turns, 1).reshape(20, 3, 3), jnp.stack(origins, 1).reshape(20, 3)
    return origins[bone_of] + jnp.einsum("vik,vk->vi", turns[bone_of], skin)
