"""Learning: k-means, softmax, a perceptron of two hidden layers, a convolution."""

from __future__ import annotations

import math

import numpy as np

from tools.bench.kernel import Kernel, compiled


@compiled
def k_means(centres, points):
    total = 0.0
    for i in range(points.shape[0]):
        nearest = math.inf
        for k in range(centres.shape[0]):
            square = 0.0
            for j in range(points.shape[1]):
                jump = points[i, j] - centres[k, j]
                square += jump * jump
            if square < nearest:
                nearest = square
        total += nearest
    return total


def k_means_arrays(centres, points):
    square = (np.sum(points**2, axis=1)[:, None] + np.sum(centres**2, axis=1)[None, :]
              - 2.0 * points @ centres.T)
    return np.sum(np.min(square, axis=1))


@compiled
def nearest_centre(columns, point, squares):
    """Return which centre is nearest; `columns` are the centres transposed, so that distances grow side by side."""
    d, count = columns.shape
    for k in range(count):
        squares[k] = 0.0
    for j in range(d):
        here = point[j]
        for k in range(count):
            jump = here - columns[j, k]
            squares[k] += jump * jump
    at = 0
    for k in range(1, count):
        if squares[k] < squares[at]:
            at = k
    return at


@compiled
def k_means_hand(centres, points):
    bar = np.zeros(centres.shape)
    columns, squares = centres.T.copy(), np.empty(centres.shape[0])
    for i in range(points.shape[0]):
        at = nearest_centre(columns, points[i], squares)
        for j in range(points.shape[1]):
            bar[at, j] += 2.0 * (centres[at, j] - points[i, j])
    return bar


@compiled
def k_means_hvp(centres, points, direction):
    counts = np.zeros(centres.shape[0])
    columns, squares = centres.T.copy(), np.empty(centres.shape[0])
    for i in range(points.shape[0]):
        counts[nearest_centre(columns, points[i], squares)] += 2.0
    out = np.empty(centres.shape)
    for k in range(centres.shape[0]):
        for j in range(centres.shape[1]):
            out[k, j] = counts[k] * direction[k, j]
    return out


def clusters(n, d, count):
    rng = np.random.default_rng(0)
    return rng.normal(size=(count, d)), rng.normal(size=(n, d))


def clusters_hvp(n, d, count):
    centres, points = clusters(n, d, count)
    return centres, points, np.random.default_rng(1).normal(size=centres.shape)


def softmax(x, weights):
    shifted = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return np.sum(weights * shifted / np.sum(shifted, axis=-1, keepdims=True))


@compiled
def softmax_loops(x, weights):
    total = 0.0
    heads, batch, rows, columns = x.shape
    exps = np.empty(columns)
    for a in range(heads):
        for b in range(batch):
            for i in range(rows):
                largest = x[a, b, i, 0]
                for j in range(columns):
                    largest = max(largest, x[a, b, i, j])
                norm = 0.0
                for j in range(columns):
                    exps[j] = math.exp(x[a, b, i, j] - largest)
                    norm += exps[j]
                for j in range(columns):
                    total += weights[a, b, i, j] * exps[j] / norm
    return total


@compiled
def softmax_row(row, weight, out):
    largest = row[0]
    for j in range(row.size):
        largest = max(largest, row[j])
    for j in range(row.size):
        out[j] = math.exp(row[j] - largest)
    norm = mean = 0.0
    for j in range(row.size):
        norm += out[j]
        mean += out[j] * weight[j]
    scale = 1.0 / norm
    mean *= scale
    for j in range(row.size):
        out[j] *= scale * (weight[j] - mean)


@compiled
def softmax_hand(x, weights):
    heads, batch, rows, _ = x.shape
    bar = np.empty(x.shape)
    for a in range(heads):
        for b in range(batch):
            for i in range(rows):
                softmax_row(x[a, b, i], weights[a, b, i], bar[a, b, i])
    return bar


def images(a, b, c, d):
    rng = np.random.default_rng(0)
    return rng.normal(size=(a, b, c, d)), rng.normal(size=(a, b, c, d))


def perceptron(w1, b1, w2, b2, w3, b3, x, labels):
    hidden = np.maximum(x @ w1 + b1, 0.0)
    hidden = np.maximum(hidden @ w2 + b2, 0.0)
    logits = hidden @ w3 + b3
    logits = logits - np.max(logits, axis=1, keepdims=True)
    log_norm = np.log(np.sum(np.exp(logits), axis=1))
    return np.mean(log_norm - logits[np.arange(labels.size), labels])


