"""Products of a few numbers, of lengths that are known, are loops: BLAS is not asked for them."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from tests.differences import assert_derivatives
from tests.unit.test_ends import compiled_text
from tests.unit.test_workspaces import creations

X = np.random.default_rng(11).normal(size=6)


def chain(q):
    """Homogeneous transforms of an arm, one after the other."""
    pose = np.eye(4)
    for i in range(q.shape[0]):
        c, s = math.cos(q[i]), math.sin(q[i])
        pose = pose @ np.array([[c, -s, 0.0, 0.3], [s, c, 0.0, 0.0], [0.0, 0.0, 1.0, 0.1], [0.0, 0.0, 0.0, 1.0]])
    return pose[0, 3] ** 2 + pose[1, 3] * pose[2, 2]


def turned(q):
    """A matrix and its transpose, and a vector from both sides."""
    total = 0.0
    for i in range(q.shape[0] - 2):
        turn = np.array([[q[i], q[i + 1], 1.0], [0.2, q[i], q[i + 2]], [q[i + 2], 0.0, q[i + 1]]])
        v = np.array([q[i], 1.0, q[i + 1]])
        total += v @ (turn.T @ turn) @ v + np.sum(v @ turn) + np.dot(turn, v)[1]
    return total


def filtered(q):
    """Covariances, computed operands, and a state that is its own factor."""
    p = np.eye(3)
    a = np.array([[1.0, 0.1, 0.0], [0.0, 1.0, q[0]], [0.2, q[1], 1.0]])
    x = np.array([q[2], q[3], 1.0])
    total = 0.0
    for i in range(q.shape[0]):
        p = 0.2 * (a @ p @ a.T) + 0.1 * q[i] * np.eye(3)
        x = (a - 0.5 * p) @ x
        a = a @ a * 0.05 + 0.3 * np.eye(3)
        total += x @ p @ x
    return total


def within(q):
    """What is written is a factor of what is written."""
    x = np.array([q[0], q[1], q[2]])
    a = np.array([[0.1, q[3], 0.0], [0.0, 0.3, q[4]], [q[5], 0.0, 0.2]])
    for _ in range(3):
        x[:] = a @ x + x
        a[:] = a @ a
    return np.sum(x * x)


def of_one(q):
    """Axes of length one."""
    row, column = np.array([[q[0], q[1], q[2]]]), np.array([[q[3]], [q[4]], [q[5]]])
    one = row @ column
    square = column @ row
    return one[0, 0] * np.sum(square @ square)


def rows_of_others(q):
    """Rows and parts of larger arrays, of a length that is known."""
    block = np.zeros((3, 2, 2))
    for i in range(3):
        block[i, 0, 0] = q[i]
        block[i, 0, 1] = q[i + 3] * q[i]
        block[i, 1, 0] = 0.3
        block[i, 1, 1] = q[i + 1]
    together = np.eye(2)
    for i in range(3):
        together = block[i] @ together
    return np.sum(together * together.T)


def of_many(q):
    """Too many numbers: BLAS."""
    a = np.zeros((12, 12))
    for i in range(12):
        a[i, i] = q[i % 6]
        a[i, (i + 1) % 12] = 0.5 * q[(i + 2) % 6]
    return np.sum(a @ a @ a)


FEW = [chain, turned, filtered, within, of_one, rows_of_others]


@pytest.mark.parametrize("fun", [*FEW, of_many])
def test_derivatives(fun: Any) -> None:
    assert_derivatives(fun, X, "cpu")


@pytest.mark.parametrize("fun", [chain, filtered, rows_of_others, turned])
def test_blas_is_not_asked(fun: Any) -> None:
    text = compiled_text(fun, X)
    assert " @ " not in text
    assert "np.dot(" not in text


def test_blas_is_asked_for_more() -> None:
    assert " @ " in compiled_text(of_many, X)


def test_no_turn_makes_an_array() -> None:
    text = compiled_text(chain, X)
    assert not creations(text, inside=True)
    assert "np.array(" not in text


def test_what_is_always_the_same_is_set_before_the_loop() -> None:
    before, rest = compiled_text(chain, X).split("\n    for ", 1)
    loop = re.split(r"\n    \S", rest)[0]
    assert "np.zeros((4, 4))" in before
    assert "[2, 2] = 1.0" in before
    assert "[2, 2] =" not in loop
