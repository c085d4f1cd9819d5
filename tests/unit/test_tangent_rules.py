"""What a tangent rule may be: linear in any way, its own function included; and what it may not."""

import copy
import dataclasses

import numpy as np
import pytest

import s2sad
from s2sad import custom_jvp, custom_vjp, grad, hessian, jacfwd, jvp
from s2sad.errors import RuleError, RuleShapeError

BOTH = pytest.mark.parametrize("target", ["python", "cpu"])
MATRIX = np.array([[2.0, 0.3, -0.1], [0.5, 1.5, 0.2], [0.0, -0.4, 1.0]])
VECTOR = np.array([1.0, -2.0, 0.5])


@custom_jvp
def solve(matrix, right):
    return np.linalg.solve(matrix, right)


@solve.defjvp
def solve_jvp(primals, tangents):
    (matrix, right), (matrix_dot, right_dot) = primals, tangents
    x = solve(matrix, right)
    return x, solve(matrix, right_dot - matrix_dot @ x)


@custom_jvp
def running(x):
    total, sums = 0.0, np.empty(len(x))
    for i in range(len(x)):
        total += x[i]
        sums[i] = total
    return sums


@running.defjvp
def running_jvp(primals, tangents):
    return running(primals[0]), 10.0 * running(tangents[0])


def twice(x):
    return tenfold(tenfold(x) * 1.0)


@custom_jvp
def tenfold(x):
    return np.cumsum(x)


@tenfold.defjvp
def tenfold_jvp(primals, tangents):
    return tenfold(primals[0]), 10.0 * twice(tangents[0])


