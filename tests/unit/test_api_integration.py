"""The cookbook's numbers, and arrays read from outside, through the real compiler."""

from __future__ import annotations

import functools
import itertools
import math

import numba
import numpy as np
import pytest

import s2sad
from s2sad.errors import ArgumentError, NotDifferentiableError

TARGETS = ("python", "cpu")

INPUTS = np.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]])
LABELS = np.array([1.0, 1.0, 0.0, 1.0])

# As the cookbook prints them, in float32.
LOSS = 3.0519385
W_GRAD = np.array([-0.16965583, -0.8774644, -1.4901346])
B_GRAD = -0.29227245
JACOBIAN = np.array(
    [
        [0.05981758, 0.12883787, 0.08857603],
        [0.04015916, -0.04928625, 0.00684531],
        [0.12188288, 0.01406341, -0.3047072],
        [0.00140431, -0.00472531, 0.00263782],
    ]
)
SLOPES = np.array([0.11503381, 0.04563541, 0.23439017, 0.00189771])
HESSIAN_OF_FIRST = np.array(
    [
        [0.02285465, 0.04922541, 0.03384247],
        [0.04922541, 0.10602397, 0.07289147],
        [0.03384247, 0.07289147, 0.05011288],
    ]
)


def sigmoid(x):
    return 0.5 * (np.tanh(x / 2) + 1)


def predict(W, b, inputs):
    return sigmoid(np.dot(inputs, W) + b)


def loss(W, b):
    preds = predict(W, b, INPUTS)
    label_probs = preds * LABELS + (1 - preds) * (1 - LABELS)
    return -np.sum(np.log(label_probs))


def loss_of_dict(params):
    preds = predict(params["W"], params["b"], INPUTS)
    label_probs = preds * LABELS + (1 - preds) * (1 - LABELS)
    return -np.sum(np.log(label_probs))


@functools.cache
def weights():
    """Recover the cookbook's random W and b: p (1 - p) is printed, and the gradient tells p's side."""
    root = np.sqrt(1 - 4 * SLOPES)
    sides = (np.array(signs) for signs in itertools.product((-1, 1), repeat=4))
    p = min(
        ((1 + side * root) / 2 for side in sides),
        key=lambda p: np.abs((p - LABELS) @ INPUTS - W_GRAD).max(),
    )
    found = np.linalg.solve(np.column_stack([INPUTS, np.ones(4)]), np.log(p / (1 - p)))
    return found[:3], float(found[3])


def expected_predictions():
    W, b = weights()
    return 1 / (1 + np.exp(-(INPUTS @ W + b)))