@compiled
def perceptron_hand(w1, b1, w2, b2, w3, b3, x, labels):
    h1 = x @ w1
    rows, wide = h1.shape
    for i in range(rows):
        for j in range(wide):
            h1[i, j] = max(h1[i, j] + b1[j], 0.0)
    h2 = h1 @ w2
    for i in range(rows):
        for j in range(h2.shape[1]):
            h2[i, j] = max(h2[i, j] + b2[j], 0.0)
    bar = h2 @ w3
    b3_bar = np.zeros(b3.size)
    for i in range(rows):
        largest = -math.inf
        for j in range(b3.size):
            bar[i, j] += b3[j]
            largest = max(largest, bar[i, j])
        norm = 0.0
        for j in range(b3.size):
            bar[i, j] = math.exp(bar[i, j] - largest)
            norm += bar[i, j]
        norm *= rows
        for j in range(b3.size):
            bar[i, j] /= norm
        bar[i, labels[i]] -= 1.0 / rows
        for j in range(b3.size):
            b3_bar[j] += bar[i, j]
    w3_bar = h2.T @ bar
    bar2 = bar @ w3.T
    b2_bar = np.zeros(b2.size)
    for i in range(rows):
        for j in range(b2.size):
            if h2[i, j] <= 0.0:
                bar2[i, j] = 0.0
            b2_bar[j] += bar2[i, j]
    w2_bar = h1.T @ bar2
    bar1 = bar2 @ w2.T
    b1_bar = np.zeros(b1.size)
    for i in range(rows):
        for j in range(b1.size):
            if h1[i, j] <= 0.0:
                bar1[i, j] = 0.0
            b1_bar[j] += bar1[i, j]
    return x.T @ bar1, b1_bar, w2_bar, b2_bar, w3_bar, b3_bar


def digits(rows, size, wide, classes):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(size, wide)) / math.sqrt(size), rng.normal(size=wide),
            rng.normal(size=(wide, wide)) / math.sqrt(wide), rng.normal(size=wide),
            rng.normal(size=(wide, classes)) / math.sqrt(wide), rng.normal(size=classes),
            rng.normal(size=(rows, size)), rng.integers(0, classes, size=rows))


@compiled
def convolve(x, kernel, bias):
    images, height, width, channels = x.shape
    k, made = kernel.shape[0], kernel.shape[3]
    out = np.empty((images, height - k + 1, width - k + 1, made))
    for n in range(images):
        for i in range(height - k + 1):
            for j in range(width - k + 1):
                for o in range(made):
                    out[n, i, j, o] = bias[o]
                for p in range(k):
                    for q in range(k):
                        for c in range(channels):
                            for o in range(made):
                                out[n, i, j, o] += x[n, i + p, j + q, c] * kernel[p, q, c, o]
    return np.sum(out * out)


def convolve_slices(x, kernel, bias):
    k = kernel.shape[0]
    height, width = x.shape[1] - k + 1, x.shape[2] - k + 1
    out = np.empty((x.shape[0], height, width, kernel.shape[3]))
    for i in range(height):
        for j in range(width):
            out[:, i, j, :] = np.sum(
                x[:, i : i + k, j : j + k, :, np.newaxis] * kernel[np.newaxis, :, :, :], axis=(1, 2, 3))
    out += bias
    return np.sum(out * out)


@compiled
def convolve_hand(x, kernel, bias):
    images, height, width, channels = x.shape
    k, made = kernel.shape[0], kernel.shape[3]
    x_bar, kernel_bar, bias_bar = np.zeros(x.shape), np.zeros(kernel.shape), np.zeros(bias.shape)
    out = np.empty(made)
    for n in range(images):
        for i in range(height - k + 1):
            for j in range(width - k + 1):
                for o in range(made):
                    out[o] = bias[o]
                for p in range(k):
                    for q in range(k):
                        for c in range(channels):
                            for o in range(made):
                                out[o] += x[n, i + p, j + q, c] * kernel[p, q, c, o]
                for o in range(made):
                    out[o] *= 2.0
                    bias_bar[o] += out[o]
                for p in range(k):
                    for q in range(k):
                        for c in range(channels):
                            here, bar = x[n, i + p, j + q, c], 0.0
                            for o in range(made):
                                bar += out[o] * kernel[p, q, c, o]
                                kernel_bar[p, q, c, o] += out[o] * here
                            x_bar[n, i + p, j + q, c] += bar
    return x_bar, kernel_bar, bias_bar


def photographs(n, size, channels, k, made):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, size, size, channels)), rng.normal(size=(k, k, channels, made)),
            rng.normal(size=made))


KERNELS = (
    Kernel("k-means", k_means, k_means_hand, clusters, {"tiny": (7, 2, 3), "full": (10_000, 16, 100)},
           peers="k_means"),
    Kernel("k-means, arrays", k_means_arrays, k_means_hand, clusters,
           {"tiny": (7, 2, 3), "full": (10_000, 16, 100)}, peers="k_means"),
    Kernel("k-means Hessian-vector product", k_means, k_means_hvp, clusters_hvp,
           {"tiny": (7, 2, 3), "full": (10_000, 16, 100)}, derivative="hvp", peers="k_means"),
    Kernel("softmax", softmax_loops, softmax_hand, images,
           {"tiny": (2, 1, 3, 4), "full": (16, 16, 128, 128)}, peers="softmax"),
    Kernel("softmax, arrays", softmax, softmax_hand, images,
           {"tiny": (2, 1, 3, 4), "full": (16, 16, 128, 128)}, peers="softmax"),
    Kernel("perceptron", perceptron, perceptron_hand, digits,
           {"tiny": (5, 3, 4, 3), "full": (64, 256, 512, 10)}, wrt=(0, 1, 2, 3, 4, 5), peers="perceptron"),
    Kernel("convolution", convolve, convolve_hand, photographs,
           {"tiny": (1, 4, 2, 2, 2), "full": (4, 32, 3, 5, 16)}, wrt=(0, 1, 2), peers="convolve"),
    Kernel("convolution, slices", convolve_slices, convolve_hand, photographs,
           {"tiny": (1, 4, 2, 2, 2), "full": (4, 32, 3, 5, 16)}, wrt=(0, 1, 2), peers="convolve"),
)
