"""Programs that Python or NumPy refuses, and what has no derivative: an error at the line, with a way out."""

from __future__ import annotations

import functools
import logging
import os

import numpy as np
import pytest
import scipy.sparse as sp

import s2sad

BOTH = pytest.mark.parametrize("target", ["python", "cpu"])
X = np.array([0.3, 0.7, 1.1])


def refused(program, *args, target="python"):
    """Return the error of a gradient as text."""
    with pytest.raises(s2sad.S2SADError) as caught:
        s2sad.grad(program, target=target)(*args)
    return str(caught.value)


def adds_text(x):
    x += "a"
    return np.sum(x)


def stores_none(x):
    x[0] = None
    return np.sum(x)


def stores_two(x):
    x[0] = [1.0, 2.0]
    return np.sum(x)


def stores_pair(x):
    x[0] = np.ones(2)
    return np.sum(x)


@pytest.mark.parametrize(
    ("program", "what"),
    [
        (adds_text, r"`'a'` cannot be written"),
        (stores_none, "`None` cannot be written"),
        (stores_two, "a container cannot be written"),
        (stores_pair, "an array of rank 1 does not fit in a place of rank 0"),
        (lambda x: range(x)[0] * x[0], "`range` counts by whole numbers, and this is an array"),
        (lambda x: sum(x[0] for _ in range(x[2])), "`range` counts by whole numbers, and this is a float64"),
        (lambda x: np.sum(sorted([x, 2 * x])[0]), "arrays have no order"),
        (lambda x: np.sum(x[: len(x) / 2]), "a slice has whole numbers for bounds, and this is a float64"),
        (lambda x: x[0] * "a", r"`\*` cannot be applied here"),
        (lambda x: x[0] < None, "`<` is applied to None here"),
        (lambda x: x[0] if os.getcwd() else 0.0, "Call it outside, and pass what it gives"),
        (lambda x: x[0] * len(os.environ.get("HOME")), "Call it outside, and pass what it gives"),
        (lambda x: np.sum(sp.linalg.norm(sp.eye(3)) * x) + np.sum(sp.eye(3) + x), "of a sparse matrix and an array"),
    ],
)
def test_refused_at_its_line(program, what):
    import re

    text = refused(program, X.copy())
    assert re.search(what, text)
    assert "test_refused_where_it_stands.py:" in text


def test_results_are_refused_at_their_return():
    def doubled(x):
        y = 2.0 * x
        return y

    text = refused(doubled, X)
    assert "`doubled` returns a float64 array of rank 1" in text
    assert "|         return y" in text


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_truth_of_arrays(target):
    """One element is true or false; of several, Python says that it is ambiguous."""

    def chosen(x):
        return x[0] ** 2 if x[:1] > 0 else x[1]

    def as_number(x):
        return bool(x[:1] > 0) * x[0] ** 2 + bool([]) * x[1]

    for program in (chosen, as_number):
        np.testing.assert_allclose(s2sad.grad(program, target=target)(X), [0.6, 0.0, 0.0])
        np.testing.assert_allclose(s2sad.jvp(program, (X,), (np.ones(3),), target=target), (0.09, 0.6))
    with pytest.raises(ValueError, match="ambiguous"):
        s2sad.jvp(lambda x: bool(x) * x[0], (X,), (X,), target=target)


@BOTH
def test_defaults_that_are_written(target):
    """All calls share a default: to write into it is refused, as into a list outside."""

    def gathered(x, items=[]):
        items.append(x)
        return sum(items) * x

    def noted(x, *, table={}):
        table["a"] = x
        return table["a"] ** 2

    for program in (gathered, noted):
        with pytest.raises(s2sad.AliasError, match="a default that is a container is written here"):
            s2sad.grad(program, target=target)(2.0)
    assert s2sad.grad(gathered, target=target)(2.0, []) == 4.0

    def read(x, weights=[1.0, 2.0]):
        return sum(weights) * x

    assert s2sad.grad(read, target=target)(2.0) == 3.0


def test_numbers_of_more_than_64_bits():
    for number in (np.longdouble(2), np.clongdouble(2), np.ones(2, np.longdouble)):
        for allowed in (False, True):
            with pytest.raises(s2sad.NotDifferentiableError, match="Numbers of more than 64 bits"):
                s2sad.grad(lambda x: np.sum(x * x), allow_int=allowed, target="python")(number)


def test_what_is_no_function():
    with pytest.raises(s2sad.ArgumentError, match="a function is needed, not `3`"):
        s2sad.differentiate(3)


def test_a_logger_of_ones_own_is_left_out():
    def told(x):
        logging.getLogger("s2sad.test").debug("x is %s", x)
        return x * x

    assert s2sad.grad(told, target="cpu")(3.0) == 6.0


@functools.singledispatch
def sized(a):
    return a * 2.0


@sized.register
def _(a: float):
    return a * a


@sized.register
def _(a: np.ndarray):
    return np.sum(a) * 3.0


@sized.register(list)
@sized.register(tuple)
def _(a):
    return a[0]


@BOTH
def test_functions_chosen_by_the_class_of_the_argument(target):
    def program(x):
        return sized(x) + sized(np.array([x, x])) + sized([x]) + sized(3)

    assert s2sad.value_and_grad(program, target=target)(2.0) == (program(2.0), 4.0 + 6.0 + 1.0)
    assert s2sad.value_and_grad(sized, target=target)(2.0) == (4.0, 4.0)


def test_a_stub_that_compiled_code_replaces():
    """`@overload` says what compiled code runs: the text of the stub is not that."""
    import numba
    from numba.extending import overload

    def stub(a):
        return a

    @overload(stub)
    def _(a):
        return lambda a: a * a

    @numba.njit
    def compiled(x):
        return stub(x)

    assert compiled(3.0) == 9.0
    assert "in compiled code `stub` is what `@overload` says" in refused(compiled, 3.0, target="cpu")
    assert s2sad.grad(lambda x: stub(x) * x, target="python")(3.0) == 6.0


def retried(x):
    for k in range(4):
        try:
            y = np.log(x + 0.2 * k) if x + 0.2 * k > 0 else 1 / 0
            return 2.0 * y
        except ZeroDivisionError:
            continue
    return -1.0


def jittered(a):
    for k in range(4):
        try:
            low = np.linalg.cholesky(a + 10.0 ** (k - 2) * np.eye(len(a)))
        except np.linalg.LinAlgError:
            continue
        break
    return np.sum(np.log(np.diag(low)))


def test_continue_in_a_handler():
    assert s2sad.grad(retried, target="python")(-0.3) == pytest.approx(2.0 / 0.1)
    matrix = np.array([[1.0, 0.2], [0.2, -0.01]])
    found = s2sad.grad(jittered, target="python")(matrix)
    whole = matrix + 0.1 * np.eye(2)
    np.testing.assert_allclose(np.trace(found @ whole.T), 1.0, rtol=1e-9)
