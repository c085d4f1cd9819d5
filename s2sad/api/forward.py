"""Tangents pushed through a function: what `jvp`, `jacfwd`, `hvp` and `linearize` run on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from s2sad.api.applied import moves_whole
from s2sad.api.direct import Direct, begun, missed, named, write_call
from s2sad.api.flatten import Finish, Match, Outcome, Result, finisher, matcher, only, write_match
from s2sad.api.guards import Guard, both, guard
from s2sad.api.known import lowered
from s2sad.api.lengths import clearest, short_ones, sure
from s2sad.api.notes import called
from s2sad.api.plan import Entry, Request, entry, select, split_aux
from s2sad.api.signature import Argnums
from s2sad.api.specialise import Store
from s2sad.api.structure import Tree, inexact_leaves
from s2sad.api.tangents import flatten_like, shape_of, zero_like
from s2sad.errors import S2SADError
from s2sad.ir.types import Array


@dataclass(slots=True)
class Pushed:
    """A loaded `jvp` entry for one choice of differentiated leaves."""

    entry: Entry
    outcome: Outcome
    arrays: Sequence[int]
    finish: Finish

    @classmethod
    def of(cls, made: Entry, outcome: Outcome, wrt: tuple[Tree, ...]) -> Pushed:
        """Return what shapes the results of an entry; `wrt` are the leaves that have tangents."""
        first = len(made.leaves) + len(made.captured.items)
        arrays = [*made.arrays, *(first + i for i, leaf in enumerate(wrt) if isinstance(leaf.type, Array))]
        return cls(made, outcome, arrays, finisher(outcome, arrays))


@dataclass(slots=True)
class Forward:
    """A function specialised for one structure of primals, any choice of tangents."""

    request: Request
    trees: tuple[Tree, ...]
    match: Match
    guard: Guard | None
    leaves: tuple[Tree, ...]
    only: bool = False
    """The output is left out: only its tangent is computed."""
    pushed: dict[tuple[Tree, ...], Pushed] = field(default_factory=dict[tuple[Tree, ...], Pushed])
    direct: Direct = missed
    directs: dict[tuple[bool, ...], Direct] = field(default_factory=dict[tuple[bool, ...], Direct])
    """By which parameters have tangents: all steps of a call in one."""

    def along(self, values: tuple[Any, ...], given: tuple[Any, ...]) -> Any:
        """Push one tangent per parameter; raises ArgumentError where they do not fit the primals."""
        return self.push(values, self.tangents(values, given))

    def direct_for(self, given: tuple[Any, ...]) -> Direct:
        """Return what takes `(values, given)` of this structure, after a call of `along`, in one step."""
        moving = tuple(tangent is not None for tangent in given)
        if moving not in self.directs:
            self.directs[moving] = self._direct(moving)
        return self.directs[moving]

    def _direct(self, moving: tuple[bool, ...]) -> Direct:
        along = [tree if moves else None for tree, moves in zip(self.trees, moving, strict=True)]
        wrt = tuple(leaf for tree in along if tree is not None for leaf in tree.leaves())
        pushed = self.pushed.get(wrt)
        if pushed is None or not all(moves_whole(tree) for tree in along if tree is not None):
            return missed
        writer = begun("call")
        writer.line("values, given = call")
        leaves = named(writer, write_match(writer, self.trees))
        dots = named(writer, write_match(writer, along, "given"))
        texts = write_call(writer, pushed.entry, leaves, dots, self.guard)
        results = pushed.outcome.write(writer, [texts[i] for i in pushed.arrays])
        writer.line(f"return {pushed.outcome.form(results)}")
        return writer.build("direct")

    def push(self, values: tuple[Any, ...], dots: dict[Tree, Any]) -> tuple[Any, ...]:
        """Return (output, tangent of the differentiated output[, aux]), `only` the tangent; None in `dots` is zero."""
        wrt = tuple(leaf for leaf in self.leaves if dots.get(leaf) is not None)
        if not wrt:  # every tangent is zero: push one of them through
            wrt = tuple(leaf for leaf in self.leaves if leaf in dots)[:1]
            dots = {leaf: zero_like(leaf, values[self.leaves.index(leaf)]) for leaf in wrt}
        pushed = self.specialised(wrt)
        given = (*values, *pushed.entry.captured.read(), *(dots[leaf] for leaf in wrt))
        return pushed.finish(called(pushed.entry, given), given)

    def specialised(self, wrt: tuple[Tree, ...]) -> Pushed:
        """Return what pushes the tangents of these leaves, made once."""
        if wrt not in self.pushed:
            self.pushed[wrt] = self._specialise(wrt)
        return self.pushed[wrt]

    @property
    def entry(self) -> Entry:
        """The first that was made."""
        return next(iter(self.pushed.values())).entry

    def _specialise(self, wrt: tuple[Tree, ...]) -> Pushed:
        options = self.request.options
        if self.only and wrt:
            return self._specialise_only(wrt)
        made = entry(self.request, "jvp" if wrt else "primal", self.trees, wrt)
        self.guard = both(self.guard, made.captured.guard)
        outputs = list(made.output.leaves())
        main, aux = split_aux(made.output, options)
        where = {leaf: i for i, leaf in enumerate(outputs)}
        moving = inexact_leaves(main) if wrt else []
        dots = {leaf: len(outputs) + i for i, leaf in enumerate(moving)}
        results = [Result(main, where, True), Result(main, dots)]
        results += [Result(aux, where, True)] if aux is not None else []
        return Pushed.of(made, Outcome(results, len(outputs) + len(dots), fresh=made.fresh), wrt)

    def _specialise_only(self, wrt: tuple[Tree, ...]) -> Pushed:
        made = entry(self.request, "tangent", self.trees, wrt)
        self.guard = both(self.guard, made.captured.guard)
        moving = inexact_leaves(made.output)
        dots = {leaf: i for i, leaf in enumerate(moving)}
        return Pushed.of(made, Outcome([Result(made.output, dots)], len(moving), only, made.fresh), wrt)

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
        return _read(request, trees, values, only=False)

    return Store(request.fun, build)


def tangent_store(request: Request, argnums: Argnums) -> Store[Forward]:
    """Return the specialisations of the tangent of a gradient for `argnums`, without the gradient.

    It is made for lengths that are related as in the call where its text would have to ask, as the gradient is.
    """

    def build(trees: tuple[Tree, ...], values: tuple[Any, ...]) -> Forward:
        made = _read(request, trees, values, only=True)
        places = store.binder.places(argnums, values)

        def derived(known: tuple[Tree, ...]) -> Forward:
            tangent = _forward(request, known, only=True)
            tangent.specialised(tuple(leaf for tree in select(known, places) for leaf in inexact_leaves(tree)))
            return tangent

        try:
            return clearest(derived, lambda f: f.entry.derivative.text, made.trees, values, len(store.known()))
        except S2SADError:  # what cannot be pushed is said once the tangents have been looked at
            return made

    store: Store[Forward] = Store(request.fun, build)
    return store


def _read(request: Request, trees: tuple[Tree, ...], values: tuple[Any, ...], only: bool) -> Forward:
    """Return a specialisation of which no text is there yet; raises what the compiler says of the function."""

    def made_for(known: tuple[Tree, ...], short: bool = True) -> Forward:
        lowered(request.fun, known, short)
        return _forward(request, known, only)

    return sure(made_for, trees, values) if short_ones(trees, values) is not None else made_for(trees, False)


def _forward(request: Request, trees: tuple[Tree, ...], only: bool) -> Forward:
    leaves = tuple(leaf for tree in trees for leaf in tree.leaves())
    return Forward(request, trees, matcher(trees), guard(request.fun, trees), leaves, only)
