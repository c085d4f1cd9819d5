"""In a notebook: `%load_ext s2sad`, then `%%s2sad` above a cell shows the derivatives of its functions."""

from __future__ import annotations

import ast
import html
import shlex
from typing import Any

import click

from s2sad.api.decorator import Differentiable, differentiate
from s2sad.api.shown import highlighted
from s2sad.errors import S2SADError
from s2sad.report.page import page

_MODES = ["primal", "grad", "value_and_grad", "jvp", "vjp", "fwd", "bwd"]


def load_ipython_extension(shell: Any) -> None:
    """Make the magic known; IPython calls this."""
    shell.register_magic_function(_magic(shell), "cell", "s2sad")


def unload_ipython_extension(shell: Any) -> None:
    """Forget the magic; IPython calls this."""
    shell.magics_manager.magics["cell"].pop("s2sad", None)


def _magic(shell: Any) -> Any:
    def s2sad(line: str, cell: str) -> None:
        """Run the cell, and show the derivatives of the functions that it defines.

        %%s2sad [--mode grad] [--wrt x,y] [--types "float64[:], float64"] [--explain]
        """
        options = _options(line)
        result = shell.run_cell(cell)
        if not result.success:
            return
        tree = ast.parse(shell.transform_cell(cell))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef):
                _show(shell.user_ns[node.name], **options)

    return s2sad


@click.command(add_help_option=False)
@click.option("--mode", type=click.Choice(_MODES), default="grad")
@click.option("--wrt")
@click.option("--types")
@click.option("--explain", is_flag=True)
def _words(**options: Any) -> None:
    """Take the words after the magic apart."""


def _options(line: str) -> dict[str, Any]:
    try:
        return dict(_words.make_context("%%s2sad", shlex.split(line)).params)
    except (click.ClickException, ValueError) as error:
        reason = error.format_message() if isinstance(error, click.ClickException) else str(error)
        raise S2SADError(f"%%s2sad {line}: {reason}") from None


def _show(fun: Any, mode: str, wrt: str | None, types: str | None, explain: bool) -> None:
    from IPython.display import HTML, display  # pyright: ignore[reportMissingImports]

    given: Any = fun if isinstance(fun, Differentiable) else differentiate(fun)
    if wrt is not None:
        names = tuple(name.strip() for name in wrt.split(","))
        given = Differentiable(given.py_func, names, given.target, given.options)
    view = given.derivative("vjp" if explain and mode == "grad" else mode, types)
    text = _frame(page(view.explanation)) if explain else highlighted(view.source)
    show: Any = display
    show(HTML(text))


def _frame(text: str) -> str:
    """Put a whole page into the notebook's own, apart from its styles."""
    return f'<iframe srcdoc="{html.escape(text)}" style="width:100%;height:640px;border:0"></iframe>'
