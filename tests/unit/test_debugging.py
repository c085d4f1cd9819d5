"""Stepping through derivatives: pdb, gdb, editors, kept intermediates, the first value that is not finite."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import s2sad
from s2sad.errors import ArgumentError


def steps(x, k):
    total = 0.0
    for i in range(x.size):
        y = k * x[i]
        total += y * np.sqrt(y)
    return total


X = np.array([1.0, 4.0])


def test_every_intermediate_is_kept():
    f = s2sad.differentiate(argnums=("x", "k"), debug=True)(steps)
    x_bar, k_bar = f.grad(X, 1.0)
    np.testing.assert_allclose(x_bar, 1.5 * np.sqrt(X))
    assert k_bar == pytest.approx(np.sum(1.5 * X**1.5))
    kept = f.intermediates
    assert kept.of("y") == [1.0, 4.0]
    assert kept.of("y_bar") == pytest.approx([1.5, 3.0])
    assert len(kept) == len(kept.steps) > 6
    step = next(step for step in kept.steps if step.name == "y_bar")
    assert step.source.startswith("y_bar = ")
    assert (step.span.file, step.span.text().strip()) == (__file__, "total += y * np.sqrt(y)")
    assert f"y_bar = {step.value:.6g}" in str(kept)
    assert f(X, 1.0) == 9.0
    assert f.intermediates.of("total") == [0.0, 1.0, 9.0]


def test_kept_arrays_are_copies():
    @s2sad.differentiate(debug=True)
    def write(x):
        y = x.copy()
        y[0] = 2.0 * y[0]
        y[1] = y[0] * y[1]
        return y[1]

    np.testing.assert_allclose(write.grad(np.array([3.0, 5.0])), [10.0, 6.0])
    first = write.intermediates.of("y")
    assert first[0].tolist() == [3.0, 5.0]
    assert len({values.tobytes() for values in first}) > 1


def test_the_first_value_that_is_not_finite_stops_it():
    f = s2sad.differentiate(debug=True)(steps)
    with pytest.raises(FloatingPointError) as caught:
        f.grad(np.array([1.0, -1.0]), 1.0)
    text = str(caught.value)
    assert "the derivative of `steps` is not finite: `sqrt_y` becomes nan" in text
    assert "total += y * np.sqrt(y)" in text
    assert f"{__file__}:" in text
    assert sys.gettrace() is None


def test_what_a_return_computes_is_kept_and_looked_at_too():
    f = s2sad.differentiate(debug=True)(lambda x: np.sum(np.sqrt(x)))
    f.grad(X)
    assert [value.tolist() for value in f.intermediates.of("result")] == [[0.5, 0.25]]
    with pytest.raises(FloatingPointError, match=r"`result` becomes \[ +inf 0.288675\](.|\n)*np.sqrt\(x\)"):
        f.grad(X - 1.0)


def test_nothing_is_kept_without_debug():
    f = s2sad.differentiate(target="python")(steps)
    f.grad(X, 1.0)
    with pytest.raises(ArgumentError, match="nothing that `steps` computed was kept"):
        _ = f.intermediates
    with pytest.raises(ArgumentError, match="debug='lldb' is not known"):
        s2sad.differentiate(debug="lldb")


PROGRAM = """\
import numpy as np
import s2sad

@s2sad.custom_vjp
def double(y):
    return 2.0 * y

def forward(y):
    return 2.0 * y, None

def backward(kept, bar):
    return (2.0 * bar,)

double.defvjp(forward, backward)

@s2sad.differentiate(target="python")
def steps(x, k):
    total = 0.0
    for i in range(x.size):
        y = k * x[i]
        total += double(y) * y
    return total

