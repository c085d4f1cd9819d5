"""`@differentiate` over a numeric stand-in for the compiler."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import s2sad
from s2sad.api.notation import annotated, parse, write
from s2sad.errors import ArgumentError
from s2sad.ir.types import Array, Scalar, Struct, Sym
from tests.unit import numeric


@pytest.fixture(autouse=True)
def compiler(monkeypatch):
    from s2sad.api import transformed, transforms

    for maker in (transformed.store_for, transforms.forward_of, transforms.reverse_of):
        maker.cache_clear()
    yield numeric.install(monkeypatch)
    for maker in (transformed.store_for, transforms.forward_of, transforms.reverse_of):
        maker.cache_clear()


@s2sad.differentiate
def product(x, y=5.0):
    """Multiply."""
    return x * y


@s2sad.differentiate(argnums=("w", "b"), target="python", fastmath=True)
def loss(w, b, x):
    return np.sum((w * x + b) ** 2)


@s2sad.differentiate
def cube(x):
    return x * x * x


class Model:
    k = 3.0

    @s2sad.differentiate
    def energy(self, x):
        return self.k * x


def test_the_primal_and_every_derivative():
    assert product(3.0, 5.0) == 15.0
    assert product(3.0) == 15.0
    assert product.grad(3.0, 5.0) == 5.0
    assert product.value_and_grad(3.0) == (15.0, 5.0)
    assert product.jvp((3.0, 5.0), (None, 1.0)) == (15.0, 3.0)
    out, pullback = product.vjp(3.0, 5.0)
    assert (out, pullback(1.0)) == (15.0, (5.0, 3.0))
    assert cube.hvp((2.0,), (1.0,)) == pytest.approx(12.0)
    x = np.ones(3)
    w_bar, b_bar = loss.grad(x, 1.0, x)
    assert w_bar.tolist() == [4.0, 4.0, 4.0]
    assert b_bar == 12.0


def test_options_and_target_reach_the_compiler(compiler):
    loss(np.ones(3), 1.0, np.ones(3))
    fun, mode, _, _, target, options = compiler.requests[-1]
    assert (fun, mode, target, options.fastmath) == (loss.py_func, "primal", "python", True)
    s2sad.grad(loss)(np.ones(3), 1.0, np.ones(3))
    fun, mode, _, wrt, target, _ = compiler.requests[-1]
    assert (fun, mode, wrt, target) == (loss.py_func, "grad", (0,), "python")

    @s2sad.differentiate(outputs="out")
    def procedure(x, out):
        out[:] = x

    assert procedure.options.outputs == ("out",)


def test_it_looks_like_the_function():
    assert product.__name__ == "product"
    assert product.__doc__ == "Multiply."
    assert product.__wrapped__ is product.py_func
    assert inspect.signature(product) == inspect.signature(product.py_func)
    assert repr(product) == "<s2sad.differentiate product(x, y=5.0), argnums=0, target='cpu'>"
    assert "product" in product._repr_html_()


def test_wrong_options_are_refused_at_once():
    with pytest.raises(ArgumentError, match="has no argument 'z'"):
        s2sad.differentiate(argnums="z")(product.py_func)
    with pytest.raises(ArgumentError, match="no parameter 'out'"):
        s2sad.differentiate(outputs=("out",))(product.py_func)
    with pytest.raises(ArgumentError, match="target 'tpu' is not known"):
        s2sad.differentiate(target="tpu")(product.py_func)


def test_source_by_given_types_annotations_and_the_last_call(compiler):
    @s2sad.differentiate
    def fresh(x, y):
        return x * y

    assert fresh.source().startswith("def derivative_grad")  # from how the parameters are used
    assert fresh.source("grad", types="float64, float64").startswith("def derivative_grad")
    assert compiler.requests[-1][2] == (Scalar("float64", True), Scalar("float64", True))
    fresh.source("vjp", types=(1.0, np.ones(2)))
    assert isinstance(compiler.requests[-1][2][1], Array)
    fresh(2.0, 3)
    fresh.source("jvp")
    assert compiler.requests[-1][2][1] == Scalar("int64", True)

    @s2sad.differentiate
    def noted(x: float, n: int) -> float:
        return x * n

    noted.source()
    assert compiler.requests[-1][2] == (Scalar("float64", True), Scalar("int64", True))
    with pytest.raises(ArgumentError, match="`hess` is no mode"):
        noted.source("hess")


def test_derivative_runs_over_flat_leaves():
    view = product.derivative("grad", types="float64, float64")
    assert view(3.0, 5.0) == 5.0
    assert view.py_func(3.0, 5.0) == 5.0
    assert view.source == product.source("grad", types="float64, float64")


def test_signatures_inspection_and_recompile(compiler, capsys):
    @s2sad.differentiate
    def product(x, y):
        return x * y

    product(1.0, 2.0)
    product.grad(1.0, np.ones(())[()])
    product.jvp((1.0, 2.0), (1.0, None))
    assert product.signatures == [("float64", "float64")]
    product.inspect_types()
    assert "# product (float64, float64), primal\ndef derivative_primal" in capsys.readouterr().out
    count = len(compiler.requests)
    product(1.0, 2.0)
    assert len(compiler.requests) == count
    product.recompile()
    assert product.signatures == []
    product(1.0, 2.0)
    assert len(compiler.requests) == count + 1


def test_methods_bind_and_see_their_instance():
    model = Model()
    assert model.energy(2.0) == 6.0
    assert model.energy.grad(2.0) == 3.0
    model.k = 4.0
    assert model.energy.grad(2.0) == 4.0


def test_copies_and_pickles_by_name():
    assert copy.copy(product) == product
    assert copy.deepcopy(product) == product
    assert pickle.loads(pickle.dumps(product)) is product
    g = pickle.loads(pickle.dumps(product.grad))
    assert g == product.grad
    assert g(3.0, 5.0) == 5.0


def test_closures_pickle_by_source():
    k = 4.0

    @s2sad.differentiate
    def inner(x):
        return k * x

    again = pickle.loads(pickle.dumps(inner))
    assert again is not inner
    assert again(2.0) == 8.0
    assert again.grad(2.0) == 4.0
    assert "k * x" in inspect.getsource(again.py_func)
    with pytest.raises(pickle.PicklingError, match="is a lambda"):
        pickle.dumps(s2sad.grad(lambda x: x))


def test_a_script_pickles_its_functions_to_a_process_without_it(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import pickle, sys
            import numpy as np
            import s2sad

            K = 3.0

            def helper(x):
                return K * x

            @s2sad.differentiate
            def energy(x):
                return np.sum(helper(x))

            sys.stdout.buffer.write(pickle.dumps(energy))
            """
        )
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    data = subprocess.run([sys.executable, script], check=True, capture_output=True, env=env).stdout
    again = pickle.loads(data)
    assert again.py_func(np.ones(2)) == 6.0
    assert again(np.ones(2)) == 6.0


