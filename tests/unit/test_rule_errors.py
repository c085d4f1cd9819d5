"""What a rule gives is checked: the rule, the function, what was expected and what came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import s2sad
from s2sad.errors import ArgumentError, NotDifferentiableError, RuleError, UnsupportedSyntaxError

BOTH = pytest.mark.parametrize("target", ["python", "cpu"])
X = np.array([1.0, 2.0, 3.0])
WAYS = pytest.mark.parametrize("as_is", [False, True], ids=["read", "as it is"])


def ruled(bwd: Callable[..., Any], as_is: bool, fwd: Callable[..., Any] | None = None) -> Any:
    """A sum of squares of a dictionary's entries, its rule read by the compiler or run as it is."""

    @s2sad.custom_vjp
    def energy(p, n):
        return np.sum(p["w"] ** 2) * p["b"] * n

    def both(p, n):
        return energy(p, n), p

    def kept(p, g):
        try:  # the compiler does not read a handler for what arithmetic raises
            return bwd(p, g)
        except ZeroDivisionError:
            raise

    energy.defvjp(fwd or both, kept if as_is else bwd)
    return energy


def gradient(rule: Any, target: str = "python") -> Any:
    """The gradient by the dictionary."""
    return s2sad.grad(lambda p: rule(p, 2.0), target=target)({"w": X, "b": 3.0})


@WAYS
def test_right(as_is: bool) -> None:
    """The rule that the others are variations of."""
    found = gradient(ruled(lambda p, g: ({"w": 5.0 * p["w"] * g, "b": 7.0 * g}, None), as_is))
    np.testing.assert_array_equal(found["w"], 5.0 * X)
    assert found["b"] == 7.0


CASES: dict[str, tuple[Callable[..., Any], str, str, str]] = {
    "number": (lambda p, g: ({"w": X * g, "b": g},), "another number of cotangents", "a tuple of 2", "tuple of 1"),
    "no tuple": (lambda p, g: g, "another number of cotangents", "a tuple of 2", "float"),
    "keys": (lambda p, g: ({"w": p["w"] * g}, None), "another structure", "'w', 'b'", "'w'"),
    "container": (lambda p, g: ((p["w"] * g, g), None), "another structure", "a dict", "a tuple of 2"),
    "rank": (lambda p, g: ({"w": g, "b": g}, None), "for `p_w` has another shape", "float64", "float64"),
    "length": (
        lambda p, g: ({"w": p["w"][1:] * g, "b": g}, None), "for `p_w` has another shape", "shape (3,)", "shape (2,)",
    ),
    "spread": (
        lambda p, g: ({"w": p["w"][:1] * g, "b": g}, None), "for `p_w` has another shape", "shape (3,)", "shape (1,)",
    ),
    "dtype": (
        lambda p, g: ({"w": p["w"] * g * 1j, "b": g}, None), "for `p_w` has another dtype", "float64", "complex128",
    ),
    "integer": (lambda p, g: ({"w": p["w"] * g, "b": 1}, None), "for `p_b` has another dtype", "float64", "int64"),
}  # fmt: skip


@WAYS
@pytest.mark.parametrize("case", CASES)
def test_cotangents(case: str, as_is: bool) -> None:
    """Structure, shape and dtype of every leaf, before the run where types tell, in it where they do not."""
    bwd, problem, expected, received = CASES[case]
    with pytest.raises(RuleError) as caught:
        gradient(ruled(bwd, as_is))
    first, *rest = str(caught.value).split("\n")
    assert "the bwd of `energy`" in first
    assert problem in first
    assert expected in next(line for line in rest if line.startswith("Expected: "))
    assert received in next(line for line in rest if line.startswith("Received: "))


def test_length_compiled() -> None:
    """A length that only the run knows is compared by the compiled code as well."""
    bwd, problem, _, _ = CASES["length"]
    with pytest.raises(RuleError, match=r"shape \(3,\)(.|\n)*shape \(2,\)") as caught:
        gradient(ruled(bwd, False), "cpu")
    assert problem in str(caught.value)


@WAYS
def test_forward_half(as_is: bool) -> None:
    """`fwd` gives a pair, its first half the result."""
    with pytest.raises(RuleError, match=r"the fwd of `energy` gives no pair(.|\n)*\(out, residuals\)"):
        gradient(ruled(lambda p, g: (p, None), as_is, lambda p, n: 1.0))
    with pytest.raises(RuleError, match="the fwd of `energy` gives"):
        gradient(ruled(lambda p, g: (p, None), as_is, lambda p, n: ((p["w"], p["w"]), p)))


def test_whole_message() -> None:
    """The whole text, caret and all."""

    @s2sad.custom_vjp
    def area(x):
        return np.sum(x)

    area.defvjp(lambda x: (np.sum(x), None), lambda _, g: (g,))
    line = area.fun.__code__.co_firstlineno + 1
    with pytest.raises(RuleError) as caught:
        s2sad.grad(area, target="python")(X)
    assert str(caught.value) == (
        "the cotangent that the bwd of `area` gives for `x` has another shape\n"
        f"  --> {__file__}:{line}:5 in `area`\n"
        f"{line} |     def area(x):\n"
        f"{' ' * len(str(line))} |     ^^^^^^^^^^^^\n"
        "Expected: float64, rank 1.\n"
        "Received: float64, a scalar."
    )


