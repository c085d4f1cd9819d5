"""Which names of a function are its own, and which it sees in what is around it, by Python's rules of scope."""

from __future__ import annotations

from typing import Any

import gast

_COMPREHENSIONS = (gast.ListComp, gast.SetComp, gast.DictComp, gast.GeneratorExp)
_FUNCTIONS = (gast.FunctionDef, gast.AsyncFunctionDef, gast.Lambda)


def free_names(node: Any) -> set[str]:
    """Return the names that a function reads, or rebinds by `nonlocal`, and that it does not bind itself."""
    body = [node.body] if isinstance(node, gast.Lambda) else node.body
    own, met, declared = set[str](), set[str](), set[str]()
    for part in body:
        _look(part, own, met, declared)
    return (met | declared) - ((own | _parameters(node)) - declared)


def _parameters(node: Any) -> set[str]:
    spec = node.args
    rest = [arg for arg in (spec.vararg, spec.kwarg) if arg is not None]
    return {arg.id for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *rest)}


def _look(node: Any, own: set[str], met: set[str], declared: set[str]) -> None:
    """Note what a part of a function binds, what it reads and what it says to be of the function around."""
    match node:
        case gast.Name(id=name):
            (met if isinstance(node.ctx, gast.Load | gast.Del) else own).add(name)
        case gast.Nonlocal(names=names) | gast.Global(names=names):
            declared.update(names)
        case gast.Import(names=names) | gast.ImportFrom(names=names):
            own.update((alias.asname or alias.name).split(".")[0] for alias in names)
        case _ if isinstance(node, _FUNCTIONS):
            if not isinstance(node, gast.Lambda):
                own.add(node.name)
            met.update(free_names(node))
            given = [*node.args.defaults, *(part for part in node.args.kw_defaults if part is not None)]
            for part in (*given, *getattr(node, "decorator_list", ())):
                _look(part, own, met, declared)
        case _ if isinstance(node, _COMPREHENSIONS):
            _comprehension(node, own, met, declared)
        case gast.NamedExpr(target=target, value=value):
            own.add(target.id)
            _look(value, own, met, declared)
        case _:
            if isinstance(node, gast.MatchAs | gast.MatchStar) and node.name is not None:
                own.add(node.name)
            if isinstance(node, gast.MatchMapping) and node.rest is not None:
                own.add(node.rest)
            if isinstance(node, gast.AugAssign) and isinstance(node.target, gast.Name):
                met.add(node.target.id)
            for child in gast.iter_child_nodes(node):
                _look(child, own, met, declared)


def _comprehension(node: Any, own: set[str], met: set[str], declared: set[str]) -> None:
    """Its targets are its own; what it names by `:=` is the function's."""
    targets, inside, named = set[str](), set[str](), set[str]()
    first = node.generators[0].iter
    _look(first, own, met, declared)
    for one in node.generators:
        _look(one.target, targets, inside, declared)
        for part in (*([] if one.iter is first else [one.iter]), *one.ifs):
            _look(part, named, inside, declared)
    parts = [node.key, node.value] if isinstance(node, gast.DictComp) else [node.elt]
    for part in parts:
        _look(part, named, inside, declared)
    own |= named
    met |= inside - targets


__all__ = ["free_names"]
