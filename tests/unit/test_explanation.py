"""Why a derivative is as it is: in the report's objects, in the terminal, on the page."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner
from rich.console import Console

from s2sad.api.comparison import Compared
from s2sad.api.requested import explain_file
from s2sad.api.wording import ranges
from s2sad.cli import main
from s2sad.errors import ArgumentError
from s2sad.report.page import page
from s2sad.report.terminal import show

MODEL = '''import numpy as np


def decay(y, k):
    rates = np.zeros(3)
    for i in range(3):
        rates[i] = k * y[i]
    return rates


def loss(y0, k, target):
    y = y0
    n = target.size
    unused = k * 2.0
    level = np.floor(k)
    total = 0.0
    for i in range(n):
        y = y - 0.1 * k * y * np.exp(-y)
        jump = y - target[i]
        if jump > level:
            total += jump**2
    return total


def smooth(u, k):
    v = u.copy()
    w = decay(v, k)
    for i in range(1, v.size):
        v[i] = np.sin(v[i] * v[i - 1]) * k
    return np.sum(v * v) + np.sum(w)
'''


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return str(path)


def by_text(part):
    return {line.text.strip(): line for line in part.lines}


def test_lines_say_whether_and_why(model):
    explained = explain_file(model, "loss", "vjp", ("y0", "k"))
    assert (explained.function, explained.inputs, explained.mode) == ("loss", ("y0", "k"), "vjp")
    (part,) = explained.parts
    lines = by_text(part)
    assert lines["total += jump**2"].state == "active"
    assert lines["for i in range(n):"].state == ""
    why = {text: line.why for text, line in lines.items() if line.state == "inactive"}
    assert why == {
        "n = target.size": "`n` is whole",
        "unused = k * 2.0": "the result does not depend on `unused`",
        "level = np.floor(k)": "`level` does not depend on `y0`, `k`",
    }


def test_reasons_name_only_what_the_line_names(tmp_path):
    path = tmp_path / "pair.py"
    path.write_text(
        "def pair(a):\n    return a, 2.0 * a\n\n\n"
        "def loss(x, k):\n    s, t = pair(k)\n    return x * s * t\n"
    )
    lines = by_text(explain_file(str(path), "loss", "vjp", ("x",)).parts[0])
    assert lines["s, t = pair(k)"].why == "`s`, `t` do not depend on `x`"


def test_lines_say_what_is_saved_and_why(model):
    (part,) = explain_file(model, "loss", "vjp", ("y0", "k")).parts
    lines = by_text(part)
    step = lines["y = y - 0.1 * k * y * np.exp(-y)"]
    saved, result = step.saved
    assert (saved.place, saved.tape, saved.cost()) == ("y", "y_tape", "8 bytes per iteration")
    assert saved.why == f"overwritten here, and read by the adjoint of line {step.number}"
    assert (result.place, result.tape, result.cost()) == ("exp", "exp_tape", "8 bytes per iteration")
    assert result.why == f"long to compute again, and read by the adjoint of line {step.number}"
    assert sum(len(line.saved) for line in part.lines) == 2
    assert lines["jump = y - target[i]"].again == ("jump",)


def test_a_loop_says_what_its_iterations_begin_with(tmp_path):
    path = tmp_path / "steps.py"
    path.write_text(
        "import math\n\nimport numpy as np\n\n\ndef steps(x, e):\n    y = x\n    for _ in range(40):\n"
        "        step = (y - e * math.sin(y) - x) / (1.0 - e * math.cos(y))\n"
        "        if step > 0.5:\n            step = 0.5 * step\n        y -= step\n"
        "        if abs(step) < 1e-14:\n            break\n    return y\n"
    )
    lines = by_text(explain_file(str(path), "steps", "grad", ("x", "e")).parts[0])
    (state,) = lines["for _ in range(40):"].saved
    assert (state.place, state.tape, state.cost()) == ("y", "y_tape", "8 bytes per iteration")
    assert state.why == "each iteration begins with it, and is run again before its reverse"
    (decided,) = lines["if step > 0.5:"].saved
    assert (decided.tape, decided.why) == ("step_holds_tape", "decided here in the first run")


def test_lines_know_what_they_became(model):
    explained = explain_file(model, "loss", "vjp", ("y0", "k"))
    source = explained.source.splitlines()
    lines = by_text(explained.parts[0])
    became = [source[n - 1].strip() for n in lines["total += jump**2"].emitted]
    assert became == ["total += jump**2", "# total += jump**2", "jump_bar = 2 * jump * result_bar"]
    tapes = [source[n - 1].strip() for n in lines["y = y - 0.1 * k * y * np.exp(-y)"].emitted]
    assert {"y_tape = np.empty(n)", "y_tape[i] = y", "y = y_tape[i]"} <= set(tapes)


def test_flows_go_from_readers_to_makers(model):
    (part,) = explain_file(model, "loss", "vjp", ("y0", "k")).parts
    lines = by_text(part)
    jump, step = lines["jump = y - target[i]"].number, lines["y = y - 0.1 * k * y * np.exp(-y)"].number
    flows = {(flow.name, flow.reads, flow.makes) for flow in part.flows}
    assert ("y", jump, step) in flows
    assert ("k", step, part.lines[0].number) in flows
    assert not any(name in ("n", "unused", "level") for name, _, _ in flows)


def test_functions_that_are_called_have_their_part(model):
    explained = explain_file(model, "smooth", "grad", ("u", "k"))
    assert [part.name for part in explained.parts] == ["smooth", "decay"]
    assert by_text(explained.parts[1])["rates[i] = k * y[i]"].state == "active"
    assert by_text(explained.parts[0])["v[i] = np.sin(v[i] * v[i - 1]) * k"].saved[0].place == "v[i]"


def test_what_each_call_of_a_recursion_keeps_is_told(tmp_path):
    path = tmp_path / "chain.py"
    path.write_text("import math\n\n\ndef chain(x, n):\n    if n == 0:\n        return x\n"
                    "    v = chain(x, n - 1)\n    return math.sin(v) * x\n")  # fmt: skip
    told = explain_file(str(path), "chain", types="float64, int64")
    (part,) = told.parts
    assert part.name == "chain"
    (saved,) = [item for line in part.lines for item in line.saved]
    assert (saved.place, saved.tape) == ("v", "v_tape")
    assert "each call has its own" in saved.why


def test_forward_mode_saves_nothing_to_tell_of(model):
    with pytest.raises(ArgumentError, match="`jvp` cannot be explained"):
        explain_file(model, "loss", "jvp")


def test_ranges():
    assert ranges([4, 7, 8, 9, 12]) == "4, 7-9, 12"
    assert ranges([]) == ""


def test_the_terminal_shows_it_all(model):
    out = io.StringIO()
    explained = explain_file(model, "loss", "vjp", ("y0", "k"))
    show(explained, Console(file=out, width=120), True, [Compared("k", 1.0, 1.0, 2.0)])
    text = out.getvalue()
    assert re.search(r"18 ●         y = y - 0.1 \* k \* y \* np.exp\(-y\) +▸ \d", text)
    assert "■ y is saved in y_tape, 8 bytes per iteration: overwritten here" in text
    assert re.search(r"14 ○     unused = k \* 2.0 +the result does not depend on `unused`", text)
    assert "↻ jump: computed again in the reverse sweep" in text
    assert "2 values saved" in text
    assert "18 ▸" in text
    assert "5.0e-01" in text


class _Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.lines, self.flows, self.addresses = {}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.addresses += [given[name] for name in ("src", "href") if name in given]
        if "line" in (given.get("class") or "").split():
            self.lines[given["id"]] = given
        if given.get("class") == "flow":
            self.flows.append(given)


def test_the_page_links_lines_both_ways_and_needs_no_network(model):
    explained = explain_file(model, "loss", "vjp", ("y0", "k"))
    text = page(explained, [Compared("k", 1.0, 1.0, 1.0)])
    found = _Page(text)
    assert all(address.startswith(("data:", "#")) for address in found.addresses)
    assert "http" not in text.replace("http://www.w3.org/", "")
    pairs = {(key, other) for key, line in found.lines.items() for other in line["data-links"].split()}
    assert pairs
    assert pairs == {(b, a) for a, b in pairs}
    assert {flow["data-from"] for flow in found.flows} <= set(found.lines)
    assert found.lines["p0-14"]["class"] == "line inactive"
    assert "does not depend" in found.lines["p0-14"]["data-note"]
    assert "8 bytes per iteration" in text
    assert "prefers-color-scheme: dark" in text
    assert '<th scope="row">k</th>' in text
    assert page(explained) != text
    assert page(explained) == page(explained)


def test_explain_on_the_command_line(model, tmp_path):
    words = ["explain", "model.py:loss", "--wrt", "y0,k", "--args", "0.5, 1.5, np.linspace(0, 1, 4)"]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    assert "in a random direction of each argument" in result.output
    assert CliRunner().invoke(main, [*words, "--html", "x.html"]).output == "x.html written: open it in a browser\n"
    assert (tmp_path / "x.html").read_text().startswith("<!doctype html>")
    told = json.loads(CliRunner().invoke(main, [*words, "--json"]).output)
    assert told["ok"]
    assert [check["argument"] for check in told["checks"]] == ["y0", "k"]
    assert told["parts"][0]["lines"][0]["text"] == "def loss(y0, k, target):"


def test_explain_fails_where_the_derivative_is_wrong(model, monkeypatch):
    monkeypatch.setattr("s2sad.api.comparison.compared", lambda *_: [Compared("k", 1.0, 1.0, 2.0)])
    result = CliRunner().invoke(main, ["explain", "model.py:loss", "--args", "0.5, 1.5, np.ones(2)"])
    assert result.exit_code == 1


ODD = """
import numpy as np


