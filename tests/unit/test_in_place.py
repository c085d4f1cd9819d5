"""A state that every turn makes anew stays in its array, where nothing else means that array."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives
from tests.unit.test_ends import compiled_text
from tests.unit.test_workspaces import creations

X = np.random.default_rng(5).normal(size=4)


def alias_before(x0):
    """The first state has another name."""
    x = x0.copy()
    y = x
    t = 0.0
    for i in range(3):
        x = x + 0.3 * np.sin(x)
        t += np.sum(x * y)
    return t + np.sum(y)


def appended(x0):
    """A list has every state."""
    x = x0.copy()
    xs = []
    for i in range(4):
        x = x * np.cos(x)
        xs.append(x)
    return np.sum(xs[0] * xs[3]) + np.sum(xs[1])


def appended_first(x0):
    """A list has the first state."""
    x = x0.copy()
    xs = [x]
    for i in range(4):
        x = x * np.cos(x)
    return np.sum(xs[0] * x)


def packed(x0):
    """A tuple has the first state."""
    x = x0.copy()
    p = (x, 1.0)
    for i in range(3):
        x = x * np.sin(x)
    return np.sum(p[0] * x)


def adaptive(x0):
    """A step is taken or not."""
    x = x0 * 1.0
    h = 0.1
    t = 0.0
    n = 0
    while t < 1.0:
        new = x + h * np.sin(x)
        err = np.sum((new - x) ** 2)
        n += 1
        if err < 0.05:
            x = new
            t += h
            h = 1.2 * h
        else:
            h = 0.5 * h
        if n > 50:
            break
    return np.sum(x * x)


def adaptive_break(x0):
    """The candidate outlives the loop."""
    x = x0 * 1.0
    while True:
        new = 0.5 * x + 0.1
        if np.sum(np.abs(new - x)) < 0.1:
            break
        x = new
    return np.sum(x * new)


def two_states(x0):
    """Two states, each made of both."""
    x = x0.copy()
    v = np.ones(x.size)
    for i in range(5):
        x, v = (x + 0.1 * v, v - 0.1 * np.sin(x))
    return np.sum(x * v)


def leap(x0):
    """Two states, one after the other."""
    x = x0.copy()
    v = np.ones_like(x)
    for i in range(5):
        v = v - 0.1 * np.sin(x)
        x = x + 0.1 * v
    return np.sum(x * v)


def still_needed(x0):
    """The state before goes on living in the turn."""
    x = x0.copy()
    t = 0.0
    for i in range(5):
        p = x
        x = np.sin(x) * 1.5
        t += np.sum(p * x)
    return t


def two_back(x0):
    """Three arrays in a ring."""
    a = x0.copy()
    b = np.sin(x0)
    for i in range(5):
        c = a * b + 0.1 * np.cos(b)
        a = b
        b = c
    return np.sum(a * b)


def view(x0):
    """A part of the state before is read later."""
    x = x0.copy()
    t = 0.0
    for i in range(5):
        r = x[:2]
        x = x * np.sin(x)
        t += r[0] * x[1] + r[1]
    return t


def last(x0):
    """One state outlives the loop."""
    x = x0.copy()
    y = x0 * 2.0
    for i in range(5):
        x = x * 1.1
        if i == 2:
            y = x
    return np.sum(y * x)


def shifted(x0):
    """Each element needs its neighbours."""
    x = x0.copy()
    for i in range(4):
        x = x + 0.1 * (np.roll(x, 1) - x) * np.roll(x, -1)
    return np.sum(x**2)


def sliced(x0):
    """Parts in another order."""
    x = x0.copy()
    for i in range(4):
        x = np.concatenate((x[1:], x[:1])) * np.sin(x)
    return np.sum(x**2)


def matrix(x0):
    """A product of a matrix, computed first."""
    x = x0.copy()
    A = np.outer(x0, x0)
    for i in range(4):
        x = x + 0.1 * (A @ x) * x[0]
    return np.sum(x**2)


def scalar_of_it(x0):
    """A sum and an element of the state scale it."""
    x = x0.copy()
    for i in range(4):
        x = x / np.sqrt(np.sum(x * x)) + x[1]
    return np.sum(x**3)


def rotate(x0):
    """A list of numbers, made of each other."""
    x = np.array([x0[0], x0[1], x0[2]])
    for i in range(6):
        x = np.array([x[1] * 1.1, -x[0], x[2] * x[1]])
    return np.sum(x * x * x)


def nested(x0):
    """An inner loop over a state made anew by the outer one."""
    t = 0.0
    for j in range(3):
        x = x0.copy() * (j + 1.0)
        for i in range(4):
            k = np.array([np.sin(x[0]), x[1] * x[2], x[3], x[0] * x[3]])
            x = x + 0.1 * k
        t += np.sum(x * x)
    return t


def nested_list(x0):
    """A list has the last state of each inner loop."""
    out = []
    for j in range(3):
        x = x0.copy() * (j + 1.0)
        for i in range(4):
            k = np.sin(x)
            x = x + 0.1 * k
        out.append(x)
    return np.sum(out[0] * out[2])


def continued(x0):
    """Some turns end before the state is set."""
    x = x0.copy()
    t = 0.0
    for i in range(6):
        new = np.sin(x) + 0.1 * i
        if new[0] > 0.3:
            continue
        t += np.sum(new * x)
        x = new
    return t + np.sum(x)


def zeros_each(x0):
    """An array of zeros in every turn, read after the loop."""
    x = x0.copy()
    g = np.zeros(4)
    for i in range(4):
        g = np.zeros(4)
        for j in range(3):
            g[j] += x[j] * x[j + 1]
        x = x - 0.1 * g
    return np.sum(x * g)


def momentum(x0):
    """Three states of one step."""
    w = x0.copy()
    m = np.zeros_like(w)
    v = np.zeros_like(w)
    for t in range(1, 6):
        g = 2 * w + np.cos(w)
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g * g
        w = w - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-08)
    return np.sum(w * w)


def of_the_argument(x0):
    """The first state is the argument itself."""
    x = x0
    for i in range(4):
        x = x + 0.1 * np.sin(x)
    return np.sum(x * x0)


def kept_in_a_list(x0):
    """A list has what a turn made."""
    ks = []
    x = x0.copy()
    for i in range(3):
        k = np.array([x[0], x[1] * x[2], x[3]])
        ks.append(k)
        x = x * 1.5
    return np.sum(ks[0] * ks[2])


def of_the_turn_before(x0):
    """A turn reads what the one before made."""
    x = x0.copy()
    pk = np.ones(3)
    t = 0.0
    for i in range(4):
        k = np.array([x[0], x[1] * x[2], x[3]])
        t += np.sum(k * pk)
        pk = k
        x = np.sin(x) * 1.3
    return t


def copied(x0):
    """A copy to read from while the state is written."""
    x = x0.copy()
    t = 0.0
    for i in range(4):
        o = x.copy()
        for j in range(1, 4):
            x[j] = o[j] * o[j - 1] + np.sin(x[j - 1])
        t += np.sum(o * x)
    return t


def grown(x0):
    """The first state is shorter."""
    x = x0[:1].copy()
    for i in range(3):
        x = np.sin(x) + x0
    return np.sum(x)


def rebuilt(x0):
    """The state is made twice in a turn."""
    x = x0.copy()
    for i in range(3):
        x = x * 2.0
        if x[0] > 1.0:
            x = x - 0.1 * np.sin(x)
    return np.sum(x * x)


def longer(x0):
    """A list of numbers that becomes longer."""
    x = np.array([x0[0]])
    for i in range(3):
        y = np.sum(x * np.array([1.0, 2.0, x0[1]]))
        x = np.array([x[0] * y, x0[1] * x[-1], x0[2]])
    return np.sum(x * x)


def spread(x0):
    """The first state is one number, spread over the next."""
    x = x0[:1] * 1.0
    t = 0.0
    for i in range(3):
        t += np.sum(x)
        x = x * x0
    return t + np.sum(x)


def part(x0):
    """Each turn reads less of the state."""
    x = x0.copy()
    t = 0.0
    for i in range(3):
        y = x[: 3 - i]
        t += np.sum(y * y)
        z = np.sin(y)
        x = x * 1.1 + t
        t += np.sum(z)
    return t


def given(y):
    """A parameter is the state."""
    for _ in range(3):
        y = y + 0.1 * np.sin(y)
    return np.sum(y * y)


def given_twice(y):
    """A parameter that some turns set twice."""
    for i in range(3):
        y = y + 0.1 * np.sin(y)
        if i == 1:
            y = y * y
    return np.sum(y * y)


def given_kept(y):
    """Another name keeps what was given."""
    z = y
    for _ in range(3):
        y = y + 0.1 * np.sin(y)
    return np.sum(y * z)


def given_nested(y):
    """A parameter, in two loops."""
    for j in range(2):
        for _ in range(3):
            y = y + 0.1 * np.sin(y)
    return np.sum(y * y)


def given_beside(y):
    """Each element of a parameter needs a sum of all."""
    for _ in range(3):
        y = y / np.sum(y * y) + y[0]
    return np.sum(y * y)


def given_written(y):
    """A parameter, set and then written into."""
    for _ in range(3):
        y = y + 0.1 * np.sin(y)
        y[0] *= 2.0
    return np.sum(y * y)


def given_if(y):
    """A parameter that is set before on one path."""
    if y[0] > 0:
        y = y * 2.0
    for _ in range(3):
        y = y + 0.1 * np.sin(y)
    return np.sum(y * y)


def given_used_before(y):
    """A list has what was given."""
    s = np.sum(y)
    r = [y]
    for _ in range(3):
        y = y + 0.1 * np.sin(y) * s
    return np.sum(y * r[0])


IN_PLACE = [leap, momentum, of_the_argument, rotate, nested, zeros_each, copied, alias_before]
IN_PLACE += [appended_first, packed]
EXCHANGED = [matrix, scalar_of_it, two_states, still_needed]
OWN = [appended, two_back, view, last, sliced, nested_list, adaptive]
OTHERS = [rebuilt, continued, shifted, kept_in_a_list, of_the_turn_before, grown, longer, spread, part, adaptive_break]
GIVEN = [given, given_kept, given_beside, given_if, given_used_before]
EVERY = [*GIVEN, given_twice, given_nested, given_written, *IN_PLACE, *EXCHANGED, *OWN, *OTHERS]


@pytest.mark.compiled
@pytest.mark.parametrize("fun", EVERY)
def test_derivatives(fun: Callable[..., Any]) -> None:
    assert_derivatives(fun, X, "cpu")


@pytest.mark.compiled
@pytest.mark.parametrize("fun", EVERY)
def test_pullbacks_any_number_of_times(fun: Callable[..., Any]) -> None:
    value, pullback = s2sad.vjp(fun, X.copy())
    want = s2sad.grad(fun, target="python")(X)
    for factor in (1.0, 2.0, 1.0):
        np.testing.assert_allclose(pullback(factor)[0], factor * want, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(value, fun(X.copy()), rtol=1e-12)


@pytest.mark.parametrize("fun", [*IN_PLACE, *EXCHANGED, *GIVEN])
def test_no_turn_makes_an_array(fun: Callable[..., Any]) -> None:
    text = compiled_text(fun, X)
    assert not creations(text, inside=True), text
    assert not re.search(r"\n {8,}\S+ = np\.(copy|array)\(", text), text


@pytest.mark.parametrize("fun", EXCHANGED)
def test_two_arrays_are_exchanged(fun: Callable[..., Any]) -> None:
    assert re.search(r"\b(x|v), (\w+) = \2, \1\n", compiled_text(fun, X))


@pytest.mark.parametrize("fun", OWN)
def test_what_is_met_by_another_name_is_made_in_every_turn(fun: Callable[..., Any]) -> None:
    assert creations(compiled_text(fun, X), inside=True)
