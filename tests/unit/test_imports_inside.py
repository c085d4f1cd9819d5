"""`import` inside a differentiated function binds what Python would bind."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

INSIDE = '''
def relative(x):
    from .parts import scale
    from . import parts
    return scale(x) * parts.scale(x)


def of_a_submodule(x):
    from statics import parts
    return parts.scale(x)


def missing(x):
    import no_such_module_anywhere
    return x
'''


@pytest.fixture
def inside(tmp_path, monkeypatch):
    package = tmp_path / "statics"
    package.mkdir()
    (package / "__init__.py").write_text(INSIDE)
    (package / "parts.py").write_text("def scale(x):\n    return 3.0 * x\n")
    (tmp_path / "parts.py").write_text("def scale(x):\n    return 100.0 * x\n")  # what a dot less would mean
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("statics")
    for name in ("statics", "statics.parts", "parts"):
        sys.modules.pop(name, None)


def test_dots_count_from_the_package_of_the_function(inside):
    assert s2sad.grad(inside.relative, target="python")(2.0) == 36.0


def test_a_submodule_is_imported(inside):
    assert s2sad.grad(inside.of_a_submodule, target="python")(2.0) == 3.0


def test_a_module_that_is_not_there_is_named(inside):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match="`no_such_module_anywhere` cannot be imported"):
        s2sad.grad(inside.missing, target="python")(2.0)


def by_a_heap(x):
    """Sum what a heap gives in order."""
    import heapq

    waiting, total = [(0.0, 0)], 0.0
    while waiting:
        so_far, k = heapq.heappop(waiting)
        total = total * 0.5 + so_far**2
        if k < 3:
            heapq.heappush(waiting, (so_far + x[k], k + 1))
    return total


def sorted_as_they_come(x):
    from bisect import insort

    found = []
    for v in x:
        insort(found, v)
    return sum(k * v for k, v in enumerate(found))


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("f", [by_a_heap, sorted_as_they_come])
def test_what_changes_a_list_is_known_by_an_import_inside(f, target):
    assert_derivatives(f, np.array([0.5, 1.5, 0.2]), target)
