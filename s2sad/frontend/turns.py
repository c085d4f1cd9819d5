"""Items of a known container that is looped over: those of a display were computed before the first turn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gast

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.order import settled
from s2sad.frontend.values import IterV, StructV, V, Value
from s2sad.ir.nodes import Var


class Turns:
    """The items of one loop that is written out; what is about to change is given a name before the loop."""

    def __init__(self, lw: Lowerer, items: list[Value], iterable: Value | None, node: Any) -> None:
        """Begin before the first turn; `node` is what is looped over."""
        self.lw, self.node, self.items = lw, node, items
        self.block, self.start = lw.block, len(lw.block)
        self.late = _late(iterable)
        self.is_view = any(isinstance(n, gast.Attribute) and n.attr in ("items", "values") for n in gast.walk(node))

    def after(self, place: int) -> None:
        """Hold the items behind `place` as they were, where the turns so far have changed what they read."""
        if len(self.block) > self.start:
            self.items[place + 1 :] = [self._held(item, self.late) for item in self.items[place + 1 :]]

    def _held(self, item: Value, late: Any) -> Value:
        match item:
            case StructV(_, _, parts) if item.cell is None and late is not True:
                each = late if isinstance(late, tuple) else (False,) * len(parts)
                return replace(item, items=tuple(self._held(p, one) for p, one in zip(parts, each, strict=True)))
            case V(expr) if not (late or (self.is_view and isinstance(expr, Var))):
                size = len(self.block)
                kept = settled(self.lw, item, self.start, self.node, self.block)
                self.start += len(self.block) - size
                return kept
            case _:
                return item


def _late(iterable: Value | None) -> Any:
    """Say which parts of an item Python, too, reads in its turn: those of an array beside others in `zip`."""
    match iterable:
        case IterV("zip", parts):
            return tuple(_late(part) for part in parts)
        case IterV("enumerate", (part,)):
            return (False, _late(part))
        case IterV("reversed", (part,)):
            return _late(part)
        case V():
            return True
        case _:
            return False
