"""What commands print: text for people, JSON for programs, a spinner when it takes long."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import click

_PATIENCE = 2.0  # seconds without a sign of life

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def tell(as_json: bool, facts: dict[str, Any], text: str) -> None:
    """Print the facts as JSON, or the text."""
    click.echo(json.dumps(facts, indent=2) if as_json else text)


@contextmanager
def working(what: str) -> Generator[Callable[[str], None]]:
    """Show what is being done once it has taken two seconds; nothing where nobody watches.

    Yields:
        A function that changes what is shown.
    """
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    status = Console(stderr=True).status(what)
    timer = threading.Timer(_PATIENCE, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda text: status.update(text)
    finally:
        timer.cancel()
        timer.join()
        status.stop()
