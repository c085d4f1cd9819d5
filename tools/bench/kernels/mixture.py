"""Log-likelihood of a Gaussian mixture with triangular inverse covariances and a Wishart prior.

Source: ADBench (Šrajer, Kukelova, Fitzgibbon 2018), whose parametrisation this is.
"""

from __future__ import annotations

import math

import numpy as np

from tools.bench.kernel import Kernel, compiled


@compiled
def mixture(alphas, means, icf, x, gamma):
    n, d = x.shape
    count = alphas.size
    diagonals = np.empty((count, d))
    log_diagonals = np.empty(count)
    for k in range(count):
        log_diagonals[k] = 0.0
        for j in range(d):
            log_diagonals[k] += icf[k, j]
            diagonals[k, j] = math.exp(icf[k, j])
    centred = np.empty(d)
    scaled = np.empty(d)
    terms = np.empty(count)
    total = 0.0
    for i in range(n):
        for k in range(count):
            for j in range(d):
                centred[j] = x[i, j] - means[k, j]
            for j in range(d):
                scaled[j] = diagonals[k, j] * centred[j]
            at = d
            for p in range(d):
                for q in range(p + 1, d):
                    scaled[q] += icf[k, at] * centred[p]
                    at += 1
            square = 0.0
            for j in range(d):
                square += scaled[j] * scaled[j]
            terms[k] = alphas[k] + log_diagonals[k] - 0.5 * square
        largest = np.max(terms)
        sum_exp = 0.0
        for k in range(count):
            sum_exp += math.exp(terms[k] - largest)
        total += largest + math.log(sum_exp)
    largest = np.max(alphas)
    sum_exp = 0.0
    for k in range(count):
        sum_exp += math.exp(alphas[k] - largest)
    total -= n * (largest + math.log(sum_exp))
    prior = 0.0
    for k in range(count):
        for j in range(d):
            prior += 0.5 * gamma * gamma * diagonals[k, j] * diagonals[k, j]
        for at in range(d, icf.shape[1]):
            prior += 0.5 * gamma * gamma * icf[k, at] * icf[k, at]
        prior -= log_diagonals[k]
    return total - 0.5 * n * d * math.log(2.0 * math.pi) + prior


@compiled
def mixture_hand(alphas, means, icf, x, gamma):
    n, d = x.shape
    count = alphas.size
    diagonals = np.empty((count, d))
    log_diagonals = np.zeros(count)
    for k in range(count):
        for j in range(d):
            log_diagonals[k] += icf[k, j]
            diagonals[k, j] = math.exp(icf[k, j])
    # The factors by rows: then both sweeps add multiples of rows, and neither sums along one.
    rows = np.zeros((count, d, d))
    for k in range(count):
        at = d
        for p in range(d):
            rows[k, p, p] = diagonals[k, p]
            for q in range(p + 1, d):
                rows[k, q, p] = icf[k, at]
                at += 1
    alphas_bar, means_bar, icf_bar = np.zeros(count), np.zeros((count, d)), np.zeros(icf.shape)
    weight_sums = np.zeros(count)
    centred, scaled = np.empty((count, d)), np.empty((count, d))
    terms = np.empty(count)
    for i in range(n):
        for k in range(count):
            c, s, factor = centred[k], scaled[k], icf[k]
            for j in range(d):
                c[j] = x[i, j] - means[k, j]
                s[j] = diagonals[k, j] * c[j]
            at = d
            for p in range(d):
                cp = c[p]
                for q in range(p + 1, d):
                    s[q] += factor[at] * cp
                    at += 1
            square = 0.0
            for j in range(d):
                square += s[j] * s[j]
            terms[k] = alphas[k] + log_diagonals[k] - 0.5 * square
        largest = np.max(terms)
        sum_exp = 0.0
        for k in range(count):
            terms[k] = math.exp(terms[k] - largest)
            sum_exp += terms[k]
        for k in range(count):
            weight = terms[k] / sum_exp
            weight_sums[k] += weight
            c, s, row, factor_bar = centred[k], scaled[k], rows[k], icf_bar[k]
            for j in range(d):
                s[j] *= -weight
                factor_bar[j] += s[j] * c[j] * diagonals[k, j]
            at = d
            for p in range(d):
                cp, sp = c[p], s[p]
                for q in range(p + 1, d):
                    factor_bar[at + q - p - 1] += s[q] * cp
                at += d - p - 1
                for q in range(p + 1):
                    means_bar[k, q] -= sp * row[p, q]
    largest = np.max(alphas)
    sum_exp = 0.0
    for k in range(count):
        sum_exp += math.exp(alphas[k] - largest)
    for k in range(count):
        alphas_bar[k] = weight_sums[k] - n * math.exp(alphas[k] - largest) / sum_exp
        for j in range(d):
            icf_bar[k, j] += weight_sums[k] - 1.0 + gamma * gamma * diagonals[k, j] * diagonals[k, j]
        for at in range(d, icf.shape[1]):
            icf_bar[k, at] += gamma * gamma * icf[k, at]
    return alphas_bar, means_bar, icf_bar


def mixture_arguments(n, d, count):
    rng = np.random.default_rng(0)
    alphas, means = rng.normal(size=count), rng.uniform(size=(count, d))
    icf = 0.3 * rng.normal(size=(count, d * (d + 1) // 2))
    return alphas, means, icf, rng.normal(size=(n, d)), 1.0


KERNELS = tuple(
    Kernel(f"Gaussian mixture {d}x{count}", mixture, mixture_hand, mixture_arguments,
           {"tiny": (6, 3, 2), "full": (1000, d, count)}, wrt=(0, 1, 2), peers="mixture")
    for d, count in ((10, 25), (64, 5), (64, 25))
)
