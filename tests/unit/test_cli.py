"""The command line: one located sentence for bad input, and the right exit status."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import time
import types

import numpy as np
import pytest
from click.testing import CliRunner

from s2sad.cli import main, output
from s2sad.cli.target import evaluate
from s2sad.errors import Span, UnsupportedSyntaxError, VerifyError

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
def made(monkeypatch):
    """Stand in for the compiler; the list fills with what it was asked for."""
    calls = []

    def standalone(*args):
        calls.append(args)
        return types.SimpleNamespace(text="text\n", requests=())

    fake = types.ModuleType("s2sad.api.standalone")
    fake.standalone = standalone
    monkeypatch.setitem(sys.modules, "s2sad.api.standalone", fake)
    return calls


def test_emit_passes_its_options_on(run, made):
    result = run("emit", "model.py:loss", "--mode", "vjp", "--wrt", "x, k", "--types", "f8[:], f8")
    assert (result.exit_code, result.output) == (0, "text\n")
    assert made == [("model.py", ("loss",), "vjp", ("x", "k"), "f8[:], f8", False, False, None, None, evaluate)]


def test_emit_writes_a_file(run, made, tmp_path):
    assert run("emit", "model.py:loss", "-o", "out.py").exit_code == 0
    assert (tmp_path / "out.py").read_text() == "text\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("emit", "model.py"), "'model.py' is not FILE.py:FUNC[,FUNC...], such as model.py:loss."),
        (("check", "model.py:loss,loss", "--args", "1"), "names 2 functions; one is wanted."),
        (("emit", "none.py:f"), "none.py cannot be read: No such file or directory."),
        (("emit", "model.py:f"), "model.py has no function `f`; it has: loss."),
        (("emit", "bad.py:f"), "bad.py:1:5: invalid syntax."),
        (("emit", "model.py:loss", "--wrt", ","), "--wrt names no argument."),
        (("emit", "model.py:loss", "-o", "no/out.py"), "no/out.py cannot be written: No such"),
        (("emit", "model.py:loss", "--diff"), "--diff and --verify compare with a file: name it with -o."),
        (("emit", "model.py:loss", "-o", "no.py", "--verify"), "no.py cannot be read: No such"),
        (("emit", "model.py:loss", "--check"), "--check needs --args."),
        (("check", "model.py:loss"), "Missing option '--args'."),
        (("check", "model.py:loss", "--args", "1,,"), "--args '1,,': SyntaxError: "),
        (("check", "model.py:loss", "--args", "y"), "NameError: name 'y' is not defined"),
        (("check", "model.py:loss", "--args", "1.0"), "TypeError: missing a required argument: 'k'"),
        (("verify", "model.py"), "model.py names no command of s2sad in its docstring."),
        (("explain", "model.py:loss", "--html", "no/x.html"), "no/x.html cannot be written: No such"),
        (("bench", "model.py:loss", "--args", "np.ones(2), 1.0", "--plot", "no/x.svg"), "no/x.svg cannot be written"),
    ],
)
def test_bad_input_is_a_usage_error(run, tmp_path, monkeypatch, words, sentence):
    monkeypatch.setenv("S2SAD_DISABLE_JIT", "1")
    (tmp_path / "bad.py").write_text("def :\n")
    result = run(*words)
    assert result.exit_code == 2
    assert sentence in result.output


def test_derivative_error_is_shown_with_its_frame(run, monkeypatch):
    def standalone(file, *_):
        raise UnsupportedSyntaxError("no", Span(file, 5, 4, 5, 10, "loss"), "Do this.")

    fake = types.ModuleType("s2sad.api.standalone")
    fake.standalone = standalone
    monkeypatch.setitem(sys.modules, "s2sad.api.standalone", fake)
    result = run("emit", "model.py:loss")
    assert result.exit_code == 1
    assert result.output == (
        "UnsupportedSyntaxError: no\n  --> model.py:5:5 in `loss`\n"
        "5 |     return np.sum(x**2) * k\n  |     ^^^^^^\nDo this.\n"
    )
    result = run("emit", "model.py:loss", "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["ok"], told["error"]["line"], told["error"]["column"]) == (1, False, 5, 5)


def test_a_bug_of_ours_is_called_one(run, monkeypatch):
    monkeypatch.setattr("s2sad.api.requested.derive", None)
    result = run("emit", "model.py:loss")
    assert result.exit_code == 3
    assert "internal error at api/requested.py:" in result.output
    assert "TypeError: 'NoneType' object is not callable\nThis is a bug in s2sad, not in your program." in result.output
    monkeypatch.setenv("S2SAD_TRACEBACK", "1")
    result = CliRunner().invoke(main, ["emit", "model.py:loss"])
    assert isinstance(result.exception, TypeError)


def test_an_unsound_program_is_a_bug_of_ours(run, monkeypatch):
    def derive(*_):
        raise VerifyError("a name without a value")

    monkeypatch.setattr("s2sad.api.requested.derive", derive)
    assert run("emit", "model.py:loss").exit_code == 3


def test_check_agrees_and_disagrees(run, monkeypatch):
    seen = []

    def agree(f, args, order, **_):
        seen.append((f(*args), order))

    monkeypatch.setattr("s2sad.api.check.check_grads", agree)
    result = run("check", "model.py:loss", "--args", "np.ones(3), k=2.0", "--order", "2")
    assert (result.exit_code, seen) == (0, [(6.0, 2)])

    def mismatch(*_, **__):
        raise AssertionError("argument x: 1.0 against 2.0")

    monkeypatch.setattr("s2sad.api.check.check_grads", mismatch)
    result = run("check", "model.py:loss", "--args", "np.ones(3), 2.0")
    assert result.exit_code == 1
    assert result.output == "model.py: `loss`: argument x: 1.0 against 2.0\n"
    result = run("check", "model.py:loss", "--args", "np.ones(3), 2.0", "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["ok"], told["message"]) == (1, False, "argument x: 1.0 against 2.0")


def test_users_own_error_is_located(run, tmp_path):
    (tmp_path / "fails.py").write_text("def f(x):\n    return x\n\n\n1 / 0\n")
    result = run("check", "fails.py:f", "--args", "1.0")
    assert result.exit_code == 2
    assert result.output == "fails.py:5: ZeroDivisionError: division by zero\n"
    (tmp_path / "later.py").write_text("def f(x):\n    return x[3]\n")
    result = run("check", "later.py:f", "--args", "np.ones(2)")
    assert result.exit_code == 2
    assert result.output.startswith("later.py:2: IndexError: index 3 is out of bounds")


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
    assert result.exit_code == 2
    assert sentence in result.output


def test_check_for_real(run, tmp_path):
    result = run("check", "model.py:loss", "--args", "np.linspace(0, 1, 4), 0.5", "--order", "2")
    assert result.output == "model.py: `loss`: forward and reverse agree with finite differences\n"
    assert result.exit_code == 0
    (tmp_path / "kink.py").write_text("def f(x):\n    return abs(x)\n")
    result = run("check", "kink.py:f", "--args", "0.0")
    assert result.exit_code in (0, 1)
    result = run("check", "model.py:loss", "--args", "1, 2")
    assert result.exit_code == 2
    assert result.output.startswith("ArgumentError: check_grads was given no argument")


def test_emit_verify_diff_and_check(run, tmp_path):
    order = ("emit", "model.py:loss", "--wrt", "x,k", "-o", "out.py")
    assert run(*order, "--check", "--args", "np.ones(3), 0.5").exit_code == 0
    assert run(*order, "--verify").output == "out.py is up to date\n"
    assert run(*order, "--diff").output.strip() == ""
    assert run("verify", "out.py").output == "1 up to date\n"
    (tmp_path / "model.py").write_text(MODEL.replace("x**2", "x**3"))
    stale = run("verify", "out.py")
    assert stale.exit_code == 1
    assert stale.output.startswith("out.py is stale. To write it again: s2sad emit model.py:loss --mode grad")
    assert run(*order, "--verify").exit_code == 1
    result = run(*order, "--diff")
    assert result.exit_code == 1
    assert "--- out.py" in result.output
    assert "-    return 2 * x * k, np.sum(x**2)\n+    return 3 * x**2 * k, np.sum(x**3)" in result.output
    assert "x**3" not in (tmp_path / "out.py").read_text()


def test_emit_finds_a_wrong_derivative_before_it_is_written(run, tmp_path, monkeypatch):
    from s2sad.api import standalone

    right = standalone._module
    monkeypatch.setattr(standalone, "_module", lambda *args: right(*args).replace("2", "3"))
    result = run("emit", "model.py:loss", "-o", "out.py", "--check", "--args", "np.ones(3), 0.5")
    assert result.exit_code == 1
    assert "the derivative of `loss` is wrong in a random direction" in result.output
    assert not (tmp_path / "out.py").exists()


@pytest.mark.parametrize("mode", ["grad", "value_and_grad", "jvp", "vjp", "fwd-bwd"])
def test_emit_of_several_functions(run, tmp_path, mode):
    (tmp_path / "two.py").write_text(MODEL + "\n\ndef sharp(x, k):\n    return np.sum(np.tanh(k * x))\n")
    result = run("emit", "two.py:loss,sharp", "--mode", mode, "-o", "out.py", "--check", "--args", "np.ones(3), 0.5")
    assert (result.exit_code, result.output) == (0, "")
    text = (tmp_path / "out.py").read_text()
    entry = mode if mode != "fwd-bwd" else "bwd"
    assert f"def loss_{entry}(" in text
    assert f"def sharp_{entry}(" in text
    assert run("verify", "out.py").exit_code == 0


def test_json_of_every_command(run, tmp_path):
    for words in (
        ("emit", "model.py:loss"),
        ("emit", "model.py:loss", "-o", "out.py"),
        ("verify", "out.py"),
        ("explain", "model.py:loss", "--args", "np.ones(3), 0.5"),
        ("cache", "info"),
        ("cache", "verify"),
        ("cache", "clear"),
        ("doctor",),
    ):
        result = run(*words, "--json")
        assert result.exit_code == 0, (words, result.output)
        assert isinstance(json.loads(result.stdout), dict), words


def test_bench_measures_and_draws(run, tmp_path, monkeypatch):
    monkeypatch.setattr("s2sad.api.cost._ROUND", 1e-5)
    words = ("bench", "model.py:loss", "--args", "np.ones(10), 2.0", "--target", "python", "--plot", "times.svg")
    told = json.loads(run(*words, "--json").stdout)
    assert min(told["primal"], told["tangent"], told["gradient"]) > 0
    assert told["kept"] == 0
    assert "<svg" in (tmp_path / "times.svg").read_text()
    assert "times the function" in run(*words).output


def test_bench_refuses_whole_numbers(run):
    result = run("bench", "model.py:loss", "--args", "np.arange(3), 2.0")
    assert result.exit_code == 1
    assert "`x` is an int64 array of rank 1, which has no gradient" in result.output


def test_kept_bytes_are_those_of_the_tape(run, tmp_path, monkeypatch):
    monkeypatch.setattr("s2sad.api.cost._ROUND", 1e-5)
    text = "def f(x, n):\n    for i in range(n):\n        x = x * x + 0.1\n    return x\n"
    (tmp_path / "power.py").write_text(text)
    words = ("bench", "power.py:f", "--args", "0.5, 100", "--target", "python", "--json")
    assert 800 <= json.loads(run(*words).stdout)["kept"] <= 816


def test_names_of_the_module_are_known_to_args(run, tmp_path):
    (tmp_path / "data.py").write_text(MODEL + "\n\nX = np.linspace(0.0, 1.0, 4)\n")
    assert run("check", "data.py:loss", "--args", "X, 2.0").exit_code == 0


COMMANDS = [
    (), ("emit",), ("explain",), ("check",), ("bench",), ("verify",), ("cache",), ("cache", "info"),
    ("cache", "clear"), ("cache", "verify"), ("doctor",), ("completion",),
]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS)
def test_help_has_examples(run, words):
    result = run(*words, "--help")
    assert result.exit_code == 0
    assert re.search(r"Examples?:\n", result.output)
    assert f"  s2sad {' '.join(words)}" in result.output or words == ("completion",)


def test_exit_statuses_are_documented(run):
    assert all(f"\n    {status}  " in run("--help").output for status in (0, 1, 2, 3))


def test_completion(run, tmp_path):
    for shell in ("bash", "zsh", "fish"):
        assert "_S2SAD_COMPLETE" in run("completion", shell).output
    cases = {"s2sad ex": "explain", "s2sad emit model.py:lo": "model.py:loss"}
    for typed, offered in cases.items():
        completing = {"_S2SAD_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
        words = [sys.executable, "-c", "from s2sad.cli import main; main(prog_name='s2sad')"]
        env = {**os.environ, **completing}
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path, env=env)
        assert offered in done.stdout, (typed, done)


class _Screen(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


@pytest.mark.parametrize(
    ("terminal", "patience", "shown"), [(True, 0.01, True), (True, 9.0, False), (False, 0.01, False)]
)
def test_what_takes_long_is_shown_to_those_who_watch(monkeypatch, terminal, patience, shown):
    screen = _Screen(terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(output, "_PATIENCE", patience)
    monkeypatch.setenv("TERM", "xterm")
    with output.working("differentiating"):
        time.sleep(0.3)
    assert ("differentiating" in screen.getvalue()) == shown


def test_runs_as_a_module(run, tmp_path):
    words = [sys.executable, "-m", "s2sad", "emit", "model.py:loss"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "def loss_grad(x: NDArray[np.float64], k: float) -> NDArray[np.float64]:" in done.stdout
    done = subprocess.run([*words[:-1], "x.py:f"], capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 2


def test_version(run, monkeypatch):
    assert re.match(r"s2sad, version (\d|unknown)", run("--version").output)
    monkeypatch.setattr("s2sad.cli.group.version_of", lambda package: "")
    assert run("--version").output == "s2sad, version unknown: it runs from a folder, and is not installed\n"


def test_what_is_passed_by_keyword_only(run, tmp_path):
    (tmp_path / "keys.py").write_text("def f(x, *, cubed=False):\n    return x**3 if cubed else x**2\n")
    for words in (("check",), ("bench", "--target", "python"), ("explain", "--no-source"), ("emit", "--check")):
        command, *more = words
        result = run(command, "keys.py:f", "--args", "2.0, cubed=True", *more)
        assert result.exit_code == 0, result.output
    assert "return 3 * x**2" in run("emit", "keys.py:f", "--args", "2.0, cubed=True").output
    assert "return 2 * x" in run("emit", "keys.py:f", "--args", "2.0").output


def test_explain_says_where_the_page_is_and_what_is_wrong(run, tmp_path):
    words = ("explain", "model.py:loss", "--args", "np.ones(3), 2.0", "--html", "page.html")
    assert run(*words).output == "page.html written: open it in a browser\n"
    assert '<span class="file">model.py</span>' in (tmp_path / "page.html").read_text()
    text = "import s2sad\n\n\n@s2sad.custom_vjp\ndef twice(x):\n    return 2.0 * x\n\n\n"
    text += "twice.defvjp(lambda x: (2.0 * x, None), lambda kept, bar: (3.0 * bar,))\n\n\n"
    (tmp_path / "wrong.py").write_text(text + "def f(x):\n    return twice(x) * 2.0\n")
    words = ("explain", "wrong.py:f", "--args", "1.0", "--mode", "vjp")
    for more in ((), ("--html", "page.html"), ("--json",)):
        result = run(*words, *more)
        assert result.exit_code == 1
        assert "wrong.py: `f`: the derivative by x is " in result.stderr
    assert 'class="bad"' in (tmp_path / "page.html").read_text()


def test_verify_says_where_it_has_to_be_run(run, tmp_path, monkeypatch):
    run("emit", "model.py:loss", "-o", "out.py")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    result = run("verify", "../out.py")
    assert result.exit_code == 2
    assert "../out.py is written by `s2sad emit model.py:loss" in result.output
    assert "Run verify in the folder where the file was written from." in result.output


def test_the_list_of_commands_is_not_cut_off(run):
    """Each command is told in a line of its own."""
    shown = run("--help").output
    assert "..." not in shown.partition("Commands:")[2].partition("Examples:")[0]
