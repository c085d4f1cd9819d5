"""One item of an array, read or written with no more than it takes.

Numba copies the description of an array (nine numbers for a matrix) for each `a[i, j]`, and works out the shape and
the strides of a part before it finds that there is none: some fifty instructions, which LLVM takes out again. Half
of all that a long function is made of are such accesses. Here the address is worked out from the fields that it needs.
A matrix is transposed in as few instructions.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

_arrays: Any = importlib.import_module("numba.np.arrayobj")
_cgutils: Any = importlib.import_module("numba.core.cgutils")
_types: Any = importlib.import_module("numba.core.types")


def are_plain(lower: Any, base: Any, index: Any, variable: Any) -> bool:
    """Say whether an index of whole numbers as wide as addresses picks one number of an array, unchecked.

    `index` is the type that is asked for, `variable` what holds it: narrower numbers would have to be widened.
    """
    if not isinstance(base, _types.Array) or not isinstance(base.dtype, _types.Number | _types.Boolean):
        return False
    if lower.context.enable_boundscheck or lower._disable_sroa_like_opt:
        return False
    parts, given = _parts(index), _parts(lower.typeof(variable.name))
    wide = all(isinstance(p, _types.Integer) and p.bitwidth == _types.intp.bitwidth for p in (*parts, *given))
    return wide and len(parts) == len(given) == base.ndim > 0


def read(lower: Any, base: Any, kind: Any, index: Any, index_kind: Any) -> tuple[Any, list[Any]]:
    """Return an item of the array that the variable `base` is, and the instructions that load it."""
    place = _place(lower, base, kind, index, index_kind)
    block = lower.builder.block
    before = len(block.instructions)
    value = _arrays.load_item(lower.context, lower.builder, kind, place)
    return value, block.instructions[before:]


def write(lower: Any, base: Any, kind: Any, index: Any, index_kind: Any, value: Any) -> list[Any]:
    """Store a value, of the type of the array's items, and return the instructions that do."""
    place = _place(lower, base, kind, index, index_kind)
    block = lower.builder.block
    before = len(block.instructions)
    _arrays.store_item(lower.context, lower.builder, kind, value, place)
    return block.instructions[before:]


def is_matrix(kind: Any) -> bool:
    """Say whether this is the type of arrays of two axes."""
    return isinstance(kind, _types.Array) and kind.ndim == 2


def transposed(lower: Any, base: Any, result: Any) -> Any:
    """Return the transpose of the matrix that a variable is: two lengths and two strides exchanged."""
    builder, value = lower.builder, lower.loadvar(base.name)
    fields = lower.context.data_model_manager[lower.typeof(base.name)].get_field_position
    for name in ("shape", "strides"):
        first, second = (builder.extract_value(value, (fields(name), axis)) for axis in range(2))
        value = builder.insert_value(value, second, (fields(name), 0))
        value = builder.insert_value(value, first, (fields(name), 1))
    lower.incref(result, value)
    return value


def _parts(index: Any) -> tuple[Any, ...]:
    return tuple(index.types) if isinstance(index, _types.BaseTuple) else (index,)


def _place(lower: Any, base: Any, kind: Any, index: Any, index_kind: Any) -> Any:
    """Return the address of an item."""
    builder = lower.builder
    given = lower.loadvar(index.name)
    kinds = _parts(index_kind)
    several = isinstance(index_kind, _types.BaseTuple)
    numbers = [builder.extract_value(given, k) for k in range(kind.ndim)] if several else [given]
    field = functools.partial(_field, lower, base, kind)
    for axis, part in enumerate(kinds):
        if part.signed:
            negative = builder.icmp_signed("<", numbers[axis], numbers[axis].type(0))
            wrapped = builder.add(numbers[axis], field("shape", axis))
            numbers[axis] = builder.select(negative, wrapped, numbers[axis])
    data = field("data")
    if kind.layout not in ("C", "F"):
        away = [builder.mul(number, field("strides", axis)) for axis, number in enumerate(numbers)]
        return _cgutils.pointer_add(builder, data, functools.reduce(builder.add, away))
    axes = range(kind.ndim) if kind.layout == "C" else range(kind.ndim - 1, -1, -1)
    first, *others = axes
    position = numbers[first]
    for axis in others:
        position = builder.add(builder.mul(position, field("shape", axis)), numbers[axis])
    return builder.gep(data, [position])


def _field(lower: Any, base: Any, kind: Any, name: str, *axis: int) -> Any:
    """Return a field of the description of an array, or a number of it, from where the variable is kept."""
    at = (lower.context.data_model_manager[kind].get_field_position(name), *axis)
    if base.name in lower._blk_local_varmap:
        return lower.builder.extract_value(lower.loadvar(base.name), at)
    return lower.builder.load(_cgutils.gep_inbounds(lower.builder, lower.getvar(base.name), 0, *at))


__all__ = ["are_plain", "is_matrix", "read", "transposed", "write"]
