"""Rules of the user's own: they hold in both modes, on both targets, through calls and scopes."""

import copy
import inspect
import io
import math
import os
import pathlib
import pdb
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import s2sad
from s2sad.errors import RuleError

TARGETS = ["python", "cpu"]


@s2sad.custom_vjp
def triple(x):
    return 2.0 * x


def triple_fwd(x):
    return 2.0 * x, x


def triple_bwd(x, g):
    return (3.0 * g,)


triple.defvjp(triple_fwd, triple_bwd)


@s2sad.custom_jvp
def bent(x, y):
    return np.sin(x) * y


@bent.defjvp
def bent_jvp(primals, tangents):
    x, y = primals
    x_dot, y_dot = tangents
    return np.sin(x) * y, 10.0 * x_dot + np.sin(x) * y_dot


def through_triple(x):
    return triple(x) * x


def through_bent(x):
    return np.sum(bent(x, x))


@pytest.mark.parametrize("target", TARGETS)
def test_reverse_rule(target):
    """The rule says 3 where the body says 2: the rule holds."""
    assert s2sad.grad(through_triple, target=target)(2.0) == 3.0 * 2.0 + 4.0


def test_direct():
    """The transform of the ruled function itself uses the rule."""
    assert s2sad.grad(triple)(5.0) == 3.0


@pytest.mark.parametrize("target", TARGETS)
def test_forward_rule_in_reverse(target):
    """A tangent rule alone serves reverse mode, by transposition."""
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(s2sad.grad(through_bent, target=target)(x), 10.0 + np.sin(x), rtol=1e-15)


def test_forward_rule_forward():
    """The same rule in forward mode."""
    x = np.array([1.0, 2.0])
    _, dot = s2sad.jvp(through_bent, (x,), (np.ones(2),))
    np.testing.assert_allclose(dot, np.sum(10.0 + np.sin(x)), rtol=1e-15)


def test_reverse_rule_has_no_jvp():
    """A reverse rule under jvp is a TypeError that says what to do."""
    with pytest.raises(TypeError, match="reverse-mode rule only"):
        s2sad.jvp(through_triple, (2.0,), (1.0,))


def test_a_reverse_rule_with_a_forward_one():
    """Each mode goes by its own rule, also where a Hessian is forward over reverse."""

    @s2sad.custom_vjp
    def sine(x):
        return np.sin(x)

    sine.defvjp(lambda x: (sine(x), x), lambda x, y_bar: (3.0 * np.cos(x) * y_bar,))

    def squared(x):
        return sine(x) ** 2

    with pytest.raises(TypeError, match=r"reverse-mode rule only(.|\n)*`.defjvp\(rule\)`"):
        s2sad.hessian(squared, target="python")(0.5)

    @sine.defjvp
    def sine_jvp(primals, tangents):
        return sine(primals[0]), 5.0 * np.cos(primals[0]) * tangents[0]

    s, c = np.sin(0.5), np.cos(0.5)
    for target in ("python", "cpu"):
        assert s2sad.grad(squared, target=target)(0.5) == pytest.approx(6 * s * c, rel=1e-15)
        assert s2sad.jvp(squared, (0.5,), (1.0,), target=target)[1] == pytest.approx(10 * s * c, rel=1e-15)
        second = 6 * (5 * c * c - s * s)  # the rule's cosine is a cosine, its sine goes by the forward rule
        assert s2sad.hessian(squared, target=target)(0.5) == pytest.approx(second, rel=1e-14)


def test_scoped_rule_of_a_foreign_function():
    """A rule for `np.sinc` holds inside its `with`, and nowhere after."""
    def fun(x):
        return np.sinc(x) * 2.0

    before = s2sad.grad(fun)(0.3)
    with s2sad.rules():
        s2sad.defvjp(np.sinc, lambda x: (np.sinc(x), x), lambda x, g: (7.0 * g,))
        assert s2sad.grad(fun)(0.3) == 14.0
    assert s2sad.grad(fun)(0.3) == before
    x = 0.3
    exact = 2.0 * (math.cos(math.pi * x) - np.sinc(x)) / x
    np.testing.assert_allclose(before, exact, rtol=1e-13)


