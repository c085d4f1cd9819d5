"""Calls as people write them: positional `out`, arrays for lists of parts, texts of numbers, functions by a setting."""

from __future__ import annotations

import bisect
import functools
import math

import numpy as np
import pytest

import s2sad

A = np.random.default_rng(0).normal(size=(3, 4))
XS = np.array([0.0, 0.5, 1.0])


def filled(shape, call):
    """Return a program that lets a call fill an array, whose squares are summed."""

    def program(x):
        o = np.zeros(shape)
        call(x, o)
        return np.sum(o**2)

    return program


def in_parts(x):
    a, b = np.zeros(4), np.zeros(4)
    np.modf(3 * x[0], out=(a, b))
    c, d = np.zeros(4), np.zeros(4)
    np.modf(3 * x[1], c, d)
    q, _ = np.modf(3 * x[2], out=(None, d))
    return np.sum(a**2 + b * c + d * q)


def rbf(r, t):
    return math.exp(-r * r / t)


def chosen(kind):
    if kind == "a":
        return lambda r, t: t * r
    if kind == "b":
        return rbf
    return lambda r, t: t * r * r


def bound(kind):
    if kind == "a":
        f = lambda r, t: t * r
    else:
        f = lambda r, t: t * r * r
    return f


def compose(*fs):
    return functools.reduce(lambda f, g: lambda v: f(g(v)), fs)


def by_text(x):
    total = 0.0
    for token in "0 1 2".split():
        total += x[0, int(token)] ** 2
    for name in ("H2", "C1"):
        total += x[1, int(name[1:])] ** 2
    return total * float("1.5")


def by_place(x):
    i = bisect.bisect_right(XS, abs(x[0, 0])) - 1
    j = bisect.bisect_left([0.0, 0.5], abs(x[0, 1]))
    return x[0, 0] ** 2 * (i + 2) + x[1, 1] * j


def unfilled(x):
    y = np.empty_like(x, shape=(2, 2))
    y[:] = x[:2, :2]
    return np.sum(y * y)


def named(x, act=np.tanh, other=None):
    y = act(x) if callable(act) else x
    return np.sum(other(y) if callable(other) else y * (1.0 if hasattr(x, "shape") else 2.0))


