"""`s2sad bench`: what a derivative costs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from s2sad.cli.failing import Command
from s2sad.cli.output import json_option, tell, working
from s2sad.cli.target import Named, Target, call_of, comma_separated, imported

_EXAMPLES = """\b
Examples:
  s2sad bench model.py:loss --args "np.linspace(0, 1, 1000), 0.5"
  s2sad bench model.py:loss --args "np.ones(1000), 0.5" --wrt w,b --plot loss.svg
  s2sad bench model.py:loss --args "np.ones(1000), 0.5" --json

\b
Exit status: 0 measured, 1 it cannot be differentiated, 2 the function or its arguments fail.
"""


@click.command(cls=Command, short_help="Time a function, its tangent and its gradient.", epilog=_EXAMPLES)
@click.argument("target", type=Target())
@click.option("--args", "arguments", required=True, help='Such as "np.linspace(0, 1, 9), 0.5".')
@click.option("--wrt", help='Arguments to differentiate, such as "x,y"; the first by default.')
@click.option("--target", "where", type=click.Choice(["cpu", "python"]), default="cpu", show_default=True)
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw the times into this SVG file.")
@json_option
def bench(target: Named, arguments: str, wrt: str | None, where: str, plot: str | None, as_json: bool) -> None:
    """Time FILE.py:FUNC, its tangent and its gradient; FILE.py is imported."""
    from s2sad.api.cost import cost

    names = comma_separated("--wrt", wrt) or (0,)
    fun = imported(target.file, target.function)
    plain, own = call_of(arguments, getattr(fun, "py_func", fun))
    plain(*own)  # what fails here is no fault of a derivative
    fun, values = call_of(arguments, fun)
    with working("compiling and measuring"):
        found = cost(fun, values, names, where)
    rows = {"function": found.primal, "tangent": found.tangent, "gradient": found.gradient}
    if plot is not None:
        from s2sad.report.chart import bars

        title = f"{target.function} ({target.file}), gradient {found.ratio:.2f} times the function"
        try:
            Path(plot).write_text(bars(title, {k: v * 1e6 for k, v in rows.items()}, "µs"), encoding="utf-8")
        except OSError as error:
            raise click.UsageError(f"{plot} cannot be written: {error.strerror}.") from error
    lines = [f"{name:10} {seconds * 1e6:12,.1f} µs" for name, seconds in rows.items()]
    lines[1] += f"   {found.tangent / found.primal:6.2f} times the function"
    lines[2] += f"   {found.ratio:6.2f} times the function"
    lines += [f"{'kept':10} {found.kept:12,} bytes between the sweeps"]
    lines += [
        f"{'first use':10} {seconds:12.2f} s    {name}, derived and compiled" for name, seconds in found.first.items()
    ]
    facts = {"ok": True, "file": target.file, "function": target.function, "target": where}
    tell(as_json, {**facts, **dataclasses.asdict(found)}, "\n".join(lines))
