"""Solvers differentiated through the equation they solve: against closed forms and differences of the solver."""

import numpy as np
import pytest

import s2sad
from s2sad import grad, jacrev, vmap
from s2sad.implicit import custom_linear_solve, fixed_point, odeint, root

A = np.random.default_rng(0).normal(size=(3, 3)) * 0.2
B = np.array([0.1, 0.2, 0.3])


def babylonian(a, x):
    return 0.5 * (x + a / x)


def contraction(p, x):
    return np.tanh(p["A"] @ x + p["b"])


def settled(p):
    return np.sum(fixed_point(contraction, p, np.zeros(3)) ** 2)


def slopes(fun, x, step=1e-6):
    flat = np.ravel(x)
    units = np.eye(flat.size) * step
    return np.array(
        [(fun((flat + u).reshape(np.shape(x))) - fun((flat - u).reshape(np.shape(x)))) / (2 * step) for u in units]
    ).reshape(np.shape(x))


def test_square_root_by_iteration():
    def sqrt(a):
        return fixed_point(babylonian, a, 1.0)

    assert sqrt(9.0) == pytest.approx(3.0)
    assert grad(sqrt, target="python")(4.0) == pytest.approx(0.25)
    assert grad(grad(sqrt), target="python")(4.0) == pytest.approx(-1 / 32)
    np.testing.assert_allclose(vmap(grad(sqrt), target="python")(np.array([1.0, 4.0])), [0.5, 0.25])


def test_a_compiled_fixed_point():
    assert grad(lambda a: fixed_point(babylonian, a, 1.0), target="cpu")(4.0) == pytest.approx(0.25)


def test_fixed_point_of_a_layer():
    made = grad(settled, target="python")({"A": A, "b": B})
    np.testing.assert_allclose(made["b"], slopes(lambda b: settled({"A": A, "b": b}), B), rtol=1e-7)
    np.testing.assert_allclose(made["A"], slopes(lambda a: settled({"A": a, "b": B}), A), rtol=1e-7)


def test_what_is_kept_does_not_grow_with_the_steps():
    _, pullback = s2sad.vjp(settled, {"A": A, "b": B}, target="python")
    kept = sum(np.size(value) for value in pullback.residuals)
    assert kept <= 40, pullback.residuals
    text = s2sad.differentiate(target="python")(settled).source("grad", ({"A": A, "b": B},))
    assert "append" not in text


def circle(r, x):
    return x * x * x - r


def coupled(p, x):
    return np.array([x[0] ** 2 + p[0] * x[1] - 2.0, x[1] ** 3 - p[1] * x[0]])


def test_roots():
    def cubic(r):
        return np.sum(root(circle, r, np.ones(1)))

    assert grad(cubic, target="python")(8.0) == pytest.approx(1 / 12)
    assert grad(grad(cubic), target="python")(8.0) == pytest.approx(-2 / 9 * 8.0 ** (-5 / 3))
    p = np.array([1.1, 0.9])
    np.testing.assert_allclose(coupled(p, root(coupled, p, np.ones(2))), 0.0, atol=1e-12)
    jac = jacrev(lambda p: root(coupled, p, np.ones(2)), target="python")(p)
    expected = [slopes(lambda p, k=k: root(coupled, p, np.ones(2))[k], p) for k in range(2)]
    np.testing.assert_allclose(jac, expected, rtol=1e-7)


def tridiagonal(p, x):
    y = p[0] * x
    y[1:] -= p[1] * x[:-1]
    y[:-1] -= p[2] * x[1:]
    return y


def jacobi(p, b):
    x = b / p[0]
    for _ in range(200):
        r = b - tridiagonal(p, x)
        x = x + r / p[0]
    return x


def transposed_jacobi(p, b):
    return jacobi(np.array([p[0], p[2], p[1]]), b)


def test_linear_solve_by_the_users_solver():
    p, b = np.array([4.0, 1.0, 0.5]), np.array([1.0, -2.0, 3.0, 0.5])

    def loss(p, b):
        return np.sum(custom_linear_solve(tridiagonal, p, b, jacobi, transposed_jacobi) ** 2)

    p_bar, b_bar = grad(loss, (0, 1), target="python")(p, b)
    np.testing.assert_allclose(p_bar, slopes(lambda p: loss(p, b), p), rtol=1e-7)
    np.testing.assert_allclose(b_bar, slopes(lambda b: loss(p, b), b), rtol=1e-7)


def decay(y, t, k):
    return -k * y


def predator(y, t, a, b):
    return np.array([a * y[0] - b[0] * y[0] * y[1], b[1] * y[0] * y[1] - y[1] * np.cos(t)])


def after(y0, t, a, b):
    ys = odeint(predator, y0, t, a, b)
    return np.sum(ys[1] ** 2) + ys[2, 0]


def test_decay_in_closed_form():
    t = np.array([0.0, 0.5, 2.0])
    np.testing.assert_allclose(odeint(decay, np.ones(2), t, 1.5)[:, 0], np.exp(-1.5 * t), rtol=1e-7)
    np.testing.assert_allclose(odeint(decay, np.ones(1), -t, 1.5)[:, 0], np.exp(1.5 * t), rtol=1e-6)

    def last(k):
        return odeint(decay, np.ones(1), np.array([0.0, 1.0]), k)[1, 0]

    assert grad(last, target="python")(1.5) == pytest.approx(-np.exp(-1.5), rel=1e-6)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_an_equation_of_one_number(target):
    """y' = -k y, y a number: its values at the times are a vector, and both modes go by y0 and k."""
    t = np.array([0.0, 0.5, 1.0])

    def last(y0, k):
        return odeint(decay, y0, t, k)[2]

    np.testing.assert_allclose(odeint(decay, 2.0, t, 1.5), 2.0 * np.exp(-1.5 * t), rtol=1e-6)
    expected = np.exp(-1.5), -2.0 * np.exp(-1.5)
    np.testing.assert_allclose(grad(last, (0, 1), target=target)(2.0, 1.5), expected, rtol=1e-6)
    forward = s2sad.jvp(last, (2.0, 1.5), (1.0, 1.0), target="python")[1]
    assert forward == pytest.approx(sum(expected), rel=1e-6)


