"""Library functions that are read as other Python code, written where the call stands."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from s2sad.errors import NOWHERE, MissingRuleError, Span
from s2sad.frontend.inline import inline_call
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.source import Source, source_of
from s2sad.frontend.values import Value


@dataclass(frozen=True)
class At(Source):
    """Code of ours that stands for a call of the user's: all of it is located at that call."""

    place: Span = NOWHERE

    def span(self, node: Any) -> Span:
        """Return where the user's call stands."""
        return self.place


def write_expansion(lw: Lowerer, body: Any, args: list[Value], kwargs: dict[str, Value], node: Any) -> Value | None:
    """Write the body that a call means in place of the call; None if its one `return` does not come last."""
    source = source_of(body)
    located = At(**{f.name: getattr(source, f.name) for f in fields(source)}, place=lw.span(node))
    before = set(lw.names)
    result = inline_call(lw, body, args, kwargs, node, located)
    lw.invented |= lw.names - before
    return result


def refuse(lw: Lowerer, args: list[Value], kwargs: dict[str, Value], node: Any) -> Any:
    """`ops.refuse(what, way_out)` in a body: an error at the user's call."""
    from s2sad.frontend.arguments import known_value

    what, way_out = (str(known_value(arg)) for arg in args)
    return lw.fail(node, what, way_out, MissingRuleError)
