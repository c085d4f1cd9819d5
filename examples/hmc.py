"""Hamiltonian Monte Carlo on a hierarchical model: eight schools.

The effect of coaching in eight schools (D. B. Rubin, 1981): each school's effect is drawn around a
common mean, and measured with a known error. The sampler follows the gradient of the log-density
(R. M. Neal, "MCMC using Hamiltonian dynamics", 2011). The effects are scaled by their own spread, so
that the sampler need not squeeze through a funnel.

    python examples/hmc.py [figure.svg]
"""

import sys

import numpy as np

import s2sad

EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def log_density(q):
    """Return the logarithm of the posterior density of (mean, log spread, eight scaled effects)."""
    mean, log_spread = q[0], q[1]
    spread = np.exp(log_spread)
    total = -0.5 * (mean / 5.0) ** 2 + log_spread - np.log(1.0 + (spread / 5.0) ** 2)
    for school in range(EFFECT.size):
        total -= 0.5 * q[2 + school] ** 2
        total -= 0.5 * ((EFFECT[school] - mean - spread * q[2 + school]) / ERROR[school]) ** 2
    return total


def sample(rng, count, step=0.18, leaps=15):
    """Return `count` draws, of shape (count, 10), and the share of proposals that were taken."""
    value_and_grad = s2sad.value_and_grad(log_density)
    q = np.zeros(2 + EFFECT.size)
    value, slope = value_and_grad(q)
    draws, taken = np.empty((count, q.size)), 0
    for k in range(count):
        p = rng.normal(size=q.size)
        energy = value - 0.5 * p @ p
        new, new_slope = q, slope
        for _ in range(leaps):
            p = p + 0.5 * step * new_slope
            new = new + step * p
            new_value, new_slope = value_and_grad(new)
            p = p + 0.5 * step * new_slope
        if np.log(rng.uniform()) < new_value - 0.5 * p @ p - energy:
            q, value, slope, taken = new, new_value, new_slope, taken + 1
        draws[k] = q
    return draws, taken / count


def main():
    draws, taken = sample(np.random.default_rng(0), 6_000)
    draws = draws[1_000:]
    spread = np.exp(draws[:, 1])
    effects = draws[:, :1] + spread[:, None] * draws[:, 2:]
    print(f"{taken:.0%} of the proposals taken")
    print(f"mean effect {draws[:, 0].mean():.1f} ± {draws[:, 0].std():.1f},  spread {spread.mean():.1f}")
    for school, (seen, values) in enumerate(zip(EFFECT, effects.T, strict=True)):
        print(f"school {'ABCDEFGH'[school]}  measured {seen:5.1f}  estimated {values.mean():5.1f} ± {values.std():.1f}")
    if len(sys.argv) > 1:
        draw(sys.argv[1], effects)


def draw(path, effects):
    import matplotlib.pyplot as plt

    plt.boxplot(effects, tick_labels=list("ABCDEFGH"), showfliers=False)
    plt.plot(range(1, 9), EFFECT, "x")
    plt.ylabel("effect (points)")
    plt.savefig(path)


if __name__ == "__main__":
    main()
