"""`s2sad emit`: the derivative of a function in a file, as a module that stands alone."""

from __future__ import annotations

import ast
import re
import shlex
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from s2sad.api.derive import Derivative, derive
from s2sad.api.guess import Guess, guesses
from s2sad.api.inlining import inlined
from s2sad.api.options import Options
from s2sad.api.plan import Request, differentiated, require_scalar
from s2sad.api.reading import Read, read_function
from s2sad.api.structure import tree_of
from s2sad.emit.wrap import WIDTH
from s2sad.errors import ArgumentError, CompileError, UnsupportedSyntaxError

MODES = ("grad", "value_and_grad", "jvp", "vjp", "fwd-bwd")
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


def emit_text(
    file: str,
    function: str,
    mode: str = "grad",
    wrt: Sequence[str] | None = None,
    types: str | None = None,
    runtime: bool = False,
    run: bool = False,
) -> str:
    """Return the text of a module that computes the derivative of `function` in `file`.

    Args:
        file: the user's file; it is parsed, and not run.
        function: a function at its top level.
        mode: "grad", "value_and_grad", "jvp", "vjp", or "fwd-bwd" for both sweeps apart.
        wrt: the names of the differentiated parameters; the first by default.
        types: a signature such as "float64[:], float64"; else annotations and use decide.
        runtime: import the helpers from `s2sad.runtime` instead of writing them out.
        run: import the file, so that whatever it computes at module level is known.

    Returns:
        Python text, the same bytes for the same request.

    Raises:
        S2SADError: the function, or something it calls, cannot be differentiated.
    """
    if mode not in MODES:
        raise ArgumentError(f"`{mode}` is no mode", why=f"Use one of {', '.join(MODES)}.")
    read = read_function(file, function, run)
    found = guesses(read, types)
    names = _wrt(found, wrt, function)
    trees = [tree_of(guess.type, guess.name) for guess in found]
    leaves = [leaf for tree in trees for leaf in tree.leaves()]
    chosen = differentiated([t for t, g in zip(trees, found, strict=True) if g.name in names], Options())
    indices = tuple(leaves.index(leaf) for leaf in chosen)
    target = "cpu" if read.compiled else "python"
    options = Options(fastmath=read.fastmath)
    kinds = tuple(guess.type for guess in found)
    made: list[Derivative] = []
    for one in ("fwd", "bwd") if mode == "fwd-bwd" else (mode,):
        try:
            made.append(derive(read.fun, one, kinds, indices, target, options))
        except UnsupportedSyntaxError as error:
            raise _explained(error, read) from error
    if mode in ("grad", "value_and_grad"):
        output = tree_of(made[0].result, "output")
        require_scalar(output, leaves, Request(read.fun, target, options))
    command = _command(file, function, mode, names, found, runtime, run)
    return _module(read, made, _header(read, file, mode, names, found, command, made), runtime)


def _explained(error: UnsupportedSyntaxError, read: Read) -> UnsupportedSyntaxError:
    """Say that a missing name is one that the file sets by code which was not run."""
    missing = re.match(r"the name `(\w+)` is not defined", error.what)
    if missing is None or missing.group(1) not in read.unread:
        return error
    return UnsupportedSyntaxError(
        error.what,
        error.span,
        f"`{missing.group(1)}` is made by code of the file that is not run; pass --import to "
        "import the file, or make it an argument of the function.",
    )


def _wrt(found: Sequence[Guess], wrt: Sequence[str] | None, function: str) -> tuple[str, ...]:
    names = [guess.name for guess in found]
    if not names:
        raise ArgumentError(f"`{function}` has no parameters to differentiate for")
    chosen = tuple(wrt) if wrt else (names[0],)
    for name in chosen:
        if name not in names:
            raise ArgumentError(f"`{function}` has no parameter `{name}`", why=f"It has: {', '.join(names)}.")
    return tuple(name for name in names if name in chosen)


def _command(
    file: str,
    function: str,
    mode: str,
    names: tuple[str, ...],
    found: Sequence[Guess],
    runtime: bool,
    run: bool,
) -> str:
    """Write the command line that makes the same text again."""
    words = ["s2sad", "emit", f"{file}:{function}", "--mode", mode, "--wrt", ",".join(names)]
    if all(guess.origin == "given" for guess in found):
        words += ["--types", ", ".join(guess.text() for guess in found)]
    words += ["--runtime"] * runtime + ["--import"] * run
    return shlex.join(words)


def _header(
    read: Read,
    file: str,
    mode: str,
    names: tuple[str, ...],
    found: Sequence[Guess],
    command: str,
    made: Sequence[Derivative],
) -> str:
    """Say what the module is, for which types, and how it is made again."""
    listed = ", ".join(f"`{name}`" for name in names)
    lines = [*_laid(f"{_WORDS[mode]} of `{read.node.name}` ({file}:{read.node.lineno}) for {listed}."), ""]
    lines += ["Written by s2sad. To write it again:", ""]
    lines += [f"    {line}" for line in _laid(command, WIDTH - 4)]
    lines += ["", "Types of the parameters:", ""]
    lines += [f"    {guess.name}: {guess.text()}{_ORIGIN[guess.origin]}" for guess in found]
    captured = list(dict.fromkeys(item.name for one in made for item in one.captured))
    if captured:
        lines += ["", *_laid(f"Arrays read from outside are parameters: {', '.join(captured)}.")]
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', '\\"""')
    long = any(len(line) > WIDTH for line in text.split("\n"))
    first = text.split("\n")[0]
    text = text if len(first) + 3 <= WIDTH else "\n" + text
    return f'"""{text}\n"""' + "  # noqa: E501" * long


def _laid(text: str, width: int = WIDTH - 3) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _module(read: Read, made: Sequence[Derivative], header: str, runtime: bool) -> str:
    imports: set[str] = set()
    functions: dict[str, str] = {}
    helpers: dict[str, Any] = {}
    for one in made:
        _refuse_externals(one)
        lines, parts = _split(one.text)
        imports |= {line for line in lines if not line.startswith("from s2sad.")}
        helpers |= one.module.runtime
        clashes = {n: f"{n}_of_{one.module.entry}" for n, t in parts.items() if functions.get(n, t) != t}
        for name, text in parts.items():
            functions[clashes.get(name, name)] = _renamed(text, clashes)
    jit = _decorator(read) if read.compiled else ""
    if jit or (runtime and read.compiled and helpers):
        imports.add("from numba import njit")
    constants: list[str] = []
    texts: dict[str, str] = {}
    if not runtime:
        texts, modules, constants = inlined(helpers)
        imports |= modules
    elif helpers:
        imports |= _runtime_imports(helpers, read.compiled)
        if read.compiled:
            constants = [f"{name} = jitted({name})" for name in sorted(helpers)]
    blocks = [f"{jit}{text}" for text in (*texts.values(), *functions.values())]
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
