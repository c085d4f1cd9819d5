"""`s2sad emit`: the derivatives of functions in a file, as a module that stands alone."""

from __future__ import annotations

import ast
import re
import shlex
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from s2sad.api.derive import Derivative
from s2sad.api.inlining import inlined
from s2sad.api.reading import Read
from s2sad.api.requested import Requested, requested
from s2sad.emit.wrap import WIDTH
from s2sad.errors import CompileError

_WORDS = {
    "grad": "Gradient",
    "value_and_grad": "Value and gradient",
    "jvp": "Value and tangent",
    "vjp": "Value and adjoint",
    "fwd-bwd": "Forward and adjoint sweep",
}
_ORIGIN = {
    "given": "",
    "annotated": " (as annotated)",
    "default": " (as its default)",
    "use": " (taken from its use)",
}


@dataclass(frozen=True, slots=True)
class Standalone:
    """A module that stands alone.

    Attributes:
        text: its Python text.
        requests: the functions whose derivatives it holds.
    """

    text: str
    requests: tuple[Requested, ...]


def emit_text(file: str, functions: str | Sequence[str], *choices: Any, **named: Any) -> str:
    """Return the text of the module that `standalone` makes; the arguments are the same."""
    return standalone(file, functions, *choices, **named).text


def standalone(
    file: str,
    functions: str | Sequence[str],
    mode: str = "grad",
    wrt: Sequence[str] | None = None,
    types: str | None = None,
    runtime: bool = False,
    run: bool = False,
    output: str | None = None,
) -> Standalone:
    """Return a module that computes the derivatives of functions in `file`.

    Args:
        file: the user's file; it is parsed, and not run.
        functions: a function at its top level, or several.
        mode: "grad", "value_and_grad", "jvp", "vjp", or "fwd-bwd" for both sweeps apart.
        wrt: the names of the differentiated parameters; the first by default.
        types: a signature such as "float64[:], float64"; else annotations and use decide.
        runtime: import the helpers from `s2sad.runtime` instead of writing them out.
        run: import the file, so that whatever it computes at module level is known.
        output: where the text will be kept; only named in the command that writes it again.

    Returns:
        The module's text, the same bytes for the same request, and what it was made from.

    Raises:
        S2SADError: a function, or something it calls, cannot be differentiated.
    """
    names = (functions,) if isinstance(functions, str) else tuple(functions)
    made = [requested(file, name, mode, wrt, types, run) for name in names]
    command = _command(file, names, mode, wrt, made, runtime, run, output)
    return Standalone(_module(made, _header(made, file, mode, command), runtime), tuple(made))


def _command(
    file: str,
    functions: tuple[str, ...],
    mode: str,
    wrt: Sequence[str] | None,
    made: Sequence[Requested],
    runtime: bool,
    run: bool,
    output: str | None,
) -> str:
    """Write the command line that makes the same text again."""
    words = ["s2sad", "emit", f"{file}:{','.join(functions)}", "--mode", mode]
    if wrt or len({one.names for one in made}) == 1:
        words += ["--wrt", ",".join(wrt if len(made) > 1 and wrt else made[0].names)]
    if all(guess.origin == "given" for one in made for guess in one.found):
        words += ["--types", ", ".join(guess.text() for guess in made[0].found)]
    words += ["--runtime"] * runtime + ["--import"] * run
    words += [] if output is None else ["-o", output]
    return shlex.join(words)


