"""Rows and columns of sparse matrices that a function makes: `K[free, :][:, free]`, as finite elements write it."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences

sp = pytest.importorskip("scipy.sparse")
spl = pytest.importorskip("scipy.sparse.linalg")

E = np.linspace(1.0, 2.0, 6)
FREE = np.array([1, 2, 4, 5])


def stiffness(e):
    n = e.shape[0]
    rows = np.concatenate((np.arange(n), np.arange(n - 1), np.arange(1, n), np.arange(n)))
    columns = np.concatenate((np.arange(n), np.arange(1, n), np.arange(n - 1), np.arange(n)))
    numbers = np.concatenate((2.0 * e + 1.0, -e[:-1], -0.5 * e[1:] ** 2, e**2))
    return sp.csr_matrix((numbers, (rows, columns)), shape=(n, n))


def rows_then_columns(e):
    part = stiffness(e)[FREE, :][:, FREE]
    return np.sum(spl.spsolve(part.tocsc(), np.ones(4)) ** 2)


def rows_alone(e):
    return np.sum((stiffness(e)[FREE] @ e) ** 2)


def open_mesh(e):
    return np.sum(spl.spsolve(stiffness(e)[np.ix_(FREE, FREE)], np.arange(1.0, 5.0)) ** 2)


def by_slices(e):
    return np.sum(stiffness(e)[1:-1, ::2].toarray() ** 2 * np.arange(12.0).reshape(4, 3))


def by_a_mask(e):
    mask = np.array([True, False, True, True, False, True])
    return np.sum(stiffness(e)[:, mask].toarray() ** 3)


def repeated_and_from_the_end(e):
    return np.sum((stiffness(e)[np.array([0, -1, 0])] @ e) ** 2 * np.array([1.0, 2.0, 5.0]))


def one_number(e):
    k = stiffness(e)
    return k[2, 3] * k[0, 0] + k[-1, -1] ** 2 + k[0, 5]


PROGRAMS = (rows_then_columns, rows_alone, open_mesh, by_slices, by_a_mask, repeated_and_from_the_end, one_number)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_parts(fun, target):
    value, gradient = s2sad.value_and_grad(fun, target=target)(E)
    np.testing.assert_allclose(value, fun(E), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(fun, E), rtol=1e-6, atol=1e-7)


def one_row(e):
    return np.sum(stiffness(e)[2].toarray() ** 2)


def single_elements(e):
    return np.sum(stiffness(e)[FREE, FREE])


@pytest.mark.parametrize(("fun", "way"), [(one_row, r"S\[\[i\]\]"), (single_elements, r"S\[rows\]\[:, columns\]")])
def test_what_is_not_taken(fun, way):
    with pytest.raises(s2sad.S2SADError, match=way):
        s2sad.grad(fun)(E)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("pick", [
    lambda k: k[np.array([0, 6])].toarray()[0, 0], lambda k: k[:, np.array([-7])].toarray()[0, 0],
    lambda k: k[6, 0], lambda k: k[0, -7], lambda k: k[np.array([True, False])].toarray()[0, 0],
])  # fmt: skip
def test_what_is_outside(pick, target):
    with pytest.raises(IndexError):
        s2sad.grad(lambda e: pick(stiffness(e)), target=target)(E)
