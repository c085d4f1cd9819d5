"""`s2sad emit`: modules that run where s2sad cannot be imported, and files that are never run."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from numba.core.errors import TypingError

import s2sad
from s2sad.api.guess import guesses
from s2sad.api.inlining import bare, inlined
from s2sad.api.notation import write
from s2sad.api.reading import read_function
from s2sad.api.standalone import emit_text, standalone
from s2sad.api.trial import trial
from s2sad.cli.target import evaluate
from s2sad.errors import ArgumentError, NotDifferentiableError, S2SADError, UnsupportedSyntaxError

MODEL = """
import math

import numpy as np
from numba import njit

GRAVITY = 9.81
PAIR = (1.0, 2.0)
half = lambda x: 0.5 * x


def pull(x, i):
    return math.sin(x[i]) * GRAVITY


def loss(x, k):
    s = 0.0
    for i in range(x.size):
        s += pull(x, i) ** 2 * k + half(k)
    return s * PAIR[1]


@njit(fastmath=True)
def limit(u0, k: float):
    u = u0.copy()
    for i in range(1, u.size):
        jump = u[i] - u[i - 1]
        if jump > k:
            u[i] = u[i - 1] + k * np.tanh(jump / k)
        else:
            u[i] -= 0.1 * jump**2
    return np.sum(u**2)


@njit
def broad(x: "float64[:,:]", b: "float64[:]"):
    return np.sum((x + b) ** 2 / b)


def spread(x: "float64[:,:]", b: "float64[:]"):
    return np.sum((x + b) ** 2 / np.maximum(b, 0.5))


def field(x):
    return np.sin(x) * x[0]


def power(x, n=3):
    return x**n


def volume(a: "float64[:,:]"):
    return np.sum(np.log(np.diag(np.linalg.cholesky(a))))
