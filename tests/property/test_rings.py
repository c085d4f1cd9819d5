"""Random loops whose indices wrap around: with the turns at their ends apart they compute what they did."""

from __future__ import annotations

import random

import numpy as np
import pytest

import s2sad
from s2sad.api import derive
from s2sad.emit.ends import apart_at_ends
from tests.property.test_programs import load

PROGRAMS = 60
_PLACES = (
    "i", "i", "(i + 1) % n", "(i - 1) % n", "(i + n - 1) % n", "(i + 2) % n", "i - 1", "i - 2", "(i + 1) % len(x)",
    "n - 1 - i", "i % n", "i % 2", "after", "before",
)  # fmt: skip
_TESTS = (
    "i > 0", "i < n - 1", "i == 0", "i == n - 1", "0 < i and i < n - 1", "not i == 0", "i >= 1", "i <= n - 2",
    "i != n - 1", "i > 1 or i == 0", "i + 1 < n", "n - i > 1", "i % 2 == 0", "x[i] > 0.3", "0 <= i - 1", "i == 3",
    "i < 2 or i >= n - 2", "n - 2 == i", "i > n",
)  # fmt: skip
_AFTER = (
    "after = (i + 1) % n", "after = i + 1 if i < n - 1 else 0", "after = i + 1 if i + 1 < n else i",
    "after = i + 1\n            if after == n:\n                after = 0",
)  # fmt: skip
_BEFORE = (
    "before = (i - 1) % n", "before = i - 1", "before = i - 1 if i > 0 else n - 1",
    "before = i - 1\n            if before < 0:\n                before = n - 1",
)  # fmt: skip
_RANGES = ("n", "n", "n", "1, n", "n - 1", "1, n - 1", "2, n", "x.size", "len(y)", "n - 2", "n - 1, -1, -1")


def program(number: int) -> str:
    """Return the text of one random program, of an array `x` and a number `a`."""
    draw = random.Random(number).choice
    lines = ["    n = x.shape[0]", "    y, z = x * 1.0, np.zeros(n)", "    total = 0.0"]
    lines.append(f"    for _ in range({draw((1, 2, 3))}):")

    def item() -> str:
        return f"{draw('xyz')}[{draw(_PLACES)}]"

    def value() -> str:
        return draw((
            f"{item()} * {item()} * 0.3 - 0.2 * {item()}", f"0.4 * math.sin({item()})", f"0.3 * ({item()} - {item()})",
            f"0.2 * {item()} + 0.1 * {item()} * a", f"(0.3 * {item()} if {draw(_TESTS)} else 0.5 * {item()})",
        ))  # fmt: skip

    for _ in range(draw((1, 2, 3))):
        lines += [f"        for i in range({draw(_RANGES)}):"]
        lines += [" " * 12 + draw(_AFTER), " " * 12 + draw(_BEFORE)]
        for _ in range(draw((1, 2, 3))):
            place = f"{draw('yz')}[{draw(('i', 'i', 'after', 'before', '(i + 1) % n', 'i - 1'))}]"
            stmt = draw((f"{place} = {value()}", f"{place} += {value()}", f"total += {value()}", "y[i] *= 0.9"))
            branch = draw((True, False, False))
            lines += [" " * 12 + f"if {draw(_TESTS)}:"] if branch else []
            lines += [" " * (16 if branch else 12) + stmt]
            if branch and draw((True, False)):
                lines += [" " * 12 + f"elif {draw(_TESTS)}:", " " * 16 + f"z[i] = {value()}"]
        lines += [f"        total += 0.1 * {draw(('i', 'before'))} * y[i]"] if draw((True, False, False)) else []
    lines.append("    return total + np.sum(y * y) + np.sum(np.sin(z))")
    return "\n".join(["import math", "", "import numpy as np", "", "", "def f(x, a):", *lines, ""])


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_ends_apart(number, monkeypatch):
    fun = load(program(number), False).fun
    made = s2sad.value_and_grad(fun, argnums=(0, 1), target="python")
    apart = s2sad.value_and_grad(fun, argnums=(0, 1), target="python")
    for n in (4, 5, 9, 20):
        x = 0.7 * np.sin(np.arange(n) * 1.7 + 1.0)
        value, bars = made(x, 0.6)
        with monkeypatch.context() as patch:
            patch.setattr(derive, "_looped", lambda derived, *_: {
                name: apart_at_ends(fn) for name, fn in derived.functions.items()
            })  # fmt: skip
            value_2, bars_2 = apart(x, 0.6)
        assert value_2 == value == fun(x, 0.6)
        for bar, other in zip(bars, bars_2, strict=True):
            np.testing.assert_array_equal(other, bar)
