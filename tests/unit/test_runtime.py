"""The runtime helpers: the same value in CPython, under Numba and by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

from s2sad import runtime
from s2sad.backends.numba_cpu import jitted
from s2sad.rules.sample import definite, values
from s2sad.runtime import decompositions

CUBE = values(2, 3, 4)
LAYOUTS = [CUBE, CUBE.transpose(2, 0, 1), CUBE[:, ::2], CUBE[0], CUBE.astype(np.float32)]
ALONG = {
    runtime.mean_axis: np.mean,
    runtime.var_axis: np.var,
    runtime.std_axis: np.std,
    runtime.max_axis: np.max,
    runtime.min_axis: np.min,
    runtime.prod_axis: np.prod,
    runtime.cumprod_axis: np.cumprod,
    runtime.flip_axis: np.flip,
}


def both(helper: Any, *args: Any) -> list[Any]:
    return [helper(*args), jitted(helper, cache=False)(*args)]


def same(got: Any, expected: Any) -> None:
    assert np.shape(got) == np.shape(expected)
    assert np.result_type(got) == np.result_type(expected)
    rtol = 1e-5 if np.result_type(got) == np.float32 else 1e-12
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-6 * rtol)


@pytest.mark.parametrize("helper", ALONG, ids=lambda h: h.__name__)
def test_along_an_axis(helper: Any) -> None:
    for x in LAYOUTS:
        for axis in (0, 1, -1):
            for got in both(helper, x, axis):
                same(got, ALONG[helper](x, axis=axis))


@pytest.mark.parametrize("helper", [runtime.max_axis, runtime.min_axis], ids=lambda h: h.__name__)
def test_nan_wins(helper: Any) -> None:
    x = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, 4.0]])
    for got in both(helper, x, 0):
        assert np.isnan(got).all()


@pytest.mark.parametrize("shape", [(4,), (1, 4), (3, 1), (1, 1), (1,), (2, 1, 4), (2, 3, 4)])
def test_unbroadcast(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape)
    axes = tuple(range(3 - len(shape)))
    summed = np.sum(CUBE, axis=axes)
    for k, n in enumerate(shape):
        if n == 1:
            summed = np.sum(summed, axis=k, keepdims=True)
    same(runtime.unbroadcast(CUBE, x), summed)
    for got in both(runtime.sum_to_shape, CUBE, x):
        same(got, summed)


def test_unbroadcast_to_a_number() -> None:
    assert runtime.unbroadcast(CUBE, 1.0) == np.sum(CUBE)
    assert runtime.unbroadcast(2.0, 1.0) == 2.0


@pytest.mark.parametrize("helper", [runtime.add_at, runtime.add_at_any], ids=lambda h: h.__name__)
def test_add_at_accumulates_duplicates(helper: Any) -> None:
    index = np.array([0, 2, 2, -1])
    for shape in ((3,), (3, 2)):
        g, expected = values(4, *shape[1:]), np.ones(shape)
        np.add.at(expected, index, g)
        for run in (helper, *([jitted(helper, cache=False)] if helper is runtime.add_at else [])):
            x_bar = np.ones(shape)
            run(x_bar, index, g)
            same(x_bar, expected)


def test_product_of_others_with_zeros() -> None:
    x = np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0]])
    for got in both(runtime.product_of_others, x, 1):
        same(got, np.array([[0.0, 6.0, 0.0], [0.0, 0.0, 0.0]]))
    for got in both(runtime.product_of_others, x, 0):
        same(got, np.array([[0.0, 0.0, 5.0], [2.0, 0.0, 3.0]]))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scans_and_shifts(axis: int) -> None:
    f, g = values(2, 3, 4, seed=1), values(2, 3, 4, seed=2)
    for got in both(runtime.shift, CUBE, 3.0, axis):
        joined = np.concatenate((np.full_like(np.take(CUBE, [0], axis), 3.0), CUBE), axis)
        same(got, np.delete(joined, -1, axis))
    for got in both(runtime.shift_back, CUBE, axis):
        assert np.isclose(np.sum(got * g), np.sum(CUBE * runtime.shift(g, 0.0, axis)))
    for got in both(runtime.scan, CUBE, f, axis):
        same(got - CUBE * runtime.shift(got, 0.0, axis), f)
        scanned = got
    for got in both(runtime.scan_back, CUBE, g, axis):
        assert np.isclose(np.sum(got * f), np.sum(g * scanned))


def test_embed() -> None:
    for got in both(runtime.embed, values(2), 1, 4):
        same(got, np.array([0.0, *values(2), 0.0]))


def test_polyval() -> None:
    for x in (0.7, values(3), values(2, 3)):
        for got in both(runtime.polyval, values(4), x):
            same(got, np.polyval(values(4), x))


def test_nan_is_left_out() -> None:
    x = np.where(values(3, 4) > 1.5, np.nan, values(3, 4))
    for got in both(runtime.nansum_axis, x, 0):
        same(got, np.nansum(x, axis=0))
    for got in both(runtime.nanmean_axis, x, -1):
        same(got, np.nanmean(x, axis=-1))


def test_decompositions_of_batches() -> None:
    """In CPython, where they must equal NumPy's own; compiled they run in `test_linalg.py`."""
    a = definite(2, 3, 3)
    spd = a @ np.swapaxes(a, 1, 2)
    tall = values(2, 4, 3)
    for got, expected in (
        (decompositions.eigh_batch(spd), np.linalg.eigh(spd)),
        (decompositions.qr_batch(tall), np.linalg.qr(tall)),
        (decompositions.svd_batch(tall, False), np.linalg.svd(tall, full_matrices=False)),
        (decompositions.svd_batch(tall, True), np.linalg.svd(tall)),
        (decompositions.slogdet_batch(a), np.linalg.slogdet(a)),
        (decompositions.lstsq_default(tall[0], tall[1, :, 0]), np.linalg.lstsq(tall[0], tall[1, :, 0])),
    ):
        for one, other in zip(got, expected, strict=True):
            same(one, other)
    same(decompositions.eigvalsh_batch(spd), np.linalg.eigvalsh(spd))
    same(decompositions.svdvals_batch(tall), np.linalg.svdvals(tall))
    same(decompositions.cholesky_batch(spd), np.linalg.cholesky(spd))
    same(decompositions.pinv_batch(tall), np.linalg.pinv(tall))
    same(decompositions.power_batch(a, 3), np.linalg.matrix_power(a, 3))


