"""Arrays of a list that give way to others: `rows[k] = y` is no write into what was there."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives, differences

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


def rows_that_change_places(x):
    rows = [row for row in np.outer(x, x)]
    rows[0], rows[1] = rows[1], rows[0]
    return rows[0][0] ** 2 + rows[1][1]


PROGRAMS = [
    rows_that_change_places,
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


def layers_backwards(x):
    weights, acts = [x[:6].reshape(2, 3), x[3:].reshape(3, 1)], [x[:2]]
    for k in range(2):
        acts.append(np.tanh(acts[-1] @ weights[k]))
    d, slopes = acts[-1], []
    for k in range(1, -1, -1):
        slopes.append(np.outer(acts[k], d))
        d = weights[k] @ d * (1 - acts[k] ** 2)
    return (slopes[0] ** 2).sum() + (slopes[1] ** 3).sum() + (d**2).sum()


def replaced_by_their_like(x):
    rows = [np.ones(3) * x[0], np.ones(2) * x[1]]
    for k in range(2):
        rows[k] = rows[k] * x[2]
        rows[k] *= x[3]
    return rows[0] @ rows[0] + rows[1].sum()


def matrices_replaced(x):
    mats, total = [x[:6].reshape(2, 3) * 1.0, x[3:].reshape(3, 1) * 1.0], 0.0
    for _ in range(2):
        total += ((np.ones((1, 2)) @ mats[0]) ** 2).sum()
        for k in range(2):
            mats[k] = mats[k] * 1.1
    return total + mats[1].sum()


def trained(x):
    data = np.outer(x[:4], x[2:5])
    weights, k = [], 0
    for rows, columns in ((3, 1), (1, 2)):
        weights.append(x[k : k + rows * columns].reshape(rows, columns).copy())
        k += rows * columns
    loss = 0.0
    for _ in range(2):
        h = np.tanh(data @ weights[0])
        e = h @ weights[1] - 1.0
        loss += np.mean(e**2)
        back = e @ weights[1].T * (1 - h**2)
        weights[1] -= 0.1 * h.T @ e
        weights[0] -= 0.1 * data.T @ back
    return loss


def slices_of_growing_lengths(x):
    parts = [x[:k] * k for k in range(1, 5)]
    first, last = parts[0] * 2, parts[3] * 3
    return (first**2).sum() + (last**3).sum() + parts[2] @ parts[2]


def joined_and_grown(x):
    parts = []
    for k in range(3):
        parts.append(np.concatenate([x[:k], x]))
    return sum((p * p).sum() * p[0] for p in parts) + (parts[1] * 2).sum() * (parts[2] - 1).sum()


def added(rows, x, k):
    if k > 5:
        return 0.0
    rows.append(x[:k] * k)
    return x[k]


def appended_by_a_helper(x):
    rows, total = [], 0.0
    for k in range(1, 4):
        total += added(rows, x, k)
    first, last = rows[0] * 2, np.sin(rows[2]) * 3
    return (first**2).sum() + (last**3).sum() * total + rows[1] @ rows[1]


def begun_and_appended_by_a_helper(x):
    rows, total = [x[:1] * 1.0], 0.0
    for k in range(2, 4):
        total += added(rows, x, k)
    first, last = rows[0] * 2, np.sin(rows[2]) * 3
    return (first**2).sum() + (last**3).sum() * total + rows[1] @ rows[1]


UNEVEN = [
    appended_by_a_helper, begun_and_appended_by_a_helper,
    spread_over_each_other, of_lengths_of_their_own, layers_backwards, replaced_by_their_like, matrices_replaced,
    trained, slices_of_growing_lengths, joined_and_grown,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", UNEVEN)
def test_items_of_unequal_lengths_have_each_their_own(fun, target):
    assert_derivatives(fun, X, target)


def written_by_its_other_name(x):
    rows = []
    for k in range(3):
        rows.append(x * (k + 1.0))
    y = x * 0.5
    rows[0] = y
    y[0] *= 3
    return rows[0][0] + rows[1][1] * rows[0][2]


def exchanged_and_held_twice(x):
    rows = []
    for k in range(3):
        rows.append(x * (k + 1.0))
    rows.append(rows[-1])
    rows[2], rows[0] = rows[0], rows[2]
    rows[0][0] *= 0.5
    return rows[3][0] + rows[2][1]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_tangent_follows_the_array_that_a_list_is_given(target):
    x_dot = np.cos(X)
    value, out_dot = s2sad.jvp(written_by_its_other_name, (X,), (x_dot,), target=target)
    assert value == written_by_its_other_name(X)
    np.testing.assert_allclose(out_dot, differences(written_by_its_other_name, X) @ x_dot, rtol=1e-6)
    with pytest.raises(s2sad.AliasError, match="may share its memory"):
        s2sad.grad(written_by_its_other_name, target=target)(X)


@pytest.mark.parametrize("mode", ["grad", "jvp"])
def test_an_array_that_a_list_holds_twice_is_not_written_once_its_places_change(mode):
    with pytest.raises(s2sad.AliasError, match="may hold twice"):
        s2sad.differentiate(exchanged_and_held_twice, target="python").source(mode, types=(X,))
