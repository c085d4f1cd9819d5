"""Matrices of linear algebra lie by columns in Numba: a view that takes them row by row is a view all the same."""

from __future__ import annotations

import itertools
import linecache

import numpy as np
import pytest

import s2sad
from tests.differences import differences

H = np.array([[2.0, 0.3, 0.1], [0.2, 1.5, -0.4], [0.3, 0.1, 1.8]])
WEIGHTS = np.arange(9.0).reshape(3, 3)


def every_other(h):
    inverse = np.linalg.inv(h) * 2
    part = inverse.ravel()[::2]
    return np.sum(part**2)


def written_through(h):
    inverse = np.linalg.inv(h) + 1.0
    row = inverse.ravel()
    row[0] = 5.0 * h[0, 0]
    return np.sum(inverse**2)


def made_like_it(h):
    room = np.zeros_like(np.linalg.inv(h))
    room.reshape(-1)[3] = h[0, 0]
    return np.sum(room**2)


def null_vector(h):
    """The last right singular vector as a matrix: a homography from its equations."""
    equations = np.concatenate((np.outer(h.ravel(), h.ravel()), np.eye(9) * np.arange(9.0)))
    _, _, right = np.linalg.svd(equations, full_matrices=False)
    matrix = right[-1].reshape(3, 3)
    return np.sum(matrix**2 * WEIGHTS)


def solved(h):
    x = np.linalg.solve(h, 2.0 * np.eye(3))
    row = x.ravel()
    row[1] = 3.0 * h[0, 1]
    return np.sum(x**2 * WEIGHTS)


def factor(h):
    lower = np.linalg.cholesky(h @ h.T)
    row = lower.reshape(-1)
    row[3] = 2.0 * h[1, 1]
    return np.sum(lower**2 * WEIGHTS)


def helper(h):
    return np.linalg.inv(h)


def by_a_helper(h):
    inverse = helper(h)
    again = np.reshape(inverse, (9,)).reshape(3, 3)
    again[0, 1] = 2.0 * h[0, 0]
    return np.sum(inverse * WEIGHTS * inverse)


PROGRAMS = (every_other, written_through, made_like_it, null_vector, solved, factor, by_a_helper)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_views_row_by_row(fun, target):
    value, gradient = s2sad.value_and_grad(fun, target=target)(H)
    np.testing.assert_allclose(value, fun(H), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(fun, H), rtol=1e-5, atol=1e-6)
    dot = np.cos(WEIGHTS)
    _, slope = s2sad.jvp(fun, (H,), (dot,), target=target)
    np.testing.assert_allclose(slope, np.sum(gradient * dot), rtol=1e-9, atol=1e-10)


_texts = itertools.count()


def from_text(text):
    """Return the function `fun` of a text, which the compiler can read."""
    file = f"<laid {next(_texts)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = {"np": np}
    exec(compile(text, file, "exec"), scope)
    return scope["fun"]


def pooled(o):
    out = np.exp(o.transpose(0, 3, 1, 2))
    pool = out.reshape(2, 3, 1, 2, 1, 2).max(axis=5)
    return np.sum(pool.reshape(2, -1) * np.arange(6.0))


OF_TURNED = [
    "np.max(y, axis=2)", "y.mean(axis=2)", "y.min(axis=0, keepdims=True)", "np.concatenate([y, y])", "np.stack([y, y])",
    "np.cumsum(y, axis=1)", "np.sort(y, axis=1)", "np.roll(y, 1, axis=1)", "y[[0, 1, 1]]", "y[:, :, [1, 0]]",
    "np.take(y, [0, 1], axis=1)", "np.einsum('ijk->kji', y)", "y * 2.0", "y.copy()", "np.array(y)", "y.astype(float)",
    "np.diff(y, axis=1)", "np.pad(y, 1)", "np.var(y, axis=2)", "np.prod(y, axis=1)", "np.linalg.norm(y, axis=2)",
    "np.median(y, axis=1)", "np.quantile(y, 0.3, axis=1)", "np.delete(y, 1, axis=0)", "np.insert(y, 1, 0.5, axis=1)",
    "np.triu(y)", "np.append(y, y, axis=2)", "np.partition(y, 1, axis=1)", "y + y[:1]", "y[:, :1] * y", "y.T", "-y",
]  # fmt: skip


@pytest.mark.parametrize("order", [(2, 1, 0), (1, 0, 2)])
def test_what_is_made_of_turned_axes_lies_as_numpy_lays_it(order):
    """Each result is flattened: where it does not lie by rows, the flat array is a copy."""
    x = np.linspace(0.1, 1.3, 24).reshape(2, 3, 4).transpose(order) ** 2
    for text in OF_TURNED:
        lines = f"def fun(o):\n    y = np.exp(o.transpose{order})\n    z = {text}\n    v = z.reshape(-1)\n"
        fun = from_text(lines + "    return np.sum(v * np.cos(np.arange(v.size)))\n")
        got = s2sad.grad(fun, target="python")(x)
        np.testing.assert_allclose(got, differences(fun, x), rtol=1e-6, atol=1e-8, err_msg=text)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_pool_of_turned_channels(target):
    x = np.linspace(0.1, 1.3, 24).reshape(2, 2, 2, 3) ** 2
    np.testing.assert_allclose(s2sad.grad(pooled, target=target)(x), differences(pooled, x), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("text", ["y + b[None, :1]", "c[:, None] * b[None, :] + y", "y[:1] * y[:, :1]", "b * y[:1]"])
def test_what_is_spread_beside_columns(text, target):
    """An operand that is spread along an axis does not say how the result lies: the other one does."""
    fun = from_text(
        f"def fun(o):\n    y = np.exp(o.T)\n    b = o[:, 0] ** 2 + 1.0\n    c = o[0] + 1.0\n    z = {text}\n"
        "    v = z.reshape(-1)\n    return np.sum(v * np.cos(np.arange(v.size)))\n"
    )
    x = np.linspace(0.1, 1.3, 12).reshape(4, 3) ** 2
    np.testing.assert_allclose(s2sad.grad(fun, target=target)(x), differences(fun, x), rtol=1e-6, atol=1e-8)
