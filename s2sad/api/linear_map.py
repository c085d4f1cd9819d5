"""Linear maps at a point, a pullback or a pushforward: residuals of one run, and the half that uses them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from s2sad.api.applied import mapped_once
from s2sad.api.axes import Axes, frozen
from s2sad.api.closures import derived_once
from s2sad.api.direct import MISSED, Direct
from s2sad.api.dressed import dressed
from s2sad.api.empty import typed
from s2sad.api.flatten import Finish, Outcome, Result, finisher, in_tuple, only
from s2sad.api.mapped import mapped, mapped_leaves
from s2sad.api.nested import context
from s2sad.api.options import Options
from s2sad.api.pieces import Half, tuple_of
from s2sad.api.plan import DERIVING, Entry, Request, entry
from s2sad.api.structure import Tree, child_values, describe, inexact_leaves, kind_text
from s2sad.api.written import defined
from s2sad.errors import ArgumentError
from s2sad.ir.types import Array, ListOf, Scalar, Static, Struct, Type, is_inexact
from s2sad.transform.linear import NotSplitError


@dataclass(frozen=True, slots=True)
class Loop:
    """The loop of one half over batches.

    Attributes:
        entry: the loop, loaded.
        outcome: what becomes of its flat values.
        finish: the same, generated.
        batches: which leaves hold batches, and along which axis.
        count: how many residuals come before the leaves.
    """

    entry: Entry
    outcome: Outcome
    finish: Finish
    batches: list[tuple[int, int]]
    count: int

    def run(self, word: str, residuals: tuple[Any, ...], leaves: tuple[Any, ...]) -> Any:
        """Map over batches of one length; raises ArgumentError where the lengths differ."""
        first, along = self.batches[0]
        count = leaves[first].shape[along]
        if any(leaves[at].shape[axis] != count for at, axis in self.batches[1:]):
            listed = ", ".join(f"{leaves[at].shape[axis]} along axis {axis}" for at, axis in self.batches)
            raise ArgumentError(f"vmap needs batches of one length: the {word}s have {listed}")
        given = (*residuals, *leaves)
        return self.finish(self.entry.call(*typed(self.entry, given)), given)


@dataclass(frozen=True, slots=True)
class MapProgram:
    """What is needed to map the half of a derivative over batches; one for all runs of the primal.

    Attributes:
        half: the half, which takes residuals and then tangents or cotangents.
        inputs: the structures of what it takes after the residuals.
        outputs: the structures of what it returns; `bare` when there is one that is no tuple.
        request: what was asked of the compiler for the function.
        word: "tangent" or "cotangent".
        known: the loops made so far.
    """

    half: Half
    inputs: tuple[Tree, ...]
    outputs: tuple[Tree, ...]
    bare: bool
    request: Request
    word: str
    known: dict[Any, Loop] = field(default_factory=dict[Any, Loop])
    latest: list[tuple[Axes, Axes, Direct]] = field(default_factory=list[tuple[Axes, Axes, Direct]])
    """The loop of the last run, tried before anything is described, if there is one."""

    def run(self, residuals: tuple[Any, ...], args: tuple[Any, ...], in_axes: Axes, out_axes: Axes) -> Any:
        """Map over batches of tangents or cotangents; raises ArgumentError where they do not fit."""
        for asked_in, asked_out, direct in self.latest:
            if asked_in == in_axes and asked_out == out_axes:
                result = direct((residuals, args))
                if result is not MISSED:
                    return result
        if len(args) != len(self.inputs):
            raise ArgumentError(f"{len(self.inputs)} {self.word}s are needed, {len(args)} were given")
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        if len(axes) != len(args):
            raise ArgumentError(f"vmap has in_axes for {len(axes)} arguments but was given {len(args)}")
        trees = tuple(describe(arg, f"{self.word}_{i}", f"{self.word}s[{i}]") for i, arg in enumerate(args))
        key = (frozen(axes), frozen(out_axes), tuple(tree.key for tree in trees))
        with DERIVING:
            if key not in self.known:
                self.known[key] = self._made_once(trees, axes, out_axes, key)
            made_for = self.known[key]
            quick = mapped_once(made_for.entry, made_for.outcome, trees, made_for.count, made_for.batches)
            self.latest[:] = [(in_axes, out_axes, quick)]
        leaves = tuple(v for tree, arg in zip(trees, args, strict=True) for v in values_of(tree, arg))
        return made_for.run(self.word, residuals, leaves)

    def _made_once(self, trees: tuple[Tree, ...], axes: tuple[Axes, ...], out_axes: Axes, key: Any) -> Any:
        """Return the loop, made for another function of the same code if possible."""
        half, target = self.half, self.request.target
        asked = ("map", half.mode, half.types, half.wrt, half.aux, target, key)

        def make() -> tuple[Any, Any]:
            made = self._make(trees, axes, out_axes)
            return made.entry.derivative, made

        return derived_once(half.fun, asked, make)[1]

    def _make(self, trees: tuple[Tree, ...], axes: tuple[Axes, ...], out_axes: Axes) -> Loop:
        fn, made = self.half.derived(context())
        count = made.residuals
        kinds = [p.type for p in fn.params]
        batches = self._check(trees, axes, kinds[count:])
        kept = tuple(_residual_tree(kind, i) for i, kind in enumerate(kinds[:count]))
        flat_axes = tuple(axis for _, axis in mapped_leaves(trees, axes))
        program = self._program(count, flat_axes, out_axes)
        leaves = tuple(leaf for tree in trees for leaf in tree.leaves())
        loaded = entry(Request(program, self.request.target, Options()), "primal", (*kept, *leaves), ())
        flat = {leaf: at for at, leaf in enumerate(loaded.output.leaves())}
        where: dict[Tree, int] = {}
        parts = (loaded.output,) if self.bare else loaded.output.children
        results = [
            Result(dressed(own, part, flat, where), where) for own, part in zip(self.outputs, parts, strict=True)
        ]
        outcome = Outcome(results, len(flat), only if self.bare else in_tuple, loaded.fresh)
        return Loop(loaded, outcome, finisher(outcome, loaded.arrays), batches, count)

    def _program(self, count: int, axes: tuple[Axes, ...], out_axes: Axes) -> Callable[..., Any]:
        """Return the loop over residuals and batches; what needs no cotangent is done once before it."""
        structure = self.outputs[0].type if self.bare else tuple_of([t.type for t in self.outputs])
        half = replace(self.half, result=_inexact(structure))
        if half.mode == "bwd":
            try:
                first, second = replace(self.half, mode="hoist"), replace(half, mode="pull")
                fn, made = second.derived(context())
            except NotSplitError:
                pass
            else:
                names = [p.name for p in fn.params]
                loop = mapped(replace(second, names=tuple(names)), _axes(made.residuals, axes), out_axes)
                given = [f"{name}_kept" for name in self._names()[:count]]
                bars = names[made.residuals :]
                text = _chained(half.__name__, given, names[: made.residuals], bars)
                return defined(f"{half.__name__}_vmap", text, {"hoist": first, "pull": loop})
        return mapped(replace(half, names=self._names()), _axes(count, axes), out_axes)

    def _names(self) -> tuple[str, ...]:
        fn, _ = self.half.derived(context())
        return tuple(p.name for p in fn.params)

    def _check(self, trees: tuple[Tree, ...], axes: tuple[Axes, ...], kinds: list[Type]) -> list[tuple[int, int]]:
        """Compare dtypes and ranks with what the half takes; return which leaves hold batches, and where."""
        wanted = [leaf for tree in self.inputs for leaf in inexact_leaves(tree)]
        found = mapped_leaves(trees, axes)
        if len(found) != len(wanted):
            raise ArgumentError(f"{len(wanted)} {self.word} leaves are needed, {len(found)} were given")
        for (leaf, axis), own, kind in zip(found, wanted, kinds, strict=True):
            assert isinstance(kind, Array | Scalar)
            rank = (len(kind.dims) if isinstance(kind, Array) else 0) + (axis is not None)
            given = leaf.type
            fits = isinstance(given, Array | Scalar) and given.dtype == kind.dtype
            if not fits or (len(given.dims) if isinstance(given, Array) else 0) != rank:
                raise ArgumentError(
                    f"the batch of {self.word}s of `{own.path}` does not fit: expected dtype {kind.dtype} and rank "
                    f"{rank}, got {kind_text(leaf)}"
                )
        batches = [(at, axis) for at, (_, axis) in enumerate(found) if axis is not None]
        if not batches:
            raise ArgumentError("vmap maps over nothing: every in_axes is None")
        return batches


def _axes(count: int, axes: tuple[Axes, ...]) -> tuple[Axes, ...]:
    return (*(None for _ in range(count)), *axes)


def _chained(name: str, given: list[str], kept: list[str], bars: list[str]) -> str:
    """Write the function that hoists once and then maps."""
    lines = [f"def {name}_vmap({', '.join([*given, *bars])}):"]
    if kept:
        lines.append(f"{', '.join(kept)} = hoist({', '.join(given)})")
    lines.append(f"return pull({', '.join([*kept, *bars])})")
    return "\n    ".join(lines) + "\n"


def values_of(tree: Tree, value: Any) -> list[Any]:
    """List the values of the leaves of a structure."""
    if tree.is_leaf:
        return [value]
    if isinstance(tree.type, Static):
        return []
    parts = child_values(tree, value) or ()
    return [v for child, part in zip(tree.children, parts, strict=True) for v in values_of(child, part)]


def _inexact(kind: Type) -> Type:
    if isinstance(kind, Struct):
        return Struct(kind.kind, kind.keys, tuple(_inexact(item) for item in kind.items))
    return kind if is_inexact(kind) else Static(None)


def _residual_tree(kind: Type, at: int) -> Tree:
    cls: type = list if isinstance(kind, ListOf) else np.ndarray if isinstance(kind, Array) else object
    return Tree(kind, cls, f"residual_{at}", ())
