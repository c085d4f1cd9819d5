"""What the adjoint of a helper works in is made once, by the caller whose loop calls it."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives
from tests.unit.test_ends import compiled_text
from tests.unit.test_workspaces import creations

X = np.random.default_rng(7).normal(size=9)


def slope_of(x, slope):
    """Write what neighbours make of each element: the adjoint lays down what it sends to them."""
    for i in range(2, x.size - 1):
        slope[i] = (x[i + 1] - x[i - 2]) * x[i - 1] - x[i]


def stages(x0):
    """Two calls in every step."""
    x = x0.copy()
    slope, middle = np.zeros(x.size), np.empty(x.size)
    for _ in range(5):
        slope_of(x, slope)
        for i in range(x.size):
            middle[i] = x[i] + 0.05 * slope[i]
        slope_of(middle, slope)
        for i in range(x.size):
            x[i] += 0.1 * slope[i]
    return np.sum(x * x)


def step(x, slope):
    """Hand on to another helper, twice."""
    slope_of(x, slope)
    for i in range(x.size):
        x[i] += 0.1 * slope[i]
    slope_of(x, slope)
    for i in range(x.size):
        x[i] -= 0.02 * slope[i]


def through_another(x0):
    """The loop calls a helper that calls the helper."""
    x, slope = x0.copy(), np.zeros(x0.size)
    for _ in range(4):
        step(x, slope)
    return np.sum(np.sin(x))


def smoothed_into(out, x):
    """Write into a work array of two lengths, only as far as the numbers given say."""
    work = np.zeros((2, x.size + 1))
    for i in range(x.size):
        work[0, i + 1] = np.sin(x[i])
        work[1, i] = x[i] * x[i]
    for i in range(x.size):
        out[i] += work[0, i] * work[1, i] + work[0, i + 1]


def with_a_work_array(x0):
    """The helper's own array."""
    x, out = x0.copy(), np.zeros(x0.size)
    for _ in range(3):
        smoothed_into(out, x)
        for i in range(x.size):
            x[i] = np.cos(out[i]) * x[i]
    return np.sum(x * out)


def shorter(x, out, count):
    """Set as many elements as a number says: the others are zero in every call."""
    work = np.zeros(x.size)
    for i in range(count):
        work[i] = x[i] * x[i]
    for i in range(x.size):
        out[i] += work[i] * x[x.size - 1 - i] * (i + 1.0)


def of_a_number(x0):
    """Longest first: what a call has left must not be found by the next."""
    x, out = x0.copy(), np.zeros(x0.size)
    for k in range(x0.size, 0, -1):
        shorter(x, out, k)
        for i in range(x.size):
            x[i] = np.sin(x[i] + 0.1 * out[i])
    return np.sum(x)


def of_two_lengths(x0):
    """One helper, arrays of two lengths."""
    x, y = x0.copy(), x0[2:] * 2.0
    slope, other = np.zeros(x.size), np.zeros(y.size)
    for _ in range(3):
        slope_of(x, slope)
        slope_of(y, other)
        for i in range(y.size):
            x[i] += 0.1 * slope[i] * y[i]
            y[i] += 0.1 * other[i]
    return np.sum(x) + np.sum(y * y)


def called_once(x0):
    """No loop: nothing is gained."""
    slope = np.zeros(x0.size)
    slope_of(x0, slope)
    return np.sum(slope * slope)


def by_itself(x, out, depth):
    """Recursion needs an array for each call."""
    for i in range(1, x.size - 1):
        out[i] += (x[i + 1] - x[i - 1]) * x[i] * depth
    if depth > 0:
        by_itself(out, x, depth - 1)


def recursive(x0):
    x, out = x0.copy(), np.cos(x0)
    for _ in range(2):
        by_itself(x, out, 2)
    return np.sum(x * out)


EVERY = [stages, through_another, with_a_work_array, of_a_number, of_two_lengths, called_once, recursive]


