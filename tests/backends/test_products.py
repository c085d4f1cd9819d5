"""Products of matrices and vectors of every layout, of no elements too, and lengths that do not agree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import s2sad

SHAPES = [((3, 4), (4, 5)), ((3, 4), (4,)), ((4,), (4, 5)), ((4,), (4,)), ((1, 4), (4, 5)), ((3, 4), (4, 1)),
          ((1, 4), (4, 1)), ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((3, 0), (0,)), ((0,), (0,))]  # fmt: skip
LONG = [((9, 10), (10, 11)), ((9, 10), (10,)), ((10,), (10, 11)), ((100,), (100,)), ((1, 90), (90, 5)),
        ((30, 90), (90, 1)), ((1, 90), (90, 1)), ((90, 0), (0, 90))]  # fmt: skip
"""Those that BLAS is called for: shorter ones are added up where they stand."""


def product(a, b):
    return a @ b


def squares(a, b):
    return np.sum((a @ b) ** 2)


def laid_out(x, layout):
    if layout == "F":
        return np.asfortranarray(x)
    return np.repeat(x, 2, axis=-1)[..., ::2] if layout == "A" else x


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(("left", "right"), [*SHAPES, *LONG], ids=str)
def test_products_and_their_adjoints(left, right, dtype):
    random = np.random.default_rng(0)
    tolerance = 1e-4 if dtype is np.float32 else 1e-11

    def drawn(shape):
        numbers = random.normal(size=shape)
        return (numbers + 1j * random.normal(size=shape) if dtype is np.complex128 else numbers).astype(dtype)

    for first, second in itertools.product("CFA", "CFA"):
        a, b = laid_out(drawn(left), first), laid_out(drawn(right), second)
        value, pullback = s2sad.vjp(product, a, b)
        np.testing.assert_allclose(value, a @ b, rtol=tolerance, atol=tolerance)
        bar = drawn(np.shape(value)) if np.shape(value) else dtype(1.5)
        a_bar, b_bar = pullback(bar)
        tall, wide = a if a.ndim > 1 else a[None], b if b.ndim > 1 else b[:, None]
        both = np.reshape(bar, (tall.shape[0], wide.shape[1]))
        np.testing.assert_allclose(a_bar, (both @ wide.T).reshape(left), rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(b_bar, (tall.T @ both).reshape(right), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("left", "right"), [((3, 4), (5, 4)), ((3, 4), (3,)), ((4,), (3, 4)), ((3,), (4,))], ids=str)
def test_lengths_that_do_not_agree_are_said(left, right):
    with pytest.raises(ValueError, match=r"incompatible|mismatch|not aligned"):
        s2sad.grad(squares)(np.ones(left), np.ones(right))
