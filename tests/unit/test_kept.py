"""Derivatives kept on disk: found by the next process, never after something that they are made from has changed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HELPERS = """
FACTOR = 2.0
def scaled(x):
    return FACTOR * x
"""

MODEL = """
import numpy as np
import helpers
from helpers import scaled
POWER = 2
TABLE = {{"a": (1.0, 3)}}
SAMPLES = np.ones(2)
def given(k):
    def f(x):
        return k * x
    return f
inner = given(2.0)
def loss(x):
    return {body}
"""

RUN = """
import os, sys
import numpy as np
import s2sad, model
from s2sad.api import derive
made = []
if {watched}:
    derived = derive.derive
    derive.derive = lambda *args: made.append(1) or derived(*args)
{before}
print(float(s2sad.grad(model.loss, target="python")({argument})), len(made))
"""

LOADED = '"s2sad.frontend.lowerer" in sys.modules'
QUIET = RUN.replace("from s2sad.api import derive\n", "").replace("len(made)", LOADED)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "helpers.py").write_text(HELPERS)
    return tmp_path


def model(place: Path, body: str) -> None:
    (place / "model.py").write_text(MODEL.format(body=body))


def run(place: Path, before: str = "", argument: str = "3.0", program: str = RUN) -> tuple[float, str]:
    """Return the derivative that a fresh process finds, and how many derivations that took."""
    root = str(Path(__file__).parents[2])
    text = program.format(before=before, argument=argument, watched=True)
    done = subprocess.run(
        [sys.executable, "-B", "-c", text], capture_output=True, text=True, cwd=place, timeout=120,
        env=os.environ | {"PYTHONPATH": f"{root}{os.pathsep}{place}", "S2SAD_CACHE_DIR": str(place / "cache"),
                          "S2SAD_VERIFY": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    value, made = done.stdout.split()
    return float(value), made


def test_second_process_derives_nothing(place):
    model(place, "scaled(x) ** POWER + TABLE['a'][1] * x + inner(x) + helpers.FACTOR")
    assert run(place) == (29.0, "1")
    assert run(place) == (29.0, "0")


def test_second_process_does_not_load_the_compiler(place):
    model(place, "scaled(x)")
    quiet = QUIET.replace("if {watched}:\n", "if False:\n").replace("derived = derive.derive\n", "pass\n")
    assert run(place, program=quiet) == (2.0, "True")
    assert run(place, program=quiet) == (2.0, "False")


@pytest.mark.parametrize(
    ("body", "before", "value"),
    [
        ("scaled(x)", "import helpers; helpers.FACTOR = 5.0", 5.0),
        ("scaled(x)", "import helpers; model.scaled = model.given(7.0)", 7.0),
        ("helpers.scaled(x)", "import helpers; helpers.scaled = model.inner", 2.0),
        ("x ** POWER", "model.POWER = 3", 27.0),
        ("TABLE['a'][1] * x", "model.TABLE['a'] = (1.0, 4)", 4.0),
        ("inner(x)", "model.inner = model.given(6.0)", 6.0),
        ("np.sin(x)", "model.np = __import__('math')", -0.9899924966004454),
        ("abs(x) * 4.0", "model.abs = model.given(2.0)", 8.0),
        ("scaled(x)", "s2sad.defjvp(model.scaled, lambda p, t: (p[0] * 2.0, t[0] * 9.0))", 9.0),
    ],
)
def test_what_the_function_reads_has_changed(place, body, before, value):
    model(place, body)
    run(place)
    assert run(place, before)[0] == pytest.approx(value)
    assert run(place)[1] == "0"


def test_edited_helper_file(place):
    model(place, "scaled(x)")
    assert run(place)[0] == 2.0
    (place / "helpers.py").write_text(HELPERS.replace("FACTOR * x", "FACTOR * x * x"))
    assert run(place) == (12.0, "1")
    (place / "helpers.py").write_text(HELPERS)
    assert run(place) == (2.0, "0")


def test_other_argument_types(place):
    model(place, "x * x")
    assert run(place) == (6.0, "1")
    assert run(place, argument="np.float32(3.0)") == (6.0, "1")
    assert run(place, argument="np.float32(3.0)") == (6.0, "0")


@pytest.mark.parametrize(
    "body", ["x * SAMPLES.sum()", "x * getattr(helpers, 'FACTOR')", "x * Thing(2.0).a"] 
)
def test_what_cannot_be_told_in_words_is_derived_each_time(place, body):
    model(place, body)
    with (place / "model.py").open("a") as file:
        file.write("\nclass Thing:\n    def __init__(self, a):\n        self.a = a\n")
    assert run(place) == (2.0, "1")
    assert run(place) == (2.0, "1")


@pytest.mark.parametrize("kept", [0, 20, 60, 400])
def test_damaged_file_is_derived_again(place, kept):
    model(place, "scaled(x)")
    run(place)
    (file,) = (place / "cache").glob("*.derived")
    file.write_bytes(file.read_bytes()[:kept])
    assert run(place) == (2.0, "1")
    assert run(place) == (2.0, "0")


def test_errors_name_the_users_line_in_a_second_process(place):
    (place / "model.py").write_text("import numpy as np\ndef loss(x, k):\n    return np.array([x, x])[k]\n")
    program = """
import s2sad, model
try:
    s2sad.grad(model.loss, target="python")(1.0, 7)
except IndexError as error:
    print(error.__notes__[0].count("model.py:3"), "s2sad.frontend.lowerer" in __import__("sys").modules)
"""
    assert run(place, program=program) == (1.0, "True")
    assert run(place, program=program) == (1.0, "False")
