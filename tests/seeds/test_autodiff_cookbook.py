"""The autodiff cookbook: gradients, Jacobians, Hessians, products with them, and complex numbers.

Its random weights are not printed, but its Jacobians and Hessians are, and they determine the
weights: with `p = sigmoid(z)` and `z = inputs @ W + b`, the Jacobian by `b` is `p (1 - p)`, which
gives `z` up to sign; the Hessians `p (1 - p) (1 - 2 p) x xᵀ` give the sign; four equations then give
`W` and `b`. Everything else that is printed follows from those, and is recomputed in float64. The
directions drawn for finite differences and products are not determined; others stand in for them.
"""

import functools

import numpy as np
import pytest

import s2sad
from s2sad import grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap
from s2sad.errors import NotDifferentiableError

PRINTED = 2e-5  # the recovered weights carry the rounding of the printed digits

inputs = np.array([[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]])
targets = np.array([True, True, False, True])

JACOBIAN_W = np.array([
    [0.05981758, 0.12883787, 0.08857603],
    [0.04015916, -0.04928625, 0.00684531],
    [0.12188288, 0.01406341, -0.3047072],
    [0.00140431, -0.00472531, 0.00263782],
])
JACOBIAN_B = np.array([0.11503381, 0.04563541, 0.23439017, 0.00189771])
GRADIENT_W, GRADIENT_B = np.array([-0.16965583, -0.8774644, -1.4901346]), -0.29227245
LOSS = 3.0519385
HESSIAN = np.array([
    [[0.02285465, 0.04922541, 0.03384247], [0.04922541, 0.10602397, 0.07289147],
     [0.03384247, 0.07289147, 0.05011288]],
    [[-0.03195215, 0.03921401, -0.00544639], [0.03921401, -0.04812629, 0.00668421],
     [-0.00544639, 0.00668421, -0.00092836]],
    [[-0.01583708, -0.00182736, 0.03959271], [-0.00182736, -0.00021085, 0.00456839],
     [0.03959271, 0.00456839, -0.09898177]],
    [[-0.00103524, 0.00348343, -0.00194457], [0.00348343, -0.01172127, 0.0065432],
     [-0.00194457, 0.0065432, -0.00365263]],
])  # fmt: skip

grad = functools.partial(grad, target="python")
value_and_grad = functools.partial(value_and_grad, target="python")
jacfwd, jacrev = functools.partial(jacfwd, target="python"), functools.partial(jacrev, target="python")
hessian = functools.partial(hessian, target="python")
jvp, vjp, vmap = (functools.partial(f, target="python") for f in (jvp, vjp, vmap))


def recovered_weights():
    """Solve `inputs @ W + b = z` for the weights behind the printed derivatives."""
    p = 0.5 - np.sqrt(0.25 - JACOBIAN_B)  # the root below one half: z < 0
    z = np.log(p / (1 - p)) * np.where(HESSIAN[:, 0, 0] > 0, 1.0, -1.0)
    solution = np.linalg.solve(np.column_stack([inputs, np.ones(4)]), z)
    return solution[:3], float(solution[3])


W, b = recovered_weights()


def sigmoid(x):
    return 0.5 * (np.tanh(x / 2) + 1)


def predict(W, b, inputs):
    return sigmoid(np.dot(inputs, W) + b)


def loss(W, b):
    preds = predict(W, b, inputs)
    label_probs = preds * targets + (1 - preds) * (1 - targets)
    return -np.sum(np.log(label_probs))


def loss2(params_dict):
    preds = predict(params_dict["W"], params_dict["b"], inputs)
    label_probs = preds * targets + (1 - preds) * (1 - targets)
    return -np.sum(np.log(label_probs))


def predictions(W):
    return predict(W, b, inputs)


def predict_dict(params, inputs):
    return predict(params["W"], params["b"], inputs)


def sigmoid_rates():
    """The first and second derivative of the predictions by their arguments, in closed form."""
    p = 1 / (1 + np.exp(-(inputs @ W + b)))
    return p * (1 - p), p * (1 - p) * (1 - 2 * p)


