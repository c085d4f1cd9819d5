"""`sliding_window_view`: windows along one axis or several, whose elements overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import s2sad

RNG = np.random.default_rng(5)
LINE, PLANE, CUBE = RNG.normal(size=9), RNG.normal(size=(6, 5)), RNG.normal(size=(2, 6, 5))


def rolling(x):
    windows = sliding_window_view(x, 3)
    return np.sum(windows.max(axis=1) * np.std(windows, axis=-1))


def moving(x, width):
    return np.sum(sliding_window_view(x, width).mean(axis=-1) ** 3)


def convolved(x, kernel):
    return np.sum((sliding_window_view(x, kernel.size) @ kernel) ** 2)


def of_an_image(image, kernel):
    windows = sliding_window_view(image, kernel.shape)
    return np.sum(np.einsum("ijkl,kl->ij", windows, kernel) ** 2)


def down_the_rows(image):
    windows = sliding_window_view(image, 2, axis=0)
    return np.sum(windows[..., 0] * windows[..., 1] ** 2)


def pooled(images):
    blocks = sliding_window_view(images, (2, 2), axis=(1, -1))[:, ::2, ::2]
    return np.sum(blocks.max(axis=(-1, -2)) ** 2)


PROGRAMS: list[tuple[Any, tuple[Any, ...]]] = [
    (rolling, (LINE,)), (moving, (LINE, 4)), (convolved, (LINE, RNG.normal(size=4))),
    (of_an_image, (PLANE, RNG.normal(size=(3, 2)))), (down_the_rows, (PLANE,)), (pooled, (CUBE,)),
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(("fun", "args"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_windows(fun, args, target):
    s2sad.check_grads(fun, args, target=target)


def test_order_of_axes():
    """Windows come in the order of `axis`; each window's axis stays in its place."""

    def corners(x):
        windows = sliding_window_view(x, (2, 4), axis=(2, 0))
        return windows[:, :, :, 1, 3] * windows[:, :, :, 0, 0]

    x = RNG.normal(size=(5, 2, 4))
    expected = x[3:, :, 1:] * x[:2, :, :3]
    np.testing.assert_allclose(s2sad.vjp(corners, x, target="python")[0], expected, rtol=1e-15)
    s2sad.check_grads(corners, (x,), target="python")


def test_forms_of_one_call():
    def along_rows(x):
        windows = sliding_window_view(x, 2, -1) + sliding_window_view(x, (2,), axis=-1)
        return np.sum((windows + sliding_window_view(x, window_shape=[2], axis=(1,))) ** 2)

    found = s2sad.grad(along_rows, target="python")(PLANE)
    expected = np.zeros_like(PLANE)
    expected[:, :-1] += 18.0 * PLANE[:, :-1]
    expected[:, 1:] += 18.0 * PLANE[:, 1:]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_second_derivatives():
    def neighbours(x):
        return np.sum(np.prod(sliding_window_view(x, 2), axis=1))

    expected = np.eye(9, k=1) + np.eye(9, k=-1)
    np.testing.assert_allclose(s2sad.hessian(neighbours)(LINE), expected, atol=1e-14)


def test_what_has_no_windows_is_refused():
    def written(x):
        y = x.copy()
        windows = sliding_window_view(y, 2, writeable=True)
        windows[0] = 1.0
        return np.sum(y)

    def one_for_two(x):
        return np.sum(sliding_window_view(x, 2))

    with pytest.raises(s2sad.MissingRuleError, match="written to") as refused:
        s2sad.grad(written)(LINE)
    assert "sliding_window_view(y, 2, writeable=True)" in str(refused.value)
    with pytest.raises(s2sad.MissingRuleError, match="as many windows as axes"):
        s2sad.grad(one_for_two)(PLANE)
    for target in ("python", "cpu"):
        with pytest.raises(ValueError, match="cannot be larger"):
            s2sad.grad(rolling, target=target)(LINE[:2])


def test_the_text_takes_windows_as_the_program_does():
    text = s2sad.differentiate(convolved, target="python").source("grad", PROGRAMS[2][1])
    assert "np.lib.stride_tricks.sliding_window_view(x, kernel.size, axis=-1)" in text
    assert "sum_windows(" in text
