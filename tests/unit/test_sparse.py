"""SciPy's sparse matrices, constant or made by the function: products, matrices made of others, and systems."""

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
        (lambda x: np.sum(ROWS + x), "a sparse matrix is added to what is none"),
        (lambda x: np.sum((MODERN * x).toarray()), "the elements of a sparse matrix are multiplied by others"),
        (lambda x: np.sum(sp.vstack([sp.diags(x), ROWS]) @ x), "`vstack` of a sparse matrix that only a run knows"),
        (lambda x: np.sum(sp.linalg.cg(ROWS, x)[0]), "`cg` has no derivative rule"),
        (lambda x: np.sum(ROWS[int(x[0])] @ x), "which item of a sparse matrix"),
    ):
        with pytest.raises(s2sad.S2SADError, match=what):
            s2sad.grad(program, target="python")(X)


@BOTH
def test_lengths_are_those_of_the_matrix(target):
    """Shorter ones would be read beyond their end, longer ones in part."""
    for wrong in (np.ones(N - 1), np.ones(N + 1)):
        with pytest.raises((ValueError, s2sad.S2SADError), match=r"columns meets an array of"):
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


PLACES = np.array([0, 1, 1, 2, 0, 2, 2]), np.array([0, 2, 4, 7])
WEIGHTS = np.random.default_rng(0).normal(size=(N, N)) * (np.random.default_rng(1).random((N, N)) < 0.5)
INCIDENCE = sp.csr_matrix(WEIGHTS)
FACTORS = sp.linalg.splu((sp.eye(N) - 0.1 * LAPLACE).tocsc())


def conducted(x):
    matrix = sp.diags([-x[1:], x + 3.0, -x[:-1]], [-1, 0, 1], format="csc")
    return np.sum(sp.linalg.spsolve(matrix, np.arange(1.0, x.size + 1.0)) ** 2)


def assembled(x):
    n = x.size + 1
    rows, columns, values = np.zeros(4 * x.size, np.int64), np.zeros(4 * x.size, np.int64), np.zeros(4 * x.size)
    for e in range(x.size):
        for a in range(2):
            for b in range(2):
                k = 4 * e + 2 * a + b
                rows[k], columns[k], values[k] = e + a, e + b, x[e] if a == b else -x[e]
    matrix = sp.coo_matrix((values, (rows, columns)), shape=(n, n)).tocsr() + sp.eye(n)
    return sp.linalg.spsolve(matrix, np.ones(n) + np.arange(n)) @ np.arange(n)


def network(x):
    matrix = INCIDENCE @ sp.diags(x) @ INCIDENCE.T + sp.identity(N)
    lu = sp.linalg.splu(matrix.tocsc())
    u = np.ones(N)
    for _ in range(2):
        u = lu.solve(u)
    return np.sum(u**3) + np.sum(lu.solve(x, trans="T"))


def compressed(x):
    rows = sp.csr_array((np.concatenate((x, x[:2])), *PLACES), shape=(3, 3))
    columns = sp.csc_array((np.concatenate((x, x[:2])), *PLACES))
    solved = sp.linalg.spsolve(rows.tocsc(), x[:3])
    return np.sum(solved**2) + np.sum((columns.T @ x[:3]) ** 2) + np.sum(rows.diagonal())


MADE = [
    conducted,
    assembled,
    network,
    compressed,
    lambda x: np.sum((sp.eye(N) - 0.1 * x[0] * ROWS) @ x) + np.sum((x[1] * ROWS @ x) ** 2),
    lambda x: np.sum((sp.spdiags(np.vstack([x, x**2, x]), [-1, 0, 1], N, N) @ x) ** 2),
    lambda x: np.sum((sp.dia_matrix((np.vstack([x, x**2]), [-1, 1]), shape=(N, N)).T @ x) ** 2),
    lambda x: np.sum((sp.kron(sp.diags(x[:2]), sp.eye(2)) @ x[:4]) ** 2),
    lambda x: np.sum((-(sp.diags_array(x) / x[1]) @ np.outer(x, x)) ** 2) + np.sum(sp.diags(x[1:], 1).toarray() ** 3),
    lambda x: np.sum((sp.csr_matrix(np.outer(x, x)) @ x) * (x * sp.diags(x) - x @ sp.diags(x))),
]
CONSTANT = [
    lambda x: np.sum(FACTORS.solve(x) ** 2) + np.sum(FACTORS.solve(x, trans="T")),
    lambda x: np.sum(FACTORS.solve(np.outer(x, x)) ** 2),
    lambda x: np.sum(sp.linalg.spsolve((sp.eye(N) - 0.1 * LAPLACE).tocsc(), x) ** 3),
    lambda x: np.sum(sp.linalg.factorized((sp.eye(N) - 0.1 * LAPLACE).tocsc())(x) ** 3),
]


