"""What a statement has stored is read where it is, and not computed again by its adjoint.

    y[i] = math.exp(x[i])          reverses to          x_bar[i] += y[i] * y_bar[i]

instead of `x_bar[i] += math.exp(x[i]) * y_bar[i]`; where the value is made of other elements of `y`, it
is read before the older element is put back. Needs: the array is written by that statement, or by others before
it (`y[0] = x[0]`, then a loop), and another adjoint reads its elements anyway, so that nothing is kept for this
one: each element is written once, or the other adjoint is in the same turn of the loops that write it anew. Where
the value is made of the very element that it replaces (`a[k, k] = np.sqrt(a[k, k])`) and the adjoint reads no
other, the older one is not kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from s2sad.analysis.alias import Alias
from s2sad.analysis.facts import Facts, written_by
from s2sad.analysis.layout import Layout
from s2sad.analysis.loops import affine
from s2sad.ir.nodes import Apply, Assign, CallStmt, For, Function, Index, Slice, Stmt, Store, Swap, Var
from s2sad.ir.types import Scalar
from s2sad.ir.walk import exchanged_in, exprs_of, reads, statements, subexpressions
from s2sad.transform.naming import Namer, noun


def stored_results(
    fn: Function, adjoints: dict[int, list[Stmt]], layout: Layout, aliases: Mapping[str, Alias], facts: Facts,
    namer: Namer,
) -> dict[int, Assign | None]:  # fmt: skip
    """Let adjoints of stores read what was stored; return which do, and what reads it before it is overwritten."""
    params = {p.name for p in fn.params}
    every = list(statements(fn.body))
    shared = {alias.root for alias in aliases.values()} | set(aliases)
    unsteady = {v.name for s in every if isinstance(s, Swap) for v in (s.first, s.second)}
    unsteady |= {t.name for s in every if isinstance(s, CallStmt) for t in s.targets}
    order = {id(s): at for at, s in enumerate(every)}
    writers: dict[str, list[Stmt]] = {}
    for s in every:
        for name in written_by(s, facts):
            writers.setdefault(name, []).append(s)
    found: dict[int, Assign | None] = {}
    for stmt in every:
        code = adjoints.get(id(stmt))
        if not code or not isinstance(stmt, Store) or stmt.op or not isinstance(stmt.value, Apply):
            continue
        place = stmt.place
        if not (isinstance(place, Index) and isinstance(place.base, Var) and isinstance(place.type, Scalar)):
            continue
        name = place.base.name
        if name in shared | unsteady:
            continue
        if not any(stmt.value in subexpressions(e) for s in statements(tuple(code)) for e in exprs_of(s)):
            continue
        kind = stmt.value.type
        if not isinstance(kind, Scalar) or kind.dtype != place.type.dtype:
            continue
        anew = _written_anew(stmt, name, layout, name in params)
        before = [s for s in writers[name] if s is not stmt]
        if anew is not None and not all(_is_before(s, stmt, order, anew, layout) for s in before):
            anew = None
        replaces_its_own = place in subexpressions(stmt.value)
        if anew is None and not replaces_its_own:
            continue
        others = [s for s in every if s is not stmt and _is_within(s, anew, layout)] if anew is not None else []
        if name in reads(stmt.value):
            made = Var(namer.fresh(f"{noun(place)}_new"), kind)
            changed = [exchanged_in(s, stmt.value, made) for s in code]
            reads_others = _reads_items(changed, name)
            if (replaces_its_own and not reads_others) or (
                anew is not None
                and (not anew or reads_others or any(_reads_items(adjoints.get(id(s), ()), name) for s in others))
            ):
                adjoints[id(stmt)] = changed
                found[id(stmt)] = Assign(made, place, stmt.span)
        elif any(_reads_items(adjoints.get(id(s), ()), name) for s in others):
            adjoints[id(stmt)] = [exchanged_in(s, stmt.value, place) for s in code]
            found[id(stmt)] = None
    return found


def _written_anew(stmt: Store, name: str, layout: Layout, given: bool) -> list[Stmt] | None:
    """Return the loops each turn of which writes the elements anew; None if that is not known."""
    made = layout.defs.get(name, ())
    if len(made) != (0 if given else 1) or not isinstance(stmt.place, Index):
        return None
    outer = layout.loops(layout.block_of[id(made[0])]) if made else []
    loops = [loop for loop in layout.loops(layout.block_of[id(stmt)]) if not any(loop is one for one in outer)]
    plain = {told[0] for item in stmt.place.index if not isinstance(item, Slice) and (told := affine(item))}
    return [loop for loop in loops if not (isinstance(loop, For) and loop.var.name in plain)]


def _is_before(other: Stmt, stmt: Stmt, place: dict[int, int], anew: list[Stmt], layout: Layout) -> bool:
    """Say whether a statement is done before another, in each turn of the loops that write anew."""
    around = layout.loops(layout.block_of[id(other)])
    common = [loop for loop in layout.loops(layout.block_of[id(stmt)]) if any(loop is one for one in around)]
    return place[id(other)] < place[id(stmt)] and all(any(loop is one for one in anew) for loop in common)


def _is_within(stmt: Stmt, loops: list[Stmt], layout: Layout) -> bool:
    own = layout.loops(layout.block_of[id(stmt)]) if loops else []
    return all(any(loop is one for one in own) for loop in loops)


def _reads_items(code: Any, name: str) -> bool:
    return any(
        isinstance(part, Index) and isinstance(part.base, Var) and part.base.name == name
        for s in statements(tuple(code)) for e in exprs_of(s) for part in subexpressions(e)
    )  # fmt: skip

