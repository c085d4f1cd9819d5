"""Specialisations that know how long the arguments are, compared with each other."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences


def heat(u, k):
    u = u.copy()
    for _ in range(3):
        u[1:-1] += k[1:-1] * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u * u)


def inner_field(wide, narrow):
    n = narrow.shape[0]
    bent = wide[2 : n + 4] - 2 * wide[1 : n + 3] + wide[0 : n + 2]
    return np.sum(narrow * (bent[1 : n + 1] - bent[:n]) ** 2)


def bends(wide, narrow):
    return inner_field(wide, narrow)


def product(a, b):
    return np.sum(np.sin(a[1:] * b[1:]) * a[1:])


def checked(fun, *args, target):
    for at, given in enumerate(args):
        bar = differences(lambda v, at=at: fun(*args[:at], v, *args[at + 1 :]), given)
        got = s2sad.grad(fun, argnums=at, target=target)(*args)
        np.testing.assert_allclose(got, bar, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_stencils(target):
    rng = np.random.default_rng(0)
    for n in (3, 5, 8):
        checked(heat, rng.random(n), 0.1 * rng.random(n), target=target)
        checked(inner_field, rng.random(n + 4), rng.random(n), target=target)


def test_a_helper_knows_how_long_its_arguments_are():
    rng = np.random.default_rng(0)
    checked(bends, rng.random(10), rng.random(6), target="python")
    checked(bends, rng.random(7), rng.random(3), target="python")
    bent = s2sad.differentiate(bends, argnums=(0, 1), target="python")
    bent.grad(rng.random(30), rng.random(26))
    text = "".join(plan.entry.derivative.text for _, plan in bent.grad.store.known())
    assert "_value" in text or "inner_field" in text
    assert "unbroadcast(" not in text


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_lengths_that_come_in_any_order(target):
    rng = np.random.default_rng(1)
    for n, m in ((5, 5), (5, 2), (2, 5), (7, 7), (2, 2), (5, 2)):
        checked(product, rng.random(n), rng.random(m), target=target)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_does_not_fit_is_still_an_error(target):
    gradient = s2sad.grad(heat, target=target)
    gradient(np.ones(6), np.ones(6))
    with pytest.raises((ValueError, s2sad.S2SADError)):
        gradient(np.ones(6), np.ones(7))
    gradient(np.ones(9), np.ones(9))


def test_jacobians_and_pullbacks():
    rng = np.random.default_rng(2)
    u, k = rng.random(6), 0.1 * rng.random(6)
    out, pullback = s2sad.vjp(heat, u, k)
    np.testing.assert_allclose(out, heat(u, k))
    for got, at in zip(pullback(1.0), (0, 1), strict=True):
        np.testing.assert_allclose(got, s2sad.grad(heat, argnums=at)(u, k))
    np.testing.assert_allclose(
        s2sad.hessian(heat)(u, k), differences(lambda v: s2sad.grad(heat)(v, k), u), rtol=1e-6, atol=1e-7
    )


def test_one_loop():
    def step(u, k):
        u = u.copy()
        u[1:-1] += k[1:-1] * (u[2:] - u[:-2])
        return np.sum(u * u)

    made = s2sad.differentiate(step)
    made.grad(np.ones(6), np.ones(6))
    assert "sum_to_shape" not in made.source("grad")


def turned(a, b):
    return np.sum(a[::-1] * b)


def every_second(a, b):
    return np.sum((a[::2] + b[::2]) ** 2)


def past_the_end(a, b):
    out = np.zeros(b.shape[0])
    n = out.shape[0]
    out[:] = a[1 : n + 1] * 2.0 + b * b
    return np.sum(out * out)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_parts_of_other_lengths_are_refused_as_numpy_refuses_them(target):
    rng = np.random.default_rng(3)
    for fun, lengths in ((turned, (4, 2)), (turned, (2, 4)), (every_second, (8, 4)), (past_the_end, (1, 1))):
        with pytest.raises(ValueError):
            fun(*(rng.random(n) for n in lengths))
        with pytest.raises(ValueError):
            s2sad.value_and_grad(fun, argnums=(0, 1), target=target)(*(rng.random(n) for n in lengths))
    checked(turned, rng.random(4), rng.random(4), target=target)
    checked(every_second, rng.random(4), rng.random(3), target=target)


def all_products(a, b):
    return np.sum(a * b)


def inner_product(a, b):
    return np.dot(a, b) + np.sum(a * b)


def inside(a, b):
    return np.sum(np.sin(a[1:-1]) * b)


def applied(a, b):
    return np.sum(np.outer(a, a) @ b)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [all_products, inner_product, inside])
def test_gradients_refuse_what_the_function_refuses(fun, target):
    """Also where the gradient itself has no need of the sum that would raise."""
    rng = np.random.default_rng(4)
    for n, m in ((4, 2), (9, 8), (8, 16)):
        if fun is inside and n - 2 == m:
            continue
        with pytest.raises(ValueError, match=r"broadcast|aligned"):
            fun(rng.random(n), rng.random(m))
        with pytest.raises(ValueError, match=r"broadcast|aligned"):
            s2sad.grad(fun, argnums=(0, 1), target=target)(rng.random(n), rng.random(m))
    n = 4 if fun is inside else 2
    checked(fun, rng.random(n), rng.random(2), target=target)
    if fun is inside:
        checked(fun, rng.random(3), rng.random(5), target=target)  # one element, spread


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_product_of_a_matrix_and_a_vector_that_do_not_fit(target):
    gradient = s2sad.grad(applied, argnums=(0, 1), target=target)
    with pytest.raises(ValueError):
        gradient(np.ones(3), np.ones(4))
    checked(applied, np.ones(3), np.ones(3), target=target)


def rate(y, p):
    return np.array([p[0] * y[0] - y[0] * y[1], p[1] * y[0] * y[1] - y[1]])


def orbit(y0, p, n=4):
    y = y0.copy()
    total = 0.0
    for _ in range(n):
        half = y + 0.1 * rate(y, p)
        y = y + 0.2 * rate(half, p)
        total += np.sum(y**2)
    return total


START, P = np.array([1.0, 0.5]), np.array([0.9, 0.6, 0.0])


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_an_argument_as_long_as_what_is_written_out(target):
    checked(orbit, START, P, target=target)
    plan, _ = s2sad.grad(orbit, argnums=(0, 1), target=target).store.find((START, P, 4))
    text = plan.entry.derivative.text
    assert "unbroadcast" not in text
    assert "sum_to_shape" not in text


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_other_lengths_later(target):
    gradient = s2sad.grad(orbit, target=target)
    gradient(START, P)
    with pytest.raises((ValueError, s2sad.S2SADError)):
        gradient(np.ones(3), P)
    np.testing.assert_array_equal(gradient(np.ones(3), P, 0), np.zeros(3))
    np.testing.assert_array_equal(gradient(START, P, 0), np.zeros(2))
    checked(orbit, 2.0 * START, P, target=target)


def rows_that_are_written_to(y0, p):
    y = 1.0 * y0
    for k in range(3):
        y = np.array([y[0] * p[0], y[1] * y[0]])
        y[1] = y[1] * p[1] + k
        y = y * y
        y[0] += y[1] * p[0]
    return np.sum(y)


def rows_of_nested_loops(y0, p):
    y = np.array([y0[0], y0[1]])
    for k in range(2):
        for j in range(3):
            before = y
            y = np.array([y[1] * p[0], np.sin(y[0]) + before[0] * (j + k)])
    return y[0] * y[1]


def rows_of_matrices(y0, p):
    turned = np.array([[y0[0], -y0[1]], [y0[1], y0[0]]])
    for _ in range(3):
        turned = np.tanh(turned @ turned * p[0] + turned * p[1])
    return np.sum(turned * turned)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [rows_that_are_written_to, rows_of_nested_loops, rows_of_matrices])
def test_a_few_numbers_are_kept_in_rows(fun, target):
    checked(fun, START, P, target=target)
    derivative = s2sad.differentiate(fun, target=target, argnums=(0, 1))
    derivative.grad(START, P)
    text = derivative.source("grad")
    assert "_tape = np.empty((" in text
    assert "_tape = []" not in text


@pytest.mark.parametrize("fun", [orbit, rows_that_are_written_to, rows_of_nested_loops])
def test_rows_in_pullbacks_and_second_derivatives(fun):
    _, pullback = s2sad.vjp(fun, START, P, target="python")
    first, again = pullback(1.0), pullback(1.0)
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    s2sad.check_grads(fun, (START, P), order=2, target="python")


def swept(n, u):
    """Thomas's way through the inner points, as many as a whole number says."""
    u = u.copy()
    p, q = np.zeros(u.shape), np.zeros(u.shape)
    for j in range(1, n - 1):
        p[1 : n - 1, j] = 0.3 / (0.2 * p[1 : n - 1, j - 1] + 1.5)
        q[1 : n - 1, j] = (u[j, : n - 2] + 2.0 * u[j, 1 : n - 1] - u[j, 2:n] - q[1 : n - 1, j - 1]) * p[1 : n - 1, j]
    for j in range(n - 2, 0, -1):
        u[1 : n - 1, j] = p[1 : n - 1, j] * u[1 : n - 1, j + 1] + q[1 : n - 1, j]
    return np.sum(u * u)


