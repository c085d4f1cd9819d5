"""SciPy's solvers, integrals and curves in differentiated functions: values as SciPy's, slopes by differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad

integrate = pytest.importorskip("scipy.integrate")
interpolate = pytest.importorskip("scipy.interpolate")
optimize = pytest.importorskip("scipy.optimize")
special = pytest.importorskip("scipy.special")

X = np.linspace(0.0, 2.0, 7)
Y = np.sin(3.0 * X)
CUBIC = interpolate.CubicSpline(X, Y)
MONOTONE = interpolate.PchipInterpolator(X, Y)
INSIDE = interpolate.CubicSpline(X, Y, extrapolate=False)
SMOOTH = interpolate.UnivariateSpline(X, Y, s=0)
BASIS = interpolate.make_interp_spline(X, Y, k=3)
KNOTS = interpolate.splrep(X, Y)
LINES = interpolate.interp1d(X, Y)
BEYOND = interpolate.interp1d(X, Y, fill_value="extrapolate")
FILLED = interpolate.interp1d(X, Y, bounds_error=False, fill_value=(1.0, 2.0))
CURVED = interpolate.interp1d(X, Y, kind="cubic")


def weighted(t, p, q):
    return math.exp(-p * t * t) * q


def exponential(x, p, q):
    return math.exp(x) * q - p


def system(x, p, q):
    return [x[0] ** 2 + x[1] * q - p, x[1] * x[0] - 0.1]


# ---- roots ----


def between(p):
    return optimize.brentq(lambda x: x * x * x - p, 0.0, 5.0)


def between_with_arguments(p):
    return optimize.brentq(exponential, -2.0, 5.0, args=(p, 1.3)) * optimize.brenth(exponential, -2.0, 5.0, (p, 1.1))


def by_halves(p):
    return optimize.bisect(exponential, -2.0, 5.0, args=(p, 1.3))


def by_exponentials(p):
    return optimize.ridder(exponential, -2.0, 5.0, args=(p, 1.3))


def by_secants(p):
    return optimize.newton(exponential, 1.0, args=(p, 2.0)) + optimize.newton(exponential, 1.0, args=(p, 2.0), x1=1.5)


def by_tangents(p):
    first = optimize.newton(lambda x: x**3 - p, 1.0, fprime=lambda x: 3 * x * x)
    return first * optimize.newton(lambda x: x**3 - p, 1.0, fprime=lambda x: 3 * x * x, fprime2=lambda x: 6 * x)


def scalar_roots(p):
    one = optimize.root_scalar(lambda x: x**3 - p, bracket=[0.0, 5.0])
    other = optimize.root_scalar(lambda x: x**3 - p, x0=1.0, x1=0.5)
    return one.root * other.root if one.converged else 0.0


def in_a_loop(p):
    total = 0.0
    for k in range(3):
        total += optimize.brentq(lambda x, k=k: x**3 + x * k - p, 0.0, 5.0) * p
    return total


# ---- integrals ----


def over_an_interval(p):
    return integrate.quad(lambda t: math.exp(-p * t * t), 0.0, p)[0]


def with_arguments(p):
    return integrate.quad(weighted, 0.0, 1.0, args=(p, 2.0))[0]


def without_end(p):
    whole, _ = integrate.quad(weighted, -np.inf, np.inf, args=(p, 1.0))
    return whole + integrate.quad(lambda t: math.exp(-p * t), p, np.inf)[0]


def of_waves(p):
    return integrate.quad(lambda t: math.sin(30.0 * p * t) * t, 0.0, 3.0)[0]


def of_integrals(p):
    return integrate.quad(lambda y: integrate.quad(lambda x: math.exp(-p * x * y), 0.0, 1.0)[0], 0.0, 2.0 * p)[0]


def of_samples(p):
    odd = integrate.simpson(np.sin(p * X), x=X * X + X) + integrate.trapezoid(np.sin(p * X), X)
    even = integrate.simpson(np.cos(p * X[:6]), x=X[:6] ** 2 + X[:6]) + integrate.simpson(np.cos(p * X[:6]), dx=0.1)
    sums = integrate.cumulative_trapezoid(np.sin(p * X), X, initial=0)
    return odd * even + sums[3] * sums[-1]


def of_rows(p):
    rows = np.outer(X + p, np.sin(p * X))
    return np.sum(integrate.simpson(rows, x=X, axis=0) * integrate.cumulative_trapezoid(rows, X, axis=1)[:, 2])


def at_fixed_points(p):
    return integrate.fixed_quad(lambda x: np.exp(-p * x), 0.0, p, n=5)[0]


# ---- curves ----


def on_splines(p):
    return CUBIC(p) * MONOTONE(2.0 * p) + CUBIC(p, 1) + CUBIC(5.0 * p)


def on_bases(p):
    return SMOOTH(p) * BASIS(2.0 * p) + interpolate.splev(p, KNOTS)


def on_many(p):
    places = np.array([p, 2.0 * p, 0.5 * p])
    return np.sum(CUBIC(places) * interpolate.splev(places, KNOTS) * LINES(places))


def on_lines(p):
    return LINES(p) * BEYOND(p + 3.0) + FILLED(p) + FILLED(p - 3.0) * FILLED(p + 3.0)


def branches_of_lambert(p):
    main = special.lambertw(p).real * special.lambertw(1e5 * p).real
    return main + special.lambertw(-p / 10.0, -1).real + special.lambertw(np.array([p, -p / 2.0])).real[1]


SAME = [between, between_with_arguments, by_halves, by_exponentials, by_secants, by_tangents, scalar_roots, in_a_loop,
        over_an_interval, with_arguments, without_end, of_waves, of_integrals, of_samples, of_rows, at_fixed_points,
        on_splines, on_bases, on_many, on_lines, branches_of_lambert]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", SAME, ids=lambda f: f.__name__)
def test_value_slope_and_tangent(fun, target):
    """Values agree to the last digits, slopes with differences."""
    p, h = 0.6, 1e-5
    value, slope = s2sad.value_and_grad(fun, target=target)(p)
    assert value == pytest.approx(fun(p), rel=2e-14, abs=2e-15)
    difference = (fun(p + h) - fun(p - h)) / (2 * h)
    assert slope == pytest.approx(difference, rel=2e-6, abs=1e-8)
    if target == "python":
        assert s2sad.jvp(fun, (p,), (1.0,), target=target)[1] == pytest.approx(slope, rel=1e-10)


@pytest.mark.parametrize("fun", [between, by_secants, in_a_loop, over_an_interval, on_splines, branches_of_lambert])
def test_second_derivatives(fun):
    """The second derivative is that of the equation too."""
    p, h = 0.6, 1e-4
    slope = s2sad.grad(fun, target="python")
    second = s2sad.grad(slope, target="python")(p)
    assert second == pytest.approx((slope(p + h) - slope(p - h)) / (2 * h), rel=1e-5)


def test_the_third_derivative_of_a_root():
    """That of a cube root: 10/27 p^(-8/3)."""
    third = s2sad.grad(s2sad.grad(s2sad.grad(between, target="python"), target="python"), target="python")(0.6)
    assert third == pytest.approx(10.0 / 27.0 * 0.6 ** (-8.0 / 3.0), rel=1e-9)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_systems(target):
    """Of systems the root is Newton's, which agrees with MINPACK's as far as that goes."""

    def solved(p):
        return np.sum(optimize.fsolve(system, [1.0, 0.2], args=(p, 1.1)) * np.array([1.0, 2.0]))

    def by_root(p):
        found = optimize.root(lambda x: np.array([x[0] ** 2 - p, x[1] * x[0] - p]), np.array([1.0, 0.5]))
        return found.x[1] * p

    for fun in (solved, by_root):
        value, slope = s2sad.value_and_grad(fun, target=target)(0.6)
        assert value == pytest.approx(fun(0.6), rel=1e-9)
        assert slope == pytest.approx((fun(0.601) - fun(0.599)) / 0.002, rel=1e-4)


def test_what_is_raised():
    """The errors are SciPy's: no change of sign, outside of the points."""
    with pytest.raises(ValueError, match="different signs"):
        s2sad.grad(lambda p: optimize.brentq(lambda x: x * x + p, 0.0, 5.0))(0.6)
    with pytest.raises(ValueError, match="above the interpolation range"):
        s2sad.grad(lambda p: LINES(p))(3.0)
    with pytest.raises(ValueError, match="complex here"):
        s2sad.grad(lambda p: special.lambertw(p).real)(-1.0)
    assert np.isnan(s2sad.value_and_grad(lambda p: INSIDE(p) * 1.0)(3.0)[0])


def test_what_is_refused_says_what_to_do():
    """Functions that take functions, options, objects without a meaning here."""
    refused = [
        (lambda p: integrate.solve_ivp(lambda t, y: -p * y, (0.0, 1.0), [1.0]).y[0, -1], "implicit.odeint"),
        (lambda p: optimize.minimize_scalar(lambda x: (x - p) ** 2).x, "implicit.root"),
        (lambda p: integrate.quad(lambda t: p * t, 0.0, 1.0, points=[0.5])[0], "Split the interval"),
        (lambda p: optimize.brentq(lambda x: x - p, 0.0, 5.0, full_output=True)[0], "Leave them"),
        (lambda p: CURVED(p), "np.interp"),
        (lambda p: optimize.root(lambda x: (x - p, 1.0), [1.0], jac=True).x[0], "Return the values only"),
    ]
    for fun, way_out in refused:
        with pytest.raises(s2sad.S2SADError) as caught:
            s2sad.grad(fun)(0.6)
        assert way_out in str(caught.value)
        assert caught.value.span is not None
        assert caught.value.span.file == __file__
