"""What a path leaves behind: the function it chose, where it left a loop, which names it exchanged."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad

X = np.array([1.3, 2.0, 0.5, 3.0, 1.2])


def one_of_three(x):
    f = np.sin if x[0] > 2 else np.cos if x[1] < 0 else np.tanh
    return f(x[2]) * f(x[3])


def one_of_three_branches(x):
    if x[0] > 2:
        f = np.sin
    elif x[1] < 0:
        f = np.cos
    else:
        f = lambda a: a * a * x[0]
    return f(x[2]) * f(x[3])


def chosen_anew_in_each_turn(x):
    total = 0.0
    for i in range(x.size):
        if x[i] > 1.9:
            f, scale = np.sin, 2.0
        elif x[i] > 1.25:
            f, scale = np.exp, 0.5
        else:
            f, scale = np.sqrt, 1.5
        total += scale * f(x[i])
    return total


def left_at_a_place(x):
    for i in (2, 0, 3):
        if x[i] > 1.0:
            break
    return x[i] ** 2


def left_at_a_number(x):
    for c in [0.1, 0.2, 0.3]:
        if x[1] * c > 0.3:
            break
    else:
        c = 1.0
    return x[1] ** 2 * c


def exchanged_to_steer(x):
    steps, reached = 0, 0.0
    while steps < 3:
        u, v = x * 1.0, x * 2.0
        u, v = v, u
        reached = u.sum()
        steps += 1
    return x[0] ** 2 if reached > 3 else x[0] ** 3


def exchanged_between_uses(x):
    u, v = x * 1.0, x * 2.0
    total = np.sum(u * x[1]) * x[1]
    steps = 0
    while steps < 3:
        u, v = v, u
        steps += 1
    return total * (2.0 if v[0] > 0 else 1.0)


PROGRAMS = (
    one_of_three, one_of_three_branches, chosen_anew_in_each_turn, left_at_a_place, left_at_a_number,
    exchanged_to_steer, exchanged_between_uses,
)  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_gradient(f, target):
    slope = s2sad.grad(f, target=target)(X)
    moved = [(f(X + step) - f(X - step)) / 2e-6 for step in 1e-6 * np.eye(X.size)]
    np.testing.assert_allclose(slope, moved, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_tangent_of_a_number_that_is_spread_and_written(target):
    def f(s):
        a = np.broadcast_to(s, (4,)) * 1.0
        a[0] = s * s
        return np.sum(a)

    value, moved = s2sad.jvp(f, (0.7,), (1.0,), target=target)
    assert (value, moved) == (pytest.approx(0.49 + 2.1), pytest.approx(1.4 + 3.0))


@pytest.mark.parametrize("transform", [s2sad.grad, s2sad.jacfwd, s2sad.jacrev])
def test_holomorphic_needs_complex_results(transform):
    with pytest.raises(TypeError, match="holomorphic=True needs"):
        transform(lambda z: np.abs(z) ** 2, holomorphic=True)(1 + 2j)


def test_decorators_of_classes_stand_above():
    with pytest.raises(s2sad.errors.ArgumentError, match="above `@staticmethod`"):
        s2sad.differentiate(staticmethod(one_of_three))


def test_columns_of_a_batch_in_the_order_of_fortran():
    weights = np.array([[0.3, 0.1, 0.2], [0.0, 0.5, 0.1], [0.2, 0.2, 0.1]])

    def step(x):
        y = x * 1.0
        for _ in range(3):
            y = np.sin(weights @ y) + y * 0.1
        return y

    batch = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    found = s2sad.vmap(step, -1, -1)(batch)
    np.testing.assert_allclose(found, np.stack([step(column) for column in batch.T], axis=-1))
