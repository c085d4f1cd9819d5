"""What a name or expression stands for while a function is lowered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gast

from s2sad.frontend.scopes import free_names
from s2sad.frontend.source import Source
from s2sad.ir.nodes import Const, Expr, Pack
from s2sad.ir.types import Array, ListOf, Scalar, Static, Struct, Type


@dataclass(frozen=True, slots=True)
class V:
    """A run-time value: an expression with its type."""

    expr: Expr


@dataclass(slots=True, eq=False)
class Cell:
    """The identity of a container: two names with one cell are one object."""

    refusal: str = ""
    """Why it cannot be written into here, if it cannot."""
    writes: int = 0
    """How often it has been written into so far."""
    later: Cell | None = None
    """What identity it got where a list has got it."""


@dataclass(slots=True, eq=False)
class ItemCell(Cell):
    """The identity of an item of a list whose items are written: the item is read, and written, where it stands."""

    rows: RowsV | None = None
    at: Expr | None = None
    """The place: a variable that is given no other value as long as a name means the item, or what has no name yet."""


@dataclass(frozen=True, slots=True)
class StructV:
    """A container of known structure, taken apart: the emitted code only sees the items."""

    kind: Any
    keys: tuple[Any, ...]
    items: tuple[Value, ...]
    cell: Cell | None = field(default=None, compare=False)
    """Which object it is, once it has a name and can be written into."""
    origin: int = field(default=0, compare=False)
    """The place of the text that displays it, if it is a list."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A list of records of one `kind` that grows, as the kind of a structure of lists: one for each field."""

    kind: Any


@dataclass(frozen=True, slots=True)
class RowsV:
    """A list of records that grows, taken apart: the emitted code has one list for each field."""

    kind: Any
    keys: tuple[Any, ...]
    items: tuple[Value, ...]
    by_reference: bool = False
    """Its items are objects that are written: a name for one of them means its place."""


@dataclass(frozen=True, slots=True)
class Referred:
    """An object that stands in another list, of these variables, as the kind of a structure that holds its place."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StaticV:
    """An object known now: module, function, dtype, string, None."""

    value: Any


@dataclass(frozen=True, slots=True)
class FuncV:
    """A function defined inside the function being lowered, with the scope it sees."""

    node: Any
    source: Source
    env: dict[str, Value]
    name: str
    defaults: dict[str, Value] = field(default_factory=dict[str, Any])
    """What its parameters' defaults were where it was defined."""
    apart: bool = False
    """Never written in place of its calls: its adjoint keeps its arguments and runs it again."""
    owner: Any = field(default=None, compare=False, repr=False)
    """The lowering that it was defined in, whose names it sees as they are when it is called."""

    @property
    def scope(self) -> dict[str, Value]:
        """What the names around it mean now."""
        return self.env if self.owner is None else self.owner.env


@dataclass(frozen=True, slots=True, eq=False)
class Closure:
    """The code of a function defined inside another, as the kind of a structure of what it sees."""

    node: Any
    source: Source
    name: str

    def __eq__(self, other: object) -> bool:
        """Two closures are of one kind when they come from one place of the text."""
        return isinstance(other, Closure) and self.node is other.node

    def __hash__(self) -> int:
        """Hash as `__eq__` compares."""
        return id(self.node)


@dataclass(frozen=True, slots=True)
class RangeV:
    """`range(start, stop, step)`."""

    start: Expr
    stop: Expr
    step: Expr


@dataclass(frozen=True, slots=True)
class IterV:
    """`enumerate`, `zip` or `reversed` over other values; `start` is enumerate's."""

    kind: str
    parts: tuple[Value, ...]
    start: Expr | None = None


@dataclass(frozen=True, slots=True)
class SliceV:
    """A slice object."""

    lower: Value | None
    upper: Value | None
    step: Value | None


@dataclass(frozen=True, slots=True)
class MethodV:
    """`value.name`, waiting to be called."""

    owner: Value
    name: str


@dataclass(frozen=True, slots=True)
class Bound:
    """The kind of the structure that a method with its owner is, where it is passed on."""

    name: str


@dataclass(frozen=True, slots=True)
class BarV:
    """A rule's `x_bar`: `+=` on it is a contribution to the argument `slot`."""

    slot: Any


