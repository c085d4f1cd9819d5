"""What Numba makes beside `@njit` functions: differentiated, or refused where it is called."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.experimental import jitclass

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.4, 0.9, 1.6])
M = np.array([[0.3, 0.8, 1.1], [0.7, 0.2, 0.5]])


@numba.vectorize([numba.float64(numba.float64, numba.float64)])
def relative_difference(x, y):
    return 2 * (x - y) / (x + y)


@numba.vectorize
def sinc(x):
    if x == 0.0:
        return 1.0
    return math.sin(math.pi * x) / (math.pi * x)


@numba.vectorize([numba.int64(numba.float64)])
def whole(x):
    return x * 2.7


def of_two_arrays(x, m):
    return np.sum(relative_difference(x, m) ** 2)


def of_an_array_and_a_number(x, m):
    return np.sum(sinc(x) * relative_difference(x, 2))


def of_numbers(x, m):
    return relative_difference(x[0], m[0, 1]) * sinc(m[1, 0])


@numba.njit
def with_a_typed_list(x, m):
    items = numba.typed.List()
    for value in x:
        items.append(value * value)
    total = 0.0
    for item in items:
        total += item * item
    return total


def through_integers(x, m):
    return np.sum(whole(x) * x)


@jitclass([("rate", numba.float64), ("count", numba.int32), ("state", numba.float64[:])])
class Tank:
    """A class that Numba compiles, with a state that its methods write."""

    def __init__(self, rate, count):
        self.rate = rate
        self.count = count
        self.state = np.zeros(count)

    @property
    def twice(self):
        return 2.0 * self.rate

    def step(self, dt):
        for i in range(self.count):
            self.state[i] += dt * self.rate * (i + 1)
        return self.state.sum() * self.twice


@numba.njit
def with_a_compiled_class(x, m):
    tank = Tank(x[0], 3)
    total = tank.step(x[1])
    tank.rate = x[2] * total
    return total + tank.step(m[0, 0] * x[1]) + np.sum(tank.state**2)


TANK = Tank(1.5, 2)


def with_an_object_outside(x, m):
    tank = Tank(x[0], 2)
    asked = tank.twice if isinstance(tank, Tank) else 0.0
    return asked * TANK.rate * TANK.count * x[1] + TANK.twice * x[2] ** 2


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    "fun",
    [
        of_two_arrays, of_an_array_and_a_number, of_numbers, with_a_typed_list, through_integers,
        with_a_compiled_class, with_an_object_outside,
    ],
)  # fmt: skip
def test_is_differentiated(fun, target):
    plain = getattr(fun, "py_func", fun)
    direction = np.array([0.3, -1.0, 0.7])
    value, gradient = s2sad.value_and_grad(fun, target=target)(X, M)
    expected = (plain(X + 1e-6 * direction, M) - plain(X - 1e-6 * direction, M)) / 2e-6
    np.testing.assert_allclose(value, plain(X, M), rtol=1e-12)
    np.testing.assert_allclose(gradient @ direction, expected, rtol=1e-7)
    assert gradient.dtype == np.float64


def test_lengths_that_do_not_fit_are_an_error():
    with pytest.raises(ValueError, match="broadcast"):
        s2sad.grad(lambda x, y: np.sum(relative_difference(x, y)), target="python")(X, np.ones(2))


@numba.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")
def running_sum(a, out):
    total = 0.0
    for i in range(a.size):
        total += a[i]
        out[i] = total


@numba.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),()->()")
def power_sum(a, by, out):
    total = 0.0
    for value in a:
        total += value ** by[0]
    out[0] = total


@numba.stencil
def neighbours(a):
    return a[-1] * a[1]


@numba.stencil(cval=0.5)
def cross(a, rate):
    change = a[0, 1] + a[0, -1] + a[1, 0] - 3.0 * a[0, 0]
    if change > 0.0:
        return rate * change * change
    return rate * change


@numba.stencil(neighborhood=((-2, 0),))
def window(a):
    total = 0.0
    for i in range(-2, 1):
        total += a[i] * a[i]
    return total


@numba.stencil(standard_indexing=("w",))
def weighted(a, w):
    return a[-1] * w[0] + a[0] * w[1] + a[1] * w[2]


LONG = np.array([0.4, 0.9, 1.6, -0.7, 1.2, 0.3])


def of_gufuncs(x):
    m = np.outer(x, x)
    total = np.sum(running_sum(x) ** 2) + np.sum(running_sum(m) * m)
    return total + power_sum(x, 2.0) * power_sum(m * m, x + 2.0)[1]


def of_given_outputs(x):
    out, powers = np.empty(x.size), np.empty(x.size)
    running_sum(x, out)
    power_sum(np.outer(x, x), 2.0, powers)
    return np.sum(out**2) * np.sum(powers * x)


def of_neighbours(x):
    return np.sum(neighbours(x) ** 2) + np.sum(neighbours(neighbours(x)))


@numba.njit
def of_a_cross(x):
    state = np.outer(x, x)
    for _ in range(2):
        state = state + cross(state, 0.1 * x[0])
    return np.sum(state**2)


@numba.njit
def of_a_window(x):
    return np.sum(window(x) ** 2) + np.sum(weighted(x, x[:3]) ** 2)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [of_gufuncs, of_given_outputs, of_neighbours, of_a_cross, of_a_window])
def test_kernels_over_elements(fun, target):
    assert_derivatives(fun, LONG, target)


@numba.stencil
def shifted_by_an_argument(a, k):
    return a[k] + a[0]


def with_a_computed_index(x):
    return np.sum(shifted_by_an_argument(x, 1))


def with_other_axes(x):
    return np.sum(power_sum(np.outer(x, x), np.ones((2, 1))))


def with_a_typed_dict(x):
    table = numba.typed.Dict.empty(key_type=numba.types.int64, value_type=numba.types.float64)
    table[0] = x[0]
    return table[0]


@pytest.mark.parametrize(
    ("fun", "words"),
    [
        (with_a_computed_index, "has indices that are not followed"),
        (with_other_axes, "have other axes"),
        (with_a_typed_dict, "typed dict"),
    ],
)
def test_is_refused_at_the_call(fun, words):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match=words) as caught:
        s2sad.grad(fun, target="python")(X)
    assert "test_numba_objects.py" in str(caught.value)


@numba.guvectorize("(n),()->(n)")
def without_types(a, by, out):
    for i in range(a.size):
        out[i] = a[i] * by


def test_outputs_are_made_where_numba_makes_them() -> None:
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="makes no outputs"):
        s2sad.grad(lambda x: np.sum(without_types(x, 2.0)), target="python")(X)


@numba.stencil
def of_two(a, b):
    return a[-1] * b[1]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_lengths_that_do_not_fit_are_an_error_in_kernels(target) -> None:
    with pytest.raises(ValueError, match="`b` is shorter than `a`"):
        s2sad.grad(lambda x, y: np.sum(of_two(x, y)), target=target)(LONG, X)
    with pytest.raises(ValueError, match="differ in length"):
        s2sad.grad(lambda m, y: np.sum(power_sum(m, y)), target=target)(np.outer(X, X), LONG)
    both = s2sad.grad(lambda x, y: np.sum(of_two(x, y)), (0, 1), target=target)(X, LONG)
    np.testing.assert_allclose(both[0], [LONG[2], 0.0, 0.0])
    np.testing.assert_allclose(both[1], [0.0, 0.0, X[0], 0.0, 0.0, 0.0])


def test_a_function_that_numba_keeps_and_that_calls_a_derivative_is_loaded_by_a_second_process(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import numba, s2sad\n"
        "def f(x):\n    return x * x * x\n"
        "slope = s2sad.grad(f)\n"
        "@numba.njit(cache=True)\ndef total(n):\n"
        "    s = 0.0\n    for i in range(n):\n        s += slope(float(i))\n    return s\n"
        "print(total(3), sum(total.stats.cache_hits.values()))\n"
    )
    paths = [str(Path(s2sad.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "S2SAD_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(paths)}
    words = [sys.executable, str(program)]
    said = [
        subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout.split() for _ in "ab"
    ]
    assert said == [["15.0", "0"], ["15.0", "1"]]