def test_wrong_number_of_cotangents():
    """A rule that returns too few cotangents is named."""
    @s2sad.custom_vjp
    def product(x, y):
        return x * y

    product.defvjp(lambda x, y: (x * y, (x, y)), lambda res, g: (g * res[1],))
    with pytest.raises(RuleError, match="2 cotangents"):
        s2sad.grad(lambda x: product(x, 3.0))(2.0)


def test_stop_gradient():
    """No derivative flows through `stop_gradient`."""
    assert s2sad.grad(lambda x: x * s2sad.stop_gradient(x))(3.0) == 3.0


WEIGHTS = np.array([[1.0, 2.0], [3.0, 4.0]])
FACTOR = 3.0


@s2sad.custom_vjp
def weighted(x):
    return WEIGHTS @ x


weighted.defvjp(lambda x: (WEIGHTS @ x, None), lambda _, g: (WEIGHTS.T @ g * FACTOR,))


@s2sad.custom_jvp
def weighted_forward(x):
    return x * 2.0


weighted_forward.defjvp(lambda primals, tangents: (primals[0] * 2.0, WEIGHTS[0] * tangents[0]))


@pytest.mark.parametrize("target", TARGETS)
def test_rules_read_outer_arrays(target):
    """Arrays around a rule are read at every call, in both modes, on both targets."""
    x = np.ones(2)
    derivative = s2sad.grad(lambda x: np.sum(weighted(x)), target=target)
    np.testing.assert_array_equal(derivative(x), 3.0 * np.array([4.0, 6.0]))
    np.testing.assert_array_equal(s2sad.grad(lambda x: np.sum(weighted_forward(x)), target=target)(x), [1.0, 2.0])
    _, dot = s2sad.jvp(weighted_forward, (x,), (x,), target=target)
    np.testing.assert_array_equal(dot, [1.0, 2.0])
    before = WEIGHTS[0, 0]
    try:
        WEIGHTS[0, 0] = 11.0
        np.testing.assert_array_equal(derivative(x), 3.0 * np.array([14.0, 6.0]))
    finally:
        WEIGHTS[0, 0] = before


def test_changed_number(monkeypatch):
    """A number that a rule reads outside may change between calls."""
    derivative = s2sad.grad(lambda x: np.sum(weighted(x)), target="python")
    derivative(np.ones(2))
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    np.testing.assert_array_equal(derivative(np.ones(2)), 5.0 * np.array([4.0, 6.0]))


def test_changed_rule():
    """A rule given anew holds from then on."""
    @s2sad.custom_vjp
    def double(x):
        return 2.0 * x

    double.defvjp(lambda x: (2.0 * x, None), lambda _, g: (3.0 * g,))
    derivative = s2sad.grad(lambda x: double(x), target="python")
    assert derivative(1.0) == 3.0
    double.defvjp(lambda x: (2.0 * x, None), lambda _, g: (4.0 * g,))
    assert derivative(1.0) == 4.0


@pytest.mark.parametrize("target", TARGETS)
def test_any_number_of_arguments(target):
    """`*args` reach the rule one by one, and each gets its cotangent."""
    @s2sad.custom_vjp
    def product(x, *more):
        return x * more[0] * more[1]

    def fwd(x, *more):
        return product(x, *more), (x, more)

    product.defvjp(fwd, lambda _, g: (10.0 * g, 20.0 * g, 30.0 * g))

    @s2sad.custom_jvp
    def product_forward(*factors):
        return factors[0] * factors[1]

    product_forward.defjvp(lambda primals, dots: (product_forward(*primals), dots[0] + 10.0 * dots[1]))
    assert s2sad.grad(product, (0, 1, 2), target=target)(1.0, 2.0, 3.0) == (10.0, 20.0, 30.0)
    assert s2sad.grad(product_forward, (0, 1), target=target)(2.0, 3.0) == (1.0, 10.0)


def test_method():
    """A rule may sit on a method; the object is an argument without a cotangent."""
    class Spring:
        def __init__(self, stiffness):
            self.stiffness = stiffness

        @s2sad.custom_vjp
        def force(self, x):
            return -self.stiffness * x

        force.defvjp(lambda self, x: (-self.stiffness * x, None), lambda _, g: (None, 7.0 * g))

    spring = Spring(2.0)
    assert spring.force(3.0) == -6.0
    assert s2sad.grad(lambda x: spring.force(x), target="python")(3.0) == 7.0


