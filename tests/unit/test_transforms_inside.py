"""Transforms inside functions: of partial functions and methods, with `*args`, keywords and containers.

Each gradient is compared with differences of the same function run by CPython, where every transform is called
from outside and so goes another way than the one under test.
"""

import functools

import numpy as np
import pytest

import s2sad
from s2sad import grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp, vmap
from s2sad.errors import ArgumentError, NotDifferentiableError, UnsupportedSyntaxError

W, B = np.array([1.0, 2.0]), np.array([0.1, 0.2])
Y = np.array([0.5, 1.0, 1.5])


def scaled_sine(a, x):
    return a * np.sin(x)


class Scaled:
    def __init__(self, a):
        self.a = a

    def sine(self, x):
        return self.a * np.sin(x)


def layer(p):
    return {"u": p["w"] * np.sin(p["b"]), "v": np.sum(p["w"])}


def weighed(J):
    return np.sum(J["u"]["w"]) + 2 * np.sum(J["u"]["b"]) + 3 * np.sum(J["v"]["w"]) + 5 * np.sum(J["v"]["b"])


def partial_by_position(x):
    return grad(functools.partial(scaled_sine, 2.0))(x)


def partial_by_name(x):
    return grad(functools.partial(scaled_sine, a=x))(x=3.0) if x < 0 else jvp(
        functools.partial(scaled_sine, x), (3.0,), (1.0,))[1]  # fmt: skip


def partial_in_every_transform(x):
    f = functools.partial(scaled_sine, x)
    _, pull = vjp(f, x)
    _, push = linearize(f, x)
    mapped = vmap(f)(np.array([x, 2.0]))
    return pull(1.0)[0] + push(2.0) + np.sum(mapped) + hvp(f, (x,), (1.0,)) + jacfwd(f)(x) + jacrev(f)(x)


def partial_of_a_transform(x):
    return functools.partial(grad(scaled_sine, 1), x)(3.0)


def method(x):
    return grad(Scaled(x).sine)(3.0)


def method_under_a_name(x):
    bound = Scaled(x).sine
    return grad(lambda y: bound(y) * y)(3.0) + twice(bound, x)


def twice(f, x):
    return f(x) + f(x)


def array_method(x):
    y = np.array([x, 2.0 * x])
    return twice(y.dot, np.array([x, 1.0]))


def starred(x):
    return grad(lambda *xs: scaled_sine(*xs), 1)(2.0, x) + grad(lambda *xs: xs[0] * xs[1] ** 2)(x, x)


def starred_names_a_position_from_the_end(x):
    return grad(lambda *xs: scaled_sine(*xs), -1)(x, x)


def starred_pullback(x):
    _, pull = vjp(lambda *xs: xs[0] * xs[1] * x, x, 2.0)
    first, second = pull(x)
    return first * second


def starred_tangents(x):
    _, push = linearize(lambda *xs: xs[0] * xs[1] * x, x, 2.0)
    return push(1.0, x) + jvp(lambda *xs: xs[0] * xs[1] * x, (x, 2.0), (None, 1.0))[1]


def one_cotangent_per_argument(x):
    _, pull = vjp(lambda a, b=2.0: a * b * x, x)
    (bar,) = pull(1.0)
    return bar


def keywords(x):
    (value, aux), slope = value_and_grad(lambda a, k=1.0: (a * k * x, k), has_aux=True)(x, k=x)
    return value * slope + aux


def jacobians_of_closures(x):
    J = jacrev(lambda p: {"u": p["w"] * x, "v": p["b"] * x})({"w": W, "b": x})
    K = jacfwd(lambda p: {"u": p["w"] * x, "v": p["b"] * x})({"w": W, "b": x})
    return np.sum(J["u"]["w"]) + J["v"]["b"] + np.sum(K["u"]["w"]) + 3 * K["v"]["b"]


def jacobians_of_known_functions(x):
    return weighed(jacfwd(layer)({"w": W, "b": B * x})) * weighed(jacrev(layer)({"w": W * x, "b": B}))