def within_borders(u, inner, k):
    u = u.copy()
    for _ in range(2):
        new = np.zeros(inner)
        new[:] = u[1 : inner + 1] + k * (u[2 : inner + 2] - 2 * u[1 : inner + 1] + u[:inner])
        u[1 : inner + 1] = new
    return np.sum(u * u)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(("fun", "at", "border"), [(swept, 1, 0), (within_borders, 0, 2)])
def test_a_whole_number_that_says_how_long_an_array_is(fun, at, border, target):
    rng = np.random.default_rng(5)
    made = s2sad.differentiate(fun, argnums=at, target=target)

    def given(u, n):
        return (n, u) if at else (u, n, 0.1)

    for n, m in ((6, 6), (5, 5), (4, 6), (3, 7), (6, 6)):  # as long, and shorter than that
        u = rng.random((m + border, m + border) if at else m + border)
        bar = differences(lambda v, n=n: fun(*given(v, n)), u)
        np.testing.assert_allclose(made.grad(*given(u, n)), bar, rtol=1e-6, atol=1e-7)
        if n == m == 5:
            assert len(made.grad.store.known()) == 1
            text = made.source("grad")
    assert len(made.grad.store.known()) > 1
    assert f"Holds where `u.shape == ({'n, n' if at else 'inner + 2,'})`." in text
    assert "unbroadcast" not in text
    assert "sum_to_shape" not in text


