"""The transforms over a numeric stand-in for the compiler."""

from __future__ import annotations

import copy
import importlib
import pickle
import sys
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

import s2sad
from s2sad.errors import ArgumentError, NotDifferentiableError
from tests.unit import numeric


class Pair(NamedTuple):
    w: Any
    b: Any


@pytest.fixture(autouse=True)
def compiler(monkeypatch):
    from s2sad.api import transformed, transforms

    for maker in (transformed.store_for, transforms.forward_of, transforms.reverse_of):
        maker.cache_clear()
    yield numeric.install(monkeypatch)
    for maker in (transformed.store_for, transforms.forward_of, transforms.reverse_of):
        maker.cache_clear()


def product(x, y):
    return x * y


def energy(p, x):
    return np.sum(p["w"] * x) + p["b"] ** 2


def scale(x, k=2.0):
    return k * x * x


def identity(x):
    return x


def norm2(*xs):
    return sum(x * x for x in xs)


def square_sum(x):
    return np.sum(x * x * x)


def same(a, b):
    assert type(a) is type(b), (a, b)
    np.testing.assert_allclose(a, b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert a.shape == b.shape


def test_grad_of_python_floats_is_a_python_float():
    same(s2sad.grad(product)(3.0, 5.0), 5.0)
    g = s2sad.grad(product, argnums=(0, 1))(3.0, 5.0)
    assert g == (5.0, 3.0)
    assert s2sad.grad(product, (1,))(3.0, 5.0) == (3.0,)
    assert s2sad.grad(product, argnums="y")(3.0, y=5.0) == 3.0
    assert s2sad.grad(product, argnums=-1)(3.0, 5.0) == 3.0
    assert s2sad.grad(product, argnums=())(3.0, 5.0) == ()


@pytest.mark.parametrize(
    "x", [np.float32(3), np.float64(3), np.array(3.0), np.array(3.0, np.float32)]
)
def test_gradients_have_the_class_and_dtype_of_the_argument(x):
    g = s2sad.grad(product)(x, 2.0)
    same(g, np.array(2.0, x.dtype) if isinstance(x, np.ndarray) else type(x)(2.0))


def test_containers_come_back_in_their_structure():
    p = {"w": np.arange(3.0, dtype=np.float32), "b": 2.0}
    x = np.ones(3)
    g = s2sad.grad(energy)(p, x)
    assert list(g) == ["w", "b"]
    same(g["w"], np.ones(3, np.float32))
    same(g["b"], 4.0)
    value, (gp, gx) = s2sad.value_and_grad(energy, (0, 1))(p, x)
    assert value == 7.0
    same(gx, np.arange(3.0))
    gx[:] = 7.0
    gp["w"][:] = 7.0
    assert p["w"].tolist() == [0.0, 1.0, 2.0]
    assert x.tolist() == [1.0, 1.0, 1.0]

    def pair(p):
        return np.sum(p.w * p.b[0])

    g = s2sad.grad(pair)(Pair(np.ones(2), [3.0, None]))
    assert isinstance(g, Pair)
    assert g.b[0] == 2.0
    assert g.b[1] is None


def test_value_and_grad_with_aux():
    def fun(x):
        return x * x, {"twice": 2 * x, "name": "aux"}

    assert s2sad.grad(fun, has_aux=True)(3.0) == (6.0, {"twice": 6.0, "name": "aux"})
    (value, aux), g = s2sad.value_and_grad(fun, has_aux=True)(3.0)
    assert (value, aux["twice"], g) == (9.0, 6.0, 6.0)
    with pytest.raises(ArgumentError, match="must return a pair"):
        s2sad.grad(product, has_aux=True)(1.0, 2.0)


def test_integers_are_refused_with_the_way_out(compiler):
    with pytest.raises(NotDifferentiableError) as caught:
        s2sad.grad(product)(3, 5.0)
    assert str(caught.value) == (
        "`x` is an int, which has no gradient\n"
        "Pass `float(x)`, choose other arguments with `argnums`, or pass allow_int=True for a "
        "gradient of zero."
    )
    with pytest.raises(TypeError, match=r"`p\['w'\]` is an int64 array of rank 1"):
        s2sad.grad(energy)({"w": np.arange(3), "b": 1.0}, np.ones(3))
    with pytest.raises(TypeError, match="`x` is a bool"):
        s2sad.grad(product)(True, 5.0)
    assert compiler.requests == []
    assert s2sad.grad(product, allow_int=True)(3, 5.0) == 0
    assert s2sad.value_and_grad(product, (0, 1), allow_int=True)(3, 5.0) == (15.0, (0, 3.0))
    g = s2sad.grad(energy, allow_int=True)({"w": np.arange(3), "b": 1.0}, np.ones(3))
    same(g["w"], np.zeros(3, np.int64))
    assert g["b"] == 2.0


def test_outputs_without_a_gradient():
    with pytest.raises(NotDifferentiableError) as caught:
        s2sad.grad(scale)(np.ones(3))
    assert "of shape (out.shape[0],); a gradient needs a scalar" in str(caught.value)
    assert "s2sad.jacrev" in str(caught.value)
    with pytest.raises(TypeError, match="returns a tuple"):
        s2sad.grad(lambda x: (x, x))(1.0)
    with pytest.raises(TypeError, match="an int"):
        s2sad.grad(lambda x: 3)(1.0)
    with pytest.raises(TypeError, match="holomorphic=True"):
        s2sad.grad(lambda x: x * x)(1j)
    with pytest.raises(TypeError, match="holomorphic=True needs complex arguments"):
        s2sad.grad(product, holomorphic=True)(1.0, 1.0)
    same(s2sad.grad(lambda z: z * z, holomorphic=True)(2j), 4j)


def test_variadic_arguments():
    assert s2sad.grad(norm2, argnums=(0, 2))(1.0, 2.0, 3.0) == (2.0, 6.0)
    assert s2sad.grad(norm2, argnums="xs")(1.0, 2.0) == (2.0, 4.0)
    _, pullback = s2sad.vjp(norm2, 1.0, 2.0)
    assert pullback(1.0) == (2.0, 4.0)
    assert s2sad.jvp(norm2, (1.0, 2.0), (1.0, None)) == (5.0, 2.0)


def test_one_derivation_serves_equal_calls(compiler):
    for n in (2, 3, 4):
        s2sad.grad(square_sum)(np.ones(n))
    assert len(compiler.requests) == 1
    s2sad.grad(square_sum)(np.ones(1))
    s2sad.grad(square_sum)(np.ones(3, np.float32))
    assert len(compiler.requests) == 3


def test_rebound_captures_are_derived_anew(compiler):
    k = 2.0

    def fun(x):
        return k * x

    g = s2sad.grad(fun)
    assert g(1.0) == 2.0
    k = 3.0
    assert g(1.0) == 3.0
    assert len(compiler.requests) == 2
    k = float("3.0")
    assert g(1.0) == 3.0
    assert len(compiler.requests) == 2


def helper(x):
    return CONSTANT * x * SETTINGS["factor"]


CONSTANT, SETTINGS = 2.0, {"factor": 1.0}


def test_captures_of_helpers_are_followed(compiler, monkeypatch):
    g = s2sad.grad(lambda x: helper(x))
    assert g(1.0) == 2.0
    monkeypatch.setattr(sys.modules[__name__], "CONSTANT", 5.0)
    assert g(1.0) == 5.0
    monkeypatch.setitem(SETTINGS, "factor", 2.0)
    assert g(1.0) == 10.0
    assert g(1.0) == 10.0
    assert len(compiler.requests) == 3


def test_static_arguments_specialise_by_value():
    def fun(x, how):
        return x * x if how == "square" else 5 * x

    assert s2sad.grad(fun)(3.0, "square") == 6.0
    assert s2sad.grad(fun)(3.0, "five") == 5.0


def test_jvp_structures_and_none():
    assert s2sad.jvp(product, (3.0, 5.0), (1.0, None)) == (15.0, 5.0)
    assert s2sad.jvp(product, (3.0, 5), [1, None]) == (15.0, 5.0)
    assert s2sad.jvp(product, (3.0, 5.0), (None, None)) == (15.0, 0.0)
    assert s2sad.jvp(product, (3, 5), (None, None)) == (15, None)
    _, dot = s2sad.jvp(lambda x: {"y": x * x, "n": 3}, (np.ones(2),), (np.ones(2),))
    assert dot["n"] is None
    assert dot["y"].tolist() == [2.0, 2.0]
    assert s2sad.jvp(lambda x: (x * x, "aux"), (3.0,), (1.0,), has_aux=True) == (9.0, 6.0, "aux")


@pytest.mark.parametrize(
    ("primal", "tangent", "message"),
    [
        (
            np.ones(3),
            np.ones(2),
            "expected dtype float64 and shape (3,), got dtype float64 and shape (2,)",
        ),
        (np.ones(3), np.ones(3, np.float32), "got dtype float32 and shape (3,)"),
        (np.ones(3), np.ones(3, int), "got dtype int64"),
        (np.ones(3), 1.0, "got `1.0` of type float"),
        (1.0, np.ones(2), "expected dtype float64 and shape (), got dtype float64 and shape (2,)"),
        (1.0, 1j, "got `1j` of type complex"),
        (3, 1.0, "must be None: an int has no tangent; got `1.0` of type float"),
        ({"a": 1.0}, {"b": 1.0}, "expected a dict with keys 'a', got a dict with keys 'b'"),
        ([1.0], (1.0,), "expected a list of 1 items, got a tuple of 1 items"),
        ((1.0, 2.0), (1.0,), "expected a tuple of 2 items, got a tuple of 1 items"),
    ],
)
def test_jvp_names_the_leaf_that_does_not_fit(primal, tangent, message):
    with pytest.raises(ArgumentError) as caught:
        s2sad.jvp(identity, (primal,), (tangent,))
    assert message in str(caught.value)
    assert "`x" in str(caught.value)


def test_jvp_wants_as_many_tangents_as_primals():
    with pytest.raises(ArgumentError, match="2 primals but 1 tangents"):
        s2sad.jvp(product, (1.0, 2.0), (1.0,))
    with pytest.raises(ArgumentError, match="tuple or a list"):
        s2sad.jvp(product, 1.0, 1.0)


def test_pullback_is_reusable_and_runs_the_primal_once(compiler):
    x = np.arange(3.0)
    out, pullback = s2sad.vjp(scale, x, 2.0)
    assert compiler.calls == ["fwd"]
    bar = np.ones(3)
    first = pullback(bar)
    x[:] = 100.0
    out[:] = 100.0
    first[0][:] = 100.0
    second = pullback(bar)
    assert second[0].tolist() == [0.0, 4.0, 8.0]
    assert second[1] == 5.0
    assert bar.tolist() == [1.0, 1.0, 1.0]
    assert compiler.calls == ["fwd", "bwd", "bwd"]
    with pytest.raises(ArgumentError, match=r"the cotangent of `output` does not fit"):
        pullback(np.ones(4))
    assert pullback(None)[0].tolist() == [0.0, 0.0, 0.0]


def test_vjp_of_integers_and_aux():
    out, pullback = s2sad.vjp(product, 3.0, 2)
    assert pullback(1.0) == (2.0, None)
    out, pullback = s2sad.vjp(product, 3, 2)
    assert (out, pullback(None)) == (6, (None, None))
    out, pullback, aux = s2sad.vjp(lambda x: (x * x, x), 3.0, has_aux=True)
    assert (out, pullback(1.0), aux) == (9.0, (6.0,), 3.0)


def test_results_never_alias_the_arguments():
    x, dot = np.ones(3), np.ones(3)
    out, out_dot = s2sad.jvp(identity, (x,), (dot,))
    assert not np.may_share_memory(out, x)
    assert not np.may_share_memory(out_dot, dot)
    out, pullback = s2sad.vjp(identity, x)
    bar = np.ones(3)
    assert not np.may_share_memory(out, x)
    assert not np.may_share_memory(pullback(bar)[0], bar)


def test_hvp():
    x = np.arange(1.0, 4.0)
    np.testing.assert_allclose(s2sad.hvp(square_sum, (x,), (np.ones(3),)), 6 * x, rtol=1e-6)
    assert s2sad.hvp(product, (3.0, 5.0), (1.0, 2.0), argnums=(0, 1)) == pytest.approx((2.0, 1.0))
    with pytest.raises(ArgumentError, match="needs 1 tangents"):
        s2sad.hvp(product, (3.0, 5.0), (1.0, 2.0))


def test_transforms_compare_copy_and_pickle():
    g = s2sad.grad(product, argnums=(0, 1), target="python")
    assert (g.kind, g.fun, g.argnums, g.target) == ("grad", product, (0, 1), "python")
    for other in (copy.copy(g), copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert other == g
        assert other(3.0, 5.0) == (5.0, 3.0)
    assert g != s2sad.grad(product)
    assert g.__name__ == "product"
    assert g.__wrapped__ is product
    assert repr(g) == "<s2sad.grad of product, argnums=(0, 1), target='python'>"
    j = pickle.loads(pickle.dumps(s2sad.jacfwd(scale)))
    assert j == s2sad.jacfwd(scale)


def test_argnums_are_checked_before_the_call():
    with pytest.raises(
        ArgumentError, match="`product` has no argument 'z': its parameters are x, y"
    ):
        s2sad.grad(product, argnums="z")
    with pytest.raises(ArgumentError, match="it takes 2 positional arguments"):
        s2sad.grad(product, argnums=2)
    with pytest.raises(ArgumentError, match="a function is needed"):
        s2sad.grad(3.0)


def test_threads_agree():
    g, found = s2sad.grad(energy), []

    def work(n):
        for _ in range(20):
            found.append((n, g({"w": np.ones(n), "b": float(n)}, np.ones(n))["b"]))

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert all(b == 2.0 * n for n, b in found)


def test_check_grads_passes_and_names_what_is_wrong(compiler, monkeypatch):
    s2sad.check_grads(energy, ({"w": np.arange(3.0), "b": 2.0}, np.ones(3)))
    s2sad.check_grads(scale, (np.ones((2, 2), np.float32), 3.0), modes="fwd")
    s2sad.check_grads(lambda z: z * z, (1 + 2j,))
    s2sad.check_grads(square_sum, (np.ones(2),), order=2, eps=1e-4, atol=1e-3, rtol=1e-3)
    wrong = numeric._Work.push
    monkeypatch.setattr(
        numeric._Work, "push", lambda self, v, d: [2 * s for s in wrong(self, v, d)]
    )
    for mode, word in (("fwd", "jvp"), ("rev", "vjp")):
        with pytest.raises(AssertionError) as caught:
            s2sad.check_grads(product, (3.0, 5.0), modes=(mode,))
        text = str(caught.value)
        assert text.startswith(word)
        assert "argument `x`" in text
        assert "derivative" in text
        assert "finite difference" in text


def test_custom_rules_hold_their_functions():
    @s2sad.custom_jvp
    def f(x, y):
        return x * y

    f.defjvps(lambda dot, out, x, y: dot * y, None)
    assert f(2.0, 3.0) == 6.0
    assert f.rule((2.0, 3.0), (1.0, 1.0)) == (6.0, 3.0)
    with pytest.raises(s2sad.RuleError):
        f.defjvps(None)

    @s2sad.custom_vjp
    def g(x):
        return x * x

    g.defvjp(lambda x: (x * x, x), lambda x, bar: (2 * x * bar,))
    assert g.bwd(3.0, 1.0) == (6.0,)


def test_rules_of_others_hold_in_their_block():
    from s2sad.api.custom import rule_of

    with s2sad.rules():

        @s2sad.rule(np.sinc)
        def sinc(primals, tangents):
            return primals, tangents

        assert rule_of(np.sinc).jvp is sinc
    assert rule_of(np.sinc) is None
    importlib.import_module("s2sad.rules.registry")  # the subpackage has the same name

    with s2sad.rules():
        pass


def test_debug_nans_names_the_line(tmp_path):
    from s2sad.api.finite import checked
    from s2sad.backends import Module
    from s2sad.errors import Span

    user, file = tmp_path / "user.py", tmp_path / "root_grad.py"
    user.write_text("def root(x):\n    return np.sqrt(x)\n")
    body = "    y = np.sqrt(x)\n    x_bar = 0.5 / y\n    return x_bar\n"
    text = f"import numpy as np\n\ndef root_grad(x):\n{body}"
    file.write_text(text)
    spans = {5: Span(str(user), 2, 11, 2, 21, "root")}
    loaded = numeric.load(Module("root_grad", text, ("root_grad",), "root_grad", source_map=spans))
    namespace: dict[str, Any] = {}
    exec(compile(text, str(file), "exec"), namespace)
    loaded.entry = loaded.py_func = namespace["root_grad"]
    loaded.path = file
    g = checked(loaded, "root")
    assert g(np.float64(4.0)) == 0.25
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError) as caught:
        g(np.float64(0.0))
    assert str(caught.value) == (
        "the derivative of `root` is not finite: `x_bar` becomes so\n"
        f"  --> {user}:2:12 in `root`\n"
        "2 |     return np.sqrt(x)\n"
        "  |            ^^^^^^^^^^\n"
        f"  in the derivative, {file}:5: x_bar = 0.5 / y"
    )
