"""Calls so small that the way to them counts: two numbers, a trace, a Hessian-vector product, 128 covectors."""

from __future__ import annotations

import math

import numpy as np

from tools.bench.kernel import Kernel, compiled


@compiled
def scalar(x, y):
    return x * y + math.sin(x)


@compiled
def scalar_hand(x, y):
    return y + math.cos(x), x


def scalar_arguments():
    return 1.5, 0.5


@compiled
def trace(x1, x2):
    return np.trace(x1 @ x2)


@compiled
def trace_hand(x1, x2):
    return x2.T.copy(), x1.T.copy()


def trace_arguments(n):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, n)), rng.normal(size=(n, n))


@compiled
def squared_tanh(x):
    return np.sum(np.tanh(x) ** 2)


@compiled
def squared_tanh_hvp(x, v):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            t = math.tanh(x[i, j])
            out[i, j] = 2.0 * (1.0 - t * t) * (1.0 - 3.0 * t * t) * v[i, j]
    return out


def squared_tanh_arguments(m, n):
    rng = np.random.default_rng(0)
    return rng.normal(size=(m, n)), rng.normal(size=(m, n))


@compiled
def predict(weights, bias, inputs):
    return 0.5 * (np.tanh((inputs @ weights + bias) / 2.0) + 1.0)


@compiled
def predict_covectors(weights, bias, inputs, covectors):
    y = 0.5 * (np.tanh((inputs @ weights + bias) / 2.0) + 1.0)
    out = np.zeros((covectors.shape[0], weights.shape[0]))
    for k in range(covectors.shape[0]):
        for i in range(y.shape[0]):
            scale = covectors[k, i] * y[i] * (1.0 - y[i])
            for j in range(weights.shape[0]):
                out[k, j] += scale * inputs[i, j]
    return out


def predict_arguments(rows, columns, covectors):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(rows, columns))
    return rng.normal(size=columns), 0.3, inputs, rng.normal(size=(covectors, rows))


KERNELS = (
    Kernel("call with two numbers", scalar, scalar_hand, scalar_arguments, {"tiny": (), "full": ()}, wrt=(0, 1),
           peers="scalar"),
    Kernel("trace of a product", trace, trace_hand, trace_arguments,
           {"tiny": (3,), "full": (30,)}, wrt=(0, 1), peers="trace"),
    Kernel("Hessian-vector product", squared_tanh, squared_tanh_hvp, squared_tanh_arguments,
           {"tiny": (3, 4), "full": (30, 40)}, derivative="hvp", peers="squared_tanh"),
    Kernel("128 covectors", predict, predict_covectors, predict_arguments,
           {"tiny": (4, 3, 5), "full": (4, 3, 128)}, derivative="covectors", peers="predict"),
)
