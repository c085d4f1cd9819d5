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


def jacobian_rows(f):
    return s2sad.jacrev(f, target="python")(W)


def jacobian_columns(f):
    return s2sad.jacfwd(f, target="python")(W)


def mapped_pullback(f):
    _, pullback = s2sad.vjp(f, W, target="python")
    return s2sad.vmap(pullback, target="python")(np.eye(4))[0]


def mapped_linear_map(f):
    _, push = s2sad.linearize(f, W, target="python")
    return s2sad.vmap(push, target="python")(np.eye(3)).T


def mapped_tangents(f):
    return s2sad.vmap(lambda s: s2sad.jvp(f, (W,), (s,))[1], target="python")(np.eye(3)).T


def mapped_gradients(f):
    picked = s2sad.vmap(s2sad.grad(lambda w, row: f(w) @ row), in_axes=(None, 0), target="python")
    return picked(W, np.eye(4))


@pytest.mark.parametrize(
    "jacobian",
    [jacobian_rows, jacobian_columns, mapped_pullback, mapped_linear_map, mapped_tangents, mapped_gradients],
)
def test_transforms_of_them_are_derived_once(jacobian, derivations):
    """Jacobians and maps of functions made anew read each function's own arrays."""
    counts = []
    for _ in range(3):
        a = data()
        found = jacobian((lambda a: lambda w: np.tanh(a @ w))(a))
        np.testing.assert_allclose(found, (1 - np.tanh(a @ W) ** 2)[:, None] * a, rtol=1e-12)
        counts.append(len(derivations))
    assert counts[0] > 0
    assert counts[1:] == [counts[0]] * 2


def test_second_derivatives_of_them_are_derived_once(derivations):
    counts = []
    for _ in range(3):
        f = of_an_array(data())
        H = s2sad.hessian(f, target="python")(W)
        product = s2sad.hvp(f, (W,), (np.array([1.0, 2.0, 3.0]),), target="python")
        np.testing.assert_allclose(product, H @ [1.0, 2.0, 3.0], rtol=1e-12)
        steps = 1e-6 * np.eye(3)
        slope = s2sad.grad(f, target="python")
        expected = [(slope(W + step) - slope(W - step)) / 2e-6 for step in steps]
        np.testing.assert_allclose(H, expected, rtol=1e-6, atol=1e-8)
        counts.append(len(derivations))
    assert counts[1:] == [counts[0]] * 2


def test_transforms_with_other_options_are_others():
    """What a transform is made of is part of what is looked for."""
    a = data()

    def made(a):
        return lambda w, v: np.sum(np.tanh(a @ w) * 2.0) * v[0]

    for argnums, expected in ((0, 2 * (1 - np.tanh(a @ W) ** 2) @ a), (1, [2 * np.sum(np.tanh(a @ W)), 0.0, 0.0])):
        v = np.array([1.0, 0.0, 0.0])
        np.testing.assert_allclose(s2sad.jacrev(made(a), argnums, target="python")(W, v), expected, rtol=1e-12)
        np.testing.assert_allclose(s2sad.jacfwd(made(a), argnums, target="python")(W, v), expected, rtol=1e-12)
        inner = s2sad.grad(made(a), argnums)
        np.testing.assert_allclose(
            s2sad.vmap(inner, in_axes=(0, None), target="python")(np.stack([W, W]), v), [expected] * 2, rtol=1e-12
        )
    xs = data()
    for axis in (0, 1):
        found = s2sad.vmap((lambda a: lambda x: np.sum(a) * np.sum(x))(a), in_axes=axis, target="python")(xs)
        np.testing.assert_allclose(found, np.sum(a) * np.sum(xs, axis=1 - axis), rtol=1e-12)