def test_every_argument_of_an_equation():
    y0, t, b = np.array([1.0, 0.5]), np.array([0.0, 0.7, 1.5]), np.array([0.3, 0.2])
    made = grad(after, (0, 1, 2, 3), target="python")(y0, t, 1.1, b)
    expected = (
        slopes(lambda y: after(y, t, 1.1, b), y0, 1e-5), slopes(lambda s: after(y0, s, 1.1, b), t, 1e-5),
        slopes(lambda a: after(y0, t, float(a), b), 1.1, 1e-5), slopes(lambda c: after(y0, t, 1.1, c), b, 1e-5),
    )  # fmt: skip
    for got, want in zip(made, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_too_many_steps_are_refused():
    with pytest.raises(RuntimeError, match="more than max_steps"):
        odeint(decay, np.ones(1), np.array([0.0, 100.0]), 50.0, max_steps=5)


def test_roots_of_numbers_and_of_matrices():
    def number(a):
        return root(lambda a, x: x * x - a, a, 1.0)

    assert isinstance(number(4.0), float)
    assert grad(number, target="cpu")(4.0) == pytest.approx(0.25)
    M = np.array([[4.0, 1.0], [0.5, 9.0]])
    X = root(lambda M, X: X @ X - M, M, np.eye(2) * 2.0)
    np.testing.assert_allclose(X @ X, M, rtol=1e-12)

    def weighted(M):
        return np.sum(root(lambda M, X: X @ X - M, M, np.eye(2) * 2.0) * np.array([[1.0, 2.0], [3.0, 4.0]]))

    np.testing.assert_allclose(grad(weighted, target="python")(M), slopes(weighted, M), rtol=1e-7)


def last_of_a_decay(k):
    return odeint(decay, np.ones(1), np.array([0.0, 1.0]), k)[1, 0]


def sum_of_a_solve(d):
    return np.sum(custom_linear_solve(lambda d, x: d * x, d, np.ones(2), lambda d, b: b / d, lambda d, b: b / d))


CLOSED_FORMS = {
    "fixed point": (lambda a: fixed_point(babylonian, a, 1.0), 4.0, 2.0, 1 / 4, -1 / 32, 1e-11),
    "root": (lambda a: root(lambda a, x: x * x - a, a, 1.0), 4.0, 2.0, 1 / 4, -1 / 32, 1e-11),
    "linear solve": (sum_of_a_solve, 3.0, 2 / 3, -2 / 9, 4 / 27, 1e-11),
    "equation": (last_of_a_decay, 1.5, np.exp(-1.5), -np.exp(-1.5), np.exp(-1.5), 1e-6),
}


@pytest.mark.parametrize("case", CLOSED_FORMS)
def test_both_modes_to_the_second_order(case):
    """Each order of the modes gives the closed form."""
    fun, x, value, first, second, rtol = CLOSED_FORMS[case]
    out, out_dot = s2sad.jvp(fun, (x,), (2.0,), target="python")
    assert (out, out_dot) == (pytest.approx(value, rel=rtol), pytest.approx(2 * first, rel=rtol))
    slope = grad(fun)
    orders = (
        s2sad.hessian(fun, target="python")(x),
        grad(slope, target="python")(x),
        grad(lambda x: s2sad.jvp(fun, (x,), (1.0,))[1], target="python")(x),
        s2sad.jvp(lambda x: s2sad.jvp(fun, (x,), (1.0,))[1], (x,), (1.0,), target="python")[1],
    )
    np.testing.assert_allclose(orders, second, rtol=10 * rtol)


def test_forward_mode_compiled():
    assert s2sad.jvp(CLOSED_FORMS["fixed point"][0], (4.0,), (1.0,))[1] == pytest.approx(0.25)


def test_tangents_of_every_argument_of_an_equation():
    y0, t, b = np.array([1.0, 0.5]), np.array([0.0, 0.7, 1.5]), np.array([0.3, 0.2])
    rng = np.random.default_rng(1)
    dots = rng.normal(size=2), rng.normal(size=3), 0.7, rng.normal(size=2)
    pushed = s2sad.jvp(after, (y0, t, 1.1, b), dots, target="python")[1]
    pulled = grad(after, (0, 1, 2, 3), target="python")(y0, t, 1.1, b)
    inner = sum(np.sum(bar * dot) for bar, dot in zip(pulled, dots, strict=True))
    assert pushed == pytest.approx(inner, rel=1e-6)


def test_odeint_takes_what_scipy_takes_lists_too():
    def pendulum(y, t, b, c):
        theta, omega = y
        return [omega, -b * omega - c * np.sin(theta)]

    def ends(p):
        return s2sad.implicit.odeint(pendulum, [3.0, p[0]], [0.0, 0.5, 1.0], p[0], p[1])[-1, 0] ** 2

    p, h = np.array([0.25, 5.0]), 1e-5
    expected = [(ends(p + dot) - ends(p - dot)) / (2 * h) for dot in h * np.eye(2)]
    np.testing.assert_allclose(s2sad.grad(ends)(p), expected, rtol=1e-5)
    assert s2sad.jvp(ends, (p,), (np.ones(2),))[1] == pytest.approx(sum(expected), rel=1e-5)
