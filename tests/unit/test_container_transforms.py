"""Containers through every transform: structures of structures, leaves that are None, mismatches named."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import optree
import pytest

import s2sad
from s2sad import hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap
from s2sad.errors import ArgumentError, NotDifferentiableError

grad = functools.partial(s2sad.grad, target="python")

Pair = namedtuple("Pair", "first second")


@dataclass
class Layer:
    """A dataclass with a default, a derived field and a None."""

    w: Any
    b: Any
    note: Any = None
    scale: float = field(default=2.0)


@dataclass(frozen=True)
class Frozen:
    """A dataclass that forbids assignment."""

    x: Any
    y: Any


class Registered:
    """A class registered in optree; its name is metadata."""

    def __init__(self, w: Any, b: Any, name: str) -> None:
        self.w, self.b, self.name = w, b, name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Registered) and vars(self) == vars(other)


optree.register_pytree_node(
    Registered, lambda r: ((r.w, r.b), r.name), lambda name, parts: Registered(*parts, name), namespace="s2sad"
)

X, Y = np.array([1.0, 2.0]), np.array([3.0, -1.0])


def leaves(value: Any) -> list[Any]:
    """The numbers and arrays of a structure, None included, depth first."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in leaves(value[key])]
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in leaves(item)]
    if isinstance(value, Layer | Frozen | Registered):
        return [leaf for item in vars(value).values() for leaf in leaves(item)]
    return [value]


def energy_dict(p):
    return np.sum(p["w"] ** 2) * p["b"]


def energy_nested(p):
    return np.sum(p["layers"][0]["w"] * p["layers"][1]["w"]) * p["scale"][0] + p["scale"][1] ** 2


def energy_attributes(p):
    return np.sum(p.w**2) * p.b


def energy_pair(p):
    return np.sum(p.first**2) * p.second


def energy_items(p):
    return np.sum(p[0] ** 2) * p[1]


