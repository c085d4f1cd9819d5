"""Arrays that have a name in common, and not their lengths."""

from __future__ import annotations

import types

import numpy as np
import pytest

import s2sad

BOTH = pytest.mark.parametrize("target", ["python", "cpu"])
TEXT = "import numpy as np\ndef scaled(x):\n    v = x * W\n    return v\n"
x = np.arange(1.0, 8.0)


def module(tmp_path, name, length):
    """Return a module whose `scaled` reads an array of a length."""
    path = tmp_path / f"{name}.py"
    path.write_text(TEXT)
    made = types.ModuleType(name)
    made.__file__ = str(path)
    exec(compile(TEXT, str(path), "exec"), made.__dict__)
    made.__dict__["W"] = np.arange(1.0, length + 1.0)
    return made


@BOTH
@pytest.mark.parametrize("lengths", [(3, 7), (7, 3)])
def test_globals_of_two_modules(tmp_path, target, lengths):
    first, second = (module(tmp_path, f"of_{n}", n).scaled for n in lengths)

    def both(y):
        return np.sum(first(y) ** 3) + np.sum(second(y) ** 3)

    slope = sum(float(np.sum(np.arange(1.0, n + 1.0) ** 3)) for n in lengths) * 3.0 * 2.0**2
    assert s2sad.grad(both, target=target)(2.0) == pytest.approx(slope, rel=1e-12)


def outer_length(p):
    return np.sum((p * x) ** 2)


@BOTH
def test_an_outer_array_and_a_parameter(target):
    def both(x, y):
        return np.sum(x**3) * outer_length(y)

    a = np.array([1.0, 2.0, 3.0])
    of_x, of_y = s2sad.grad(both, argnums=(0, 1), target=target)(a, 2.0)
    np.testing.assert_allclose(of_x, 3.0 * a**2 * outer_length(2.0), rtol=1e-12)
    np.testing.assert_allclose(of_y, np.sum(a**3) * 4.0 * np.sum(x**2), rtol=1e-12)


@BOTH
def test_an_item_and_a_parameter(target):
    def both(x, x_0):
        return np.sum((2.0 * x[0]) ** 3) * np.sum((3.0 * x_0) ** 2)

    a, b = np.array([1.0, 2.0, 3.0]), np.arange(5.0)
    (of_a, _), of_b = s2sad.grad(both, argnums=(0, 1), target=target)((a, 1.0), b)
    np.testing.assert_allclose(of_a, 24.0 * a**2 * np.sum(9.0 * b**2), rtol=1e-12)
    np.testing.assert_allclose(of_b, np.sum(8.0 * a**3) * 18.0 * b, rtol=1e-12)
