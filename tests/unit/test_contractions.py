"""`einsum` and `tensordot` over several axes: compiled as products of matrices, in batches if need be."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad

NORMAL = np.random.default_rng(0).normal
CASES = [
    ("ijk,kl->ijl", (3, 4, 5), (5, 6)), ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bqd,bkd->bqk", (2, 4, 5), (2, 6, 5)), ("ij,ij->", (3, 4), (3, 4)), ("ijk,k->ij", (3, 4, 5), (5,)),
    ("i,ijk->jk", (3,), (3, 4, 5)), ("ijkl,kl->ij", (2, 3, 4, 5), (4, 5)), ("ijk,jkl->il", (2, 3, 4), (3, 4, 5)),
    ("ij,k->ijk", (2, 3), (4,)), ("bij,bj->bi", (2, 3, 4), (2, 4)), ("abc,cd->dba", (2, 3, 4), (4, 5)),
    ("abcd,bd->ac", (2, 3, 4, 5), (3, 5)), ("ijk,ilk->jil", (2, 3, 4), (2, 5, 4)), ("ij,jk->ik", (3, 4), (4, 5)),
]  # fmt: skip


def contraction(subscripts):
    def weighed(a, b):
        return np.sum(np.tanh(np.einsum(subscripts, a, b)))

    return weighed


def both(fun, *args):
    """Compare what is compiled with what NumPy computes, values and gradients; return the latter."""
    known, bars = s2sad.value_and_grad(fun, argnums=(0, 1), target="python")(*args)
    value, found = s2sad.value_and_grad(fun, argnums=(0, 1))(*args)
    single = any(arg.dtype == np.float32 for arg in args)
    np.testing.assert_allclose(value, known, rtol=1e-5 if single else 1e-12)
    for one, other in zip(found, bars, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-4 if single else 1e-11, atol=1e-5 if single else 1e-12)
    return bars


@pytest.mark.compiled
@pytest.mark.parametrize(("subscripts", "first", "second"), CASES)
def test_two_operands(subscripts, first, second):
    a, b = NORMAL(size=first), NORMAL(size=second)
    bars = both(contraction(subscripts), a, b)
    ahead = 1e-6 * np.cos(a), 1e-6 * np.cos(b)
    fun = contraction(subscripts)
    slope = (fun(a + ahead[0], b + ahead[1]) - fun(a - ahead[0], b - ahead[1])) / 2e-6
    along = sum(np.sum(bar * np.cos(x)) for bar, x in zip(bars, (a, b), strict=True))
    np.testing.assert_allclose(along, slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtypes", [("f4", "f8"), ("f4", "f4"), ("c16", "f8")])
@pytest.mark.parametrize(("subscripts", "first", "second"), [CASES[0], CASES[-1]])
def test_two_dtypes(subscripts, first, second, dtypes):
    def size(a, b):
        return np.sum(np.abs(np.einsum(subscripts, a, b)) ** 2)

    both(size, NORMAL(size=first).astype(dtypes[0]), NORMAL(size=second).astype(dtypes[1]))


def test_columns_and_steps():
    def total(a, b):
        return np.sum(np.einsum("ijk,lkj->il", a, b) ** 2)

    both(total, np.asfortranarray(NORMAL(size=(2, 3, 4))), NORMAL(size=(5, 8, 3))[:, ::2])


def test_three_operands_go_by_the_letters_they_share():
    def chained(a, b):
        return np.sum(np.einsum("ijm,kl,lm->ijk", a, b, b.T) ** 2)

    both(chained, NORMAL(size=(2, 3, 4)), NORMAL(size=(5, 4))[:, :4][:4])


def test_tensordot_over_two_axes():
    def total(a, b):
        return np.sum(np.tensordot(a, b, axes=([1, 2], [0, 1])) ** 2) + np.sum(np.tensordot(b, a, 0))

    both(total, NORMAL(size=(2, 3, 4, 2)), NORMAL(size=(3, 4, 2)))


def test_whole_numbers_and_numbers():
    weights = np.array([1, 0, -2])

    def total(a, b):
        return np.sum(np.tensordot(weights, a, 1) ** 2) + np.sum(b)

    both(total, NORMAL(size=(3, 4, 5)), NORMAL(size=2))


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_lengths_that_differ_are_refused(target):
    gradient = s2sad.grad(contraction("bhqd,bhkd->bhqk"), target=target)
    assert gradient(NORMAL(size=(2, 6, 4, 5)), NORMAL(size=(2, 6, 3, 5))).shape == (2, 6, 4, 5)
    with pytest.raises(ValueError, match="broadcast"):
        gradient(NORMAL(size=(2, 6, 4, 5)), NORMAL(size=(3, 4, 3, 5)))
    with pytest.raises(ValueError, match=r"broadcast|size|shape|dimension"):
        gradient(NORMAL(size=(2, 6, 4, 5)), NORMAL(size=(2, 6, 3, 4)))


def test_no_array_of_all_axes_is_made():
    def layers(x, w):
        return np.sum(np.tanh(np.einsum("bti,io->bto", x, w)))

    text = str(s2sad.differentiate(layers, argnums=(0, 1)).source(types="float64[:,:,:], float64[:,:]"))
    assert "expand_dims" not in text
    assert text.count(" @ ") == 3


def test_a_sum_of_displays_has_as_many_items_as_it_says():
    def lattice(x, tau):
        w = np.array([4 / 9] + [1 / 9] * 2 + 2 * [1 / 36] + [tau])
        return np.sum(w[:, None] * x**2)

    text = str(s2sad.differentiate(lattice, argnums=(0, 1)).source(types="float64[:,:], float64"))
    assert "w = np.array([4 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, tau])" in text
    for target in ("python", "cpu"):
        x_bar, tau_bar = s2sad.grad(lattice, argnums=(0, 1), target=target)(np.ones((6, 2)), 0.5)
        np.testing.assert_allclose(x_bar[:, 0], [8 / 9, 2 / 9, 2 / 9, 1 / 18, 1 / 18, 1.0])
        assert tau_bar == 2.0


def test_a_product_of_tensors_is_reshaped_under_a_name():
    def f(w, x):
        out = np.einsum("ok,nkp->nop", w, x)
        out += 1.0
        return np.sum(out.reshape(2, 6) ** 3)

    r = np.random.default_rng(0)
    w, x = r.normal(size=(3, 2)), r.normal(size=(2, 2, 2))
    t = r.normal(size=(3, 2))
    expected = (f(w + 1e-6 * t, x) - f(w - 1e-6 * t, x)) / 2e-6
    assert np.sum(s2sad.grad(f)(w, x) * t) == pytest.approx(expected, rel=1e-7)
