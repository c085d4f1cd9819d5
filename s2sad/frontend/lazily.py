"""Iterators that read item by item: here their items are made at once, the same unless a loop writes meanwhile.

    for v in map(f, y):                for v in chain(y, z):              for v in (c * w for w in y):
        y[2] = v                           z.append(v)                        c = v

What CPython gives each of these loops depends on what its turns have written so far. Such loops are refused,
iterators with a name of which what they read is written before they are used up, and lists that are extended by an
iterator which reads them.
"""

from __future__ import annotations

import builtins
import itertools
from typing import TYPE_CHECKING, Any

import gast

from s2sad.errors import S2SADError
from s2sad.frontend.generators import WRITING
from s2sad.frontend.values import StaticV, StructV

if TYPE_CHECKING:
    from s2sad.frontend.lowerer import Lowerer

_LAZY: frozenset[Any] = frozenset({
    builtins.map, builtins.filter, itertools.chain, itertools.chain.from_iterable, itertools.islice,
    itertools.accumulate, itertools.pairwise, itertools.zip_longest, itertools.starmap, itertools.takewhile,
    itertools.dropwhile, itertools.filterfalse, itertools.compress, itertools.groupby, itertools.cycle,
})  # fmt: skip
_THROUGH: frozenset[Any] = frozenset({builtins.zip, builtins.enumerate, builtins.iter})
"""What reads item by item from what it is given, and is read so here too."""


def check_written_meanwhile(lw: Lowerer, node: Any) -> None:
    """Refuse a `for` statement whose turns write what its iterator has yet to read."""
    if _is_lazy(lw, node.iter):
        _check(lw, node.iter, [part for stmt in node.body for part in gast.walk(stmt)])


def check_written_before_use(lw: Lowerer, node: Any) -> None:
    """Refuse an iterator with a name if what it reads is written between its making and its last mention."""
    target = node.targets[0]
    if len(node.targets) != 1 or not isinstance(target, gast.Name) or not _is_lazy(lw, node.value):
        return
    every = [part for part in gast.walk(lw.source.node) if hasattr(part, "lineno") and is_behind(part, node)]
    name = target.id
    uses = [(part.lineno, part.col_offset) for part in every if isinstance(part, gast.Name) and part.id == name]
    _check(lw, node.value, [part for part in every if (part.lineno, part.col_offset) <= max(uses, default=(0, 0))])


def check_dict_is_not_written(lw: Lowerer, node: Any) -> None:
    """Refuse a name for `d.values()` and its like where the dict is written before the name is last read."""
    match node:
        case gast.Assign(
            targets=[gast.Name(id=view)],
            value=gast.Call(func=gast.Attribute(value=gast.Name(id=name), attr="values" | "items" | "keys"), args=[]),
        ):
            held = lw.env.get(name)
        case _:
            return
    if not isinstance(held, StructV) or held.kind != "dict":
        return
    every = [part for part in gast.walk(lw.source.node) if hasattr(part, "lineno") and is_behind(part, node)]
    uses = [(n.lineno, n.col_offset) for n in every if isinstance(n, gast.Name) and n.id == view]
    uses += [  # a loop behind reads it again in its next turn
        (loop.end_lineno or loop.lineno, loop.end_col_offset or 0) for loop in every
        if isinstance(loop, gast.For | gast.While)
        and any(isinstance(n, gast.Name) and n.id == view for n in gast.walk(loop))
    ]  # fmt: skip
    for part in every:
        itself = isinstance(getattr(getattr(part, "func", part), "value", None), gast.Name)  # not what it holds
        if itself and (part.lineno, part.col_offset) <= max(uses, default=(0, 0)) and _written(part) == name:
            lw.fail(part, f"`{name}` is written while `{view}`, which shows what is in it, has yet to be read",
                    f"Ask for `{name}.{node.value.func.attr}()` where it is used.")  # fmt: skip


def is_behind(part: Any, statement: Any) -> bool:
    """Say whether a part of the text stands behind a statement, on its line or a later one."""
    end = statement.end_lineno or statement.lineno, statement.end_col_offset or 0
    return bool((part.lineno, part.col_offset) >= end)


