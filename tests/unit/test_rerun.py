"""Turns that are run again before their reverse: what is kept of each, when it may be done, and when it pays."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import s2sad
from s2sad.transform import adjoint
from tests.differences import assert_derivatives, differences

X = np.array([0.7, 1.3, 0.4, 0.9])


def slope_of(y, out):
    out[0] = y[1]
    out[1] = 2.0 * (1.0 - y[0] * y[0]) * y[1] - y[0]


def adaptive(x):
    """Steps of two stages, of which the difference chooses the length of the next."""
    y, k, middle = x[:2].copy(), np.empty((2, 2)), np.empty(2)
    t, h = 0.0, 0.2
    while t < 1.0:
        if h > 1.0 - t:
            h = 1.0 - t
        slope_of(y, k[0])
        for i in range(2):
            middle[i] = y[i] + h * k[0, i]
        slope_of(middle, k[1])
        square = 0.0
        for i in range(2):
            square += (0.5 * h * (k[1, i] - k[0, i])) ** 2
        size = math.sqrt(square)
        if size < 0.05:
            t += h
            for i in range(2):
                y[i] += 0.5 * h * (k[0, i] + k[1, i])
        h *= min(2.0, max(0.3, 0.9 * math.sqrt(0.05 / (size + 1e-30))))
    return y[0] * x[2] + y[1]


def stages(x):
    """Every stage is made of all before."""
    u, k, middle = x.copy(), np.zeros((4, x.size)), np.zeros(x.size)
    at = 0
    while at < 5:
        for s in range(4):
            for i in range(x.size):
                middle[i] = u[i]
                for r in range(s):
                    middle[i] += 0.1 * k[r, i]
            for i in range(x.size):
                k[s, i] = math.sin(middle[i]) * middle[i - 1]
        for i in range(x.size):
            u[i] = u[i] + 0.2 * (k[0, i] + k[1, i] * k[2, i] + k[3, i])
        at += 1
    return np.sum(u * u)


def until_it_stays(x):
    """A fixed point, left by a break."""
    y, w = x.copy(), np.zeros(x.size)
    for _ in range(60):
        for i in range(x.size):
            w[i] = 0.4 * math.sin(y[i] + y[i - 1]) + x[i]
        moved = 0.0
        for i in range(x.size):
            moved += (w[i] - y[i]) ** 2
            y[i] = w[i]
        if moved < 1e-20:
            break
    return np.sum(y * y)


def left_in_the_middle(x):
    y, w, total = x.copy(), np.zeros(x.size), 0.0
    while True:
        for i in range(x.size):
            w[i] = math.sin(y[i]) * y[i - 1]
        total += w[0] * w[1]
        if total > 0.6:
            break
        for i in range(x.size):
            y[i] = y[i] + 0.3 * w[i] * w[i]
    return total * y[0] + w[2]


def needed_before_and_after(x):
    """What the code around the loop reads is put back too."""
    y, w = x.copy(), np.ones(x.size)
    begin = y[0] * y[0] * w[1] * w[1]
    at = 0
    while at < 3:
        for i in range(x.size):
            w[i] = math.exp(-y[i] * y[i - 1])
        for i in range(x.size):
            y[i] = w[i] * y[i] + 0.1
        at += 1
    return begin * y[1] * y[1] * w[2] + at * begin


def independent(x):
    """A turn that begins with nothing of an earlier one."""
    path, total, at = np.zeros(6), 0.0, 0
    while at < x.size:
        path[0] = x[at]
        for j in range(1, 6):
            path[j] = path[j - 1] * math.cos(path[j - 1]) + 0.1
        total += path[5] * path[2]
        at += 1
    return total


AGAIN = (adaptive, stages, until_it_stays, left_in_the_middle, needed_before_and_after, independent)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return, by function, the state that the turns of its last loop begin with, wherever they can be run again."""
    found: dict[str, Any] = {}
    run_again = adjoint.rerun

    def noted(loop: Any, around: Any, beforehand: bool = False) -> Any:
        made = run_again(loop, around, beforehand)
        if not beforehand:
            found[around.fn.name] = None if made is None else {v.name for v in made.state}
        return made

    monkeypatch.setattr(adjoint, "rerun", noted)
    monkeypatch.setattr(adjoint, "pays", lambda loop, plan, around: True)
    return found


def text_of(fun: Any, mode: str = "grad") -> str:
    return s2sad.differentiate(fun).source(mode, types="float64[:]")


@pytest.mark.parametrize("fun", AGAIN)
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_derivatives(fun, target, asked):
    assert_derivatives(fun, X, target)
    assert asked[fun.__name__] is not None


