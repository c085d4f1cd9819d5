"""The text of an exception that was caught, where it is printed or made a text of."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from s2sad.errors import S2SADError

GOOD = np.array([2.0, 3.0])
BAD = np.array([-2.0, 3.0])


def printed(x):
    try:
        if (x <= 0).any():
            raise ValueError("infeasible")
        return np.log(x).sum()
    except ValueError as e:
        print("warn:", e)
        return -10.0 * x[0]


def printed_with_a_number(x):
    try:
        if x[0] <= 0:
            raise ValueError(f"infeasible: {x[0]}")
        return np.log(x).sum()
    except ValueError as e:
        print(e)
        return -10.0 * x[0]


def in_a_text(x):
    try:
        if x[0] <= 0:
            raise ValueError("infeasible")
        return np.log(x).sum()
    except ValueError as e:
        print(f"warn: {e}!", str(e))
        return -10.0 * x[0]


SAYING = [(printed, "warn: infeasible\n"), (printed_with_a_number, "infeasible: -2.0\n"),
          (in_a_text, "warn: infeasible! infeasible\n")]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(("fun", "text"), SAYING)
def test_it_is_printed(fun, text, target, capfd):
    value, gradient = s2sad.value_and_grad(fun, target=target)(BAD)
    assert value == 20.0
    np.testing.assert_array_equal(gradient, [-10.0, 0.0])
    assert capfd.readouterr().out == text
    np.testing.assert_allclose(s2sad.grad(fun, target=target)(GOOD), 1.0 / GOOD)
    assert not capfd.readouterr().out


def asked_for_its_arguments(x):
    try:
        if x[0] <= 0:
            raise ValueError("infeasible")
        return np.log(x).sum()
    except ValueError as e:
        return len(e.args) * x[0]


def raised_with_two(x):
    try:
        if x[0] <= 0:
            raise ValueError("infeasible", 3)
        return np.log(x).sum()
    except ValueError as e:
        print(e)
        return x[0]


@pytest.mark.parametrize("fun", [asked_for_its_arguments, raised_with_two])
def test_anything_else_of_it_is_refused(fun):
    with pytest.raises(S2SADError, match="the exception that was caught"):
        s2sad.grad(fun)(GOOD)


def test_tolerances_that_are_whole_numbers():
    def root(x):
        b = x.copy()
        for _ in range(9):
            better = 0.5 * (b + x / b)
            if np.allclose(better, b, atol=1e-12, rtol=0):
                break
            b = better
        return np.sum(b)

    np.testing.assert_allclose(s2sad.grad(root)(GOOD), 0.5 / np.sqrt(GOOD), rtol=1e-9)
