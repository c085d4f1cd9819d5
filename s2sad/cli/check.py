"""`s2sad check`: derivatives against finite differences."""

from __future__ import annotations

import sys

import click

from s2sad.cli.failing import WRONG, Command
from s2sad.cli.output import json_option, tell, working
from s2sad.cli.target import Named, Target, call_of, imported

_EXAMPLES = """\b
Examples:
  s2sad check model.py:loss --args "np.linspace(0, 1, 9), 0.5"
  s2sad check model.py:loss --args "{'w': np.ones(3)}, 2.0" --order 2
  s2sad check model.py:loss --args "np.ones(3), k=0.5" --mode rev --json

\b
Exit status: 0 they agree, 1 they do not, 2 the function or its arguments fail.
"""


@click.command(cls=Command, short_help="Compare derivatives with finite differences.", epilog=_EXAMPLES)
@click.argument("target", type=Target())
@click.option("--args", "arguments", required=True, help='Such as "np.linspace(0, 1, 9), 0.5".')
@click.option("--order", type=click.IntRange(1, 3), default=1, show_default=True, help="Up to which derivative.")
@click.option("--mode", type=click.Choice(["both", "fwd", "rev"]), default="both", show_default=True)
@click.option("--rtol", type=float, help="Relative tolerance; 1e-6, or 1e-2 in single precision.")
@click.option("--atol", type=float, help="Absolute tolerance; as the relative one.")
@json_option
def check(
    target: Named, arguments: str, order: int, mode: str, rtol: float | None, atol: float | None, as_json: bool
) -> None:
    """Compare the derivatives of FILE.py:FUNC with finite differences; FILE.py is imported."""
    from s2sad.api.check import check_grads

    fun = imported(target.file, target.function)
    plain, own = call_of(arguments, getattr(fun, "py_func", fun))
    plain(*own)  # what fails here is no fault of a derivative
    fun, values = call_of(arguments, fun)
    modes = ("fwd", "rev") if mode == "both" else (mode,)
    message = ""
    with working("differentiating, and comparing with finite differences"):
        try:
            check_grads(fun, values, order=order, modes=modes, rtol=rtol, atol=atol)
        except AssertionError as error:
            message = str(error)
    facts = {"file": target.file, "function": target.function, "order": order, "modes": list(modes)}
    head = f"{target.file}: `{target.function}`:"
    if message:
        if as_json:
            tell(True, {**facts, "ok": False, "message": message}, "")
        click.echo(f"{head} {message}", err=True)
        sys.exit(WRONG)
    words = {"both": "forward and reverse agree", "fwd": "forward agrees", "rev": "reverse agrees"}[mode]
    tell(as_json, {**facts, "ok": True}, f"{head} {words} with finite differences")
