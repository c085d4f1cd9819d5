"""Target "cpu": what is moved to another array, used there and added back stays where it was; so do sums for it.

    for i in range(n):
        v_bar[i] = u_bar[i]
        u_bar[i] = 0.0
    for i in range(1, n - 1):                         for i in range(1, n - 1):
        parts[i + 1] = v_bar[i]        becomes            parts[i + 1] = u_bar[i]
        v_bar[i] = 0.0                                    u_bar[i] = 0.0
    for i in range(n):                                for i in range(n):
        u_bar[i] += parts[i] + parts[i + 2]               u_bar[i] += parts[i] + parts[i + 2]
    for i in range(n):
        u_bar[i] += v_bar[i]

That is the reverse of `v = u.copy(); v[1:-1] = …; u = v`, a step in time as most write it. Saves four ways through
the memory. Needs: the array moved to is met nowhere else, and never again once the first is added to.

    v_bar[:] = 0.0
    for i in range(1, n - 1):                         for i in range(1, n - 1):
        parts[i] = u_bar[i]            becomes            parts[i] = u_bar[i]
        u_bar[i] = 0.0                                    u_bar[i] = 0.0
    for i in range(1, n - 1):                         for i in range(1, n - 1):
        v_bar[i] += parts[i - 1] * …                      u_bar[i] += parts[i - 1] * …
    for i in range(n):
        u_bar[i] += v_bar[i]

Needs: the array summed up in is met nowhere else, and the other one not from its first sum on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from s2sad.analysis.facts import Facts
from s2sad.analysis.sharing import Apart
from s2sad.ir.nodes import (
    Apply,
    Assign,
    Break,
    Comment,
    Continue,
    Expr,
    For,
    Function,
    Index,
    Return,
    Slice,
    Stmt,
    Store,
    Swap,
    Var,
)
from s2sad.ir.shapes import BLANK, LIKE, reads_content
from s2sad.ir.types import Array
from s2sad.ir.walk import (
    bound,
    exprs_of,
    is_const,
    map_blocks,
    map_exprs,
    reads,
    root_of,
    statements,
    substitute,
)
from s2sad.transform.filled import covers, loops_over


def moved_back(fn: Function, facts: Facts) -> Function:
    """Return `fn` without such moves there and back."""
    if not any(isinstance(s, Store) and s.accumulate for s in statements(fn.body)):
        return fn
    while (better := _once(fn, facts)) is not None:
        fn = better
    return fn


def _once(fn: Function, facts: Facts) -> Function | None:
    every = list(statements(fn.body))
    bindings = Counter(name for s in every for name in bound(s))
    swapped = {v.name for s in every if isinstance(s, Swap) for v in (s.first, s.second)}
    made = {s.target.name for s in every if isinstance(s, Assign) and _is_blank(s.value)}
    made = {name for name in made - swapped if bindings[name] == 1}
    if not made:
        return None
    uses = Counter(name for s in every for name in touched(s))
    apart = Apart(fn, facts)
    names = {name for s in every for name in bound(s)} | {p.name for p in fn.params}
    made = {name for name in made if not any(other != name and apart.may_meet(name, other) for other in names)}
    gone: list[Var] = []

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        for at, stmt in enumerate(body):
            for find in (_there_and_back, _summed_up):
                found = find(body, at, apart) if not gone and _first_use(stmt) & made else None
                if found is None or found.new.name not in made:
                    continue
                inside = body[at : found.back + 1]
                if uses[found.new.name] != sum(found.new.name in touched(s) for s in statements(inside)):
                    continue
                gone.append(found.new)
                between = tuple(_renamed(s, found.new, found.old) for s in inside[1:-1])
                before = _without_heading(body[:at]) if find is _there_and_back else body[:at]
                before = (*before, stmt) if isinstance(stmt, Assign) else before  # its making, which goes last
                return (*before, *_without_heading(between), *body[found.back + 1 :])
        return body if gone else tuple(map_blocks(s, block) for s in body)

    body = block(fn.body)
    return replace(fn, body=_without_making(body, gone[0].name, bindings)) if gone else None


@dataclass(frozen=True, slots=True)
class _Found:
    """An array that another one may stand for, and the statement that adds the one to the other."""

    new: Var
    old: Var
    back: int


def _first_use(stmt: Stmt) -> set[str]:
    """Return the names that a statement, or the nest that it is, sets or makes."""
    stores = [s for s in statements((stmt,)) if isinstance(s, Store)]
    roots = {root.name for s in stores if (root := root_of(s.place)) is not None}
    return roots | set(bound(stmt))


def _there_and_back(body: tuple[Stmt, ...], at: int, apart: Apart) -> _Found | None:
    """Return what is moved away whole and added back, if it might as well have stayed until then."""
    pair = _moved(body[at])
    if pair is None:
        return None
    new, old = pair
    added = False
    for k in range(at + 1, len(body)):
        if _added_back(body[k]) == (old, new):
            return _Found(new, old, k)
        if not _are_alone(body[k], new, old, apart):
            return None
        inner = list(statements((body[k],)))
        if any(old.name in touched(s) for s in inner):
            if any(new.name in touched(s) for s in inner) or not all(_only_adds(s, old.name) for s in inner):
                return None
            added = True
        elif added and any(new.name in touched(s) for s in inner):
            return None
    return None


def _summed_up(body: tuple[Stmt, ...], at: int, apart: Apart) -> _Found | None:
    """Return what begins with zeros and is summed up for another array, if that might have been added to at once."""
    new = _zeroed(body[at])
    back = next((k for k in range(at + 1, len(body)) if (_added_back(body[k]) or (None, None))[1] == new), None)
    if new is None or back is None:
        return None
    pair = _added_back(body[back])
    assert pair is not None
    old = pair[0]
    if old.type != new.type:
        return None
    met = False
    for stmt in body[at + 1 : back]:
        inner = list(statements((stmt,)))
        if not _are_alone(stmt, new, old, apart) or not all(_only_adds(s, new.name) for s in inner):
            return None
        met = met or any(new.name in touched(s) for s in inner)
        if met and any(old.name in touched(s) for s in inner):
            return None
    return _Found(new, old, back)


def _zeroed(stmt: Stmt) -> Var | None:
    """Return the array that is zero behind a statement."""
    match stmt:
        case Assign(Var() as new, Apply(fn)) if fn in (np.zeros, np.zeros_like):
            return new
        case Store(Index(Var() as new, index), "", value) if is_const(value, 0):
            return new if all(item == Slice(None, None, None) for item in index) else None
        case _:
            return None


def _is_blank(value: Expr) -> bool:
    return isinstance(value, Apply) and value.fn in BLANK and isinstance(value.type, Array)


def _moved(stmt: Stmt) -> tuple[Var, Var] | None:
    """Return what is moved to, and what is moved away and left with zeros, all of it."""
    found = _over_all(stmt)
    if found is None:
        return None
    match found:
        case (index, (Store(Index(Var() as new, at), "", Index(Var() as old, of)), Store(Index(Var() as left, zeroed),
                      "", value))) if at == of == zeroed == index and left == old and is_const(value, 0):  # fmt: skip
            a, b = new.type, old.type
            same = isinstance(a, Array) and a == b
            return (new, old) if same and new.name != old.name else None
        case _:
            return None


def _added_back(stmt: Stmt) -> tuple[Var, Var] | None:
    """Return the array to which all of another is added, and that other one."""
    match _over_all(stmt):
        case (index, (Store(Index(Var() as to, at), "+", Index(Var() as source, of), _, True),)):
            return (to, source) if at == of == index and to != source else None
        case _:
            return None


def _over_all(stmt: Stmt) -> tuple[tuple[Expr, ...], tuple[Stmt, ...]] | None:
    """Return the index and the statements of a nest over all elements of the array that it sets first."""
    first = next((s for s in statements((stmt,)) if isinstance(s, Store)), None)
    root = root_of(first.place) if first is not None else None
    if not isinstance(stmt, For) or root is None or not isinstance(root.type, Array) or not root.type.dims:
        return None
    loops = loops_over(stmt, root.type)
    if loops is None or not all(covers(one, dim) for one, dim in zip(loops, root.type.dims, strict=True)):
        return None
    if any(one.at_once for one in loops):
        return None
    return tuple(one.var for one in loops), tuple(s for s in loops[-1].body if not isinstance(s, Comment))


def _are_alone(stmt: Stmt, new: Var, old: Var, apart: Apart) -> bool:
    """Say whether a statement leaves two arrays what they are, and meets them by no other names."""
    own = (new.name, old.name)
    for one in statements((stmt,)):
        if isinstance(one, Break | Continue | Return | Swap) or set(own) & set(bound(one)):
            return False
        if any(apart.may_meet(name, mine) for name in touched(one) - set(own) for mine in own):
            return False
    return True


def _only_adds(stmt: Stmt, name: str) -> bool:
    """Say whether a statement does nothing with an array but to add to its elements."""
    if name not in touched(stmt):
        return True
    match stmt:
        case Store(Index(Var(base), index), "+" | "-", value, _, True):
            return base == name and not any(name in reads_content(e) for e in (*index, value))
        case _:
            return False


def touched(stmt: Stmt) -> set[str]:
    """Return the names of which a statement itself reads or writes more than the shape."""
    return {name for expr in exprs_of(stmt) for name in reads_content(expr)} | (
        {v.name for v in (stmt.first, stmt.second)} if isinstance(stmt, Swap) else set()
    )


def _renamed(stmt: Stmt, new: Var, old: Var) -> Stmt:
    stmt = map_exprs(stmt, lambda expr: substitute(expr, {new.name: old}))
    return map_blocks(stmt, lambda body: tuple(_renamed(s, new, old) for s in body))


def _without_heading(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Drop the comment that a block ends with: what it was about is gone."""
    return body[:-1] if body and isinstance(body[-1], Comment) and body[-1].text else body


def _without_making(body: tuple[Stmt, ...], name: str, bindings: Counter[str]) -> tuple[Stmt, ...]:
    """Drop the making of an array; who asks for its lengths is told what it was made with, if that stays."""
    made = next(s for s in statements(body) if isinstance(s, Assign) and s.target.name == name)
    asked = any(name in reads(expr) for s in statements(body) for expr in exprs_of(s))
    like = made.value.args[0] if isinstance(made.value, Apply) and made.value.fn in LIKE else None
    if asked and (not isinstance(like, Var) or bindings[like.name] > 1):
        return body

    known: dict[str, Expr] = {name: like} if isinstance(like, Var) else {}

    def each(stmt: Stmt) -> Stmt:
        stmt = map_exprs(stmt, lambda expr: substitute(expr, known)) if asked else stmt
        return map_blocks(stmt, lambda inner: tuple(each(s) for s in inner if s is not made))

    return tuple(each(s) for s in body if s is not made)
