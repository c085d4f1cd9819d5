"""The printer: text that parses back to the same tree, laid out as a person would."""

from __future__ import annotations

import ast
import math
import operator as op
import subprocess
import sys
from pathlib import Path
from typing import Any

import gast
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from s2sad import errors
from s2sad.emit.expressions import expression
from s2sad.emit.names import Names
from s2sad.emit.printer import print_expr, print_function, print_stmt
from s2sad.emit.wrap import wrap
from s2sad.errors import NOWHERE, Span
from s2sad.ir import ops
from s2sad.ir.nodes import (
    Append,
    Apply,
    Assert,
    Assign,
    Break,
    CallStmt,
    Comment,
    Const,
    Effect,
    Expr,
    For,
    Function,
    If,
    Index,
    Pack,
    Param,
    Raise,
    Return,
    Slice,
    Stmt,
    Store,
    Swap,
    Var,
    While,
)
from s2sad.ir.types import Array, Scalar

FLOAT = Scalar("float64")
VECTOR = Array("float64", (3,))


def names() -> Names:
    """Return a fresh table of names, with the usual aliases."""
    return Names({"numpy": "np", "math": "math"})


def v(name: str) -> Var:
    """Build a variable."""
    return Var(name, FLOAT)


def c(value: Any) -> Const:
    """Build a constant."""
    return Const(value, FLOAT)


def call(fn: Any, *args: Expr, **static: Any) -> Apply:
    """Build a call; keywords are static."""
    return Apply(fn, args, FLOAT, tuple(static.items()))


def item(base: Expr | str, *index: Any) -> Index:
    """Build a read of an item."""
    return Index(v(base) if isinstance(base, str) else base, index, FLOAT)


a, b, x, y, n, i, k = (v(name) for name in "abxynik")


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (call(op.sub, a, call(op.sub, b, x)), "a - (b - x)"),
        (call(op.sub, call(op.sub, a, b), x), "a - b - x"),
        (call(op.mul, a, call(op.mul, b, x)), "a * (b * x)"),
        (call(op.mul, call(op.add, a, b), x), "(a + b) * x"),
        (call(op.pow, x, c(2)), "x**2"),
        (call(op.pow, x, c(-2)), "x**-2"),
        (call(op.pow, c(-2.0), x), "(-2.0) ** x"),
        (call(op.pow, call(op.pow, a, b), x), "(a**b) ** x"),
        (call(op.pow, a, call(op.pow, b, x)), "a ** b**x"),
        (call(op.pow, item("u", i), c(2)), "u[i] ** 2"),
        (call(op.neg, call(op.pow, x, c(2))), "-(x**2)"),
        (call(op.neg, call(op.mul, a, b)), "-(a * b)"),
        (call(op.mul, call(op.neg, a), b), "-a * b"),
        (call(op.not_, call(op.contains, x, a)), "a not in x"),
        (call(op.not_, call(op.lt, x, a)), "not x < a"),
        (call(op.matmul, call(ops.transpose, a), b), "a.T @ b"),
        (call(ops.transpose, call(op.add, a, b)), "(a + b).T"),
        (call(ops.dim, x, c(1)), "x.shape[1]"),
        (call(ops.size, x), "x.size"),
        (call(ops.length, x), "len(x)"),
        (call(ops.shape, x), "x.shape"),
        (call(ops.pop, x), "x.pop()"),
        (call(ops.new_list), "[]"),
        (call(ops.ifexp, a, b, x), "b if a else x"),
        (call(op.add, call(ops.ifexp, a, b, x), y), "(b if a else x) + y"),
        (call(ops.both, call(op.lt, a, b), call(op.le, b, x)), "a < b <= x"),
        (call(ops.both, call(op.lt, a, b), call(op.le, a, x)), "a < b and a <= x"),
        (call(ops.both, call(op.lt, a, c(1)), call(op.lt, c(1.0), x)), "a < 1 and 1.0 < x"),
        (call(ops.both, call(ops.either, a, b), x), "(a or b) and x"),
        (call(ops.either, call(ops.both, a, b), x), "a and b or x"),
        (call(op.lt, call(op.lt, a, b), x), "(a < b) < x"),
        (call(np.sum, x, axis=0, keepdims=True), "np.sum(x, axis=0, keepdims=True)"),
        (call(np.sum, x, dtype=np.float32), "np.sum(x, dtype=np.float32)"),
        (call(np.sum, x, dtype=np.dtype("f4")), "np.sum(x, dtype=np.float32)"),
        (call(np.sum, x, dtype=float, axis=(0, -1)), "np.sum(x, dtype=float, axis=(0, -1))"),
        (call(np.linalg.solve, a, b), "np.linalg.solve(a, b)"),
        (call(np.add.at, a, i, x), "np.add.at(a, i, x)"),
        (call(np.abs, x), "np.abs(x)"),
        (call(np.ndarray.copy, x), "x.copy()"),
        (call(math.sqrt, x), "math.sqrt(x)"),
        (call(max, x, y), "max(x, y)"),
        (call(np.zeros, Pack("tuple", (n,), FLOAT)), "np.zeros((n,))"),
        (call(np.stack, Pack("list", (a, b), FLOAT)), "np.stack([a, b])"),
        (item("A", i, Slice(None, None, None), c(None)), "A[i, :, None]"),
        (item("A"), "A[()]"),
        (item("A", Slice(a, None, c(-1))), "A[a::-1]"),
        (item("A", Slice(call(op.add, a, c(1)), n, None)), "A[a + 1 : n]"),
        (item("A", Slice(None, call(op.sub, n, c(1)), None)), "A[: n - 1]"),
        (c(math.inf), "np.inf"),
        (c(-math.inf), "-np.inf"),
        (c(math.nan), "np.nan"),
        (c(np.float32(0.1)), "np.float32(0.1)"),
        (c(np.float64(0.1)), "0.1"),
        (c(1 - 2j), "1.0 - 2j"),
        (c("it's"), '"it\'s"'),
        (c('say "so"'), "'say \"so\"'"),
    ],
)
def test_expression(expr: Expr, text: str) -> None:
    """Each construct prints as a person would write it."""
    assert print_expr(expr, names()) == text


