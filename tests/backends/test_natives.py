"""What is written natively does what NumPy does, for every kind of argument, and takes nothing from Numba."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numba import njit

from s2sad.backends.lowering import Pipeline
from s2sad.runtime.linalg import matmul_batch

compiled = njit(pipeline_class=Pipeline, error_model="numpy")
DTYPES = ("float64", "float32", "complex128", "int64", "bool")


product = compiled(lambda a, b: matmul_batch(a, b))


def layouts(shape, dtype="float64"):
    """Yield arrays of one shape that lie in memory in different ways."""
    rng = np.random.default_rng(0)
    x = (10 * rng.normal(size=shape)).astype(dtype)
    yield x
    yield np.asfortranarray(x)
    wide = np.zeros([2 * n for n in shape], dtype)
    every = tuple(slice(None, None, 2) for _ in shape)
    wide[every] = x
    yield wide[every]
    back = np.ascontiguousarray(x[tuple(slice(None, None, -1) for _ in shape)])
    yield back[tuple(slice(None, None, -1) for _ in shape)]


def same(found, wanted):
    assert isinstance(found, np.ndarray)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)


@compiled
def made(n, m):
    return (
        np.zeros(n), np.zeros((n, m)), np.zeros((n, m), dtype=np.int64), np.zeros(n, np.float32), np.ones((m, n)),
        np.ones(n, dtype=np.bool_), np.full(n, -np.inf), np.full((n, m), 3), np.full((n, m), 2, dtype=np.float64),
        np.full(n, True), np.full(n, 1j), np.arange(n), np.zeros(()), np.zeros((n, 2), "float32"),
        np.full((2, n), n / 3), np.eye(n), np.eye(n, m), np.eye(n, dtype=np.complex128),
    )  # fmt: skip


@pytest.mark.parametrize(("n", "m"), [(3, 4), (1, 1), (0, 2)])
def test_arrays_made(n, m):
    for found, wanted in zip(made(n, m), made.py_func(n, m), strict=True):
        same(found, wanted)


@compiled
def shapes(n, m):
    return np.empty(n).shape, np.empty((n, m), np.complex128).shape, np.empty((n, 3), dtype="float32").shape


def test_arrays_left_empty():
    assert shapes(2, 5) == ((2,), (2, 5), (2, 3))


@pytest.mark.parametrize(
    "fun", [lambda n: np.zeros(n), lambda n: np.empty((2, n)), lambda n: np.full(n, 1.0), lambda n: np.eye(n)]
)
def test_lengths_below_zero(fun):
    with pytest.raises(ValueError, match="negative"):
        njit(pipeline_class=Pipeline)(fun)(-1)


@compiled
def like(x):
    return (
        np.zeros_like(x),
        np.zeros_like(x, dtype=np.float32),
        np.empty_like(x).shape,
        np.copy(x),
        np.ascontiguousarray(x),
    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_like_others(dtype):
    for x in itertools.chain(layouts((3, 2), dtype), layouts((4,), dtype), layouts((2, 1, 3), dtype)):
        zeros, single, shape, copy, whole = like(x)
        same(zeros, np.zeros_like(x))
        same(single, np.zeros_like(x, dtype=np.float32))
        assert shape == x.shape
        same(copy, x)
        assert not np.shares_memory(copy, x)
        same(whole, x)
        assert whole.flags.c_contiguous
        assert np.shares_memory(whole, x) == x.flags.c_contiguous


@compiled
def turned(x):
    return np.transpose(x, (2, 0, 1)), np.transpose(x, axes=(-1, 1, 0)), np.swapaxes(x, -1, -2), np.swapaxes(x, 0, 2)


def test_axes_in_another_order():
    for x in layouts((2, 3, 4)):
        for found, wanted in zip(turned(x), turned.py_func(x), strict=True):
            same(found, wanted)
            assert np.shares_memory(found, x)
            assert found.strides == wanted.strides


@pytest.mark.parametrize("axes", [(0, 0, 1), (0, 1, 3), (0, -4, 1)])
def test_axes_that_are_none(axes):
    with pytest.raises(ValueError, match="axis"):
        compiled(lambda x, axes: np.transpose(x, axes))(np.ones((2, 3, 4)), axes)


@compiled
def reshaped(x):
    return (
        np.reshape(x, (4, 6)),
        np.reshape(x, (2, -1)),
        np.reshape(x, (-1,)),
        np.reshape(x, (3, 1, -1, 4)),
        np.reshape(x, 24),
    )


def test_other_shapes():
    x = np.arange(24.0).reshape(2, 3, 4)
    for found, wanted in zip(reshaped(x), reshaped.py_func(x), strict=True):
        same(found, wanted)
        assert np.shares_memory(found, x)
    same(compiled(lambda x: np.reshape(x, (0, 5)))(np.ones((3, 0))), np.ones((0, 5)))


@pytest.mark.parametrize("shape", [(5, 5), (-1, 7), (-1, -1), (-1, 0)])
def test_shapes_that_do_not_fit(shape):
    with pytest.raises(ValueError, match="reshape"):
        compiled(lambda x, shape: np.reshape(x, shape))(np.arange(24.0), shape)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("sizes", [(2, 3, 4), (9, 17, 8), (1, 30, 1), (30, 1, 30), (0, 3, 2), (3, 0, 20), (16, 16, 16)])
@pytest.mark.parametrize("batches", [(3, 3), (1, 3), (3, 1), (0, 1)])
def test_products_of_batches(dtype, sizes, batches):
    """Both by the loop for few numbers and by BLAS, of rows, of columns, and of what lies scattered."""
    m, k, n = sizes
    lefts = [*layouts((batches[0], m, k), dtype), np.ones((batches[0], k, m), dtype).transpose(0, 2, 1)]
    rights = [*layouts((batches[1], k, n), dtype), np.ones((batches[1], n, k), dtype).transpose(0, 2, 1)]
    for a, b in itertools.product(lefts, rights):
        found = product(a, b)
        assert found.dtype == a.dtype
        np.testing.assert_allclose(
            found, a @ b, rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-3 if dtype == "float32" else 1e-9
        )


def test_batches_of_views_that_overlap():
    x = np.random.default_rng(0).normal(size=60)
    windows = np.lib.stride_tricks.sliding_window_view(x, (20,)).reshape(1, 41, 20)
    spread = np.broadcast_to(x[:20], (1, 30, 20)).transpose(0, 2, 1)
    overlapping = np.lib.stride_tricks.as_strided(x, (1, 41, 20), (8, 8, 8))
    for a in (windows, overlapping):
        np.testing.assert_allclose(product(a, spread), a @ spread, rtol=1e-12)


@pytest.mark.parametrize(("left", "right"), [((2, 3, 4), (2, 5, 4)), ((2, 3, 4), (3, 4, 2))])
def test_batches_that_do_not_fit(left, right):
    with pytest.raises(ValueError, match=r"incompatible|broadcast"):
        product(np.ones(left), np.ones(right))


def test_other_numbers_are_multiplied_too():
    a, b = np.arange(12).reshape(2, 2, 3), np.arange(12.0).reshape(2, 3, 2)
    same(product(a, b), a @ b)
    same(product(a, a.transpose(0, 2, 1).copy()), a @ a.transpose(0, 2, 1))


@compiled
def products(a, b, v):
    return a @ b, a @ v, v @ b, v @ v


def test_products():
    for a, b in itertools.product(layouts((3, 3)), layouts((3, 3))):
        for v in layouts((3,)):
            for found, wanted in zip(products(a, b, v), products.py_func(a, b, v), strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-12)


@compiled
def of_vectors(x, y):
    return np.outer(x, y), np.outer(y, y)


@compiled
def triangles(m, k):
    return np.tril(m), np.triu(m), np.tril(m, k), np.triu(m, k=k), np.tril(m, -1), np.triu(m, 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_triangles_and_products_of_vectors(dtype):
    for m in layouts((3, 4), dtype):
        for found, wanted in zip(of_vectors(m[0], m[:, 1]), of_vectors.py_func(m[0], m[:, 1]), strict=True):
            same(found, wanted)
        for k in (-3, -1, 0, 2, 5) if dtype != "bool" else ():
            for found, wanted in zip(triangles(m, k), triangles.py_func(m, k), strict=True):
                same(found, wanted)


@compiled
def in_order(x):
    return np.sort(x), np.argsort(x)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 100, 1025])
def test_sorting(n, dtype):
    rng = np.random.default_rng(n)
    numbers = (rng.integers(0, n // 2 + 1, n) + rng.integers(0, 2, n) / 2).astype(dtype)  # many are equal
    if dtype != "int64" and n > 3:
        numbers[[1, 3]] = np.nan, -np.inf
    for x in layouts((n,), dtype):
        x[...] = numbers
        found, order = in_order(x)
        same(found, np.sort(numbers))
        same(numbers[order], np.sort(numbers))
        same(np.sort(order), np.arange(n))
        same(x, numbers)


@compiled
def solved(a, b, rows):
    return np.linalg.solve(a, b), np.linalg.solve(a, rows)


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64"])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 12, 13, 40])
def test_systems(n, dtype):
    rng = np.random.default_rng(n)
    turn = 1j if dtype.startswith("complex") else 1.0
    a = (rng.normal(size=(n, n)) + 2.0 * np.eye(n) + turn * rng.normal(size=(n, n))).astype(dtype)
    rows = (rng.normal(size=(n, 3)) * turn).astype(dtype)
    tolerance = 1e-3 if dtype in ("float32", "complex64") else 1e-10
    for matrix, several in zip(layouts((n, n), dtype), layouts((n, 3), dtype), strict=True):
        matrix[...], several[...] = a, rows
        before = matrix.copy(), several.copy()
        wanted_too = solved.py_func(a, rows[:, 1], rows)
        for found, wanted in zip(solved(matrix, several[:, 1], several), wanted_too, strict=True):
            assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
            np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal(matrix, before[0])
        np.testing.assert_array_equal(several, before[1])


def test_systems_need_pivots():
    a = np.array([[0.0, 2.0, 1.0], [1e-20, 1.0, 1.0], [3.0, 1.0, 0.0]])
    for found, wanted in zip(solved(a, np.ones(3), np.eye(3)), solved.py_func(a, np.ones(3), np.eye(3)), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-14)


@pytest.mark.parametrize("n", [2, 20])
def test_systems_without_a_solution(n):
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        solved(np.zeros((n, n)), np.ones(n), np.ones((n, 1)))
    with pytest.raises(np.linalg.LinAlgError, match="must be square"):
        solved(np.ones((n, n + 1)), np.ones(n), np.ones((n, 1)))
    with pytest.raises(ValueError, match="not equally long"):
        solved(np.eye(n), np.ones(n + 1), np.ones((n, 1)))
    assert np.isnan(solved(np.full((n, n), np.nan), np.ones(n), np.ones((n, 1)))[0]).all()


def test_none_of_it_is_compiled_apart(monkeypatch):
    """All calls are found: what Numba compiles is the function that calls, and nothing that it calls."""
    import numba.core.compiler as compiler

    names: list[str] = []
    whole = compiler.CompilerBase._compile_core

    def counted(self):
        names.append(self.state.func_id.func_name)
        return whole(self)

    monkeypatch.setattr(compiler.CompilerBase, "_compile_core", counted)

    def everything(n, x, y):
        a = np.full((n, 2, 2), 1.0)
        b = matmul_batch(np.transpose(a, (0, 2, 1)), np.swapaxes(a, 1, 2))
        c = np.ascontiguousarray(np.transpose(b, (2, 1, 0)))
        others = np.zeros(n), np.empty((n, n)), np.ones(n), np.zeros_like(x), np.empty_like(y), np.arange(n), np.eye(n)
        return np.reshape(c, (n, 4)), np.copy(x) @ y, others, np.outer(x[0], y[1]), np.tril(x), np.triu(y, k=1)

    njit(pipeline_class=Pipeline)(everything)(3, np.ones((2, 2)), np.ones((2, 2)))
    assert set(names) <= {"everything", "call_allocator"}
