"""The structure of a value: containers, leaves, their types, and how the user writes them."""

from __future__ import annotations

import array
import collections
import contextlib
import dataclasses
import functools
import inspect
import sys
import types
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from s2sad.errors import ArgumentError
from s2sad.ir.typeof import layout_of, typeof
from s2sad.ir.types import Array, ListOf, Scalar, Static, Struct, Type, is_inexact

NAMESPACE = "s2sad"  # the optree namespace that is searched; falls back on the global one


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A value's structure: one node per container, dynamic leaf or static value.

    Attributes:
        type: what the compiler specialises on.
        cls: the exact class, which a gradient of this structure gets back.
        path: what the user would write to reach the value: `params['W']`.
        key: equal for two values exactly when one specialisation serves both.
        children: the parts of a container, in the order of the keys of its `Struct`; those of a dictionary as
            they were inserted.
        value: a static value, or what an optree container needs to be rebuilt.
    """

    type: Type
    cls: type
    path: str
    key: Hashable
    children: tuple[Tree, ...] = ()
    value: Any = None

    @property
    def is_leaf(self) -> bool:
        """Say whether the node is passed to the emitted entry."""
        return isinstance(self.type, Scalar | Array | ListOf)

    def leaves(self) -> Iterator[Tree]:
        """Yield the dynamic leaves, depth first: the parameters of the emitted entry."""
        if self.is_leaf:
            yield self
        for child in self.children:
            yield from child.leaves()

    def nodes(self) -> Iterator[Tree]:
        """Yield the dynamic leaves and the static values, depth first."""
        if not isinstance(self.type, Struct):
            yield self
        for child in self.children:
            yield from child.nodes()


def describe(value: Any, name: str, path: str = "") -> Tree:
    """Return the structure of `value`, dimensions named after `name`.

    Raises:
        ArgumentError: for a leaf that cannot be followed safely: object arrays, masked arrays, …
    """
    path = path or name
    cls = type(value)
    if isinstance(value, np.ndarray):
        return _describe_array(value, name, path)
    kind = typeof(value, name) if not isinstance(value, tuple | list | dict) else None
    if isinstance(kind, Scalar):
        if np.dtype(kind.dtype).kind not in "biufc":
            raise ArgumentError(f"`{path}` is a NumPy scalar of dtype {kind.dtype}, not a number")
        return Tree(kind, cls, path, (cls,))
    parts = _parts(value)
    if parts is None:
        _refuse_unknown_container(value, path)
        return Tree(Static(value), cls, path, ("static", static_key(value)), value=value)
    struct_kind, keys, items, extra = parts
    children = tuple(
        describe(item, f"{name}[{key}]", path + _suffix(struct_kind, key))
        for key, item in zip(keys, items, strict=True)
    )
    struct = Struct(struct_kind, keys, tuple(child.type for child in children))
    held = tuple((word, static_key(what)) for word, what in class_data(cls))
    key = (cls, keys, tuple(child.key for child in children), static_key(extra), held)
    return Tree(struct, cls, path, key, children, extra)


def _describe_array(value: np.ndarray[Any, Any], name: str, path: str) -> Tree:
    if type(value) not in (np.ndarray, np.memmap):
        raise ArgumentError(
            f"`{path}` is a `{type(value).__module__}.{type(value).__qualname__}`, whose arithmetic"
            " differs from that of plain arrays",
            why=(
                "Pass `.filled(...)` of it: an array without a mask."
                if isinstance(value, np.ma.MaskedArray) else "Pass `numpy.asarray(...)` of it."
            ),
        )
    if value.dtype.kind not in "biufc":
        raise ArgumentError(
            f"`{path}` is an array of dtype {value.dtype}, which holds no plain numbers",
            why="Convert it with `.astype(float)`, or read it from a closure.",
        )
    kind = typeof(value, name)
    ones = tuple(n == 1 for n in value.shape)
    layout = kind.layout if isinstance(kind, Array) else ""
    return Tree(
        kind, type(value), path, (type(value), value.dtype, ones, layout), value=value.dtype
    )


_Parts = tuple[Any, tuple[Any, ...], tuple[Any, ...], Any]


def _parts(value: Any) -> _Parts | None:
    """Split a container into (kind, keys, items, extra); None for others."""
    cls = type(value)
    custom = _custom_parts(value, cls)
    if custom is not None:
        return custom
    if isinstance(value, tuple) and hasattr(cls, "_fields"):
        return cls, tuple(cls._fields), tuple(value), None  # type: ignore[attr-defined]
    if cls is tuple or cls is list:
        return cls.__name__, tuple(range(len(value))), tuple(value), None
    if isinstance(value, dict):
        keys = tuple(value)
        extra = value.default_factory if isinstance(value, defaultdict) else None
        return "dict", keys, tuple(value.values()), extra
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        keys = tuple(field.name for field in dataclasses.fields(value))
        _refuse_hidden(value)
        return cls, keys, tuple(getattr(value, key) for key in keys), None
    return None


def class_data(cls: type) -> list[tuple[str, Any]]:
    """Return what the class of a record holds for all its objects, other than methods: `scale = 3.0` in its text."""
    if not hasattr(cls, "__dataclass_fields__") and not hasattr(cls, "_fields"):
        return []
    fields: Any = getattr(cls, "__dataclass_fields__", None) or getattr(cls, "_fields", ())
    names = {name for base in cls.__mro__[:-1] for name in vars(base) if not name.startswith("_")} - set(fields)
    held = [(name, inspect.getattr_static(cls, name)) for name in sorted(names)]
    return [(name, what) for name, what in held if not callable(what) and not hasattr(type(what), "__get__")]


def hideable(cls: type) -> frozenset[str]:
    """Return what a dataclass holds for all its objects: methods, and attributes that are no fields."""
    held = {
        name for base in cls.__mro__[:-1] for name, what in vars(base).items()
        if not name.startswith("__") and not isinstance(what, functools.cached_property)
    }  # fmt: skip
    fields: dict[str, Any] = getattr(cls, "__dataclass_fields__", {})
    return frozenset(held - fields.keys()) if getattr(cls, "__dictoffset__", 0) else frozenset()


def _refuse_hidden(value: Any) -> None:
    """Refuse an object that has an attribute of its own, no field, in the place of one of its class."""
    hidden = sorted(hideable(type(value)) & vars(value).keys()) if hasattr(value, "__dict__") else []
    if hidden:
        name = type(value).__qualname__
        raise ArgumentError(
            f"this `{name}` has a `{hidden[0]}` of its own, which is no field and hides that of the class",
            why=f"Make it a field, `{hidden[0]}: ... = ...` in the class, so that it is passed with the others.",
        )


def _custom_parts(value: Any, cls: type) -> _Parts | None:
    """Split a value whose class is registered in optree, if that is imported."""
    optree = sys.modules.get("optree")
    if optree is None or cls in _NEVER_CUSTOM:
        return None
    entry = optree.register_pytree_node.get(cls, namespace=NAMESPACE)
    if entry is None or entry.kind != optree.PyTreeKind.CUSTOM:
        return None
    children, metadata, entries, rebuild = optree.tree_flatten_one_level(
        value, none_is_leaf=True, namespace=NAMESPACE
    )
    keys = _attribute_names(metadata, rebuild, len(children)) or tuple(entries)
    return cls, keys, tuple(children), Custom(metadata, rebuild)


def _attribute_names(metadata: Any, rebuild: Callable[[Any, Sequence[Any]], Any], count: int) -> tuple[Any, ...]:
    """Return the attributes that hold the children, by which the user's code reads them; () if not known."""
    marks = [object() for _ in range(count)]
    try:
        attributes = vars(rebuild(metadata, tuple(marks)))
    except Exception:  # a class that takes numbers only
        return ()
    names = {id(value): name for name, value in attributes.items()}
    found = tuple(names.get(id(mark)) for mark in marks)
    return () if None in found else found


