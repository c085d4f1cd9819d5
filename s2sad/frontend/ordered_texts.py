"""Texts in the order of numbers: `sorted(scores, key=scores.get)`, `max(names, key=lambda n: loss[n])`.

Which text comes first is known only when the function runs: a number says which it is, and finds its item in a dict.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from s2sad.frontend import texts
from s2sad.frontend.functional import bind_each, expression, order_of
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, StructV, V, Value, literal


def all_texts(items: Value) -> tuple[str, ...] | None:
    """Return the different texts that a container holds; None if it holds anything else."""
    found = [item.value if isinstance(item, StaticV) else None for item in getattr(items, "items", ())]
    told_apart = bool(found) and len(set(found)) == len(found)
    return tuple(map(str, found)) if told_apart and all(isinstance(text, str) for text in found) else None


def by_key(lw: Lowerer, names: tuple[str, ...], key: Value, backwards: bool, node: Any) -> Value:
    """Return texts in the order of what a key gives of each."""
    keys, argsort = _keys(lw, names, key, node), bind_each(lw, [StaticV(np.argsort)])[0]
    order = order_of(lw, keys, argsort, backwards, node)
    places = tuple(range(len(names)))
    return StructV("list", places, tuple(_one(lw, names, order, at, node) for at in places))


def extreme(lw: Lowerer, sign: str, names: tuple[str, ...], key: Value, node: Any) -> Value:
    """Return the text of the greatest or the least key, the first of equal ones."""
    place = StaticV(np.argmax if sign == ">" else np.argmin)
    given, find = bind_each(lw, [_keys(lw, names, key, node), place])
    found = expression(lw, f"{find}({given})", node)
    assert isinstance(found, V)
    return texts.which(names, lw.atom(found.expr, "which", lw.span(node)))


def _keys(lw: Lowerer, names: tuple[str, ...], key: Value, node: Any) -> Value:
    judge, array, *each = bind_each(lw, [key, StaticV(np.array), *map(StaticV, names)])
    return expression(lw, f"{array}([{', '.join(f'{judge}({name})' for name in each)}])", node)


def _one(lw: Lowerer, names: tuple[str, ...], order: V, at: int, node: Any) -> StructV:
    from s2sad.frontend.indexing import lower_index

    place = lower_index(lw, order, [literal(at)], node)
    assert isinstance(place, V)
    return texts.which(names, lw.atom(place.expr, "which", lw.span(node)))
