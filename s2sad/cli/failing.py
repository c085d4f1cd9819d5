"""Failures as one located sentence and an exit status; whose fault it is decides which.

This is the one place where the command line catches what it did not expect.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

import s2sad
from s2sad.errors import ArgumentError, S2SADError, VerifyError

WELL, WRONG, SENSELESS, INTERNAL = 0, 1, 2, 3
"""Exit statuses: all is well; a derivative is wrong or impossible; the request makes no sense; our own bug."""

_PACKAGE = str(Path(s2sad.__file__).parent)
_LIBRARIES = tuple({str(Path(path)) for path in sysconfig.get_paths().values()})


class Command(click.Command):
    """A command whose failures are told as `reported` tells them."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with reported(bool(ctx.params.get("as_json"))):
            return super().invoke(ctx)


@contextmanager
def reported(as_json: bool = False) -> Generator[None]:
    """Print a failure as one message, and leave with the status that says whose it is.

    With S2SAD_TRACEBACK=1 the exception itself is let through.
    """
    try:
        yield
    except (click.ClickException, click.exceptions.Exit, click.Abort, SystemExit, KeyboardInterrupt):
        raise
    except Exception as error:
        if os.environ.get("S2SAD_TRACEBACK", "0") not in ("", "0"):
            raise
        status, message = judged(error)
        if as_json:
            click.echo(json.dumps({"ok": False, "error": _described(error)}))
        click.echo(message, err=True)
        sys.exit(status)


def judged(error: Exception) -> tuple[int, str]:
    """Return the exit status and the message for an exception."""
    kind = type(error).__name__
    if isinstance(error, ArgumentError):
        return SENSELESS, f"{kind}: {error}"
    if isinstance(error, S2SADError) and not isinstance(error, VerifyError):
        return WRONG, f"{kind}: {error}"
    text = str(error) or "no message"
    own, place = _place(error)
    own = own or isinstance(error, VerifyError)
    if isinstance(error, FloatingPointError) and own:  # raised on purpose, by S2SAD_DEBUG_NANS
        return WRONG, f"{kind}: {text}"
    if not own:
        return SENSELESS, f"{place}: {kind}: {text}"
    return INTERNAL, (
        f"internal error at {place}: {kind}: {text}\n"
        "This is a bug in s2sad, not in your program. S2SAD_TRACEBACK=1 shows where it happened."
    )


def _place(error: Exception) -> tuple[bool, str]:
    """Say whether the fault is s2sad's, and where: the last frame that is the user's or s2sad's own decides."""
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if frame.filename.startswith(_PACKAGE):
            inside = os.path.relpath(frame.filename, _PACKAGE)
            return True, f"{inside}:{frame.lineno}"
        if _is_users(frame.filename):
            return False, f"{short(frame.filename)}:{frame.lineno}"
    return True, frames[-1].filename if frames else "an unknown place"


def _is_users(file: str) -> bool:
    from s2sad.backends import store

    return not (file.startswith(("<", *_LIBRARIES)) or store.SOURCE_NAME.fullmatch(Path(file).name))


def short(file: str) -> str:
    """Return a file's name as seen from here, if it is below."""
    relative = os.path.relpath(file)
    return file if relative.startswith("..") else relative


def _described(error: Exception) -> dict[str, Any]:
    span = getattr(error, "span", None)
    return {
        "kind": type(error).__name__,
        "message": getattr(error, "what", str(error)),
        "file": span.file if span is not None else None,
        "line": span.line if span is not None else None,
        "column": span.column + 1 if span is not None else None,
        "why": getattr(error, "why", ""),
        "internal": judged(error)[0] == INTERNAL,
    }
