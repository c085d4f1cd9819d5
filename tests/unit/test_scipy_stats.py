"""Distributions of `scipy.stats`: values are SciPy's, slopes those of differences of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as stats

import s2sad
from s2sad.rules import scipy_stats
from tests.differences import differences

X = np.array([-1.3, -0.2, 0.15, 0.4, 0.8, 1.7, 3.2, 6.0])
Q = np.array([0.03, 0.2, 0.5, 0.77, 0.99])
K = np.array([-1, 0, 1, 2, 3, 5, 9])
SHAPES: dict[str, tuple[float, ...]] = {
    "norm": (), "halfnorm": (), "lognorm": (0.7,), "skewnorm": (1.4,), "truncnorm": (-0.9, 1.6), "t": (4.5,),
    "cauchy": (), "laplace": (), "logistic": (), "gumbel_r": (), "gumbel_l": (), "vonmises": (2.1,), "expon": (),
    "gamma": (2.3,), "invgamma": (2.6,), "chi2": (3.5,), "weibull_min": (1.7,), "pareto": (2.2,), "halfcauchy": (),
    "rayleigh": (), "beta": (2.3, 1.4), "uniform": (),
}  # fmt: skip
COUNTS: dict[str, tuple[float, ...]] = {
    "bernoulli": (0.3,), "binom": (7, 0.4), "poisson": (2.4,), "geom": (0.35,), "nbinom": (2.5, 0.4),
}  # fmt: skip
METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")


def has(name: str, method: str) -> bool:
    known = vars(scipy_stats)
    needs = {"pdf": "logpdf", "logcdf": "cdf", "logsf": "sf"}.get(method, method)
    return f"{name}_{method}" in known or f"{name}_{needs}" in known or (needs == "sf" and f"{name}_cdf" in known)


def applied(dist: Any, method: str) -> Any:
    call = getattr(dist, method)

    def fun(x, *parameters):
        return call(x, *parameters)

    return fun


def assert_slopes(fun: Any, args: tuple[Any, ...], wrt: tuple[int, ...], target: str) -> None:
    """Compare a pullback of weights with differences, argument by argument, where values are finite."""
    with np.errstate(all="ignore"):
        finite = np.isfinite(fun(*args))
    args = (args[0][finite], *args[1:]) if np.shape(args[0]) else args
    out, pullback = s2sad.vjp(fun, *args, target=target)
    weights = np.cos(np.arange(np.size(out)) + 0.3).reshape(np.shape(out))
    bars = pullback(weights)
    for at in wrt:
        def moved(v, at=at):
            return np.sum(weights * fun(*args[:at], v, *args[at + 1 :]))

        np.testing.assert_allclose(bars[at], differences(moved, np.asarray(args[at])), rtol=2e-6, atol=1e-7)


CONTINUOUS = [(name, method) for name in SHAPES for method in METHODS if has(name, method)]


@pytest.mark.parametrize(("name", "method"), CONTINUOUS)
def test_continuous(name, method):
    dist = getattr(stats, name)
    fun = applied(dist, method)
    points = Q if method in ("ppf", "isf") else X
    shapes = SHAPES[name]
    for place in ((), (0.2,), (0.2, 1.3), (-0.4, -1.0)):
        with np.errstate(all="ignore"):
            value, _ = s2sad.vjp(lambda x, place=place: fun(x, *shapes, *place), points, target="python")
            np.testing.assert_allclose(value, fun(points, *shapes, *place), rtol=1e-11, atol=1e-14)
    if name in ("gamma", "chi2", "beta", "invgamma", "t") and method.removeprefix("log") != "pdf":
        assert_slopes(lambda x, loc, scale: fun(x, *shapes, loc, scale), (points, 0.2, 1.3), (0, 1, 2), "python")
    else:
        args = (points, *shapes, 0.2, 1.3)
        assert_slopes(fun, args, tuple(range(len(args))), "python")


@pytest.mark.parametrize("method", ["pmf", "logpmf"])
@pytest.mark.parametrize("name", COUNTS)
def test_of_whole_numbers(name, method):
    fun = applied(getattr(stats, name), method)
    with np.errstate(all="ignore"):
        for given in ((K, *COUNTS[name]), (K + 2, *COUNTS[name], 2), (K + 0.5, *COUNTS[name])):
            np.testing.assert_allclose(s2sad.vjp(fun, *given, target="python")[0], fun(*given), rtol=1e-11)
    some = K[1:3] if name == "bernoulli" else K[2:6]
    assert_slopes(lambda p: fun(some, *COUNTS[name][:-1], p), (COUNTS[name][-1],), (0,), "python")


def test_parameters_that_no_distribution_has():
    for name, shapes in (("gamma", (-1.2,)), ("beta", (2.0, -0.3)), ("chi2", (-1.0,)), ("poisson", (-2.0,)),
                         ("bernoulli", (1.2,))):  # fmt: skip
        dist = getattr(stats, name)
        fun = applied(dist, "logpdf" if name in SHAPES else "logpmf")
        value, _ = s2sad.vjp(fun, np.array([0.0, 1.0]), *shapes, target="python")
        assert np.all(np.isnan(value)), name
        assert np.all(np.isnan(fun(np.array([0.0, 1.0]), *shapes))), name


def test_the_distribution_function_of_counts():
    fun = applied(stats.poisson, "cdf")
    np.testing.assert_allclose(s2sad.vjp(fun, K, 2.4, target="python")[0], fun(K, 2.4), rtol=1e-12)
    assert_slopes(lambda mu: fun(K, mu), (2.4,), (0,), "python")


PRIOR = stats.norm(0.5, 2.0)
AROUND = stats.multivariate_normal(np.array([0.1, 0.2, 0.3]), np.eye(3) + 0.2)
DATA = np.array([0.3, 1.2, -0.4, 0.9])


def posterior(mu, sigma):
    """Frozen outside, frozen inside, by keywords, of numbers and of arrays."""
    likelihood = stats.norm(mu, scale=sigma)
    return PRIOR.logpdf(mu) + stats.gamma(2.0, scale=3.0).logpdf(sigma) + np.sum(likelihood.logpdf(DATA))


def waiting(rate, shape):
    """Censored observations: what has lasted so long already."""
    seen = stats.weibull_min.logpdf(DATA[DATA > 0.0], shape, scale=1.0 / rate)
    return np.sum(seen) + stats.weibull_min.logsf(2.0, shape, scale=1.0 / rate)


def around(x):
    return AROUND.logpdf(x)


def of_rows(mean, cov):
    points = np.sin(np.arange(12.0)).reshape(4, 3)
    return np.sum(stats.multivariate_normal.logpdf(points, mean, cov))


def of_shares(x, alpha):
    return stats.dirichlet.logpdf(x / np.sum(x), alpha)


def of_draws(p):
    return stats.multinomial.logpmf(np.array([2, 0, 3]), 5, p / np.sum(p))


POSITIVE = np.array([[1.4, 0.2, 0.1], [0.2, 1.1, -0.3], [0.1, -0.3, 0.9]])


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    ("fun", "args"),
    [
        (posterior, (0.4, 1.3)), (waiting, (0.8, 1.6)), (around, (np.array([0.4, -0.2, 0.9]),)),
        (of_rows, (np.array([0.4, -0.2, 0.9]), 1.7)),
        (of_rows, (np.array([0.4, -0.2, 0.9]), np.array([0.7, 1.3, 2.0]))),
        (of_shares, (np.array([0.4, 0.2, 0.9]), np.array([1.4, 2.2, 0.9]))), (of_draws, (np.array([0.4, 0.2, 0.9]),)),
    ],
)  # fmt: skip
def test_programs(fun, args, target):
    value, bars = s2sad.value_and_grad(fun, argnums=tuple(range(len(args))), target=target)(*args)
    np.testing.assert_allclose(value, fun(*args), rtol=1e-12)
    for at, bar in enumerate(bars):
        wanted = differences(lambda v, at=at: fun(*args[:at], v, *args[at + 1 :]), np.asarray(args[at]))
        np.testing.assert_allclose(bar, wanted, rtol=2e-6, atol=1e-8)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_covariance_that_is_a_matrix(target):
    mean = np.array([0.4, -0.2, 0.9])

    def symmetric(m):
        return of_rows(mean, (m + m.T) / 2.0)

    value, bar = s2sad.value_and_grad(symmetric, target=target)(POSITIVE)
    np.testing.assert_allclose(value, symmetric(POSITIVE), rtol=1e-12)
    np.testing.assert_allclose(bar, differences(symmetric, POSITIVE), rtol=2e-6, atol=1e-8)


def test_second_derivatives():
    hessian = s2sad.hessian(lambda v: posterior(v[0], v[1]))(np.array([0.4, 1.3]))
    slopes = s2sad.grad(lambda v: posterior(v[0], v[1]))
    np.testing.assert_allclose(hessian, differences(slopes, np.array([0.4, 1.3])), rtol=1e-6, atol=1e-7)


def test_refusals_name_what_there_is():
    with pytest.raises(s2sad.MissingRuleError, match=r"defvjp\(scipy.stats.norm.interval, fwd"):
        s2sad.grad(lambda s: stats.norm.interval(0.9, 0.0, s)[0])(1.0)
    with pytest.raises(s2sad.MissingRuleError, match=r"Of `lognorm` there are rules for .*`logpdf`"):
        s2sad.grad(lambda s: stats.lognorm.isf(0.2, s))(1.0)
    with pytest.raises(s2sad.MissingRuleError, match=r"defvjp\(scipy.stats.levy.logpdf"):
        s2sad.grad(lambda s: stats.levy.logpdf(1.0, 0.0, s))(1.0)
    with pytest.raises(s2sad.NotDifferentiableError):
        s2sad.grad(lambda a: stats.gamma.cdf(1.0, a))(1.5)


def test_a_method_without_a_rule_may_be_called_with_what_is_not_differentiated():
    slope = s2sad.grad(lambda x, c: np.sum(x) * stats.levy.cdf(c), target="python")
    np.testing.assert_allclose(slope(np.ones(3), 0.3), np.full(3, stats.levy.cdf(0.3)))

