"""What an object has that is no field of its class: attributes of the class, and of the object alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

import s2sad

X = np.array([0.7, 1.3, -0.4])
NO_FIELD = r"`Prepared` has no field `energy`\n(.*\n)*.*field\(init=False"


@dataclass
class Model:
    w: float
    scale = 3.0

    def scaled(self):
        return self.w * self.scale


def squared(model):
    return model.scaled() ** 2


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_an_attribute_of_the_class_may_change(target, monkeypatch):
    gradient = s2sad.value_and_grad(squared, target=target)
    assert gradient(Model(2.0)) == (36.0, Model(36.0))
    monkeypatch.setattr(Model, "scale", 5.0)
    assert gradient(Model(2.0)) == (100.0, Model(100.0))


@pytest.mark.parametrize(("name", "value"), [("scale", 4.0), ("scaled", lambda: 1.0)])
def test_an_attribute_of_the_object_that_hides_one_of_the_class_is_refused(name, value):
    gradient = s2sad.value_and_grad(squared, target="python")
    assert gradient(Model(2.0)) == (36.0, Model(36.0))
    other = Model(2.0)
    setattr(other, name, value)
    with pytest.raises(s2sad.ArgumentError, match=f"this `Model` has a `{name}` of its own"):
        gradient(other)


@dataclass
class Prepared:
    x: np.ndarray

    def __post_init__(self):
        self.energy = np.sum(self.x**2)


@dataclass
class Declared:
    x: np.ndarray
    energy: float = field(init=False)

    def __post_init__(self):
        self.energy = np.sum(self.x**2)


def test_what_is_no_field_of_an_argument_is_refused_with_what_makes_it_one():
    assert np.allclose(s2sad.grad(lambda x: Prepared(x).energy, target="python")(X), 2 * X)
    with pytest.raises(s2sad.UnsupportedSyntaxError, match=NO_FIELD):
        s2sad.grad(lambda p: p.energy, target="python")(Prepared(X))
    assert np.allclose(s2sad.grad(lambda x: Declared(x).energy, target="python")(X), 2 * X)
