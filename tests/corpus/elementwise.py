"""Elementary functions on scalars and arrays, and broadcasting between every pair of shapes."""

import cmath
import math

import numpy as np

from tests.corpus.programs import mat, pos, program, vec


@program(0.6)
def math_trigonometry(x):
    return math.sin(x) * math.cos(2 * x) + math.tan(x)


@program(0.6)
def math_inverse_trigonometry(x):
    return math.asin(x) * math.acos(x) + math.atan(x)


@program(0.6, 1.7, wrt=(0, 1))
def math_two_arguments(x, y):
    return math.atan2(x, y) + math.hypot(x, y) * math.pow(y, x)


@program(0.6)
def math_hyperbolic(x):
    return math.sinh(x) + math.cosh(x) * math.tanh(x) + math.asinh(x) + math.atanh(x) + math.acosh(1.0 + x)


@program(0.6)
def math_logarithms(x):
    return math.log(x) + math.log2(x) * math.log10(x) + math.log1p(x)


@program(0.6)
def math_exponentials(x):
    return math.exp(x) * math.expm1(x) + math.sqrt(x)


@program(0.6)
def math_special(x):
    return math.erf(x) * math.erfc(x) + math.lgamma(x) + math.gamma(1.0 + x)


@program(-0.6)
def math_absolute(x):
    return math.fabs(x) * abs(x) + math.copysign(x, 2.0)


@program(1.6)
def math_rounding(x):
    return x * math.floor(x) + x * math.ceil(x) + x * round(x)


@program(1.6)
def math_angles(x):
    return math.radians(x) * math.degrees(x)


@program(pos(4))
@program(pos(4, dtype=np.float32))
@program(pos(2, 3))
def numpy_chain(x):
    return np.sum(np.exp(-x) * np.log(x) + np.sqrt(x) * np.sin(x) - np.cos(x) / x)


@program(pos(4))
def numpy_more(x):
    return np.sum(np.tan(x / 2) + np.arctan(x) + np.sinh(x) * np.cosh(x) + np.tanh(x) + np.log1p(x) + np.expm1(x))


@program(pos(4) / 2)
def numpy_inverse(x):
    return np.sum(np.arcsin(x) * np.arccos(x) + np.arcsinh(x) + np.arctanh(x) + np.arccosh(1 + x))


@program(pos(4))
def numpy_bases(x):
    return np.sum(np.log2(x) + np.log10(x) * np.exp2(x) + np.cbrt(x) + np.square(x) + np.reciprocal(x))


@program(vec(4), vec(4, 1), wrt=(0, 1))
def numpy_pairs(x, y):
    return np.sum(np.maximum(x, y) + np.minimum(x, 2 * y) * np.hypot(x, y) + np.arctan2(x, y) + np.logaddexp(x, y))


@program(pos(4), vec(4, 1), wrt=(0, 1))
@program(pos(4), 1.3, wrt=(0, 1))
@program(1.3, vec(4), wrt=(0, 1))
@program(pos(3, 4), vec(4), wrt=(0, 1))
@program(pos(4), mat(3, 4), wrt=(0, 1))
@program(pos(3, 1), vec(4), wrt=(0, 1))
@program(pos(1), vec(4), wrt=(0, 1))
@program(pos(3, 1), mat(1, 4), wrt=(0, 1))
@program(pos(2, 1, 3), mat(4, 1), wrt=(0, 1))
@program(np.array(1.3), vec(4), wrt=(0, 1))
@program(pos(1, 1), vec(1), wrt=(0, 1))
@program(pos(4, 1), vec(1), wrt=(0, 1))
@program(pos(3, 1, dtype=np.float32), vec(4, dtype=np.float32), wrt=(0, 1))
def broadcast_operators(x, y):
    return np.sum((x + y) * (x - 2.0 * y) + y / x + x**y)


@program(pos(3, 1, seed=5), pos(4), wrt=(0, 1))
@program(pos(1, seed=5), pos(4), wrt=(0, 1))
@program(1.1, pos(4), wrt=(0, 1))
def broadcast_functions(x, y):
    return np.sum(np.maximum(x, y) ** 2 + np.arctan2(x, y) * np.hypot(y, x) + np.where(x > y, x, y * y))


