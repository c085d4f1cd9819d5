"""Functions of a derivative that only its others call have no machine code, and are linked into those all the same."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.linspace(0.2, 1.4, 6)


def step(x, k):
    y = np.empty_like(x)
    for i in range(x.size):
        if x[i] < -5.0:
            raise ValueError("a state that is out of range")
        y[i] = x[i] + 0.1 * np.sin(k * x[i])
    return y


def many_steps(x):
    for k in range(4):
        x = step(x, k + 1.0)
    return np.sum(step(x, 0.5) * x)


def test_derivatives():
    assert_derivatives(many_steps, X, "cpu")


def test_an_error_inside_says_what_it_says():
    with pytest.raises(ValueError, match="a state that is out of range"):
        s2sad.grad(many_steps)(X - 9.0)


def test_what_python_calls_is_the_entry_alone():
    view = s2sad.differentiate(many_steps).derivative("grad", types=(X,))
    np.testing.assert_allclose(view(X), s2sad.grad(many_steps, target="python")(X))
    module, namespace = view._loaded.module, view._loaded.namespace
    inner = {name for name, one in module.hints.items() if one.internal}
    assert "step" in inner
    assert module.entry not in inner
    with pytest.raises(SystemError):
        namespace["step"](X, 1.0)


PROGRAM = """
import numpy as np, s2sad
from tests.backends.test_inner import many_steps, X
print(s2sad.grad(many_steps)(X).tolist())
try:
    s2sad.grad(many_steps)(X - 9.0)
except ValueError as error:
    print(error.args)
"""


def test_a_second_process_runs_what_the_first_left_on_disk(tmp_path):
    import os

    scope = {**os.environ, "S2SAD_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run([sys.executable, "-c", PROGRAM], env=scope, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )
    assert first == second
    assert "out of range" in first


def steps_back(x, n):
    return x if n == 0 else steps_back(x * 1.1, n - 1) + x


def test_what_calls_itself_keeps_its_machine_code():
    def total(x):
        return np.sum(steps_back(x, 3) ** 2)

    assert_derivatives(total, X, "cpu")
