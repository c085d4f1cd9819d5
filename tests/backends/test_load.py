"""Loading for each target: same values, real files, located errors."""

from __future__ import annotations

import inspect
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest

import s2sad
from s2sad.backends import load, numba_cpu
from s2sad.errors import ArgumentError, CompileError, Span
from tests.backends.cases import TEXT, doubled, finish, module, square, start


@pytest.mark.parametrize("target", ["python", "cpu"])
def test_targets_agree(cache, target):
    assert load(module(), target).entry(np.arange(4.0)) == 32.0


def test_cpu_entry_is_a_dispatcher_that_njit_code_can_call(cache):
    grad = load(module(), "cpu").entry

    @numba.njit
    def caller(x):
        return 2.0 * grad(x)

    assert isinstance(grad, numba.core.dispatcher.Dispatcher)
    assert caller(np.arange(4.0)) == 64.0


def test_py_func_is_plain_python_all_the_way_down(cache):
    plain = load(module(), "cpu").py_func
    assert type(plain.__globals__["inner"]) is type(lambda: 0)
    assert plain.__globals__["doubled"] is doubled
    assert plain(np.arange(4.0)) == 32.0


def test_lines_of_the_file_are_the_lines_of_the_text(cache):
    loaded = load(module(), "cpu")
    assert inspect.getsource(loaded.py_func) == TEXT[TEXT.index("def outer_grad") :]
    assert inspect.getsourcefile(loaded.py_func) == str(loaded.path)
    assert inspect.getsourcefile(loaded.entry.py_func) == str(loaded.path)


def test_loading_twice_gives_the_same_function(cache):
    assert load(module(), "cpu").entry is load(module(), "cpu").entry


def test_threads_share_one_compilation(cache):
    with ThreadPoolExecutor(8) as pool:
        entries = list(pool.map(lambda _: load(module(), "cpu").entry, range(8)))
        values = list(pool.map(lambda f: f(np.arange(4.0)), entries))
    assert len(set(map(id, entries))) == 1
    assert set(values) == {32.0}
    assert sum(entries[0].stats.cache_misses.values()) == 1


def test_one_helper_is_one_dispatcher(cache):
    helper = numba_cpu.jitted(doubled)
    assert helper is numba_cpu.jitted(doubled)
    assert helper is load(module(), "cpu").namespace["doubled"]
    assert helper.py_func.__globals__["square"] is numba_cpu.jitted(square)
    assert helper.py_func.__code__ is doubled.__code__
    assert doubled.__globals__["square"] is square


def test_externals_of_every_kind(cache):
    text = "def f(x):\n    return compiled(x) + plain(x) + closed(x) + table[1] + scale\n"
    scale = 10.0

    def helper(x):
        return x * scale

    def closed(x):
        return helper(x) + 1.0

    given = {
        "compiled": numba.njit(square),
        "plain": doubled,
        "closed": closed,
        "table": np.array([1.0, 2.0]),
        "scale": 0.5,
    }
    loaded = {
        target: load(module(text, functions=("f",), entry="f", runtime={}, externals=given), target)
        for target in ("python", "cpu")
    }
    assert loaded["python"].entry(3.0) == loaded["cpu"].entry(3.0) == 60.5
    assert loaded["cpu"].namespace["compiled"] is given["compiled"]
    assert loaded["python"].namespace["compiled"] is square


def test_division_follows_numpy_unless_asked_otherwise(cache):
    text = "def f(x):\n    return 1.0 / x\n"
    plain = module(text, functions=("f",), entry="f", runtime={})
    strict = module(text, functions=("f",), entry="f", runtime={}, error_model="python")
    assert load(plain, "cpu").entry(0.0) == np.inf
    with pytest.raises(ZeroDivisionError):
        load(strict, "cpu").entry(0.0)


def test_numba_failure_names_the_users_line(cache, tmp_path):
    user = tmp_path / "model.py"
    user.write_text("def f(x):\n    return np.mean(x, axis=0)\n")
    span = Span(str(user), 2, 11, 2, 29, "f")
    text = "import numpy as np\n\n\ndef f(x):\n    return np.mean(x, axis=0)\n"
    broken = module(text, functions=("f",), entry="f", runtime={}, source_map={5: span})
    with pytest.raises(CompileError) as caught:
        load(broken, "cpu").entry(np.ones(3))
    message = str(caught.value)
    assert message.startswith(f"Numba cannot compile `f`\n  --> {user}:2:12 in `f`\n2 | ")
    assert "Numba says: No implementation of function `mean` found for signature mean(" in message
    assert "TypingError: got an unexpected keyword argument 'axis'" in message
    assert message.endswith(
        'Use target="python": NumPy in CPython differentiates what Numba cannot compile.'
    )
    assert "\x1b" not in message
    assert message.count("\n") == 5


def test_failure_that_is_no_numba_error_is_explained_too(cache):
    text = "import numpy as np\n\n\ndef f(x):\n    return np.nope(x)\n"
    broken = module(text, functions=("f",), entry="f", runtime={})
    with pytest.raises(CompileError, match="module 'numpy' has no attribute 'nope'"):
        load(broken, "cpu").entry(1.0)


def test_error_of_the_program_itself_passes_through(cache):
    text = "def f(x):\n    if x > 0:\n        raise ValueError('too big')\n    return x\n"
    loaded = load(module(text, functions=("f",), entry="f", runtime={}), "cpu")
    with pytest.raises(ValueError, match="too big"):
        loaded.entry(1.0)


def test_unknown_target():
    with pytest.raises(ArgumentError, match="target 'gpu' is not known"):
        load(module(), "gpu")


@pytest.mark.parametrize("switch", ["S2SAD_DISABLE_JIT", "NUMBA_DISABLE_JIT"])
def test_jit_can_be_switched_off(cache, switch):
    program = (
        "import sys; from tests.backends.cases import module; from s2sad.backends import load\n"
        "f = load(module(), 'cpu'); print(f.target, 'numba' in sys.modules)"
    )
    assert finish(start(cache, program, **{switch: "1"})) == ["python False"]


def test_import_and_python_target_leave_numba_alone():
    program = "import s2sad.backends.python, sys; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr


def updated_blocks(x):
    a = np.outer(x, x) + 5 * np.eye(4)
    for k in range(2):
        column, block = a[k + 1 :, k], a[k + 1 :, k + 1 :]
        block -= np.outer(column, column)
    return (a**2).sum()


def left_from_a_nest(a):
    p = 1.0
    for i in range(4):
        for j in range(4):
            p = p * (1.0 + 0.5 * a[i, j])
            if p > 1.6:
                return p * p
    return -p


def test_what_numba_says_of_our_text_does_not_reach_the_user(cache):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        s2sad.grad(updated_blocks, target="cpu")(np.arange(4.0))
        s2sad.vjp(left_from_a_nest, np.full((4, 4), 0.3), target="cpu")[1](1.0)
    assert not [str(one.message) for one in told if "umba" in one.category.__name__]
