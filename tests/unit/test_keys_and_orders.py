"""Dicts keep their order and are asked for keys known at run time only; what is sorted, and what is written."""

from __future__ import annotations

import math

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

V = np.array([0.7, 1.4, 2.3])
OBSERVED = {3: 1.5, 7: 2.0}


def observed_at_some_steps(x):
    cost = 0.0
    for k in range(12):
        x = x * 1.01
        if k in OBSERVED:
            cost += np.sum((x - OBSERVED[k]) ** 2)
    return cost


def keys_in_another_order(x):
    weights = {1: x[0], 0: x[1] * x[2]}
    total = 0.0
    for k in range(2):
        total += weights[k] * (k + 1) * x[2]
    return total


def keys_far_apart(x):
    weights = {2: x[0], -3: x[1], 10: x[2]}
    total = 1.0
    for k in sorted(weights.keys()):
        total = total * 1.1 + weights[k] ** 2
    return total


def keys_filled_backwards(x):
    held = {}
    for i in range(3):
        held[2 - i] = x[i] * i
    total = 0.0
    for i in range(3):
        total += (i + 1) * held[i] ** 2
    return total


def pairs_as_keys(x):
    edges = {(0, 1): 2.0, (1, 2): 3.0}
    total = 0.0
    for i in range(3):
        for j in range(3):
            if (i, j) in edges:
                total += edges[i, j] * x[i] * x[j]
    return total


def sorted_pairs(x):
    total = 0.0
    for i, (k, v) in enumerate(sorted([(3, x[0]), (1, x[1]), (2, x[2])])):
        total += (i + 1) * k * v**2
    return total


def sorted_items(x):
    held = {2: x[0], 0: x[1], 1: x[2]}
    total = 0.0
    for i, (k, v) in enumerate(sorted(held.items())):
        total += (i + 1) * (k + 1) * v**2
    return total


def sorted_texts(x):
    held = {"b": x[0], "a": x[1], "c": x[2]}
    total = 0.0
    for i, k in enumerate(sorted(held)):
        total += (i + 1) * held[k] ** 2
    for i, k in enumerate(sorted(["b", "a"], reverse=True)):
        total += (i + 1) * held[k]
    return total


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [
    observed_at_some_steps, keys_in_another_order, keys_far_apart, keys_filled_backwards, pairs_as_keys, sorted_pairs,
    sorted_items, sorted_texts,
])  # fmt: skip
def test_keys_and_orders(fun, target):
    assert_derivatives(fun, V, target)


def by_key(x, n):
    return x * OBSERVED[n]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_key_that_is_not_there_is_an_error(target):
    assert s2sad.value_and_grad(by_key, target=target)(2.0, 7) == (4.0, 2.0)
    for n in (4, 100, -1):
        with pytest.raises(KeyError, match="not in this dict"):
            s2sad.grad(by_key, target=target)(2.0, n)


def test_dicts_are_walked_in_their_own_order():
    def weighted(d):
        first = list(d.values())[0]  # noqa: RUF015
        return sum(v * i for i, v in enumerate(d.values())) + 10.0 * first

    for d in ({"b": 2.0, "a": 3.0}, {"a": 3.0, "b": 2.0}):
        for target in ("python", "cpu"):
            value, slope = s2sad.value_and_grad(weighted, target=target)(d)
            assert value == weighted(d)
            assert slope == {key: 10.0 if i == 0 else 1.0 for i, key in enumerate(d)}
            assert list(slope) == list(d)


# ---- what is written, and by whom ----


def scaled(x, w):
    w[0] *= 2.0
    x[1] += w[0]
    return np.sum(x * w)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_every_call_of_a_map_writes_into_arrays_of_its_own(target):
    rows, weights = np.arange(6.0).reshape(3, 2) + 1.0, np.array([1.0, 2.0])

    def total(w):
        return np.sum(s2sad.vmap(scaled, (0, None))(rows, w))

    expected = sum(scaled(row.copy(), weights.copy()) for row in rows)
    assert total(weights) == expected
    value, slope = s2sad.value_and_grad(total, target=target)(weights)
    assert value == expected
    step = 1e-6
    differences = [(total(weights + e) - total(weights - e)) / (2 * step) for e in step * np.eye(2)]
    np.testing.assert_allclose(slope, differences, rtol=1e-6)
    np.testing.assert_array_equal(rows, np.arange(6.0).reshape(3, 2) + 1.0)


def stopped_and_written(x):
    y = x * 1.0
    z = s2sad.stop_gradient(y)
    z[1] = 7.0
    return np.sum(y * y) + z[1] * y[0]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_stop_gradient_gives_an_array_of_its_own(target):
    value, slope = s2sad.value_and_grad(stopped_and_written, target=target)(V)
    assert value == pytest.approx(stopped_and_written(V), rel=1e-14)
    np.testing.assert_allclose(slope, 2.0 * V + np.array([7.0, 0.0, 0.0]))


