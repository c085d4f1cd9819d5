"""Names that exchange their arrays, as in double buffering, in one statement or in three."""

from __future__ import annotations

from typing import Any

import gast


def with_exchanges(statements: list[Any], whole: Any) -> list[Any]:
    """Write `t = a; a = b; b = t` as `a, b = b, a`, where `t` serves nothing else in the function."""
    result: list[Any] = []
    position = 0
    while position < len(statements):
        pair = _exchanged(statements[position : position + 3], whole)
        result.append(statements[position] if pair is None else _exchange(pair, statements[position]))
        position += 1 if pair is None else 3
    return result


def _exchanged(three: list[Any], whole: Any) -> tuple[str, str] | None:
    moves = [_move(node) for node in three]
    if len(moves) < 3 or None in moves:
        return None
    (kept, a), (first, b), (second, last) = (move for move in moves if move is not None)
    if (first, second, last) != (a, b, kept) or len({kept, a, b}) != 3:
        return None
    uses = sum(isinstance(n, gast.Name) and n.id == kept and isinstance(n.ctx, gast.Load) for n in gast.walk(whole))
    return (a, b) if uses == sum(_is_exchange_of(s, kept) for s in _blocks(whole)) else None


def _is_exchange_of(three: list[Any], kept: str) -> bool:
    moves = [_move(node) for node in three]
    return None not in moves and moves[0] is not None and moves[0][0] == kept and moves[2] is not None and (
        moves[2][1] == kept
    )


def _blocks(whole: Any) -> list[list[Any]]:
    """Return all runs of three statements in a function."""
    found: list[list[Any]] = []
    for node in gast.walk(whole):
        for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if isinstance(block, list):
                found += [block[k : k + 3] for k in range(len(block) - 2)]
    return found


def _move(node: Any) -> tuple[str, str] | None:
    match node:
        case gast.Assign(targets=[gast.Name(id=target)], value=gast.Name(id=source)):
            return target, source
        case _:
            return None


def _exchange(pair: tuple[str, str], place: Any) -> Any:
    a, b = pair
    text = gast.parse(f"{a}, {b} = {b}, {a}").body[0]
    for part in gast.walk(text):
        gast.copy_location(part, place)
    return text


def exchanged_names(whole: Any) -> frozenset[str]:
    """Return the names that change places with others anywhere in a function."""
    found: set[str] = set()
    for three in _blocks(whole):
        found.update(_exchanged(three, whole) or ())
    for node in gast.walk(whole):
        match node:
            case gast.Assign(targets=[gast.Tuple(elts=targets)], value=gast.Tuple(elts=values)):
                names = [e.id for e in targets if isinstance(e, gast.Name)]
                others = [e.id for e in values if isinstance(e, gast.Name)]
                if len(names) == len(targets) and sorted(names) == sorted(others):
                    found.update(names)
            case _:
                pass
    return frozenset(found)


def is_read_behind(whole: Any, name: str, statement: Any) -> bool:
    """Say whether a function reads a name once the loops behind a statement, or writes into arrays, have begun."""
    parts = list(gast.walk(whole))
    begun = [
        n.lineno for n in parts if getattr(n, "lineno", 0) > statement.lineno
        and (isinstance(n, gast.For | gast.While) or (isinstance(n, gast.Subscript) and isinstance(n.ctx, gast.Store)))
    ]  # fmt: skip
    reads = [n.lineno for n in parts if isinstance(n, gast.Name) and n.id == name and isinstance(n.ctx, gast.Load)]
    return bool(begun) and max(reads) >= min(begun)
