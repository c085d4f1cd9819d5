"""Stars before a list or an array: `f(*v)`, `[*v, 1.0]`.

How many items there are is often known only when the function runs. A call that takes so many and no others says it
itself, and that there are so many is tested; a display of them is a list that the function builds.
"""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Sequence
from typing import Any

import gast
import numpy as np

from s2sad.frontend import growing
from s2sad.frontend.functional import Partial
from s2sad.frontend.iteration import static_items
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.source import has_source, source_of, unwrap
from s2sad.frontend.values import FuncV, StaticV, StructV, V, Value
from s2sad.ir.types import Array, ListOf

UNKNOWN_COUNT = (
    "how many values are starred here is not known",
    "Name the items first, as in `a, b, c = v`, or index them: `v[0], v[1]`.",
)
_UNKNOWN_ROWS = (
    UNKNOWN_COUNT[0],
    "The columns of an array are the rows of its transpose: `for c in a.T:`, `xs, ys = a.T`; make a list of rows\n"
    "an array first, `np.array(rows).T`.",
)


def starred_arguments(lw: Lowerer, target: Value, call: Any, values: Sequence[Value]) -> list[Value]:
    """Return the positional arguments of a call, the items of each starred one among them."""
    known = [
        (part, static_items(lw, value) if isinstance(part, gast.Starred) else [value])
        for part, value in zip(call.args, values, strict=False)
    ]
    given = sum(len(items) for _, items in known if items is not None)
    given_by_name = {keyword.arg for keyword in call.keywords}
    args: list[Value] = []
    for (part, items), value in zip(known, values, strict=False):
        if items is None:
            alone = sum(others is None for _, others in known) == 1
            wanted = _taken(target, given_by_name) if alone and None not in given_by_name else None
            unknown = _UNKNOWN_ROWS if target == StaticV(builtins.zip) else UNKNOWN_COUNT
            items = _items(lw, value, None if wanted is None else wanted - given, part, unknown)
        args.extend(items)
    return args


def _items(lw: Lowerer, value: Value, count: int | None, node: Any, unknown: tuple[str, str]) -> list[Value]:
    """Return the items of a row that should have so many; `unknown` is said where that is not known."""
    from s2sad.frontend.unpacking import items_of_row

    if not (isinstance(value, V) and isinstance(value.expr.type, Array | ListOf)):
        return lw.fail(node, *unknown)
    length = value.expr.type.dims[0] if isinstance(value.expr.type, Array) else None
    wanted = length if isinstance(length, int) else count
    if wanted is None and isinstance(value.expr.type, ListOf):
        growing.take_as_known(lw, growing.name_of(lw, value.expr))
    if wanted is None or wanted < 0:
        return lw.fail(node, *unknown)
    return items_of_row(lw, value, wanted, node)


def _taken(target: Value, by_name: set[str]) -> int | None:
    """Return how many positional arguments a call takes that has these keywords; None if not just one number."""
    match target:
        case FuncV(node=node):
            return _taken_by(node, by_name, 0)
        case StaticV(np.ufunc() as fn):
            return fn.nin
        case StaticV(functools.partial()) | StructV(kind=Partial()):
            return None
        case StaticV(type() as kind) if hasattr(kind, "_fields") or hasattr(kind, "__dataclass_fields__"):
            return _parameters(kind, by_name)
        case StaticV(fn) if callable(fn) and has_source(unwrap(fn)):
            return _taken_by(source_of(fn).node, by_name, int(hasattr(unwrap(fn), "__self__")))
        case _:
            return None


def _taken_by(node: Any, by_name: set[str], bound: int) -> int | None:
    spec = node.args
    names = [a.id for a in [*spec.posonlyargs, *spec.args]][bound:]
    optional = names[len(names) - len(spec.defaults) :] if spec.defaults else []
    if spec.vararg is not None or any(name not in by_name for name in optional):
        return None
    return sum(name not in by_name for name in names)


def _parameters(kind: type[Any], by_name: set[str]) -> int | None:
    """Return the same of a class of records."""
    try:
        parameters = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):
        return None
    left = [p for p in parameters if p.name not in by_name]
    return None if any(p.default is not p.empty or p.kind is p.VAR_POSITIONAL for p in left) else len(left)


def starred_display(parts: Sequence[Any], values: Sequence[Value]) -> list[V | StructV]:
    """Return the lists that a display with stars in it is the sum of."""
    pieces: list[V | StructV] = []
    run: list[Value] = []
    for part, value in zip(parts, values, strict=True):
        if isinstance(part, gast.Starred) and isinstance(value, V):
            pieces += [_display(run), value]
            run = []
        else:
            run += value.items if isinstance(part, gast.Starred) and isinstance(value, StructV) else [value]
    pieces.append(_display(run))
    return [piece for piece in pieces if isinstance(piece, V) or piece.items]


def _display(items: list[Value]) -> StructV:
    return StructV("list", tuple(range(len(items))), tuple(items))
