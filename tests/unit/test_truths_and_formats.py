"""`is True`, `case True`, and texts that are formatted of what is known."""

from __future__ import annotations

import numpy as np
import pytest

import s2sad
from tests.differences import assert_derivatives

X = np.array([0.7, 1.3, 0.4, 1.9, 0.9, 1.6])


def spec_len(x):
    return x[0] * len(f"{3:04d}")


def spec_compare(x):
    s = 0.0
    for i in range(3):
        if f"{i:02d}" == "01":
            s += x[i] * 10
        else:
            s += x[i]
    return s


def float_repr(x):
    return x[0] * len(f"{1e-10}")


def bool_repr(x):
    return x[0] * len(f"{True}")


def repr_align(x):
    return x[0] * len(f"{'a'!r:>6}")


def debug_eq(x):
    return x[0] * len(f"1={1!r}")


def key_refused(x):
    d = {f"w{i:02d}": x[i] for i in range(3)}
    return d["w01"] * d["w02"]


def case_true(x):
    s = 0.0
    for i in range(10):
        match i > 5:
            case True:
                s += x[0]
            case _:
                s -= 0.1
    return s


def case_pair(x):
    s = 0.0
    for i in range(4):
        match (i % 2 == 0, i > 1):
            case [True, True]:
                s += x[0]
            case [True, False]:
                s += x[1] * 10
            case [False, True]:
                s += x[2] * 100
            case _:
                s += x[3] * 1000
    return s


def is_true(x):
    s = 0.0
    for i in range(4):
        if (i > 1) is True:
            s += x[0]
        else:
            s += x[1]
    return s


def is_true_name(x):
    s = 0.0
    for i in range(4):
        b = i > 1
        if b is True:
            s += x[0]
        else:
            s += x[1]
    return s


def is_false_call(x):

    def even(n):
        return n % 2 == 0

    s = 0.0
    for i in range(4):
        if even(i) is False:
            s += x[0]
        else:
            s += x[1]
    return s


def is_not_true(x):
    s = 0.0
    for i in range(4):
        s += x[0] if (i == 2) is not True else x[1]
    return s


PROGRAMS = [
    spec_len, spec_compare, float_repr, bool_repr, repr_align, debug_eq, key_refused, case_true, case_pair,
    is_true, is_true_name, is_false_call, is_not_true,
]  # fmt: skip


@pytest.mark.parametrize("target", ["python", "cpu"])
@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives(fun, target):
    assert_derivatives(fun, X, target)


def compared_while_it_runs(x):
    total = 0.0
    for i in range(int(4 + x[0])):
        if f"s{i}" == "s2":
            total += x[i] ** 2
    return total


def as_long_as_it_is(x):
    mode = "cubic" if x[0] > 0.5 else "lin"
    return x[1] * len(mode)


def a_letter_of_it(x):
    mode = "cubic" if x[0] > 0.5 else "lin"
    return x[1] * (mode[0] == "c")


def a_part_of_it(x):
    mode = "cubic" if x[0] > 0.5 else "lin"
    return x[1] if "ub" in mode else x[2]


def in_capitals(x):
    mode = "cubic" if x[0] > 0.5 else "lin"
    return x[0] * (mode.upper() == "CUBIC")


@pytest.mark.parametrize(
    ("fun", "what"),
    [
        (compared_while_it_runs, "this text is not known before the function runs"),
        (as_long_as_it_is, "which text this is, is not known here"),
        (a_letter_of_it, "which text this is, is not known here"),
        (a_part_of_it, "which text this is, is not known here"),
        (in_capitals, "which text this is, is not known here"),
    ],
)
def test_texts_that_are_not_known_are_not_asked_what_they_are(fun, what):
    with pytest.raises(s2sad.UnsupportedSyntaxError, match=what):
        s2sad.grad(fun)(X)
