"""Systems of linear equations: one factorisation for all of one matrix, and triangles as they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import s2sad
from tests.differences import assert_derivatives

BASE = np.array([[4.0, 1.0, 0.5], [1.5, 5.0, -1.0], [0.3, -0.7, 3.0]])


def one(x):
    return np.sum(np.linalg.solve(BASE + np.outer(x, x), x) ** 2)


def of_one_matrix(x):
    k = BASE + np.diag(x)
    u, v = np.linalg.solve(k, x), np.linalg.solve(k.T, x * x)
    return u @ v


def of_several(x):
    k = BASE + np.diag(x)
    sides = np.stack((x, x * x), axis=1)
    return np.sum(np.linalg.solve(k, sides) ** 3)


def written_between(x):
    k = BASE + np.diag(x)
    u = np.linalg.solve(k, x)
    k[0, 1] += u[0]
    v = np.linalg.solve(k, u)
    k[2] *= 0.5
    return np.sum(np.linalg.solve(k, v) ** 2)


def scaled(k):
    k *= 1.5


def written_by_a_helper(x):
    k = BASE + np.diag(x)
    u = np.linalg.solve(k, x)
    scaled(k)
    return np.sum(np.linalg.solve(k, u) ** 2)


def through_a_view(x):
    k = BASE + np.diag(x)
    rows = k[:2]
    u = np.linalg.solve(k, x)
    rows[0, 0] = u[1] + 5.0
    return np.sum(np.linalg.solve(k, u) ** 2)


def bound_again(x):
    k = BASE + np.diag(x)
    u = np.linalg.solve(k, x)
    k = k @ k
    return np.sum(np.linalg.solve(k, u) ** 2)


def in_turns(x):
    k, u = BASE + np.diag(x), x
    for _ in range(3):
        u = np.linalg.solve(k, u)
        k = k + np.outer(u, u)
    return np.sum(u * u)


def exchanging_rows(x):
    k = np.array([[0.0, 2.0, 1.0], [3.0, 0.1, 0.0], [0.2, 1.0, 4.0]]) * x[0] + np.diag(x)
    return np.sum(np.linalg.solve(k, x) ** 2)


def known_to_be_small(x):
    k = np.array([[2.0, x[0]], [x[1], 3.0]])
    return np.sum(np.linalg.solve(k, x[:2]) ** 2) + x[2]


PROGRAMS: list[Callable[[Any], Any]] = [
    one, of_one_matrix, of_several, written_between, written_by_a_helper, through_a_view, bound_again, in_turns,
    exchanging_rows, known_to_be_small,
]  # fmt: skip
X = np.array([0.7, 0.4, -0.3])


@pytest.mark.parametrize("program", PROGRAMS)
def test_systems_of_one_matrix(program: Callable[[Any], Any]) -> None:
    assert_derivatives(program, X, "cpu")


def factorisations(program: Callable[[Any], Any]) -> int:
    return str(s2sad.differentiate(program).source("grad", types=(X,))).count("= lu_factor(")


def test_a_matrix_is_factorised_once() -> None:
    assert [factorisations(p) for p in (one, of_one_matrix, of_several)] == [1, 1, 1]
    assert factorisations(in_turns) == 0
    assert factorisations(known_to_be_small) == 0
    assert factorisations(bound_again) == 2


def large(a, b):
    return np.sum(np.linalg.solve(a, b) ** 2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [0, 1, 4])
def test_many_equations(dtype: Any, columns: int) -> None:
    rng = np.random.default_rng(columns)
    a = rng.normal(size=(40, 40)).astype(dtype)
    b = rng.normal(size=(40, columns) if columns else 40).astype(dtype)
    a_bar, b_bar = s2sad.grad(large, argnums=(0, 1))(a, b)
    want = np.linalg.solve(a.T.astype(float), 2.0 * np.linalg.solve(a.astype(float), b))
    x = np.linalg.solve(a.astype(float), b)
    tolerance = 1e-9 if dtype is np.float64 else 0.02
    np.testing.assert_allclose(b_bar, want, rtol=tolerance, atol=tolerance * np.abs(want).max())
    outer = -np.outer(want, x) if columns == 0 else -want @ x.T
    np.testing.assert_allclose(a_bar, outer, rtol=tolerance, atol=tolerance * np.abs(outer).max())


def test_what_numpy_refuses() -> None:
    gradient = s2sad.grad(large, argnums=(0, 1))
    with pytest.raises(np.linalg.LinAlgError):
        gradient(np.ones((3, 3)), np.ones(3))
    with pytest.raises(np.linalg.LinAlgError):
        gradient(np.ones((3, 4)), np.ones(3))
    with pytest.raises(ValueError, match="not equally long"):
        gradient(np.eye(4), np.ones(3))


@pytest.mark.parametrize("rows", [3, 40])
@pytest.mark.parametrize("columns", [0, 1, 3])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, 1])
def test_triangles_as_they_lie(rows: int, columns: int, lower: bool, trans: int) -> None:
    rng = np.random.default_rng(rows)
    plain = 0.2 * rng.normal(size=(rows, rows)) + np.diag(2.0 + rng.random(rows))
    b = rng.normal(size=(rows, columns) if columns else rows)
    wide, spread = np.zeros((rows, 2 * rows)), np.zeros((2 * rows, 3 * rows))
    wide[:, rows:] = spread[::2, ::3] = plain
    want = scipy.linalg.solve_triangular(plain, b, trans=trans, lower=lower)

    def solve(a, b):
        return scipy.linalg.solve_triangular(a, b, trans=trans, lower=lower)

    for a in (plain, np.asfortranarray(plain), wide[:, rows:], spread[::2, ::3]):
        y, pullback = s2sad.vjp(solve, a, b)
        np.testing.assert_allclose(y, want, rtol=1e-11)
        bar = scipy.linalg.solve_triangular(plain, np.ones_like(want), trans=1 - trans, lower=lower)
        np.testing.assert_allclose(pullback(np.ones_like(want))[1], bar, rtol=1e-11)


def test_a_zero_on_the_diagonal_is_an_error() -> None:
    def total(a, b):
        return np.sum(scipy.linalg.solve_triangular(a, b, lower=True))

    for target in ("cpu", "python"):
        with pytest.raises(np.linalg.LinAlgError):
            s2sad.grad(total, target=target)(np.diag([1.0, 0.0, 2.0]), np.ones(3))
