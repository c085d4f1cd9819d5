"""Target "cpu": what is moved to another array, used there and added back stays where it was.

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
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

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
    Stmt,
    Store,
    Swap,
    Var,
)
from s2sad.ir.shapes import BLANK, reads_content
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
    made = {s.target.name for s in statements(fn.body) if isinstance(s, Assign) and _is_blank(s.value)}
    moves = [pair for s in statements(fn.body) if (pair := _moved(s)) is not None and pair[0].name in made]
    if not moves:
        return None
    uses = Counter(name for s in statements(fn.body) for name in touched(s))
    bindings = Counter(name for s in statements(fn.body) for name in bound(s))
    swapped = {v.name for s in statements(fn.body) if isinstance(s, Swap) for v in (s.first, s.second)}
    apart = Apart(fn, facts)
    gone: list[Var] = []

    def block(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        if gone:
            return body
        for at, stmt in enumerate(body):
            pair = _moved(stmt)
            if pair is None or pair[0].name not in made or bindings[pair[0].name] != 1 or pair[0].name in swapped:
                continue
            back = _end(body, at, *pair, apart)
            if back is None or uses[pair[0].name] != _count(body[at : back + 1], pair[0].name):
                continue
            gone.append(pair[0])
            between = tuple(_renamed(s, *pair) for s in body[at + 1 : back])
            return (*_without_heading(body[:at]), *_without_heading(between), *body[back + 1 :])
        return tuple(map_blocks(s, block) for s in body)

    body = block(fn.body)
    return replace(fn, body=_without_making(body, gone[0].name)) if gone else None


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


def _is_back(stmt: Stmt, new: Var, old: Var) -> bool:
    """Say whether all that was moved is added back."""
    match _over_all(stmt):
        case (index, (Store(Index(Var() as to, at), "+", Index(Var() as source, of), _, True),)):
            return at == of == index and to == old and source == new
        case _:
            return False


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


def _end(body: tuple[Stmt, ...], at: int, new: Var, old: Var, apart: Apart) -> int | None:
    """Return where what was moved is added back, if it might as well have stayed until then."""
    added = False
    for k in range(at + 1, len(body)):
        stmt = body[k]
        if _is_back(stmt, new, old):
            return k
        for one in statements((stmt,)):
            if isinstance(one, Break | Continue | Return | Swap) or {new.name, old.name} & set(bound(one)):
                return None
            if any(
                name not in (new.name, old.name) and (apart.may_meet(name, old.name) or apart.may_meet(name, new.name))
                for name in touched(one)
            ):
                return None
        met = [touched(one) for one in statements((stmt,))]
        if any(old.name in names for names in met):
            if any(new.name in names for names in met):
                return None
            if not all(_only_adds(one, old.name) for one in statements((stmt,))):
                return None
            added = True
        elif added and any(new.name in names for names in met):
            return None
    return None


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


def _count(body: tuple[Stmt, ...], name: str) -> int:
    return sum(name in touched(s) for s in statements(body))


def _renamed(stmt: Stmt, new: Var, old: Var) -> Stmt:
    stmt = map_exprs(stmt, lambda expr: substitute(expr, {new.name: old}))
    return map_blocks(stmt, lambda body: tuple(_renamed(s, new, old) for s in body))


def _without_heading(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """Drop the comment that a block ends with: what it was about is gone."""
    return body[:-1] if body and isinstance(body[-1], Comment) and body[-1].text else body


def _without_making(body: tuple[Stmt, ...], name: str) -> tuple[Stmt, ...]:
    """Drop the making of an array; who asks for its lengths is told those of what it was made like."""
    if any(name in reads(expr) for s in statements(body) for expr in exprs_of(s)):
        return body
    return tuple(
        map_blocks(s, lambda inner: _without_making(inner, name))
        for s in body
        if not (isinstance(s, Assign) and s.target.name == name)
    )