class TestForeignFunctions:
    """Rules of functions that are not one's own: anywhere, in a scope, entered directly or called."""

    def test_python_function(self):
        """A rule for a plain function holds when it is called, and when it is differentiated itself."""
        def plain(x):
            return np.sin(x)

        with s2sad.rules():
            s2sad.defjvp(plain, lambda primals, dots: (plain(primals[0]), 100.0 * dots[0]))
            assert s2sad.grad(lambda x: 2.0 * plain(x), target="python")(1.0) == 200.0
            assert s2sad.grad(plain, target="python")(1.0) == 100.0
            assert s2sad.jvp(plain, (1.0,), (1.0,), target="python")[1] == 100.0
        assert s2sad.grad(plain, target="python")(1.0) == pytest.approx(math.cos(1.0))

    def test_function_with_a_rule_of_its_own(self):
        """A scope goes before the function's own rule."""
        with s2sad.rules():
            s2sad.defvjp(triple, lambda x: (triple(x), None), lambda _, g: (5.0 * g,))
            assert s2sad.grad(triple, target="python")(1.0) == 5.0
        assert s2sad.grad(triple, target="python")(1.0) == 3.0

    def test_scopes_nest(self):
        """The inner scope goes first, and ends first."""
        def fun(x):
            return np.sinc(x)

        derivative = s2sad.grad(fun, target="python")
        with s2sad.rules():
            s2sad.defvjp(np.sinc, lambda x: (np.sinc(x), x), lambda x, g: (7.0 * g,))
            with s2sad.rules():
                s2sad.defvjp(np.sinc, lambda x: (np.sinc(x), x), lambda x, g: (8.0 * g,))
                assert derivative(0.5) == 8.0
            assert derivative(0.5) == 7.0
        assert derivative(0.5) == pytest.approx((math.cos(math.pi / 2) - np.sinc(0.5)) / 0.5)

    def test_settings_by_name(self):
        """A setting such as `axis` reaches the rule by its name."""
        def fwd(x, axis=None):
            return np.sum(x, axis=axis), x

        with s2sad.rules():
            s2sad.defvjp(np.sum, fwd, lambda x, g: (7.0 * np.ones(x.shape) * g,))
            found = s2sad.grad(lambda x: np.sum(x, axis=0)[1], target="python")(np.ones((2, 2)))
        np.testing.assert_array_equal(found, [[0.0, 7.0], [0.0, 7.0]])

    def test_everywhere(self):
        """Outside of any scope a rule holds from then on, in every thread."""
        def own(x):
            return x * x

        s2sad.defvjp(own, lambda x: (own(x), x), lambda x, g: (9.0 * g,))
        found = []
        thread = threading.Thread(target=lambda: found.append(s2sad.grad(own, target="python")(1.0)))
        thread.start()
        thread.join()
        assert found == [9.0]


def test_names_and_signatures_are_kept():
    """A function with a rule looks like the function."""
    @s2sad.custom_jvp
    def named(x: float, y: float = 2.0) -> float:
        """Say what it does."""
        return x * y

    @named.defjvp
    def rule(primals, tangents):
        return named(*primals), tangents[0]

    assert named.__name__ == "named"
    assert named.__doc__ == "Say what it does."
    assert str(inspect.signature(named)) == "(x: float, y: float = 2.0) -> float"
    assert rule.__name__ == "rule"
    assert repr(named) == f"<s2sad.custom_jvp {named.__qualname__}>"
    derivative = s2sad.grad(named)
    assert derivative.__name__ == "named"
    assert derivative.__doc__ == "Say what it does."
    assert str(inspect.signature(derivative)) == str(inspect.signature(named))
    assert derivative(3.0, y=5.0) == 1.0


def local_rule(factor):
    """A function with a rule, defined inside another: nothing leads to it by name."""
    @s2sad.custom_vjp
    def scaled(x):
        return factor * x

    def fwd(x):
        return scaled(x), None

    def bwd(_, g):
        return (10.0 * factor * g,)

    scaled.defvjp(fwd, bwd)
    return scaled


