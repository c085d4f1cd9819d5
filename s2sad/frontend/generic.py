"""One instance for many calls: lengths are renamed after the callee's parameters, and back for its results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from s2sad.frontend.infer import fresh_dim
from s2sad.frontend.lowerer import Context, Instance
from s2sad.frontend.values import Value, leaves_of, literal
from s2sad.ir.nodes import Assign, CallStmt, Const, Expr, Index, Return, Store
from s2sad.ir.types import Array, Dim, ListOf, Scalar, Struct, Sym, Type, leaf_types, renamed_length
from s2sad.ir.views import view_base
from s2sad.ir.walk import root_of, statements


def canonical(types: tuple[Type, ...], recursive: bool) -> tuple[tuple[Type, ...], dict[str, Dim]]:
    """Rename the symbolic lengths in argument types; equal lengths stay equal, related ones as far apart as they are.

    In a recursive call known integers and relations are forgotten, so that one instance serves every depth.
    """
    names: dict[Dim, Sym] = {}
    back: dict[str, Dim] = {}
    longest = {} if recursive else _longest(types)
    lengths = {value.name for kind in types for value in _lengths(kind)}

    def dim(value: Dim) -> Dim:
        if isinstance(value, int):
            return fixed(value)
        base = longest.get(value.name, value)
        if base not in names:
            names[base] = Sym(renamed_length(f"arg{len(names)}", base), 0, base.nonone)
            back[names[base].name] = base
        own = names[base]
        return own if value == base else Sym(own.name, value.minus - base.minus, value.nonone)

    def fixed(value: int) -> Dim:
        if not recursive or value <= 1:
            return value
        key = Sym(f"={value}")
        if key not in names:
            names[key] = Sym(f"arg{len(names)}", 0, True)
            back[names[key].name] = value
        return names[key]

    def walk(kind: Type) -> Type:
        match kind:
            case Array(dtype, dims, layout):
                return Array(dtype, tuple(dim(d) for d in dims), layout)
            case Scalar(dtype, weak, value):
                if isinstance(value, Sym) and (value.name in lengths or not recursive):
                    return Scalar(dtype, weak, dim(value))
                return Scalar(dtype, weak, None if recursive else value)
            case ListOf(item):
                return ListOf(None if item is None else walk(item))
            case Struct(container, keys, items):
                return Struct(container, keys, tuple(walk(item) for item in items))
            case _:
                return kind

    return tuple(walk(kind) for kind in types), back


def _lengths(kind: Type | None) -> Iterator[Sym]:
    """Yield the symbolic lengths of the arrays in a type."""
    match kind:
        case Array(_, dims, _):
            yield from (dim for dim in dims if isinstance(dim, Sym))
        case ListOf(item):
            yield from _lengths(item)
        case Struct(_, _, items):
            for item in items:
                yield from _lengths(item)
        case _:
            pass


def _longest(types: tuple[Type, ...]) -> dict[str, Sym]:
    """Return the longest of the related lengths in argument types, by their common name."""
    found: dict[str, Sym] = {}

    def walk(kind: Any) -> None:
        match kind:
            case Array(_, dims, _):
                for dim in dims:
                    walk(dim)
            case Sym(name, minus):
                found[name] = kind if name not in found or minus < found[name].minus else found[name]
            case Scalar(_, _, value):
                walk(value)
            case ListOf(item):
                walk(item)
            case Struct(_, _, items):
                for item in items:
                    walk(item)
            case _:
                pass

    for kind in types:
        walk(kind)
    return found


def learn(own: Type, given: Type, back: dict[str, Dim]) -> None:
    """Take the caller's lengths of an array for the callee's: both mean the one outside of them."""
    if isinstance(own, Array) and isinstance(given, Array):
        for mine, other in zip(own.dims, given.dims, strict=True):
            if isinstance(mine, Sym) and not mine.minus:
                back.setdefault(mine.name, other)


def restored(kind: Type, back: dict[str, Dim]) -> Type:
    """Return a callee's result type in the caller's lengths; what only the callee knows is new."""
    match kind:
        case Array(dtype, dims, layout):
            return Array(dtype, tuple(_back(d, back) for d in dims), layout)
        case Scalar(dtype, weak, value):
            return Scalar(dtype, weak, _back(value, back) if isinstance(value, Sym) and value.name in back else None)
        case ListOf(item):
            return ListOf(None if item is None else restored(item, back))
        case Struct(container, keys, items):
            return Struct(container, keys, tuple(restored(item, back) for item in items))
        case _:
            return kind


def known_results(instance: Instance, results: list[Expr]) -> list[Expr]:
    """Return what a call gives, leaf by leaf: a whole number that is the same on every path is known.

    While a function is being lowered, the paths that are missing may give another one.
    """
    if instance.open or instance.incomplete or instance.result is None:
        return results
    kinds = leaf_types(instance.result)
    known = [_known(kind) for kind in kinds]
    return [literal(value) if value is not None else result for value, result in zip(known, results, strict=True)]


def _known(kind: Type) -> int | None:
    """Return the whole number, or the truth value, that a type says a value is."""
    if isinstance(kind, Scalar) and kind.weak and type(kind.value) in (int, bool):
        return kind.value  # type: ignore[no-any-return]
    return None


def _back(dim: Any, back: dict[str, Dim]) -> Dim:
    if isinstance(dim, int):
        return dim
    if dim.name not in back:
        back[dim.name] = fresh_dim()  # of one call: the same length wherever it occurs in its results
    actual = back[dim.name]
    if isinstance(actual, int):
        return max(actual - dim.minus, 0)
    return Sym(actual.name, actual.minus + dim.minus, actual.nonone and dim.minus == 0)


def shares_memory(ctx: Context, instance: Instance, args: list[Value]) -> bool:
    """Say whether the callee's result or writes entangle memory that its caller can name.

    Such a call is better written into the caller, where the views are plain to see.
    """
    fn = instance.function
    if fn is None:
        return False
    leaves = [leaf for value in args for leaf in leaves_of(value)]
    params = {p.name for p in fn.params if isinstance(p.type, Array)}
    returned = {
        root.name
        for stmt in statements(fn.body)
        if isinstance(stmt, Return)
        for value in stmt.values
        if isinstance(value.type, Array) and (root := root_of(value)) is not None and not _is_new(value)
    }
    aliases = {s.target.name: s.value for s in statements(fn.body) if isinstance(s, Assign)}
    for name in list(returned):
        value = aliases.get(name)
        root = root_of(value) if value is not None and isinstance(value.type, Array) else None
        if root is not None and not _is_new(value):
            returned.add(root.name)
    if returned & params:
        return True
    written = {
        root.name
        for stmt in statements(fn.body)
        if isinstance(stmt, Store) and (root := root_of(stmt.place)) is not None
    } & params
    calls = any(isinstance(s, CallStmt) for s in statements(fn.body))
    roots = [root.name for leaf in leaves if isinstance(leaf.type, Array) and (root := root_of(leaf)) is not None]
    return bool(written or calls) and len(set(roots)) != len(roots)


def _is_new(value: Expr | None) -> bool:
    return value is None or view_base(value) is None or isinstance(value, Const)


__all__ = ["Index", "canonical", "known_results", "restored", "shares_memory"]
