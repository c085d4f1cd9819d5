"""What the reverse sweep is spared: values worked out again, tapes that nobody reads, sides that were not taken."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import s2sad
from tests.differences import differences

X = np.array([0.7, 1.3, 0.4, 2.1])
W = np.array([0.5, -0.3])


def recurrent(w, x):
    h = 0.0
    for t in range(x.size):
        h = math.tanh(w[0] * x[t] + w[1] * h)
    return h * h


def own_result(w, x):
    s = 1.0
    for v in x:
        s = math.exp(-s * w[0]) + s / (1.0 + v * v * s)
        if s > 1.2:
            s = math.sqrt(s * w[1] ** 2)
    return s * s


def layers(w, x):
    h = x[:2]
    for k in range(3):
        a = w * h
        h = np.tanh(a) + 0.1 * h
    return np.sum(h**2)


def written_after(w, x):
    e = np.exp(w * x[:2])
    total = np.sum(e)
    e[0] = 5.0 * e[1]
    e *= 2.0
    return np.sum(e) * total


def stages(w, x):
    y = x[:2].copy()
    for _ in range(4):
        k1 = w * y * (1 - y)
        k2 = w * (y + 0.05 * k1)
        y = y + 0.1 * (k1 + k2)
    return np.sum(y)


def replaced_start(w, x):
    s = 0.4
    for _ in range(3):
        s = math.sqrt(w[0] * x[0])
    return s * w[1]


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [recurrent, own_result, replaced_start, layers, written_after, stages])
def test_gradient_and_hessian(fun, target):
    np.testing.assert_allclose(
        s2sad.grad(fun, target=target)(W, X), differences(lambda w: fun(w, X), W), rtol=1e-6, atol=1e-8
    )
    hessian = differences(lambda w: s2sad.grad(fun, target="python")(w, X), W)
    np.testing.assert_allclose(s2sad.hessian(fun, target=target)(W, X), hessian, rtol=1e-5, atol=1e-7)


def test_the_state_is_the_only_tape():
    made = s2sad.differentiate(recurrent, target="python")
    made.grad(W, X)
    lines = [line for line in made.source("grad").splitlines() if not line.lstrip().startswith("#")]
    assert sum("_tape =" in line for line in lines) == 1
    assert sum("math.tanh" in line for line in lines) == 1


def test_nothing_is_computed_for_its_size():
    def loss(w, x, y):
        return np.mean(np.log1p(np.exp(-y * (x @ w))))

    x, y = np.outer(X, W), np.sign(X - 1)
    for target in ("python", "cpu"):
        made = s2sad.differentiate(loss, target=target)
        np.testing.assert_allclose(made.grad(W, x, y), differences(lambda w: loss(w, x, y), W), rtol=1e-6)
        lines = [line for line in made.source("grad").splitlines() if not line.lstrip().startswith("#")]
        assert "y.size" in "".join(lines)
        assert "log1p" not in "".join(lines)


def test_nothing_is_kept_that_is_not_read():
    made = s2sad.differentiate(stages, target="python")
    made.grad(W, X)
    text = made.source("grad")
    assert "k2_tape" not in text
    assert text.count("_tape.append") == text.count("_tape.pop")


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_the_side_not_taken_is_not_asked_for_its_slope(target):
    def reciprocal(x):
        return 1.0 / x if x != 0 else 2.0 * x

    def entropy(x):
        m = max(0.0, x)
        return m * math.log(m) if m > 0 else 0.0

    assert s2sad.jvp(reciprocal, (0.0,), (1.0,), target=target) == (0.0, 2.0)
    assert s2sad.jvp(entropy, (-1.0,), (1.0,), target=target) == (0.0, 0.0)
    assert s2sad.grad(lambda v: math.sqrt(max(v, 0.0)), target=target)(-1.0) == 0.0


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("mode", ["grad", "jvp", "vjp"])
def test_an_exception_names_the_line(mode, target):
    def guarded(x):
        y = x * 2
        if y > 1:
            raise ValueError("too large")
        return y

    runs = {
        "grad": lambda: s2sad.grad(guarded, target=target)(2.0),
        "jvp": lambda: s2sad.jvp(guarded, (2.0,), (1.0,), target=target),
        "vjp": lambda: s2sad.vjp(guarded, 2.0, target=target),
    }
    with pytest.raises(ValueError, match="too large") as caught:
        runs[mode]()
    (note,) = caught.value.__notes__
    assert note.startswith("in a derivative of `guarded`")
    assert 'raise ValueError("too large")' in note


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_an_error_keeps_its_text_and_names_its_values(target):
    def guarded(x):
        assert x < 5, f"too large: {x:.2f}"
        if x > 4:
            raise ValueError("at %g" % x)  # noqa: UP031
        if x > 3:
            raise ValueError("no " + str(x))
        if x > 2:
            raise ValueError(f"{x} is not below {2}")
        return x * x

    gradient = s2sad.grad(guarded, target=target)
    with pytest.raises(AssertionError, match=re.escape("too large: {x}")):
        gradient(6.0)
    for value, text in ((4.5, "at %g"), (3.5, "no "), (2.5, "{x} is not below {2}")):
        with pytest.raises(ValueError, match=re.escape(text)):
            gradient(value)
    assert gradient(1.0) == 2.0


def test_hessian_through_a_reverse_rule():
    sine = s2sad.custom_vjp(lambda x: np.sin(x))
    sine.defvjp(lambda x: (np.sin(x), x), lambda r, g: (5 * np.cos(r) * g,))
    np.testing.assert_allclose(s2sad.hessian(lambda x: np.sum(sine(x)))(X), np.diag(-5 * np.sin(X)))
    found = s2sad.hvp(lambda x: sine(x) * x, (0.3,), (1.0,))
    np.testing.assert_allclose(found, 6 * np.cos(0.3) - 5 * 0.3 * np.sin(0.3))
    with pytest.raises(TypeError, match="reverse-mode rule only"):
        s2sad.jvp(lambda x: sine(x) * x, (1.0,), (1.0,))


def test_mapped_functions_write_into_copies():
    def counted(x, w):
        w[0] = w[0] + x
        return np.sum(w)

    w = np.zeros(2)
    np.testing.assert_allclose(s2sad.vmap(counted, (0, None))(X, w), X)
    np.testing.assert_array_equal(w, np.zeros(2))
