"""Elementwise programs and sums of them, where exp, log and their kin take the time."""

from __future__ import annotations

import math

import numpy as np

from tools.bench.kernel import Kernel, compiled


@compiled
def log_sum_exp(x):
    largest = np.max(x)
    total = 0.0
    for i in range(x.size):
        total += math.exp(x[i] - largest)
    return largest + math.log(total)


@compiled
def log_sum_exp_arrays(x):
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))


@compiled
def log_sum_exp_hand(x):
    largest = x[0]
    for i in range(x.size):
        largest = max(largest, x[i])
    bar = np.empty(x.size)
    for i in range(x.size):
        bar[i] = math.exp(x[i] - largest)
    total = 0.0
    for i in range(x.size):
        total += bar[i]
    scale = 1.0 / total
    for i in range(x.size):
        bar[i] *= scale
    return bar


def vector(n):
    return (np.random.default_rng(0).normal(size=n),)


@compiled
def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return np.sum(a + trace)


@compiled
def go_fast_hand(a):
    bar = np.ones(a.shape)
    for i in range(a.shape[0]):
        t = math.tanh(a[i, i])
        bar[i, i] += a.size * (1.0 - t * t)
    return bar


def square(n):
    return (np.random.default_rng(0).normal(size=(n, n)),)


@compiled
def arc_distance(theta_1, phi_1, theta_2, phi_2):
    total = 0.0
    for i in range(theta_1.size):
        s = math.sin((theta_2[i] - theta_1[i]) / 2.0)
        t = math.sin((phi_2[i] - phi_1[i]) / 2.0)
        square = s * s + math.cos(theta_1[i]) * math.cos(theta_2[i]) * t * t
        total += 2.0 * math.atan2(math.sqrt(square), math.sqrt(1.0 - square))
    return total


@compiled
def arc_distance_arrays(theta_1, phi_1, theta_2, phi_2):
    square = (np.sin((theta_2 - theta_1) / 2.0) ** 2
              + np.cos(theta_1) * np.cos(theta_2) * np.sin((phi_2 - phi_1) / 2.0) ** 2)
    return np.sum(2.0 * np.arctan2(np.sqrt(square), np.sqrt(1.0 - square)))


@compiled
def arc_distance_hand(theta_1, phi_1, theta_2, phi_2):
    n = theta_1.size
    t1_bar, p1_bar, t2_bar, p2_bar = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        half, turn = 0.5 * (theta_2[i] - theta_1[i]), 0.5 * (phi_2[i] - phi_1[i])
        s, cs = math.sin(half), math.cos(half)
        t, ct = math.sin(turn), math.cos(turn)
        c1, s1, c2, s2 = math.cos(theta_1[i]), math.sin(theta_1[i]), math.cos(theta_2[i]), math.sin(theta_2[i])
        square = s * s + c1 * c2 * t * t
        # The derivative of 2 atan2(sqrt(q), sqrt(1 - q)) by q is 1 / sqrt(q (1 - q)).
        bar = 1.0 / math.sqrt(square * (1.0 - square))
        half_bar = bar * s * cs
        turn_bar = bar * c1 * c2 * t * ct
        t1_bar[i] = -half_bar - bar * s1 * c2 * t * t
        t2_bar[i] = half_bar - bar * c1 * s2 * t * t
        p1_bar[i] = -turn_bar
        p2_bar[i] = turn_bar
    return t1_bar, p1_bar, t2_bar, p2_bar


def angles(n):
    rng = np.random.default_rng(0)
    return tuple(rng.uniform(0.2, 1.2, size=n) for _ in range(4))


@compiled
def normal_cdf(x):
    return 0.5 * (1.0 + math.erf(x / math.sqrt(2.0)))


@compiled
def black_scholes(spot, strike, years, volatility, rate):
    total = 0.0
    for i in range(spot.size):
        spread = volatility[i] * math.sqrt(years[i])
        d1 = (math.log(spot[i] / strike[i]) + (rate + 0.5 * volatility[i] ** 2) * years[i]) / spread
        d2 = d1 - spread
        discount = math.exp(-rate * years[i])
        total += spot[i] * normal_cdf(d1) - strike[i] * discount * normal_cdf(d2)
    return total


BLOCK = 512  # the sum over a block is apart from the loop that computes it, which has no order to keep


@compiled
def price_pullback(spot, strike, years, volatility, rate, spot_bar, years_bar, volatility_bar, rates):
    """Write the derivatives of each option's price."""
    density, half_root = 1.0 / math.sqrt(2.0 * math.pi), 1.0 / math.sqrt(2.0)
    for i in range(spot.size):
        root = math.sqrt(years[i])
        spread = volatility[i] * root
        drift = rate + 0.5 * volatility[i] * volatility[i]
        d1 = (math.log(spot[i] / strike[i]) + drift * years[i]) / spread
        d2 = d1 - spread
        paid = strike[i] * math.exp(-rate * years[i])
        n1, n2 = 0.5 * (1.0 + math.erf(d1 * half_root)), 0.5 * (1.0 + math.erf(d2 * half_root))
        d2_bar = -paid * density * math.exp(-0.5 * d2 * d2)
        d1_bar = spot[i] * density * math.exp(-0.5 * d1 * d1) + d2_bar
        spread_bar = -d2_bar - d1_bar * d1 / spread
        scaled_bar = d1_bar / spread
        spot_bar[i] = n1 + scaled_bar / spot[i]
        volatility_bar[i] = spread_bar * root + scaled_bar * years[i] * volatility[i]
        years_bar[i] = paid * n2 * rate + scaled_bar * drift + spread_bar * volatility[i] * 0.5 / root
        rates[i] = paid * n2 * years[i] + scaled_bar * years[i]


