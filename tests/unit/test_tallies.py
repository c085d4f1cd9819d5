"""Counters of calls that an object outside keeps: left out where nothing that is differentiated reads them."""

import numpy as np
import pytest

import s2sad


class Objective:
    limit = 100

    def __init__(self):
        self.nfev = 0
        self.scale = 2.0

    def fun(self, x):
        self.nfev += 1
        return self.scale * np.sum(x**2)

    def both(self, x):
        self.nfev += 1
        return self.fun(x) + x[0]

    def limited(self, x):
        self.nfev += 1
        if self.nfev > self.limit:
            raise RuntimeError("too many calls")
        return np.sum(x**2)

    def limited_before(self, x):
        if self.nfev > self.limit:
            raise RuntimeError("too many calls")
        self.nfev += 1
        return np.sum(x**2)

    def weighed(self, x):
        self.scale += x[0]
        return np.sum(x**2)


X = np.array([1.0, -2.0, 3.0])


@pytest.mark.parametrize("target", ["cpu", "python"])
def test_a_counter_of_calls_is_left_as_it_is(target):
    made = Objective()
    np.testing.assert_allclose(s2sad.grad(made.fun, target=target)(X), 4 * X)
    np.testing.assert_allclose(s2sad.grad(made.both, target=target)(X), 4 * X + np.eye(3)[0])
    np.testing.assert_allclose(s2sad.grad(lambda x: made.fun(x) * 2.0, target=target)(X), 8 * X)
    assert made.nfev == 0


def test_a_counter_that_is_made_inside_counts():
    def f(x):
        made = Objective()
        return made.both(x) * made.nfev

    np.testing.assert_allclose(s2sad.grad(f)(X), 2 * (4 * X + np.eye(3)[0]))


def test_a_counter_that_is_read_is_refused():
    made = Objective()
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="`nfev` is read here") as refusal:
        s2sad.grad(made.limited)(X)
    assert "Count where the function is called" in str(refusal.value)
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="cannot be assigned to"):
        s2sad.grad(made.limited_before)(X)


def test_other_writes_into_objects_outside_stay_refused():
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="cannot be assigned to"):
        s2sad.grad(Objective().weighed)(X)
