"""Loops whose turns meet in no element, told to LLVM.

LLVM compares addresses before a loop takes several turns at once, and gives up where there are many, or where rows of
one array are written and read. Which turns are apart is known from the program (`emit/turns_apart.py`): the items
that such a loop reads and writes are put in a group, and the loop says that none of the group depend on each other
from turn to turn. What else a loop does to memory is in no group, and keeps LLVM from believing it.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

_numba_ir: Any = importlib.import_module("numba.core.ir")
_analysis: Any = importlib.import_module("numba.core.analysis")
_alloca: Any = importlib.import_module("llvmlite.ir").AllocaInstr
_values: Any = importlib.import_module("llvmlite.ir.values")

_ADDRESSES = ("getelementptr", "bitcast")


class _Distinct(_values.MDValue):
    """A node of metadata that is no other with the same content."""

    def __init__(self, module: Any, operands: Sequence[Any] = (), itself: bool = False) -> None:
        """`itself`: the node is its own first operand, as the identity of a loop is."""
        super().__init__(module, operands, name=str(len(module.metadata)))
        self._first = [self.get_reference()] if itself else []

    def descr(self, buf: list[str]) -> None:
        """Write the node."""
        inside = ", ".join([*self._first, *(one.get_reference() for one in self.operands)])
        buf += (f"distinct !{{ {inside} }}", "\n")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


class Turns:
    """The loops of one function that are told of."""

    def __init__(self, lower: Any) -> None:
        """Find the loops of the function of `lower`, a Numba `Lower` about to run."""
        self._lower = lower
        self._blocks: dict[int, list[Any]] = {}
        first = lower.func_ir.func_id.firstlineno
        lines = {first + offset for offset in lower.hints.apart}
        self._loops = [loop for loop in self._all_loops() if self._line(loop) in lines] if lines else []

    def written(self, block: Any, before: int) -> None:
        """Note the blocks of LLVM that a block of Numba became: its own, and those behind `before`."""
        if self._loops:
            label = next(label for label, one in self._lower.blocks.items() if one is block)
            own = self._lower.blkmap[label]
            self._blocks[label] = [own, *self._lower.function.basic_blocks[before:]]

    def tell(self) -> None:
        """Mark the loops, once all of the function is written."""
        for loop in self._loops:
            inside = [block for label in loop.body for block in self._blocks[label]]
            group = _Distinct(self._lower.module)
            items = [i for block in inside for i in block.instructions if _reaches_an_item(i)]
            if not items or any("llvm.access.group" in item.metadata for item in items):
                continue
            said = self._lower.module.add_metadata(["llvm.loop.parallel_accesses", group])
            name = _Distinct(self._lower.module, [said], itself=True)
            header = self._lower.blkmap[loop.header]
            for item in items:
                item.set_metadata("llvm.access.group", group)
            for block in inside:
                if block.terminator is not None and header in block.terminator.operands:
                    block.terminator.set_metadata("llvm.loop", name)

    def _all_loops(self) -> list[Any]:
        loops = list(_analysis.compute_cfg_from_blocks(self._lower.blocks).loops().values())
        return [one for one in loops if not any(other is not one and other.body < one.body for other in loops)]

    def _line(self, loop: Any) -> int | None:
        """Return the line of a loop over a range."""
        for inst in self._lower.blocks[loop.header].body:
            if isinstance(inst, _numba_ir.Assign) and isinstance(inst.value, _numba_ir.Expr):
                if inst.value.op == "iternext":
                    return inst.loc.line
        return None


def _reaches_an_item(instruction: Any) -> bool:
    """Say whether an instruction reads or writes what is no variable of the function itself."""
    if instruction.opname not in ("load", "store"):
        return False
    place = instruction.operands[-1]
    while getattr(place, "opname", None) in _ADDRESSES:
        place = place.operands[0]
    return not isinstance(place, _alloca)
