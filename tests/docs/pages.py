"""The documentation as programs: what a page says to run is run, and what it says is printed is compared.

In a page, ` ```python ` is run, in the page's one namespace; ` ```python title="x.py" ` is written to
that file; ` ```console ` runs the lines after `$ ` and compares what they print with the lines below;
` ```text ` right after a block of Python is what that block prints. A line `...` stands for any lines.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from click.testing import CliRunner

from s2sad.cli import main

_FENCE = re.compile(r"^(?P<pad> *)```(?P<info>[^`\n]*)\n(?P<body>.*?)^(?P=pad)```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its title, its text, the line of the page where the text starts."""

    language: str
    title: str
    text: str
    line: int


class Compare(Protocol):
    """Compares what is printed with what the page says."""

    def __call__(self, got: str, expected: str, where: str) -> None:
        """Compare."""
        ...


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        language, _, rest = match["info"].strip().partition(" ")
        title = re.search(r'title="([^"]*)"', rest)
        lines = [line.removeprefix(match["pad"]) for line in match["body"].splitlines()]
        start = text.count("\n", 0, match.start("body")) + 1
        found.append(Block(language, title[1] if title else "", "\n".join(lines) + "\n", start))
    return found


def run(page: Path, update: bool = False) -> None:
    """Run a page in the current directory; raises AssertionError where it does not say the truth.

    With `update`, outputs without a line `...` are written into the page instead of compared.
    """
    found = blocks(page)
    space: dict[str, object] = {"__name__": "page"}
    program = _program(page, found)
    linecache.cache[page.name] = (len(program), None, program.splitlines(keepends=True), page.name)
    previous, printed = None, ""
    compare = _Rewriter(page) if update else same
    for block in found:
        where = f"{page.name}:{block.line}"
        if block.language == "python" and block.title:
            Path(block.title).write_text(block.text, encoding="utf-8")
            sys.modules.pop(Path(block.title).stem, None)
        elif block.language == "python":
            printed = execute(block, page.name, space)
        elif block.language == "console":
            console(block, where, compare)
        elif block.language == "text" and previous == "python":
            compare(printed, block.text, where)
        previous = block.language


def _program(page: Path, found: list[Block]) -> str:
    """Return the page's Python at its own lines, everything else left out."""
    lines = [""] * page.read_text(encoding="utf-8").count("\n")
    for block in found:
        if block.language == "python" and not block.title:
            own = block.text.splitlines()
            lines[block.line - 1 : block.line - 1 + len(own)] = own
    return "\n".join(lines) + "\n"


def execute(block: Block, file: str, space: dict[str, object]) -> str:
    """Run a block at its own lines of the page, and return what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile("\n" * (block.line - 1) + block.text, file, "exec"), space)
    return out.getvalue()


def console(block: Block, where: str, compare: Compare) -> None:
    """Run each command, and compare what it prints with the lines up to the next one."""
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
        words = shlex.split(command)
        assert words[0] == "s2sad", f"{where}: {command} is not run here"
        result = CliRunner().invoke(main, words[1:])
        if expected.strip():
            compare(result.output, expected, where)
        else:
            assert result.exit_code == 0, f"{where}: {command}: {result.output}"


def same(got: str, expected: str, where: str) -> None:
    """Compare two texts, in which trailing spaces do not count and a line `...` stands for any lines."""
    pattern = ""
    for line in expected.rstrip().splitlines():
        pattern += r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + r" *\n"
    assert re.fullmatch(pattern, _clean(got)), f"{where}: the page says\n{expected}\nbut it is\n{_clean(got)}"


def _clean(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.strip("\n").splitlines())


class _Rewriter:
    """Puts what is printed into the page, in place of what the page said."""

    def __init__(self, page: Path) -> None:
        self.page = page

    def __call__(self, got: str, expected: str, where: str) -> None:
        """Replace `expected`, unless part of it is left open."""
        if "..." in expected.splitlines():
            same(got, expected, where)
            return
        text = self.page.read_text(encoding="utf-8")
        self.page.write_text(text.replace(f"\n{expected}", f"\n{_clean(got)}", 1), encoding="utf-8")