def made_in(text: str, function: str) -> list[str]:
    """Return the arrays that a function of a text makes."""
    (found,) = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == function]
    makes = [n for n in ast.walk(found) if isinstance(n, ast.Assign) and "np." in ast.unparse(n.value)]
    return [ast.unparse(n.targets[0]) for n in makes if ast.unparse(n.value).startswith(("np.zeros(", "np.empty("))]


@pytest.mark.parametrize("fun", EVERY)
def test_derivatives(fun: Any) -> None:
    for n in (9, 5):
        assert_derivatives(fun, X[:n].copy(), "cpu")


@pytest.mark.parametrize("fun", EVERY)
def test_pullbacks_any_number_of_times(fun: Any) -> None:
    _, pullback = s2sad.vjp(fun, X.copy())
    want = s2sad.grad(fun, target="python")(X)
    for factor in (1.0, 2.0, 1.0):
        np.testing.assert_allclose(pullback(factor)[0], factor * want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("fun", "helper"), [(stages, "slope_of_bwd"), (through_another, "step_bwd")])
def test_the_caller_makes_it_before_its_loop(fun: Any, helper: str) -> None:
    text = compiled_text(fun, X)
    assert not made_in(text, helper), text
    assert "np.copy" not in text.split(f"def {helper}")[1].split("\ndef ")[0]
    assert not creations("def " + text.split("\ndef ")[-1], inside=True)
    assert {"parts", "difference_bars"} <= set(made_in(text, f"{fun.__name__}_grad"))


def test_zeros_stay_where_every_call_sets_the_same_elements() -> None:
    text = compiled_text(stages, X)
    assert "parts = np.zeros(" in text
    assert "parts[:] = 0.0" not in text


def test_zeros_are_set_where_a_number_says_which_elements_are_set() -> None:
    text = compiled_text(of_a_number, X)
    assert "work = np.empty(" in text.split("def of_a_number_grad")[1]
    assert "work[:] = 0.0" in text.split("def shorter_bwd")[1]


def test_recursion_makes_its_own() -> None:
    text = compiled_text(recursive, X)
    itself = re.search(r"def (\w+)\(.*?\):\n(?:    .*\n)+?    .*\b\1\(", text.split("_bwd", 1)[1])
    assert itself is None or "room to" not in itself[0]
    assert "np.zeros(x_bar.shape[0]" in text


def test_the_user_s_own_helper_stays_as_it_is() -> None:
    assert "def shorter(x, out, count):\n    work = np.zeros(x.size)\n" in compiled_text(of_a_number, X)


def hints_of(fun: Any, *args: Any) -> dict[str, frozenset[str]]:
    """Return the arrays that are told to the compiler to lie apart, by function."""
    made = s2sad.grad(fun)
    made(*args)
    derivative = made.store.find(args)[0].entry.derivative
    return {name: one.alone for name, one in derivative.module.hints.items()}


def test_arrays_that_lie_apart_are_known() -> None:
    alone = hints_of(stages, X)
    assert {"x", "slope", "x_bar", "slope_bar"} <= alone["slope_of_bwd"]
    assert not alone["stages_grad"]


def moved_into(a, b, out):
    for i in range(a.size):
        out[i] += np.sin(a[i]) * b[i] + 0.1 * out[i - 1]


def rows_of_one_array(x0):
    """What is written is a row of the array of which others are read."""
    rows = np.zeros((3, x0.size))
    rows[0] = x0
    rows[1] = x0 * x0
    for _ in range(3):
        moved_into(rows[0], rows[1], rows[2])
    return np.sum(rows[2] ** 2)


def one_array_twice(x0):
    """What is only read may be one array."""
    out = np.zeros(x0.size)
    for _ in range(3):
        moved_into(x0, x0, out)
    return np.sum(out**2)


@pytest.mark.parametrize("fun", [rows_of_one_array, one_array_twice])
def test_what_may_be_one_array_is_not_told_to_lie_apart(fun: Any) -> None:
    assert_derivatives(fun, X, "cpu")
    for name, alone in hints_of(fun, X).items():
        if name == "moved_into" and fun is rows_of_one_array:
            assert not alone & {"a", "b", "out"}
        if name == "moved_into_bwd":
            assert not alone & {"a_bar", "b_bar"}
