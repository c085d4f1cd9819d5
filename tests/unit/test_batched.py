"""A batch whose elements share a matrix is arithmetic of the whole batch: the products of stacked calls, no loop."""

import math

import numpy as np
import pytest

import s2sad
from s2sad import grad, vmap
from s2sad.api.mapped import mapped
from s2sad.api.vmap import store_of

RNG = np.random.default_rng(3)
X = RNG.normal(size=(5, 4))
Y = RNG.normal(size=(5, 3))
W = RNG.normal(size=(3, 4)) / 2
V = RNG.normal(size=(4, 3)) / 2
S = RNG.normal(size=5)


def layer(w, x):
    return np.tanh(w @ x)


def from_the_left(w, x):
    h = np.exp(0.1 * (x @ w.T))
    return h / np.sum(h)


def by_dot(w, x):
    return np.dot(w, x) + np.dot(x, x)


def a_number(w, x):
    h = np.dot(w, x)
    return np.sum(h * h) / (1.0 + np.max(h) ** 2)


def with_helpers(w, x):
    return squashed(affine(w, x)) * length(x)


def affine(w, x):
    return w @ x + w[:, 0]


def squashed(z):
    return z / (1.0 + np.abs(z))


def length(x):
    return math.sqrt(np.dot(x, x) + 1.0)


def steps(w, x):
    state = np.zeros(4)
    total = 0.0
    for k in range(3):
        state = np.tanh(w.T @ (w @ state) + x * (k + 1))
        total = total + state[k]
    return state * total


def written(w, x):
    out = np.empty(3)
    z = w @ x
    for k in range(3):
        out[k] = z[k] * x[k + 1]
    out[1:] += x[:2]
    out *= 0.5
    return out


def branched(w, x):
    z = w @ x
    if len(x) > 3:
        z = np.sin(z)
    else:
        z = np.cos(z)
    return np.where(z > 0.0, z, 0.1 * z)


def outer(w, x):
    return np.outer(w @ x, x) + w


def many_lengths(w, x):
    z = w @ x
    return np.ones(len(x)) * np.sum(z) / x.shape[0] + np.zeros_like(x) + z.size


def swapped(w, x):
    a = w @ x
    b = a * a
    a, b = b, a
    return a - 2.0 * b


def same_twice(w, x):
    z = w @ x
    return z, z


def given_back(w, x):
    return w @ x, x


PROGRAMS = [
    layer, from_the_left, by_dot, a_number, with_helpers, steps, written, branched, many_lengths, swapped,
]  # fmt: skip


def text_of(fun, axes, args, out_axes=0, target="python"):
    plan, _ = store_of(mapped(fun, axes, out_axes), target).find(args)
    return plan.plan.entry.derivative.text



