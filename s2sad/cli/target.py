"""FILE.py:FUNC on the command line, and the arguments of a call."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import linecache
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem


@dataclass(frozen=True, slots=True)
class Named:
    """Functions of a file, which exist."""

    file: str
    functions: tuple[str, ...]

    @property
    def function(self) -> str:
        """The only function, or the first."""
        return self.functions[0]


class Target(click.ParamType[Named]):
    """FILE.py:FUNC, checked by parsing the file: nothing is imported."""

    name = "FILE.py:FUNC"

    def __init__(self, several: bool = False) -> None:
        """Take one function, or several between commas."""
        self.several = several
        self.name = "FILE.py:FUNC[,FUNC...]" if several else "FILE.py:FUNC"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Named:
        """Return the file and its functions."""
        file, colon, listed = str(value).rpartition(":")
        names = tuple(name.strip() for name in listed.split(","))
        if not colon or not all(names) or not file:
            self.fail(f"{value!r} is not {self.name}, such as model.py:loss.", param, ctx)
        if len(names) > 1 and not self.several:
            self.fail(f"{value!r} names {len(names)} functions; one is wanted.", param, ctx)
        try:
            found = functions_of(file)
        except OSError as error:
            self.fail(f"{file} cannot be read: {error.strerror}.", param, ctx)
        except SyntaxError as error:
            self.fail(f"{file}:{error.lineno}:{error.offset}: {error.msg}.", param, ctx)
        except ValueError as error:
            self.fail(f"{file} is not Python: {error}.", param, ctx)
        for name in names:
            if name not in found:
                listed = ", ".join(found) if found else "none at its top level"
                self.fail(f"{file} has no function `{name}`; it has: {listed}.", param, ctx)
        return Named(file, names)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Offer the files, and after the colon the functions of the file."""
        file, colon, start = incomplete.rpartition(":")
        if not colon:
            return [CompletionItem(incomplete, type="file")]
        try:
            found = functions_of(file)
        except (OSError, SyntaxError, ValueError):
            return []
        return [CompletionItem(f"{file}:{name}") for name in found if name.startswith(start)]


def functions_of(file: str) -> list[str]:
    """Return the names of the functions at the top level of a file; raises what reading and parsing raise."""
    linecache.checkcache(file)
    tree = ast.parse(Path(file).read_bytes(), file)
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


def comma_separated(option: str, value: str | None) -> tuple[str, ...] | None:
    """Return the names between the commas; None where the option was not given."""
    if value is None:
        return None
    names = tuple(name.strip() for name in value.split(",") if name.strip())
    if not names:
        raise click.UsageError(f"{option} names no argument.")
    return names


def imported(file: str, function: str) -> Any:
    """Import `file` under its own name, and return its `function`."""
    path = Path(file).resolve()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"{file} cannot be imported: its name must end in .py.")
    sys.path.insert(0, str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return getattr(module, function)


def evaluate(arguments: str, fun: Any) -> tuple[Any, ...]:
    """Return the arguments that `arguments` writes for a call of `fun`, one for each parameter.

    The names of the function's own module are known, and NumPy as `np`.
    """
    bound = _bound(arguments, fun)
    bound.apply_defaults()
    return tuple(bound.arguments.values())


def call_of(arguments: str, fun: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a function and the positional arguments of the call that `arguments` writes.

    The function is `fun`, with what is passed by keyword only filled in.
    """
    bound = _bound(arguments, fun)
    return (partial(fun, **bound.kwargs) if bound.kwargs else fun), bound.args


def _bound(arguments: str, fun: Any) -> inspect.BoundArguments:
    import numpy as np

    def call(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, kwargs

    plain = inspect.unwrap(getattr(fun, "py_func", fun))
    scope = {"np": np, "numpy": np, **getattr(plain, "__globals__", {}), "call": call}
    try:
        args, kwargs = eval(f"call({arguments})", scope)
        return inspect.signature(plain).bind(*args, **kwargs)
    except Exception as error:
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise click.UsageError(f"--args {arguments!r}: {type(error).__name__}: {reason}.") from error