@pytest.mark.filterwarnings("ignore")
@BOTH
@pytest.mark.parametrize("program", MADE + CONSTANT)
def test_matrices_of_what_a_run_knows_and_systems(program, target):
    expected = differences(program, X)
    made = s2sad.value_and_grad(program, target=target)
    value, slope = made(X)
    np.testing.assert_allclose(value, program(X), rtol=1e-12)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-8)
    _, along = s2sad.jvp(program, (X,), (X,), target=target)
    np.testing.assert_allclose(along, expected @ X, rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", [conducted, network, MADE[7], CONSTANT[0]])
def test_second_derivatives_of_systems(program):
    slope = s2sad.grad(program, target="python")
    steps = 1e-5 * np.eye(N)
    expected = np.array([(slope(X + e) - slope(X - e)) / 2e-5 for e in steps])
    np.testing.assert_allclose(s2sad.hessian(program, target="python")(X), expected, rtol=1e-5, atol=1e-6)


def test_factors_follow_the_matrix():
    matrix = (sp.eye(N) - 0.1 * LAPLACE).tocsc()

    def solved(x):
        return np.sum(sp.linalg.spsolve(matrix, x) ** 2)

    slope = s2sad.grad(solved)
    for factor in (1.0, 3.0, 1.0):
        matrix.data[:] = factor * (sp.eye(N) - 0.1 * LAPLACE).tocsc().data
        np.testing.assert_allclose(slope(X), differences(solved, X), rtol=1e-6)


def test_a_time_step_keeps_no_state_of_a_linear_system():
    def stepped(x):
        u = x.copy()
        for _ in range(10):
            u = FACTORS.solve(u + x)
        return np.sum(u**2)

    assert "tape" not in str(s2sad.differentiate(stepped).source("grad", types=(X,)))
    np.testing.assert_allclose(s2sad.grad(stepped)(X), differences(stepped, X), rtol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 5, 20, 60])
def test_systems_are_solved_as_scipy_does(n):
    """Also with numbers that are given in two parts, and rows in any order."""
    from s2sad.backends.numba_cpu import jitted
    from s2sad.backends.sparse_systems import solved

    compiled, random = jitted(solved), np.random.default_rng(n)
    for _ in range(20):
        dense = np.where(random.random((n, n)) < random.uniform(0.05, 0.5), random.normal(size=(n, n)), 0.0)
        dense = (dense + np.diag(random.normal(size=n)))[random.permutation(n)]
        if np.linalg.cond(dense) > 1e8:
            continue
        at = sp.coo_matrix(dense)
        rows, columns = np.concatenate((at.row, at.row)), np.concatenate((at.col, at.col))
        b = random.normal(size=n)
        x = compiled(np.concatenate((0.3 * at.data, 0.7 * at.data)), rows, columns, b)
        np.testing.assert_allclose(dense @ x, b, rtol=1e-7, atol=1e-7 * np.abs(x).max())
    assert np.all(np.isnan(compiled(np.zeros(n), np.arange(n), np.arange(n), np.ones(n))))
    with pytest.raises(ValueError, match="outside of it"):
        compiled(np.ones(n), np.arange(n) + 1, np.arange(n), np.ones(n))


def test_a_sparse_matrix_is_negated():
    matrix = sp.csr_matrix(np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 0.0], [4.0, 0.0, 5.0]]))

    def f(x):
        return np.sum((-matrix @ x) ** 2 - (-matrix @ x))

    x = np.array([0.3, -1.2, 0.7])
    dense = matrix.toarray()
    np.testing.assert_allclose(s2sad.grad(f)(x), 2 * dense.T @ (dense @ x) + dense.T @ np.ones(3))
