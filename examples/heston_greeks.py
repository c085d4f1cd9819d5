"""Greeks of a call option under stochastic volatility: all seven in one reverse sweep.

The price is a Monte Carlo average over paths of S. L. Heston's model (1993), whose variance moves
too. Its derivatives by every parameter are the Greeks: what a trader hedges. One adjoint sweep gives
them all at the cost of a few simulations (M. Giles and P. Glasserman, "Smoking adjoints", 2006);
bumping each parameter needs two simulations for each.

    python examples/heston_greeks.py [figure.svg]
"""

import math
import sys
import time

import numpy as np

import s2sad

NAMES = ("spot", "variance", "reversion", "mean variance", "vol of vol", "correlation", "rate")
PARAMETERS = np.array([100.0, 0.05, 3.0, 0.05, 0.25, -0.6, 0.02])
STRIKE, MATURITY = 100.0, 1.0  # currency, years


def price(p, draws, strike, maturity):
    """Return the price of a call; `draws` are normal numbers of shape (paths, steps, 2)."""
    paths, steps = draws.shape[0], draws.shape[1]
    dt = maturity / steps
    other = math.sqrt(1.0 - p[5] * p[5])
    total = 0.0
    for k in range(paths):
        log_spot, variance = math.log(p[0]), p[1]
        for i in range(steps):
            positive = max(variance, 0.0)
            noise = math.sqrt(positive * dt + 1e-14)
            along = p[5] * draws[k, i, 0] + other * draws[k, i, 1]
            log_spot += (p[6] - 0.5 * positive) * dt + noise * along
            variance += p[2] * (p[3] - positive) * dt + p[4] * noise * draws[k, i, 0]
        payoff = math.exp(log_spot) - strike
        if payoff > 0.0:
            total += payoff
    return math.exp(-p[6] * maturity) * total / paths


def bumped(f, p, *rest):
    """Return the derivatives by central differences, on the same random numbers."""
    found = np.empty(p.size)
    for i in range(p.size):
        step = np.zeros(p.size)
        step[i] = 1e-5 * max(abs(p[i]), 0.1)
        found[i] = (f(p + step, *rest) - f(p - step, *rest)) / (2.0 * step[i])
    return found


def main():
    draws = np.random.default_rng(0).normal(size=(20_000, 50, 2))
    call = s2sad.differentiate(price)
    rest = (draws, STRIKE, MATURITY)
    call.value_and_grad(PARAMETERS, *rest), call(PARAMETERS, *rest)
    start = time.perf_counter()
    value, greeks = call.value_and_grad(PARAMETERS, *rest)
    adjoint = time.perf_counter() - start
    start = time.perf_counter()
    differences = bumped(call, PARAMETERS, *rest)
    bumping = time.perf_counter() - start
    print(f"price {value:.4f}")
    for name, greek, difference in zip(NAMES, greeks, differences, strict=True):
        print(f"by {name:14}{greek:10.4f}   bumped {difference:10.4f}")
    print(f"one reverse sweep {adjoint * 1e3:.0f} ms, bumping {bumping * 1e3:.0f} ms")
    if len(sys.argv) > 1:
        draw(sys.argv[1], call, rest)


def draw(path, call, rest):
    import matplotlib.pyplot as plt

    spots = np.linspace(70.0, 130.0, 25)
    points = [np.concatenate(([spot], PARAMETERS[1:])) for spot in spots]
    greeks = np.array([call.grad(point, *rest) for point in points])
    plt.plot(spots, greeks[:, 0], label="by spot (delta)")
    plt.plot(spots, greeks[:, 1] / 100, label="by variance, hundredths (vega)")
    plt.xlabel("spot")
    plt.legend()
    plt.savefig(path)


if __name__ == "__main__":
    main()
