"""Programs as they stand in repositories: private names, tables of objects, clamped updates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import s2sad


class Spline:
    """Keeps its slopes in a private way."""

    __scale = 2.0

    def __init__(self, y):
        self.__y = y
        self.slope = self.__slope(y[1])

    def __slope(self, v):
        return v * self.__scale

    def value(self, t):
        return self.__y[0] ** 2 + self.__slope(t) * self.slope


@dataclass
class Dose:
    time: float
    amount: float

    def after(self, delay):
        return self.amount * np.exp(-delay)


DOSES = [Dose(0.0, 100.0), Dose(1.0, 50.0), Dose(1.5, 20.0)]


def value_of_a_spline(x):
    return Spline(x).value(x[2])


def next_dose(x):
    amount, i, t = 0.0, 0, 0.0
    while t < 3.0:
        if i < len(DOSES) and DOSES[i].time <= t:
            amount += DOSES[i].amount * x[0] + DOSES[i].after(x[1])
            i += 1
        amount -= 0.1 * x[2] * amount
        t += 0.25
    return amount


def clamped_upwind(x):
    u, v = x * 1.0, np.sin(3.0 * x)
    f = np.zeros(x.size + 1)
    for _ in range(6):
        for i in range(1, x.size):
            f[i] = v[i] * u[i - 1] if v[i] > 0 else v[i] * u[i]
        for i in range(x.size):
            u[i] -= 0.4 * (f[i + 1] - f[i])
            if u[i] < 0.5:
                u[i] = 0.5
    return np.sum(u**2)


def read_between_two_writes(x):
    u = x * 1.0
    total = 0.0
    for t in range(4):
        for i in range(1, x.size):
            u[i] = u[i] * u[i - 1]
            total += u[i] ** 2
            if u[i] > 1.0:
                u[i] = 1.0 / u[i]
            total += u[i] ** 3 * (t + 1)
    return total


def written_three_times(x):
    u = x * 1.0
    for _ in range(3):
        for i in range(x.size):
            u[i] = np.sin(u[i])
            u[i] *= 1.5
            if u[i] > 0.9:
                u[i] = 0.9 * x[0]
                if x[1] > 0:
                    u[i] += u[0]
    return np.sum(u * u)


def made_of_its_result(x):
    u = x * 0.3
    for _ in range(3):
        for i in range(x.size):
            u[i] = np.exp(u[i]) * 0.6
            if u[i] > 1.5:
                u[i] = 1.5 / u[i]
    return np.sum(u * x)


X = np.array([1.3, 2.0, 0.7, 3.0, 1.2])
PROGRAMS = (
    value_of_a_spline, next_dose, clamped_upwind, read_between_two_writes, written_three_times,
    made_of_its_result,
)  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradient(f, target):
    value, slope = s2sad.value_and_grad(f, target=target)(X)
    assert value == pytest.approx(f(X), rel=1e-13)
    moved = [(f(X + step) - f(X - step)) / 2e-6 for step in 1e-6 * np.eye(X.size)]
    np.testing.assert_allclose(slope, moved, rtol=1e-5, atol=1e-6)


def test_objects_of_a_table_are_read_at_each_call():
    slope = s2sad.grad(next_dose, target="python")
    before = slope(X)
    DOSES[1].amount = 80.0
    try:
        assert slope(X)[0] > before[0]
    finally:
        DOSES[1].amount = 50.0


def test_an_element_is_kept_once_where_it_is_written_twice():
    text = s2sad.differentiate(clamped_upwind).source("grad", types=(X,))
    assert "u_i_tape = " in text
    assert "u_i_tape_2 = " not in text


def test_a_list_of_tuples_taken_twice():
    def swept(x):
        pairs = [(0, 1), (1, 2), (0, 2)]
        total = 0.3
        for i, j in pairs * 2:
            total = 0.5 * total + x[i] * x[j]
        return total

    slope = s2sad.grad(swept, target="python")(X)
    moved = [(swept(X + step) - swept(X - step)) / 2e-6 for step in 1e-6 * np.eye(X.size)]
    np.testing.assert_allclose(slope, moved, rtol=1e-5, atol=1e-6)
