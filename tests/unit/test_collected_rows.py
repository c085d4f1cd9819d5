"""Lists of rows that are lists until they are appended: arrays; those that change behind that are refused."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.5, 1.0, 2.0])


def determinant(x):
    out = []
    for i in range(len(x)):
        rows = []
        for j in range(len(x)):
            rows.append(x[i] * x[j] + i)
        out.append(rows)
    matrix = np.array(out)
    return np.linalg.det(matrix + np.eye(len(x)))


def triangle(x):
    table = []
    for i in range(x.size):
        row = []
        for j in range(i + 1):
            row.append(1.0 if j == 0 else table[i - 1][j - 1] * x[j] if i > 0 else x[0])
        table.append(row)
    return table[x.size - 1][1] * table[2][2] + len(table)


def kernel(x):
    k = []
    for a in x:
        row = []
        for b in x:
            row.append(np.exp(-((a - b) ** 2)))
        k.append(row)
    k = np.array(k)
    return np.sum(k @ x)


def places(x):
    found = []
    for i in range(3):
        row = []
        for j in range(2):
            row.append((i + j) % 3)
        found.append(row)
    return np.sum(x[np.array(found)] ** 2)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", [determinant, triangle, kernel, places])
def test_rows(f, target):
    assert_derivatives(f, X, target)


def appended_first(x):
    out = []
    for i in range(3):
        row = []
        out.append(row)
        for j in range(2):
            row.append(x[i] * j)
    return np.sum(np.array(out))


def changed_behind(x):
    out = []
    for i in range(3):
        row = [x[i]]
        row.append(x[i] * 2.0)
        out.append(row)
        row[0] = 5.0
    return np.sum(np.array(out))


def joined(x):
    out = []
    for i in range(3):
        row = []
        for j in range(2):
            row.append(x[i] * j)
        out.append(row)
    return np.sum(np.array(out[0] + out[1]))  # four numbers, not two


@pytest.mark.parametrize("f", [appended_first, changed_behind])
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_what_changes_behind_is_refused(f, target):
    for derivative in (s2sad.grad(f, target=target), lambda x: s2sad.jvp(f, (x,), (x,), target=target)):
        with pytest.raises(s2sad.S2SADError) as info:
            derivative(X)
        assert info.value.span is not None


def doubled(x):
    out = []
    for i in range(3):
        row = []
        for j in range(2):
            row.append(x[i] * j)
        out.append(row)
    return np.sum(np.array(out[0] * 2))  # four numbers, not two


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_rows_that_are_joined_are_lists(target):
    assert_derivatives(joined, X, target)


def test_what_means_a_list_is_no_array():
    with pytest.raises(s2sad.NotDifferentiableError, match="list of lists"):
        s2sad.grad(doubled)(X)
