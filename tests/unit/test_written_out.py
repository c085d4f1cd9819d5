"""Helpers written out in the function that calls them, and those that only the machine code has in their callers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import s2sad
from tests.differences import differences

X = np.array([0.7, -0.4, 1.3])
W = np.array([[0.3, -0.8, 0.5], [0.9, 0.2, -0.4]])


def text_of(fun, *args, target="python"):
    return s2sad.differentiate(fun, target=target).source("grad", args)


def bend(w, v):
    hidden = np.tanh(w @ v)
    return hidden * hidden


def cost(v, w):
    bent = bend(w, v)
    return np.sum(bent * bent)


def test_a_helper_called_once_is_run_once():
    text = text_of(cost, X, W)
    assert text.count("def ") == 1
    assert text.count("tanh") == 1, "the hidden layer is kept, not computed again"
    np.testing.assert_allclose(s2sad.grad(cost, target="python")(X, W), differences(lambda x: cost(x, W), X), rtol=1e-7)


def drift(u, rate, slope):
    slope[0] = rate * u[0] - u[0] * u[1]
    slope[1] = u[0] * u[1] - u[1]


def orbit(rate, steps):
    u, k, m = np.array([1.1, 0.4]), np.empty(2), np.empty(2)
    for _ in range(steps):
        drift(u, rate, k)
        m[0], m[1] = u[0] + 0.05 * k[0], u[1] + 0.05 * k[1]
        drift(m, rate, k)
        u[0] += 0.1 * k[0]
        u[1] += 0.1 * k[1]
    return u[0] * u[1]


def in_one_place(rate, steps):
    """The helper writes a row of an array: a view by another name."""
    rows = np.empty((steps + 1, 2))
    rows[0, 0], rows[0, 1] = 1.1, 0.4
    for s in range(steps):
        drift(rows[s], rate, rows[s + 1])
    return rows[steps, 0] * rows[steps, 1] + rows[1, 0]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [orbit, in_one_place])
def test_helpers_that_write_their_argument_inside_a_loop(fun, target):
    slope = s2sad.grad(fun, target=target)(1.3, 6)
    np.testing.assert_allclose(slope, differences(lambda r: fun(r, 6), np.float64(1.3)), rtol=1e-6)
    np.testing.assert_allclose(s2sad.jvp(fun, (1.3, 6), (1.0, None), target=target)[1], slope, rtol=1e-12)


def test_a_helper_called_twice_in_a_loop_stays_a_function_that_is_compiled_into_its_caller():
    made = s2sad.differentiate(orbit, target="cpu")._entry("grad", (1.3, 6)).derivative
    names = re.findall(r"def (\w+)", made.text)
    assert names == ["drift", "drift_bwd", "orbit_grad"]
    assert [made.module.hints[name].into_callers for name in names] == [True, True, False]


def scan(x, w, count):
    """A helper with arrays in a loop: what it keeps is not kept for every step."""
    total = 0.0
    for i in range(count):
        total += np.sum(bend(w * (1.0 + i), x))
    return total


def test_a_helper_of_arrays_stays_where_a_loop_calls_it():
    assert "def bend_bwd(" in text_of(scan, X, W, 3)
    found = s2sad.grad(scan, target="python")(X, W, 3)
    np.testing.assert_allclose(found, differences(lambda x: scan(x, W, 3), X), rtol=1e-6)


def factorial_like(x, n):
    return 1.0 if n == 0 else x * n * factorial_like(x, n - 1)


def calls_itself(x):
    return factorial_like(x, 4) + x


def early(x):
    if x > 1.0:
        return x * x
    return np.sin(x)


def calls_early(x):
    return early(x) * early(x + 1.0)


@pytest.mark.parametrize("fun", [calls_itself, calls_early])
def test_what_calls_itself_or_returns_early_stays_a_function(fun):
    assert text_of(fun, 0.7).count("def ") > 1
    np.testing.assert_allclose(s2sad.grad(fun, target="python")(0.7), differences(fun, np.float64(0.7)), rtol=1e-7)


def outer_names(x, y):
    """Names of the helper's are the caller's too."""
    hidden, v = x[0] * y, x * y
    return np.sum(bend(np.outer(v, v), v)) * hidden + v[1]


def test_names_that_both_have_are_kept_apart():
    for target in ("python", "cpu"):
        found = s2sad.grad(outer_names, (0, 1), target=target)(X, 0.8)
        np.testing.assert_allclose(found[0], differences(lambda x: outer_names(x, 0.8), X), rtol=1e-6)
        np.testing.assert_allclose(found[1], differences(lambda y: outer_names(X, y), np.float64(0.8)), rtol=1e-6)


def halves(x):
    out = np.empty(2)
    out[0] = x[0] * x[1]
    out[1] = np.sin(x[2]) * x[0]
    return out


def second_half(x):
    return halves(x)[1]


def test_what_a_cotangent_of_zero_adds_is_left_out():
    text = text_of(second_half, X)
    assert "_0 = 0.0" not in text
    assert "x[1]" not in text.partition("adjoint sweep")[2]
    np.testing.assert_allclose(s2sad.grad(second_half, target="python")(X), differences(second_half, X), rtol=1e-7)


def layers(w, b):
    total = 0.0
    for i in range(3):
        total += np.sum(np.tanh(w @ (b * i)))
    return total


def test_outer_products_are_added_element_by_element():
    text = text_of(layers, W, X, target="cpu")
    assert "outer" not in text
    assert len(re.findall(r"^ +for ", text, re.MULTILINE)) == 4, "no loop is left that does nothing"
    found = s2sad.grad(layers, target="cpu")(W, X)
    np.testing.assert_allclose(found, differences(lambda w: layers(w, X), W), rtol=1e-6, atol=1e-9)


def logistic(a, y, out):
    for i in range(y.size):
        out[i] = a * y[i] * (1.0 - y[i])


def driven(a, y):
    out = np.empty_like(y)
    for _ in range(3):
        logistic(a, y, out)
        for i in range(1, y.size):
            y[i] = out[i - 1] + 0.5 * y[i]
    return np.sum(y * y)


def test_a_sweep_whose_turns_have_elements_of_their_own_runs_forward():
    """An element that is set to zero once its cotangent was handed on belongs to one turn alone."""
    text = text_of(driven, 0.7, X)
    assert "for i in range(y.size):" in text.partition("def logistic_bwd")[2].partition("\ndef ")[0]
    for target in ("python", "cpu"):
        found = s2sad.grad(driven, (0, 1), target=target)(0.7, X)
        np.testing.assert_allclose(found[0], differences(lambda a: driven(a, X.copy()), np.float64(0.7)), rtol=1e-6)
        np.testing.assert_allclose(found[1], differences(lambda y: driven(0.7, y.copy()), X), rtol=1e-6)


def kept_in_order(y):
    """The next turn reads what this one writes."""
    for i in range(1, y.size):
        y[i] = y[i] * y[i - 1]
    return np.sum(y)


def test_a_sweep_whose_turns_read_each_other_runs_backward():
    assert ", 0, -1):" in text_of(kept_in_order, X)
    found = s2sad.grad(kept_in_order, target="python")(X)
    np.testing.assert_allclose(found, differences(lambda y: kept_in_order(y.copy()), X), rtol=1e-6)


def gains(x, y):
    total = 0.0
    for i in range(x.size):
        total += np.sin(x[i]) * x[i] + y[i] ** 2
    return total


def spread(m):
    total = 0.0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            total += m[i, j] ** 3
    return total


def skipping(x):
    """Not every element is reached."""
    total = 0.0
    for i in range(x.size):
        if x[i] > 0.0:
            total += x[i] ** 3
    return total


def first_only(x):
    total = 0.0
    for i in range(x.size - 1):
        total += x[i] ** 3
    return total


def neighbours(x):
    """An element is met before the turn that is its own."""
    total = 0.0
    for i in range(x.size):
        total += x[i - 1] * x[i]
    return total


@pytest.mark.parametrize(("fun", "x", "fills"), [
    (lambda x: gains(x, X), X, True), (spread, W, True), (skipping, X, False), (first_only, X, False),
    (neighbours, X, False),
])  # fmt: skip
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_the_first_loop_over_all_elements_sets_them(fun, x, fills, target):
    text = text_of(fun, x, target=target)
    assert ("zeros" not in text) is fills
    np.testing.assert_allclose(s2sad.grad(fun, target=target)(x), differences(fun, x), rtol=1e-6, atol=1e-8)


def test_a_report_tells_of_what_was_written_out_line_by_line():
    told = s2sad.differentiate(cost, target="python").derivative("grad", (X, W)).explanation
    parts = {part.name: part for part in told.parts}
    assert {"cost", "bend"} <= parts.keys()
    states = {line.text.strip(): line.state for line in parts["bend"].lines}
    assert states["hidden = np.tanh(w @ v)"] == states["return hidden * hidden"] == "active"


def rate(u, k):
    return k * u * (1.0 - u)


def grown_in_place(u, k):
    u = u.copy()
    for i in range(1, u.shape[0]):
        u[i] = u[i - 1] + 0.1 * rate(u[i - 1], k) + 0.2 * u[i]
    return u[-1]


def mixed_in_place(u, k):
    u = u.copy()
    for i in range(1, u.shape[0] - 1):
        before, after = u[i - 1], u[i + 1]
        u[i] = k * before * after * u[i]
        u[i + 1] += before * after**2
        u[i - 1] *= after
    return np.sum(u * u)


def moved_along(u, k):
    u = u.copy()
    for i in range(u.shape[0]):
        before = u[i - 1]
        u[i] = k * before * before + np.sin(before)
        for j in range(i):
            u[j] *= before
    return np.sum(u)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [grown_in_place, mixed_in_place, moved_along])
def test_an_element_beside_the_one_that_is_written_is_read_again(fun, target):
    x = np.array([0.4, 0.9, 0.6, 1.3, 0.7])
    gradient = s2sad.grad(fun, target=target)(x, 1.1)
    np.testing.assert_allclose(gradient, differences(lambda u: fun(u, 1.1), x), rtol=1e-6, atol=1e-8)
    assert ("tape" in text_of(fun, x, 1.1)) is (fun is not grown_in_place)


def test_functions_of_many_arguments_are_called_in_loops():
    class Ship:
        def __init__(self, m):
            self.a0 = self.a1 = self.a2 = self.a3 = self.a4 = self.a5 = self.a6 = self.a7 = m
            self.b0 = self.b1 = self.b2 = self.b3 = self.b4 = self.b5 = self.b6 = self.b7 = 2.0 * m

        def energy(self):
            return (self.a0 + self.a1 * self.a2 + self.a3 * self.a4 + self.a5 * self.a6 + self.a7 + self.b0 * self.b1
                    + self.b2 * self.b3 + self.b4 * self.b5 + self.b6 * self.b7)  # fmt: skip

        def step(self):
            self.a0 += 0.01 * self.energy()

    def f(m):
        ship = Ship(m)
        for _ in range(5):
            ship.step()
        return ship.a0

    expected = (f(0.1 + 1e-6) - f(0.1 - 1e-6)) / 2e-6
    assert s2sad.jvp(f, (0.1,), (1.0,))[1] == pytest.approx(expected, rel=1e-7)
    assert s2sad.grad(f)(0.1) == pytest.approx(expected, rel=1e-7)