_NEVER_CUSTOM = frozenset({tuple, list, dict, str, bool, type(None), types.FunctionType, type})


@dataclass(frozen=True, slots=True)
class Custom:
    """What rebuilds an instance of a class registered in optree from its children."""

    metadata: Any
    rebuild: Callable[[Any, Sequence[Any]], Any]


def _suffix(kind: Any, key: Any) -> str:
    if isinstance(kind, str) or not isinstance(key, str):
        return f"[{key!r}]"
    return f".{key}"


def _refuse_unknown_container(value: Any, path: str) -> None:
    if isinstance(value, list | tuple | set | frozenset | bytearray):
        raise ArgumentError(
            f"`{path}` is a `{type(value).__qualname__}`, a container that is not followed",
            why="Pass a tuple, list, dict, namedtuple or dataclass, or register it in optree.",
        )
    if isinstance(value, memoryview):
        raise ArgumentError(f"`{path}` is a memoryview, which is not followed", why="Pass the array, `np.asarray(…)`.")


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """Compares by identity, and keeps the object alive so that its identity stays its own."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


CONTENTS = 10_000  # larger containers that a function reads from outside are compared by identity
CONTAINERS = (dict, list, collections.deque, set, types.MappingProxyType, bytearray, array.array)
OBJECTS = 2_000  # as many containers and objects are looked into; what lies beyond counts by its identity
_ATOMS = (type(None), bool, int, float, complex, str, bytes, type)
_LIBRARIES = frozenset({"numpy", "numba", "scipy", "s2sad", "builtins"})
_BUSY = frozenset({
    "logging", "threading", "asyncio", "multiprocessing", "concurrent", "unittest", "http", "importlib", "tkinter",
})  # fmt: skip
"""Modules whose objects hold much, all loggers of a program say, and nothing that a function calculates with."""


def static_key(value: Any) -> Hashable:
    """Return a key that changes when a static value does: value, or identity and contents, however deep they lie."""
    return _key(value, {})


def _key(value: Any, seen: dict[int, Any]) -> Hashable:
    cls = type(value)
    if isinstance(value, np.ndarray | np.inexact) and not value.ndim:
        return cls, value.dtype, value.tobytes()
    if isinstance(value, np.ndarray):
        return cls, value.dtype, tuple(n == 1 for n in value.shape), layout_of(value)
    if isinstance(value, complex) or (isinstance(value, float) and (value != value or value == 0.0)):
        return cls, repr(value)  # NaN differs from itself, and -0.0 does not from 0.0
    if cls in _ATOMS or isinstance(value, np.dtype | np.generic | type | types.ModuleType):
        return cls, value
    if isinstance(value, Custom):
        return _key(value.metadata, seen)
    if isinstance(value, slice):
        return cls, _key(value.start, seen), _key(value.stop, seen), _key(value.step, seen)
    if isinstance(value, tuple):
        return cls, tuple(_key(item, seen) for item in value)
    if isinstance(value, CONTAINERS) or has_contents(value):
        if id(value) in seen or len(seen) > OBJECTS:  # what is met again is in the key already
            return _Same(value)
        seen[id(value)] = value
        return _Same(value), tuple((name, _key(item, seen)) for name, item in contents_of(value))
    try:
        hash(value)
    except TypeError:
        return _Same(value)
    return cls, value


def contents_of(value: Any) -> list[tuple[Any, Any]]:
    """Return the items of a container, or the attributes of an object, with their keys or names; none of large ones."""
    if isinstance(value, CONTAINERS):
        if len(value) > CONTENTS:
            return []
        items: Any = value.items() if isinstance(value, dict | types.MappingProxyType) else enumerate(value)
        return [*items, *_attributes_of(value)]
    return _attributes_of(value)


def _attributes_of(value: Any) -> list[tuple[str, Any]]:
    held = getattr(value, "__dict__", None)
    found = list(held.items()) if isinstance(held, dict) and len(held) <= CONTENTS else []
    for name in slots_of(type(value)):
        with contextlib.suppress(AttributeError):  # one that nothing was put into
            found.append((name, object.__getattribute__(value, name)))
    return found


@functools.lru_cache(maxsize=1024)
def slots_of(cls: type) -> tuple[str, ...]:
    """Return the names of the attributes that objects of a class keep in slots."""
    found: list[str] = []
    for base in cls.__mro__:
        own = vars(base).get("__slots__", ())
        names = (own,) if isinstance(own, str) else tuple(own)
        private = f"_{base.__name__.lstrip('_')}"
        found += [private + n if n.startswith("__") and not n.endswith("__") else n for n in names]
    return tuple(name for name in dict.fromkeys(found) if name not in ("__dict__", "__weakref__"))


def has_contents(value: Any) -> bool:
    """Say whether an object's attributes count: those of a function, and of a callable that Python code calls, too."""
    if isinstance(value, type | types.MethodType | np.generic | np.dtype):
        return False
    if not isinstance(getattr(value, "__dict__", None), dict) and not slots_of(type(value)):
        return False
    if isinstance(value, types.FunctionType):
        return bool(value.__dict__)
    root = (type(value).__module__ or "").partition(".")[0]
    if root in _BUSY:
        return False
    if not callable(value) or type(value).__eq__ is not object.__eq__:
        return True
    return isinstance(getattr(type(value), "__call__", None), types.FunctionType) and root not in _LIBRARIES