def test_pickled_and_copied():
    """By name where the name leads back, else by source, the rule refers to the function; copies share nothing."""
    assert pickle.loads(pickle.dumps(triple)) is triple
    scaled = local_rule(2.0)
    for again in (pickle.loads(pickle.dumps(scaled)), copy.copy(scaled), copy.deepcopy(scaled)):
        assert again is not scaled
        assert again(3.0) == 6.0
        assert s2sad.grad(lambda x, again=again: again(x) + x, target="python")(1.0) == 21.0
    derivative = pickle.loads(pickle.dumps(s2sad.grad(through_triple, target="python")))
    assert derivative(2.0) == 10.0
    changed = copy.copy(scaled)
    changed.defvjp(lambda x: (2.0 * x, None), lambda _, g: (-g,))
    assert s2sad.grad(scaled, target="python")(1.0) == 20.0


def test_pickled_in_another_process(tmp_path):
    """A worker that is spawned gets a rule that no name leads to."""
    (tmp_path / "worker.py").write_text(
        "import pickle, sys, s2sad\n"
        "fun = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print(fun(3.0), s2sad.grad(fun, target='python')(1.0))\n"
    )
    (tmp_path / "fun.pickle").write_bytes(pickle.dumps(local_rule(2.0)))
    here = pathlib.Path(__file__)
    path = os.pathsep.join([str(here.parents[2]), str(here.parent)])
    done = subprocess.run(
        [sys.executable, str(tmp_path / "worker.py"), str(tmp_path / "fun.pickle")],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert done.stdout.split() == ["6.0", "20.0"]


def test_stepping_through_emitted_code():
    """`pdb` stops on a line of the derivative, shows the user's names, and steps on."""
    def loss(x):
        y = np.sin(x)
        return y * y

    derivative = s2sad.value_and_grad(loss, target="python")
    derivative(0.5)
    entry = derivative.store.known()[0][1].entry
    path, text = str(entry.loaded.path), entry.loaded.text
    line = next(n for n, words in enumerate(text.split("\n"), 1) if words.strip().startswith("y = "))
    commands = iter([f"break {path}:{line}", "continue", "next", "p y", "step", "continue"])
    output = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO("\n".join(commands) + "\n"), stdout=output, nosigint=True, readrc=False)
    debugger.use_rawinput = False
    assert debugger.runcall(derivative, 0.5) == (math.sin(0.5) ** 2, 2 * math.sin(0.5) * math.cos(0.5))
    assert f"{path}({line})" in output.getvalue()
    assert str(np.sin(0.5)) in output.getvalue()


def test_breakpoint_in_the_function(monkeypatch):
    """A breakpoint in user code stops in the primal sweep, where the user's names are."""
    seen = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: seen.append(dict(sys._getframe(1).f_locals)))

    def loss(x):
        y = np.sin(x)
        breakpoint()
        return y * y

    assert s2sad.grad(loss, target="python")(0.5) == pytest.approx(math.sin(1.0))
    assert len(seen) == 1
    assert seen[0]["x"] == 0.5
    assert seen[0]["y"] == math.sin(0.5)
    with pytest.raises(s2sad.UnsupportedSyntaxError, match='target="python"'):
        s2sad.grad(loss)(0.5)


def test_unused_results():
    """Leaves of a result that nobody uses reach the rule as zeros of their shape."""
    @s2sad.custom_vjp
    def split(x):
        return np.sum(x), x * 2.0

    def bwd(_, bars):
        first, second = bars
        return (first * np.ones(3) + second[::-1],)

    split.defvjp(lambda x: (split(x), None), bwd)
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(s2sad.grad(lambda x: split(x)[0], target="python")(x), np.ones(3))
    np.testing.assert_array_equal(s2sad.grad(lambda x: split(x)[1][0], target="python")(x), [0.0, 0.0, 1.0])


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_some_of_several_results_of_a_tangent_rule(target):
    @s2sad.custom_jvp
    def polar(x, y):
        return math.hypot(x, y), math.atan2(y, x)

    @polar.defjvp
    def polar_jvp(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        r, t = polar(x, y)
        return (r, t), ((x * dx + y * dy) / r, (x * dy - y * dx) / (r * r))

    def radius(x, y):
        r, _ = polar(x, y)
        return r

    def both(x, y):
        return polar(x, y)[0] * polar(x, y)[1]

    assert s2sad.grad(radius, target=target)(3.0, 4.0) == pytest.approx(0.6)
    assert s2sad.grad(both, target=target)(3.0, 4.0) == pytest.approx(0.6 * math.atan2(4.0, 3.0) - 0.8)
    assert s2sad.hessian(radius, target=target)(3.0, 4.0) == pytest.approx(0.128)
