"""Times on a GPU: each derivative beside its primal, or beside the fewest bytes that it must move."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda

from tools.bench.cuda.subjects import example


@dataclass(frozen=True)
class Figure:
    """One ratio, and what is aimed at: at most, or for a share of the bandwidth at least, `aim`."""

    name: str
    value: float
    aim: float
    seconds: float


SIZES = {"full": (8192, 32768, 1 << 20, 1 << 24), "tiny": (8, 8, 8, 8)}
"""Edge of the plate, bodies, pendulums, options."""


def measured(size: str, rounds: int) -> list[Figure]:
    """Return the figures for a size of the problems, `"full"` or `"tiny"`."""
    edge, bodies, pendulums, options = SIZES[size]
    bandwidth = _bandwidth(edge * edge, rounds)
    return [
        _diffusion(edge, bandwidth, rounds), _bodies(bodies, rounds), _pendulums(pendulums, rounds),
        _black_scholes(options, bandwidth, rounds),
    ]  # fmt: skip


def seconds(run: Callable[[], Any], rounds: int) -> float:
    """Return the median time of a launch, after one that compiles."""
    run()
    cuda.synchronize()
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        cuda.synchronize()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


@cuda.jit
def _copy(a, b):
    i = cuda.grid(1)
    if i < a.size:
        b[i] = a[i]


def _bandwidth(n: int, rounds: int) -> float:
    a, b = _floats(n), _floats(n)
    return 8.0 * n / seconds(lambda: _copy[-(-n // 256), 256](a, b), rounds)


def _floats(*shape: int, low: float = 0.5, high: float = 1.5, dtype: Any = np.float32) -> Any:
    return cuda.to_device(np.random.default_rng(0).uniform(low, high, shape).astype(dtype))


def _diffusion(edge: int, bandwidth: float, rounds: int) -> Figure:
    step = example("cuda_diffusion.py").diffuse
    u, k, out, u_bar, k_bar, out_bar = (_floats(edge, edge) for _ in range(6))
    grid = (-(-edge // 8), -(-edge // 32)) if edge > 8 else (2, 2)
    block = (8, 32) if edge > 8 else (4, 4)
    took = seconds(lambda: step.adjoint[grid, block](u, u_bar, k, k_bar, out, out_bar), rounds)
    floor = 8 * 4.0 * edge * edge / bandwidth  # u and k are read, three shadows read and written
    return Figure("stencil adjoint / byte floor", took / floor, 1.15, took)


def _bodies(n: int, rounds: int) -> Figure:
    energy = example("cuda_nbody.py").potential
    x, y, mass, out, x_bar, y_bar, out_bar = (_floats(n) for _ in range(7))
    launch = -(-n // 128), min(n, 128)
    alone = seconds(lambda: energy[launch](x, y, mass, out), rounds)
    both = seconds(lambda: (
        energy[launch](x, y, mass, out), energy.adjoint[launch](x, x_bar, y, y_bar, mass, None, out, out_bar)), rounds)
    return Figure("n-body energy and gradient / energy", both / alone, 1.5, both)


def _pendulums(n: int, rounds: int) -> Figure:
    swing = example("cuda_ode.py").pendulum
    angle, damping, final, angle_bar, damping_bar, final_bar = (_floats(n, dtype=np.float64) for _ in range(6))
    launch = -(-n // 128), min(n, 128)
    alone = seconds(lambda: swing[launch](angle, damping, final), rounds)
    took = seconds(lambda: swing.adjoint[launch](angle, angle_bar, damping, damping_bar, final, final_bar), rounds)
    return Figure("ODE gradient / solve", took / alone, 4.5, took)


def _black_scholes(n: int, bandwidth: float, rounds: int) -> Figure:
    greeks = example("cuda_black_scholes.py").greeks
    args = [_floats(n, low=low, high=high) for low, high in ((80, 120), (80, 120), (0.01, 0.05), (0.1, 0.4), (0.2, 2))]
    took = seconds(lambda: greeks(*args), rounds)
    return Figure("Black-Scholes, share of the copy bandwidth", 11 * 4.0 * n / took / bandwidth, 0.8, took)
