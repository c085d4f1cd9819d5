"""Fit the Lotka-Volterra equations to a famous record of furs, through a Runge-Kutta loop.

The Hudson's Bay Company counted hare and lynx pelts. The model is

    hare' = a hare - b hare lynx,    lynx' = -c lynx + d hare lynx

and the fit finds a, b, c, d and both initial populations, in logarithms, by least squares on
logarithms.

Source of the data, thousands of pelts, 1900 to 1920: Howard, P. (2009), "Modeling basics",
lecture notes for Math 442, Texas A&M University, after Hewitt, C. G. (1921), "The Conservation of
the Wild Life of Canada"; fitted by B. Carpenter (2018), "Predator-prey population dynamics", a
case study for Stan, which finds 0.55, 0.028, 0.80, 0.024 by Bayesian inference.
"""

import sys

import numpy as np
from scipy.optimize import minimize

import s2sad

YEARS = np.arange(1900, 1921)
# fmt: off
HARE = np.array(
    [30, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22, 25.4, 27.1,
     40.3, 57, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7]
)
LYNX = np.array(
    [4, 6.1, 9.8, 35.2, 59.4, 41.7, 19, 13, 8.3, 9.1, 7.4,
     8, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6]
)
# fmt: on
LOG_PELTS = np.log(np.stack((HARE, LYNX), axis=1))
STEPS_PER_YEAR = 100


def rate(rates, state, slope):
    """Write the time derivative of `state`, (hare, lynx), into `slope`; per year."""
    slope[0] = rates[0] * state[0] - rates[1] * state[0] * state[1]
    slope[1] = rates[3] * state[0] * state[1] - rates[2] * state[1]


def move(state, step, slope, moved):
    """Write `state + step * slope` into `moved`."""
    for i in range(2):
        moved[i] = state[i] + step * slope[i]


def misfit(params):
    """Return the sum of squared errors of the logarithms, over 21 years and both species.

    `params` has shape (6,): the logarithms of a, b, c, d, hare and lynx in 1900.
    """
    rates = np.exp(params[:4])
    state = np.exp(params[4:])
    mid, k1, k2, k3, k4 = np.empty(2), np.empty(2), np.empty(2), np.empty(2), np.empty(2)
    h = 1.0 / STEPS_PER_YEAR
    total = 0.0
    for year in range(LOG_PELTS.shape[0]):
        if year > 0:
            for _ in range(STEPS_PER_YEAR):
                rate(rates, state, k1)
                move(state, 0.5 * h, k1, mid)
                rate(rates, mid, k2)
                move(state, 0.5 * h, k2, mid)
                rate(rates, mid, k3)
                move(state, h, k3, mid)
                rate(rates, mid, k4)
                for i in range(2):
                    state[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i])
        for i in range(2):
            total += (np.log(state[i]) - LOG_PELTS[year, i]) ** 2
    return total


START = np.log([0.5, 0.025, 0.8, 0.025, HARE[0], LYNX[0]])


def main():
    f = s2sad.differentiate(misfit)
    fit = minimize(f.value_and_grad, START, jac=True, method="BFGS")
    a, b, c, d, hare, lynx = np.exp(fit.x)
    print(f"misfit {f(START):.3f} before, {fit.fun:.3f} after {fit.nit} iterations")
    print(f"hare' = {a:.3f} hare - {b:.4f} hare lynx,  from {hare:.1f} thousand in 1900")
    print(f"lynx' = -{c:.3f} lynx + {d:.4f} hare lynx,  from {lynx:.1f} thousand in 1900")
    print(f"period of the small cycle {2 * np.pi / np.sqrt(a * c):.1f} years (observed: about 10)")
    typical = np.exp(np.sqrt(fit.fun / LOG_PELTS.size))
    print(f"typical error: a factor of {typical:.2f}")
    if len(sys.argv) > 1:
        picture(sys.argv[1], fit.x)


def picture(path, params):
    import matplotlib.pyplot as plt

    rates, state, slope, mid = np.exp(params[:4]), np.exp(params[4:]), np.empty(2), np.empty(2)
    h = 1.0 / STEPS_PER_YEAR
    times = np.arange(0.0, YEARS.size - 1, h)
    path_of = np.empty((times.size, 2))
    for row in range(times.size):  # the midpoint rule is enough for the eye
        path_of[row] = state
        rate(rates, state, slope)
        move(state, 0.5 * h, slope, mid)
        rate(rates, mid, slope)
        state = state + h * slope
    for species, pelts, colour in ((0, HARE, "C0"), (1, LYNX, "C1")):
        plt.plot(YEARS[0] + times, path_of[:, species], colour, label=("hare", "lynx")[species])
        plt.plot(YEARS, pelts, "o", color=colour)
    plt.ylabel("thousands of pelts")
    plt.legend()
    plt.savefig(path)


if __name__ == "__main__":
    main()