@dataclass(frozen=True, slots=True)
class ZeroV:
    """A rule's `x_dot` that is zero: whatever is linear in it is zero too and is left out."""


@dataclass(frozen=True, slots=True)
class Poison:
    """A name whose meaning differs between paths; using it is an error with this reason."""

    reason: str
    wide: str | None = None
    """The dtype that would hold what it is on either path."""
    of_keys: bool = False
    """It is a dict, the keys of which differ."""
    grows: bool = False
    """It is a number on one path and an array on the other."""


@dataclass(slots=True)
class Scope:
    """Break and continue states gathered while a loop's body is lowered."""

    loop: Any
    breaks: list[dict[str, Value]] = field(default_factory=list[Any])
    continues: list[dict[str, Value]] = field(default_factory=list[Any])
    flag: str | None = None
    unrolled: bool = False
    once: bool = False
    """It is written out inside a loop that runs once, which `break` leaves."""
    made: int = 0
    """How many locals of the compiler's own there were before it: the others mean nothing outside of a turn."""


Value = V | StructV | RowsV | StaticV | FuncV | RangeV | IterV | SliceV | MethodV | BarV | ZeroV | Poison


def type_of(value: Value) -> Type:
    """Return the type of a value as an argument of a call."""
    match value:
        case V(expr):
            return expr.type
        case StructV(kind, keys, items):
            return Struct(kind, keys, tuple(type_of(item) for item in items))
        case RowsV(kind, keys, items):
            return Struct(Rows(kind), keys, tuple(type_of(item) for item in items))
        case StaticV(obj):
            return Static(obj)
        case FuncV():
            held = _held_by(value)
            return Struct(
                Closure(value.node, value.source, value.name), tuple(held), tuple(type_of(v) for v in held.values())
            )
        case MethodV(owner, name):
            return Struct(Bound(name), ("self",), (type_of(owner),))
        case SliceV():
            parts = {word: part for word in _BOUNDS if (part := getattr(value, word)) is not None}
            return Struct(_SLICE, tuple(parts), tuple(type_of(part) for part in parts.values()))
        case _:
            return Static(value)


_SLICE = "slice"
_BOUNDS = ("lower", "upper", "step")


def seen_by(fn: FuncV) -> dict[str, Value]:
    """Return what an inner function sees of the functions around it, as it stands now."""
    return _seen(fn, (fn.node,))


def _held_by(fn: FuncV) -> dict[str, Value]:
    """Return what an inner function sees, and its defaults, each under its parameter's name and `=`."""
    return {**seen_by(fn), **{f"{name}=": value for name, value in fn.defaults.items()}}


def _seen(fn: FuncV, outer: tuple[Any, ...]) -> dict[str, Value]:
    free = free_names(fn.node)
    found: dict[str, Value] = {}
    for part in gast.walk(fn.node):
        if not isinstance(part, gast.Name) or part.id not in free or part.id in found or part.id not in fn.scope:
            continue
        value = fn.scope[part.id]
        if isinstance(value, FuncV):
            if value.node in outer:
                continue
            value = FuncV(value.node, value.source, _seen(value, (*outer, value.node)), value.name, value.defaults)
        found[part.id] = value
    return found


def of_slices(value: Value) -> bool:
    """Say whether a container holds slices: `[slice(None)] * n`, which is there before the function runs only."""
    return isinstance(value, StructV) and any(isinstance(item, SliceV) for item in value.items)


def leaves_of(value: Value) -> list[Expr]:
    """Return the run-time expressions of a value, depth first."""
    match value:
        case V(expr):
            return [expr]
        case StructV(_, _, items) | RowsV(_, _, items):
            return [leaf for item in items for leaf in leaves_of(item)]
        case FuncV():
            return [leaf for item in _held_by(value).values() for leaf in leaves_of(item)]
        case MethodV(owner):
            return leaves_of(owner)
        case SliceV(lower, upper, step):
            return [leaf for part in (lower, upper, step) if part is not None for leaf in leaves_of(part)]
        case _:
            return []