def tangent_rule(rule: Callable[..., Any], as_is: bool) -> Any:
    """The sum and the last of two arrays with a tangent rule, read or run as it is."""

    @s2sad.custom_jvp
    def ends(x, y):
        return np.sum(x * y), x

    def kept(primals, tangents):
        try:
            return rule(primals, tangents)
        except ZeroDivisionError:
            raise

    ends.defjvp(kept if as_is else rule)
    return ends


TANGENTS: dict[str, tuple[Callable[..., Any], str]] = {
    "no pair": (lambda p, t: p[0], "gives no pair"),
    "result": (lambda p, t: ((p[0], p[0]), (t[0], t[0])), "the result that the rule of `ends` gives"),
    "result structure": (lambda p, t: (np.sum(p[0]), np.sum(t[0])), "the result that the rule of `ends` gives"),
    "tangent structure": (lambda p, t: ((np.sum(p[0]), p[0]), t[0]), "the tangent that the rule of `ends` gives"),
    "tangent rank": (lambda p, t: ((np.sum(p[0]), p[0]), (t[0], t[0])), "the tangent that the rule of `ends` gives"),
    "tangent length": (
        lambda p, t: ((np.sum(p[0]), p[0]), (np.sum(t[0]), t[0][1:])), "the tangent that the rule of `ends` gives",
    ),
    "tangent dtype": (
        lambda p, t: ((np.sum(p[0]), p[0]), (np.sum(t[0]) * 1j, t[0])), "the tangent that the rule of `ends` gives",
    ),
}  # fmt: skip


@WAYS
@pytest.mark.parametrize("case", TANGENTS)
def test_tangents(case: str, as_is: bool) -> None:
    """The same of a tangent rule."""
    rule, problem = TANGENTS[case]
    with pytest.raises(RuleError) as caught:
        s2sad.jvp(tangent_rule(rule, as_is), (X, X), (X, X), target="python")
    assert problem in str(caught.value)
    assert "Expected: " in str(caught.value)
    assert "Received: " in str(caught.value)


class TestRefusals:
    """What cannot be a rule, or cannot be used as one."""

    def test_no_rule_yet(self) -> None:
        """A carrier without a rule is no function to differentiate."""
        lonely = s2sad.custom_vjp(lambda x: x)
        with pytest.raises(RuleError, match=r"before it has a rule(.|\n)*defvjp\(fwd, bwd\)"):
            s2sad.grad(lonely)(1.0)
        assert "no rule yet" in repr(lonely)

    def test_not_callable(self) -> None:
        """A rule is a function."""
        with pytest.raises(RuleError, match="must be a function, not `3`"):
            s2sad.custom_jvp(lambda x: x).defjvp(3)  # pyright: ignore[reportArgumentType]
        with pytest.raises(ArgumentError, match="a function is needed"):
            s2sad.custom_vjp(3)  # pyright: ignore[reportArgumentType]
        with pytest.raises(ArgumentError, match="out of range"):
            s2sad.custom_vjp(lambda x: x, nondiff_argnums=(1,))

    def test_counts(self) -> None:
        """`defjvps` has one rule per argument."""
        with pytest.raises(RuleError, match="2 arguments but was given 1"):
            s2sad.custom_jvp(lambda x, y: x).defjvps(None)

    @BOTH
    def test_defined_inside(self, target: str) -> None:
        """A rule made inside a differentiated function would read differentiated values: refused."""

        def decorated(x):
            @s2sad.custom_jvp
            def inner(y):
                return x * y

            return inner(2.0)

        def called(x):
            inner = s2sad.custom_vjp(lambda y: x * y)
            return inner(2.0)

        for fun in (decorated, called):
            with pytest.raises(UnsupportedSyntaxError, match="A rule may not read values of the scope around it"):
                s2sad.grad(fun, target=target)(3.0)

    def test_second_derivative_of_what_was_not_read(self) -> None:
        """A rule that runs as it is has no derivative, and the reason is told with its line."""
        seen: list[Any] = []

        @s2sad.custom_vjp
        def sine(x):
            return np.sin(x)

        def bwd(x, g):
            seen.append(g)
            return (np.cos(x) * g,)

        sine.defvjp(lambda x: (np.sin(x), x), bwd)
        once = s2sad.grad(lambda x: sine(x) * x, target="python")
        assert once(0.5) == pytest.approx(np.sin(0.5) + 0.5 * np.cos(0.5))
        told = r"cannot be differentiated(.|\n)*outside the function(.|\n)*seen\.append"
        with pytest.raises(NotDifferentiableError, match=told):
            s2sad.grad(once, target="python")(0.5)

    def test_compiled(self) -> None:
        """The compiled target says what it cannot read, where, and which target can."""
        seen: list[Any] = []

        @s2sad.custom_jvp
        def sine(x):
            return np.sin(x)

        @sine.defjvp
        def sine_jvp(primals, tangents):
            seen.append(primals)
            return np.sin(primals[0]), np.cos(primals[0]) * tangents[0]

        for run in (lambda: s2sad.grad(sine)(1.0), lambda: s2sad.jvp(sine, (1.0,), (1.0,))):
            with pytest.raises(UnsupportedSyntaxError, match=r'seen\.append(.|\n)*target="python" it runs as it is'):
                run()
