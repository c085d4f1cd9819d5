"""What the adjoint of a helper works in is made once, by the caller whose loop calls it."""

from __future__ import annotations

import ast
import operator
from typing import Any

import numpy as np
import pytest

import s2sad
from s2sad.analysis.alone import arrays_alone
from s2sad.emit.lent import lent
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Assign, CallStmt, Expr, For, Function, If, Index, Param, Stmt, Store, Var
from s2sad.ir.types import Array, Scalar, Sym
from tests.differences import assert_derivatives
from tests.unit.test_ends import compiled_text
from tests.unit.test_workspaces import creations

X = np.random.default_rng(7).normal(size=9)


def slope_of(x, slope):
    """Write what neighbours make of each element: the adjoint lays down what it sends to them."""
    for i in range(2, x.size - 1):
        slope[i] = (x[i + 1] - x[i - 2]) * x[i - 1] - x[i]


def stages(x0):
    """Two calls in every step."""
    x = x0.copy()
    slope, middle = np.zeros(x.size), np.empty(x.size)
    for _ in range(5):
        slope_of(x, slope)
        for i in range(x.size):
            middle[i] = x[i] + 0.05 * slope[i]
        slope_of(middle, slope)
        for i in range(x.size):
            x[i] += 0.1 * slope[i]
    return np.sum(x * x)


def step(x, slope):
    """Hand on to another helper, twice."""
    slope_of(x, slope)
    for i in range(x.size):
        x[i] += 0.1 * slope[i]
    slope_of(x, slope)
    for i in range(x.size):
        x[i] -= 0.02 * slope[i]


def through_another(x0):
    """The loop calls a helper that calls the helper."""
    x, slope = x0.copy(), np.zeros(x0.size)
    for _ in range(4):
        step(x, slope)
    return np.sum(np.sin(x))


def smoothed_into(out, x):
    """Write into a work array of two lengths, only as far as the numbers given say."""
    work = np.zeros((2, x.size + 1))
    for i in range(x.size):
        work[0, i + 1] = np.sin(x[i])
        work[1, i] = x[i] * x[i]
    for i in range(x.size):
        out[i] += work[0, i] * work[1, i] + work[0, i + 1]


def with_a_work_array(x0):
    """The helper's own array."""
    x, out = x0.copy(), np.zeros(x0.size)
    for _ in range(3):
        smoothed_into(out, x)
        for i in range(x.size):
            x[i] = np.cos(out[i]) * x[i]
    return np.sum(x * out)


def shorter(x, out, count):
    """Set as many elements as a number says: the others are zero in every call."""
    work = np.zeros(x.size)
    for i in range(count):
        work[i] = x[i] * x[i]
    for i in range(x.size):
        out[i] += work[i] * x[x.size - 1 - i] * (i + 1.0)


def of_a_number(x0):
    """Longest first: what a call has left must not be found by the next."""
    x, out = x0.copy(), np.zeros(x0.size)
    for k in range(x0.size, 0, -1):
        shorter(x, out, k)
        for i in range(x.size):
            x[i] = np.sin(x[i] + 0.1 * out[i])
    return np.sum(x)


def of_two_lengths(x0):
    """One helper, arrays of two lengths."""
    x, y = x0.copy(), x0[2:] * 2.0
    slope, other = np.zeros(x.size), np.zeros(y.size)
    for _ in range(3):
        slope_of(x, slope)
        slope_of(y, other)
        for i in range(y.size):
            x[i] += 0.1 * slope[i] * y[i]
            y[i] += 0.1 * other[i]
    return np.sum(x) + np.sum(y * y)


def called_once(x0):
    """No loop: nothing is gained."""
    slope = np.zeros(x0.size)
    slope_of(x0, slope)
    return np.sum(slope * slope)


def by_itself(x, out, depth):
    """Recursion needs an array for each call."""
    for i in range(1, x.size - 1):
        out[i] += (x[i + 1] - x[i - 1]) * x[i] * depth
    if depth > 0:
        by_itself(out, x, depth - 1)


def recursive(x0):
    x, out = x0.copy(), np.cos(x0)
    for _ in range(2):
        by_itself(x, out, 2)
    return np.sum(x * out)


EVERY = [stages, through_another, with_a_work_array, of_a_number, of_two_lengths, called_once, recursive]


def made_in(text: str, function: str) -> list[str]:
    """Return the arrays that a function of a text makes."""
    (found,) = [n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == function]
    makes = [n for n in ast.walk(found) if isinstance(n, ast.Assign) and "np." in ast.unparse(n.value)]
    return [ast.unparse(n.targets[0]) for n in makes if ast.unparse(n.value).startswith(("np.zeros(", "np.empty("))]


@pytest.mark.parametrize("fun", EVERY)
def test_derivatives(fun: Any) -> None:
    for n in (9, 5):
        assert_derivatives(fun, X[:n].copy(), "cpu")


@pytest.mark.parametrize("fun", EVERY)
def test_pullbacks_any_number_of_times(fun: Any) -> None:
    _, pullback = s2sad.vjp(fun, X.copy())
    want = s2sad.grad(fun, target="python")(X)
    for factor in (1.0, 2.0, 1.0):
        np.testing.assert_allclose(pullback(factor)[0], factor * want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("fun", "helper"), [(stages, "slope_of_bwd"), (through_another, "step_bwd")])
def test_the_caller_makes_it_before_its_loop(fun: Any, helper: str) -> None:
    text = compiled_text(fun, X)
    assert not made_in(text, helper), text
    assert "np.copy" not in text.split(f"def {helper}")[1].split("\ndef ")[0]
    assert not creations("def " + text.split("\ndef ")[-1], inside=True)
    assert any(name.endswith("_bars") for name in made_in(text, f"{fun.__name__}_grad"))


