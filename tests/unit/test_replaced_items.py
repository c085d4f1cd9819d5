"""Arrays of a list that give way to others: `rows[k] = y` is no write into what was there."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.3, -0.7, 1.1, 0.4, -1.3, 0.8])


def squared(x):
    rows = [x[:3].copy(), x[3:].copy()]
    for k, row in enumerate(rows):
        rows[k] = row * row
    return rows[0] @ rows[1]


def filled_first(x):
    rows = [x[:3].copy(), x[3:].copy()]
    for k, row in enumerate(rows):
        new = row.copy()
        new[k] = row.sum()
        rows[k] = new
    return rows[0] @ rows[1]


def read_by_a_name(x):
    rows = [x[:3].copy(), x[3:].copy()]
    for k in range(4):
        row = rows[k % 2]
        new = row**2 + rows[(k + 1) % 2]
        new[0] = row[1]
        rows[k % 2] = new
    return rows[0] @ rows[1]


def changed_before(x):
    rows = [x[:3].copy(), x[3:].copy()]
    for k, row in enumerate(rows):
        row[0] *= 2
        new = row * row
        new[1] += row[2]
        rows[k] = new
    return rows[0] @ rows[1]


def in_a_growing_list(x):
    rows = [x[:3].copy()]
    for _ in range(3):
        rows.append(rows[-1] * 2)
    for k in range(1, 4):
        row, before = rows[k], rows[k - 1]
        rows[k] = row * before
    return sum((row * row).sum() for row in rows)


def of_views(x):
    rows = [x[:3], x[3:]]
    for k in range(2):
        rows[k] = rows[k] * rows[1 - k]
    return rows[0] @ rows[1] + x[0]


def one_array_several_times(x):
    first, rows = x * 2, []
    for _ in range(3):
        rows.append(first)
    for k in range(1, 3):
        rows[k] = x * 5 * k
    return (rows[0] * rows[1]).sum() + rows[2][1]


def one_for_the_other(x):
    rows = [x[:3].copy(), x[3:].copy()]
    for k in range(2):
        rows[k] = rows[1 - k]
    return (rows[0] * rows[1]).sum()


def made_in_loops(x):
    rows = [x[:3].copy(), x[3:].copy()]
    for k in range(3):
        new = np.empty(3)
        for i in range(3):
            new[i] = rows[0][i] * rows[1][2 - i] + k
        rows[k % 2] = new
    return (rows[0] * rows[1]).sum()


def exchanged(x):
    rows = []
    for k in range(3):
        rows.append(x[2 * k : 2 * k + 2] * (k + 1))
    for k in range(2):
        rows[k], rows[k + 1] = rows[k + 1], rows[k]
    return (rows[0] * rows[1]).sum() + rows[2][0]


def exchanged_and_changed(x):
    rows = [x[:3].copy(), x[3:].copy()]
    for _ in range(3):
        rows[0], rows[1] = rows[1] * rows[0], rows[0]
    return rows[0] @ rows[1]


def exchanged_where_it_stands(x):
    rows = [x[:2].copy(), x[2:4].copy(), x[4:].copy()]
    for i in range(3):
        for j in range(i, 3):
            if rows[j][0] < rows[i][0]:
                rows[i], rows[j] = rows[j], rows[i]
            rows[j], rows[i] = rows[j], rows[i]
            rows[i][1] *= rows[j][0]
    return (rows[0] * rows[1]).sum() + rows[2][0] * rows[2][1]


PROGRAMS = [
    exchanged, exchanged_and_changed, exchanged_where_it_stands,
    squared, filled_first, read_by_a_name, changed_before, in_a_growing_list, of_views, one_array_several_times,
    one_for_the_other, made_in_loops,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


def written_afterwards(x):
    rows = [x[:3].copy(), x[3:].copy()]
    for k in range(2):
        new = rows[1 - k] * 2
        rows[k] = new
        new[0] = 5 * x[0]
    return rows[0] @ rows[1]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_write_through_the_other_name_is_refused(target):
    with pytest.raises(s2sad.AliasError, match=r"`new` is written here while `rows` may share its memory"):
        s2sad.grad(written_afterwards, target=target)(X)


def of_another_length(x):
    rows = [x[:2].copy(), x[2:].copy()]
    for k in range(2):
        rows[k] = rows[1] * 2 + k
    return rows[0] @ rows[1]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_arrays_of_another_length_are_refused(target):
    with pytest.raises(ValueError, match="gave way to one of another length"):
        s2sad.grad(of_another_length, target=target)(X)


def spread_over_each_other(x):
    rows = [x[:1] * 2]
    for k in range(3):
        rows.append(x[: k + 2] * rows[0])
    total = 0.0
    for row in rows:
        total += ((row + rows[0]) ** 2).sum()
    return total


def of_lengths_of_their_own(x):
    weights, offsets = [np.outer(x[:2], x[:3]), np.outer(x[:4], x[:2])], [x[:2] * 3, x[2:6]]
    h = x[:3]
    for w, b in zip(weights, offsets):
        h = np.tanh(w @ h + b)
    return (h**2).sum()


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_items_of_unequal_lengths_are_no_operands_of_each_other(target):
    with pytest.raises(ValueError, match="broadcast"):
        s2sad.value_and_grad(spread_over_each_other, target=target)(X)
    assert_derivatives(of_lengths_of_their_own, X, target)
