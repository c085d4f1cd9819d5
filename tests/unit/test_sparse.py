"""SciPy's sparse matrices as constants: products with arrays, matrices made of others, and numbers that change."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import s2sad

BOTH = pytest.mark.parametrize("target", ["python", "cpu"])
N = 5
X = np.linspace(0.5, 1.5, N)
LAPLACE = sp.diags([np.ones(N - 1), -2.0 * np.ones(N), np.arange(1.0, N)], [-1, 0, 1])
ROWS = LAPLACE.tocsr()
TRIPLES = LAPLACE.tocoo()
MODERN = sp.csr_array(ROWS)


class Model:
    """Holds a matrix."""

    def __init__(self, matrix):
        self.matrix = matrix

    def residual(self, x):
        return self.matrix @ x


MODEL = Model(ROWS)


def diffused(x):
    laplace = sp.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(5, 5)).tocsr()
    for _ in range(3):
        x = x + 0.1 * (laplace @ x)
    return np.sum(x**2)


PROGRAMS = [
    lambda x: np.sum((ROWS @ x) ** 2),
    lambda x: np.sum(ROWS.dot(x) ** 2),
    lambda x: np.sum((ROWS * x) ** 2),
    lambda x: np.sum((ROWS.T @ x) ** 2),
    lambda x: np.sum((x @ ROWS) ** 2),
    lambda x: np.sum((TRIPLES @ x) ** 2),
    lambda x: np.sum((LAPLACE.T @ x) ** 2),
    lambda x: np.sum((2.0 * MODERN @ x) ** 2) + MODERN.nnz,
    lambda x: np.sum(((sp.eye(5) - 0.1 * ROWS) @ x) ** 2),
    lambda x: np.sum((ROWS @ np.outer(x, x)) ** 2),
    lambda x: np.sum((np.outer(x, x)[:2] @ ROWS) ** 2),
    lambda x: np.sum((ROWS[1:3, :] @ x) ** 2) * ROWS[0, 0],
    lambda x: np.sum((ROWS.toarray() @ x) ** 2),
    lambda x: np.sum(MODEL.residual(x) ** 2),
    diffused,
]


def differences(fun, *args):
    """Return central differences by the first argument."""
    steps = 1e-6 * np.eye(N)
    return np.array([(fun(args[0] + e, *args[1:]) - fun(args[0] - e, *args[1:])) / 2e-6 for e in steps])


@BOTH
@pytest.mark.parametrize("program", PROGRAMS)
def test_products_with_arrays(program, target):
    expected = differences(program, X)
    np.testing.assert_allclose(s2sad.grad(program, target=target)(X), expected, rtol=1e-6)
    _, along = s2sad.jvp(program, (X,), (np.ones(N),), target=target)
    np.testing.assert_allclose(along, expected.sum(), rtol=1e-6)


def moved(x, matrix):
    return np.sum((matrix @ x) ** 2)


@BOTH
def test_a_matrix_that_is_an_argument(target):
    made = s2sad.grad(moved, target=target)
    for matrix in (ROWS, sp.csr_matrix(np.eye(N)[:, ::-1]), TRIPLES, ROWS):
        np.testing.assert_allclose(made(X, matrix), differences(moved, X, matrix), rtol=1e-6)
    with pytest.raises(s2sad.NotDifferentiableError, match="`matrix` is a csr_matrix"):
        s2sad.grad(moved, argnums=1, target=target)(X, ROWS)


@BOTH
def test_numbers_that_change_are_read_anew(target):
    """In place or under the name, in the matrix itself and in what is made of it."""
    scope = {"sp": sp, "np": np, "S": ROWS.copy(), "C": TRIPLES.copy(), "D": LAPLACE.copy()}

    def whole(x):
        return np.sum((S @ x) ** 2) + np.sum((C @ x) ** 2) + np.sum((D.T @ x) ** 2)

    def made(x):
        return np.sum(((sp.eye(5) - 0.1 * S) @ x) ** 2) + np.sum(S.toarray() @ x) * S[0, 0]

    S, C, D = scope["S"], scope["C"], scope["D"]
    gradients = [(fun, s2sad.grad(fun, target=target)) for fun in (whole, made)]
    for fun, gradient in gradients:
        np.testing.assert_allclose(gradient(X), differences(fun, X), rtol=1e-6)
    S.data *= 1.5
    C.data[0] = 7.0
    D.data[0] *= 3.0
    for fun, gradient in gradients:
        np.testing.assert_allclose(gradient(X), differences(fun, X), rtol=1e-6)
    S = sp.csr_matrix(np.triu(np.ones((N, N))) * np.arange(N))
    for fun, gradient in gradients:
        np.testing.assert_allclose(gradient(X), differences(fun, X), rtol=1e-6)


def test_transforms_of_products():
    program = PROGRAMS[0]
    dense = ROWS.toarray()
    np.testing.assert_allclose(s2sad.hessian(program, target="python")(X), 2.0 * dense.T @ dense, rtol=1e-12)
    many = s2sad.vmap(s2sad.grad(program, target="python"), target="python")(np.stack([X, 2.0 * X]))
    np.testing.assert_allclose(many, np.stack([2.0 * dense.T @ dense @ X, 4.0 * dense.T @ dense @ X]), rtol=1e-12)


def test_what_is_not_followed_is_refused_where_it_stands():
    for program, what in (
        (lambda x: np.sum(ROWS + x), r"`\+` of a sparse matrix and an array"),
        (lambda x: np.sum((MODERN * x).toarray()), r"`\*` of a sparse matrix and an array"),
        (lambda x: np.sum(sp.diags([x], [0]) @ x), "made by `diags` of what is known only when"),
        (lambda x: np.sum(ROWS[int(x[0])] @ x), "which item of a sparse matrix"),
    ):
        with pytest.raises(s2sad.S2SADError, match=what):
            s2sad.grad(program, target="python")(X)


@BOTH
def test_lengths_are_those_of_the_matrix(target):
    """Shorter ones would be read beyond their end, longer ones in part."""
    for wrong in (np.ones(N - 1), np.ones(N + 1)):
        with pytest.raises((ValueError, s2sad.S2SADError), match=r"columns is multiplied by an array of"):
            s2sad.grad(moved, target=target)(wrong, ROWS)


def test_matrices_of_numpy_are_refused():
    for program in (lambda x: np.sum(ROWS.todense() * x), lambda x: np.sum(ROWS.sum(axis=1) * x)):
        with pytest.raises(s2sad.UnsupportedSyntaxError, match=r"numpy\.matrix"):
            s2sad.grad(program, target="python")(X)


@BOTH
def test_matrices_of_other_shapes(target):
    made = s2sad.grad(moved, target=target)
    for matrix in (ROWS, ROWS[:3], sp.csr_matrix(np.ones((7, N))), ROWS):
        np.testing.assert_allclose(made(X, matrix), differences(moved, X, matrix), rtol=1e-6)


def test_a_step_with_a_square_matrix_tapes_its_state_alone():
    def stepped(x, steps):
        u = x.copy()
        for _ in range(steps):
            u = u + 0.1 * (ROWS @ u) * u
        return np.sum(u)

    text = str(s2sad.differentiate(stepped).source("grad", types=(X, 3)))
    assert "unbroadcast" not in text
    np.testing.assert_allclose(s2sad.grad(stepped)(X, 3), differences(stepped, X, 3), rtol=1e-6)
