"""How the cost of a gradient grows with the steps of an integrator: ten states, RK4."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import s2sad
from tools.bench.kernel import compiled
from tools.bench.kernels import ode
from tools.bench.measure import interleaved, peak
from tools.bench.tuning import levers, tuned

STATES = 10
STEPS = (10, 100, 1_000, 10_000, 100_000, 1_000_000)


@compiled
def run_segment(tape, count, forcing, k, total, middle):
    """Write `count` states after the first into the rows of `tape`."""
    for t in range(count):
        ode.step_of(tape[t], forcing, k, total, middle, tape[t + 1])


@compiled
def gradient_by_segments(x0, forcing, steps):
    """Return the gradient as `ode.runge_kutta_hand` does, in about sqrt(steps) segments: two forward sweeps."""
    n = x0.size
    length = max(1, int(math.sqrt(steps)))
    count = (steps + length - 1) // length
    starts, tape = np.empty((count + 1, n)), np.empty((length + 1, n))
    starts[0] = x0
    k, x2, x3, x4 = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    pulled, total = np.empty(n), np.empty(n)
    for segment in range(count):
        inside = min(length, steps - segment * length)
        tape[0] = starts[segment]
        run_segment(tape, inside, forcing, k, total, x2)
        starts[segment + 1] = tape[inside]
    x_bar, forcing_bar = 2.0 * starts[count], np.zeros(n)
    for segment in range(count - 1, -1, -1):
        inside = min(length, steps - segment * length)
        tape[0] = starts[segment]
        run_segment(tape, inside, forcing, k, total, x2)
        for t in range(inside - 1, -1, -1):
            ode.stages_of(tape[t], forcing, k, x2, x3, x4)
            ode.pull_back(tape[t], x2, x3, x4, x_bar, forcing_bar, k, pulled, total)
    return x_bar, forcing_bar


def runge_kutta_by_segments(x0, forcing, steps):
    """`ode.runge_kutta`, of which only the state before each of about sqrt(steps) segments is kept."""
    x = x0.copy()
    n = x.size
    k1, k2, k3, k4, mid = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    h = 0.01
    with s2sad.checkpoint():
        for _ in range(steps):
            ode.advection(x, forcing, k1)
            ode.move(x, 0.5 * h, k1, mid)
            ode.advection(mid, forcing, k2)
            ode.move(x, 0.5 * h, k2, mid)
            ode.advection(mid, forcing, k3)
            ode.move(x, h, k3, mid)
            ode.advection(mid, forcing, k4)
            for i in range(n):
                x[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i])
    return np.sum(x * x)


def arguments(steps: int) -> tuple[Any, ...]:
    """Return a start and a forcing whose motion is periodic, so that gradients neither vanish nor overflow."""
    return 2.0 + 0.1 * np.random.default_rng(0).normal(size=STATES), np.full(STATES, 2.0), steps


def measured(steps: int, rounds: int, budget: float) -> dict[str, Any]:
    """Return seconds by contestant and round, and peak bytes by contestant."""
    args = arguments(steps)
    tape, segments = tuned(ode.runge_kutta_hand), tuned(gradient_by_segments)
    with levers():
        tape(*args)
        segments(*args)
    runs = {"primal": ode.runge_kutta, "hand, tape": tape, "hand, segments": segments,
            "s2sad": s2sad.grad(ode.runge_kutta, argnums=(0, 1))}
    runs["s2sad, checkpointed"] = s2sad.grad(runge_kutta_by_segments, argnums=(0, 1))
    seconds = interleaved(list(runs.values()), [args] * len(runs), rounds, budget)
    return {
        "steps": steps,
        "seconds": {name: list(column) for name, column in zip(runs, seconds.T, strict=True)},
        "bytes": {name: peak(lambda run=run: run(*args)) for name, run in runs.items()},
    }
