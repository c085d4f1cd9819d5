"""Adjoints that are one number everywhere are read as that number; arrays that give a length alone are not kept."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences

DATA = np.array([0.3, 1.2, -0.4, 0.9])


def log_posterior(mu, sigma):
    y = (DATA - mu) / sigma
    density = -0.5 * y * y - 0.9
    whole = density - np.log(sigma)
    return np.sum(whole)


def mean_of_halves(x, s):
    half = np.sin(x) * s
    other = half / 2.0
    return np.mean(other - half) + 2.0 * np.sum(-other)


def weights_of_the_user(x, s):
    w = np.full_like(x, 0.5)
    y = w * x * s
    w[0] = 3.0
    return np.sum(w * y)


def of_other_lengths(x, s):
    total = 0.0
    for k in range(1, 4):
        part = x[:k] * s
        rest = part + x[0]
        total += np.sum(rest) * s
    return total


def in_a_branch(x, s):
    y = x * s
    if s > 0.0:
        y = y[:2] * x[1]
        z = y + 1.0
        return np.sum(z)
    z = y * y
    return np.sum(z) + z[0]


def given_on(x, s):
    y = np.exp(x * s)
    return np.sum(y), y


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    "fun", [mean_of_halves, weights_of_the_user, of_other_lengths, in_a_branch, lambda x, s: given_on(x, s)[0]]
)
def test_values(fun, target):
    x = np.array([0.4, 0.9, 1.6, 0.7])
    for s in (1.3, -0.6):
        bars = s2sad.grad(fun, argnums=(0, 1), target=target)(x, s)
        np.testing.assert_allclose(bars[0], differences(lambda v, s=s: fun(v, s), x), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(bars[1], differences(lambda v: fun(x, v), np.asarray(s)), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_log_posterior_has_no_arrays_of_ones(target):
    made = s2sad.differentiate(log_posterior, argnums=(0, 1), target=target)
    bars = made.grad(0.4, 1.3)
    np.testing.assert_allclose(bars[0], differences(lambda v: log_posterior(v, 1.3), np.asarray(0.4)), rtol=1e-6)
    np.testing.assert_allclose(bars[1], differences(lambda v: log_posterior(0.4, v), np.asarray(1.3)), rtol=1e-6)
    text = made.source("grad")
    assert "full_like" not in text
    assert "whole_bar" not in text
    assert "density_bar" not in text
    hessian = s2sad.hessian(lambda v: log_posterior(v[0], v[1]), target=target)(np.array([0.4, 1.3]))
    slopes = s2sad.grad(lambda v: log_posterior(v[0], v[1]), target=target)
    np.testing.assert_allclose(hessian, differences(slopes, np.array([0.4, 1.3])), rtol=1e-6, atol=1e-7)


def relaxed(u, p, k):
    """The pressure is updated linearly, from a copy of which the adjoint needs the length alone."""
    u, p = u.copy(), p.copy()
    change = 1.0
    while change > 0.05:
        before = u.copy()
        for _ in range(2):
            old = p.copy()
            p[1:-1] = 0.4 * (old[2:] + old[:-2]) - k * u[1:-1]
        u[1:-1] = before[1:-1] - 0.1 * before[1:-1] * (before[1:-1] - before[:-2]) - 0.2 * (p[2:] - p[:-2])
        change = abs(np.sum(u) - np.sum(before)) / np.sum(before)
    return np.sum(u * u) + np.sum(p)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_copy_is_not_kept_for_its_length(target):
    rng = np.random.default_rng(0)
    u, p = 0.5 + rng.random(7), rng.random(7)
    made = s2sad.differentiate(relaxed, argnums=(0, 1, 2), target=target)
    bars = made.grad(u, p, 0.3)
    for at, given in enumerate((u, p, np.asarray(0.3))):
        args: list[object] = [u, p, 0.3]
        wanted = differences(lambda v, at=at, args=args: relaxed(*args[:at], v, *args[at + 1 :]), given)
        np.testing.assert_allclose(bars[at], wanted, rtol=1e-6, atol=1e-7)
    text = made.source("grad")
    assert "old_tape" not in text
    assert "this iteration again" not in text


def weighted(x):
    return np.sum(np.sin(x) * x)


def directional(x):
    """The slopes of a sum: each product with an array of ones is a new array, no other name of its factor."""
    return np.sum(s2sad.hvp(weighted, (x,), (x,)))


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_product_with_ones_is_a_copy(target):
    x = np.array([0.4, -0.9, 1.6])
    given = x.copy()
    gradient = s2sad.grad(directional, target=target)(x)
    wanted = differences(lambda v: float(v @ s2sad.hessian(weighted, target="python")(v).sum(axis=0)), given)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(x, given)