@pytest.mark.parametrize("target", TARGETS)
def test_tanh_three_times(target):
    grad = functools.partial(s2sad.grad, target=target)
    y = math.tanh(2.0)
    first, second = 1 - y * y, -2 * y * (1 - y * y)
    third = -2 * (1 - y * y) * (1 - 3 * y * y)
    np.testing.assert_allclose(grad(np.tanh)(2.0), first, rtol=1e-12)
    np.testing.assert_allclose(grad(grad(np.tanh))(2.0), second, rtol=1e-12)
    np.testing.assert_allclose(grad(grad(grad(np.tanh)))(2.0), third, rtol=1e-12)
    np.testing.assert_allclose((first, second, third), (0.070650816, -0.13621868, 0.25265405), 2e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_logistic_regression(target):
    W, b = weights()
    miss = expected_predictions() - LABELS
    value, (W_grad, b_grad) = s2sad.value_and_grad(loss, (0, 1), target=target)(W, b)
    np.testing.assert_allclose(W_grad, miss @ INPUTS, rtol=1e-11)
    np.testing.assert_allclose(b_grad, miss.sum(), rtol=1e-11)
    np.testing.assert_allclose(value, loss(W, b), rtol=1e-12)
    np.testing.assert_allclose(W_grad, W_GRAD, rtol=1e-4)
    np.testing.assert_allclose((value, b_grad), (LOSS, B_GRAD), rtol=1e-4)
    np.testing.assert_allclose(s2sad.grad(loss, "W", target=target)(W, b), W_grad, rtol=1e-14)
    of_dict = s2sad.grad(loss_of_dict, target=target)({"W": W, "b": b})
    np.testing.assert_allclose(of_dict["W"], W_grad, rtol=1e-12)
    np.testing.assert_allclose(of_dict["b"], b_grad, rtol=1e-12)
    s2sad.check_grads(loss, (W, b), order=2, target=target, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_jacobians_and_hessian_of_predictions(target):
    W, b = weights()
    p = expected_predictions()
    slopes = p * (1 - p)
    expected = slopes[:, None] * INPUTS
    f = lambda W: predict(W, b, INPUTS)
    for jacobian in (s2sad.jacfwd, s2sad.jacrev, s2sad.jacobian):
        got = jacobian(f, target=target)(W)
        np.testing.assert_allclose(got, expected, rtol=1e-11)
        np.testing.assert_allclose(got, JACOBIAN, atol=2e-7)
    second = (slopes * (1 - 2 * p))[:, None, None] * INPUTS[:, :, None] * INPUTS[:, None, :]
    got = s2sad.hessian(f, target=target)(W)
    assert got.shape == (4, 3, 3)
    np.testing.assert_allclose(got, second, rtol=1e-9)
    np.testing.assert_allclose(got[0], HESSIAN_OF_FIRST, atol=2e-6)
    for outer, inner in itertools.product((s2sad.jacfwd, s2sad.jacrev), repeat=2):
        got = outer(inner(f, target=target), target=target)(W)
        np.testing.assert_allclose(got, second, rtol=1e-9)


@pytest.mark.parametrize("target", TARGETS)
def test_jacobian_of_a_dict(target):
    W, b = weights()
    p = expected_predictions()

    def predict_dict(params, inputs):
        return predict(params["W"], params["b"], inputs)

    got = s2sad.jacrev(predict_dict, target=target)({"W": W, "b": b}, INPUTS)
    np.testing.assert_allclose(got["W"], (p * (1 - p))[:, None] * INPUTS, rtol=1e-11)
    np.testing.assert_allclose(got["b"], p * (1 - p), rtol=1e-11)


@pytest.mark.parametrize("target", TARGETS)
def test_jvp_and_vjp_of_predictions(target):
    W, b = weights()
    random = np.random.default_rng(0)
    v, u = random.normal(size=3), random.normal(size=4)
    f = lambda W: predict(W, b, INPUTS)
    p = expected_predictions()
    jacobian = (p * (1 - p))[:, None] * INPUTS
    out, out_dot = s2sad.jvp(f, (W,), (v,), target=target)
    np.testing.assert_allclose(out, p, rtol=1e-12)
    np.testing.assert_allclose(out_dot, jacobian @ v, rtol=1e-11)
    out, pullback = s2sad.vjp(f, W, target=target)
    np.testing.assert_allclose(pullback(u)[0], u @ jacobian, rtol=1e-11)
    np.testing.assert_allclose(s2sad.vmap(pullback)(np.eye(4))[0], jacobian, rtol=1e-11)


def test_vector_valued_gradient():
    out, pullback = s2sad.vjp(lambda x: 3 * x**2, np.ones((2, 2)))
    np.testing.assert_array_equal(pullback(np.ones_like(out))[0], np.full((2, 2), 6.0))


@pytest.mark.parametrize("target", TARGETS)
def test_hessian_vector_product(target):
    random = np.random.default_rng(1)
    X, V = random.normal(size=(5, 4)), random.normal(size=(5, 4))

    def f(X):
        return np.sum(np.tanh(X) ** 2)

    t = np.tanh(X)
    expected = (2 * (1 - t**2) ** 2 - 4 * t**2 * (1 - t**2)) * V
    np.testing.assert_allclose(s2sad.hvp(f, (X,), (V,), target=target), expected, rtol=1e-10)
    via_jvp = s2sad.jvp(s2sad.grad(f, target=target), (X,), (V,), target=target)[1]
    np.testing.assert_allclose(via_jvp, expected, rtol=1e-10)
    hessian = s2sad.hessian(f, target=target)(X)
    np.testing.assert_allclose(np.tensordot(hessian, V, 2), expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("target", TARGETS)
def test_python_control_flow_with_exceptions(target):
    def f(x):
        try:
            if x < 3:
                return 2 * x**3
            raise ValueError
        except ValueError:
            return np.pi * x

    _, pullback = s2sad.vjp(f, 4.0, target=target)
    assert pullback(1.0) == (pytest.approx(math.pi),)


TABLE = np.array([1.0, 2.0, 3.0])
SETTINGS = {"w": np.array([1.0, 2.0, 3.0]), "k": 2.0}
ZERO_D = np.array(2.0)


def weighted(x):
    return np.sum(TABLE * x * x)


def through_settings(x):
    return np.sum(SETTINGS["w"] * x) * SETTINGS["k"]


def of_the_table(x):
    return TABLE * x[0]


@pytest.mark.parametrize("target", TARGETS)
def test_global_arrays_are_read_at_each_call(target, monkeypatch):
    x = np.array([1.0, 1.0, 2.0])
    grad = s2sad.grad(weighted, target=target)
    np.testing.assert_array_equal(grad(x), 2 * TABLE * x)
    monkeypatch.setitem(globals(), "TABLE", np.array([5.0, 1.0, 0.0]))
    np.testing.assert_array_equal(grad(x), [10.0, 2.0, 0.0])
    TABLE[2] = 7.0  # in place
    np.testing.assert_array_equal(grad(x), [10.0, 2.0, 28.0])
    out, out_dot = s2sad.jvp(weighted, (x,), (np.ones(3),), target=target)
    assert (out, out_dot) == (34.0, 40.0)
    monkeypatch.setitem(globals(), "TABLE", np.array([2.0]))  # another type: broadcast
    np.testing.assert_array_equal(grad(x), 4 * x)
    assert s2sad.jvp(weighted, (x,), (np.ones(3),), target=target)[1] == 16.0
    monkeypatch.setitem(globals(), "TABLE", np.arange(6.0)[::2])  # another layout
    np.testing.assert_array_equal(grad(x), [0.0, 4.0, 16.0])
    monkeypatch.setitem(globals(), "TABLE", 3.0)  # no array any more
    np.testing.assert_array_equal(grad(x), 6 * x)


@pytest.mark.parametrize("target", TARGETS)
def test_arrays_in_containers_and_of_rank_zero(target, monkeypatch):
    x = np.ones(3)
    grad = s2sad.grad(through_settings, target=target)
    np.testing.assert_array_equal(grad(x), [2.0, 4.0, 6.0])
    monkeypatch.setitem(SETTINGS, "w", np.array([1.0, 0.0, 0.0]))
    np.testing.assert_array_equal(grad(x), [2.0, 0.0, 0.0])
    monkeypatch.setitem(SETTINGS, "k", 3.0)
    np.testing.assert_array_equal(grad(x), [3.0, 0.0, 0.0])
    scaled = s2sad.grad(lambda x: ZERO_D * x, target=target)
    assert scaled(1.0) == 2.0
    ZERO_D[...] = 4.0
    assert scaled(1.0) == 4.0
    ZERO_D[...] = 2.0


@pytest.mark.parametrize("target", TARGETS)
def test_closures_and_lambdas_over_arrays(target):
    A = np.arange(6.0).reshape(2, 3)
    shift = np.ones(2)

    def inner(x):
        return A @ x + shift

    f = lambda x: np.sum(inner(x) ** 2)
    x = np.array([1.0, -1.0, 0.5])
    grad = s2sad.grad(f, target=target)
    np.testing.assert_allclose(grad(x), 2 * A.T @ (A @ x + shift))
    A *= 2.0
    np.testing.assert_allclose(grad(x), 2 * A.T @ (A @ x + shift))
    A = A[:, :1].copy() * np.ones((1, 3))  # rebound in the cell
    np.testing.assert_allclose(grad(x), 2 * A.T @ (A @ x + shift))
    _, pullback = s2sad.vjp(inner, x, target=target)
    before = A.T @ np.ones(2)
    A *= 0.0
    np.testing.assert_allclose(pullback(np.ones(2))[0], before)


def test_one_array_under_two_names(monkeypatch):
    first = second = np.ones(2)
    scope = {"np": np, "P": first, "Q": second}

    def f(x):
        return np.sum(P * x) + np.sum(Q * x)  # noqa: F821

    monkeypatch.setitem(globals(), "P", scope["P"])
    monkeypatch.setitem(globals(), "Q", scope["Q"])
    grad = s2sad.grad(f, target="python")
    np.testing.assert_array_equal(grad(np.ones(2)), [2.0, 2.0])
    monkeypatch.setitem(globals(), "Q", 5 * np.ones(2))
    np.testing.assert_array_equal(grad(np.ones(2)), [6.0, 6.0])


@pytest.mark.parametrize("target", TARGETS)
def test_results_do_not_share_memory_with_captured_arrays(target):
    linear = s2sad.grad(lambda x: np.sum(TABLE * x), target=target)(np.ones(3))
    np.testing.assert_array_equal(linear, TABLE)
    assert not np.may_share_memory(linear, TABLE)
    _, dot = s2sad.jvp(of_the_table, (np.ones(3),), (np.eye(3)[0],), target=target)
    assert not np.may_share_memory(dot, TABLE)


class Model:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return self.k * x * x


@pytest.mark.parametrize("target", TARGETS)
def test_callables_without_source(target):
    grad = functools.partial(s2sad.grad, target=target)
    assert grad(math.sin)(1.0) == pytest.approx(math.cos(1.0))
    np.testing.assert_array_equal(grad(np.sum)(np.ones(3)), np.ones(3))
    a, b = np.arange(3.0), np.ones(3)
    np.testing.assert_array_equal(grad(np.dot, (0, 1))(a, b), (b, a))
    cube = functools.partial(lambda x, k, c: c * x**k, k=3.0, c=2.0)
    assert grad(cube)(2.0) == pytest.approx(24.0)
    model = Model(3.0)
    assert grad(model)(2.0) == 12.0
    model.k = 5.0
    assert grad(model)(2.0) == 20.0


@pytest.mark.parametrize("target", TARGETS)
def test_procedures_return_through_arguments(target):
    @s2sad.differentiate(outputs=("out",), target=target)
    def squares(x, out):
        for i in range(x.size):
            out[i] = x[i] ** 2

    x, out = np.array([1.0, 2.0]), np.zeros(2)
    np.testing.assert_array_equal(squares.jacobian(x, out), np.diag(2 * x))
    np.testing.assert_array_equal(squares(x, out), x**2)
    np.testing.assert_array_equal(squares.vjp(x, out)[1](np.ones(2))[0], 2 * x)


@pytest.mark.parametrize("target", TARGETS)
def test_transforms_know_the_outputs_of_a_decorated_procedure(target):
    @s2sad.differentiate(outputs=("out",), target=target)
    def squares(x, out):
        for i in range(x.size):
            out[i] = x[i] ** 2

    def total(x):
        written = np.zeros(x.size)
        result = squares(x, written)
        return np.sum(result) + written[0]

    x, out, ones = np.array([1.0, 2.0]), np.zeros(2), np.ones(2)
    np.testing.assert_array_equal(s2sad.vjp(squares, x, out)[0], x**2)
    np.testing.assert_array_equal(s2sad.vjp(squares, x, out)[1](ones)[0], 2 * x)
    np.testing.assert_array_equal(s2sad.jvp(squares, (x, out), (ones, None))[1], 2 * x)
    np.testing.assert_array_equal(s2sad.jacfwd(squares)(x, out), np.diag(2 * x))
    np.testing.assert_array_equal(s2sad.linearize(squares, x, out)[1](ones, out), 2 * x)
    np.testing.assert_array_equal(s2sad.vmap(squares)(np.eye(2), np.eye(2)), np.eye(2))
    np.testing.assert_array_equal(s2sad.grad(total, target=target)(x), [4.0, 4.0])
    np.testing.assert_array_equal(out, np.zeros(2))


def test_rules_are_part_of_the_key():
    from s2sad.api.transformed import store_for

    grad = s2sad.grad(weighted, target="python")
    grad(np.ones(3))
    store = store_for(weighted, "grad", 0, grad.options, "python")
    count = len(store.known())
    with s2sad.rules():
        s2sad.defjvp(np.sinc, lambda primals, tangents: (primals[0], tangents[0]))
        grad(np.ones(3))
        assert len(store.known()) == count + 1
    grad(np.ones(3))
    assert len(store.known()) == count + 1


def test_vmap_stacks_the_calls():
    x = np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(s2sad.vmap(s2sad.grad(lambda v: np.sum(v**3)))(x), 3 * x**2)
    scale = lambda v, k: {"a": v * k, "b": np.sum(v)}
    got = s2sad.vmap(scale, (-1, None), {"a": -1, "b": 0}, target="python")(x, 2.0)
    np.testing.assert_array_equal(got["a"], 2 * x)
    np.testing.assert_array_equal(got["b"], x.sum(0))
    pair = lambda d, y: d["w"] @ y + d["b"]
    d = {"w": np.ones((4, 2)), "b": 1.5}
    got = s2sad.vmap(pair, ({"w": None, "b": None}, 0), target="python")(d, x)
    np.testing.assert_array_equal(got, x @ d["w"].T + 1.5)
    got = s2sad.vmap(s2sad.vmap(lambda a, b: a * b, (None, 0)), (0, None))(np.arange(2.0), np.arange(3.0))
    np.testing.assert_array_equal(got, np.outer(np.arange(2.0), np.arange(3.0)))
    assert s2sad.vmap(lambda a: (a, "text"), target="python")(np.ones(2))[1] == "text"


@pytest.mark.parametrize(
    ("in_axes", "arguments", "sentence"),
    [
        (0, (np.ones(3), np.ones(4)), "`x` has 3 along axis 0, `y` has 4 along axis 0"),
        ((0,), (np.ones(3), np.ones(3)), "in_axes for 1 arguments but was given 2"),
        ((None, None), (1.0, 2.0), "maps over nothing"),
        ((0, 1), (np.ones(3), np.ones(3)), "`y` has no axis 1"),
        ((0, 0), (np.ones(3), 2.0), "`y` has no axis 0"),
        ((0, {"a": 0}), (np.ones(3), np.ones(3)), "in_axes of `y` must be an int"),
        (0, (np.ones(0), np.ones(0)), "a batch of length 0"),
    ],
)
def test_vmap_names_what_does_not_fit(in_axes, arguments, sentence):
    def product(x, y):
        return x * y

    with pytest.raises(ArgumentError, match=sentence):
        s2sad.vmap(product, in_axes, target="python")(*arguments)


def test_vmap_as_an_attribute():
    @s2sad.differentiate(target="python")
    def square(x):
        return x * x

    np.testing.assert_array_equal(square.vmap()(np.arange(3.0)), [0.0, 1.0, 4.0])


def test_source_without_types_says_what_use_suggests():
    @s2sad.differentiate
    def total(x, k):
        return np.sum(x) * k

    assert "def total_grad(x, k):" in total.source()


@numba.njit
def weigh(row, weights, out):
    for i in range(row.size):
        out[i] = row[i] * weights[i]


@numba.njit
def weighed_twice(x, weights):
    out, again = np.empty(x.size), np.empty(x.size)
    weigh(x, weights, out)
    weigh(out, weights, again)
    return np.sum(again)


def test_source_without_types_looks_into_compiled_helpers():
    text = str(s2sad.differentiate(weighed_twice, argnums=(0, 1)).source())
    assert "def weighed_twice_grad(x, weights):" in text
    assert "weights_bar" in text


def test_second_derivatives_of_containers():
    assert s2sad.hessian(lambda x: (x, x * x), target="python")(1.0) == (0.0, 2.0)


def squared_modulus(z):
    x, y = np.real(z), np.imag(z)
    return x**2 + y**2


@pytest.mark.parametrize("target", TARGETS)
def test_complex_conventions(target):
    z = 3.0 + 4j
    assert s2sad.grad(squared_modulus, target=target)(z) == 6 - 8j
    holomorphic = s2sad.grad(lambda z: np.sin(z), holomorphic=True, target=target)(z)
    np.testing.assert_allclose(holomorphic, np.cos(z), rtol=1e-12)
    np.testing.assert_allclose(holomorphic, -27.034946 - 3.8511534j, rtol=1e-6)
    assert s2sad.grad(lambda z: np.conjugate(z), holomorphic=True, target=target)(z) == 1
    with pytest.raises(NotDifferentiableError, match="holomorphic=True"):
        s2sad.grad(lambda z: np.sin(z), target=target)(z)


@pytest.mark.parametrize("target", TARGETS)
def test_complex_tangent_and_cotangent(target):
    a, b, c, d = 0.1, 0.7, -0.3, 0.4

    def fun(z):
        x, y = np.real(z), np.imag(z)
        return a * x + b * y + (c * x + d * y) * 1j

    z, other = 0.3 + 0.8j, 0.5 - 0.2j
    _, out_dot = s2sad.jvp(fun, (z,), (other,), target=target)
    e, f = other.real, other.imag
    np.testing.assert_allclose(out_dot, a * e + b * f + (c * e + d * f) * 1j, rtol=1e-12)
    _, pullback = s2sad.vjp(fun, z, target=target)
    expected = a * e - c * f + (b * e - d * f) * -1j
    np.testing.assert_allclose(pullback(other)[0], expected, rtol=1e-12)
