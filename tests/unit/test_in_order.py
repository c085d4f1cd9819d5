"""Arrays in the order of a key are copies: what is written into them, or into what they were, is seen or refused."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

A = np.array([[3.0, 1.0, 0.2], [2.5, 5.0, -1.0], [1.0, 4.0, 0.7]])


def by_first(row):
    return row[0]


def an_item(a):
    rows = sorted(a, key=by_first)
    rows[1][0] = 2.0
    return np.sum(a**3)


def an_item_by_a_name(a):
    rows = sorted(a, key=by_first)
    low = rows[0]
    low[1] = 5.0 * a[0, 0]
    return np.sum(a**3)


def put(row):
    row[0] = 2.0


def an_item_by_a_helper(a):
    rows = sorted(a, key=by_first)
    put(rows[1])
    return np.sum(a**3)


def last(a):
    return sorted(a, key=by_first)[-1]


def what_a_helper_returns(a):
    row = last(a)
    row[0] = 5.0
    return np.sum(a**3)


def an_item_of_a_dict(a):
    rows = sorted(a, key=by_first)
    kept = {"low": rows[0]}
    kept["low"][0] = 3.0
    return np.sum(a**3)


def an_item_at_places(a):
    rows = sorted(a, key=by_first)
    np.add.at(rows[0], 1, 2.0)
    return np.sum(a**3)


def an_item_in_another_shape(a):
    rows = sorted(a, key=by_first)
    rows[0].reshape(3, 1)[0] = 2.0
    return np.sum(a**3)


def what_they_were(a):
    rows = sorted(a, key=by_first)
    a[2, 0] = 0.5
    return rows[0][0] * rows[1][0]


def what_one_was_by_its_name(a):
    x, y = a[0] * 1.0, a[1] * 1.0
    low, high = sorted((x, y), key=by_first)
    x[0] = 9.0
    return np.sum(low) * np.prod(high)


def what_was_appended(a):
    b = a[0] * 2.0
    items = [a[1] * 1.0]
    items.append(b)
    items.sort(key=by_first)
    b[0] = 7.0
    return items[0][0] * items[1][1]


def an_array_of_a_pair(a):
    rows = [(a[i], a[i, 0]) for i in range(3)]
    rows.sort(key=lambda pair: pair[1])
    rows[0][0][1] = 4.0
    return np.sum(a**3)


def what_pairs_were_of(a):
    rows = sorted(enumerate(a), key=lambda pair: pair[1][0])
    a[:, 1] = 0.7
    return np.prod(rows[0][1])


def what_they_were_turn_by_turn(a):
    total = 0.0
    for row in sorted(a, key=by_first):
        a[0] = row * 0.5 + a[1]
        total += np.prod(row)
    return total


def read_before_it_is_ordered_again(a):
    total, rows = 0.0, sorted(a, key=by_first)
    for _ in range(2):
        a[0] = a[0] * 1.5
        total += np.prod(rows[0])
        rows = sorted(a, key=by_first)
    return total


def ordered_in_the_first_turn_alone(a):
    total = 0.0
    for k in range(3):
        if k == 0:
            rows = sorted(a, key=by_first)
        total += np.prod(rows[0])
        a[2] = a[2] * 1.5
    return total


def written_before_what_may_not_be_ordered_again(a):
    total = 0.0
    for k in range(3):
        a[2] = a[2] * 1.5
        if k == 0:
            rows = sorted(a, key=by_first)
        total += np.prod(rows[0])
    return total


def left_between_the_write_and_the_order(a):
    for k in range(3):
        a[2] = a[2] * 1.5
        if a[2, 0] > 2.0:
            break
        rows = sorted(a, key=by_first)
    return np.prod(rows[0])


REFUSED = [
    ordered_in_the_first_turn_alone, written_before_what_may_not_be_ordered_again, left_between_the_write_and_the_order,
    an_item, an_item_by_a_name, an_item_by_a_helper, what_a_helper_returns, an_item_of_a_dict, an_item_at_places,
    an_item_in_another_shape, what_they_were, what_one_was_by_its_name, what_was_appended, an_array_of_a_pair,
    what_pairs_were_of, what_they_were_turn_by_turn, read_before_it_is_ordered_again,
]  # fmt: skip


@pytest.mark.parametrize("fun", REFUSED)
def test_what_is_written_is_refused(fun):
    with pytest.raises(s2sad.AliasError, match="in the order of a key are copies here") as caught:
        s2sad.grad(fun, target="python")(A)
    assert "sort" in str(caught.value)
    assert "np.argsort" in str(caught.value)


def written_before(a):
    a[0, 0] = 0.1 * a[1, 1]
    rows = sorted(a, key=by_first)
    return np.sum(rows[0] * rows[1])


def ordered_again_in_every_turn(a):
    total = 0.0
    for _ in range(3):
        a[0] = a[0] * 1.5
        rows = sorted(a, key=by_first)
        total += np.prod(rows[0])
    return total


def read_behind_the_loop(a):
    for _ in range(3):
        a[0] = a[0] * 1.5
        rows = sorted(a, key=by_first)
    return np.sum(rows[0] * rows[1] ** 2)


def replaced(a):
    rows = [a[0], a[1], a[2]]
    for _ in range(3):
        rows.sort(key=by_first)
        worst = rows[2]
        new = np.zeros(3)
        new[0] = 0.5 * (rows[0][0] + rows[1][0])
        new[1:] = worst[1:] * 0.9
        rows[2] = new
    return np.sum(rows[0] * rows[1] * rows[2])


def another_array_is_written(a):
    out = np.zeros(3)
    for k, row in enumerate(sorted(a, key=by_first)):
        out[k] = np.prod(row) * (k + 1)
    return np.sum(out**2)


def from_a_helper(a):
    row = last(a)
    return np.sum(np.sin(row) * a[0])


def written_when_all_is_read(a):
    rows = sorted(a, key=by_first)
    total = np.prod(rows[0]) + np.sum(rows[2])
    a[1, 1] = 3.0
    return total * np.sum(a)


def shrunk(a):
    rows = [a[0], a[1], a[2]]
    for _ in range(3):
        rows = sorted(rows, key=by_first)
        new = rows[0] + rows[1] - rows[2]
        if new[0] < rows[2][0] - 0.8:
            rows[2] = new
        else:
            rows = [rows[0]] + [rows[0] + 0.5 * (v - rows[0]) for v in rows[1:]]
    return np.sum(rows[0] ** 2) + np.prod(rows[1])


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    "fun",
    [
        written_before, ordered_again_in_every_turn, read_behind_the_loop, replaced, another_array_is_written,
        from_a_helper,
        written_when_all_is_read, shrunk,
    ],
)  # fmt: skip
def test_what_is_only_read_is_derived(fun, target):
    assert_derivatives(fun, A, target)


def simplex(x):
    cost = lambda v: (v[0] - 1.0) ** 2 + 10.0 * (v[1] + 0.5) ** 2
    points = [(x, cost(x))] + [(x + 0.3 * e, cost(x + 0.3 * e)) for e in np.eye(2)]
    for _ in range(6):
        points.sort(key=lambda p: p[1])
        middle = (points[0][0] + points[1][0]) / 2
        new = 2 * middle - points[-1][0]
        reached = cost(new)
        if reached < points[0][1]:
            beyond = middle + 2 * (middle - points[-1][0])
            points[-1] = (beyond, cost(beyond)) if cost(beyond) < reached else (new, reached)
        elif reached < points[1][1]:
            points[-1] = (new, reached)
        else:
            inside = middle + 0.5 * (points[-1][0] - middle)
            points[-1] = (inside, cost(inside))
    return min(p[1] for p in points)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_list_of_pairs_is_put_in_order_in_every_turn(target):
    x = np.array([0.3, 1.5])
    assert_derivatives(simplex, x, target)
    source = str(s2sad.differentiate(simplex, target=target).source("grad", types=(x,)))
    assert source.count("for step in range(6):") == 1
    assert "copy_arrays(items_0)" not in source  # what the list was made of is not written
