"""Cotangents pulled back through a function: what `vjp` and `jacrev` run on."""

from __future__ import annotations

from dataclasses import dataclass
from pickle import PicklingError
from typing import TYPE_CHECKING, Any

import numpy as np

from s2sad.api.applied import LoadedHalf, loaded_half, write_owned
from s2sad.api.axes import Axes
from s2sad.api.direct import MISSED, Direct, begun, missed, named, write_call
from s2sad.api.empty import typed
from s2sad.api.flatten import Finish, Match, Outcome, Result, finisher, in_tuple, matcher, write_match
from s2sad.api.guards import Guard, both, guard
from s2sad.api.known import refuse_constants
from s2sad.api.lengths import clearest
from s2sad.api.notes import called
from s2sad.api.plan import Entry, Request, entry, split_aux
from s2sad.api.residuals import copied_residual, owned
from s2sad.api.signature import label
from s2sad.api.specialise import Store
from s2sad.api.structure import Tree, inexact_leaves, kind_text, unflatten
from s2sad.api.tangents import flatten_like, shape_of, zero_like
from s2sad.errors import ArgumentError
from s2sad.ir.types import Array

if TYPE_CHECKING:
    from s2sad.api.linear_map import MapProgram


@dataclass(slots=True)
class Reverse:
    """A function specialised for one structure of primals and choice of leaves.

    Attributes:
        outputs: the leaves of the output.
        count: how many values the forward function returns, residuals included.
        main: the output without what `has_aux` sets aside.
    """

    request: Request
    trees: tuple[Tree, ...]
    wrt: tuple[Tree, ...]
    match: Match
    guard: Guard | None
    forward: Entry
    outputs: tuple[Tree, ...]
    count: int
    main: Tree
    shape_outputs: Finish
    backward: LoadedHalf | None
    program: MapProgram | None = None
    direct: Direct = missed
    """Takes the arguments of `vjp`, and returns what it returns."""

    def run(self, leaves: tuple[Any, ...]) -> tuple[tuple[Any, ...], Pullback]:
        """Run the primal once; return (output[, aux]) and the pullback with its own residuals."""
        leaves += self.forward.captured.read()
        flat = called(self.forward, leaves)
        values = tuple(flat) if self.count != 1 else (flat,)
        shaped = self.shape_outputs(flat, leaves)
        own = len(self.outputs)
        residuals = owned(values[own:], leaves + values[:own])
        shapes = tuple([shape_of(value) for value in values[:own]])
        return shaped, Pullback(self, residuals, shapes)


@dataclass(slots=True, eq=False)
class Pullback:
    """The linear map from cotangents of the output to cotangents of the arguments.

    It holds the residuals of one run of the primal, may be called many times, and never runs the
    primal again. `bars` has units [result] / [argument].
    """

    reverse: Reverse
    residuals: tuple[Any, ...]
    shapes: tuple[tuple[int, ...], ...]
    """Of each leaf of the output."""

    def __call__(self, out_bar: Any) -> tuple[Any, ...]:
        """Return one cotangent per argument for a cotangent of the output's structure.

        None is zero; integer and static leaves get None.

        Raises:
            ArgumentError: `out_bar` differs from the output in structure, shape or dtype.
        """
        half = self.reverse.backward
        if half is not None:
            bars = half.direct((self.residuals, self.shapes, (out_bar,)))
            if bars is not MISSED:
                return bars
        shapes = dict(zip(self.reverse.outputs, self.shapes, strict=True))
        return self._pull(flatten_like(self.reverse.main, out_bar, "cotangent", "out_bar", shapes), shapes)

    def __repr__(self) -> str:
        """Name the function, and what is mapped to what."""
        given = ", ".join(kind_text(tree) for tree in self.reverse.trees)
        return f"<pullback of {label(self.reverse.request.fun)}: {kind_text(self.reverse.main)} to ({given})>"

    def __reduce__(self) -> Any:
        """Refuse to be pickled; raises PicklingError."""
        raise PicklingError("a pullback is not pickled; pickle the function and its arguments, and call `vjp` there")

    def s2sad_mapped(self, args: tuple[Any, ...], in_axes: Axes, out_axes: Axes) -> Any:
        """Pull back a batch of cotangents in one loop."""
        if self.reverse.program is None:
            raise ArgumentError("vmap of a pullback of a function of no differentiable arguments")
        return self.reverse.program.run(self.residuals, args, in_axes, out_axes)

    def _pull(self, bars: dict[Tree, Any], shapes: dict[Tree, tuple[int, ...]]) -> tuple[Any, ...]:
        """Return one cotangent per argument for checked cotangents by leaf."""
        if self.reverse.backward is None:
            return tuple(unflatten(tree, {}, static=False) for tree in self.reverse.trees)
        made = self.reverse.backward.entry
        given = [
            bars[leaf] if bars.get(leaf) is not None else zero_like(leaf, np.empty(shapes[leaf]))
            for leaf in inexact_leaves(self.reverse.main)
        ]
        consumed = [copied_residual(value) for value in self.residuals]  # the adjoint may use them up
        return self.reverse.backward.finish(called(made, typed(made, (*consumed, *given))), ())


