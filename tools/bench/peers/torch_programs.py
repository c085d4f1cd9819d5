"""The problems as a PyTorch user writes them: whole tensors, and Python loops over time."""

from __future__ import annotations

import math

import torch
from torch.nn import functional


def scalar(x, y):
    return x * y + torch.sin(x)


def trace(x1, x2):
    return torch.trace(x1 @ x2)


def squared_tanh(x):
    return torch.sum(torch.tanh(x) ** 2)


def predict(weights, bias, inputs):
    return 0.5 * (torch.tanh((inputs @ weights + bias) / 2.0) + 1.0)


def mixture(alphas, means, icf, x, gamma):
    n, d = x.shape
    diagonals = torch.exp(icf[:, :d])
    log_diagonals = torch.sum(icf[:, :d], dim=1)
    columns, rows = torch.triu_indices(d, d, 1)
    lower = torch.zeros((alphas.numel(), d, d), dtype=x.dtype)
    lower[:, rows, columns] = icf[:, d:]
    centred = x[:, None, :] - means[None, :, :]
    scaled = diagonals * centred + torch.einsum("kij,nkj->nki", lower, centred)
    terms = alphas + log_diagonals - 0.5 * torch.sum(scaled * scaled, dim=2)
    prior = 0.5 * gamma**2 * (torch.sum(diagonals**2) + torch.sum(icf[:, d:] ** 2)) - torch.sum(log_diagonals)
    return (torch.sum(torch.logsumexp(terms, dim=1)) - n * torch.logsumexp(alphas, dim=0)
            - 0.5 * n * d * math.log(2.0 * math.pi) + prior)


def lstm(main, extra, state, sequence):
    steps, b = sequence.shape
    weights = main.reshape(-1, 2, 4, b)
    states = list(state)
    total = 0.0
    for t in range(steps - 1):
        x = sequence[t] * extra[0]
        for layer in range(weights.shape[0]):
            hidden, cell = states[2 * layer], states[2 * layer + 1]
            weight, bias = weights[layer, 0], weights[layer, 1]
            forget = torch.sigmoid(x * weight[0] + bias[0])
            ingate = torch.sigmoid(hidden * weight[1] + bias[1])
            outgate = torch.sigmoid(x * weight[2] + bias[2])
            cell = cell * forget + ingate * torch.tanh(hidden * weight[3] + bias[3])
            x = outgate * torch.tanh(cell)
            states[2 * layer], states[2 * layer + 1] = x, cell
        y = x * extra[1] + extra[2]
        total = total + torch.sum(sequence[t + 1] * (y - torch.log(2.0 + torch.sum(torch.exp(y)))))
    return -total / ((steps - 1) * b)


def runge_kutta(x0, forcing, steps):
    h = 0.01

    def slope(x):
        return (torch.roll(x, -1) - torch.roll(x, 2)) * torch.roll(x, 1) - x + forcing

    x = x0
    for _ in range(steps):
        k1 = slope(x)
        k2 = slope(x + 0.5 * h * k1)
        k3 = slope(x + 0.5 * h * k2)
        k4 = slope(x + h * k3)
        x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return torch.sum(x * x)


def bodies(position, velocity, mass, steps):
    h = 0.001
    for _ in range(steps):
        jump = position[None, :, :] - position[:, None, :]
        square = torch.sum(jump * jump, dim=2) + 0.01
        force = torch.sum((mass / (square * torch.sqrt(square)))[:, :, None] * jump, dim=1)
        velocity = velocity + h * force
        position = position + h * velocity
    return 0.5 * torch.sum(mass[:, None] * velocity**2)


def jacobi(a0, steps):
    a, b = a0, a0
    for _ in range(steps):
        b = _bordered(b, 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]))
        a = _bordered(a, 0.2 * (b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1]))
    return torch.sum(a * a)


def _bordered(old, inside):
    new = old.clone()
    new[tuple(slice(1, -1) for _ in inside.shape)] = inside
    return new


def heat(a0, steps):
    a, b = a0, a0
    for _ in range(steps):
        centre = a[1:-1, 1:-1, 1:-1]
        made = (centre + 0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * centre + a[:-2, 1:-1, 1:-1])
                + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * centre + a[1:-1, :-2, 1:-1])
                + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * centre + a[1:-1, 1:-1, :-2]))
        a, b = _bordered(b, made), a
    return torch.sum(a * a)


