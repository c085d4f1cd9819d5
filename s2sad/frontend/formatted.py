"""Texts made of values: f-strings, `"W%d" % i`, `"W" + str(i)`.

One whose parts are known is a text, and may be a key. Any other is kept as its parts: it matters to
`print` and to messages, and asks a loop to be unrolled where it is a key.
"""

from __future__ import annotations

from typing import Any

import gast

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, StructV, Value

_KIND = "fstring"


def is_unknown(value: Value) -> bool:
    """Say whether a value is a text that is not known before the function runs."""
    return isinstance(value, StructV) and value.kind == _KIND


def of_parts(parts: list[Value]) -> Value:
    """Return the text that the parts make one after the other, where all are whole numbers or texts."""
    from s2sad.frontend.arguments import known_value

    known = [known_value(part) for part in parts]
    if all(type(part) in (str, int, bool, float) for part in known):
        return StaticV("".join(map(str, known)))
    return StructV(_KIND, tuple(range(len(parts))), tuple(parts))


def printed(value: StructV) -> list[Value]:
    """Return the parts of a text for `print`, which puts a space between any two: it is left out of theirs."""
    found: list[Value] = []
    for at, part in enumerate(value.items):
        if isinstance(part, StaticV) and isinstance(text := part.value, str):
            text = text[1:] if at and text.startswith(" ") else text
            text = text[:-1] if at + 1 < len(value.items) and text.endswith(" ") else text
            part = StaticV(text)
        if part != StaticV(""):
            found.append(part)
    return found


def unrolled(lw: Lowerer, node: Any) -> Any:
    """Ask for the loop around a text to be written out, or refuse one that is not known as a key."""
    from s2sad.frontend.iteration import UnrollNeeded

    if any(scope.loop is not None for scope in lw.loops):
        raise UnrollNeeded(node)  # `params[f"W{i}"]`
    return lw.fail(node, "this key is a text that is not known before the function runs",
                   "Loop over the items themselves: `for w in params.values()`.")  # fmt: skip


def refuse(lw: Lowerer, node: Any) -> Any:
    """Ask for the loop around a text that is asked what it is to be written out, or refuse."""
    from s2sad.frontend.iteration import UnrollNeeded

    if any(scope.loop is not None for scope in lw.loops):
        raise UnrollNeeded(node, _NOT_KNOWN)
    return lw.fail(node, *_NOT_KNOWN)


def refuse_parts(lw: Lowerer, value: Value, node: Any) -> None:
    """Refuse to ask for the letters of a text that is not known, or for how many there are."""
    from s2sad.frontend import texts

    if is_unknown(value):
        refuse(lw, node)
    if texts.is_choice(value):
        texts.refuse(lw, node)


_NOT_KNOWN = ("this text is not known before the function runs", "Ask the values that it is made of instead.")
_CONVERSIONS: dict[int, Any] = {115: str, 114: repr, 97: ascii}


def f_string(lw: Lowerer, node: Any) -> Value:
    """Lower `f"W{i:02d}"`."""
    plain, parts = True, list[Value]()
    for part in node.values:
        made, is_plain = _formatted(lw, part)
        plain = plain and is_plain
        parts.append(made)
    return of_parts(parts) if plain else StructV(_KIND, tuple(range(len(parts))), tuple(parts))


def _formatted(lw: Lowerer, part: Any) -> tuple[Value, bool]:
    """Return a part of an f-string, as the text that it is if it is known; and if not, whether `str` makes it one."""
    from s2sad.frontend.arguments import known_value
    from s2sad.frontend.expressions import lower_expr

    if not isinstance(part, gast.FormattedValue):
        return StaticV(part.value), True
    value = lower_expr(lw, part.value)
    spec = StaticV("") if part.format_spec is None else lower_expr(lw, part.format_spec)
    known = known_value(value)
    if type(known) in (int, float, bool, str) and isinstance(spec, StaticV):
        text = _CONVERSIONS[part.conversion](known) if part.conversion in _CONVERSIONS else known
        try:
            return StaticV(format(text, spec.value)), True
        except ValueError as error:
            return lw.fail(part, f"this text cannot be formatted: {error}"), False
    return value, part.conversion == -1 and part.format_spec is None


def percent(lw: Lowerer, text: str, value: Value, node: Any) -> Value:
    """Lower `text % value`."""
    from s2sad.frontend.arguments import UNKNOWN, known_value

    known = known_value(value)
    if known is UNKNOWN:
        parts = value.items if isinstance(value, StructV) and value.kind == "tuple" else (value,)
        return StructV(_KIND, tuple(range(len(parts) + 1)), (StaticV(text), *parts))
    try:
        return StaticV(text % known)
    except (TypeError, ValueError) as error:
        return lw.fail(node, f"this text cannot be formatted: {error}")


def method(lw: Lowerer, fn: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Call a method of a known text: `"{:.2f}".format(x)`, `name.upper()`."""
    from s2sad.frontend.arguments import UNKNOWN, known_value
    from s2sad.frontend.expressions import outside_value

    known, named = [known_value(arg) for arg in args], {name: known_value(value) for name, value in kwargs.items()}
    if any(part is UNKNOWN for part in [*known, *named.values()]):
        parts = (StaticV(fn.__self__), *args, *kwargs.values())
        return StructV(_KIND, tuple(range(len(parts))), parts)
    try:
        return outside_value(lw, fn(*known, **named), fn.__name__, node)
    except (TypeError, ValueError, LookupError) as error:
        return lw.fail(node, f"`{fn.__name__}` of this text fails: {error}")


def joined(left: Value, right: Value) -> Value:
    """Return `left + right`, one of which is not known."""
    return of_parts([part for side in (left, right) for part in (side.items if isinstance(side, StructV) else (side,))])


def string(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Lower `str(value)`."""
    if kwargs or len(args) > 1:
        return lw.fail(node, "`str` is taken with one value only")
    return of_parts(args)
