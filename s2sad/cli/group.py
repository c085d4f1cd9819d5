"""The command `s2sad` and its subcommands."""

from __future__ import annotations

import click

from s2sad.cli.bench import bench
from s2sad.cli.cache import cache
from s2sad.cli.check import check
from s2sad.cli.completion import completion
from s2sad.cli.doctor import doctor, version_of
from s2sad.cli.emit import emit
from s2sad.cli.explain import explain
from s2sad.cli.verify import verify

_EPILOG = """\b
Examples:
  s2sad emit model.py:loss --wrt w,b -o loss_grad.py
  s2sad explain model.py:loss --wrt w,b
  s2sad check model.py:loss --args "np.ones(3), 0.5"
  s2sad doctor

\b
Exit status:
  0  all is well
  1  a derivative is wrong, impossible or stale
  2  the request makes no sense, or your own code fails
  3  a bug in s2sad
"""


def _tell_version(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        click.echo(f"s2sad, version {version_of('s2sad') or 'unknown: it runs from a folder, and is not installed'}")
        ctx.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, epilog=_EPILOG)
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_tell_version, help="Say which.")
def main() -> None:
    """Differentiate Python functions, source to source."""


for _command in (emit, explain, check, bench, verify, cache, doctor, completion):
    main.add_command(_command)
