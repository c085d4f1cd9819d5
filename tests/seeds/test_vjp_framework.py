"""A framework of VJP operators over NumPy: two-stage rules, a graph walked backwards, Jacobians by rows."""

import functools
import math

import numpy as np
import pytest

import s2sad
from s2sad import defvjp, jacrev
from s2sad.errors import MissingRuleError, RuleError

grad = functools.partial(s2sad.grad, target="python")
vjp = functools.partial(s2sad.vjp, target="python")


def unbroadcast_f(target, g):
    """The text's helper: sum what was broadcast."""

    def summed(bar):
        bar = np.asarray(g(bar))
        while bar.ndim > np.ndim(target):
            bar = bar.sum(axis=0)
        for axis, size in enumerate(np.shape(target)):
            if size == 1:
                bar = bar.sum(axis=axis, keepdims=True)
        return bar

    return summed


def example(x1, x2):
    return np.log(x1) + x1 * x2 - np.sin(x2)


class TestExample:
    """f(x1, x2) = ln x1 + x1 x2 - sin x2 at (2, 5)."""

    @pytest.mark.parametrize("target", ["python", "cpu"])
    def test_gradient(self, target):
        """The value, and the derivatives 1/x1 + x2 and x1 - cos x2."""
        value, bars = s2sad.value_and_grad(example, (0, 1), target=target)(2.0, 5.0)
        assert value == pytest.approx(math.log(2.0) + 10.0 - math.sin(5.0), rel=1e-15)
        assert bars == pytest.approx((5.5, 2.0 - math.cos(5.0)), rel=1e-15)

    def test_repeated(self):
        """Higher derivatives come from doing it again."""
        assert grad(grad(example))(2.0, 5.0) == pytest.approx(-0.25, rel=1e-15)
        assert grad(grad(example), 1)(2.0, 5.0) == pytest.approx(1.0, rel=1e-15)
        assert grad(grad(example, 1), 1)(2.0, 5.0) == pytest.approx(math.sin(5.0), rel=1e-15)
        assert grad(grad(grad(example)))(2.0, 5.0) == pytest.approx(0.25, rel=1e-15)


