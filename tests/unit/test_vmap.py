"""`vmap` means stacking the calls: one loop in a program of its own, which transforms go through."""

import collections
import pickle
import threading

import numpy as np
import pytest

import s2sad
from s2sad import grad, jacfwd, jvp, vjp, vmap
from s2sad.api import threads
from s2sad.api.mapped import mapped
from s2sad.api.vmap import store_of
from s2sad.errors import ArgumentError, NotDifferentiableError

XS = np.arange(1.0, 5.0)
ROWS = np.random.default_rng(0).normal(size=(4, 3))
M = np.random.default_rng(1).normal(size=(2, 3))
Pair = collections.namedtuple("Pair", "a b")


def square(x):
    return x * x


def layer(x, w):
    return np.tanh(w @ x)


def product(a, b):
    return a * b


def repeated(x):
    s = 0.0
    while s < x:
        s += 1.0
    if x > 2:
        return s * x
    return x


def grown(x):
    return np.concatenate((x, x[x > 0] * 0.0 + np.sum(x), np.zeros(3)))[:4]


def cut(x, n):
    return x[:n] * 2.0


def structured(p, k=2.0):
    return {"a": p["w"] * k, "n": (np.sum(p["w"]), "kept"), "i": 3}


@s2sad.custom_vjp
def tripled(x):
    return 2.0 * x


tripled.defvjp(lambda x: (tripled(x), None), lambda _, x_bar: (3.0 * x_bar,))

CASES = [
    (square, (XS,), 0, 0), (layer, (ROWS, M), (0, None), 0), (layer, (ROWS.T, M), (-1, None), 1),
    (product, (XS, ROWS), (0, 0), -1), (product, (XS, 2.0), (0, None), 0), (repeated, (XS,), 0, 0),
    (cut, (ROWS, 2), (0, None), 0), (structured, ({"w": ROWS},), 0, {"a": 1, "n": 0, "i": 0}),
    (square, (ROWS,), 1, 1), (np.tanh, (XS,), 0, 0), (grad(square), (XS,), 0, 0), (tripled, (XS,), 0, 0),
    (square, (XS.astype(np.float32),), 0, 0), (square, (np.arange(4),), 0, 0), (lambda x: x > 2, (XS,), 0, 0),
    (product, (XS[:1], ROWS[:1]), 0, 0), (square, (ROWS[:, ::2],), 0, 0), (square, (XS * 1j,), 0, 0),
]  # fmt: skip


def stacked(fun, args, in_axes, out_axes):
    """What `vmap` means, by calls of the function in CPython."""
    axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)

    def at(value, axis, i):
        if axis is None:
            return value
        if isinstance(value, dict):
            return {k: at(v, axis, i) for k, v in value.items()}
        return np.take(value, i, axis)

    first = next(a for a, axis in zip(args, axes, strict=True) if axis is not None)
    length = np.shape(first["w"] if isinstance(first, dict) else first)[next(a for a in axes if a is not None)]
    results = [fun(*(at(a, axis, i) for a, axis in zip(args, axes, strict=True))) for i in range(length)]

    def stack(values, axis):
        if isinstance(values[0], dict):
            return {k: stack([v[k] for v in values], axis[k] if isinstance(axis, dict) else axis) for k in values[0]}
        if isinstance(values[0], tuple):
            return tuple(stack([v[i] for v in values], axis) for i in range(len(values[0])))
        return values[0] if isinstance(values[0], str) else np.stack(values, axis)

    return stack(results, out_axes)


def same(a, b):
    if isinstance(b, dict):
        assert list(a) == list(b)
        for key in b:
            same(a[key], b[key])
    elif isinstance(b, tuple):
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(b, str):
        assert a == b
    else:
        np.testing.assert_allclose(a, b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)


@pytest.mark.parametrize(("fun", "args", "in_axes", "out_axes"), CASES)
def test_vmap_is_stacking_the_calls(fun, args, in_axes, out_axes):
    same(vmap(fun, in_axes, out_axes, target="python")(*args), stacked(fun, args, in_axes, out_axes))


@pytest.mark.parametrize(("fun", "args", "in_axes", "out_axes"), [CASES[2], CASES[5], CASES[6], CASES[7]])
def test_compiled(fun, args, in_axes, out_axes):
    same(vmap(fun, in_axes, out_axes, target="cpu")(*args), stacked(fun, args, in_axes, out_axes))


