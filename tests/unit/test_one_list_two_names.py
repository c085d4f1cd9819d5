"""Lists and arrays that two names mean, and lists that a helper changes."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import differences

X = np.array([0.3, 0.2, 0.5])


def weighted(items):
    return sum((k + 1) * v for k, v in enumerate(items))


def first_taken_out(x):
    a = [v * 1.0 for v in x]
    b = a
    a.pop(0)
    return weighted(b)


def sorted_by_its_other_name(x):
    a = [v * 1.0 for v in x]
    b = a
    a.sort()
    return weighted(b)


def first_deleted(x):
    a = [v * 1.0 for v in x]
    b = a
    del a[0]
    return weighted(b)


def put_in_front(x):
    a = [x[0], x[1]]
    b = a
    for v in x:
        a.insert(0, v)
    return weighted(b)


def grown_and_read_by_its_second_name(x):
    a = []
    b = a
    for v in x:
        b.append(v * v)
    return b[2] * b[0]


def grown_while_by_its_second_name(x):
    stack, out = [x[0]], []
    o = out
    while stack:
        v = stack.pop()
        o.append(v * v)
        if len(o) < 3:
            stack.append(v * x[len(o)])
    return o[0] * o[2]


def held_in_a_dict(x):
    a = [x[0] * x[1], x[1]]
    state = {"items": a}
    for v in x:
        state["items"].insert(0, v)
    return weighted(a)


def held_twice(x):
    a = [v * 1.0 for v in x]
    both = [a, a]
    both[0].pop(0)
    return weighted(both[1])


def take_the_first(items, v):
    if v > 0.25:
        items.pop(0)
        return 1.0
    return 0.5


def taken_out_by_a_helper(x):
    a = [v * 1.0 for v in x]
    s = take_the_first(a, x[0])
    return s * weighted(a)


def take_the_last(items, v):
    if v > 0.25:
        items.pop()
        return 1.0
    return 0.5


def last_taken_out_by_a_helper(x):
    a = [v * 1.0 for v in x]
    s = take_the_last(a, x[0])
    return s * weighted(a)


def helper_in_a_loop(x):
    a = [v * 1.0 for v in x]
    s = 0.0
    for v in x:
        s += take_the_last(a, v) * v
        s += sum(u * u for u in a)
    return s


def write_and_append(items, v):
    if v > 0.25:
        items[0] = items[0] * v
        items.append(v)
        return v
    items.append(v * v)
    return 0.5


def helper_that_writes_in_a_loop(x):
    a = [v * 1.0 for v in x]
    s = 0.0
    for v in x:
        s += write_and_append(a, v) * v
        s += sum(u * u for u in a)
    return s


def write_into_an_array(items, v):
    if v > 0.25:
        items[0][1] = items[0][1] * v
        items.append(v * items[0])
        return v
    items.append(v * v * items[1])
    return 0.5


def list_of_arrays_in_a_loop(x):
    a = [v * x for v in x]
    s = 0.0
    for v in x:
        s += write_into_an_array(a, v) * v
        s += sum((u * u).sum() for u in a)
    return s


PROGRAMS = [
    first_taken_out, sorted_by_its_other_name, first_deleted, put_in_front, held_in_a_dict, held_twice,
    taken_out_by_a_helper, last_taken_out_by_a_helper, helper_in_a_loop, helper_that_writes_in_a_loop,
    list_of_arrays_in_a_loop, grown_and_read_by_its_second_name, grown_while_by_its_second_name,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_every_name_sees_the_change(program):
    expected = differences(program, X)
    assert np.allclose(s2sad.grad(program, target="python")(X), expected, atol=1e-6)
    assert np.allclose(s2sad.jacfwd(program, target="python")(X), expected, atol=1e-6)


@pytest.mark.parametrize("program", [last_taken_out_by_a_helper, list_of_arrays_in_a_loop], ids=lambda f: f.__name__)
def test_compiled(program):
    assert np.allclose(s2sad.grad(program)(X), differences(program, X), atol=1e-6)


def grows_by_an_unsure_name(x):
    a = [v * 1.0 for v in x]
    b = [v * 2 for v in x]
    c = a if x[0] > 0.1 else b
    c.append(x[1])
    return weighted(a)


def kept_while_it_grows(x):
    best = [0.0]
    path = []
    for v in x:
        path.append(v)
        if v > 0.25:
            best = path
    return sum(best)


@pytest.mark.parametrize("program", [grows_by_an_unsure_name, kept_while_it_grows], ids=lambda f: f.__name__)
def test_a_list_that_another_name_may_mean_does_not_grow(program):
    with pytest.raises(s2sad.AliasError, match="grows or shrinks here while"):
        s2sad.grad(program, target="python")(X)
    assert np.allclose(s2sad.jacfwd(program, target="python")(X), differences(program, X), atol=1e-6)


def test_a_copy_may_grow():
    def kept_as_a_copy(x):
        best = [0.0]
        path = []
        for v in x:
            path.append(v)
            if v > 0.25:
                best = path.copy()
        return sum(best)

    assert np.allclose(s2sad.grad(kept_as_a_copy, target="python")(X), [1.0, 1.0, 1.0])


def write_by_an_unsure_name(first, second, v):
    z = first
    if v > 0.25:
        z = second
    if v > 0.1:
        z[0] = v * v
        return 1.0
    return 2.0


def test_a_write_before_an_early_return_is_looked_at_too():
    def program(x):
        a, b = x * 2, x * 3
        s = write_by_an_unsure_name(a, b, x[0])
        return s * (a.sum() + 2 * b.sum())

    with pytest.raises(s2sad.AliasError, match="may share its memory"):
        s2sad.grad(program, target="python")(X)
    assert np.allclose(s2sad.jacfwd(program, target="python")(X), differences(program, X), atol=1e-6)


def test_the_copy_that_is_proposed_is_one_of_the_array_and_not_of_the_list_that_holds_it():
    def program(x):
        def put_twice(items, array):
            items.append(array)
            items.append(array)

        a, items = x * 2.0, [np.zeros(x.size)]
        put_twice(items, a)
        last = items[-1]
        for i in range(x.size):
            a[i] = a[i] * a[i] + last[i]
            last[i] = a[i] + items[1][i]
        return np.sum(a * last)

    with pytest.raises(s2sad.AliasError, match=r"`items.append\(v.copy\(\)\)`"):
        s2sad.grad(program, target="python")(X)
