"""Jacobians and Hessians: programs that run the primal once, in structures, nested in any order."""

import collections
import dataclasses
import itertools

import numpy as np
import pytest

import s2sad
from s2sad import grad, hessian, hvp, jacfwd, jacobian, jacrev, jvp, value_and_grad, vjp, vmap
from s2sad.errors import NotDifferentiableError

INPUTS = np.random.default_rng(0).normal(size=(4, 3))
W = np.array([0.1, 0.2, 0.3])
BOTH = pytest.mark.parametrize("jac", [jacfwd, jacrev], ids=["fwd", "rev"])


def layer(w):
    return np.tanh(INPUTS @ w)


def slopes(w):
    return (1 - np.tanh(INPUTS @ w) ** 2)[:, None] * INPUTS


def curvature(w):
    t = np.tanh(INPUTS @ w)
    return (-2 * t * (1 - t * t))[:, None, None] * INPUTS[:, :, None] * INPUTS[:, None, :]


def predict(params, inputs):
    return np.tanh(inputs @ params["W"] + params["b"])


def matrix_out(a, x):
    return {"y": np.outer(a @ x, x), "s": np.sum(a) * x[0], "n": 3}


def cubes(x):
    return np.sum(x**3)


def scaled(x, k=2.0):
    return k * x * x


def root(x):
    y = 1.0
    while abs(y * y - x[0]) > 1e-12:
        y = 0.5 * (y + x[0] / y)
    return np.array([y, y * x[1]])


def recursive(x, n):
    if n == 0:
        return x
    return np.sin(recursive(x, n - 1)) * x


@BOTH
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_layer(jac, target):
    np.testing.assert_allclose(jac(layer, target=target)(W), slopes(W))


@pytest.mark.parametrize("outer", [jacfwd, jacrev], ids=["fwd", "rev"])
@BOTH
def test_jacobians_of_jacobians(outer, jac):
    np.testing.assert_allclose(outer(jac(layer), target="python")(W), curvature(W), rtol=1e-10)


def test_three_levels():
    third = jacfwd(jacrev(jacfwd(lambda x: x**4)), target="python")(np.array([1.0, 2.0]))
    expected = np.zeros((2, 2, 2, 2))
    expected[0, 0, 0, 0], expected[1, 1, 1, 1] = 24.0, 48.0
    np.testing.assert_allclose(third, expected, atol=1e-12)


ORDERS = list(itertools.product([jacfwd, jacrev], repeat=3))


@pytest.mark.parametrize("orders", ORDERS, ids=lambda orders: "-".join(jac.__name__ for jac in orders))
def test_three_levels_in_any_order(orders):
    """What one result of a sweep shares with an argument, its other results do not."""

    def third(x):
        return -x * np.cos(x) - 3.0 * np.sin(x)

    made, x = wave, np.array([0.3, 1.0, -0.5])
    for jac in orders:
        made = jac(made, target="python")
    expected = np.zeros((3, 3, 3, 3))
    for i in range(3):
        expected[i, i, i, i] = third(x[i])
    np.testing.assert_allclose(made(x), expected, atol=1e-14)


def wave(x):
    return np.sin(x) * x


