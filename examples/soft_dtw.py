"""The mean of curves that are alike but out of step, by soft dynamic time warping.

The average of shifted bumps is a smear. A curve that is close to all of them under time warping keeps
their form; it is found by descent along the derivative of a dynamic programme, written as its table.

Source of the algorithm: Cuturi and Blondel, "Soft-DTW: a differentiable loss function for
time-series", ICML 2017.
"""

import sys

import numpy as np
from scipy.optimize import minimize

import s2sad

FAR = 1e10  # stands for infinity at the border, where no path begins
GAMMA = 0.1


def soft_dtw(a, b, gamma):
    """Return the soft minimum, over all ways to align `a` with `b`, of the summed squared distances."""
    cost = np.full((a.size + 1, b.size + 1), FAR)
    cost[0, 0] = 0.0
    for i in range(a.size):
        for j in range(b.size):
            above, left, corner = -cost[i, j + 1] / gamma, -cost[i + 1, j] / gamma, -cost[i, j] / gamma
            largest = max(above, left, corner)
            total = np.exp(above - largest) + np.exp(left - largest) + np.exp(corner - largest)
            cost[i + 1, j + 1] = (a[i] - b[j]) ** 2 - gamma * (np.log(total) + largest)
    return cost[a.size, b.size]


def spread(mean, curves, gamma):
    """Return the mean soft distance of `mean`, (n,), from `curves`, (count, n)."""
    total = 0.0
    for k in range(curves.shape[0]):
        total += soft_dtw(mean, curves[k], gamma)
    return total / curves.shape[0]


def bumps(count=8, n=60):
    """Return curves with a high and a low bump, each at its own time and speed, and a little noise."""
    rng = np.random.default_rng(1)
    times = np.linspace(0.0, 1.0, n)
    start, length = rng.uniform(0.1, 0.35, count), rng.uniform(0.25, 0.45, count)
    phase = (times[None, :] - start[:, None]) / length[:, None]
    form = np.exp(-((phase - 0.25) ** 2) / 0.02) - 0.6 * np.exp(-((phase - 0.9) ** 2) / 0.04)
    return form + 0.02 * rng.normal(size=form.shape)


def main():
    curves = bumps()
    f = s2sad.differentiate(spread)
    start = curves.mean(axis=0)
    fit = minimize(f.value_and_grad, start, (curves, GAMMA), jac=True, method="L-BFGS-B", options={"maxiter": 100})
    print(f"mean distance {f(start, curves, GAMMA):.3f} of the average, {fit.fun:.3f} after {fit.nit} iterations")
    height = np.mean(curves.max(axis=1))
    print(f"height of the bump {height:.2f} in the curves, {start.max():.2f} in the average, {fit.x.max():.2f} found")
    if len(sys.argv) > 1:
        draw(sys.argv[1], curves, start, fit.x)


def draw(path, curves, average, found):
    import matplotlib.pyplot as plt

    plt.plot(curves.T, color="0.8")
    plt.plot(average, "--", label="average")
    plt.plot(found, label="mean under time warping")
    plt.legend()
    plt.savefig(path)


if __name__ == "__main__":
    main()
