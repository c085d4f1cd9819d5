"""`sliding_window_view`: what is read through it, along one axis and several."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import s2sad
from s2sad.errors import MissingRuleError
from tests.differences import assert_derivatives

X = np.array([0.5, 1.2, -0.7, 2.0, 0.9])
A = np.array([[0.5, 1.2, -0.7], [0.3, 2.0, 0.9], [1.4, -0.2, 0.8], [0.1, 0.6, -1.1]])


def moving_deviation(x):
    windows = sliding_window_view(x, 3)
    return np.sum(np.std(windows, axis=1) ** 2) + windows[0] @ windows[2]


def every_second(x):
    return np.sum(np.lib.stride_tricks.sliding_window_view(x, window_shape=(2,))[::2] ** 3)


def convolved(a):
    kernel = np.array([[1.0, 2.0], [3.0, 4.0]])
    return np.sum(np.sum(sliding_window_view(a, (2, 2)) * kernel, axis=(2, 3)) ** 2)


def along_one_axis(a):
    w = sliding_window_view(a, 2, axis=0)
    return np.sum(w[..., 0] * w[..., 1] ** 2) + np.sum(sliding_window_view(a, 2, axis=-1)[:, 1] ** 3)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(("fun", "x"), [(moving_deviation, X), (every_second, X), (convolved, A), (along_one_axis, A)])
def test_windows_are_read(fun, x, target):
    assert_derivatives(fun, x, target)


def too_long(x):
    return np.sum(sliding_window_view(x, 6))


def written(x):
    windows = sliding_window_view(x, 2, writeable=True)
    windows[0, 0] = 1.0
    return np.sum(x)


def test_what_cannot_be_read_is_an_error():
    with pytest.raises(ValueError, match="no larger than the array"):
        s2sad.grad(too_long, target="python")(X)
    with pytest.raises(MissingRuleError, match="Write into slices in a loop"):
        s2sad.grad(written, target="python")(X)
