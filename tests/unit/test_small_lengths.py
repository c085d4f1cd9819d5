"""Arguments of three numbers: what a program says of their lengths makes its derivative one of few numbers."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives
from tests.unit.test_ends import compiled_text


def torque(w):
    """Cross products of a vector with the rows of a matrix, and with what is computed."""
    points = np.sin(np.reshape(np.arange(21.0), (7, 3)))
    total = 0.0
    for i in range(points.shape[0]):
        c = np.cross(w, points[i])
        d = np.cross(c + w, 2.0 * w)
        total += c[0] * c[1] + d @ c
    return total


def turned(r, x):
    """Rodrigues' formula."""
    angle = math.sqrt(r[0] ** 2 + r[1] ** 2 + r[2] ** 2)
    k = r / angle
    return x * math.cos(angle) + np.cross(k, x) * math.sin(angle) + k * (k @ x) * (1.0 - math.cos(angle))


def reprojected(camera):
    """Two parts of one argument: how long the second is says how long the argument is."""
    points, pixels = np.sin(np.reshape(np.arange(21.0), (7, 3))) + 4.0, np.reshape(np.arange(14.0), (7, 2)) * 0.1
    total = 0.0
    for i in range(points.shape[0]):
        p = turned(camera[:3], points[i]) + camera[3:]
        total += (p[0] / p[2] - pixels[i, 0]) ** 2 + (p[1] / p[2] - pixels[i, 1]) ** 2
    return total


def turned_by(q):
    """A rotation by a quaternion, applied to the rows of a matrix."""
    points = np.sin(np.reshape(np.arange(21.0), (7, 3)))
    q = q / np.sqrt(np.sum(q * q))
    a, b, c, d = q[0], q[1], q[2], q[3]
    turn = np.array([
        [1 - 2 * (c * c + d * d), 2 * (b * c - a * d), 2 * (b * d + a * c)],
        [2 * (b * c + a * d), 1 - 2 * (b * b + d * d), 2 * (c * d - a * b)],
        [2 * (b * d - a * c), 2 * (c * d + a * b), 1 - 2 * (b * b + c * c)],
    ])  # fmt: skip
    total = 0.0
    for i in range(points.shape[0]):
        y = turn @ points[i]
        total += y[0] * y[1] - y[2]
    return total


def of_rows(w):
    """Whole arrays of vectors stay with NumPy."""
    return np.sum(np.cross(np.reshape(np.arange(12.0), (4, 3)), w) ** 2)


EVERY = [(torque, 3), (reprojected, 6), (turned_by, 4), (of_rows, 3)]


@pytest.mark.parametrize(("fun", "n"), EVERY)
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_derivatives(fun: Any, n: int, target: str) -> None:
    assert_derivatives(fun, np.linspace(0.4, 0.9, n), target)


@pytest.mark.parametrize(("fun", "n"), EVERY[:3])
def test_no_library_is_asked(fun: Any, n: int) -> None:
    text = compiled_text(fun, np.linspace(0.4, 0.9, n))
    assert not [name for name in ("np.cross(", " @ ", "sum_to_shape", "raise ") if name in text], text


def test_one_element_of_arithmetic_is_computed_alone() -> None:
    def moved(y):
        for _ in range(3):
            y = y + 0.1 * np.array([y[1] * y[2], -y[0], y[1]])
        return np.sum(y * y)

    derivative = s2sad.differentiate(moved, target="python")
    derivative.grad(np.ones(3))
    text = derivative.source("grad")
    assert "(0.1 * y_bar)[" not in text, text
    assert re.search(r"0\.1 \* y_new_bar\[\d\]", text), text
