"""`import` inside a function: the names it binds are known objects."""

from __future__ import annotations

import importlib
import types
from typing import Any

import gast

from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.values import StaticV


def lower_import(lw: Lowerer, node: Any) -> None:
    """Bind what `import a.b`, `from a import b` and `from .a import b` bind."""
    for item in node.names:
        if isinstance(node, gast.ImportFrom):
            home = "." * (node.level or 0) + (node.module or "")
            lw.env[item.asname or item.name] = StaticV(_member(lw, _module(lw, home, node), item.name, node))
        elif item.asname:
            lw.env[item.asname] = StaticV(_module(lw, item.name, node))
        else:
            _module(lw, item.name, node)
            root = item.name.split(".")[0]
            lw.env[root] = StaticV(_module(lw, root, node))


def _module(lw: Lowerer, name: str, node: Any) -> types.ModuleType:
    """Import a module; dots in front count from the package of the function."""
    package = lw.source.globals.get("__package__") or None
    try:
        return importlib.import_module(name, package)
    except (ImportError, TypeError) as error:
        return lw.fail(node, f"`{name}` cannot be imported: {error}", "Import it where the function is defined.")


def _member(lw: Lowerer, module: types.ModuleType, name: str, node: Any) -> Any:
    """Return what a module has under a name, which may be a module of its own."""
    if hasattr(module, name):
        return getattr(module, name)
    return _module(lw, f"{module.__name__}.{name}", node)