def constants_of_its_own(field):
    out = np.zeros((5, 6))
    rows, columns = out.shape
    bent = 4.0 * field[1 : rows + 1, 1 : columns + 1] - field[2 : rows + 2, :columns] - field[:rows, 2 : columns + 2]
    out[:, :] = np.where(bent > 0.3, bent, bent * field[:rows, :columns])
    return np.sum(out * out)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_lengths_that_are_constants_of_the_function(target):
    rng = np.random.default_rng(6)
    made = s2sad.differentiate(constants_of_its_own, target=target)
    for shape in ((7, 8), (8, 8), (9, 12), (7, 9), (20, 20), (30, 8), (40, 40)):
        checked(constants_of_its_own, rng.random(shape), target=target)
        made.grad(rng.random(shape))
        if shape == (7, 8):
            text = made.source("grad")
            assert "Holds where `field.shape == (7, 8)`." in text
            assert "unbroadcast" not in text
            assert "sum_to_shape" not in text
    assert len(made.grad.store.known()) == 5  # the first four are made for their lengths, the others for all


def test_what_a_text_says_of_lengths():
    def stepped(u, k):
        u = u.copy()
        for _ in range(3):
            before = u.copy()
            u[1:-1, 1:-1] = before[2:, 1:-1] * k[1:-1, 1:-1] + before[:-2, 1:-1] + k[1:-1, 2:]
        return np.sum(u * u)

    made = s2sad.differentiate(stepped)
    made.grad(np.ones((4, 4)), np.ones((4, 4)))
    assert "Holds where `u.shape == (n, n)` and `k.shape == (n, n)`." in made.source("grad")
    assert "Holds where" not in made.source("grad", "float64[:, :], float64[:, :]")
    plain = s2sad.differentiate(lambda u, k: np.sum(np.sin(u)) * k)
    plain.grad(np.ones((4, 4)), 2.0)
    assert "Holds where" not in plain.source("grad")


def roots_of_what_is_above_zero(x):
    y = x.copy()
    y[y > 0] = y[y > 0] ** -1.5
    return np.sum(y * np.arange(1.0, x.shape[0] + 1.0))


def masks_that_are_changed(x):
    y, mask = x.copy(), x > 0.0
    first = y[mask] * 2.0
    mask[0], y[mask] = not mask[0], 3.0
    total = np.sum(y[mask])
    mask = x > 0.4
    return total + np.sum(first) * np.sum(y[mask] * first)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_one_mask_selects(target):
    for x in ([1.0, 2.0, -1.0, 3.0], [-1.0, -2.0, 0.3, -2.0], [-1.0, -1.0, -2.0, -3.0]):
        checked(roots_of_what_is_above_zero, np.array(x), target=target)
    made = s2sad.differentiate(roots_of_what_is_above_zero, target=target)
    made.grad(np.ones(4))
    assert "unbroadcast" not in made.source("grad")
    assert "sum_to_shape" not in made.source("grad")
    checked(masks_that_are_changed, np.array([-1.0, 0.3, 0.6, 0.2]), target=target)  # one element, spread over three


def layer(x, w, b):
    return np.sum(np.tanh(np.reshape(x, (2, 256)) @ w + b))


def test_a_product_by_which_a_length_must_be_what_is_known():
    rng = np.random.default_rng(7)
    x, w, b = rng.random(512), 0.1 * rng.standard_normal((256, 12)), rng.random(12)
    made = s2sad.differentiate(layer, argnums=(0, 1, 2), target="python")
    bars = made.grad(x, w, b)
    for at in (1, 2):
        rest = [x, w, b]
        np.testing.assert_allclose(
            bars[at], differences(lambda v, at=at, rest=rest: layer(*rest[:at], v, *rest[at + 1 :]), rest[at]),
            rtol=1e-6, atol=1e-7,
        )  # fmt: skip
    assert "unbroadcast" not in made.source("grad")
