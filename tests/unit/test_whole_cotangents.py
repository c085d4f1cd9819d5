"""Results that are `-y`, `2 * y`, `a - b`: a cotangent that is a whole number cuts nothing off."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad

X = np.array([0.3, 0.5, 1.1])
K = np.array([1, 2, 3])
M = np.array([[1, 2, 3], [2, 3, 4], [0, 1, 0]])
MASK = np.array([True, False, True])
PARTS = {
    "reshape": lambda m: m.reshape(3, 1).sum(),
    "diag": lambda m: np.diag(m).sum(),
    "squeeze": lambda m: np.squeeze(m[:1]) * 1.0,
    "vstack": lambda m: np.sum(np.vstack((m, np.sqrt(m)))),
    "dot": lambda m: np.dot(m, K),
    "inner": lambda m: np.inner(K, m),
    "sum": lambda m: np.sum(m * K),
    "where": lambda m: np.where(MASK, m, 0).sum(),
    "roll": lambda m: np.roll(m, 1).sum(),
    "sort": lambda m: np.sort(m)[0],
    "copy": lambda m: np.copy(m).sum(),
    "power": lambda m: np.linalg.matrix_power(np.diag(m), 2).sum(),
    "outer": lambda m: np.triu(np.outer(m, K)).sum(),
    "polyval": lambda m: np.polyval(m, np.array([1, 2])).sum(),
    "matmul": lambda m: (np.outer(m, m) @ M).sum() - np.sum(M @ np.outer(m, m)),
    "solve": lambda m: np.linalg.solve(np.diag(m) + np.ones((3, 3)), m).sum(),
    "flip": lambda m: np.flip(m).sum() + np.concatenate((m, m)).sum(),
    "einsum": lambda m: np.einsum("i,i->", m, K),
}
ENDS = {
    "-y": lambda y, s: -y,
    "5 - y": lambda y, s: 5 - y,
    "2 - 3 * y": lambda y, s: 2 - 3 * y,
    "s * y": lambda y, s: s * y,
    "y": lambda y, s: y,
}


def program(part, end):
    of_part, at_end = PARTS[part], ENDS[end]

    def fun(x, s=-1):
        m = x * x
        return at_end(of_part(m) + 0.3 * m[0] + np.sin(m[1]), s)

    return fun


def differences(fun):
    return np.array([(fun(X + e) - fun(X - e)) / 2e-6 for e in 1e-6 * np.eye(3)])


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("part", PARTS)
def test_of_numpy(part, end):
    fun = program(part, end)
    np.testing.assert_allclose(s2sad.grad(fun, target="python")(X), differences(fun), rtol=1e-6)


@pytest.mark.parametrize("part", PARTS)
def test_compiled(part):
    fun = program(part, "-y")
    np.testing.assert_allclose(s2sad.grad(fun)(X), differences(fun), rtol=1e-6)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_difference_of_helpers(target):
    def inner(x):
        m = x * x
        return np.sum(m * K) + np.sin(m[0])

    fun = lambda x: inner(x) - inner(2 * x)
    np.testing.assert_allclose(s2sad.grad(fun, target=target)(X), differences(fun), rtol=1e-6)


def filtered(x):
    state = np.zeros(1)
    for i in range(3):
        state[0] = state[0] * 0.4 + x[i] ** 2
    return np.squeeze(state)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_state_of_one_element(target):
    fun = lambda x: -filtered(x)
    np.testing.assert_allclose(s2sad.grad(fun, target=target)(X), differences(fun), rtol=1e-6)
