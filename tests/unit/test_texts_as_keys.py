"""Keys that are made of a counter: `params[f"W{i}"]`."""

import numpy as np
import pytest

import s2sad
from tests.differences import also_on

PARAMS = {"W0": 0.5 * np.eye(2), "W1": np.array([[0.3, 0.1], [0.2, 0.4]]), "b0": np.ones(2), "b1": np.zeros(2)}
X = np.array([0.3, -0.8])


def formatted(p, x):
    for i in range(2):
        x = np.tanh(p[f"W{i}"] @ x + p[f"b{i}"])
    return np.sum(x)


def over_a_tuple(p, x):
    for i in (0, 1):
        x = np.tanh(p[f"W{i}"] @ x + p[f"b{i}"])
    return np.sum(x)


def by_percent(p, x):
    for i in range(len(p) // 2):
        x = np.tanh(p["W%d" % i] @ x + p["b%d" % i])  # noqa: UP031
    return np.sum(x)


def joined(p, x):
    for i in range(2):
        x = np.tanh(p["W" + str(i)] @ x + p["b" + str(i)])
    return np.sum(x)


def numbered_from_one(p, x):
    for i in range(1, 3):
        name = f"W{i - 1}"
        x = np.tanh(p[name] @ x)
    return np.sum(x)


def unknown(p, x, count):
    for i in range(count):
        x = np.tanh(p[f"W{i}"] @ x)
    return np.sum(x)


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [formatted, over_a_tuple, by_percent, joined, numbered_from_one])
def test_keys_of_a_counter(fun, target):
    s2sad.check_grads(lambda p, x: fun(p, x), (PARAMS, X), target=also_on(target, fun))
    gradient = s2sad.grad(fun, target=target)(PARAMS, X)
    step = {name: np.zeros_like(value) for name, value in PARAMS.items()}
    step["W1"][0, 1] = 1e-6
    ahead, behind = ({name: PARAMS[name] + sign * step[name] for name in PARAMS} for sign in (1, -1))
    np.testing.assert_allclose(gradient["W1"][0, 1], (fun(ahead, X) - fun(behind, X)) / 2e-6, rtol=1e-7)


def test_a_count_that_is_not_known_is_made_a_constant_of_the_call():
    gradient = s2sad.grad(unknown, target="python")(PARAMS, X, 2)
    assert np.abs(gradient["W1"]).sum() > 0.1
