"""What texts in other words are made of: statements in the place of others, and what may be repeated."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import gast

_SAFE = frozenset({"dict", "int", "len", "abs", "min", "max", "round", "floor", "ceil", "tuple", "float", "index"})


class NotFollowed(Exception):
    """A container is used in a way that what would be written in its place does not stand for."""


class _Filled(gast.NodeTransformer):
    """Puts a key in the place of each 0 of a text, and a value in that of each 1."""

    def __init__(self, key: Any, value: Any) -> None:
        self.given = {0: key, 1: value}

    def visit_Constant(self, node: Any) -> Any:
        """Put what is given in the place of a number."""
        return copy.deepcopy(self.given[node.value]) if node.value in self.given else node


def statement(text: str, place: Any, key: Any = None, value: Any = None) -> Any:
    """Return a statement in the place of another; 0 stands for a key in it, and 1 for a value."""
    (made,) = _at(text, place)
    return made if key is None else _Filled(key, value).visit(made)


def _at(text: str, place: Any) -> list[Any]:
    """Return the statements of a text, all in the place of a node."""
    made = gast.parse(text).body
    for part in (part for stmt in made for part in gast.walk(stmt)):
        gast.copy_location(part, place)
        if hasattr(place, "home"):
            part.home = place.home
    return made


class _Placed(gast.NodeTransformer):
    """Puts parts of a text in the places of names."""

    def __init__(self, parts: dict[str, Any]) -> None:
        self.parts = parts

    def visit_Name(self, node: Any) -> Any:
        """Put a part, or another name, in the place of a name."""
        part = self.parts.get(node.id, node)
        if isinstance(part, str):
            node.id = part
            return node
        return part if part is node else copy.deepcopy(part)

    def visit_FunctionDef(self, node: Any) -> Any:
        """Name a function."""
        node.name = self.parts.get(node.name, node.name)
        return self.generic_visit(node)


def statements(text: str, place: Any, **parts: Any) -> list[Any]:
    """Return statements in the place of another, with these parts, nodes or names, in the places of names."""
    return [_Placed(parts).visit(stmt) for stmt in _at(text, place)]


def expression(text: str, place: Any, **parts: Any) -> Any:
    """Return an expression in the place of another, with these parts in the places of names."""
    return statements(text, place, **parts)[0].value


def named_so(parts: Iterable[Any], name: str) -> list[Any]:
    """Return the mentions of a name."""
    return [part for part in parts if isinstance(part, gast.Name) and part.id == name]


def unused(name: str, taken: set[str]) -> str:
    """Return a name with as many lines behind it as make it one that is not taken, and take it."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def parents_of(tree: Any) -> dict[int, Any]:
    """Return what each part of a text stands in, by its `id`."""
    return {id(child): part for part in gast.walk(tree) for child in gast.iter_child_nodes(part)}


def stays_alone(mention: Any, parents: dict[int, Any]) -> bool:
    """Say whether the mention of a list gives it no second name, and puts it nowhere."""
    parent = parents[id(mention)]
    match parent:
        case gast.Attribute():
            around = parents[id(parent)]
            return isinstance(around, gast.Call) and around.func is parent
        case gast.Assign() | gast.AnnAssign() | gast.NamedExpr():
            return not isinstance(mention.ctx, gast.Load)
        case gast.Call():
            return not isinstance(parent.func, gast.Attribute) or _is_module(parent.func.value)
        case gast.Subscript() | gast.For() | gast.comprehension() | gast.BinOp() | gast.Compare() | gast.AugAssign():
            return True
        case _:
            return is_asked(mention, parents)


def is_asked(part: Any, parents: dict[int, Any]) -> bool:
    """Say whether only the truth of a value is asked for: `if rows:`, `not rows`, `while rows and more:`."""
    parent = parents[id(part)]
    match parent:
        case gast.If() | gast.While() | gast.IfExp():
            return parent.test is part
        case gast.UnaryOp(op=gast.Not()):
            return True
        case gast.BoolOp():
            return is_asked(parent, parents)
        case _:
            return False


def _is_module(value: Any) -> bool:
    return getattr(value, "id", "") in ("np", "numpy", "math")


def scope_of(mention: Any, parents: dict[int, Any], function: Any) -> Any:
    """Return the comprehension that a name belongs to, or the function; `parents` by the `id` of each part."""
    part = mention
    while part is not function:
        parent = parents[id(part)]
        if isinstance(parent, gast.ListComp | gast.GeneratorExp | gast.SetComp | gast.DictComp):
            outside = part is parent.generators[0] and any(n is mention for n in gast.walk(part.iter))
            if not outside and any(named_so(gast.walk(g.target), mention.id) for g in parent.generators):
                return parent
        part = parent
    return function


def is_safe(node: Any) -> bool:
    """Say whether an expression can be computed twice, and changes nothing."""
    calls = [n.func for n in gast.walk(node) if isinstance(n, gast.Call)]
    names = [n.attr if isinstance(n, gast.Attribute) else getattr(n, "id", "") for n in calls]
    wild = gast.Lambda | gast.NamedExpr | gast.Yield | gast.Await | gast.ListComp | gast.GeneratorExp
    return all(name in _SAFE for name in names) and not any(isinstance(n, wild) for n in gast.walk(node))


def put(parents: dict[int, Any], part: Any, *others: Any) -> None:
    """Put one part of a text, or several statements, in the place of another part."""
    parent = parents[id(part)]
    for field, value in gast.iter_fields(parent):
        if value is part:
            setattr(parent, field, others[0])
        elif isinstance(value, list) and any(item is part for item in value):
            value[:] = [new for item in value for new in (others if item is part else [item])]


def called(function: str, part: Any) -> Any:
    """Return the call of a function with a part of a text, in its place."""
    made = gast.Call(gast.Name(function, gast.Load(), None, None), [part], [])
    gast.copy_location(made.func, part)
    return gast.copy_location(made, part)