def _header(made: Sequence[Requested], file: str, mode: str, command: str) -> str:
    """Say what the module is, for which types, and how it is made again."""
    lines: list[str] = []
    for one in made:
        listed = ", ".join(f"`{name}`" for name in one.names)
        node = one.read.node
        lines += _laid(f"{_WORDS[mode]} of `{node.name}` ({file}:{node.lineno}) for {listed}.")
    lines += ["", "Written by s2sad. To write it again:", ""]
    lines += [f"    {line}" for line in _laid(command, WIDTH - 4)]
    for one in made:
        whose = f" of `{one.read.node.name}`" * (len(made) > 1)
        lines += ["", f"Types of the parameters{whose}:", ""]
        lines += [f"    {guess.name}: {guess.text()}{_ORIGIN[guess.origin]}" for guess in one.found]
    captured = list(dict.fromkeys(item.name for one in made for d in one.made for item in d.captured))
    if captured:
        lines += ["", *_laid(f"Arrays read from outside are parameters: {', '.join(captured)}.")]
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', '\\"""')
    long = any(len(line) > WIDTH for line in text.split("\n"))
    first = text.split("\n")[0]
    text = text if len(first) + 3 <= WIDTH else "\n" + text
    return f'"""{text}\n"""' + "  # noqa: E501" * long


def _laid(text: str, width: int = WIDTH - 3) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _module(made: Sequence[Requested], header: str, runtime: bool) -> str:
    imports: set[str] = set()
    functions: dict[str, str] = {}
    helpers: dict[str, Any] = {}
    for request in made:
        jit = _decorator(request.read) if request.read.compiled else ""
        for one in request.made:
            _refuse_externals(one)
            lines, parts = _split(one.text)
            parts = {name: f"{jit}{text}" for name, text in parts.items()}
            imports |= {line for line in lines if not line.startswith("from s2sad.")}
            helpers |= one.module.runtime
            clashes = {n: f"{n}_of_{one.module.entry}" for n, t in parts.items() if functions.get(n, t) != t}
            for name, text in parts.items():
                functions[clashes.get(name, name)] = _renamed(text, clashes)
    compiled = [request.read for request in made if request.read.compiled]
    if compiled:
        imports.add("from numba import njit")
    constants: list[str] = []
    texts: dict[str, str] = {}
    if not runtime:
        texts, modules, constants = inlined(helpers)
        imports |= modules
    elif helpers:
        imports |= _runtime_imports(helpers, bool(compiled))
        if compiled:
            constants = [f"{name} = jitted({name})" for name in sorted(helpers)]
    jit = _decorator(compiled[0]) if compiled else ""
    blocks = [*(f"{jit}{text}" for text in texts.values()), *functions.values()]
    top = "\n\n".join(part for part in (header, _sorted(imports), "\n".join(constants)) if part)
    return "\n\n\n".join([top, *blocks]) + "\n"


def _refuse_externals(one: Derivative) -> None:
    if one.module.externals:
        listed = ", ".join(f"`{name}`" for name in one.module.externals)
        raise CompileError(
            f"`{one.module.entry}` cannot stand alone: it uses {listed} of the user's program",
            why="Pass such objects as arguments, or use s2sad at run time.",
        )


def _split(text: str) -> tuple[list[str], dict[str, str]]:
    """Take a derivative's text apart: its import lines, and each function's text."""
    lines = text.split("\n")
    imports: list[str] = []
    functions: dict[str, str] = {}
    for node in ast.parse(text).body:
        part = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = part
        else:
            imports.append(part)
    return imports, functions


def _renamed(text: str, clashes: dict[str, str]) -> str:
    for old, new in clashes.items():
        text = re.sub(rf"\b{old}\b", new, text)
    return text


def _decorator(read: Read) -> str:
    """Return the decorator line; division by zero gives inf as in NumPy, so that loops vectorise."""
    fast = "fastmath=True, " * read.fastmath
    return f'@njit({fast}error_model="numpy")\n'


def _runtime_imports(helpers: dict[str, Any], compiled: bool) -> set[str]:
    import s2sad.runtime as package

    found = {"from s2sad.backends.numba_cpu import jitted"} if compiled else set[str]()
    for name, helper in helpers.items():
        own = helper.__name__
        home = package.__name__ if getattr(package, own, None) is helper else helper.__module__
        found.add(f"from {home} import {own}" + f" as {name}" * (own != name))
    return found


_STANDARD = frozenset({"math", "cmath", "typing", "operator", "functools"})


def _sorted(imports: Iterable[str]) -> str:
    """Lay out import lines as isort does: standard library first, `import` before `from`."""
    members: dict[str, set[str]] = {}
    plain: list[str] = []
    for line in sorted(imports):
        found = re.fullmatch(r"from (\S+) import (.+)", line)
        if found is None:
            plain.append(line)
        else:
            members.setdefault(found.group(1), set()).update(found.group(2).split(", "))
    lines = [*plain, *(_from(home, sorted(names)) for home, names in sorted(members.items()))]
    sections: list[list[str]] = [[], [], []]
    for line in lines:
        root = re.split(r"[ .]", line)[1]
        sections[0 if root in _STANDARD else 2 if root == "s2sad" else 1].append(line)
    sections = [sections[0], sections[1] + sections[2], []]
    return "\n\n".join("\n".join(section) for section in sections if section)


def _from(home: str, names: Sequence[str]) -> str:
    line = f"from {home} import {', '.join(names)}"
    return line if len(line) <= WIDTH else "\n".join([f"from {home} import (", *(f"    {n}," for n in names), ")"])
