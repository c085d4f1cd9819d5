"""`s2sad emit`: derivatives as a module of their own."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from s2sad.cli.failing import WRONG, Command
from s2sad.cli.output import json_option, tell, working
from s2sad.cli.target import Named, Target, call_of, comma_separated, evaluate

if TYPE_CHECKING:
    from s2sad.api.standalone import Standalone

_EXAMPLES = """\b
Examples:
  s2sad emit model.py:loss
  s2sad emit model.py:loss --types "float64[:], float64" --wrt w,b -o loss_grad.py
  s2sad emit model.py:loss,penalty -o gradients.py
  s2sad emit model.py:loss -o loss_grad.py --diff
  s2sad emit model.py:loss -o loss_grad.py --verify
  s2sad emit model.py:loss --check --args "np.ones(3), 0.5" -o loss_grad.py
  s2sad emit model.py:step --mode fwd-bwd --runtime

\b
Exit status: 0 written, or up to date; 1 impossible, wrong under --check, or stale under
--verify and --diff; 2 the request makes no sense.
"""


MADE_BY = "Written by s2sad"
"""What the output begins with; no other file is written over."""
_HEAD = 4096


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be written: everything that the text depends on."""

    target: Named
    mode: str
    wrt: tuple[str, ...] | None
    types: str | None
    runtime: bool
    run: bool
    output: str | None
    arguments: str | None

    @staticmethod
    def of(params: Mapping[str, Any]) -> Order:
        """Take the order out of the options of the command."""
        wrt = comma_separated("--wrt", params["wrt"])
        rest = (params[name] for name in ("types", "runtime", "run", "output", "arguments"))
        return Order(params["target"], params["mode"], wrt, *rest)


def text_of(order: Order) -> str:
    """Return the text of the module."""
    return _made(order).text


def _made(order: Order) -> Standalone:
    from s2sad.api.standalone import standalone

    names = order.target.functions
    return standalone(
        order.target.file, names, order.mode, order.wrt, order.types, order.runtime, order.run, order.output,
        order.arguments, evaluate,
    )  # fmt: skip


@click.command(cls=Command, short_help="Write derivatives as a Python module.", epilog=_EXAMPLES)
@click.argument("target", type=Target(several=True))
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
@click.option("--diff", is_flag=True, help="Show how the output differs from the file there; write nothing.")
@click.option("--verify", is_flag=True, help="Exit with status 1 if the file there is stale; write nothing.")
@click.option("--check", is_flag=True, help="Run the output and compare with finite differences first.")
@click.option("--args", "arguments", help="A call: its arguments have the types, and --check is made there.")
@json_option
@click.pass_context
def emit(
    ctx: click.Context, diff: bool, verify: bool, check: bool, as_json: bool, **params: Any
) -> None:
    """Write the derivatives of functions of FILE.py as a Python module; FILE.py is parsed, not imported."""
    order = Order.of(params)
    if (diff or verify) and order.output is None:
        raise click.UsageError("--diff and --verify compare with a file: name it with -o.")
    if check and order.arguments is None:
        raise click.UsageError("--check needs --args.")
    if order.output is not None and not (diff or verify):
        _refuse_to_overwrite(order.output)
    with working("differentiating"):
        made = _made(order)
        if check and order.arguments is not None:
            _check(made, order, order.arguments)
    text = made.text
    facts = {"file": order.target.file, "functions": list(order.target.functions), "mode": order.mode}
    if diff or verify:
        _compare(order, text, diff, {**facts, "output": order.output}, as_json)
    elif order.output is None:
        tell(as_json, {**facts, "ok": True, "text": text}, text.removesuffix("\n"))
    else:
        _write(order.output, text)
        if as_json:
            tell(True, {**facts, "ok": True, "output": order.output}, "")


def _refuse_to_overwrite(output: str) -> None:
    """Leave a file alone that is no output of this command."""
    try:
        with Path(output).open(encoding="utf-8") as there:
            head = there.read(_HEAD)
    except (OSError, UnicodeDecodeError):
        head = ""
    if head.strip() and MADE_BY not in head:
        raise click.UsageError(f"{output} was not written by s2sad, and is left alone: name another file.")


def _write(output: str, text: str) -> None:
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{output} cannot be written: {error.strerror}.") from error


def _compare(order: Order, text: str, diff: bool, facts: dict[str, Any], as_json: bool) -> None:
    """Leave with status 1 if the file there is not the text."""
    assert order.output is not None
    try:
        there = Path(order.output).read_text(encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{order.output} cannot be read: {error.strerror}.") from error
    if there == text:
        tell(as_json, {**facts, "ok": True}, "" if diff else f"{order.output} is up to date")
        return
    lines = difflib.unified_diff(
        there.splitlines(keepends=True), text.splitlines(keepends=True), order.output, f"{order.output} (new)"
    )
    changes = "".join(lines)
    facts = {**facts, "ok": False, "diff": changes}
    tell(as_json, facts, changes.removesuffix("\n") if diff else f"{order.output} is stale")
    sys.exit(WRONG)


def _check(made: Standalone, order: Order, arguments: str) -> None:
    """Run the derivatives, and compare with finite differences; status 1 where they differ."""
    from s2sad.api.trial import trial

    for request in made.requests:
        values = evaluate(arguments, request.read.fun)
        plain, own = call_of(arguments, request.read.fun)
        plain(*own)  # what fails here is no fault of a derivative
        try:
            trial(made.text, request, order.mode, values)
        except AssertionError as error:
            click.echo(f"{order.target.file}: {error}", err=True)
            sys.exit(WRONG)