class TestGradients:
    """`grad` of functions and of its own results; containers; values with gradients."""

    def test_tanh_three_times(self):
        """The printed derivatives of tanh at 2, and their closed forms."""
        t = np.tanh(2.0)
        first, second = grad(np.tanh), grad(grad(np.tanh))
        third = grad(second)
        exact = (1 - t**2, -2 * t * (1 - t**2), (1 - t**2) * (6 * t**2 - 2))
        found = (first(2.0), second(2.0), third(2.0))
        np.testing.assert_allclose(found, exact, rtol=1e-12)
        np.testing.assert_allclose(found, (0.070650816, -0.13621868, 0.25265405), rtol=1e-5)

    def test_tanh_compiled(self):
        """The same number from machine code."""
        assert s2sad.grad(np.tanh)(2.0) == pytest.approx(1 - np.tanh(2.0) ** 2, rel=1e-14)

    def test_arguments_by_position(self):
        """`argnums` picks one or several arguments; 0 is the default."""
        W_grad, b_grad = grad(loss, (0, 1))(W, b)
        np.testing.assert_array_equal(grad(loss, argnums=0)(W, b), W_grad)
        np.testing.assert_array_equal(grad(loss)(W, b), W_grad)
        assert grad(loss, 1)(W, b) == b_grad
        np.testing.assert_allclose(W_grad, GRADIENT_W, rtol=PRINTED)
        np.testing.assert_allclose(b_grad, GRADIENT_B, rtol=PRINTED)
        p = 1 / (1 + np.exp(-(inputs @ W + b)))
        np.testing.assert_allclose(W_grad, (p - targets) @ inputs, rtol=1e-13)
        np.testing.assert_allclose(b_grad, np.sum(p - targets), rtol=1e-13)

    def test_dictionary(self):
        """The gradient by a dictionary is a dictionary."""
        found = grad(loss2)({"W": W, "b": b})
        assert list(found) == ["W", "b"]
        np.testing.assert_allclose(found["W"], GRADIENT_W, rtol=PRINTED)
        np.testing.assert_allclose(found["b"], GRADIENT_B, rtol=PRINTED)

    def test_nested_containers(self):
        """Tuples, lists and dictionaries nest as one likes."""
        found = grad(lambda p: p["layers"][0][0] ** 2 * p["layers"][1][0] + p["scale"][0])(
            {"layers": [(3.0,), (5.0,)], "scale": (2.0,)}
        )
        assert found == {"layers": [(30.0,), (9.0,)], "scale": (1.0,)}

    def test_value_and_grad(self):
        """The loss comes with its gradient, and is the loss."""
        loss_value, (W_grad, b_grad) = value_and_grad(loss, (0, 1))(W, b)
        assert loss_value == loss(W, b)
        np.testing.assert_allclose(loss_value, LOSS, rtol=PRINTED)
        np.testing.assert_allclose(W_grad, GRADIENT_W, rtol=PRINTED)
        np.testing.assert_allclose(b_grad, GRADIENT_B, rtol=PRINTED)

    def test_against_finite_differences(self):
        """Differences agree, along a direction too; in float64 they do so far better than printed."""
        eps = 1e-4
        numerical = (loss(W, b + eps / 2.0) - loss(W, b - eps / 2.0)) / eps
        np.testing.assert_allclose(numerical, grad(loss, 1)(W, b), rtol=1e-7)
        unit = np.array([2.0, -1.0, 2.0]) / 3.0
        numerical = (loss(W + eps / 2.0 * unit, b) - loss(W - eps / 2.0 * unit, b)) / eps
        np.testing.assert_allclose(numerical, np.vdot(grad(loss)(W, b), unit), rtol=1e-7)

    def test_check_grads(self):
        """`check_grads` goes to the second order."""
        s2sad.check_grads(loss, (W, b), order=2, target="python")


class TestJacobiansAndHessians:
    """Dense derivatives, built in and put together by hand."""

    @pytest.mark.parametrize("transform", [jacfwd, jacrev])
    def test_jacobian(self, transform):
        """Both modes give the printed matrix."""
        J = transform(predictions)(W)
        assert J.shape == (4, 3)
        np.testing.assert_allclose(J, JACOBIAN_W, rtol=PRINTED, atol=1e-8)
        np.testing.assert_allclose(J, sigmoid_rates()[0][:, None] * inputs, rtol=1e-12)

    def test_jacobian_of_a_dictionary(self):
        """Jacobians by the entries of a dictionary."""
        J = jacrev(predict_dict)({"W": W, "b": b}, inputs)
        np.testing.assert_allclose(J["W"], JACOBIAN_W, rtol=PRINTED, atol=1e-8)
        np.testing.assert_allclose(J["b"], JACOBIAN_B, rtol=PRINTED)

    @pytest.mark.parametrize("composed", [False, True])
    def test_hessian(self, composed):
        """`hessian` and `jacfwd(jacrev(f))` give the printed Hessians of four predictions."""
        H = (jacfwd(jacrev(predictions)) if composed else hessian(predictions))(W)
        assert H.shape == (4, 3, 3)
        np.testing.assert_allclose(H, HESSIAN, rtol=5e-5, atol=1e-8)
        outer = inputs[:, :, None] * inputs[:, None, :]
        np.testing.assert_allclose(H, sigmoid_rates()[1][:, None, None] * outer, rtol=1e-12)

    def test_other_order(self):
        """`jacrev(jacfwd(f))` is the same Hessian."""
        np.testing.assert_allclose(jacrev(jacfwd(predictions))(W), hessian(predictions)(W), rtol=1e-12)

    def test_by_hand(self):
        """The basis pushed or pulled by `vmap` at once gives the Jacobian."""

        def our_jacrev(f, x):
            y, pullback = vjp(f, x)
            (J,) = vmap(pullback, in_axes=0)(np.eye(len(y)))
            return J

        def our_jacfwd(f, x):
            pushed = vmap(lambda s: jvp(f, (x,), (s,))[1], in_axes=1)(np.eye(len(x)))
            return np.transpose(pushed)

        np.testing.assert_allclose(our_jacrev(predictions, W), jacrev(predictions)(W), rtol=1e-14)
        np.testing.assert_allclose(our_jacfwd(predictions, W), jacfwd(predictions)(W), rtol=1e-14)