def reverse_store(request: Request) -> Store[Reverse]:
    """Return the specialisations of a function in reverse mode, for every inexact leaf."""

    def build(trees: tuple[Tree, ...], values: tuple[Any, ...]) -> Reverse:
        refuse_constants(trees, values)
        return clearest(made_for, _text, trees, values, len(store.known()))

    def made_for(trees: tuple[Tree, ...]) -> Reverse:
        wrt = tuple(leaf for tree in trees for leaf in inexact_leaves(tree))
        unchanged = guard(request.fun, trees)
        made = entry(request, "fwd" if wrt else "primal", trees, wrt)
        outputs = tuple(made.output.leaves())
        main, aux = split_aux(made.output, request.options)
        where = {leaf: i for i, leaf in enumerate(outputs)}
        count = len(outputs) + (getattr(made.derivative, "residual_count", 0) if wrt else 0)
        results = [Result(main, where, True)] + ([Result(aux, where, True)] if aux is not None else [])
        outcome = Outcome(results, count, fresh=made.fresh)
        finish = finisher(outcome, made.arrays)
        unchanged = both(unchanged, made.captured.guard)
        back = _backward(request, trees, wrt, main, outputs, count) if wrt else None
        program = _program(request, trees, wrt, main) if wrt else None
        reverse = Reverse(
            request, trees, wrt, matcher(trees), unchanged, made, outputs, count, main, finish, back, program
        )
        reverse.direct = _direct(reverse, outcome)
        return reverse

    store: Store[Reverse] = Store(request.fun, build)
    return store


def _direct(reverse: Reverse, outcome: Outcome) -> Direct:
    """Generate `direct(primals)`: the output, the pullback and what `has_aux` sets aside."""
    made, writer = reverse.forward, begun("primals")
    leaves = named(writer, write_match(writer, reverse.trees, "primals"))
    given = write_call(writer, made, leaves, [], reverse.guard)
    arrays = [given[i] for i in made.arrays]
    out, *aux = outcome.write(writer, arrays)
    own = len(reverse.outputs)
    write_owned(writer, outcome.flat, range(own, outcome.count), arrays, made)
    shapes = [
        f"{name}.shape" if isinstance(leaf.type, Array) else "()"
        for name, leaf in zip(outcome.flat, reverse.outputs, strict=False)
    ]
    parts = ", ".join([writer.constant(reverse), in_tuple(outcome.flat[own:]), in_tuple(shapes)])
    writer.line(f"return {in_tuple([out, f'{writer.constant(Pullback)}({parts})', *aux])}")
    return writer.build("direct")


def _text(made: Reverse) -> str:
    parts = [made.forward, *([made.backward.entry] if made.backward is not None else [])]
    return "\n".join(part.derivative.text for part in parts)


def _backward(
    request: Request, trees: tuple[Tree, ...], wrt: tuple[Tree, ...], main: Tree, outputs: tuple[Tree, ...], count: int
) -> LoadedHalf:
    """Derive and load `bwd` with `fwd`: what the function reads and the rules are the same then."""
    made = entry(request, "bwd", trees, wrt)
    bars = {leaf: i for i, leaf in enumerate(wrt)}
    results = [Result(tree, bars) for tree in trees]
    outcome = Outcome(results, len(bars), fresh=made.fresh)
    places = [outputs.index(leaf) for leaf in main.leaves()]
    return loaded_half(made, outcome, [main], count - len(outputs), places)


def _program(request: Request, trees: tuple[Tree, ...], wrt: tuple[Tree, ...], main: Tree) -> MapProgram:
    """Return what maps pullbacks over batches of cotangents."""
    from s2sad.api.linear_map import MapProgram
    from s2sad.api.pieces import Half

    leaves = [leaf for tree in trees for leaf in tree.leaves()]
    half = Half(
        request.fun, "bwd", tuple(tree.type for tree in trees), tuple(leaves.index(leaf) for leaf in wrt),
        request.options.aux,
    )  # fmt: skip
    return MapProgram(half, (main,), trees, False, request, "cotangent")
