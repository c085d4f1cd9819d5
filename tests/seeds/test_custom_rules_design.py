"""The design of custom derivative rules: what rules mean, and how they compose with transforms.

The programs of the design document, with its numbers: a rule that says 3 where the function says 2,
so that a rule that was lost shows.
"""

import dataclasses
import math
import sys

import numpy as np
import pytest

import s2sad
from s2sad import custom_jvp, custom_vjp, grad, jvp, vjp, vmap

BOTH = pytest.mark.parametrize("target", ["python", "cpu"])


@custom_vjp
def f(x):
    return 2.0 * x


def f_fwd(x):
    return f(x), None


def f_bwd(_, g):
    return (3.0 * g,)  # 3 instead of 2


f.defvjp(f_fwd, f_bwd)


@custom_jvp
def h(x):
    return 2.0 * x


@h.defjvp
def h_jvp(primals, tangents):
    (x,) = primals
    (t,) = tangents
    return h(x), 3.0 * t


class TestVmapKeepsTheRule:
    """`vmap(f)(xs)` is the stack of the calls of `f`, and so are its derivatives."""

    @BOTH
    def test_grad(self, target):
        """The rule's 3, not the function's 2."""
        assert grad(f, target=target)(1.0) == 3.0

    @BOTH
    def test_vmap_of_grad(self, target):
        """3 for every element."""
        np.testing.assert_array_equal(vmap(grad(f, target=target), target=target)(np.ones(4)), np.full(4, 3.0))

    @BOTH
    def test_grad_of_vmap(self, target):
        """3 for every element; 2 is what losing the rule gives."""
        found = grad(lambda x: vmap(f)(x).sum(), target=target)(np.ones(4))
        np.testing.assert_array_equal(found, np.full(4, 3.0))

    @BOTH
    def test_jvp_of_vmap(self, target):
        """`jvp(vmap(f))` is `jvp` of the stack, with a forward rule."""
        xs, dots = np.array([1.0, -2.0, 0.5]), np.array([1.0, 10.0, 100.0])

        def stack(xs):
            return np.stack([h(x) for x in xs])

        mapped = jvp(lambda xs: vmap(h)(xs), (xs,), (dots,), target=target)
        stacked = jvp(stack, (xs,), (dots,), target="python")
        for one, other in zip(mapped, stacked, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(mapped[1], 3.0 * dots)

    def test_no_rule_for_vmap_is_asked(self):
        """Outside a derivative the function is mapped as it is."""
        np.testing.assert_array_equal(vmap(f)(np.array([1.0, 2.0])), [2.0, 4.0])

    def test_forward_mode_of_a_reverse_rule(self):
        """A reverse rule under `jvp` is a TypeError that says so."""
        with pytest.raises(TypeError, match="reverse-mode rule only"):
            jvp(f, (1.0,), (1.0,))

    def test_evaluation_ignores_the_rule(self):
        """`eval(custom_jvp_call(f, f_jvp)) == eval(f)`, and its value under a transform is the function's."""
        assert f(5.0) == 10.0
        assert h(5.0) == 10.0
        assert vjp(f, 5.0)[0] == 10.0
        assert jvp(h, (5.0,), (1.0,)) == (10.0, 3.0)


class TestPythonInRules:
    """Rules see run-time values, may branch on them, stop in a debugger, and raise."""

    @BOTH
    def test_control_flow(self, target):
        """The document's function that branches on its argument, with a rule that does too."""

        @custom_vjp
        def relu(x):
            if x > 0:
                return x
            else:
                return 0.0

        def fwd(x):
            return relu(x), x

        def bwd(x, g):
            if x > 0:
                return (g,)
            return (0.5 * g,)

        relu.defvjp(fwd, bwd)
        assert grad(relu, target=target)(1.0) == 1.0
        assert grad(relu, target=target)(-1.0) == 0.5

    def test_breakpoint_in_the_backward_pass(self, monkeypatch):
        """The debugger stops in the user's own rule, with the values of this run."""
        seen = []

        def hook():
            frame = sys._getframe(1)
            seen.append((frame.f_code.co_filename, frame.f_code.co_name, dict(frame.f_locals)))

        monkeypatch.setattr(sys, "breakpointhook", hook)

        @custom_vjp
        def sine(x):
            return np.sin(x)

        def fwd(x):
            return sine(x), np.cos(x)

        def bwd(cos_x, g):
            breakpoint()
            return (cos_x * g,)

        sine.defvjp(fwd, bwd)
        assert grad(lambda x: sine(x) * 3.0, target="python")(1.0) == pytest.approx(3.0 * math.cos(1.0), rel=1e-15)
        assert seen == [(__file__, "bwd", {"cos_x": math.cos(1.0), "g": 3.0})]

    def test_breakpoint_compiled(self):
        """The compiled target says which target stops."""

        @custom_vjp
        def sine(x):
            return np.sin(x)

        def bwd(x, g):
            breakpoint()
            return (np.cos(x) * g,)

        sine.defvjp(lambda x: (np.sin(x), x), bwd)
        with pytest.raises(s2sad.UnsupportedSyntaxError, match='target="python"'):
            grad(sine)(1.0)

    @BOTH
    def test_nan_is_caught(self, target):
        """A rule that looks for NaN raises where it finds one."""

        @custom_vjp
        def root(x):
            return np.sqrt(x)

        def bwd(x, g):
            bar = g / (2.0 * np.sqrt(x))
            if np.isnan(bar):
                raise FloatingPointError("NaN in the backward pass of root")
            return (bar,)

        root.defvjp(lambda x: (np.sqrt(x), x), bwd)
        assert grad(root, target=target)(4.0) == 0.25
        with np.errstate(invalid="ignore"), pytest.raises(FloatingPointError, match="backward pass of root"):
            grad(root, target=target)(-1.0)

    def test_values_are_recorded(self):
        """A rule may keep what it sees: ordinary Python."""
        seen = []

        @custom_vjp
        def scale(x):
            return 2.0 * x

        def bwd(x, g):
            seen.append((x, g))
            return (2.0 * g,)

        scale.defvjp(lambda x: (2.0 * x, x), bwd)
        assert grad(lambda x: scale(x) ** 2, target="python")(3.0) == 24.0
        assert seen == [(3.0, 12.0)]


class TestSurface:
    """The rules' signatures."""

    @BOTH
    def test_custom_jvp_of_sine(self, target):
        """The document's first rule; reverse mode transposes it."""

        @custom_jvp
        def sine(x):
            return np.sin(x)

        def sine_jvp(primals, tangents):
            (x,) = primals
            (t,) = tangents
            return sine(x), np.cos(x) * t

        sine.defjvp(sine_jvp)
        assert jvp(sine, (0.5,), (2.0,), target=target) == pytest.approx((math.sin(0.5), 2 * math.cos(0.5)))
        assert grad(sine, target=target)(0.5) == pytest.approx(math.cos(0.5), rel=1e-15)
        assert grad(grad(grad(sine, target=target), target=target), target=target)(0.5) == pytest.approx(
            -math.cos(0.5), rel=1e-14
        )

    @BOTH
    def test_custom_vjp_of_sine(self, target):
        """The document's second rule, residuals between its halves."""

        @custom_vjp
        def sine(x):
            return np.sin(x)

        def fwd(x):
            return sine(x), np.cos(x)

        def bwd(cos_x, g):
            return (cos_x * g,)

        sine.defvjp(fwd, bwd)
        x = np.array([0.5, -1.0])
        y, pullback = vjp(sine, x, target=target)
        np.testing.assert_allclose(y, np.sin(x), rtol=1e-15)
        np.testing.assert_allclose(pullback(np.array([1.0, 2.0]))[0], np.cos(x) * [1.0, 2.0], rtol=1e-15)

    def test_higher_order_needs_the_call(self):
        """A rule that calls the function is used again by the next derivative; one that does not, is not."""

        @custom_jvp
        def calling(x):
            return np.exp(x)

        @calling.defjvp
        def calling_jvp(primals, tangents):
            y = calling(primals[0])
            return y, 2.0 * y * tangents[0]

        @custom_jvp
        def repeating(x):
            return np.exp(x)

        @repeating.defjvp
        def repeating_jvp(primals, tangents):
            y = np.exp(primals[0])
            return y, 2.0 * y * tangents[0]

        e = math.exp(0.3)
        assert grad(calling)(0.3) == pytest.approx(2 * e, rel=1e-15)
        assert grad(grad(calling))(0.3) == pytest.approx(4 * e, rel=1e-14)
        assert grad(grad(grad(calling)))(0.3) == pytest.approx(8 * e, rel=1e-14)
        assert grad(repeating)(0.3) == pytest.approx(2 * e, rel=1e-15)
        assert grad(grad(repeating))(0.3) == pytest.approx(2 * e, rel=1e-14)

    @BOTH
    def test_containers(self, target):
        """Arguments, results and residuals are any containers."""

        @custom_vjp
        def affine(params, x):
            return {"out": params["W"] * x + params["b"], "size": (np.sum(x),)}

        def fwd(params, x):
            return affine(params, x), {"saved": [params["W"], x], "name": "affine", "none": None}

        def bwd(residuals, bars):
            W, x = residuals["saved"]
            g = bars["out"]
            return {"W": 10.0 * np.sum(g * x), "b": np.sum(g)}, W * g + bars["size"][0]

        affine.defvjp(fwd, bwd)

        def total(params, x):
            made = affine(params, x)
            return np.sum(made["out"] ** 2) + made["size"][0]

        x, W, b = np.array([1.0, 2.0]), 3.0, 0.5
        params_bar, x_bar = grad(total, (0, 1), target=target)({"W": W, "b": b}, x)
        g = 2 * (W * x + b)
        assert params_bar == {"W": pytest.approx(10 * np.sum(g * x)), "b": pytest.approx(np.sum(g))}
        np.testing.assert_allclose(x_bar, W * g + 1.0, rtol=1e-15)

    @BOTH
    def test_arguments_by_name(self, target):
        """Names are resolved to positions, defaults filled in."""

        @custom_vjp
        def product(x, y=2.0):
            return x * y

        product.defvjp(lambda x, y: (x * y, (x, y)), lambda r, g: (10.0 * r[1] * g, 100.0 * r[0] * g))
        assert grad(lambda x: product(y=3.0, x=x), target=target)(5.0) == 30.0
        assert grad(lambda y: product(5.0, y=y), target=target)(3.0) == 500.0
        assert grad(product, target=target)(5.0) == 20.0
        assert grad(product, "y", target=target)(5.0, y=3.0) == 500.0

    @pytest.mark.parametrize("order", ["first", "last"])
    @BOTH
    def test_not_differentiated_in_a_tangent_rule(self, order, target):
        """A function among the arguments: before `primals`, or after where the rule begins with them."""

        def first(fun, primals, tangents):
            return fun(primals[0]), 5.0 * tangents[0]

        def last(primals, tangents, fun):
            return fun(primals[0]), 5.0 * tangents[0]

        def apply(fun, x):
            return fun(x)

        ruled = custom_jvp(apply, nondiff_argnums=(0,))
        ruled.defjvp(first if order == "first" else last)
        assert jvp(lambda x: ruled(np.sin, x), (0.5,), (2.0,), target=target) == (math.sin(0.5), 10.0)
        assert grad(lambda x: ruled(np.sin, x), target=target)(0.5) == 5.0

    @BOTH
    def test_not_differentiated_in_an_adjoint_rule(self, target):
        """What is not differentiated comes before the residuals."""

        def clipped(low, high, x):
            return x

        ruled = custom_vjp(clipped, nondiff_argnums=(0, 1))
        ruled.defvjp(lambda low, high, x: (x, None), lambda low, high, _, g: (np.clip(g, low, high),))
        assert grad(lambda x: 10.0 * ruled(-1.0, 1.0, x), target=target)(0.5) == 1.0
        assert grad(lambda x: -10.0 * ruled(-1.0, 2.0, x), target=target)(0.5) == -1.0

    def test_derivatives_of_what_is_not_differentiated(self):
        """An argument that the rule cannot differentiate must not vary: no silent zero."""
        ruled = custom_vjp(lambda low, x: x, nondiff_argnums=(0,))
        ruled.defvjp(lambda low, x: (x, None), lambda low, _, g: (g,))
        with pytest.raises(TypeError, match="nondiff_argnums"):
            grad(lambda x: ruled(x, x))(1.0)
        assert grad(lambda x: ruled(s2sad.stop_gradient(x), x))(1.0) == 1.0

    @BOTH
    def test_zero_cotangents(self, target):
        """None is a zero, in the argument's structure and dtype."""

        @custom_vjp
        def pick(x, y):
            return np.sum(x) + np.sum(y["a"])

        pick.defvjp(lambda x, y: (pick(x, y), None), lambda _, g: (g * np.ones(2), None))
        x, y = np.ones(2), {"a": np.ones(3, np.float32)}
        x_bar, y_bar = grad(pick, (0, 1), target=target)(x, y)
        np.testing.assert_array_equal(x_bar, [1.0, 1.0])
        np.testing.assert_array_equal(y_bar["a"], np.zeros(3, np.float32))
        assert y_bar["a"].dtype == np.float32

    @BOTH
    def test_one_rule_per_argument(self, target):
        """The convenience that the document leaves out: a tangent per argument."""

        @custom_jvp
        def product(x, y):
            return x * y

        product.defjvps(lambda dot, out, x, y: 10.0 * dot * y, None)
        assert jvp(product, (2.0, 3.0), (1.0, 1.0), target=target) == (6.0, 30.0)
        assert grad(product, (0, 1), target=target)(2.0, 3.0) == (30.0, 0.0)


@custom_jvp
def logistic(x):
    return 1.0 / (1.0 + np.exp(-x))


@logistic.defjvp
def logistic_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    y = logistic(x)
    return y, y * (1.0 - y) * t


@custom_jvp
def log1pexp(x):
    return np.log(1.0 + np.exp(x))


@log1pexp.defjvp
def log1pexp_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return log1pexp(x), logistic(x) * t


class TestLibraryFunctions:
    """Functions of a library that act as primitives under differentiation: stable derivatives."""

    @BOTH
    def test_far_out(self, target):
        """0 at -800 and 1 at 100, where the formulas overflow."""
        with np.errstate(over="ignore"):
            assert grad(logistic, target=target)(-800.0) == 0.0
            assert grad(log1pexp, target=target)(100.0) == 1.0
            assert grad(log1pexp, target=target)(1000.0) == 1.0

    def test_without_a_rule(self):
        """The formula differentiated as it stands fails there: the rule is what helps."""
        with np.errstate(over="ignore", invalid="ignore"):
            assert math.isnan(grad(lambda x: np.log(1.0 + np.exp(x)))(1000.0))

    def test_between(self):
        """Where both work they agree, and so do second derivatives, which use the rules again."""
        x = np.linspace(-3.0, 3.0, 7)
        p = 1 / (1 + np.exp(-x))
        np.testing.assert_allclose(vmap(grad(log1pexp))(x), p, rtol=1e-14)
        np.testing.assert_allclose(vmap(grad(grad(log1pexp)))(x), p * (1 - p), rtol=1e-13)
        np.testing.assert_allclose(grad(lambda x: np.sum(vmap(logistic)(x)))(x), p * (1 - p), rtol=1e-13)


def test_dataclass_arguments():
    """Rules get the user's own classes."""

    @dataclasses.dataclass
    class Spring:
        stiffness: float
        length: float

    @custom_vjp
    def energy(spring, x):
        return 0.5 * spring.stiffness * (x - spring.length) ** 2

    def fwd(spring, x):
        return energy(spring, x), (spring, x)

    def bwd(residuals, g):
        spring, x = residuals
        stretch = x - spring.length
        return Spring(0.5 * stretch**2 * g, -7.0 * g), spring.stiffness * stretch * g

    energy.defvjp(fwd, bwd)
    spring_bar, x_bar = grad(energy, (0, 1))(Spring(2.0, 1.0), 4.0)
    assert (spring_bar, x_bar) == (Spring(4.5, -7.0), 6.0)
