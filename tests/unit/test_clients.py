"""Derivatives handed straight to `scipy.optimize`, and to C."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import LowLevelCallable, integrate, optimize

import s2sad
from s2sad.errors import ArgumentError, CompileError
from s2sad.interop.scipy import curve_jac, hessp


@s2sad.differentiate
def rosenbrock(x, scale=100.0):
    total = 0.0
    for i in range(x.size - 1):
        total += scale * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return total


START = np.array([-1.2, 1.0, 0.7])


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG"])
def test_minimize_takes_value_and_grad(method):
    found = optimize.minimize(rosenbrock.value_and_grad, START, jac=True, method=method)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)
    assert np.array_equal(START, [-1.2, 1.0, 0.7])


def test_minimize_takes_grad_args_and_products_with_the_hessian():
    found = optimize.minimize(
        rosenbrock, START, (10.0,), "Newton-CG", jac=rosenbrock.grad, hessp=hessp(rosenbrock)
    )
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)
    found = optimize.minimize(rosenbrock, START, jac=rosenbrock.grad, hess=rosenbrock.hessian, method="trust-exact")
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)


TIMES = np.linspace(0.0, 4.0, 30)


@s2sad.differentiate
def residuals(p, t, seen):
    out = np.empty(t.size)
    for i in range(t.size):
        out[i] = p[0] * np.exp(-p[1] * t[i]) + p[2] - seen[i]
    return out


def test_least_squares_takes_the_jacobian():
    seen = 2.0 * np.exp(-1.3 * TIMES) + 0.5
    calls = []

    def jacobian(*args):
        calls.append(1)
        return residuals.jacobian(*args)

    found = optimize.least_squares(residuals, np.ones(3), jacobian, args=(TIMES, seen))
    np.testing.assert_allclose(found.x, [2.0, 1.3, 0.5], rtol=1e-8)
    assert len(calls) == found.njev
    assert found.nfev < 20


@s2sad.differentiate
def circles(z):
    return np.array([z[0] ** 2 + z[1] ** 2 - 4.0, (z[0] - 1.0) ** 2 + z[1] ** 2 - 2.0])


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root_takes_the_jacobian(method):
    found = optimize.root(circles, np.array([1.0, 1.0]), jac=circles.jacobian, method=method)
    assert found.success
    np.testing.assert_allclose(found.x, [1.5, np.sqrt(1.75)], rtol=1e-8)


def model(x, height, rate, floor):
    return height * np.exp(-rate * x) + floor


def test_curve_fit_takes_the_jacobian():
    seen = model(TIMES, 2.0, 1.3, 0.5)
    found, _ = optimize.curve_fit(model, TIMES, seen, (1.0, 1.0, 0.0), jac=curve_jac(model))
    np.testing.assert_allclose(found, [2.0, 1.3, 0.5], rtol=1e-8)
    step = 1e-6
    jacobian = curve_jac(model)(TIMES, 2.0, 1.3, 0.5)
    difference = (model(TIMES, 2.0, 1.3 + step, 0.5) - model(TIMES, 2.0, 1.3 - step, 0.5)) / (2 * step)
    np.testing.assert_allclose(jacobian[:, 1], difference, atol=1e-8)


def test_newton_takes_scalar_derivatives():
    @s2sad.differentiate
    def kepler(anomaly):
        return anomaly - 0.3 * np.sin(anomaly) - 1.0

    found = optimize.newton(kepler, 1.0, fprime=kepler.grad, fprime2=kepler.hessian)
    assert kepler(found) == pytest.approx(0.0, abs=1e-12)


@s2sad.differentiate(argnums="x")
def bell(x, width):
    return np.exp(-(x**2) / width) * np.sin(x)


def test_a_c_function_of_the_value_and_of_the_gradient():
    value, slope = bell.as_cfunc(), bell.as_cfunc("grad")
    assert slope.ctypes(0.7, 2.0) == pytest.approx(bell.grad(0.7, 2.0), rel=1e-14)
    packed = bell.as_cfunc("grad", packed=True)
    area, _ = integrate.quad(LowLevelCallable(packed.ctypes), 0.2, 0.9, args=(2.0,))
    assert area == pytest.approx(value.ctypes(0.9, 2.0) - value.ctypes(0.2, 2.0), rel=1e-10)


def test_what_is_no_number_has_no_c_function():
    with pytest.raises(ArgumentError, match="`x` is a float64 array"):
        rosenbrock.as_cfunc("grad", types="float64[:], float64")
    plain = s2sad.differentiate(target="python")(bell.py_func)
    with pytest.raises(CompileError, match="is not compiled"):
        plain.as_cfunc()
