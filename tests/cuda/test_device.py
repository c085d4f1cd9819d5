"""Device functions inside users' kernels, and batches: against target "python", in the simulator."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numba import cuda

import s2sad
from s2sad.errors import AliasError, ArgumentError, NotDifferentiableError, UnsupportedSyntaxError


@s2sad.differentiate(target="cuda", argnums=(0, 1))
def energy(r, k):
    s = 0.0
    for n in range(4):
        s += math.exp(-k * r) * r**n
    return s


value_and_grad = energy.device.value_and_grad
primal = energy.device.primal
vjp = energy.device.vjp
jvp = energy.device.jvp
grad = energy.device.grad


@cuda.jit
def use_all(r, out):
    i = cuda.grid(1)
    if i < r.size:
        out[i, 0] = primal(r[i], 0.5)
        value, r_bar, k_bar = value_and_grad(r[i], 0.5)
        out[i, 1], out[i, 2], out[i, 3] = value, r_bar, k_bar
        value, r_bar, k_bar = vjp(r[i], 0.5, 2.0)
        out[i, 4], out[i, 5] = r_bar, k_bar
        value, dot = jvp(r[i], 0.5, 1.0, 3.0)
        out[i, 6] = dot
        r_bar, k_bar = grad(r[i], 0.5)
        out[i, 7] = k_bar


def test_device_functions_in_a_users_kernel() -> None:
    r, out = np.linspace(0.5, 2.0, 5), np.zeros((5, 8))
    use_all[2, 4](r, out)
    here = s2sad.differentiate(target="python", argnums=(0, 1))(energy.py_func)
    for row, x in zip(out, r, strict=True):
        value, (r_bar, k_bar) = here.value_and_grad(float(x), 0.5)
        want = [value, value, r_bar, k_bar, 2 * r_bar, 2 * k_bar, r_bar + 3 * k_bar, k_bar]
        np.testing.assert_allclose(row, want, rtol=1e-13)


def test_the_host_can_call_it_too() -> None:
    h = 1e-6
    np.testing.assert_allclose(
        energy.grad(1.2, 0.5)[0], (energy(1.2 + h, 0.5) - energy(1.2 - h, 0.5)) / (2 * h), rtol=1e-8)


def weighted(x, w):
    s = 0.0
    for i in range(x.shape[0]):
        s += w[i] * x[i] ** 2
    return math.sin(s)


def test_the_adjoint_of_an_array_is_added_to() -> None:
    device = s2sad.differentiate(target="cuda")(weighted).device("float64[::1], float64[::1]")
    function = device.value_and_grad

    @cuda.jit
    def use(x, w, x_bar, out):
        out[0] = function(x, w, x_bar)[0] if False else function(x, w, x_bar)

    x, w, x_bar, out = np.array([0.5, 1.0]), np.array([0.3, 0.2]), np.ones(2), np.zeros(1)
    use[1, 1](x, w, x_bar, out)
    inside = float(np.sum(w * x**2))
    np.testing.assert_allclose(out[0], math.sin(inside), rtol=1e-14)
    np.testing.assert_allclose(x_bar, 1.0 + math.cos(inside) * 2 * w * x, rtol=1e-14)


def root(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def test_a_tape_is_passed_in_where_a_loop_has_no_known_length() -> None:
    function = s2sad.differentiate(target="cuda")(root).device("float64").value_and_grad

    @cuda.jit
    def use(a, a_bar, tape, marks, needed):
        i = cuda.grid(1)
        a_bar[i] = function(a[i], tape, marks, needed, i)[1]

    a, a_bar, needed = np.array([2.0, 3.0]), np.zeros(2), np.zeros(1, np.int64)
    use[1, 2](a, a_bar, np.zeros((20, 1, 2)), np.zeros((20, 1, 2), np.int64), needed)
    np.testing.assert_allclose(a_bar, 0.5 / np.sqrt(a), rtol=1e-9)
    assert needed[0] == 0
    use[1, 2](a, a_bar, np.zeros((2, 1, 2)), np.zeros((2, 1, 2), np.int64), needed)
    assert needed[0] > 2


def test_single_precision_literals() -> None:
    text = s2sad.differentiate(target="cuda")(energy.py_func).device("float32, float32").source("value_and_grad")
    assert "np.float32(0.0)" in text
    assert "= 0.0" not in text


def test_unknown_types_and_modes() -> None:
    with pytest.raises(ArgumentError, match="no mode"):
        energy.device.source("hessian")
    with pytest.raises(ArgumentError, match="not a real number"):
        s2sad.differentiate(target="cuda")(energy.py_func).device("int64, float64").source("grad")


# ---- batches ----


def test_a_batch_of_gradients() -> None:
    batch = s2sad.vmap(s2sad.grad(energy.py_func, argnums=(0, 1)), target="cuda")
    here = s2sad.vmap(s2sad.grad(energy.py_func, argnums=(0, 1), target="python"), target="python")
    r, k = np.linspace(0.5, 2.0, 7), np.linspace(0.1, 0.9, 7)
    for got, want in zip(batch(r, k), here(r, k), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_gradients_axes_and_dtypes(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x, w = rng.uniform(size=(3, 6)).astype(dtype), rng.uniform(size=3).astype(dtype)
    batch = s2sad.vmap(s2sad.value_and_grad(weighted, argnums=("w", "x")), in_axes=(1, None), target="cuda")
    values, (w_bar, x_bar) = batch(x, w)
    inside = w @ x**2
    assert values.dtype == w_bar.dtype == x_bar.dtype == dtype
    np.testing.assert_allclose(values, np.sin(inside), rtol=1e-5)
    np.testing.assert_allclose(x_bar, (np.cos(inside) * 2 * w[:, None] * x).T, rtol=1e-5)
    np.testing.assert_allclose(w_bar, (np.cos(inside) * x**2).T, rtol=1e-5)


def test_a_batch_of_loops_of_different_lengths() -> None:
    a = np.linspace(0.5, 9.0, 6)
    np.testing.assert_allclose(s2sad.vmap(s2sad.grad(root), target="cuda")(a), 0.5 / np.sqrt(a), rtol=1e-6)
    np.testing.assert_allclose(s2sad.vmap(root, target="cuda")(a), np.sqrt(a), rtol=1e-12)


def scaled(x, y, c=2.0):
    return math.sin(x) * y + c * x**3


def test_keywords_and_defaults_in_a_batch() -> None:
    x, y = np.linspace(0.5, 2.0, 5), np.linspace(0.1, 0.9, 5)
    batch = s2sad.vmap(s2sad.grad(scaled, argnums=("x", "y")), target="cuda")
    for got in (batch(x, y), batch(x, y=y), batch(y=y, x=x)):
        np.testing.assert_allclose(got[0], np.cos(x) * y + 6.0 * x**2, rtol=1e-14)
        np.testing.assert_allclose(got[1], np.sin(x), rtol=1e-14)
    np.testing.assert_allclose(batch(x, y, c=y)[0], np.cos(x) * y + 3.0 * y * x**2, rtol=1e-14)
    with pytest.raises(ArgumentError, match="missing a required argument"):
        batch(x)
    with pytest.raises(ArgumentError, match="does not fit the 2 arguments"):
        s2sad.vmap(scaled, in_axes=(0, 0, None), target="cuda")(x, y)


def test_arrays_that_do_not_lie_in_one_piece_or_are_read_only() -> None:
    batch = s2sad.vmap(s2sad.grad(scaled), target="cuda")
    x, y = np.linspace(0.5, 2.0, 10)[::2], np.broadcast_to(0.3, (5,))
    np.testing.assert_allclose(batch(x, y), np.cos(x) * 0.3 + 6.0 * x**2, rtol=1e-14)
    a = np.random.default_rng(0).uniform(size=(2, 5, 3))
    batch = s2sad.vmap(s2sad.grad(lambda m: m[0, 0] * m[1, 2] ** 2), in_axes=1, target="cuda")
    np.testing.assert_allclose(batch(a)[:, 1, 2], 2.0 * a[0, :, 0] * a[1, :, 2], rtol=1e-14)


def grown(x):
    while x[0] < 10.0:
        x[0] = x[0] * x[0] + x[1]
    return x[0]


def test_a_batch_leaves_its_arguments_alone() -> None:  # above all between the counting launch and the other
    x = np.array([[1.5, 0.3], [2.5, 0.1], [4.0, 0.2]])
    before = x.copy()
    value, x_bar = s2sad.vmap(s2sad.value_and_grad(grown), target="cuda")(x)
    np.testing.assert_array_equal(s2sad.vmap(grown, target="cuda")(x), value)
    np.testing.assert_array_equal(x, before)
    want, want_bar = s2sad.vmap(s2sad.value_and_grad(grown, target="python"), target="python")(before)
    np.testing.assert_allclose(value, want, rtol=1e-14)
    np.testing.assert_allclose(x_bar, want_bar, rtol=1e-13)


def test_what_all_elements_share_is_not_written_into() -> None:
    def shares(x, w):
        w[0] = w[0] * x  # here
        return w[0] * w[1]

    for function in (shares, s2sad.grad(shares, argnums=("x", "w"))):
        with pytest.raises(AliasError, match="every element of the batch writes into `w`") as caught:
            s2sad.vmap(function, in_axes=(0, None), target="cuda")(np.ones(3), np.ones(2))
        assert "# here" in caught.value.span.text()


def test_adjoints_are_of_their_arguments_precision() -> None:
    x, y = np.linspace(0.5, 2.0, 5, dtype=np.float32), np.linspace(0.1, 0.9, 5)
    x_bar, y_bar = s2sad.vmap(s2sad.grad(scaled, argnums=(0, 1)), target="cuda")(x, y)
    assert (x_bar.dtype, y_bar.dtype) == (np.float32, np.float64)


TABLE = np.array([1.0, 2.0, 3.0])


def from_outside(x, i):
    return TABLE[i] * x**2  # here


def test_an_array_from_outside_is_refused_at_its_line() -> None:
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = from_outside(x[i], i)  # here

    for run in (lambda: s2sad.vmap(s2sad.grad(from_outside), target="cuda")(np.ones(3), np.arange(3)),
                lambda: s2sad.differentiate(target="cuda")(from_outside).device("float64, int64").grad,
                lambda: s2sad.cuda.kernel(kernel).source("adjoint", "float64[::1], float64[::1]")):  # fmt: skip
        with pytest.raises(UnsupportedSyntaxError, match="is an array from outside") as caught:
            run()
        assert "# here" in caught.value.span.text()
        assert "an argument" in caught.value.why


def test_what_a_batch_refuses() -> None:
    batch = s2sad.vmap(s2sad.grad(weighted), target="cuda")
    with pytest.raises(ArgumentError, match="one length"):
        batch(np.zeros((3, 2)), np.zeros((4, 2)))
    with pytest.raises(ArgumentError, match="length 0"):
        batch(np.zeros((0, 2)), np.zeros((0, 2)))
    with pytest.raises(ArgumentError, match="no axis"):
        batch(1.0, np.zeros((4, 2)))
    with pytest.raises(ArgumentError, match="maps over nothing"):
        s2sad.vmap(root, in_axes=None, target="cuda")(np.zeros(3))
    with pytest.raises(NotDifferentiableError, match="not a real number"):
        s2sad.vmap(s2sad.grad(root), target="cuda")(np.arange(3))
    with pytest.raises(ArgumentError, match="cannot be mapped"):
        s2sad.vmap(s2sad.hessian(root), target="cuda")
