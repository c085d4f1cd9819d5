"""Target "cpu": what a turn sends to the next element is laid down and added behind the loop, which counts up.

    for i in range(s, -1, -1):                    for i in range(s + 1):
        v[i] = v_tape[s, i]                           v[i] = v_tape[s, i]
        g = v_bar[i]                              for i in range(s + 1):
        v_bar[i] = 0.0                                g = v_bar[i]
        p_bar += v[i + 1] * g          becomes        v_bar[i] = 0.0
        v_bar[i] += a * g                             p_bar += v[i + 1] * g
        v_bar[i + 1] += b * g                         v_bar[i] += a * g
                                                      sent[i] = b * g
                                                  for i in range(s + 1):
                                                      v_bar[i + 1] += sent[i]

An element is taken before the turn of the one below adds to it: that is the reverse of `v[i] = f(v[i], v[i + 1])`,
a step of a binomial tree. On the right no turn waits for what another writes, and several are done at once: the loops
alone take half the time (measured), the gradient of a tree 0.8. What the loop puts back is put back first, where all
that is read of it has been put back in any case.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from s2sad.analysis.bounds import Bounds, lower_bounds
from s2sad.analysis.facts import Facts
from s2sad.analysis.liveness import Liveness
from s2sad.analysis.loops import affine
from s2sad.analysis.sharing import Apart
from s2sad.frontend.operators import build
from s2sad.frontend.values import literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Assign, Const, Expr, For, Function, Index, Slice, Stmt, Store, Var
from s2sad.ir.types import Array, Scalar
from s2sad.ir.walk import bound, exprs_of, map_blocks, names_in, reads, root_of, statements, subexpressions
from s2sad.transform.algebra import negative
from s2sad.transform.naming import Namer
from s2sad.transform.order import turns_commute
from s2sad.transform.stepping import forwards


def sent_on(fn: Function, facts: Facts) -> Function:
    """Return `fn` with such loops counting up."""
    loops = [s for s in statements(fn.body) if isinstance(s, For) and s.step == literal(-1)]
    if not any(isinstance(s, Store) and s.accumulate for loop in loops for s in loop.body):
        return fn
    work = _Sending(Apart(fn, facts), Liveness(fn.body), lower_bounds(fn), Namer(
        {p.name for p in fn.params} | names_in(fn.body)))  # fmt: skip
    return replace(fn, body=work.block(fn.body))


@dataclass(slots=True)
class _Sending:
    apart: Apart
    live: Liveness
    least: Bounds
    namer: Namer

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in body:
            made = self._turned(stmt) if isinstance(stmt, For) else None
            out += [map_blocks(stmt, self.block)] if made is None else made
        return tuple(out)

    def _turned(self, loop: For) -> list[Stmt] | None:
        ahead = forwards(loop) if loop.step == literal(-1) else None
        if ahead is None or not isinstance(ahead.start, Const) or any(isinstance(s, For) for s in loop.body):
            return None
        body = list(loop.body)
        back = [s for s in body if self._puts_back(s, loop)]
        rest = [s for s in body if not any(s is one for one in back)]
        found = next((pair for s in rest if (pair := self._sends(s, rest, loop)) is not None), None)
        if found is None:
            return None
        sends, own = found
        array = own.base
        axis = next(k for k, item in enumerate(own.index) if loop.var.name in reads(item))
        value = build(np.empty, build(ops.dim, array, literal(axis)))
        sent = Var(self.namer.fresh("sent"), value.type)
        item = Index(sent, (own.index[axis],), Scalar("float64"))
        body = [self._laying(s, item, s is sends[0]) if any(s is one for one in sends) else s for s in rest]
        after = self.live.after.get(id(loop), frozenset())
        if not turns_commute(replace(loop, body=tuple(body)), ahead, self.apart, after, self.least):
            return None
        first = [replace(ahead, body=tuple(back))] if back else []
        adding = replace(ahead, body=(replace(sends[0], op="+", value=item),))
        return [Assign(sent, value, loop.span), *first, replace(ahead, body=tuple(body)), adding]

    def _laying(self, send: Stmt, item: Index, is_first: bool) -> Stmt:
        assert isinstance(send, Store)
        if not is_first:
            return replace(send, place=item)
        return Store(item, "", negative(send.value) if send.op == "-" else send.value, send.span)

    def _puts_back(self, stmt: Stmt, loop: For) -> bool:
        """Say whether a statement sets an element of the turn's own that could be set before all turns.

        What is read of the array is then set already: in the turn, or in one before it, at a higher index.
        """
        if not isinstance(stmt, Store) or stmt.op or not isinstance(stmt.place, Index):
            return False
        array = stmt.place.base
        if not isinstance(array, Var) or not isinstance(stmt.place.type, Scalar):
            return False
        if any(isinstance(part, Apply) and part.fn is ops.pop for part in subexpressions(stmt.value)):
            return False  # what is taken from a list comes in the order of the turns
        inner = list(statements(loop.body))
        written = {root.name for s in inner if isinstance(s, Store) and (root := root_of(s.place)) is not None}
        set_inside = {name for s in inner for name in bound(s)}
        if (written | set_inside | {array.name}) & reads(stmt.value) or set_inside & reads(stmt.place):
            return False
        ready = False
        for other in loop.body:
            if other is stmt:
                ready = True
                continue
            for one in statements((other,)):
                if isinstance(one, Store) and (root := root_of(one.place)) is not None and root.name == array.name:
                    return False
                for expr in exprs_of(one):
                    if not self._reads_above(expr, stmt.place, array, loop.var, ready):
                        return False
        return True

    def _reads_above(self, expr: Expr, place: Index, array: Var, counter: Var, ready: bool) -> bool:
        """Say whether an expression reads of an array what turns before have set, and this one if it is `ready`."""
        parts = list(subexpressions(expr))
        items = [part for part in parts if isinstance(part, Index) and part.base == array]
        met = sum(isinstance(part, Var) and self.apart.may_meet(part.name, array.name) for part in parts)
        steps = [_steps(item, place, counter) for item in items]
        return met == len(items) and all(step is not None and step >= (0 if ready else 1) for step in steps)

    def _sends(self, stmt: Stmt, body: list[Stmt], loop: For) -> tuple[list[Store], Index] | None:
        """Return the additions to the element above, and the place of the turn's own that all else of its array is.

        `stmt` is the first of them; what is at the turn's own place comes before.
        """
        if not (isinstance(stmt, Store) and stmt.accumulate and isinstance(stmt.place, Index)):
            return None
        array, kind = stmt.place.base, stmt.place.type
        if not isinstance(array, Var) or not isinstance(kind, Scalar) or kind.dtype != "float64":
            return None
        sends = [s for s in body if isinstance(s, Store) and s.accumulate and s.place == stmt.place]
        if not isinstance(array.type, Array) or any(array.name in reads(s.value) for s in sends):
            return None
        own: set[Index] = set()
        last = 0
        for at, other in enumerate(body):
            for one in statements((other,)):
                above = one.place if isinstance(one, Store) and any(one is send for send in sends) else None
                for expr in exprs_of(one):
                    parts = list(subexpressions(expr))
                    items = [p for p in parts if isinstance(p, Index) and p.base == array]
                    met = sum(isinstance(p, Var) and self.apart.may_meet(p.name, array.name) for p in parts)
                    if met != len(items):
                        return None
                    items = [p for p in items if p is not above]
                    own.update(items)
                    last = at if items else last
        if len(own) != 1 or last > next(k for k, s in enumerate(body) if s is stmt):
            return None
        place = own.pop()
        return (sends, place) if _steps(stmt.place, place, loop.var) == 1 else None


def _steps(item: Index, place: Index, counter: Var) -> int | None:
    """Return how much further than a place another one is along the axis of a counter, if that is all."""
    found: int | None = None
    if len(item.index) != len(place.index):
        return None
    for one, other in zip(item.index, place.index, strict=True):
        first, second = affine(one), affine(other)
        if first is not None and second is not None and first[0] == second[0] == counter.name and found is None:
            found = first[1] - second[1]
        elif one != other or (not isinstance(one, Slice) and counter.name in reads(one)):
            return None
    return found

