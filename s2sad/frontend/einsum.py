"""`np.einsum` in the forms that its rule does not know, brought to the one that it does.

An ellipsis becomes letters, an axis of length 1 that is broadcast goes, operands given as lists of
axes become letters, letters that repeat beside others become diagonals, and four or more
operands are multiplied one after the other. Subscripts in plain form stay as the user wrote them.
"""

from __future__ import annotations

import string
from typing import Any

import numpy as np

from s2sad.frontend.expressions import as_expr
from s2sad.frontend.indexing import lower_index
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV, StructV, V, Value, const
from s2sad.ir.nodes import Slice
from s2sad.ir.types import Array
from s2sad.rules import subscripts

_EVERYTHING = Slice(None, None, None)


def call_einsum(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value:
    """Lower a call of `np.einsum`."""
    from s2sad.frontend.calls import library_call

    if not args:
        return lw.fail(node, "`einsum` needs subscripts and operands")
    text, operands = _spelled(lw, args, node)
    try:
        letters, result = subscripts.split(_without_ellipsis(text, [_rank(lw, x, node) for x in operands]))
    except ValueError as error:
        return lw.fail(node, f"these subscripts of `einsum` are not understood: {error}")
    if len(letters) != len(operands):
        return lw.fail(node, f"{len(letters)} operands are named, {len(operands)} are given")
    parts = [_plain(lw, x, own, letters, operands, node) for x, own in zip(operands, letters, strict=True)]
    names = tuple(own for _, own in parts)
    if len(parts) <= 3:
        plain = names == letters and "." not in text
        spec = text if plain else f"{','.join(names)}->{result}"
        return library_call(lw, np.einsum, [StaticV(spec), *(x for x, _ in parts)], kwargs, node)
    total, own = parts[0]
    for position, (x, others) in enumerate(parts[1:], 2):
        later = result + "".join(names[position:])
        kept = "".join(c for c in dict.fromkeys(own + others) if c in later) if position < len(parts) else result
        total = library_call(lw, np.einsum, [StaticV(f"{own},{others}->{kept}"), total, x], kwargs, node)
        own = kept
    return total


def _spelled(lw: Lowerer, args: list[Value], node: Any) -> tuple[str, list[Value]]:
    """Return the subscripts as text, also where they stand as lists of axes behind the operands."""
    if isinstance(args[0], StaticV) and isinstance(args[0].value, str):
        return args[0].value.replace(" ", ""), args[1:]
    operands, axes = args[0 : len(args) // 2 * 2 : 2], args[1::2]
    given = ",".join(_letters(lw, a, node) for a in axes)
    return given + (f"->{_letters(lw, args[-1], node)}" if len(args) % 2 else ""), operands


def _letters(lw: Lowerer, axes: Value, node: Any) -> str:
    from s2sad.frontend.arguments import known_value

    numbers: list[Any] = [known_value(item) for item in axes.items] if isinstance(axes, StructV) else [None]
    if not all(n is Ellipsis or isinstance(n, int) for n in numbers):
        return lw.fail(node, "the subscripts of `einsum` must be known at transform time")
    return "".join("..." if n is Ellipsis else string.ascii_letters[n] for n in numbers)


def _rank(lw: Lowerer, x: Value, node: Any) -> int:
    kind = as_expr(lw, x, node).type
    return len(kind.dims) if isinstance(kind, Array) else 0


def _without_ellipsis(text: str, ranks: list[int]) -> str:
    """Return the subscripts with a letter for each axis that `...` stands for."""
    if "." not in text:
        return text
    given, arrow, result = text.partition("->")
    operands = given.split(",")
    hidden = [n - len(own.replace("...", "")) if "..." in own else 0 for own, n in zip(operands, ranks, strict=True)]
    free = [c for c in string.ascii_lowercase + string.ascii_uppercase if c not in text][: max(hidden)]
    if min(hidden) < 0:
        raise ValueError("more letters than axes")
    batch = "".join(free)
    spelled = [own.replace("...", batch[len(batch) - n :]) for own, n in zip(operands, hidden, strict=True)]
    if not arrow:
        plain = given.replace("...", "").replace(",", "")
        result = "..." + "".join(c for c in sorted(set(plain)) if plain.count(c) == 1)
    return f"{','.join(spelled)}->{result.replace('...', batch)}"


def _plain(
    lw: Lowerer, x: Value, own: str, letters: tuple[str, ...], operands: list[Value], node: Any
) -> tuple[Value, str]:
    """Return an operand and its letters without the axes that are broadcast."""
    lengths: dict[str, set[Any]] = {}
    for value, names in zip(operands, letters, strict=True):
        kind = as_expr(lw, value, node).type
        if isinstance(kind, Array) and len(kind.dims) == len(names):
            for name, dim in zip(names, kind.dims, strict=True):
                lengths.setdefault(name, set()).add(dim)
    kind = as_expr(lw, x, node).type
    if not isinstance(kind, Array) or len(kind.dims) != len(own):
        return x, own
    spread = [d == 1 and len(lengths[c]) > 1 for c, d in zip(own, kind.dims, strict=True)]
    if any(spread):
        base = lw.atom(as_expr(lw, x, node), "operand", lw.span(node))
        index: list[Any] = [as_expr(lw, const(0), node) if s else _EVERYTHING for s in spread]
        x = lower_index(lw, V(base), index, node)
        own = "".join(c for c, s in zip(own, spread, strict=True) if not s)
    while len(own) > max(len(set(own)), 2):
        x, own = _diagonal(lw, x, own, node)
    return x, own


def _diagonal(lw: Lowerer, x: Value, own: str, node: Any) -> tuple[Value, str]:
    """Return the diagonal over the first letter that stands twice: its axis comes last, as `np.diagonal` puts it."""
    from s2sad.frontend.calls import call_function

    twice = next(c for c in own if own.count(c) > 1)
    first = own.index(twice)
    second = own.index(twice, first + 1)
    taken = call_function(lw, np.diagonal, [x], {"axis1": StaticV(first), "axis2": StaticV(second)}, node)
    return taken, own[:first] + own[first + 1 : second] + own[second + 1 :] + twice
