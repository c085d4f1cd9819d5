"""The command line: write derivatives to files, check them, look after the cache.

Exit status: 0 all is well, 1 a derivative is wrong or impossible, 2 the request makes no sense.
"""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import linecache
import os
import platform
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from s2sad.errors import S2SADError


class Target(click.ParamType[tuple[str, str]]):
    """FILE.py:FUNC, checked by parsing the file: nothing is imported."""

    name = "FILE.py:FUNC"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Return the file and the function, both of which exist."""
        file, colon, function = str(value).rpartition(":")
        if not colon or not function or not file:
            self.fail(f"{value!r} is not FILE.py:FUNC, such as model.py:loss.", param, ctx)
        try:
            linecache.checkcache(file)
            tree = ast.parse(Path(file).read_bytes(), file)
        except OSError as error:
            self.fail(f"{file} cannot be read: {error.strerror}.", param, ctx)
        except SyntaxError as error:
            self.fail(f"{file}:{error.lineno}:{error.offset}: {error.msg}.", param, ctx)
        except ValueError as error:
            self.fail(f"{file} is not Python: {error}.", param, ctx)
        found = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
        if function not in found:
            names = ", ".join(found) if found else "none at its top level"
            self.fail(f"{file} has no function `{function}`; it has: {names}.", param, ctx)
        return file, function


@contextmanager
def reported(file: str) -> Generator[None]:
    """Print an error as one located message and leave with the right status, never a traceback."""
    try:
        yield
    except S2SADError as error:
        click.echo(f"{type(error).__name__}: {error}", err=True)
        sys.exit(1)
    except (click.ClickException, click.exceptions.Exit, SystemExit, KeyboardInterrupt):
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        here = [frame for frame in frames if Path(frame.filename).name == Path(file).name]
        where = f"{file}:{here[-1].lineno}: " if here else ""
        click.echo(f"{where}{type(error).__name__}: {error}", err=True)
        sys.exit(2)


_EXAMPLES = """\b
Examples:
  s2sad emit model.py:loss --wrt w,b -o loss_grad.py
  s2sad check model.py:loss --args "np.ones(3), 0.5"
  s2sad cache info
  s2sad doctor
"""
_EMIT_EXAMPLES = """\b
Examples:
  s2sad emit model.py:loss
  s2sad emit model.py:loss --types "float64[:], float64" --wrt w,b -o loss_grad.py
  s2sad emit model.py:step --mode fwd-bwd --runtime
"""
_CHECK_EXAMPLES = """\b
Examples:
  s2sad check model.py:loss --args "np.linspace(0, 1, 9), 0.5"
  s2sad check model.py:loss --args "{'w': np.ones(3)}, 2.0" --order 2
