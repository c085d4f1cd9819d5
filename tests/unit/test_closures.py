"""Functions made anew at every call are derived once, and each reads its own arrays."""

import numpy as np
import pytest

import s2sad
from s2sad.api import derive as pipeline

RNG = np.random.default_rng(0)
W = np.array([0.3, -0.7, 1.1])
TABLE = RNG.normal(size=(4, 3))
SCALE = 1.0


def loss(w, data):
    return np.sum(np.tanh(data @ w) ** 2)


def of_an_array(data):
    return lambda w: loss(w, data)


def of_an_array_and_a_number(data, c):
    return lambda w: c * loss(w, data)


def of_inner_functions(data):
    def model(w):
        return np.tanh(data @ w)

    def squares(w):
        return np.sum(model(w) ** 2)

    return squares


def of_two_arrays(a, b):
    return lambda w: np.sum(np.sin(a @ w)) + np.sum(b @ w * w[0])


def of_a_dictionary(p):
    return lambda w: np.sum(np.sin(p["a"] @ w) * p["c"])


def of_an_array_and_a_global_one(data):
    return lambda w: loss(w, data) + np.sum(TABLE @ w * w[1])


def scaled_by_a_global(data):
    return lambda w: SCALE * loss(w, data)


def data(rows=4):
    return RNG.normal(size=(rows, 3))


def differences(f):
    steps = 1e-6 * np.eye(3)
    return np.array([(f(W + step) - f(W - step)) / 2e-6 for step in steps])


def check(f):
    gradient = s2sad.grad(f)
    np.testing.assert_allclose(gradient(W), differences(f), rtol=1e-6, atol=1e-8)
    return gradient


@pytest.fixture
def derivations(monkeypatch):
    made = []
    derive = pipeline.derive

    def counted(fun, *args):
        made.append(fun)
        return derive(fun, *args)

    monkeypatch.setattr(pipeline, "derive", counted)
    return made


@pytest.mark.parametrize("make", [of_an_array, of_inner_functions, of_an_array_and_a_global_one])
def test_one_derivation_for_all(make, derivations):
    held = [(check(f), f) for f in (make(data(rows)) for rows in (4, 5, 6, 4))]
    assert len(derivations) == 1
    for gradient, f in held:
        np.testing.assert_allclose(gradient(W), differences(f), rtol=1e-6, atol=1e-8)


def test_without_a_cell(derivations):
    for _ in range(3):
        check(lambda w: np.sum(w**3))
    assert len(derivations) == 1


def test_arrays_in_a_dictionary(derivations):
    for rows in (4, 5, 6):
        check(of_a_dictionary({"a": data(rows), "c": 0.5}))
    assert len(derivations) == 1


def test_other_numbers_and_other_layouts_are_derived_anew():
    for c in (0.5, 2.0, 0.5):
        check(of_an_array_and_a_number(data(), c))
    for array in (np.asfortranarray(data()), data(8)[::2], data(1), data()):
        check(of_an_array(array))


def test_one_array_in_two_cells():
    a, b = data(), data()
    for pair in ((a, a), (a, b), (b, a), (b, b)):
        check(of_two_arrays(*pair))
    for array in (TABLE, a, TABLE):
        check(of_an_array_and_a_global_one(array))


def test_what_is_read_elsewhere_may_change(monkeypatch):
    for scale in (1.0, 3.0, 1.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        check(scaled_by_a_global(data()))


def test_a_cell_bound_anew():
    array = data()
    f = lambda w: loss(w, array)
    first, second = check(f), check(lambda w: loss(w, array))
    array = data(6)
    for gradient in (first, second):
        np.testing.assert_allclose(gradient(W), differences(f), rtol=1e-6, atol=1e-8)


def test_pullbacks_keep_their_own_arrays():
    bars = []
    for array in (data(), data()):
        y, pullback = s2sad.vjp(of_an_array(array), W)
        bars.append((pullback, differences(of_an_array(array))))
        np.testing.assert_allclose(y, loss(W, array))
    for pullback, expected in bars:
        np.testing.assert_allclose(pullback(1.0)[0], expected, rtol=1e-6, atol=1e-8)
