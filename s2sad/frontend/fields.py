"""Attributes, and items of dicts, that hold another text on another path, or None: `s.mode = "fast"`, `s.best = x`.

Where paths meet in two texts, a number says which it is; in None and a value, a flag says whether there is one.
That it is needed is known only where they meet: the function is lowered again then.
"""

from __future__ import annotations

import ast
import enum
from dataclasses import replace
from typing import Any

import gast

from s2sad.errors import Span
from s2sad.frontend import optional, texts
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.optional import KindFound
from s2sad.frontend.values import Poison, StaticV, StructV, V, Value, join_types, leaves_of, literal, type_of
from s2sad.ir.nodes import Assign, Const, Var
from s2sad.ir.types import Scalar
from s2sad.ir.walk import reads

Path = tuple[list[Any], dict[Any, Value]]
"""What a path does, and what names mean at its end."""
Torn = tuple[Any, Any, Value, Value]
"""The kind of a container, the key in it, and what stands there on two paths."""


def stored(lw: Lowerer, kind: Any, key: Any, value: Value) -> Value:
    """Return what is stored in a field for a value."""
    place = kind, key
    match value:
        case StaticV(bool() as truth):
            value = V(literal(truth))
        case StaticV(str() | enum.Enum() as text) if place in lw.ctx.coded_fields:
            value = texts.coded_among(tuple(lw.ctx.told_apart), text)
        case _:
            pass
    if place not in lw.ctx.optional_fields or optional.is_optional(value):
        return value
    is_none = value == StaticV(None)
    held = optional.placeholder(lw.ctx.optional_fields[place]) if is_none else value
    if is_none:
        _forget(lw, key)
    return StructV(optional.KIND, ("given", "value"), (V(literal(not is_none)), held))


def _forget(lw: Lowerer, key: Any) -> None:
    """No object's attribute of this name is known to have a value any more."""
    from s2sad.frontend.containers import scopes

    for scope in scopes(lw):
        scope.proven = frozenset(fact for fact in scope.proven if not fact.endswith(f".{key!r}"))


def meet(lw: Lowerer, paths: tuple[Path, Path], span: Span) -> None:
    """Where a field is a number in one variable on one path, and in another on the other, let both write one."""
    (_, first), (_, second) = paths
    known: dict[tuple[str, str], V] = {}
    for name, value in list(first.items()):
        other = second.get(name)
        if isinstance(value, StructV) and isinstance(other, StructV) and value is not other:
            first[name], second[name] = _met(lw, paths, value, other, span, known)


def _met(
    lw: Lowerer, paths: tuple[Path, Path], a: Value, b: Value, span: Span, known: dict[tuple[str, str], V]
) -> tuple[Value, Value]:
    match a, b:
        case StructV(kind, keys, items), StructV(other, others, parts) if kind == other and keys == others:
            pairs = [_met(lw, paths, x, y, span, known) for x, y in zip(items, parts, strict=True)]
            return replace(a, items=tuple(x for x, _ in pairs)), replace(b, items=tuple(y for _, y in pairs))
        case V(Var(one, Scalar()) as x), V(Var(two, Scalar()) as y) if one != two:
            kind = join_types(x.type, y.type, "")
            if kind is None:
                return a, b
            if (one, two) in known:
                return known[one, two], known[one, two]
            both = known[one, two] = V(Var(_free_name(lw, paths, one, two), kind))
            for (block, _), value in zip(paths, (x, y), strict=True):
                if value.name != both.expr.name:  # type: ignore[union-attr]
                    block.append(Assign(both.expr, value, span))  # type: ignore[arg-type]
            return both, both
        case _:
            return a, b


def _free_name(lw: Lowerer, paths: tuple[Path, Path], one: str, two: str) -> str:
    """Return the variable of one path where the other reads it for nothing, else a new one."""
    for name, (_, env) in ((one, paths[1]), (two, paths[0])):
        if not any(name in reads(leaf) for value in env.values() for leaf in leaves_of(value)):
            return name
    return lw.fresh(one)


def at_the_head(lw: Lowerer, node: Any, head: dict[Any, Value], ends: list[dict[Any, Value]]) -> dict[Any, Value]:
    """Return what names mean at the head of a loop: a field begins in the variable that a turn leaves it in."""
    begun, known = dict(head), dict[tuple[Any, str], V]()
    for end in ends:
        for name, value in begun.items():
            other = end.get(name)
            if isinstance(value, StructV) and isinstance(other, StructV) and value is not other:
                begun[name] = _begun(lw, node, head, value, other, known)
    return begun


def _begun(
    lw: Lowerer, node: Any, head: dict[Any, Value], a: Value, b: Value, known: dict[tuple[Any, str], V]
) -> Value:
    match a, b:
        case StructV(kind, keys, items), StructV(other, others, parts) if kind == other and keys == others:
            met = (_begun(lw, node, head, x, y, known) for x, y in zip(items, parts, strict=True))
            return replace(a, items=tuple(met))
        case V(Var() | Const() as x), V(Var(name, Scalar()) as y) if isinstance(x.type, Scalar) and x != y:
            place = x.name if isinstance(x, Var) else repr(x), name
            kind = join_types(x.type, y.type, "")
            if kind is None or (isinstance(x, Var) and x.name == name):
                return a
            if place not in known:
                if name in variables(head):
                    return a
                lw.emit(Assign(Var(name, kind), x, lw.span(node)))
                lw.names.add(name)
                known[place] = V(Var(name, kind))
            return known[place]
        case _:
            return a


def variables(env: dict[Any, Value]) -> set[str]:
    """Return the variables that names mean, or are made of."""
    return {name for value in env.values() for leaf in leaves_of(value) for name in reads(leaf)}


def ask(lw: Lowerer, torn: list[Torn]) -> None:
    """Lower the function again if two paths leave something in a field that has a form for both."""
    for kind, key, a, b in torn:
        if (kind != "dict" and not isinstance(kind, type)) or isinstance(a, Poison) or isinstance(b, Poison):
            continue
        found = [value for value in (a, b) if value != StaticV(None)]
        if len(found) == 1 and (form := optional.form_of(type_of(_held(found[0])))) is not None:
            known = lw.ctx.optional_fields.get((kind, key))
            wanted = form if known is None else optional.joined_form(known, form)
            if wanted is not None and wanted != known:
                lw.ctx.optional_fields[kind, key] = wanted
                raise KindFound
        told = [value.value for value in (a, b) if isinstance(value, StaticV) and isinstance(value.value, _TOLD)]
        if len(told) + sum(texts.is_choice(value) for value in (a, b)) == 2:
            before = len(lw.ctx.told_apart), len(lw.ctx.coded_fields)
            lw.ctx.told_apart.update(dict.fromkeys(told))
            lw.ctx.coded_fields.add((kind, key))
            if before != (len(lw.ctx.told_apart), len(lw.ctx.coded_fields)):
                raise KindFound


_TOLD = (str, enum.Enum)


def _held(value: Value) -> Value:
    return value.items[1] if optional.is_optional(value) and isinstance(value, StructV) else value


def read(lw: Lowerer, value: Value, node: Any) -> Value:
    """Return what a field holds where a value is needed: the emitted code raises what Python would if it is None."""
    if texts.is_choice(value) and isinstance(value, StructV):
        return texts.known(value)
    if not (optional.is_optional(value) and isinstance(value, StructV)):
        return value
    if optional.fact_of(node) in lw.proven:
        return value.items[1]
    text = ast.unparse(ast.fix_missing_locations(gast.gast_to_ast(node)))
    return optional.checked(lw, value, f"`{text}` is still None here", node)