x = np.array([1.0, 4.0])
view = steps.derivative("grad", types=(x, 1.0))
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Write the program, and return the file of its derivative and the line of a statement in it."""
    monkeypatch.setenv("S2SAD_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def write(text, statement):
        (tmp_path / "program.py").write_text(text + "print(view.path)\n")
        done = subprocess.run([sys.executable, "program.py"], capture_output=True, text=True, check=True)
        file = done.stdout.strip()
        (tmp_path / "program.py").write_text(text + "result = view(x, 1.0)\n")
        with open(file) as lines:
            return file, max(n for n, line in enumerate(lines, 1) if line.strip() == statement)

    return write


def test_pdb_goes_from_a_rule_to_the_derivative_to_the_users_code(program):
    file, line = program(PROGRAM, "return 2.0 * bar")
    commands = f"b {file}:{line}\nc\np ('bar', bar)\nw\ncl 1\nr\nn\nn\nn\nn\np ('y_bar', y_bar)\nr\nn\np ('i', i)\nq\n"
    words = [sys.executable, "-m", "pdb", "program.py"]
    said = subprocess.run(words, input=commands, capture_output=True, text=True, timeout=120, check=False).stdout
    assert f"Breakpoint 1 at {file}:{line}" in said
    assert "('bar', " in said
    assert "backward()" in said
    assert re.search(rf"{file}\(\d+\)steps_grad\(\)", said)
    assert re.search(r"program\.py\(\d+\)<module>\(\)", said)
    assert "('y_bar', " in said


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_gdb_steps_through_compiled_lines(program):
    file, line = program(PROGRAM.replace('target="python"', 'debug="gdb"'), "x_bar[i] = k * y_bar")
    commands = ["set breakpoint pending on", f"break {file}:{line}", "run program.py", "next", "next", "info locals"]
    words = ["gdb", "-q", "-batch", *(word for command in commands for word in ("-ex", command)), sys.executable]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    said = done.stdout + done.stderr
    if "ptrace" in said:
        pytest.skip("this system lets no debugger run")
    assert re.search(rf"at {file.rpartition('/')[2]}:{line}\n{line}\s+x_bar\[i\] = k \* y_bar", said), said
    assert re.search(r"\d+\s+for i in range\(x.size\):", said), said
    assert "total_bar = 1" in said


class _Adapter:
    """As much of the debug adapter protocol as a launch needs."""

    def __init__(self):
        words = [sys.executable, "-m", "debugpy.adapter"]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.count = 0

    def send(self, command, **arguments):
        self.count += 1
        message = {"seq": self.count, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(message).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def wait(self, kind, name):
        while True:
            size = 0
            while (line := self.process.stdout.readline().strip()) or not size:
                assert line or self.process.poll() is None, "the adapter has gone"
                if line.lower().startswith(b"content-length:"):
                    size = int(line.split(b":")[1])
            message = json.loads(self.process.stdout.read(size))
            if message["type"] == kind and message.get("event", message.get("command")) == name:
                return message.get("body") or {}


def test_an_editor_stops_in_the_derivative(program, tmp_path):
    pytest.importorskip("debugpy", reason="debugpy is not installed")
    file, line = program(PROGRAM.replace('(target="python")', ""), "x_bar[i] = k * y_bar")
    adapter = _Adapter()
    try:
        adapter.send("initialize", adapterID="debugpy", clientID="test")
        adapter.wait("response", "initialize")
        launch = {"program": str(tmp_path / "program.py"), "console": "internalConsole", "justMyCode": False}
        adapter.send("launch", **launch, env={"S2SAD_DISABLE_JIT": "1"}, cwd=str(tmp_path))
        adapter.wait("event", "initialized")
        adapter.send("setBreakpoints", source={"path": file}, breakpoints=[{"line": line}])
        adapter.wait("response", "setBreakpoints")
        adapter.send("configurationDone")
        thread = adapter.wait("event", "stopped")["threadId"]
        adapter.send("stackTrace", threadId=thread)
        frames = adapter.wait("response", "stackTrace")["stackFrames"]
    finally:
        adapter.process.kill()
        adapter.process.wait()
    assert (frames[0]["name"], frames[0]["line"], frames[0]["source"]["path"]) == ("steps_grad", line, file)
    assert any(frame["source"]["path"].endswith("program.py") for frame in frames[1:])