def test_numba_notation_is_read_and_written():
    names = ("x", "A", "n")
    kinds = parse("float64(float32[:], float64[:, ::1], int64)", names)
    assert kinds[0] == Array("float32", (Sym("x.0", nonone=True),), "A")
    assert kinds[2] == Scalar("int64", True)
    assert ", ".join(map(write, kinds)) == "float32[:], float64[:, ::1], int64"
    assert write(Struct("tuple", (0,), (Scalar("float64"),))) == "tuple(float64)"
    for text in (
        "float64",
        "float64[:], oops, int64",
        "float64[3], int64, int64",
        "float64[:] float64, a",
    ):
        with pytest.raises(ArgumentError):
            parse(text, names)

    def noted(x: float64[:], y: float):  # noqa: F821
        return x

    assert annotated(noted, ("x", "y")) == (
        Array("float64", (Sym("x.0", nonone=True),), "A"), Scalar("float64", True),
    )  # fmt: skip
    assert annotated(lambda x: x, ("x",)) is None


def test_importing_is_lazy():
    code = (
        "import sys, s2sad; print(sorted({'numpy', 'numba', 'gast', 'optree'} & set(sys.modules)))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    assert out.strip() == "[]"
    assert all(getattr(s2sad, name) is not None for name in s2sad.__all__)
    assert set(s2sad.__all__) <= set(dir(s2sad))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = s2sad.nothing