@custom_jvp
def front(x):
    return x[: len(x) // 2] ** 2


@front.defjvp
def front_jvp(primals, tangents):
    half = len(primals[0]) // 2
    return front(primals[0]), 20.0 * primals[0][:half] * tangents[0][:half]


@custom_jvp
def positive(x):
    return x[x > 0] ** 2


@positive.defjvp
def positive_jvp(primals, tangents):
    x, x_dot = primals[0], tangents[0]
    return positive(x), 20.0 * x[x > 0] * x_dot[x > 0]


def of_solve(matrix, right):
    return np.sum(solve(matrix, right) ** 3)


def plainly(matrix, right):
    return np.sum(np.linalg.solve(matrix, right) ** 3)


@BOTH
@pytest.mark.parametrize("argnums", [0, 1])
def test_a_rule_that_solves_with_its_own_function(target, argnums):
    """`solve(a, b_dot)` says that the function is linear there: reverse mode transposes the function itself."""
    found = grad(of_solve, argnums, target=target)(MATRIX, VECTOR)
    np.testing.assert_allclose(found, grad(plainly, argnums, target="python")(MATRIX, VECTOR), rtol=1e-12)


def test_second_derivatives_of_such_a_rule():
    """Hessians, forward over reverse and reverse over reverse."""
    expected = hessian(plainly, 1, target="python")(MATRIX, VECTOR)
    np.testing.assert_allclose(hessian(of_solve, 1, target="python")(MATRIX, VECTOR), expected, rtol=1e-12)
    by_rows = grad(lambda b: grad(of_solve, 1)(MATRIX, b)[2], target="python")(VECTOR)
    np.testing.assert_allclose(by_rows, expected[2], rtol=1e-12)


def by_running(x):
    return np.sum(running(x) * np.array([1.0, 2.0, 3.0]))


def by_helper(x):
    return np.sum(tenfold(twice(x)) * x) + np.sum(twice(tenfold(x)))


def by_front(x):
    return np.sum(front(x) * 3.0)


def by_positive(x):
    return np.sum(positive(x) * 3.0)


@BOTH
@pytest.mark.parametrize("fun", [by_running, by_helper, by_front, by_positive])
def test_modes_agree(fun, target):
    """A rule by its own function, in a helper too; slices and masks of the tangent."""
    found = grad(fun, target=target)(VECTOR)
    np.testing.assert_allclose(found, jacfwd(fun, target="python")(VECTOR), rtol=1e-13)
    assert np.any(found != grad(by_running, target="python")(VECTOR)) or fun is by_running


@BOTH
@pytest.mark.parametrize("given", [lambda p, t: (p[0] * 2.0, t[0][:2]), lambda p, t: (p[0][:2] * 2.0, t[0])])
def test_the_shape_of_a_tangent_is_looked_at_in_reverse_too(given, target):
    """Not broadcast, not read out of bounds: refused."""
    ruled = custom_jvp(lambda x: x * 2.0)
    ruled.defjvp(given)
    with pytest.raises(RuleShapeError, match=r"another shape\nExpected: shape \([23],\).\nReceived: shape \([23],\)"):
        grad(lambda x: np.sum(ruled(x)), target=target)(VECTOR)


SLOPES = [
    lambda p, t: (np.sin(p[0]), np.cos(p[0])),
    lambda p, t: (np.sin(p[0]), np.ones(3)),
    lambda p, t: (np.sin(p[0]), slope(p[0])),
]


def slope(x):
    return np.cos(x) + 1.0


@pytest.mark.parametrize("rule", SLOPES)
def test_a_slope_is_no_tangent(rule):
    """The derivative without `* x_dot` would be a gradient of zero; forward mode says the same."""
    ruled = custom_jvp(lambda x: np.sin(x))
    ruled.defjvp(rule)
    for call in (
        lambda: grad(lambda x: np.sum(ruled(x)), target="python")(VECTOR),
        lambda: jvp(ruled, (VECTOR,), (VECTOR,), target="python"),
    ):
        with pytest.raises(RuleError, match=r"does not depend on the tangents(.|\n)*x_dot"):
            call()


ZEROS = [
    lambda p, t: (np.round(p[0]), None),
    lambda p, t: (np.round(p[0]), np.zeros_like(p[0])),
    lambda p, t: (np.round(p[0]), 0.0 * p[0]),
    lambda p, t: (np.round(p[0]), np.zeros(3) - 0.0),
]


@pytest.mark.parametrize("rule", ZEROS)
def test_zeros_are_tangents(rule):
    """Of a step function the tangent is zero, however it is said."""
    ruled = custom_jvp(lambda x: np.round(x))
    ruled.defjvp(rule)
    np.testing.assert_array_equal(grad(lambda x: np.sum(ruled(x) + x), target="python")(VECTOR), np.ones(3))


def test_one_of_two_arguments_may_not_matter():
    """By the other argument the tangent is zero: `y_dot` times a slope."""
    ruled = custom_jvp(lambda x, y: np.round(x) * y)
    ruled.defjvp(lambda p, t: (np.round(p[0]) * p[1], np.round(p[0]) * t[1]))
    assert grad(lambda x, y: ruled(x, y) + x, (0, 1), target="python")(2.2, 3.0) == (1.0, 2.0)
    assert grad(lambda x: ruled(x, 3.0) + x, target="python")(2.2) == 1.0


def test_copies_share_the_rule():
    """A copy's rule names the function that was copied."""
    for again in (copy.copy(running), copy.deepcopy(running)):
        found = grad(lambda x, again=again: np.sum(again(x)), target="python")(VECTOR)
        np.testing.assert_array_equal(found, [30.0, 20.0, 10.0])
        np.testing.assert_array_equal(jacfwd(again, target="python")(VECTOR), 10.0 * np.tri(3))


@dataclasses.dataclass
class Spring:
    stiffness: float

    @custom_jvp
    def force(self, x):
        return self.stiffness * x

    @custom_vjp
    def energy(self, x):
        return 0.5 * self.stiffness * x**2


Spring.force.defjvp(lambda p, t: (p[0].force(p[1]), 7.0 * t[1] + t[0].stiffness * p[1]))
Spring.energy.defvjp(
    lambda spring, x: (spring.energy(x), (spring, x)),
    lambda kept, bar: (Spring(0.5 * kept[1] ** 2 * bar), 9.0 * bar),
)


@BOTH
def test_methods_with_a_rule(target):
    """The rule is that of the class, wherever the object comes from: an argument, or made inside."""
    spring = Spring(2.0)
    assert grad(lambda s, x: s.force(x), (0, 1), target=target)(spring, 3.0) == (Spring(3.0), 7.0)
    assert grad(lambda s, x: s.energy(x), (0, 1), target=target)(spring, 3.0) == (Spring(4.5), 9.0)
    assert grad(lambda x: Spring(x).energy(2.0 * x), target=target)(3.0) == 18.0 + 18.0
    assert grad(lambda x: spring.force(x), target=target)(3.0) == 7.0


def test_slopes_are_found_where_a_rule_is_defined_by_name():
    """`defjvp` of a function of others is looked at like a rule of one's own."""
    with s2sad.rules():
        s2sad.defjvp(np.sinc, lambda p, t: (np.sinc(p[0]), 2.0 * p[0]))
        with pytest.raises(RuleError, match="does not depend on the tangents"):
            grad(lambda x: np.sinc(x), target="python")(0.5)


class Damper:
    """A plain class with a ruled method."""

    def __init__(self, c, scale):
        self.c, self.scale = c, scale

    @custom_jvp
    def force(self, v):
        return self.c * self.scale[0] * v


Damper.force.defjvp(
    lambda p, t: (p[0].force(p[1]), 5.0 * t[1] + t[0].c * p[1] + np.sum(t[0].scale) * p[1])
)


@BOTH
def test_an_object_that_is_fixed_has_a_tangent_of_zeros(target):
    """Its numbers and arrays do not move: a rule that reads the tangent of one gets zero, not the object."""
    spring, damper = Spring(2.0), Damper(3.0, np.array([2.0, 1.0]))
    assert s2sad.jvp(lambda x: spring.force(x), (3.0,), (1.0,), target=target) == (6.0, 7.0)
    whole = Spring(2)
    assert s2sad.jvp(lambda x: whole.force(x), (3.0,), (1.0,), target=target) == (6.0, 7.0)
    assert s2sad.jvp(lambda x: damper.force(x), (2.0,), (1.0,), target=target) == (12.0, 5.0)
    assert grad(lambda x: damper.force(x), target=target)(2.0) == 5.0


def test_a_fixed_object_in_a_rule_that_runs_as_it_is():
    """What the compiler cannot read is given the same zeros."""

    @custom_jvp
    def pulled(spring, x):
        return spring.stiffness * x

    @pulled.defjvp
    def _(p, t):
        eval("1")
        return p[0].stiffness * p[1], 7.0 * t[1] + t[0].stiffness * p[1]

    spring = Spring(2.0)
    assert s2sad.jvp(lambda x: pulled(spring, x), (3.0,), (1.0,), target="python") == (6.0, 7.0)


@BOTH
def test_something_added_to_a_tangent_is_refused(target):
    """A rule that is affine is not linear; it is named where the rule stands."""

    @custom_jvp
    def square(x):
        return x * x

    @square.defjvp
    def pushed(primals, tangents):
        return primals[0] ** 2, 2.0 * primals[0] * tangents[0] + 1.0

    for derive in (
        lambda: grad(square, target=target)(2.0),
        lambda: s2sad.jvp(square, (2.0,), (1.0,), target=target),
    ):
        with pytest.raises(RuleError, match=r"is not linear in the tangents(.|\n)*in `pushed`"):
            derive()