def turned(x, w):
    return np.cos(x) * w[0]


def test_it_is_one_loop_that_reads_well():
    vmap(turned, (0, None), target="python")(ROWS, M)
    store = store_of(mapped(turned, (0, None), 0), "python", False)
    text = store.known()[-1][1].plan.entry.derivative.text
    says = '    """`turned`, one element of the batch after the other."""\n'
    start = "    count = x.shape[0]\n    result = np.empty((count, x.shape[1]))\n"
    assert f"def turned_vmap(x, w):\n{says}{start}" in text


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_custom_rule_stays(target):
    expected = np.full(4, 3.0)
    np.testing.assert_array_equal(vmap(grad(tripled), target=target)(XS), expected)
    np.testing.assert_array_equal(grad(lambda xs: np.sum(vmap(tripled)(xs)), target=target)(XS), expected)
    np.testing.assert_array_equal(vjp(vmap(tripled), XS, target=target)[1](np.ones(4))[0], expected)


def test_transforms_go_through():
    bars = np.random.default_rng(2).normal(size=(4, 2))
    rows = vmap(layer, (0, None), target="python")
    expected = (1 - np.tanh(ROWS @ M.T) ** 2) * bars
    x_bar, w_bar = vjp(rows, ROWS, M, target="python")[1](bars)
    np.testing.assert_allclose(x_bar, expected @ M)
    np.testing.assert_allclose(w_bar, expected.T @ ROWS)
    dots = np.random.default_rng(3).normal(size=ROWS.shape)
    pushed = jvp(rows, (ROWS, M), (dots, None), target="python")[1]
    np.testing.assert_allclose(pushed, (1 - np.tanh(ROWS @ M.T) ** 2) * (dots @ M.T))
    second = grad(lambda x: np.sum(vmap(grad(lambda y: y**3))(x)), target="python")(XS)
    np.testing.assert_allclose(second, 6 * XS)
    blocks = jacfwd(vmap(square), target="python")(XS)
    np.testing.assert_allclose(blocks, np.diag(2 * XS))


def test_maps_of_maps_and_of_derivatives():
    table = vmap(vmap(product, (None, 0)), (0, None), target="python")(XS, XS[:3])
    np.testing.assert_allclose(table, np.outer(XS, XS[:3]))
    per_row = vmap(grad(lambda x: np.sum(np.sin(x) * x)), target="python")(ROWS)
    np.testing.assert_allclose(per_row, np.sin(ROWS) + ROWS * np.cos(ROWS))
    hessians = vmap(s2sad.hessian(lambda x: np.sum(x**3)), target="python")(ROWS)
    np.testing.assert_allclose(hessians, 6 * ROWS[:, :, None] * np.eye(3), atol=1e-14)


def test_structures_of_axes():
    def scaled(p, q):
        return Pair(p.a * q["k"], (p.b, q["k"]))

    out = vmap(scaled, (Pair(1, None), {"k": 0}), Pair(0, (None, 0)), target="python")(
        Pair(ROWS.T, 7.0), {"k": XS}
    )  # fmt: skip
    assert isinstance(out, Pair)
    np.testing.assert_allclose(out.a, ROWS * XS[:, None])
    assert out.b[0] == 7.0
    np.testing.assert_allclose(out.b[1], XS)


def test_defaults_keywords_and_variadic_arguments():
    assert vmap(structured, target="python")({"w": ROWS})["a"].shape == (4, 3)
    np.testing.assert_allclose(vmap(structured, target="python")({"w": ROWS}, k=XS)["a"], ROWS * XS[:, None])

    def summed(*xs):
        return xs[0] + 10 * xs[1]

    np.testing.assert_allclose(vmap(summed, target="python")(XS, XS), 11 * XS)
    np.testing.assert_allclose(vmap(summed, (0, None), target="python")(XS, 1.0), XS + 10)


