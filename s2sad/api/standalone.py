"""`s2sad emit`: the derivatives of functions in a file, as a module that stands alone."""

from __future__ import annotations

import ast
import re
import shlex
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from s2sad.api.derive import Derivative
from s2sad.api.guarded import EXPECT, guarded
from s2sad.api.inlining import inlined
from s2sad.api.reading import Read
from s2sad.api.requested import Arguments, Requested, requested
from s2sad.emit.wrap import WIDTH, wrap
from s2sad.errors import CompileError, RuleShapeError

_WORDS = {
    "grad": "Gradient",
    "value_and_grad": "Value and gradient",
    "jvp": "Value and tangent",
    "vjp": "Value and adjoint",
    "fwd-bwd": "Forward and adjoint sweep",
}
_ORIGIN = {
    "given": "",
    "called": " (as in --args)",
    "dtype": " (as annotated, its rank as it is used)",
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
    arguments: str | None = None,
    evaluate: Callable[[str, Any], Sequence[Any]] | None = None,
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
        arguments: the arguments of a call, whose types are taken where `types` gives none.
        evaluate: returns the values that `arguments` writes for a call of a function, one for each parameter.

    Returns:
        The module's text, the same bytes for the same request, and what it was made from.

    Raises:
        S2SADError: a function, or something it calls, cannot be differentiated.
    """
    names = (functions,) if isinstance(functions, str) else tuple(functions)
    valued: Arguments | None = None
    if arguments is not None and evaluate is not None and types is None:
        valued = partial(evaluate, arguments)
    made = [requested(file, name, mode, wrt, types, run, valued) for name in names]
    command = _command(file, names, mode, wrt, made, runtime, run, output, arguments)
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
    arguments: str | None,
) -> str:
    """Write the command line that makes the same text again."""
    words = ["s2sad", "emit", f"{file}:{','.join(functions)}", "--mode", mode]
    if wrt or len({one.names for one in made}) == 1:
        words += ["--wrt", ",".join(wrt if len(made) > 1 and wrt else made[0].names)]
    origins = {guess.origin for one in made for guess in one.found}
    if origins == {"given"}:
        words += ["--types", ", ".join(guess.text() for guess in made[0].found)]
    elif arguments is not None and "called" in origins:
        words += ["--args", arguments]
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
    constants: list[str] = []
    helpers: dict[str, str] = {}
    functions: dict[str, str] = {}
    there: set[str] = set()
    for jitted in (False, True):
        these = [request for request in made if request.read.compiled == jitted]
        used = {
            name: helper for request in these for one in request.made for name, helper in one.module.runtime.items()
        }
        if not these:
            continue
        jit = _decorator(these[0].read) if jitted else ""
        texts, more, read = _helpers(used, jitted, runtime)
        names = {name: f"{name}_njit" for name in (texts or used) if name in there} if jitted else {}
        there |= texts.keys() | used.keys()
        helpers |= {names.get(name, name): f"{jit}{_renamed(text, names)}" for name, text in texts.items()}
        imports |= more | ({"from numba import njit"} if jitted else set())
        constants += [line for line in (_renamed(line, names) for line in read) if line not in constants]
        for request in these:
            for one in request.made:
                _add(one, request, functions, imports, names)
    if any("    _expect(" in text for text in functions.values()):
        helpers = {"_expect": EXPECT, **helpers}
    top = "\n\n".join(part for part in (header, _sorted(imports), "\n".join(constants)) if part)
    return "\n\n\n".join([top, *helpers.values(), *_in_order(made, functions)]) + "\n"


def _helpers(used: dict[str, Any], jitted: bool, runtime: bool) -> tuple[dict[str, str], set[str], list[str]]:
    """Return the texts of helpers, or nothing but the lines that import them; the imports; the constants."""
    if not runtime:
        return inlined(used)
    bound = [f"{name} = jitted({name})" for name in sorted(used)] if jitted else []
    return {}, _runtime_imports(used, jitted) if used else set(), bound


def _add(
    one: Derivative, request: Requested, functions: dict[str, str], imports: set[str], names: dict[str, str]
) -> None:
    """Add the functions of a derivative; one that is there under its name with another text is renamed."""
    _refuse_externals(one)
    if RuleShapeError.__name__ in one.module.externals:
        functions[RuleShapeError.__name__] = _SHAPE_ERROR
    jit = _decorator(request.read) if request.read.compiled else ""
    lines, parts = _split(one.text)
    entry, derived = one.module.entry, one.derived
    assert derived is not None
    second = len(request.made) > 1 and one is request.made[1]  # its arguments come from the first
    parts[entry], needed = guarded(parts[entry], derived.functions[derived.entry], request.read.compiled, not second)
    imports |= needed | {line for line in lines if not line.startswith("from s2sad.")}
    parts = {name: f"{jit}{_renamed(text, names)}" for name, text in parts.items()}
    clashes = {n: f"{n}_of_{entry}" for n, t in parts.items() if functions.get(n, t) != t}
    for name, text in parts.items():
        functions[clashes.get(name, name)] = _renamed(text, clashes)


def _in_order(made: Sequence[Requested], functions: dict[str, str]) -> list[str]:
    """Return the functions' texts in the order in which they were asked for, helpers of each before it."""
    entries = [one.module.entry for request in made for one in request.made]
    groups: dict[str, list[str]] = {entry: [] for entry in entries}
    waiting: list[str] = []
    for name, text in functions.items():
        waiting.append(text)
        if name in groups:
            groups[name], waiting = waiting, []
    return [text for entry in entries for text in groups[entry]] + waiting


_SHAPE_ERROR = '''class RuleShapeError(ValueError):
    """A custom rule gave an array of the wrong shape."""

    def __init__(self, what: str, expected: tuple[int, ...], received: tuple[int, ...]) -> None:
        """Compose the message from the sentence and both shapes."""
        super().__init__(f"{what}: expected {tuple(expected)}, received {tuple(received)}")'''


def _refuse_externals(one: Derivative) -> None:
    foreign = [name for name, value in one.module.externals.items() if value is not RuleShapeError]
    if foreign:
        listed = ", ".join(f"`{name}`" for name in foreign)
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
    if not clashes:
        return text
    for old, new in clashes.items():
        text = re.sub(rf"\b{old}\b", new, text)
    lines = [_within(line) for line in text.split("\n")]
    return "\n".join(part for parts in lines for part in parts)


def _within(line: str) -> list[str]:
    """Break a line that a longer name has made too long; one inside a statement that is broken already stays."""
    if len(line) <= WIDTH or line.lstrip().startswith("#"):
        return [line]
    try:
        ast.parse(line.strip())
    except SyntaxError:
        return [line + "  # noqa: E501" * line.endswith(("(", "[", ","))]
    return wrap(line.strip(), len(line) - len(line.lstrip()))


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
