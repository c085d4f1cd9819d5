"""What index arrays select is a copy: a part of its transpose is no place in the array it came from."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad

A = np.random.default_rng(0).normal(size=(3, 4))
I = np.array([2, 0])  # noqa: E741


def ordered(x):
    i = np.argsort(x[:, 0])
    return np.sum(x[i].T[0] * x[i].T[1])


def looped(x):
    total = 0.0
    for k in range(4):
        total += x[I].T[k] @ np.array([1.0, 2.0]) * k * x[0, 0]
    return total


def written(x):
    a = x[[0, 2]].T[1:]
    a[0] = x[0, :2]
    return np.sum(a * a)


PROGRAMS = [
    ordered, looped, written,
    lambda x: x[[0, 2]].T[0, 1] ** 2,
    lambda x: np.sum(x[np.array([True, False, True])].T[1:] ** 2),
    lambda x: np.sum(x[np.ix_([0, 1], [1, 2])].T[1] ** 2),
    lambda x: np.sum(x[:, I].T[1] ** 2),
    lambda x: np.sum(x[I].transpose()[1] ** 2) + np.sum(x[I].mT[1] ** 2),
    lambda x: np.sum(x[I].view()[1] ** 2) + np.sum(x[I][None].T[1] ** 2),
    lambda x: np.sum(x[I].T.T[1] ** 2) + np.asarray(x[I]).T[0, 1] ** 2,
    lambda x: np.sum(x[I].T[0:1].T ** 2) + (lambda q: q.T[0, 1])(x[I]) ** 2,
    lambda x: sum([a.T[0].sum() ** 2 for a in (x[I], x[1:])]),
    lambda x: np.sum(x[I].T[1:][[0, 1]].T[1] ** 2) + np.sum(x.T[[0, 1]].T[1] ** 2),
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_parts_of_copies(program, target):
    steps = [1e-6 * np.eye(12)[k].reshape(3, 4) for k in range(12)]
    expected = np.array([(program(A + e) - program(A - e)) / 2e-6 for e in steps]).reshape(3, 4)
    np.testing.assert_allclose(s2sad.grad(program, target=target)(A), expected, rtol=1e-6, atol=1e-8)


def set_to_half(u, i, v):
    u[i] = v * 0.5


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_view_is_made_anew_where_its_array_comes_back_from_a_tape(target):
    def f(x):
        total = 0.0
        if x[1] < 0.3:
            b = np.sin(x) * 0.5
            total = np.sum(b * b)
            set_to_half(x[::-1], 4, total - total)
        for _ in range(4):
            other = x if x[2] < np.max(x) + 0.3 else x * 0.5
            shifted = np.empty_like(other)
            shifted[1:-1] = other[2:]
            x = x * 0.5
        return total

    x = np.array([0.3, -0.5, 1.2, 0.8, -0.1])
    np.testing.assert_allclose(s2sad.grad(f, target=target)(x), np.sin(x) * np.cos(x) * 0.5, rtol=1e-12)
