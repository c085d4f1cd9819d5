"""Parts of a derivative that are called once stand where they are called, and their arrays where they end."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from s2sad.analysis.facts import Facts
from s2sad.emit.names import Names
from s2sad.emit.printer import print_function
from s2sad.errors import Span
from s2sad.frontend.functions import instantiate
from s2sad.frontend.lowerer import Context
from s2sad.ir.types import Array, Sym
from s2sad.transform.placed import placed

X = np.array([0.7, -0.4, 1.3])
ROWS = np.array([[0.7, -0.4, 1.3], [0.2, 0.9, -1.1], [1.5, 0.3, 0.8], [-0.6, 0.1, 0.4]])


def energy(x, k):
    total = 0.0
    for i in range(x.size - 1):
        total += k * (x[i + 1] - x[i]) ** 2
    return total


def clipped(x, k):
    """An early exit, and a name (`i`, `count`, `result`) that the loop around it has too."""
    count, result = 0, 0.0
    for i in range(x.size):
        if x[i] < 0.0:
            return result * k
        result += x[i] ** 3
        count += 1
    return result + count


def overwriting(x, k):
    x[1] = x[0] * x[1]
    x[2] *= k
    return np.sum(x * x)


def swinging(x, k):
    y, z = x.copy(), np.zeros(3)
    for _ in range(3):
        y[1:] += k * z[:-1]
        y, z = z, y
    return np.sum(y * z) * x[0]


def pair(x):
    out = np.empty(2)
    out[0] = x[0] * x[1]
    out[1] = np.sin(x[2]) * x[0]
    return out


def itself(x):
    return x


def reordered(x):
    return x[::-1] * 2.0


def plane(x):
    return np.outer(x, x)


def scalar_and_vector(x):
    return np.sum(x), x * x


def text_of(transformed, *args):
    transformed(*args)
    return transformed.store.known()[0][1].entry.derivative.text


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", [energy, clipped, overwriting, swinging])
def test_gradients_of_a_batch_are_those_of_its_rows(f, target):
    rows = ROWS.copy()
    found = s2sad.vmap(s2sad.grad(f), in_axes=(0, None), target=target)(rows, 0.7)
    np.testing.assert_allclose(found, [s2sad.grad(f, target="python")(row, 0.7) for row in ROWS], rtol=1e-12)
    np.testing.assert_array_equal(rows, ROWS)
    value, slope = s2sad.vmap(s2sad.value_and_grad(f, argnums=(0, 1)), in_axes=(0, None), target=target)(rows, 0.7)
    np.testing.assert_allclose(value, [f(row.copy(), 0.7) for row in ROWS], rtol=1e-12)
    np.testing.assert_allclose(slope[0], found, rtol=1e-12)
    np.testing.assert_allclose(slope[1], [s2sad.grad(f, 1, target="python")(row, 0.7) for row in ROWS], rtol=1e-12)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", [pair, itself, reordered, plane, scalar_and_vector])
def test_jacobians_in_both_modes_are_differences(f, target):
    forward, reverse = s2sad.jacfwd(f, target=target)(X), s2sad.jacrev(f, target=target)(X)
    step = 1e-6
    many = isinstance(forward, tuple)
    for k, (one, other) in enumerate(zip(forward, reverse, strict=True) if many else [(forward, reverse)]):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
        for j in range(3):
            unit = np.eye(3)[j] * step
            above, below = f(X + unit), f(X - unit)
            slope = (above[k] - below[k] if many else above - below) / (2.0 * step)
            np.testing.assert_allclose(one[..., j], slope, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_jacobians_of_a_batch(target):
    found = s2sad.vmap(s2sad.jacrev(pair), target=target)(ROWS)
    x, y, z = ROWS.T
    zero = np.zeros_like(x)
    expected = np.array([[y, x, zero], [np.sin(z), zero, np.cos(z) * x]])
    np.testing.assert_allclose(found, np.moveaxis(expected, 2, 0), rtol=1e-12)


def test_nothing_is_fetched_in_the_loop_for_what_a_row_can_hold():
    text = text_of(s2sad.jacrev(pair, target="python"), X)
    head, loop = text.split("for i in range(2):")
    assert text.count("def ") == 1
    assert "np.empty" in head
    assert "np.zeros" not in loop
    assert "np.empty" not in loop


def test_a_part_that_is_called_twice_stays_a_function():
    def two_outputs(x):
        return x * x, np.sin(x)

    text = text_of(s2sad.jacrev(two_outputs, target="python"), X)
    assert text.count("two_outputs_pull(") == 3


# ---- arrays in the rows where they end ----


def plain_row(x):
    out = np.empty((2, 3))
    row = np.zeros(3)
    row[0] += x[1]
    out[0] = row
    out[1] = x
    return out


def two_for_one_row(x):
    out = np.empty((2, 3))
    one = np.zeros(3)
    other = np.zeros(3)
    other[1] += x[0]
    one[0] += x[1]
    out[0] = one
    one[2] = 5.0
    out[0] = other
    out[1] = one
    return out


def both_in_one_row(x):
    out = np.empty((2, 3))
    one = np.zeros(3)
    other = np.zeros(3)
    other[1] += x[0]
    one[0] += x[1]
    out[0] = one
    out[0] = other
    out[1] = x
    return out


def read_afterwards(x):
    out = np.zeros((2, 3))
    row = np.zeros(3)
    row[0] += x[1]
    out[0] = row
    row[0] = 7.0
    out[1] = row
    return out


def other_one_read_meanwhile(x):
    out = np.ones((2, 3))
    row = np.zeros(3)
    row[0] += out[0, 0] + x[0]
    out[0] = row
    return out


def index_that_moves(x):
    out = np.zeros((3, 3))
    k = 0
    for i in range(2):
        row = np.zeros(3)
        k += 1
        row[0] += x[i]
        out[k] = row
    return out


def seen_under_another_name(x):
    out = np.zeros((2, 3))
    row = np.zeros(3)
    view = row[1:]
    view[0] = x[0]
    out[0] = row
    out[1, 1:] = view
    return out


def left_in_the_middle(x):
    out = np.zeros((2, 3))
    for i in range(2):
        row = np.zeros(3)
        row[0] = 9.0
        if x[i] < 0.0:
            break
        out[i] = row
    return out


def spread(x):
    out = np.empty((2, 3))
    row = np.zeros(1)
    row[0] = x[0]
    out[0] = row
    out[1] = x
    return out


@pytest.mark.parametrize("f", [
    plain_row, two_for_one_row, both_in_one_row, read_afterwards, other_one_read_meanwhile, index_that_moves,
    seen_under_another_name, left_in_the_middle, spread,
])  # fmt: skip
def test_placing_changes_no_value(f):
    ctx = Context()
    made = instantiate(ctx, f, (Array("float64", (Sym("x.0"),), "C"),), Span("<test>", 0, 0, 0, 0, ""))
    fn = placed(made.function, Facts(ctx.functions()), frozenset())
    text, _ = print_function(fn, Names({"numpy": "np"}))
    scope = {"np": np}
    exec(text, scope)
    np.testing.assert_array_equal(scope[fn.name](X), f(X))
    assert ("row = out[0]" in text) == (f is plain_row)
