"""Tangents cut in two: the primal once, then any tangent from what it kept; and transposes of linear functions."""

import numpy as np
import pytest

import s2sad
from s2sad import jvp, linear_transpose, linearize, vmap
from s2sad.errors import ArgumentError, NotDifferentiableError

X = np.array([0.3, -0.4, 1.2, 2.0])
A = np.random.default_rng(0).normal(size=(4, 4))


def squared_sine(x):
    s = np.sin(x)
    return s * s


def layer(w, x):
    h = np.tanh(w @ x)
    return np.sum(h * h)


def euler(x, n, h):
    a, b = x[0], x[1]
    for _ in range(n):
        a, b = a + h * b * x[1], b - h * np.sin(a)
    return a * b


def heat(u0, k):
    u = u0.copy()
    for _ in range(5):
        for i in range(1, u.size - 1):
            u[i] = u[i] + k * (u[i - 1] - 2 * u[i] + u[i + 1]) * u[i]
    return u


def newton(x):
    y = 1.0
    while abs(y * y - x) > 1e-9:
        y = 0.5 * (y + x / y)
    return y


def nested_while(x):
    total = 0.0
    for i in range(x.size):
        y = 1.0
        while abs(y * y - abs(x[i])) > 1e-6:
            y = 0.5 * (y + abs(x[i]) / y)
            total += y * x[i]
    return total


def branches(x):
    s = 0.0
    for i in range(x.size):
        if x[i] > 0:
            s += x[i] ** 2
        elif x[i] < -1:
            break
        else:
            s = s * x[i]
    if s > 3:
        return s * s
    return np.sin(s)


def early_return(x):
    for i in range(x.size):
        if x[i] > 1:
            return x[i] * x[0]
    return x[0] ** 2


def backwards(x):
    s = x[0]
    for i in range(x.size - 1, 0, -1):
        s = np.sin(s) * x[i]
    for i in range(3, 0, -2):
        s = s * s + x[i]
    return s


def triangle(x):
    s = 0.0
    for i in range(x.size):
        for j in range(i):
            s += np.sin(x[i] * s) * x[j]
    return s


def grown_list(x):
    hs = []
    for i in range(x.size):
        hs.append(x[i] * x[i])
    t = 0.0
    for h in hs:
        t += h * np.cos(h)
    return t


def written_views(a):
    b = a.copy()
    for i in range(a.shape[0]):
        row = b[i]
        row *= a[i]
        row[0] = row[1] * row[0]
    return b


def helper(x):
    if x > 1:
        return x * np.sin(x)
    return x * x


def with_helpers(x):
    s = 0.0
    for i in range(x.size):
        s += helper(x[i]) * helper(s)
    return s


def steps(w, x):
    for _ in range(3):
        x = np.tanh(w @ x)
    return x


def swapped_buffers(x):
    a, b = x.copy(), np.zeros_like(x)
    for _ in range(3):
        for i in range(x.size):
            b[i] = a[i] * np.sin(a[i - 1])
        a, b = b, a
    return a


def chosen(x):
    return np.sin(x) / x if x > 0.1 else x * x


def writes_its_argument(x):
    x[0] = x[1] * x[0]
    return np.sum(x * x)


def negated(x):
    total = 0.0
    for i in range(x.size):
        if not (x[i] > 0 or i == 2) and x[0] > 0:
            total += x[i] ** 2
    return total


def with_default(x, k=2.0, *rest):
    return k * x * x + sum(r * r for r in rest)


def structures(p, k):
    return {"y": p["w"] * k, "n": 3, "s": (np.sum(p["w"] ** 2), None)}


def numbered_twice(x):
    """One name for an index in two nests of loops, and a number that is there before the inner one."""
    y = np.zeros(4)
    for i in range(2):
        c = np.cos(x[i])
        for j in range(2):
            at = 2 * i + j
            y[at] = c * x[at] * x[at]
    total = 0.0
    for k in range(4):
        at = 3 - k
        if at > 0:
            total += y[at] * y[at - 1]
    return total


def index_of_the_turn_before(x):
    """The index is made of a name that has another value by the time it is used."""
    total, before = 0.0, 0
    for i in range(1, 4):
        at = before
        before = i
        total += x[at] * x[i] * x[i]
    at = before
    return total * x[at] * x[before]


def index_read_before_it_is_bound(x):
    total, at = 0.0, 3
    for i in range(4):
        total += x[at] ** 2 * x[i]
        at = i
    return total + x[at]