def jacobians_with_options(x):
    one, kept = jacfwd(lambda y, k=2.0: (y**k * x, k), has_aux=True)(x, k=3.0)
    two, same = jacrev(lambda y: (y**2 * x, y), has_aux=True)(x)
    return one * kept + two * same + np.real(jacrev(lambda z: z * z * x, holomorphic=True)(x + 0.0j))


def jacobian_by_several_arguments(x):
    by_a, by_b = jacrev(lambda a, b, c: a * b * c * x, argnums=(0, "b"))(Y * x, 2.0, x)
    return np.sum(by_a) + np.sum(by_b)


def names_that_the_text_would_use(x):
    return np.sum(jacrev(lambda out, unit: out * unit * x, argnums=(0, 1))(Y, x)[0]) + jacfwd(lambda i: i * x * i)(x)


def hessian_of_a_closure(x):
    H = hessian(lambda p: p["a"] ** 2 * p["b"] * x)({"a": x, "b": 2.0})
    return H["a"]["a"] + 3 * H["a"]["b"]


def hessian_by_several_arguments(x):
    H = hessian(lambda a, b: a**2 * b * x, argnums=(0, 1))(x, 2.0)
    return H[0][0] + 3 * H[0][1] + 5 * H[1][0]


def axes_in_a_dictionary(x):
    of_a_closure = vmap(lambda p, y: {"o": p["w"] * y * x}, in_axes=({"w": None}, 0))({"w": x}, Y)
    return np.sum(of_a_closure["o"])


def mapped_keywords(x):
    return np.sum(vmap(lambda y, k=2.0: y * k * x)(Y * x, k=Y)) + np.sum(vmap(lambda *ys: ys[0] * ys[1])(Y * x, Y))


PROGRAMS = [
    partial_by_position, partial_by_name, partial_in_every_transform, partial_of_a_transform, method,
    method_under_a_name, array_method, starred, starred_names_a_position_from_the_end, starred_pullback,
    starred_tangents, one_cotangent_per_argument, keywords, jacobians_of_closures, jacobians_of_known_functions,
    jacobians_with_options, jacobian_by_several_arguments, names_that_the_text_would_use, hessian_of_a_closure,
    hessian_by_several_arguments, axes_in_a_dictionary, mapped_keywords,
]  # fmt: skip
COMPILED = [partial_in_every_transform, method_under_a_name, starred_pullback, jacobian_by_several_arguments]


@pytest.mark.parametrize("fun", PROGRAMS, ids=lambda f: f.__name__)
def test_both_modes_agree_with_differences(fun):
    """Gradient, tangent and value, in CPython."""
    x, step = 0.7, 1e-6
    difference = (fun(x + step) - fun(x - step)) / (2 * step)
    value, slope = s2sad.value_and_grad(fun, target="python")(x)
    assert value == pytest.approx(fun(x), rel=1e-13)
    assert slope == pytest.approx(difference, rel=1e-7)
    assert s2sad.jvp(fun, (x,), (1.0,), target="python")[1] == pytest.approx(slope, rel=1e-12)


@pytest.mark.parametrize("fun", COMPILED, ids=lambda f: f.__name__)
def test_they_compile(fun):
    """The same number from machine code."""
    assert s2sad.grad(fun)(0.7) == pytest.approx(s2sad.grad(fun, target="python")(0.7), rel=1e-12)


@pytest.mark.parametrize(
    ("fun", "error", "message"),
    [
        (lambda x: grad(lambda **k: k["a"])(a=x), ArgumentError, "no argument 0"),
        (lambda x: jacfwd(lambda a, b=2.0: a * b, "b")(x), ArgumentError, "given by position"),
        (lambda x: jacrev(lambda a: (a, 3))(x)[0], NotDifferentiableError, "needs numbers and arrays of floats"),
        (lambda x: jacrev(lambda a: a * 1j)(x).real, NotDifferentiableError, "needs real numbers"),
        (lambda x: s2sad.linear_transpose(lambda a: 2 * a, 1.0)(x)[0], UnsupportedSyntaxError, "Use `vjp` there"),
    ],
)
def test_refusals_say_what_to_do(fun, error, message):
    """What has no derivative there is a located error."""
    with pytest.raises(error, match=message) as caught:
        grad(fun, target="python")(0.5)
    assert caught.value.span is not None