def rebuild(kind: Type, leaves: list[Expr]) -> Value:
    """Build the value of type `kind` from its leaves, consuming them from the front."""
    match kind:
        case Struct(Closure(node, source, name), keys, items):
            env = {key: rebuild(item, leaves) for key, item in zip(keys, items, strict=True)}
            defaults = {key[:-1]: env.pop(key) for key in keys if key.endswith("=")}
            made = FuncV(node, source, env, name, defaults)
            env.setdefault(name, made)  # it may call itself
            return made
        case Struct(Bound(name), _, (owner,)):
            return MethodV(rebuild(owner, leaves), name)
        case Struct("slice", keys, items):
            bounds = {key: rebuild(item, leaves) for key, item in zip(keys, items, strict=True)}
            return SliceV(*(bounds.get(word) for word in _BOUNDS))
        case Struct(Rows(record), keys, items):
            return RowsV(record, keys, tuple(rebuild(item, leaves) for item in items))
        case Struct(container, keys, items):
            return StructV(container, keys, tuple(rebuild(item, leaves) for item in items))
        case Static(Poison() as poison):
            return poison
        case Static(obj):
            return StaticV(obj)
        case _:
            return V(leaves.pop(0))


def const(value: Any) -> V:
    """Return a literal as a weak scalar."""
    return V(literal(value))


def key_value(key: Any) -> Value:
    """Return a key of a dict as the value that an iteration over the dict gives."""
    if isinstance(key, tuple) and not hasattr(key, "_fields"):
        return StructV("tuple", tuple(range(len(key))), tuple(key_value(part) for part in key))
    return const(key) if isinstance(key, int | float) else StaticV(key)


def keys_of(given: StructV) -> StructV:
    """Return the list of the keys of a dict."""
    return StructV("list", tuple(range(len(given.keys))), tuple(key_value(key) for key in given.keys))


def literal(value: Any) -> Const:
    """Return a literal expression of a Python or NumPy number."""
    import numpy as np

    if isinstance(value, np.generic):
        return Const(value, Scalar(value.dtype.name))
    names = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
    if type(value) not in names:  # a member of an enumeration of whole numbers
        value = int(value) if isinstance(value, int) else float(value)
    kind = names[type(value)]
    known = value if type(value) in (int, bool) else None
    return Const(value, Scalar(kind, weak=True, value=known))


def join_types(a: Type, b: Type, phi: str) -> Type | None:
    """Return the type of a name that has type `a` on one path and `b` on the other, or None."""
    from s2sad.frontend.infer import fresh_dim
    from s2sad.ir.types import UNEVEN, Sym, is_uneven

    if a == b:
        return a
    match a, b:
        case Scalar(), Scalar():
            dtype = _join_dtype(a, b)
            return Scalar(dtype, a.weak and b.weak, a.value if a.value == b.value and a.dtype == b.dtype else None)
        case Array(), Array() if len(a.dims) == len(b.dims) and a.dtype == b.dtype:
            dims = tuple(
                x if x == y else UNEVEN if is_uneven(x) or is_uneven(y) else Sym(f"{phi}.{i}") if phi else fresh_dim()
                for i, (x, y) in enumerate(zip(a.dims, b.dims, strict=True))
            )
            return Array(a.dtype, dims, a.layout if a.layout == b.layout else "A")
        case ListOf(x), ListOf(y):
            if x is None or y is None:
                return ListOf(x or y)
            item = join_types(x, y, phi)
            return None if item is None else ListOf(item)
        case _:
            return None


def _join_dtype(a: Scalar, b: Scalar) -> str:
    import numpy as np

    if a.dtype == b.dtype:
        return a.dtype
    if a.weak and not b.weak and np.dtype(b.dtype).kind >= np.dtype(a.dtype).kind:
        return b.dtype
    return np.result_type(a.dtype, b.dtype).name


def forget(kind: Type, phi: str) -> Type:
    """Return `kind` without what was only true in one iteration: lengths and known numbers."""
    from s2sad.ir.types import Sym, is_uneven

    match kind:
        case Scalar(dtype, weak):
            return Scalar(dtype, weak)
        case Array(dtype, dims, layout):
            return Array(
                dtype,
                tuple(d if isinstance(d, int) or is_uneven(d) else Sym(f"{phi}.{i}") for i, d in enumerate(dims)),
                layout,
            )
        case ListOf(item):
            return ListOf(None if item is None else forget(item, phi))
        case _:
            return kind


def pack(kind: str, items: list[Expr]) -> Pack:
    """Return a display of expressions, typed as a container of their types."""
    types = tuple(item.type for item in items)
    return Pack(kind, tuple(items), Struct(kind, tuple(range(len(items))), types))
