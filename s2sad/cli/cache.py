"""`s2sad cache`: the derivatives that are kept on disk."""

from __future__ import annotations

import sys

import click

from s2sad.cli.failing import WRONG, Command
from s2sad.cli.output import json_option, tell

_EXAMPLES = """\b
Examples:
  s2sad cache info
  s2sad cache verify
  s2sad cache clear
"""


@click.group(short_help="Look after the derivatives kept on disk.", epilog=_EXAMPLES)
def cache() -> None:
    """Look after the derivatives that are kept on disk."""


@cache.command("info", cls=Command, epilog="\b\nExample:\n  s2sad cache info --json")
@json_option
def cache_info(as_json: bool) -> None:
    """Say where the cache is and what it holds."""
    from s2sad.backends import store

    found = store.info()
    facts = {"path": str(found.path), "derivatives": found.sources, "compiled": found.compiled, "bytes": found.size}
    text = f"{found.path}\n{found.sources} derivatives, {found.compiled} compiled, {found.size:,} bytes"
    tell(as_json, facts, text)


@cache.command("clear", cls=Command, epilog="\b\nExample:\n  s2sad cache clear")
@json_option
def cache_clear(as_json: bool) -> None:
    """Remove everything that s2sad put into the cache."""
    from s2sad.backends import store

    removed = store.clear()
    tell(as_json, {"removed": removed}, f"{removed} files removed")


@cache.command("verify", cls=Command, epilog="\b\nExample:\n  s2sad cache verify")
@json_option
def cache_verify(as_json: bool) -> None:
    """Find damaged files, and remove them; exit status 1 if there were any."""
    from s2sad.backends import store

    damaged = store.verify()
    for path in damaged:
        path.unlink(missing_ok=True)
    lines = [f"{path}: damaged, removed; it is made again when needed" for path in damaged]
    facts = {"ok": not damaged, "damaged": [str(path) for path in damaged]}
    tell(as_json, facts, "\n".join(lines) or "every file is whole")
    if damaged:
        sys.exit(WRONG)