def test_a_function_with_a_rule_that_writes_its_argument_is_refused():
    @s2sad.custom_vjp
    def first_set(x):
        x[0] = 3.0
        return np.sum(x)

    first_set.defvjp(lambda x: (np.sum(x), x), lambda x, bar: (bar * np.ones_like(x),))
    with pytest.raises(s2sad.RuleError, match="says nothing of what it writes into `x`"):
        s2sad.grad(lambda x: first_set(x) + x[0], target="python")(V)


# ---- the side that lost ----


def named_largest(x):
    kept = np.maximum(x - 1.0, 0.0)
    return np.sum(np.sqrt(kept)) + x[0]


def item_of_largest(x):
    kept = np.zeros(3)
    for i in range(3):
        kept[i] = max(x[i] - 1.0, 0.0)
    return np.sum(np.sqrt(kept)) + x[0]


def clipped_below(x):
    kept = np.clip(x - 1.0, 0.0, None)
    return np.sum(np.sqrt(kept)) + x[0]


def clipped_on_both_sides(x):
    return np.sum(np.sqrt(np.clip(x - 1.0, 0.0, 5.0))) + x[0]


def items_clipped(x):
    total = x[0]
    for i in range(x.size):
        total += math.sqrt(np.clip(x[i] - 1.0, 0.0, 5.0))
    return total


def smallest_in_a_helper(x):
    def least(a, b):
        return min(a, b)

    total = x[0]
    for i in range(3):
        total += np.sqrt(-least(1.0 - x[i], 0.0))
    return total


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [
    named_largest, item_of_largest, clipped_below, clipped_on_both_sides, items_clipped, smallest_in_a_helper,
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_the_side_that_lost_takes_nothing_of_an_infinite_cotangent(fun, target):
    slope = s2sad.grad(fun, target=target)(V)
    expected = [1.0, 0.5 / math.sqrt(0.4), 0.5 / math.sqrt(1.3)]
    np.testing.assert_allclose(slope, expected, rtol=1e-12)


# ---- lengths ----


def length_asked_in_a_branch(x):
    u, b = x * 1.0, x[0]
    if b > 5:
        for _ in range(3):
            for e in u:
                b *= e
    for j in range(3):
        u *= 1.1
        for e in u:
            b = b * e + x[j]
    return b


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_length_kept_in_a_branch_is_not_that_of_loops_behind_it(target):
    slope = s2sad.grad(length_asked_in_a_branch, target=target)(V)
    np.testing.assert_allclose(s2sad.jacfwd(length_asked_in_a_branch, target=target)(V), slope, rtol=1e-12)
    value, push = s2sad.linearize(length_asked_in_a_branch, V, target=target)
    np.testing.assert_allclose(push(np.ones(3)), slope.sum(), rtol=1e-12)
    assert value == pytest.approx(length_asked_in_a_branch(V), rel=1e-12)


def bound_in_a_loop_and_written(x):
    for _ in range(2):
        y = x * 2.0
        y[0] = y[1] * y[2]
    return np.sum(y * y)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_reverse_over_reverse_of_an_array_first_bound_in_a_loop(target):
    def penalty(x):
        return np.sum(s2sad.grad(bound_in_a_loop_and_written)(x) ** 2)

    slope = s2sad.grad(bound_in_a_loop_and_written, target="python")
    hessian = s2sad.hessian(bound_in_a_loop_and_written, target="python")(V)
    np.testing.assert_allclose(s2sad.grad(penalty, target=target)(V), 2.0 * hessian @ slope(V), rtol=1e-12)
    twice = s2sad.jacrev(s2sad.grad(bound_in_a_loop_and_written), target=target)(V)
    np.testing.assert_allclose(twice, hessian, rtol=1e-12)


def written_in_place(x):
    x[0] = x[1] * x[2]
    x *= 2.0
    return np.sum(x * x)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_tangents_that_are_passed_stay_as_they_are(target):
    tangent, point = np.array([0.1, 0.2, 0.3]), V.copy()
    first = s2sad.jvp(written_in_place, (point,), (tangent,), target=target)
    assert s2sad.jvp(written_in_place, (point,), (tangent,), target=target) == first
    s2sad.hvp(written_in_place, (point,), (tangent,), target=target)
    s2sad.linearize(written_in_place, point, target=target)[1](tangent)
    np.testing.assert_array_equal(tangent, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(point, V)


def chosen_by_path(x):
    held = {"a": x[0], "b": x[1]}
    key = "b" if x[2] > 0.0 else "a"
    return held[key]


def misspelt(x):
    held = {"a": x[0], "b": x[1]}
    return held["c"]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_key_chosen_by_path(target):
    for x in (np.array([0.3, 0.5, 0.7]), np.array([0.3, 0.5, -0.7])):
        np.testing.assert_array_equal(s2sad.grad(chosen_by_path, target=target)(x), np.eye(3)[int(x[2] > 0.0)])


def test_a_key_that_is_not_there():
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="'c' is not among the keys of this dict") as caught:
        s2sad.grad(misspelt, target="python")(V)
    assert "held[" in str(caught.value)
    assert "'a'" in str(caught.value)