def test_triangles_and_traces_of_batches() -> None:
    a = values(2, 3, 4)
    for k in (-4, -1, 0, 2, 5):
        same(decompositions.tril_batch(a, k), np.tril(a, k))
        same(decompositions.triu_batch(a, k), np.triu(a, k))
        same(decompositions.trace_batch(a, k), np.trace(a, k, 1, 2))


def test_triangular_systems_and_exponentials() -> None:
    a, b = definite(4, 4), values(4, 2)
    for trans in (False, True):
        for lower in (False, True):
            for unit in (False, True):
                triangle = np.tril(a) if lower else np.triu(a)
                matrix = triangle - np.diag(np.diag(a)) + np.eye(4) if unit else triangle
                expected = np.linalg.solve(matrix.T if trans else matrix, b)
                same(decompositions.solve_triangular(a, b, trans, lower, unit), expected)
                same(decompositions.solve_triangular(a, b[:, 0], trans, lower, unit), expected[:, 0])
    w, v = np.linalg.eigh(a + a.T)
    for scale in (0.01, 0.5, 3.0):
        exact = (v * np.exp(scale * w)) @ v.T
        np.testing.assert_allclose(decompositions.expm(scale * (a + a.T)), exact, rtol=1e-11, atol=1e-11)


def test_factors_of_a_matrix() -> None:
    a, b = definite(4, 4)[[2, 0, 3, 1]], values(4, 2)
    for lu, order in both(decompositions.lu_factor, a):
        same((np.tril(lu, -1) + np.eye(4)) @ np.triu(lu), a[order])
        for trans in (False, True):
            expected = np.linalg.solve(a.T if trans else a, b)
            for got in both(decompositions.lu_solve, lu, order, b, trans):
                same(got, expected)
            for got in both(decompositions.lu_solve, lu, order, b[:, 0], trans):
                same(got, expected[:, 0])
    with pytest.raises(np.linalg.LinAlgError):
        decompositions.lu_factor(np.ones((2, 2)))
    with pytest.raises(ValueError, match="not equally long"):
        decompositions.lu_solve(a, np.arange(4), b[:3], False)


