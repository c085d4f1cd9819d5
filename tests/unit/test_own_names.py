"""An inner function's own names are its own, also where the function around has names like them."""

from __future__ import annotations

import itertools
import linecache

import gast
import numpy as np
import pytest

import s2sad
from s2sad.frontend.inline import dynamic_lists
from s2sad.frontend.scopes import free_names
from s2sad.frontend.source import source_of
from tests.differences import assert_derivatives

X = np.array([0.32, -1.23, 0.77, 2.13, -0.46])


def of_a_loop(x):
    def first_above(i):
        for k in range(2):
            if x[k] > 0.1 * i:
                return k * x[i]
        return 9.0

    total = 0.0
    for i in range(5):
        k = first_above(i)
        total += x[i] * k
    return total


def of_an_array(x):
    def end(a):
        z = a[1:]
        if z[0] > 0:
            return z.sum()
        z[0] = a[0] ** 2
        return z[-1]

    z = x.copy()
    total = 0.0
    for _ in range(2):
        total += end(z) * z[1]
    return total


def of_a_comprehension(x):
    def chosen(a):
        if a > 1.0:
            return sum(k * a for k in (1.0, 2.0))
        if (t := a * a) > 0.5:
            return t
        return a

    total = 0.0
    for v in x:
        t = chosen(v)
        for k in range(2):
            total += t * t * k
    return total


def of_the_function_around(x):
    scale = x[0]

    def scaled(a):
        if a > 0.5:
            return a * scale
        return a * a * scale

    total = 0.0
    for v in x:
        total += scaled(v)
        scale = scale + 0.5 * v
    return total


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [of_a_loop, of_an_array, of_a_comprehension, of_the_function_around])
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)
    x_dot = np.cos(X)
    _, out_dot = s2sad.jvp(fun, (X,), (x_dot,), target=target)
    np.testing.assert_allclose(out_dot, s2sad.grad(fun, target=target)(X) @ x_dot, rtol=1e-10)


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("def f(a, *b, c=d, **e): return a + b + c + e + g", "g"),
        ("def f(a):\n for k in h(a):\n  z = k\n return z", "h"),
        ("def f(a): return [k * m for k in a] + k", "m k"),
        ("def f(a): return [n for k in k if (w := k)], w", "n k"),
        ("def f(a):\n n += 1\n return n", ""),
        ("def f(a):\n nonlocal n\n n += 1\n return n", "n"),
        ("def f(a):\n def g(b): return b + t\n return g(a)", "t"),
        ("def f(a):\n def t(b=u): return b\n return t(a)", "u"),
        ("def f(a): return (lambda b: b + a + v)(w)", "v w"),
        ("def f(a):\n import numpy as q\n try: z = q\n except ValueError as e: z = e\n return z", "ValueError"),
        ("def f(a):\n match a:\n  case [p, *r]: return p + r + s", "s"),
    ],
)
def test_free_names(text, free):
    node = gast.parse(text).body[0]
    assert free_names(node) == set(free.split())


def of_functions_in_turn(x):
    funs = [np.sin, np.cos, lambda v: v**2]
    total = 0.0
    for fun, v in zip(itertools.cycle(funs), x):
        total += fun(v)
    return total


def test_what_is_written_anew_by_each_lowering_is_known_by_its_place():
    """No garbage is collected meanwhile, so that no two nodes have one address: it ends all the same."""
    assert_derivatives(of_functions_in_turn, X, "python")


def length(v):
    return len(v)


@pytest.fixture
def deep():
    """Functions that each call the one before twice: 2**24 ways through them."""
    text = "def f0(v): return length(v)\n"
    text += "".join(f"def f{k + 1}(v): return f{k}(v) + f{k}(v)\n" for k in range(24))
    name = "<deep>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = {"length": length}
    exec(compile(text, name, "exec"), scope)
    return scope["f24"]


def test_each_function_is_asked_once_which_lists_it_grows(deep):
    source = source_of(deep)
    assert dynamic_lists(source.node, source) == frozenset()
