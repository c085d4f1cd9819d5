"""Functions whose lines do not all begin as far to the right as their first one."""

import numpy as np
import pytest

import s2sad


class Model:
    def documented(self, x):
        r"""A sum of squares.

f(x) = x_0^2 + x_1^2
        """
        return x[0] ** 2 + x[1] ** 2

    def commented(self, x):
        s = x[0] ** 2
# a comment at the left margin
        return s + x[1] ** 2

    def continued(self, x):
        return (x[0] ** 2 +
x[1] ** 2)

    def wrong(self, x):
        """Reads what is not there:

at the margin.
        """
        s = x[0]
        return np.nothing(s)


def made():
    def inner(x):
        """Lines of its text
stand at the margin."""
        return x[0] ** 2 + x[1] ** 2

    return inner


def with_a_helper(x):
    def square(y):
        """A square,
as it says."""
        return y * y

    return square(x[0]) + x[1] ** 2


MODEL = Model()


@pytest.mark.parametrize("target", ["cpu", "python"])
@pytest.mark.parametrize(
    "fun", [MODEL.documented, MODEL.commented, MODEL.continued, made(), with_a_helper, lambda x: MODEL.documented(x)]
)
def test_lines_at_the_left_margin_are_read(fun, target):
    assert s2sad.grad(fun, target=target)(np.array([1.0, -2.0])).tolist() == [2.0, -4.0]


def test_an_error_names_the_line_of_such_a_function():
    with pytest.raises(s2sad.S2SADError, match="nothing") as refusal:
        s2sad.grad(MODEL.wrong)(np.ones(2))
    span = refusal.value.span
    assert span.text().strip() == "return np.nothing(s)"
    assert span.text()[span.column :].startswith("np.nothing")
