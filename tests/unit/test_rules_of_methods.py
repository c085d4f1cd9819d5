"""A rule of a method of an object, such as `scipy.stats.norm.logpdf`: every access makes a new bound method."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad

X = np.array([0.4, 1.2, -0.7])


class Disc:
    def __init__(self, scale):
        self.scale = scale

    def area(self, r):
        return np.kaiser(3, r[0]).sum() * 0.0 + self.scale * np.sum(r * r)


DISC, OTHER = Disc(2.0), Disc(2.0)


def with_the_disc(r):
    return DISC.area(r) * r[0]


def test_the_rule_of_a_method_is_found_at_its_calls():
    with s2sad.rules():
        s2sad.defvjp(DISC.area, lambda r: (DISC.area(r), r), lambda r, area_bar: (20.0 * r * area_bar,))
        expected = 20.0 * X * X[0]
        expected[0] += DISC.area(X)
        np.testing.assert_allclose(s2sad.grad(with_the_disc, target="python")(X), expected)
        with pytest.raises(s2sad.MissingRuleError):  # another object's method is another function
            s2sad.grad(lambda r: OTHER.area(r), target="python")(X)


def test_a_method_of_scipy_that_passes_its_arguments_on():
    stats = pytest.importorskip("scipy.stats")

    def total(x, mean, width):
        return np.sum(stats.moyal.logpdf(x, mean, width))

    def fwd(x, mean, width):
        return stats.moyal.logpdf(x, mean, width), (x, mean, width)

    def bwd(saved, bar):
        x, mean, width = saved
        z = (x - mean) / width
        along = 0.5 * (np.exp(-z) - 1.0) / width
        return along * bar, np.sum(-along * bar), np.sum((-z * along - 1.0 / width) * bar)

    with pytest.raises(s2sad.MissingRuleError, match=r"defvjp\(scipy\.stats\.moyal\.logpdf, fwd, bwd\)"):
        s2sad.grad(total, target="python")(X, 0.2, 1.3)
    with s2sad.rules():
        s2sad.defvjp(stats.moyal.logpdf, fwd, bwd)
        found = s2sad.grad(total, argnums=(1, 2), target="python")(X, 0.2, 1.3)
    z = (X - 0.2) / 1.3
    along = 0.5 * (np.exp(-z) - 1.0) / 1.3
    np.testing.assert_allclose(found, (np.sum(-along), np.sum(-z * along - 1.0 / 1.3)))


def test_the_users_rule_of_a_distribution_comes_first():
    stats = pytest.importorskip("scipy.stats")

    def total(x):
        return np.sum(stats.norm.logpdf(x, 0.2, 1.3))

    known = s2sad.grad(total, target="python")(X)
    np.testing.assert_allclose(known, -(X - 0.2) / 1.3**2)
    with s2sad.rules():
        s2sad.defvjp(stats.norm.logpdf, lambda *given: (stats.norm.logpdf(*given), given[0]),
                     lambda x, bar: (7.0 * x * bar, None, None))  # fmt: skip
        np.testing.assert_allclose(s2sad.grad(total, target="python")(X), 7.0 * X)
    np.testing.assert_allclose(s2sad.grad(total, target="python")(X), known)


def test_a_number_that_goes_to_a_call_without_a_rule_is_said_to():
    stats = pytest.importorskip("scipy.stats")

    def below(x, mean):
        return stats.moyal.cdf(x, loc=mean)

    with pytest.raises(s2sad.ArgumentError, match=r"`mean` must be None: .* a call without a rule"):
        s2sad.jvp(below, (X, 0.2), (X, 1.0), target="python")
