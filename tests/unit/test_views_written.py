"""Views of every kind are views in the derivative too: what is written into one is in the other, and so are slopes."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences

WEIGHTS = np.cos(np.arange(12.0)).reshape(3, 4)


def weighed(y):
    return np.sum(y * WEIGHTS[: y.shape[0], : y.shape[1]])


def flipped(x):
    y = x.copy()
    v = np.flip(y)
    v[0, 0] *= x[1, 1]
    v[1, :] += x[0, :]
    return weighed(y)


def flipped_along_the_second(x):
    y = x.copy()
    v = np.flip(y, axis=1)
    v[0, 0] *= x[1, 1]
    return weighed(y)


def flipped_vector(x):
    y = x[0].copy()
    v = np.flip(y)
    v[0] *= x[1, 1]
    v += x[1]
    return np.sum(y * WEIGHTS[0])


def flipped_transpose(x):
    y = x.copy()
    v = np.flip(y.T, 0)
    v[0] *= x[:, 1]
    return weighed(y)


def flip_as_a_place(x):
    y = x.copy()
    np.flip(y, 0)[0] *= x[1]
    return weighed(y)


def part_of_a_flip(x):
    y = x.copy()
    v = np.flip(y, 1)[1:]
    v[0] *= x[1]
    return weighed(y)


def rows_of_a_flip(x):
    y = x.copy()
    for k, row in enumerate(np.flip(y, 0)):
        row *= x[k]
    return weighed(y)


def flipped_along_two_of_three(x):
    y = np.stack((x, x * 2.0, x * 3.0))
    v = np.flip(y, axis=(0, 2))
    v[0, 1] *= x[1]
    return weighed(y[:, :, 0]) + weighed(y[0] * y[2])


def flipped_again_and_again(x):
    y = x.copy()
    for k in range(3):
        y = np.flip(y)
        y[k] *= x[1]
    return weighed(y)


def scaled_first(v, x):
    v[0] *= x[1]


def flip_handed_over(x):
    y = x.copy()
    scaled_first(np.flip(y), x)
    return weighed(y)


def turned_over(v):
    return np.flip(v, 0)


def flip_of_a_helper(x):
    y = x.copy()
    v = turned_over(y)
    v[0] *= x[1]
    return weighed(y)


def flip_read_by_element(x):
    v = np.flip(x)
    total = 0.0
    for i in range(3):
        for j in range(4):
            total += v[i, j] * v[i, j] * WEIGHTS[i, j]
    return total


def flip_of_itself(x):
    y = x.copy()
    y += np.flip(y)
    return weighed(y * y)


def flipped_up(x):
    y = x.copy()
    v = np.flipud(y)
    v[0] *= x[1]
    return weighed(y)


def flipped_left(x):
    y = x.copy()
    v = np.fliplr(y)
    v[0] *= x[1]
    return weighed(y)


def rotated(x):
    y = x.copy()
    v = np.rot90(y)
    v[0] *= x[:, 1]
    return weighed(y)


def rotated_none(x):
    y = x.copy()
    v = np.rot90(y, 0, (0, 1))
    v[0] *= x[1]
    return weighed(y)


def rotated_once(x):
    y = x.copy()
    v = np.rot90(y, 1, axes=(1, 0))
    v[0] *= x[:, 1]
    return weighed(y)


def rotated_twice(x):
    y = x.copy()
    v = np.rot90(y, 2, axes=(0, 1))
    v[0] *= x[1]
    return weighed(y)


def rotated_three_times(x):
    y = x.copy()
    v = np.rot90(y, 3, axes=(0, 1))
    v[0] *= x[:, 1]
    return weighed(y)


def moved(x):
    y = np.stack((x, x * 2.0, x * 3.0))
    v = np.moveaxis(y, (0, 2), (1, 0))
    v[0] *= x[:, :3]
    return weighed(y[:, :, 0]) + weighed(y[0] * y[2])


def transposed(x):
    y = np.stack((x, x * 2.0, x * 3.0))
    v = np.transpose(y, (2, 0, 1))
    v[0] *= x[:, :3]
    return weighed(y[:, :, 0]) + weighed(y[0] * y[2])


def squeezed(x):
    y = x.copy().reshape(3, 1, 4)
    v = np.squeeze(y, axis=1)
    v[1] *= x[0]
    return weighed(y[:, 0])


def reshaped(x):
    y = x.copy()
    v = y.reshape(4, 3)
    v[1] *= x[:, 0]
    return weighed(y)


def copied_by_reshaping(x):
    y = x.copy()
    v = y.T.reshape(-1)
    v[1:4] *= x[0, :3]
    return weighed(y) + np.sum(v * WEIGHTS.ravel())


def cut(x):
    y = x.copy()
    a, b = np.split(y, 2, axis=1)
    a[0] *= b[1]
    b *= x[:, :2]
    return weighed(y)


def unpacked(x):
    y = x.copy()
    a, b, c = y
    a *= b
    c += a
    return weighed(y)


def real_part(x):
    z = x * (1 + 1j)
    r = z.real
    r[0] *= x[1]
    return weighed(np.abs(z))


def filled_through_a_reshape(x):
    a = x * 2.0
    a.reshape(-1).fill(x[0, 1])
    return weighed(a)


def sorted_through_a_ravel(x):
    a = np.sin(3 * x)
    a.ravel().sort()
    a.reshape(3, 4).sort(axis=1)
    a.reshape(3, 4).T.sort()
    return weighed(a)


def transposed_behind_a_reshape(x):
    a = x * 2.0
    a.reshape(2, 6).T[1] += x[0, 0]
    a.reshape(2, 6).T[1, 0] = x[0, 0] * a[0, 1]
    for i in range(2):
        a.reshape(3, 4)[i, 0] += a.reshape(3, 4)[i, 1] * x[0, i]
        a.reshape(2, 6).T[i] *= x[0, i]
    return weighed(a)


def diagonal_of_a_reshape(x):
    a = x * 2.0
    np.fill_diagonal(a.reshape(2, 6), x[0, 0])
    np.add.at(a.reshape(2, 6), ([0, 1, 1], [0, 0, 0]), x[0, 1])
    a.reshape(2, 6).flat[2] = x[0, 0]
    return weighed(a)


PROGRAMS = [
    filled_through_a_reshape, sorted_through_a_ravel, transposed_behind_a_reshape, diagonal_of_a_reshape,
    flipped, flipped_along_the_second, flipped_vector, flipped_transpose, flip_as_a_place, part_of_a_flip,
    rows_of_a_flip, flipped_along_two_of_three, flipped_again_and_again, flip_handed_over, flip_of_a_helper,
    flip_read_by_element, flip_of_itself, flipped_up, flipped_left, rotated, rotated_none, rotated_once,
    rotated_twice, rotated_three_times, moved, transposed, squeezed, reshaped, copied_by_reshaping, cut, unpacked,
    real_part,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS, ids=lambda fun: fun.__name__)
def test_slopes_go_through_views(fun, target):
    x = np.random.default_rng(0).standard_normal((3, 4))
    value, bar = s2sad.value_and_grad(fun, target=target)(x)
    np.testing.assert_allclose(value, fun(x), rtol=1e-12)
    np.testing.assert_allclose(bar, differences(fun, x), rtol=1e-6, atol=1e-7)


def imaginary_part(x):
    z = x * (1 + 1j)
    r = z.imag
    r[0] *= x[1]
    return weighed(np.abs(z))


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_writing_into_a_named_imaginary_part_is_refused(target):
    """Its adjoint is the negative of a part of the other's, so no view of it."""
    with pytest.raises(s2sad.AliasError, match="`r` is written here while `z` may share its memory"):
        s2sad.grad(imaginary_part, target=target)(np.ones((3, 4)))


def test_flips_are_slices_where_they_are_compiled():
    made = s2sad.differentiate(flip_read_by_element, target="cpu")
    made.grad(np.ones((3, 4)))
    text = made.source("grad")
    assert "v = x[::-1, ::-1]" in text
    assert "v_bar = x_bar[::-1, ::-1]" in text
