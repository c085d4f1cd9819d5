"""The source of runtime helpers, to be put into a module that stands alone."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
from collections.abc import Callable, Mapping
from typing import Any

from s2sad.emit.wrap import WIDTH, wrap

_PACKAGE = "s2sad.runtime"


def inlined(helpers: Mapping[str, Callable[..., Any]]) -> tuple[dict[str, str], set[str], list[str]]:
    """Return the helpers' texts, callees first, the modules they use, and constants they read.

    The texts are those of the runtime without annotations, and no line longer than the emitted
    code's. A helper that the derivative knows under another name is defined under that name.
    """
    texts: dict[str, str] = {}
    modules: set[str] = set()
    constants: list[str] = []
    for name in sorted(helpers):
        _gather(name, helpers[name], texts, modules, constants)
    return texts, modules, constants


def _gather(name: str, helper: Any, texts: dict[str, str], modules: set[str], constants: list[str]) -> None:
    if name in texts:
        return
    scope = helper.__globals__
    for used in names_of(helper.__code__):
        value = scope.get(used)
        if isinstance(value, types.ModuleType):
            modules.add(f"import {value.__name__}" if value.__name__ == used else f"import {value.__name__} as {used}")
        elif value is helper:  # a function that calls itself, or another library's of its name
            continue
        elif isinstance(value, types.FunctionType) and value.__module__.startswith(_PACKAGE):
            _gather(used, value, texts, modules, constants)
        elif isinstance(value, int | float | str | tuple | dict | list):
            lines = wrap(f"{used} = {value!r}", 0)
            if lines[0] not in constants:
                constants.extend(lines)
    text = bare(inspect.getsource(helper))
    if helper.__name__ != name:
        text = re.sub(rf"\b{helper.__name__}\b", name, text)
    texts[name] = text


def names_of(code: types.CodeType) -> list[str]:
    """Return the global names and attributes that code mentions, that of inner functions included."""
    inner = [n for c in code.co_consts if isinstance(c, types.CodeType) for n in names_of(c)]
    return sorted({*code.co_names, *inner})


def bare(source: str) -> str:
    """Return a function's source without annotations, its lines within the width.

    Before `def f(x: Any, k: int = 2) -> Any:`, after `def f(x, k=2):`.
    """
    source = textwrap.dedent(source)
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.FunctionDef)
    lines = source.rstrip("\n").split("\n")
    first, body = node.lineno - 1, node.body[0].lineno - 1
    head = ast.FunctionDef(node.name, _plain(node.args), [ast.Pass()], [])
    head.lineno = 1
    text = ast.unparse(ast.fix_missing_locations(head)).split("\n")[0]
    kept = wrap(text, 0)
    if isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant):
        kept += _docstring(str(node.body[0].value.value))
        body = node.body[0].end_lineno or body
    for line in lines[body:]:
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        kept += [line] if len(line) <= WIDTH else wrap(stripped, indent)
    return "\n".join([*lines[: max(first - len(node.decorator_list), 0)], *kept])


def _plain(arguments: ast.arguments) -> ast.arguments:
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        argument.annotation = None
    return arguments


def _docstring(text: str) -> list[str]:
    """Write a docstring anew, indented once: its summary, then the rest."""
    paragraphs = [" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n")]
    if len(paragraphs) == 1 and len(paragraphs[0]) + 10 <= WIDTH:
        return [f'    """{paragraphs[0]}"""']
    laid = [textwrap.wrap(part, WIDTH - 7, break_on_hyphens=False) for part in paragraphs]
    lines = [line for part in laid for line in ("", *part)][1:]
    return ['    """' + lines[0], *(f"    {line}".rstrip() for line in lines[1:]), '    """']
