"""Loops over a display of lists that grow in the loop, written once for each of the lists.

    for items, v in zip((a, b), (x, y)):              v = x
        items.append(v)                   becomes     a.append(v)
                                                      v = y
                                                      b.append(v)

A second name of a list that grows cannot be followed; which list is meant is known in each turn.
"""

from __future__ import annotations

import builtins
import copy
from typing import Any

import gast

from s2sad.frontend.generators import WRITING, Renamed, named
from s2sad.frontend.jumps import blocks, own
from s2sad.frontend.source import Source

_MOST = 8
_Turn = tuple[dict[str, Any], list[tuple[Any, Any]]]
"""Which list each target means, and what each of the others is given."""
_JUMPS = (gast.Break, gast.Continue, gast.FunctionDef, gast.Lambda)


def written_in_turn(source: Source) -> Source:
    """Return a function in which each turn of such loops stands by itself."""
    if isinstance(source.node, gast.Lambda):
        return source
    key = id(source.node)
    if key not in _WRITTEN:
        _WRITTEN[key] = (source.node, _written(source))
    made = _WRITTEN[key][1]
    return source if made is source.node else source.rewritten(made, source.lines, {})


_WRITTEN: dict[int, tuple[Any, Any]] = {}
"""What was written, with what it was written from."""


def _written(source: Source) -> Any:
    if not any(isinstance(node, gast.For) and _turns(source, node) for node in own(source.node.body)):
        return source.node
    tree = copy.copy(source.node)
    tree.body = _block(source, tree.body)
    return tree


def _block(source: Source, nodes: list[Any]) -> list[Any]:
    result: list[Any] = []
    for node in nodes:
        turns = _turns(source, node) if isinstance(node, gast.For) else []
        if turns:
            before, turns = _given_first(source, node, turns)
            result.extend(before)
        for names, given in turns:
            body = [Renamed(names).visit(copy.deepcopy(stmt)) for stmt in node.body]
            result.extend(_assign(target, value, node) for target, value in given)
            result.extend(_block(source, body))
        if not turns:
            result.append(blocks(node, lambda inner: _block(source, inner)))
    return result


def _given_first(source: Source, node: Any, turns: list[_Turn]) -> tuple[list[Any], list[_Turn]]:
    """Give what a turn may change, but was computed before the first of them, names of its own."""
    bound = {n.id for n in own([node]) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}
    taken = {n.id for n in own(source.node.body) if isinstance(n, gast.Name)}
    before: list[Any] = []
    later: list[_Turn] = []
    for names, given in turns:
        kept: list[tuple[Any, Any]] = []
        for target, value in given:
            if isinstance(value, gast.Constant) or (isinstance(value, gast.Name) and value.id not in bound):
                kept.append((target, value))
                continue
            word = getattr(target, "id", "item")
            name = next(n for k in range(1, len(taken) + 2) if (n := f"{word}_{k}") not in taken)
            taken.add(name)
            before.append(_assign(named(name, gast.Store()), value, node))
            kept.append((target, named(name)))
        later.append((names, kept))
    return before, later


def _assign(target: Any, value: Any, node: Any) -> Any:
    made = gast.Assign(targets=[copy.deepcopy(target)], value=copy.deepcopy(value), type_comment=None)
    for part in gast.walk(made):
        if not hasattr(part, "lineno"):
            gast.copy_location(part, node)
    return made


def _turns(source: Source, node: Any) -> list[_Turn]:
    """Return, for each turn, which list each target means and what the others are given; [] for any other loop."""
    columns = _columns(source, node)
    if not columns or node.orelse or any(isinstance(part, _JUMPS) for part in own(node.body)):
        return []
    grown = {
        part.func.value.id for part in own(node.body)
        if isinstance(part, gast.Call) and isinstance(part.func, gast.Attribute) and part.func.attr in WRITING
        and isinstance(part.func.value, gast.Name)
    }  # fmt: skip
    lists = [(t, row) for t, row in columns if isinstance(t, gast.Name) and t.id in grown]
    if not lists or not all(isinstance(item, gast.Name) for _, row in lists for item in row):
        return []
    names = {t.id for t, _ in lists}
    bound = {n.id for n in own(node.body) if isinstance(n, gast.Name) and not isinstance(n.ctx, gast.Load)}
    held = {item.id for _, row in lists for item in row} | names
    others = [n.id for n in own(source.node.body) if isinstance(n, gast.Name) and n.id in names]
    inside = [n.id for n in own([node]) if isinstance(n, gast.Name) and n.id in names]
    if bound & held or len(others) != len(inside):
        return []
    rest = [(t, row) for t, row in columns if not (isinstance(t, gast.Name) and t.id in names)]
    count = len(columns[0][1])
    return [({t.id: row[k].id for t, row in lists}, [(t, row[k]) for t, row in rest]) for k in range(count)]


def _columns(source: Source, node: Any) -> list[tuple[Any, list[Any]]]:
    """Return each target of a loop over a display, or over several by `zip`, with what it is given turn by turn."""
    over = node.iter
    if isinstance(over, gast.Tuple | gast.List):
        columns = [(node.target, over.elts)]
    elif isinstance(over, gast.Call) and _is_zip(source, over) and isinstance(node.target, gast.Tuple):
        if len(over.args) != len(node.target.elts) or over.keywords:
            return []
        columns = [(t, getattr(a, "elts", [])) for t, a in zip(node.target.elts, over.args, strict=True)]
    else:
        return []
    parts = [item for _, row in columns for item in row]
    plain = all(isinstance(item, gast.Name | gast.Constant) for item in parts) or len(columns) > 1
    counts = {len(row) for _, row in columns}
    fits = len(counts) == 1 and 0 < min(counts) <= _MOST and plain
    return columns if fits and not any(isinstance(item, gast.Starred) for item in parts) else []


def _is_zip(source: Source, call: Any) -> bool:
    if not isinstance(call.func, gast.Name) or call.func.id in source.local_names or not source.knows(call.func.id):
        return False
    return source.resolve(call.func.id) is builtins.zip
