"""Dicts made of pairs whose keys are known: parameters by name."""

import numpy as np
import pytest

import s2sad

X = np.array([0.3, 0.2, 0.5])


def by_letter(x):
    p = dict(zip("abc", x))
    return p["a"] * p["b"] + p["c"] ** 2


def by_name(x):
    names = ["rate", "size"]
    p = dict(zip(names, [x[0] ** 2, x[1]]), scale=x[2])
    return p["rate"] * p["size"] * p["scale"]


def of_pairs(x):
    p = dict([("a", x[0]), ("b", x[1]), ("a", x[2])])
    return sum(p.values()) * p["a"]


@pytest.mark.parametrize(("f", "wanted"), [
    (by_letter, [0.2, 0.3, 1.0]), (by_name, [0.06, 0.045, 0.018]), (of_pairs, [0.0, 0.5, 1.2]),
])  # fmt: skip
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_both_modes(f, wanted, target):
    np.testing.assert_allclose(s2sad.grad(f, target=target)(X), wanted, atol=1e-12)
    forward = [s2sad.jvp(f, (X,), (e,), target=target)[1] for e in np.eye(3)]
    np.testing.assert_allclose(forward, wanted, atol=1e-12)


def test_more_names_than_values_is_noticed():
    with pytest.raises(ValueError, match="zip"):
        s2sad.grad(by_letter)(X[:2])


def test_unknown_keys_are_refused():
    def f(x):
        p = dict(zip(x, x))
        return p[0.3]

    with pytest.raises(s2sad.UnsupportedSyntaxError, match="known keys"):
        s2sad.grad(f)(X)