@pytest.mark.parametrize(
    "value",
    [complex(r, s) for r in (0.0, -0.0, 1.5, -1.5, math.inf) for s in (0.0, -0.0, 2.0, -2.0)]
    + [
        -0.0,
        10**400,
        np.longdouble(0.1),
        np.complex64(1j),
        1e300,
        5e-324,
        -7,
        np.float32(1e-7),
        np.float16(0.1),
        np.int64(3),
        True,
        None,
    ],
)
def test_constants_evaluate_to_the_same_bits(value: Any) -> None:
    """A literal gives back its value, signed zeros included."""
    again = eval(print_expr(c(value), names()), {"np": np})
    assert repr(again) == repr(value)
    assert type(again) is type(value)


BINARY = [op.add, op.sub, op.mul, op.truediv, op.floordiv, op.mod, op.pow, op.matmul]
BITS = [op.and_, op.or_, op.xor, op.lshift, op.rshift]
TESTS = [op.lt, op.le, op.gt, op.ge, op.eq, op.ne, op.is_, op.is_not, op.contains]
LEAVES = st.one_of(
    st.sampled_from([v(name) for name in ("x", "velocity", "momentum_bar", "u_tape")]),
    st.floats(allow_nan=False).map(c),
    st.integers().map(c),
    st.complex_numbers(allow_nan=False).map(c),
    st.text(max_size=8).map(c),
    st.sampled_from([c(None), c(True), c(np.float32(0.5))]),
)


def _grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    bound = st.none() | inner
    place = st.one_of(inner, st.just(c(None)), st.builds(Slice, bound, bound, bound))
    many = st.lists(inner, min_size=1, max_size=4)
    return st.one_of(
        st.builds(call, st.sampled_from(BINARY + BITS + TESTS), inner, inner),
        st.builds(call, st.sampled_from([op.neg, op.pos, op.invert, op.not_]), inner),
        st.builds(
            call, st.sampled_from([ops.transpose, ops.size, ops.pop, np.ndarray.copy]), inner
        ),
        st.builds(call, st.just(ops.ifexp), inner, inner, inner),
        many.map(lambda args: call(ops.both, *args)),
        many.map(lambda args: call(ops.either, *args)),
        many.map(lambda args: call(np.where, *args, axis=-1)),
        st.builds(lambda base, index: item(base, *index), inner, st.lists(place, max_size=3)),
        st.builds(
            lambda kind, items: Pack(kind, tuple(items), FLOAT),
            st.sampled_from(["tuple", "list"]),
            st.lists(inner, max_size=3),
        ),
    )