PROGRAMS = {
    "dot": filled((3, 3), lambda x, o: np.dot(x, x.T, o)),
    "dot of an array": filled((3, 3), lambda x, o: x.dot(x.T, o)),
    "outer": filled((4, 4), lambda x, o: np.outer(x[0], x[1], o)),
    "median": filled(4, lambda x, o: np.median(x, 0, o)),
    "percentile": filled(4, lambda x, o: np.percentile(x, 30, 0, o)),
    "sum": filled(4, lambda x, o: np.sum(x, 0, None, o)),
    "sum of an array": filled(4, lambda x, o: x.sum(0, None, o)),
    "max": filled(4, lambda x, o: np.max(x, 0, o)),
    "clip": filled((3, 4), lambda x, o: x.clip(0, 1, o)),
    "concatenate": filled(8, lambda x, o: np.concatenate((x[0], x[1]), 0, o)),
    "stack": filled((2, 4), lambda x, o: np.stack((x[0], x[1]), 0, o)),
    "cumsum": filled((3, 4), lambda x, o: np.cumsum(x, 0, None, o)),
    "modf": in_parts,
    "positional": lambda x: np.sum(np.mean(x, 0, None, None, True) ** 2) + np.sum(np.std(x, 0, None, None, 0, True)),
    "parts": lambda x: np.sum(np.concatenate(x.reshape(3, 2, 2)) ** 2) + np.sum(np.vstack(x.reshape(3, 2, 2))[1] ** 2),
    "more parts": lambda x: np.sum(np.hstack(x)[2:5] ** 2) + np.sum(np.stack(x, 1)[1] ** 2)
    + np.sum(np.column_stack(x)[1] ** 2) + np.sum(np.dstack(x.reshape(3, 2, 2))[0] ** 2),
    "roll": lambda x: np.sum(np.roll(x, [1, 2], axis=[0, 1])[0] ** 2),
    "trapezoid": lambda x: np.trapezoid(x[0] ** 2, x=[0, 1, 3.0, 4]),
    "grids": lambda x: np.sum(np.mgrid[0:1:0.25] * x[0]) + np.sum(np.mgrid[0:1:4j] * x[1] ** 2),
    "texts": by_text,
    "places": by_place,
    "solve": lambda x: np.sum(np.linalg.solve(x[:, :3] + 4.0 * np.eye(3), np.array([1, 2, 3]))),
    "dtype": lambda x: np.sum(np.mean(x, axis=1, dtype=np.float64) ** 2),
    "unfilled": unfilled,
    "order": lambda x: np.sum(x[np.lexsort((x[:, 1], x[:, 0]))][0] ** 2),
    "sum of lists": lambda x: math.prod(sum([[x[0, 0]], [x[1, 1] ** 2]], [])),  # noqa: RUF017
    "tuple": lambda x: np.sum(x[(0, 2),] ** 2),
    "block": lambda x: np.sum(np.block([[[x]], [[x * 2]]])[1] ** 2) + np.sum(np.block([[x, x * 2], [x**2, x]])[1:, 2:]),
    "deep block": lambda x: np.sum(np.block([[[x, x * 2], [x, x**2]], [[x, x], [x, x]]])[0] ** 2)
    + np.sum(np.sin(np.block(x))[0]),
    "chosen": lambda x: sum(chosen(kind)(x[0, 0], 2.0 + x[0, 1]) for kind in ("a", "b", "c")),
    "bound": lambda x: bound("a")(x[0, 0], x[0, 1]) + bound("b")(x[0, 0], x[0, 1]),
    "composed": lambda x: compose(np.sin, np.exp, lambda v: v * x[1, 1])(x[0, 0]),
    "callable": lambda x: named(x) + named(x, None) + named(x, np.sin, lambda v: v * x[0, 0]),
    "meshgrid": lambda x: np.sum(np.meshgrid(x[0], x[1], copy=False)[0] * np.meshgrid(x[0], x[1], copy=False)[1] ** 2),
}  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_is_what_numpy_does(name, target):
    program = PROGRAMS[name]
    steps = [1e-6 * np.eye(12)[k].reshape(3, 4) for k in range(12)]
    expected = np.array([(program(A + e) - program(A - e)) / 2e-6 for e in steps]).reshape(3, 4)
    value, slope = s2sad.value_and_grad(program, target=target)(A)
    np.testing.assert_allclose(value, program(A), rtol=1e-12)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-8)
    _, along = s2sad.jvp(program, (A,), (A,), target=target)
    np.testing.assert_allclose(along, np.sum(expected * A), rtol=1e-6, atol=1e-8)


def through_a_view(x):
    y = x[:, :3] * 2
    np.einsum("ii->i", y)[:] = 0.0
    return np.sum(y * y)


def into_a_copy(x):
    y = x * 2
    np.copy(y)[0] = 5.0
    return np.sum(y)


def by_source(x):
    y = x[0] * 1.0
    first, second = np.meshgrid(y, y, copy=False)
    y[0] = x[1, 1]
    return np.sum(first * second)


@pytest.mark.parametrize(("program", "what"), [
    (through_a_view, "may share its memory"),
    (into_a_copy, "this writes into a copy"),
    (by_source, "may share its memory"),
    (filled((3, 4), lambda x, o: np.sum(x, 0, None, o)), "has a result of rank 1"),
    (lambda x: np.sum(np.add(x[0], x[1], out=np.zeros(4, int))) * 1.0, "which `out` of dtype int64 cannot hold"),
    (lambda x: np.percentile(x, 120.0), r"must be in the range \[0, 100\]"),
    (lambda x: np.sum(np.diff(x, -1)), "a negative number of times"),
    (lambda x: np.sum(np.meshgrid(x[0], x[1], indexing="zz")[0]), "knows the orders"),
    (lambda x: min() * x[0, 0], "called with too few arguments"),
])  # fmt: skip
def test_mistakes_are_refused(program, what):
    with pytest.raises((s2sad.S2SADError, ValueError), match=what):
        s2sad.grad(program, target="python")(A)
