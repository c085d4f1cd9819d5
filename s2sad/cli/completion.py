"""`s2sad completion`: the script that teaches a shell to complete the command."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from s2sad.cli.failing import Command

_EXAMPLES = """\b
Examples:
  eval "$(s2sad completion bash)"                                   in ~/.bashrc
  eval "$(s2sad completion zsh)"                                    in ~/.zshrc
  s2sad completion fish > ~/.config/fish/completions/s2sad.fish
"""
_COLON = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}  # FILE.py:FUNC is one word\n"


@click.command(cls=Command, short_help="Print the completion script of a shell.", epilog=_EXAMPLES)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell; commands, options, files and functions are completed."""
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "s2sad", "_S2SAD_COMPLETE").source()
    click.echo(script + _COLON * (shell == "bash"))
