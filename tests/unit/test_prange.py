"""Loops over a `prange` under `parallel=True`: their turns run at once in derivatives where they can."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from numba import prange

import s2sad
from s2sad import differentiate
from s2sad.api.mapped import mapped
from s2sad.api.vmap import store_of

N = 37
X = np.linspace(0.2, 1.7, N)
Y = np.cos(X)
W = np.array([0.7, -0.4, 0.2, 1.1])
A = np.outer(X, np.array([1.0, -0.5, 0.25, 2.0]))
KINDS = np.arange(N) * 7 % 4
STARTS = np.arange(N)[::-1].copy()


# ---- turns that run at once ----


def elements(x, y):
    out = np.empty(x.shape[0])
    for i in prange(x.shape[0]):
        out[i] = math.sin(x[i]) * y[i]
    return np.sum(out * out)


def misfit(x, y, w):
    total = 0.0
    for i in prange(x.shape[0]):
        r = -y[i]
        for k in range(w.shape[0]):
            r += w[k] * math.sin(k * x[i])
        total += r * r
    return total


def branches(x, y, w):
    total, low = 0.0, 0.0
    for i in prange(x.shape[0]):
        if x[i] > 1.0:
            total += w[0] * x[i] ** 2
        elif x[i] > 0.5:
            low -= w[1] * math.exp(-y[i])
        else:
            continue
        total += w[2]
    return total * low


def rows(a, w):
    out = np.zeros(a.shape)
    for i in prange(a.shape[0]):
        row = a[i]
        scale = 0.0
        for k in range(w.shape[0]):
            scale += row[k] * row[k]
        for k in range(w.shape[0]):
            out[i, k] = w[k] * row[k] / (1.0 + scale)
    return np.sum(out**2)


def whole_rows(a, w):
    out = np.zeros(a.shape)
    for i in prange(a.shape[0]):
        out[i] = np.tanh(a[i] * w)
    return np.sum(out**2)


def columns(a, w):
    out = np.zeros(a.shape[1])
    for j in prange(a.shape[1]):
        s = 0.0
        for i in range(a.shape[0]):
            s += a[i, j] * w[j]
        out[j] = s * s
    return np.sum(out)


def diffusion(u0, w):
    u = u0.copy()
    new = u0.copy()
    n = u.shape[0]
    for _ in range(6):
        for i in prange(1, n - 1):
            new[i] = u[i] + 0.1 * w[0] * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u, new = new, u
    return np.sum(u * u)


def gathered(x, kinds, w):
    out = np.zeros(x.shape[0])
    for i in prange(x.shape[0]):
        out[i] = w[kinds[i]] * x[i] ** 2
    return np.sum(out)


def work_arrays(x, w):
    total = 0.0
    for i in prange(x.shape[0]):
        powers = np.ones(4)
        for k in range(1, 4):
            powers[k] = powers[k - 1] * x[i]
        total += math.log(1.0 + np.sum(powers * powers) * w[1] ** 2)
    return total


def polynomial(x, w):
    s = 0.0
    for k in range(w.shape[0]):
        s = s * x + w[k]
    return s


def with_helper(x, y, w):
    total = 0.0
    for i in prange(x.shape[0]):
        total += (polynomial(x[i], w) - y[i]) ** 2
    return total


def root(x, w):
    r = 1.0
    for _ in range(30):
        step = (r * r - x * w[3]) / (2.0 * r)
        r -= step
        if abs(step) < 1e-14:
            break
    return r


def newton(x, w):
    roots = np.zeros(x.shape[0])
    for i in prange(x.shape[0]):
        roots[i] = root(x[i], w)
    return np.sum(roots)


def newton_in_the_loop(x, w):
    roots = np.zeros(x.shape[0])
    for i in prange(x.shape[0]):
        r = 1.0
        for _ in range(30):
            step = (r * r - x[i] * w[3]) / (2.0 * r)
            r -= step
            if abs(step) < 1e-14:
                break
        roots[i] = r
    return np.sum(roots)


def twice(x, w):
    half = np.zeros(x.shape[0])
    for i in prange(x.shape[0]):
        half[i] = x[i] * w[0]
    total = 0.0
    for i in prange(x.shape[0]):
        total += half[i] ** 3 * w[1]
    return total


def nested(a, w):
    total = 0.0
    for i in prange(a.shape[0]):
        for j in prange(a.shape[1]):
            total += math.sin(a[i, j]) * w[j]
    return total


def in_place(x, w):
    u = x.copy()
    for i in prange(u.shape[0]):
        u[i] *= w[0]
        u[i] = math.tanh(u[i])
    return np.sum(u)


def added_all_over(x, kinds, w):
    bins = np.zeros(4)
    for i in prange(x.shape[0]):
        bins[kinds[i]] += x[i] * w[0]
    return np.sum(bins**2)


AT_ONCE = {
    "elements": (elements, (X, Y)), "misfit": (misfit, (X, Y, W)), "branches": (branches, (X, Y, W)),
    "rows": (rows, (A, W)), "whole_rows": (whole_rows, (A, W)), "columns": (columns, (A, W)),
    "diffusion": (diffusion, (X, W)), "gathered": (gathered, (X, KINDS, W)), "work_arrays": (work_arrays, (X, W)),
    "with_helper": (with_helper, (X, Y, W)), "newton": (newton, (X, W)), "twice": (twice, (X, W)),
    "nested": (nested, (A, W)), "in_place": (in_place, (X, W)), "added_all_over": (added_all_over, (X, KINDS, W)),
}  # fmt: skip


# ---- turns that stay one after another ----


def carried(x, w):
    s = 1.0
    for i in prange(x.shape[0]):
        s = s * math.cos(x[i]) + w[0]
    return s


def from_the_neighbour(x, w):
    u = x.copy()
    for i in prange(1, u.shape[0]):
        u[i] = u[i] + w[0] * u[i - 1]
    return np.sum(u)


def anywhere(x, kinds, w):
    out = np.zeros(4)
    for i in prange(x.shape[0]):
        out[kinds[i]] = x[i] * w[0]
    return np.sum(out)


def from_the_end(x, w):
    out = np.zeros(x.shape[0])
    for i in prange(-3, x.shape[0] - 3):
        out[i] = x[i] * w[0]
    return np.sum(out**2)


def refusing(x, w):
    total = 0.0
    for i in prange(x.shape[0]):
        if x[i] < 0.0:
            raise ValueError("negative")
        total += math.sqrt(x[i]) * w[0]
    return total


def last_one(x, w):
    t = 0.0
    for i in prange(x.shape[0]):
        t = x[i] * w[0]
    return t * t


def leaving(x, w):
    total = 0.0
    for i in prange(x.shape[0]):
        if x[i] > 1.0:
            break
        total += x[i] ** 2 * w[0]
    return total


def looked_at(x, w):
    total = 0.0
    for i in prange(x.shape[0]):
        total += x[i] * w[0]
        if total > 3.0:
            total += w[1]
    return total


def one_row_of_many(x, kinds, w):
    """A share of the turns would make all rows for one of them."""
    rows = np.zeros((5, 4))
    for t in range(5):
        for i in prange(x.shape[0]):
            rows[t, kinds[i]] += x[i] * w[0]
    return np.sum(rows**2)


def halves(x, w):
    if x.shape[0] < 5:
        return np.sum(x) * w[0]
    total = 0.0
    for i in prange(2):
        total += halves(x[i::2], w) ** 2
    return total


def items_of_a_list(x, w):
    parts = [x[0] * w[0], x[1] * w[1]]
    total = 0.0
    for i in prange(x.shape[0]):
        total += parts[i % 2] * x[i]
    return total


IN_TURN = {
    "carried": (carried, (X, W)), "from_the_neighbour": (from_the_neighbour, (X, W)),
    "anywhere": (anywhere, (X, KINDS, W)), "from_the_end": (from_the_end, (X, W)), "refusing": (refusing, (X, W)),
    "last_one": (last_one, (X, W)), "leaving": (leaving, (X, W)), "looked_at": (looked_at, (X, W)),
    "newton_in_the_loop": (newton_in_the_loop, (X, W)), "one_row_of_many": (one_row_of_many, (X, KINDS, W)),
    "halves": (halves, (X, W)), "items_of_a_list": (items_of_a_list, (X, W)),
}  # fmt: skip

STAY = dict.fromkeys(IN_TURN, "grad") | {"refusing": "primal", "leaving": "primal", "one_row_of_many": "primal"}
"""In which derivative they stay: where the primal sweep raises or leaves, the adjoint sweep does not."""


def differentiated(args):
    return tuple(at for at, arg in enumerate(args) if arg.dtype == np.float64)


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [*AT_ONCE, *IN_TURN])
def test_what_threads_give_is_what_one_gives(name):
    fun, args = {**AT_ONCE, **IN_TURN}[name]
    wrt = differentiated(args)
    shared = differentiate(fun, argnums=wrt, parallel=True)
    plain = differentiate(fun, argnums=wrt)
    close(shared(*args), fun(*args))
    value, gradient = shared.value_and_grad(*args)
    expected, bars = plain.value_and_grad(*args)
    close(value, expected)
    for _ in range(5):
        for ours, theirs in zip(gradient, bars, strict=True):
            close(ours, theirs)
        gradient = shared.grad(*args)
    tangents = tuple(np.sin(1.0 + np.arange(arg.size)).reshape(arg.shape) if at in wrt else None
                     for at, arg in enumerate(args))  # fmt: skip
    for ours, theirs in zip(shared.jvp(args, tangents), plain.jvp(args, tangents), strict=True):
        close(ours, theirs)


@pytest.mark.parametrize("name", AT_ONCE)
def test_turns_run_at_once(name):
    fun, args = AT_ONCE[name]
    text = differentiate(fun, argnums=differentiated(args), parallel=True).source("grad", types=args)
    assert "in numba.prange(parts" in text
    assert "_turns(" in text
    assert "_in_threads(" in text
    assert "numba.prange" not in differentiate(fun, argnums=differentiated(args)).source("grad", types=args)


@pytest.mark.parametrize("name", IN_TURN)
def test_turns_stay_one_after_another(name):
    fun, args = IN_TURN[name]
    shared = differentiate(fun, argnums=differentiated(args), parallel=True)
    assert "numba.prange" not in shared.source(STAY[name], types=args)


def test_error_in_a_turn_is_raised():
    with pytest.raises(ValueError, match="negative"):
        differentiate(refusing, argnums=(0, 1), parallel=True).grad(X - 1.0, W)


def test_no_turns():
    shared = differentiate(misfit, argnums=(0, 1, 2), parallel=True)
    empty = np.zeros(0)
    for part, like in zip(shared.grad(empty, empty, W), (empty, empty, W), strict=True):
        close(part, np.zeros_like(like))


def test_threads_can_be_fewer():
    shared = differentiate(misfit, argnums=(0, 2), parallel=True)
    before = numba.get_num_threads()
    many = shared.grad(X, Y, W)
    try:
        numba.set_num_threads(1)
        one = shared.grad(X, Y, W)
    finally:
        numba.set_num_threads(before)
    for ours, theirs in zip(many, one, strict=True):
        close(ours, theirs)


def test_text_runs_as_plain_python():
    shared = differentiate(misfit, argnums=(0, 2), parallel=True)
    close(shared.derivative("grad", (X, Y, W)).py_func(X, Y, W)[1], shared.grad(X, Y, W)[1])


@numba.njit(parallel=True)
def compiled(x, w):
    out = np.empty(x.shape[0], dtype=np.float32)
    for i in prange(x.shape[0]):
        out[i] = x[i] * w[i % w.shape[0]]
    return np.sum(out)


def test_single_precision_and_a_function_that_numba_runs_in_threads():
    x, w = X.astype(np.float32), W.astype(np.float32)
    shared, plain = differentiate(compiled, argnums=(0, 1)), differentiate(compiled.py_func, argnums=(0, 1))
    for a, b in zip(shared.grad(x, w), plain.grad(x, w), strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=1e-5)
    assert "numba.prange" in shared.source("grad", types=(x, w))
    assert "numba.prange" not in plain.source("grad", types=(x, w))


def test_a_compiled_helper_keeps_its_threads():
    def fun(x, w):
        return compiled(x, w) ** 2

    assert "numba.prange" in differentiate(fun, argnums=(0, 1)).source("grad", types=(X, W))
    close(s2sad.grad(fun)(X, W), s2sad.grad(lambda x, w: compiled.py_func(x, w) ** 2)(X, W))


def test_batches_in_threads_start_no_others():
    def rows(a, w):
        return s2sad.vmap(s2sad.grad(compiled), (0, None), parallel=True)(a, w)

    batch = s2sad.vmap(s2sad.grad(compiled), (0, None), parallel=True)
    expected = np.stack([s2sad.grad(compiled)(row, W) for row in A])
    close(batch(A, W), expected)
    close(rows(A, W), expected)
    for parallel in (False, True):
        store = store_of(mapped(s2sad.grad(compiled), (0, None), 0), "cpu", parallel)
        text = store.find((A, W))[0].plan.entry.derivative.text
        assert ("numba.prange" in text) is not parallel


def test_higher_order():
    shared = differentiate(misfit, argnums=2, parallel=True)
    close(shared.hessian(X, Y, W), differentiate(misfit, argnums=2).hessian(X, Y, W))
    close(shared.hvp((X, Y, W), (W,)), differentiate(misfit, argnums=2).hvp((X, Y, W), (W,)))


def test_complex_numbers():
    def fun(z, w):
        total = 0.0 + 0.0j
        for i in prange(z.shape[0]):
            total += z[i] ** 2 * w[0]
        return total.real

    z = X + 1j * Y
    shared = differentiate(fun, argnums=(0, 1), parallel=True)
    for ours, theirs in zip(shared.grad(z, W), differentiate(fun, argnums=(0, 1)).grad(z, W), strict=True):
        close(ours, theirs)