class TestProducts:
    """Products with Jacobians and Hessians, one at a time and by batches."""

    def test_jvp_and_vjp(self):
        """A push forward is `J v`, a pull back is `u J`, and both give the value."""
        J = jacrev(predictions)(W)
        v, u = np.array([0.3, -0.2, 0.5]), np.array([1.0, -2.0, 0.5, 3.0])
        y, pushed = jvp(predictions, (W,), (v,))
        np.testing.assert_array_equal(y, predictions(W))
        np.testing.assert_allclose(pushed, J @ v, rtol=1e-13)
        y, pullback = vjp(predictions, W)
        np.testing.assert_array_equal(y, predictions(W))
        np.testing.assert_allclose(pullback(u)[0], u @ J, rtol=1e-13)

    def test_gradient_of_an_array(self):
        """The pull back of ones is 6 everywhere for 3 x² at 1."""

        def vgrad(f, x):
            y, pullback = vjp(f, x)
            return pullback(np.ones(y.shape))[0]

        np.testing.assert_array_equal(vgrad(lambda x: 3 * x**2, np.ones((2, 2))), np.full((2, 2), 6.0))

    def test_hessian_vector_product_by_reverse_mode(self):
        """The gradient of `∂f(x) · v`, closures and all."""

        def by_reverse(f, x, v):
            return grad(lambda x: np.vdot(grad(f)(x), v))(x)

        def f(x):
            return loss(x, b)

        v = np.array([0.3, -0.2, 0.5])
        np.testing.assert_allclose(by_reverse(f, W, v), hessian(f)(W) @ v, rtol=1e-12)

    def test_hessian_vector_product_three_ways(self):
        """Forward over reverse, reverse over forward and reverse over reverse agree on 30 × 40."""

        def f(X):
            return np.sum(np.tanh(X) ** 2)

        generator = np.random.default_rng(0)
        X, V = generator.normal(size=(2, 30, 40))
        forward_over_reverse = jvp(grad(f), (X,), (V,))[1]
        reverse_over_forward = grad(lambda X: jvp(f, (X,), (V,))[1])(X)
        reverse_over_reverse = grad(lambda X: np.vdot(grad(f)(X), V))(X)
        t = np.tanh(X)
        exact = (2 * (1 - t**2) ** 2 - 4 * t**2 * (1 - t**2)) * V
        for found in (forward_over_reverse, reverse_over_forward, reverse_over_reverse):
            np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-13)
        small, along = X[:3, :4].copy(), V[:3, :4].copy()
        full = np.tensordot(hessian(f)(small), along, 2)
        np.testing.assert_allclose(jvp(grad(f), (small,), (along,))[1], full, rtol=1e-12)
        np.testing.assert_allclose(s2sad.hvp(f, (small,), (along,), target="python"), full, rtol=1e-12)

    def test_hessian_vector_product_of_containers(self):
        """Forward over reverse takes any container."""
        at, along = {"W": W, "b": b}, {"W": np.array([1.0, 2.0, -1.0]), "b": 0.5}
        found = jvp(grad(loss2), (at,), (along,))[1]
        H = hessian(loss2)(at)
        np.testing.assert_allclose(found["W"], H["W"]["W"] @ along["W"] + H["W"]["b"] * along["b"], rtol=1e-12)
        np.testing.assert_allclose(found["b"], H["b"]["W"] @ along["W"] + H["b"]["b"] * along["b"], rtol=1e-12)

    def test_matrix_jacobian_product(self):
        """128 covectors pulled back by `vmap` are those of the loop."""
        U = np.random.default_rng(0).normal(size=(128, 4))
        _, pullback = vjp(predictions, W)
        looped = np.vstack([pullback(row)[0] for row in U])
        (mapped,) = vmap(pullback)(U)
        np.testing.assert_allclose(mapped, looped, rtol=1e-13, atol=1e-15 * np.abs(looped).max())
        np.testing.assert_allclose(mapped, U @ jacrev(predictions)(W), rtol=1e-12)

    def test_jacobian_matrix_product(self):
        """128 vectors pushed forward by `vmap` are those of the loop."""
        S = np.random.default_rng(1).normal(size=(128, 3))
        looped = np.vstack([jvp(predictions, (W,), (row,))[1] for row in S])
        mapped = vmap(lambda s: jvp(predictions, (W,), (s,))[1])(S)
        np.testing.assert_allclose(mapped, looped, rtol=1e-13, atol=1e-15 * np.abs(looped).max())
        np.testing.assert_allclose(mapped, S @ jacfwd(predictions)(W).T, rtol=1e-12)

    @pytest.mark.parametrize("target", ["python", "cpu"])
    def test_exceptions_in_the_function(self, target):
        """A `try` that raises at 4: the derivative is that of the handler, π."""

        def f(x):
            try:
                if x < 3:
                    return 2 * x**3
                else:
                    raise ValueError
            except ValueError:
                return np.pi * x

        y, f_vjp = s2sad.vjp(f, 4.0, target=target)
        assert y == np.pi * 4.0
        assert f_vjp(1.0) == (np.pi,)
        assert s2sad.vjp(f, 2.0, target=target)[1](1.0) == (24.0,)


