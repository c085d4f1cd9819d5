"""Where paths meet: what each name means after a branch or at the head of a loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from s2sad.frontend import fields
from s2sad.frontend.containers import Meeting
from s2sad.frontend.environments import Environment, home_of, label_of
from s2sad.frontend.lowerer import Lowerer
from s2sad.frontend.optional import KindFound
from s2sad.frontend.values import (
    FuncV,
    ItemCell,
    Poison,
    RowsV,
    StaticV,
    StructV,
    V,
    Value,
    forget,
    join_types,
    leaves_of,
    type_of,
)
from s2sad.frontend.widening import wider
from s2sad.ir.nodes import Const, Var
from s2sad.ir.types import CARRIED, Array, ListOf, Scalar


def joined_env(lw: Lowerer, ends: list[Environment], fallback: Environment, phi: str = "") -> Environment:
    """Return the environment after the paths `ends` meet; `phi` names a loop head."""
    if not ends:
        return dict(fallback)
    result = dict(ends[0])
    for env in ends[1:]:
        _grow(lw, result, env)
        meeting = Meeting()
        for name, value in env.items():
            if name not in result:
                result[name] = value
                meeting.late.append(name)
            elif result[name] is not value or isinstance(value, StructV):
                label = f"{CARRIED}{phi}:{label_of(name)}" if phi else ""
                result[name] = _join(meeting, str(name), result[name], value, label)
        fields.ask(lw, meeting.torn)
        result = meeting.settled(result)
    return result


def _grow(lw: Lowerer, a: Environment, b: Environment) -> None:
    """Lower the function again if a list that was taken for known is of another length, or built, on another path."""
    found = {
        (id(home.source.node), str(name)) for name in a.keys() & b.keys() for home in (home_of(lw, name),)
        if str(name) not in home.dynamic_lists and _is_growing(a[name], b[name])
    }  # fmt: skip
    origins = {origin for name in a.keys() & b.keys() for origin in _growing_within(a[name], b[name])}
    origins -= lw.ctx.known_displays
    if found - lw.ctx.growing_names or origins - lw.ctx.growing_displays:
        lw.ctx.growing_names |= found
        lw.ctx.growing_displays |= origins
        raise KindFound


def _is_growing(a: Value, b: Value) -> bool:
    lists = [_is_plain_list(a), _is_plain_list(b)]
    built = [isinstance(v, V) and isinstance(v.expr.type, ListOf) for v in (a, b)]
    if all(lists):
        return isinstance(a, StructV) and isinstance(b, StructV) and len(a.keys) != len(b.keys)
    return (lists[0] and built[1]) or (built[0] and lists[1])


def _is_plain_list(value: Value) -> bool:
    """Say whether a value is a list of numbers or of records."""
    return (
        isinstance(value, StructV) and value.kind == "list"
        and all(isinstance(i, V) or (isinstance(i, StructV) and i.kind != "list") for i in value.items)
    )  # fmt: skip


def _growing_within(a: Value, b: Value) -> set[int]:
    """Return the displays of lists that have another length on the other path."""
    if not (isinstance(a, StructV) and isinstance(b, StructV)) or a.kind != b.kind:
        return set()
    if a.keys != b.keys:
        return {a.origin} if a.kind == "list" and a.origin and a.origin == b.origin else set()
    return {found for x, y in zip(a.items, b.items, strict=True) for found in _growing_within(x, y)}


_BEGUN = "`{} = items[0]`, or remember its place: `k = i`, then `items[k]`"
_DIFFERS = "means different things on two paths; give each of them a name of its own"


def _join(meeting: Meeting, name: str, a: Value, b: Value, phi: str) -> Value:
    match a, b:
        case V(x), V(y):
            if x == y:
                return a
            kind = join_types(x.type, y.type, phi)
            if kind is None:
                why = f"`{name}` is {describe(x.type)} on one path and {describe(y.type)} on another"
                kinds = {type(x.type), type(y.type)}
                return Poison(why, wider(x.type, y.type), grows=kinds == {Scalar, Array})
            if not (isinstance(x, Var) and isinstance(y, Var) and x.name == y.name):
                if isinstance(x, Const) and isinstance(y, Const) and x.value == y.value:
                    return V(Const(x.value, kind))
                return Poison(f"`{name}` {_DIFFERS}")
            return V(Var(x.name, kind))
        case (StructV(cell=ItemCell()), StructV()) | (StructV(), StructV(cell=ItemCell())):
            return a if a.cell is b.cell else Poison(
                f"`{name}` is one of the objects of a list on one path only; begin it with one of them, "
                f"{_BEGUN.format(name)}"
            )
        case StructV(kind, keys, items), StructV(other, others, parts) if kind == other and keys == others:
            joined = tuple(
                _join(meeting, _part(name, kind, key), x, y, f"{phi}.{key}" if phi else "")
                for key, x, y in zip(keys, items, parts, strict=True)
            )
            met = zip(keys, items, parts, joined, strict=True)
            meeting.torn += [(kind, key, x, y) for key, x, y, one in met if isinstance(one, Poison)]
            return StructV(kind, keys, joined, meeting.cell(a, b), a.origin if a.origin == b.origin else 0)
        case StructV("dict", keys, _), StructV("dict", others, _) if set(keys) == set(others):
            return Poison(
                f"`{name}` has its keys in another order on another path; write them in one order on both", of_keys=True
            )
        case StructV("dict", keys, _), StructV("dict", others, _) if keys != others:
            missing = next(key for key in (*keys, *others) if not (key in keys and key in others))
            return Poison(f"`{name}` has the key {missing!r} on one path only; give it one on both", of_keys=True)
        case StructV(type() as kind, keys, _), StructV(other, others, _) if kind is other:
            missing = next((key for key in (*keys, *others) if not (key in keys and key in others)), None)
            if missing is None:
                return Poison(f"`{name}` gets its attributes in two orders on two paths; begin them in `__init__`")
            return Poison(f"`{name}` has the attribute `{missing}` on one path only; begin it in `__init__`")
        case RowsV(kind, keys, items), RowsV(other, others, parts) if kind == other and keys == others:
            joined = tuple(
                _join(meeting, f"{name}_{key}", x, y, f"{phi}.{key}" if phi else "")
                for key, x, y in zip(keys, items, parts, strict=True)
            )
            torn = next((item for item in joined if isinstance(item, Poison)), None)
            if a.by_reference != b.by_reference:
                torn = Poison(f"`{name}` {_DIFFERS}")
            return replace(a, items=joined) if torn is None else torn
        case StaticV(x), StaticV(y):
            if x is y:
                return a
            try:
                same = bool(x == y) and type(x) is type(y)
            except (TypeError, ValueError):
                same = False
            return a if same else Poison(f"`{name}` is {x!r} on one path and {y!r} on another")
        case FuncV(), FuncV() if a is b or (a.node is b.node and _sees_the_same(a, b)):
            return a
        case FuncV(), FuncV():
            return Poison(f"`{name}` is another function on another path; write `{name} = f if … else g`")
        case (StaticV(None) | StructV("optional"), StructV()) | (StructV(), StaticV(None) | StructV("optional")):
            return Poison(
                f"`{name}` is None on one path and an object on another; begin it with one of the objects, "
                f"{_BEGUN.format(name)}"
            )
        case (Poison() as torn, _) | (_, Poison() as torn):
            return torn
        case _:
            return a if a == b else Poison(f"`{name}` {_DIFFERS}")


def _part(name: str, kind: Any, key: Any) -> str:
    """Return how the user writes a part of what a name means."""
    return f"{name}.{key}" if isinstance(kind, type) else f"{name}[{key!r}]"


def _sees_the_same(a: FuncV, b: FuncV) -> bool:
    """Say whether two functions of one text read the same values, so that either is the other."""
    seen, other = type_of(a), type_of(b)
    return seen == other and leaves_of(a) == leaves_of(b)


def describe(kind: Any) -> str:
    """Say a type in words."""
    from s2sad.ir.types import Array, ListOf, Scalar

    match kind:
        case Scalar(dtype):
            return f"a {dtype} scalar"
        case Array(dtype, dims):
            return f"a {len(dims)}-dimensional {dtype} array"
        case ListOf():
            return "a list"
        case _:
            return "a container"


def widen_new(merged: Environment, head: Environment, phi: str) -> Environment:
    """Forget iteration-bound facts of names that did not exist before the loop."""
    return {
        name: value if name in head else _forget(value, f"{CARRIED}{phi}:{label_of(name)}")
        for name, value in merged.items()
    }


def _forget(value: Value, phi: str) -> Value:
    match value:
        case V(Var(name, kind)):
            return V(Var(name, forget(kind, phi)))
        case StructV(kind, keys, items):
            parts = tuple(_forget(i, f"{phi}.{k}") for k, i in zip(keys, items, strict=True))
            return replace(value, items=parts)
        case RowsV(kind, keys, items):
            return replace(value, items=tuple(_forget(i, f"{phi}.{k}") for k, i in zip(keys, items, strict=True)))
        case _:
            return value


def same_env(a: Environment, b: Environment) -> bool:
    """Say whether two environments give every name the same meaning."""
    if a.keys() != b.keys():
        return False
    return all(a[name] is b[name] or _same(a[name], b[name]) for name in a)


def _same(a: Value, b: Value) -> bool:
    match a, b:
        case StaticV(x), StaticV(y):
            return x is y or (type(x) is type(y) and repr(x) == repr(y))
        case FuncV(), FuncV():
            return a.node is b.node
        case StructV(_, ka, xs), StructV(_, kb, ys):
            refused = [v.cell is not None and bool(v.cell.refusal) for v in (a, b)]
            return ka == kb and refused[0] == refused[1] and all(_same(x, y) for x, y in zip(xs, ys, strict=True))
        case RowsV(_, ka, xs), RowsV(_, kb, ys):
            return ka == kb and all(_same(x, y) for x, y in zip(xs, ys, strict=True))
        case Poison(), Poison():
            return True
        case _:
            return a == b
