"""A process that finds its machine code on disk loads little of Numba, and compiles what it must nonetheless."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from tests.backends.cases import PROGRAM, finish, start

MODULES = """
import sys
print(*[name for name in ("numba.np.arraymath", "s2sad.backends.lowering", "scipy.linalg") if name in sys.modules])
"""

ONE = """
import numpy as np
import s2sad
from tests.backends.test_warm import *
print(s2sad.grad({name})({argument}))
"""


def of_product(x):
    """Return the sum of a product of matrices, which is BLAS's."""
    return (x @ x).sum()


def of_cubes(x):
    """Return a sum that calls nothing."""
    total = 0.0
    for i in range(x.size):
        total += x[i] ** 3
    return total


def of_sines(x):
    """Return a sum that calls nothing either."""
    total = 0.0
    for i in range(x.size):
        total += x[i] * x[i] * 2.5
    return total


def of_halves(x):
    """Return a sum by halves, which are called with parts that do not lie in a row."""
    if x.size == 1:
        return x[0] ** 2
    return np.sin(of_halves(x[::2])) + of_halves(x[1::2])


def of_all(x):
    """Return it of an array that does."""
    return of_halves(x) * 2.0


def test_what_calls_itself_with_other_layouts_is_found_again(cache):
    program = ONE.format(name="of_all", argument="np.ones(4)")
    program += "print(s2sad.differentiate(of_all)(np.ones(4)))"
    first = finish(start(cache, program))
    assert len(first) == 2
    assert finish(start(cache, program)) == first


def test_machine_code_on_disk_needs_no_compiler(cache):
    assert finish(start(cache, PROGRAM + MODULES))[-1] == "numba.np.arraymath s2sad.backends.lowering"
    assert finish(start(cache, PROGRAM + MODULES)) == ["32.0", "1 0 0 0", ""]


def test_linear_algebra_on_disk_is_found_again(cache):
    program = ONE.format(name="of_product", argument="np.eye(2)")
    first = finish(start(cache, program))
    assert finish(start(cache, program)) == first


def test_what_is_not_on_disk_is_compiled_after_what_is(cache):
    one = ONE.format(name="of_cubes", argument="np.ones(2)")
    assert finish(start(cache, one)) == ["[3. 3.]"]
    other = one + "print(s2sad.grad(of_sines)(np.ones(2)))\nimport numba\nprint(numba.njit(of_cubes)(np.ones(2)))"
    assert finish(start(cache, other + MODULES)) == [
        "[3. 3.]", "[5. 5.]", "2.0", "numba.np.arraymath s2sad.backends.lowering",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("names", "known"),
    [((), True), (("NRT_MemInfo_alloc", "NRT_Free"), True), (("NRT_Free", "s2sad_no_such_function"), False)],
)
def test_unknown_names_ask_for_all_of_numba(names, known):
    machine_code = importlib.import_module("s2sad.backends.machine_code")
    assert machine_code._are_known(names) == known