@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS, ids=lambda f: f.__name__)
def test_stacked_calls(fun, target):
    expected = np.stack([fun(W, x) for x in X])
    np.testing.assert_allclose(vmap(fun, (None, 0), target=target)(W, X), expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("fun", PROGRAMS, ids=lambda f: f.__name__)
def test_no_loop_over_the_batch(fun):
    text = text_of(fun, (None, 0), (W, X))
    assert "the whole batch at once" in text
    assert "range(count)" not in text




@pytest.mark.parametrize("fun", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients(fun):
    def loss(w, x):
        return np.sum(fun(w, x) ** 2)

    def total(w, xs):
        return np.sum(vmap(loss, (None, 0))(w, xs))

    one = grad(loss, argnums=(0, 1), target="python")
    each = [one(W, x) for x in X]
    of_each = vmap(grad(loss, argnums=(0, 1)), (None, 0), target="python")(W, X)
    of_all = grad(total, argnums=(0, 1), target="python")(W, X)
    for k in (0, 1):
        np.testing.assert_allclose(of_each[k], np.stack([g[k] for g in each]), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(of_all[0], sum(g[0] for g in each), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(of_all[1], np.stack([g[1] for g in each]), rtol=1e-12, atol=1e-14)


def test_the_text():
    assert text_of(layer, (None, 0), (W, X)) == '''import numpy as np


def layer_vmap(w, x):
    """`layer`, the whole batch at once."""
    return np.tanh(x @ w.T)
'''


def mean_of_layers(w, xs):
    return np.mean(vmap(layer, (None, 0))(w, xs))


def test_the_adjoint_is_one_product():
    text = s2sad.differentiate(mean_of_layers, target="python").source("grad", (W, X))
    assert "range(" not in str(text)
    assert str(text).count("@") == 2


def test_memory_is_not_shared():
    first, second = vmap(same_twice, (None, 0), target="python")(W, X)
    assert not np.shares_memory(first, second)
    _, back = vmap(given_back, (None, 0), target="python")(W, X)
    assert not np.shares_memory(back, X)
    np.testing.assert_array_equal(back, X)


def pair(w, x, y):
    return np.dot(w @ x, y)


def test_two_batches():
    assert "the whole batch" in text_of(pair, (None, 0, 0), (W, X, Y))
    expected = [pair(W, x, y) for x, y in zip(X, Y, strict=True)]
    np.testing.assert_allclose(vmap(pair, (None, 0, 0), target="python")(W, X, Y), expected, rtol=1e-14)


def scaled(w, x, s):
    return s * (w @ x) + s


def test_a_batch_of_numbers():
    assert "the whole batch" in text_of(scaled, (None, 0, 0), (W, X, S))
    expected = np.stack([scaled(W, x, s) for x, s in zip(X, S, strict=True)])
    np.testing.assert_allclose(vmap(scaled, (None, 0, 0), target="python")(W, X, S), expected, rtol=1e-14)


def looked_up(table, w, token):
    return w @ table[token]


def test_rows_looked_up():
    tokens = np.array([1, 0, 4, 1])
    args = (X, W, tokens)
    assert "the whole batch" in text_of(looked_up, (None, None, 0), args)
    expected = np.stack([W @ X[t] for t in tokens])
    np.testing.assert_allclose(vmap(looked_up, (None, None, 0), target="python")(*args), expected, rtol=1e-14)

    def total(table, w, tokens):
        return np.sum(vmap(looked_up, (None, None, 0))(table, w, tokens) ** 2)

    s2sad.check_grads(lambda table: total(table, W, tokens), (X,), order=1, target="python")


def cross_entropy(w, x, label):
    z = w @ x
    z = z - np.max(z)
    return np.log(np.sum(np.exp(z))) - z[label]


def mean_entropy(w, xs, labels):
    return np.mean(vmap(cross_entropy, (None, 0, 0))(w, xs, labels))


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_the_element_of_each_label(target):
    labels = np.array([2, 0, 1, 1, 2])
    assert "the whole batch" in text_of(cross_entropy, (None, 0, 0), (W, X, labels))
    expected = [cross_entropy(W, x, k) for x, k in zip(X, labels, strict=True)]
    np.testing.assert_allclose(vmap(cross_entropy, (None, 0, 0), target=target)(W, X, labels), expected, rtol=1e-13)
    s2sad.check_grads(mean_entropy, (W, X, labels), order=1, target=target)


def by_element(w, x):
    z = w @ x
    if z[0] > 0.0:
        return z
    return -z


def until(w, x):
    z = w @ x
    while np.sum(z * z) > 0.1:
        z = 0.5 * z
    return z


def own_matrix(x):
    return np.outer(x, x) @ x


def only_vectors(x, v):
    return np.dot(x, v) * x


@s2sad.custom_jvp
def doubled(x):
    return 2.0 * x


doubled.defjvp(lambda primals, tangents: (2.0 * primals[0], 3.0 * tangents[0]))


def ruled(w, x):
    return doubled(w @ x)


@pytest.mark.parametrize(
    ("fun", "axes", "args"),
    [
        (by_element, (None, 0), (W, X)), (until, (None, 0), (W, X)), (own_matrix, (0,), (X,)),
        (only_vectors, (0, None), (X, V[:, 0])), (ruled, (None, 0), (W, X)),
        (outer, (None, 0), (W, X)),
    ],
    ids=["by_element", "until", "own_matrix", "only_vectors", "ruled", "outer"],
)  # fmt: skip
def test_the_loop_stays(fun, axes, args):
    assert "one element of the batch after the other" in text_of(fun, axes, args)
    plain = [tuple(a[i] if axis == 0 else a for a, axis in zip(args, axes, strict=True)) for i in range(len(X))]
    expected = np.stack([2.0 * (W @ a[1]) if fun is ruled else fun(*a) for a in plain])
    np.testing.assert_allclose(vmap(fun, axes, target="python")(*args), expected, rtol=1e-14)


def test_float32_stays():
    w, x = W.astype(np.float32), X.astype(np.float32)
    got = vmap(layer, (None, 0), target="python")(w, x)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, np.stack([layer(w, row) for row in x]), rtol=1e-5)


def test_callers_arrays_are_not_written_to():
    w, x = W.copy(), X.copy()
    vmap(written, (None, 0), target="python")(w, x)
    np.testing.assert_array_equal(w, W)
    np.testing.assert_array_equal(x, X)


def changed(w, x):
    w[0] = 2.0 * w[0]
    x *= 3.0
    return w @ x


def test_arguments_that_are_written_to():
    w, x = W.copy(), X.copy()
    expected = np.stack([changed(W.copy(), row.copy()) for row in X])
    np.testing.assert_allclose(vmap(changed, (None, 0), target="python")(w, x), expected, rtol=1e-14)
    np.testing.assert_array_equal(w, W)
    np.testing.assert_array_equal(x, X)


def test_other_axes():
    assert "the whole batch" in text_of(layer, (None, 1), (W, X.T), 1)
    expected = np.stack([layer(W, x) for x in X], axis=1)
    got = vmap(layer, (None, 1), 1, target="python")(W, np.ascontiguousarray(X.T))
    np.testing.assert_allclose(got, expected, rtol=1e-14)
