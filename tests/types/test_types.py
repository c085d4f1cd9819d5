"""Type checkers see the right signatures, and find the mistakes."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import s2sad

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def report(checker, file):
    """Return the lines of the file that the checker complains of, and all that it says."""
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    words = {
        "pyright": ["--pythonpath", sys.executable],
        "mypy": ["--ignore-missing-imports", "--follow-imports=silent", "--cache-dir=/dev/null"],
    }
    command = [sys.executable, "-m", checker, *words[checker], str(HERE / file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    found = re.findall(rf"{file}:(\d+)(?::\d+)?(?: -|:) error", done.stdout)
    return {int(line) for line in found}, done.stdout + done.stderr


@pytest.mark.parametrize("checker", ["pyright", "mypy"])
def test_types_are_the_expected_ones(checker):
    lines, said = report(checker, "reveals.py")
    assert not lines, said
    assert re.search("0 errors|Success|no issues", said), said


@pytest.mark.parametrize("checker", ["pyright", "mypy"])
def test_mistakes_are_found(checker):
    lines, said = report(checker, "mistakes.py")
    text = (HERE / "mistakes.py").read_text().splitlines()
    assert lines == {number for number, line in enumerate(text, 1) if line.endswith("# wrong")}, said


def test_the_package_says_that_it_is_typed():
    assert (Path(s2sad.__file__).parent / "py.typed").exists()
