"""Methods of the user's objects: numbers and arrays that an object holds are read when the derivative is called."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad


class Inner:
    """Held by another object."""

    def __init__(self):
        self.weights, self.scale = np.array([1.0, 2.0]), 2.0


class Model:
    """Holds numbers, arrays, containers and another object."""

    def __init__(self):
        self.table = np.array([1.0, 2.0])
        self.inner = Inner()
        self.layers = [np.eye(2), np.ones((2, 2))]
        self.settings = {"a": np.ones(2), "b": 3.0}
        self.pair = (1.0, np.ones(2))

    def energy(self, x):
        deep = np.sum(self.layers[1] @ (self.layers[0] @ x)) * self.settings["b"]
        own = np.sum(self.table * x**2) * self.inner.scale + np.sum(self.inner.weights * x)
        return deep + own + np.sum(self.settings["a"] * x) + self.pair[0] * x[0]

    def scaled(self, x):
        return self.table * x

    def through_a_method(self, x):
        return np.sum(self.scaled(x) ** 2)

    def through_a_loop(self, x):
        s = 0.0
        for layer in self.layers:
            s += np.sum(layer @ x) ** 2
        return s


def differences(fun, x):
    """Return the central differences of `fun`."""
    return np.array([(fun(x + step) - fun(x - step)) / 2e-6 for step in 1e-6 * np.eye(2)])


def change_table(m):
    m.table = np.array([5.0, 6.0])


def write_table(m):
    m.table[0] = 9.0


def change_inner_number(m):
    m.inner.scale = 5.0


def change_inner_array(m):
    m.inner.weights = np.array([7.0, 7.0])


def change_inner(m):
    m.inner = Inner()


def change_layer(m):
    m.layers[1] = 3.0 * np.eye(2)


def change_number_in_dict(m):
    m.settings["b"] = 8.0


def change_array_in_dict(m):
    m.settings["a"] = np.array([2.0, 3.0])


def change_pair(m):
    m.pair = (4.0, np.ones(2))


def share(m):
    m.table = m.inner.weights


CHANGES = [
    change_table, write_table, change_inner_number, change_inner_array, change_inner, change_layer,
    change_number_in_dict, change_array_in_dict, change_pair, share,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(change):
    model, x = Model(), np.array([3.0, 4.0])
    gradient = s2sad.grad(model.energy, target="python")
    np.testing.assert_allclose(gradient(x), differences(model.energy, x), rtol=1e-6)
    change(model)
    np.testing.assert_allclose(gradient(x), differences(model.energy, x), rtol=1e-6)
    change_table(model)
    np.testing.assert_allclose(gradient(x), differences(model.energy, x), rtol=1e-6)


@pytest.mark.parametrize("name", ["energy", "through_a_method", "through_a_loop"])
def test_compiled(name):
    method, x = getattr(Model(), name), np.array([3.0, 4.0])
    np.testing.assert_allclose(s2sad.grad(method)(x), differences(method, x), rtol=1e-6)


def test_an_array_that_the_method_writes_stays_as_it_was():
    class Writer:
        def __init__(self):
            self.store = np.zeros(2)

        def run(self, x):
            work = self.store.copy()
            work[0] = x[0] ** 2
            return np.sum(work)

    writer = Writer()
    np.testing.assert_allclose(s2sad.grad(writer.run, target="python")(np.array([3.0, 4.0])), [6.0, 0.0])
    np.testing.assert_array_equal(writer.store, np.zeros(2))