@pytest.mark.parametrize("fun", AGAIN)
def test_second_derivatives(fun, asked):
    gradient = s2sad.grad(fun, target="python")
    curvature = s2sad.hessian(fun, target="python")(X)
    np.testing.assert_allclose(curvature, differences(gradient, X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("fun", "state"),
    [
        (adaptive, {"y", "t", "h"}), (stages, {"u"}), (until_it_stays, {"y"}), (left_in_the_middle, {"y"}),
        (needed_before_and_after, {"y"}), (independent, {"at"}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)  # fmt: skip
def test_a_turn_begins_with_its_state(fun, state, asked):
    text_of(fun)
    assert asked[fun.__name__] == state


# ---- arrays that flow from turn to turn, and such that do not ----


def each(body: str) -> Any:
    """Return a function of which a turn is `body`."""
    lines = "\n".join(f"        {line}" for line in body.split("\n"))
    names: dict[str, Any] = {"np": np, "math": math}
    text = (
        "def program(x):\n    n, w, s, at = x.size, np.ones((4, 6)), 0.5, 0\n    while at < 3:\n"
        f"{lines}\n        at += 1\n    return s * w[1, 1]\n"
    )
    import linecache

    linecache.cache["<program>"] = (len(text), None, text.splitlines(True), "<program>")
    exec(compile(text, "<program>", "exec"), names)
    return names["program"]


@pytest.mark.parametrize(
    ("body", "flows"),
    [
        ("for i in range(n):\n    w[0, i] = x[i]\ns = s * w[0, 1]", False),
        ("s = s * w[0, 1]\nfor i in range(n):\n    w[0, i] = x[i]", True),
        ("for i in range(n):\n    w[0, i] += x[i]\ns = s * w[0, 1]", True),
        ("w[0, 2] = x[0]\ns = s * w[0, 2] * w[0, 2]", False),
        ("w[0, 2] = x[0]\ns = s * w[0, 3] * w[0, 3]", False),
        ("if s > 0.2:\n    w[0, 2] = x[0]\ns = s * w[0, 2]", True),
        ("if s > 0.2:\n    w[0, 2] = x[0] * s\n    s = s * w[0, 2]", False),
        ("w[0, 2] = x[1]\nif s > 0.2:\n    w[0, 2] = x[0]\ns = s * w[0, 2]", False),
        ("for q in range(3):\n    w[q, 0] = x[q]\n    for r in range(q):\n        s = s + x[1] * w[r, 0]", False),
        ("for q in range(3):\n    w[q, 0] = x[q]\n    for r in range(q + 1):\n        s = s + x[1] * w[r, 0]", False),
        ("for q in range(3):\n    for r in range(q + 1):\n        s = s + x[1] * w[r, 0]\n    w[q, 0] = x[q]", True),
        ("for q in range(3):\n    for r in range(q + 2):\n        s = s + x[1] * w[r, 0]\n    w[q, 0] = x[q]", True),
        ("for q in range(3):\n    w[q, 0] = x[q]\n    for r in range(3):\n        s = s + x[1] * w[r, 0]", True),
        ("for q in range(3):\n    w[q + 1, 0] = x[q]\n    s = s + x[1] * w[q, 0]", False),
        ("w[0, 0] = 1.0\nfor q in range(3):\n    w[q + 1, 0] = x[q]\n    s = s + x[1] * w[q, 0]", False),
        ("for q in range(3):\n    w[q, 0] = x[q]\n    s = s + x[1] * w[q + 1, 0]", True),
        ("for q in range(2, -1, -1):\n    w[q, 0] = x[q]\n    s = s + x[1] * w[q + 1, 0]", False),
        ("for q in range(3):\n    if q != 1:\n        w[q, 0] = x[q]\n        s = s + x[1] * w[q - 1, 0]", True),
        ("for q in range(3):\n    for j in range(q):\n        w[j, 1] = x[j]\ns = s + x[0] * w[1, 1]", True),
        ("for j in range(3):\n    for q in range(4):\n        w[q, j] = x[q]\n    s = s + x[0] * w[2, j]", False),
        ("for q in range(4):\n    w[q, 0] = x[q] * (0.3 + w[q - 1, 0])\ns = s + w[3, 0]", True),
        ("for q in range(1, 4):\n    w[q, 0] = x[q] * (0.3 + w[q - 1, 0])\ns = s + w[3, 0]", False),
        ("for q in range(3, -1, -1):\n    w[q - 1, 0] = x[q] * s\n    s = s + 0.1 * w[q, 0] ** 2", True),
        ("for q in range(4):\n    w[q, q] = x[q]\nfor q in range(4):\n    for r in range(4):\n"
         "        s = s + 0.1 * w[q, r] ** 2\n        w[q, r] = s", True),
        ("for q in range(4):\n    w[q, at] = x[q]\ns = s + x[0] * w[2, at]", True),
        ("w[:] = x[0]\ns = s + x[1] * w[2, at]", False),
        ("w[:] = x[0]\ns = s + x[1] * np.sum(w)", False),
        ("w[0] = x[0]\ns = s + x[1] * np.sum(w[0])", False),
        ("w[0] = x[0]\ns = s + x[1] * np.sum(w)", False),
        ("w[0] = x[0]\ns = s + x[1] * np.sum(w[1])", False),
        ("row = w[1]\nrow[2] = x[0]\ns = s + x[1] * w[1, 2]", False),
        ("row = w[1]\ns = s + x[1] * row[2]\nw[1, 2] = x[0]", True),
        ("row = w[1, 1:]\nrow[2] = x[0]\ns = s + x[1] * w[1, 3]", True),
        ("w[1, 2:4] = x[0]\ns = s + x[1] * w[1, 3]", True),
        ("s = s + x[1] * x[0]\nw[1, 2] = s", False),
        ("for j in range(w.shape[1]):\n    w[0, j] = x[0]\ns = s + x[1] * w[0, 2]", False),
        ("m = x.size\nfor j in range(m):\n    w[0, j] = x[j]\ns = s + x[1] * w[0, 2]", False),
        ("m = 4 - at\nfor j in range(m):\n    w[0, j] = x[j]\ns = s + x[1] * w[0, 2]", True),
        ("z = np.ones(4 - at)\nfor j in range(z.size):\n    w[0, j] = x[j]\ns = s + x[1] * w[0, 2]", True),
    ],
)  # fmt: skip
def test_arrays_that_flow_from_turn_to_turn(body, flows, asked):
    program = each(body)
    text_of(program)
    assert ("w" in asked["program"]) == flows
    np.testing.assert_allclose(s2sad.grad(program, target="python")(X), differences(program, X), rtol=1e-6, atol=1e-7)


# ---- what cannot be run again ----


@pytest.mark.parametrize(
    "body",
    [
        "print(s)\ns = s * x[0]",
        "if s < -9.0:\n    raise ValueError(s)\ns = s * x[0] * s",
        "for i in range(n):\n    if w[0, i] * s > 0.3:\n        s = s * x[i]",
        "while s > 0.3:\n    s = s * s * x[0]",
        "for i in range(n):\n    bent = math.sin(s * x[i])\n    large = bent > 0.5\n    if large:\n        s = bent",
        "w = w * x[0]\ns = s + w[0, 0]",
    ],
)
def test_left_alone(body, monkeypatch):
    program = each(body)
    found: list[bool] = []

    def noted(loop: Any, plan: Any, around: Any) -> bool:
        found.append(True)
        return False

    monkeypatch.setattr(adjoint, "pays", noted)
    text_of(program)
    assert not found


def test_conditions_on_real_numbers_are_kept_from_the_first_run(asked):
    text = text_of(adaptive)
    again = text[text.index("for _ in range(steps)") :]
    assert "h_holds = h_holds_tape.pop()" in again
    assert "size_holds = size_holds_tape.pop()" in again
    assert not re.search(r"if (h >|size <)", again)


# ---- when it pays ----


@pytest.mark.parametrize("mode", ["grad", "value_and_grad"])
def test_of_stages_the_state_alone_is_kept(mode):
    text = text_of(stages, mode)
    first, _, second = text.partition("# ---- adjoint sweep ----")
    assert set(re.findall(r"(\w+)\.append", first)) == {"u_tape"}, text
    assert "append" not in second
    assert not re.search(r"^        .* = np\.(empty|zeros)", second, re.M), "what a turn needs is made once for all"


def test_what_little_is_kept_is_not_run_again():
    def mean(x):
        y, total, at = x.copy(), 0.0, 0
        while at < 3:
            for i in range(x.size):
                y[i] = math.sin(y[i])
                total += y[i]
            at += 1
        return total

    assert "y_tape" not in text_of(mean)


def test_statements_that_the_reverse_does_not_need_are_not_run_again():
    text = text_of(until_it_stays)
    again = text[text.index("adjoint sweep") :]
    assert "moved" not in again


def neighbours(x, by):
    at = np.arange(x.shape[0]) + by
    found = x[np.minimum(np.maximum(at, 0), x.shape[0] - 1)]
    return found


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_calls_whose_results_nobody_reads_are_not_made_again(target):
    def smoothed(x, weights):
        turned = np.moveaxis(x, 1, 0)
        total = np.zeros_like(turned)
        for k in range(len(weights)):
            total += weights[k] * neighbours(turned, k - 1)
        return np.sum(total**2)

    x, weights = np.arange(12.0).reshape(3, 4) - 5.0, np.array([0.2, 0.5, 0.1])
    made = s2sad.differentiate(smoothed, target=target)
    np.testing.assert_allclose(made.grad(x, weights), differences(lambda v: smoothed(v, weights), x), rtol=1e-6)
    reverse = made.source("grad").split("adjoint sweep")[1]
    assert "= neighbours(" not in reverse
    assert "this iteration again" not in reverse
    whole = s2sad.differentiate(smoothed, argnums=(0, 1), target=target)
    bars = whole.grad(x, weights)
    np.testing.assert_allclose(bars[1], differences(lambda v: smoothed(x, v), weights), rtol=1e-6)
    assert "= neighbours(" in whole.source("grad").split("adjoint sweep")[1]
