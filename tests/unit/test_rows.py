"""Loops over the same rows are one loop, what only a row needs is a row, and nothing costly is computed twice."""

from __future__ import annotations

import re

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives
from tests.unit.test_ends import compiled_text

X = np.random.default_rng(5).normal(size=(4, 6))
SQUARE = np.random.default_rng(6).normal(size=(3, 3))


def softmax(x):
    weights = np.cos(np.arange(x.shape[1]))
    shifted = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return np.sum(weights * shifted / np.sum(shifted, axis=-1, keepdims=True))


def layer_norm(x):
    centred = x - np.mean(x, axis=1, keepdims=True)
    scale = np.sqrt(np.mean(centred**2, axis=1, keepdims=True) + 0.1)
    return np.sum(np.sin(centred / scale))


def farthest_from_the_middle(x):
    span = np.max(x, axis=1) - np.min(x, axis=1)
    column = np.amax(x * x, axis=0)
    return np.sum(span * span) + np.sum(np.sin(column))


def distances(x):
    gaps = x[:, None, :] - x[None, :, :] * 0.5
    squares = np.sum(gaps**2, axis=2)
    return np.sum(np.exp(-squares) / (1.0 + np.sum(squares, axis=1, keepdims=True)))


def the_row_before(x):
    """A row needs the sum of another one: the loops over rows stay apart."""
    totals = np.sum(x * x, axis=1)
    y = np.zeros(x.shape)
    y[1:] = np.sin(x[1:]) * totals[:-1, None]
    y[:-1] += x[:-1] / (1.0 + totals[1:, None])
    return np.sum(y * y)


def the_sum_of_all(x):
    """Nothing may read a sum over rows before the last of them."""
    totals = np.sum(np.sin(x), axis=0)
    whole = np.sum(x * x)
    return np.sum(x * totals) / (1.0 + whole)


def largest_of_one(x):
    """An axis of length one, reduced in a loop that runs again and again."""
    z = np.tanh(x[:1])
    for _ in range(2):
        z += 0.3 * np.sin(np.where(x[:1] > 0.1, x[:1], np.max(x[1:2] - x[2:3], axis=0, keepdims=True)))
    return np.sum(z * z)


def copied(x):
    y = x.copy()
    y[0] *= 2.0
    z = y.copy()
    z[:, 1] += y[:, 0] * y[:, 2]
    return np.sum(y * z)


def rebound_between(x):
    """A product that is done after further loops must read what its factors were."""
    h = np.tanh(x)
    p = h.T @ h
    h = h * 0.5 + np.sum(h, axis=1, keepdims=True)
    q = h.T @ h
    return np.sum(p * p) + np.sum(np.sin(q))


def written_between(x):
    h = np.tanh(x)
    p = h.T @ h
    h *= 0.5
    h += np.sin(x)
    return np.sum(p * p) + np.sum(h)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [
    softmax, layer_norm, farthest_from_the_middle, distances, the_row_before, the_sum_of_all, largest_of_one, copied,
    rebound_between, written_between,
])  # fmt: skip
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


def test_a_row_at_a_time():
    text = compiled_text(softmax, X)
    assert len(re.findall(r"^    for ", text, re.MULTILINE)) == 2, "one over the weights, one over the rows"
    assert re.search(r"shifted = np\.empty\(x\.shape\[1\]\)", text), text
    assert not re.search(r"np\.(zeros|full)", text), "what a row has one of is a number"


@pytest.mark.parametrize("shape", [(3, 0), (0, 3)])
def test_nothing_has_no_largest_element(shape):
    def largest(x, y):
        return np.sum(np.max(x, axis=1)) * y

    gradient = s2sad.grad(largest, argnums=1, target="cpu")
    assert gradient(SQUARE, 2.0) == pytest.approx(np.sum(np.max(SQUARE, axis=1)))
    if shape[1]:
        assert gradient(np.zeros(shape), 2.0) == 0.0
        return
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum which has no identity"):
        gradient(np.zeros(shape), 2.0)


