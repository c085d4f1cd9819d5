"""What larger programs are made of: counts asked of objects, settings by enumeration, parts joined at the end."""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass

import numpy as np
import pytest

import s2sad
from s2sad.errors import ArgumentError, UnsupportedSyntaxError
from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, -0.4])
M = np.array([[0.7, 1.3, -0.4, 2.1], [0.2, -0.9, 1.1, 0.3]])


class Link:
    def __init__(self, mass, offset):
        self.mass, self.offset = mass, np.asarray(offset)


class Arm:
    def __init__(self, links):
        self.links = links

    def __len__(self):
        return len(self.links)

    @property
    def joints(self):
        return len(self.links)

    def last(self):
        return len(self) - 1

    def swing(self, q):
        total = 0.0
        for i in reversed(range(len(self))):
            total = total * q[i] + self.links[i].mass * q[i] + np.sum(self.links[i].offset)
            if i < self.last():
                total += self.links[i + 1].mass
        for i in range(self.joints):
            total += q[i] * self.links[i].mass**2
        return total


def links_by_a_count_that_a_method_gives(m):
    return Arm([Link(m[i], [0.5, 0.2 * m[i]]) for i in range(3)]).swing(m * 0.5)


def depth(n):
    return 0 if n == 0 else depth(n - 1) + 1


def levels(x, n):
    return [(v, v * v) for v in x][depth(n)][1]


def counted_by_a_recursion(x):
    return levels(x, 2) + levels(x, 1)


def one_of_two(flag):
    if flag > 0:
        return 1
    return 2


def counted_by_paths_that_differ(x):
    return x[one_of_two(x[0])] * x[0] + x[one_of_two(-x[0])]


def turned_to_columns(x):
    heads = []
    for k in range(x.shape[1] - 1):
        heads.append(np.sin(x[:, k : k + 2]) * (k + 1.0))
    return np.sum(np.hstack(heads)[:, ::2] ** 3)


def blocks_of_several_widths(x):
    parts = []
    for k in range(3):
        parts.append(x[:, : k + 1] * x[0, k])
    whole = np.concatenate(parts, axis=-1)
    return np.sum(whole**2) + whole[1, 4]


def behind_one_another(x):
    return np.sum(np.dstack([np.full((2, 3, 2), v) * k for k, v in enumerate(x.ravel())]) ** 2)


def log_sum_exp(a, axis=None, keepdims=False):
    top = np.max(a, axis=axis, keepdims=True)
    out = np.log(np.sum(np.exp(a - top), axis=axis, keepdims=True)) + top
    return out if keepdims else np.squeeze(out, axis=axis)


def squeezed_to_a_number(x):
    return log_sum_exp(x) + np.sum(log_sum_exp(x[:, None] * x, axis=0) ** 2) + log_sum_exp(x, axis=-1)


def reshaped_to_a_number(x):
    return np.reshape(x[:1], ()) * np.sum(x) + x[1:2].reshape(())


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize(
    ("program", "x"),
    [
        (links_by_a_count_that_a_method_gives, X), (counted_by_a_recursion, X), (counted_by_paths_that_differ, X),
        (turned_to_columns, M), (blocks_of_several_widths, M), (behind_one_another, M),
        (squeezed_to_a_number, X), (reshaped_to_a_number, X),
    ],
)  # fmt: skip
def test_both_modes_agree_with_differences(program, x, target):
    assert_derivatives(program, x, target=target)


class Limiter(enum.Enum):
    LINEAR = "linear"
    SQUARE = "square"

    @classmethod
    def named(cls, text):
        return cls(text.lower())

    def apply(self, x):
        return x if self is Limiter.LINEAR else x * x


class Order(enum.IntEnum):
    FIRST = 1
    SECOND = 2


def limited(x, kind="square", order=2):
    by = Order(order)
    return np.sum(Limiter(kind).apply(x)) * by.value if by is Order.SECOND else np.sum(Limiter.named(kind).apply(x))


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_member_of_an_enumeration_is_found_by_its_value(target):
    gradient = s2sad.grad(limited, target=target)
    np.testing.assert_allclose(gradient(X), 4.0 * X)
    np.testing.assert_allclose(gradient(X, "linear"), 2.0 * np.ones(3))
    np.testing.assert_allclose(gradient(X, "square", 1), 2.0 * X)


def limited_by_name(x, kind):
    return np.sum(Limiter(kind).apply(x))


def test_a_value_that_no_member_has_is_said_with_its_line():
    with pytest.raises(ArgumentError, match="`Limiter` has no such member") as caught:
        s2sad.grad(limited_by_name)(X, "cubic")
    assert "'cubic' is not a valid Limiter" in str(caught.value)


@dataclass
class Beam:
    stiffness: float
    load: np.ndarray

    def energy(self):
        return np.sum(self.load**2) / self.stiffness


class Bridge:
    def __init__(self, stiffness, load):
        self.beam = Beam(stiffness, load)
        self.load = load

    def energy(self):
        return self.beam.energy() + np.sum(self.load)


def energy_of_a_bridge(stiffness, load):
    bridge = Bridge(stiffness, load)
    return bridge.energy()


def test_what_an_object_holds_is_not_named_again_in_the_emitted_text():
    source = s2sad.differentiate(energy_of_a_bridge, argnums=(0, 1), target="python")
    source.grad(2.0, X)
    text = source.source("grad")
    assert "made" not in text
    assert "bridge_load" not in text.replace("bridge_load_bar", "")


class Grid:
    def __init__(self, n):
        self.n = n

    @functools.cached_property
    def spacing(self):
        return 1.0 / self.n


def on_a_grid(x):
    return np.sum(x**2) * Grid(4).spacing


def test_a_cached_property_is_refused_by_its_name():
    with pytest.raises(UnsupportedSyntaxError, match="`spacing` is a `cached_property`") as caught:
        s2sad.grad(on_a_grid)(X)
    assert "Make it a `property`" in str(caught.value)


def of_one_precision_on_one_path(x):
    def settled(v):
        if v[0] > 10.0:
            return v
        return v * np.eye(3)[0]

    return np.sum(settled(x))


def test_returns_of_two_precisions_are_said_to_be():
    with pytest.raises(UnsupportedSyntaxError, match="one rank and dtype"):
        s2sad.grad(of_one_precision_on_one_path)(X.astype(np.float32))
