"""`type(x)` of lists, tuples, dicts and arrays, as argument checks ask it."""

import numpy as np
import pytest

import s2sad


def checked(x):
    if type(x) not in [tuple, list, np.ndarray]:
        raise ValueError("a list or an array is needed")
    return np.sum(np.array(x) ** 2)


def by_kind(x):
    if type(x) == list:
        return sum(v * v for v in x)
    if type(x) is tuple:
        return x[0] * x[1]
    if type(x) is dict:
        return x["a"] ** 3
    return np.sum(x) * 3.0


def of_a_list_that_grows(x):
    items = []
    for k in range(3):
        items.append(x[0] * k)
    return sum(items) if type(items) is list else 0.0


def test_kinds_are_told():
    assert s2sad.grad(checked)([1.0, 2.0]) == [2.0, 4.0]
    assert s2sad.grad(checked)(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert s2sad.grad(by_kind)([1.0, 2.0]) == [2.0, 4.0]
    assert s2sad.grad(by_kind)((3.0, 2.0)) == (2.0, 3.0)
    assert s2sad.grad(by_kind)({"a": 2.0}) == {"a": 12.0}
    assert s2sad.grad(by_kind)(np.ones(2)).tolist() == [3.0, 3.0]
    assert s2sad.grad(of_a_list_that_grows)(np.ones(2)).tolist() == [3.0, 0.0]


def test_another_kind_raises_what_the_program_raises():
    with pytest.raises((ValueError, s2sad.S2SADError), match="a list or an array is needed"):
        s2sad.grad(checked)(1.0)
