"""Lists that grow by several items at once, give items back from anywhere, and lie in objects and dicts."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, -0.4, 2.1])


def weighted(items):
    return sum(k * v for k, v in enumerate(items, 1))


def extended_by_what_it_ends_with(x):
    items = []
    for v in x:
        items.append(v * v)
    items += [items[-1] * 2, items[-1] * x[0], items[-2], len(items)]
    return weighted(items)


def extended_by_a_call(x):
    items = []
    for v in x:
        items.append(v * v)
    items.extend([items[-1] * 2, sum(items)])
    items.extend((items[-1], items[-1] * x[1]))
    return weighted(items)


def extended_by_a_comprehension(x):
    items = []
    for v in x:
        items.append(v * v)
    items += [items[-1] * x[k] for k in range(3)]
    return weighted(items)


def extended_under_another_name(x):
    items = []
    for v in x:
        items.append(v * v)
    same = items
    same += [items[-1] * 2, items[-1] * 3, same[-1]]
    return weighted(items)


def pairs_extended_by_their_last(x):
    pairs = []
    for v in x:
        pairs.append((v, v * v))
    pairs += [(pairs[-1][1], pairs[-1][0]), (pairs[-1][0] * 3, pairs[-1][1])]
    pairs.extend([pairs[-1], (pairs[-1][1], pairs[-2][0])])
    return weighted([a * b for a, b in pairs])


def turned_around_now_and_then(x):
    items = []
    for i in range(len(x)):
        items.append(x[i] * (i + 1))
        if i % 2:
            items.reverse()
    return weighted(items)


def taken_from_the_middle(x):
    items = [v * v for v in x]
    same = items
    taken = items.pop(1) * same.pop(-2)
    return taken * weighted(items) + len(same)


def emptied_under_another_name(x):
    items, total = [], 0.0
    same = items
    for v in x:
        if len(items) > 1:
            total += items[0] * items[-1]
            same.clear()
        items.append(np.sin(v))
    return total + sum(same)


def pairs_turned_around(x):
    pairs = []
    for i, v in enumerate(x):
        pairs.append((v, i))
    pairs.reverse()
    first, place = pairs.pop(1)
    total = first * place + weighted([a * i for a, i in pairs])
    pairs.clear()
    return total + len(pairs)


def extended_by_iterators(x):
    items = []
    items.extend(v * v for v in x)
    items.extend(range(3))
    items.extend(reversed(x))
    items += (v * x[0] for v in x[1:])
    return weighted(items)


def pairs_extended_by_iterators(x):
    pairs = []
    pairs.extend((v, 2 * v) for v in x)
    pairs.extend(zip(x, x[::-1], strict=True))
    return sum(a * b for a, b in pairs)


class Record:
    def __init__(self):
        self.numbers = []
        self.pairs = []


def pairs_in_an_object(x):
    one, other = Record(), Record()
    for v in x:
        one.pairs.append((v, v * v))
        other.pairs.append(v)
        one.numbers += [v, v * x[0]]
    one.pairs.append((one.pairs[-1][1], one.pairs[-1][0]))
    return weighted([a * b for a, b in one.pairs]) + sum(other.pairs) * weighted(one.numbers)


def pairs_in_a_dict(x):
    history = {"loss": [], "steps": []}
    for v in x:
        history["loss"].append(v * v)
        history["steps"].append((v, x * v))
    history["loss"] += [history["loss"][-1] * 2, history["loss"][-1]]
    return weighted(history["loss"]) + sum(a * np.sum(b) for a, b in history["steps"])


def a_tree_breadth_first(x):
    queue, total = deque([(0, x[0])]), 0.0
    while queue:
        place, carried = queue.popleft()
        total += carried
        for child in (2 * place + 1, 2 * place + 2):
            if child < len(x):
                queue.append((child, carried * x[child]))
    return total


def arrays_changed_in_the_list(x):
    rows = []
    for k in range(3):
        rows.append(x * k)
    rows[1] += 3.0
    rows[-1] /= 2
    rows[1] **= 2
    rows[0] -= [1, 2, 3, 4]
    return np.sum(rows[0] * rows[1] * rows[2])


def places_by_ranges(x):
    p = np.exp(np.outer(x, [1.0, 0.5, 0.2]))
    y = [2, 0, 1, 1]
    p[range(4), y] -= 1.0
    chosen = []
    for k in range(4):
        if x[k] > 0:
            chosen.append(k)
    along = np.dot(x, range(4)) + np.mean(range(3)) * np.take(p, range(2)).prod()
    return np.sum(p[range(4), y] ** 2) + np.sum(p[chosen] ** 2) + along * np.sum(np.array(range(4)) * x)


PROGRAMS = [
    extended_by_what_it_ends_with, extended_by_a_call, extended_by_a_comprehension, extended_under_another_name,
    pairs_extended_by_their_last, turned_around_now_and_then, taken_from_the_middle, emptied_under_another_name,
    pairs_turned_around, extended_by_iterators, pairs_extended_by_iterators, pairs_in_an_object, pairs_in_a_dict,
    a_tree_breadth_first, arrays_changed_in_the_list, places_by_ranges,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_value_gradient_and_tangent(fun, target):
    assert_derivatives(fun, X, target)


def known_list_that_its_iterator_reads(x):
    items = [x[0]]
    items += (items[-1] * x[1] for _ in range(3))
    return sum(items)


def list_that_its_iterator_reads(x):
    items = []
    for v in x:
        items.append(v)
    items.extend(map(lambda k: items[-1] * k, x))
    return sum(items)


@pytest.mark.parametrize("fun", [known_list_that_its_iterator_reads, list_that_its_iterator_reads])
def test_a_list_that_is_extended_by_what_reads_it_is_refused(fun):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="grows here while an iterator that reads it"):
        s2sad.grad(fun, target="python")(X)


def searched(x):
    items = [v * v for v in x]
    order = [2, 0, 1]
    best = items.index(max(items))
    return items[best] * order.index(0) + items.count(items[0]) * x[best] + ("a", "b").index("b") * items[1]


def looked_for_in_vain(x):
    return [v for v in x].index(100.0) * x[0]


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_index_and_count(target):
    assert_derivatives(searched, X, target)
    with pytest.raises(ValueError, match="not in this list"):
        s2sad.grad(looked_for_in_vain, target=target)(X)


def array_of_a_display_and_a_list(x):
    return np.sum(np.array([[1.0, x[0], 2.0], list(x)]) ** 3)


def array_of_one_list_twice(x):
    items = []
    for v in x:
        items.append(v * v)
    m = np.array([items, items], dtype=float)
    m[0] *= 2.0
    return np.sum(m * m * x)


def array_of_nested_lists(x):
    items = [v * v for v in x]
    return np.sum(np.array([[items, [1.0, x[1], 3.0]], [items, items]]) ** 2 * x)


def joined_with_an_array(x):
    items = [v * v for v in x]
    long = np.concatenate([items, x, [x[0]]])
    return np.sum(long * np.arange(7.0)) + np.hstack([items, x])[1] * np.hstack([x, items])[4]


def stacked_with_an_array(x):
    items = [v * v for v in x]
    rows = np.vstack([items, x]) * np.stack([x, items])
    return np.sum(rows @ np.column_stack([items, x]))


def block_of_lists(x):  # to NumPy, the numbers of a list are blocks
    items = [v * v for v in x]
    return np.sum(np.block([items, items]) * np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [
    block_of_lists, array_of_a_display_and_a_list, array_of_one_list_twice, array_of_nested_lists, joined_with_an_array,
    stacked_with_an_array,
])  # fmt: skip
def test_lists_among_the_rows_that_are_joined(fun, target):
    assert_derivatives(fun, np.array([1.0, 2.0, 4.0]), target)


def rows_of_different_lengths(x):
    items = [v * v for v in x]
    return np.sum(np.array([items, [1.0, 2.0]]))


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_rows_of_different_lengths_are_noticed(target):
    with pytest.raises(Exception, match=r"shape|length|size"):
        s2sad.grad(rows_of_different_lengths, target=target)(np.array([1.0, 2.0, 4.0]))


def grown(x):
    items = [x[0]]
    for _ in range(4):
        items.append(items[-1] * x[1])
    return items


def backwards_beside_itself(x):
    items = grown(x)
    total = 0.0
    for a, b in zip(items[-2::-1], items[::-1], strict=False):
        total += a * b
    return total


def backwards_by_every_bound(x):
    items = grown(x)
    total = 0.0
    for a in range(-7, 8):
        for b in range(-7, 8):
            for i, item in enumerate(items[a:b:-1]):
                total += item * (i + 1) * (a + 2 * b)
            for i, item in enumerate(items[a::-2]):
                total += item * (i + 1) * (a + 2 * b)
            for i, item in enumerate(items[:b:-3]):
                total += item * (i + 1) * (a + 2 * b)
    return total


def backwards_by_known_bounds(x):
    items = grown(x)
    return sum(items[3:0:-2]) + sum(items[10::-3]) * 2 + sum(items[:-3:-1]) + sum(items[-1:0:-1]) * x[0]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [backwards_beside_itself, backwards_by_every_bound, backwards_by_known_bounds])
def test_slices_that_go_backwards(fun, target):
    assert_derivatives(fun, np.array([0.4, 0.9]), target)