class TestComplexNumbers:
    """The conventions, from the maps of two real numbers that they stand for."""

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_jvp(self, seed):
        """The tangent of C → C is the real Jacobian's product, holomorphic or not."""
        a, b, c, d, x, y, p, q = np.random.default_rng(seed).uniform(size=8)

        def u(x, y):
            return a * x + b * y

        def v(x, y):
            return c * x + d * y

        def fun(z):
            x, y = np.real(z), np.imag(z)
            return u(x, y) + v(x, y) * 1j

        _, found = jvp(fun, (x + y * 1j,), (p + q * 1j,))
        parts = [grad(g, i)(x, y) for g in (u, v) for i in (0, 1)]
        np.testing.assert_allclose(parts, [a, b, c, d], rtol=1e-15)
        expected = parts[0] * p + parts[1] * q + parts[2] * p * 1j + parts[3] * q * 1j
        np.testing.assert_allclose(found, expected, rtol=1e-14)

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_vjp(self, seed):
        """The cotangent of C → C: the row (p, -q) times the real Jacobian times (1, -i)."""
        a, b, c, d, x, y, p, q = np.random.default_rng(seed).uniform(size=8)

        def fun(z):
            x, y = np.real(z), np.imag(z)
            return a * x + b * y + (c * x + d * y) * 1j

        (found,) = vjp(fun, x + y * 1j)[1](p + q * 1j)
        expected = a * p + c * (-q) + b * p * (-1j) + d * (-q) * (-1j)
        np.testing.assert_allclose(found, expected, rtol=1e-14)

    def test_real_functions_of_complex_numbers(self):
        """The gradient of |z|² at 3 + 4i is 6 - 8i."""

        def f(z):
            x, y = np.real(z), np.imag(z)
            return x**2 + y**2

        assert grad(f)(3.0 + 4j) == 6.0 - 8.0j

    def test_holomorphic(self):
        """The derivative of sin at 3 + 4i is cos(3 + 4i), as printed."""
        found = grad(lambda z: np.sin(z), holomorphic=True)(3.0 + 4j)
        np.testing.assert_allclose(found, np.cos(3.0 + 4j), rtol=1e-14)
        np.testing.assert_allclose(found, -27.034946 - 3.8511534j, rtol=1e-6)

    def test_promise_is_needed(self):
        """Without `holomorphic=True` a complex output has no gradient."""
        with pytest.raises(NotDifferentiableError, match="holomorphic=True"):
            grad(lambda z: np.sin(z))(3.0 + 4j)

    def test_broken_promise(self):
        """A promise that does not hold: the derivative of the output's real part."""
        assert grad(lambda z: np.conjugate(z), holomorphic=True)(3.0 + 4j) == 1.0 - 0.0j

    def test_descent_along_the_conjugate(self):
        """A real loss of a complex number falls along the conjugate of its gradient."""

        def f(z):
            return np.abs(z * (1 + 2j) - (3 - 1j)) ** 2

        z = 0.5 + 0.25j
        for _ in range(200):
            z = z - 0.05 * np.conj(grad(f)(z))
        np.testing.assert_allclose(z, (3 - 1j) / (1 + 2j), rtol=1e-9)

    def test_real_through_complex(self):
        """R → R through complex numbers inside: as if all had been real."""

        def through_complex(x):
            z = x * np.exp(1j * x)
            return np.sum(np.real(z * np.conj(z) + z))

        x = np.array([0.3, -1.2, 2.0])
        found = grad(through_complex)(x)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, 2 * x + np.cos(x) - x * np.sin(x), rtol=1e-13)
