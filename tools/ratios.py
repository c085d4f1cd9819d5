"""Measure what a gradient costs: against its primal, against hand-written adjoints, to first use.

Ratios are medians of interleaved runs in one process, with the quartiles of the ratio beside.
"""

from __future__ import annotations

import inspect
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from hand_adjoints import problems, verify
from numba import njit

import s2sad

ROUNDS = 41
FIRST = """
import time
start = time.perf_counter()
from hand_adjoints import quickstart, np
base = time.perf_counter()
import s2sad
imported = time.perf_counter()
s2sad.grad(quickstart.limit_slope, argnums=(0, 1))(np.linspace(0.0, 1.0, 100) ** 2, 0.3)
print(imported - base, time.perf_counter() - imported)
"""


def interleaved(functions, args):
    """Return seconds a call, of shape (ROUNDS, number of functions)."""
    seconds = np.empty((ROUNDS, len(functions)))
    repeats = []
    for function in functions:
        function(*args)
        start = time.perf_counter()
        function(*args)
        repeats.append(max(1, int(2e-3 / (time.perf_counter() - start))))
    for k in range(ROUNDS):
        for j, function in enumerate(functions):
            start = time.perf_counter()
            for _ in range(repeats[j]):
                function(*args)
            seconds[k, j] = (time.perf_counter() - start) / repeats[j]
    return seconds


def quartiles(ratio):
    """Return the median of `ratio` and its quartiles, as text."""
    low, middle, high = np.quantile(ratio, (0.25, 0.5, 0.75))
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def lines(text):
    """Count the lines of code: neither empty, nor comment, nor docstring of one line."""
    code = (line.strip() for line in text.splitlines())
    return sum(bool(line) and not line.startswith(("#", '"""')) for line in code)


def gradients():
    """Print the ratios of each problem."""
    for name, source, primal, hand, args, active in problems():
        wrt = tuple(range(active)) if active > 1 else 0
        decorated = s2sad.differentiate(argnums=wrt)(source)
        ours = decorated.value_and_grad
        verify(f"{name}, by hand", primal, hand, args, active)
        verify(f"{name}, s2sad", primal, ours, args, active)
        seconds = interleaved((primal, hand, ours), args)
        primal_s, hand_s, ours_s = seconds.T
        print(f"{name}: primal {np.median(primal_s) * 1e6:.0f} µs")
        print(f"  gradient / primal           {quartiles(ours_s / primal_s)}")
        print(f"  gradient / hand-written     {quartiles(ours_s / hand_s)}")
        print(f"  hand-written / primal       {quartiles(hand_s / primal_s)}")
        emitted, own = lines(decorated.source("vjp")), lines(inspect.getsource(source))
        print(f"  lines emitted / lines read  {emitted} / {own} = {emitted / own:.1f}")


def product(x, y):
    return x * y + math.sin(x)


@njit
def product_hand(x, y):
    return y + math.cos(x), x


def overhead():
    """Print what one call from Python costs when there is next to nothing to compute."""
    ours = s2sad.grad(product, argnums=(0, 1))
    seconds = interleaved((product_hand, ours), (1.5, 0.5))
    hand, own = np.median(seconds, axis=0) * 1e9
    print(f"call of grad(x*y + sin(x)): {own:.0f} ns; a Numba function by hand: {hand:.0f} ns")


def first_use():
    """Print the time to a first gradient, with an empty cache and with a full one."""
    with tempfile.TemporaryDirectory() as cache:
        env = os.environ | {"S2SAD_CACHE_DIR": cache}
        for state in ("cold", "warm"):
            done = subprocess.run(
                [sys.executable, "-c", FIRST],
                cwd=Path(__file__).parent,
                env=env,
                check=True,
                capture_output=True,
                text=True,
            )
            imported, gradient = (float(word) for word in done.stdout.split())
            print(f"{state}: import s2sad {imported:.2f} s, first gradient {gradient:.2f} s")


def main():
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}")
    gradients()
    overhead()
    first_use()


if __name__ == "__main__":
    main()
