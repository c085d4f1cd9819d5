"""Which results share the memory of an operand, as NumPy has it: writes into them, and writes that they are free of."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.3, -0.7, 1.1, 0.4, -1.3, 0.8])


def a_copy_of_the_real_part(x):
    a = x.real.copy()
    a[0] = 3.0
    return (a * x).sum()


def copies_of_what_real_returns(x):
    a, b, c = np.real(x).copy(), np.copy(np.real(x)), np.array(np.real(x))
    a[0], b[1], c[2] = 3.0, 2.0, 1.0
    return (a * x * b * c).sum()


def a_copy_of_a_complex_part(x):
    w = x * (1 + 2j)
    a, b = np.real(w).copy(), w.imag.copy()
    a[0] = 3.0
    b[0] *= 3.0
    return (a * x * b).sum() + w[0].imag ** 2


def a_real_part_and_nothing(x):
    p = x.real + 0
    p[1] = 3.0
    return (p * x).sum()


def a_real_part_again(x):
    a = np.asarray(np.real(x)) * 1.0
    b = np.copy(x.real)
    b[:] = a * b
    return (a * x * b).sum()


def a_vector_in_fortran_order(x):
    a = x * 1.5
    b = np.asfortranarray(a)
    b[0] = 0.25 * x[1]
    return (a * a * x).sum() + b[0] * a[0]


def a_matrix_in_fortran_order(x):
    m = np.asfortranarray(x.reshape(2, 3))
    m[0, 1] = 4.0
    return (m.T @ m).sum() * x[1]


def a_transpose_in_fortran_order(x):
    m = x.reshape(2, 3).T * 1
    n = np.asfortranarray(m)
    n[0, 1] = 4.0
    return (m * n).sum()


def flattened_across(x):
    m = x.reshape(2, 3).T * 1
    n = m.ravel()
    n[0] = 4.0
    return (m * m).sum() + n.sum() * x[1]


def flattened_along(x):
    m = x.reshape(2, 3).T * x[0]
    n = m.T.ravel()
    n[0] = 4.0
    return (m * m).sum() + (n * x).sum()


def reshaped_along(x):
    m = np.exp(x.reshape(2, 3).T) + 1
    n = m.T.reshape(6)
    n[0] = 3.0
    return (m * m).sum() + (n * x).sum()


def a_sum_of_both_orders(x):
    m = x.reshape(2, 3).T + x.reshape(3, 2)
    n = m.reshape(6)
    n[0] = 3.0
    return (m * m).sum() + (n * x).sum()


def set_through_flat(x):
    a, b = np.zeros((2, 3)), np.zeros((3, 2))
    a.flat = x**2
    b.flat = a
    b.flat[1] = 2.0 * x[0]
    a.flat = x[1] * a[0, 0]
    return (b.T * a).sum()


PROGRAMS = [
    set_through_flat,
    a_copy_of_the_real_part, copies_of_what_real_returns, a_copy_of_a_complex_part, a_real_part_and_nothing,
    a_real_part_again, a_vector_in_fortran_order, a_matrix_in_fortran_order, a_transpose_in_fortran_order,
    flattened_across, a_sum_of_both_orders,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


@pytest.mark.parametrize("fun", [flattened_along, reshaped_along])
def test_what_is_flat_in_one_order_alone_is_not_written(fun):
    with pytest.raises(s2sad.AliasError, match="may share its memory") as info:
        s2sad.grad(fun)(X)
    assert "n[0] = " in str(info.value)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_orders_along_an_axis_of_one(target):
    """The places of an axis of one element are zeros."""
    def middle(x):
        return np.median(x.reshape(1, 6), axis=0) @ np.sort(x.reshape(1, 6), axis=0)[0]

    assert_derivatives(middle, X, target)


def test_conversion_to_fortran_order_takes_a_dtype():
    def summed(x):
        return (np.asfortranarray(x.reshape(2, 3), dtype=np.float64) ** 2).sum() + np.asfortranarray([x[0], x[1]])[1]

    np.testing.assert_allclose(s2sad.grad(summed, target="cpu")(X), 2 * X + np.eye(6)[1])


def written_first(a, b):
    a[0] = 5.0 * b[1]
    a[1] = a[0] * b[0]
    return a[1] * b[1] + b[0]


def of_one_array(a, b):
    c = a * 1.0
    return s2sad.grad(written_first)(c, c) @ b


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("transform", [s2sad.hessian, lambda f, target: s2sad.jacrev(s2sad.grad(f), target=target),
                                       lambda f, target: s2sad.vmap(f, target=target)])  # fmt: skip
def test_derivatives_that_write_into_copies_want_arguments_apart(transform, target):
    x = np.array([[1.0, 2.0], [3.0, 4.0]]) if transform is not s2sad.hessian else np.array([1.0, 2.0])
    if "grad" in str(transform.__code__.co_names):
        x = x[0]
    derived = transform(written_first, target=target)
    with pytest.raises(s2sad.AliasError, match="`a` and `b` overlap, and `a` is written") as refused:
        derived(x, x)
    assert "def written_first(a, b)" in str(refused.value)
    derived(x, x.copy())


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_derivative_inside_is_given_no_array_twice_that_is_written(target):
    with pytest.raises(s2sad.AliasError, match="`c` is given twice"):
        s2sad.grad(of_one_array, target=target)(X, X.copy())