def test_zeros_stay_where_every_call_sets_the_same_elements() -> None:
    text = compiled_text(stages, X)
    assert "slope_i_bars = np.zeros(" in text
    assert "slope_i_bars[:] = 0.0" not in text


def test_zeros_are_set_where_a_number_says_which_elements_are_set() -> None:
    text = compiled_text(of_a_number, X)
    assert "work = np.empty(" in text.split("def of_a_number_grad")[1]
    assert "work[:] = 0.0" in text.split("def shorter_bwd")[1]


def test_recursion_makes_its_own() -> None:
    text = compiled_text(recursive, X)
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    itself = [f for f in functions if any(isinstance(n, ast.Name) and n.id == f.name for n in ast.walk(f))]
    (adjoint,) = [f for f in itself if "_bwd" in f.name]
    assert "room to" not in str(ast.get_docstring(adjoint))
    assert made_in(text, adjoint.name)


def test_the_user_s_own_helper_stays_as_it_is() -> None:
    assert "def shorter(x, out, count):\n    work = np.zeros(x.size)\n" in compiled_text(of_a_number, X)


def hints_of(fun: Any, *args: Any) -> dict[str, frozenset[str]]:
    """Return the arrays that are told to the compiler to lie apart, by function."""
    made = s2sad.grad(fun)
    made(*args)
    derivative = made.store.find(args)[0].entry.derivative
    return {name: one.alone for name, one in derivative.module.hints.items()}


def test_arrays_that_lie_apart_are_known() -> None:
    alone = hints_of(stages, X)
    assert {"x", "slope", "x_bar", "slope_bar"} <= alone["slope_of_bwd"]
    assert not alone["stages_grad"]


# ---- programs of which a derivative would be put together by other passes ----

NUMBER = Scalar("float64")


def array(name: str, length: str) -> Var:
    return Var(name, Array("float64", (Sym(length),), "C"))


def function(name: str, params: tuple[Var, ...], *body: Stmt) -> Function:
    return Function(name, tuple(Param(p.name, p.type) for p in params), body, ())


def item(base: Var, at: int = 0) -> Index:
    return Index(base, (literal(at),), NUMBER)


def called(name: str, *args: Expr) -> CallStmt:
    return CallStmt((), name, args)


def turns(*body: Stmt) -> For:
    return For(Var("step", Scalar("int64")), literal(0), literal(3), literal(1), body)


X1, OUT = array("x", "n"), array("out", "n")
ROOM = array("room", "n")
HELPER = function(
    "helper", (X1, OUT), Assign(ROOM, build(np.empty, build(ops.dim, X1, literal(0)))),
    Store(item(ROOM), "", item(X1)), Store(item(OUT), "+", item(ROOM)),
)  # fmt: skip


def test_an_array_of_a_length_that_the_caller_learns_late_is_made_before_the_call() -> None:
    y, part = array("y", "m"), array("y", "k")
    choice = If(build(operator.gt, item(X1), literal(0.0)), (Assign(part, build(np.sin, X1)),), ())
    between = function("between", (X1, OUT), Assign(y, build(np.cos, X1)), choice, called("helper", y, OUT))
    entry = function("entry", (X1, OUT), turns(called("between", X1, OUT)))
    made = lent({"helper": HELPER, "between": between, "entry": entry}, (), "entry")
    assert [p.name for p in made["helper"].params] == ["x", "out", "room"]
    *_, making, call = made["between"].body
    assert isinstance(making, Assign)
    assert isinstance(call, CallStmt)
    assert call.args[-1] == making.target


def test_what_may_be_one_array_is_not_told_to_lie_apart() -> None:
    rows = Var("rows", Array("float64", (Sym("n"), Sym("m")), "C"))
    first, second = (Index(rows, (literal(at),), Array("float64", (Sym("m"),), "C")) for at in (0, 1))
    own, other = array("own", "n"), array("other", "n")
    new = Assign(rows, build(np.zeros_like, rows)), Assign(own, build(np.copy, X1)), Assign(other, build(np.copy, X1))
    for args, alone in [((first, second), set[str]()), ((own, own), set[str]()), ((own, other), {"x", "out"})]:
        made = function("made", (X1,), *new, called("helper", *args))
        assert arrays_alone({"helper": HELPER, "made": made}, "made") == {"helper": frozenset(alone)}


def test_what_the_entry_is_given_and_writes_may_be_one_array() -> None:
    entry = function("entry", (X1, OUT), called("helper", X1, OUT))
    assert arrays_alone({"helper": HELPER, "entry": entry}, "entry") == {"helper": frozenset()}


def newton(g, slope, y):
    for _ in range(20):
        y = y - g(y) / slope(y)
        if np.max(np.abs(y)) < 1e-12:
            return y
    return y


def by_either_function(k, y0):
    y = y0
    for i in range(4):
        p = 1.0 * y
        if i == 0:
            y = newton(lambda z, p=p: z - p, lambda z: 1 + k * z, p)
        else:
            y = newton(lambda z, p=p: z + p, lambda z: 1 + k * z, p)
    return np.sum(y)


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_helpers_that_borrow_of_each_other(target):
    """One helper has room of its caller already where the other is looked at."""
    k = np.array([0.1, 0.2])
    _, slope = s2sad.jvp(by_either_function, (k, k), (k, k), target=target)
    step = 1e-6
    ahead = by_either_function(k + step * k, k + step * k)
    behind = by_either_function(k - step * k, k - step * k)
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-7)
