"""`s2sad explain`: why a derivative is as it is."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from s2sad.cli.failing import WRONG, Command, short
from s2sad.cli.output import json_option, tell, working
from s2sad.cli.target import Named, Target, call_of, comma_separated, evaluate, imported

_EXAMPLES = """\b
Examples:
  s2sad explain model.py:loss
  s2sad explain model.py:loss --wrt w,b --types "float64[:], float64"
  s2sad explain model.py:loss --html loss.html
  s2sad explain model.py:loss --args "np.ones(3), 0.5" --html loss.html
  s2sad explain model.py:loss --json

\b
Exit status: 0 explained, 1 it cannot be differentiated or is wrong under --args,
2 the request makes no sense.
"""
_CLOSE = 1e-5


@click.command(cls=Command, short_help="Say line by line what is differentiated and saved.", epilog=_EXAMPLES)
@click.argument("target", type=Target())
@click.option("--mode", type=click.Choice(["grad", "value_and_grad", "vjp"]), default=None, help="vjp by default.")
@click.option("--wrt", help='Arguments to differentiate, such as "x,y"; the first by default.')
@click.option("--types", help='Argument types, such as "float64[:], float64".')
@click.option("--import", "run", is_flag=True, help="Import FILE.py, so that all it computes is known.")
@click.option("--args", "arguments", help="Compare with finite differences at these arguments; imports FILE.py.")
@click.option("--html", type=click.Path(dir_okay=False), help="Write a page instead.")
@click.option("--no-source", is_flag=True, help="Leave the derivative itself out.")
@json_option
def explain(
    target: Named,
    mode: str | None,
    wrt: str | None,
    types: str | None,
    run: bool,
    arguments: str | None,
    html: str | None,
    no_source: bool,
    as_json: bool,
) -> None:
    """Say line by line what is differentiated, what is saved and why, and what it became."""
    from s2sad.api.requested import explain_file

    names = comma_separated("--wrt", wrt)
    with working("differentiating"):
        explained = explain_file(
            target.file, target.function, mode or "vjp", names, types, run or arguments is not None,
            None if arguments is None else partial(evaluate, arguments),
        )  # fmt: skip
        checks = _checks(target, arguments, names) if arguments is not None else []
    explained = dataclasses.replace(
        explained, parts=tuple(dataclasses.replace(part, file=short(part.file)) for part in explained.parts)
    )
    wrong = [row for row in checks if row.error() >= _CLOSE]
    if html is not None:
        from s2sad.report.page import page

        _write(html, page(explained, checks))
    if as_json:
        facts = dataclasses.asdict(explained)
        rows = [{**dataclasses.asdict(row), "error": row.error()} for row in checks]
        rows = [{k: None if v != v else v for k, v in row.items()} for row in rows]  # JSON knows no NaN
        tell(True, {"ok": not wrong, **facts, "checks": rows}, "")
    elif html is not None:
        click.echo(f"{html} written: open it in a browser")
    else:
        from rich.console import Console

        from s2sad.report.terminal import show

        show(explained, Console(highlight=False), not no_source, checks)
    for row in wrong:
        click.echo(
            f"{target.file}: `{target.function}`: the derivative by {row.argument} is {row.adjoint:.8g} in a random "
            f"direction, and {row.difference:.8g} by finite differences",
            err=True,
        )
    if wrong:
        sys.exit(WRONG)


def _checks(target: Named, arguments: str, names: tuple[str, ...] | None) -> list[Any]:
    from s2sad.api.comparison import compared

    fun = imported(target.file, target.function)
    fun = getattr(fun, "py_func", fun)
    plain, own = call_of(arguments, fun)
    plain(*own)  # what fails here is no fault of a derivative
    parameters = list(inspect.signature(fun).parameters)
    fun, values = call_of(arguments, fun)
    return compared(fun, values, names or parameters[:1])


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{path} cannot be written: {error.strerror}.") from error
