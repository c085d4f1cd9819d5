"""Transforms called inside functions that are differentiated: each against differences of the same function.

Outside a transform these functions run as ordinary Python, so the differences do not use the way under test.
"""

import numpy as np
import pytest

import s2sad
from s2sad import grad, hessian, hvp, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp, vmap
from s2sad.errors import AliasError, ArgumentError, NotDifferentiableError, UnsupportedSyntaxError

X = np.array([0.5, 1.0, 1.5])


def weighted(x):
    return np.sum(np.sin(x) * x)


def wave(x):
    return x * x * np.sin(x)


def scaled_cubes(x, a):
    return np.sum(x**3 * a)


def gradient_of_a_lambda(x):
    return np.sum(grad(lambda y: np.sum(y**3))(x))


def lambda_sees_the_argument(x):
    return grad(lambda y: y**3 * x)(x)


def jvp_of_a_function(x):
    y, y_dot = jvp(wave, (x,), (1.0,))
    return y * y_dot


def jvp_of_a_lambda(x):
    return np.sum(jvp(lambda y: y**2 * x, (x,), (x,))[1])


def pullback(x):
    _, pull = vjp(weighted, x)
    return np.sum(pull(1.0)[0] ** 2)


def pullback_keeps_its_point(x):
    y = x * 2.0
    _, pull = vjp(weighted, y)
    y[0] = 100.0 * x[1]
    return np.sum(pull(1.0)[0] ** 2) + y[0]


def pullback_of_what_is_computed_there(x):
    _, pull = vjp(lambda y: y * (x / 2.0), x)
    return np.sum(pull(-np.sin(x))[0])


def tangent_that_is_computed_there(x):
    return np.sum(jvp(lambda y: y * x, (x,), (2.0 * x,))[1] * linearize(np.sin, x)[1](x * x))


def pullback_called_twice(x):
    y, pull = vjp(lambda z: z**2 * x[0], x)
    return np.sum(pull(y)[0] * pull(x)[0])


def vmap_of_a_function(x):
    return np.sum(vmap(wave)(x))


def vmap_of_a_lambda(x):
    return np.sum(vmap(lambda y: y * x[0])(x))


def vmap_of_a_gradient(x):
    return np.sum(vmap(grad(lambda y: y**2 * x[0]))(x))


def vmap_with_axes(x):
    rows = np.outer(x, x)
    mapped = vmap(lambda row, k: row * k, in_axes=(1, 0), out_axes=1)(rows, x)
    return np.sum(mapped * rows)


def vmap_of_a_structure(x):
    mapped = vmap(lambda p: {"square": p["a"] ** 2, "row": p["b"] * x})({"a": x, "b": x})
    return np.sum(mapped["square"]) + np.sum(mapped["row"] ** 2)


def hessian_vector_product(x):
    return np.sum(hvp(weighted, (x,), (x,)))


def jacfwd_of_a_ufunc(x):
    return np.sum(jacfwd(np.sin)(x))


def jacrev_of_a_lambda(x):
    return np.sum(jacrev(lambda y: y * x)(x) ** 2)


def jacfwd_of_a_matrix_function(x):
    return np.sum(jacfwd(lambda y: np.outer(y, x))(x) ** 2)


def hessian_of_a_function(x):
    return np.sum(hessian(weighted)(x))


def descend(fun, x):
    for _ in range(3):
        x = x - 0.1 * grad(fun)(x)
    return x


def function_as_argument(x):
    return np.sum(descend(weighted, x))


def lambda_as_argument(x):
    a = x[0]
    return np.sum(descend(lambda y: np.sum(y**2) * a, x))


def inner_function(x):
    def loss(w):
        return np.sum((w * x) ** 2)

    value, slope = value_and_grad(loss)(np.ones(3))
    return value + np.sum(slope)


def argnums_by_keyword(x):
    return np.sum(grad(scaled_cubes, argnums=1)(x, 2.0 * x))


def argnums_by_name(x):
    w, a = grad(lambda x, a: np.sum(x**3 * a), argnums=("x", "a"))(x, 2.0 * x)
    return np.sum(w * a)


def one_gradient_called_twice(x):
    slope = grad(lambda y: np.sum(y**4))
    return np.sum(slope(x) * slope(2 * x))


def second_derivative_of_a_lambda(x):
    return grad(grad(lambda y: y**4 * x))(x)


def three_levels(x):
    return grad(grad(lambda y: jvp(lambda z: z * y * x, (y,), (x,))[1]))(x)


def auxiliary_output(x):
    slope, aux = grad(lambda y: (np.sum(y * y), 2 * y), has_aux=True)(x)
    return np.sum(aux * slope)


def auxiliary_output_with_value(x):
    (value, aux), slope = value_and_grad(lambda y: (np.sum(y * y), 2 * y), has_aux=True)(x)
    return value + np.sum(aux * slope)


def gradient_of_a_dict(x):
    slope = grad(lambda q: np.sum(q["w"] ** 2) * q["b"])({"w": x, "b": 1.0})
    return np.sum(slope["w"]) + slope["b"]


def linear_map_at_a_point(x):
    out, push = linearize(wave, x)
    return out * push(2.0)


