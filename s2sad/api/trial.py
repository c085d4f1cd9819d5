"""A written-out derivative on trial: its text is run, and compared with finite differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from s2sad.api.jacobian import leaf_values
from s2sad.api.requested import Requested
from s2sad.api.structure import describe, inexact_leaves, tree_of
from s2sad.errors import ArgumentError
from s2sad.ir.types import is_complex

_STEP = 1e-6
_TOLERANCE = 1e-5


def trial(text: str, request: Requested, mode: str, values: Sequence[Any]) -> None:
    """Run the module `text`, and compare what `request` put into it with central differences.

    Args:
        text: the module.
        request: one of the functions whose derivatives the module holds.
        mode: which derivative.
        values: the arguments: numbers and arrays, one for each parameter.

    Raises:
        AssertionError: they differ; names the function and both numbers.
        ArgumentError: an argument that is to be differentiated is neither real number nor real array.
    """
    space: dict[str, Any] = {"__name__": "s2sad_trial"}
    exec(compile(text, "<emitted derivative>", "exec"), space)
    random = np.random.default_rng(0)
    places = [i for i, guess in enumerate(request.found) if guess.name in request.names]
    for i in places:
        if np.asarray(values[i]).dtype.kind != "f" or is_complex(request.found[i].type):
            raise ArgumentError(f"`{request.found[i].name}` must be real and floating to be checked, not {values[i]!r}")
    dots = [_direction(random, values[i]) for i in places]
    outputs = inexact_leaves(tree_of(request.made[0].result, "output"))
    high, low = (_outputs(request, values, places, dots, step) for step in (_STEP, -_STEP))
    slopes = [(a - b) / (2 * _STEP) for a, b in zip(high, low, strict=True)]
    seeds = [_direction(random, slope) for slope in slopes]
    captured = [item.read() for item in request.made[0].captured]
    call = _Call(space, request, [*values, *captured])
    if mode == "jvp":
        _agree(request, call(0, *dots)[-len(outputs) :], slopes)
        return
    match mode:
        case "grad" | "value_and_grad":
            seeds, bars = [1.0], call(0)
        case "vjp":
            bars = call(0, *seeds)
        case _:
            kept = call(0)[-request.made[0].residual_count :]
            bars = call.bare(1, *kept, *seeds)
    left = sum(float(np.sum(bar * dot)) for bar, dot in zip(bars[-len(dots) :], dots, strict=True))
    right = sum(float(np.sum(seed * slope)) for seed, slope in zip(seeds, slopes, strict=True))
    _agree(request, [left], [right])


class _Call:
    """Calls the module's functions by their place among what was made; results come as a tuple."""

    def __init__(self, space: dict[str, Any], request: Requested, values: list[Any]) -> None:
        self.space, self.request, self.values = space, request, values

    def __call__(self, which: int, *more: Any) -> tuple[Any, ...]:
        """Pass the arguments, then `more`."""
        return self.bare(which, *self.values, *more)

    def bare(self, which: int, *arguments: Any) -> tuple[Any, ...]:
        """Pass these arguments only."""
        found = self.space[self.request.made[which].module.entry](*arguments)
        return found if isinstance(found, tuple) else (found,)


def _direction(random: np.random.Generator, like: Any) -> Any:
    drawn = random.normal(size=np.shape(like))
    return drawn.astype(like.dtype) if isinstance(like, np.ndarray) else float(drawn)


def _outputs(
    request: Requested, values: Sequence[Any], places: list[int], dots: list[Any], step: float
) -> list[np.ndarray[Any, Any]]:
    moved = [v.copy() if isinstance(v, np.ndarray) else v for v in values]
    for i, dot in zip(places, dots, strict=True):
        moved[i] = moved[i] + step * dot
    out = request.read.fun(*moved)
    tree = describe(out, "output")
    found = leaf_values(tree, out)
    return [np.asarray(found[leaf]) for leaf in inexact_leaves(tree)]


def _agree(request: Requested, got: Sequence[Any], expected: Sequence[Any]) -> None:
    for a, b in zip(got, expected, strict=True):
        if not np.allclose(a, b, _TOLERANCE, _TOLERANCE):
            raise AssertionError(
                f"the derivative of `{request.read.node.name}` is wrong in a random direction:\n"
                f"  derivative         {a!r}\n  finite difference  {b!r}"
            )
