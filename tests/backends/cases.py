"""Modules that the backend tests load, and a way to load them in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from s2sad.backends import Module

TEXT = """import numpy as np


def inner(x):
    return doubled(x) + 1.0


def outer_grad(x):
    total = 0.0
    for i in range(x.size):
        total += inner(x[i])
    return total
"""


def square(x):
    """Helper of the helper."""
    return x * x


def doubled(x):
    """Helper that calls a helper."""
    return 2.0 * square(x)


def module(text: str = TEXT, **changes) -> Module:
    """Return a module of two functions and a runtime helper."""
    given = {
        "name": "outer_grad",
        "text": text,
        "functions": ("inner", "outer_grad"),
        "entry": "outer_grad",
        "runtime": {"doubled": doubled},
    }
    return Module(**(given | changes))


PROGRAM = """
import numpy as np
from tests.backends.cases import module
from s2sad.backends import load
f = load(module(), "cpu")
print(f.entry(np.arange(4.0)))
inner, helper = f.namespace["inner"], f.namespace["doubled"]
hits = lambda d: sum(d.stats.cache_hits.values())
misses = lambda d: sum(d.stats.cache_misses.values())
print(hits(f.entry), misses(f.entry), misses(inner), misses(helper))
"""


def start(cache: Path, program: str = PROGRAM, **env: str) -> subprocess.Popen[str]:
    """Start a fresh interpreter on `program` with its cache in `cache`."""
    root = str(Path(__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": root, "S2SAD_CACHE_DIR": str(cache)} | env,
    )


def finish(process: subprocess.Popen[str]) -> list[str]:
    """Wait for `process`, and return the lines that it printed."""
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.splitlines()


def forget() -> None:
    """Forget what this process has loaded, as a new process would."""
    from s2sad.backends import numba_cpu, python

    numba_cpu._loaded.clear()
    numba_cpu._jitted.clear()
    python._loaded.clear()
