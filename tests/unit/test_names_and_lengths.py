"""Names that turns hand on to each other, and lengths that runs tell: programs that once gave a wrong number."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives, differences

V = np.array([0.7, -0.4, 1.2, 0.35])
SHIFTS = np.array([[0, 0], [1, 0], [0, 1], [-1, 2]])
W = np.arange(16.0).reshape(4, 4)


def bound_anew_behind(x):
    m = x * 1.5
    x = x[1:]
    return np.sum(x * x) + np.sum(m * m)


def bound_anew_in_turns(x):
    m = np.zeros(3)
    for _ in range(2):
        m = x * 1.5
        x = x[1:]
    return np.sum(x * x) + np.sum(m * m)


def set_in_one_turn_read_in_the_next(x):
    y = x[0]
    for k in range(3):
        if k == 0:
            y = y * 1.0
        elif k == 1:
            v = x[1] * x[0]
        else:
            y = y + v
    return y


def the_one_before(x):
    s, first = 0.0, True
    for v in x:
        if v > 0:
            if first:
                prev = v
                first = False
            else:
                s += prev * v
                prev = v
    return s


def the_array_before(x):
    s = 0.0
    for k in range(3):
        here = np.sin(x * (k + 1))
        if k > 0:
            s += np.sum(here * before)  # noqa: F821
        before = here  # noqa: F841
    return s


def the_number_before(x):
    s = 0.0
    for k in range(3):
        here = x[k] * (k + 1)
        if k > 0:
            s += here * before  # noqa: F821
        before = here  # noqa: F841
    return s


def made_in_a_branch(x):
    if x[0] > 0.1:
        w = x * x
    return np.sum(w**3)


def made_in_a_loop(x):
    for k in range(2):
        w = x * (k + 1)
    return np.sum(w**3)


def exchanged_lengths(x):
    a, b = x * 1.0, x[:2] * 3.0
    for _ in range(2):
        c = a * a
        a, b = b, c
    return np.sum(a) * np.sum(b**2)


def shorter_by_turns(x):
    for i in range(1, 3):
        v = np.exp(x[i:] ** 2)
    return np.sum(v)


def shorter_by_turns_and_kept(x):
    v = x * 2.0
    for i in range(1, 3):
        w = np.exp(v[i:] ** 2)
        v[0] = v[0] * v[1]
    return np.sum(w) + np.sum(v)


def a_wide_diagonal(x):
    m = np.ones((5, x.shape[0])) * x
    d = np.diagonal(m)
    return np.sum(d * d) * d.shape[0]


def singular_values(x):
    m = np.outer(np.arange(1.0, 6.0), x) + np.cos(np.arange(20.0)).reshape(5, 4)
    s = np.linalg.svd(m, compute_uv=False)
    return np.sum(s * s * s) * s.size


def one_value_for_a_mask(x):
    m = np.outer(x, x)
    m[m > 0.2] = x[:1]
    return np.sum(m * m)


def rolled_by_an_array(x):
    total = 0.0
    for i in range(4):
        total += np.sum(np.roll(np.outer(x, x) * (i + 1), SHIFTS[i], axis=(0, 1)) * W)
    return total


def streamed(x):
    f = np.outer(x, x)
    for i in range(4):
        f = f + np.roll(f, SHIFTS[i], axis=(0, 1)) * 0.1
    return np.sum(f * np.roll(f, SHIFTS[3], axis=1))


def rows_by_places(x):
    m = np.outer(x, x)
    m[[0, 3]] = x
    m[[1, 2]] = x[:, None][:2]
    return np.sum(m**2)


def an_end_like_its_neighbour(x):
    p = np.outer(x, x)
    p[:, -1] = p[:, -2]
    p[0, :] = p[1, :]
    p[:, 0] = p[:, 1]
    return np.sum(p * p * W)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    "fun",
    [
        bound_anew_behind, bound_anew_in_turns, set_in_one_turn_read_in_the_next, the_one_before, the_array_before,
        the_number_before, made_in_a_branch, made_in_a_loop, exchanged_lengths, shorter_by_turns,
        shorter_by_turns_and_kept, a_wide_diagonal, singular_values, one_value_for_a_mask, rolled_by_an_array, streamed,
        rows_by_places, an_end_like_its_neighbour,
    ],
)  # fmt: skip
def test_derivatives(fun, target):
    assert_derivatives(fun, V, target)
    _, dot = s2sad.jvp(fun, (V,), (np.cos(V),), target=target)
    np.testing.assert_allclose(dot, np.sum(differences(fun, V) * np.cos(V)), rtol=1e-6, atol=1e-7)
    want = differences(s2sad.grad(fun, target="python"), V)
    np.testing.assert_allclose(s2sad.hessian(fun, target=target)(V), want, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("fun", [made_in_a_branch, made_in_a_loop])
def test_products_with_hessians_write_into_arrays_that_are_long_enough(fun):
    x = np.linspace(0.2, 1.0, 4000)
    scale = 8.0 if fun is made_in_a_loop else 1.0
    power = 1 if fun is made_in_a_loop else 4
    want = 6.0 * scale * x if power == 1 else 30.0 * x**4
    got = s2sad.differentiate(fun).hvp((x,), (np.ones(x.size),))
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_a_mask_given_too_few_values():
    def short(x, k):
        m = np.outer(x, x)
        m[m > 0.2] = x[:k]
        return np.sum(m * m)

    for target in ("python", "cpu"):
        with pytest.raises(ValueError):
            s2sad.value_and_grad(short, target=target)(V, 2)