def diffuse(field, coefficient):
    lap = 4.0 * field[1:-1, 1:-1] - (field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2])
    flux_x = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flux_x = torch.where(flux_x * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0.0, 0.0, flux_x)
    flux_y = lap[1:-1, 1:] - lap[1:-1, :-1]
    flux_y = torch.where(flux_y * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0.0, 0.0, flux_y)
    out = field[2:-2, 2:-2] - coefficient * (flux_x[1:] - flux_x[:-1] + flux_y[:, 1:] - flux_y[:, :-1])
    return torch.sum(out * out)


def cholesky(a):
    whole = torch.tril(a) + torch.tril(a, -1).T  # as the loops do, read only the lower triangle
    return 2.0 * torch.sum(torch.log(torch.diagonal(torch.linalg.cholesky(whole))))


def substitute(low, b):
    x = torch.linalg.solve_triangular(low, b[:, None], upper=False)
    return torch.sum(x * x)


def misfit(coefficients, powers, y):
    error = powers @ coefficients - y
    return torch.sum(error * error)


def log_sum_exp(x):
    return torch.logsumexp(x, dim=0)


def go_fast(a):
    return torch.sum(a + torch.sum(torch.tanh(torch.diagonal(a))))


def arc_distance(theta_1, phi_1, theta_2, phi_2):
    square = (torch.sin((theta_2 - theta_1) / 2.0) ** 2
              + torch.cos(theta_1) * torch.cos(theta_2) * torch.sin((phi_2 - phi_1) / 2.0) ** 2)
    return torch.sum(2.0 * torch.arctan2(torch.sqrt(square), torch.sqrt(1.0 - square)))


def black_scholes(spot, strike, years, volatility, rate):
    spread = volatility * torch.sqrt(years)
    d1 = (torch.log(spot / strike) + (rate + 0.5 * volatility**2) * years) / spread
    n1, n2 = torch.special.ndtr(d1), torch.special.ndtr(d1 - spread)
    return torch.sum(spot * n1 - strike * torch.exp(-rate * years) * n2)


def heston(spot, variance, speed, level, wobble, correlation, rate, draws):
    paths, steps, _ = draws.shape
    h = 1.0 / steps
    log_spot, v = torch.log(spot).expand(paths), variance.expand(paths)
    for t in range(steps):
        positive = torch.clamp(v, min=0.0)
        scale = torch.where(v > 0.0, torch.sqrt(torch.where(v > 0.0, v, 1.0) * h), 0.0)
        z = draws[:, t, 0]
        w = correlation * z + torch.sqrt(1.0 - correlation**2) * draws[:, t, 1]
        log_spot = log_spot + (rate - 0.5 * positive) * h + scale * z
        v = v + speed * (level - positive) * h + wobble * scale * w
    return torch.exp(-rate) * torch.mean(torch.clamp(torch.exp(log_spot) - 100.0, min=0.0))


def k_means(centres, points):
    square = torch.sum(points**2, dim=1)[:, None] + torch.sum(centres**2, dim=1) - 2.0 * points @ centres.T
    return torch.sum(torch.min(square, dim=1).values)


def softmax(x, weights):
    return torch.sum(weights * torch.softmax(x, dim=-1))


def perceptron(w1, b1, w2, b2, w3, b3, x, labels):
    hidden = torch.relu(x @ w1 + b1)
    hidden = torch.relu(hidden @ w2 + b2)
    return functional.cross_entropy(hidden @ w3 + b3, labels)


def convolve(x, kernel, bias):
    out = functional.conv2d(x.permute(0, 3, 1, 2), kernel.permute(3, 2, 0, 1), bias)
    return torch.sum(out * out)


def reproject(camera, point, weight, feature):
    axis, moved = camera[:3], point - camera[3:6]
    square = torch.sum(axis * axis)
    theta = torch.sqrt(square)
    turned = (moved * torch.cos(theta) + torch.linalg.cross(axis, moved) * torch.sin(theta) / theta
              + axis * torch.dot(axis, moved) * (1.0 - torch.cos(theta)) / square)
    flat = turned[:2] / turned[2]
    radius = torch.sum(flat * flat)
    bend = 1.0 + camera[9] * radius + camera[10] * radius**2
    return weight * (camera[6] * bend * flat + camera[7:9] - feature)
