"""Library functions without a rule: of constants they are computed beforehand, of other data they are plain values."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

import s2sad
from s2sad.errors import UnsupportedSyntaxError
from tests.differences import assert_derivatives

DATA = np.array([1.0, 2.0, 2.5, 3.0, 2.0])
X = np.array([0.7, 1.3, -0.4, 2.1])


def quadrature(x):
    t, w = np.polynomial.legendre.leggauss(5)
    return np.sum(w * np.exp(x[0] * t))


def quadrature_in_a_loop(x):
    s = 0.0
    for v in x:
        t, w = np.polynomial.hermite.hermgauss(4)
        for i in range(4):
            s += w[i] * np.cos(v * t[i])
    return s


def written_into(x):
    s = 0.0
    for v in x:
        t, w = np.polynomial.legendre.leggauss(3)
        s += np.sum(t * w * v**2)
        t[0] = v  # the next call gives the abscissae again
        s += np.sum(t * w)
    return s


def _integral(x, upto):
    if upto > 100:
        return 0.0
    t, w = np.polynomial.legendre.leggauss(3)
    return np.sum(w * np.sin(x * t)) * np.kaiser(5, 14.0)[1]


def in_a_helper(x):
    return _integral(x[0], 1) + _integral(x[1], 2)


def counts_of_data(x):
    counts, edges = np.histogram(DATA, 3)
    return np.sum(counts * counts) * x[0] + edges[1] * x[1]


def counts_of_what_is_differentiated(x):
    counts, _ = np.histogram(x, bins=3)
    return np.sum(counts * counts) * np.sum(x**2)


def edges_between_the_extremes(x):
    counts, edges = np.histogram(x, 3)
    return np.sum(counts) * np.sum(edges**2 * np.arange(4.0))


def edges_that_are_given(x):
    counts, edges = np.histogram(DATA, np.array([0.0, 1.5, 4.0]) + x[0])
    return np.sum(counts * edges[1:] ** 2)


BOTH = [
    quadrature, quadrature_in_a_loop, written_into, in_a_helper, counts_of_data,
    counts_of_what_is_differentiated, edges_between_the_extremes, edges_that_are_given,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", BOTH, ids=lambda fun: fun.__name__)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def distinct(x, data):
    kinds, which, times = np.unique(data, return_inverse=True, return_counts=True)
    return np.sum(kinds[which] * times[which]) * x**2


def test_several_results_of_data_that_is_not_differentiated_are_values():
    gradient = s2sad.grad(distinct, target="python")
    for data in (DATA, np.array([3.0, 3.0])):
        assert gradient(2.0, data) == pytest.approx(2 * distinct(2.0, data) / 2.0)
        _, tangent = s2sad.jvp(distinct, (2.0, data), (1.0, None), target="python")
        assert tangent == pytest.approx(gradient(2.0, data))


def test_several_results_of_what_is_differentiated_have_no_rule():
    with pytest.raises(s2sad.MissingRuleError, match="`unique` has no derivative rule"):
        s2sad.grad(distinct, argnums=1, target="python")(2.0, DATA)


def no_such_rule(x):
    t, _ = np.polynomial.legendre.leggauss(-1)
    return x * t[0]


def test_what_a_call_with_constants_raises_is_said():
    with pytest.raises(s2sad.ArgumentError, match="deg must be a positive integer"):
        s2sad.grad(no_such_rule, target="python")(1.0)


def test_what_is_called_for_what_it_does_is_not_tried_out(tmp_path):
    kept = tmp_path / "kept.txt"
    kept.write_text("precious")
    file = str(kept)

    def noted(x):
        np.savetxt(file, [1.0])
        return x * x

    def removed(x):
        os.remove(file)
        return x * x

    def ended(x):
        sys.exit(3)
        return x * x

    def commanded(x):
        os.system("rm " + file)
        return x * x

    for fun in (noted, removed, ended, commanded):
        with pytest.raises(UnsupportedSyntaxError, match="is called for what it does"):
            s2sad.grad(fun, target="python")(2.0)
    assert kept.read_text() == "precious"
