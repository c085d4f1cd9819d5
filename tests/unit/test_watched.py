"""What a derivative reads beside its arguments is watched, however the function is wrapped or handed over."""

from __future__ import annotations

import functools
import importlib
import linecache
import os
import types

import numpy as np
import pytest

import s2sad

B = np.array([1.0, 2.0])


def scaled_by(module):
    """Return a function that reads a number of a module of its own, and that module."""
    code = "def helper(v):\n    return SCALE * v\ndef f(v):\n    return helper(v) * v\n"
    exec(compile(code, module.__file__, "exec"), vars(module))
    return module.f


@pytest.fixture
def module(tmp_path):
    made = types.ModuleType("of_the_user")
    made.__file__ = str(tmp_path / "of_the_user.py")
    (tmp_path / "of_the_user.py").write_text(
        "def helper(v):\n    return SCALE * v\ndef f(v):\n    return helper(v) * v\n"
    )
    made.SCALE = 2.0
    scaled_by(made)
    return made


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_transform_of_a_transform_notices_a_number(module, target):
    slopes = s2sad.vmap(s2sad.grad(module.f, target=target))
    for fun, x in ((slopes, B), (s2sad.vmap(slopes), B[None])):
        module.SCALE = 2.0
        np.testing.assert_allclose(np.ravel(fun(x)), 4.0 * B)
        module.SCALE = 5.0
        np.testing.assert_allclose(np.ravel(fun(x)), 10.0 * B)


class Scaling:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, v):
        return self.scale * v

    def of(self, v):
        return self.scale * v * v


def applied(x, h):
    return h(x) * x


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_functions_among_the_arguments_are_watched(module, target):
    slope = s2sad.grad(applied, target=target)
    scaling = Scaling(2.0)
    assert slope(1.0, module.f) == 6.0
    assert slope(1.0, scaling) == 4.0
    assert slope(1.0, functools.partial(module.f)) == 6.0
    module.SCALE, scaling.scale = 5.0, 5.0
    assert slope(1.0, module.f) == 15.0
    assert slope(1.0, scaling) == 10.0


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_a_method_that_is_mapped_notices_an_attribute(target):
    scaling = Scaling(2.0)
    mapped, slopes = s2sad.vmap(scaling.of), s2sad.vmap(s2sad.grad(scaling.of, target=target))
    np.testing.assert_allclose(mapped(B), 2.0 * B**2)
    np.testing.assert_allclose(slopes(B), 4.0 * B)
    scaling.scale = 5.0
    np.testing.assert_allclose(mapped(B), 5.0 * B**2)
    np.testing.assert_allclose(slopes(B), 10.0 * B)


def squared(x):
    return x * x


def cubed(x):
    return x * x * x


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_other_code_in_the_same_function_is_noticed(target):
    """As reloading a module in place gives it."""
    fun = types.FunctionType(squared.__code__, globals(), "squared")
    slope, mapped = s2sad.grad(fun, target=target), s2sad.vmap(s2sad.grad(fun, target=target))
    assert slope(3.0) == 6.0
    np.testing.assert_allclose(mapped(B), 2 * B)
    fun.__code__ = cubed.__code__
    assert slope(3.0) == 27.0
    np.testing.assert_allclose(mapped(B), 3 * B**2)
    assert s2sad.grad(fun, target=target)(3.0) == 27.0


def test_a_file_that_has_changed_since_is_not_read(tmp_path, monkeypatch):
    """The functions in memory are still the old ones."""
    file = tmp_path / "edited_meanwhile.py"
    file.write_text("def f(x):\n    return x * x\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    f = importlib.import_module("edited_meanwhile").f
    for text in ("def f(x):\n    return 7 * x\n", "def q(x):\n    return 7 * x\n\ndef f(x):\n    return x * x\n"):
        file.write_text(text)
        os.utime(file, (2e9, 2e9))
        linecache.clearcache()
        with pytest.raises(s2sad.SourceNotFoundError, match="has changed since the function was read"):
            s2sad.grad(f)(3.0)
    file.write_text("def f(x):\n    return x * x  # as before\n")
    linecache.clearcache()
    assert s2sad.grad(f)(3.0) == 6.0