class TestTwoStageRules:
    """`defvjp(function, one maker per argument)`: the result and arguments first, then the cotangent."""

    def test_subtract(self):
        """The text's rule of `np.subtract`, broadcasting included."""
        x, y = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([10.0, 20.0])
        with s2sad.rules():
            defvjp(
                np.subtract,
                lambda ans, x, y: unbroadcast_f(x, lambda g: g),
                lambda ans, x, y: unbroadcast_f(y, lambda g: -g),
            )
            x_bar, y_bar = grad(lambda x, y: np.sum(np.subtract(x, y) ** 2), (0, 1))(x, y)
        np.testing.assert_array_equal(x_bar, 2 * (x - y))
        np.testing.assert_array_equal(y_bar, np.sum(-2 * (x - y), axis=0))

    def test_rule_is_what_is_used(self):
        """A rule that says something else shows that it is the rule that speaks; outside it does not hold."""

        def difference(x, y):
            return np.subtract(x, y)

        with s2sad.rules():
            defvjp(np.subtract, lambda ans, x, y: lambda g: 10 * g, lambda ans, x, y: lambda g: ans * g)
            assert grad(difference, (0, 1))(5.0, 2.0) == (10.0, 3.0)
        assert grad(difference, (0, 1))(5.0, 2.0) == (1.0, -1.0)

    def test_settings(self):
        """Settings such as `axis` are given in the first stage."""
        seen = []

        def maker(ans, x, axis=None, keepdims=False):
            seen.append((ans.tolist(), axis, keepdims))
            return lambda g: np.broadcast_to(g, x.shape) * 7.0

        with s2sad.rules():
            defvjp(np.sum, maker)
            found = grad(lambda x: np.sum(x, axis=0, keepdims=True)[0, 1])(np.ones((2, 3)))
        np.testing.assert_array_equal(found, [[0.0, 7.0, 0.0]] * 2)
        assert seen == [([[2.0, 2.0, 2.0]], 0, True)]

    def test_some_arguments(self):
        """`argnums` names the arguments that the makers belong to; None is a zero, and nothing is no rule."""
        with s2sad.rules():
            defvjp(np.arctan2, lambda ans, y, x: lambda g: 5 * g, argnums=(1,))
            assert grad(lambda y, x: np.arctan2(y, x), 1)(1.0, 2.0) == 5.0
            with pytest.raises(s2sad.RuleError, match="no part for argument 0"):
                grad(lambda y, x: np.arctan2(y, x), (0, 1))(1.0, 2.0)
            defvjp(np.arctan2, lambda ans, y, x: lambda g: 6 * g, None)
            assert grad(lambda y, x: np.arctan2(y, x), (0, 1))(1.0, 2.0) == (6.0, 0.0)

    def test_compiled(self):
        """The compiled target takes a rule whose text it can read."""
        with s2sad.rules():
            defvjp(np.sinc, lambda ans, x: lambda g: g * (np.cos(np.pi * x) - ans) / x)
            found = s2sad.grad(lambda x: np.sinc(x) * x, target="cpu")(0.25)
        assert found == pytest.approx(np.cos(np.pi * 0.25), rel=1e-14)

    def test_compiled_needs_the_text(self):
        """A rule that the compiler cannot read is refused there, with the target that takes it."""
        with s2sad.rules():
            defvjp(np.sinc, lambda ans, x: eval("lambda g: g"))
            assert grad(lambda x: np.sinc(x))(0.5) == 1.0
            with pytest.raises(s2sad.S2SADError, match='target="python"'):
                s2sad.grad(lambda x: np.sinc(x), target="cpu")(0.5)

    @pytest.mark.parametrize("by", ["rule", "helper"])
    def test_higher_derivatives(self, by):
        """`ans` is a value of the function: the next derivative goes through it by the rule again."""

        def helped(ans, x):
            return scaled(lambda g: g * (np.cos(np.pi * x) - ans), 1.0 / x)

        def scaled(pull, factor):
            return lambda g: pull(g) * factor

        def f(x):
            return np.sinc(x) * x  # sin(pi x) / pi

        x = 0.25
        with s2sad.rules():
            maker = helped if by == "helper" else lambda ans, x: lambda g: g * (np.cos(np.pi * x) - ans) / x
            defvjp(np.sinc, maker)
            first, second = grad(f)(x), grad(grad(f))(x)
            third = grad(grad(grad(f)))(x)
            mapped = grad(lambda xs: np.sum(s2sad.vmap(grad(f), target="python")(xs)))(np.array([x, 0.5]))
            with pytest.raises(TypeError, match="reverse-mode rule only"):
                s2sad.jvp(f, (x,), (1.0,), target="python")
        expected = np.cos(np.pi * x), -np.pi * np.sin(np.pi * x), -(np.pi**2) * np.cos(np.pi * x)
        np.testing.assert_allclose((first, second, third), expected, rtol=1e-11)
        np.testing.assert_allclose(mapped, [-np.pi * np.sin(np.pi * x), -np.pi], rtol=1e-11)

    def test_wrong_cotangent(self):
        """What the second stage gives is checked."""
        with s2sad.rules():
            defvjp(np.subtract, lambda ans, x, y: lambda g: g, lambda ans, x, y: lambda g: g)
            with pytest.raises(RuleError, match=r"for `x1` has another shape(.|\n)*a scalar(.|\n)*rank 1"):
                grad(lambda x, y: np.sum(np.subtract(x, y)), (0, 1))(np.ones(2), 1.0)

    def test_neither_kind(self):
        """Three functions that do not take the result first are no rule."""
        with pytest.raises(RuleError, match="neither"):
            defvjp(np.subtract, lambda x: x, lambda x: x, lambda x: x)


def test_no_rule():
    """A function that has none is named, where it is called."""
    with pytest.raises(MissingRuleError, match="`kaiser` has no derivative rule"):
        grad(lambda x: np.kaiser(3, x)[0] * x)(1.0)


class TestBackwards:
    """What the walk over the graph promises."""

    def test_default_cotangent_is_ones(self):
        """Without a weighting the result is the sum of the rows."""
        x = np.array([1.0, 2.0, 3.0])
        y, pullback = vjp(lambda x: x**3, x)
        np.testing.assert_array_equal(pullback(np.ones_like(y))[0], 3 * x**2)

    def test_paths_add_up(self):
        """A node that is reached along several paths gets their sum."""

        def diamond(x):
            left, right = np.sin(x), x * x
            return left * right + left

        x = 0.7
        exact = math.cos(x) * x * x + math.sin(x) * 2 * x + math.cos(x)
        assert grad(diamond)(x) == pytest.approx(exact, rel=1e-14)

    def test_jacobian_by_rows(self):
        """Row [i, j] of the Jacobian is the pull back of a matrix that is 1 there and 0 elsewhere."""

        def f(x):
            return np.outer(np.sin(x), x)

        x = np.array([0.3, -1.0, 2.0])
        y, pullback = vjp(f, x)
        rows = []
        for position in np.ndindex(y.shape):
            unit = np.zeros_like(y)
            unit[position] = 1
            rows.append(pullback(unit)[0])
        by_rows = np.reshape(np.stack(rows), y.shape + x.shape)
        exact = np.einsum("i,j,ik->ijk", np.cos(x), x, np.eye(3)) + np.einsum("i,jk->ijk", np.sin(x), np.eye(3))
        np.testing.assert_allclose(by_rows, exact, rtol=1e-14)
        np.testing.assert_allclose(jacrev(f, target="python")(x), by_rows, rtol=1e-14)
