"""`s2sad verify`: whether generated derivatives are still what would be written today."""

from __future__ import annotations

import ast
import shlex
import sys
from pathlib import Path

import click

from s2sad.cli.emit import Order, emit, text_of
from s2sad.cli.failing import WRONG, Command
from s2sad.cli.output import json_option, tell, working

_EXAMPLES = """\b
Examples:
  s2sad verify loss_grad.py
  s2sad verify derivatives/*.py

\b
Run it where the files were written from: they name their sources relative to it.
Exit status: 0 all are up to date, 1 one is stale or was changed by hand, 2 one is not of s2sad's writing.
"""


@click.command(cls=Command, short_help="Say whether written derivatives are up to date.", epilog=_EXAMPLES)
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False))
@json_option
def verify(files: tuple[str, ...], as_json: bool) -> None:
    """Write the derivatives in FILES again, by the commands that they name, and compare."""
    stale: dict[str, str] = {}
    with working("writing derivatives again"):
        for file in files:
            command = command_of(file)
            order = _order(file, command)
            if text_of(order) != Path(file).read_text(encoding="utf-8"):
                stale[file] = command
    lines = [f"{file} is stale. To write it again: {command}" for file, command in stale.items()]
    facts = {"ok": not stale, "files": list(files), "stale": list(stale)}
    tell(as_json, facts, "\n".join(lines) or f"{len(files)} up to date")
    if stale:
        sys.exit(WRONG)


def _order(file: str, command: str) -> Order:
    try:
        with emit.make_context("s2sad emit", shlex.split(command)[2:], resilient_parsing=False) as ctx:
            return Order.of(ctx.params)
    except click.UsageError as error:
        raise click.UsageError(
            f"{file} is written by `{command}`, which does not work here: {error.format_message()} "
            "Run verify in the folder where the file was written from."
        ) from error


def command_of(file: str) -> str:
    """Return the command that a generated file names in its docstring.

    Raises:
        click.UsageError: there is none.
    """
    try:
        doc = ast.get_docstring(ast.parse(Path(file).read_bytes(), file)) or ""
    except (SyntaxError, ValueError) as error:
        raise click.UsageError(f"{file} is not Python: {error}.") from error
    _, found, rest = doc.partition("Written by s2sad. To write it again:\n\n")
    command = " ".join(line.strip() for line in rest.partition("\n\n")[0].splitlines())
    if not found or not command.startswith("s2sad emit "):
        raise click.UsageError(f"{file} names no command of s2sad in its docstring.")
    return command