def test_hessian_of_a_vector_and_of_a_scalar():
    np.testing.assert_allclose(hessian(layer, target="python")(W), curvature(W), rtol=1e-10)
    np.testing.assert_allclose(hessian(cubes, target="cpu")(W), np.diag(6 * W))
    np.testing.assert_allclose(hessian(cubes, target="python")(W.astype(np.float32)), np.diag(6 * W), rtol=1e-6)
    assert hessian(cubes, target="python")(W.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("make", [jacfwd, jacrev])
def test_the_primal_runs_once(make):
    jac = make(layer, target="python")
    jac(W)
    text = jac.store.known()[0][1].entry.derivative.text
    lines = [line for line in text.split("\n") if not line.strip().startswith("#")]
    before, after = "\n".join(lines).split("for i in range")
    assert before.count("np.tanh(") == 1
    assert "np.tanh(" not in after


def heat(x):
    u = x.copy()
    for _ in range(4):
        for i in range(1, u.size - 1):
            u[i] = u[i] + 0.1 * np.sin(u[i - 1] - 2 * u[i] + u[i + 1])
    return u


def test_modes_agree_in_nested_loops():
    x = np.linspace(-1.0, 2.0, 6)
    expected = np.array([np.imag(heat(x + 1e-30j * unit)) / 1e-30 for unit in np.eye(6)]).T
    np.testing.assert_allclose(jacfwd(heat, target="python")(x), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(jacrev(heat, target="python")(x), expected, rtol=1e-12, atol=1e-15)
    twice = jacfwd(jacrev(heat), target="python")(x)
    np.testing.assert_allclose(twice, jacrev(jacfwd(heat), target="python")(x), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(twice, np.swapaxes(twice, 1, 2), rtol=1e-12, atol=1e-15)


@BOTH
def test_structures_nest_output_over_argument(jac):
    made = jac(predict, target="python")({"W": W, "b": 0.5}, INPUTS)
    inner = (1 - np.tanh(INPUTS @ W + 0.5) ** 2)[:, None]
    np.testing.assert_allclose(made["W"], inner * INPUTS)
    np.testing.assert_allclose(made["b"], inner[:, 0])
    a, x = np.arange(6.0).reshape(2, 3), W
    both = jac(matrix_out, (0, 1), target="python")(a, x)
    assert both["n"] is None
    assert [block.shape for block in both["y"]] == [(2, 3, 2, 3), (2, 3, 3)]
    assert [block.shape for block in both["s"]] == [(2, 3), (3,)]
    expected = np.einsum("ik,l,j->ijkl", np.eye(2), x, x)
    np.testing.assert_allclose(both["y"][0], expected)
    np.testing.assert_allclose(both["s"][0], np.full((2, 3), x[0]))


def test_forward_and_reverse_agree_in_a_loop_and_in_recursion():
    x = np.array([2.0, 3.0])
    expected = [[0.5 / np.sqrt(2), 0.0], [1.5 / np.sqrt(2), np.sqrt(2)]]
    for jac in (jacfwd, jacrev, jacobian):
        np.testing.assert_allclose(jac(root, target="python")(x), expected, atol=1e-12)
    np.testing.assert_allclose(
        jacfwd(recursive, target="python")(x, 2), jacrev(recursive, target="python")(x, 2), rtol=1e-12
    )


Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Weights:
    w: np.ndarray
    b: float


def weighted(p, q):
    return np.sum(p.w * q.x) * p.b + q.y


@BOTH
def test_classes_come_back(jac):
    p, q = Weights(W, 2.0), Point(W, 3.0)
    by_p, by_q = jac(weighted, ("p", "q"), target="python")(p, q)
    assert isinstance(by_p, Weights)
    assert isinstance(by_q, Point)
    np.testing.assert_allclose(by_p.w, 2.0 * W)
    assert (type(by_p.b), by_q.y) == (float, 1.0)
    twice = jac(jacrev(weighted), target="python")(p, q)
    assert isinstance(twice.w.b if isinstance(twice.w, Weights) else twice.w, np.ndarray)
    np.testing.assert_allclose(twice.w.b, W)
    np.testing.assert_allclose(twice.b.w, W)


@BOTH
def test_options(jac):
    made, aux = jac(lambda x: (x * x, {"sum": np.sum(x)}), has_aux=True, target="python")(W)
    np.testing.assert_allclose(made, np.diag(2 * W))
    assert aux == {"sum": np.sum(W)}
    np.testing.assert_allclose(jac(scaled, "k", target="python")(W), W * W)
    assert jac(scaled, target="python")(np.ones((0,))).shape == (0, 0)
    assert jac(np.tanh, target="python")(2.0) == pytest.approx(1 - np.tanh(2.0) ** 2)
    made = jac(scaled, target="python")(W.astype(np.float32))
    assert made.dtype == np.float32
    z = np.array([1 + 2j, 3j])
    np.testing.assert_allclose(jac(lambda z: z * z, holomorphic=True, target="python")(z), np.diag(2 * z))


@s2sad.differentiate(target="python")
def cubed(x, k=1.0):
    return k * x**3


def test_attributes_of_the_decorator():
    assert cubed.jacobian(2.0, 2.0) == 24.0
    assert cubed.hessian(2.0) == 12.0


def test_refusals():
    with pytest.raises(NotDifferentiableError, match="jacrev takes real outputs"):
        jacrev(lambda x: x * 1j, target="python")(W)
    with pytest.raises(NotDifferentiableError, match="jacfwd takes real arguments"):
        jacfwd(lambda z: z.real, target="python")(W * 1j)
    with pytest.raises(TypeError, match="`x` is an int64 array"):
        jacfwd(scaled, target="python")(np.arange(3))


def test_transforms_of_jacobians():
    weights = np.array([1.0, -1.0, 2.0])
    np.testing.assert_allclose(
        vmap(jacfwd(layer), target="python")(np.stack([W, 2 * W])), np.stack([slopes(W), slopes(2 * W)])
    )
    pushed = jvp(jacrev(layer), (W,), (weights,), target="python")[1]
    np.testing.assert_allclose(pushed, curvature(W) @ weights)
    _, pullback = vjp(jacfwd(layer), W, target="python")
    bar = np.random.default_rng(3).normal(size=(4, 3))
    np.testing.assert_allclose(pullback(bar)[0], np.einsum("ij,ijk->k", bar, curvature(W)))
    summed = grad(lambda w: np.sum(jacrev(layer)(w) ** 2), target="python")(W)
    np.testing.assert_allclose(summed, 2 * np.einsum("ij,ijk->k", slopes(W), curvature(W)))


# ---- derivatives of derivatives ----


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_tanh_thrice(target):
    first, second, third = grad(np.tanh), grad(grad(np.tanh)), grad(grad(grad(np.tanh), target=target), target=target)
    t = np.tanh(2.0)
    assert first(2.0) == pytest.approx(0.070650816, rel=1e-6)
    assert second(2.0) == pytest.approx(-0.13621868, rel=1e-6)
    assert third(2.0) == pytest.approx(0.25265405, rel=1e-6)
    assert third(2.0) == pytest.approx((1 - t * t) * (6 * t * t - 2), rel=1e-12)


def quartic(x):
    return x**4


def test_four_orders_of_modes_agree():
    def forward(f):
        return lambda x: jvp(f, (x,), (1.0,))[1]

    for outer in (grad, forward):
        for inner in (grad, forward):
            for middle in (grad, forward):
                assert grad(outer(middle(inner(quartic))), target="python")(1.5) == pytest.approx(24.0)


def test_perturbations_are_not_confused():
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0), target="python")(2.0) == 1.0
    assert grad(lambda x: x * jvp(lambda y: x * y, (3.0,), (1.0,))[1], target="python")(2.0) == 4.0
    assert jvp(lambda x: x * grad(lambda y: x * y * y)(x), (2.0,), (1.0,), target="python")[1] == 24.0
    assert grad(lambda x: grad(lambda y: x * grad(lambda z: x * y * z)(1.0))(x), target="python")(2.0) == 4.0


def energy(w, x):
    return np.sum((w * x - 1.0) ** 2)


def fitted(x):
    w = np.zeros(3)
    for _ in range(5):
        w = w - 0.1 * grad(energy)(w, x)
    return np.sum(w)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_through_an_optimiser_that_uses_gradients(target):
    x = np.array([0.5, 1.0, 1.5])

    def unrolled(x):
        w = np.zeros(3, complex)
        for _ in range(5):
            w = w - 0.2 * (w * x - 1.0) * x
        return np.sum(w)

    expected = [np.imag(unrolled(x + 1e-30j * unit)) / 1e-30 for unit in np.eye(3)]
    np.testing.assert_allclose(grad(fitted, target=target)(x), expected, rtol=1e-12)


def test_auxiliary_outputs_of_nested_gradients():
    inner = grad(lambda x: (np.sum(x**3), 2 * x), has_aux=True)
    (slope, aux), pullback = vjp(inner, W, target="python")
    np.testing.assert_allclose((slope, aux), (3 * W**2, 2 * W))
    np.testing.assert_allclose(pullback((np.ones(3), np.zeros(3)))[0], 6 * W)
    outer = value_and_grad(lambda x: (np.sum(inner(x)[0]), inner(x)[1]), has_aux=True, target="python")
    (value, aux), slope = outer(W)
    np.testing.assert_allclose(value, np.sum(3 * W**2))
    np.testing.assert_allclose(aux, 2 * W)
    np.testing.assert_allclose(slope, 6 * W)


def test_hessian_vector_products_agree():
    v = np.array([1.0, -2.0, 0.5])
    expected = 6 * W * v
    np.testing.assert_allclose(hvp(cubes, (W,), (v,), target="python"), expected)
    np.testing.assert_allclose(grad(lambda x: jvp(cubes, (x,), (v,))[1], target="python")(W), expected)
    np.testing.assert_allclose(grad(lambda x: np.vdot(grad(cubes)(x), v), target="python")(W), expected)
    np.testing.assert_allclose(hessian(cubes, target="python")(W) @ v, expected)


def test_second_order_checks_in_both_modes():
    s2sad.check_grads(layer, (W,), order=2, eps=1e-4, atol=1e-5, rtol=1e-5, target="python")
    s2sad.check_grads(predict, ({"W": W, "b": 0.5}, INPUTS), order=2, eps=1e-4, atol=1e-5, rtol=1e-5, target="python")


# ---- values that are not finite ----


def rooted(x):
    y = x * x
    z = np.sqrt(y - 4.0)
    return np.sum(z) * 2.0


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_the_line_of_the_first_nan_is_named(target, monkeypatch):
    monkeypatch.setenv("S2SAD_DEBUG_NANS", "1")
    for transform in (grad, jacfwd):
        with np.errstate(all="ignore"), pytest.raises(FloatingPointError) as caught:
            transform(rooted, target=target)(np.array([1.0, 3.0]))
        assert "the derivative of `rooted` is not finite: `z` becomes so" in str(caught.value)
        assert "z = np.sqrt(y - 4.0)" in str(caught.value)
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match="the result becomes so"):
        s2sad.differentiate(debug_nans=True, target=target)(rooted).grad(np.array([2.0, 3.0]))
