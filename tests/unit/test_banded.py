"""Systems with few diagonals: SciPy's where they are interpreted, loops where they are compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import s2sad
from s2sad.backends import banded
from s2sad.runtime import banded_outer, banded_product, solve_banded
from tests.differences import assert_derivatives, differences

BOTH = pytest.mark.parametrize("target", ["python", "cpu"])
X = np.array([0.7, 0.4, -0.3, 1.1, 0.9])


def dense(ab: Any, above: int) -> Any:
    """Return the matrix whose diagonals these are."""
    n = ab.shape[1]
    i, j = np.indices((n, n))
    rows = above + i - j
    return np.where((rows >= 0) & (rows < len(ab)), ab[np.clip(rows, 0, len(ab) - 1), j], 0.0)


@pytest.mark.parametrize("n", [1, 2, 3, 9])
@pytest.mark.parametrize("sides", [(0, 0), (1, 1), (2, 1), (0, 2), (3, 0), (5, 4)])
@pytest.mark.parametrize("columns", [(), (1,), (3,)])
@pytest.mark.parametrize("dtype", [float, complex, np.float32])
def test_what_is_solved(n: int, sides: tuple[int, int], columns: tuple[int, ...], dtype: Any) -> None:
    """Without a large diagonal, so that rows are exchanged."""
    rng, above = np.random.default_rng(n), sides[1]
    ab, b, c = (rng.normal(size=size) for size in ((sum(sides) + 1, n), (n, *columns), (n, *columns)))
    if dtype is complex:
        ab, b = ab + 1j * rng.normal(size=ab.shape), b + 0.5j
    ab, b, c = ab.astype(dtype), b.astype(dtype), c.astype(dtype)
    exact = 2e-2 if dtype is np.float32 else 1e-8
    for trans in (False, True):
        matrix = dense(ab, above).T if trans else dense(ab, above)
        for solve, product in ((solve_banded, banded_product), (banded.solved, banded.product)):
            found = solve(ab, b, above, trans)
            assert found.dtype == b.dtype
            np.testing.assert_allclose(matrix @ found, b, rtol=exact, atol=exact * np.abs(found).max())
            np.testing.assert_allclose(product(ab, c, above, trans), matrix @ c, rtol=1e-5, atol=1e-5)
    whole = np.outer(b, c) if b.ndim == 1 else b @ c.T
    for outer in (banded_outer, banded.outer):
        np.testing.assert_allclose(dense(outer(b, c, ab, above), above), dense(np.ones(ab.shape), above) * whole, 1e-5)


def of_diffusion(x):
    k = np.zeros((3, x.size))
    k[0, 1:] = -x[:-1]
    k[1] = 3.0 + x * x
    k[2, :-1] = np.sin(x[1:])
    u = x
    for _ in range(3):
        u = scipy.linalg.solve_banded((1, 1), k, u + x)
    return np.sum(u * u)


def of_several(x):
    k = np.outer(np.array([0.3, 5.0, 1.0, -0.5]), x) + np.array([[0.0], [7.0], [0.0], [0.0]])
    return np.sum(scipy.linalg.solve_banded((2, 1), k, np.stack((x, x * x), axis=1)) ** 3)


def of_a_symmetric_one(x):
    k = np.stack((0.5 * x, 4.0 + x))
    u = scipy.linalg.solveh_banded(k, x)
    return np.sum(u * scipy.linalg.solveh_banded(k[::-1], u, lower=True, check_finite=False))


def of_complex_numbers(x):
    k = np.stack((0.5j * x, 4.0 + x, x - 2.0j))
    return np.sum(np.abs(scipy.linalg.solve_banded((1, 1), k, x * np.exp(1j * x))) ** 2)


def of_a_hermitian_one(x):
    u = scipy.linalg.solveh_banded(np.stack((0.5j * x, 4.0 + 0j * x)), x + 1j)
    return np.sum(np.abs(u) ** 2)


PROGRAMS = [of_diffusion, of_several, of_a_symmetric_one, of_complex_numbers, of_a_hermitian_one]


@BOTH
@pytest.mark.parametrize("program", PROGRAMS)
def test_derivatives(program: Any, target: str) -> None:
    assert_derivatives(program, X, target)


@BOTH
def test_second_derivatives(target: str) -> None:
    """Of the numbers outside of the matrix, too, which count for nothing."""
    for program in (of_diffusion, of_several) if target == "python" else (of_diffusion,):
        expected = differences(s2sad.grad(program, target="python"), X)
        np.testing.assert_allclose(s2sad.hessian(program, target=target)(X), expected, rtol=1e-6, atol=1e-7)

    def energy(k):
        return np.sum(scipy.linalg.solve_banded((1, 1), k, X) ** 2)

    k = np.outer(np.array([0.3, 1.0, -0.5]), X) + np.array([[0.0], [4.0], [0.0]])
    expected = differences(s2sad.grad(energy, target="python"), k)
    np.testing.assert_allclose(s2sad.hessian(energy, target=target)(k), expected, rtol=1e-6, atol=1e-8)
    assert s2sad.grad(energy, target=target)(k)[0, 0] == 0.0


@BOTH
def test_single_precision(target: str) -> None:
    x = X.astype(np.float32)
    bar = s2sad.grad(of_several, target=target)(x)
    np.testing.assert_allclose(bar, s2sad.grad(of_several, target="python")(X), rtol=1e-4)


@BOTH
def test_what_scipy_refuses(target: str) -> None:
    def total(k, b):
        return np.sum(scipy.linalg.solve_banded((1, 1), k, b))

    gradient = s2sad.grad(total, target=target)
    with pytest.raises(ValueError, match="the number of diagonals"):
        gradient(np.ones((4, 5)), X)
    with pytest.raises(ValueError):
        gradient(np.ones((3, 4)), X)
    with pytest.raises(np.linalg.LinAlgError):
        gradient(np.zeros((3, 5)), X)
