"""Memory of large arrays is kept for the next call, unless the user wants malloc as it is."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import s2sad
from s2sad.backends import memory

pytestmark = pytest.mark.skipif(not memory.is_glibc(), reason="malloc is told so on glibc only")

PROGRAM = """
import resource
import numpy as np
import s2sad


def smooth(u):
    v = u * u
    w = v[2:] - 2.0 * v[1:-1] + v[:-2]
    z = np.cos(w) * w
    return np.sum(z * z)


if __name__ == "__main__":
    gradient = s2sad.grad(smooth, target="cpu")
    x = np.linspace(0.0, 1.0, 500_000)
    for _ in range(3):
        gradient(x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        gradient(x)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 5)
"""


def faults(folder, **environment):
    file = folder / "smoothing.py"
    file.write_text(PROGRAM)
    told = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_", "S2SAD_K"))}
    done = subprocess.run(
        [sys.executable, str(file)], env=told | environment, capture_output=True, text=True, check=True, timeout=300
    )
    return int(done.stdout)


def test_pages_are_not_asked_for_again(tmp_path):
    """A page holds 4 kB, an array here 1000 of them."""
    kept = faults(tmp_path)
    assert kept < 200
    assert faults(tmp_path, S2SAD_KEEP_MEMORY="0") > 5 * (kept + 100)


def doubled(x):
    y = np.empty(x.size)
    for i in range(x.size):
        y[i] = x[i] * x[i]
    y[0] = x[1] ** 3
    return np.sum(y * y)


def test_arrays_of_more_than_is_kept():
    x = np.linspace(-1.0, 1.0, (40 << 20) // 8 + 3)
    found = s2sad.grad(doubled, target="cpu")(x)
    expected = 4.0 * x**3
    expected[0] = 0.0
    expected[1] += 6.0 * x[1] ** 5
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("value", ["0", "nonsense", "-3"])
def test_what_leaves_malloc_alone(monkeypatch, value):
    monkeypatch.setenv("S2SAD_KEEP_MEMORY", value)
    assert not memory.keep.__wrapped__()
    monkeypatch.delenv("S2SAD_KEEP_MEMORY")
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1000000")
    assert not memory.keep.__wrapped__()
