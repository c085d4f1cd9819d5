"""Lists of records: tuples, lists and named tuples that are appended, popped, unpacked, and sorted by a key."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, -0.4, 2.1])
M = np.arange(12.0).reshape(3, 4) / 7 - 0.6

Sample = namedtuple("Sample", "at value")


def a_history_in_time(x):
    history = []
    t = 0.0
    y = x[0]
    while t < 1.0:
        y = y + 0.1 * x[1] * y
        t += 0.25
        history.append((t, y))
    s = 0.0
    for t, y in history:
        s += t * y * y
    return s


def a_stack_of_pairs(x):
    stack = []
    stack.append((x[0], 1))
    s = 0.0
    while stack:
        v, depth = stack.pop()
        s += v**2 * depth
        if depth < 3:
            stack.append((v * 0.5, depth + 1))
            stack.append((v * 2, depth + 1))
    return s


def a_stack_that_starts_with_one(x):
    stack = [(x[0], 1)]
    s = 0.0
    while len(stack) > 0:
        v, depth = stack.pop()
        s += v**2 * depth
        if depth < 3:
            stack.append((v * x[1], depth + 1))
            stack.append((v * 2, depth + 1))
    return s


def edges_of_a_graph(x):
    edges = []
    for i in range(3):
        for j in range(i + 1, 4):
            edges.append((i, j))
    s = 0.0
    for i, j in edges:
        s += x[i] * x[j] ** 2
    return s


def pairs_by_comprehension(x):
    pairs = [(i, v * v) for i, v in enumerate(x) if v > 0]
    s = 0.0
    for i, v in pairs:
        s += i * v * x[i]
    return s * pairs[0][1] + len(pairs)


def columns_of_pairs(x):
    pairs = []
    for v in x:
        pairs.append((v, v * v))
    table = np.array(pairs)
    t, y = zip(*pairs)
    return np.sum(table[:, 0] * table[:, 1]) + sum(t) * y[-1] + np.sum(np.array(y))


def named_tuples(x):
    samples = []
    for v in x:
        samples.append(Sample(v, v * v))
    return sum(p.at * p.value for p in samples) + samples[-1].value


def records_with_rows(m):
    records = []
    for i in range(3):
        records.append((i, m[i] * 2, m[i].sum()))
    s = 0.0
    for i, row, total in records[1:]:
        s += np.sum(row**2) * total * i
    return s


def nested_records(x):
    records = []
    for v in x:
        records.append([v, (v * v, 1.0)])
    records[1] = [x[0], (x[2], 2.0)]
    s = 0.0
    for a, (b, c) in records:
        s += a * b * c
    return s


def pairs_from_an_inner_function(x):
    def neighbours(x):
        out = []
        for i in range(len(x) - 1):
            out.append((x[i], x[i + 1]))
        return out

    s = 0.0
    for a, b in neighbours(x):
        s += a * b * b
    return s


def push_pair(stack, v):
    stack.append((v, v * v))


def pairs_pushed_elsewhere(x):
    stack = []
    for v in x:
        push_pair(stack, v)
    s = 0.0
    for a, b in stack:
        s += a * b
    return s


def the_last_pair_read(x):
    history = [(0.0, x[0])]
    for _ in range(5):
        t, y = history[-1]
        history.append((t + 0.1, y + 0.1 * x[1] * y * y))
    return history[-1][1] ** 2 + history[2][1] * history[3][0]


def the_last_pair_replaced(x):
    best = []
    for i, v in enumerate(x):
        if v > 0:
            best.append((v, i))
        elif len(best) > 0:
            best[-1] = (v, i)
    return sum(v * v * i for v, i in best)


def zipped_to_a_list(x):
    pairs = list(zip(x, x * x))
    return sum(a * b for a, b in pairs)


def enumerated_to_a_list(x):
    pairs = list(enumerate(x))
    return sum(i * v**2 for i, v in pairs)


def places_in_a_list(x):
    places = list(range(4))
    s = 0.0
    for i in places:
        s += x[i] ** 2 * i
    return s


def length_of_a_path(m):
    points = [(row[0], row[1]) for row in m]
    s = 0.0
    for (a, b), (c, d) in zip(points[:-1], points[1:]):  # noqa: RUF007
        s += (a - c) ** 2 + (b - d) ** 2
    return s


def pairs_sorted_by_a_number(x):
    pairs = sorted([(x[0], 2.0), (x[1], 1.0)], key=lambda pair: pair[1])
    return pairs[0][0] ** 2 * pairs[1][0]


def items_sorted_by_size(x):
    items = sorted(x, key=lambda v: -abs(v))
    s = 0.0
    for i, v in enumerate(items):
        s += (i + 1) * v**2
    return s


def pairs_sorted_in_reverse(x):
    pairs = []
    for i, v in enumerate(x):
        pairs.append((v * v, i))
    largest_first = sorted(pairs, key=lambda pair: pair[0], reverse=True)
    s = 0.0
    for rank, (v, i) in enumerate(largest_first):
        s += v * (rank + 1) * i
    return s


def the_two_largest(x):
    squares = [v * v for v in x]
    squares = sorted(squares, key=lambda v: -v)[:2]
    return squares[0] * squares[1] ** 2


def rows_sorted_by_a_column(m):
    rows = sorted(m, key=lambda row: row[1])
    return sum(rows[0] * rows[1]) + rows[2][3] ** 2


@dataclass
class Account:
    total: float = 0.0
    entries: list = field(default_factory=list)

    def push(self, v):
        self.total += v
        self.entries.append(v)


def a_record_with_a_list_that_grows(x):
    account = Account()
    for v in x:
        account.push(v * v)
    return account.total + account.entries[-1]


PROGRAMS = [
    (a_history_in_time, X), (a_stack_of_pairs, X), (a_stack_that_starts_with_one, X), (edges_of_a_graph, X),
    (pairs_by_comprehension, X), (columns_of_pairs, X), (named_tuples, X), (records_with_rows, M), (nested_records, X),
    (pairs_from_an_inner_function, X), (pairs_pushed_elsewhere, X), (the_last_pair_read, X),
    (the_last_pair_replaced, X), (zipped_to_a_list, X), (enumerated_to_a_list, X), (places_in_a_list, X),
    (length_of_a_path, M), (pairs_sorted_by_a_number, X), (items_sorted_by_size, X), (pairs_sorted_in_reverse, X),
    (the_two_largest, X), (rows_sorted_by_a_column, M), (a_record_with_a_list_that_grows, X),
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(("fun", "x"), PROGRAMS)
def test_value_gradient_and_tangent(fun, x, target):
    assert_derivatives(fun, x, target)


def a_list_with_another_name(x):
    rows = []
    for i in range(3):
        pair = [x[i], x[i + 1]]
        rows.append(pair)
    rows[0][1] = 7.0
    return rows[0][0] * rows[0][1] + pair[0]


def lists_without_another_name(x):
    rows = []
    for i in range(3):
        pair = [x[i], x[i + 1]]
        rows.append(pair)
    rows[0][1] = 7.0
    return rows[0][0] * rows[0][1] + rows[1][1] ** 2


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_items_that_have_no_other_name_are_written(target):
    assert_derivatives(lists_without_another_name, X, target)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_an_item_is_written_that_has_another_name(target):
    assert_derivatives(a_list_with_another_name, X, target)


@dataclass
class Joint:
    mass: float
    length: float


def forces_from_the_tip(q, joints):
    forces = []
    for k in range(len(joints)):
        forces.append(q[k] * joints[k].mass)
    total = 0.0
    for k, force in reversed(list(enumerate(forces))):
        total = total * joints[k].length + force
    return total


def forces_sorted_from_the_tip(q, joints):
    forces = [q[k] * joint.mass for k, joint in enumerate(joints)]
    total = 0.0
    for k, force in sorted(enumerate(forces), key=lambda pair: -pair[0]):
        total = total * joints[k].length + force
    return total


def lengthened(q, joints):
    forces = []
    for k in range(len(joints)):
        forces.append(q[k])
    total = 0.0
    for k, force in reversed(list(enumerate(forces))):
        joint = joints[k]
        joint.length *= 2.0
        total = total * joint.length + force
    return total


JOINTS = [Joint(0.5, 1.5), Joint(2.0, 0.3), Joint(1.2, 0.8)]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [forces_from_the_tip, forces_sorted_from_the_tip])
def test_fields_of_records_by_an_index_that_is_not_known(fun, target):
    expected = [0.5, 1.5 * 2.0, 1.5 * 0.3 * 1.2]
    np.testing.assert_allclose(s2sad.grad(fun, target=target)(X[:3], JOINTS), expected)


def test_a_record_that_may_be_written_is_no_row_of_a_table():
    with pytest.raises(s2sad.AliasError, match="may or may not be the one that another name means"):
        s2sad.grad(lengthened, target="python")(X, JOINTS)