"""


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EXAMPLES)
@click.version_option(package_name="s2sad", prog_name="s2sad")
def main() -> None:
    """Differentiate Python functions, source to source."""


@main.command(epilog=_EMIT_EXAMPLES)
@click.argument("target", type=Target())
@click.option(
    "--mode",
    type=click.Choice(["grad", "value_and_grad", "jvp", "vjp", "fwd-bwd"]),
    default="grad",
    show_default=True,
    help="Which derivative.",
)
@click.option("--wrt", help='Arguments to differentiate, such as "x,y"; the first by default.')
@click.option("--types", help='Argument types, such as "float64[:], float64".')
@click.option("--runtime", is_flag=True, help="Let the output import s2sad.runtime.")
@click.option("--import", "run", is_flag=True, help="Import FILE.py, so that all it computes is known.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="File to write; else the terminal.")
def emit(
    target: tuple[str, str],
    mode: str,
    wrt: str | None,
    types: str | None,
    runtime: bool,
    run: bool,
    output: str | None,
) -> None:
    """Write the derivative of FILE.py:FUNC as a Python module; FILE.py is parsed, not imported."""
    file, function = target
    names = None if wrt is None else tuple(name.strip() for name in wrt.split(",") if name.strip())
    if names == ():
        raise click.UsageError("--wrt names no argument.")
    with reported(file):
        standalone = importlib.import_module("s2sad.api.standalone")
        text: str = standalone.emit_text(file, function, mode, names, types, runtime, run)
    if output is None:
        click.echo(text, nl=not text.endswith("\n"))
        return
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{output} cannot be written: {error.strerror}.") from error


@main.command(epilog=_CHECK_EXAMPLES)
@click.argument("target", type=Target())
@click.option("--args", "arguments", required=True, help='Such as "np.linspace(0, 1, 9), 0.5".')
@click.option("--order", type=click.IntRange(1, 3), default=1, show_default=True)
def check(target: tuple[str, str], arguments: str, order: int) -> None:
    """Compare both modes of FILE.py:FUNC with finite differences; FILE.py is imported."""
    file, function = target
    values = evaluate(arguments)
    with reported(file):
        fun = imported(file, function)
        compare: Callable[..., None] = importlib.import_module("s2sad").check_grads
        try:
            compare(fun, values, order=order)
        except AssertionError as error:
            click.echo(f"{file}: `{function}`: {error}", err=True)
            sys.exit(1)
    click.echo(f"{file}: `{function}`: forward and reverse agree with finite differences")


def evaluate(arguments: str) -> tuple[Any, ...]:
    """Return the tuple of values that `arguments` writes, with NumPy as `np`."""
    import numpy as np

    try:
        return tuple(eval(f"({arguments},)", {"np": np, "numpy": np}))
    except Exception as error:
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise click.UsageError(f"--args {arguments!r}: {type(error).__name__}: {reason}") from error


def imported(file: str, function: str) -> Any:
    """Import `file` under its own name, and return its `function`."""
    path = Path(file).resolve()
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"{file} cannot be imported: its name must end in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return getattr(module, function)


@main.group()
def cache() -> None:
    """Look after the derivatives that are kept on disk."""


@cache.command("info")
def cache_info() -> None:
    """Say where the cache is and what it holds."""
    from s2sad.backends import store

    with reported(""):
        found = store.info()
    click.echo(f"{found.path}")
    click.echo(f"{found.sources} derivatives, {found.compiled} compiled, {found.size:,} bytes")


@cache.command("clear")
def cache_clear() -> None:
    """Remove everything that s2sad put into the cache."""
    from s2sad.backends import store

    with reported(""):
        click.echo(f"{store.clear()} files removed")


@cache.command("verify")
def cache_verify() -> None:
    """Find damaged files, and remove them; exit status 1 if there were any."""
    from s2sad.backends import store

    with reported(""):
        damaged = store.verify()
        for path in damaged:
            path.unlink(missing_ok=True)
            click.echo(f"{path}: damaged, removed; it is made again when needed")
    if damaged:
        sys.exit(1)
    click.echo("every file is whole")


@main.command()
def doctor() -> None:
    """Describe this installation: versions, compiler, threads, GPU, cache."""
    click.echo(f"Python      {platform.python_version()} on {platform.platform()}")
    for package in ("s2sad", "numpy", "numba", "llvmlite", "gast", "astunparse", "optree"):
        try:
            click.echo(f"{package:11} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            click.echo(f"{package:11} not installed")
    sound = True
    for name, probe in (
        ("compiler", _compiler),
        ("threading", _threading),
        ("CUDA", _cuda),
        ("cache", _cache),
    ):
        try:
            click.echo(f"{name:11} {probe()}")
        except Exception as error:
            sound = False
            click.echo(f"{name:11} {type(error).__name__}: {error}")
    if not sound:
        sys.exit(1)


def _compiler() -> str:
    from s2sad.backends.base import Module, effective, load

    text = "def probe(x):\n    return x * x\n"
    loaded = load(Module("probe", text, ("probe",), "probe"), "cpu")
    if loaded.entry(3.0) != 9.0:
        raise S2SADError("3.0 * 3.0 is not 9.0 here")
    off = "off: S2SAD_DISABLE_JIT or NUMBA_DISABLE_JIT is set"
    return "works" if effective("cpu") == "cpu" else off


def _threading() -> str:
    pools = {"tbb": "tbbpool", "omp": "omppool", "workqueue": "workqueue"}
    found: list[str] = []
    for layer, pool in pools.items():
        try:
            importlib.import_module(f"numba.np.ufunc.{pool}")
        except ImportError:
            continue
        found.append(layer)
    return f"{', '.join(found) or 'none'}; {os.cpu_count()} processors"


def _cuda() -> str:
    if importlib.util.find_spec("numba_cuda") is None:
        return "not installed: pip install s2sad[cuda12] or s2sad[cuda13]"
    cuda: Any = importlib.import_module("numba.cuda")
    return "a GPU is available" if cuda.is_available() else "installed, but no GPU is available"


def _cache() -> str:
    from s2sad.backends import store

    found = store.info()
    return f"{found.path}: {found.sources} derivatives, {found.size:,} bytes"