"""

ARGUMENTS = {
    "loss": (np.array([0.3, 0.7, 1.1]), 0.5),
    "limit": (np.array([0.0, 1.5, 1.6, 0.2]), 0.3),
    "broad": (np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 3.0])),
    "spread": (np.arange(6.0).reshape(2, 3), np.array([1.0])),
    "field": (np.array([0.3, 0.7, 1.1]),),
    "power": (1.5, 3),
    "volume": (np.array([[4.0, 0.5, 0.2], [0.5, 3.0, -0.3], [0.2, -0.3, 2.0]]),),
}

RUN = """
import json, sys
sys.modules["s2sad"] = None          # not importable
sys.path.insert(0, sys.argv[1])
import numpy as np, derivative
arrays = [np.array(a) if isinstance(a, list) else a for a in json.loads(sys.argv[3])]
flat = lambda v: [flat(i) for i in v] if isinstance(v, tuple) else np.asarray(v).tolist()
print(json.dumps(flat(getattr(derivative, sys.argv[2])(*arrays))))
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def original(path, name):
    spec = importlib.util.spec_from_file_location("model_under_test", path / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def run_alone(path, text, entry, *arguments):
    (path / "derivative.py").write_text(text)
    given = json.dumps([a.tolist() if isinstance(a, np.ndarray) else a for a in arguments])
    words = [sys.executable, "-c", RUN, str(path), entry, given]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def clean(path):
    words = ["--isolated", "--no-cache", "--select", "E,F,I,UP"]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", *words, str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "wrt"),
    [
        ("loss", ("x", "k")),
        ("limit", ("u0", "k")),
        ("broad", ("x", "b")),
        ("spread", ("x", "b")),
        ("power", ("x",)),
        ("volume", ("a",)),
    ],
)
def test_gradient_stands_alone(model, name, wrt):
    arguments = ARGUMENTS[name]
    text = emit_text("model.py", name, "value_and_grad", wrt)
    got = run_alone(model, text, f"{name}_value_and_grad", *arguments)
    value, grads = s2sad.value_and_grad(original(model, name), wrt, target="python")(*arguments)
    np.testing.assert_allclose(got[0], value, rtol=1e-12)
    for mine, theirs in zip(got[1:], grads, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    assert "s2sad" not in text.split('"""')[2]
    clean(model / "derivative.py")


def test_tangent_and_adjoint_stand_alone(model):
    (x,) = ARGUMENTS["field"]
    field = original(model, "field")
    dot = np.array([0.2, -0.4, 0.1])
    out, out_dot = run_alone(model, emit_text("model.py", "field", "jvp"), "field_jvp", x, dot)
    expected = s2sad.jvp(field, (x,), (dot,), target="python")
    np.testing.assert_allclose((out, out_dot), expected, rtol=1e-12)
    out, x_bar = run_alone(model, emit_text("model.py", "field", "vjp"), "field_vjp", x, dot)
    _, pullback = s2sad.vjp(field, x, target="python")
    np.testing.assert_allclose(x_bar, pullback(dot)[0], rtol=1e-12)
    clean(model / "derivative.py")


def test_both_sweeps_in_one_module(model):
    x, k = ARGUMENTS["loss"]
    text = emit_text("model.py", "loss", "fwd-bwd", ("x", "k"))
    (model / "derivative.py").write_text(text)
    clean(model / "derivative.py")
    space = {}
    exec(compile(text, "derivative.py", "exec"), space)
    value, *residuals = space["loss_fwd"](x, k)
    got = space["loss_bwd"](*residuals, 1.0)
    expected = s2sad.grad(original(model, "loss"), (0, 1), target="python")(x, k)
    assert value == pytest.approx(original(model, "loss")(x, k))
    for mine, theirs in zip(got, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_njit_is_kept(model):
    text = emit_text("model.py", "limit", "grad")
    assert '@njit(fastmath=True, error_model="numpy")\ndef limit_grad(u0: NDArray[np.float64], k: float) -> ' in text
    assert "njit" not in emit_text("model.py", "loss", "grad")


def test_runtime_is_imported_on_request(model):
    text = emit_text("model.py", "spread", "grad", runtime=True)
    assert "from s2sad.runtime import unbroadcast\n" in text
    assert "def unbroadcast" not in text
    (model / "derivative.py").write_text(text)
    clean(model / "derivative.py")
    text = emit_text("model.py", "broad", "grad", ("x", "b"), runtime=True)
    (model / "derivative.py").write_text(text)
    clean(model / "derivative.py")
    space = {}
    exec(compile(text, "derivative.py", "exec"), space)
    got = space["broad_grad"](*ARGUMENTS["broad"])
    expected = s2sad.grad(original(model, "broad"), (0, 1), target="python")(*ARGUMENTS["broad"])
    for mine, theirs in zip(got, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)


def test_the_text_is_the_same_every_time(model):
    words = [sys.executable, "-m", "s2sad", "emit", "model.py:loss", "--mode", "fwd-bwd"]
    texts = {
        subprocess.run(words, capture_output=True, check=True, env={"PYTHONHASHSEED": seed}).stdout
        for seed in ("1", "2", "3")
    }
    assert len(texts) == 1


def test_the_header_says_how(model):
    text = emit_text("model.py", "loss", "vjp", ("k",), "f8[:], float")
    assert text.startswith('"""Value and adjoint of `loss` (model.py:16) for `k`.\n')
    assert "s2sad emit model.py:loss --mode vjp --wrt k --types" in text
    assert "    x: float64[:]\n    k: float64\n" in text
    assert "x: float64[:] (taken from its use)" in emit_text("model.py", "loss")
    assert "n: int64 (as its default)" in emit_text("model.py", "power")


EVIL = """
import os
import numpy as np
import nothing_of_this_name

os.environ["RUN"] = open("touched", "w").write("x")
TABLE = np.load("table.npy")
print("run")


def decorate(f):
    raise RuntimeError("run")


class Thing:
    raise_it = 1 / 0


def good(x):
    return x * x


@decorate
def decorated(x):
    return x * x


def reads(x):
    return x * TABLE[0]


def default(x, k=open("touched", "w")):
    return x


def other(x, k: print("run") = 2.0):
    return k * x
"""


def test_the_file_is_never_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text(EVIL)
    assert "def good_grad(x: float) -> float:" in emit_text("evil.py", "good")
    assert "def other_grad(x: float, k: float = 2.0) -> float:" in emit_text("evil.py", "other")
    with pytest.raises(UnsupportedSyntaxError, match=r"not defined(.|\n)*evil.py:\d+:16(.|\n)*--import"):
        emit_text("evil.py", "reads")
    with pytest.raises(UnsupportedSyntaxError, match=r"what `decorated` is(.|\n)*--import"):
        emit_text("evil.py", "decorated")
    with pytest.raises(UnsupportedSyntaxError, match=r"a default of `default` would have to be run"):
        emit_text("evil.py", "default")
    assert not (tmp_path / "touched").exists()
    assert capsys.readouterr().out == ""


def test_import_on_request(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table_model.py").write_text("import numpy as np\nN = len('abc')\n\n\ndef f(x):\n    return x**N\n")
    with pytest.raises(UnsupportedSyntaxError, match="--import"):
        emit_text("table_model.py", "f")
    assert "def f_grad(x: float) -> float:" in emit_text("table_model.py", "f", run=True)


RULED = """\
import s2sad

@s2sad.custom_jvp
def front(x):
    return x[: len(x) // 2] ** 2

@front.defjvp
def front_jvp(primals, tangents):
    half = len(primals[0]) // 2
    return front(primals[0]), 2.0 * primals[0][:half] * tangents[0][:half]

def f(x):
    return front(x)[0] + x[0]
"""


def test_a_rule_whose_shapes_are_looked_at_stands_alone(tmp_path, monkeypatch):
    """The error that a wrong shape raises comes along: nothing of s2sad is imported."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ruled_model.py").write_text(RULED)
    text = emit_text("ruled_model.py", "f", "grad", None, "float64[:]", run=True)
    assert "class RuleShapeError(ValueError):" in text
    assert "import s2sad" not in text
    scope = {}
    exec(text, scope)
    np.testing.assert_array_equal(scope["f_grad"](np.array([1.0, 2.0, 3.0, 4.0])), [3.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("arguments", "kind", "sentence"),
    [
        (("none.py", "f"), S2SADError, "none.py cannot be read"),
        (("model.py", "f"), S2SADError, "model.py has no function `f`"),
        (("model.py", "loss", "backwards"), ArgumentError, "is no mode"),
        (("model.py", "loss", "grad", ("z",)), ArgumentError, "no parameter `z`"),
        (("model.py", "loss", "grad", None, "float64[:]"), ArgumentError, "1 types for 2"),
        (("model.py", "power", "grad", ("n",)), NotDifferentiableError, "`n` is an int"),
        (("model.py", "field", "grad"), NotDifferentiableError, "of shape"),
    ],
)
def test_errors_say_what(model, arguments, kind, sentence):
    with pytest.raises(kind, match=sentence):
        emit_text(*arguments)


GUESSED = """
import numpy as np
from numpy.typing import NDArray


def f(a, b, c, d, e, g: NDArray[np.float32], h: "int64[:, :]", i: int, j=2.5, k=None, *, l=1):
    n, m = c.shape
    for x in d:
        pass
    for y in range(e):
        pass
    helper(b)
    return a[i][0] + g[0, 1]


def helper(v):
    return v[0, 0, None]
"""


def test_types_are_guessed_from_use(tmp_path):
    (tmp_path / "guessed.py").write_text(GUESSED)
    found = guesses(read_function(str(tmp_path / "guessed.py"), "f"), None)
    assert [f"{guess.name} {write(guess.type)} {guess.origin}" for guess in found] == [
        "a float64[:, :] use",
        "b float64[:, :] use",
        "c float64[:, :] use",
        "d float64[:] use",
        "e int64 use",
        "g float32[:, :] dtype",
        "h int64[:, :] annotated",
        "i int64 annotated",
        "j float64 default",
        "k None default",
        "l int64 default",
    ]


def test_types_are_guessed_from_the_use_of_items(tmp_path):
    found = guessed(tmp_path, """
        def f(w, X, y, points, rows, x):
            for k, p in enumerate(points):
                w[0] += p[0] * k
            for row in rows:
                for x in row:
                    row = x
            return sum(t * (row @ w) for row, t in zip(X, y))
    """)
    assert found == {
        "w": "float64[:]", "X": "float64[:, :]", "y": "float64[:]", "points": "float64[:, :]", "rows": "float64[:, :]",
        "x": "float64",
    }


def guessed(tmp_path, text):
    (tmp_path / "guessed.py").write_text(f"import numpy as np\n\n\n{textwrap.dedent(text)}")
    found = guesses(read_function(str(tmp_path / "guessed.py"), "f"), None)
    return {guess.name: write(guess.type) for guess in found}


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("def f(w, X, y):\n    return np.sum((X @ w - y) ** 2)", {"w": 1, "X": 2, "y": 0}),
        ("def f(A, B):\n    return np.sum(np.dot(A, B))", {"A": 2, "B": 2}),
        ("def f(a, b):\n    return a @ b", {"a": 1, "b": 1}),
        ("def f(m, b):\n    return np.sum(np.linalg.solve(m, b))", {"m": 2, "b": 1}),
        ("def f(x, k):\n    return np.sum(x**2) * k", {"x": 1, "k": 0}),
        ("def f(k, x):\n    y = np.tanh(x)\n    z = 2 * y\n    return k * np.mean(-z)", {"k": 0, "x": 1}),
        ("def f(x, mu, s):\n    return np.mean(((x - mu) / s) ** 2)", {"x": 1, "mu": 0, "s": 0}),
        ("def f(x):\n    return (x * x).sum()", {"x": 1}),
        ("def f(x, n):\n    return x * np.sum(np.arange(n))", {"x": 0, "n": 0}),
        ("def f(x, k):\n    return np.sum(x[1:] * k)", {"x": 1, "k": 0}),
        ("def f(x, k=2.0):\n    return np.sum(k * x)", {"x": 1, "k": 0}),
    ],
)
def test_ranks_are_guessed_from_products_and_sums(tmp_path, text, kinds):
    found = guessed(tmp_path, text)
    assert {name: kind.count(":") for name, kind in found.items()} == kinds


RECORDS = """
import numpy as np
from dataclasses import dataclass
from typing import NamedTuple
from numpy.typing import NDArray


class Spring(NamedTuple):
    \"\"\"Its constants.\"\"\"

    mass: float
    rates: NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    x: float
    y: float = 2.0


def energy(p: Spring, x):
    return p.mass * np.sum(p.rates * x**2)


def distance(point: "Point", k=1.0, *, squared=False):
    r = point.x**2 + k * point.y**2
    if squared:
        return r
    return np.sqrt(r)


def unannotated(p, x):
    return p.mass * x
"""


@pytest.mark.parametrize("mode", ["grad", "value_and_grad", "jvp", "vjp", "fwd-bwd"])
def test_records_are_parameters_by_their_annotations(tmp_path, monkeypatch, mode):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "records.py").write_text(RECORDS)
    calls = {"energy": "Spring(2.0, np.ones(3)), np.arange(3.0)", "distance": "Point(3.0), squared=True"}
    for name, arguments in calls.items():
        wrt = ("p",) if name == "energy" else ("point",)
        made = standalone("records.py", name, mode, wrt, arguments=arguments, evaluate=evaluate)
        clean_text(tmp_path, made.text)
        (request,) = made.requests
        trial(made.text, request, mode, evaluate(arguments, request.read.fun))
    with pytest.raises(ArgumentError, match="written for `squared` of type True, and the argument is of type False"):
        trial(made.text, request, mode, evaluate("Point(3.0)", request.read.fun))
    assert "p: Spring(float64, float64[:]) (as annotated)" in emit_text("records.py", "energy")
    head = "def energy_grad(\n    p_mass: float,\n    p_rates: NDArray[np.float64],"
    assert head in emit_text("records.py", "energy")


def test_a_guess_that_fails_says_that_it_was_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "records.py").write_text(RECORDS)
    with pytest.raises(UnsupportedSyntaxError, match=r"the use was taken to mean: `p` for .*pass --types or --args"):
        emit_text("records.py", "unannotated")
    text = emit_text("records.py", "unannotated", arguments="Spring(2.0, np.ones(2)), 1.0", evaluate=evaluate)
    assert "--args 'Spring(2.0, np.ones(2)), 1.0'" in " ".join(text.split())
    assert "p: Spring(float64, float64[::1]) (as in --args)" in text


def test_a_product_that_a_guess_makes_impossible_says_that_it_was_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "product.py").write_text("def f(a, b):\n    return (a @ b) @ b\n")
    with pytest.raises(ArgumentError, match=r"`a` for float64\[:\], `b` for float64\[:\]\. Annotate .* --args"):
        emit_text("product.py", "f")


def test_arguments_change_no_guess_that_fits(model):
    plain = emit_text("model.py", "loss", "grad")
    assert emit_text("model.py", "loss", "grad", arguments="np.ones(3), 1", evaluate=evaluate) == plain


WRONG_CALLS = {
    "loss": [
        (np.ones((2, 2)), 0.5), (np.array([1, 2]), 0.5), (np.ones(2), np.ones(2)), (1.0, 0.5), (1j * np.ones(2), 1.0),
    ],
    "limit": [(np.ones((3, 3)), 0.5), (np.array([1, 5]), 0.5), (np.ones(3), np.ones(3))],
    "power": [(np.ones(2), 3), (1.5, 2.5)],
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_module_refuses_what_it_was_not_written_for(model, name):
    space = {}
    exec(emit_text("model.py", name, "grad"), space)
    gradient = space[f"{name}_grad"]
    gradient(*ARGUMENTS[name])
    for arguments in WRONG_CALLS[name]:
        with pytest.raises((TypeError, TypingError)):
            gradient(*arguments)


def test_compiled_and_plain_functions_share_a_module(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    body = '(x: "float64[:,:]"):\n    return np.sum(np.mean(x**3, axis=1) ** 2) + np.sum(np.cumprod(x))\n'
    (tmp_path / "model.py").write_text(
        f"import numpy as np\nfrom numba import njit\n\n\ndef a{body}\n\n@njit\ndef b{body}"
    )
    text = emit_text("model.py", ("a", "b"))
    clean_text(tmp_path, text)
    assert re.search(r"\n\ndef inner_size\(", text)
    assert '@njit(error_model="numpy")\ndef inner_size_njit(' in text
    space = {}
    exec(compile(text, "derivative.py", "exec"), space)
    x = np.arange(6.0).reshape(2, 3)
    expected = s2sad.grad(original(tmp_path, "a"), target="python")(x)
    for name in ("a_grad", "b_grad"):
        np.testing.assert_allclose(space[name](x), expected, rtol=1e-12)


def test_modules_are_typed(model):
    pytest.importorskip("pyright", reason="pyright is not installed")
    for mode in ("grad", "jvp", "vjp", "fwd-bwd"):
        names = ("loss",) if mode == "grad" else ("loss", "field")
        (model / f"{mode[:3]}.py").write_text(emit_text("model.py", names, mode))
    words = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", "."]
    told = json.loads(subprocess.run(words, capture_output=True, text=True, check=False).stdout)
    wrong = [d for d in told["generalDiagnostics"] if "model.py" not in d["file"]]
    assert wrong == []
    (model / "user.py").write_text("from gra import loss_grad\n\nloss_grad('x', 2.0)\n")
    told = json.loads(subprocess.run([*words[:-1], "user.py"], capture_output=True, text=True, check=False).stdout)
    assert "ndarray" in told["generalDiagnostics"][0]["message"].lower()


def clean_text(path, text):
    (path / "derivative.py").write_text(text)
    clean(path / "derivative.py")


def test_helpers_are_inlined_bare():
    source = textwrap.dedent('''\
        def f(x: Any, axis: int = -1) -> Any:
            """Return `x`."""
            # why
            return x
    ''')
    assert bare(source) == 'def f(x, axis=-1):\n    """Return `x`."""\n    # why\n    return x'
    from s2sad.runtime import mean_axis

    texts, modules, _ = inlined({"mean_axis_2": mean_axis})
    assert list(texts) == ["inner_size", "shape_without", "mean_axis_2"]
    assert texts["mean_axis_2"].startswith("def mean_axis_2(a, axis):")
    assert modules == {"import numpy as np"}


def test_every_helper_can_be_inlined(tmp_path):
    import s2sad.runtime as runtime

    helpers = {name: getattr(runtime, name) for name in runtime.__all__}
    texts, modules, constants = inlined(helpers)
    blocks = ["\n".join(sorted(modules)), "\n".join(constants), *texts.values()]
    text = "\n\n\n".join(block for block in blocks if block) + "\n"
    exec(compile(text, "helpers.py", "exec"), {})
    assert "Any" not in text.replace("Any NumPy", "")
    assert max(map(len, text.split("\n"))) <= 88


CONSTANTS = """
import numpy as np
import scipy.special as sp
from math import pi

C = 2 * pi
D = np.sqrt(C) + 1.0
W = np.array([1.0, 2.0])
V = W * D
k = 1
k = len(open(__file__).read())
E = 2.0 * k
Z = np.zeros(3)


def fill(z):
    z[:] = 1.0


fill(Z)


def calculated(x: float):
    return C * x * x + D * x


def scaled(x: "float64[:]"):
    return np.sum(W * x) * V[1]


def special(x: float):
    return sp.gammaln(x)


def changed(x: float):
    return E * x


def written(x: float):
    return Z[0] * x
"""


def test_constants_that_are_calculated_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(CONSTANTS)
    assert f"{4 * math.pi!r} * x" in emit_text("model.py", "calculated")
    assert "def scaled_grad(" in emit_text("model.py", "scaled")
    assert "psi(x)" in emit_text("model.py", "special")
    for name in ("changed", "written"):  # code that is not run decides what these names mean
        with pytest.raises(UnsupportedSyntaxError, match=r"not defined(.|\n)*--import"):
            emit_text("model.py", name)
