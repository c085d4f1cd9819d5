"""`try`, `except`, `else` and `finally` around explicit raises: which handler runs, and what runs before a jump."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([1.3, -0.6, 2.7, 0.4])


def finally_before_continue(x):
    s = 1.0
    for v in x:
        try:
            if v < 0:
                raise ValueError
            s *= v
        except ValueError:
            s += v * v
            continue
        finally:
            s *= 1.5
        s += 0.1
    return s


def finally_before_break_and_in_the_else(x):
    s = 1.0
    for v in x:
        try:
            if v > 2:
                raise ValueError
        except ValueError:
            break
        else:
            s *= v
            continue
        finally:
            s *= x[0]
    return s


def changed_after_the_return(x):
    y = x.copy()
    try:
        if x[0] > 1:
            raise ValueError
    except ValueError:
        return y
    finally:
        y[0] *= 10 * x[1]
    return y * 2


def finally_after_a_return(x):
    return changed_after_the_return(x).sum()


def computed_before_finally(x):
    s = x[0]
    try:
        return s * x[1]
    finally:
        s *= 100


def finally_inside_another_try(x):
    s = x[0]
    try:
        try:
            if x[0] > 1:
                raise ValueError
        finally:
            s *= x[2]
    except ValueError:
        s *= x[1]
    return s


def raised_in_the_else(x):
    s = 0.0
    try:
        try:
            if x[0] > 5:
                raise ValueError
            s += x[0]
        except ValueError:
            s += 100 * x[1]
        else:
            if x[2] > 1:
                raise ValueError
            s += x[2]
    except ValueError:
        s += x[3] ** 2
    return s


def raised_again(x):
    s = x[0]
    try:
        try:
            if x[0] > 1:
                raise ValueError
        except ValueError:
            s *= x[1]
            if x[2] > 1:
                raise
        s *= 7
    except ValueError:
        s *= x[2]
    return s


def raised_in_a_loop(x):
    s = 1.0
    try:
        for i in range(3):
            for v in x[i:]:
                if v < 0 and s > 1:
                    raise ValueError
                s *= 1 + v * v
            s += x[i]
    except ValueError:
        s += x[2] * v
    else:
        s *= 100
    return s


def a_failed_assertion(x):
    s = x[0]
    try:
        s *= 2
        assert x[1] > 0, "positive"
        s *= 50
    except AssertionError:
        s *= x[1]
    return s


def a_try_in_a_handler(x):
    y = x.copy()
    try:
        try:
            if x[0] > 1:
                raise ValueError
        except ValueError:
            try:
                if x[2] > 100:
                    raise IndexError
                y *= 2
            except IndexError:
                y *= 3
            raise KeyError from None
    except KeyError:
        y *= 4 * x[0]
    return y.sum()


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", [
    finally_before_continue, finally_before_break_and_in_the_else, finally_after_a_return, computed_before_finally,
    finally_inside_another_try, raised_in_the_else, raised_again, raised_in_a_loop, a_failed_assertion,
    a_try_in_a_handler,
])  # fmt: skip
def test_paths(fun, target):
    assert_derivatives(fun, X, target)


def not_caught_in_the_else(x):
    try:
        if x[0] > 5:
            raise ValueError
        s = x[0]
    except ValueError:
        s = x[1]
    else:
        if x[2] > 1:
            raise ValueError("from the else")
    return s


def test_handlers_do_not_catch_what_the_else_raises():
    with pytest.raises(ValueError, match="from the else"):
        s2sad.grad(not_caught_in_the_else, target="python")(X)


def reads_the_exception(x):
    try:
        if x[0] > 1:
            raise ValueError("large")
        s = x[0]
    except ValueError as error:
        s = x[1] * len(error.args)
    return s


def leaves_finally(x):
    for v in x:
        try:
            s = v * v
        finally:
            break
    return s


@pytest.mark.parametrize(
    ("fun", "why"), [(reads_the_exception, "`error`, is read here"), (leaves_finally, "a jump out of `finally`")]
)
def test_refused(fun, why):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match=why):
        s2sad.grad(fun, target="python")(X)