def check_extended_by_itself(lw: Lowerer, target: Any, iterator: Any, node: Any) -> None:
    """Refuse `items += (items[-1] * c for c in y)`: each item is appended in CPython before the next is made."""
    if not isinstance(target, gast.Name | gast.Attribute | gast.Subscript) or not _is_lazy(lw, iterator):
        return
    if _text(target) in {_text(n) for part in _bodies(iterator) for n in gast.walk(part)}:
        lw.fail(node, "a list grows here while an iterator that reads it has items yet to make",
                "Append in a loop: `for ...: items.append(...)`; or extend by a list, made first.")  # fmt: skip


def _check(lw: Lowerer, iterator: Any, parts: list[Any]) -> None:
    """Refuse what writes, among some parts of the text, what an iterator reads."""
    read = {n.id for n in gast.walk(iterator) if isinstance(n, gast.Name)}
    free = {n.id for part in _bodies(iterator) for n in gast.walk(part) if isinstance(n, gast.Name)}
    own = {n.id for n in gast.walk(iterator) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}
    for part in parts:
        name = _written(part)
        bound = part.id if isinstance(part, gast.Name) and not isinstance(part.ctx, gast.Load) else None
        if name in read or bound in free - own:
            lw.fail(
                part, f"`{name or bound}` is written while an iterator has items of it yet to read",
                "Make a list of the iterator first: `list(...)`; or loop over indices.",
            )  # fmt: skip


def _text(node: Any) -> str:
    """Return what an expression says, whether it is read or written."""
    return gast.dump(node).replace("Store()", "Load()")


def _is_lazy(lw: Lowerer, node: Any) -> bool:
    """Say whether an expression is an iterator whose items are made one by one in CPython, and at once here."""
    if isinstance(node, gast.GeneratorExp):
        return True
    if not isinstance(node, gast.Call) or not isinstance(node.func, gast.Name | gast.Attribute):
        return False
    fn = _callee(lw, node.func)
    if fn in _LAZY:
        return True
    return fn in _THROUGH and any(_is_lazy(lw, arg) for arg in node.args)


def _callee(lw: Lowerer, node: Any) -> Any:
    """Return the function that a name or attribute stands for, where that is one of those that matter."""
    last = node.attr if isinstance(node, gast.Attribute) else node.id
    if isinstance(node, gast.Name) and node.id in lw.env and not isinstance(lw.env[node.id], StaticV):
        return None
    from s2sad.frontend.expressions import lower_expr

    names = {fn.__name__ for fn in (*_LAZY, *_THROUGH)}
    if isinstance(node, gast.Attribute) and last not in names:
        return None
    try:
        value = lower_expr(lw, node)
    except S2SADError:  # said again where the call is read
        return None
    found = value.value if isinstance(value, StaticV) else None
    return found if any(found is fn or found == fn for fn in (*_LAZY, *_THROUGH)) else None


def _bodies(node: Any) -> list[Any]:
    """Return what is evaluated anew for each item: of generator expressions and lambdas."""
    found: list[Any] = []
    for part in gast.walk(node):
        if isinstance(part, gast.Lambda):
            found.append(part.body)
        if isinstance(part, gast.GeneratorExp):
            first, *others = part.generators
            found += [part.elt, *first.ifs, *others]
    return found


def _written(node: Any) -> str | None:
    """Return the name of what a part of a statement writes into."""
    match node:
        case gast.Subscript(value=value, ctx=gast.Store() | gast.Del()):
            return root_name(value)
        case gast.AugAssign(target=gast.Name(id=name)):
            return name
        case gast.Call(func=gast.Attribute(value=value, attr=attr)) if attr in WRITING:
            return root_name(value)
        case _:
            return None


def root_name(node: Any) -> str | None:
    """Return the name that a place begins with: `a` of `a.b[i]`."""
    while isinstance(node, gast.Subscript | gast.Attribute):
        node = node.value
    return node.id if isinstance(node, gast.Name) else None
