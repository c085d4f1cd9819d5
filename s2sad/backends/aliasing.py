"""Which arrays lie apart, told to LLVM item by item.

An array that the function itself makes (`np.empty`, `np.zeros_like`, `np.copy`, an expression of arrays)
shares no memory with the others that it makes, nor with its arguments. LLVM cannot know, and writes
loops twice, with a test of the addresses before them; or, where the arrays are many, not in vectors
at all. Each array made gets a scope, which its items carry and the items of the others deny.

A view lies where its array does (`x[i]`, `x[2:]`, `x.T`), and carries what the items of that carry. Items read
or written through any other name (an item of a list, a name bound in two places) carry nothing, and so may
be anywhere.
"""

from __future__ import annotations

import importlib
from typing import Any

_numba_ir: Any = importlib.import_module("numba.core.ir")
_utils: Any = importlib.import_module("numba.core.ir_utils")
_types: Any = importlib.import_module("numba.core.types")
_alloca: Any = importlib.import_module("llvmlite.ir").AllocaInstr

_MAKERS = frozenset(
    {"empty", "empty_like", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "copy"}
)
_VIEWS = frozenset({"getitem", "static_getitem", "getattr"})


class Scopes:
    """The scopes of the arrays that one function makes."""

    def __init__(self, lower: Any) -> None:
        """Find the arrays made in the function of `lower`, a Numba `Lower` about to run."""
        self._ir = lower.func_ir
        self._module = lower.module
        self._name = lower.fndesc.mangled_name
        made = [
            inst.value
            for block in lower.blocks.values()
            for inst in block.find_insts(_numba_ir.Assign)
            if self._is_made(inst.value) and isinstance(lower.typeof(inst.target.name), _types.Array)
        ]
        self._made = {id(value): number for number, value in enumerate(made)}
        self._typeof = lower.typeof
        self._notes: dict[int | None, dict[str, Any]] = {}
        self._nodes: list[Any] = []

    def tell(self, var: Any, instructions: list[Any]) -> None:
        """Mark the loads and stores among `instructions`, which reach one item of the array `var`."""
        known = self._root(var)
        number = self._made.get(id(known))
        if not self._made or (number is None and not isinstance(known, _numba_ir.Arg)):
            return
        for instruction in instructions:
            if instruction.opname in ("load", "store") and not isinstance(instruction.operands[-1], _alloca):
                for kind, node in self._note(number).items():
                    instruction.set_metadata(kind, node)

    def _root(self, var: Any) -> Any:
        """Return what the array was made by that `var` is, or is a view of; or the argument; None where unknown."""
        known = _utils.guard(_utils.get_definition, self._ir, var)
        while isinstance(known, _numba_ir.Expr) and self._is_view(known):
            known = _utils.guard(_utils.get_definition, self._ir, known.value)
        return known

    def _is_view(self, value: Any) -> bool:
        if not isinstance(self._typeof(value.value.name) if value.op in _VIEWS else None, _types.Array):
            return False
        return value.attr == "T" if value.op == "getattr" else True

    def _is_made(self, value: Any) -> bool:
        if not isinstance(value, _numba_ir.Expr):
            return False
        if value.op == "arrayexpr":
            return True
        if value.op != "call":
            return False
        name, module = _utils.guard(_utils.find_callname, self._ir, value) or ("", "")
        return module == "numpy" and name in _MAKERS

    def _note(self, number: int | None) -> dict[str, Any]:
        if number not in self._notes:
            if not self._nodes:
                domain = self._module.add_metadata([self._name])
                self._nodes = [
                    self._module.add_metadata([f"{self._name} array {k}", domain]) for k in range(len(self._made))
                ]
            others = [node for k, node in enumerate(self._nodes) if k != number]
            note = {"noalias": self._module.add_metadata(others)} if others else {}
            if number is not None:
                note["alias.scope"] = self._module.add_metadata([self._nodes[number]])
            self._notes[number] = note
        return self._notes[number]