_WEAK: dict[str, type] = {"float64": float, "int64": int, "complex128": complex, "bool": bool}


def tree_of(kind: Type, path: str) -> Tree:
    """Return the structure of a result of this type: what NumPy in CPython would have returned."""
    match kind:
        case Scalar(dtype, weak):
            cls = _WEAK[dtype] if weak and dtype in _WEAK else np.dtype(dtype).type
            return Tree(kind, cls, path, ())
        case Array(dtype):
            return Tree(kind, np.ndarray, path, (), value=np.dtype(dtype))
        case Struct(struct_kind, keys, items):
            children = tuple(
                tree_of(item, path + _suffix(struct_kind, key))
                for key, item in zip(keys, items, strict=True)
            )
            named: dict[Any, Any] = {"tuple": tuple, "list": list, "dict": dict}
            cls = named.get(struct_kind, struct_kind)
            return Tree(kind, cls, path, (), children)
        case ListOf():
            return Tree(kind, list, path, ())
        case Static(value):
            return Tree(kind, type(value), path, (), value=value)


def rebuild(tree: Tree, children: Sequence[Any]) -> Any:
    """Put the children of one container node together again, as an instance of its class."""
    match tree.type:
        case Struct("dict", keys, _):
            return _rebuild_dict(tree, dict(zip(keys, children, strict=True)))
        case Struct(_, keys, _):
            pass
        case _:
            raise TypeError(f"{tree.path} is not a container")
    if isinstance(tree.value, Custom):
        return tree.value.rebuild(tree.value.metadata, tuple(children))
    if tree.cls is tuple or tree.cls is list:
        return tree.cls(children)
    if issubclass(tree.cls, tuple):
        return tree.cls(*children)
    made = object.__new__(tree.cls)  # not __init__: it may check or convert what is no gradient's
    for name, child in zip(keys, children, strict=True):
        object.__setattr__(made, name, child)
    return made


