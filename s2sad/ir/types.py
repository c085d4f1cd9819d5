"""What is known of a value before it exists: kind, dtype, rank, symbolic dimensions.

A dimension is an `int` (known) or a `Sym`: the same symbol always means the same length, so two
arrays of equal `dims` need no unbroadcasting. Python scalars are *weak*: they promote as in NumPy 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Sym:
    """A length known by name only: `name` minus `minus`; `nonone` when it is known not to be 1.

    `cut` is what the part of an axis ends before, where it starts at the first element: parts with one
    end never meet as one element and several, whatever axes they are of. `within`: of a part with
    bounds that only a run knows, that they surely lie within the axis, and in order.
    """

    name: str
    minus: int = 0
    nonone: bool = field(default=False, compare=False)
    cut: str = field(default="", compare=False)
    within: bool = field(default=False, compare=False)


Dim = int | Sym

_GIVEN = "given "
CUT = "cut "
"""What the names of lengths of parts begin with whose bounds only a run knows."""
CARRIED = "phi:"
"""What the names of lengths begin with that differ where paths meet."""
BROADCAST = "&"
"""What stands in the names of lengths that others are broadcast to."""

UNEVEN = Sym("uneven")
"""The length of arrays of one list that are of several lengths: each array that is read has its own."""


def is_uneven(dim: object) -> bool:
    """Say whether a symbol stands for lengths of a list's arrays that need not be alike."""
    return isinstance(dim, Sym) and UNEVEN.name in dim.name


def given_length(name: str) -> Sym:
    """Return what stands for the whole number that a parameter is given: a length, where arrays are made by it."""
    return Sym(_GIVEN + name)


def is_given(dim: object) -> bool:
    """Say whether a symbol stands for a number that was given, which may be negative until it makes an array."""
    return isinstance(dim, Sym) and dim.name.startswith(_GIVEN)


def is_carried(dim: object) -> bool:
    """Say whether a symbol stands for a length that paths or turns of a loop disagree on: in each it is another."""
    return isinstance(dim, Sym) and CARRIED in dim.name


def renamed_length(name: str, like: Sym) -> str:
    """Return a name for the length `like` that still says whether it was given, is a broadcast, or changes by turns."""
    name = BROADCAST + name if BROADCAST in like.name else UNEVEN.name if is_uneven(like) else name
    name = CARRIED + name if CARRIED in like.name else name
    return _GIVEN + name if is_given(like) else name


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number. `weak`: a Python scalar. `value`: a known constant or a symbolic length."""

    dtype: str
    weak: bool = False
    value: Any = None


@dataclass(frozen=True, slots=True)
class Array:
    """An `ndarray` of rank `len(dims)`; layout "C", "F" or "A" (unknown)."""

    dtype: str
    dims: tuple[Dim, ...]
    layout: str = "A"


@dataclass(frozen=True, slots=True)
class ListOf:
    """A Python list that the function builds, all items of one type."""

    item: Type | None

    def __post_init__(self) -> None:
        """Forget which number an item is: others of its type may follow."""
        if isinstance(self.item, Scalar) and self.item.value is not None:
            object.__setattr__(self, "item", Scalar(self.item.dtype, self.item.weak))


@dataclass(frozen=True, slots=True)
class Struct:
    """A container of known structure: tuple, list, dict, namedtuple, dataclass.

    `kind` is "tuple", "list", "dict" or the class; `keys` are field names, dict keys or positions.
    """

    kind: Any
    keys: tuple[Any, ...]
    items: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Static:
    """A value known at transform time: None, a string, a function, a dtype, a module, a slice."""

    value: Any


Type = Scalar | Array | ListOf | Struct | Static

FLOATS = frozenset({"float16", "float32", "float64", "longdouble"})
COMPLEXES = frozenset({"complex64", "complex128"})


def is_inexact(kind: Type | None) -> bool:
    """Say whether a value of this type can carry a derivative."""
    match kind:
        case Scalar(dtype) | Array(dtype):
            return dtype in FLOATS or dtype in COMPLEXES
        case ListOf(item):
            return item is not None and is_inexact(item)
        case Struct(_, _, items):
            return any(is_inexact(item) for item in items)
        case _:
            return False


def is_complex(kind: Type | None) -> bool:
    """Say whether the type is of complex numbers."""
    return isinstance(kind, Scalar | Array) and kind.dtype in COMPLEXES


def leaf_types(kind: Type) -> list[Type]:
    """List the types of the leaves, depth first; what is known at transform time is none."""
    match kind:
        case Struct(_, _, items):
            return [leaf for item in items for leaf in leaf_types(item)]
        case Static():
            return []
        case _:
            return [kind]


def same_dim(a: Dim, b: Dim) -> bool:
    """Say whether two dimensions that met in one elementwise operation are surely equal."""
    if a == b or (not_one(a) and not_one(b)):
        return True
    return isinstance(a, Sym) and isinstance(b, Sym) and a.cut != "" and a.cut == b.cut


def not_one(a: Dim) -> bool:
    """Say whether a dimension is surely not 1, so that it can never be broadcast."""
    return a != 1 if isinstance(a, int) else a.nonone


def is_cut_to(own: Dim, other: Dim) -> bool:
    """Say whether what is added to an adjoint of length `own` cannot be one element for all of them.

    A length that is a broadcast of others, or surely not 1, may be that of a whole to which one element is
    spread; to any other length, what differs from it has been cut before it is added.
    """
    if own == other:
        return True
    return isinstance(own, Sym) and isinstance(other, Sym) and not own.nonone and BROADCAST not in own.name


def rank(kind: Type) -> int:
    """Return the rank of a scalar or array type."""
    return len(kind.dims) if isinstance(kind, Array) else 0


def surely_as_long(a: Type, b: Type) -> bool:
    """Say whether two arrays have the same lengths whenever they are there, in other turns of a loop too."""
    if not isinstance(a, Array) or not isinstance(b, Array):
        return False
    return a.dims == b.dims and not any(is_carried(dim) for dim in a.dims)