def test_scatter_is_the_transpose_of_take() -> None:
    index, x = np.array([[1, 1], [0, -1]]), CUBE
    for axis in (0, 1, -1):
        g = values(*np.take(x, index, axis=axis).shape, seed=3)
        for got in both(runtime.scatter, g, index, x, axis):
            assert np.isclose(np.sum(got * x), np.sum(g * np.take(x, index, axis=axis)))


def test_tiles() -> None:
    for x, reps in ((values(3), 2), (values(3), (2, 2)), (values(2, 3), (3, 2)), (values(2, 3), 2)):
        tiled = np.tile(x, reps)
        for got in both(runtime.tile_like, x, tiled):
            same(got, tiled)
        g = values(*tiled.shape, seed=2)
        for got in both(runtime.untile, g, x):
            assert np.isclose(np.sum(got * x), np.sum(g * tiled))
    for got in both(runtime.tile_vector, values(3), 4):
        same(got, np.tile(values(3), 4))
    for got in both(runtime.tile_matrix, values(2, 3), 2, 3):
        same(got, np.tile(values(2, 3), (2, 3)))


def test_pads() -> None:
    x = values(2, 3)
    padded = np.pad(x, ((1, 0), (2, 1)))
    before = runtime.pad_before(((1, 0), (2, 1)), 2)
    assert before == (1, 2)
    for got in both(runtime.pad_like, x, padded, before):
        same(got, padded)
    for got in both(runtime.unpad, padded, x, before):
        same(got, x)
    for got in both(runtime.pad_matrix, x, 1, 0, 2, 1, 0.0):
        same(got, padded)
    for got in both(runtime.pad_vector, x[0], 1, 2, 0.5):
        same(got, np.pad(x[0], (1, 2), constant_values=0.5))


def test_roll() -> None:
    for axis in (0, 1, -1):
        for shift in (1, -2, 5):
            for got in both(runtime.roll_axis, CUBE, shift, axis):
                same(got, np.roll(CUBE, shift, axis=axis))


def test_batches() -> None:
    a, b = definite(2, 3, 3), values(2, 3, 2)
    for got in both(runtime.matmul_batch, a, b):
        same(got, a @ b)
    for got in both(runtime.matmul_batch, a[:1], b):
        same(got, a[:1] @ b)
    for got in both(runtime.solve_batch, a, b):
        same(got, np.linalg.solve(a, b))
    for got in both(runtime.inv_batch, a):
        same(got, np.linalg.inv(a))
    for got in both(runtime.det_batch, a):
        same(got, np.linalg.det(a))


def test_inverse_axes() -> None:
    for axes in ((1, 2, 0), (-1, 0, 1), (0, 1, 2)):
        assert (
            np.transpose(np.transpose(CUBE, axes), runtime.inverse_axes(axes)).shape == CUBE.shape
        )


@pytest.mark.parametrize("x", [0.01, 0.5, 2.3, 7.0, 41.0, -3.3, -20.4])
def test_digamma_and_its_derivatives(x: float) -> None:
    for got in both(runtime.digamma, x):
        assert np.isclose(got, scipy.special.digamma(x), rtol=1e-13, atol=1e-13)
    for n in (1, 2, 3, 6):
        if x > 0:
            for got in both(runtime.polygamma, n, x):
                assert np.isclose(got, scipy.special.polygamma(n, x), rtol=1e-12)


def test_digamma_at_its_poles() -> None:
    assert np.isnan(runtime.digamma(-2.0))
    assert np.isnan(runtime.polygamma(1, 0.0))