def odd(x, k):
    label = f"run {k}"
    last = 0.0
    for i, v in enumerate(x):
        y = v * k
        if y > 1.0:
            y = 1.0 / k
        last = last * y + y
        x[i] = y * last
    return np.sum(x)
"""


def test_every_inactive_line_says_why(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.py").write_text(ODD)
    (part,) = explain_file("odd.py", "odd", "vjp", ("x",)).parts
    inactive = [line for line in part.lines if line.state == "inactive"]
    assert {line.text.strip() for line in inactive} >= {'label = f"run {k}"', "if y > 1.0:"}
    assert all(line.why for line in inactive)
    for line in part.lines:  # what stands in no line of the user's is no name to tell
        assert all(name in line.text for name in line.again), line
    costs = [item.cost() for line in part.lines for item in line.saved]
    assert "1 byte per iteration" in costs


INLINED = """
import numpy as np


def shift(u, k):
    for i in range(1, u.size):
        u[i] = u[i - 1] * k + np.sin(u[i])
    return u


def chain(x, k):
    u = x.copy()
    a = u * k
    b = u * a
    c = u * b
    d = u * c
    e = u * d
    u = shift(u, k)
    return np.sum(u * e)
"""


def test_what_was_written_into_its_caller_is_told_of(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inlined.py").write_text(INLINED)
    explained = explain_file("inlined.py", "chain", "vjp", ("x", "k"))
    assert [part.name for part in explained.parts] == ["chain", "shift"]
    chain, shift = explained.parts
    assert [line.number for line in shift.lines] == [5, 6, 7]
    step = shift.lines[2]
    assert step.text.strip().startswith("u[i] = u[i - 1] * k")
    assert (step.state, [item.cost() for item in step.saved]) == ("active", ["8 bytes per iteration"])
    assert step.emitted
    call = next(line for line in chain.lines if "shift(" in line.text)
    assert call.why == "`shift`: written out here, and told of below"
    for part in explained.parts:
        numbers = {line.number for line in part.lines}
        assert all({flow.reads, flow.makes} <= numbers for flow in part.flows)
    assert "lines 7, 14-17" in step.saved[0].why or "lines 7, 13-17" in step.saved[0].why
    text = page(explained)
    assert "<h2>shift" in text
