"""Tangents pushed through a function: what `jvp`, `jacfwd`, `hvp` and `linearize` run on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from s2sad.api.flatten import Finish, Match, Result, finisher, matcher
from s2sad.api.guards import Guard, both, guard
from s2sad.api.known import lowered
from s2sad.api.notes import called
from s2sad.api.plan import Entry, Request, entry, split_aux
from s2sad.api.specialise import Store
from s2sad.api.structure import Tree, inexact_leaves
from s2sad.api.tangents import flatten_like, shape_of, zero_like
from s2sad.ir.types import Array


@dataclass(slots=True)
class Pushed:
    """A loaded `jvp` entry for one choice of differentiated leaves."""

    entry: Entry
    finish: Finish


@dataclass(slots=True)
class Forward:
    """A function specialised for one structure of primals, any choice of tangents."""

    request: Request
    trees: tuple[Tree, ...]
    match: Match
    guard: Guard | None
    leaves: tuple[Tree, ...]
    pushed: dict[tuple[Tree, ...], Pushed] = field(default_factory=dict[tuple[Tree, ...], Pushed])

    def push(self, values: tuple[Any, ...], dots: dict[Tree, Any]) -> tuple[Any, ...]:
        """Return (output, tangent of the differentiated output[, aux]); None in `dots` is zero."""
        wrt = tuple(leaf for leaf in self.leaves if dots.get(leaf) is not None)
        if not wrt:  # every tangent is zero: push one of them through
            wrt = tuple(leaf for leaf in self.leaves if leaf in dots)[:1]
            dots = {leaf: zero_like(leaf, values[self.leaves.index(leaf)]) for leaf in wrt}
        if wrt not in self.pushed:
            self.pushed[wrt] = self._specialise(wrt)
        pushed = self.pushed[wrt]
        given = (*values, *pushed.entry.captured.read(), *(dots[leaf] for leaf in wrt))
        return pushed.finish(called(pushed.entry, given), given)

    def _specialise(self, wrt: tuple[Tree, ...]) -> Pushed:
        options = self.request.options
        made = entry(self.request, "jvp" if wrt else "primal", self.trees, wrt)
        self.guard = both(self.guard, made.captured.guard)
        outputs = list(made.output.leaves())
        main, aux = split_aux(made.output, options)
        where = {leaf: i for i, leaf in enumerate(outputs)}
        moving = inexact_leaves(main) if wrt else []
        dots = {leaf: len(outputs) + i for i, leaf in enumerate(moving)}
        results = [Result(main, where, True), Result(main, dots)]
        results += [Result(aux, where, True)] if aux is not None else []
        arrays = [*made.arrays]
        first = len(made.leaves) + len(made.captured.items)
        arrays += [first + i for i, leaf in enumerate(wrt) if isinstance(leaf.type, Array)]
        return Pushed(made, finisher(results, len(outputs) + len(dots), arrays, False, made.fresh))

    def shapes(self, values: tuple[Any, ...]) -> dict[Tree, tuple[int, ...]]:
        """Return the shapes of the primals' leaves."""
        return {leaf: shape_of(value) for leaf, value in zip(self.leaves, values, strict=True)}

    def tangents(self, values: tuple[Any, ...], given: tuple[Any, ...]) -> dict[Tree, Any]:
        """Check one tangent per parameter against the primals; raises ArgumentError."""
        shapes, dots = self.shapes(values), dict[Tree, Any]()
        for position, (tree, tangent) in enumerate(zip(self.trees, given, strict=True)):
            dots |= flatten_like(tree, tangent, "tangent", f"tangents[{position}]", shapes)
        return dots


def forward_store(request: Request) -> Store[Forward]:
    """Return the specialisations of a function in forward mode."""

    def build(trees: tuple[Tree, ...], values: tuple[Any, ...]) -> Forward:
        lowered(request.fun, trees)
        leaves = tuple(leaf for tree in trees for leaf in tree.leaves())
        return Forward(request, trees, matcher(trees), guard(request.fun), leaves)

    return Store(request.fun, build)