EXPRESSIONS = st.recursive(LEAVES, _grow, max_leaves=25)


def _dump(node: Any) -> str:
    return ast.dump(gast.gast_to_ast(gast.Expression(body=node)).body)


def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS)
def test_parse_undoes_print(expr: Expr) -> None:
    """The text of an expression parses back to the very tree that was printed."""
    text = print_expr(expr, names())
    assert ast.dump(ast.parse(text, mode="eval").body) == _dump(expression(expr, names()))


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS, st.integers(0, 5))
def test_wrapping_changes_no_tree(expr: Expr, depth: int) -> None:
    """A statement broken over lines parses to the tree of its flat line."""
    flat = print_expr(expr, names())
    for head, tail in [("x = ", ""), ("A[i] += ", ""), ("return ", ""), ("assert ", ', "why"')]:
        lines = wrap(head + flat + tail, 4 * depth)
        text = "if a:\n" * bool(depth) + "\n".join(lines)
        wrapped = _parsed(text).body[0]
        if depth:
            assert isinstance(wrapped, ast.If)
            wrapped = wrapped.body[0]
        assert ast.dump(wrapped) == ast.dump(_parsed(head + flat + tail).body[0])
    test = "\n".join([*wrap(f"while {flat}:", 0), "    pass"])
    assert ast.dump(_parsed(test)) == ast.dump(_parsed(f"while {flat}:\n    pass"))


def _print(*body: Stmt) -> str:
    text, spans = print_function(Function("f", (Param("x", FLOAT),), body, ()), names())
    assert len(spans) == text.count("\n")
    header, _, rest = text.partition("\n")
    assert header == "def f(x):"
    return "\n".join(line[4:] for line in rest.splitlines())


def test_guard_is_denested() -> None:
    """What follows a body that always jumps needs no `else`."""
    test = call(op.lt, x, c(0.0))
    body = If(test, (Return((c(0.0),)),), (Assign(y, x), Return((y,))))
    assert _print(body) == "if x < 0.0:\n    return 0.0\ny = x\nreturn y"


def test_elif_chain_stays_whole() -> None:
    """A chain prints as `elif`, its comments in front, whether or not an arm jumps."""
    last = If(b, (Return((b,)),), (Assign(y, b),))
    chain = If(a, (Assign(y, a),), (Comment("second"), last))
    assert _print(chain) == ("if a:\n    y = a\n# second\nelif b:\n    return b\nelse:\n    y = b")


@pytest.mark.parametrize(
    ("stmt", "text"),
    [
        (Assign(y, x), "y = x"),
        (Store(item("A", i), "", x), "A[i] = x"),
        (Store(item("A", i), "**", x), "A[i] **= x"),
        (Store(Var("A", VECTOR), "+", x), "A += x"),
        (Store(Var("A", VECTOR), "", x), "A[...] = x"),
        (Store(call(ops.transpose, a), "+", x), "a.T[...] += x"),
        (CallStmt((), "g", (x,)), "g(x)"),
        (CallStmt((y,), "g", (x,)), "y = g(x)"),
        (CallStmt((a, b), "g", (x,)), "a, b = g(x)"),
        (Append(a, x), "a.append(x)"),
        (Swap(a, b), "a, b = b, a"),
        (For(i, c(0), n, c(1), (Break(),)), "for i in range(n):\n    break"),
        (For(i, c(1), n, c(1), ()), "for i in range(1, n):\n    pass"),
        (
            For(i, n, c(0), c(-1), (Comment("none"),)),
            "for i in range(n, 0, -1):\n    # none\n    pass",
        ),
        (While(a, (Assign(a, b),)), "while a:\n    a = b"),
        (Raise(ValueError, ()), "raise ValueError"),
        (Raise(ValueError, (c("no"),)), 'raise ValueError("no")'),
        (Assert(a, c("no")), 'assert a, "no"'),
        (Effect(call(print, x)), "print(x)"),
        (Return(()), "return"),
        (Return((a, Pack("tuple", (x, y), FLOAT))), "return a, (x, y)"),
        (Comment("why"), "# why"),
    ],
)
def test_statement(stmt: Stmt, text: str) -> None:
    """Each statement prints as a person would write it."""
    assert print_stmt(stmt, names()) == text


