"""Helpers: plain, njit, recursive, nested, lambdas, mutating; function arguments, defaults, keywords, closures."""

import math
from math import exp

import numba
import numpy as np
from numpy import sin as sine

from tests.corpus.programs import mat, program, vec

SCALE = 1.7
WEIGHTS = np.array([0.5, -1.0, 2.0])


def square(x):
    return x * x


def norm_squared(v):
    s = 0.0
    for e in v:
        s += e * e
    return s


@numba.njit
def njit_energy(v):
    s = 0.0
    for i in range(v.size):
        s += math.sin(v[i]) * v[i]
    return s


@numba.njit
def njit_scale(v, c):
    for i in range(v.size):
        v[i] = v[i] * c


def double_in_place(v):
    v *= 2.0


def set_first(v, value):
    v[0] = value


def accumulate(out, x, k):
    for i in range(x.size):
        out[i] += x[i] ** k


def smaller_larger(a, b):
    if a < b:
        return a, b
    return b, a


def power(x, n):
    if n == 0:
        return 1.0
    return x * power(x, n - 1)


def fib(x, n):
    if n < 2:
        return x
    return fib(x, n - 1) + 0.5 * fib(x, n - 2) * x


def is_even(x, n):
    return x if n == 0 else is_odd(x * 1.1, n - 1)


def is_odd(x, n):
    return x * x if n == 0 else is_even(x + 0.1, n - 1)


def affine(x, a=2.0, b=1.0):
    return a * x + b


def scale_default(x, weights=WEIGHTS):
    return np.sum(x * weights)


def view_of_row(a, i):
    return a[i]


def identity(v):
    return v


def tagged(x):
    return {"value": x * x, "twice": 2.0 * x}


@program(0.6)
def plain_helper(x):
    return square(x) * square(math.sin(x))


@program(vec(4))
def array_helper(v):
    return norm_squared(v) * norm_squared(v * v)


@program(vec(4))
def njit_helper(v):
    return njit_energy(v) + njit_energy(v * 2.0)


@program(vec(4), 1.5, wrt=(0, 1))
def njit_mutating_helper(v, c):
    njit_scale(v, c)
    njit_scale(v, v[0])
    return np.sum(v)


@numba.njit
@program(vec(4), marks="njit")
def _plain_under_njit(v):
    return np.sum(v * v)


@program(vec(4))
def helper_doubles_its_argument(v):
    double_in_place(v)
    return np.sum(v**2)


@program(vec(4))
def helper_writes_element(v):
    y = v * 3.0
    set_first(y, v[1] * v[2])
    set_first(y, y[0] * v[3])
    return np.sum(y**2)


@program(vec(4))
def helper_writes_out_argument(v):
    out = np.zeros(4)
    accumulate(out, v, 2)
    accumulate(out, v, 3)
    return np.sum(out * v)


@program(vec(4))
def helper_called_on_same_array_twice(v):
    accumulate(v, v, 2)
    return np.sum(v)


@program(mat(3, 4))
def helper_on_view(a):
    double_in_place(a[1])
    set_first(a[2], a[0, 0] * a[1, 1])
    return np.sum(a**2)


@program(mat(3, 4))
def helper_returns_view(a):
    row = view_of_row(a, 1)
    row[0] = a[0, 0] * a[2, 2]
    return np.sum(a**2)


@program(vec(4))
def helper_returns_its_argument(v):
    w = identity(v)
    w[0] = v[1] * v[2]
    return np.sum(v**2)


@program(0.4, 0.9, wrt=(0, 1))
@program(0.9, 0.4, wrt=(0, 1))
def helper_returns_tuple(a, b):
    lo, hi = smaller_larger(a, b)
    return lo * hi * hi


@program(0.9)
def helper_returns_dict(x):
    d = tagged(x)
    return d["value"] * d["twice"]


@program(1.2)
def recursive_power(x):
    return power(x, 5)


@program(0.8)
def recursive_fibonacci(x):
    return fib(x, 6)


@program(0.8)
def mutual_recursion(x):
    return is_even(x, 5)


@program(0.9)
def recursive_by_value(x):
    if x > 8.0:
        return x
    return recursive_by_value(x * 1.5) + x


@program(0.6)
def default_argument(x):
    return affine(x) * affine(x, 3.0)


@program(0.6)
def keyword_argument(x):
    return affine(x, b=x) * affine(b=2.0, a=x, x=x * x)


@program(0.6)
def own_default(x, scale=2.5, *, shift=0.3):
    return math.sin(scale * x) + shift * x


@program(vec(3))
def array_default(x):
    return scale_default(x) * scale_default(x * x, x)


@program(0.6)
def lambda_local(x):
    cube = lambda t: t * t * t
    return cube(x) + cube(math.sin(x))


@program(0.6)
def lambda_closure(x):
    y = x * 2.0
    f = lambda t: t * y
    return f(x) * f(3.0)


@program(0.6)
def nested_function(x):
    def inner(t):
        return math.exp(-t * t)
    return inner(x) + inner(2.0 * x)


@program(0.6)
def nested_function_closure(x):
    k = x * x
    def inner(t):
        return k * t + x
    s = 0.0
    for i in range(3):
        s += inner(s + i)
    return s


@program(vec(3))
def nested_function_mutates(x):
    y = x * 1.0
    def bump(i):
        y[i] = y[i] * y[i - 1]
    bump(1)
    bump(2)
    return np.sum(y)


@program(0.6, square)
@program(0.6, lambda t: t * t * t)
@program(0.6, math.sin)
def function_argument(x, f):
    return f(x) * f(x + 1.0)


@program(0.6)
def function_passed_on(x):
    return function_argument(x, square) + function_argument(x, affine)


@program(0.6)
def helper_chain(x):
    return affine(square(affine(x)))


@program(0.6)
def helper_in_loop(x):
    y = x
    for _ in range(4):
        y = affine(square(y), a=0.3)
    return y


@program(0.6)
def helper_in_branch(x):
    return square(x) if x > 0 else affine(x)


@program(0.6)
def helper_in_condition(x):
    y = x
    while square(y) < 9.0:
        y = affine(y)
    return y


@program(vec(3))
def helper_in_comprehension(x):
    return sum([square(e) for e in x])


@program(0.6)
def global_constant(x):
    return SCALE * x * math.pi


@program(vec(3))
def global_array(x):
    return np.sum(WEIGHTS * x) ** 2


@program(0.6)
def imported_names(x):
    return exp(x) * sine(x)


@program(0.6)
def star_call(x):
    args = (x, 3.0)
    return affine(*args)


@program(0.6)
def keyword_dict_call(x):
    return affine(x, **{"a": 3.0, "b": 0.5})


def _adder(k):
    def add(x):
        return x * k + x
    return add


add_three = program(0.6)(_adder(3.0))


def shadow(x):
    sin = x * x
    return sin


@program(0.6)
def local_name_shadows_function(x):
    square = x + 1.0
    return shadow(x) * square


@program(0.6)
def variable_arguments(x):
    return total(x, x * x, 3.0)


def total(*terms):
    s = 0.0
    for t in terms:
        s += t
    return s


@program(mat(3, 3))
def helper_with_array_temporaries(a):
    return _frobenius(a @ a) + _frobenius(a)


def _frobenius(m):
    t = m * m
    return np.sqrt(np.sum(t))


@program(vec(4))
def helper_early_return_in_loop(v):
    return _first_positive(v) * _first_positive(-v)


def _first_positive(v):
    for e in v:
        if e > 0:
            return e * e
    return 0.0
