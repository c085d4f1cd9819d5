"""A function's tangent, adjoint and finite difference, side by side for each argument."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad.api.jacobian import leaf_values
from s2sad.api.signature import own_signature
from s2sad.api.structure import Tree, describe, inexact_leaves, unflatten
from s2sad.api.transforms import copied, jvp, vjp
from s2sad.transform.ruled import ReverseOnlyError


@dataclass(frozen=True, slots=True)
class Compared:
    """Three ways to one number: the derivative in a random direction of one argument, weighted by a random cotangent.

    Attributes:
        argument: the argument, or a leaf of it.
        tangent: by forward mode; not a number where the function has a reverse rule only.
        adjoint: by reverse mode.
        difference: by central differences of the function itself.
    """

    argument: str
    tangent: float
    adjoint: float
    difference: float

    def error(self) -> float:
        """Return the larger distance from the finite difference, relative to the numbers' size."""
        size = max(abs(self.difference), abs(self.adjoint), 1e-12)
        one_way = math.isnan(self.tangent) and not math.isnan(self.adjoint)
        forward = 0.0 if one_way else abs(self.tangent - self.difference)
        return max(forward, abs(self.adjoint - self.difference)) / size


def compared(fun: Callable[..., Any], args: Sequence[Any], names: Sequence[str], step: float = 1e-6) -> list[Compared]:
    """Compare the derivatives of `fun` at `args`, for each real leaf of the arguments called `names`.

    `names` are parameters of `fun`, in whose order `args` are.
    """
    random = np.random.default_rng(0)
    positions = {parameter: i for i, parameter in enumerate(_parameters(fun))}
    rows: list[Compared] = []
    out, pullback = vjp(fun, *_copies(args), target="python")
    tree = describe(out, "output")
    outputs = leaf_values(tree, out)
    seeds = {leaf: _normal(random, outputs[leaf]) for leaf in inexact_leaves(tree)}
    cotangents = pullback(unflatten(tree, seeds, static=False))
    bars = {leaf.path: seed for leaf, seed in seeds.items()}
    for name in names:
        position = positions[name]
        argument = describe(args[position], name)
        for leaf in inexact_leaves(argument):
            value = leaf_values(argument, args[position])[leaf]
            dot = _normal(random, value)
            tangents: list[Any] = [None] * len(args)
            tangents[position] = _filled(argument, args[position], leaf, dot)
            try:
                dots = _by_path(jvp(fun, _copies(args), tuple(tangents), target="python")[1])
            except ReverseOnlyError:
                dots = None
            bar = leaf_values(argument, cotangents[position])[leaf]
            high, low = (_moved(fun, args, position, argument, leaf, dot, h) for h in (step, -step))
            slopes = {key: (high[key] - low[key]) / (2 * step) for key in bars}
            rows.append(
                Compared(
                    leaf.path,
                    math.nan if dots is None else sum(_inner(bars[key], dots[key]) for key in bars),
                    _inner(bar, dot),
                    sum(_inner(bars[key], slopes[key]) for key in bars),
                )
            )
    return rows


def _parameters(fun: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(own_signature(fun).parameters)


def _copies(args: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(copied(value) for value in args)


def _filled(tree: Tree, value: Any, chosen: Tree, dot: Any) -> Any:
    """Return a tangent in the structure of `value` that is `dot` at one leaf and zero at the others."""
    leaves = leaf_values(tree, value)
    parts = {leaf: dot if leaf is chosen else np.zeros_like(leaves[leaf]) for leaf in inexact_leaves(tree)}
    return unflatten(tree, parts, static=False)


def _moved(
    fun: Callable[..., Any], args: Sequence[Any], position: int, tree: Tree, leaf: Tree, dot: Any, step: float
) -> dict[str, Any]:
    moved = list(_copies(args))
    parts = leaf_values(tree, moved[position])
    parts[leaf] = parts[leaf] + step * dot
    moved[position] = unflatten(tree, parts)
    return _by_path(getattr(fun, "py_func", fun)(*moved))


def _by_path(out: Any) -> dict[str, Any]:
    """Return the leaves of an output by their paths: a weak number and a strong one are one leaf."""
    tree = describe(out, "output")
    found = leaf_values(tree, out)
    return {leaf.path: np.asarray(found[leaf]) for leaf in inexact_leaves(tree)}


def _normal(random: np.random.Generator, like: Any) -> Any:
    drawn: Any = random.normal(size=np.shape(like))
    if np.asarray(like).dtype.kind == "c":
        drawn = drawn + 1j * random.normal(size=np.shape(like))
    dtype = np.asarray(like).dtype
    return np.asarray(drawn, dtype) if np.shape(like) else dtype.type(drawn)


def _inner(a: Any, b: Any) -> float:
    return float(np.real(np.sum(np.asarray(a) * np.asarray(b))))