CASES = {
    "dict": (energy_dict, {"w": X, "b": 3.0}, {"w": 6.0 * X, "b": 5.0}),
    "ordered dict": (energy_dict, OrderedDict(w=X, b=3.0), OrderedDict(w=6.0 * X, b=5.0)),
    "defaultdict": (energy_dict, defaultdict(list, w=X, b=3.0), defaultdict(list, w=6.0 * X, b=5.0)),
    "tuple": (energy_items, (X, 3.0), (6.0 * X, 5.0)),
    "list": (energy_items, [X, 3.0], [6.0 * X, 5.0]),
    "namedtuple": (energy_pair, Pair(X, 3.0), Pair(6.0 * X, 5.0)),
    "dataclass": (energy_attributes, Layer(X, 3.0, None, 7.0), Layer(6.0 * X, 5.0, None, 0.0)),
    "registered": (energy_attributes, Registered(X, 3.0, "r"), Registered(6.0 * X, 5.0, "r")),
    "nested": (
        energy_nested,
        {"layers": [{"w": X}, {"w": Y}], "scale": (2.0, 3.0)},
        {"layers": [{"w": 2.0 * Y}, {"w": 2.0 * X}], "scale": (1.0, 6.0)},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_gradient_has_the_structure_of_the_argument(case: str) -> None:
    """Class, keys, order and leaves."""
    fun, point, exact = CASES[case]
    found = grad(fun)(point)
    assert type(found) is type(exact)
    if isinstance(exact, dict):
        assert list(found) == list(exact)
    for one, other in zip(leaves(found), leaves(exact), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("case", CASES)
def test_modes_agree(case: str) -> None:
    """Along the point itself: `jvp`, `vjp` and `hvp` of homogeneous and other functions, by their structures."""
    fun, point, exact = CASES[case]
    _, dot = jvp(fun, (point,), (point,), target="python")
    expected = sum(np.sum(a * b) for a, b in zip(leaves(exact), leaves(point), strict=True) if is_number(b))
    np.testing.assert_allclose(dot, expected, rtol=1e-14)
    value, pullback = vjp(fun, point, target="python")
    assert value == fun(point)
    (bar,) = pullback(10.0)
    for one, other in zip(leaves(bar), leaves(exact), strict=True):
        if other is not None and not isinstance(other, str):
            np.testing.assert_allclose(one, 10.0 * other, rtol=1e-14)


def is_number(value: Any) -> bool:
    """Say whether a leaf carries a derivative."""
    return isinstance(value, float | np.ndarray)


@pytest.mark.parametrize("case", ["dict", "namedtuple", "dataclass", "nested"])
def test_compiled(case: str) -> None:
    """The compiled target sees positional leaves; the structure comes back all the same."""
    fun, point, exact = CASES[case]
    value, found = value_and_grad(fun)(point)
    assert value == fun(point)
    assert type(found) is type(exact)
    for one, other in zip(leaves(found), leaves(exact), strict=True):
        np.testing.assert_array_equal(one, other)


def test_results_are_containers() -> None:
    """Results, their tangents and cotangents; None stands where there is no derivative."""

    def fun(x):
        return {"a": x * 2.0, "b": (np.sum(x), None), "n": x.size, "p": Pair(x[0], x)}

    out, dot = jvp(fun, (X,), (Y,), target="python")
    assert list(out) == ["a", "b", "n", "p"]
    assert (out["n"], dot["n"]) == (2, None)
    assert (out["b"][1], dot["b"][1]) == (None, None)
    assert isinstance(dot["p"], Pair)
    np.testing.assert_array_equal(dot["a"], 2.0 * Y)
    assert (dot["b"][0], dot["p"].first) == (2.0, 3.0)
    _, pullback = vjp(fun, X, target="python")
    (bar,) = pullback({"a": Y, "b": (10.0, None), "n": None, "p": Pair(100.0, np.array([0.0, 1000.0]))})
    np.testing.assert_array_equal(bar, 2.0 * Y + 10.0 + [100.0, 1000.0])
    (bar,) = pullback({"a": None, "b": None, "n": None, "p": Pair(1.0, None)})
    np.testing.assert_array_equal(bar, [1.0, 0.0])


def test_jacobians_nest_as_in_jax() -> None:
    """Outside the result's structure, inside the argument's; in both modes."""

    def fun(p):
        return {"s": np.sum(p["w"]) * p["b"], "v": (p["w"] ** 2, p["b"] ** 2)}

    point = {"w": X, "b": 3.0}
    for transform in (jacfwd, jacrev):
        J = transform(fun, target="python")(point)
        np.testing.assert_array_equal(J["s"]["w"], [3.0, 3.0])
        assert J["s"]["b"] == 3.0
        np.testing.assert_array_equal(J["v"][0]["w"], np.diag(2 * X))
        np.testing.assert_array_equal(J["v"][0]["b"], [0.0, 0.0])
        np.testing.assert_array_equal(J["v"][1]["w"], [0.0, 0.0])
        assert J["v"][1]["b"] == 6.0


def test_hessians_nest_as_in_jax() -> None:
    """The argument's structure twice; over several arguments a tuple outside."""
    H = hessian(energy_dict, target="python")({"w": X, "b": 3.0})
    np.testing.assert_array_equal(H["w"]["w"], 6.0 * np.eye(2))
    np.testing.assert_array_equal(H["w"]["b"], 2.0 * X)
    np.testing.assert_array_equal(H["b"]["w"], 2.0 * X)
    assert H["b"]["b"] == 0.0
    H = hessian(lambda x, p: np.sum(x**2) * p.second, (0, 1), target="python")(X, Pair(1.0, 3.0))
    np.testing.assert_array_equal(H[0][0], 6.0 * np.eye(2))
    np.testing.assert_array_equal(H[0][1].second, 2.0 * X)
    np.testing.assert_array_equal(H[1].second[0], 2.0 * X)
    assert isinstance(H[1], Pair)


def test_batches_of_containers() -> None:
    """`vmap` over a dictionary, one entry whole."""
    batch = {"w": np.arange(6.0).reshape(3, 2), "b": 3.0}
    found = vmap(grad(energy_dict), in_axes=({"w": 0, "b": None},), target="python")(batch)
    np.testing.assert_array_equal(found["w"], 6.0 * batch["w"])
    np.testing.assert_array_equal(found["b"], np.sum(batch["w"] ** 2, axis=1))


def test_none_leaves() -> None:
    """None in an argument stays None in its gradient, and may be asked for in the function."""

    def fun(p):
        return p["x"] ** 2 if p["mask"] is None else p["x"]

    assert grad(fun)({"x": 3.0, "mask": None}) == {"x": 6.0, "mask": None}


def test_frozen_dataclass() -> None:
    """A gradient is made without the constructor and without assignment."""
    assert grad(lambda p: p.x * p.x * p.y)(Frozen(3.0, 2.0)) == Frozen(12.0, 9.0)


def test_dtypes_per_leaf() -> None:
    """Every leaf keeps its dtype, shape and layout class."""
    point = {"a": np.float32(2.0), "b": np.ones(3, np.float32), "c": 1.5, "d": np.array(2.0), "e": 1 + 2j}
    found = grad(lambda p: p["a"] * np.sum(p["b"]) * p["c"] * p["d"] + np.abs(p["e"]) ** 2)(point)
    kinds = {key: (type(value), np.asarray(value).dtype, np.shape(value)) for key, value in found.items()}
    assert kinds == {key: (type(value), np.asarray(value).dtype, np.shape(value)) for key, value in point.items()}
    assert found["e"] == 2 - 4j


def test_integer_leaf() -> None:
    """An integer leaf is named; `allow_int` gives it a zero."""
    point = {"w": X, "n": 3}
    with pytest.raises(NotDifferentiableError, match=r"p\['n'\]"):
        grad(lambda p: np.sum(p["w"]) * p["n"])(point)
    found = grad(lambda p: np.sum(p["w"]) * p["n"], allow_int=True)(point)
    assert found["n"] == 0
    np.testing.assert_array_equal(found["w"], [3.0, 3.0])


class TestMismatches:
    """A tangent or cotangent that does not fit names the leaf, what was expected, and what came."""

    def push(self, tangent: Any) -> Any:
        """Push a tangent through a function of a nested argument."""
        point = {"layers": [{"w": X}, {"w": Y}], "scale": (2.0, 3.0)}
        return jvp(energy_nested, (point,), (tangent,), target="python")

    def test_fits(self) -> None:
        """The tangent that the others are variations of."""
        value, dot = self.push({"layers": [{"w": X}, {"w": None}], "scale": (None, 1.0)})
        assert (value, dot) == (11.0, 8.0)

    @pytest.mark.parametrize(
        ("tangent", "leaf", "words"),
        [
            ({"layers": [{"w": np.ones(3)}, {"w": Y}], "scale": (0.0, 1.0)}, "layers'][0]['w']", ["(2,)", "(3,)"]),
            ({"layers": [{"w": X}, {"w": Y.astype(np.float32)}], "scale": (0.0, 1.0)}, "layers'][1]['w']",
             ["float64", "float32"]),
            ({"layers": [{"w": X}], "scale": (0.0, 1.0)}, "layers']", ["2 items", "1 item"]),
            ({"layers": [{"w": X}, {"v": Y}], "scale": (0.0, 1.0)}, "layers'][1]", ["'w'", "'v'"]),
            ({"layers": [{"w": X}, {"w": Y}], "scale": 1.0}, "scale']", ["a tuple of 2 items", "`1.0` of type float"]),
            ({"layers": [{"w": X}, {"w": Y}], "scale": (0.0, "s")}, "scale'][1]", ["float64", "`'s'` of type str"]),
        ],
    )  # fmt: skip
    def test_tangent(self, tangent: Any, leaf: str, words: list[str]) -> None:
        """Structure, shape and dtype, leaf by leaf."""
        with pytest.raises(ArgumentError) as caught:
            self.push(tangent)
        message = str(caught.value)
        assert leaf in message
        for word in words:
            assert word in message

    def test_cotangent(self) -> None:
        """The same on the way back."""
        _, pullback = vjp(lambda x: {"a": x, "b": (np.sum(x),)}, X, target="python")
        with pytest.raises(ArgumentError, match=r"out_bar\['b'\]\[0\]") as caught:
            pullback({"a": X, "b": (X,)})
        assert "shape ()" in str(caught.value)
        assert "shape (2,)" in str(caught.value)


def test_unused_leaves() -> None:
    """A leaf that the result does not depend on gets zeros of its own shape and dtype."""
    point = {"a": 2.0, "b": np.ones((2, 3), np.float32), "c": (1j, None)}
    found = grad(lambda p: p["a"] ** 2)(point)
    assert (found["a"], found["c"]) == (4.0, (0j, None))
    np.testing.assert_array_equal(found["b"], np.zeros((2, 3)))
    assert found["b"].dtype == np.float32


def test_specialised_once_per_structure() -> None:
    """Other values of the same structure reuse what was derived; another structure does not."""
    derivative = grad(lambda p: np.sum(p["w"] ** 2))
    for scale in (1.0, 2.0):
        np.testing.assert_array_equal(derivative({"w": scale * X, "b": 1.0})["w"], 2.0 * scale * X)
    assert len(derivative.store.known()) == 1
    derivative({"w": np.ones((2, 2)), "b": 1.0})
    assert len(derivative.store.known()) == 2


def test_classes_alternate() -> None:
    """A call is never served by what was derived for another class, dtype, or number of arguments."""
    derivative = grad(lambda x: x * x)
    for value in (0.1, np.float32(0.1), 0.1, np.float64(0.1), 0.1j + 0.2):
        if isinstance(value, complex):
            with pytest.raises(NotDifferentiableError):
                derivative(value)
        else:
            found = derivative(value)
            assert type(found) is type(value)
            assert found == 2 * value
    many = grad(lambda *xs: xs[0] * xs[-1])
    assert (many(3.0), many(3.0, 4.0), many(3.0), many(3.0, 4.0, 5.0)) == (6.0, 4.0, 6.0, 5.0)


def test_arguments_are_not_touched() -> None:
    """Gradients share no memory with arguments, nor with one another."""
    point = {"a": X.copy(), "b": Y.copy()}
    found = grad(lambda p: np.sum(p["a"] * p["b"]))(point)
    found["a"][:] = 99.0
    found["b"][:] = 99.0
    np.testing.assert_array_equal(point["a"], X)
    np.testing.assert_array_equal(point["b"], Y)
    twice = grad(lambda p: np.sum(p["a"] + p["b"]))(point)
    twice["a"][:] = 5.0
    np.testing.assert_array_equal(twice["b"], [1.0, 1.0])


class Plain:
    """A class that nobody registered."""

    def __init__(self, w: Any) -> None:
        self.w = w


def test_how_a_class_becomes_a_container() -> None:
    """An object is no container by itself: the error says what makes it one."""
    with pytest.raises(NotDifferentiableError, match=r"make `Plain` a dataclass, or register it(.|\n)*\"s2sad\""):
        s2sad.grad(lambda p: np.sum(p.w**2))(Plain(X))
    with pytest.raises(ArgumentError, match="hold no numbers or arrays"):
        s2sad.vmap(lambda p: p.w)(Plain(X))
