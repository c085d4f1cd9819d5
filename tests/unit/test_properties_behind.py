"""Properties that are reached by `super()`."""

from __future__ import annotations

import pytest

import s2sad


class Base:
    def __init__(self, p):
        self.p = p

    @property
    def offset(self):
        return self.p * 2

    def scaled(self, k):
        return k * self.p


class Derived(Base):
    @property
    def offset(self):
        return super().offset * self.p + super().scaled(3.0)


@pytest.mark.parametrize("target", ["cpu", "python"])
def test_a_property_of_the_class_behind(target):
    def f(p):
        return Derived(p).offset

    value, slope = s2sad.value_and_grad(f, target=target)(3.0)
    assert (value, slope) == (27.0, 15.0)


def test_a_checkpoint_of_an_inner_function_says_so():
    def f(x):
        return s2sad.checkpoint(lambda z: z * z)(x)

    with pytest.raises(s2sad.UnsupportedSyntaxError, match="`checkpoint` of an inner function"):
        s2sad.grad(f)(1.5)