CASES = [
    (numbered_twice, (X,)), (index_of_the_turn_before, (X,)), (index_read_before_it_is_bound, (X,)),
    (squared_sine, (X,)), (layer, (A, X)), (euler, (X, 4, 0.1)), (heat, (X, 0.1)), (newton, (2.0,)),
    (nested_while, (X,)), (branches, (X,)), (branches, (-X - 0.1,)), (early_return, (X,)), (backwards, (X,)),
    (triangle, (X,)), (grown_list, (X,)), (written_views, (A,)), (with_helpers, (X,)), (steps, (A, X)),
    (swapped_buffers, (X,)), (chosen, (0.5,)), (chosen, (-0.5,)), (writes_its_argument, (X,)),
    (structures, ({"w": X}, 2.0)), (np.hypot, (3.0, 4.0)), (negated, (X,)),
    (with_default, (X,)), (with_default, (X, 3.0, 1.0, 2.0)),
]  # fmt: skip


def random_tangent(value, rng):
    if isinstance(value, dict):
        return {key: random_tangent(item, rng) for key, item in value.items()}
    if isinstance(value, int):
        return None
    return rng.normal(size=np.shape(value)) if np.shape(value) else float(rng.normal())


def same(a, b):
    if isinstance(a, dict | tuple):
        assert type(a) is type(b)
        assert len(a) == len(b)
        parts = (a.values(), b.values()) if isinstance(a, dict) else (a, b)
        for x, y in zip(*parts, strict=True):
            same(x, y)
    elif a is None or b is None:
        assert a is b
    else:
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("fun", "args"), CASES, ids=lambda c: getattr(c, "__name__", ""))
def test_the_linear_map_is_the_tangent(fun, args):
    given = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
    out, push = linearize(fun, *given, target="python")
    assert type(push).__name__ == "Linearized"
    rng = np.random.default_rng(1)
    for _ in range(2):
        tangents = tuple(random_tangent(value, rng) for value in args)
        expected, expected_dot = jvp(fun, args, tangents, target="python")
        same(out, expected)
        same(push(*tangents), expected_dot)
    for a, b in zip(given, args, strict=True):
        np.testing.assert_array_equal(a, b) if isinstance(a, np.ndarray) else None


COMPILED = [CASES[k] for k in (0, 1, 2, 6, 8, 15)]


@pytest.mark.parametrize(("fun", "args"), COMPILED, ids=lambda c: getattr(c, "__name__", ""))
def test_compiled_linear_maps_agree(fun, args):
    _, push = linearize(fun, *args, target="cpu")
    tangents = tuple(random_tangent(value, np.random.default_rng(2)) for value in args)
    same(push(*tangents), jvp(fun, args, tangents, target="python")[1])


def test_indices_are_worked_out_again():
    f = s2sad.jacfwd(numbered_twice, target="cpu")
    f(X)
    (text,) = (plan.entry.derivative.text for _, plan in f.store.known())
    assert "int64" not in text
    assert "np.empty((2, 2))" in text  # what was read of y
    assert "c_tape = np.empty(2)" in text


def test_the_primal_is_not_run_again():
    x = X.copy()
    _, push = linearize(np.exp, x, target="python")
    x[:] = 100.0
    np.testing.assert_allclose(push(np.ones(4)), np.exp(X))
    assert "np.exp" not in push._special.push.entry.derivative.text


def test_none_is_a_zero_tangent_and_misfits_are_named():
    _, push = linearize(layer, A, X, target="python")
    same(push(None, X), jvp(layer, (A, X), (None, X), target="python")[1])
    with pytest.raises(ArgumentError, match=r"the tangent of `x` does not fit.*shape \(4,\)"):
        push(None, np.ones(3))
    with pytest.raises(ArgumentError, match="2 tangents are needed, 1 were given"):
        push(A)


def recursive(x, n):
    if n == 0:
        return x
    return np.sin(recursive(x, n - 1)) * x


def test_a_recursive_function_runs_again():
    out, push = linearize(recursive, 0.5, 2, target="python")
    np.testing.assert_allclose((out, push(1.0, None)), jvp(recursive, (0.5, 2), (1.0, None), target="python"))


