"""A derivative of a function in a file, asked for from outside: the file is read, the types are found."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from s2sad.api.derive import Derivative, derive
from s2sad.api.explanation import Explanation, explanation
from s2sad.api.guess import Guess, guesses
from s2sad.api.options import Options
from s2sad.api.plan import differentiated, require_scalar
from s2sad.api.reading import Read, read_function
from s2sad.api.structure import tree_of
from s2sad.errors import ArgumentError, UnsupportedSyntaxError

Arguments = Callable[[Callable[..., Any]], Sequence[Any]]
MODES = ("grad", "value_and_grad", "jvp", "vjp", "fwd-bwd")


@dataclass(frozen=True, slots=True)
class Requested:
    """What was asked for, and what came of it.

    Attributes:
        read: the function as it was read from its file.
        found: its parameters with their types.
        names: the differentiated ones.
        made: the derivative; for "fwd-bwd" both sweeps.
    """

    read: Read
    found: tuple[Guess, ...]
    names: tuple[str, ...]
    made: tuple[Derivative, ...]


def requested(
    file: str,
    function: str,
    mode: str = "grad",
    wrt: Sequence[str] | None = None,
    types: str | None = None,
    run: bool = False,
    arguments: Arguments | None = None,
) -> Requested:
    """Read `function` from `file`, and derive it.

    Args:
        file: the user's file; it is parsed, and not run.
        function: a function at its top level.
        mode: one of `MODES`.
        wrt: the names of the differentiated parameters; the first by default.
        types: a signature such as "float64[:], float64"; else `arguments`, annotations and use decide.
        run: import the file, so that whatever it computes at module level is known.
        arguments: returns the arguments of a call, one for each parameter, given the function.

    Raises:
        S2SADError: the function, or something it calls, cannot be differentiated.
    """
    if mode not in MODES:
        raise ArgumentError(f"`{mode}` is no mode", why=f"Use one of {', '.join(MODES)}.")
    read = read_function(file, function, run)
    found = guesses(read, types, arguments(read.fun) if arguments is not None else None)
    names = _wrt(found, wrt, function)
    trees = [tree_of(guess.type, guess.name) for guess in found]
    leaves = [leaf for tree in trees for leaf in tree.leaves()]
    chosen = differentiated([t for t, g in zip(trees, found, strict=True) if g.name in names], Options())
    indices = tuple(leaves.index(leaf) for leaf in chosen)
    target = "cpu" if read.compiled else "python"
    options = Options(fastmath=read.fastmath)
    kinds = tuple(guess.type for guess in found)
    made: list[Derivative] = []
    for one in ("fwd", "bwd") if mode == "fwd-bwd" else (mode,):
        try:
            made.append(derive(read.fun, one, kinds, indices, target, options))
        except (UnsupportedSyntaxError, ArgumentError) as error:
            raise _explained(error, read, found) from error
    if mode in ("grad", "value_and_grad"):
        output = tree_of(made[0].result, "output")
        require_scalar(output, read.fun, options)
    return Requested(read, found, names, tuple(made))


def explain_file(
    file: str,
    function: str,
    mode: str = "grad",
    wrt: Sequence[str] | None = None,
    types: str | None = None,
    run: bool = False,
    arguments: Arguments | None = None,
) -> Explanation:
    """Return why the derivative of `function` in `file` is as it is; the arguments are those of `requested`."""
    if mode not in ("grad", "value_and_grad", "vjp"):
        raise ArgumentError(f"`{mode}` cannot be explained", why="Use grad, value_and_grad or vjp: they save values.")
    return explanation(requested(file, function, mode, wrt, types, run, arguments).made[0], mode)


def _explained(
    error: UnsupportedSyntaxError | ArgumentError, read: Read, found: Sequence[Guess]
) -> UnsupportedSyntaxError | ArgumentError:
    """Say that a missing name is one that the file sets by code which was not run, or that a type was a guess."""
    missing = re.match(r"the name `(\w+)` is not defined", error.what)
    if missing is not None and missing.group(1) in read.unread:
        return UnsupportedSyntaxError(
            error.what,
            error.span,
            f"`{missing.group(1)}` is made by code of the file that is not run; pass --import to "
            "import the file, or make it an argument of the function.",
        )
    guessed = [f"`{g.name}` for {g.text()}" for g in found if g.origin == "use"]
    if guessed and ("no attribute" in error.what or "cannot be applied here" in error.what):
        why = f"{error.why}\n" if error.why else ""
        listed = ", ".join(guessed)
        return type(error)(
            error.what, error.span,
            f"{why}Nothing says the types, and the use was taken to mean: {listed}. Annotate the parameters, "
            "or pass --types or --args.",
        )  # fmt: skip
    return error


def _wrt(found: Sequence[Guess], wrt: Sequence[str] | None, function: str) -> tuple[str, ...]:
    names = [guess.name for guess in found]
    if not names:
        raise ArgumentError(f"`{function}` has no parameters to differentiate for")
    chosen = tuple(wrt) if wrt else (names[0],)
    for name in chosen:
        if name not in names:
            raise ArgumentError(f"`{function}` has no parameter `{name}`", why=f"It has: {', '.join(names)}.")
        if chosen.count(name) > 1:
            raise ArgumentError(f"parameter `{name}` of `{function}` is named twice")
    return tuple(name for name in names if name in chosen)