@pytest.mark.parametrize("at", range(6))
def test_nan_is_the_largest(at):
    x = X.copy()
    x[1, at] = np.nan
    value, _ = s2sad.value_and_grad(lambda a: np.sum(np.max(a, axis=1)), target="cpu")(x)
    assert np.isnan(value)


def two_layers(x, first, second):
    hidden = np.maximum(x @ first, 0.0)
    return np.sum(np.log(np.sum(np.exp(hidden @ second), axis=1)))


def test_products_and_sums_of_the_primal_are_not_computed_again():
    derivative = s2sad.differentiate(two_layers, argnums=(1, 2), target="python")
    rng = np.random.default_rng(0)
    derivative.grad(rng.normal(size=(5, 4)), rng.normal(size=(4, 3)), rng.normal(size=(3, 2)))
    text = derivative.source("grad")
    assert text.count(" = x @ first\n") == 1
    assert len(re.findall(r"^ *product\w* = .*@ first", text, re.MULTILINE)) == 1
    assert len(re.findall(r"np\.sum\(exp\w*, axis=1\)", text)) == 1, text


def doubled(x, w):
    return np.sum(np.sin(2.0 * x @ w))


def test_a_factor_that_is_computed_is_kept():
    derivative = s2sad.differentiate(doubled, argnums=1, target="python")
    derivative.grad(X, np.ones((6, 2)))
    assert derivative.source("grad").count("2.0 * x") == 1


def ridge(w, x, y):
    r = x @ w - y
    return 0.5 * np.dot(r, r) + 0.1 * np.sum(w**2)


def unit_rows(a):
    n = a / np.sqrt(np.sum(a**2, axis=1))[:, None]
    return np.sum(n[0] * n[1]) + n[2, 0]


def test_what_is_added_to_is_not_taken_for_what_it_was():
    derivative = s2sad.differentiate(ridge, argnums=(0, 1), target="python")
    derivative.grad(np.ones(6), X, np.ones(4))
    assert "r_bar += r_bar" not in derivative.source("grad")


def test_a_root_of_a_sum_that_has_a_name_is_known():
    derivative = s2sad.differentiate(unit_rows, target="python")
    derivative.grad(X)
    text = "\n".join(line for line in derivative.source("grad").splitlines() if not line.lstrip().startswith("#"))
    assert text.count("np.sum(a**2, axis=1)") == 1
    assert text.count("np.sqrt(sum_value)") <= 2, "once by name, once as a view"


def cosine_in_many_places(x, k):
    """The user's own lines repeat a number; a call that has it in it was met before it had a name."""
    low = np.tanh(np.sum(x / (2.5 + np.cos(k)), axis=0)) * 1.1
    top = np.tanh(np.max(x * k, axis=0)) * 1.1
    both = np.tanh(np.sum(np.exp(0.5 * x), axis=0) + top / (2.5 + np.cos(k)) * k)
    return np.sum(low) + np.sum(top * 0.8) + np.sum(both * both)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_names_are_given_before_they_are_used(target):
    value, (x_bar, k_bar) = s2sad.value_and_grad(cosine_in_many_places, argnums=(0, 1), target=target)(X, 0.7)
    assert value == pytest.approx(cosine_in_many_places(X, 0.7), rel=1e-12)
    step = 1e-6
    ahead, behind = cosine_in_many_places(X, 0.7 + step), cosine_in_many_places(X, 0.7 - step)
    assert k_bar == pytest.approx((ahead - behind) / (2 * step), rel=1e-7)
    moved = np.cos(X)
    along = cosine_in_many_places(X + step * moved, 0.7) - cosine_in_many_places(X - step * moved, 0.7)
    assert np.sum(x_bar * moved) == pytest.approx(along / (2 * step), rel=1e-7)