def _rebuild_dict(tree: Tree, filled: dict[Any, Any]) -> Any:
    if tree.cls is dict:
        return filled
    if issubclass(tree.cls, defaultdict):
        return tree.cls(tree.value, filled)
    return tree.cls(filled)


def unflatten(tree: Tree, leaves: Mapping[Tree, Any], static: bool = True) -> Any:
    """Rebuild a whole structure from its leaves; a leaf that is missing becomes None.

    Static values are put back if `static`, else None stands in their place.
    """
    if isinstance(tree.type, Static):
        return tree.value if static else None
    if tree.is_leaf:
        return leaves.get(tree)
    return rebuild(tree, [unflatten(child, leaves, static) for child in tree.children])


def kind_text(tree: Tree) -> str:
    """Say in words what a leaf is, for an error message: `an int`, `a float32 array of rank 2`."""
    match tree.type:
        case Scalar(dtype, weak):
            name = tree.cls.__name__ if weak else f"{dtype} scalar"
            return ("an " if name[0] in "aeiou" else "a ") + name
        case Array(dtype, dims):
            article = "an" if dtype[0] in "aeiou" else "a"
            return f"{article} {dtype} array of rank {len(dims)}"
        case _:
            return f"`{tree.value!r}`" if isinstance(tree.value, str) else f"a {tree.cls.__name__}"


def inexact_leaves(tree: Tree) -> list[Tree]:
    """List the leaves that can carry a derivative."""
    return [leaf for leaf in tree.leaves() if is_inexact(leaf.type)]


def child_values(tree: Tree, value: Any) -> tuple[Any, ...] | None:
    """Take apart a value of the container structure of `tree`; None where it has not."""
    if type(value) is not tree.cls and not (isinstance(value, dict) and issubclass(tree.cls, dict)):
        return None
    if not isinstance(tree.type, Struct):
        return None
    if isinstance(value, dict) and set(value) == set(tree.type.keys):
        return tuple(value[key] for key in tree.type.keys)
    parts = _parts(value)
    if parts is None:
        return None
    return parts[2] if parts[1] == tree.type.keys else None