def test_bare_return_at_the_end_is_dropped() -> None:
    """A procedure ends without `return`, and is `pass` when nothing is left."""
    assert _print(Assign(y, x), Return(())) == "y = x"
    assert _print(Return(())) == "pass"


def test_names_avoid_the_users() -> None:
    """A local called `max` or `np` hides no builtin and no module; two `g` are told apart."""

    def make() -> Any:
        def g(value: float) -> float:
            return value

        return g

    one, two = make(), make()
    table = names()
    table.reserve(["max", "np"])
    assert print_expr(call(max, a, b), table) == "builtins.max(a, b)"
    assert print_expr(call(np.sin, a), table) == "np_2.sin(a)"
    assert print_expr(call(op.add, call(one, a), call(two, a)), table) == "g(a) + g_2(a)"
    assert table.imports() == ["import builtins", "", "import numpy as np_2"]
    assert table.externals == {"g": one, "g_2": two}


def test_runtime_helper_is_imported() -> None:
    """A helper of the runtime is imported by its name, not captured."""
    from s2sad.runtime.special import digamma

    table = names()
    assert print_expr(call(digamma, x), table) == "digamma(x)"
    assert table.runtime == {"digamma": digamma}
    assert not table.externals
    assert table.imports() == ["from s2sad.runtime import digamma"]


def _limit_slope() -> Function:
    """Build the adjoint sweep of STYLE.md by hand."""
    u, u_bar, jump, k_bar = v("u"), v("u_bar"), v("jump"), v("k_bar")
    tanh, ratio, jump_bar, result_bar = (
        v("tanh_jump"), v("ratio_bar"), v("jump_bar"), v("result_bar"),
    )  # fmt: skip
    before = call(op.sub, i, c(1))
    mul, here, there = op.mul, item(u_bar, i), item(u_bar, before)
    over = call(op.truediv, jump, k)
    square = call(op.pow, tanh, c(2))
    spent = call(op.truediv, call(mul, ratio, jump), call(op.pow, k, c(2)))
    then = (
        Comment("u[i] = u[i - 1] + k * np.tanh(jump / k)"),
        Assign(tanh, call(np.tanh, over)),
        Assign(ratio, call(mul, call(mul, k, here), call(op.sub, c(1.0), square))),
        Store(there, "+", here, accumulate=True),
        Store(k_bar, "+", call(op.sub, call(mul, tanh, here), spent), accumulate=True),
        Assign(jump_bar, call(op.truediv, ratio, k)),
        Store(here, "", c(0.0)),
    )
    other = (
        Comment("u[i] -= 0.1 * jump**2"),
        Assign(jump_bar, call(mul, call(mul, c(-0.2), jump), here)),
    )
    loop = (
        Store(item(u, i), "", item("u_tape", i)),
        Assign(jump, call(op.sub, item(u, i), item(u, before))),
        If(call(op.gt, jump, k), then, other),
        Comment("jump = u[i] - u[i - 1]"),
        Store(here, "+", jump_bar, span=Span("limiter.py", 7, 8, 7, 30)),
        Store(there, "-", jump_bar),
    )
    body = (
        Comment("---- primal sweep ----"),
        Assign(u, call(np.ndarray.copy, v("u0"))),
        Assign(v("u_tape"), call(np.empty_like, u)),
        Assign(v("result"), call(np.sum, call(op.pow, u, c(2)))),
        Comment(""),
        Comment("---- adjoint sweep ----"),
        Assign(k_bar, c(0.0)),
        Assign(u_bar, call(mul, call(mul, c(2.0), u), result_bar)),
        For(i, call(op.sub, call(ops.size, u), c(1)), c(0), c(-1), loop),
        Assign(v("u0_bar"), u_bar),
        Return((v("result"), Pack("tuple", (v("u0_bar"), k_bar), FLOAT))),
    )
    params = (Param("u0", VECTOR), Param("k", FLOAT), Param("result_bar", FLOAT))
    doc = "Value and adjoint of `limit_slope` (limiter.py:4) for `u0`, `k`."
    return Function("limit_slope_vjp", params, body, (FLOAT, VECTOR, FLOAT), doc)


