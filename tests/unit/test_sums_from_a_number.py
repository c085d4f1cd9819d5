"""Sums of arrays that begin as a number, `s = 0`, and objects that are told apart by identity."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad

A = np.arange(12.0).reshape(4, 3)
W = np.array([1.0, 2.0, 3.0, 4.0])


def weighted(a, w):
    s = 0
    for wi, row in zip(w, a):
        s += wi * row
    return np.sum(s**2)


def by_index(a, w):
    s = 0.0
    for i in range(len(w)):
        s = s + w[i] * a[i]
    return np.sum(s**2)


def horner(a, w):
    y = 0.0
    for c in w:
        y = y * a + c
    return np.sum(y)


def numbered(a, w):
    y = 0
    for n, (b, c) in enumerate(zip(w, a)):
        y = y + b * c * (n + 1)
    return y @ y


def from_the_second(a, w):
    s = 0
    for k in range(1, len(w)):
        s = s + a[k] * w[k - 1]
    return np.sum(s**2)


def twice_nested(a, w):
    s = 0
    for i in range(len(w)):
        t = 0
        for j in range(a.shape[0]):
            t = t + a[j] * w[i]
        s = s + t
    return np.sum(s**2)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [weighted, by_index, horner, numbered, from_the_second, twice_nested])
def test_sums(fun, target):
    step = 1e-6 * np.eye(4)
    want = np.array([(fun(A, W + e) - fun(A, W - e)) / 2e-6 for e in step])
    np.testing.assert_allclose(s2sad.grad(fun, 1, target=target)(A, W), want, rtol=1e-6)
    gradient = s2sad.grad(fun, 1, target="python")
    rows = np.array([(gradient(A, W + e) - gradient(A, W - e)) / 2e-6 for e in step])
    np.testing.assert_allclose(s2sad.hessian(fun, 1, target=target)(A, W), rows, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_no_turn_at_all(target):
    with pytest.raises(ValueError, match="a loop takes no turn"):
        s2sad.grad(weighted, 1, target=target)(A[:0], W[:0])


class Body:
    def __init__(self, m, x):
        self.m, self.x = m, x

    def pull(self, others):
        return sum(o.m / abs(o.x - self.x) for o in others if o is not self)


def by_identity(ms, xs):
    bodies = [Body(m, x) for m, x in zip(ms, xs)]
    energy = 0.0
    for a in bodies:
        for b in bodies:
            if a is b:
                continue
            energy += a.m * b.m / abs(a.x - b.x)
    return energy


def by_inequality(ms, xs):
    bodies = [Body(m, x) for m, x in zip(ms, xs)]
    return sum(a.m * b.m / abs(a.x - b.x) for a in bodies for b in bodies if a != b)


def by_two_names(ms, xs):
    one = Body(ms[0], xs[0])
    other = one
    another = Body(ms[0], xs[0])
    return (xs[0] if other is one else 7.0) * (3.0 if another is not one else xs[1] * 100.0)


@pytest.mark.parametrize("fun", [by_identity, by_inequality, by_two_names])
def test_objects(fun):
    ms, xs = [1.0, 2.0, 0.5], [0.1, 0.9, 2.3]
    got = s2sad.grad(fun, 1)(ms, xs)
    for k in range(3):
        up, down = list(xs), list(xs)
        up[k] += 1e-6
        down[k] -= 1e-6
        np.testing.assert_allclose(got[k], (fun(ms, up) - fun(ms, down)) / 2e-6, rtol=1e-6, atol=1e-8)


def by_itself(ms, xs):
    bodies = [Body(m, x) for m, x in zip(ms, xs)]
    return bodies[0].pull(bodies)


def test_objects_that_come_as_arguments():
    first, second = s2sad.grad(by_itself, 1)([1.0, 2.0], [0.1, 0.9])
    slope = (by_itself([1.0, 2.0], [0.1 + 1e-6, 0.9]) - by_itself([1.0, 2.0], [0.1 - 1e-6, 0.9])) / 2e-6
    np.testing.assert_allclose([first, second], [slope, -slope], rtol=1e-6)
