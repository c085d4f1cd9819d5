"""Binding, argnums, structure keys, and the code generated per structure."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import optree
import pytest

from s2sad.api.flatten import Outcome, Result, detach, finisher, matcher
from s2sad.api.signature import Binder, Place
from s2sad.api.structure import describe, unflatten
from s2sad.errors import ArgumentError
from s2sad.ir.typeof import typeof


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass(frozen=True)
class Layer:
    w: Any
    b: Any

    def __post_init__(self):
        if self.b is None:
            raise AssertionError("gradients must not pass through the constructor")


class Registered:
    def __init__(self, w, scale):
        self.w, self.scale = w, scale


optree.register_pytree_node(
    Registered,
    lambda r: ((r.w,), r.scale, ("w",)),
    lambda s, c: Registered(*c, s),
    namespace="s2sad",
)


def two(w, b=2.0, *, scale=1.0):
    return w


def many(first, *rest):
    return first


def plain(x, y):
    return x


def test_bind_fills_defaults_and_orders_keywords():
    assert Binder(two).bind((1.0,), {}) == (1.0, 2.0, 1.0)
    assert Binder(two).bind((), {"scale": 3.0, "w": 1.0}) == (1.0, 2.0, 3.0)
    assert Binder(many).bind((1.0, 2.0, 3.0), {}) == (1.0, (2.0, 3.0))
    args = (1.0, 2.0)
    assert Binder(plain).bind(args, {}) is args


def test_bind_names_the_function_when_the_call_does_not_fit():
    with pytest.raises(ArgumentError, match=r"plain\(x, y\): missing a required argument: 'y'"):
        Binder(plain).bind((1.0,), {})
    with pytest.raises(TypeError):
        Binder(plain).bind((1.0,), {"z": 2.0})


def test_argnums_by_position_name_and_from_the_end():
    binder = Binder(plain)
    assert binder.places(0) == (Place(0),)
    assert binder.places(-1) == (Place(1),)
    assert binder.places(("y", 0)) == (Place(1), Place(0))
    assert Binder(two).places("scale") == (Place(2),)
    assert Binder(many).places((2, -1), (1.0, (2.0, 3.0, 4.0))) == (Place(1, 1), Place(1, 2))
    assert Binder(np.sin).places(0, (1.0,)) == (Place(0),)


@pytest.mark.parametrize("argnums", [2, -3, "z", (0, "x"), 1.5, None, True])
def test_argnums_that_name_no_argument(argnums):
    with pytest.raises(ArgumentError):
        Binder(plain).places(argnums)


VALUES = [
    1.0, 2, 1j, np.float32(1.0), np.arange(3.0), np.ones((2, 1), np.float32), np.ones(2)[::2],
    np.asfortranarray(np.ones((2, 3))), np.array(1.5), (1.0, [np.ones(2)]),
    {"b": 1.0, "a": np.ones(2)},
    Point(1.0, np.ones(2)), Layer(np.ones(2), 1.0), {"nested": [Point((1.0,), 2.0)]},
    None, True, "mean", OrderedDict(z=1.0, a=2.0), (), {}, np.arange(3, dtype=">f8"),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_match_returns_the_leaves_and_unflatten_undoes_it(value):
    tree = describe(value, "x")
    leaves = matcher([tree])((value,))
    assert leaves is not None
    again = unflatten(tree, dict(zip(tree.leaves(), leaves, strict=True)))
    assert type(again) is type(value) or isinstance(value, np.ndarray)
    np.testing.assert_equal(again, value)
    if not isinstance(value, OrderedDict):
        assert tree.type == typeof(value, "x")


def test_keys_differ_exactly_where_a_specialisation_must():
    def key(value):
        return describe(value, "x").key

    assert key(np.ones(3)) == key(np.ones(5))
    different = [
        1.0, 1, True, False, None, "a", "b", np.float64(1.0), np.array(1.0), np.ones(3), np.ones(1),
        np.ones((3, 3)), np.asfortranarray(np.ones((3, 3))), np.ones(6)[::2],
        np.ones(3, np.float32),
        (1.0,), [1.0], (1.0, 1.0), {"a": 1.0}, {"b": 1.0}, Point(1.0, 1.0), np.sin, plain,
    ]  # fmt: skip
    assert len({key(value) for value in different}) == len(different)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.ones(3), np.ones(1)),
        (np.ones(3), np.ones(3, np.float32)),
        (np.ones((3, 3)), np.ones((3, 3)).T),
        (np.ones(6)[::2], np.ones(3)),
        (np.array(1.0), np.ones(2)),
        ((1.0, 2.0), (1.0,)),
        ((1.0,), (1,)),
        ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}),
        (True, False),
        ("mean", "sum"),
    ],
)
def test_match_refuses_another_structure(first, second):
    match = matcher([describe(first, "x")])
    assert match((first,)) is not None
    if np.asfortranarray(np.ones((3, 3))) is not second:
        second = np.asfortranarray(second) if getattr(second, "ndim", 0) == 2 else second
    assert match((second,)) is None


def test_custom_containers_come_through_optree():
    value = Registered(np.ones(2), 3.0)
    tree = describe(value, "p")
    assert [leaf.path for leaf in tree.leaves()] == ["p.w"]
    match = matcher([tree])
    assert match((value,)) == (value.w,)
    assert match((Registered(np.ones(2), 4.0),)) is None
    again = unflatten(tree, {next(tree.leaves()): np.zeros(2)})
    assert isinstance(again, Registered)
    assert again.scale == 3.0


def test_defaultdict_keeps_its_factory():
    value = defaultdict(list, b=1.0, a=2.0)
    again = unflatten(describe(value, "x"), {})
    assert type(again) is defaultdict
    assert again.default_factory is list
    assert list(again) == ["b", "a"]


def test_paths_are_what_the_user_would_write():
    tree = describe({"layers": [Layer(1.0, (2.0, 3.0))]}, "params")
    assert [leaf.path for leaf in tree.leaves()] == [
        "params['layers'][0].w", "params['layers'][0].b[0]", "params['layers'][0].b[1]",
    ]  # fmt: skip


class Odd(list):
    pass


@pytest.mark.parametrize(
    "value",
    [
        np.array([object()]),
        np.ma.masked_array([1.0]),
        np.array(["a"]),
        Odd([1.0]),
        {1.0},
        np.matrix([1.0]),
    ],
)
def test_leaves_that_cannot_be_followed_are_refused_by_name(value):
    with pytest.raises(ArgumentError, match="`w"):
        describe({"k": value}, "w")


def test_results_share_no_memory():
    x = np.ones(3)
    tree = describe(x, "x")
    other = describe(x, "x")
    finish = finisher(Outcome([Result(tree, {tree: 0}), Result(other, {other: 1})], 2), [0])
    a, b = finish((x[:], x), (x,))
    assert not any(np.may_share_memory(*pair) for pair in ((a, x), (b, x), (a, b)))
    fresh = np.zeros(3)
    a, b = finish((fresh, fresh), (x,))
    assert a is fresh
    assert not np.may_share_memory(a, b)


def test_detach_many_copies_only_what_is_shared():
    base, alone = np.zeros(10), np.zeros(4)
    results = [base[:5], base[3:], alone, base]
    made = detach(results, [])
    assert made[2] is alone
    assert sum(np.may_share_memory(a, b) for i, a in enumerate(made) for b in made[:i]) == 0
    assert detach([base], [base])[0] is not base


def test_an_array_as_a_default():
    import numpy as np

    import s2sad

    def weighted(x, w=np.ones(3)):
        return np.sum(w * x**2)

    np.testing.assert_allclose(s2sad.grad(weighted, target="python")(np.arange(3.0)), [0.0, 2.0, 4.0])
