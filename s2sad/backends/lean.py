"""Parts of Numba that take long to compile, replaced while our functions are compiled.

- The error of an array stored into a slice of another shape, and that of an axis which an array lacks:
  Numba compiles the making of their text (numbers to strings, lists, `join`) into every function that
  can raise them, 1 to 3 seconds. Ours hold the numbers.
- The index of an axis of length 1 in an expression of arrays: Numba branches at each axis of each
  array, and LLVM writes the loop anew for each way through these branches: 7 seconds for a product of
  two arrays of five axes. Ours is a mask, as fast to run.
- Products of matrices and vectors: `products.py`. New arrays: `allocation.py`.
- The memory of variables, which LLVM has in registers sooner: `slots.py`.
- Which variables are alive where, by bits instead of sets: `lifetimes.py`.
- The allocation of arrays, the class of those handed back and the larger of two floats, not to compile faster
  but to run faster: `memory.py`, `boxing.py`, `extremes.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from s2sad.backends import allocation, blas, boxing, extremes, lifetimes, memory, products, slots

_extending: Any = importlib.import_module("numba.core.extending")
_types: Any = importlib.import_module("numba.core.types")
_lock: Any = importlib.import_module("numba.core.compiler_lock").global_compiler_lock
_arrays: Any = importlib.import_module("numba.np.arrayobj")
_sums: Any = blas.array_functions()
_elementwise: Any = importlib.import_module("numba.np.npyimpl")


@contextmanager
def compilation() -> Generator[None]:
    """Let Numba use the replacements within the block, which no other compilation sees."""
    with _lock:
        replaced = [(place, name, getattr(place, name)) for place, name, _ in _LEAN if hasattr(place, name)]
        written = [(table, key, table[key]) for table, key, _ in extremes.REPLACED]
        for place, name, lean in _LEAN:
            setattr(place, name, lean)
        for table, key, lean in extremes.REPLACED:
            table[key] = lean
        try:
            yield
        finally:
            for place, name, original in replaced:
                setattr(place, name, original)
            for table, key, original in written:
                table[key] = original


def _unequal(source: Any, place: Any) -> None:
    """Raise the error of an array stored into a slice of another shape."""


@_extending.overload(_unequal)
def _compiled_unequal(source: Any, place: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
    def raised(source: Any, place: Any) -> None:
        raise ValueError("an array of the first shape cannot be stored into a slice of the second", source, place)

    return raised


def _unbounded(a: Any, axis: Any) -> None:
    """Check that `axis`, a number, numbers or None, is one of those that `a` has."""


@_extending.overload(_unbounded)
def _compiled_unbounded(a: Any, axis: Any) -> Any:  # pyright: ignore[reportUnusedFunction]
    if isinstance(axis, _types.NoneType | _types.Omitted):

        def none(a: Any, axis: Any) -> None:
            return None

        return none
    if isinstance(axis, _types.BaseTuple):

        def every(a: Any, axis: Any) -> None:
            for one in axis:
                _unbounded(a, one)

        return every

    def checked(a: Any, axis: Any) -> None:
        if axis < -a.ndim or axis >= a.ndim:
            raise ValueError("axis out of bounds of an array of that many dimensions", axis, a.ndim)

    return checked


def _masked_indices(self: Any, loop_indices: Any, name: Any) -> None:
    """Store the indices of one array's item: those of the loops, 0 along an axis of length 1."""
    builder = self.array.builder
    one = self.array.context.get_constant(_types.intp, 1)
    inner = loop_indices[len(loop_indices) - len(self.indices) :]
    for index, place, length in zip(inner, self.indices, self.array.shape, strict=False):
        longer = builder.icmp_unsigned(">", length, one)
        builder.store(builder.and_(index, builder.sext(longer, index.type)), place)


_LEAN = [
    *([(_arrays, "_call_allocator", memory.call_allocator)] if memory.is_glibc() else []),
    (_arrays, "raise_with_shape_context", _unequal),
    (_sums, "check_axis_bounds", _unbounded),
    (_elementwise._ArrayIndexingHelper, "update_indices", _masked_indices),
    *allocation.REPLACED,
    *boxing.REPLACED,
    *lifetimes.REPLACED,
    *slots.REPLACED,
    *products.REPLACED,
]
