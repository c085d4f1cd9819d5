"""Generated code that applies one half of a derivative: residuals, and tangents or cotangents that surely fit.

What does not fit surely is answered with `MISSED`: the caller then goes step by step, converts what can be
converted, and says what is wrong with the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from s2sad.api.direct import Direct, begun, missed, named, write_call, write_lengths
from s2sad.api.empty import takes
from s2sad.api.flatten import PAIRS, Finish, Outcome, Writer, finisher, in_tuple, may_share, write_match
from s2sad.api.plan import Entry
from s2sad.api.structure import Tree
from s2sad.ir.types import Array, ListOf, Scalar, Static, is_inexact


@dataclass(frozen=True, slots=True)
class LoadedHalf:
    """One half of a derivative, loaded.

    Attributes:
        entry: takes residuals, then tangents or cotangents.
        finish: what shapes its results, where all arguments are copies.
        direct: takes residuals, shapes and what is given in one step, where it surely fits.
    """

    entry: Entry
    finish: Finish
    direct: Direct


def loaded_half(
    made: Entry, outcome: Outcome, trees: Sequence[Tree], count: int, places: Sequence[int]
) -> LoadedHalf:
    """Return a half that takes `count` residuals and one tangent or cotangent per tree; see `_once`."""
    return LoadedHalf(made, finisher(outcome, ()), _once(made, outcome, trees, count, places))


def moves_whole(tree: Tree) -> bool:
    """Say whether every part of a structure has a tangent."""
    return not any(isinstance(node.type, Static) for node in tree.nodes()) and all(
        is_inexact(leaf.type) and not isinstance(leaf.type, ListOf) for leaf in tree.leaves()
    )


def _once(made: Entry, outcome: Outcome, trees: Sequence[Tree], count: int, places: Sequence[int]) -> Direct:
    """Generate `direct((residuals, shapes, given))`, for one tangent or cotangent per tree.

    Args:
        made: the half; it takes `count` residuals, then the leaves of `trees`.
        outcome: what becomes of its flat values.
        trees: the structures of what is given.
        count: how many residuals there are.
        places: which of `shapes` each leaf must have.
    """
    if _takes_lists(made) or not all(moves_whole(tree) for tree in trees):
        return missed
    writer = begun("call")
    writer.line("residuals, shapes, given = call")
    leaves = named(writer, write_match(writer, trees, "given"))
    kinds = [leaf.type for tree in trees for leaf in tree.leaves()]
    for name, kind, place in zip(leaves, kinds, places, strict=True):
        if isinstance(kind, Array):
            writer.line(f"if {name}.shape != shapes[{place}]: {writer.missed}")
    consumed = made.derivative.consumed
    params = list(takes(made))
    if count:
        residuals = [f"k{i}" for i in range(count)]
        writer.line(f"{', '.join(residuals)}, = residuals")
        leaves = [*residuals, *leaves]
    for at in consumed:
        if isinstance(params[at], Array):
            writer.line(f'{leaves[at]} = {leaves[at]}.copy(order="K")')
    write_call(writer, made, leaves, [], None)
    kept = [name for at, name in enumerate(leaves) if isinstance(params[at], Array) and at not in consumed]
    writer.line(f"return {outcome.form(outcome.write(writer, kept))}")
    return writer.build("direct")


def mapped_once(
    made: Entry, outcome: Outcome, trees: Sequence[Tree], count: int, batches: Sequence[tuple[int, int]]
) -> Direct:
    """Generate `direct((residuals, given))` for a loop over batches; the leaves and axes in `batches` hold them."""
    if _takes_lists(made):
        return missed
    writer = begun("call")
    writer.line("residuals, given = call")
    leaves = named(writer, write_match(writer, trees, "given"))
    write_lengths(writer, leaves, batches)
    write_call(writer, made, [*["*residuals"][:count], *leaves], [], None)
    given = [*(f"residuals[{i}]" for i in range(count)), *leaves]
    results = outcome.write(writer, [given[i] for i in made.arrays])
    writer.line(f"return {outcome.form(results)}")
    return writer.build("direct")


def _takes_lists(made: Entry) -> bool:
    """Say whether a half may take lists: an empty one is given its type at each call."""
    kinds = takes(made)
    return not kinds or any(isinstance(kind, ListOf) for kind in kinds)


def write_owned(writer: Writer, flat: list[str], kept: range, arrays: list[str], made: Entry) -> None:
    """Write that the residuals among the flat values of an entry share no memory with others; `kept` says which."""
    from s2sad.api.residuals import owned

    kinds: tuple[Any, ...] = getattr(made.derivative, "gives", ()) or (None,) * len(flat)
    own = [name for name, kind in zip(flat, kinds, strict=True) if isinstance(kind, Array)]
    surely = {i for i in kept if isinstance(kinds[i], Scalar) or (isinstance(kinds[i], Array) and i in made.fresh)}
    doubtful = [i for i in kept if i not in surely]
    if len(doubtful) * (len(arrays) + len(own)) > PAIRS or not all(isinstance(kinds[i], Array) for i in doubtful):
        names = ", ".join(flat[i] for i in kept)
        others = in_tuple([*arrays, *(name for name in own if name not in [flat[i] for i in kept])])
        writer.line(f"{names}, = {writer.constant(owned)}(({names},), {others})")
        return
    share = writer.constant(may_share)
    for i in doubtful:
        if i in made.given_back:
            writer.line(f'{flat[i]} = {flat[i]}.copy(order="K")')
            continue
        others = [*arrays, *(name for name in own[: own.index(flat[i])])]
        same = [f"{flat[i]} is {other}" for other in arrays]  # an argument itself comes back as it is
        tests = " or ".join([*same, *(f"{share}({flat[i]}, {other})" for other in others)])
        if tests:
            writer.line(f'if {tests}: {flat[i]} = {flat[i]}.copy(order="K")')
