"""Arrays that every turn of a loop makes anew are made once, where a turn can neither tell nor be told."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives
from tests.unit.test_ends import compiled_text

X = np.random.default_rng(5).normal(size=(5, 4))


def pairs(x):
    """The differences of two rows, in an inner loop."""
    total = 0.0
    for i in range(x.shape[0]):
        for k in range(i):
            d = np.empty(x.shape[1])
            for j in range(x.shape[1]):
                d[j] = np.sin(x[i, j] - x[k, j])
            for j in range(1, x.shape[1]):
                total += d[j] * d[j - 1]
    return total


def half_filled(x):
    """What is not written is zero in every turn."""
    total = 0.0
    for i in range(x.shape[0]):
        w = np.zeros(x.shape[1] + 1)
        for j in range(i):
            w[j] = x[i, j] ** 2
        for j in range(x.shape[1]):
            total += w[j] * w[j + 1] + w[j]
    return total


def counted(x):
    """An array of whole numbers that says where what is."""
    total = 0.0
    for i in range(x.shape[0]):
        seen = np.zeros(3, np.int64)
        for j in range(x.shape[1]):
            seen[(i + j) % 3] += 1
        total += seen[i % 3] * np.cos(x[i, seen[0]])
    return total


def step_into(y, out):
    """Write into what is given."""
    for j in range(y.size):
        out[j] = np.sin(y[j]) + 0.3 * y[j - 1]


def stages(x):
    """Helpers fill two arrays in every step, which the tape keeps."""
    y = x[0].copy()
    for _ in range(4):
        k1 = np.empty(y.size)
        k2 = np.empty_like(y)
        step_into(y, k1)
        step_into(y + 0.1 * k1, k2)
        for j in range(y.size):
            y[j] += 0.1 * (k1[j] + k2[j])
    return np.sum(y * y)


def minors(a):
    """Expand by the first row: the function calls itself in the loop."""
    n = a.shape[0]
    if n == 1:
        return a[0, 0]
    total = 0.0
    for j in range(n):
        minor = np.empty((n - 1, n - 1))
        for p in range(1, n):
            for q in range(n - 1):
                minor[p - 1, q] = a[p, q] if q < j else a[p, q + 1]
        total += (-1.0) ** j * a[0, j] * minors(minor)
    return total


def of_a_square(x):
    return minors(x[:4] + 2.0 * np.eye(4))


def two_buffers(x):
    """The array of one turn is read in the next."""
    y = x[0].copy()
    for i in range(1, x.shape[0]):
        new = np.empty(y.size)
        for j in range(y.size):
            new[j] = np.sin(y[j] + y[j - 1] * x[i, j])
        y = new
    return np.sum(y)


def last_one(x):
    """The array of the last turn outlives the loop."""
    w = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        w = np.zeros(x.shape[1])
        for j in range(x.shape[1] - i % 2):
            w[j] = np.sin(x[i, j]) * x[0, j]
    return np.sum(w * w)


ONCE = [pairs, half_filled, of_a_square, counted, stages, two_buffers, last_one]


def collected(x):
    """A list has the array of every turn."""
    rows = []
    for i in range(x.shape[0]):
        row = np.zeros(x.shape[1])
        for j in range(i):
            row[j] = x[i, j] * x[j, i - 1]
        rows.append(row)
    total = 0.0
    for i in range(len(rows)):
        for j in range(x.shape[1]):
            total += rows[i][j] * (i + 1.0)
    return total


def growing(x):
    """Each turn has a length of its own."""
    total = 0.0
    for i in range(x.shape[1]):
        w = np.zeros(i + 1)
        for j in range(i + 1):
            w[j] = np.sin(x[i, j])
        for j in range(i + 1):
            total += w[j] * w[i - j]
    return total


def halved(x):
    """A name that the loop changes says how long it is."""
    n = x.shape[1]
    total = 0.0
    while n > 0:
        w = np.zeros(n)
        for j in range(n):
            w[j] = x[0, j] ** 2
        for j in range(n):
            total += w[j] * w[n - 1 - j]
        n //= 2
    return total


EACH = [collected, growing, halved]


def creations(text: str, inside: bool) -> list[str]:
    """Return the names of the arrays that are made inside of loops, or outside of them."""
    found: list[str] = []

    def visit(node: ast.AST, loops: int) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Assign) and ast.unparse(child.value).startswith(("np.empty", "np.zeros")):
                found.extend([ast.unparse(child.targets[0])] if inside == (loops > 0) else [])
            visit(child, loops + isinstance(child, ast.For | ast.While))

    visit(ast.parse(text), 0)
    return found


@pytest.mark.parametrize("fun", ONCE)
def test_made_once(fun: Callable[..., Any]) -> None:
    assert_derivatives(fun, X, "cpu")
    text = compiled_text(fun, X)
    assert not creations(text, inside=True), text


@pytest.mark.parametrize("fun", EACH)
def test_made_in_every_turn(fun: Callable[..., Any]) -> None:
    assert_derivatives(fun, X, "cpu")
    assert creations(compiled_text(fun, X), inside=True)


@pytest.mark.parametrize("fun", [*ONCE, *EACH])
def test_the_text_for_python_makes_them_where_the_user_does(fun: Callable[..., Any]) -> None:
    assert_derivatives(fun, X, "python")
    assert creations(s2sad.differentiate(fun, target="python").source("grad", (X,)), inside=True)


def of_given_length(x, n, turns):
    """A length that is given as a number."""
    total = 0.0
    for i in range(turns):
        w = np.zeros(n)
        for j in range(n):
            w[j] = np.sin(x[j] * (i + 1.0))
        for j in range(n):
            total += w[j] * w[n - 1 - j]
    return total


def of_a_short_part(x):
    """A part of what is too short for it has no elements."""
    total = 0.0
    for i in range(3):
        part = np.cos(x[:-2]) * (i + 1.0)
        w = np.zeros_like(part)
        for j in range(w.size):
            w[j] += part[j] * part[j]
        total += np.sum(w) * x[0]
    return total


def test_a_part_may_be_empty() -> None:
    for n in (1, 2, 3, 6):
        assert_derivatives(of_a_short_part, np.linspace(0.2, 0.9, n), "cpu")


def test_a_negative_length_is_refused_only_where_an_array_is_made() -> None:
    x = X[0]
    compiled, known = (s2sad.grad(of_given_length, target=target) for target in ("cpu", "python"))
    np.testing.assert_allclose(compiled(x, 3, 2), known(x, 3, 2), rtol=1e-13)
    assert not creations(compiled_text(of_given_length, x, 3, 2), inside=True)
    np.testing.assert_array_equal(compiled(x, -1, 0), np.zeros(4))
    with pytest.raises(ValueError, match="negative dimensions"):
        compiled(x, -1, 2)
    with pytest.raises(ValueError, match="negative dimensions"):
        known(x, -1, 2)