def test_pullbacks_over_a_batch_of_cotangents():
    _, pullback = vjp(layer, ROWS[0], M, target="python")
    bars = np.random.default_rng(4).normal(size=(5, 2))
    x_bar, w_bar = vmap(pullback)(bars)
    slope = (1 - np.tanh(M @ ROWS[0]) ** 2) * bars
    np.testing.assert_allclose(x_bar, slope @ M)
    np.testing.assert_allclose(w_bar, slope[:, :, None] * ROWS[0])
    (again,) = np.broadcast_arrays(vmap(pullback, 1, (1, 0))(bars.T)[0])
    np.testing.assert_allclose(again, x_bar.T)
    np.testing.assert_allclose(pullback(bars[0])[0], x_bar[0])
    with pytest.raises(ArgumentError, match="does not fit: expected dtype float64 and rank 2, got a float32 array"):
        vmap(pullback)(bars.astype(np.float32))


def test_pullbacks_of_loops_are_not_used_up():
    _, pullback = vjp(repeated, 2.5, target="python")
    np.testing.assert_allclose(vmap(pullback)(XS)[0], 3.0 * XS)
    np.testing.assert_allclose(vmap(pullback)(XS)[0], 3.0 * XS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vmap(product)(XS, ROWS.T), "`a` has 4 along axis 0, `b` has 3 along axis 0"),
        (lambda: vmap(product, (0, 1))(XS, M), "`a` has 4 along axis 0, `b` has 3 along axis 1"),
        (lambda: vmap(product, (0,))(XS, XS), "in_axes for 1 arguments but was given 2"),
        (lambda: vmap(product, None)(XS, XS), "Every in_axes is None"),
        (lambda: vmap(product)(XS, 2.0), "`b` has no axis 0 to be mapped over: its rank is 0"),
        (lambda: vmap(square, 2)(ROWS), "`x` has no axis 2"),
        (lambda: vmap(square)(XS[:0]), "a batch of length 0: `x` has nothing along axis 0"),
        (lambda: vmap(square, 0, 2)(XS), "out_axes 2 is out of range: `result` has rank 1"),
        (lambda: vmap(square, 0, None)(XS), "out_axes is None for `result` of `square`, which differs"),
        (lambda: vmap(square, "x")(XS), "in_axes of `x` must be an int"),
        (lambda: vmap(structured, ({"v": 0},))({"w": ROWS}), r"in_axes of `p` must be an int"),
        (lambda: vmap(3.0), "a function is needed"),
    ],
)
def test_misfits_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def test_lists_are_refused_with_the_way_out():
    def listed(x):
        found = []
        for i in range(3):
            found.append(x * i)
        return found

    with pytest.raises(NotDifferentiableError, match=r"Return `np.array\(...\)` of it"):
        vmap(listed, target="python")(XS)


@pytest.mark.parametrize(
    ("fun", "args", "in_axes", "out_axes"),
    [
        (product, (np.arange(7.0), np.arange(14.0).reshape(7, 2)), (0, 0), -1),
        (structured, ({"w": np.arange(14.0).reshape(7, 2)},), 0, {"a": 1, "n": 0, "i": 0}),
        (grad(square), (np.arange(7.0),), 0, 0),
        (square, (np.arange(14.0).reshape(2, 7),), 1, 1),
        (square, (np.arange(14.0).reshape(2, 7).T,), 0, 0),
        (tripled, (np.arange(3.0),), 0, 0),
    ],
)
def test_a_batch_shared_between_threads(fun, args, in_axes, out_axes, monkeypatch):
    """The parts, put together, are what one loop gives; a batch too small for two threads is one part."""
    ran = []
    run = threads.Plan.run

    def counted(plan, leaves):
        ran.append(threading.get_ident())
        return run(plan, leaves)

    monkeypatch.setattr(threads, "_threads", lambda: 3)
    monkeypatch.setattr(threads.Plan, "run", counted)
    same(vmap(fun, in_axes, out_axes, parallel=True)(*args), vmap(fun, in_axes, out_axes)(*args))
    parts = 1 if fun is tripled else 3
    assert len(ran) == parts + 1


def test_what_parallel_changes_and_what_not():
    """The option is part of the map; CPython and inner maps take no notice of it."""
    mapped = vmap(square, parallel=True)
    assert mapped != vmap(square)
    assert pickle.loads(pickle.dumps(mapped)) == mapped
    np.testing.assert_array_equal(vmap(square, parallel=True, target="python")(XS), square(XS))
    np.testing.assert_array_equal(grad(lambda x: np.sum(vmap(square, parallel=True)(x)))(XS), 2 * XS)
    with pytest.raises(ArgumentError, match="one length"):
        vmap(product, parallel=True)(np.ones(8), np.ones(9))
