"""Which arrays lie apart, told to LLVM item by item.

An array that the function itself makes (`np.empty`, `np.zeros_like`, `np.copy`, an expression of arrays)
shares no memory with the others that it makes, nor with its arguments; and where every caller is known, so are the
arguments that share none with each other (`analysis/alone.py`). LLVM cannot know, and writes
loops twice, with a test of the addresses before them; or, where the arrays are many, not in vectors
at all. Each of these arrays gets a scope, which its items carry and the items of the others deny.

A view lies where its array does (`x[i]`, `x[2:]`, `x.T`), and carries what the items of that carry; a name that is
bound in several places (`u, new = new, u`) carries the scopes of all its arrays, and so does an item of a list, which
may be any array that was put into a list. Items read or written through any other name (the result of a function)
carry nothing, and so may be anywhere.

That is more than speed. The tests of addresses take arrays that lie close together for one, and then elements are
worked out one by one, by functions (`exp`) that may differ from those for several in the last bit: a result would
depend on where its arrays happen to lie.
"""

from __future__ import annotations

import importlib
import operator
from typing import Any

_numba_ir: Any = importlib.import_module("numba.core.ir")
_utils: Any = importlib.import_module("numba.core.ir_utils")
_types: Any = importlib.import_module("numba.core.types")
_alloca: Any = importlib.import_module("llvmlite.ir").AllocaInstr