LIMIT_SLOPE = '''\
def limit_slope_vjp(u0, k, result_bar):
    """Value and adjoint of `limit_slope` (limiter.py:4) for `u0`, `k`."""
    # ---- primal sweep ----
    u = u0.copy()
    u_tape = np.empty_like(u)
    result = np.sum(u**2)

    # ---- adjoint sweep ----
    k_bar = 0.0
    u_bar = 2.0 * u * result_bar
    for i in range(u.size - 1, 0, -1):
        u[i] = u_tape[i]
        jump = u[i] - u[i - 1]
        if jump > k:
            # u[i] = u[i - 1] + k * np.tanh(jump / k)
            tanh_jump = np.tanh(jump / k)
            ratio_bar = k * u_bar[i] * (1.0 - tanh_jump**2)
            u_bar[i - 1] += u_bar[i]
            k_bar += tanh_jump * u_bar[i] - ratio_bar * jump / k**2
            jump_bar = ratio_bar / k
            u_bar[i] = 0.0
        else:
            # u[i] -= 0.1 * jump**2
            jump_bar = -0.2 * jump * u_bar[i]
        # jump = u[i] - u[i - 1]
        u_bar[i] += jump_bar
        u_bar[i - 1] -= jump_bar
    u0_bar = u_bar
    return result, (u0_bar, k_bar)
'''


def test_style_example() -> None:
    """The derivative that STYLE.md shows comes out byte for byte, spans beside it."""
    text, spans = print_function(_limit_slope(), names())
    assert text == LIMIT_SLOPE
    lines = text.splitlines()
    assert len(spans) == len(lines)
    assert spans[lines.index("        u_bar[i] += jump_bar")].line == 7
    assert spans[lines.index("    k_bar = 0.0")] is NOWHERE


def _wide() -> Function:
    many = tuple(v(f"residual_number_{at}") for at in range(6))
    total = call(np.concatenate, Pack("tuple", many, FLOAT), axis=0)
    body = (
        Comment("a comment " * 12),
        CallStmt(many, "x", (Var("parameter_0", FLOAT),)),
        Assign(v("total"), total),
        If(call(ops.both, *many), (Raise(ValueError, (c("much too long " * 9),)),)),
        Store(item(many[0], *many), "+", call(op.add, call(op.mul, total, many[1]), many[2])),
        Assert(call(op.lt, call(np.sum, *many), c(3)), c("the sum")),
        Return((v("total"), *many)),
    )
    params = tuple(Param(f"parameter_{at}", FLOAT) for at in range(9))
    return Function("wide", (Param("x", FLOAT), *params), body, (), "A summary. " * 12)


@pytest.mark.parametrize("fn", [_limit_slope(), _wide()], ids=lambda fn: fn.name)
def test_ruff_agrees(fn: Function, tmp_path: Path) -> None:
    """Ruff finds nothing to change, and printing twice gives the same bytes."""
    pytest.importorskip("ruff")
    table = names()
    text, _ = print_function(fn, table, decorator="decorate")
    assert print_function(fn, names(), decorator="decorate")[0] == text
    imports = "\n".join([table.imports()[0], "from elsewhere import decorate"])
    path = tmp_path / "emitted.py"
    path.write_text(f"{imports}\n\n\n{text}")
    ruff = [sys.executable, "-m", "ruff"]
    lint = ["check", "--isolated", "--select", "E,F,I,UP,W", str(path)]
    for command in (lint, ["format", "--isolated", "--diff", str(path)]):
        done = subprocess.run([*ruff, *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_docstring_survives_quotes_and_backslashes() -> None:
    """Whatever the docstring holds, Python reads it back."""
    for doc in ('ends in "', 'has """ inside', r"a \d pattern", "first\n\nsecond"):
        text, _ = print_function(Function("f", (), (), (), doc), names())
        node = ast.parse(text).body[0]
        assert isinstance(node, ast.FunctionDef)
        assert ast.get_docstring(node) == doc


def test_errors_of_the_package_are_named() -> None:
    """An exception class that is no builtin is bound from outside."""
    table = names()
    stmt = Raise(errors.ArgumentError, (c("no"),))
    assert print_stmt(stmt, table) == 'raise ArgumentError("no")'
    assert table.externals == {"ArgumentError": errors.ArgumentError}