@compiled
def black_scholes_hand(spot, strike, years, volatility, rate):
    """Differentiate as a careful person does who does not know the Greeks' closed forms."""
    n = spot.size
    spot_bar, years_bar, volatility_bar = np.empty(n), np.empty(n), np.empty(n)
    rate_bar = 0.0
    rates = np.empty(BLOCK)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        price_pullback(spot[start:stop], strike[start:stop], years[start:stop], volatility[start:stop], rate,
                       spot_bar[start:stop], years_bar[start:stop], volatility_bar[start:stop], rates)
        for i in range(stop - start):
            rate_bar += rates[i]
    return spot_bar, years_bar, volatility_bar, rate_bar


def options(n):
    rng = np.random.default_rng(0)
    spot, strike = rng.uniform(80.0, 120.0, n), rng.uniform(80.0, 120.0, n)
    return spot, strike, rng.uniform(0.2, 2.0, n), rng.uniform(0.1, 0.4, n), 0.03


@compiled
def heston(spot, variance, speed, level, wobble, correlation, rate, draws):
    paths, steps, _ = draws.shape
    h = 1.0 / steps
    other = math.sqrt(1.0 - correlation * correlation)
    total = 0.0
    for p in range(paths):
        log_spot = math.log(spot)
        v = variance
        for t in range(steps):
            positive = max(v, 0.0)
            scale = math.sqrt(positive * h)
            z = draws[p, t, 0]
            w = correlation * z + other * draws[p, t, 1]
            log_spot += (rate - 0.5 * positive) * h + scale * z
            v += speed * (level - positive) * h + wobble * scale * w
        total += max(math.exp(log_spot) - 100.0, 0.0)
    return math.exp(-rate) * total / paths


@compiled
def heston_hand(spot, variance, speed, level, wobble, correlation, rate, draws):
    paths, steps, _ = draws.shape
    h = 1.0 / steps
    other = math.sqrt(1.0 - correlation * correlation)
    total = 0.0
    tape = np.empty(steps)
    spot_bar = variance_bar = speed_bar = level_bar = wobble_bar = correlation_bar = other_bar = rate_bar = 0.0
    weight = math.exp(-rate) / paths
    for p in range(paths):
        log_spot = math.log(spot)
        v = variance
        for t in range(steps):
            tape[t] = v
            positive = max(v, 0.0)
            scale = math.sqrt(positive * h)
            z = draws[p, t, 0]
            w = correlation * z + other * draws[p, t, 1]
            log_spot += (rate - 0.5 * positive) * h + scale * z
            v += speed * (level - positive) * h + wobble * scale * w
        final = math.exp(log_spot)
        if final <= 100.0:
            continue
        total += final - 100.0
        log_bar, v_bar = weight * final, 0.0
        rate_bar += log_bar
        spot_bar += log_bar / spot
        for t in range(steps - 1, -1, -1):
            v = tape[t]
            positive = max(v, 0.0)
            scale = math.sqrt(positive * h)
            z = draws[p, t, 0]
            w = correlation * z + other * draws[p, t, 1]
            speed_bar += v_bar * (level - positive) * h
            level_bar += v_bar * speed * h
            wobble_bar += v_bar * scale * w
            w_bar = v_bar * wobble * scale
            correlation_bar += w_bar * z
            other_bar += w_bar * draws[p, t, 1]
            if v > 0.0:
                scale_bar = v_bar * wobble * w + log_bar * z
                v_bar += scale_bar * 0.5 * h / scale - (0.5 * log_bar + v_bar * speed) * h
        variance_bar += v_bar
    correlation_bar -= other_bar * correlation / other
    rate_bar -= weight * total
    return spot_bar, variance_bar, speed_bar, level_bar, wobble_bar, correlation_bar, rate_bar


def heston_arguments(paths, steps):
    draws = np.random.default_rng(0).normal(size=(paths, steps, 2))
    return 100.0, 0.09, 2.0, 0.09, 0.3, -0.5, 0.03, draws


KERNELS = (
    Kernel("log-sum-exp", log_sum_exp, log_sum_exp_hand, vector, {"tiny": (5,), "full": (1_000_000,)},
           peers="log_sum_exp"),
    Kernel("log-sum-exp, arrays", log_sum_exp_arrays, log_sum_exp_hand, vector,
           {"tiny": (5,), "full": (1_000_000,)}, peers="log_sum_exp"),
    Kernel("go_fast", go_fast, go_fast_hand, square, {"tiny": (4,), "full": (2000,)}, peers="go_fast"),
    Kernel("arc distance", arc_distance, arc_distance_hand, angles,
           {"tiny": (5,), "full": (100_000,)}, wrt=(0, 1, 2, 3), peers="arc_distance"),
    Kernel("arc distance, arrays", arc_distance_arrays, arc_distance_hand, angles,
           {"tiny": (5,), "full": (100_000,)}, wrt=(0, 1, 2, 3), peers="arc_distance"),
    Kernel("Black-Scholes", black_scholes, black_scholes_hand, options,
           {"tiny": (5,), "full": (1_000_000,)}, wrt=(0, 2, 3, 4), peers="black_scholes"),
    Kernel("Heston Monte Carlo", heston, heston_hand, heston_arguments,
           {"tiny": (6, 4), "full": (5_000, 100)}, wrt=(0, 1, 2, 3, 4, 5, 6), peers="heston"),
)