def minimum_by_descent(x):
    w = 0.0
    slope = grad(lambda w: (w - x) ** 4 + w * w)
    for _ in range(30):
        w = w - 0.05 * slope(w)
    return w


def perturbations_apart(x):
    return x * jvp(lambda y: x + y, (1.0,), (1.0,))[1]


SCALAR = [
    lambda_sees_the_argument, jvp_of_a_function, second_derivative_of_a_lambda, three_levels, linear_map_at_a_point,
    minimum_by_descent, perturbations_apart,
]  # fmt: skip
VECTOR = [
    gradient_of_a_lambda, jvp_of_a_lambda, pullback, pullback_keeps_its_point, pullback_called_twice,
    vmap_of_a_function, vmap_of_a_lambda, vmap_of_a_gradient, vmap_with_axes, vmap_of_a_structure,
    hessian_vector_product, jacfwd_of_a_ufunc, jacrev_of_a_lambda, jacfwd_of_a_matrix_function, hessian_of_a_function,
    function_as_argument, lambda_as_argument, inner_function, argnums_by_keyword, argnums_by_name,
    one_gradient_called_twice, auxiliary_output, auxiliary_output_with_value, gradient_of_a_dict,
    pullback_of_what_is_computed_there, tangent_that_is_computed_there,
]  # fmt: skip


def slopes(fun, x, step=1e-5):
    if np.ndim(x) == 0:
        return (fun(x + step) - fun(x - step)) / (2 * step)
    units = np.eye(len(x)) * step
    return np.array([(fun(x + u) - fun(x - u)) / (2 * step) for u in units])


@pytest.mark.parametrize("fun", SCALAR + VECTOR, ids=lambda fun: fun.__name__)
def test_reverse_and_forward_mode_go_through(fun):
    x = 0.7 if fun in SCALAR else X
    expected = slopes(fun, x)
    np.testing.assert_allclose(grad(fun, target="python")(x), expected, rtol=1e-6, atol=1e-8)
    direction = 1.0 if fun in SCALAR else np.array([0.3, -1.0, 0.5])
    pushed = jvp(fun, (x,), (direction,), target="python")[1]
    np.testing.assert_allclose(pushed, np.sum(expected * direction), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("fun", [lambda_as_argument, jacrev_of_a_lambda, minimum_by_descent], ids=lambda f: f.__name__)
def test_they_compile(fun):
    x = 0.7 if fun in SCALAR else X
    np.testing.assert_allclose(grad(fun, target="cpu")(x), slopes(fun, x), rtol=1e-6, atol=1e-8)


def test_transforms_without_a_program_of_their_own_are_differentiated_from_outside():
    value, pushed = jvp(vmap(wave, target="python"), (X,), (X,), target="python")
    np.testing.assert_allclose(value, wave(X))
    np.testing.assert_allclose(pushed, (2 * X * np.sin(X) + X**2 * np.cos(X)) * X)
    slope, aux = vjp(grad(lambda y: (np.sum(y**3), 2 * y), has_aux=True), X, target="python")[1]((X, 0 * X))[0], None
    assert aux is None
    np.testing.assert_allclose(slope, 6 * X * X)


def test_a_gradient_inside_uses_the_argument_that_was_named():
    np.testing.assert_allclose(grad(argnums_by_keyword, target="python")(X), 3 * X**2)


class Cube:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return self.factor * x**3

    def tripled(self, x):
        return 3.0 * self(x)


def test_callable_objects_and_methods_inside():
    cube = Cube(2.0)
    assert grad(lambda x: grad(lambda y: cube(y) * x)(x), target="python")(2.0) == 72.0
    assert grad(lambda x: cube.tripled(x), target="python")(2.0) == 72.0


def writes_around(x):
    kept = np.zeros(3)

    def inner(y):
        kept[0] = y
        return kept[0] ** 2

    return grad(inner)(x) + kept[0]


def not_scalar(x):
    return np.sum(grad(lambda y: y * x)(x))


def no_such_argument(x):
    return grad(lambda y: y * x, argnums=3)(x)


def integer_gradient(x):
    return grad(lambda n: n * x)(3)


def unfit_tangent(x):
    return np.sum(jvp(lambda y: y * 2.0, (x,), (1.0,))[1])


@pytest.mark.parametrize(
    ("fun", "error", "text"),
    [
        (writes_around, AliasError, "writes into `kept`"),
        (not_scalar, NotDifferentiableError, "scalar result"),
        (no_such_argument, ArgumentError, "no argument 3"),
        (integer_gradient, NotDifferentiableError, "an integer has no gradient"),
        (unfit_tangent, ArgumentError, "tangent does not fit"),
    ],
)
def test_refusals_name_the_place(fun, error, text):
    x = X if fun in (not_scalar, unfit_tangent) else 1.5
    with pytest.raises(error, match=text) as found:
        grad(fun, target="python")(x)
    assert fun.__name__ in str(found.value)


def returns_a_function(x):
    return lambda y: x * y


def test_a_function_is_no_result():
    with pytest.raises(UnsupportedSyntaxError, match="cannot be the result"):
        s2sad.grad(returns_a_function, target="python")(1.0)
