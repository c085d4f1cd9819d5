"""Texts and members of enumerations that differ from path to path: `mode = "add" if c else "mul"`.

A number says which it is. One that is known where it is read stays a constant.
"""

from __future__ import annotations

import enum
import itertools
import operator
from dataclasses import dataclass
from typing import Any

import gast

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.operators import BOOL, apply
from s2sad.frontend.values import StaticV, StructV, V, Value, literal
from s2sad.ir import ops
from s2sad.ir.nodes import Apply, Expr
from s2sad.ir.types import Scalar


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several texts or members, as the kind of a structure of one number."""

    options: tuple[str | enum.Enum, ...]


def changing_texts(node: Any) -> frozenset[str]:
    """Return the names that a function sets to more than one text, or attribute, which may be a member."""
    given: dict[str, set[str]] = {}
    for part in gast.walk(node):
        if isinstance(part, gast.Assign):
            found = set(_texts(part.value))
            for target in part.targets:
                if isinstance(target, gast.Name):
                    given.setdefault(target.id, set()).update(found)
    return frozenset(name for name, texts in given.items() if len(texts) > 1)


def _texts(value: Any) -> list[str]:
    match value:
        case gast.Constant(value=str() as text):
            return [text]
        case gast.IfExp(body=body, orelse=orelse):
            return [*_texts(body), *_texts(orelse)]
        case gast.Attribute(value=gast.Name(id=owner), attr=attr):
            return [f"{owner}.{attr}"]
        case _:
            return []


def _options(lw: Lowerer) -> tuple[str | enum.Enum, ...]:
    found: list[str | enum.Enum] = []
    for part in gast.walk(lw.source.node):
        match part:
            case gast.Constant(value=str() as text):
                found.append(text)
            case gast.Attribute(value=gast.Name(id=owner), attr=attr) if lw.source.knows(owner):
                member = getattr(lw.source.resolve(owner), attr, None)
                found += [member] if isinstance(member, enum.Enum) else []
            case _:
                pass
    return tuple({(type(one), one): one for one in found}.values())


def _place(options: tuple[str | enum.Enum, ...], one: Any) -> int | None:
    """Return where a text or member stands among others; a member is not the text or number that it equals."""
    return next((at for at, option in enumerate(options) if type(option) is type(one) and option == one), None)


def coded(lw: Lowerer, text: Value) -> Value:
    """Return a text as the number that it is among the texts of the function."""
    return coded_among(_options(lw), text.value) if isinstance(text, StaticV) else text


def coded_among(options: tuple[str | enum.Enum, ...], text: Any) -> Value:
    """Return a text as the number that it is among others; as it is if it is none of them."""
    place = _place(options, text)
    return StaticV(text) if place is None else which(options, literal(place))


def which(options: tuple[str | enum.Enum, ...], number: Expr) -> StructV:
    """Return the one of several texts that a number counts."""
    return StructV(Choice(options), ("text",), (V(number),))


def items_by_number(table: StructV, chosen: StructV) -> tuple[StructV, Expr]:
    """Return a dict with the numbers of texts in the place of the texts, and the number of one of them."""
    number, places = chosen.items[0], [_place(chosen.kind.options, key) for key in table.keys]
    assert isinstance(number, V)
    met = [(at, item) for at, item in zip(places, table.items, strict=True) if at is not None]
    return StructV("dict", tuple(at for at, _ in met), tuple(item for _, item in met)), number.expr


def chosen(lw: Lowerer, test: Expr, a: Value, b: Value, node: Any) -> Value | None:
    """Return the text that a conditional expression gives, or None if it gives something else."""
    sides = [
        coded(lw, side) if isinstance(side, StaticV) and isinstance(side.value, str | enum.Enum) else side
        for side in (a, b)
    ]
    numbers = [side.items[0] for side in sides if is_choice(side) and isinstance(side, StructV)]
    if len(numbers) < 2 or sides[0].kind != sides[1].kind:  # type: ignore[union-attr]
        return None
    first, second = numbers
    assert isinstance(first, V)
    assert isinstance(second, V)
    number = apply(lw, ops.ifexp, (test, first.expr, second.expr), {}, node)
    return StructV(Choice(_options(lw)), ("text",), (number,))


def is_choice(value: Value) -> bool:
    """Say whether a value is one of several texts."""
    return isinstance(value, StructV) and isinstance(value.kind, Choice)


def refuse(lw: Lowerer, node: Any) -> Any:
    """Raise where more is asked of a text that differs from path to path than which it is."""
    return lw.fail(node, "which text this is, is not known here",
                   'Compare it with the texts that it may be, as in `mode == "add"`.')  # fmt: skip


def known(value: StructV) -> Value:
    """Return the text itself where it is known."""
    number = value.items[0]
    at = getattr(number.expr.type, "value", None) if isinstance(number, V) else None
    return StaticV(value.kind.options[at]) if isinstance(at, int) else value


def equal(left: Value, right: Value) -> Expr | bool | None:
    """Compare two texts, one of which is not known; None where a member may equal a number or a text."""
    if not isinstance(left, StructV) or not isinstance(left.kind, Choice):
        left, right = right, left
    assert isinstance(left, StructV)
    number = left.items[0]
    assert isinstance(number, V)
    if isinstance(right, StructV) and isinstance(right.kind, Choice) and isinstance(other := right.items[0], V):
        if right.kind == left.kind:
            return Apply(operator.eq, (number.expr, other.expr), BOOL)
        return _equal_among_others(left.kind.options, number.expr, right.kind.options, other.expr)
    place = _place(left.kind.options, right.value) if isinstance(right, StaticV) else None
    if place is not None:
        return Apply(operator.eq, (number.expr, literal(place)), BOOL)
    is_mixed = any(isinstance(option, int) or (isinstance(option, enum.Enum) and isinstance(option, str))
                   for option in left.kind.options)  # fmt: skip
    return None if is_mixed else False


def in_order(left: Value, right: Value) -> tuple[Expr, Expr] | None:
    """Return whole numbers that are in the order of two texts; None where one is no text."""
    found = [_options_of(value) for value in (left, right)]
    every = {option for options in found for option in options or ()}
    if None in found or not all(type(option) is str for option in every):
        return None
    ranks = {text: at for at, text in enumerate(sorted(every))}
    first, second = (_rank(value, ranks) for value in (left, right))
    return first, second


def _options_of(value: Value) -> tuple[Any, ...] | None:
    if isinstance(value, StaticV):
        return (value.value,)
    return value.kind.options if isinstance(value, StructV) and isinstance(value.kind, Choice) else None


def _rank(value: Value, ranks: dict[Any, int]) -> Expr:
    if isinstance(value, StaticV):
        return literal(ranks[value.value])
    assert isinstance(value, StructV)
    number, options = value.items[0], value.kind.options
    assert isinstance(number, V)
    if all(ranks[a] < ranks[b] for a, b in itertools.pairwise(options)) and len(options) == len(ranks):
        return number.expr
    rank: Expr = literal(ranks[options[-1]])
    for at, option in reversed(list(enumerate(options[:-1]))):
        is_it = Apply(operator.eq, (number.expr, literal(at)), BOOL)
        rank = Apply(ops.ifexp, (is_it, literal(ranks[option]), rank), Scalar("int64", weak=True))
    return rank


def _equal_among_others(
    options: tuple[str | enum.Enum, ...], number: Expr, others: tuple[str | enum.Enum, ...], other: Expr
) -> Expr | bool:
    """Compare texts of two functions, which count them otherwise: both are the same one of those that both have."""
    places = [(at, there) for at, one in enumerate(options) if (there := _place(others, one)) is not None]
    tests = [
        Apply(ops.both, tuple(Apply(operator.eq, (which, literal(k)), BOOL) for which, k in zip((number, other), pair,
                                                                                                strict=True)), BOOL)
        for pair in places
    ]  # fmt: skip
    return False if not tests else tests[0] if len(tests) == 1 else Apply(ops.either, tuple(tests), BOOL)
