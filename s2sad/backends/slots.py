"""The memory of variables, as LLVM has it soon in registers.

Numba sets each slot to zero where a function begins, and again where its variable is deleted. To LLVM that is a slot
with several values, and it works out for each of them where they meet: a fifth of the time that it takes to compile
a long function. What Numba has written is in static single assignment, so that each variable is set before it is
read; only references are counted at paths on which nothing was set, and the zero of an array is its first field.
"""

from __future__ import annotations

import importlib
from typing import Any

_ir: Any = importlib.import_module("llvmlite.ir")
_cgutils: Any = importlib.import_module("numba.core.cgutils")
_types: Any = importlib.import_module("numba.core.types")
_debug: Any = importlib.import_module("numba.core.debuginfo")

_COUNTED = _types.MemInfoPointer(_types.voidptr)
_NUMBER, _ARRAY, _OTHER = range(3)


class Slots:
    """The part of lowering that keeps variables: mixed into Numba's class for that."""

    def _holds(self: Any, kind: Any) -> int:
        """Say what a slot of this type holds: nothing that is counted, an array whose first field is, or else."""
        if self._disable_sroa_like_opt:
            return _OTHER
        known: dict[Any, int] = self.__dict__.setdefault("_held", {})
        if kind not in known:
            counted = self.context.data_model_manager[kind].contains_nrt_meminfo()
            known[kind] = _NUMBER if not counted else _ARRAY if type(kind) is _types.Array else _OTHER
        return known[kind]

    def alloca(self: Any, name: str, type: Any) -> Any:
        """Return memory for a variable; of an array, its first field says that there is none yet."""
        holds = self._holds(type)
        if holds == _OTHER:
            return super().alloca(name, type)  # type: ignore[misc]
        slot = _entry(self.builder, self.context.get_value_type(type), name)
        if holds == _ARRAY:
            with _debug.suspend_emission(self.builder), self.builder.goto_entry_block():
                _clear(self.builder, slot)
        return slot

    def storevar(self: Any, value: Any, name: str, argidx: int | None = None) -> None:
        """Set a variable; what holds nothing that is counted has nothing to let go of."""
        kind = self.typeof(name)
        if argidx is not None or name in self._singly_assigned_vars or self._holds(kind) != _NUMBER:
            super().storevar(value, name, argidx)  # type: ignore[misc]
            return
        self._alloca_var(name, kind)
        self.builder.store(value, self.getvar(name))

    def delvar(self: Any, name: str) -> None:
        """Let go of what a variable holds."""
        kind = self.typeof(name)
        holds = self._holds(kind)
        if holds == _OTHER or name in self._blk_local_varmap:
            super().delvar(name)  # type: ignore[misc]
            return
        self._singly_assigned_vars.discard(name)  # it is deleted before it is set
        if holds == _NUMBER:
            return
        self._alloca_var(name, kind)
        slot = self.getvar(name)
        counted = self.builder.load(_cgutils.gep_inbounds(self.builder, slot, 0, 0))  # none of the other fields
        self.decref(_COUNTED, counted)
        _clear(self.builder, slot)


def _clear(builder: Any, slot: Any) -> None:
    """Let a slot hold no array: its next deletion finds nothing to count."""
    field = _cgutils.gep_inbounds(builder, slot, 0, 0)
    builder.store(field.type.pointee(None), field)


def _entry(builder: Any, kind: Any, name: str = "", size: Any = None) -> Any:
    """Return memory that is there from the beginning of the function, with nothing in it yet."""
    size = _ir.Constant(_cgutils.intp_t, size) if isinstance(size, int) else size
    with _debug.suspend_emission(builder), builder.goto_entry_block():
        return builder.alloca(kind, size=size, name=name)


def _alloca_once(builder: Any, ty: Any, size: Any = None, name: str = "", zfill: bool = False) -> Any:
    """As Numba's function of this name; what is set to zero where it is used is not at the beginning too."""
    slot = _entry(builder, ty, name, size)
    with _debug.suspend_emission(builder):
        if zfill:
            builder.store(ty(None), slot)
        else:
            with builder.goto_entry_block():
                builder.store(ty(None), slot)
    return slot


def _alloca_once_value(builder: Any, value: Any, name: str = "", zfill: bool = False) -> Any:
    """As Numba's function of this name, without the zeros that the value takes the place of."""
    slot = _entry(builder, value.type, name)
    builder.store(value, slot)
    return slot


REPLACED = [(_cgutils, "alloca_once", _alloca_once), (_cgutils, "alloca_once_value", _alloca_once_value)]