def outliving(x):
    """What the last turn made is read behind the loop, and by the next turn."""
    y = np.zeros(x.shape)
    for t in range(3):
        z = np.tanh(x * (1.0 + t)) + 0.5 * y
        total = np.sum(z, axis=1)
        y = z * np.sin(z) + total[:, None]
        x = x - 0.1 * z
    return np.sum(y * z) + np.sum(total * total)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_outlives_its_block_stays_an_array(target):
    assert_derivatives(outliving, X, target)
    _, moved = s2sad.jvp(outliving, (X,), (np.cos(X),), target=target)
    assert moved == pytest.approx(np.sum(s2sad.grad(outliving, target="python")(X) * np.cos(X)), rel=1e-10)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_is_returned_twice(target):
    def twice(x):
        return np.exp(x), np.exp(x), np.exp(x) * np.exp(x)

    (first, second, third), dots = s2sad.jvp(twice, (X,), (np.ones_like(X),), target=target)
    assert first is not second
    np.testing.assert_allclose(first, second)
    np.testing.assert_allclose(third, first * second)
    np.testing.assert_allclose(dots[2], 2.0 * third)
    _, pull = s2sad.vjp(twice, X, target=target)
    (bar,) = pull((X, X * 0.5, np.ones_like(X)))
    np.testing.assert_allclose(bar, np.exp(X) * X * 1.5 + 2.0 * np.exp(2.0 * X))


def test_states_of_an_integrator_that_a_helper_collects():
    def integrated(f, y0, h, n):
        y = y0
        ys = [y0]
        for _ in range(n):
            k = f(y)
            y = [y[i] + h * k[i] for i in range(len(y))]
            ys.append(y)
        return ys

    def f(y0, h):
        ys = integrated(lambda y: [-v for v in y], y0, h, 5)
        return ys[-1][0] + ys[2][1] * ys[0][0]

    def helped(y0, h):
        return _integrated(lambda y: [-v for v in y], y0, h, 5)

    for program in (f, helped):
        dy, dh = s2sad.grad(program, argnums=(0, 1))([1.0, 2.0], 0.1)
        e = 1e-6
        expected = (program([1.0, 2.0], 0.1 + e) - program([1.0, 2.0], 0.1 - e)) / (2 * e)
        assert dh == pytest.approx(expected, rel=1e-7)
        expected = (program([1.0 + e, 2.0], 0.1) - program([1.0 - e, 2.0], 0.1)) / (2 * e)
        assert dy[0] == pytest.approx(expected, rel=1e-7)


def _collected(f, y0, h, n):
    y = y0
    ys = [y0]
    for _ in range(n):
        k = f(y)
        y = [y[i] + h * k[i] for i in range(len(y))]
        ys.append(y)
    return ys


def _integrated(f, y0, h, n):
    ys = _collected(f, y0, h, n)
    return ys[-1][0] + ys[2][1] * ys[0][0]


def test_what_a_helper_has_put_into_a_list_is_written_there():
    def f(y0, h):
        y = [y0[0], y0[1] * 2.0]
        ys = _collected(lambda y: [-v for v in y], y, h, 5)
        y[0] = 7.0
        return ys[-1][0] + ys[0][0]

    def at(first, second, h):
        return f([first, second], h)

    dy, dh = s2sad.grad(f, argnums=(0, 1))([1.0, 2.0], 0.1)
    e = 1e-6
    assert dy[0] == pytest.approx((at(1.0 + e, 2.0, 0.1) - at(1.0 - e, 2.0, 0.1)) / (2 * e), rel=1e-7)
    assert dy[1] == pytest.approx((at(1.0, 2.0 + e, 0.1) - at(1.0, 2.0 - e, 0.1)) / (2 * e), abs=1e-9)
    assert dh == pytest.approx((at(1.0, 2.0, 0.1 + e) - at(1.0, 2.0, 0.1 - e)) / (2 * e), rel=1e-7)
