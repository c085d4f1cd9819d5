"""What functions of published libraries ask and hold: kinds, options with attributes, caches, objects, solvers."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import s2sad

scipy_optimize: Any = pytest.importorskip("scipy.optimize")
scipy_special: Any = pytest.importorskip("scipy.special")


class Constants(dict[str, float]):
    """A dict whose keys are attributes too."""

    def __getattr__(self, name: str) -> float:
        return self[name]


CONSTANTS = Constants(a=1.5, b=2.5)


def of_constants(x, constants=CONSTANTS):
    return constants.a * x + constants.b * x**2 + CONSTANTS.a


def test_keys_of_a_dict_as_attributes():
    assert s2sad.grad(of_constants)(0.7) == 1.5 + 5.0 * 0.7


def noise(q, n):
    if np.isscalar(q):
        q = np.eye(n) * q
    return q


def whole(x):
    return np.sum(noise(x, 2)) if np.isrealobj(x) and not np.iterable(x) else np.sum(noise(x, 2) * 3.0)


def test_what_is_asked_of_the_kind_of_a_value_is_known():
    assert s2sad.grad(whole)(0.7) == 2.0
    np.testing.assert_array_equal(s2sad.grad(whole)(np.ones((2, 2))), np.full((2, 2), 3.0))


def solved(residual, start, jac=None):
    jac_too = True if jac == True else False  # noqa: E712
    return residual(start) * (jac(start) if not jac_too else 1.0)


def test_a_function_is_no_number():
    assert s2sad.grad(lambda x: solved(lambda v: v * v, x, lambda v: 3.0 * v))(2.0) == 36.0
    assert s2sad.grad(lambda x: solved(lambda v: v * v, x, True))(2.0) == 4.0


class Element:
    """An object that says where it is computed, and keeps what it has computed."""

    target = "parallel"

    def __init__(self, k: float) -> None:
        self.k = k

    def __call__(self, x: float) -> float:
        return self.k * x * x

    @functools.lru_cache
    def stiffness(self) -> float:
        return 3.0 * self.k


ELEMENT = Element(2.0)


def test_objects_with_a_target_of_their_own_and_methods_that_are_kept():
    assert s2sad.grad(ELEMENT)(0.5) == 2.0
    assert s2sad.grad(lambda x: ELEMENT.stiffness() * x)(0.5) == 6.0


@dataclass
class Ellipsoid:
    """A dataclass that begins its objects itself."""

    axis: float
    flattening: float
    name: str

    def __init__(self, axis: float, inverse: float, name: str = "") -> None:
        self.axis = axis
        self.flattening = 1 / inverse
        self.name = name

    @property
    def other(self) -> float:
        return self.axis * (1 - self.flattening)


@dataclass
class Labelled(Ellipsoid):
    """One with more than its fields."""

    def __init__(self, axis: float) -> None:
        super().__init__(axis, 2.0, "labelled")
        self.square = axis * axis


def of_an_ellipsoid(x):
    made = Ellipsoid(x, 2.0 + x, name="k")
    return made.axis * made.other + Labelled(x).square


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_dataclass_with_its_own_init(target):
    x, h = 0.7, 1e-6
    slope = (of_an_ellipsoid(x + h) - of_an_ellipsoid(x - h)) / (2 * h)
    value, gradient = s2sad.value_and_grad(of_an_ellipsoid, target=target)(x)
    assert value == pytest.approx(of_an_ellipsoid(x), rel=1e-14)
    assert gradient == pytest.approx(slope, rel=1e-8)


@dataclass
class Unfinished:
    """A dataclass whose own `__init__` leaves a field out."""

    a: float
    b: float

    def __init__(self, a: float) -> None:
        self.a = a


def test_a_field_that_is_never_set_is_named():
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="sets no field `b`"):
        s2sad.grad(lambda x: Unfinished(x).a)(0.5)


def at_least_2d(*arrays):
    rows = []
    for given in arrays:
        array = np.asanyarray(given)
        rows.append(array.reshape(1, 1) if len(array.shape) == 0 else array[:, np.newaxis])
    if len(rows) == 1:
        return rows[0]
    return rows


def of_rows(x):
    first = at_least_2d(x)
    second, third = at_least_2d(x, np.array([1.0, 2.0]))
    return np.sum(first * second) + np.sum(third * x)


def test_a_list_of_a_length_that_decides_what_is_returned():
    assert s2sad.value_and_grad(of_rows)(0.7) == (pytest.approx(0.49 + 2.1), pytest.approx(1.4 + 3.0))


def by_newton(current):
    residual: Callable[..., Any] = lambda x, *a: np.exp(x * a[1]) - a[0]
    start, (voltage, *args) = 1.0, (0.3, current, 1.3)
    return scipy_optimize.newton(lambda x, *a: residual(x, *a) - voltage, start, args=args)


def test_newton_takes_its_arguments_as_a_list():
    # exp(1.3 x) = current + 0.3
    assert s2sad.grad(by_newton)(0.9) == pytest.approx(1 / (1.3 * 1.2), rel=1e-6)


X = np.array([0.3, 0.7, 1.1, -0.4])


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_the_function_of_rosenbrock_and_its_gradient(target):
    rosen, rosen_der, rosen_hess = scipy_optimize.rosen, scipy_optimize.rosen_der, scipy_optimize.rosen_hess
    np.testing.assert_allclose(s2sad.grad(rosen, target=target)(X), rosen_der(X), rtol=1e-12)
    np.testing.assert_allclose(s2sad.hessian(rosen, target=target)(X), rosen_hess(X), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(s2sad.jacfwd(rosen_der, target=target)(X), rosen_hess(X), rtol=1e-12, atol=1e-9)
    points = X.reshape(2, 2)
    value = s2sad.value_and_grad(lambda p: np.sum(rosen(p)), target=target)(points)[0]
    np.testing.assert_allclose(value, np.sum(rosen(points)), rtol=1e-14)


def test_functions_of_scipy_are_differentiated_themselves():
    softmax, logsumexp = scipy_special.softmax, scipy_special.logsumexp
    p = softmax(X)
    np.testing.assert_allclose(s2sad.jacrev(softmax)(X), np.diag(p) - np.outer(p, p), atol=1e-15)
    np.testing.assert_allclose(s2sad.grad(logsumexp)(X), p, rtol=1e-14)


def in_pieces(x):
    x = np.asarray(x)
    return np.piecewise(x, [x < 0, x >= 1], [lambda v: -v, 5.0, lambda v: np.sqrt(v)])


@pytest.mark.parametrize(("x", "slope"), [(-0.3, -1.0), (0.49, 0.5 / 0.7), (1.6, 0.0)])
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_piecewise_of_a_number(x, slope, target):
    value, gradient = s2sad.value_and_grad(in_pieces, target=target)(x)
    assert value == in_pieces(x)
    assert gradient == pytest.approx(slope, rel=1e-14)


def by_a_copy_without_axes(x):
    a = np.asarray(x, np.float64).copy()
    return np.float64(np.log1p(a * 112) / np.log(113))


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_copy_of_a_number(target):
    assert s2sad.grad(by_a_copy_without_axes, target=target)(0.7) == pytest.approx(112 / (1 + 78.4) / np.log(113))


def by_version(x, y):
    return math.sqrt(x * x + y * y) if (3, 0) <= sys.version_info < (3, 1) else math.hypot(x, y)


class Units:
    """A setting of an object, told by identity."""

    BARE = 0
    METRIC = 1

    def __init__(self, system: int = BARE) -> None:
        self.system = system

    def of(self, p: float) -> float:
        if self.system is self.METRIC:
            return p * 0.1
        elif self.system is self.BARE:
            return p
        raise ValueError("unknown units")


UNITS = Units(Units.METRIC)


class Colour:
    """The base of a class that names itself."""

    def __init__(self, observer: str = "2") -> None:
        self.observer = observer


class Lab(Colour):
    """One that asks for its base by its own name."""

    def __init__(self, x: float, observer: str = "2") -> None:
        super(Lab, self).__init__(observer)  # noqa: UP008
        self.x = float(x)


def test_settings_that_are_known():
    assert s2sad.grad(by_version)(3.0, 4.0) == 0.6
    assert s2sad.grad(lambda p: UNITS.of(p))(3.0) == 0.1
    assert s2sad.grad(lambda x: Lab(x).x ** 2)(3.0) == 6.0
