"""A written-out derivative on trial: its text is run, and compared with finite differences."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from s2sad.api.guess import Guess
from s2sad.api.jacobian import leaf_values
from s2sad.api.notation import write
from s2sad.api.requested import Requested
from s2sad.api.structure import Tree, describe, inexact_leaves, static_key, tree_of, unflatten
from s2sad.errors import ArgumentError
from s2sad.ir.types import Array, Static, is_complex, is_inexact

_STEP = 1e-6
_TOLERANCE = 1e-5


def trial(text: str, request: Requested, mode: str, values: Sequence[Any]) -> None:
    """Run the module `text`, and compare what `request` put into it with central differences.

    Args:
        text: the module.
        request: one of the functions whose derivatives the module holds.
        mode: which derivative.
        values: the arguments, one for each parameter.

    Raises:
        AssertionError: they differ; names the function and both numbers.
        ArgumentError: an argument that is to be differentiated is not real, or the derivative is for others.
    """
    space: dict[str, Any] = {"__name__": "s2sad_trial"}
    exec(compile(text, "<emitted derivative>", "exec"), space)
    random = np.random.default_rng(0)
    point = _Point(request, values)
    places = point.places()
    dots = [_direction(random, point.leaves[leaf]) for leaf in places]
    outputs = inexact_leaves(tree_of(request.made[0].result, "output"))
    high, low = (point.outputs(dots, step) for step in (_STEP, -_STEP))
    slopes = [(a - b) / (2 * _STEP) for a, b in zip(high, low, strict=True)]
    seeds = [_direction(random, slope) for slope in slopes]
    captured = [item.read() for item in request.made[0].captured]
    call = _Call(space, request, [*point.leaves.values(), *captured])
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


class _Point:
    """The arguments of the trial, and their leaves, which the derivative takes one by one."""

    def __init__(self, request: Requested, values: Sequence[Any]) -> None:
        self.request, self.values = request, values
        self.trees = [describe(value, guess.name) for value, guess in zip(values, request.found, strict=True)]
        self.leaves: dict[Tree, Any] = {}
        for tree, value, guess in zip(self.trees, values, request.found, strict=True):
            _require_written_for(tree, guess)
            self.leaves |= leaf_values(tree, value)

    def places(self) -> list[Tree]:
        """Return the leaves that are differentiated; refuses those that no step can be made from."""
        pairs = [
            (tree, tree_of(guess.type, guess.name))
            for tree, guess in zip(self.trees, self.request.found, strict=True)
            if guess.name in self.request.names
        ]
        leaves = [leaf for tree, _ in pairs for leaf in tree.leaves()]
        written = [leaf for _, tree in pairs for leaf in tree.leaves()]
        for leaf, kind in zip(leaves, written, strict=True):
            if is_inexact(kind.type) and (is_complex(kind.type) or not is_inexact(leaf.type)):
                raise ArgumentError(
                    f"`{leaf.path}` must be real and floating to be checked, not {self.leaves[leaf]!r}"
                )
        return [leaf for leaf in leaves if is_inexact(leaf.type)]

    def outputs(self, dots: list[Any], step: float) -> list[np.ndarray[Any, Any]]:
        """Return the real parts of the function's result, a step away."""
        moved = {leaf: value.copy() if isinstance(value, np.ndarray) else value for leaf, value in self.leaves.items()}
        for leaf, dot in zip(self.places(), dots, strict=True):
            moved[leaf] = moved[leaf] + step * dot
        fun = self.request.read.fun
        parts = {g.name: unflatten(t, moved) for t, g in zip(self.trees, self.request.found, strict=True)}
        out = called(fun, parts)
        tree = describe(out, "output")
        found = leaf_values(tree, out)
        return [np.asarray(found[leaf]) for leaf in inexact_leaves(tree)]


def called(fun: Any, parts: Mapping[str, Any]) -> Any:
    """Call a function with one value for each of its parameters."""
    args: list[Any] = []
    keywords: dict[str, Any] = {}
    for name, parameter in inspect.signature(fun).parameters.items():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            keywords[name] = parts[name]
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            args += parts[name]
        else:
            args.append(parts[name])
    return fun(*args, **keywords)


def _require_written_for(tree: Tree, guess: Guess) -> None:
    """Refuse an argument of another structure or rank than the derivative was written for."""
    given = [_form(node) for node in tree.nodes()]
    if given != [_form(node) for node in tree_of(guess.type, guess.name).nodes()]:
        raise ArgumentError(
            f"the derivative is written for `{guess.name}` of type {guess.text()}, and the argument is "
            f"of type {write(tree.type)}",
            why="Leave --types out, or say others.",
        )


def _form(node: Tree) -> tuple[type, Any]:
    if isinstance(node.type, Static):
        return Static, static_key(node.value)
    return type(node.type), len(node.type.dims) if isinstance(node.type, Array) else 0


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


def _agree(request: Requested, got: Sequence[Any], expected: Sequence[Any]) -> None:
    for a, b in zip(got, expected, strict=True):
        if not np.allclose(a, b, _TOLERANCE, _TOLERANCE):
            raise AssertionError(
                f"the derivative of `{request.read.node.name}` is wrong in a random direction:\n"
                f"  derivative         {a!r}\n  finite difference  {b!r}"
            )
