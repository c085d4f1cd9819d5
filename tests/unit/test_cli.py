"""The command line: one located sentence for bad input, and the right exit status."""

from __future__ import annotations

import subprocess
import sys
import types

import numpy as np
import pytest
from click.testing import CliRunner

import s2sad
from s2sad.cli import main
from s2sad.errors import Span, UnsupportedSyntaxError

MODEL = "import numpy as np\n\n\ndef loss(x, k):\n    return np.sum(x**2) * k\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("S2SAD_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "model.py").write_text(MODEL)

    def invoke(*words):
        result = CliRunner().invoke(main, words)
        assert "Traceback" not in result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    return invoke


@pytest.fixture
def emit_text(monkeypatch):
    calls = []

    def emit_text(*args):
        calls.append(args)
        return "text\n"

    fake = types.ModuleType("s2sad.api.standalone")
    fake.emit_text = emit_text
    monkeypatch.setitem(sys.modules, "s2sad.api.standalone", fake)
    return calls


def test_emit_passes_its_options_on(run, emit_text):
    result = run("emit", "model.py:loss", "--mode", "vjp", "--wrt", "x, k", "--types", "f8[:], f8")
    assert (result.exit_code, result.output) == (0, "text\n")
    assert emit_text == [("model.py", "loss", "vjp", ("x", "k"), "f8[:], f8", False, False)]


def test_emit_writes_a_file(run, emit_text, tmp_path):
    assert run("emit", "model.py:loss", "-o", "out.py").exit_code == 0
    assert (tmp_path / "out.py").read_text() == "text\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("emit", "model.py"), "'model.py' is not FILE.py:FUNC, such as model.py:loss."),
        (("emit", "none.py:f"), "none.py cannot be read: No such file or directory."),
        (("emit", "model.py:f"), "model.py has no function `f`; it has: loss."),
        (("emit", "bad.py:f"), "bad.py:1:5: invalid syntax."),
        (("emit", "model.py:loss", "--wrt", ","), "--wrt names no argument."),
        (("emit", "model.py:loss", "-o", "no/out.py"), "no/out.py cannot be written: No such"),
        (("check", "model.py:loss"), "Missing option '--args'."),
        (("check", "model.py:loss", "--args", "1,,"), "--args '1,,': SyntaxError: "),
        (("check", "model.py:loss", "--args", "y"), "NameError: name 'y' is not defined"),
    ],
)
def test_bad_input_is_a_usage_error(run, emit_text, tmp_path, words, sentence):
    (tmp_path / "bad.py").write_text("def :\n")
    result = run(*words)
    assert result.exit_code == 2
    assert sentence in result.output
    assert not emit_text or "out.py" in sentence


def test_derivative_error_is_shown_with_its_frame(run, monkeypatch):
    def emit_text(file, *_):
        raise UnsupportedSyntaxError("no", Span(file, 5, 4, 5, 10, "loss"), "Do this.")

    fake = types.ModuleType("s2sad.api.standalone")
    fake.emit_text = emit_text
    monkeypatch.setitem(sys.modules, "s2sad.api.standalone", fake)
    result = run("emit", "model.py:loss")
    assert result.exit_code == 1
    assert result.output == (
        "UnsupportedSyntaxError: no\n  --> model.py:5:5 in `loss`\n"
        "5 |     return np.sum(x**2) * k\n  |     ^^^^^^\nDo this.\n"
    )


def test_check_agrees_and_disagrees(run, monkeypatch):
    seen = []
    monkeypatch.setattr(s2sad, "check_grads", lambda f, args, order: seen.append((f(*args), order)), raising=False)
    result = run("check", "model.py:loss", "--args", "np.ones(3), 2.0", "--order", "2")
    assert (result.exit_code, seen) == (0, [(6.0, 2)])

    def mismatch(*_, **__):
        raise AssertionError("argument x: 1.0 against 2.0")

    monkeypatch.setattr(s2sad, "check_grads", mismatch, raising=False)
    result = run("check", "model.py:loss", "--args", "np.ones(3), 2.0")
    assert result.exit_code == 1
    assert result.output == "model.py: `loss`: argument x: 1.0 against 2.0\n"


def test_users_own_error_is_located(run, tmp_path):
    (tmp_path / "fails.py").write_text("def f(x):\n    return x\n\n\n1 / 0\n")
    result = run("check", "fails.py:f", "--args", "1.0")
    assert result.exit_code == 2
    assert result.output == "fails.py:5: ZeroDivisionError: division by zero\n"


def test_cache_commands(run, tmp_path):
    assert "0 derivatives, 0 compiled, 0 bytes" in run("cache", "info").output
    assert run("doctor").exit_code == 0
    assert "1 derivatives, 1 compiled" in run("cache", "info").output
    assert run("cache", "verify").output == "every file is whole\n"
    (source,) = (tmp_path / "cache").glob("*.py")
    source.write_text("damaged")
    result = run("cache", "verify")
    assert result.exit_code == 1
    assert result.output.startswith(f"{source}: damaged, removed")
    assert run("cache", "clear").output == "1 files removed\n"


def test_cache_of_others_is_one_sentence(run, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    result = run("cache", "info")
    assert result.exit_code == 1
    assert result.output.startswith("CacheError: the cache directory")
    assert run("doctor").exit_code == 1


def test_emit_for_real(run, tmp_path):
    result = run("emit", "model.py:loss", "--mode", "vjp", "--wrt", "x,k", "-o", "out.py")
    assert (result.exit_code, result.output) == (0, "")
    space = {}
    exec((tmp_path / "out.py").read_text(), space)
    value, x_bar, k_bar = space["loss_vjp"](np.array([1.0, 2.0]), 3.0, 1.0)
    assert (value, x_bar.tolist(), k_bar) == (15.0, [6.0, 12.0], 5.0)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--types", "f8[:]"), "`f8[:]` has 1 types for 2 parameters: x, k"),
        (("--types", "what, f8"), "`what` is no type of numbers"),
        (("--wrt", "z"), "`loss` has no parameter `z`"),
    ],
)
def test_emit_refuses_in_one_sentence(run, words, sentence):
    result = run("emit", "model.py:loss", *words)
    assert result.exit_code == 1
    assert sentence in result.output


def test_check_for_real(run, tmp_path):
    result = run("check", "model.py:loss", "--args", "np.linspace(0, 1, 4), 0.5", "--order", "2")
    assert result.output == "model.py: `loss`: forward and reverse agree with finite differences\n"
    assert result.exit_code == 0
    (tmp_path / "kink.py").write_text("def f(x):\n    return abs(x)\n")
    result = run("check", "kink.py:f", "--args", "0.0")
    assert result.exit_code in (0, 1)
    result = run("check", "model.py:loss", "--args", "1, 2")
    assert result.exit_code == 1
    assert result.output.startswith("ArgumentError: check_grads was given no argument")


@pytest.mark.parametrize("words", [(), ("emit",), ("check",)])
def test_help_has_examples(run, words):
    result = run(*words, "--help")
    assert result.exit_code == 0
    assert "s2sad emit model.py:loss" in result.output or "s2sad check" in result.output


def test_runs_as_a_module(run, tmp_path):
    words = [sys.executable, "-m", "s2sad", "emit", "model.py:loss"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "def loss_grad(x, k):" in done.stdout
    done = subprocess.run([*words[:-1], "x.py:f"], capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
