"""The program of a device as the module that the backend loads."""

from __future__ import annotations

from typing import Any

from s2sad.api.derive import _aliases, _source_map
from s2sad.backends import cuda as backend
from s2sad.backends.base import Module
from s2sad.emit.legal_cuda import is_single, legalised
from s2sad.emit.names import Names
from s2sad.emit.printer import print_function
from s2sad.errors import Span
from s2sad.frontend.source import unwrap
from s2sad.ir.nodes import Function


def printed(functions: dict[str, Function], entry: str, fun: Any, fastmath: bool = False) -> Module:
    """Return the text of a device's functions, callees first, and what it needs."""
    single = is_single(functions[entry])
    legal = {name: legalised(fn, single) for name, fn in functions.items()}
    names = Names({"device": backend.module_name(unwrap(fun)), **_aliases(fun)})
    names.reserve(legal)
    parts: list[str] = []
    spans: list[list[Span]] = []
    for fn in legal.values():
        text, lines = print_function(fn, names)
        parts.append(text.rstrip("\n"))
        spans.append(lines)
    imports = "\n".join(names.imports())
    text = "\n\n\n".join([imports, *parts] if imports else parts) + "\n"
    return Module(
        name=entry,
        text=text,
        functions=tuple(legal),
        entry=entry,
        externals=dict(names.externals),
        runtime=dict(names.runtime),
        fastmath=fastmath,
        source_map=_source_map(text, parts, spans),
    )