_MAKERS = frozenset(
    {"empty", "empty_like", "zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "copy", "outer"}
)
_SOLVERS = frozenset({"inv", "solve", "cholesky"})
_VIEWS = frozenset({"getitem", "static_getitem", "getattr"})


class Lists:
    """What one function puts into its lists, and takes out of them.

    Attributes:
        taken: the names of the arrays that are put into any list.
        given: some list is an argument.
        unknown: something may be put into a list that is not seen here.
    """

    def __init__(self, lower: Any) -> None:
        """Look through the function of `lower`, a Numba `Lower` about to run."""
        self.taken: list[Any] = []
        self.given = self.unknown = False
        self._ir, self._typeof = lower.func_ir, lower.typeof
        self._methods: dict[str, tuple[Any, str]] = {}
        body = [inst for block in lower.blocks.values() for inst in block.body]
        values = [(inst.target, inst.value) for inst in body if isinstance(inst, _numba_ir.Assign)]
        for target, value in values:
            if isinstance(value, _numba_ir.Expr) and value.op == "getattr" and self._is_list(value.value):
                self._methods[target.name] = value.value, value.attr
        for target, value in values:
            self._look_at(target, value)
        for inst in body:
            if isinstance(inst, _numba_ir.SetItem | _numba_ir.StaticSetItem) and self._is_list(inst.target):
                self.taken.append(inst.value)
        self.taken = [one for one in self.taken if isinstance(self._typeof(one.name), _types.Array)]

    def gives(self, value: Any) -> bool:
        """Say whether a value is an item of a list."""
        if not isinstance(value, _numba_ir.Expr):
            return False
        if value.op == "call":
            return self._methods.get(value.func.name, (None, ""))[1] == "pop"
        return value.op in ("getitem", "static_getitem") and self._is_list(value.value)

    def _look_at(self, target: Any, value: Any) -> None:
        made = self._is_list(target)
        if isinstance(value, _numba_ir.Arg):
            self.given |= made
        elif not isinstance(value, _numba_ir.Expr):
            self.unknown |= made and not isinstance(value, _numba_ir.Var)
        elif value.op == "build_list":
            self.taken += value.items
        elif value.op == "call":
            method = self._methods.get(value.func.name, (None, ""))[1]
            if method in ("append", "insert"):
                self.taken.append(value.args[-1])
            elif method not in ("pop", "reverse", "clear"):
                passed = any(self._is_list(arg) for arg in value.args) and not self._asks_for_length(value)
                self.unknown |= bool(method) or made or passed
        elif made:
            self.unknown |= value.op not in ("getitem", "static_getitem", "cast", "phi")

    def _asks_for_length(self, call: Any) -> bool:
        return _utils.guard(_utils.find_callname, self._ir, call) == ("len", "builtins")

    def _is_list(self, var: Any) -> bool:
        return isinstance(self._typeof(var.name), _types.List | _types.ListType)


class Scopes:
    """The scopes of the arrays that one function makes, or is given alone."""

    def __init__(self, lower: Any) -> None:
        """Find the arrays made in the function of `lower`, a Numba `Lower` about to run."""
        self._ir = lower.func_ir
        self._module = lower.module
        self._name = lower.fndesc.mangled_name
        self._alone = lower.hints.alone
        assigned = [inst for block in lower.blocks.values() for inst in block.find_insts(_numba_ir.Assign)]
        self._values: dict[str, list[Any]] = {}
        for inst in assigned:
            self._values.setdefault(inst.target.name, []).append(inst.value)
        made = [
            inst.value
            for inst in assigned
            if self._is_made(inst.value) and isinstance(lower.typeof(inst.target.name), _types.Array)
        ]
        self._made = {id(value): number for number, value in enumerate(made)}
        self._typeof = lower.typeof
        self._notes: dict[frozenset[int | None], dict[str, Any]] = {}
        self._roots: dict[str, frozenset[int | None] | None] = {}
        self._lists = Lists(lower)
        self._nodes: list[Any] = []

    def tell(self, var: Any, instructions: list[Any]) -> None:
        """Mark the loads and stores among `instructions`, which reach one item of the array `var`."""
        if not self._made:
            return
        if var.name not in self._roots:
            found: set[int | None] = set()
            self._roots[var.name] = frozenset(found) if self._gather(var, found, set()) else None
        roots = self._roots[var.name]
        if not roots:
            return
        for instruction in instructions:
            if instruction.opname in ("load", "store") and not isinstance(instruction.operands[-1], _alloca):
                for kind, node in self._note(roots).items():
                    instruction.set_metadata(kind, node)

    def _gather(self, var: Any, found: set[int | None], seen: set[str]) -> bool:
        """Add the arrays that a name may stand for, None for an argument; say whether they are all known."""
        if var.name in seen:
            return True
        seen.add(var.name)
        return all(self._gather_value(value, found, seen) for value in self._values.get(var.name, [None]))

    def _gather_value(self, value: Any, found: set[int | None], seen: set[str]) -> bool:
        if id(value) in self._made:
            found.add(self._made[id(value)])
        elif isinstance(value, _numba_ir.Arg):
            found.add(None)
        elif isinstance(value, _numba_ir.Var):
            return self._gather(value, found, seen)
        elif isinstance(value, _numba_ir.Expr) and value.op == "cast":
            return self._gather(value.value, found, seen)
        elif isinstance(value, _numba_ir.Expr) and value.op == "phi":
            return all(self._gather(one, found, seen) for one in value.incoming_values)
        elif isinstance(value, _numba_ir.Expr) and self._is_view(value):
            return self._gather(value.value, found, seen)
        elif self._lists.gives(value):
            if self._lists.given:
                found.add(None)
            return not self._lists.unknown and all(self._gather(one, found, seen) for one in self._lists.taken)
        else:
            return False
        return True

    def _is_view(self, value: Any) -> bool:
        if not isinstance(self._typeof(value.value.name) if value.op in _VIEWS else None, _types.Array):
            return False
        return value.attr == "T" if value.op == "getattr" else True

    def _is_made(self, value: Any) -> bool:
        if isinstance(value, _numba_ir.Arg):
            return value.name in self._alone
        if not isinstance(value, _numba_ir.Expr):
            return False
        if value.op == "arrayexpr" or (value.op == "binop" and value.fn is operator.matmul):
            return True
        if value.op != "call":
            return False
        name, module = _utils.guard(_utils.find_callname, self._ir, value) or ("", "")
        return (module == "numpy" and name in _MAKERS) or (module == "numpy.linalg" and name in _SOLVERS)

    def _note(self, roots: frozenset[int | None]) -> dict[str, Any]:
        """Return what the items of arrays that may be any of `roots` carry."""
        if roots not in self._notes:
            if not self._nodes:
                domain = self._module.add_metadata([self._name])
                self._nodes = [
                    self._module.add_metadata([f"{self._name} array {k}", domain]) for k in range(len(self._made))
                ]
            others = [node for k, node in enumerate(self._nodes) if k not in roots]
            note = {"noalias": self._module.add_metadata(others)} if others else {}
            if None not in roots:
                own = [node for k, node in enumerate(self._nodes) if k in roots]
                note["alias.scope"] = self._module.add_metadata(own)
            self._notes[roots] = note
        return self._notes[roots]
