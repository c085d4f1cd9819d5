"""See inside a plate: recover its conductivity from a few noisy thermometers.

A square plate is heated at its centre and held at zero at its rim. Its conductivity is 1 except
for a hidden bar of 3. An explicit scheme takes thousands of steps over one array, in place in
turn with a second one; the gradient with respect to every cell's conductivity goes back through
all of them.
"""

import sys

import numpy as np
from scipy.optimize import minimize

import s2sad

N = 17  # cells along a side
SIDE = 1.0  # m
DT = 0.2 * (SIDE / (N - 1)) ** 2 / 4.0  # s; stable for conductivities below 4 m²/s
STEPS = 2000
EVERY = 40  # a thermometer is read every so many steps
NOISE = 0.005  # K
SMOOTHNESS = 2e-5


def advance(u, flow, k, heat):
    """Take one explicit step of u' = div(k grad u) + heat, in place; `flow` is scratch space."""
    n = u.shape[0]
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            here = k[i, j]
            flow[i, j] = (
                0.5 * (here + k[i + 1, j]) * (u[i + 1, j] - u[i, j])
                - 0.5 * (here + k[i - 1, j]) * (u[i, j] - u[i - 1, j])
                + 0.5 * (here + k[i, j + 1]) * (u[i, j + 1] - u[i, j])
                - 0.5 * (here + k[i, j - 1]) * (u[i, j] - u[i, j - 1])
            )
    scale = DT * (n - 1) ** 2 / SIDE**2
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            u[i, j] += scale * flow[i, j] + DT * heat[i, j]


def misfit(log_k, heat, readings):
    """Return the mean squared error of the simulated readings, plus a smoothness penalty.

    `log_k`: (N * N,), logarithm of the conductivity; `heat`: (N, N) in K/s; `readings`:
    (STEPS // EVERY, N, N) in K, NaN where there is no thermometer.
    """
    k = np.exp(log_k).reshape(N, N)
    u = np.zeros((N, N))
    flow = np.zeros((N, N))
    total = 0.0
    for step in range(STEPS):
        advance(u, flow, k, heat)
        if (step + 1) % EVERY == 0:
            seen = readings[step // EVERY]
            for i in range(N):
                for j in range(N):
                    if seen[i, j] == seen[i, j]:
                        total += (u[i, j] - seen[i, j]) ** 2
    rough = 0.0
    for i in range(N * (N - 1)):
        rough += (log_k[i + N] - log_k[i]) ** 2
    for i in range(N * N - 1):
        if (i + 1) % N != 0:
            rough += (log_k[i + 1] - log_k[i]) ** 2
    return total / (STEPS // EVERY) + SMOOTHNESS * rough


def plate():
    """Return the true conductivity and the heating, both (N, N)."""
    k = np.ones((N, N))
    k[4:7, 3:14] = 3.0
    x = np.linspace(-0.5, 0.5, N) * SIDE
    heat = 40.0 * np.exp(-(x[:, None] ** 2 + x[None, :] ** 2) / 0.05)
    return k, heat


def measure(k, heat):
    """Return noisy readings of every second cell, NaN elsewhere."""
    rng = np.random.default_rng(0)
    u, flow = np.zeros((N, N)), np.zeros((N, N))
    readings = np.full((STEPS // EVERY, N, N), np.nan)
    for step in range(STEPS):
        advance(u, flow, k, heat)
        if (step + 1) % EVERY == 0:
            readings[step // EVERY, 1:-1:2, 1:-1:2] = u[1:-1:2, 1:-1:2]
    return readings + NOISE * rng.normal(size=readings.shape)


def draw(k):
    """Return the plate as text: darker where it conducts better."""
    shades = " .:-=+*#%@"
    level = np.clip((k - 0.75) / 2.5 * len(shades), 0, len(shades) - 1).astype(int)
    return ["".join(shades[cell] * 2 for cell in row) for row in level]


def main():
    truth, heat = plate()
    readings = measure(truth, heat)
    f = s2sad.differentiate(misfit)
    start = np.zeros(N * N)
    fit = minimize(
        f.value_and_grad, start, (heat, readings), "L-BFGS-B", jac=True, options={"maxiter": 150}
    )
    found = np.exp(fit.x).reshape(N, N)
    print(f"misfit {f(start, heat, readings):.5f} before, {fit.fun:.5f} after {fit.nit} iterations")
    print(f"{'true conductivity':{2 * N}}   recovered from {8 * 8} thermometers")
    for left, right in zip(draw(truth), draw(found), strict=True):
        print(f"{left}   {right}")
    inside = (slice(1, -1), slice(1, -1))
    correlation = np.corrcoef(np.log(truth[inside]).ravel(), np.log(found[inside]).ravel())[0, 1]
    print(f"correlation of the logarithms {correlation:.2f}")
    if len(sys.argv) > 1:
        picture(sys.argv[1], truth, found)


def picture(path, truth, found):
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 2, sharey=True)
    for axis, k, title in zip(axes, (truth, found), ("true conductivity", "recovered"), strict=True):
        drawn = axis.imshow(k, vmin=0.5, vmax=3.0)
        axis.set_title(title)
    plt.colorbar(drawn, ax=axes)
    plt.savefig(path)


if __name__ == "__main__":
    main()