@program(pos(3, 1), pos(4), wrt=(0, 1))
def broadcast_result(x, y):
    return x * y + y / x


@program(pos(3), pos(3, seed=1), wrt=(0, 1))
def outer_by_newaxis(x, y):
    return np.sum(np.sin(x[:, None] * y[None, :]))


@program(pos(4), 2.0, wrt=(0, 1))
def in_place_broadcast(x, c):
    y = np.ones((3, 4))
    y *= x
    y += c
    y[:, 1:2] *= x[:3, None]
    return np.sum(y**2)


@program(vec(5))
def clip_inside_and_out(x):
    return np.sum(np.clip(x, -0.5, 0.5) * x)


@program(vec(5), 0.4, wrt=(0, 1))
def clip_active_bound(x, top):
    return np.sum(np.clip(x, -top, top) ** 2)


@program(vec(5))
def where_two_sides(x):
    return np.sum(np.where(x > 0, x * x, np.sin(x)))


@program(vec(5))
def where_with_constant(x):
    return np.sum(np.where(x > 0, 1.0, x) * x)


@program(vec(5))
def where_nan_untaken_log(x):
    return np.sum(np.where(x > 0, np.log(x), x))


@program(np.array([-1.0, 4.0]), true=[1.0, 0.25])
def where_nan_untaken_sqrt(x):
    return np.sum(np.where(x > 0, np.sqrt(x), x))


@program(vec(5))
def absolute_and_sign(x):
    return np.sum(np.abs(x) * np.sign(x) * x)


@program(vec(5))
def rounding_is_flat(x):
    return np.sum(x * np.floor(x) + x * np.ceil(x) + x * np.round(x))


@program(vec(5) * 3)
def array_modulo(x):
    return np.sum((x % 1.3) * x + (x // 1.3) * x)


@program(vec(5))
def integer_powers(x):
    return np.sum(x**2 + x**3 - x**-1 + x**0 + x**1)


@program(pos(5))
def float_powers(x):
    return np.sum(x**0.5 + x**1.5 + x**-0.5 + 2.0**x)


@program(vec(5))
def negation_and_plus(x):
    return np.sum(-x * +x)


@program(vec(4), np.arange(4))
def integer_operand(x, k):
    return np.sum(x * k + k * x**2 + x / (k + 1))


@program(vec(4), np.array([True, False, True, True]))
def boolean_operand(x, m):
    return np.sum(x * m + x * x * (1 - m))


@program(vec(4))
def comparison_as_number(x):
    return np.sum(x * (x > 0) + (x < 0) * x**2)


@program(0.4 + 0.3j)
def complex_to_real(z):
    return (z * z).real + abs(z) + z.imag * z.real


@program(np.array([0.4 + 0.3j, -0.2 + 1.1j]))
def complex_array_power(z):
    return np.sum(np.abs(z) ** 2 + np.real(np.exp(z)) * np.imag(z))


@program(np.array([0.4 + 0.3j, -0.2 + 1.1j]), 0.5 - 0.2j, wrt=(0, 1))
def complex_result(z, c):
    return z * z * c + np.conj(z) * np.exp(c)


@program(0.4 + 0.3j)
def complex_newton(c):
    z = 1.0 + 0.5j
    for _ in range(6):
        z = z - (z * z * z - c) / (3.0 * z * z)
    return z


@program(0.7)
def complex_inside(x):
    z = cmath.exp(1j * x)
    return (z * z).real + z.imag


@program(np.float32(0.7))
def float32_scalar(x):
    return x * x + np.sin(x)


@program(vec(4, dtype=np.float32))
def float32_result(x):
    return np.float32(2.0) * x * x


@program(np.array(0.7))
def zero_dimensional(x):
    return np.sin(x) * x


@program(vec(4))
def nan_to_finite_mask(x):
    y = np.sqrt(x)
    return np.sum(y[x > 0])


@program(vec(4))
def sinc_by_where(x):
    safe = np.where(x == 0.0, 1.0, x)
    return np.sum(np.where(x == 0.0, 1.0, np.sin(safe) / safe))