def with_aux(x):
    return (x * x, 3.0 * x), {"x": x}


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_auxiliary_outputs_are_only_passed_on(target):
    out, push, aux = linearize(with_aux, 0.5, has_aux=True, target=target)
    assert (out, push(1.0), aux) == ((0.25, 1.5), (1.0, 3.0), {"x": 0.5})
    assert jvp(with_aux, (0.5,), (1.0,), has_aux=True, target=target) == ((0.25, 1.5), (1.0, 3.0), {"x": 0.5})
    out, pullback, aux = s2sad.vjp(with_aux, 0.5, has_aux=True, target=target)
    assert (out, pullback((1.0, 2.0)), aux) == ((0.25, 1.5), (7.0,), {"x": 0.5})


def test_a_linear_map_over_a_batch_is_the_jacobian():
    _, push = linearize(squared_sine, X, target="python")
    np.testing.assert_allclose(vmap(push)(np.eye(4)), np.diag(np.sin(2 * X)))
    np.testing.assert_allclose(vmap(push, out_axes=-1)(np.eye(4)[:2]), np.diag(np.sin(2 * X))[:, :2])


def of_an_array_outside(x):
    return np.tanh(A @ x)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_the_linear_map_of_a_function_that_reads_an_array_outside(target):
    """What the function reads is kept at the point; the map takes tangents alone."""
    _, push = linearize(of_an_array_outside, X, target=target)
    want = s2sad.jacfwd(of_an_array_outside, target="python")(X)
    np.testing.assert_allclose(push(X), want @ X)
    np.testing.assert_allclose(vmap(push)(np.eye(4)), want.T)


# ---- transposes ----


def summed(x):
    y = A @ x
    z = np.zeros(5)
    for i in range(4):
        z[i + 1] = z[i] + 2 * y[i]
    return {"z": z, "s": np.sum(x) * x.size}


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_transpose_of_a_linear_function(target):
    transposed = linear_transpose(summed, X, target=target)
    z_bar = np.arange(5.0)
    jacobian = s2sad.jacfwd(summed, target="python")(X)
    (got,) = transposed({"z": z_bar, "s": 2.0})
    np.testing.assert_allclose(got, jacobian["z"].T @ z_bar + 2.0 * jacobian["s"])


@pytest.mark.parametrize(
    ("fun", "why"),
    [
        (lambda x: x * x, "its derivative depends on the point"),
        (lambda x: x + 1.0, "it takes zero to something else, in `output`"),
        (lambda x: x if x[0] > 0 else 2 * x, "its derivative depends on the point"),
        (lambda x: np.where(x > 0, x, 0.0), "its derivative depends on the point"),
        (lambda x: abs(x), "its derivative depends on the point"),
        (lambda x: x * x[0], "its derivative depends on the point"),
        (lambda x: x + np.floor(x), "its derivative leaves out steps"),
        (lambda x: x + np.sign(x[0]), "its derivative leaves out steps"),
    ],
)
def test_what_is_not_linear_is_refused(fun, why):
    with pytest.raises(NotDifferentiableError, match=why):
        linear_transpose(fun, X, target="python")


def scaled_both(x, n, pair):
    a, b = pair
    return {"z": n * x + a, "w": [np.float32(2.0) * b, x[::-1] * 1j]}


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_linear_function_of_structures_and_kinds_is_no_step(target):
    turned = linear_transpose(lambda x, pair: scaled_both(x, 3, pair), X, (X, np.float32(1.0)), target=target)
    x_bar, (a_bar, b_bar) = turned({"z": np.ones(4), "w": [np.float32(1.0), np.ones(4) * 1j]})
    np.testing.assert_allclose(x_bar, np.full(4, 2.0))
    np.testing.assert_allclose(a_bar, np.ones(4))
    assert b_bar == 2.0


def test_only_the_shape_of_the_point_counts():
    (got,) = linear_transpose(lambda x: x * x.size, X, target="python")(np.ones(4))
    np.testing.assert_allclose(got, 4.0)


def test_a_function_that_writes_into_an_argument_beside_whole_numbers():
    def written(places, y, b):
        b[0] = y[places[0]]
        return y * b

    y, b, dot = np.array([0.2, 0.9]), np.array([0.5, 1.0]), np.array([1.0, 2.0])
    args = (np.array([1, 0]), y, b)
    _, push = s2sad.linearize(written, *args)
    expected = s2sad.jvp(written, args, (None, dot, dot))[1]
    np.testing.assert_allclose(push(None, dot, dot), expected)  # one array for two tangents, which are only read
